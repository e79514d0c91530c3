"""Indexing: tensor[...] as a StridedSlice, a gather or a mask."""

from __future__ import annotations

from .. import _mica
from . import _dtypes, boolean_mask
from ._core import Tensor, ops

_INTEGERS = "tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid indices"


def _is_mask(key) -> bool:
    dtype = getattr(key, "dtype", None)
    return (
        dtype is not None
        and _dtypes.as_dtype(dtype) == _dtypes.bool
        and (getattr(key, "shape", ()) != ())
    )


def _check(key) -> None:
    if isinstance(key, float | str) or (
        isinstance(key, Tensor) and not key.dtype.is_integer and key.dtype != _dtypes.bool
    ):
        raise TypeError(f"Only integers, slices (`:`), ellipsis (`...`), {_INTEGERS}, got {key!r}")


def _bound(value, default: int):
    return default if value is None else value


def getitem(tensor, key):
    """Return tensor[key]; integers, slices, ellipses, newaxis, scalar tensors and masks."""
    if _is_mask(key):
        return _boolean_mask(tensor, key)
    keys = key if isinstance(key, tuple) else (key,)
    begin, end, strides = [], [], []
    begin_mask = end_mask = ellipsis_mask = new_axis_mask = shrink_axis_mask = 0
    for i, entry in enumerate(keys):
        if isinstance(entry, slice):
            begin.append(_bound(entry.start, 0))
            end.append(_bound(entry.stop, 0))
            strides.append(_bound(entry.step, 1))
            begin_mask |= (entry.start is None) << i
            end_mask |= (entry.stop is None) << i
        elif entry is Ellipsis:
            begin.append(0)
            end.append(0)
            strides.append(1)
            ellipsis_mask |= 1 << i
        elif entry is None:
            begin.append(0)
            end.append(0)
            strides.append(1)
            new_axis_mask |= 1 << i
        else:
            _check(entry)
            entry = _index(entry)
            begin.append(entry)
            end.append(entry + 1)
            strides.append(1)
            shrink_axis_mask |= 1 << i
    if not keys:
        return ops["Identity"](tensor)
    return ops["StridedSlice"](
        tensor,
        *_vectors(begin, end, strides),
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


def _index(entry):
    if isinstance(entry, int | Tensor):
        return entry
    if hasattr(type(entry), "__tf_tensor__"):
        return _mica.tf_convert(entry)
    if hasattr(entry, "__index__"):
        return entry.__index__()
    raise TypeError(f"Only integers, slices (`:`), ellipsis (`...`), {_INTEGERS}, got {entry!r}")


def _vectors(*lists):
    """Return the bounds as vectors of one dtype; int64 when a tensor among them is."""
    tensors = [entry for bounds in lists for entry in bounds if isinstance(entry, Tensor)]
    wide = any(entry.dtype == _dtypes.int64 for entry in tensors)
    dtype = _dtypes.int64 if wide else _dtypes.int32
    result = []
    for bounds in lists:
        if any(isinstance(entry, Tensor) for entry in bounds):
            parts = [
                ops["Cast"](entry, DstT=dtype)
                if isinstance(entry, Tensor) and entry.dtype != dtype
                else _mica.tf_convert(entry, dtype)
                for entry in bounds
            ]
            result.append(ops["Pack"](parts))
        else:
            result.append(_mica.tf_convert(bounds, dtype))
    return result


def _boolean_mask(tensor, mask):
    return boolean_mask(tensor, mask)
