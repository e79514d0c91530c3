"""Recipes of functions that work element by element, and of reductions."""

from generator import (
    COMPLEX,
    EVERY,
    FLOATS,
    FULL_FLOATS,
    INEXACT,
    INTS,
    NUMBERS,
    REALS,
    recipe,
)  # fmt: skip


def unary(dtypes, argument="x", kind=None):
    def draw(d):
        return {argument: d.array(dtypes, d.shape(), kind)}

    return draw


def binary(dtypes, first="x", second="y", kind=None):
    def draw(d):
        dtype = d.dtype(dtypes)
        shape = d.shape()
        pair = [d.array(dtype, shape, kind), d.array(dtype, d.broadcast(shape), kind)]
        if d.chance(15) and dtype in ("float32", "int32"):
            pair[d.below(2)] = d.pick((2, 3, -1)) if dtype == "int32" else d.pick((2.0, -0.5, 0.0))
        elif d.flag():
            pair.reverse()
        return {first: pair[0], second: pair[1]}

    return draw


for names, dtypes in (
    ("abs negative sign square math.conj raw_ops.Square raw_ops.Neg raw_ops.Abs", NUMBERS),
    ("acos acosh asin asinh atan atanh cos cosh exp sin sinh sqrt tan tanh sigmoid math.log "
     "math.log1p math.expm1 math.reciprocal math.rsqrt math.reciprocal_no_nan raw_ops.Tanh "
     "raw_ops.Exp raw_ops.Sigmoid raw_ops.Reciprocal raw_ops.Sqrt raw_ops.Rsqrt raw_ops.Log1p",
     INEXACT),
    ("floor round math.ceil math.rint math.is_finite math.is_inf math.is_nan raw_ops.Round",
     (*FLOATS, "int32")),
    ("math.erf math.erfc math.erfcinv math.erfinv math.digamma math.lgamma math.ndtri "
     "math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e math.special.bessel_j0 "
     "math.special.bessel_j1 math.special.bessel_k0 math.special.bessel_k0e "
     "math.special.bessel_k1 math.special.bessel_k1e math.special.bessel_y0 "
     "math.special.bessel_y1 math.special.dawsn math.special.expint math.special.fresnel_cos "
     "math.special.fresnel_sin math.special.spence math.log_sigmoid", FLOATS),
    ("math.angle math.imag math.real", COMPLEX + COMPLEX + ("float32", "float64")),
    ("stop_gradient identity zeros_like ones_like rank raw_ops.OnesLike raw_ops.ZerosLike "
     "raw_ops.Identity", EVERY),
    ("bitwise.invert", (*INTS, "uint32", "uint64")),
    ("logical_not", ("bool",)),
):  # fmt: skip
    for name in names.split():
        tensor_first = name.endswith(
            (
                "angle",
                "imag",
                "real",
                "stop_gradient",
                "identity",
                "zeros_like",
                "ones_like",
                "rank",
            )
        )
        key = "input" if tensor_first else "x"
        if name == "raw_ops.Identity":
            key = "input="
        elif name.startswith("raw_ops"):
            key = "x="
        recipe(name)(unary(dtypes, key))

for name in "softplus softsign elu relu relu6 selu crelu gelu silu swish leaky_relu".split():
    recipe(f"nn.{name}")(
        unary(REALS if name in ("relu", "relu6", "leaky_relu") else FLOATS, "features")
    )
recipe("math.zero_fraction")(unary(REALS, "value"))
recipe("nn.l2_loss")(unary(FLOATS, "t"))


@recipe("nn.local_response_normalization")
def _(d):
    arguments = {"input": d.array(("float32", "float32", "float16"), d.shape(4, 4), "uniform")}
    return d.some(arguments, depth_radius=d.between(0, 3), bias=d.pick((1.0, 2.0)), alpha=0.5,
                  beta=d.pick((0.5, 0.75)))  # fmt: skip


for names, dtypes in (
    ("add subtract multiply divide truediv math.divide_no_nan math.multiply_no_nan "
     "math.squared_difference raw_ops.AddV2 raw_ops.Mul raw_ops.Sub raw_ops.RealDiv", NUMBERS),
    ("equal not_equal", EVERY),
    ("greater greater_equal less less_equal maximum minimum math.floordiv math.floormod "
     "truncatediv truncatemod raw_ops.Maximum raw_ops.Less raw_ops.FloorDiv raw_ops.FloorMod",
     REALS),
    ("math.xdivy math.xlogy math.xlog1py realdiv", INEXACT),
    ("logical_and logical_or math.logical_xor", ("bool",)),
    ("bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift "
     "bitwise.right_shift", INTS),
):  # fmt: skip
    for name in names.split():
        raw = "=" if name.startswith("raw_ops") else ""
        recipe(name)(binary(dtypes, "x" + raw, "y" + raw))
