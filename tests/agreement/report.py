"""`make agreement`: runs the stored calls with Mica and compares with TensorFlow's answers.

python report.py [--match text] [--every n] [--least percent] [--golden file] [--json file]
                 [--list]
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import extras
import golden
import processes
import public
import reviewed
import rules
import signatures


def offered(calls: list[dict]) -> list[int]:
    """The places of the calls whose functions Mica has; the others have nothing to compare."""
    tf = importlib.import_module("mica.tf")
    there = {name: public.find(tf, name) is not None for name in {call["f"] for call in calls}}
    return [i for i, call in enumerate(calls) if there[call["f"]]]


def argument_counts(calls: list[dict]) -> str:
    """How often arguments are given something other than their defaults, in a line."""
    counts = signatures.counts(calls)
    every = [
        (name, argument)
        for name in {call["f"] for call in calls}
        for argument in signatures.arguments(name)
        if argument not in extras.UNSPELLED
        and argument != "name"
        and (name, argument) not in extras.UNANSWERED
    ]
    seldom = sorted(f"{name}({argument})" for name, argument in every if counts[name, argument] < 3)
    text = f"{len(every)} arguments, {len(every) - len(seldom)} at other values three times or more"
    return text + (f"; not {', '.join(seldom)}" if seldom else "")


def spelled(call: dict) -> str:
    """A call in one line."""
    parts = [
        (f"{name}=" if name else "") + json.dumps(value, ensure_ascii=False)
        for name, value in call["a"]
    ]
    order = f" order {call['o']}" if call["o"] else ""
    return f"{call['f']}({', '.join(parts)}) [{call['m']}{order}]"


def compare(calls: list[dict], wanted: list[dict], jobs: int = 2) -> list[tuple]:
    """(call, wanted, found, what differs or None) of every call."""
    found = processes.answers(calls, sys.executable, "mica.tf", processes=jobs)
    return [
        (call, a, b, rules.disagreement(call, a, b))
        for call, a, b in zip(calls, wanted, found, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--match", default="", help="functions whose name has this part")
    parser.add_argument("--every", type=int, default=1, help="every n-th call only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=98.4, help="fails under this percentage")
    parser.add_argument("--golden", type=Path, default=golden.FILE)
    parser.add_argument("--json", type=Path, help="writes the disagreements there")
    parser.add_argument("--list", action="store_true", help="writes the list of disagreements anew")
    options = parser.parse_args()
    if options.list and (options.match or options.every > 1):
        sys.exit("--list takes all calls")
    calls, wanted, facts = golden.read(options.golden)
    there = offered(calls)
    chosen = [i for i in there if options.match in calls[i]["f"] and i % options.every == 0]
    rows = compare([calls[i] for i in chosen], [wanted[i] for i in chosen], options.jobs)
    families: dict = collections.defaultdict(lambda: [0, 0, 0])
    for call, a, b, what in rows:
        for name in (rules.family(call["f"]), "all"):
            families[name][0] += 1
            families[name][1] += what is None
            families[name][2] += what is None and rules.is_exact(a, b)
    different = [row for row in rows if row[3]]
    for call, a, b, what in different:
        print(f"{what}: {spelled(call)}")
        if options.match:
            print(f"    wanted {json.dumps(a)[:600]}\n    found  {json.dumps(b)[:600]}")
    if options.json:
        options.json.write_text(json.dumps(different))
    print(f"\nTensorFlow {facts['tensorflow']}, {len(rows)} calls")
    print(f"{len(calls) - len(there)} more of functions that Mica does not have")
    print(argument_counts([calls[i] for i in chosen]))
    print(f"{'family':<20}{'calls':>8}{'agree':>10}{'exactly':>10}")
    for name in sorted(families, key=lambda name: (name == "all", name)):
        n, agree, exact = families[name]
        print(f"{name:<20}{n:>8}{100 * agree / n:>9.2f}%{100 * exact / n:>9.2f}%")
    if options.list:
        reviewed.write(rows)
    n, agree, _ = families["all"]
    faults = reviewed.faults(rows)
    for fault in faults:
        print(f"{reviewed.FILE.name}: {fault}")
    if 100 * agree < options.least * n:
        sys.exit(f"under {options.least} %")
    if faults:
        sys.exit(f"{len(faults)} calls are not as {reviewed.FILE.name} says")


if __name__ == "__main__":
    main()
