"""Writes the stubs of the public names of mica and mlcompute, for type checkers and editors.

python scripts/stubs.py [--check]

Primitives and dtypes come out of the table of primitives; the members of mlcompute out of its
classes, with the types that the annotated headers give to parameters, fields and results of the
same names. --check fails when a stub is out of date. Needs the built packages.
"""

import argparse
import ast
import enum
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python" / "_mlcompute"))
import headers  # noqa: E402

HEAD = '"""{title} Made by scripts/stubs.py; a test compares."""\n\n'
NUMBERS = {
    "bool": "bool", "int64_t": "int", "int32_t": "int", "uint64_t": "int", "size_t": "int",
    "float": "float", "double": "float", "const char *": "str", "char *": "str",
    "mica_ints": "int | Sequence[int]",
}  # fmt: skip


def text_of(title: str, lines: Iterable[str]) -> str:
    """A stub as ruff formats it."""
    text = HEAD.format(title=title) + "\n".join(lines) + "\n"
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "stub.pyi", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"stubs: ruff: {done.stderr}\n{text}")
    return done.stdout


def docstring(text: str, indent: str) -> list[str]:
    """A docstring wrapped at 96 columns; its own line breaks stay."""
    width, quotes = 96 - len(indent), '"' * 3
    lines = []
    for line in text.strip().split("\n"):
        lead = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(line, width, subsequent_indent=lead) or [""]
    lines[-1] += " " * lines[-1].endswith('"')
    begin = indent + "r" * ("\\" in text) + quotes + lines[0]
    if len(lines) == 1 and len(begin) < width:
        return [begin + quotes]
    return [begin, *((indent + line).rstrip() for line in lines[1:]), indent + quotes]


# ---- mica ----------------------------------------------------------------------------------------

ATTRIBUTES = {"INT": "int", "INTS": "Sequence[int]", "STRING": "str", "DTYPE": "Any", "DATA": "Any",
              "TYPES": "Any"}  # fmt: skip
SEVERAL = {"SEVERAL"}  # classes of primitives with several results


def imports_of(path: Path) -> list[str]:
    """The package's own imports, each name as a public one."""
    lines = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            names = ", ".join(f"{n.name} as {n.name}" for n in node.names)
            lines.append(f"from .{node.module} import {names}")
        elif isinstance(node, ast.ImportFrom) and node.level == 1:
            public = [n.name for n in node.names if not n.name.startswith("_")]
            if public:
                lines.append(f"from . import {', '.join(f'{n} as {n}' for n in public)}")
    return lines


def primitive(row: dict) -> list[str]:
    """A primitive as a function: operands by position, attributes by name."""
    name, operands = row["name"], row["arity"]
    parts = ["*operands: Any"] if operands is None or operands < 0 else [
        f"x{i}: Any" if operands > 1 else "x: Any" for i in range(operands)
    ]  # fmt: skip
    if parts and operands is not None and operands >= 0:
        parts.append("/")
    attributes = [f"{attribute}: {ATTRIBUTES[kind]}" for attribute, kind in row["attributes"]]
    parts += attributes
    result = "Any" if row["class"] in SEVERAL else "Tensor"
    return [f"def {name}({', '.join(parts)}) -> {result}:", *docstring(row["meaning"], "    ")]


def mica_stub() -> str:
    """Everything that `dir(mica)` shows."""
    import mica

    package = ROOT / "python" / "mica"
    source = package / "__init__.py"
    tree = ast.parse(source.read_text(encoding="utf-8"))
    lines = [
        "import builtins",
        "from collections.abc import Sequence",
        "from typing import Any, NamedTuple",
        "",
    ]
    lines += [*imports_of(source), "", "__all__: list[str]", ""]
    imported = set(re.findall(r"as (\w+)", "\n".join(lines)))
    defined = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            defined.append(node.name)
            fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            lines += [f"class {node.name}({bases}):"]
            lines += docstring(ast.get_docstring(node), "    ")
            lines += ["    " + field.replace(": bool", ": builtins.bool") for field in fields]
            lines += [""]
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            defined.append(node.name)
            lines += [f"def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}:",
                      *docstring(ast.get_docstring(node), "    "), ""]  # fmt: skip
    known, rows = imported | set(defined), {row["name"]: row for row in mica.ops()}
    for name in sorted(set(dir(mica)) - known):
        value = getattr(mica, name)
        if isinstance(value, mica.DType):
            lines.append(f"{name}: DType")
        elif name.rstrip("_") in rows:
            lines += ["", *primitive({**rows[name.rstrip("_")], "name": name})]
        else:
            raise SystemExit(f"stubs: mica.{name} is no function, dtype or module: say what it is")
    return text_of("The public names of mica, for type checkers.", lines)


# ---- mlcompute -----------------------------------------------------------------------------------


