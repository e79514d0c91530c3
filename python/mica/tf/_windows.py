"""Convolutions and pools: names of tf.nn."""

from __future__ import annotations

from .. import _mica
from . import errors
from ._array import expand_dims, shape, shape_operand, squeeze, stack
from ._core import convert_to_tensor, ops
from ._refusals import refusal
from ._select import batch_to_space, space_to_batch

_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def _channels_first(data_format) -> bool:
    return data_format is not None and data_format.startswith("NC")


def entries(value, n: int, data_format, what: str) -> list[int]:
    """Return an entry for each axis of images with n spatial axes."""
    value = 1 if value is None else value
    value = [int(v) for v in ([value] if isinstance(value, int | float) else value)]
    if len(value) == 1:
        value = value * n
    if len(value) == n:
        return [1, 1, *value] if _channels_first(data_format) else [1, *value, 1]
    if len(value) == n + 2:
        return value
    raise ValueError(f"{what} should be of length 1, {n} or {n + 2}. Received: {what}={value}")


def _padding(padding) -> dict:
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            text = f"'padding' of \"{padding}\" is not in the list of allowed values"
            if _mica.tf_executing_eagerly():
                raise errors.InvalidArgumentError(
                    None, None, f'Value for attr {text}: "SAME", "VALID", "EXPLICIT"'
                )
            raise ValueError(f'Attr {text}: "SAME", "VALID", "EXPLICIT".')
        return {"padding": padding}
    return {"padding": "EXPLICIT", "explicit_paddings": [int(n) for pair in padding for n in pair]}


def conv2d(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):
    """Return the correlation of images with filters (height, width, in, out)."""
    dilations = 1 if dilations is None else dilations
    return ops["Conv2D"](
        convert_to_tensor(input),
        filters,
        strides=entries(strides, 2, data_format, "strides"),
        dilations=entries(dilations, 2, data_format, "dilations"),
        data_format=data_format,
        **_padding(padding),
    )


def conv3d(input, filters, strides, padding, data_format="NDHWC", dilations=None, name=None):
    """Return the correlation of volumes with filters."""
    if dilations is not None and not isinstance(dilations, list | tuple):
        raise TypeError(f"Expected list for 'dilations' argument to 'conv3d', not {dilations}.")
    dilations = 1 if dilations is None else dilations
    return ops["Conv3D"](
        convert_to_tensor(input),
        filters,
        strides=entries(strides, 3, data_format, "strides"),
        dilations=entries(dilations, 3, data_format, "dilations"),
        data_format=data_format,
        **_padding(padding),
    )


def _single(value, data_format, what: str) -> int:
    """Return the entry for the one spatial axis of sequences."""
    return entries(value, 1, data_format, what)[2 if _channels_first(data_format) else 1]


def conv1d(input, filters, stride, padding, data_format="NWC", dilations=None, name=None):
    """Return the correlation of sequences with filters (width, in, out)."""
    first = _channels_first(data_format)
    axis = 2 if first else 1
    x = expand_dims(convert_to_tensor(input), axis)
    if not isinstance(padding, str):
        pairs = [list(pair) for pair in padding]
        padding = [*pairs[:axis], [0, 0], *pairs[axis:]]
    y = conv2d(
        x,
        expand_dims(convert_to_tensor(filters), 0),
        [1, _single(stride, data_format, "stride")],
        padding,
        "NCHW" if first else "NHWC",
        [1, _single(dilations, data_format, "dilations")],
    )
    return squeeze(y, [axis])


def _largest(sizes) -> int:
    return max(sizes) if isinstance(sizes, list | tuple) else sizes


def convolution(
    input, filters, strides=None, padding="VALID", data_format=None, dilations=None, name=None
):
    """Return the correlation of inputs with one to three spatial axes with filters."""
    x, filters = convert_to_tensor(input), convert_to_tensor(filters)
    n = (x.shape.rank or filters.shape.rank) - 2
    strides = 1 if strides is None else strides
    dilations = [1] * n if dilations is None else dilations
    dilations = [dilations] * n if isinstance(dilations, int) else dilations
    data_format = data_format or _FORMATS[n]
    if _largest(strides) > 1 and _largest(dilations) > 1:
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={strides} and dilation_rate={dilations}"
        )
    function = {1: conv1d, 2: conv2d, 3: conv3d}[n]
    return function(x, filters, strides, padding, data_format, dilations)


def atrous_conv2d(value, filters, rate, padding, name=None):
    """Return the correlation of images with filters that have gaps.

    The rank must be known, and for padding SAME the shape of the filters.
    """
    value, filters = convert_to_tensor(value), convert_to_tensor(filters)
    if value.shape.rank is None and filters.shape.rank is None:
        raise ValueError("atrous_conv2d: the rank of value or filters must be known")
    if rate != 1 and padding == "SAME" and not filters.shape.is_fully_defined():
        raise ValueError(f"atrous_conv2d: the shape {filters.shape} of filters must be known")
    return conv2d(value, filters, 1, padding, dilations=rate)


