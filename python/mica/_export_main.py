"""`mica export`: runs a script and writes a function of it for programs of C."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

from ._export import save_last
from ._transforms import JitFunction


def _checked(function: Any, name: str) -> JitFunction:
    if not isinstance(function, JitFunction):
        raise TypeError(
            f"[export] {name} is a {type(function).__name__}; `mica export` takes a function that "
            "mica.jit has compiled"
        )
    if not function._cache:
        raise ValueError(
            f"[export] {name} was never called: its arguments' types are those of the last call "
            "that the script makes"
        )
    return function


def main(arguments: list[str] | None = None) -> int:
    """Run a script, then write a function of it for the arguments of its last call."""
    parser = argparse.ArgumentParser(prog="mica export")
    parser.add_argument("function", metavar="SCRIPT.py:FUNCTION")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    script, _, name = options.function.rpartition(":")
    if not script or not name:
        parser.error(f"{options.function!r} is not like script.py:function")
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        names = runpy.run_path(script, run_name="__main__")
        if name not in names:
            raise ValueError(f"[export] {script} has no function {name!r}")
        save_last(options.output, _checked(names[name], name))
    except (OSError, TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        print(f"mica: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
