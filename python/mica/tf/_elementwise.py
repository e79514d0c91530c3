"""Functions of elements beyond plain arithmetic: names of tf and tf.math."""

from __future__ import annotations

from . import _dtypes
from ._array import where, zeros_like
from ._context import executing_eagerly
from ._core import Tensor, convert_to_tensor, ops
from ._math import _pair, add_n, cast, reduce_sum
from ._shapes import TensorShape
from ._slices import IndexedSlices
from .errors import InvalidArgumentError

# Names of tf as well as of tf.math.
acos = ops["Acos"]
acosh = ops["Acosh"]
asin = ops["Asin"]
asinh = ops["Asinh"]
atan = ops["Atan"]
atan2 = ops["Atan2"]
atanh = ops["Atanh"]
cos = ops["Cos"]
cosh = ops["Cosh"]
floor = ops["Floor"]
sin = ops["Sin"]
sinh = ops["Sinh"]
tan = ops["Tan"]
# Names of tf.math alone.
bessel_i0 = ops["BesselI0"]
bessel_i0e = ops["BesselI0e"]
bessel_i1 = ops["BesselI1"]
bessel_i1e = ops["BesselI1e"]
betainc = ops["Betainc"]
polygamma = ops["Polygamma"]
zeta = ops["Zeta"]
ceil = ops["Ceil"]
digamma = ops["Digamma"]
erf = ops["Erf"]
erfc = ops["Erfc"]
erfinv = ops["Erfinv"]
expm1 = ops["Expm1"]
igamma = ops["Igamma"]
igammac = ops["Igammac"]
is_finite = ops["IsFinite"]
is_inf = ops["IsInf"]
is_nan = ops["IsNan"]
lgamma = ops["Lgamma"]
log1p = ops["Log1p"]
ndtri = ops["Ndtri"]
nextafter = ops["NextAfter"]
reciprocal = ops["Reciprocal"]
rint = ops["Rint"]
rsqrt = ops["Rsqrt"]
softplus = ops["Softplus"]
softsign = ops["Softsign"]
squared_difference = ops["SquaredDifference"]
xdivy = ops["Xdivy"]
xlog1py = ops["Xlog1py"]
xlogy = ops["Xlogy"]


def sign(x, name=None):
    """Return -1, 0 or 1 with the sign of each element."""
    return ops["Sign"](x, name=name)


def round(x, name=None):
    """Return the nearest integers, ties to even."""
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else ops["Round"](x)


def floordiv(x, y, name=None):
    """Return floor(x / y)."""
    return _divide("FloorDiv", x, y)


def floormod(x, y, name=None):
    """Return x - y floor(x / y), which has the sign of y."""
    return _divide("FloorMod", x, y)


mod = floormod


def truncatediv(x, y, name=None):
    """Return x / y rounded towards zero."""
    return _divide("TruncateDiv", x, y)


def truncatemod(x, y, name=None):
    """Return the remainder of x / y, which has the sign of x."""
    return _divide("TruncateMod", x, y)


def _divide(op: str, x, y):
    return ops[op](*_numbers(x, y))


def _numbers(x, y):
    """As _pair, but a Python number has the other's dtype; in functions, where first, its own."""
    numbers = (int, float)
    if isinstance(x, numbers) and isinstance(y, Tensor):
        x = convert_to_tensor(x, y.dtype if executing_eagerly() else None)
    elif isinstance(y, numbers) and isinstance(x, Tensor):
        y = convert_to_tensor(y, x.dtype)
    return _pair(x, y)


def realdiv(x, y, name=None):
    """Return x / y of floats."""
    return ops["RealDiv"](*_numbers(x, y), name=name)


def divide_no_nan(x, y, name=None):
    """Return x / y, and 0 where y is 0."""
    x, y = _pair(x, y)
    if x.dtype.is_integer:
        wide = _dtypes.float32 if x.dtype.size < 4 else _dtypes.float64
        x, y = cast(x, wide), cast(y, wide)
    return ops["DivNoNan"](x, y, name=name)


def multiply_no_nan(x, y, name=None):
    """Return x y, and 0 where y is 0 whatever x is."""
    return ops["MulNoNan"](*_pair(x, y), name=name)


def reciprocal_no_nan(x, name=None):
    """Return 1 / x, and 0 where x is 0."""
    x = convert_to_tensor(x)
    return ops["DivNoNan"](convert_to_tensor(1, x.dtype), x, name=name)


def log_sigmoid(x, name=None):
    """Return log(1 / (1 + e^-x))."""
    return ops["Neg"](ops["Softplus"](ops["Neg"](x)), name=name)


