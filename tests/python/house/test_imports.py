"""Imports stand at the top of a file. One inside a function says by its place why it is late.

It closes a cycle of files, or a program that never comes there starts without what it brings; the
function is `__getattr__`, which is asked late by nature; or the package is one that may be missing.
"""

import ast
import subprocess
import sys

import pytest
from house import ROOT

# What may be missing where the package runs.
OPTIONAL = {"ml_dtypes", "scipy", "typing_extensions"}
# This number falls: a file that needs no late import any more takes it with it.
MOST = 105
# Programs: they start at once, and load what a command of theirs needs.
PROGRAMS = {"mica.__main__", "mica.bench", "mica.tf.__main__"}


def name_of(path):
    parts = path.relative_to(ROOT / "python").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {
    name_of(path): path
    for package in ("mica", "mlcompute")
    for path in sorted((ROOT / "python" / package).rglob("*.py"))
}


def modules_of(node, name):
    """The modules that an import statement of a module brings."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        is_package = PATHS[name].name == "__init__.py"
        package = name.split(".")[: len(name.split(".")) - node.level + is_package]
        base = ".".join([*package, *filter(None, [node.module])])
    inner = [f"{base}.{alias.name}" for alias in node.names if f"{base}.{alias.name}" in PATHS]
    return inner + [base] * (len(inner) < len(node.names))


def imports_of(name):
    """The import statements at the top of a module, and those inside of functions."""
    top, inner = [], []

    def walk(node, functions):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                (inner if functions else top).append((child, functions))
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                walk(child, [*functions, child.name])
            else:
                walk(child, functions)

    walk(ast.parse(PATHS[name].read_text(encoding="utf-8")), [])
    return top, inner


@pytest.fixture(scope="module")
def statements():
    return {name: imports_of(name) for name in PATHS}


@pytest.fixture(scope="module")
def brings(statements):
    """What each module imports at its top, directly."""
    return {
        name: {module for node, _ in top for module in modules_of(node, name)}
        for name, (top, _) in statements.items()
    }


def reached(brings, name):
    """What a module imports, and what that imports; packages that are being imported left out."""
    seen, todo = set(), [name]
    while todo:
        each = todo.pop()
        if each not in seen:
            seen.add(each)
            parts = [each.split(".")[: n + 1] for n in range(each.count("."))]
            brought = {*brings.get(each, ()), *map(".".join, parts)}
            todo += [m for m in brought if m not in ("mica", "mica.tf")]
    return seen


@pytest.fixture(scope="module")
def loaded():
    """What is there when a program has imported the packages."""
    command = "import sys, mica, mica.tf, mlcompute; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def reason(name, node, functions, brings, loaded):
    """Why an import is late, or nothing."""
    modules = modules_of(node, name)
    if "__getattr__" in functions:
        return "found late"
    if any(module.split(".")[0] in OPTIONAL for module in modules):
        return "may be missing"
    if any(name in reached(brings, module) for module in modules if module in PATHS):
        return "a cycle"
    if any(module not in loaded for module in modules) and (
        name in loaded | PROGRAMS or any(module not in PATHS for module in modules)
    ):
        return "few programs need it"
    if name.split(".")[1:2] != ["tf"] and any(m.split(".")[0] == "numpy" for m in modules):
        return "may be missing"
    return None


def test_an_import_inside_a_function_has_a_reason(statements, brings, loaded):
    wrong = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, (_, inner) in statements.items()
        for node, functions in inner
        if not reason(name, node, functions, brings, loaded)
    ]
    assert not wrong, "these can stand at the top:\n" + "\n".join(wrong)


def test_imports_inside_functions_become_fewer(statements):
    count = sum(len(inner) for _, inner in statements.values())
    assert count <= MOST, f"{count} imports stand inside functions, {MOST} did before"
    assert count > MOST - 20, f"write {count} for MOST, so that it stays so"
