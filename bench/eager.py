"""Eager operations against numpy, both in this run: ``python bench/eager.py``.

Prints, for each size, the best time per operation of several rounds, and the ratio.
"""

from __future__ import annotations

import timeit

import mica
import numpy


def best(statement: str, names: dict, number: int) -> float:
    """Seconds per execution: the best of eleven rounds."""
    return min(timeit.repeat(statement, globals=names, number=number, repeat=11)) / number


def main() -> None:
    """Print a table."""
    print(f"mica {mica.__version__} on {mica.device(None).name}, numpy {numpy.__version__}")
    print(f"{'operation':<14}{'elements':>10}{'mica ns':>10}{'numpy ns':>10}{'ratio':>8}")
    statements = ["a + b", "a * b", "a + 1.0", "a < b", "-a", "a[1]", "a.sum()"]
    for size in (1, 4, 16, 64, 256, 1024, 16384):
        data = numpy.linspace(0.5, 2, size, dtype=numpy.float32) if size > 1 else None
        if data is None:
            data = numpy.ones(2, numpy.float32)
        pairs = {"a": data, "b": data[::-1].copy()}
        ours = {name: mica.tensor(value) for name, value in pairs.items()}
        for statement in statements if size == 16 else statements[:2]:
            number = 20000 if size <= 1024 else 3000
            mine, theirs = best(statement, ours, number), best(statement, pairs, number)
            print(
                f"{statement:<14}{data.size:>10}{mine * 1e9:>10.0f}{theirs * 1e9:>10.0f}"
                f"{mine / theirs:>8.2f}"
            )


if __name__ == "__main__":
    main()
