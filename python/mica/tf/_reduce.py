"""Reductions, places of extrema, sorting, cumulative sums, segments: names of tf and tf.math."""

from __future__ import annotations

from builtins import range as builtin_range
from collections import namedtuple

import numpy

from .. import _mica
from . import _dtypes, errors
from ._array import (
    concat,
    expand_dims,
    ones_like,
    range,
    rank,
    reshape,
    shape,
    size,
    stop_gradient,
    transpose,
    where,
    zeros_like,
)
from ._context import executing_eagerly
from ._core import _abs, convert_to_tensor, ops
from ._elementwise import is_finite, real
from ._math import cast, reduce_mean, reduce_sum, reduction
from ._refusals import check_true
from ._static import static_value

reduce_max = reduction("Max")
reduce_min = reduction("Min")
reduce_prod = reduction("Prod")
reduce_all = reduction("All")
reduce_any = reduction("Any")


def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None):
    """Return log(sum(e^x)) over axes."""
    x = convert_to_tensor(input_tensor)
    largest = reduce_max(x, axis, keepdims=True)
    offset = stop_gradient(where(is_finite(largest), largest, zeros_like(largest)))
    result = ops["Log"](reduce_sum(ops["Exp"](x - offset), axis, keepdims))
    if not keepdims:
        offset = reshape(offset, shape(result))
    return result + offset


def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """Return the variance over axes, divided by the number of elements."""
    x = convert_to_tensor(input_tensor)
    means = reduce_mean(x, axis, keepdims=True)
    if x.dtype.is_integer:
        raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype}.")
    difference = x - means
    if difference.dtype.is_complex:
        squares = real(ops["Conj"](difference) * difference)
    else:
        squares = ops["Square"](difference)
    return reduce_mean(squares, axis, keepdims)


def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """Return the standard deviation over axes."""
    return ops["Sqrt"](reduce_variance(input_tensor, axis, keepdims), name=name)


def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    """Return the square root of the sum of squares over axes."""
    x = convert_to_tensor(input_tensor)
    if x.dtype.is_integer:
        total = cast(reduce_sum(x * x, axis, keepdims), _dtypes.float64)
        return cast(ops["Sqrt"](total), x.dtype)
    squares = real(x * ops["Conj"](x)) if x.dtype.is_complex else x * x
    return cast(ops["Sqrt"](reduce_sum(squares, axis, keepdims)), x.dtype)


def count_nonzero(input, axis=None, keepdims=None, dtype=_dtypes.int64, name=None):
    """Return the number of elements that are not zero, over axes."""
    x = convert_to_tensor(input)
    is_set = ops["NotEqual"](x, zeros_like(x))
    total = reduce_sum(cast(is_set, _dtypes.int64), axis, bool(keepdims))
    return cast(total, dtype)


def zero_fraction(value, name=None):
    """Return the fraction of elements that are zero."""
    value = convert_to_tensor(value)
    n = size(value, _dtypes.int64)
    return cast(n - count_nonzero(value), _dtypes.float32) / cast(n, _dtypes.float32)


# ---- extrema and order ---------------------------------------------------------------------------


def argmax(input, axis=None, output_type=_dtypes.int64, name=None):
    """Return the place of the largest along an axis, the first of equals."""
    return ops["ArgMax"](input, 0 if axis is None else axis, output_type=output_type, name=name)


def argmin(input, axis=None, output_type=_dtypes.int64, name=None):
    """Return the place of the smallest along an axis, the first of equals."""
    return ops["ArgMin"](input, 0 if axis is None else axis, output_type=output_type, name=name)


TopKV2 = namedtuple("TopKV2", ["values", "indices"])


def top_k(input, k=1, sorted=True, index_type=_dtypes.int32, name=None):
    """Return the k largest along the last axis, and their places."""
    values, indices = ops["TopKV2"](input, k, sorted=sorted, index_type=index_type)
    return TopKV2(values, indices)


