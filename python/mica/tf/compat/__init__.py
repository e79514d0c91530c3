"""`tf.compat`: text and bytes, and names of other versions of TensorFlow."""

from __future__ import annotations

import contextlib as _contextlib
import datetime as _datetime
import importlib as _importlib
import os as _os

from .._missing import missing as _missing_name
from .._shapes import dimension_at_index, dimension_value  # noqa: F401


def as_bytes(bytes_or_text: bytes | str, encoding: str = "utf-8") -> bytes:
    """Bytes as they are; text encoded."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """Text as it is; bytes decoded."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Text of anything: bytes are decoded."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: object) -> object:
    """The path as a string where it is an object that stands for one."""
    return _os.fspath(path) if hasattr(path, "__fspath__") else path


def path_to_bytes(path: object) -> bytes:
    """The path as bytes."""
    return as_bytes(path_to_str(path))


_horizon = [_datetime.date(2026, 1, 16)]  # TensorFlow 2.21's; the last one counts


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether what programs of this day did not know may be used."""
    return _horizon[-1] > _datetime.date(year, month, day)


@_contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int):
    """Answer `forward_compatible` as if the horizon were this day."""
    _horizon.append(_datetime.date(year, month, day))
    try:
        yield
    finally:
        _horizon.pop()


def __getattr__(name: str):
    if name == "v1":
        return _importlib.import_module(".v1", __name__)
    if name == "v2":
        return _importlib.import_module("..", __name__)
    raise _missing_name(__name__, name)
