"""FlatBuffers: tables whose fields are described by a line of text, written and read.

    Metadata = table("Metadata", "name: string, buffer: uint")

A field is a scalar type with its default (`version: int = 1`), `string`, `bytes` (a vector of
ubyte), a vector `[type]` of scalars, strings or tables, a table by its name, or `union`: a table
whose class the field in front of it chooses. A reader trusts nothing: every place is checked
against the end of the file, and a file that is not what it says is a ValueError.
"""

from __future__ import annotations

import struct
from typing import ClassVar

import numpy as np

_SCALARS = {  # type: (struct's letter, bytes)
    "bool": ("?", 1),
    "byte": ("b", 1),
    "ubyte": ("B", 1),
    "short": ("h", 2),
    "ushort": ("H", 2),
    "int": ("i", 4),
    "uint": ("I", 4),
    "float": ("f", 4),
    "long": ("q", 8),
    "ulong": ("Q", 8),
}
_ARRAYS = {
    "bool": np.dtype("?"),
    "byte": np.dtype("i1"),
    "ubyte": np.dtype("u1"),
    "int": np.dtype("<i4"),
    "uint": np.dtype("<u4"),
    "float": np.dtype("<f4"),
    "long": np.dtype("<i8"),
    "ulong": np.dtype("<u8"),
}
_MOST_TABLES = 1 << 20  # a file with more is refused: tables may share what they point to
_DATA_ALIGNMENT = 16

_TABLES: dict[str, type] = {}


class _Field:
    def __init__(self, number: int, text: str) -> None:
        name, _, kind = text.partition(":")
        kind, _, default = kind.partition("=")
        self.number, self.name, kind = number, name.strip(), kind.strip()
        self.is_vector = kind.startswith("[")
        self.kind = kind.strip("[]")
        self.scalar = None if self.is_vector else _SCALARS.get(self.kind)
        self.default = _default(self.scalar, default.strip())


def _default(scalar, text: str):
    if scalar is None:
        return None
    if scalar[0] == "?":
        return text == "true"
    return float(text or 0) if scalar[0] == "f" else int(text or 0)


class Table:
    """What all tables have in common: attributes for the fields, None where nothing is set."""

    _fields: ClassVar[tuple[_Field, ...]] = ()
    _union: ClassVar[dict[int, type]] = {}  # classes of its unions, by the field in front

    def __init__(self, **values) -> None:
        for field in self._fields:
            setattr(self, field.name, values.pop(field.name, field.default))
        if values:
            raise AttributeError(f"{type(self).__name__} has no field {next(iter(values))!r}")

    def __repr__(self) -> str:
        shown = [f"{f.name}={getattr(self, f.name)!r}" for f in self._fields]
        return f"{type(self).__name__}({', '.join(shown)})"


def table(name: str, fields: str = "", union: dict | None = None) -> type:
    """Make the class of a table; fields are numbered in the order they stand."""
    texts = [text for text in fields.split(",") if text.strip()]
    made = tuple(_Field(i, text) for i, text in enumerate(texts))
    _TABLES[name] = type(
        name, (Table,), {"_fields": made, "_union": {} if union is None else union}
    )
    return _TABLES[name]


# ---- writing -------------------------------------------------------------------------------------


