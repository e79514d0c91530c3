"""`mica export`: runs a script and writes a function of it for programs of C."""

from __future__ import annotations

import argparse
import importlib
import re
import runpy
import sys
from pathlib import Path
from typing import Any

from . import _mica
from ._export import save_last, save_last_of_tensorflow
from ._transforms import JitFunction


def _uses_tensorflow(script: str) -> bool:
    """Whether a line of the script imports tensorflow or keras."""
    text = Path(script).read_text(encoding="utf-8")
    return bool(re.search(r"^\s*(import|from)\s[^#\n]*\b(tensorflow|keras)\b", text, re.MULTILINE))


def _write(path: str, function: Any, name: str) -> None:
    traces = getattr(function, "_cache", None)
    tensorflow = sys.modules.get("mica.tf._function")
    if isinstance(function, JitFunction):
        write = save_last
    elif tensorflow and isinstance(function, tensorflow.Function):
        write = save_last_of_tensorflow
    else:
        raise TypeError(
            f"[export] {name} is a {type(function).__name__}; `mica export` takes a function of "
            "mica.jit or tf.function"
        )
    if not traces:
        raise ValueError(
            f"[export] {name} was never called: its arguments' types are those of the last call "
            "that the script makes"
        )
    write(path, function)


def _tell_arena(path: str) -> None:
    """Says how much memory a file of C takes."""
    if Path(path).suffix == ".c":
        text = Path(path).read_text(encoding="utf-8")
        size = re.search(r"^enum { ARENA_BYTES = (\d+) };$", text, re.MULTILINE)
        print(f"mica: {path} has an arena of {int(size[1]):,} bytes", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run a script, then write a function of it for the arguments of its last call."""
    parser = argparse.ArgumentParser(prog="mica export")
    parser.add_argument("function", metavar="SCRIPT.py:FUNCTION")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    script, _, name = options.function.rpartition(":")
    if not script or not name:
        parser.error(f"{options.function!r} is not like script.py:function")
    if not Path(script).is_file():
        parser.error(f"there is no file {script!r}")
    errors: tuple = (OSError, TypeError, ValueError, RuntimeError, NotImplementedError)
    if _uses_tensorflow(script):
        importlib.import_module("mica.tf._install").install()
        errors += (importlib.import_module("mica.tf.errors").OpError,)
        _mica.TFGraph._keep_graphs(True)
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).resolve().parent))
    names = runpy.run_path(script, run_name="__main__")
    try:
        if name not in names:
            raise ValueError(f"[export] {script} has no function {name!r}")
        _write(options.output, names[name], name)
        _tell_arena(options.output)
    except errors as error:
        print(f"mica: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
