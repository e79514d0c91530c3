"""Reductions, extrema's places, cumulative sums, segments, sorting, counting."""

from corpus import b, c64, case, f, f16, f64, i32, i64, lit, pos, u8
from tf_cases.math_elementwise import call, unary

INF = float("inf")
NAN = float("nan")

# Reductions of floats: symbol, and whether its second derivative is compared.
FLOATING = {
    "tf.reduce_sum": False,
    "tf.reduce_mean": False,
    "tf.reduce_max": True,
    "tf.reduce_min": True,
    "tf.reduce_prod": True,
    "tf.math.reduce_std": True,
    "tf.math.reduce_variance": True,
    "tf.math.reduce_euclidean_norm": True,
    "tf.reduce_logsumexp": True,
}


def along(symbol, **named):
    return lambda tf, x: call(tf, symbol, x, **named)


OF_NOTHING = dict.fromkeys(
    (
        "tf.reduce_mean",
        "tf.math.reduce_std",
        "tf.math.reduce_variance",
        "tf.math.reduce_euclidean_norm",
        "tf.reduce_logsumexp",
    ),
    "the value is 0 / 0, -inf or at a kink, and so is the tangent: NaN; there are no gradients",
)
for _symbol, _second in FLOATING.items():
    case(_symbol, "all", along(_symbol), f(3, 4), second=_second)
    case(_symbol, "axis 0", along(_symbol, axis=0), f(3, 4))
    case(_symbol, "last axis", along(_symbol, axis=-1), f(2, 3, 4), second=_second)
    case(_symbol, "two axes", along(_symbol, axis=[0, 2]), f(2, 3, 4))
    case(_symbol, "negative axes kept", along(_symbol, axis=[-1, -3], keepdims=True), f(2, 3, 4))
    case(_symbol, "kept", along(_symbol, axis=1, keepdims=True), f(2, 3))
    case(_symbol, "all kept", along(_symbol, keepdims=True), f(2, 3))
    case(_symbol, "no axis", along(_symbol, axis=[]), f(2, 3))
    case(_symbol, "a scalar", along(_symbol), f())
    case(_symbol, "nothing", along(_symbol, axis=0), f(0, 3), forward=OF_NOTHING.get(_symbol))
    case(_symbol, "of nothing left", along(_symbol, axis=1), f(0, 3))
    case(_symbol, "f64", along(_symbol, axis=0), f64(3, 2))
    case(
        _symbol,
        "a tensor of axes",
        lambda tf, x, s=_symbol: call(tf, s, x, axis=tf.constant([0, 1])),
        f(2, 3, 2),
    )
for _symbol in ("tf.reduce_sum", "tf.reduce_mean", "tf.reduce_max"):
    case(_symbol, "f16", along(_symbol, axis=1), f16(3, 4), rtol=4e-3)
for _symbol in ("tf.reduce_sum", "tf.reduce_max", "tf.reduce_min", "tf.reduce_prod"):
    case(_symbol, "i32", along(_symbol, axis=0), i32(3, 4))
    case(_symbol, "i64", along(_symbol), i64(3, 4))
case("tf.reduce_mean", "integers", along("tf.reduce_mean"), i32(5, low=-9, high=9))
case("tf.reduce_mean", "u8", along("tf.reduce_mean"), u8(4, low=0, high=60))
case("tf.reduce_sum", "complex", along("tf.reduce_sum", axis=0), c64(3, 2))
case("tf.reduce_mean", "complex", along("tf.reduce_mean"), c64(3, 2))
case("tf.reduce_sum", "u8", along("tf.reduce_sum"), u8(4, low=0, high=60))
case(
    "tf.reduce_max",
    "ties",
    along("tf.reduce_max", axis=1),
    lit([[1.0, 3, 3], [2, 2, 2]]),
)
case("tf.reduce_min", "ties", along("tf.reduce_min"), lit([[1.0, 1, 3], [1, 2, 2]]))
case("tf.reduce_max", "infinities", along("tf.reduce_max"), lit([-INF, -INF]))
case("tf.reduce_max", "NaN", along("tf.reduce_max"), lit([1.0, NAN, 2]))
case(
    "tf.reduce_prod",
    "a zero",
    along("tf.reduce_prod", axis=0),
    lit([[2.0, 0], [3, 4], [5, 0]]),
)
case("tf.reduce_logsumexp", "large", along("tf.reduce_logsumexp"), lit([1000.0, 1000.5, 999]))
case(
    "tf.reduce_logsumexp",
    "minus infinities",
    along("tf.reduce_logsumexp"),
    lit([-INF, -INF]),
)
case(
    "tf.math.reduce_euclidean_norm",
    "zeros",
    along("tf.math.reduce_euclidean_norm"),
    lit([0.0, 0.0]),
)
case(
    "tf.math.reduce_std",
    "equal values",
    along("tf.math.reduce_std"),
    lit([2.0, 2.0]),
)
case("tf.math.reduce_variance", "complex", along("tf.math.reduce_variance"), c64(4))
for _symbol in ("tf.reduce_all", "tf.reduce_any"):
    case(_symbol, "all", along(_symbol), b(3, 4))
    case(_symbol, "axis kept", along(_symbol, axis=-1, keepdims=True), b(3, 4))
    case(_symbol, "axis 0", along(_symbol, axis=0), b(3, 2))
    case(_symbol, "nothing", along(_symbol, axis=0), b(0, 3))
