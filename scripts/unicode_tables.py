"""Writes src/text/unicode.def: categories, scripts and case folding of Unicode 15.0.

    python scripts/unicode_tables.py > src/text/unicode.def

needs: unicodedata2==15.0.0 fonttools==4.40.0
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import groupby

import unicodedata2
from fontTools.unicodedata import Scripts, script

LAST = 0x10FFFF
CATEGORIES = (
    "Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs"
).split()


def runs(value: Callable[[int], str]) -> list[tuple[int, str]]:
    """Where a run of points with one value begins, and the value."""
    points = groupby(range(LAST + 1), value)
    return [(next(iter(run)), key) for key, run in points]


def fold(point: int) -> int:
    """Simple case folding: one point for one point."""
    text = chr(point)
    for found in (text.casefold(), text.lower()):
        if len(found) == 1:
            return ord(found)
    return point


def orbits() -> dict[int, int]:
    """For each point with others of the same letter: the next larger one, in a circle."""
    same: dict[int, set[int]] = {}
    for point in range(LAST + 1):
        if not 0xD800 <= point < 0xE000 and fold(point) != point:
            same.setdefault(fold(point), {fold(point)}).add(point)
    following = {}
    for points in same.values():
        ordered = sorted(points)
        following.update(zip(ordered, [*ordered[1:], ordered[0]], strict=True))
    return following


def fold_ranges() -> list[tuple[int, int, int, int]]:
    """(first, last, step, distance to the next of the orbit)."""
    ranges: list[list[int]] = []
    for point, next_one in sorted(orbits().items()):
        distance = next_one - point
        # In pairs of neighbours every second point has the same distance.
        for found in reversed(ranges[-2:]):
            first, last, step, its = found
            if its == distance and (
                point - last == step or (first == last and point - last < 3)
            ):
                found[1:3] = [point, point - last]
                break
        else:
            ranges.append([point, point, 1, distance])
    return [tuple(found) for found in sorted(ranges)]  # type: ignore[misc]


def array(head: str, cells: Iterable[str]) -> str:
    """Lines of at most 100 columns."""
    lines = [f"static const {head} = {{"]
    line = "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    return "\n".join([*lines, line, "};", ""])


def main() -> None:
    assert unicodedata2.unidata_version == "15.0.0"
    categories = runs(lambda c: unicodedata2.category(chr(c)))
    scripts = runs(lambda c: script(chr(c)))
    names = sorted({Scripts.NAMES[key] for _, key in scripts} - {"Unknown"})
    numbers = {name: i + 1 for i, name in enumerate(names)} | {"Unknown": 0}
    print("/* unicode.def: made by scripts/unicode_tables.py of Unicode 15.0. */\n")
    print("/* Names of categories; 0 is that of points which are not assigned. */")
    print(array("char category_names[][3]", (f'"{name}"' for name in CATEGORIES)))
    print("/* Runs of points of one category: the first point << 5 | the category. */")
    cells = (f"{first << 5 | CATEGORIES.index(key):#x}" for first, key in categories)
    print(array("uint32_t category_runs[]", cells))
    print("/* Names of scripts; 0 is none. */")
    print(array("char *const script_names[]", (f'"{name}"' for name in ["", *names])))
    print("/* Runs of points of one script: the first point << 8 | the script. */")
    cells = (f"{first << 8 | numbers[Scripts.NAMES[key]]:#x}" for first, key in scripts)
    print(array("uint32_t script_runs[]", cells))
    print("/* Letters with other cases: {first, last, step, distance to the next case}. */")
    rows = (f"{{{a:#x}, {b:#x}, {step}, {by}}}" for a, b, step, by in fold_ranges())
    print(array("fold_range fold_ranges[]", rows), end="")


if __name__ == "__main__":
    sys.exit(main())
