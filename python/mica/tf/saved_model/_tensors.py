"""Tensors as messages, and back."""

from __future__ import annotations

import math

import numpy as np

from ... import _mica
from .. import _dtypes, errors
from .._context import building
from .._core import Tensor, convert_to_tensor
from .._graph_def import TensorProto, TensorShapeProto
from .._graph_def import tensor_proto as _proto_of

_FIELDS = {  # where elements are when they are not in tensor_content
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
}


def tensor_proto(value) -> TensorProto:
    """Return a tensor with a value, or an array, as a message."""
    if isinstance(value, Tensor):
        return _proto_of(value)
    with building(None):
        return _proto_of(convert_to_tensor(value))


# A file may have one element for a tensor of any size: so many are made of it without a question.
FEW = 1 << 12


class Repeats:
    """How many elements may still be made for a file beyond those that are in it."""

    def __init__(self, most: int = 1 << 27) -> None:
        self._left = most

    def take(self, proto: TensorProto, count: int) -> None:
        """Refuse a tensor that is one too many."""
        if count <= FEW or stored(proto) >= count:
            return
        self._left -= count
        if self._left < 0:
            raise errors.ResourceExhaustedError(
                None, None, f"A tensor of {count} elements has {stored(proto)} in the file"
            )


def count_of(proto: TensorProto) -> int:
    """Return how many elements a tensor has."""
    sizes = [dim.size for dim in proto.tensor_shape.dim]
    if proto.tensor_shape.unknown_rank or min(sizes, default=0) < 0:
        raise ValueError(f"A tensor has no known shape: {sizes}")
    return math.prod(sizes)


def stored(proto: TensorProto) -> int:
    """Return how many elements a tensor has in the file."""
    dtype = _dtypes.as_dtype(proto.dtype)
    if dtype == _dtypes.string:
        return len(proto.string_val)
    if proto.tensor_content:
        return len(proto.tensor_content) // np.dtype(dtype.as_numpy_dtype).itemsize
    parts = 2 if dtype.is_complex else 1
    return len(getattr(proto, _FIELDS.get(dtype.name, "int_val"))) // parts


def element_of(proto: TensorProto):
    """Return the one element that the file has for all of a tensor, or None."""
    if stored(proto) > 1 or proto.tensor_content or proto.dtype == _dtypes.string.as_datatype_enum:
        return None
    shape = proto.tensor_shape
    proto.tensor_shape = TensorShapeProto()
    try:
        return tensor_of(proto)
    finally:
        proto.tensor_shape = shape


def tensor_of(proto: TensorProto, repeats: Repeats | None = None):
    """Return the eager tensor that a message says.

    Elements are bytes in a row, or a list whose last entry stands for all that follow; `repeats`
    bounds what is made of it.
    """
    dtype = _dtypes.as_dtype(proto.dtype)
    shape = [dim.size for dim in proto.tensor_shape.dim]
    count = count_of(proto)
    (repeats or Repeats(FEW)).take(proto, count)
    with building(None):
        if dtype == _dtypes.string:
            return _mica.tf_strings(shape, _texts(list(proto.string_val), count))
        return convert_to_tensor(_array(proto, dtype, count).reshape(shape), dtype)


def _texts(values: list, count: int) -> list:
    """Return so many strings; where there are fewer, the last one goes on."""
    if len(values) > count:
        raise ValueError(f"A tensor of {count} strings has values for {len(values)}")
    return values + [values[-1] if values else b""] * (count - len(values))


def _array(proto: TensorProto, dtype, count: int) -> np.ndarray:
    kind = np.dtype(dtype.as_numpy_dtype)
    if proto.tensor_content:
        if len(proto.tensor_content) != count * kind.itemsize:
            raise ValueError(
                f"A tensor of {count} elements of {dtype.name} has "
                f"{len(proto.tensor_content)} bytes"
            )
        return np.frombuffer(proto.tensor_content, kind)
    field = _FIELDS.get(dtype.name, "int_val")
    values = list(getattr(proto, field))
    if field in ("scomplex_val", "dcomplex_val"):
        values = [complex(*values[i : i + 2]) for i in range(0, len(values), 2)]
    if len(values) > count:
        raise ValueError(f"A tensor of {count} elements has values for {len(values)}")
    raw = np.dtype(np.uint16) if field == "half_val" else kind
    array = np.zeros(count, raw)
    if values and count:
        array[: len(values)] = np.array(values).astype(raw)
        array[len(values) :] = array[len(values) - 1]
    return array.view(kind)