def in_top_k(targets, predictions, k, name=None):
    """Return whether a row's target is among its k largest predictions."""
    predictions = convert_to_tensor(predictions)
    rows = range(shape(predictions)[0])
    targets = convert_to_tensor(targets)
    if targets.dtype not in (_dtypes.int32, _dtypes.int64):
        raise TypeError(f"targets must be of int32 or int64, not {targets.dtype.name}")
    targets = cast(targets, _dtypes.int64)
    count = shape(predictions, _dtypes.int64)[1]
    inside = ops["LogicalAnd"](targets >= 0, targets < count)
    targets = ops["SelectV2"](inside, targets, ops["ZerosLike"](targets))
    places = ops["Pack"]([cast(rows, _dtypes.int64), targets], axis=1)
    own = ops["GatherNd"](predictions, places)
    larger = reduce_sum(cast(predictions > expand_dims(own, 1), _dtypes.int32), 1)
    # A row with anything that is not finite has no order, and says no.
    is_ordered = reduce_all(is_finite(predictions), 1)
    among = ops["LogicalAnd"](larger < cast(k, _dtypes.int32), is_ordered)
    result = ops["LogicalAnd"](inside, among, name=name)
    result.set_shape(predictions.shape[:1] if predictions.shape.rank else [None])
    return result


def _to_last_axis(x, axis):
    """Return x with an axis moved to the end, and how to move it back."""
    ranks = x.shape.rank
    if ranks is None:
        return _to_last_axis_when_known(x, int(axis))
    if not -ranks <= int(axis) < ranks:
        message = f"slice index {axis} of dimension 0 out of bounds. [Op:StridedSlice]"
        raise errors.InvalidArgumentError(None, None, message)
    axis = int(axis) % ranks if ranks else 0
    if axis == ranks - 1:
        return x, lambda y: y
    order = [i for i in builtin_range(ranks) if i != axis] + [axis]
    back = sorted(builtin_range(ranks), key=order.__getitem__)
    return transpose(x, order), lambda y: transpose(y, back)


def _to_last_axis_when_known(x, axis: int):
    if axis == -1:
        return x, lambda y: y
    ranks = rank(x)
    at = cast(axis, _dtypes.int32) + (ranks if axis < 0 else 0)
    last = expand_dims(ranks - 1, 0)
    order = concat([range(at), range(at + 1, ranks), expand_dims(at, 0)], 0)
    back = concat([range(at), last, range(at, ranks - 1)], 0)
    return transpose(x, order), lambda y: transpose(y, back)


def _descending(x):
    return ops["TopKV2"](x, shape(x)[-1])


def _negated(x):
    """Return x so that the order is turned around, and turned back when it is done again."""
    return ops["Invert" if x.dtype.is_integer else "Neg"](x)


def sort(values, axis=-1, direction="ASCENDING", name=None):
    """Return the elements in order along an axis."""
    x, back = _to_last_axis(convert_to_tensor(values), axis)
    if direction == "DESCENDING":
        return back(_descending(x)[0])
    _check_direction(direction)
    return back(_negated(_descending(_negated(x))[0]))


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """Return the places of the elements in order along an axis."""
    x, back = _to_last_axis(convert_to_tensor(values), axis)
    if direction == "DESCENDING":
        return back(_descending(x)[1])
    _check_direction(direction)
    return back(_descending(_negated(x))[1])


def _check_direction(direction):
    if direction != "ASCENDING":
        raise ValueError(
            f"`direction` should be one of ASCENDING, DESCENDING. Received: direction={direction}"
        )


