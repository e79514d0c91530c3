"""Elementwise functions of one, two and three tensors."""

from corpus import b, c64, c128, case, f, f16, f64, i32, i64, lit, pos, u8, unit

INF = float("inf")
NAN = float("nan")
SPECIAL = lit([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5])

# Functions of one tensor: symbol, the draw of its domain.
UNARY = {
    "tf.abs": f,
    "tf.negative": f,
    "tf.sign": f,
    "tf.square": f,
    "tf.exp": f,
    "tf.sin": f,
    "tf.cos": f,
    "tf.tan": unit,
    "tf.asin": unit,
    "tf.acos": unit,
    "tf.atan": f,
    "tf.sinh": f,
    "tf.cosh": f,
    "tf.tanh": f,
    "tf.asinh": f,
    "tf.atanh": unit,
    "tf.sqrt": pos,
    "tf.sigmoid": f,
    "tf.floor": f,
    "tf.round": f,
    "tf.math.ceil": f,
    "tf.math.rint": f,
    "tf.math.log": pos,
    "tf.math.log1p": pos,
    "tf.math.expm1": f,
    "tf.math.rsqrt": pos,
    "tf.math.reciprocal": pos,
    "tf.math.erf": f,
    "tf.math.erfc": f,
    "tf.math.erfinv": unit,
    "tf.math.ndtri": lambda *shape: pos(*shape, low=0.05, high=0.95),
    "tf.math.lgamma": pos,
    "tf.math.digamma": pos,
    "tf.math.log_sigmoid": f,
    "tf.math.softplus": f,
    "tf.math.softsign": f,
    "tf.math.bessel_i0": f,
    "tf.math.bessel_i1": f,
    "tf.math.bessel_i0e": f,
    "tf.math.bessel_i1e": f,
    "tf.math.reciprocal_no_nan": pos,
    "tf.identity": f,
    "tf.nn.relu": f,
    "tf.nn.relu6": lambda *shape: f(*shape, low=-3, high=9),
    "tf.nn.elu": f,
    "tf.nn.selu": f,
    "tf.nn.silu": f,
    "tf.nn.gelu": f,
    "tf.nn.leaky_relu": f,
}
SECOND = {
    "tf.abs",
    "tf.square",
    "tf.exp",
    "tf.sin",
    "tf.cos",
    "tf.tanh",
    "tf.sigmoid",
    "tf.sqrt",
    "tf.math.log",
    "tf.math.log1p",
    "tf.math.expm1",
    "tf.math.rsqrt",
    "tf.math.erf",
    "tf.nn.relu",
    "tf.nn.elu",
    "tf.nn.selu",
    "tf.math.softplus",
    "tf.math.reciprocal",
    "tf.nn.silu",
    "tf.atan",
    "tf.asin",
    "tf.sinh",
    "tf.nn.leaky_relu",
    "tf.nn.relu6",
    "tf.asinh",
    "tf.atanh",
    "tf.tan",
    "tf.acos",
    "tf.cosh",
    "tf.nn.gelu",
    "tf.math.lgamma",
}
ROUGH = {"tf.math.lgamma", "tf.math.digamma", "tf.math.erfinv", "tf.math.ndtri"}


def call(tf, symbol, *arguments, **named):
    """Call tf.a.b by its name."""
    at = tf
    for part in symbol.split(".")[1:]:
        at = getattr(at, part)
    return at(*arguments, **named)


def unary(symbol):
    return lambda tf, x: call(tf, symbol, x)


for _symbol, _draw in UNARY.items():
    _second = _symbol in SECOND
    _rough = 3e-5 if _symbol in ROUGH else None
    case(_symbol, "a matrix", unary(_symbol), _draw(3, 4), second=_second, rtol=_rough)
    case(_symbol, "a scalar", unary(_symbol), _draw(), rtol=_rough)
    case(_symbol, "nothing", unary(_symbol), _draw(0, 3))

