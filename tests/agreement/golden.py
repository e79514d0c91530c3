"""Reads and writes TensorFlow's answers to the calls: data/golden.json.xz.

A call is not stored: the generator draws it again from its function's name and its number. A sum
over a function's calls tells where a recipe has changed since.
"""

from __future__ import annotations

import json
import lzma
import zlib
from pathlib import Path

from generator import draw_call, drawn
from recipes import RECIPES

FILE = Path(__file__).resolve().parent / "data" / "golden.json.xz"


def _sum(calls: list[dict]) -> int:
    return zlib.crc32(json.dumps(calls, sort_keys=True).encode())


def write(calls: list[dict], answers: list[dict], facts: dict, path: Path = FILE) -> None:
    """A line of facts, a line per function with the sum of its calls, one per answer below it."""
    stored = {json.dumps(call): answer for call, answer in zip(calls, answers, strict=True)}
    lines = [json.dumps(facts)]
    for name in sorted(RECIPES):
        numbered = drawn(name, facts["per_function"])
        kept = [(number, call) for number, call in numbered if json.dumps(call) in stored]
        if kept:
            lines.append(json.dumps([name, _sum([call for _, call in kept])]))
        for number, call in kept:
            answer = stored.pop(json.dumps(call))
            row = [number, {key: value for key, value in answer.items() if key != "w"}]
            lines.append(json.dumps(row, separators=(",", ":"), ensure_ascii=False))
    if stored:
        raise ValueError(f"{len(stored)} calls are not those that the generator draws")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def read(path: Path = FILE) -> tuple[list[dict], list[dict], dict]:
    """Calls, answers, facts."""
    first, *lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    calls: list[dict] = []
    answers, sums = [], {}
    for line in lines:
        what, value = json.loads(line)
        if isinstance(what, str):
            name = what
            sums[name] = value, len(calls)
        else:
            calls.append(draw_call(name, what))
            answers.append(value)
    ends = [start for _, start in list(sums.values())[1:]] + [len(calls)]
    changed = [
        name
        for (name, (known, start)), end in zip(sums.items(), ends, strict=True)
        if _sum(calls[start:end]) != known
    ]
    if changed:
        raise ValueError(
            f"the calls of {', '.join(changed)} are not those that were stored: a recipe has "
            "changed; tests/oracle/make_tensorflow_agreement.py --keep asks TensorFlow again"
        )
    return calls, answers, json.loads(first)