for _symbol in ("sum", "mean", "max", "min", "prod"):
    case(f"tf.math.reduce_{_symbol}", "axis 1", along(f"tf.math.reduce_{_symbol}", axis=1), f(2, 3))
case("tf.math.count_nonzero", "all", along("tf.math.count_nonzero"), i32(3, 4, low=-1, high=2))
case("tf.math.count_nonzero", "axis", along("tf.math.count_nonzero", axis=1), b(3, 4))
case(
    "tf.math.count_nonzero",
    "dtype",
    lambda tf, x: tf.math.count_nonzero(x, axis=0, keepdims=True, dtype=tf.int32),
    lit([[0.0, 1], [2, 0]]),
)
case(
    "tf.math.zero_fraction",
    "a matrix",
    lambda tf, x: tf.math.zero_fraction(x),
    i32(3, 4, low=-1, high=2),
)

# Where the extrema are.
for _symbol in ("tf.argmax", "tf.argmin"):
    case(_symbol, "default axis", along(_symbol), f(3, 4))
    case(_symbol, "axis 1", along(_symbol, axis=1), f(3, 4))
    case(_symbol, "last axis", along(_symbol, axis=-1), f(2, 3, 4))
    case(_symbol, "ties", along(_symbol, axis=1), lit([[1.0, 3, 3], [0, 0, 0]]))
    case(_symbol, "i32 out", lambda tf, x, s=_symbol: call(tf, s, x, 0, output_type=tf.int32), f(5))
    case(_symbol, "integers", along(_symbol, axis=0), i32(4, 3))
    case(_symbol, "u8", along(_symbol), u8(7))
    case(_symbol, "a vector", along(_symbol), f(5))
case("tf.math.argmax", "axis 1", along("tf.math.argmax", axis=1), f(3, 4))
case("tf.math.argmin", "axis 1", along("tf.math.argmin", axis=1), f(3, 4))

# Cumulative.
for _symbol in ("tf.cumsum", "tf.math.cumprod"):
    case(_symbol, "axis 0", along(_symbol), f(4, 2), second=True)
    case(_symbol, "axis 1", along(_symbol, axis=1), f(2, 4))
    case(_symbol, "last axis", along(_symbol, axis=-1), f(2, 1, 4))
    case(_symbol, "exclusive", along(_symbol, exclusive=True), f(5))
    case(_symbol, "reverse", along(_symbol, reverse=True), f(5))
    case(
        _symbol, "exclusive reverse", along(_symbol, axis=1, exclusive=True, reverse=True), f(2, 3)
    )
    case(_symbol, "integers", along(_symbol), i32(5))
    case(_symbol, "nothing", along(_symbol, axis=1), f(2, 0))
    case(_symbol, "f64", along(_symbol), f64(4))
case(
    "tf.math.cumprod",
    "a zero",
    along("tf.math.cumprod"),
    lit([2.0, 0, 3, 0.5]),
    grad="TensorFlow divides by what it multiplied with, and gives 0 after a zero",
)
case("tf.math.cumsum", "a vector", along("tf.math.cumsum"), f(5))
case("tf.math.cumulative_logsumexp", "a vector", along("tf.math.cumulative_logsumexp"), f(5))
case(
    "tf.math.cumulative_logsumexp",
    "exclusive",
    along("tf.math.cumulative_logsumexp", axis=1, exclusive=True),
    f(2, 3),
)
case(
    "tf.math.cumulative_logsumexp",
    "reverse",
    along("tf.math.cumulative_logsumexp", reverse=True),
    f(4),
)

