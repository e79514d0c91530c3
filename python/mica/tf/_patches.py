"""Windows that are no convolutions: morphology, places of maxima, patches of volumes."""

from __future__ import annotations

import itertools

from .. import _mica
from . import _dtypes, errors
from ._array import concat, expand_dims, range, reshape, shape, stack, where
from ._core import convert_to_tensor, ops
from ._math import cast
from ._refusals import refusal
from ._select import pad, reverse
from ._static import of_rank, sizes_of
from ._windows import entries


def _same_paddings(sizes, extents, strides):
    """Return pairs of paddings that make ceil(size / stride) windows."""
    pairs = [stack([0, 0])]
    for axis, (extent, stride) in enumerate(zip(extents, strides, strict=True), 1):
        size = sizes[axis]
        count = (size + stride - 1) // stride
        total = (count - 1) * stride + extent - size
        total = max(total, 0) if isinstance(total, int) else ops["Maximum"](total, 0)
        pairs.append(stack([total // 2, total - total // 2]))
    return stack([*pairs, stack([0, 0])])


def _windows(x, kernel, strides, rates, padding: str, fill):
    """Return x at each offset of a kernel, one tensor for each; axes but the first and last."""
    extents = [(k - 1) * r + 1 for k, r in zip(kernel, rates, strict=True)]
    if padding == "SAME":
        x = pad(x, _same_paddings(shape(x), extents, strides), constant_values=fill)
    elif padding != "VALID":
        raise ValueError(f"padding must be VALID or SAME, not {padding!r}")
    sizes = shape(x)
    counts = [
        ops["Maximum"]((sizes[axis] - extent) // stride + 1, 0)
        for axis, (extent, stride) in enumerate(zip(extents, strides, strict=True), 1)
    ]
    parts = []
    for offset in itertools.product(*(builtins_range(k) for k in kernel)):
        starts = [o * r for o, r in zip(offset, rates, strict=True)]
        key = [
            slice(start, start + ops["Maximum"]((count - 1) * stride + 1, 0), stride)
            for start, count, stride in zip(starts, counts, strides, strict=True)
        ]
        parts.append(x[(slice(None), *key, slice(None))])
    return parts


def builtins_range(n: int) -> list[int]:
    """Return 0, ..., n - 1 of Python."""
    return list(itertools.islice(itertools.count(), n))


def dilation2d(input, filters, strides, padding, data_format, dilations, name=None):
    """Return the largest of input plus filter in each window."""
    x, w = convert_to_tensor(input), convert_to_tensor(filters)
    _check_morphology(x, w, strides, padding, data_format, dilations)
    x, w = of_rank(x, 4), of_rank(w, 3)
    kernel = sizes_of(w)
    extents = [(kernel[i] - 1) * dilations[i + 1] + 1 for i in (0, 1)]
    known = x.shape[0], w.shape[2] if x.shape[3] is None else x.shape[3]
    lowest = convert_to_tensor(x.dtype.min, x.dtype)
    inside = ops["OnesLike"](x) > 0
    if padding == "SAME":
        margins = _same_paddings(sizes_of(x), extents, strides[1:3])
        x, inside = pad(x, margins), pad(inside, margins)
    sizes = sizes_of(x)
    counts = [(sizes[i + 1] - extents[i]) // strides[i + 1] + 1 for i in (0, 1)]
    for axis in (0, 1):
        starts = expand_dims(range(counts[axis]) * strides[axis + 1], 1)
        places = starts + expand_dims(range(kernel[axis]) * dilations[axis + 1], 0)
        x = ops["GatherV2"](ops["Identity"](x), places, 1 + 2 * axis)
        inside = ops["GatherV2"](inside, places, 1 + 2 * axis)
    moved = x + expand_dims(expand_dims(w, 1), 0)  # batch, row, i, column, j, channel
    found = ops["Max"](where(inside, moved, lowest), [2, 4])
    found = ops["Maximum"](found, lowest, name=name)
    counts = [count if isinstance(count, int) else None for count in counts]
    found.set_shape([known[0], *counts, known[1]])
    return found


def _check_morphology(x, w, strides, padding, data_format, dilations) -> None:
    if data_format != "NHWC":
        raise ValueError(f"Data formats other than NHWC are not yet supported, got {data_format}")
    eager = isinstance(x, _mica.TFEagerTensor)
    message = None
    if padding not in ("SAME", "VALID"):
        message = f"padding must be VALID or SAME, not {padding!r}"
    elif not 4 == len(strides) == len(dilations):
        message = f"strides and dilations must have 4 entries: {strides} and {dilations}"
    elif x.shape.rank not in (None, 4) or w.shape.rank not in (None, 3):
        message = f"images of rank 4 and filters of rank 3 are needed: {x.shape} and {w.shape}"
    if message:
        raise errors.InvalidArgumentError(None, None, message) if eager else ValueError(message)
    if min(*strides, *dilations) < 1 or strides[::3] != dilations[::3] or strides[0] != 1:
        raise errors.UnimplementedError(
            None, None, f"strides and dilations of only rows and columns: {strides}, {dilations}"
        )


def erosion2d(value, filters, strides, padding, data_format, dilations, name=None):
    """Return the smallest of input less the mirrored filter in each window."""
    x = -convert_to_tensor(value)
    w = reverse(convert_to_tensor(filters), [0, 1])
    return -dilation2d(x, w, strides, padding, data_format, dilations)


def max_pool_with_argmax(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    output_dtype=_dtypes.int64,
    include_batch_in_index=False,
    name=None,
):
    """Return the largest of each window, and its place in the flattened picture."""
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other than 'NHWC' are not supported: {data_format}")
    x = of_rank(convert_to_tensor(input), 4)
    whole = entries(ksize, 2, data_format, "ksize"), entries(strides, 2, data_format, "strides")
    kernel, step = whole[0][1:3], whole[1][1:3]
    output = ops["MaxPool"](x, ksize=whole[0], strides=whole[1], padding=padding)
    sizes = shape(x)
    count = sizes[1] * sizes[2] * sizes[3]
    numbers = reshape(range(count), stack([1, sizes[1], sizes[2], sizes[3]]))
    if include_batch_in_index:
        numbers = numbers + reshape(range(sizes[0]) * count, [-1, 1, 1, 1])
    else:
        numbers = numbers + ops["ZerosLike"](reshape(range(sizes[0]), [-1, 1, 1, 1]))
    lowest = x.dtype.min
    values = stack(_windows(x, kernel, step, [1, 1], padding, lowest), -1)
    places = stack(_windows(numbers, kernel, step, [1, 1], padding, -1), -1)
    # NaN is the largest where it comes first in a window, and else passed over.
    first = ops["ArgMax"](places >= 0, -1)
    is_nan = values != values
    best = ops["ArgMax"](where(is_nan, convert_to_tensor(lowest, x.dtype), values), -1)
    best = where(_picked(is_nan, first), first, best)
    found = cast(_picked(places, best), output_dtype)
    found.set_shape(output.shape)
    return where(output == output, output, _picked(values, best)), found


def _picked(values, places):
    """Of each row along the last axis the element at a place."""
    found = ops["GatherV2"](values, expand_dims(places, -1), -1, batch_dims=4)
    return ops["Squeeze"](found, squeeze_dims=[-1])


def extract_volume_patches(input, ksizes, strides, padding, name=None):
    """Return blocks of volumes, flattened along the last axis."""
    x = convert_to_tensor(input)
    kernel, steps = ([int(k) for k in numbers] for numbers in (ksizes, strides))
    if len(kernel) < 5 or len(steps) < 5:
        raise refusal("[ExtractVolumePatches] ksizes and strides must have 5 entries each")
    if x.shape.rank not in (5, None):
        raise refusal(f"[ExtractVolumePatches] input must have rank 5, not the shape {x.shape}")
    return concat(_windows(x, kernel[1:4], steps[1:4], [1, 1, 1], padding, 0), -1)
