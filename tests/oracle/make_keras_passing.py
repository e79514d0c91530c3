"""Which of Keras' own tests pass on the real TensorFlow: tests/keras/tensorflow.txt.gz.

    PYTHON tests/oracle/make_keras_passing.py [--workers N] [part of a path ...]

PYTHON has TensorFlow 2.21, Keras 3.15.1 and the extra `conformance` of pyproject.toml. Parts choose
files and their order; the rest follow. Each finished file is stored at once, and a file that is
stored is not run again, so that the script can be ended and begun anew.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "keras"))

import lists  # noqa: E402
import suite  # noqa: E402


def collect(keras: pathlib.Path) -> dict[str, set[str]]:
    """The ids of every file, as pytest finds them."""
    command = [sys.executable, "-m", "pytest", "--collect-only"]
    runner = suite.Runner(command, keras)
    runner.seconds_per_test = runner.seconds_per_file = 3600
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as home:
        events, _ = runner.once(suite.files(keras), None, home)
    for event in events:
        if event[0] == "collected":
            found.setdefault(event[1].split("::")[0], set()).add(event[1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    keras = suite.package()
    answers = lists.read_answers()
    for name, ids in collect(keras).items():
        answers.setdefault(name, lists.Answer(passing=set(), unasked=ids))
    lists.write_answers(answers)
    waiting = [name for name, answer in answers.items() if answer.unasked]

    def place(name):
        return next((i for i, part in enumerate(options.parts) if part in name), len(options.parts))

    waiting.sort(key=lambda name: (place(name), name))

    def done(names, results):
        (name,) = names
        passing = {id for id, result in results.items() if result.outcome == "passed"}
        answers[name] = lists.Answer(passing=passing, unasked=set())
        lists.write_answers(answers)
        print(f"{name}: {len(passing)} of {len(results)} pass", flush=True)

    runner = suite.Runner([sys.executable, "-m", "pytest"], keras)
    runner.seconds_per_test, runner.seconds_per_file = 1200, 7200
    suite.run_all(runner, [([name], None) for name in waiting], options.workers, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
