"""Rows of convolutions and pools."""

from __future__ import annotations

import numpy as np

from .._core import ops
from ._rows import ConverterError, ints, row, writes
from ._schema import PADDINGS

# ---- running them --------------------------------------------------------------------------------


def _padding(o) -> str:
    if not 0 <= o.padding < len(PADDINGS):
        raise ValueError(f"padding {o.padding} is neither SAME nor VALID")
    return PADDINGS[o.padding]


def _sizes(o, names: str) -> list[int]:
    """Positive options, with 1 for the batch and the channels."""
    sizes = [getattr(o, name) for name in names.split()]
    if not all(0 < n < 1 << 16 for n in sizes):
        raise ValueError(f"{names} must be from 1 to 65535, not {sizes}")
    return [1, *sizes, 1]


_STRIDES, _DILATIONS = "stride_h stride_w", "dilation_h_factor dilation_w_factor"


def _windows(o, dilated: bool = True) -> dict:
    found = {"strides": _sizes(o, _STRIDES), "padding": _padding(o)}
    return found | ({"dilations": _sizes(o, _DILATIONS)} if dilated else {})


def _biased(result, x, place: int):
    return result + x[place] if len(x) > place and x[place] is not None else result


def _conv(x, o):
    filters = ops["Transpose"](x[1], [1, 2, 3, 0])
    return _biased(ops["Conv2D"](x[0], filters, **_windows(o)), x, 2)


