"""Messages with numbered fields: their text, their bytes on the wire and back.

A message class is one call of `message`, with a line per field:

    NodeDef = message("NodeDef", name=(1, "string"), input=(3, "string*"), attr=(5, {AttrValue}))

A field is (number, type): the name of a scalar type, a message class, or a dict of names for an
enum; a `*` after the name or a list around a class or enum makes it repeated; a set around a class
makes it a map from strings, a pair of scalar types a map from one to the other.
`oneof=(names...)` tells that at most one of these fields is set.

Bytes that are no such message are a ValueError: those that are cut off, a field whose wire type is
not that of its type, messages inside messages without end.
"""

from __future__ import annotations

import operator
import struct
from typing import ClassVar

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_SCALARS = {  # type: (wire type, default)
    "int": (_VARINT, 0),
    "sint": (_VARINT, 0),  # small where the number is near 0, on either side
    "fixed32": (_FOUR_BYTES, 0),
    "bool": (_VARINT, False),
    "string": (_LENGTH, ""),
    "bytes": (_LENGTH, b""),
    "float": (_FOUR_BYTES, 0.0),
    "double": (_EIGHT_BYTES, 0.0),
}
_MOST_LEVELS = 100  # of messages inside messages


class _Field:
    def __init__(self, name: str, number: int, kind) -> None:
        self.name, self.number = name, number
        self.is_map = isinstance(kind, set | tuple)
        self.key = "string"  # of a map
        self.is_repeated = isinstance(kind, list) or (isinstance(kind, str) and kind[-1] == "*")
        if isinstance(kind, tuple):
            self.key, kind = kind
        elif self.is_map or isinstance(kind, list):
            (kind,) = kind
        elif self.is_repeated:
            kind = kind[:-1]
        self.names = kind if isinstance(kind, dict) else None  # of an enum
        self.message = kind if isinstance(kind, type) else None
        self.scalar = "int" if self.names else kind if isinstance(kind, str) else None
        self.wire = _SCALARS[self.scalar][0] if self.scalar and not self.is_map else _LENGTH

    def default(self):
        if self.is_map:
            return _Map(self.message) if self.message else {}
        if self.is_repeated:
            return _Repeated(self.message, self.scalar)
        return self.message() if self.message else _SCALARS[self.scalar][1]

    def _value_lines(self, value) -> list[str]:
        """The text of a value of a map."""
        if self.message:
            return _block("value", value)
        return ["value: " + (_quoted(value) if self.scalar == "string" else str(value))]

    def _entry(self, key, value) -> bytes:
        """One pair of a map."""
        if self.message:
            data = _tagged(2, value.SerializeToString())
        else:
            data = _tagged_scalar(2, self.scalar, value)
        return _tagged_scalar(1, self.key, key) + data


class _Repeated(list):
    """A repeated field."""

    def __init__(self, kind=None, scalar: str | None = None) -> None:
        super().__init__()
        self._kind, self._scalar = kind, scalar

    def append(self, value) -> None:
        """Add a value."""
        super().append(_checked(self._scalar, value))

    def extend(self, values) -> None:
        """Add values."""
        super().extend([_checked(self._scalar, value) for value in values])

    def add(self, **fields):
        """Append a new message and return it."""
        self.append(self._kind(**fields))
        return self[-1]


def _checked(scalar: str | None, value):
    """The value, where a field of such a scalar type can hold it."""
    if scalar == "bytes":
        if not isinstance(value, bytes | bytearray | memoryview):
            kind = type(value).__name__
            raise TypeError(f"{value!r} has type {kind}, but expected one of: bytes")
    elif scalar in ("int", "sint", "fixed32") and not isinstance(value, int):
        try:
            return operator.index(value)
        except TypeError:
            raise TypeError(
                f"{value!r} has type {type(value).__name__}, but expected one of: int"
            ) from None
    return value