class Types:
    """Python's types for what the headers declare."""

    def __init__(self, module):
        self.module = module
        self.headers = headers.read(ROOT / "include" / "mica")
        self.by_name: dict[str, set[str]] = {}
        for function in self.headers.functions.values():
            for parameter in function.parameters:
                self.note(parameter, True)
        for struct in self.headers.structs.values():
            for parameter, _, _ in struct.fields:
                self.note(parameter, True)

    def note(self, parameter, given):
        if not parameter.name.startswith("out_"):
            found = self.python(parameter.type, given)
            self.by_name.setdefault(parameter.name, set()).add(found)

    def python(self, type_: str, given: bool) -> str:
        """The type of a value that is given to, or comes from, the library."""
        type_ = type_.strip()
        if type_ in NUMBERS:
            return NUMBERS[type_]
        bare = type_.replace("const ", "").replace("*", "").strip().removeprefix("mlc_")
        if bare in ("inference_graph", "training_graph", "graph"):
            return f"@{bare}"
        value = getattr(self.module, bare, None)
        if isinstance(value, type) and issubclass(value, enum.Enum):
            return f"@{bare} | str | int" if given else f"@{bare}"
        if isinstance(value, type):
            return f"@{bare}"
        lists = {"tensors": "tensor", "parameters": "tensor_parameter", "layers": "layer",
                 "graphs": "graph", "data_list": "tensor_data",
                 "device_data_list": "tensor_optimizer_device_data"}  # fmt: skip
        if bare in lists:
            one = f"@{lists[bare]}"
            return f"{one} | Sequence[{one}]" if given else f"list[{one}]"
        if bare == "optimizer_device_data":
            return "@tensor_optimizer_device_data"
        return "Any"

    def mark(self, annotation: object) -> str:
        """An annotation of the source; public classes as @name, to be resolved where it stands."""
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        return re.sub(r"[a-z]\w+", lambda m: f"@{m[0]}" if m[0] in dir(self.module) else m[0], text)

    def parameter(self, parameter: inspect.Parameter) -> str:
        """What its annotation says, else what the headers give to that name; with its default."""
        if parameter.annotation is not parameter.empty:
            return self.mark(parameter.annotation)
        found = self.by_name.get(parameter.name, {"Any"})
        if "Any" in found or len(found) > 3:
            return "Any"
        alternatives = {part.strip() for one in found for part in one.split(" | ")}
        if "float" in alternatives:
            alternatives.discard("int")
        if parameter.default is None:
            alternatives.add("None")
        elif isinstance(parameter.default, str):
            alternatives.add("str")
        return " | ".join(sorted(alternatives, key=lambda t: (t == "None", t)))

    def result(self, function) -> str:
        """What its annotation says, else, from its source, None, its own class, or what the C
        function answers."""
        annotation = inspect.signature(function).return_annotation
        if annotation is not inspect.Signature.empty:
            return self.mark(annotation)
        try:
            source = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):
            return "Any"
        tree = ast.parse(source)
        returns = [node.value for node in ast.walk(tree)
                   if isinstance(node, ast.Return) and node.value]  # fmt: skip
        if not returns:
            return "None"
        texts = [ast.unparse(value) for value in returns]
        own = ("cls._of(", "cls._from(", "self._from(", "cls(")
        if all(text.startswith(own) for text in texts):
            return "Self"
        called = set(re.findall(r"_c\.(mlc_\w+)", " ".join(texts)))
        answers = {self.answer(self.headers.functions[c]) for c in called
                   if c in self.headers.functions}  # fmt: skip
        return answers.pop() if len(answers) == 1 and len(texts) == 1 else "Any"

    def answer(self, function) -> str:
        outs = [p for p in function.parameters if p.name.startswith("out_")]
        if len(outs) == 1 and function.type.strip() == "mica_status":
            return self.python(outs[0].type.strip().removesuffix("*").strip(), False)
        if function.type.strip() in ("void", "mica_status"):
            return "Any" if outs else "None"
        return "Any" if outs else self.python(function.type, False)


def signature(types: Types, name: str, function, first: str) -> str:
    """The line `def name(self, ...) -> ...` of a function."""
    parts, star = [first] if first else [], False
    parameters = list(inspect.signature(function).parameters.values())[1 if first else 0 :]
    for p in parameters:
        annotation = types.parameter(p)
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}: {annotation}")
            star = True
        elif p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: {annotation}")
        else:
            if p.kind is p.KEYWORD_ONLY and not star:
                parts.append("*")
                star = True
            default = "" if p.default is p.empty else f" = {p.default!r}"
            if default and not isinstance(p.default, bool | int | float | str | None):
                default = " = ..."
            parts.append(f"{p.name}: {annotation}{default}")
    result = "None" if name == "__init__" else types.result(function)
    return f"def {name}({', '.join(parts)}) -> {result}:"