# ---- cumulative ----------------------------------------------------------------------------------


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Return sums along an axis up to each element."""
    return ops["Cumsum"](x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """Return products along an axis up to each element."""
    return ops["Cumprod"](x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """Return log(sum(e^x)) along an axis up to each element."""
    return ops["CumulativeLogsumexp"](x, axis, exclusive=exclusive, reverse=reverse, name=name)


# ---- segments ------------------------------------------------------------------------------------


def _unsorted(op: str):
    def segment(data, segment_ids, num_segments, name=None):
        return ops[op](data, segment_ids, num_segments, name=name)

    segment.__doc__ = ops[op].__doc__
    return segment


unsorted_segment_sum = _unsorted("UnsortedSegmentSum")
unsorted_segment_max = _unsorted("UnsortedSegmentMax")
unsorted_segment_min = _unsorted("UnsortedSegmentMin")
unsorted_segment_prod = _unsorted("UnsortedSegmentProd")


def _counts(data, segment_ids, num_segments):
    """Return how many elements each segment has, at least 1, in a shape to divide by."""
    ids = convert_to_tensor(segment_ids)
    ones = cast(ones_like(ids), data.dtype)
    counts = unsorted_segment_sum(ones, ids, num_segments)
    counts = ops["Maximum"](counts, convert_to_tensor(1, data.dtype))
    more = rank(data) - rank(ids)
    return reshape(counts, concat([shape(counts), ops["Fill"](expand_dims(more, 0), 1)], 0))


def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """Return the means of the elements with the same number."""
    data = convert_to_tensor(data)
    total = unsorted_segment_sum(data, segment_ids, num_segments)
    return total / _counts(data, segment_ids, num_segments)


def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """Return the sums of the elements with the same number over the roots of their counts."""
    data = convert_to_tensor(data)
    total = unsorted_segment_sum(data, segment_ids, num_segments)
    return total / ops["Sqrt"](_counts(data, segment_ids, num_segments))


def _segment_mean(data, segment_ids, num_segments, name=None):
    """Return the means of the elements with the same number, in the dtype of the elements."""
    if not data.dtype.is_integer:
        return unsorted_segment_mean(data, segment_ids, num_segments)
    total = unsorted_segment_sum(data, segment_ids, num_segments)
    wide = data.dtype if data.dtype.size >= 4 else _dtypes.int32
    total = cast(total, wide)
    counts = _counts(cast(data, wide), segment_ids, num_segments)
    return cast(ops["TruncateDiv"](total, counts), data.dtype)


def _as_long(data, ids):
    """As they are; one of one element and another length: refused when the function runs."""
    sizes = [x.shape[0] if x.shape.rank else None for x in (data, ids)]
    if None in sizes or sizes[0] == sizes[1] or 1 not in sizes:
        return data, ids
    words = f"segment_ids should be the same size as dimension 0 of input: {sizes[1]}, {sizes[0]}"
    check_true(convert_to_tensor(False), words)
    return data[:1], ids[:1]


def _sorted(function, extreme=None):
    """The segments of sorted numbers; `extreme`: what infinities alone give, 0 where is nothing."""

    def segment(data, segment_ids, name=None):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        if isinstance(ids, _mica.TFEagerTensor) and (ids.numpy()[1:] < ids.numpy()[:-1]).any():
            message = "segment ids are not increasing [Op:SegmentSum]"
            raise errors.InvalidArgumentError(None, None, message)
        none = convert_to_tensor([-1], ids.dtype)
        if not executing_eagerly():
            data, ids = _as_long(data, ids)
            before = concat([zeros_like(ids[:1]), ids[:-1]], 0)
            check_true(before <= ids, "segment ids are not increasing, or negative")
        count = concat([none, ids], 0)[-1] + 1
        result = function(data, ids, count)
        if extreme is not None:
            ones = ones_like(data)
            if data.dtype.is_floating:
                limit = convert_to_tensor(extreme, data.dtype) * ones
                others = unsorted_segment_sum(cast(data != limit, data.dtype), ids, count) > 0
                result = where(others, result, convert_to_tensor(extreme, data.dtype))
            present = unsorted_segment_sum(ones, ids, count) > 0
            result = where(present, result, zeros_like(result))
        if data.shape.rank:
            result.set_shape([None, *data.shape.as_list()[1:]])
        return result

    segment.__doc__ = function.__doc__
    return segment


segment_sum = _sorted(unsorted_segment_sum)
segment_mean = _sorted(_segment_mean)
segment_prod = _sorted(unsorted_segment_prod)
segment_max = _sorted(unsorted_segment_max, float("-inf"))
segment_min = _sorted(unsorted_segment_min, float("inf"))


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
    """Return how often each number occurs, or the sums of its weights.

    Numbers of maxlength and above are left out. With axis -1 each row of a matrix is counted on
    its own.
    """
    if axis not in (None, 0, -1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported."
        )
    if not isinstance(binary_output, bool):
        raise TypeError(f"binary_output must be True or False. Received: {binary_output!r}")
    if binary_output and weights is not None:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive.")
    arr = convert_to_tensor(arr)
    if arr.dtype not in (_dtypes.int32, _dtypes.int64):
        arr = cast(arr, _dtypes.int32)
    zero = convert_to_tensor(0, arr.dtype)
    ops["Assert"](reduce_all(arr >= zero), ["Input arr must be non-negative!"])
    any_there = size(arr) > 0
    largest = reduce_max(arr) if arr.shape.num_elements() != 0 else zero
    length = where(any_there, largest + 1, zero)
    if minlength is not None:
        length = ops["Maximum"](length, cast(minlength, arr.dtype))
    if maxlength is not None:
        length = ops["Minimum"](length, cast(maxlength, arr.dtype))
    if weights is not None:
        values = convert_to_tensor(weights)
    else:
        values = cast(ones_like(arr), dtype)
    inside, nowhere = arr < length, -ones_like(arr)
    if axis != -1 or arr.shape.rank == 1:
        counts = unsorted_segment_sum(values, where(inside, arr, nowhere), length)
        counts.set_shape([None if static_value(length) is None else int(static_value(length))])
        return _bounded(counts, binary_output)
    lead = shape(arr)[:-1]  # nothing of a vector
    if arr.shape.rank is None:
        check_true(size(lead) <= 1, "bincount along an axis takes vectors and matrices")
    rows = ops["Prod"](lead, 0)
    offsets = reshape(cast(range(rows), arr.dtype) * length, concat([lead, [1]], 0))
    ids = where(inside, arr + offsets, nowhere)
    flat = unsorted_segment_sum(values, ids, cast(rows, arr.dtype) * length)
    sizes = concat([cast(lead, arr.dtype), expand_dims(length, 0)], 0)
    return _bounded(reshape(flat, sizes), binary_output)


def _bounded(counts, binary_output):
    if not binary_output:
        return counts
    return ops["Minimum"](counts, convert_to_tensor(1, counts.dtype))


def confusion_matrix(
    labels, predictions, num_classes=None, weights=None, dtype=_dtypes.int32, name=None
):
    """Return how often each prediction (column) was made for each label (row)."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    labels, predictions = _squeezed(labels, predictions), _squeezed(predictions, labels)
    labels, predictions = cast(labels, _dtypes.int64), cast(predictions, _dtypes.int64)
    if num_classes is None:
        largest = ops["Maximum"](reduce_max(predictions), reduce_max(labels))
        num_classes = largest + 1
    n = cast(convert_to_tensor(num_classes), _dtypes.int64)
    dtype = _dtypes.as_dtype(dtype)
    values = ones_like(predictions, dtype) if weights is None else cast(weights, dtype)
    places = ops["Pack"]([labels, predictions], axis=1)
    if dtype == _dtypes.bool:  # sums of truths
        counts = ops["ScatterNd"](places, cast(values, _dtypes.int32), ops["Pack"]([n, n]))
        return cast(counts, dtype)
    return ops["ScatterNd"](places, values, ops["Pack"]([n, n]), name=name)


