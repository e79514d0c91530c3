"""Reductions and segments of ragged tensors."""

from __future__ import annotations

import functools

from .. import _array, _dtypes, _math, _reduce
from .._core import Tensor, convert_to_tensor, ops
from .._static import static_value
from ..nn import softmax as dense
from ._concat import expand_dims
from ._elementwise import binary
from ._partition import RowPartition
from ._tensor import RaggedTensor, positive_axis


def segments(function, data, segment_ids, num_segments):
    """A function of the slices in each segment; of ragged slices, element by element."""
    if not isinstance(data, RaggedTensor):
        return function(data, segment_ids, num_segments)
    dtype = data.row_splits.dtype
    ids = ops["Cast"](segment_ids, DstT=dtype)
    count = ops["Cast"](convert_to_tensor(num_segments), DstT=dtype)
    lengths = data.row_lengths()
    longest = ops["Maximum"](
        ops["UnsortedSegmentMax"](lengths, ids, count), convert_to_tensor(0, dtype)
    )
    out = RowPartition.from_row_lengths(longest, validate=False)
    starts = ops["GatherV2"](out.row_starts(), ids, 0)
    one = convert_to_tensor(1, dtype)
    places = ops["RaggedRange"](starts, starts + lengths, one, Tsplits=dtype)[1]
    inner = segments(function, data.values, places, out.nvals())
    return RaggedTensor(inner, out, internal=True)


def segment(function):
    """tf.math.segment_... and unsorted_segment_... of ragged data."""

    @functools.wraps(function)
    def call(data, segment_ids, num_segments=None, name=None):
        if isinstance(segment_ids, RaggedTensor):
            if not isinstance(data, RaggedTensor):
                raise ValueError("data must be ragged where segment_ids are")
            return call(data.values, segment_ids.values, num_segments)
        if num_segments is not None:
            return segments(function, data, convert_to_tensor(segment_ids), num_segments)
        ids = convert_to_tensor(segment_ids)
        count = ops["ConcatV2"]([convert_to_tensor([0], ids.dtype), ids + 1], 0)[-1]
        unsorted = getattr(_reduce, f"unsorted_{function.__name__}")
        return segments(unsorted, data, ids, count)

    return call


# ---- reductions ----------------------------------------------------------------------------------


def _axes(axis):
    """The axes as integers: None, one, or a list."""
    if axis is None or isinstance(axis, int):
        return axis
    if isinstance(axis, (list, tuple)):
        found = [_axes(a) for a in axis]
    else:
        known = static_value(axis)
        if known is None:
            raise ValueError("axis must be known at graph construction time.")
        if known.ndim == 0:
            return int(known)
        found = [int(a) for a in known]
    return found


def _aggregate(reduce, unsorted, x, axis, keepdims):
    """A reduction along axes, one after the other from the innermost."""
    if not isinstance(x, RaggedTensor):
        return reduce(x, axis, keepdims)
    axis = _axes(axis)
    if axis is None:
        found = reduce(x.flat_values, None, False)
        for _ in range(x.shape.rank if keepdims else 0):
            found = ops["ExpandDims"](found, 0)
        return found
    if isinstance(axis, list):
        axes = sorted({positive_axis(a, x.shape.rank) for a in axis})
        if not axes:
            return x
        inner = _aggregate(reduce, unsorted, x, axes[-1], keepdims)
        return inner if len(axes) == 1 else _aggregate(reduce, unsorted, inner, axes[:-1], keepdims)
    axis = positive_axis(axis, x.shape.rank)
    if axis == 0:
        lengths = x.row_lengths()
        zero, one = convert_to_tensor(0, lengths.dtype), convert_to_tensor(1, lengths.dtype)
        places = ops["RaggedRange"](
            ops["ZerosLike"](lengths), lengths, one, Tsplits=lengths.dtype
        )[1]
        widest = ops["Max"](ops["ConcatV2"]([ops["Reshape"](zero, [1]), lengths], 0), 0)
        found = segments(unsorted, x.values, places, widest)
        return expand_dims(found, 0) if keepdims else found
    if axis == 1:
        found = segments(unsorted, x.values, x.value_rowids(), x.nrows())
        return expand_dims(found, 1) if keepdims else found
    return x.with_values(_aggregate(reduce, unsorted, x.values, axis - 1, keepdims))