for _symbol in (
    "tf.abs",
    "tf.exp",
    "tf.tanh",
    "tf.sqrt",
    "tf.math.log",
    "tf.square",
    "tf.sigmoid",
    "tf.sin",
    "tf.math.erf",
    "tf.nn.relu",
    "tf.math.softplus",
    "tf.math.rsqrt",
    "tf.floor",
    "tf.round",
    "tf.math.log1p",
    "tf.math.expm1",
    "tf.math.ceil",
    "tf.sign",
    "tf.nn.elu",
):
    _draw = UNARY[_symbol]
    _low, _high = _draw(1).low, _draw(1).high
    case(_symbol, "f64", unary(_symbol), f64(2, 3, low=_low, high=_high))
    case(_symbol, "f16", unary(_symbol), f16(2, 3, low=_low, high=_high), rtol=4e-3)

# Infinities, NaN and zeros. Values only where the derivative there is a matter of rounding.
AT_NAN = {
    "tf.nn.relu": "at NaN the derivative is 1 here and 0 with TensorFlow",
    "tf.nn.relu6": "at NaN the derivative is 1 here and 0 with TensorFlow",
    "tf.math.lgamma": "at -inf the derivative is -inf here and NaN with TensorFlow",
}
for _symbol in (
    "tf.abs",
    "tf.negative",
    "tf.sign",
    "tf.square",
    "tf.exp",
    "tf.tanh",
    "tf.sqrt",
    "tf.floor",
    "tf.round",
    "tf.math.ceil",
    "tf.math.log",
    "tf.math.log1p",
    "tf.math.expm1",
    "tf.math.rsqrt",
    "tf.math.reciprocal",
    "tf.math.erf",
    "tf.sigmoid",
    "tf.nn.relu",
    "tf.nn.elu",
    "tf.atan",
    "tf.math.softplus",
    "tf.asinh",
    "tf.math.lgamma",
    "tf.math.reciprocal_no_nan",
    "tf.nn.relu6",
    "tf.nn.leaky_relu",
    "tf.nn.selu",
    "tf.nn.silu",
    "tf.math.erfc",
    "tf.cosh",
    "tf.sinh",
):
    case(_symbol, "special values", unary(_symbol), SPECIAL, grad=AT_NAN.get(_symbol))

# Derivatives at kinks and poles.
for _symbol, _points in {
    "tf.abs": [0.0, -0.0, 1.0],
    "tf.sign": [0.0, 2.0],
    "tf.sqrt": [0.0, 4.0],
    "tf.math.log": [0.0, 1.0],
    "tf.math.rsqrt": [0.0, 1.0],
    "tf.math.reciprocal": [0.0, 2.0],
    "tf.math.reciprocal_no_nan": [0.0, 2.0],
    "tf.nn.relu": [0.0, -0.0, 1.0, -1.0],
    "tf.nn.relu6": [0.0, 6.0, 3.0, 7.0],
    "tf.nn.elu": [0.0, 1.0, -1.0],
    "tf.nn.selu": [0.0, 1.0, -1.0],
    "tf.nn.leaky_relu": [0.0, 1.0, -1.0],
    "tf.math.softplus": [0.0, 50.0, -50.0],
    "tf.nn.silu": [0.0, 40.0, -40.0],
    "tf.sigmoid": [0.0, 100.0, -100.0],
    "tf.tanh": [0.0, 20.0, -20.0],
    "tf.floor": [0.5, 1.0],
    "tf.round": [0.5, 1.5, 2.5, -0.5],
    "tf.asin": [1.0, 0.0],
    "tf.acos": [-1.0, 0.0],
    "tf.math.softsign": [0.0, 1.0],
    "tf.math.log_sigmoid": [0.0, 30.0, -30.0],
}.items():
    case(_symbol, "at kinks", unary(_symbol), lit(_points))

