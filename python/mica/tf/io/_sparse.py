"""Sparse tensors as strings."""

from __future__ import annotations

from .. import _dtypes
from .._core import Tensor, convert_to_tensor, ops
from .._sparse_tensor import SparseTensor, to_sparse


def _serialized(op: str, sp_input, out_type, name) -> Tensor:
    x = to_sparse(sp_input)
    options = {"out_type": _dtypes.as_dtype(out_type), "name": name}
    return ops[op](x.indices, x.values, x.dense_shape, **options)


def serialize_sparse(sp_input, out_type=_dtypes.string, name=None) -> Tensor:
    """Return a sparse tensor as three strings."""
    return _serialized("SerializeSparse", sp_input, out_type, name)


def serialize_many_sparse(sp_input, out_type=_dtypes.string, name=None) -> Tensor:
    """Return each row of a sparse tensor as three strings."""
    return _serialized("SerializeManySparse", sp_input, out_type, name)


def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None) -> SparseTensor:
    """Return the sparse tensors that rows of three strings hold, stacked."""
    serialized_sparse = convert_to_tensor(serialized_sparse, _dtypes.string)
    dtype = _dtypes.as_dtype(dtype)
    parts = ops["DeserializeManySparse"](serialized_sparse, dtype=dtype, name=name)
    indices, values, sizes = parts
    indices.set_shape([None, rank])
    sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)
