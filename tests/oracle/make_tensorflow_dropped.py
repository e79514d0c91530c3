"""Make the golden values of names that TensorFlow has dropped: make_tensorflow_dropped.py [part]

They are those of the last TensorFlow with its estimators and with the layers of TensorFlow 1; the
cases are the files that `corpus.DROPPED` names.
"""
# needs: tensorflow-cpu==2.15.1

from __future__ import annotations

import sys

import make_tensorflow_golden as whole

corpus, tf = whole.corpus, whole.tf


def main() -> int:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    cases = [c for c in corpus.load().values() if c.file in corpus.DROPPED]
    lines, failures = whole.made([c for c in cases if part in c.name or part == c.file])
    if failures:
        return 1
    head = corpus.read_golden()[0] | {"dropped": tf.__version__}
    corpus.write_golden(head, whole.with_known(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