case("tf.acosh", "a matrix", unary("tf.acosh"), pos(2, 3, low=1.1, high=4), second=True)
case("tf.abs", "integers", unary("tf.abs"), i32(6))
case("tf.abs", "i64", unary("tf.abs"), i64(6))
case("tf.abs", "complex", unary("tf.abs"), c64(5))
case("tf.negative", "integers", unary("tf.negative"), i32(6))
case("tf.sign", "integers", unary("tf.sign"), i32(8))
case("tf.square", "integers", unary("tf.square"), i32(6))
case("tf.square", "complex", unary("tf.square"), c64(4))
case("tf.exp", "complex", unary("tf.exp"), c64(4))
case("tf.exp", "complex double", unary("tf.exp"), c128(3))
case("tf.sqrt", "complex", unary("tf.sqrt"), c64(4))
case("tf.tanh", "complex", unary("tf.tanh"), c64(4))
case("tf.sigmoid", "complex", unary("tf.sigmoid"), c64(4))
case("tf.round", "integers", unary("tf.round"), i32(4))
case("tf.round", "ties", unary("tf.round"), lit([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999]))
case("tf.math.rint", "ties", unary("tf.math.rint"), lit([0.5, 1.5, 2.5, -0.5, -1.5]))
case("tf.nn.relu", "integers", unary("tf.nn.relu"), i32(6))
case("tf.nn.gelu", "by tanh", lambda tf, x: tf.nn.gelu(x, approximate=True), f(3, 4), second=True)
case("tf.nn.leaky_relu", "alpha", lambda tf, x: tf.nn.leaky_relu(x, alpha=0.3), f(3, 4))
case("tf.nn.leaky_relu", "integers", lambda tf, x: tf.nn.leaky_relu(x, alpha=0.5), i32(4))
case("tf.nn.crelu", "a matrix", lambda tf, x: tf.nn.crelu(x), f(2, 3))
case("tf.nn.softsign", "a matrix", lambda tf, x: tf.nn.softsign(x), f(2, 3))
case("tf.nn.softplus", "a matrix", lambda tf, x: tf.nn.softplus(x), f(2, 3))
case("tf.nn.sigmoid", "a matrix", lambda tf, x: tf.nn.sigmoid(x), f(2, 3))
case("tf.nn.tanh", "a matrix", lambda tf, x: tf.nn.tanh(x), f(2, 3))
case("tf.nn.swish", "beta", lambda tf, x: tf.nn.swish(x, beta=1.7), f(2, 3))
case("tf.math.is_nan", "special values", unary("tf.math.is_nan"), SPECIAL)
case("tf.math.is_inf", "special values", unary("tf.math.is_inf"), SPECIAL)
case("tf.math.is_finite", "special values", unary("tf.math.is_finite"), SPECIAL)
case("tf.math.is_nan", "f64", unary("tf.math.is_nan"), lit([NAN, 1.0], "float64"))
case("tf.math.sigmoid", "a vector", unary("tf.math.sigmoid"), f(5))
case("tf.math.special.dawsn", "a vector", unary("tf.math.special.dawsn"), f(5), rtol=3e-5)
case("tf.math.special.expint", "a vector", unary("tf.math.special.expint"), pos(5), rtol=3e-5)
case("tf.math.special.spence", "a vector", unary("tf.math.special.spence"), pos(5), rtol=3e-5)
case(
    "tf.math.special.fresnel_cos", "a vector", unary("tf.math.special.fresnel_cos"), f(5), rtol=3e-5
)
case(
    "tf.math.special.fresnel_sin", "a vector", unary("tf.math.special.fresnel_sin"), f(5), rtol=3e-5
)

for _name in "j0 j1 k0 k0e k1 k1e y0 y1".split():
    case(
        f"tf.math.special.bessel_{_name}",
        "a vector",
        unary(f"tf.math.special.bessel_{_name}"),
        pos(7, high=20.0),
        rtol=1e-4,
        atol=1e-6,
        second=True,
    )