class _Map(dict):
    """A map field: what is asked for is made."""

    def __init__(self, kind) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, key):
        self[key] = self._kind()
        return self[key]


class Message:
    """What all messages have in common."""

    _fields: ClassVar[dict[str, _Field]] = {}
    _oneof: ClassVar[tuple] = ()

    def __init__(self, **fields) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in fields.items():
            if name not in self._fields:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            field = self._field(name)
            if field.is_map:
                getattr(self, name).update(value)
            elif field.is_repeated:
                getattr(self, name).extend(value)
            else:
                setattr(self, name, value)

    @classmethod
    def _field(cls, name: str) -> _Field:
        if name not in cls._fields:
            raise AttributeError(f"{cls.__name__} has no field {name!r}")
        return cls._fields[name]

    def __getattr__(self, name: str):
        field = self._field(name)
        if name not in self._values:
            value = field.default()
            if not (field.is_map or field.is_repeated or field.message):
                return value
            self._values[name] = value
        return self._values[name]

    def __setattr__(self, name: str, value) -> None:
        if name not in self._fields:
            raise AttributeError(
                f"Assignment not allowed (no field {name!r} in protocol message object)."
            )
        if name in self._oneof:
            for other in self._oneof:
                self._values.pop(other, None)
        self._values[name] = value

    def _is_set(self, name: str) -> bool:
        if name not in self._values:
            return False
        value, field = self._values[name], self._fields[name]
        if field.is_map or field.is_repeated:
            return len(value) > 0
        if name in self._oneof:
            return not field.message or name == self._chosen()
        return value.ListFields() != [] if field.message else value != field.default()

    def _chosen(self):
        """The field of the oneof that is set: one with contents before one only looked at."""
        present = [name for name in self._oneof if name in self._values]
        full = [
            name
            for name in present
            if not self._fields[name].message or self._values[name].ListFields()
        ]
        return (full or present or [None])[0]

    def HasField(self, name: str) -> bool:
        """Whether a field is set."""
        self._field(name)
        return self._chosen() == name if name in self._oneof else self._is_set(name)

    def WhichOneof(self, unused: str = ""):
        """Return the name of the set one of the fields that exclude each other, or None."""
        return self._chosen()

    def ClearField(self, name: str) -> None:
        """Unset a field."""
        self._values.pop(self._field(name).name, None)

    def ListFields(self) -> list:
        """Return the set fields and their values, by number."""
        names = sorted(self._values, key=lambda name: self._fields[name].number)
        return [(self._fields[n], self._values[n]) for n in names if self._is_set(n)]

    def CopyFrom(self, other) -> None:
        """Become equal to another message."""
        self._values.clear()
        self.MergeFromString(other.SerializeToString())

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None

    # ---- text

    def __str__(self) -> str:
        return "".join(line + "\n" for line in self._lines())

    __repr__ = __str__

    def _lines(self) -> list[str]:
        lines: list[str] = []
        for field, value in self.ListFields():
            if field.is_map:
                for key in sorted(value):
                    shown = _quoted(key) if field.key == "string" else key
                    inner = [f"key: {shown}", *field._value_lines(value[key])]
                    lines += [f"{field.name} {{", *("  " + line for line in inner), "}"]
            else:
                for item in value if field.is_repeated else [value]:
                    lines += _block(field.name, item) if field.message else [_line(field, item)]
        return lines

    # ---- bytes

    def SerializeToString(self, *, deterministic: bool | None = None) -> bytes:
        """Return the message as bytes: in any case the same for the same message."""
        out = bytearray()
        for field, value in self.ListFields():
            if field.is_map:
                for key in sorted(value):
                    out += _tagged(field.number, field._entry(key, value[key]))
            elif field.message:
                for item in value if field.is_repeated else [value]:
                    out += _tagged(field.number, item.SerializeToString())
            elif field.is_repeated and field.scalar not in ("string", "bytes"):
                packed = b"".join(_scalar_bytes(field.scalar, item) for item in value)
                out += _tagged(field.number, packed)
            else:
                for item in value if field.is_repeated else [value]:
                    out += _tagged_scalar(field.number, field.scalar, item)
        return bytes(out)

    def ByteSize(self) -> int:
        """Return how many bytes the message takes."""
        return len(self.SerializeToString())

    def MergeFromString(self, data: bytes) -> int:
        """Set the fields found in the bytes; unknown ones are passed over."""
        self._merge(data, 1)
        return len(data)

    def _merge(self, data: bytes, level: int) -> None:
        if level > _MOST_LEVELS:
            raise ValueError(f"Messages are nested more than {_MOST_LEVELS} levels deep")
        by_number = {field.number: field for field in self._fields.values()}
        for number, wire, raw in pieces(data):
            field = by_number.get(number)
            if field is not None:
                self._take(field, wire, raw, level)

    def ParseFromString(self, data: bytes) -> int:
        """Become the message that the bytes are of."""
        self._values.clear()
        return self.MergeFromString(data)

    @classmethod
    def FromString(cls, data: bytes):
        """Return the message that the bytes are of."""
        made = cls()
        made.ParseFromString(data)
        return made

    @classmethod
    def _read(cls, data: bytes, level: int):
        """Return the message that is so deep inside of others."""
        made = cls()
        made._merge(data, level)
        return made

    def _take(self, field: _Field, wire: int, raw, level: int) -> None:
        is_packed = field.is_repeated and wire == _LENGTH and field.wire != _LENGTH
        if not is_packed:
            _check_wire(field.name, self, wire, field.wire)
        if field.is_map:
            self._take_pair(field, raw, level)
        elif field.message:
            if field.is_repeated:
                getattr(self, field.name).append(field.message._read(raw, level + 1))
            else:
                part = self._values.get(field.name) or field.message()
                part._merge(raw, level + 1)
                setattr(self, field.name, part)
        elif field.is_repeated:
            items = (
                _unpacked(field.scalar, raw) if is_packed else [_scalar_value(field.scalar, raw)]
            )
            getattr(self, field.name).extend(items)
        else:
            setattr(self, field.name, _scalar_value(field.scalar, raw))

    def _take_pair(self, field: _Field, raw: bytes, level: int) -> None:
        """Take one pair of a map."""
        key = _SCALARS[field.key][1]
        value = field.message() if field.message else _SCALARS[field.scalar][1]
        for number, wire, part in pieces(raw):
            if number == 1:
                _check_wire("key", self, wire, _SCALARS[field.key][0])
                key = _scalar_value(field.key, part)
            elif number == 2:
                expected = _LENGTH if field.message else _SCALARS[field.scalar][0]
                _check_wire(field.name, self, wire, expected)
                if field.message:
                    value = field.message._read(part, level + 1)
                else:
                    value = _scalar_value(field.scalar, part)
        getattr(self, field.name)[key] = value


