"""Which of Keras' own tests pass on the real TensorFlow: tests/keras/tensorflow.txt.gz.

    PYTHON tests/oracle/make_keras_passing.py [--workers N] [--only-missing] [part of a path ...]

PYTHON has TensorFlow 2.21, Keras 3.15.1 and the extra `conformance` of pyproject.toml. TensorFlow
is first asked about what did not pass on Mica in the last stored run (tests/keras/mica.txt.gz),
then, without --only-missing, about the rest; parts choose files. What a process has answered is
stored at once and not asked again, so that the script can be ended and begun anew.
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


def ask(runner: suite.Runner, answers: dict, jobs: list, workers: int) -> None:
    """Runs (file, ids) jobs and stores the answers as they come."""
    wanted = dict(jobs)

    def done(names, results):
        (name,) = names
        answer, asked = answers[name], wanted[name]
        answer.passing |= {id for id in asked if id in results and results[id].outcome == "passed"}
        answer.unasked -= asked
        lists.write_answers(answers)
        print(f"{name}: {len(answer.passing & asked)} of {len(asked)} pass", flush=True)

    suite.run_all(runner, [([name], ids) for name, ids in jobs], workers, done)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only-missing", action="store_true")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    keras = suite.package()
    answers = lists.read_answers()
    if not answers:
        for name, ids in collect(keras).items():
            answers[name] = lists.Answer(passing=set(), unasked=ids)
        lists.write_answers(answers)
    runner = suite.Runner([sys.executable, "-m", "pytest"], keras)
    runner.seconds_per_test, runner.seconds_per_file = 1200, 7200
    record = lists.read_record()
    names = [name for name in answers if not options.parts or any(p in name for p in options.parts)]
    missing = [(name, answers[name].unasked - set(record)) for name in names]
    ask(runner, answers, [(name, ids) for name, ids in missing if ids], options.workers)
    if not options.only_missing:
        rest = [(name, set(answers[name].unasked)) for name in names if answers[name].unasked]
        ask(runner, answers, rest, options.workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