# Segments.
SORTED = lit([0, 0, 1, 3, 3], "int32")
for _name in ("sum", "mean", "max", "min", "prod"):
    _symbol = f"tf.math.segment_{_name}"
    case(
        _symbol,
        "rows",
        lambda tf, x, s=_symbol: call(tf, s, x, tf.constant(SORTED)),
        f(5, 2),
    )
    case(
        _symbol,
        "given ids",
        lambda tf, x, i, s=_symbol: call(tf, s, x, i),
        f(5),
        SORTED,
        vmap="the second example's ids are not sorted",
    )
UNSORTED = lit([2, 0, 2, -1, 0], "int32")
for _name in ("sum", "mean", "max", "min", "prod", "sqrt_n"):
    _symbol = f"tf.math.unsorted_segment_{_name}"
    case(
        _symbol,
        "rows",
        lambda tf, x, i, s=_symbol: call(tf, s, x, i, 4),
        f(5, 2),
        UNSORTED,
    )
    case(
        _symbol,
        "a vector",
        lambda tf, x, i, s=_symbol: call(tf, s, x, i, num_segments=3),
        pos(5),
        UNSORTED,
    )
case(
    "tf.math.unsorted_segment_sum",
    "ids of two ranks",
    lambda tf, x, i: tf.math.unsorted_segment_sum(x, i, 3),
    f(2, 2, 3),
    lit([[0, 2], [2, 1]], "int32"),
)
case(
    "tf.math.unsorted_segment_max",
    "ties",
    lambda tf, x, i: tf.math.unsorted_segment_max(x, i, 2),
    lit([1.0, 1, 2]),
    lit([0, 0, 1], "int32"),
)

# Counting.
case(
    "tf.math.bincount",
    "a vector",
    along("tf.math.bincount"),
    lit([1, 1, 3, 0], "int32"),
)
case(
    "tf.math.bincount",
    "weights",
    lambda tf, x, w: tf.math.bincount(x, weights=w),
    lit([1, 1, 3, 0], "int32"),
    f(4),
    grad="TensorFlow has no gradient of it",
)
case(
    "tf.math.bincount",
    "lengths",
    lambda tf, x: tf.math.bincount(x, minlength=6, maxlength=6),
    lit([1, 1, 3, 0], "int32"),
)
case(
    "tf.math.bincount",
    "rows",
    lambda tf, x: tf.math.bincount(x, axis=-1, minlength=4),
    lit([[1, 1], [3, 0]], "int32"),
)
case(
    "tf.math.bincount",
    "binary",
    lambda tf, x: tf.math.bincount(x, axis=-1, binary_output=True),
    lit([[1, 1], [3, 0]], "int32"),
)
case(
    "tf.math.bincount",
    "some are too large",
    lambda tf, x: tf.math.bincount(x, maxlength=3),
    lit([1, 1, 3, 0], "int32"),
)
case(
    "tf.math.bincount",
    "none",
    lambda tf, x: tf.math.bincount(x, dtype=tf.int64),
    lit([], "int32"),
)
case(
    "tf.math.bincount",
    "all of a matrix",
    lambda tf, x: tf.math.bincount(x, axis=0),
    lit([[1, 1], [3, 0]], "int32"),
)
case(
    "tf.math.bincount",
    "a vector along its axis",
    lambda tf, x: tf.math.bincount(x, axis=-1, binary_output=True),
    lit([1, 1, 3, 0], "int32"),
)
case(
    "tf.math.unsorted_segment_sum",
    "no segments",
    lambda tf, x, i: tf.math.unsorted_segment_sum(x, i, 0),
    f(2, 3),
    lit([-1, -1], "int32"),
    grad="TensorFlow's gradient gathers from nothing, and fails",
)
case(
    "tf.math.confusion_matrix",
    "classes",
    lambda tf, x, y: tf.math.confusion_matrix(x, y),
    lit([1, 2, 4], "int32"),
    lit([2, 2, 4], "int32"),
)
case(
    "tf.math.confusion_matrix",
    "num_classes",
    lambda tf, x, y: tf.math.confusion_matrix(x, y, num_classes=5, dtype=tf.float32),
    lit([1, 2, 4], "int32"),
    lit([2, 2, 4], "int32"),
)
case(
    "tf.math.confusion_matrix",
    "weights",
    lambda tf, x, y, w: tf.math.confusion_matrix(x, y, 3, weights=w, dtype=tf.float32),
    lit([1, 2, 0], "int32"),
    lit([2, 2, 0], "int32"),
    f(3),
)
case(
    "tf.histogram_fixed_width",
    "a vector",
    lambda tf, x: tf.histogram_fixed_width(x, [-1.0, 1.0], nbins=5),
    f(20),
)
case(
    "tf.histogram_fixed_width_bins",
    "a vector",
    lambda tf, x: tf.histogram_fixed_width_bins(x, [-1.0, 1.0], nbins=5),
    f(8),
)
case(
    "tf.math.in_top_k",
    "two",
    lambda tf, t, x: tf.math.in_top_k(t, x, k=2),
    lit([0, 1, 2], "int32"),
    f(3, 4),
)

