"""Rows of arithmetic: elements, comparisons, reductions, products of matrices."""

from __future__ import annotations

from .. import _dtypes, nn
from .._core import convert_to_tensor, ops
from .._math import cast
from ._plan import Value
from ._rows import ConverterError, binary, ints, row, unary, writes
from ._schema import TYPE_NUMBERS, TYPES

# ---- one operand ---------------------------------------------------------------------------------

row("FLOOR", 8, None, "1.9.0", unary("Floor"), "Floor")
row("LOGISTIC", 14, None, "1.14.0 1.14.0 2.3.0", unary("Sigmoid"), "Sigmoid")
row("RELU", 19, None, "1.5.0 2.1.0 2.5.0", unary("Relu"), "Relu")
row("RELU6", 21, None, "1.5.0 1.14.0 2.5.0", unary("Relu6"), "Relu6")
row("TANH", 28, None, "1.14.0 1.14.0 2.3.0", unary("Tanh"), "Tanh")
row("EXP", 47, "Exp", "1.7.0", unary("Exp"), "Exp")
row("LOG_SOFTMAX", 50, "LogSoftmax", "1.14.0 1.14.0", unary("LogSoftmax"), "LogSoftmax")
row("NEG", 59, "Neg", "1.9.0", unary("Neg"), "Neg")
row("SIN", 66, None, "1.9.0", unary("Sin"), "Sin")
row("LOG", 73, None, "1.14.0", unary("Log"), "Log")
row("SQRT", 75, None, "1.10.0", unary("Sqrt"), "Sqrt")
row("RSQRT", 76, None, "1.10.0 2.5.0", unary("Rsqrt"), "Rsqrt")
row("LOGICAL_NOT", 87, "LogicalNot", "1.11.0", unary("LogicalNot"), "LogicalNot")
row("SQUARE", 92, "Square", "1.12.0", unary("Square"), "Square")
row("ABS", 101, "Abs", "1.13.0 2.4.0 2.5.0 2.6.0", unary("Abs"), "Abs")
row("CEIL", 104, None, "1.14.0", unary("Ceil"), "Ceil")
row("COS", 108, "Cos", "1.14.0", unary("Cos"), "Cos")
row("ELU", 111, None, "1.14.0", unary("Elu"), "Elu")
row("ROUND", 116, None, "1.14.0", unary("Round"), "Round Rint")
row("SIGN", 158, "Sign", "2.12.0", unary("Sign"), "Sign")
row("RELU_N1_TO_1", 20, None, "1.5.0", lambda x, o: _between(x[0], -1.0, 1.0))
row("RELU_0_TO_1", 152, None, "2.10.0", lambda x, o: _between(x[0], 0.0, 1.0))
row("SOFTMAX", 25, "Softmax", "1.5.0 1.14.0 2.3.0", lambda x, o: ops["Softmax"](x[0] * o.beta))
row(
    "LEAKY_RELU",
    98,
    "LeakyRelu",
    "1.13.1 2.3.0",
    lambda x, o: ops["LeakyRelu"](x[0], alpha=o.alpha),
)
row("GELU", 150, "Gelu", "2.9.0 2.9.0", lambda x, o: nn.gelu(x[0], approximate=o.approximate))
row(
    "HARD_SWISH",
    117,
    "HardSwish",
    "1.15.0",
    lambda x, o: x[0] * ops["Relu6"](x[0] + 3.0) * (1.0 / 6.0),
)
row(
    "PRELU", 54, None, "1.8.0", lambda x, o: ops["SelectV2"](x[0] >= _zero(x[0]), x[0], x[0] * x[1])
)
row("L2_NORMALIZATION", 11, "L2Norm", "1.5.0 1.14.0", lambda x, o: nn.l2_normalize(x[0], -1, 1e-12))
row(
    "CAST",
    53,
    "Cast",
    "1.5.0 2.7.0 2.8.0 2.9.0",
    lambda x, o: cast(x[0], _dtypes.as_dtype(type_of(o.out_data_type))),
)
row(
    "LOCAL_RESPONSE_NORMALIZATION",
    13,
    "LocalResponseNormalization",
    "1.5.0",
    lambda x, o: nn.local_response_normalization(x[0], o.radius, o.bias, o.alpha, o.beta),
)