def _depthwise(x, o):
    channels = x[0].shape[-1]
    one, height, width, count = x[1].shape.as_list()
    if one != 1 or not channels or count % channels:
        raise ValueError(f"DEPTHWISE_CONV_2D: weights {x[1].shape} do not fit {x[0].shape}")
    filters = ops["Reshape"](x[1], [height, width, channels, count // channels])
    windows = _windows(o)
    return _biased(ops["DepthwiseConv2dNative"](x[0], filters, **windows), x, 2)


def _transposed(x, o):
    filters = ops["Transpose"](x[1], [1, 2, 0, 3])
    result = ops["Conv2DBackpropInput"](ints(x[0]), filters, x[2], **_windows(o, dilated=False))
    return _biased(result, x, 3)


def _conv3d(x, o):
    windows = {
        "strides": _sizes(o, "stride_d stride_h stride_w"),
        "dilations": _sizes(o, "dilation_d_factor dilation_h_factor dilation_w_factor"),
        "padding": _padding(o),
    }
    return _biased(ops["Conv3D"](x[0], x[1], **windows), x, 2)


def _pool(op: str):
    def run(x, o):
        ksize = _sizes(o, "filter_height filter_width")
        return ops[op](x[0], ksize=ksize, **_windows(o, dilated=False))

    return run


row("AVERAGE_POOL_2D", 1, "Pool2D", "1.5.0 1.14.0 2.3.0", _pool("AvgPool"))
row("MAX_POOL_2D", 17, "Pool2D", "1.5.0 1.14.0 2.3.0", _pool("MaxPool"))
row(
    "L2_POOL_2D",
    12,
    "Pool2D",
    "1.5.0",
    lambda x, o: ops["Sqrt"](_pool("AvgPool")([ops["Square"](x[0])], o)),
)
row("CONV_2D", 3, "Conv2D", "1.5.0 1.14.0 1.14.0 2.3.0 2.4.0 2.9.0", _conv)
row(
    "DEPTHWISE_CONV_2D",
    4,
    "DepthwiseConv2D",
    "1.5.0 1.12.0 1.14.0 2.2.0 2.3.0 2.3.0",
    _depthwise,
)
row("TRANSPOSE_CONV", 67, "TransposeConv", "1.9.0 2.2.0 2.3.0 2.16.0", _transposed)
row("CONV_3D", 132, "Conv3D", "2.5.0", _conv3d)

# ---- writing them --------------------------------------------------------------------------------


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _options(node, make, dilated: bool = True):
    """The input, padded where TensorFlow Lite's paddings do not do, and the options."""
    attributes = node.attributes
    if not _text(attributes["data_format"]).endswith("C"):
        raise ConverterError(
            f"{node.op} ({node.name}) with channels first has no TensorFlow Lite kernel"
        )
    x = node.inputs[0]
    padding = _text(attributes["padding"])
    if padding == "EXPLICIT":
        pads = np.array(attributes["explicit_paddings"], np.int32).reshape(-1, 2)
        shape = [
            None if n is None else n + int(p.sum()) for n, p in zip(x.shape, pads, strict=True)
        ]
        if node.op == "MaxPool":
            low = make.constant(np.finfo(np.float32).min, x.dtype)
            x = make.step("PADV2", [x, make.constant(pads), low], shape)
        else:
            x = make.step("PAD", [x, make.constant(pads)], shape)
        padding = "VALID"
    _, stride_h, stride_w, _ = attributes["strides"]
    options = {"padding": PADDINGS.index(padding), "stride_h": stride_h, "stride_w": stride_w}
    if dilated:
        dilations = attributes["dilations"] or [1, 1, 1, 1]
        options |= {"dilation_h_factor": dilations[1], "dilation_w_factor": dilations[2]}
    return x, options


def _weights(make, filters, order: tuple, shape: list | None = None):
    """The filters in the order of TensorFlow Lite."""
    if filters.data is not None:
        data = np.ascontiguousarray(np.transpose(filters.data, order))
        made = make.constant(data if shape is None else data.reshape(shape))
        made.name = filters.name
        return made
    if order != tuple(range(len(order))):
        sizes = [filters.shape[i] for i in order]
        filters = make.step("TRANSPOSE", [filters, make.constant(order, "int32")], sizes)
    if shape is not None:
        filters = make.step("RESHAPE", [filters, make.constant(shape, "int32")], shape)
    return filters


def _known(node, value) -> list[int]:
    if value.shape is None or None in value.shape:
        raise ConverterError(f"{node.op} ({node.name}): the shape of the filters is not known")
    return list(value.shape)


def _no_bias(make, count: int):
    return make.constant(np.zeros(count), "float32")


@writes("Conv2D")
def _(node, make):
    filters = node.inputs[1]
    count = _known(node, filters)[3]
    x, options = _options(node, make)
    weights = _weights(make, filters, (3, 0, 1, 2))
    make("CONV_2D", [x, weights, _no_bias(make, count)], **options)


@writes("DepthwiseConv2dNative")
def _(node, make):
    filters = node.inputs[1]
    height, width, channels, multiplier = _known(node, filters)
    x, options = _options(node, make)
    shape = [1, height, width, channels * multiplier]
    weights = _weights(make, filters, (0, 1, 2, 3), shape)
    bias = _no_bias(make, shape[3])
    make("DEPTHWISE_CONV_2D", [x, weights, bias], depth_multiplier=multiplier, **options)


@writes("Conv2DBackpropInput")
def _(node, make):
    sizes, filters, x = node.inputs
    _known(node, filters)
    dilations = node.attributes["dilations"] or [1]
    if set(dilations) != {1} or _text(node.attributes["padding"]) == "EXPLICIT":
        raise ConverterError(
            f"{node.op} ({node.name}) with dilations or explicit paddings has no TensorFlow Lite "
            "kernel"
        )
    _, options = _options(node, make, dilated=False)
    make("TRANSPOSE_CONV", [sizes, _weights(make, filters, (2, 0, 1, 3)), x], **options)


@writes("Conv3D")
def _(node, make):
    attributes = node.attributes
    if _text(attributes["data_format"]) != "NDHWC":
        raise ConverterError(
            f"{node.op} ({node.name}) with channels first has no TensorFlow Lite kernel"
        )
    options = {"padding": PADDINGS.index(_text(attributes["padding"]))}
    dilations = attributes["dilations"] or [1] * 5
    for i, axis in enumerate("dhw", 1):
        options[f"stride_{axis}"] = attributes["strides"][i]
        options[f"dilation_{axis}_factor"] = dilations[i]
    count = _known(node, node.inputs[1])[4]
    make("CONV_3D", [*node.inputs, _no_bias(make, count)], **options)


@writes("MaxPool", "AvgPool")
def _(node, make):
    x, options = _options(node, make, dilated=False)
    one, height, width, last = node.attributes["ksize"]
    if one != 1 or last != 1 or x.dtype != "float32":
        raise ConverterError(
            f"{node.op} ({node.name}) over the batch or channels, or of {x.dtype}, "
            "has no TensorFlow Lite kernel"
        )
    name = "MAX_POOL_2D" if node.op == "MaxPool" else "AVERAGE_POOL_2D"
    make(name, [x], filter_height=height, filter_width=width, **options)