recipe("math.nextafter")(binary(FULL_FLOATS, "x1", "x2"))
recipe("atan2")(binary(FLOATS, "y", "x"))
recipe("pow")(binary(REALS + COMPLEX, "x", "y", None))
recipe("math.igamma")(binary(FLOATS, "a", "x", "positive"))
recipe("math.igammac")(binary(FLOATS, "a", "x", "positive"))
recipe("math.zeta")(binary(FULL_FLOATS, "x", "q", "positive"))
recipe("complex")(binary(FULL_FLOATS, "real", "imag"))


@recipe("math.polygamma")
def _(d):
    dtype, shape = d.dtype(FULL_FLOATS), d.shape()
    return {"a": d.array(dtype, d.broadcast(shape), "counted"), "x": d.array(dtype, shape)}


@recipe("math.betainc")
def _(d):
    dtype, shape = d.dtype(FULL_FLOATS), d.shape()
    return {
        "a": d.array(dtype, shape, "positive"),
        "b": d.array(dtype, d.broadcast(shape), "positive"),
        "x": d.array(dtype, shape, "interval"),
    }


@recipe("clip_by_value")
def _(d):
    dtype, shape = d.dtype(REALS), d.shape()
    if d.flag():
        whole = not dtype.startswith(("float", "bfloat"))
        return {"t": d.array(dtype, shape), "clip_value_min": -1 if whole else -0.5,
                "clip_value_max": 2 if whole else 0.75}  # fmt: skip
    return {
        "t": d.array(dtype, shape),
        "clip_value_min": d.array(dtype, d.broadcast(shape)),
        "clip_value_max": d.array(dtype, d.broadcast(shape)),
    }


def _cast(d, name):
    return {
        name: d.array((*NUMBERS, "bool"), d.shape()),
        "dtype": {"d": d.pick(("float32", "float64", "int32", "int64", "uint8", "int8", "bool",
                               "float16", "bfloat16", "uint32", "uint64", "complex64"))},
    }  # fmt: skip


recipe("cast")(lambda d: _cast(d, "x"))
recipe("saturate_cast")(lambda d: _cast(d, "value"))


def reduction(dtypes):
    def draw(d):
        shape = d.shape(0, 4)
        arguments = {"input_tensor": d.array(dtypes, shape)}
        return d.some(arguments, 60, axis=lambda: d.axes(len(shape)), **{"keepdims=": d.flag})

    return draw


for names, dtypes in (
    ("reduce_sum reduce_prod reduce_mean", NUMBERS),
    ("reduce_max reduce_min", REALS),
    ("reduce_all reduce_any", ("bool",)),
    ("reduce_logsumexp math.reduce_std math.reduce_variance", FLOATS),
    ("math.reduce_euclidean_norm", (*FLOATS, "int32")),
):
    for name in names.split():
        recipe(name)(reduction(dtypes))


@recipe("math.count_nonzero")
def _(d):
    shape = d.shape(0, 3)
    arguments = {"input": d.array((*NUMBERS, "bool", "string"), shape)}
    return d.some(arguments, 50, axis=lambda: d.axes(len(shape)),
                  **{"keepdims=": d.flag, "dtype=": {"d": d.pick(("int32", "int64"))}})  # fmt: skip


@recipe("argmax", "argmin")
def _(d):
    shape = d.shape(1, 3)
    arguments = {"input": d.array(REALS, shape)}
    return d.some(arguments, 60, axis=lambda: d.axis(len(shape)),
                  **{"output_type=": {"d": d.pick(("int32", "int64", "int16"))}})  # fmt: skip


@recipe("cumsum", "math.cumprod", "math.cumulative_logsumexp")
def _(d):
    shape = d.shape(1, 3)
    arguments = {"x": d.array(NUMBERS, shape)}
    return d.some(arguments, 60, axis=d.axis(len(shape)), exclusive=d.flag(), reverse=d.flag())


def along(argument):
    def draw(d):
        shape = d.shape(1, 3)
        return d.some({argument: d.array(FLOATS, shape)}, 60, axis=d.axis(len(shape)))

    return draw


recipe("nn.softmax", "nn.log_softmax")(along("logits"))
recipe("math.l2_normalize")(along("x"))
recipe("math.is_non_decreasing", "math.is_strictly_increasing")(unary(REALS))
