"""The public names of mica, for type checkers. Made by scripts/stubs.py; a test compares."""

import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple

from ._control import (
    barrier as barrier,
    call as call,
    callback as callback,
    case as case,
    composite as composite,
    cond as cond,
    custom_gradient as custom_gradient,
    remat as remat,
    scan as scan,
    while_loop as while_loop,
)
from ._einsum import einsum as einsum
from ._everyday import (
    allclose as allclose,
    flip as flip,
    hessian as hessian,
    isclose as isclose,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    linspace as linspace,
    outer as outer,
    repeat as repeat,
    roll as roll,
    split as split,
    tile as tile,
    tri as tri,
    tril as tril,
    triu as triu,
)
from ._functions import (
    all as all,
    any as any,
    arange as arange,
    argsort as argsort,
    avg_pool as avg_pool,
    broadcast_to as broadcast_to,
    clip as clip,
    concatenate as concatenate,
    conv as conv,
    cumprod as cumprod,
    cumsum as cumsum,
    expand_dims as expand_dims,
    eye as eye,
    full as full,
    full_like as full_like,
    gelu as gelu,
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    max_pool as max_pool,
    maximum as maximum,
    mean as mean,
    minimum as minimum,
    one_hot as one_hot,
    ones as ones,
    ones_like as ones_like,
    prod as prod,
    relu as relu,
    sigmoid as sigmoid,
    silu as silu,
    softmax as softmax,
    softplus as softplus,
    sort as sort,
    squeeze as squeeze,
    stack as stack,
    std as std,
    stop_gradient as stop_gradient,
    sum as sum,
    var as var,
    where as where,
    zeros as zeros,
    zeros_like as zeros_like,
)
from ._index import put as put, take as take, take_along_axis as take_along_axis
from ._mica import (
    Device as Device,
    DType as DType,
    Executable as Executable,
    Graph as Graph,
    Tensor as Tensor,
    Traced as Traced,
    __version__ as __version__,
    device as device,
    from_dlpack as from_dlpack,
    is_tracing as is_tracing,
    matmul as matmul,
    ops as ops,
    set_default_device as set_default_device,
    set_threads as set_threads,
    tensor as tensor,
    threads as threads,
)
from ._tracing import clear_caches as clear_caches
from ._transforms import (
    grad as grad,
    jacobian as jacobian,
    jit as jit,
    jvp as jvp,
    trace as trace,
    value_and_grad as value_and_grad,
    vjp as vjp,
    vmap as vmap,
)
from . import (
    data as data,
    fft as fft,
    linalg as linalg,
    nn as nn,
    optim as optim,
    random as random,
    tree as tree,
)
from ._export import export as export
from ._files import load as load, save as save

__all__: list[str]

class DeviceInfo(NamedTuple):
    """A kind of device, present or not.

    Attributes
    ----------
    name : str
        What `device` takes.
    description : str
        What it is, or why there is none.
    available : bool
        Whether it can be used.
    priority : int
        "any" takes the highest; negative: never by itself.
    """

    name: str
    description: str
    available: builtins.bool
    priority: int

def devices() -> list[DeviceInfo]:
    """Every kind of device that is built in, present or not."""

def abs(x: Any, /) -> Tensor:
    """y = |x|; of a complex number a float"""

def acos(x: Any, /) -> Tensor:
    """y = arccos x"""

def acosh(x: Any, /) -> Tensor:
    """y = ln(x + (x^2 - 1)^(1/2))"""

def add(x0: Any, x1: Any, /) -> Tensor:
    """y = x0 + x1"""

def all_gather(x: Any, /, axis: str, size: int, dim: int) -> Tensor:
    """the operands of all `size` participants of a named axis, one after the other along dim,
    given to each (to stack them, reshape first)
    """

def all_reduce(x: Any, /, kind: str, axis: str) -> Tensor:
    """sum, max or min over all participants of a named axis, given to each"""

def and_(x0: Any, x1: Any, /) -> Tensor:
    """bitwise and"""

def argmax(x: Any, /, axis: int, dtype: Any) -> Tensor:
    """index of the largest along an axis, the first of equals; NaN counts as largest"""

def argmin(x: Any, /, axis: int, dtype: Any) -> Tensor:
    """index of the smallest along an axis, the first of equals; NaN counts as smallest"""

def asin(x: Any, /) -> Tensor:
    """y = arcsin x"""

def asinh(x: Any, /) -> Tensor:
    """y = ln(x + (x^2 + 1)^(1/2))"""

def atan(x: Any, /) -> Tensor:
    """y = arctan x"""

def atan2(x0: Any, x1: Any, /) -> Tensor:
    """the angle of the point (x1, x0)"""

def atanh(x: Any, /) -> Tensor:
    """y = ln((1 + x) / (1 - x)) / 2"""

