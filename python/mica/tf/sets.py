"""`tf.sets`: sets of numbers or strings, one for each row along the last axis."""

from __future__ import annotations

from . import _dtypes
from ._core import ops
from ._missing import finder as _finder
from ._sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor

_KINDS = frozenset(
    (
        _dtypes.int8,
        _dtypes.int16,
        _dtypes.int32,
        _dtypes.int64,
        _dtypes.uint8,
        _dtypes.uint16,
        _dtypes.string,
    )
)


def _parts(x: SparseTensor) -> tuple:
    return x.indices, x.values, x.dense_shape


def _pair(a, b) -> tuple:
    a = convert_to_tensor_or_sparse_tensor(a)
    if a.dtype not in _KINDS:
        raise TypeError(f"'a' has invalid dtype `{a.dtype}` not in supported dtypes: `{_KINDS}`.")
    b = convert_to_tensor_or_sparse_tensor(b)
    if a.dtype != b.dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    return a, b


def _operation(a, b, what: str, validate_indices: bool) -> SparseTensor:
    options = {"set_operation": what, "validate_indices": validate_indices}
    sparse = isinstance(a, SparseTensor), isinstance(b, SparseTensor)
    if sparse == (True, False):
        turned = {"a-b": "b-a", "b-a": "a-b"}.get(what, what)
        return _operation(b, a, turned, validate_indices)
    if sparse == (True, True):
        return SparseTensor(*ops["SparseToSparseSetOperation"](*_parts(a), *_parts(b), **options))
    if sparse == (False, True):
        return SparseTensor(*ops["DenseToSparseSetOperation"](a, *_parts(b), **options))
    return SparseTensor(*ops["DenseToDenseSetOperation"](a, b, **options))


def size(a, validate_indices=True):
    """Return how many different elements each set has."""
    a = convert_to_tensor_or_sparse_tensor(a)
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    if a.dtype not in _KINDS:
        raise TypeError(f"Invalid dtype `{a.dtype}` not in supported dtypes: `{_KINDS}`.")
    return ops["SetSize"](*_parts(a), validate_indices=validate_indices)


def intersection(a, b, validate_indices=True) -> SparseTensor:
    """Return what is in both sets."""
    return _operation(*_pair(a, b), "intersection", validate_indices)


def difference(a, b, aminusb=True, validate_indices=True) -> SparseTensor:
    """Return what is in a and not in b, or the other way round."""
    return _operation(*_pair(a, b), "a-b" if aminusb else "b-a", validate_indices)


def union(a, b, validate_indices=True) -> SparseTensor:
    """Return what is in either set."""
    return _operation(*_pair(a, b), "union", validate_indices)


__all__ = ["difference", "intersection", "size", "union"]

__getattr__ = _finder(__name__)
