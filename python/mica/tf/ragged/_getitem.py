"""`x[...]` of a ragged tensor."""

from __future__ import annotations

from .._context import executing_eagerly
from .._core import Tensor, convert_to_tensor, ops
from ..debugging import assert_greater_equal, assert_less
from ._gather import gather_values
from ._partition import checked, numbers
from ._tensor import RaggedTensor


def _is_scalar(key) -> bool:
    if isinstance(key, bool):
        return False
    if isinstance(key, int) or (hasattr(type(key), "__index__") and not isinstance(key, Tensor)):
        return True
    return isinstance(key, Tensor) and key.dtype.is_integer and key.shape.rank in (0, None)


def _check(key) -> None:
    if key is None or key is Ellipsis or isinstance(key, slice) or _is_scalar(key):
        return
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        f"tf.int32/tf.int64 tensors are valid indices, got {key!r}"
    )


def getitem(x: RaggedTensor, key):
    """What an index selects."""
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    for each in keys:
        _check(each)
    return _rows(x, keys)


def _without_ellipsis(keys: list, rank: int | None) -> list:
    """The keys with full slices for the ellipsis at their beginning."""
    if rank is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    inner = keys[1:]
    if any(k is Ellipsis for k in inner):
        raise ValueError("Ellipsis may only be used once in an index")
    used = sum(k is not None for k in inner)
    if used > rank:
        raise IndexError("Too many indices for RaggedTensor")
    return [slice(None)] * (rank - used) + inner


def _rows(x, keys: list):
    """Index from the first axis on."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(keys)]
    key, inner = keys[0], keys[1:]
    if key is Ellipsis:
        return _rows(x, _without_ellipsis(keys, x.shape.rank))
    if key is None:
        found = _rows(x, inner)
        if not isinstance(found, RaggedTensor):
            return ops["ExpandDims"](found, 0)
        return RaggedTensor.from_uniform_row_length(found, found.nrows(), 1, validate=False)
    if isinstance(key, slice):
        found = _some_rows(x, key)
        if x.uniform_row_length is not None:
            found = RaggedTensor.from_uniform_row_length(
                found.values, x.uniform_row_length, found.nrows(), validate=False
            )
        return _columns(found, inner)
    if executing_eagerly() and not isinstance(key, Tensor):
        count = int(x.nrows())
        if key.__index__() >= count:
            raise IndexError(f"Row key {key} out of bounds")
    elif executing_eagerly() and int(key) >= int(x.nrows()):
        raise IndexError(f"Row key {key} out of bounds")
    row = x.values[x.row_starts()[key] : x.row_limits()[key]]
    return _rows(row, inner)


def _some_rows(x: RaggedTensor, key: slice) -> RaggedTensor:
    """The rows of a slice."""
    if key == slice(None) and key.step is None:
        return x
    starts, limits = x.row_starts()[key], x.row_limits()[key]
    if (isinstance(key.step, int) and key.step != 1) or isinstance(key.step, Tensor):
        return _ranges(starts, limits, 1, x.values)
    # The rows follow each other: their values are one piece.
    zero = convert_to_tensor([0], x.row_splits.dtype)
    count = ops["Shape"](starts, out_type=x.row_splits.dtype)[0]
    splits = ops["ConcatV2"]([zero[count:], starts[:1], limits], 0)
    values = x.values[splits[0] : splits[-1]]
    return RaggedTensor.from_row_splits(values, splits - splits[0], validate=False)


def _ranges(starts, limits, step, values) -> RaggedTensor:
    """Rows that hold values[start:limit:step]."""
    dtype = starts.dtype
    step = ops["Cast"](convert_to_tensor(step), DstT=dtype)
    splits, places = ops["RaggedRange"](starts, limits, step, Tsplits=dtype)
    return RaggedTensor.from_row_splits(gather_values(values, places), splits, validate=False)


def _columns(x, keys: list):
    """Index from the second axis on."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[(slice(None), *keys)]
    key, inner = keys[0], keys[1:]
    if key is Ellipsis:
        rank = x.shape.rank
        return _columns(x, _without_ellipsis(keys, None if rank is None else rank - 1))
    if key is None:
        found = _columns(x, inner)
        rows = found.nrows() if isinstance(found, RaggedTensor) else None
        if rows is None:
            return ops["ExpandDims"](found, 1)
        return RaggedTensor.from_uniform_row_length(found, 1, rows, validate=False)
    if isinstance(key, slice):
        if key.start is None and key.stop is None and key.step is None:
            return x.with_values(_columns(x.values, inner))
        found = _sliced_columns(x, key)
        return found.with_values(_columns(found.values, inner))
    length = x.uniform_row_length
    if length is None:
        raise ValueError("Cannot index into an inner ragged dimension.")
    place = ops["Cast"](convert_to_tensor(key), DstT=length.dtype)
    message = "Index out of bounds when indexing into a ragged tensor"
    checks = [assert_greater_equal(place, -length, message), assert_less(place, length, message)]
    place = checked(place, checks)
    place = ops["SelectV2"](place < 0, place + length, place)
    return _columns(x.values[place::length], inner)


def _sliced_columns(x: RaggedTensor, key: slice) -> RaggedTensor:
    """The elements of a slice of each row."""
    for offset in (key.start, key.stop, key.step):
        if offset is not None and not _is_scalar(offset):
            raise TypeError("slice offsets must be integers or None")
    dtype = x.row_splits.dtype
    lengths = x.row_lengths()
    step = convert_to_tensor(1 if key.step is None else key.step)
    step = ops["Cast"](step, DstT=dtype)
    if not isinstance(key.step, Tensor) and key.step == 0:
        raise ValueError("slice step cannot be zero")
    forward = step > 0
    zero, one = ops["ZerosLike"](lengths), convert_to_tensor(1, dtype)
    # As Python's slices: within 0 and the length, going back within -1 and the length - 1.
    low = ops["SelectV2"](forward, zero, zero - one)
    high = ops["SelectV2"](forward, lengths, lengths - one)

    def bound(offset, default):
        if offset is None:
            return default
        place = ops["Cast"](convert_to_tensor(offset), DstT=dtype) + zero
        place = ops["SelectV2"](place < 0, place + lengths, place)
        return ops["Minimum"](ops["Maximum"](place, low), high)

    first = bound(key.start, ops["SelectV2"](forward, low, high))
    last = bound(key.stop, ops["SelectV2"](forward, high, low))
    starts = x.row_starts()
    found = _ranges(starts + first, starts + last, step, x.values)
    if x.uniform_row_length is None:
        return found
    # All rows are alike: what the slice takes of one.
    sample = numbers(x.uniform_row_length)[key]
    size = ops["Shape"](sample, out_type=dtype)[0]
    known = sample.shape[0]
    return RaggedTensor.from_uniform_row_length(
        found.values, size if known is None else known, x.nrows(), validate=False
    )
