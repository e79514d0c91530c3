"""Whole files, and tensors as strings."""

from __future__ import annotations

from .. import _dtypes
from .._core import Tensor, convert_to_tensor, ops


def _text(value) -> Tensor:
    value = value.__fspath__() if hasattr(value, "__fspath__") else value
    return convert_to_tensor(value, dtype=_dtypes.string)


def read_file(filename, name=None) -> Tensor:
    """Return the bytes of a file as a string."""
    return ops["ReadFile"](_text(filename), name=name)


def write_file(filename, contents, name=None):
    """Write a string to a file, whole or not at all; folders above it are made."""
    return ops["WriteFile"](_text(filename), _text(contents), name=name)


def matching_files(pattern, name=None) -> Tensor:
    """Return the names, sorted, that one or several patterns of the shell match."""
    return ops["MatchingFiles"](_text(pattern), name=name)


def serialize_tensor(tensor, name=None) -> Tensor:
    """Return a tensor as a string: a TensorProto message."""
    return ops["SerializeTensor"](convert_to_tensor(tensor), name=name)


def parse_tensor(serialized, out_type, name=None) -> Tensor:
    """Return the tensor that serialize_tensor made a string of."""
    return ops["ParseTensor"](_text(serialized), out_type=_dtypes.as_dtype(out_type), name=name)
