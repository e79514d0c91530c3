"""Programs of TensorFlow 1 in the names of TensorFlow 2: `mica upgrade IN OUT`.

A name that TensorFlow 2 has elsewhere is renamed, arguments that are called or ordered otherwise
are named anew, and what has no counterpart becomes `tf.compat.v1`. Nothing else of the text
changes. What could not be done is reported with its line. The names are in `_upgrade_names.json`,
beside those that TensorFlow has (`tf/_public_names.json`).

    python -m mica.upgrade IN OUT      a file, or a folder with files below it
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent


class Names:
    """What is called how: by names without the leading `tf.`."""

    def __init__(self) -> None:
        table = json.loads((_HERE / "_upgrade_names.json").read_text(encoding="utf-8"))
        stored = json.loads((_HERE / "tf" / "_public_names.json").read_text(encoding="utf-8"))
        self.renamed = dict(table["renamed"])
        for place, names in table["moved"].items():
            self.renamed |= {name: f"{place}.{name}" for name in names.split()}
        v1 = table["v1"].split()
        self._v1 = {name for name in v1 if not name.endswith(".")}
        self._v1_places = tuple(name for name in v1 if name.endswith("."))
        self.graph = set(table["graph"].split())
        self.functions = table["functions"]
        self.removed = table["removed"]
        self._public = {place: set(names.split()) for place, names in stored["names"].items()}

    def _has(self, place: str, name: str) -> bool:
        return name in self._public.get(place, ())

    def is_public(self, name: str, of_v1: bool = False) -> bool:
        """Whether TensorFlow 2 has a name; with `of_v1`, its compat.v1."""
        place, _, last = name.rpartition(".")
        if of_v1:
            place = f"compat.v1.{place}".rstrip(".")
        return self._has(place, last)

    def new(self, name: str) -> str | None:
        """Return what a name is called now, or None where there is no such name."""
        if name in self.renamed:
            return self.renamed[name]
        if name in self._v1 or name.startswith(self._v1_places):
            return f"compat.v1.{name}"
        if self.is_public(name) or name.split(".")[0] in ("keras", "estimator", "compat"):
            return name
        if self.is_public(name, of_v1=True):
            return f"compat.v1.{name}"
        return None


class Edit(NamedTuple):
    """The bytes from start to end become a text."""

    start: int
    end: int
    text: str


@dataclass
class Report:
    """What was done to a file, and what could not be done."""

    path: str
    done: list[tuple[int, str]] = field(default_factory=list)
    open: list[tuple[int, str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return a line of text for each, in order of the file's lines."""
        rows = [(line, "", text) for line, text in self.done]
        rows += [(line, "TO DO: ", text) for line, text in self.open]
        return [f"{self.path}:{line}: {kind}{text}" for line, kind, text in sorted(rows)]