def _check_wire(name: str, of: Message, wire: int, expected: int) -> None:
    if wire != expected:
        raise ValueError(
            f"The field {name} of a {type(of).__name__} has the wire type {wire}, not {expected}"
        )


def message(name: str, /, oneof: tuple = (), **fields) -> type[Message]:
    """Return a new class of messages."""
    table = {key: _Field(key, *description) for key, description in fields.items()}
    return type(name, (Message,), {"_fields": table, "_oneof": oneof, "__doc__": f"{name}."})


def extend(cls: type[Message], oneof: tuple = (), **fields) -> None:
    """Give a class further fields: those that have the class itself, or a later one, in them."""
    cls._fields.update((key, _Field(key, *description)) for key, description in fields.items())
    cls._oneof += oneof


# ---- pieces of text ----------------------------------------------------------------------------


def _block(name: str, value: Message) -> list[str]:
    return [f"{name} {{", *("  " + line for line in value._lines()), "}"]


def _line(field: _Field, value) -> str:
    if field.names:
        return f"{field.name}: {field.names.get(value, value)}"
    if field.scalar in ("string", "bytes"):
        return f"{field.name}: {_quoted(value)}"
    if field.scalar == "bool":
        return f"{field.name}: {'true' if value else 'false'}"
    if field.scalar in ("float", "double"):
        return f"{field.name}: {_number(value, field.scalar)}"
    return f"{field.name}: {value}"


