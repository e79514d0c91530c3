"""Lists every error message of the library and of its Python packages: messages.py [part of one]

One line each, sorted by place: file:line, then the text as it is in the source, its pieces joined
and its placeholders left. tests/python/house/test_words.py reads the same list.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
C_FOLDERS = ("src", "python/_mica", "python/_mlcompute", "include")
PYTHON_FOLDERS = ("python/mica", "python/mlcompute")

# What makes an error in C: its text is the first string among the arguments.
C_CALLS = re.compile(
    r"\b(?:\w*(?:ERROR|INVALID|FAIL|FAILED|CORRUPT|BROKEN|UNSUPPORTED)|PyErr_(?:Format|SetString)|mica_graph_fail"
    r"|mica_\w*_(?:fail|refuse|error|invalid)|(?:fail|refuse|refused|damaged|invalid|error|wrong)"
    r"|raise_\w+|cli_usage|damaged_input|broken|lost|file_error)\("
)
C_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _arguments(text: str, at: int) -> str:
    """The text between the parenthesis that ends before `at` and its partner."""
    depth, i = 1, at
    while i < len(text) and depth:
        if text[i] == '"':
            i = C_STRING.match(text, i).end()  # type: ignore[union-attr]
            continue
        if text[i] == "'":
            i += 4 if text[i + 1] == "\\" else 3
            continue
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        i += 1
    return text[at : i - 1]


def c_messages(path: Path) -> Iterator[tuple[int, str]]:
    text = re.sub(r"^\s*#include.*$", "", path.read_text(), flags=re.M)
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    for call in C_CALLS.finditer(text):
        pieces = C_STRING.findall(_arguments(text, call.end()))
        message = "".join(pieces)
        if " " in message:
            yield text.count("\n", 0, call.start()) + 1, message


def _literal(node: ast.expr) -> str:
    """The text of a string, with {} where a value is put."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) or "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _literal(node.func.value)
    return ""


def python_messages(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                if message := _literal(argument):
                    yield node.lineno, message


def messages() -> Iterator[tuple[str, int, str]]:
    for folders, endings, read in (
        (C_FOLDERS, (".c", ".h"), c_messages),
        (PYTHON_FOLDERS, (".py",), python_messages),
    ):
        for folder in folders:
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in endings:
                    for line, message in sorted(read(path)):
                        yield str(path.relative_to(ROOT)), line, message


def main() -> None:
    part = " ".join(sys.argv[1:])
    for path, line, message in messages():
        if part in message:
            print(f"{path}:{line}: {message}")


if __name__ == "__main__":
    main()