def erfcinv(x, name=None):
    """Return the inverse of erfc."""
    x = convert_to_tensor(x)
    return -0.7071067811865476 * ops["Ndtri"](0.5 * x)


def logical_xor(x, y, name="LogicalXor"):
    """Return whether one of x and y is true, not both."""
    return ops["NotEqual"](
        convert_to_tensor(x, _dtypes.bool), convert_to_tensor(y, _dtypes.bool), name=name
    )


def lbeta(x, name=None):
    """Return log |Beta| along the last axis."""
    x = convert_to_tensor(x)
    return reduce_sum(lgamma(x), -1) - lgamma(reduce_sum(x, -1))


def polyval(coeffs, x, name=None):
    """Return the polynomial with these coefficients, the highest first, at x."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = convert_to_tensor(x)
    if not coeffs:
        return zeros_like(x)
    coeffs = [convert_to_tensor(c) for c in coeffs]
    value = coeffs[0]
    for c in coeffs[1:]:
        value = c + value * x
    return value


# ---- complex numbers -----------------------------------------------------------------------------


def complex(real, imag, name=None):
    """Return real + i imag."""
    real = convert_to_tensor(real)
    imag = convert_to_tensor(imag, dtype_hint=real.dtype)
    wide = {_dtypes.float32: _dtypes.complex64, _dtypes.float64: _dtypes.complex128}
    if real.dtype != imag.dtype or real.dtype not in wide:
        raise TypeError(
            f"The `real` and `imag` components have incompatible types: {real.dtype.name} "
            f"{imag.dtype.name}."
        )
    return ops["Complex"](real, imag, Tout=wide[real.dtype], name=name)


def real(input, name=None):
    """Return the real parts."""
    input = convert_to_tensor(input)
    return ops["Real"](input, Tout=input.dtype.real_dtype) if input.dtype.is_complex else input


def imag(input, name=None):
    """Return the imaginary parts."""
    input = convert_to_tensor(input)
    if input.dtype.is_complex:
        return ops["Imag"](input, Tout=input.dtype.real_dtype, name=name)
    return zeros_like(input)


def conj(x, name=None):
    """Return the complex conjugates."""
    x = convert_to_tensor(x)
    return ops["Conj"](x) if x.dtype.is_complex else x


def angle(input, name=None):
    """Return the angles of complex numbers; of real ones 0 or pi."""
    input = convert_to_tensor(input)
    if input.dtype.is_complex:
        return ops["Angle"](input, Tout=input.dtype.real_dtype, name=name)
    return where(input < 0, 3.141592653589793 * ops["OnesLike"](input), zeros_like(input))


# ---- dtypes --------------------------------------------------------------------------------------


def bitcast(input, type, name=None):
    """Return the same bytes as another dtype."""
    return ops["Bitcast"](convert_to_tensor(input), type=_dtypes.as_dtype(type), name=name)


def saturate_cast(value, dtype, name=None):
    """Return the value as another dtype, within that dtype's range."""
    value = convert_to_tensor(value)
    dtype = _dtypes.as_dtype(dtype).base_dtype
    if value.dtype.is_complex:
        parts = (ops[part](value, Tout=value.dtype.real_dtype) for part in ("Real", "Imag"))
        if not dtype.is_complex:
            return saturate_cast(next(parts), dtype)
        return ops["Complex"](*(saturate_cast(p, dtype.real_dtype) for p in parts), Tout=dtype)
    if dtype.is_complex:
        return cast(_within(value, dtype.real_dtype), dtype)
    return cast(_within(value, dtype), dtype)


def _within(value, dtype):
    """The value, in its own dtype, within the range of another."""
    if value.dtype.min < dtype.min:
        value = ops["Maximum"](value, convert_to_tensor(dtype.min, value.dtype))
    if value.dtype.max > dtype.max:
        value = ops["Minimum"](value, convert_to_tensor(dtype.max, value.dtype))
    return value


# ---- clipping ------------------------------------------------------------------------------------