class _Writer:
    """Writes every table in front of what it points to, so that all offsets lead forward."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.waiting: list = []  # (place of the offset, field, value)

    def align(self, size: int, ahead: int = 0) -> None:
        """Let what follows `ahead` bytes from here be aligned."""
        self.data += bytes(-(len(self.data) + ahead) % size)

    def point(self, place: int) -> None:
        struct.pack_into("<I", self.data, place, len(self.data) - place)

    def write_table(self, value: Table) -> int:
        """Write a table, with offsets to be filled in; its place is returned."""
        present = [f for f in value._fields if _is_set(f, getattr(value, f.name))]
        last = max((f.number for f in present), default=-1)
        entries = [0] * (last + 1)
        size = 4
        order = sorted(present, key=lambda f: -(f.scalar or (None, 4))[1])
        for field in order:
            width = (field.scalar or (None, 4))[1]
            size += -size % width
            entries[field.number] = size
            size += width
        self.align(8, ahead=4 + 2 * len(entries))
        vtable = len(self.data)
        self.data += struct.pack(f"<HH{len(entries)}H", 4 + 2 * len(entries), size, *entries)
        place = len(self.data)
        self.data += struct.pack("<i", place - vtable) + bytes(size - 4)
        for field in present:
            at, item = place + entries[field.number], getattr(value, field.name)
            if field.scalar:
                struct.pack_into("<" + field.scalar[0], self.data, at, item)
            else:
                self.waiting.append((at, field, item))
        return place

    def write_value(self, place: int, field: _Field, value) -> None:
        """Write what an offset leads to."""
        if isinstance(value, Table):
            at = self.write_table(value)
            struct.pack_into("<I", self.data, place, at - place)
        elif field.kind == "bytes":
            self.write_array(place, np.frombuffer(value, np.uint8), _DATA_ALIGNMENT)
        elif field.is_vector and field.kind in _SCALARS:
            array = np.asarray(value, _ARRAYS[field.kind])
            self.write_array(place, array, max(4, array.dtype.itemsize))
        elif field.is_vector:
            self.align(4)
            self.point(place)
            first = len(self.data) + 4
            self.data += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for i, item in enumerate(value):
                self.waiting.append((first + 4 * i, _STRING, item))
        else:
            text = value.encode()
            self.align(4)
            self.point(place)
            self.data += struct.pack("<I", len(text)) + text + b"\0"

    def write_array(self, place: int, array: np.ndarray, alignment: int) -> None:
        self.align(alignment, ahead=4)
        self.point(place)
        self.data += struct.pack("<I", array.size)
        self.data += memoryview(np.ascontiguousarray(array)).cast("B")


_STRING = _Field(0, "item: string")


def _is_set(field: _Field, value) -> bool:
    return value is not None and (field.scalar is None or value != field.default)


def written(root: Table, identifier: bytes) -> bytes:
    """Return the bytes of a file with this table at its root."""
    writer = _Writer()
    writer.data += bytes(4) + identifier
    struct.pack_into("<I", writer.data, 0, writer.write_table(root))
    at = 0
    while at < len(writer.waiting):
        writer.write_value(*writer.waiting[at])
        at += 1
    return bytes(writer.data)


# ---- reading -------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, data) -> None:
        self.data = memoryview(data).cast("B")
        self.tables = 0
        self.known: dict = {}

    def at(self, place: int, size: int) -> int:
        """Refuse a place that is not in the file."""
        if place < 0 or place + size > len(self.data):
            raise ValueError(f"byte {place} is past the end of the file ({len(self.data)} bytes)")
        return place

    def number(self, letter: str, place: int) -> int:
        (value,) = struct.unpack_from("<" + letter, self.data, self.at(place, _LETTERS[letter]))
        return value

    def follow(self, place: int) -> int:
        offset = self.number("I", place)
        if offset == 0:
            raise ValueError(f"the offset at byte {place} is 0: what it must refer to is missing")
        return self.at(place + offset, 4)

    def read_table(self, kind: type, place: int) -> Table:
        if (kind, place) in self.known:
            return self.known[kind, place]
        self.tables += 1
        if self.tables > _MOST_TABLES:
            raise ValueError(f"more than {_MOST_TABLES} tables")
        vtable = self.at(place - self.number("i", place), 4)
        size, extent = self.number("H", vtable), self.number("H", vtable + 2)
        if size < 4 or size % 2 or extent < 4:
            raise ValueError(f"the table at byte {place} has a damaged list of fields")
        self.at(vtable, size)
        self.at(place, extent)
        made = kind.__new__(kind)
        for field in kind._fields:
            entry = 4 + 2 * field.number
            offset = self.number("H", vtable + entry) if entry < size else 0
            value = field.default
            if offset:
                if offset + (field.scalar or (None, 4))[1] > extent:
                    raise ValueError(f"{kind.__name__}.{field.name} is outside of its table")
                value = self.read_field(made, field, place + offset)
            setattr(made, field.name, value)
        self.known[kind, place] = made
        return made

    def read_field(self, made: Table, field: _Field, place: int):
        if field.scalar:
            return self.number(field.scalar[0], place)
        target = self.follow(place)
        if field.is_vector or field.kind in ("bytes", "string"):
            return self.read_vector(field, target)
        if field.kind == "union":
            chooser = made._fields[field.number - 1].name
            kind = made._union.get(getattr(made, chooser))
            return None if kind is None else self.read_table(kind, target)
        return self.read_table(_TABLES[field.kind], target)

    def read_vector(self, field: _Field, place: int):
        found = self.known.get((field, place))
        if found is None:
            found = self.known[field, place] = self.read_new_vector(field, place)
        return found

    def read_new_vector(self, field: _Field, place: int):
        count = self.number("I", place)
        if not field.is_vector:
            self.at(place + 4, count)
            data = self.data[place + 4 : place + 4 + count]
            return data if field.kind == "bytes" else _text(data)
        width = _SCALARS[field.kind][1] if field.kind in _SCALARS else 4
        self.at(place + 4, count * width)
        if field.kind in _SCALARS:
            array = np.frombuffer(self.data, np.uint8, count * width, place + 4)
            return array.view(_ARRAYS[field.kind])
        places = [self.follow(place + 4 + 4 * i) for i in range(count)]
        if field.kind == "string":
            return [self.read_vector(_STRING, p) for p in places]
        return [self.read_table(_TABLES[field.kind], p) for p in places]


_LETTERS = dict(_SCALARS.values())


def _text(data) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"a name is not UTF-8: {error}") from None


def read(kind: type, data, identifier: bytes) -> Table:
    """Return the table at the root of a file; ValueError for what is no such file."""
    if len(data) < 8 or bytes(data[4:8]) != identifier:
        raise ValueError(f"not a file with the identifier {identifier.decode()}")
    reader = _Reader(data)
    return reader.read_table(kind, reader.follow(0))
