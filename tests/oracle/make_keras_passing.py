"""Which of Keras' own tests pass on the real TensorFlow: tests/keras/tensorflow.txt.gz.

    PYTHON tests/oracle/make_keras_passing.py [--workers N] [--only-missing] [part of a path ...]

PYTHON has TensorFlow 2.21, Keras 3.15.1 and the extra `conformance` of pyproject.toml. TensorFlow
is first asked about what did not pass on Mica in the last stored run (tests/keras/mica.txt.gz),
then, without --only-missing, about the rest, what was quick on Mica first; parts choose files.
Files of a folder share a process, as in Keras' own runs, but for those that set up devices. What a
process has answered is stored at once and not asked again, so that the script can be ended and
begun anew.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "keras"))

import lists  # noqa: E402
import suite  # noqa: E402

ALONE = ("backend/tensorflow/", "distribution/", "swap_ema_weights_test")
IDS_PER_PROCESS = 400
SECONDS_PER_PROCESS = 30


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


def group(jobs: list, cost: dict[str, float]) -> list[list]:
    """Puts (file, ids) jobs of a folder together, the quickest first."""
    groups: list[list] = []
    for name, ids in sorted(jobs, key=lambda job: (suite.folder(job[0]), cost[job[0]])):
        last = groups[-1] if groups else []
        together = [*last, (name, ids)]
        if (
            last
            and suite.folder(last[0][0]) == suite.folder(name)
            and not any(part in name for part in ALONE)
            and sum(len(ids) for _, ids in together) <= IDS_PER_PROCESS
            and sum(cost[name] for name, _ in together) <= SECONDS_PER_PROCESS
        ):
            last.append((name, ids))
        else:
            groups.append([(name, ids)])
    return sorted(groups, key=lambda jobs: sum(cost[name] for name, _ in jobs))


def ask(runner: suite.Runner, answers: dict, groups: list[list], workers: int) -> None:
    """Runs groups of (file, ids) jobs and stores the answers as they come."""
    wanted = {name: ids for jobs in groups for name, ids in jobs}

    def done(names, results):
        for name in names:
            answer, asked = answers[name], wanted[name]
            passed = {id for id in asked if id in results and results[id].outcome == "passed"}
            answer.passing |= passed
            answer.unasked -= asked
            print(f"{name}: {len(passed)} of {len(asked)} pass", flush=True)
        lists.write_answers(answers)

    jobs = [([name for name, _ in jobs], set().union(*(ids for _, ids in jobs))) for jobs in groups]
    suite.run_all(runner, jobs, workers, done)


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
    cost = collections.Counter()
    for id, seconds in record.items():
        cost[id.split("::")[0]] += seconds
    ask(runner, answers, group([job for job in missing if job[1]], cost), options.workers)
    if not options.only_missing:
        rest = [(name, set(answers[name].unasked)) for name in names if answers[name].unasked]
        ask(runner, answers, group(rest, cost), options.workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