def type_of(number: int) -> str:
    """The name of a type of tensors."""
    name = TYPES[number] if 0 <= number < len(TYPES) else None
    if name is None:
        raise ValueError(f"type {number} of tensors is not supported")
    return name


def _zero(x):
    return convert_to_tensor(0, x.dtype)


def _between(x, low: float, high: float):
    return ops["Minimum"](
        ops["Maximum"](x, convert_to_tensor(low, x.dtype)), convert_to_tensor(high, x.dtype)
    )


@writes("Softmax")
def _(node, make):
    make("SOFTMAX", node.inputs, beta=1.0)


@writes("LeakyRelu")
def _(node, make):
    make("LEAKY_RELU", node.inputs, alpha=node.attributes["alpha"])


@writes("Cast")
def _(node, make):
    source, target = node.inputs[0].dtype, node.outputs[0].dtype
    make(
        "CAST",
        node.inputs,
        in_data_type=TYPE_NUMBERS[source],
        out_data_type=TYPE_NUMBERS[target],
    )


@writes("Reciprocal", "Inv")
def _(node, make):
    make("DIV", [make.like(1), node.inputs[0]])


@writes("Log1p")
def _(node, make):
    make("LOG", [make.step("ADD", [node.inputs[0], make.like(1)])])


@writes("Expm1")
def _(node, make):
    make("SUB", [make.step("EXP", node.inputs), make.like(1)])


@writes("Softplus")
def _(node, make):
    x = node.inputs[0]
    small = make.step("EXP", [make.step("NEG", [make.step("ABS", [x])])])
    log = make.step("LOG", [make.step("ADD", [small, make.like(1)])])
    make("ADD", [make.step("RELU", [x]), log])


@writes("Softsign")
def _(node, make):
    x = node.inputs[0]
    make("DIV", [x, make.step("ADD", [make.step("ABS", [x]), make.like(1)])])


@writes("Selu")
def _(node, make):
    x = node.inputs[0]
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    low = make.step("EXP", [make.step("MINIMUM", [x, make.like(0)])])
    low = make.step("MUL", [make.step("SUB", [low, make.like(1)]), make.like(scale * alpha)])
    make("ADD", [make.step("MUL", [make.step("RELU", [x]), make.like(scale)]), low])


@writes("Tan")
def _(node, make):
    make("DIV", [make.step("SIN", node.inputs), make.step("COS", node.inputs)])


@writes("IsNan")
def _(node, make):
    make("NOT_EQUAL", [node.inputs[0], node.inputs[0]])


@writes("Erf")
def _(node, make):
    make("ERF", node.inputs)  # a part of gelu, or refused


# ---- two operands --------------------------------------------------------------------------------