def _squeezed(x, other):
    """Without the last axis, of 1, where x has an axis more than the other."""
    ranks = x.shape.rank, other.shape.rank
    if None in ranks or ranks[0] != ranks[1] + 1 or x.shape[-1] not in (1, None):
        return x
    return ops["Squeeze"](x, [-1])


def is_non_decreasing(x, name=None):
    """Return whether every element is at least the one before it."""
    x = reshape(convert_to_tensor(x), [-1])
    return reduce_all(x[1:] >= x[:-1])


def is_strictly_increasing(x, name=None):
    """Return whether every element is larger than the one before it."""
    x = reshape(convert_to_tensor(x), [-1])
    return reduce_all(x[1:] > x[:-1])


def invert_permutation(x, name=None):
    """Return the permutation that undoes this one."""
    x = convert_to_tensor(x)
    places = expand_dims(x, 1)
    numbers = cast(range(size(x)), x.dtype)
    result = ops["ScatterNd"](places, numbers, cast(shape(x), x.dtype), name=name)
    result.set_shape(x.shape if x.shape.rank is not None else [None])
    return result


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None):
    """Return the norm of vectors or matrices."""
    x = convert_to_tensor(tensor)
    keep = bool(keepdims)
    _check_norm(ord, axis)
    if isinstance(axis, list | tuple):
        return _matrix_norm(x, ord, list(axis), keep)
    if ord in ("euclidean", 2):
        squares = real(x * ops["Conj"](x)) if x.dtype.is_complex else x * x
        total = ops["Sqrt"](reduce_sum(squares, axis, keep))
        return cast(total, x.dtype) if x.dtype.is_complex else total
    magnitude = _abs(x)
    if ord == 1:
        return reduce_sum(magnitude, axis, keep)
    if ord == numpy.inf:
        return reduce_max(magnitude, axis, keep)
    power = convert_to_tensor(float(ord), magnitude.dtype)
    one = convert_to_tensor(1.0, magnitude.dtype)
    return ops["Pow"](reduce_sum(ops["Pow"](magnitude, power), axis, keep), one / power, name=name)


