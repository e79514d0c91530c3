# needs: tensorflow-cpu==2.21.0
"""Draws the calls of tests/agreement and stores TensorFlow's answers to them.

Calls run in processes of their own, twice, the second time with fresh memory filled with another
byte. Left out, by rule, are calls without an answer: those that TensorFlow does not survive or does
not answer in time, whose two answers differ (random, or made of memory that nobody wrote), that
need a kernel which its CPU build lacks, or a derivative that it does not have, or that fail inside
TensorFlow by accident (something is done with a None that nobody gave).

    python make_tensorflow_agreement.py [--calls n] [--match text] [--golden file] [--keep]
    python make_tensorflow_agreement.py --recheck | --relist [--match text]

`--keep` asks for the calls only that are not stored yet; `--recheck` asks again the stored ones
that fail, `--relist` those that disagreements.txt lists, and leaves out those that today's rules
leave out.
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

PER_FUNCTION = 79


GAPS = {
    "No OpKernel was registered": "no kernel",
    "Could not find device for node": "no kernel",
    "Current CPU implementations do not yet support": "no kernel",
    "Current CPU implementation does not yet support": "no kernel",
    "only supports NHWC": "no kernel",
    "only supports the NHWC": "no kernel",
    "only supports NDHWC": "no kernel",
    "The input data type is not supported": "no kernel",
    "gradient registry has no entry": "no derivative",
    "No gradient defined for op": "no derivative",
    "gradient has not been implemented": "no derivative",
    "Grad not implemented": "no derivative",
    "Gradient for SparseDenseCwiseAdd is not implemented": "no derivative",
    "Grad() takes": "no derivative",
    "/SymbolicGradient": "no derivative",
    "object has no attribute": "fails by accident",
    "list indices must be integers or slices, not tuple": "fails by accident",
    "can only concatenate tuple (not": "fails by accident",
    "'int' object is not iterable": "fails by accident",
    "cannot unpack non-iterable": "fails by accident",
    "index out of range": "fails by accident",
    "list assignment index": "fails by accident",
    "None values not supported": "fails by accident",
    "not supported between instances": "fails by accident",
}
# What a derivative says that does not take a dtype which the function itself takes.
REFUSED_DTYPES = ("not in list of allowed values", "ScaleAndTranslateGrad")
NONE = ("'NoneType' object is not", "instances of 'NoneType'", "'NoneType' and ")


def gives_none(spelled) -> bool:
    """Whether an argument, or a part of one, is None."""
    return spelled is None or (isinstance(spelled, list) and any(map(gives_none, spelled)))


def gap(answer: dict) -> str | None:
    """What TensorFlow lacks, where that is why it fails."""
    return next((why for text, why in GAPS.items() if text in answer.get("w", "")), None)


def unanswered(call: dict, first: dict, second: dict) -> str | None:
    """Why a call is left out."""
    if "x" in first or "x" in second:
        return "crashes or hangs"
    if gap(first):
        return gap(first)
    if any(text in first.get("w", "") for text in NONE):
        if not any(gives_none(value) for _, value in call["a"]):
            return "fails by accident"
    return "two answers" if rules.disagreement(call, first, second) else None


def ask(calls: list[dict]) -> tuple[dict, collections.Counter]:
    """TensorFlow's answers by the calls' keys, and how many calls were left out, and why."""

    def run(byte):
        return processes.answers(
            calls, sys.executable, "tensorflow", environment={"MALLOC_PERTURB_": str(byte)}
        )

    kept, dropped = {}, collections.Counter()
    found = list(zip(calls, run(1), run(171), strict=True))
    refused = [
        call
        for call, first, _ in found
        if call["o"] and any(text in first.get("w", "") for text in REFUSED_DTYPES)
    ]
    values = processes.answers([{**call, "o": 0} for call in refused], sys.executable, "tensorflow")
    narrow = {
        reviewed.key(call)
        for call, answer in zip(refused, values, strict=True)
        if "r" in answer or gap(answer)
    }
    for call, first, second in found:
        why = unanswered(call, first, second)
        if not why and reviewed.key(call) in narrow:
            why = "no derivative"
        if why:
            dropped[why] += 1
        else:
            kept[reviewed.key(call)] = first
    return kept, dropped


def recheck(path: Path, match: str, listed: bool) -> None:
    """Leaves stored calls out, of those that fail or are listed, that have no answer."""
    calls, answers, facts = golden.read(path)
    names = reviewed.read()
    asked = [
        call
        for call, answer in zip(calls, answers, strict=True)
        if match in call["f"] and (reviewed.key(call) in names if listed else "e" in answer)
    ]
    kept, dropped = ask(asked)
    gone = {reviewed.key(call) for call in asked} - set(kept)
    rows = [
        (call, answer)
        for call, answer in zip(calls, answers, strict=True)
        if reviewed.key(call) not in gone
    ]
    counts = collections.Counter(facts["dropped"])
    counts.update(dropped)
    golden.write(*zip(*rows, strict=True), {**facts, "dropped": dict(counts)}, path)
    print(f"{len(asked)} asked again, {len(gone)} left out: {dict(dropped)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=PER_FUNCTION, help="calls per function")
    parser.add_argument("--match", default="", help="functions whose name has this part")
    parser.add_argument("--golden", type=Path, default=golden.FILE)
    parser.add_argument("--keep", action="store_true", help="keeps the answers that are stored")
    parser.add_argument("--recheck", action="store_true", help="asks what fails again")
    parser.add_argument("--relist", action="store_true", help="asks what is listed again")
    options = parser.parse_args()
    if options.recheck or options.relist:
        recheck(options.golden, options.match, options.relist)
        return
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
             "per_function": options.calls, "dropped": dict(dropped)}  # fmt: skip
    golden.write(calls, [stored[reviewed.key(call)] for call in calls], facts, options.golden)
    size = options.golden.stat().st_size
    print(f"{len(calls)} kept in {options.golden} ({size} bytes); dropped: {dict(dropped)}")


main()