# Sorting.
case("tf.sort", "a vector", unary("tf.sort"), f(7))
case("tf.sort", "descending", along("tf.sort", direction="DESCENDING"), f(7))
case("tf.sort", "axis 0", along("tf.sort", axis=0), f(4, 3))
case("tf.sort", "integers", unary("tf.sort"), i32(8))
case("tf.sort", "integers descending", along("tf.sort", direction="DESCENDING"), i32(8))
case("tf.argsort", "a vector", unary("tf.argsort"), f(7))
case("tf.argsort", "stable ties", along("tf.argsort", stable=True), lit([2, 1, 2, 1, 2], "int32"))
case(
    "tf.argsort",
    "descending ties",
    along("tf.argsort", direction="DESCENDING", stable=True),
    lit([2, 1, 2, 1, 2], "int32"),
)
case("tf.argsort", "axis 0", along("tf.argsort", axis=0), f(4, 3))
case("tf.math.top_k", "two", lambda tf, x: tuple(tf.math.top_k(x, 2)), f(3, 5))
case("tf.math.top_k", "one", lambda tf, x: tuple(tf.math.top_k(x)), f(5))
case(
    "tf.math.top_k",
    "ties",
    lambda tf, x: tuple(tf.math.top_k(x, k=3)),
    lit([1, 3, 3, 2, 3], "int32"),
)
case(
    "tf.math.top_k",
    "a tensor k",
    lambda tf, x, k: tuple(tf.math.top_k(x, k)),
    f(5),
    lit(3, "int32"),
)
case("tf.nn.top_k", "named", lambda tf, x: tf.nn.top_k(x, 2).indices, f(3, 5))
case(
    "tf.searchsorted",
    "left",
    lambda tf, s, v: tf.searchsorted(s, v),
    lit([1.0, 3, 3, 7]),
    lit([0.0, 3, 5, 9]),
)
case(
    "tf.searchsorted",
    "right",
    lambda tf, s, v: tf.searchsorted(s, v, side="right"),
    lit([1, 3, 3, 7], "int32"),
    lit([0, 3, 5, 9], "int32"),
)
case(
    "tf.searchsorted",
    "rows",
    lambda tf, s, v: tf.searchsorted(s, v, out_type=tf.int64),
    lit([[1.0, 3, 5], [2, 4, 6]]),
    lit([[2.0, 9], [1, 4]]),
)
case(
    "tf.unique",
    "a vector",
    lambda tf, x: tuple(tf.unique(x)),
    lit([4, 1, 4, 2, 1], "int32"),
)
case(
    "tf.unique",
    "floats",
    lambda tf, x: tf.unique(x).y,
    lit([1.5, 0, 1.5]),
    grad="TensorFlow has no gradient of it",
)
case(
    "tf.unique",
    "i64 indices",
    lambda tf, x: tf.unique(x, out_idx=tf.int64).idx,
    lit([4, 1, 4, 2, 1], "int64"),
)
case(
    "tf.unique_with_counts",
    "a vector",
    lambda tf, x: tuple(tf.unique_with_counts(x)),
    lit([4, 1, 4, 2, 1], "int32"),
)
case(
    "tf.math.invert_permutation",
    "four",
    unary("tf.math.invert_permutation"),
    lit([2, 0, 3, 1], "int32"),
)
