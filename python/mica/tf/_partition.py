"""Taking tensors apart by numbers and putting them together; histograms."""

from __future__ import annotations

from . import _dtypes
from ._array import boolean_mask, concat, expand_dims, reshape, shape, size, stack
from ._context import executing_eagerly
from ._core import convert_to_tensor, ops
from ._elementwise import clip_by_value
from ._math import cast
from ._refusals import check_true, operand, refusal


def dynamic_partition(data, partitions, num_partitions, name=None) -> list:
    """Return the slices of data with each number, as many tensors as there are numbers."""
    data = ops["Identity"](convert_to_tensor(data))
    numbers = operand(partitions, _dtypes.int32, "DynamicPartition", 1)
    if num_partitions < 1:
        raise refusal(f"Attr 'num_partitions' of {num_partitions} must be at least minimum 1")
    check_true(
        ops["LogicalAnd"](numbers >= 0, numbers < num_partitions),
        f"[DynamicPartition] each of partitions must be in [0, {num_partitions})",
    )
    if numbers.shape.rank is not None:
        return [boolean_mask(data, numbers == i) for i in range(num_partitions)]
    rows, flat = _rows(data, numbers), reshape(numbers, [-1])
    parts = [reshape(ops["Where"](flat == i), [-1]) for i in range(num_partitions)]
    return [ops["GatherV2"](rows, places, 0) for places in parts]


def _rest(data, numbers):
    """Return the sizes of what each of the numbers stands for."""
    known = numbers.shape.rank
    return shape(data)[known if known is not None else ops["Rank"](numbers) :]


def _rows(data, numbers):
    """Return the slices of data that the numbers stand for, one after the other."""
    return reshape(data, concat([expand_dims(size(numbers), 0), _rest(data, numbers)], 0))


def dynamic_stitch(indices, data, name=None):
    """Return the tensor that has data[m] at the places indices[m]; later ones win."""
    indices = [operand(part, _dtypes.int32, "DynamicStitch", i) for i, part in enumerate(indices)]
    data = [convert_to_tensor(part) for part in data]
    if len(indices) != len(data):
        raise refusal(f"DynamicStitch: {len(indices)} indices and {len(data)} data")
    rest = _rest(data[0], indices[0])
    rows = concat([_rows(d, i) for d, i in zip(data, indices, strict=True)], 0)
    places = concat([reshape(i, [-1]) for i in indices], 0)
    count = ops["Max"](concat([[-1], places], 0), 0) + 1
    zero = convert_to_tensor("") if rows.dtype == _dtypes.string else cast(0, rows.dtype)
    whole = ops["Fill"](concat([expand_dims(count, 0), rest], 0), zero)
    return ops["TensorScatterUpdate"](whole, expand_dims(places, 1), rows, name=name)


def parallel_stack(values, name="parallel_stack"):
    """Return tensors of one shape, which must be known, stacked along a new first axis."""
    if executing_eagerly():
        raise RuntimeError("tf.parallel_stack() is not compatible with eager execution.")
    shapes = [convert_to_tensor(values[0]).shape]
    shapes += [convert_to_tensor(value).shape for value in values[1:]]
    for part in shapes:
        part.assert_is_compatible_with(shapes[0])
        if not part.is_fully_defined():
            raise ValueError(f"tf.parallel_stack needs shapes that are known, not {part}")
    return stack(values)


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=_dtypes.int32, name=None):
    """Return the number of the bin that each value falls into; outer bins take what is beyond.

    The numbers are int32, whatever dtype is asked for.
    """
    _dtypes.as_dtype(dtype)
    x = convert_to_tensor(values)
    return _bins(x, convert_to_tensor(value_range, x.dtype), nbins)


def _bins(x, bounds, nbins):
    scaled = (x - bounds[0]) / (bounds[1] - bounds[0])
    bins = cast(ops["Floor"](cast(nbins, x.dtype) * scaled), _dtypes.int32)
    return clip_by_value(bins, 0, nbins - 1)


def histogram_fixed_width(values, value_range, nbins=100, dtype=_dtypes.int32, name=None):
    """Return how many values fall into each bin."""
    dtype = _dtypes.as_dtype(dtype)
    x = convert_to_tensor(values)
    bounds = convert_to_tensor(value_range, x.dtype)
    if x.dtype.is_integer:
        x, bounds = cast(x, _dtypes.float64), cast(bounds, _dtypes.float64)
    bins = reshape(_bins(x, bounds, nbins), [-1])
    return ops["UnsortedSegmentSum"](cast(ops["OnesLike"](bins), dtype), bins, nbins, name=name)


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """Return paddings, and crops, that make sizes divisible by those of blocks."""
    sizes = convert_to_tensor(input_shape, _dtypes.int32)
    blocks = convert_to_tensor(block_shape, _dtypes.int32)
    if base_paddings is None:
        before = after = ops["ZerosLike"](sizes)
    else:
        base = convert_to_tensor(base_paddings, _dtypes.int32)
        base.shape.assert_is_compatible_with([*sizes.shape.as_list(), 2])
        before, after = base[:, 0], base[:, 1]
    more = (blocks - (sizes + before + after) % blocks) % blocks
    paddings = stack([before, after + more], 1)
    return paddings, stack([ops["ZerosLike"](more), more], 1)