def _number(value: float, kind: str) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    digits = (8, 9) if kind == "float" else (16, 17)
    for count in range(1, digits[1] + 1):
        text = f"{value:.{count}g}"
        same = struct.pack("<f" if kind == "float" else "<d", float(text))
        if same == struct.pack("<f" if kind == "float" else "<d", value):
            return text
    return repr(value)


_ESCAPES = {0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}


def _quoted(value) -> str:
    data = value.encode() if isinstance(value, str) else bytes(value)
    text = "".join(
        _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in data
    )
    return f'"{text}"'


# ---- pieces of bytes ---------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tagged(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(data)) + data


def _tagged_scalar(number: int, kind: str, value) -> bytes:
    return _varint(number << 3 | _SCALARS[kind][0]) + _scalar_bytes(kind, value)


def _scalar_bytes(kind: str, value) -> bytes:
    if kind == "float":
        return struct.pack("<f", value)
    if kind == "double":
        return struct.pack("<d", value)
    if kind == "fixed32":
        return struct.pack("<I", value)
    if kind == "sint":
        return _varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind in ("string", "bytes"):
        data = value.encode() if isinstance(value, str) else bytes(value)
        return _varint(len(data)) + data
    number = operator.index(value)
    if not -(1 << 63) <= number < 1 << 64:
        raise ValueError(f"Value out of range: {number}")
    return _varint(number)


def _scalar_value(kind: str, raw):
    if kind == "float":
        return struct.unpack("<f", raw)[0]
    if kind == "double":
        return struct.unpack("<d", raw)[0]
    if kind == "fixed32":
        return struct.unpack("<I", raw)[0]
    if kind == "sint":
        return raw >> 1 if raw & 1 == 0 else -(raw + 1 >> 1)
    if kind == "string":
        return bytes(raw).decode("utf-8", "surrogateescape")
    if kind == "bytes":
        return bytes(raw)
    if kind == "bool":
        return bool(raw)
    return raw - (1 << 64) if raw >> 63 else raw


_PACKED = {"float": "<f", "double": "<d", "fixed32": "<I"}


def _unpacked(kind: str, data: bytes) -> list:
    if kind in _PACKED:
        if len(data) % struct.calcsize(_PACKED[kind]):
            raise ValueError(f"{len(data)} bytes are no list of numbers of the type {kind}")
        return [v for (v,) in struct.iter_unpack(_PACKED[kind], data)]
    found, at = [], 0
    while at < len(data):
        raw, at = _read_varint(data, at)
        found.append(_scalar_value(kind, raw))
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("The message is cut off or is no message")
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value & ((1 << 64) - 1), at
        shift += 7


def first_part(data: bytes, number: int) -> bytes | None:
    """Return the contents of the first field of this number that is a string or a message."""
    return next((raw for n, wire, raw in pieces(data) if n == number and wire == _LENGTH), None)


def pieces(data: bytes):
    """Yield (field number, wire type, contents): a number for wire type 0, else bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("The message has a field without a number")
        if wire == _VARINT:
            raw, at = _read_varint(data, at)
            yield number, wire, raw
            continue
        if wire == _LENGTH:
            size, at = _read_varint(data, at)
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if wire == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"The message has a field of the unknown wire type {wire}")
        if size > len(data) - at:
            raise ValueError("The message is cut off or is no message")
        yield number, wire, data[at : at + size]
        at += size