def axis_index(axis: str) -> Tensor:
    """i32: this participant's place along a named axis"""

bf16: DType

def bitcast(x: Any, /, dtype: Any) -> Tensor:
    """the same bytes as another dtype, little end first: a narrower one adds a last axis, a wider
    one takes the last axis away; not bool
    """

bool: DType
bool_: DType

def broadcast(x: Any, /, shape: Sequence[int], axes: Sequence[int]) -> Tensor:
    """y[i] = x[i[axes]]: axis k of x becomes axis axes[k] of y, size 1 stretches"""

def broadcast_from(x: Any, /, axis: str, size: int, source: int) -> Tensor:
    """the operand of participant `source` of a named axis, given to each"""

c128: DType
c64: DType

def cbrt(x: Any, /) -> Tensor:
    """y = x^(1/3), with the sign of x"""

def ceil(x: Any, /) -> Tensor:
    """smallest integer not below x"""

def cholesky(x: Any, /) -> Tensor:
    """lower triangular y with y y^T = x, y y* = x where x is complex, over leading axes; reads the
    lower triangle of x, of the diagonal real parts; all NaN where x is not positive definite
    """

def clamp(x0: Any, x1: Any, x2: Any, /) -> Tensor:
    """y = min(max(x, low), high)"""

def clz(x: Any, /) -> Tensor:
    """number of bits above the highest 1; of 0: the width"""

def compare(x0: Any, x1: Any, /, direction: str) -> Tensor:
    """y = x0 ? x1 with ? one of eq ne lt le gt ge; NaN is unequal to all; complex numbers: eq ne"""

def complex(x0: Any, x1: Any, /) -> Tensor:
    """y = x0 + i x1, c64 of f32 and c128 of f64"""

def concat(*operands: Any, axis: int) -> Tensor:
    """operands one after the other along an axis"""

def conj(x: Any, /) -> Tensor:
    """the complex conjugate; of a real x: x"""

def constant(value: Any) -> Tensor:
    """a value known when the graph is built; of list type: the empty list; of token type: the
    first token
    """

def convert(x: Any, /, dtype: Any) -> Tensor:
    """x as another dtype: floats round to nearest even, float to integer truncates and saturates,
    NaN gives 0, to bool is x != 0; complex to real takes the real part
    """

def cos(x: Any, /) -> Tensor:
    """y = cos x"""

def cosh(x: Any, /) -> Tensor:
    """y = (e^x + e^-x) / 2"""

def cumulative(x: Any, /, kind: str, axis: int, reverse: int, exclusive: int) -> Tensor:
    """y[i] = the reduction (sum prod max min) of x[0] ... x[i] along an axis; reverse: of x[i] ...
    x[last]; exclusive: without x[i]; of nothing: as reduce
    """

def digamma(x: Any, /) -> Tensor:
    """y = Gamma'(x) / Gamma(x)"""

def div(x0: Any, x1: Any, /) -> Tensor:
    """y = x0 / x1; integers truncate, x / 0 = -1 (all bits set), min / -1 = min"""

def dot(
    x0: Any,
    x1: Any,
    /,
    lhs_contract: Sequence[int],
    rhs_contract: Sequence[int],
    lhs_batch: Sequence[int],
    rhs_batch: Sequence[int],
) -> Tensor:
    """sum over contracted axes; result axes: batch, rest of x0, rest of x1"""

def dynamic_slice(x0: Any, x1: Any, /, sizes: Sequence[int]) -> Tensor:
    """y[i] = x[start + i], start an integer vector, clamped so that the slice lies inside"""

def dynamic_update_slice(x0: Any, x1: Any, x2: Any, /) -> Tensor:
    """x0 with x1 written at the start x2, an integer vector, clamped so that it lies inside"""

def eig(x: Any, /) -> Any:
    """x v = v diag(values), over leading axes, both complex: values in ascending order of re + im
    / pi, columns v of length 1. Of a column the first element of at least 7/10 of its largest
    magnitude is real and positive. All NaN where x is not finite
    """

def eigh(x: Any, /) -> Any:
    """x v = v diag(values), over leading axes: values ascending, orthonormal columns v; reads the
    lower triangle of x, of the diagonal real parts; values are real. Of a column the first
    element of at least 7/10 of its largest magnitude is positive, and real. All NaN where x is
    not finite
    """

def erf(x: Any, /) -> Tensor:
    """y = 2 pi^(-1/2) integral of e^(-t^2) from 0 to x"""

def erfc(x: Any, /) -> Tensor:
    """y = 1 - erf x"""

def erfinv(x: Any, /) -> Tensor:
    """erf y = x; infinite at -1 and 1, NaN beyond"""

def exp(x: Any, /) -> Tensor:
    """y = e^x"""

