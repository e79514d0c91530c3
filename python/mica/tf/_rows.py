"""Rows of the op table as their text says: which tensors an op takes and gives, and attributes."""

from __future__ import annotations

import ast
import functools

from .. import _mica


class Argument:
    """An input or output: one tensor, several of one dtype, or one for each dtype of a list."""

    def __init__(self, text: str, attributes: dict) -> None:
        self.name, kind = (part.strip() for part in text.split(":"))
        count, _, of = kind.rpartition("*")
        self.count = count.strip() or None  # the attribute that says how many
        self.type = of.strip()
        self.is_list = attributes.get(self.type, "").startswith("list(")

    def size(self, attributes: dict) -> int:
        """Return how many tensors there are with these attributes (messages)."""
        if self.count is not None:
            return attributes[self.count].i
        return len(attributes[self.type].list.type) if self.is_list else 1

    @property
    def is_plain(self) -> bool:
        """Whether it is exactly one tensor."""
        return self.count is None and not self.is_list


class Row:
    """An op: inputs, outputs, attributes with their kinds, and further columns of the table."""

    def __init__(self, name: str, described: tuple) -> None:
        inputs, outputs, attributes, self.has_effect, self.category, self.axis, self.no_file = (
            described
        )
        self.name = name
        self.kinds: dict[str, str] = {}
        self.defaults: dict[str, object] = {}  # of those that have one
        for part in filter(str.strip, attributes.split(";")):
            key, _, rest = part.partition(":")
            kind, equals, default = rest.partition("=")
            kind = kind.strip()
            self.kinds[key.strip()] = "string" if kind.startswith("{'") else kind
            if equals:
                self.defaults[key.strip()] = _value(default.strip())
        self.inputs = [Argument(part, self.kinds) for part in _parts(inputs)]
        self.outputs = [Argument(part, self.kinds) for part in _parts(outputs)]
        # What follows from the inputs.
        self.inferred = {a.type for a in self.inputs} | {a.count for a in self.inputs}


def _value(text: str) -> object:
    """What the table says a default is: numbers and lists as such, all else as its text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _parts(text: str) -> list[str]:
    return [part for part in text.split(",") if part.strip()]


def category_of(name: str) -> str:
    """Return the category of an op; of one without a row, "plain"."""
    row = row_of(name)
    return "plain" if row is None else row.category


@functools.cache
def row_of(name: str) -> Row | None:
    """Return the row of an op, or None where the table has none."""
    described = _mica.tf_row(name)
    return None if described is None else Row(name, described)