# Functions of two tensors: symbol, draws of their domains.
BINARY = {
    "tf.add": (f, f),
    "tf.subtract": (f, f),
    "tf.multiply": (f, f),
    "tf.divide": (f, pos),
    "tf.math.divide_no_nan": (f, pos),
    "tf.math.multiply_no_nan": (f, f),
    "tf.maximum": (f, f),
    "tf.minimum": (f, f),
    "tf.pow": (pos, f),
    "tf.math.floordiv": (f, pos),
    "tf.math.floormod": (f, pos),
    "tf.math.squared_difference": (f, f),
    "tf.atan2": (f, pos),
    "tf.math.xlogy": (pos, pos),
    "tf.math.xlog1py": (pos, pos),
    "tf.math.xdivy": (f, pos),
    "tf.truncatediv": (f, pos),
    "tf.truncatemod": (f, pos),
}
COMPARISONS = [
    "tf.equal",
    "tf.not_equal",
    "tf.less",
    "tf.less_equal",
    "tf.greater",
    "tf.greater_equal",
]


def binary(symbol):
    return lambda tf, x, y: call(tf, symbol, x, y)


for _symbol, (_left, _right) in BINARY.items():
    _function = binary(_symbol)
    if _symbol == "tf.truncatediv":
        continue
    _second = _symbol in (
        "tf.multiply",
        "tf.divide",
        "tf.pow",
        "tf.maximum",
        "tf.atan2",
        "tf.math.squared_difference",
        "tf.math.xlogy",
    )
    _grad = "TensorFlow has no gradient of it" if _symbol == "tf.truncatemod" else None
    case(_symbol, "two matrices", _function, _left(2, 3), _right(2, 3), second=_second, grad=_grad)
    case(_symbol, "a row", _function, _left(2, 3), _right(3), second=_second, grad=_grad)
    case(_symbol, "a column and a row", _function, _left(3, 1), _right(1, 4), grad=_grad)
    case(_symbol, "a scalar", _function, _left(), _right(2, 2), grad=_grad)
    case(_symbol, "nothing", _function, _left(0, 3), _right(3), grad=_grad)
    case(_symbol, "more ranks", _function, _left(2, 1, 3), _right(4, 1), grad=_grad)
for _symbol in COMPARISONS:
    case(_symbol, "a row", binary(_symbol), i32(3, 4, low=0, high=3), i32(4, low=0, high=3))
    case(_symbol, "floats", binary(_symbol), f(3, 4), f(3, 1))
    case(_symbol, "special values", binary(_symbol), SPECIAL, lit([0.0, 0, 1, 1, INF, INF, NAN, 1]))
    case(_symbol, "i64", binary(_symbol), i64(6, low=0, high=3), i64(6, low=0, high=3))
for _symbol in ("tf.equal", "tf.not_equal"):
    case(_symbol, "booleans", binary(_symbol), b(6), b(6))
    case(_symbol, "complex", binary(_symbol), lit([1 + 1j, 2], "complex64"), c64(2))
    case(
        _symbol,
        "shapes that do not fit",
        lambda tf, x, y, s=_symbol: call(tf, s, x, y, name=None) if s else None,
        i32(3),
        i32(1),
    )

for _symbol in ("tf.add", "tf.subtract", "tf.multiply", "tf.maximum", "tf.minimum"):
    for _name, _draw in {"i32": i32, "i64": i64, "u8": u8}.items():
        case(_symbol, _name, binary(_symbol), _draw(5), _draw(5))
for _symbol in ("tf.add", "tf.subtract", "tf.multiply", "tf.divide", "tf.pow"):
    case(_symbol, "f64", binary(_symbol), f64(2, 3, low=0.5, high=2), f64(3, low=0.5, high=2))
    case(_symbol, "f16", binary(_symbol), f16(2, 3, low=0.5, high=2), f16(3, low=0.5, high=2))
    case(_symbol, "complex", binary(_symbol), c64(4), c64(4), rtol=3e-5)

