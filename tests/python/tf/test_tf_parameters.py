"""No public function of mica.tf takes an argument and drops it, but for those with a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "mica" / "tf"
REVIEWED = ROOT / "tests" / "tf" / "unread_parameters.txt"

# Parts that a table calls, all of its entries with the same arguments.
BY_TABLE = ("saved_model._import_", "lite._rows", "lite._table")


def is_public(function: str) -> bool:
    protocol = ("__exit__", "__get__", "__reduce_ex__")
    return all(
        not part.startswith("_") or (part.startswith("__") and part not in protocol)
        for part in function.split(".")
    )


def unread(function: ast.FunctionDef) -> list[str]:
    """Parameters that the body never names; `name` and what starts with an underscore apart."""
    body = [s for s in function.body if not isinstance(s, ast.Expr | ast.Pass | ast.Raise)]
    if not body:
        body = [s for s in function.body if isinstance(s, ast.Expr) and is_code(s)]
    if not body:
        return []
    a = function.args
    names = [x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg] if x]
    read = {m.id for s in function.body for m in ast.walk(s) if isinstance(m, ast.Name)}
    if "locals" in read:
        return []
    ignored = ("self", "cls", "name", "unused")
    return [n for n in names if n not in read and n not in ignored and n[0] != "_"]


def is_code(statement: ast.Expr) -> bool:
    return not isinstance(statement.value, ast.Constant)


def found_in(source: str, module: str) -> dict[tuple[str, str], int]:
    found = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{prefix}.{child.name}" if prefix else child.name
            if isinstance(child, ast.FunctionDef) and is_public(inner):
                for parameter in unread(child):
                    found[f"{module}.{inner}", parameter] = child.lineno
            visit(child, inner)

    visit(ast.parse(source), "")
    return found


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def all_found() -> dict[tuple[str, str], int]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = module_of(path)
        if not module.startswith(BY_TABLE):
            found |= found_in(path.read_text(), module)
    return found


def reviewed() -> dict[tuple[str, str], str]:
    reasons, reason = {}, None
    for line in REVIEWED.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            function, parameters = line.split(": ")
            for parameter in parameters.split(", "):
                assert (function, parameter) not in reasons, f"{function} stands twice"
                reasons[function, parameter] = reason
    return reasons


def test_every_parameter_is_read_or_has_a_reason():
    found, reasons = all_found(), reviewed()
    dropped = [f"{f}({p}), line {line}" for (f, p), line in found.items() if (f, p) not in reasons]
    assert not dropped, "taken and dropped: " + "; ".join(dropped)


def test_every_reason_is_needed():
    found = all_found()
    stale = [f"{f}({p})" for f, p in reviewed() if (f, p) not in found]
    assert not stale, "read after all, or gone: " + "; ".join(stale)


@pytest.mark.parametrize(
    ("source", "parameters"),
    [
        ("def f(a, b=1):\n    return a", ["b"]),
        ("def f(a, *, b, **kwargs):\n    return a + b", ["kwargs"]),
        ("def f(a):\n    def g():\n        return a\n    return g", []),
        ("def f(a):\n    'Text.'\n    raise NotImplementedError", []),
        ("class A:\n    def f(self, a):\n        print(1)", ["a"]),
        ("def _f(a):\n    return 1", []),
    ],
)
def test_what_is_not_read_is_found(source, parameters):
    assert [parameter for _, parameter in found_in(source, "m")] == parameters