def depthwise_conv2d(input, filter, strides, padding, data_format=None, dilations=None, name=None):
    """Return each channel with its own filters (height, width, in, multiplier)."""
    data_format = data_format or "NHWC"
    return ops["DepthwiseConv2dNative"](
        convert_to_tensor(input),
        filter,
        strides=entries(strides, 2, data_format, "strides"),
        dilations=entries(1 if dilations is None else dilations, 2, data_format, "dilations"),
        data_format=data_format,
        **_padding(padding),
    )


def separable_conv2d(
    input,
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    data_format=None,
    dilations=None,
    name=None,
):
    """Return a depthwise convolution followed by one of size 1."""
    if dilations is not None and not hasattr(dilations, "__len__"):
        raise ValueError(f"`dilations` must be a list of two numbers. Received: {dilations}")
    y = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(y, pointwise_filter, 1, "VALID", data_format or "NHWC")


def depthwise_conv2d_backprop_input(
    input_sizes,
    filter,
    out_backprop,
    strides,
    padding,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
):
    """Return the gradient of depthwise_conv2d with respect to its input."""
    return ops["DepthwiseConv2dNativeBackpropInput"](
        shape_operand(input_sizes),
        filter,
        out_backprop,
        strides=list(strides),
        **_padding(padding),
        data_format=data_format,
        dilations=entries(dilations, 2, data_format, "dilations"),
        name=name,
    )


def depthwise_conv2d_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
):
    """Return the gradient of depthwise_conv2d with respect to its filter."""
    return ops["DepthwiseConv2dNativeBackpropFilter"](
        input,
        shape_operand(filter_sizes),
        out_backprop,
        strides=list(strides),
        **_padding(padding),
        data_format=data_format,
        dilations=entries(dilations, 2, data_format, "dilations"),
        name=name,
    )


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """Return the transpose of atrous_conv2d, which makes pictures larger."""
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"`padding` must be either VALID or SAME. Received: padding={padding}")
    if rate < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    return conv2d_transpose(value, filters, output_shape, 1, padding, "NHWC", rate, name)


def conv2d_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NHWC",
    dilations=None,
    name=None,
):
    """Return the transpose of conv2d; filters are (height, width, out, in)."""
    return ops["Conv2DBackpropInput"](
        shape_operand(output_shape),
        filters,
        convert_to_tensor(input),
        strides=entries(strides, 2, data_format, "strides"),
        dilations=entries(1 if dilations is None else dilations, 2, data_format, "dilations"),
        data_format=data_format,
        **_padding(padding),
    )


def conv3d_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NDHWC",
    dilations=None,
    name=None,
):
    """Return the transpose of conv3d."""
    return ops["Conv3DBackpropInputV2"](
        shape_operand(output_shape),
        filters,
        convert_to_tensor(input),
        strides=entries(strides, 3, data_format, "strides"),
        dilations=entries(1 if dilations is None else dilations, 3, data_format, "dilations"),
        data_format=data_format,
        **_padding(padding),
    )


def conv1d_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NWC",
    dilations=None,
    name=None,
):
    """Return the transpose of conv1d."""
    first = _channels_first(data_format)
    axis = 2 if first else 1
    sizes = shape_operand(output_shape)
    parts = [sizes[i] for i in range(3)]
    parts.insert(axis, 1)
    y = conv2d_transpose(
        expand_dims(convert_to_tensor(input), axis),
        expand_dims(convert_to_tensor(filters), 0),
        stack(parts),
        [1, _single(strides, data_format, "strides")],
        padding,
        "NCHW" if first else "NHWC",
        [1, _single(dilations, data_format, "dilations")],
    )
    return squeeze(y, [axis])


def conv_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format=None,
    dilations=None,
    name=None,
):
    """Return the transpose of convolution."""
    x, filters = convert_to_tensor(input), convert_to_tensor(filters)
    output_shape = shape_operand(output_shape)
    n = output_shape.shape[0] - 2
    function = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}[n]
    return function(
        x, filters, output_shape, strides, padding, data_format or _FORMATS[n], dilations
    )


# ---- pools ---------------------------------------------------------------------------------------


def _pool2d(op: str, x, ksize, strides, padding, data_format):
    # Eagerly an array of numpy takes the op's own dtype.
    x = x if _mica.tf_executing_eagerly() else convert_to_tensor(x)
    return ops[op](
        x,
        ksize=entries(ksize, 2, data_format, "ksize"),
        strides=entries(strides, 2, data_format, "strides"),
        data_format=data_format,
        **_padding(padding),
    )