def _reduction(reduce, unsorted):
    @functools.wraps(reduce)
    def call(input_tensor, axis=None, keepdims=False, name=None):
        return _aggregate(reduce, unsorted, input_tensor, axis, bool(keepdims))

    return call


def _any(data, ids, count):
    found = _reduce.unsorted_segment_max(ops["Cast"](data, DstT=_dtypes.int32), ids, count)
    return found > 0


def _all(data, ids, count):
    found = _reduce.unsorted_segment_min(ops["Cast"](data, DstT=_dtypes.int32), ids, count)
    return found > 0


reduce_sum = _reduction(_math.reduce_sum, _reduce.unsorted_segment_sum)
reduce_prod = _reduction(_reduce.reduce_prod, _reduce.unsorted_segment_prod)
reduce_max = _reduction(_reduce.reduce_max, _reduce.unsorted_segment_max)
reduce_min = _reduction(_reduce.reduce_min, _reduce.unsorted_segment_min)
reduce_any = _reduction(_reduce.reduce_any, _any)
reduce_all = _reduction(_reduce.reduce_all, _all)


def _quotient(total, count):
    if isinstance(total, RaggedTensor) or isinstance(count, RaggedTensor):
        return binary(_math.divide, ("x", "y"))(total, count)
    return _math.divide(total, count)


def reduce_mean(input_tensor, axis=None, keepdims=False, name=None):
    """The mean along axes."""
    x = input_tensor
    if _axes(axis) is None:
        return _aggregate(_math.reduce_mean, None, x, None, bool(keepdims))
    total = reduce_sum(x, axis, keepdims)
    count = reduce_sum(x.with_flat_values(_array.ones_like(x.flat_values)), axis, keepdims)
    return _quotient(total, count)


def _square(x):
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(ops["Square"](x.flat_values))
    return ops["Square"](x)


def _minus(a, b):
    if isinstance(a, RaggedTensor) or isinstance(b, RaggedTensor):
        return binary(ops["Sub"], ("x", "y"))(a, b)
    return a - b


def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """The variance along axes."""
    x = input_tensor
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(
            "Input must be either real or complex. Received integer type "
            f"{x.dtype!r}."
        )
    if _axes(axis) is None:
        return _aggregate(_reduce.reduce_variance, None, x, None, bool(keepdims))
    mean = reduce_mean(x, axis, keepdims)
    return _minus(reduce_mean(_square(x), axis, keepdims), _square(mean))


def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """The standard deviation along axes."""
    found = reduce_variance(input_tensor, axis, keepdims)
    if isinstance(found, RaggedTensor):
        return found.with_flat_values(ops["Sqrt"](found.flat_values))
    return ops["Sqrt"](found)


def count_nonzero(input, axis=None, keepdims=None, dtype=_dtypes.int64, name=None):
    """How many elements are not zero."""
    flat = input.flat_values
    there = ops["NotEqual"](flat, _array.zeros_like(flat))
    ones = input.with_flat_values(ops["Cast"](there, DstT=_dtypes.as_dtype(dtype)))
    return reduce_sum(ones, axis, bool(keepdims))


def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """The strings along an axis, joined."""
    axis = _axes(axis)
    if isinstance(axis, list):
        axes = sorted({positive_axis(a, inputs.shape.rank) for a in axis}, reverse=True)
        for each in axes:
            if not isinstance(inputs, RaggedTensor):
                return _dense_join(inputs, axes[axes.index(each) :], keepdims, separator)
            inputs = reduce_join(inputs, each, keepdims, separator)
        return inputs
    if axis is None:
        found = ops["ReduceJoin"](inputs.flat_values, [0], separator=separator)
        for _ in range(inputs.shape.rank if keepdims else 0):
            found = ops["ExpandDims"](found, 0)
        return found

    def join(data, ids, count):
        return _joined_segments(data, ids, count, separator)

    return _aggregate(None, join, inputs, axis, bool(keepdims)) if positive_axis(
        axis, inputs.shape.rank
    ) <= inputs.ragged_rank else inputs.with_flat_values(
        _dense_join(
            inputs.flat_values,
            [positive_axis(axis, inputs.shape.rank) - inputs.ragged_rank],
            keepdims,
            separator,
        )
    )


