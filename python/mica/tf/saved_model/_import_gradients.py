"""The ops that TensorFlow writes for derivatives: what each is made of (see _import_ops.py)."""

from __future__ import annotations

from .. import nn
from .._array import reshape
from .._core import convert_to_tensor, ops
from .._rows import row_of
from ._import_graph import attribute_value
from ._translating import entering, scalar

GRADIENT_TRANSLATIONS: dict = {}
_gradient_of = entering(GRADIENT_TRANSLATIONS)


def _gradient(name: str, function, output: str = "backprops") -> None:
    GRADIENT_TRANSLATIONS[name] = lambda builder, inputs, attributes: {output: function(*inputs)}


def _masked(gradient, condition):
    return ops["SelectV2"](condition, gradient, ops["ZerosLike"](gradient))


_gradient("ReluGrad", lambda g, x: _masked(g, x > scalar(0, x)))
_gradient(
    "Relu6Grad", lambda g, x: _masked(g, ops["LogicalAnd"](x > scalar(0, x), x < scalar(6, x)))
)
_gradient("EluGrad", lambda g, y: ops["SelectV2"](y < scalar(0, y), g * (y + 1), g))
_gradient("SoftplusGrad", lambda g, x: g * ops["Sigmoid"](x))
_gradient("SigmoidGrad", lambda y, g: g * y * (scalar(1, y) - y), "z")
_gradient("TanhGrad", lambda y, g: g * (scalar(1, y) - y * y), "z")
_gradient("SqrtGrad", lambda y, g: g * scalar(0.5, y) / y, "z")
_gradient("RsqrtGrad", lambda y, g: g * scalar(-0.5, y) * y * y * y, "z")
_gradient("ReciprocalGrad", lambda y, g: -g * y * y, "z")
_gradient("InvGrad", lambda y, g: -g * y * y, "z")


@_gradient_of("LeakyReluGrad")
def _leaky_relu_grad(builder, inputs, attributes):
    gradient, x = inputs
    slope = scalar(attributes.get("alpha", 0.2), gradient)
    return {"backprops": ops["SelectV2"](x > scalar(0, x), gradient, gradient * slope)}


@_gradient_of("BiasAddGrad")
def _bias_add_grad(builder, inputs, attributes):
    (gradient,) = inputs
    rank = gradient.shape.rank
    if rank is None:
        raise NotImplementedError("the gradient of BiasAdd of an unknown rank")
    channel = 1 if attributes.get("data_format", "NHWC").startswith("NC") else rank - 1
    return {"output": ops["Sum"](gradient, [i for i in range(rank) if i != channel])}


@_gradient_of("BroadcastGradientArgs")
def _broadcast_gradient_args(builder, inputs, attributes):
    """The axes along which each of two shapes was broadcast."""
    first, second = (builder.graph._ints(x) for x in inputs)
    if first is None or second is None:
        raise NotImplementedError("the axes of a broadcast of shapes that are not known")
    rank = max(len(first), len(second))
    a = [1] * (rank - len(first)) + first
    b = [1] * (rank - len(second)) + second
    if any(x != y and None in (x, y) and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise NotImplementedError("the axes of a broadcast of sizes that are not known")
    dtype = inputs[0].dtype
    return {
        "r0": convert_to_tensor([i for i in range(rank) if a[i] == 1], dtype),
        "r1": convert_to_tensor([i for i in range(rank) if b[i] == 1], dtype),
    }


def _with_respect_to(op: str, wanted: int, operands: list, gradient, attributes):
    """The gradient of an op of the table with respect to one of its operands."""
    from .._gradients import gradients

    names = ("strides", "padding", "ksize", "data_format", "dilations", "explicit_paddings")
    kinds = row_of(op).kinds
    given = {
        name: attribute_value(kinds[name], attributes[name])
        for name in names
        if name in kinds and name in attributes
    }
    (found,) = gradients([ops[op](*operands, **given)], [operands[wanted]], [gradient])
    return found


def _zeros(shape, like):
    return ops["Fill"](shape, scalar(0, like))


@_gradient_of("MaxPoolGrad")
def _max_pool_grad(builder, inputs, attributes):
    x, _, gradient = inputs
    return {"output": _with_respect_to("MaxPool", 0, [x], gradient, attributes)}


@_gradient_of("AvgPoolGrad")
def _avg_pool_grad(builder, inputs, attributes):
    shape, gradient = inputs
    x = _zeros(shape, gradient)
    return {"output": _with_respect_to("AvgPool", 0, [x], gradient, attributes)}


@_gradient_of("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter")
def _filter_grad(builder, inputs, attributes):
    x, shape, gradient = inputs
    op = attributes.node.op.removesuffix("BackpropFilter")
    found = _with_respect_to(op, 1, [x, _zeros(shape, gradient)], gradient, attributes)
    return {"output": found}


@_gradient_of("DepthwiseConv2dNativeBackpropInput")
def _depthwise_input_grad(builder, inputs, attributes):
    shape, kernel, gradient = inputs
    operands = [_zeros(shape, gradient), kernel]
    found = _with_respect_to("DepthwiseConv2dNative", 0, operands, gradient, attributes)
    return {"output": found}


@_gradient_of("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _fused_batch_norm_grad(builder, inputs, attributes):
    """In training the moments depend on x; in inference they are given, and constants."""
    gradient, x, scale, mean, variance = inputs[:5]
    form = attributes.get("data_format", "NHWC")
    channel = form.index("C")
    axes = [i for i in range(len(form)) if i != channel]
    shape = [-1 if i == channel else 1 for i in range(len(form))]
    wide, flow = (
        t if t.dtype == scale.dtype else ops["Cast"](t, DstT=scale.dtype) for t in (x, gradient)
    )
    trains = attributes.get("is_training", True)
    if trains:
        mean, variance = nn.moments(wide, axes)
    inverse = ops["Rsqrt"](variance + scalar(attributes.get("epsilon", 1e-4), variance))
    normal = (wide - reshape(mean, shape)) * reshape(inverse, shape)
    found = flow
    if trains:
        along = ops["Mean"](flow * normal, axes, keep_dims=True)
        found = flow - ops["Mean"](flow, axes, keep_dims=True) - normal * along
    found = found * reshape(scale * inverse, shape)
    nothing = ops["ZerosLike"](scale)
    return {
        "x_backprop": found if found.dtype == x.dtype else ops["Cast"](found, DstT=x.dtype),
        "scale_backprop": ops["Sum"](flow * normal, axes),
        "offset_backprop": ops["Sum"](flow, axes),
        "reserve_space_3": nothing,
        "reserve_space_4": nothing,
        "reserve_space_5": nothing,
    }
