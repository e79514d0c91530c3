"""Reads and writes the stored calls and TensorFlow's answers: data/golden.json.xz."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

FILE = Path(__file__).resolve().parent / "data" / "golden.json.xz"


def write(calls: list[dict], answers: list[dict], facts: dict, path: Path = FILE) -> None:
    """One line of facts, then a line per call with its answer."""
    lines = [json.dumps(facts)]
    for call, answer in zip(calls, answers, strict=True):
        kept = {key: value for key, value in answer.items() if key != "w"}
        row = [call["f"], call["m"], call["o"], call["a"], kept]
        lines.append(json.dumps(row, separators=(",", ":"), ensure_ascii=False))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def read(path: Path = FILE) -> tuple[list[dict], list[dict], dict]:
    """Calls, answers, facts."""
    first, *lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    calls, answers = [], []
    for line in lines:
        function, mode, order, arguments, answer = json.loads(line)
        calls.append({"f": function, "a": arguments, "m": mode, "o": order})
        answers.append(answer)
    return calls, answers, json.loads(first)