case("tf.maximum", "ties", binary("tf.maximum"), lit([1.0, 2, 3]), lit([1.0, 3, 3]))
case("tf.minimum", "ties", binary("tf.minimum"), lit([1.0, 2, 3]), lit([1.0, 3, 3]))
BESIDE_NAN = "the gradient goes to the NaN here, to the second operand with TensorFlow"
case(
    "tf.maximum", "NaN", binary("tf.maximum"), lit([NAN, 1, 1]), lit([1.0, NAN, 2]), grad=BESIDE_NAN
)
case(
    "tf.minimum", "NaN", binary("tf.minimum"), lit([NAN, 1, 1]), lit([1.0, NAN, 2]), grad=BESIDE_NAN
)
case("tf.pow", "at zero", binary("tf.pow"), lit([0.0, 0, 0, 2]), lit([2.0, 1, 0, 3]))
case("tf.pow", "of a negative base", binary("tf.pow"), lit([-2.0, -3]), lit([2.0, 3]))
case("tf.pow", "integers", binary("tf.pow"), i32(4, low=-3, high=4), i32(4, low=0, high=4))
case("tf.pow", "i64", binary("tf.pow"), i64(4), i64(4, low=0, high=4))
case("tf.pow", "a Python number", lambda tf, x: tf.pow(x, 3), f(4), second=True)
case("tf.pow", "a half", lambda tf, x: tf.pow(x, 0.5), pos(4))
case("tf.divide", "integers", binary("tf.divide"), i32(5), lit([1, 2, 3, -2, 7], "int32"))
case("tf.divide", "i64", binary("tf.divide"), i64(4), lit([1, 2, 3, -2], "int64"))
case("tf.divide", "u8", binary("tf.divide"), u8(4), lit([1, 2, 3, 9], "uint8"))
case("tf.divide", "by zero", binary("tf.divide"), lit([1.0, -1, 0]), lit([0.0, 0, 0]))
case(
    "tf.math.divide_no_nan",
    "by zero",
    binary("tf.math.divide_no_nan"),
    lit([1.0, -1, 0, 3]),
    lit([0.0, 0, 0, 2]),
)
case(
    "tf.math.multiply_no_nan",
    "by zero",
    binary("tf.math.multiply_no_nan"),
    lit([INF, NAN, 2, 3]),
    lit([0.0, 0, 0, 2]),
    forward="the tangent of what is multiplied by zero is zero here and NaN with TensorFlow",
)
case(
    "tf.math.xlogy",
    "at zero",
    binary("tf.math.xlogy"),
    lit([0.0, 0, 2, 0]),
    lit([0.0, 2, 3, NAN]),
)
case(
    "tf.math.xdivy",
    "at zero",
    binary("tf.math.xdivy"),
    lit([0.0, 0, 2]),
    lit([0.0, 2, 3]),
)
case(
    "tf.math.xlog1py",
    "at zero",
    binary("tf.math.xlog1py"),
    lit([0.0, 0]),
    lit([-1.0, 2]),
)
case("tf.math.floordiv", "integers", binary("tf.math.floordiv"), i32(8), lit([3, -3] * 4, "int32"))
case("tf.math.floormod", "integers", binary("tf.math.floormod"), i32(8), lit([3, -3] * 4, "int32"))
case(
    "tf.math.floormod",
    "signs",
    binary("tf.math.floormod"),
    lit([5.5, -5.5, 5.5, -5.5]),
    lit([3.0, 3, -3, -3]),
)
case("tf.math.mod", "integers", binary("tf.math.mod"), i64(8), lit([3, -3] * 4, "int64"))
case("tf.truncatediv", "integers", binary("tf.truncatediv"), i32(8), lit([3, -3] * 4, "int32"))
case("tf.truncatemod", "integers", binary("tf.truncatemod"), i32(8), lit([3, -3] * 4, "int32"))
case("tf.realdiv", "two matrices", binary("tf.realdiv"), f(2, 3), pos(2, 3))
case("tf.atan2", "quadrants", binary("tf.atan2"), lit([1.0, 1, -1, -1]), lit([1.0, -1, 1, -1]))
case("tf.atan2", "axes", binary("tf.atan2"), lit([0.0, 0, 1, -1]), lit([1.0, -1, 0, 0]))
case(
    "tf.math.nextafter",
    "doubles",
    binary("tf.math.nextafter"),
    f64(4),
    f64(4),
    rtol=1e-16,
)
case("tf.math.nextafter", "floats", binary("tf.math.nextafter"), f(4), f(4), rtol=1e-9)
case("tf.math.igamma", "a matrix", binary("tf.math.igamma"), pos(2, 3), pos(2, 3), rtol=3e-5)
case("tf.math.igammac", "a matrix", binary("tf.math.igammac"), pos(2, 3), pos(2, 3), rtol=3e-5)
case("tf.math.lbeta", "a matrix", lambda tf, x: tf.math.lbeta(x), pos(3, 4), rtol=3e-5)
case(
    "tf.math.betainc",
    "a vector",
    lambda tf, a, c, x: tf.math.betainc(a, c, x),
    pos(5),
    pos(5),
    pos(5, low=0.1, high=0.9),
    rtol=1e-4,
)
case(
    "tf.math.betainc",
    "by x",
    lambda tf, x: tf.math.betainc([0.5, 1.0, 2.0, 3.0, 30.0], [3.0, 0.5, 2.0, 1.0, 20.0], x),
    pos(5, low=0.1, high=0.9),
    second=True,
    rtol=1e-4,
)
case("tf.math.zeta", "by q", lambda tf, q: tf.math.zeta([1.5, 2.0, 4.0], q), pos(3))
case(
    "tf.math.polygamma",
    "by x",
    lambda tf, x: tf.math.polygamma([0.0, 1.0, 3.0], x),
    pos(3),
    rtol=3e-5,
)
case(
    "tf.math.zeta",
    "a vector",
    binary("tf.math.zeta"),
    pos(4, low=1.5, high=4),
    pos(4),
    rtol=3e-5,
)
case(
    "tf.math.polygamma",
    "a vector",
    binary("tf.math.polygamma"),
    lit([1.0, 2, 3]),
    pos(3),
    rtol=3e-5,
)
case(
    "tf.math.polyval",
    "three coefficients",
    lambda tf, a, c, x: tf.math.polyval([a, c, a], x),
    f(),
    f(),
    f(2, 3),
)
case("tf.math.multiply", "two rows", lambda tf, x, y: tf.math.multiply(x, y), f(4), f(4))
case("tf.math.add", "two rows", lambda tf, x, y: tf.math.add(x, y), f(4), f(4))
case("tf.math.square", "a row", lambda tf, x: tf.math.square(x), f(4))
case("tf.math.abs", "a row", lambda tf, x: tf.math.abs(x), f(4))
case("tf.math.sin", "a row", lambda tf, x: tf.math.sin(x), f(4))
case("tf.math.floor", "a row", lambda tf, x: tf.math.floor(x), f(4))
case("tf.math.less", "two rows", lambda tf, x, y: tf.math.less(x, y), f(4), f(4))
case("tf.math.equal", "two rows", lambda tf, x, y: tf.math.equal(x, y), i32(9), i32(9))

