"""The table of TensorFlow's public names: api.txt, made by tests/oracle/make_tensorflow_api.py.

A row per name: the name, what it is, and a function's or class's arguments with their defaults.

    nn.relu	function	features, name=None
    math.abs	alias	abs

`alias` names another row of the same object. A default that is no literal is `...`, a dtype is
`tf.float32`. This module needs neither TensorFlow nor Mica.
"""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent / "api.txt"

# Keras is a package of its own; compat.v2 is the namespace itself.
ELSEWHERE = {"keras", "compat.v2", "compat.v1.compat", "compat.v1.keras", "compat.v1.raw_ops"}


@dataclass(frozen=True)
class Row:
    name: str
    kind: str
    arguments: str = ""

    def line(self) -> str:
        return "\t".join((self.name, self.kind, self.arguments)).rstrip("\t")


def read(path: Path = FILE) -> dict[str, Row]:
    """The rows by name; an alias has the kind and the arguments of what it stands for."""
    rows = [Row(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]
    found = {row.name: row for row in rows}
    for row in rows:
        if row.kind == "alias":
            real = found[row.arguments]
            found[row.name] = Row(row.name, real.kind, real.arguments)
    return found


def write(rows: list[Row], path: Path = FILE) -> None:
    path.write_text("".join(row.line() + "\n" for row in rows), encoding="utf-8")


def default(tf: Any, value: Any) -> str:
    """A default as the table spells it."""
    if isinstance(value, tf.DType):
        return f"tf.{value.name}"
    if isinstance(value, (tuple, list)):
        parts = [default(tf, part) for part in value]
        return f"({', '.join(parts)})" if "..." not in parts else "..."
    if value is None or type(value) in (bool, int, float, str, bytes):
        return repr(value)
    if isinstance(value, type) and value.__module__ == "builtins":
        return value.__name__
    return "..."


def arguments(tf: Any, value: Any) -> str | None:
    """A function's or class's arguments; None where it does not tell."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    return spelled(tf, list(signature.parameters.values()))


def spelled(tf: Any, parameters: list[inspect.Parameter]) -> str:
    parts, bare = [], False
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            bare = True
        if p.kind is p.KEYWORD_ONLY and not bare:
            parts.append("*")
            bare = True
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        given = "" if p.default is p.empty else "=" + default(tf, p.default)
        parts.append(star + p.name + given)
    return ", ".join(parts)


def kind(tf: Any, value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) and not isinstance(value, tf.DType) else "constant"


def walk(tf: Any) -> list[Row]:
    """A row per public name; the namespaces in a namespace come after its names, compat last."""
    rows: list[Row] = []
    seen: dict[int, str] = {}
    kept = []

    def visit(module: types.ModuleType, path: str) -> None:
        inner = []
        for key in sorted(dir(module)):
            name = f"{path}.{key}".lstrip(".")
            if key.startswith("_") or name in ELSEWHERE:
                continue
            value = getattr(module, key)
            sort = kind(tf, value)
            if sort == "module":
                place = vars(value).get("__name__", "")
                if "_api" in place or place == "tensorflow.experimental":
                    rows.append(Row(name, "module"))
                    inner.append((value, name))
                continue
            if sort in ("class", "function") and id(value) in seen:
                rows.append(Row(name, "alias", seen[id(value)]))
                continue
            if sort != "constant":
                seen[id(value)] = name
                kept.append(value)
            rows.append(Row(name, sort, _arguments_of(tf, value, sort)))
        for value, name in sorted(inner, key=lambda pair: pair[1] == "compat"):
            visit(value, name)

    visit(tf, "")
    return rows


def _arguments_of(tf: Any, value: Any, sort: str) -> str:
    if sort == "constant":
        return ""
    found = arguments(tf, value)
    return "?" if found is None else found


def split(text: str) -> dict[str, str]:
    """Arguments by name, each with its default or ""; "*args" and "**kwargs" left out."""
    found, depth, part = {}, 0, ""
    for letter in [*text, ","]:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0 and part.count("'") % 2 == 0:
            name, _, given = part.strip().partition("=")
            if name and not name.startswith("*"):
                found[name] = given
            part = ""
        else:
            part += letter
    return found