def _pool3d(op: str, x, ksize, strides, padding, data_format):
    return ops[op](
        convert_to_tensor(x),
        ksize=entries(ksize, 3, data_format, "ksize"),
        strides=entries(strides, 3, data_format, "strides"),
        data_format=data_format,
        **_padding(padding),
    )


def _pool1d(op: str, x, ksize, strides, padding, data_format):
    first = _channels_first(data_format)
    axis = 2 if first else 1
    y = _pool2d(
        op,
        expand_dims(convert_to_tensor(x), axis),
        [1, _single(ksize, data_format, "ksize")],
        [1, _single(strides, data_format, "strides")],
        padding,
        "NCHW" if first else "NHWC",
    )
    return squeeze(y, [axis])


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Return the largest of each window of sequences."""
    return _pool1d("MaxPool", input, ksize, strides, padding, data_format)


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """Return the largest of each window of images."""
    return _pool2d("MaxPool", input, ksize, strides, padding, data_format)


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Return the largest of each window of volumes."""
    return _pool3d("MaxPool3D", input, ksize, strides, padding, data_format)


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Return the mean of each window of sequences."""
    return _pool1d("AvgPool", input, ksize, strides, padding, data_format)


def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """Return the mean of each window of images."""
    return _pool2d("AvgPool", input, ksize, strides, padding, data_format)


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Return the mean of each window of volumes."""
    return _pool3d("AvgPool3D", input, ksize, strides, padding, data_format)


def _by_rank(functions, input, ksize, strides, padding, data_format):
    x = convert_to_tensor(input)
    if x.shape.rank is None and data_format is None:
        raise ValueError("data_format must be given where the rank of `input` is unknown")
    n = x.shape.rank - 2 if x.shape.rank is not None else len(data_format) - 2
    if n not in (1, 2, 3):
        raise ValueError(f"`input.shape.rank` must be 3, 4 or 5. Received: {x.shape}")
    if n > 1 and data_format and len(data_format) != n + 2:
        raise refusal(
            f"data_format of {n + 2} axes is {_FORMATS[n]!r} or the same with C second, not "
            f"{data_format!r}"
        )
    return functions[n - 1](x, ksize, strides, padding, data_format or _FORMATS[n])


def max_pool(input, ksize, strides, padding, data_format=None, name=None):
    """Return the largest of each window."""
    functions = (max_pool1d, max_pool2d, max_pool3d)
    return _by_rank(functions, input, ksize, strides, padding, data_format)


def avg_pool(input, ksize, strides, padding, data_format=None, name=None):
    """Return the mean of each window."""
    functions = (avg_pool1d, avg_pool2d, avg_pool3d)
    return _by_rank(functions, input, ksize, strides, padding, data_format)


def pool(
    input,
    window_shape,
    pooling_type,
    strides=None,
    padding="VALID",
    data_format=None,
    dilations=None,
    name=None,
):
    """Return the largest or the mean of each window; with gaps where dilations say so."""
    x = convert_to_tensor(input)
    n = len(window_shape)
    strides = [1] * n if strides is None else strides
    if dilations is not None and len(dilations) != n:
        raise ValueError(
            f"`len(dilation_rate)` should be {n}. Received: dilation_rate={dilations} of length "
            f"{len(dilations)}"
        )
    if min(strides) < 1:
        raise ValueError(f"all values of `strides` must be positive. Received: strides={strides}")
    if any(a > b for a, b in zip(strides, window_shape, strict=False)):
        raise ValueError(
            f"`strides` > `window_shape` is not supported. Received: strides={strides} and "
            f"window_shape={window_shape}"
        )
    function = {"MAX": max_pool, "AVG": avg_pool}[pooling_type]
    if data_format is None and x.shape.rank is None:
        data_format = _FORMATS[n]
    if dilations is None or set(dilations) == {1}:
        return function(x, window_shape, strides, padding, data_format)
    if padding != "VALID":
        raise ValueError("pooling with 'SAME' padding is not implemented for `dilation_rate` > 1")
    rest = [(-shape(x)[i + 1]) % d for i, d in enumerate(dilations)]
    paddings = stack([stack([0, r]) for r in rest])
    crops = stack([stack([0, r]) for r in rest])
    y = function(
        space_to_batch(x, dilations, paddings), window_shape, strides, padding, data_format
    )
    return batch_to_space(y, dilations, crops)


# ---- depth and space -----------------------------------------------------------------------------


def space_to_depth(input, block_size, data_format="NHWC", name=None):
    """Return blocks of space moved into the channels."""
    x = convert_to_tensor(input)
    return ops["SpaceToDepth"](x, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input, block_size, data_format="NHWC", name=None):
    """Return channels moved into blocks of space."""
    x = convert_to_tensor(input)
    return ops["DepthToSpace"](x, block_size=block_size, data_format=data_format, name=name)