# Operators of tensors, with Python numbers on either side.
case(
    "tf.Tensor",
    "operators",
    lambda tf, x, y: (x + y, x - y, x * y, x / y, x**y, -x, abs(x)),
    pos(2, 3),
    pos(3),
)
case(
    "tf.Tensor",
    "operators with numbers",
    lambda tf, x: (x + 1, 1 + x, x - 1, 1 - x, x * 2, 2 * x, x / 2, 2 / x, x**2, 2**x),
    pos(2, 3),
)
case(
    "tf.Tensor",
    "operators with arrays",
    lambda tf, x: (x + lit([1.0, 2, 3]), lit([1.0, 2, 3]) * x, lit([1.0, 2, 3]) - x),
    f(2, 3),
)
case(
    "tf.Tensor",
    "operators of integers",
    lambda tf, x, y: (x // y, x % y, x / y, x & y, x | y, x ^ y, ~x, x < y, x >= y),
    i32(6, low=1, high=9),
    i32(6, low=1, high=5),
)
case("tf.Tensor", "operators of booleans", lambda tf, x, y: (x & y, x | y, x ^ y, ~x), b(8), b(8))
case("tf.Tensor", "comparisons", lambda tf, x: (x < 0.5, x <= 0.5, x > 0.5, x >= 0.5), f(6))
case(
    "tf.Tensor",
    "equality",
    lambda tf, x, y: (x == y, x != y),
    i32(6, low=0, high=2),
    i32(6, low=0, high=2),
)
case("tf.Tensor", "matmul operator", lambda tf, x, y: x @ y, f(2, 3), f(3, 4))
case(
    "tf.Tensor",
    "floor and modulo by numbers",
    lambda tf, x: (x // 2, x % 3, 7 // x, 7 % x),
    i32(5, low=1, high=9),
)
case("tf.Tensor", "floor of floats", lambda tf, x: (x // 0.7, x % 0.7), f(5))

# Logic and bits.
for _symbol in ("tf.logical_and", "tf.logical_or", "tf.math.logical_xor"):
    case(_symbol, "two rows", binary(_symbol), b(8), b(8))
    case(_symbol, "a column", binary(_symbol), b(3, 1), b(4))
case("tf.logical_not", "a row", unary("tf.logical_not"), b(8))
for _symbol in ("tf.bitwise.bitwise_and", "tf.bitwise.bitwise_or", "tf.bitwise.bitwise_xor"):
    case(_symbol, "i32", binary(_symbol), i32(6, low=-90, high=90), i32(6, low=-90, high=90))
    case(_symbol, "u8", binary(_symbol), u8(6), u8(6))
    case(_symbol, "i64", binary(_symbol), i64(2, 3, low=0, high=99), i64(3, low=0, high=99))
for _symbol in ("tf.bitwise.left_shift", "tf.bitwise.right_shift"):
    case(_symbol, "i32", binary(_symbol), i32(6, low=-90, high=90), i32(6, low=0, high=5))
    case(_symbol, "u8", binary(_symbol), u8(6), u8(6, low=0, high=7))
    case(_symbol, "i64", binary(_symbol), i64(6, low=-90, high=90), i64(6, low=0, high=30))
case("tf.bitwise.invert", "i32", unary("tf.bitwise.invert"), i32(6))
case("tf.bitwise.invert", "u8", unary("tf.bitwise.invert"), u8(6))

# Complex numbers.
case("tf.math.real", "complex", unary("tf.math.real"), c64(4))
case("tf.math.imag", "complex", unary("tf.math.imag"), c64(4))
case("tf.math.conj", "complex", unary("tf.math.conj"), c64(4))
case("tf.math.angle", "complex", unary("tf.math.angle"), c64(4))
case("tf.math.real", "of floats", unary("tf.math.real"), f(4))
case("tf.math.imag", "of floats", unary("tf.math.imag"), f(4))
case("tf.math.conj", "of floats", unary("tf.math.conj"), f(4))
case("tf.math.angle", "of floats", unary("tf.math.angle"), f(4))
case("tf.math.real", "c128", unary("tf.math.real"), c128(4))
case("tf.complex", "two rows", lambda tf, x, y: tf.complex(x, y), f(4), f(4))
case("tf.complex", "doubles", lambda tf, x, y: tf.complex(x, y), f64(4), f64(4))
case("tf.dtypes.complex", "two rows", lambda tf, x, y: tf.dtypes.complex(x, y), f(4), f(4))

# Several tensors.
case("tf.add_n", "three", lambda tf, x, y, z: tf.add_n([x, y, z]), f(2, 3), f(2, 3), f(2, 3))
case("tf.add_n", "one", lambda tf, x: tf.add_n([x]), f(2, 3))
case("tf.add_n", "integers", lambda tf, x, y: tf.add_n([x, y]), i32(4), i32(4))
case("tf.math.add_n", "two", lambda tf, x, y: tf.math.add_n((x, y)), f(2), f(2), second=True)
case("tf.math.accumulate_n", "three", lambda tf, x, y: tf.math.accumulate_n([x, y, x]), f(3), f(3))
case(
    "tf.clip_by_value",
    "two numbers",
    lambda tf, x: tf.clip_by_value(x, -0.5, 1.0),
    f(3, 4),
)
case(
    "tf.clip_by_value",
    "tensors",
    lambda tf, x, lo, hi: tf.clip_by_value(x, lo, hi),
    f(3, 4),
    f(4, low=-1, high=-0.5),
    f(4, low=0.5, high=1),
)
case(
    "tf.clip_by_value",
    "at its ends",
    lambda tf, x: tf.clip_by_value(x, 0.0, 1.0),
    lit([0.0, 1.0, 0.5, -1, 2]),
)
case("tf.clip_by_value", "integers", lambda tf, x: tf.clip_by_value(x, -2, 3), i32(8))
case("tf.clip_by_norm", "all", lambda tf, x: tf.clip_by_norm(x, 1.5), f(3, 4))
case("tf.clip_by_norm", "an axis", lambda tf, x: tf.clip_by_norm(x, 1.5, axes=[1]), f(3, 4))
case("tf.clip_by_norm", "small", lambda tf, x: tf.clip_by_norm(x, 100.0), f(3))
case(
    "tf.clip_by_norm",
    "zeros",
    lambda tf, x: tf.clip_by_norm(x, 1.0),
    lit([0.0, 0, 0]),
)
case(
    "tf.clip_by_global_norm",
    "two",
    lambda tf, x, y: tf.clip_by_global_norm([x, y], 1.0),
    f(3),
    f(2, 2),
)
case(
    "tf.clip_by_global_norm",
    "with None",
    lambda tf, x: tf.clip_by_global_norm([x, None], 9.0)[0][0],
    f(3),
)
case("tf.linalg.global_norm", "two", lambda tf, x, y: tf.linalg.global_norm([x, y]), f(3), f(2, 2))
case("tf.where", "three", lambda tf, c, x, y: tf.where(c, x, y), b(2, 3), f(2, 3), f(2, 3))
case("tf.where", "broadcast", lambda tf, c, x, y: tf.where(c, x, y), b(2, 1), f(3), f(2, 3))
case("tf.where", "scalars", lambda tf, x: tf.where(x > 0, x, 0.0), f(6), second=True)
case(
    "tf.where",
    "a pole not taken",
    lambda tf, x: tf.where(x > 0, tf.sqrt(x), 0.0),
    lit([1.0, 0.0, 4.0]),
)
case("tf.where", "integers", lambda tf, c, x, y: tf.where(c, x, y), b(5), i32(5), i32(5))
case("tf.where", "indices", lambda tf, c: tf.where(c), b(3, 4))
case("tf.where", "indices of numbers", lambda tf, x: tf.where(x), i32(8, low=-1, high=2))
case("tf.where", "indices of nothing", lambda tf, c: tf.where(c), lit([[False, False]], "bool"))
case(
    "tf.where",
    "indices of floats",
    lambda tf, x: tf.where(x),
    lit([[0.0, 2], [-0.0, 1]]),
)
