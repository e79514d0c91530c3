"""Taking tensors apart by numbers and putting them together; histograms."""

from __future__ import annotations

from . import _dtypes
from ._array import boolean_mask, concat, reshape, shape, stack
from ._core import convert_to_tensor, ops
from ._elementwise import clip_by_value
from ._math import cast


def dynamic_partition(data, partitions, num_partitions, name=None) -> list:
    """Return the slices of data with each number, as many tensors as there are numbers."""
    data = ops["Identity"](convert_to_tensor(data))
    numbers = convert_to_tensor(partitions, _dtypes.int32)
    return [boolean_mask(data, numbers == i) for i in range(num_partitions)]


def dynamic_stitch(indices, data, name=None):
    """Return the tensor that has data[m] at the places indices[m]; later ones win."""
    indices = [convert_to_tensor(i, _dtypes.int32) for i in indices]
    data = [convert_to_tensor(d) for d in data]
    rest = shape(data[0])[indices[0].shape.rank :]
    rows = [reshape(d, concat([[-1], rest], 0)) for d in data]
    places = concat([reshape(i, [-1]) for i in indices], 0)
    size = ops["Max"](concat([[-1], places], 0), 0) + 1
    zeros = ops["Fill"](concat([ops["ExpandDims"](size, 0), rest], 0), cast(0, data[0].dtype))
    return ops["TensorScatterUpdate"](
        zeros, ops["ExpandDims"](places, 1), concat(rows, 0), name=name
    )


def parallel_stack(values, name="parallel_stack"):
    """Return tensors of one shape stacked along a new first axis."""
    return stack(values)


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=_dtypes.int32, name=None):
    """Return the number of the bin that each value falls into; outer bins take what is beyond."""
    x = convert_to_tensor(values)
    bins = _bins(x, convert_to_tensor(value_range, x.dtype), nbins)
    return cast(bins, _dtypes.as_dtype(dtype))


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
        before, after = base[:, 0], base[:, 1]
    more = (blocks - (sizes + before + after) % blocks) % blocks
    paddings = stack([before, after + more], 1)
    return paddings, stack([ops["ZerosLike"](more), more], 1)