def _check_norm(ord, axis) -> None:
    is_pair = isinstance(axis, list | tuple) and len(axis) == 2
    if is_pair and (not all(isinstance(i, int) for i in axis) or axis[0] == axis[1]):
        is_pair, axis = False, tuple(axis)
    if not is_pair and axis is not None and not isinstance(axis, int):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    named = isinstance(ord, str)
    if is_pair and ord not in ("euclidean", "fro", 1, 2, float("inf")):
        raise ValueError(
            f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {ord}"
        )
    if not is_pair and (ord != "euclidean" if named else not ord > 0):
        raise ValueError(
            f"'ord' must be a supported vector norm: 'euclidean' or a positive number, got {ord}"
        )


def _matrix_norm(x, ord, axis, keep):
    rows, columns = axis
    if ord in ("fro", "euclidean"):
        if not x.dtype.is_complex:
            return ops["Sqrt"](reduce_sum(x * x, axis, keep))
        total = ops["Sqrt"](reduce_sum(real(x * ops["Conj"](x)), axis, keep))
        return cast(total, x.dtype)
    if ord == 2:
        return _drop(_largest_singular_value(x, rows, columns), axis, keep)
    magnitude = ops["ComplexAbs" if x.dtype.is_complex else "Abs"](x)
    first, second = (rows, columns) if ord == 1 else (columns, rows)
    return _drop(reduce_max(reduce_sum(magnitude, first, True), second, True), axis, keep)


def _largest_singular_value(x, rows: int, columns: int):
    """Return the largest singular value of the matrices in two axes, which keep size 1."""
    ranks = rank(x)
    numbers = range(ranks)
    pair = [at + ranks if at < 0 else convert_to_tensor(at) for at in (rows, columns)]
    others = ops["LogicalAnd"](numbers != pair[0], numbers != pair[1])
    late = cast(numbers == pair[0], _dtypes.int32) + 2 * cast(numbers == pair[1], _dtypes.int32)
    order = argsort(late * ranks + numbers)
    values = real(ops["Svd"](transpose(x, order), compute_uv=False)[0])
    largest = reduce_max(values, -1)
    sizes = where(others, shape(x), ones_like(numbers))
    return reshape(largest, sizes)


def _drop(x, axis, keep):
    return x if keep else ops["Squeeze"](x, squeeze_dims=axis)


TOP = (
    "argmax argmin argsort cumsum norm reduce_all reduce_any reduce_logsumexp reduce_max "
    "reduce_min reduce_prod sort"
).split()
MATH = (
    "argmax argmin bincount confusion_matrix count_nonzero cumprod cumsum cumulative_logsumexp "
    "in_top_k invert_permutation is_non_decreasing is_strictly_increasing reduce_all reduce_any "
    "reduce_euclidean_norm reduce_logsumexp reduce_max reduce_min reduce_prod reduce_std "
    "reduce_variance segment_max segment_mean segment_min segment_prod segment_sum top_k "
    "unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod "
    "unsorted_segment_sqrt_n unsorted_segment_sum zero_fraction"
).split()
