"""Writes include/mica/mlc_names.h: even names for the values of ML Compute's enumerations.

python scripts/mlcompute_names.py > include/mica/mlc_names.h
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python" / "_mlcompute"))
import headers  # noqa: E402

HEAD = """\
/* Even names of ML Compute's values: MLC_<TYPE>_<VALUE> for each value of mlc_<type>, beside the
 * shorter ones that some have. Made by scripts/mlcompute_names.py; a test compares. */
#ifndef MICA_MLC_NAMES_H
#define MICA_MLC_NAMES_H

"""


def even_names() -> dict[str, str]:
    """The names that are not there already, and the values they stand for."""
    found = headers.read(ROOT / "include" / "mica")
    known = {name for e in found.enumerations.values() for name in e.values}
    even = {}
    for enumeration in found.enumerations.values():
        if not enumeration.original:
            continue
        prefix = enumeration.name.upper()
        short = headers.short_names(enumeration)
        for name, (value, number) in zip(enumeration.values, short.items(), strict=True):
            assert enumeration.values[name] == number
            if f"{prefix}_{value}" not in known:
                even[f"{prefix}_{value}"] = name
    return even


def text() -> str:
    """The header."""
    lines = []
    for new, old in even_names().items():
        whole = f"#define {new} {old}"
        broken = [f"#define {new}".ljust(99) + "\\", f"    {old}"]  # as clang-format has it
        lines += [whole] if len(whole) <= 100 else broken
    return HEAD + "\n".join(lines) + "\n\n#endif\n"


if __name__ == "__main__":
    sys.stdout.write(text())