def _dense_join(x, axes: list, keepdims, separator: str):
    return ops["ReduceJoin"](x, axes, keep_dims=bool(keepdims), separator=separator)


def _joined_segments(data: Tensor, ids: Tensor, count: Tensor, separator: str) -> Tensor:
    """The strings of each segment, in order, with the separator between."""
    order = _reduce.argsort(ids, stable=True)
    rows = RowPartition.from_value_rowids(
        ops["GatherV2"](ids, order, 0), count, validate=False
    )
    sorted_data = ops["GatherV2"](data, order, 0)
    first = ops["Equal"](rows.offsets_in_rows(), convert_to_tensor(0, rows.dtype))
    before = ops["SelectV2"](first, convert_to_tensor(""), convert_to_tensor(separator))
    for _ in range(data.shape.rank - 1):
        before = ops["ExpandDims"](before, -1)
    parts = ops["StringJoin"]([ops["BroadcastTo"](before, ops["Shape"](data)), sorted_data])
    dense = RaggedTensor(parts, rows, internal=True).to_tensor("")
    return ops["ReduceJoin"](dense, [1])


def softmax(logits, axis=None, name=None):
    """The exponentials along the last axis, over their sum."""
    rank = logits.shape.rank
    axis = positive_axis(-1 if axis is None else axis, rank)
    if axis > logits.ragged_rank:
        return logits.with_flat_values(dense(logits.flat_values, axis - logits.ragged_rank))
    largest = reduce_max(logits, axis, True)
    moved = binary(ops["Sub"], ("x", "y"))(logits, largest)
    powers = moved.with_flat_values(ops["Exp"](moved.flat_values))
    total = reduce_sum(powers, axis, True)
    return binary(ops["RealDiv"], ("x", "y"))(powers, total)


def bincount(
    arr,
    weights=None,
    minlength=None,
    maxlength=None,
    dtype=_dtypes.int32,
    name=None,
    axis=None,
    binary_output=False,
):
    """How often numbers occur: in all, or in each row (axis -1)."""
    if axis not in (None, 0, -1, 1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are supported."
        )
    if weights is not None and not isinstance(weights, RaggedTensor):
        raise TypeError("`weights` must be a RaggedTensor if `values` is a RaggedTensor.")
    if axis in (None, 0):
        return _reduce.bincount(
            arr.flat_values,
            weights=None if weights is None else weights.flat_values,
            minlength=minlength,
            maxlength=maxlength,
            dtype=dtype,
            binary_output=binary_output,
            **({} if axis is None else {"axis": 0}),
        )
    if arr.ragged_rank != 1 or arr.flat_values.shape.rank != 1:
        raise ValueError("bincount along axis -1 needs a ragged tensor of rank 2")
    flat = ops["Cast"](arr.flat_values, DstT=_dtypes.int64)
    ids = ops["Cast"](arr.value_rowids(), DstT=_dtypes.int64)
    zero = convert_to_tensor([0], _dtypes.int64)
    size = ops["Max"](ops["ConcatV2"]([zero, flat + 1], 0), 0)
    if minlength is not None:
        size = ops["Maximum"](size, ops["Cast"](convert_to_tensor(minlength), DstT=_dtypes.int64))
    if maxlength is not None:
        size = ops["Minimum"](size, ops["Cast"](convert_to_tensor(maxlength), DstT=_dtypes.int64))
    rows = ops["Cast"](arr.nrows(), DstT=_dtypes.int64)
    there = flat < size
    counts_dtype = _dtypes.as_dtype(dtype) if weights is None else weights.dtype
    amounts = (
        ops["Cast"](there, DstT=counts_dtype)
        if weights is None
        else ops["SelectV2"](there, weights.flat_values, _array.zeros_like(weights.flat_values))
    )
    places = ids * size + ops["Minimum"](flat, ops["Maximum"](size - 1, 0))
    total = _reduce.unsorted_segment_sum(amounts, places, rows * size)
    if binary_output:
        total = ops["Cast"](ops["NotEqual"](total, _array.zeros_like(total)), DstT=counts_dtype)
    return ops["Reshape"](total, ops["Pack"]([rows, size]))