def expm1(x: Any, /) -> Tensor:
    """y = e^x - 1"""

f16: DType
f32: DType
f64: DType
f8e4m3fn: DType
f8e5m2: DType

def floor(x: Any, /) -> Tensor:
    """largest integer not above x"""

def gather(
    x0: Any,
    x1: Any,
    /,
    offset_dims: Sequence[int],
    collapsed_dims: Sequence[int],
    operand_batch_dims: Sequence[int],
    indices_batch_dims: Sequence[int],
    start_map: Sequence[int],
    index_vector_dim: int,
    slice_sizes: Sequence[int],
    mode: str,
) -> Tensor:
    """slices of x0, one for each vector of integers along axis index_vector_dim of x1: entry k is
    where the slice begins along axis start_map[k]; offset_dims of y run inside a slice, without
    its collapsed_dims; batch dims go in step; a slice that leaves x0 is moved inside (mode
    clip) or zeros (fill)
    """

i16: DType
i32: DType
i64: DType
i8: DType

def igamma(x0: Any, x1: Any, /) -> Tensor:
    """y = 1/Gamma(x0) integral of t^(x0 - 1) e^-t from 0 to x1, for x0, x1 >= 0; 1 where x0 is 0
    or x1 infinite, NaN where both are, or below 0
    """

def imag(x: Any, /) -> Tensor:
    """the imaginary part, a float (f32 of c64, f64 of c128); of a real x: 0"""

def iota(shape: Sequence[int], axis: int, dtype: Any) -> Tensor:
    """y[i] = i[axis]"""

def is_finite(x: Any, /) -> Tensor:
    """y = x is neither infinite nor NaN, in both parts"""

def lgamma(x: Any, /) -> Tensor:
    """y = ln |Gamma(x)|"""

def log(x: Any, /) -> Tensor:
    """y = ln x"""

def log1p(x: Any, /) -> Tensor:
    """y = ln(1 + x)"""

def logistic(x: Any, /) -> Tensor:
    """y = 1 / (1 + e^-x)"""

def lu(x: Any, /) -> Any:
    """x[permutation] = l u with partial pivoting, over leading axes: l (unit diagonal, below it)
    and u in one matrix; pivots i32: row j was exchanged with pivots[j]; permutation i32. The
    pivot is the first of the largest magnitude, of complex numbers of the largest |re| + |im|;
    of a zero pivot the column stays
    """

def max(x0: Any, x1: Any, /) -> Tensor:
    """the larger; NaN if either is NaN; +0 above -0"""

def min(x0: Any, x1: Any, /) -> Tensor:
    """the smaller; NaN if either is NaN; -0 below +0"""

def mul(x0: Any, x1: Any, /) -> Tensor:
    """y = x0 x1"""

def neg(x: Any, /) -> Tensor:
    """y = -x"""

def nextafter(x0: Any, x1: Any, /) -> Tensor:
    """the next number of the dtype from x0 towards x1; x1 when they are equal, NaN if either is
    NaN
    """

def not_(x: Any, /) -> Tensor:
    """complement: of the truth value, or of every bit"""

def or_(x0: Any, x1: Any, /) -> Tensor:
    """bitwise or"""

