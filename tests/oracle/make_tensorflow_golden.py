"""Make the golden values of tests/tf with TensorFlow: make_tensorflow_golden.py [part of a name]

Every case runs in every one of its modes; the modes have to agree with each other, so that one
golden value serves them all. With a part of their names, or the name of their file in tf_cases,
those cases alone are made anew.
"""
# needs: tensorflow-cpu==2.21.0 tensorboard

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tf"))

import corpus
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")


def aliases(symbols: list[str]) -> dict[str, list[str]]:
    """The other names of each symbol's object, among the symbols."""
    groups: dict[int, list[str]] = {}
    keep = []
    for symbol in symbols:
        at = tf
        try:
            for part in symbol.split(".")[1:]:
                at = getattr(at, part)
        except AttributeError:
            continue
        if callable(at):
            keep.append(at)
            groups.setdefault(id(at), []).append(symbol)
    found = {}
    for names in groups.values():
        for name in names:
            if len(names) > 1:
                found[name] = [other for other in names if other != name]
    return found


def golden(runner: corpus.Runner, case: corpus.Case) -> tuple[dict, list[str]]:
    """The golden values of a case, and what is wrong with it."""
    line: dict = {"name": case.name}
    wrong = []
    for mode in case.modes:
        key = corpus.GOLDEN_OF[mode]
        try:
            got = runner.run(case, mode)
        except Exception as error:
            wrong.append(f"{mode}: {type(error).__name__}: {str(error)[:300]}")
            continue
        if mode == "raises":
            if got["class"] is None:
                wrong.append("nothing was raised")
            lost = [word for word in case.words if word not in got["words"]]
            if lost:
                wrong.append(f"the message lacks {lost}")
        if key not in line:
            line[key] = got
        else:
            found = corpus.compare(case, mode, got, line)
            if found:
                wrong.append(f"{mode} differs from the first mode: {found}")
    return line, wrong


def every_symbol() -> list[str]:
    """Every public name of the modules that the corpus covers."""
    modules = ["", "math", "nn", "linalg", "random", "bitwise", "signal", "nest", "dtypes"]
    names = []
    for module in modules:
        at = getattr(tf, module) if module else tf
        prefix = f"tf.{module}." if module else "tf."
        names += [prefix + name for name in dir(at) if not name.startswith("_")]
    return names


def symbols_of_keras() -> list[str]:
    """The names of the package keras that the guides use."""
    stored = json.loads((corpus.HERE / "symbols.json").read_text(encoding="utf-8"))
    return [symbol for _, symbol, _, area in stored["used"] if area == "Keras"]


def made(cases: list[corpus.Case]) -> tuple[list[dict], int]:
    """The lines of cases, and the number of faults, which are printed."""
    runner = corpus.Runner(tf)
    lines, failures = [], 0
    start = time.time()
    for case in cases:
        line, wrong = golden(runner, case)
        lines.append(line)
        for text in wrong:
            failures += 1
            print(f"{case.file}: {case.name}: {text}", flush=True)
    print(f"{len(lines)} cases, {failures} faults, {time.time() - start:.0f} s")
    return lines, failures


def with_known(lines: list[dict]) -> list[dict]:
    """New lines, and the known ones of the other cases."""
    known = corpus.read_golden()[1]
    fresh = {line["name"]: line for line in lines}
    kept = [known[n] | fresh.get(n, {}) for n in known if n in corpus.load()]
    return kept + [line for name, line in fresh.items() if name not in known]


def main() -> int:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    cases = [c for c in corpus.load().values() if c.file not in corpus.DROPPED]
    lines, failures = made([c for c in cases if part in c.name or part == c.file])
    if failures:
        return 1
    head = corpus.read_golden()[0] | {
        "tensorflow": tf.__version__,
        "numpy": np.__version__,
        "aliases": aliases(every_symbol()),
        "keras": [s for s in symbols_of_keras() if not corpus.missing(tf, s)],
    }
    corpus.write_golden(head, with_known(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
