"""Tensors as messages, and back."""

from __future__ import annotations

import numpy as np

from ... import _mica
from .. import _dtypes
from .._context import building
from .._core import Tensor, convert_to_tensor
from .._graph_def import TensorProto
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


def tensor_of(proto: TensorProto):
    """Return the eager tensor that a message says.

    Elements are bytes in a row, or a list whose last entry stands for all that follow.
    """
    dtype = _dtypes.as_dtype(proto.dtype)
    shape = [dim.size for dim in proto.tensor_shape.dim]
    count = 1
    for size in shape:
        count *= size
    if count < 0 or proto.tensor_shape.unknown_rank:
        raise ValueError(f"A tensor of {dtype.name} has no known shape: {shape}")
    with building(None):
        if dtype == _dtypes.string:
            return _mica.tf_strings(shape, _repeated(list(proto.string_val), count, b""))
        return convert_to_tensor(_array(proto, dtype, count).reshape(shape), dtype)


def _repeated(values: list, count: int, nothing) -> list:
    """Return so many elements; where there are fewer, the last one goes on."""
    if len(values) > count:
        raise ValueError(f"A tensor of {count} elements has values for {len(values)}")
    return values + [values[-1] if values else nothing] * (count - len(values))


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
    if field == "half_val":
        return np.array(_repeated(values, count, 0), np.uint16).view(kind)
    if field in ("scomplex_val", "dcomplex_val"):
        values = [complex(*values[i : i + 2]) for i in range(0, len(values), 2)]
    if len(values) <= 1:
        return np.full(count, values[0] if values else 0).astype(kind)
    return np.array(_repeated(values, count, 0)).astype(kind)