def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """Return t within two bounds."""
    if isinstance(t, IndexedSlices):
        values = clip_by_value(t.values, clip_value_min, clip_value_max)
        return IndexedSlices(values, t.indices, t.dense_shape)
    t = convert_to_tensor(t)
    return ops["Maximum"](ops["Minimum"](t, clip_value_max), clip_value_min, name=name)


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """Return t scaled down so that its norm is at most clip_norm."""
    values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t)
    total = reduce_sum(values * values, axes, keepdims=True)
    positive = total > 0
    safe = where(positive, total, ops["OnesLike"](total))
    norm = where(positive, ops["Sqrt"](safe), total)
    clip_norm = ops["Maximum"](convert_to_tensor(clip_norm, values.dtype), zeros_like(norm))
    clipped = values * clip_norm / ops["Maximum"](norm, clip_norm)
    if isinstance(t, IndexedSlices):
        return IndexedSlices(clipped, t.indices, t.dense_shape)
    return clipped


def global_norm(t_list, name=None):
    """Return the square root of the sum of all squares of several tensors."""
    tensors = [t.values if isinstance(t, IndexedSlices) else t for t in t_list if t is not None]
    halves = [_half_of_squares(convert_to_tensor(t)) for t in tensors]
    if not halves:
        return convert_to_tensor(0.0)
    return ops["Sqrt"](add_n(halves) * convert_to_tensor(2.0, halves[0].dtype), name=name)


def _half_of_squares(t):
    if not t.dtype.is_floating:
        text = (
            f"Value for attr 'T' of {t.dtype.name} is not in the list of allowed values [Op:L2Loss]"
        )
        raise InvalidArgumentError(None, None, text) if executing_eagerly() else TypeError(text)
    return reduce_sum(t * t) * convert_to_tensor(0.5, t.dtype)


def _scaled(t, scale):
    """Return a tensor times a number of another dtype."""
    return t * cast(scale, t.dtype)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Return tensors scaled down together, and their norm before."""
    if use_norm is None:
        use_norm = global_norm(t_list)
    use_norm = convert_to_tensor(use_norm)
    one = convert_to_tensor(1.0, use_norm.dtype)
    scale = clip_norm * ops["Minimum"](one / use_norm, one / clip_norm)
    scale = scale + (use_norm - use_norm)  # NaN where the norm is not finite
    clipped = []
    for t in t_list:
        if isinstance(t, IndexedSlices):
            clipped.append(IndexedSlices(_scaled(t.values, scale), t.indices, t.dense_shape))
        else:
            clipped.append(None if t is None else _scaled(convert_to_tensor(t), scale))
    return clipped, use_norm


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """Return the sum of tensors of one shape and dtype, which may be given."""
    words = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, list | tuple):
        raise ValueError(words)
    inputs = [convert_to_tensor(x) for x in inputs]
    if any(x.dtype != inputs[0].dtype for x in inputs):
        raise ValueError(words)
    if tensor_dtype is not None and tensor_dtype != inputs[0].dtype:
        raise TypeError(
            f"The `tensor_dtype` argument is {tensor_dtype}, but `input` is of type "
            f"{inputs[0].dtype}. These must be equal. Try casting the input to the desired type."
        )
    joint = TensorShape(shape)
    for x in inputs:
        joint = joint.merge_with(x.shape)
    return add_n(inputs, name=name)


def scalar_mul(scalar, x, name=None):
    """Return a number times a tensor; of slices, their values times the number."""
    dtype = getattr(x, "dtype", None) or convert_to_tensor(x).dtype
    scalar = convert_to_tensor(scalar, dtype)
    if scalar.shape.rank != 0:
        raise ValueError(
            "The input scalar must be a 0-D value. Received shape for scalar: "
            f"{scalar.shape}; tf.multiply takes other shapes"
        )
    if isinstance(x, IndexedSlices):
        return IndexedSlices(x.values * scalar, x.indices, x.dense_shape)
    return ops["Mul"](scalar, convert_to_tensor(x), name=name)


TOP = (
    "acos acosh asin asinh atan atan2 atanh bitcast clip_by_global_norm clip_by_norm clip_by_value "
    "complex cos cosh floor realdiv round saturate_cast scalar_mul sign sin "
    "sinh tan truncatediv truncatemod"
).split()
MATH = (
    "accumulate_n acos acosh angle asin asinh atan atan2 atanh bessel_i0 bessel_i0e bessel_i1 "
    "bessel_i1e betainc ceil conj cos cosh digamma polygamma zeta "
    "divide_no_nan erf erfc erfcinv erfinv expm1 floor floordiv floormod igamma igammac imag "
    "is_finite is_inf is_nan lbeta lgamma log1p log_sigmoid logical_xor mod multiply_no_nan ndtri "
    "nextafter polyval real reciprocal reciprocal_no_nan rint round rsqrt scalar_mul sign sin sinh "
    "softplus softsign squared_difference tan xdivy xlog1py xlogy"
).split()