row("ADD", 0, "Add", "1.5.0 1.14.0 2.4.0 2.6.0", binary("AddV2"), "AddV2 Add BiasAdd")
row("MUL", 18, "Mul", "1.5.0 1.14.0 1.15.0 2.3.0 2.6.0", binary("Mul"), "Mul")
row("SUB", 41, "Sub", "1.6.0 1.14.0 2.3.0 2.4.0 2.4.0", binary("Sub"), "Sub")
row("DIV", 42, "Div", "1.6.0 2.3.0", binary("RealDiv"), "RealDiv")
row("MAXIMUM", 55, "MaximumMinimum", "1.14.0 1.14.0 2.3.0 2.3.0", binary("Maximum"), "Maximum")
row("MINIMUM", 57, "MaximumMinimum", "1.14.0 1.14.0 2.3.0 2.3.0", binary("Minimum"), "Minimum")
row("LESS", 58, "Less", "1.14.0 1.14.0", binary("Less"), "Less")
row("GREATER", 61, "Greater", "1.14.0 1.14.0", binary("Greater"), "Greater")
row("GREATER_EQUAL", 62, "GreaterEqual", "1.14.0 1.14.0", binary("GreaterEqual"), "GreaterEqual")
row("LESS_EQUAL", 63, "LessEqual", "1.14.0 1.14.0", binary("LessEqual"), "LessEqual")
row("EQUAL", 71, "Equal", "1.14.0 1.14.0 2.3.0", binary("Equal"), "Equal")
row("NOT_EQUAL", 72, "NotEqual", "1.14.0 1.14.0 2.3.0", binary("NotEqual"), "NotEqual")
row("POW", 78, "Pow", "1.10.0", binary("Pow"), "Pow")
row("LOGICAL_OR", 84, "LogicalOr", "1.11.0", binary("LogicalOr"), "LogicalOr")
row("LOGICAL_AND", 86, "LogicalAnd", "1.11.0", binary("LogicalAnd"), "LogicalAnd")
row("FLOOR_DIV", 90, "FloorDiv", "1.14.0 1.14.0", binary("FloorDiv"), "FloorDiv")
row("FLOOR_MOD", 95, "FloorMod", "1.13.0", binary("FloorMod"), "FloorMod")
row(
    "SQUARED_DIFFERENCE",
    99,
    "SquaredDifference",
    "1.13.1 2.5.0",
    binary("SquaredDifference"),
    "SquaredDifference",
)
row("ATAN2", 156, "ATan2", "2.10.0", binary("Atan2"), "Atan2")
row("BITWISE_XOR", 160, "BitwiseXor", "2.12.0", binary("BitwiseXor"), "BitwiseXor")
row("RIGHT_SHIFT", 161, "RightShift", "2.12.0", binary("RightShift"), "RightShift")
row("ADD_N", 106, "AddN", "1.14.0", lambda x, o: ops["AddN"](list(x)), "AddN")


@writes("DivNoNan")
def _(node, make):
    x, y = node.inputs
    shape = node.outputs[0].shape
    zero = make.step("EQUAL", [y, make.like(0)], dtype="bool")
    quotient = make.step("DIV", [x, y], shape)
    make("SELECT_V2", [zero, make.like(0), quotient])


# ---- reductions ----------------------------------------------------------------------------------


def _reduced(op: str):
    return lambda x, o: ops[op](x[0], x[1], keep_dims=o.keep_dims)


row("MEAN", 40, "Reducer", "1.6.0 1.14.0 2.4.0", _reduced("Mean"))
row("SUM", 74, "Reducer", "1.10.0 1.15.0", _reduced("Sum"))
row("REDUCE_PROD", 81, "Reducer", "1.11.0 2.6.0", _reduced("Prod"))
row("REDUCE_MAX", 82, "Reducer", "1.11.0 1.14.0 2.5.0", _reduced("Max"))
row("REDUCE_MIN", 89, "Reducer", "1.11.0 1.14.0 2.5.0", _reduced("Min"))
row("REDUCE_ANY", 91, "Reducer", "1.11.0", _reduced("Any"))
row("REDUCE_ALL", 140, "Reducer", "2.6.0", _reduced("All"))
_REDUCTIONS = {
    "Mean": "MEAN",
    "Sum": "SUM",
    "Prod": "REDUCE_PROD",
    "Max": "REDUCE_MAX",
    "Min": "REDUCE_MIN",
    "Any": "REDUCE_ANY",
    "All": "REDUCE_ALL",
}


@writes(*_REDUCTIONS)
def _(node, make):
    axes = make.constant(node.ints(1), "int32")
    keep = node.attributes["keep_dims"]
    make(_REDUCTIONS[node.op], [node.inputs[0], axes], keep_dims=keep)


def _placed(op: str):
    return lambda x, o: ops[op](
        x[0], ints(x[1])[0], output_type=_dtypes.as_dtype(type_of(o.output_type))
    )


