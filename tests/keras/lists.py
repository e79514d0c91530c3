"""The stored lists: what passes on TensorFlow, and what passed on Mica when that was last recorded.

`tensorflow.txt.gz` has a line per id: "+ id" passes on TensorFlow, "? id" is of a file that
TensorFlow has not been asked about. Ids that fail or are skipped there are absent; a line "! file"
stands for a file of which that is true of all. `mica.txt.gz` has a line "seconds id" per test that
passed on Mica.
"""

from __future__ import annotations

import dataclasses
import gzip
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = HERE / "tensorflow.txt.gz"
RECORD = HERE / "mica.txt.gz"


@dataclasses.dataclass
class Answer:
    """What TensorFlow said about a file."""

    passing: set[str]
    unasked: set[str]


def read_lines(path: pathlib.Path) -> list[list[str]]:
    if not path.exists():
        return []
    text = gzip.decompress(path.read_bytes()).decode()
    return [line.split(" ", 1) for line in text.splitlines()]


def write_lines(path: pathlib.Path, lines: list[str]) -> None:
    data = gzip.compress("".join(line + "\n" for line in lines).encode(), 9, mtime=0)
    partial = path.with_suffix(".partial")
    partial.write_bytes(data)
    os.replace(partial, path)


def read_answers(path: pathlib.Path = ANSWERS) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    for mark, id in read_lines(path):
        answer = answers.setdefault(id.split("::")[0], Answer(set(), set()))
        if mark != "!":
            (answer.passing if mark == "+" else answer.unasked).add(id)
    return answers


def write_answers(answers: dict[str, Answer], path: pathlib.Path = ANSWERS) -> None:
    lines = []
    for name, answer in sorted(answers.items()):
        lines += [f"+ {id}" for id in sorted(answer.passing)]
        lines += [f"? {id}" for id in sorted(answer.unasked)]
        if not answer.passing and not answer.unasked:
            lines.append(f"! {name}")
    write_lines(path, lines)


def read_record(path: pathlib.Path = RECORD) -> dict[str, float]:
    return {id: float(seconds) for seconds, id in read_lines(path)}


def write_record(record: dict[str, float], path: pathlib.Path = RECORD) -> None:
    write_lines(path, [f"{seconds:.1f} {id}" for id, seconds in sorted(record.items())])
