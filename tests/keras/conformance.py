"""Keras' own tests on its TensorFlow backend over mica.tf: `make keras-conformance`.

    .venv/bin/python tests/keras/conformance.py [--slice | --missing] [part of a path ...]

A process per test file, with limits of time and memory. Compares with what passes on the real
TensorFlow (tests/oracle/make_keras_passing.py) and with the last stored run, which --record writes
anew; fails when an id was lost. --slice is a fixed choice of ids from every folder, in a process
per core. --missing runs what the last stored run does not have; --record adds what passes to it.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import sys
import time

import lists
import suite

SEED = "mica"
SLICE_PER_FOLDER = 20
SLICE_SECONDS_PER_TEST = 1.0
# Files that use packages which .venv does not have are not in the slice.
MORE_PACKAGES = re.compile(
    r"^\s*(import|from)\s+(grain|jax|litert_torch|onnx|PIL|requests|sklearn|tf2onnx|torch)\b"
    r"|PIL|\bjax\.|image_utils|requests",
    re.MULTILINE,
)


def command() -> list[str]:
    return [sys.executable, "-m", "mica.tf", "-m", "pytest"]


def choose_slice(keras: pathlib.Path, record: dict[str, float]) -> set[str]:
    """Of every folder the ids with the smallest hashes, of those that pass and take no long time.

    A hash keeps the choice the same while other ids come and go.
    """
    by_folder, usable = collections.defaultdict(list), {}
    for id, seconds in record.items():
        name = id.split("::")[0]
        if name not in usable:
            usable[name] = not MORE_PACKAGES.search((keras / name).read_text(encoding="utf-8"))
        if usable[name] and seconds <= SLICE_SECONDS_PER_TEST:
            place = hashlib.sha256(f"{SEED} {id}".encode()).hexdigest()
            by_folder[os.path.dirname(id.split("::")[0])].append((place, id))
    return {id for ids in by_folder.values() for _, id in sorted(ids)[:SLICE_PER_FOLDER]}


def run_slice(runner: suite.Runner, record: dict[str, float], workers: int) -> int:
    wanted = choose_slice(runner.keras, record)
    names = sorted({id.split("::")[0] for id in wanted})
    jobs = []
    for worker in range(workers):
        part = set(names[worker::workers])
        jobs.append((sorted(part), {id for id in wanted if id.split("::")[0] in part}))
    found: dict[str, suite.Result] = {}
    suite.run_all(runner, jobs, workers, lambda _, results: found.update(results))
    lost = {id: found.get(id) for id in sorted(wanted)}
    lost = {id: result for id, result in lost.items() if not result or result.outcome != "passed"}
    for id, result in lost.items():
        print(f"lost: {id}: {result.message if result else 'it did not run'}")
    print(f"slice: {len(wanted) - len(lost)} of {len(wanted)} of Keras' own tests pass")
    return 1 if lost or not wanted else 0


def report(answers, found, order) -> None:
    """A line per folder: of the ids that pass on TensorFlow, those that pass here."""
    table = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name in order:
        counts, answer = table[suite.folder(name)], answers.get(name, lists.Answer(set(), set()))
        for id in answer.passing:
            result = found.get(id)
            counts[0 if result and result.outcome == "passed" else 1] += 1
        for id in answer.unasked:
            result = found.get(id)
            if result is None or result.outcome != "skipped":
                counts[2 if result and result.outcome == "passed" else 3] += 1
    total = [sum(counts[i] for counts in table.values()) for i in range(4)]
    width = max([len(name) for name in table] + [6])
    print(f"{'folder':{width}}  pass on TensorFlow     TensorFlow not asked")
    print(f"{'':{width}}  {'passed':>8} {'failed':>8}    {'passed':>8} {'failed':>8}")
    for name, counts in [*sorted(table.items()), ("all", total)]:
        print(f"{name:{width}}  {counts[0]:8} {counts[1]:8}    {counts[2]:8} {counts[3]:8}")
    if total[0] + total[1]:
        share = 100 * total[0] / (total[0] + total[1])
        print(f"{share:.2f} % of the ids that pass on TensorFlow pass on Mica")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--slice", action="store_true")
    parser.add_argument("--missing", action="store_true", help="what did not pass when last stored")
    parser.add_argument("--record", action="store_true", help="store this run as the last one")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--log", type=pathlib.Path, help="where pytest's output goes")
    parser.add_argument("--results", type=pathlib.Path, help="a line of JSON per test goes here")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    keras = suite.package()
    record, answers = lists.read_record(), lists.read_answers()
    runner = suite.Runner(command(), keras, options.log)
    if options.slice:
        return run_slice(runner, record, options.workers)

    order = [
        name
        for name in suite.files(keras)
        if not options.parts or any(part in name for part in options.parts)
    ]
    cost = collections.Counter()
    for id, seconds in record.items():
        cost[id.split("::")[0]] += seconds
    found: dict[str, suite.Result] = {}
    begin = time.monotonic()

    def done(names, results):
        found.update(results)
        outcomes = collections.Counter(result.outcome for result in results.values())
        print(
            f"{time.monotonic() - begin:6.0f} s  {names[0]}: {outcomes['passed']} passed, "
            f"{outcomes['failed']} failed, {outcomes['skipped']} skipped",
            flush=True,
        )
        if options.results:
            with open(options.results, "a", encoding="utf-8") as stream:
                for id, result in results.items():
                    line = [id, result.outcome, result.seconds, result.message]
                    stream.write(json.dumps(line) + "\n")

    order.sort(key=lambda name: -cost[name])
    nothing = lists.Answer(set(), set())
    if options.missing:
        asked = {name: answers.get(name, nothing) for name in order}
        left = {name: (x.passing | x.unasked) - record.keys() for name, x in asked.items()}
        jobs = [([name], left[name]) for name in order if left[name]]
    else:
        jobs = [([name], None) for name in order]
    suite.run_all(runner, jobs, options.workers, done)
    if options.missing:
        stored = {id for id in record if id.split("::")[0] in set(order)}
        found |= {id: suite.Result("passed", record[id]) for id in stored}

    known = {id for name in order for id in answers.get(name, nothing).passing}
    for id in sorted(found):
        if found[id].outcome == "failed" and id in known:
            print(f"failed: {id}: {' '.join(found[id].message.split())[:160]}")
    ran = set(order)
    passed = {id: result.seconds for id, result in found.items() if result.outcome == "passed"}
    lost = [id for id in record if id.split("::")[0] in ran and id not in passed]
    for id in sorted(lost):
        print(f"lost: {id}")
    report(answers, found, order)
    print(f"{len(lost)} ids were lost since the last stored run")
    if options.record:
        kept = {id: seconds for id, seconds in record.items() if id.split("::")[0] not in ran}
        lists.write_record(kept | passed)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
