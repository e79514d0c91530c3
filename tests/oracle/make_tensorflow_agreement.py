# needs: tensorflow-cpu==2.21.0
"""Draws the calls of tests/agreement and stores TensorFlow's answers to them.

Calls run in processes of their own, twice, the second time with fresh memory filled with another
byte. Left out, by rule, are calls without an answer: those that TensorFlow does not survive or does
not answer in time, whose two answers differ (random, or made of memory that nobody wrote), that
need a kernel which its CPU build lacks, or a derivative that it does not have, or that fail inside
TensorFlow by accident (an attribute of None).

    python make_tensorflow_agreement.py [--calls n] [--match text] [--golden file] [--keep]

`--keep` asks for the calls only that are not stored yet.
"""

import argparse
import collections
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agreement"))

import golden
import processes
import public
import reviewed
import rules
from generator import draw_calls
from recipes import RECIPES

PER_FUNCTION = 45


GAPS = {
    "No OpKernel was registered": "no kernel",
    "Could not find device for node": "no kernel",
    "gradient registry has no entry": "no derivative",
    "No gradient defined for op": "no derivative",
    "object has no attribute": "fails by accident",
}


def unanswered(call: dict, first: dict, second: dict) -> str | None:
    """Why a call is left out."""
    if "x" in first or "x" in second:
        return "crashes or hangs"
    for text, why in GAPS.items():
        if text in first.get("w", ""):
            return why
    return "two answers" if rules.disagreement(call, first, second) else None


def ask(calls: list[dict]) -> tuple[dict, collections.Counter]:
    """TensorFlow's answers by the calls' keys, and how many calls were left out, and why."""

    def run(byte):
        return processes.answers(
            calls, sys.executable, "tensorflow", environment={"MALLOC_PERTURB_": str(byte)}
        )

    kept, dropped = {}, collections.Counter()
    for call, first, second in zip(calls, run(1), run(171), strict=True):
        why = unanswered(call, first, second)
        if why:
            dropped[why] += 1
        else:
            kept[reviewed.key(call)] = first
    return kept, dropped


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=PER_FUNCTION, help="calls per function")
    parser.add_argument("--match", default="", help="functions whose name has this part")
    parser.add_argument("--golden", type=Path, default=golden.FILE)
    parser.add_argument("--keep", action="store_true", help="keeps the answers that are stored")
    options = parser.parse_args()
    stored: dict = {}
    if options.keep and options.golden.exists():
        old_calls, old_answers, _ = golden.read(options.golden)
        keys = map(reviewed.key, old_calls)
        stored = dict(zip(keys, old_answers, strict=True))
    public.write(importlib.import_module("tensorflow"))
    calls = [call for call in draw_calls(options.calls) if options.match in call["f"]]
    asked = [call for call in calls if reviewed.key(call) not in stored]
    print(f"{len(calls)} calls of {len(RECIPES)} functions, {len(asked)} to ask", flush=True)
    kept, dropped = ask(asked)
    stored.update(kept)
    calls = [call for call in calls if reviewed.key(call) in stored]
    facts = {"tensorflow": "2.21.0", "drawn": len(calls) + sum(dropped.values()),
             "dropped": dict(dropped)}  # fmt: skip
    golden.write(calls, [stored[reviewed.key(call)] for call in calls], facts, options.golden)
    size = options.golden.stat().st_size
    print(f"{len(calls)} kept in {options.golden} ({size} bytes); dropped: {dict(dropped)}")


main()
