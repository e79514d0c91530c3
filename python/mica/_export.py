"""Compiled functions as files for programs of C."""

from __future__ import annotations

import inspect
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import tree
from ._mica import Graph, tensor
from ._transforms import JitFunction, jit


def _names(what: str, values: Any) -> list[str]:
    """A line for each leaf, which is a number: the keys that lead to it."""
    named = sorted(zip(tree.leaves(values), tree.paths(values), strict=True))
    return [
        f" *     {what}[{i}]  {'.'.join(str(key) for key in path) or 'the result'}"
        for i, path in named
    ]


def _arguments(function: Callable, args: tuple, kwargs: dict) -> dict:
    """The arguments by the names that the function has for them."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # static arguments are missing, or there is no signature
        return {"args": args, "kwargs": kwargs}


def _comment(lines: list[str]) -> str:
    return "\n".join(line.replace("*/", "* /") for line in lines)


def _write(path: Path, graph: Graph, name: str, notes: list[str]) -> None:
    """By a rename, so that the old file or the whole new one is there at any time."""
    if path.suffix == ".c":
        text = graph.write_c(name)
        head = f"/* What the numbers of {name} are in its Python function.\n *\n"
        data = (head + _comment(notes) + "\n */\n\n" + text).encode()
    elif path.suffix == ".graph":
        data = graph.serialize()
    else:
        raise ValueError(
            f"[export] {str(path)!r} ends in {path.suffix!r}: give a name that ends in .c, for C "
            "source, or in .graph, for mica_graph_deserialize"
        )
    number, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, 0o666 & ~_umask())
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _name_of(path: Path) -> str:
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    return name if not name[:1].isdigit() else "_" + name


def export(path: str | os.PathLike, function: Callable, *args: Any, **kwargs: Any) -> None:
    """Write what a function computes of arguments like these as a file for programs of C.

    Captured tensors become constants of the file. Inputs are the leaves of the arguments in
    order, outputs those of the result; a comment of the file names them.

    Parameters
    ----------
    path : path
        ``NAME.c``: C source that needs libc and libm alone, with a function NAME, nothing
        allocated, and the bits of a run on the cpu. ``NAME.graph``: the graph, for
        ``mica_graph_deserialize`` of the C library.
    function : callable
        A function of arrays, `jit` or not.

    Examples
    --------
    >>> import mica, tempfile
    >>> path = tempfile.mkdtemp() + "/square.c"
    >>> mica.export(path, lambda x: x * x, mica.ones((3,)))
    >>> "int square(" in open(path).read()
    True
    """
    compiled = function if isinstance(function, JitFunction) else jit(function)
    compiled._prepare(args, kwargs)
    save_last(path, compiled)


def save_last(path: str | os.PathLike, function: JitFunction) -> None:
    """Write what the last call of a function computes."""
    (structure, *_), entry = next(reversed(function._cache.items()))
    free = len(entry.graph.inputs) - len(entry.captured)
    graph = entry.graph.bind([None] * free + entry.captured)
    n_inputs, n_outputs = len(graph.inputs), len(graph.outputs)
    args, kwargs = tree.unflatten(structure, list(range(n_inputs)))
    notes = _names("inputs", _arguments(function, args, kwargs))
    notes += _names("outputs", tree.unflatten(entry.structure, list(range(n_outputs))))
    _write(Path(path), graph, _name_of(Path(path)), notes)


def save_last_of_tensorflow(path: str | os.PathLike, function: Any) -> None:
    """Write what the newest trace of a `tf.function` computes, variables as inputs and outputs."""
    concrete = next(reversed(function._cache.values()))
    data, notes = concrete.graph._lowered()
    variables = {id(variable.handle): variable.name for variable in concrete.variables}
    names, captured = {}, {}
    for outside, inside in concrete.graph._captures():
        name = inside.name.partition(":")[0]
        if id(outside) in variables:
            names[name] = variables[id(outside)]
        else:
            captured[name] = outside
    lines, values = [], []
    for line in notes.splitlines():
        what, number, kind, name = re.match(r" \*     (\w+)\[(\d+)\]  (.*?)(\S+)$", line).groups()
        if what == "inputs":
            is_captured = not kind and name in captured
            values.append(tensor(captured[name].numpy()) if is_captured else None)
            if is_captured:
                continue
            number = values.count(None) - 1
        lines.append(f" *     {what}[{number}]  {kind}{names.get(name, name)}")
    graph = Graph.deserialize(data).bind(values)
    _write(Path(path), graph, _name_of(Path(path)), lines)
