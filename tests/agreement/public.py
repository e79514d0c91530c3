"""TensorFlow's public functions, and those of them that no recipe asks.

data/functions.txt has a line per function with all its names; unasked.txt has paragraphs of a
reason and the functions that it holds for.
"""

from __future__ import annotations

import inspect
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FUNCTIONS = FOLDER / "data" / "functions.txt"
UNASKED = FOLDER / "unasked.txt"
SPACES = (
    "", "math", "math.special", "nn", "nn.experimental", "linalg", "linalg.experimental", "image",
    "signal", "strings", "bitwise", "sets", "sparse", "ragged", "random", "random.experimental",
    "dtypes", "io", "quantization", "audio", "debugging",
)  # fmt: skip


def find(module, name: str):
    """What a dotted name stands for, or None."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def functions(tf) -> list[list[str]]:
    """The names of every function of a module that speaks TensorFlow."""
    names: dict[int, list[str]] = {}
    for space in SPACES:
        module = find(tf, space) if space else tf
        for name in sorted(dir(module)):
            found = getattr(module, name)
            if name.startswith("_") or not callable(found):
                continue
            if not inspect.isclass(found) and not inspect.ismodule(found):
                names.setdefault(id(found), []).append(f"{space}.{name}".lstrip("."))
    return sorted(names.values())


def write(tf) -> None:
    FUNCTIONS.write_text("".join(" ".join(names) + "\n" for names in functions(tf)))


def read() -> list[list[str]]:
    return [line.split() for line in FUNCTIONS.read_text().splitlines()]


def unasked() -> set[str]:
    """The functions that are listed as not asked."""
    lines = UNASKED.read_text().splitlines()
    return {word for line in lines if not line.startswith("#") for word in line.split()}