class _Upgrader(ast.NodeVisitor):
    """Finds the edits of a file."""

    def __init__(self, text: str, names: Names, report: Report) -> None:
        self.names, self.report = names, report
        self.data = text.encode()
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self.edits: list[Edit] = []
        self.roots: dict[str, str] = {}  # what TensorFlow is called in the file -> its prefix
        self.needs_graph = self.has_switch = False
        self.after_import: tuple[int, str] | None = None  # where a switch goes, and the root

    # ---- places in the text

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _start(self, node) -> int:
        return self._at(node.lineno, node.col_offset)

    def _end(self, node) -> int:
        return self._at(node.end_lineno, node.end_col_offset)

    def _edit(self, start: int, end: int, text: str) -> None:
        self.edits.append(Edit(start, end, text))

    def _done(self, node, text: str) -> None:
        self.report.done.append((node.lineno, text))

    def _open(self, node, text: str) -> None:
        self.report.open.append((node.lineno, text))

    # ---- imports

    def visit_Import(self, node: ast.Import) -> None:
        """Learn what TensorFlow is called."""
        for alias in node.names:
            parts = alias.name.split(".")
            if parts[0] != "tensorflow":
                continue
            if alias.name == "tensorflow":
                self._root(node, alias.asname or "tensorflow")
            elif len(parts) > 1 and parts[1] in self.names.removed:
                self._open(node, f"import {alias.name}: {self.names.removed[parts[1]]}")
            elif alias.name.startswith("tensorflow.compat.v1"):
                if alias.asname:
                    self._open(node, "it names tf.compat.v1 already: nothing of it was changed")
            elif parts[1] == "python":
                self._open(node, f"import {alias.name}: it is no public name of TensorFlow")

    def _root(self, node, name: str) -> None:
        self.roots[name] = ""
        if self.after_import is None and node.col_offset == 0:
            self.after_import = self._end(node), name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Names that are imported one by one stay, where TensorFlow 2 has them."""
        parts = (node.module or "").split(".")
        if parts[0] != "tensorflow" or node.level:
            return
        if len(parts) > 1 and parts[1] in self.names.removed:
            self._open(node, f"from {node.module}: {self.names.removed[parts[1]]}")
            return
        if len(parts) > 1 and parts[1] == "python":
            self._open(node, f"from {node.module}: it is no public name of TensorFlow")
            return
        place = ".".join(parts[1:])
        for alias in node.names:
            name = f"{place}.{alias.name}" if place else alias.name
            if alias.name == "*":
                self._open(node, f"from {node.module} import *: write import tensorflow as tf")
            elif name == "compat.v1" or place.startswith("compat.v1"):
                self._open(node, "it names tf.compat.v1 already: nothing of it was changed")
            elif name in self.names.removed:
                self._open(node, f"{alias.name}: {self.names.removed[name]}")
            elif self.names.new(name) not in (name, None) and not self._is_place(name):
                self._open(node, f"{name} is tf.{self.names.new(name)} now: write it out")
            elif self._is_place(name):
                self.roots[alias.asname or alias.name] = name + "."

    def _is_place(self, name: str) -> bool:
        """Whether a name is a namespace of either version's."""
        return name in self.names._public or f"compat.v1.{name}" in self.names._public

    # ---- names

    def _name_of(self, node) -> tuple[str, str] | None:
        """The root and the rest of `tf.a.b`."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in self.roots:
            return node.id, ".".join(reversed(parts))
        return None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Rename a name; look further into what is none."""
        found = self._name_of(node)
        if found is None:
            self._dimension(node)
            self.generic_visit(node)
            return
        root, rest = found
        name = self.roots[root] + rest
        if not rest or self._is_place(name):
            if name.split(".")[0] in self.names.removed:
                self._open(node, f"tf.{name}: {self.names.removed[name.split('.')[0]]}")
            return
        self._rename(node, root, name)

    def _rename(self, node: ast.Attribute, root: str, name: str) -> None:
        first = name.split(".")[0]
        if first in self.names.removed:
            self._open(node, f"tf.{name}: {self.names.removed[first]}")
            return
        known, more = name, ""  # a member of what is public, such as tf.float32.max
        while self.names.new(known) is None and "." in known:
            known, _, last = known.rpartition(".")
            more = f".{last}{more}"
        new = self.names.new(known)
        if known in self.names.graph or known.removeprefix("compat.v1.") in self.names.graph:
            self.needs_graph = True
        if name.endswith(("disable_eager_execution", "disable_v2_behavior", "enable_v2_behavior")):
            self.has_switch = True
        if new is None or (more and self._is_place(known)):
            self._open(node, f"tf.{name}: neither TensorFlow 2 nor its compat.v1 has the name")
            return
        if new == known:
            return
        if self.roots[root]:
            self._open(node, f"tf.{name} is tf.{new} now: write it out with import tensorflow")
            return
        self._edit(self._start(node), self._end(node), f"{root}.{new}{more}")
        self._done(node, f"{root}.{known} is {root}.{new} now")

    def _dimension(self, node: ast.Attribute) -> None:
        """`x.shape[0].value` of dimensions that are numbers now."""
        inner = node.value
        if node.attr != "value" or not isinstance(inner, ast.Subscript) or not self.after_import:
            return
        of = inner.value.func if isinstance(inner.value, ast.Call) else inner.value
        if isinstance(of, ast.Attribute) and of.attr in ("shape", "get_shape"):
            if isinstance(node.ctx, ast.Load):
                root = self.after_import[1]
                start = self._start(inner)
                self._edit(start, start, f"{root}.compat.v1.dimension_value(")
                self._edit(self._end(inner), self._end(node), ")")
                self._done(node, "a dimension's value is asked for with dimension_value")

    # ---- calls

    def visit_Call(self, node: ast.Call) -> None:
        """Name arguments as they are called now."""
        found = self._name_of(node.func)
        if found is not None:
            name = self.roots[found[0]] + found[1]
            rule = self.names.functions.get(name)
            if rule is not None:
                self._arguments(node, found[0], name, rule)
        elif isinstance(node.func, ast.Attribute):
            self._iterator(node)
        self.generic_visit(node)

    def _iterator(self, node: ast.Call) -> None:
        made = node.func.attr
        if made not in ("make_one_shot_iterator", "make_initializable_iterator"):
            return
        if self.after_import is None:
            return
        root, dataset = self.after_import[1], node.func.value
        start = self._start(dataset)
        self._edit(start, start, f"{root}.compat.v1.data.{made}(")
        opened = self.data.index(b"(", self._end(node.func)) + 1
        self._edit(self._end(dataset), opened, ", " if node.args or node.keywords else "")
        if made == "make_initializable_iterator":
            self.needs_graph = True
        self._done(node, f"{made} is a function of the dataset now")

    def _arguments(self, node: ast.Call, root: str, name: str, rule: dict) -> None:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            self._open(node, f"tf.{name}: look at the arguments behind * and **")
            return
        changed = False
        names = rule["names"]
        for i, argument in enumerate(node.args):
            if i >= len(names):
                self._open(node, f"tf.{name}: argument {i + 1} is none that TensorFlow 2 knows")
                return
            if names[i] == "_sentinel" or names[i] in rule.get("dropped", ()):
                self._drop(node, argument, name, names[i])
                changed = True
            elif i >= rule["same"]:
                start = self._start(argument)
                self._edit(start, start, f"{names[i]}=")
                changed = True
            if names.index(names[i]) == i:  # a later place of one name has no older meaning
                self._value(node, name, rule, names[i], argument, root)
        for keyword in node.keywords:
            new = rule["keywords"].get(keyword.arg, keyword.arg)
            if keyword.arg in rule.get("dropped", ()) or new == "_sentinel":
                self._drop(node, keyword, name, keyword.arg)
                changed = True
                continue
            if keyword.arg in rule.get("refused", ()):
                if not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False):
                    self._open(node, f"tf.{name}: {keyword.arg} has no counterpart in TensorFlow 2")
                self._drop(node, keyword, name, keyword.arg)
                continue
            if new != keyword.arg:
                start = self._start(keyword)
                self._edit(start, start + len(keyword.arg.encode()), new)
                changed = True
            if keyword.arg in rule["keywords"] or new != "rate":
                self._value(node, name, rule, new, keyword.value, root)
        if "added" in rule:
            place = self._end(node) - 1
            parts = [*node.args, *node.keywords]
            last = max((self._end(part) for part in parts), default=place)
            has_comma = b"," in self.data[last:place]
            text = rule["added"].replace("{root}", root)
            self._edit(place, place, (" " if has_comma else ", ") + text)
            changed = True
        if changed:
            self._done(node, f"the arguments of {root}.{name} are called otherwise now")

    def _value(self, node, name: str, rule: dict, argument: str, value, root: str) -> None:
        """A value that means something else now."""
        start, end = self._start(value), self._end(value)
        if argument in rule.get("complement", ()):
            is_plain = isinstance(value, ast.Name | ast.Constant | ast.Call | ast.Attribute)
            self._edit(start, start, "1 - " if is_plain else "1 - (")
            if not is_plain:
                self._edit(end, end, ")")
            self._done(node, f"tf.{name}: {argument} is what keep_prob leaves of 1")
        if argument == rule.get("stopped"):
            self._edit(start, start, f"{root}.stop_gradient(")
            self._edit(end, end, ")")
            self._done(node, f"tf.{name} stops no gradient of {argument}: it is stopped here")

    def _drop(self, node: ast.Call, part, name: str, argument: str) -> None:
        """Take an argument away, with a comma beside it."""
        parts = sorted([*node.args, *node.keywords], key=self._start)
        i = parts.index(part)
        if i:
            self._edit(self._end(parts[i - 1]), self._end(part), "")
        elif len(parts) > 1:
            self._edit(self._start(part), self._start(parts[1]), "")
        else:
            self._edit(self._start(part), self._end(part), "")
        self._done(node, f"tf.{name} takes no {argument} any more")

    # ---- the text

    def switch(self) -> None:
        """Let a program that builds a graph for sessions say so."""
        if not self.needs_graph or self.has_switch or self.after_import is None:
            return
        place, root = self.after_import
        line = self.data[:place].count(b"\n") + 1
        self._edit(place, place, f"\n\n{root}.compat.v1.disable_eager_execution()")
        self.report.done.append((line, "ops are added to a graph, for sessions to run"))

    def result(self) -> str:
        """Return the text with all edits."""
        data = self.data
        order = sorted(
            enumerate(self.edits), key=lambda pair: (pair[1].start, pair[1].end, pair[0])
        )
        out, at = [], 0
        for _, edit in order:
            if edit.end <= at and edit.start < at:
                continue  # inside of what was taken away
            if edit.start < at:
                raise AssertionError(f"two edits overlap at byte {edit.start}")
            out += [data[at : edit.start], edit.text.encode()]
            at = edit.end
        return b"".join([*out, data[at:]]).decode()