def pad(
    x0: Any, x1: Any, /, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Tensor:
    """x surrounded and interleaved by the scalar x1; negative low or high cuts"""

def permute(
    x: Any, /, axis: str, size: int, sources: Sequence[int], targets: Sequence[int]
) -> Tensor:
    """participant targets[k] of a named axis is given the operand of participant sources[k]; who
    is no target is given zeros
    """

def popcount(x: Any, /) -> Tensor:
    """number of bits that are 1"""

def pow(x0: Any, x1: Any, /) -> Tensor:
    """y = x0^x1"""

def qr(x: Any, /, full: int) -> Any:
    """x = q r by Householder reflections, over leading axes: r[j,j] has the sign opposite to what
    it came from, but stays where nothing is below it; of a complex x it is real, of the sign
    opposite to the real part it came from, and stays where it was real and nothing is below it;
    full: q is square. All NaN where x is not finite
    """

def real(x: Any, /) -> Tensor:
    """the real part, a float (f32 of c64, f64 of c128); of a real x: x"""

def reduce(x: Any, /, kind: str, axes: Sequence[int]) -> Tensor:
    """over axes: sum prod (also complex), max min (numbers), and or (bool, integers); of nothing:
    0 1 -inf inf, all bits, 0
    """

def reduce_precision(x: Any, /, exponent_bits: int, mantissa_bits: int) -> Tensor:
    """x rounded to nearest even as if to an IEEE format with so many bits (its denormals included)
    and back; too large becomes infinite
    """

def reduce_scatter(x: Any, /, kind: str, axis: str, size: int, dim: int) -> Tensor:
    """sum, max or min over all `size` participants of a named axis, cut along dim into as many
    parts: participant i is given part i
    """

def reduce_window(
    x: Any,
    /,
    kind: str,
    window: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Tensor:
    """y[i] = the reduction (sum prod max min) over w of x[(i strides + w window_dilation - low) /
    base_dilation], where that is an element of x; of nothing: as reduce
    """

def rem(x0: Any, x1: Any, /) -> Tensor:
    """y = x0 - x1 trunc(x0 / x1), with the sign of x0; integers: x rem 0 = x, min rem -1 = 0"""

def reshape(x: Any, /, shape: Sequence[int]) -> Tensor:
    """the same elements in row-major order, another shape"""

def reverse(x: Any, /, axes: Sequence[int]) -> Tensor:
    """x read backwards along axes"""

def rng_bits(x0: Any, x1: Any, /, shape: Sequence[int], dtype: Any) -> Tensor:
    """Philox 4x32-10: key u32[2], counter u32[4]; block counter + k gives u32 elements 4k..4k+3
    (or u64 2k, 2k+1, low word first)
    """

def round(x: Any, /) -> Tensor:
    """nearest integer, ties to even"""

def rsqrt(x: Any, /) -> Tensor:
    """y = x^(-1/2)"""

def sar(x0: Any, x1: Any, /) -> Tensor:
    """bits of x0 moved down by x1, copies of the top bit enter; only these when x1 is negative or
    not below the width
    """

def scatter(
    x0: Any,
    x1: Any,
    x2: Any,
    /,
    kind: str,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    operand_batch_dims: Sequence[int],
    indices_batch_dims: Sequence[int],
    scatter_map: Sequence[int],
    index_vector_dim: int,
    mode: str,
) -> Tensor:
    """x0 with the windows of x2 put in (kind set) or combined with what is there (add mul min
    max), one after the other in the order of the index vectors of x1, which say where as in
    gather; a window that leaves x0 is moved inside (mode clip) or left out (fill)
    """

def select(x0: Any, x1: Any, x2: Any, /) -> Tensor:
    """y = x1 where x0 (bool) is true, else x2"""

def select_and_scatter(
    x0: Any,
    x1: Any,
    /,
    select: str,
    window: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
) -> Tensor:
    """zeros like x0, with x1[i] added where x0 is largest (select max) or smallest (min) in window
    i of reduce_window; the first of equals, NaN before all; nowhere when the window is all
    padding
    """

def shl(x0: Any, x1: Any, /) -> Tensor:
    """bits of x0 moved up by x1, zeros enter; 0 when x1 is negative or not below the width"""

def shr(x0: Any, x1: Any, /) -> Tensor:
    """bits of x0 moved down by x1, zeros enter; 0 when x1 is negative or not below the width"""

def sign(x: Any, /) -> Tensor:
    """y = -1, 0 or 1 with x; NaN stays, and so does the sign of zero; of a complex number x / |x|,
    and 0 of 0
    """

def sin(x: Any, /) -> Tensor:
    """y = sin x"""

def sinh(x: Any, /) -> Tensor:
    """y = (e^x - e^-x) / 2"""

def slice(x: Any, /, start: Sequence[int], limit: Sequence[int], stride: Sequence[int]) -> Tensor:
    """y[i] = x[start + i stride], up to but without limit"""

def sqrt(x: Any, /) -> Tensor:
    """y = x^(1/2), correctly rounded"""

def sub(x0: Any, x1: Any, /) -> Tensor:
    """y = x0 - x1"""

def svd(x: Any, /, full: int) -> Any:
    """x = u diag(s) vh, over leading axes: s descending and real, orthonormal columns u and rows
    vh, with the signs or phases of u as in eigh; full: u and vh are square, continued as qr of
    their first columns does. All NaN where x is not finite
    """

def tan(x: Any, /) -> Tensor:
    """y = tan x"""

def tanh(x: Any, /) -> Tensor:
    """y = (e^x - e^-x) / (e^x + e^-x)"""

def top_k(x: Any, /, k: int) -> Any:
    """the k largest along the last axis, the largest first, and their i32 indices; in the order of
    sort, descending: of equals the first comes first, NaN is above all numbers
    """

def transpose(x: Any, /, permutation: Sequence[int]) -> Tensor:
    """axis k of y is axis permutation[k] of x"""

def triangular_solve(
    x0: Any, x1: Any, /, left: int, lower: int, transpose: int, unit: int
) -> Tensor:
    """y with op(x0) y = x1 (left) or y op(x0) = x1, over leading axes; op(x0) is the lower or
    upper triangle of x0, transposed or not; unit: its diagonal is taken as 1
    """

u16: DType
u32: DType
u64: DType
u8: DType

def xor(x0: Any, x1: Any, /) -> Tensor:
    """bitwise exclusive or"""