def documented(value, indent: str) -> list[str]:
    text = inspect.getdoc(value)
    return docstring(text, indent) if text else [f"{indent}..."]


def property_lines(types: Types, owner: str, name: str, value: property) -> list[str]:
    getter = getattr(value.fget, "c_name", "")
    given = read = "Any"
    if "." in getter:
        struct = types.headers.structs[getter.split(".")[0]]
        named = [(p, headers.snake(original.lstrip("."))) for p, original, _ in struct.fields]
        field = next((p for p, snake in named if name in (p.name, snake)), None)
        if field:
            read, given = types.python(field.type, False), types.python(field.type, True)
    elif getter in types.headers.functions:
        read = types.answer(types.headers.functions[getter])
        given = f"{read} | str | int" if is_enum(types, read.lstrip("@")) else read
    lines = ["    %property", f"    def {name}(self) -> {read}:", *documented(value, "        ")]
    if value.fset:
        lines += [f"    %{name}.setter", f"    def {name}(self, value: {given}) -> None: ..."]
    return lines


def is_enum(types: Types, name: str) -> bool:
    value = getattr(types.module, name, None)
    return isinstance(value, type) and issubclass(value, enum.Enum)


def class_lines(types: Types, name: str, cls: type) -> list[str]:
    module = types.module
    bases = [b.__name__ for b in cls.__bases__ if getattr(module, b.__name__, None) is b]
    lines = [f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"]
    lines += documented(cls, "    ")
    seen = set()
    private = [b for b in cls.__mro__ if getattr(module, b.__name__, None) is not b][:-1]
    for owner in [cls, *[b for b in private if not bases]]:
        for member, value in sorted(vars(owner).items()):
            special = member in ("__init__", "__len__", "__copy__", "__eq__")
            if member in seen or (member.startswith("_") and not special):
                continue
            seen.add(member)
            if isinstance(value, property):
                lines += property_lines(types, name, member, value)
            elif isinstance(value, classmethod | staticmethod):
                first = "cls" if isinstance(value, classmethod) else ""
                lines.append(f"    %{'classmethod' if first else 'staticmethod'}")
                lines.append("    " + signature(types, member, value.__func__, first))
                lines += documented(value.__func__, "        ")
            elif member == "__eq__":
                lines.append("    def __eq__(self, other: object) -> bool: ...")
            elif callable(value):
                lines.append("    " + signature(types, member, value, "self"))
                lines += documented(value, "        ")
    return [*(qualified(line, seen) for line in lines), ""]


def qualified(line: str, members: set[str]) -> str:
    """Names of classes, with the module where a member of the same name would be meant."""
    return re.sub(r"@(?=[a-z_]+\b)(\w+)",
                  lambda m: m[1] if m[1] not in members else f"mlcompute.{m[1]}", line).replace(
                      "    %", "    @", line.startswith("    %"))  # fmt: skip


def enum_lines(name: str, cls: type[enum.Enum]) -> list[str]:
    base = "IntFlag" if issubclass(cls, enum.IntFlag) else "IntEnum"
    lines = [f"class {name}(enum.{base}):", *documented(cls, "    ")]
    lines += [f"    {member} = {int(value)}" for member, value in cls.__members__.items()]
    return [*lines, "    def debug_description(self) -> str: ...", ""]


def in_order_of_bases(classes: list[type]) -> list[type]:
    return sorted(classes, key=lambda c: (len(c.__mro__), c.__name__))


def mlcompute_stub() -> str:
    """Everything that `dir(mlcompute)` shows."""
    module = importlib.import_module("mlcompute")
    types = Types(module)
    lines = ["import enum", "from collections.abc import Sequence", "from typing import Any", "",
             "import mlcompute",
             "from typing_extensions import Self", "", "__all__: list[str]", ""]  # fmt: skip
    classes = []
    for name in dir(module):
        value = getattr(module, name)
        if isinstance(value, type) and issubclass(value, enum.Enum):
            lines += enum_lines(name, value)
        elif isinstance(value, type):
            classes.append(value)
        else:
            lines.append(qualified(signature(types, name, value, ""), set()))
            lines += [*documented(value, "    "), ""]
    for cls in in_order_of_bases(classes):
        lines += class_lines(types, cls.__name__, cls)
    return text_of("The public names of mlcompute, for type checkers.", lines)


STUBS = {"python/mica/__init__.pyi": mica_stub, "python/mlcompute/__init__.pyi": mlcompute_stub}


def main() -> None:
    """Write the stubs, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail when one is out of date")
    arguments = parser.parse_args()
    stale = []
    for name, make in STUBS.items():
        path, text = ROOT / name, make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not arguments.check:
                path.write_text(text, encoding="utf-8")
    if arguments.check and stale:
        raise SystemExit(f"{', '.join(stale)}: out of date; run python scripts/stubs.py")


if __name__ == "__main__":
    main()