def upgrade_text(text: str, path: str = "<text>", names: Names | None = None) -> tuple[str, Report]:
    """Return a program in the names of TensorFlow 2, and what was done to it.

    A text that is no Python 3 stays as it is; the report says where it stops being Python.
    """
    report = Report(path)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        report.open.append((line, f"it is no Python 3 and stays as it is: {error}"))
        return text, report
    upgrader = _Upgrader(text, names or Names(), report)
    upgrader.visit(tree)
    upgrader.switch()
    return upgrader.result(), report


def _read(path: Path) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def _upgrade_file(source: Path, target: Path, names: Names) -> Report:
    text, report = upgrade_text(_read(source), str(source), names)
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    shutil.copymode(source, target)
    return report


def upgrade(source: str, target: str) -> list[Report]:
    """Upgrade a file, or a folder: other files in it are copied as they are."""
    a, b = Path(source), Path(target)
    names = Names()
    if a.is_file():
        if b.is_dir():
            b = b / a.name
        return [_upgrade_file(a, b, names)]
    if not a.is_dir():
        raise FileNotFoundError(f"there is no file or folder {source!r}")
    if b.is_file():
        raise NotADirectoryError(f"{source!r} is a folder, {target!r} is a file: name a folder")
    if b.resolve() != a.resolve() and b.resolve().is_relative_to(a.resolve()):
        raise ValueError(f"the folder {target!r} is inside of {source!r}: name one beside it")
    reports = []
    for path in sorted(p for p in a.rglob("*") if p.is_file()):
        goal = b / path.relative_to(a)
        if path.suffix == ".py":
            reports.append(_upgrade_file(path, goal, names))
        elif goal.resolve() != path.resolve():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, goal)
    return reports


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 2:
        text = "mica: upgrade needs a file or folder and the name of the new one"
        print(text, file=sys.stderr)
        return 2
    try:
        reports = upgrade(os.fspath(given[0]), os.fspath(given[1]))
    except (OSError, ValueError) as error:
        print(f"mica: upgrade: {error}", file=sys.stderr)
        return 1
    for report in reports:
        for line in report.lines():
            print(line)
    done = sum(len(report.done) for report in reports)
    left = sum(len(report.open) for report in reports)
    files = f"{len(reports)} file{'s' if len(reports) != 1 else ''}"
    print(f"{files}: {done} changes, {left} left to do by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main())