row("ARG_MAX", 56, "ArgMax", "1.9.0 1.14.0 2.9.0", _placed("ArgMax"))
row("ARG_MIN", 79, "ArgMin", "1.9.0 1.14.0 2.9.0", _placed("ArgMin"))


@writes("ArgMax", "ArgMin")
def _(node, make):
    axis = make.constant(node.ints(1)[0], "int32")
    name = "ARG_MAX" if node.op == "ArgMax" else "ARG_MIN"
    make(name, [node.inputs[0], axis], output_type=TYPE_NUMBERS[node.outputs[0].dtype])


row(
    "CUMSUM",
    128,
    "Cumsum",
    "2.4.0",
    lambda x, o: ops["Cumsum"](x[0], ints(x[1])[0], exclusive=o.exclusive, reverse=o.reverse),
)


@writes("Cumsum")
def _(node, make):
    axis = make.constant(node.ints(1)[0], "int32")
    flags = {name: node.attributes[name] for name in ("exclusive", "reverse")}
    make("CUMSUM", [node.inputs[0], axis], **flags)


row("TOPK_V2", 48, "TopKV2", "1.7.0 1.14.0", lambda x, o: ops["TopKV2"](x[0], ints(x[1])[0]))


@writes("TopKV2")
def _(node, make):
    make("TOPK_V2", [node.inputs[0], make.constant(node.ints(1)[0], "int32")])


# ---- products of matrices ------------------------------------------------------------------------


def _fully_connected(x, o):
    a, weights, bias = x[0], x[1], x[2] if len(x) > 2 else None
    if o.weights_format:
        raise ValueError("FULLY_CONNECTED with shuffled weights is not supported")
    columns = weights.shape[1]
    if o.keep_num_dims:
        shape = ops["Shape"](a)[:-1]
        result = ops["MatMul"](ops["Reshape"](a, [-1, columns]), weights, transpose_b=True)
        whole = ops["ConcatV2"]([shape, [weights.shape[0]]], 0)
        result = ops["Reshape"](result, whole)
    else:
        a = a if a.shape.rank == 2 else ops["Reshape"](a, [-1, columns])
        result = ops["MatMul"](a, weights, transpose_b=True)
    return result if bias is None else result + bias


row(
    "FULLY_CONNECTED",
    9,
    "FullyConnected",
    "1.5.0 1.10.0 1.14.0 1.14.0 2.0.0 2.1.0 2.3.0 2.3.0 2.3.0 2.11.0 2.15.0 2.17.0",
    _fully_connected,
)
row(
    "BATCH_MATMUL",
    126,
    "BatchMatMul",
    "2.3.0 2.3.0 2.4.0 2.5.0",
    lambda x, o: ops["BatchMatMulV2"](x[0], x[1], adj_x=o.adj_x, adj_y=o.adj_y),
)


@writes("MatMul", "BatchMatMulV2")
def _(node, make):
    a, b = node.inputs
    if a.dtype != "float32":
        raise ConverterError(f"{node.op} ({node.name}) of {a.dtype} has no TensorFlow Lite kernel")
    first, second = ("transpose_a", "transpose_b") if node.op == "MatMul" else ("adj_x", "adj_y")
    flip_a, flip_b = node.attributes[first], node.attributes[second]
    product(make, a, b, flip_a, flip_b)


def product(make, a: Value, b: Value, flip_a: bool, flip_b: bool) -> None:
    """The node's result, a product of matrices."""
    is_dense = b.data is not None and b.rank == 2 and not flip_a
    if not is_dense or a.rank is None or a.rank < 2:
        make("BATCH_MATMUL", [a, b], adj_x=flip_a, adj_y=flip_b)
        return
    weights = make.constant(b.data if flip_b else b.data.T)
    weights.name = b.name
    make("FULLY_CONNECTED", [a, weights, None], keep_num_dims=a.rank > 2)
