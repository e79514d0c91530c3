"""Writes the table of docs/mlcompute.md: every member of ML Compute, where it is here, its test.

    python scripts/mlcompute_table.py [--check]

The members are those of tests/python/mlcompute/data/mlcompute_members.json; the annotated headers
say which function, field or value each is in C; the package itself says which name calls it in
Python; mlcompute_tests.json beside it has the tests, which scripts/mlcompute_noops.py --all finds.
With --check nothing is written: a stale table, a member without a place or a test, or a test that
does not call what it is named for is an error.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import types
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python/_mlcompute"))

import headers as mlc_headers  # noqa: E402

PAGE = ROOT / "docs/mlcompute.md"
MEMBERS = ROOT / "tests/python/mlcompute/data/mlcompute_members.json"
TESTS = ROOT / "tests/python/mlcompute/data/mlcompute_tests.json"
MARK = "<!-- Made by scripts/mlcompute_table.py from here on. -->\n"
# What needs Apple's hardware, and why.
MISSING = {
    ("MLCDevice", ".gpuDevices"): "its elements are Metal devices",
    ("MLCDevice", "+deviceWithGPUDevices:"): "its argument is a list of Metal devices",
}


@dataclass
class Row:
    """One member: its names, its key (see mlcompute_recorder.py), and its test."""

    owner: str
    member: str
    c: str = ""
    python: str = ""
    key: str = ""
    test: str = ""


# ---- names ---------------------------------------------------------------------------------------


def code_names(function: object) -> set[str]:
    """Names that a function's code uses, or the C function it stands for."""
    found = set()
    if hasattr(function, "c_name"):
        found.add(function.c_name)
    codes = [function.__code__] if hasattr(function, "__code__") else []
    while codes:
        code = codes.pop()
        found |= set(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return found


def functions_of(attribute: object) -> list[object]:
    if isinstance(attribute, property):
        return [f for f in (attribute.fget, attribute.fset) if f]
    if isinstance(attribute, classmethod | staticmethod):
        return [attribute.__func__]
    return [attribute] if inspect.isfunction(attribute) else []


def names_used(cls: type, name: str) -> set[str]:
    """What an attribute of a class uses, helpers of the class included."""
    found: set[str] = set()
    for function in functions_of(inspect.getattr_static(cls, name)):
        used = code_names(function)
        helpers = [h for h in used if h.startswith("_") and h != name and hasattr(cls, h)]
        found |= used.union(*(names_used(cls, helper) for helper in helpers))
    return found


def python_names() -> dict[tuple[str, str], str]:
    """(class, C function or field) -> the name in Python."""
    import mlcompute

    found: dict[tuple[str, str], str] = {}
    for class_name in mlcompute.__all__:
        cls = getattr(mlcompute, class_name)
        if not isinstance(cls, type):
            continue
        names = [n for n in dir(cls) if not n.startswith("_")]
        for name in [*names, "__init__"]:
            shown = class_name if name == "__init__" else f"{class_name}.{name}"
            for used in names_used(cls, name):
                if used.startswith("mlc_"):
                    found.setdefault((class_name, used), shown)
    return found


# ---- rows ----------------------------------------------------------------------------------------


def c_places(headers: mlc_headers.Headers) -> dict[tuple[str, str], tuple[str, str]]:
    """(class, member) -> the name in C, and its key."""
    places = {}
    for function in headers.functions.values():
        for member in function.members:
            places.setdefault((member.owner, member.name), (function.name, function.name))
    for struct in headers.structs.values():
        for parameter, member, _ in struct.fields:
            key = f"{struct.name}.{mlc_headers.snake(member[1:])}"
            places[struct.original, member] = (f"{struct.name}.{parameter.name}", key)
    for enumeration in headers.enumerations.values():
        short = mlc_headers.short_names(enumeration)
        for (c_name, original), name in zip(enumeration.originals.items(), short, strict=False):
            places[enumeration.original, original] = (c_name, f"{enumeration.name}:{name}")
    return places


def class_rows(reference: dict, headers: mlc_headers.Headers, tests: dict[str, str]) -> list[Row]:
    python, places, found = python_names(), c_places(headers), []
    for owner, members in reference["classes"].items():
        name = mlc_headers.snake(owner)
        struct = next((s.name for s in headers.structs.values() if s.original == owner), "")
        c_type = headers.classes.get(owner) or struct or "mlc_layer"
        if owner.endswith("Optimizer"):
            c_type = "mlc_optimizer"
        found.append(Row(owner, "", "" if owner == "MLCPlatform" else c_type, name))
        for member in members:
            c, key = places.get((owner, member), ("", ""))
            found.append(
                Row(owner, member, c, python.get((name, key), ""), key, tests.get(key, ""))
            )
    return found


def enum_rows(reference: dict, headers: mlc_headers.Headers, tests: dict[str, str]) -> list[Row]:
    places, found = c_places(headers), []
    for owner, values in reference["enumerations"].items():
        name = mlc_headers.snake(owner)
        found.append(Row(owner, "", f"mlc_{name}", name))
        for value in values:
            c, key = places.get((owner, value), ("", ""))
            python = f"{name}.{key.split(':')[1]}" if key else ""
            found.append(Row(owner, value, c, python, key, tests.get(key, "")))
        member = f"{owner}DebugDescription()"
        c, key = places.get((owner, member), ("", ""))
        python = f"{name}.debug_description" if key else ""
        found.append(Row(owner, member, c, python, key, tests.get(key, "")))
    return found


def rows(tests: dict[str, str]) -> list[Row]:
    """All members."""
    reference = json.loads(MEMBERS.read_text(encoding="utf-8"))
    headers = mlc_headers.read(ROOT / "include/mica")
    return class_rows(reference, headers, tests) + enum_rows(reference, headers, tests)


# ---- the page ------------------------------------------------------------------------------------


def short_test(test: str) -> str:
    """tests/python/mlcompute/test_x.py::test_y[z] -> test_x::test_y."""
    return test.removeprefix("tests/python/mlcompute/").replace(".py::", "::").split("[")[0]


def table(found: list[Row]) -> str:
    members = [row for row in found if row.member]
    here = [row for row in members if row.key]
    lines = [
        MARK,
        f"{len(here)} of {len(members)} members are here. Missing, for want of Apple's hardware:",
        *(f"`{owner} {member}` ({why})." for (owner, member), why in MISSING.items()),
        "",
        "A test is a function of a file of tests/python/mlcompute.",
        "",
    ]
    for row in found:
        if not row.member:
            c = f", in C `{row.c}`" if row.c else ""
            lines += [
                "",
                f"### {row.owner}",
                "",
                f"In Python `{row.python}`{c}.",
                "",
                "| member | C | Python | test |",
                "|---|---|---|---|",
            ]
        elif row.key:
            test = short_test(row.test)
            lines.append(f"| `{row.member}` | `{row.c}` | `{row.python}` | `{test}` |")
        else:
            why = MISSING.get((row.owner, row.member), "")
            lines.append(f"| `{row.member}` | missing: {why} | | |")
    return "\n".join(lines) + "\n"


def page(found: list[Row]) -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text[: text.index(MARK)] + table(found)


# ---- checks --------------------------------------------------------------------------------------


def run_tests(environment: dict[str, str], tests: list[str] | None = None) -> None:
    """Run mlcompute's tests under the recorder."""
    files = sorted(str(p) for p in (ROOT / "tests/python/mlcompute").glob("test_mlcompute*.py"))
    files = [f for f in files if not f.endswith("test_mlcompute_table.py")]
    variables = os.environ | environment | {"PYTHONPATH": str(ROOT / "scripts")}
    command = [sys.executable, "-m", "pytest", "-p", "mlcompute_recorder", "-q"]
    result = subprocess.run(
        [*command, "-p", "no:cacheprovider", *(tests or files)],
        env=variables, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "failed before" in result.stdout or result.returncode not in (0, 5):
        raise SystemExit(f"the tests do not run:\n{result.stdout[-3000:]}{result.stderr[-3000:]}")


def record(tests: list[str] | None = None) -> dict[str, list[str]]:
    """What each test calls."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        run_tests({"MLCOMPUTE_RECORD": str(path)}, tests)
        return json.loads(path.read_text(encoding="utf-8"))


def complaints(found: list[Row]) -> list[str]:
    """What is wrong with the table."""
    wrong = []
    for row in found:
        name = f"{row.owner} {row.member}"
        if not row.member:
            continue
        if (row.owner, row.member) in MISSING:
            if row.key:
                wrong.append(f"{name} is said to be missing, but is there")
            continue
        if not row.key:
            wrong.append(f"{name} has no place in the headers")
        elif not row.python:
            wrong.append(f"{name} ({row.key}) has no place in Python")
        elif not row.test:
            wrong.append(f"{name} ({row.key}) has no test: run scripts/mlcompute_noops.py --all")
    named = sorted({row.test for row in found if row.test})
    calls = record(named) if named and not wrong else {}
    for row in found:
        if calls and row.test and row.key not in calls.get(row.test, []):
            wrong.append(f"{row.test} does not call {row.key}")
    if len(MISSING) > 5:
        wrong.append("more than five members are missing")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    tests = json.loads(TESTS.read_text(encoding="utf-8")) if TESTS.exists() else {}
    found = rows(tests)
    if not options.check:
        PAGE.write_text(page(found), encoding="utf-8")
        return 0
    wrong = complaints(found)
    if page(found) != PAGE.read_text(encoding="utf-8"):
        wrong.append("docs/mlcompute.md is stale: run scripts/mlcompute_table.py")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
