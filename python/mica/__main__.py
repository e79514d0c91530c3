"""The `mica` program: ``python -m mica`` and the script of the package run the C one."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def _program() -> Path | None:
    """Where the C program is: beside the package, in its scripts, or in a build tree."""
    package = Path(__file__).parent
    places = [package / "bin" / "mica", package.parent.parent / "bin" / "mica"]
    return next((place for place in places if place.is_file()), None)


def main() -> int:
    """Run the C program with this process's arguments; `bench` is Python's own."""
    if sys.argv[1:3] == ["bench", "ops"]:
        from .bench import main as bench

        return bench(sys.argv[2:])
    program = _program()
    if program is None:
        print("mica: the program is not part of this installation", file=sys.stderr)
        return 1
    os.execv(program, ["mica", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
