"""The reference device against numpy and scipy, for every row of the table of primitives.

A row is checked by examples: operands as numpy arrays, attributes, and what numpy says comes out.
Rows with regions or effects are checked by small programs as text. A row with neither fails.
"""

import itertools

import numpy as np
import pytest

mica = pytest.importorskip("mica")
special = pytest.importorskip("scipy.special")
signal = pytest.importorskip("scipy.signal")

NAMES = {
    "bool": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
DTYPE_NAMES = {np.dtype(dtype): name for name, dtype in NAMES.items()}
INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
SETS = {
    "FLOATS": ["f32", "f64"],
    "F32_F64": ["f32", "f64"],
    "F32_F64_COMPLEX": ["f32", "f64", "c64", "c128"],
    "INTEGERS": INTEGERS,
    "NUMBERS": ["f32", "f64", *INTEGERS],
    "BITS": ["bool", *INTEGERS],
    "ANY": ["f32", "f64", "bool", *INTEGERS],
}
SETS["STORED"] = SETS["ANY"]
# Complex numbers are in test_ref_complex.py.
SETS["FLOATS_COMPLEX"] = SETS["FLOATS"]
SETS["NUMBERS_COMPLEX"] = SETS["NUMBERS"]
TABLE = {row["name"]: row for row in mica.ops()}


# ---- running a graph on the reference ------------------------------------------------------------


def type_text(array):
    sizes = ",".join(str(size) for size in array.shape)
    return f"{DTYPE_NAMES[array.dtype]}[{sizes}]"


def attribute_text(value):
    if isinstance(value, str):
        return value if value in NAMES else f'"{value}"'
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(str(item) for item in value) + ")"
    return str(value)


def run_text(text, *arrays):
    executable = mica.Graph.parse(text).compile("ref")
    tensors = [mica.tensor(array, device="ref") for array in arrays]
    return [np.asarray(result.numpy()) for result in executable.run(tensors)]


def run_op(name, operands, attributes, expected):
    """Run one primitive whose result has the type of `expected`."""
    parameters = ", ".join(f"%{i}: {type_text(x)}" for i, x in enumerate(operands))
    used = ", ".join(f"%{i}" for i in range(len(operands)))
    listed = ", ".join(f"{key} = {attribute_text(value)}" for key, value in attributes.items())
    braces = f" {{{listed}}}" if listed else ""
    n = len(operands)
    text = (
        f"mica graph 1\n\ngraph @main({parameters}) {{\n"
        f"    %{n} = {name}({used}){braces} : {type_text(expected)}\n"
        f"    return %{n}\n}}\n"
    )
    return run_text(text, *operands)[0]


def assert_same(got, expected, ulps, at_least=0.0):
    """Equal, or within some ulps; of numbers smaller than `at_least`, within its ulps."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if expected.dtype.kind != "f" or ulps == 0:
        np.testing.assert_array_equal(got, expected)
        if expected.dtype.kind == "f":
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[np.isinf(expected)], expected[np.isinf(expected)])
    error = np.abs(got[finite].astype(np.longdouble) - expected[finite].astype(np.longdouble))
    scale = np.maximum(np.abs(expected[finite]), expected.dtype.type(at_least))
    with np.errstate(over="ignore"):  # the ulp of the largest number
        assert np.all(error <= ulps * np.spacing(scale)), float(np.max(error))


# ---- elementwise rows ----------------------------------------------------------------------------


def float_examples(dtype):
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-30, 20.0, -20.0, 88.0]
    edges += [np.inf, -np.inf, np.nan, np.finfo(dtype).tiny / 4, np.finfo(dtype).max]
    draws = np.random.default_rng(7).uniform(-4, 4, 40)
    return np.concatenate([edges, draws]).astype(dtype)


def integer_examples(dtype):
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1]
    if info.min < 0:
        edges += [-1, -2, -7]
    return np.array(edges, dtype=dtype)


def examples(name):
    dtype = NAMES[name]
    if name == "bool":
        return np.array([False, True])
    if name.startswith("f"):
        return float_examples(dtype)
    return integer_examples(dtype)


def pairs(name):
    a, b = np.array(list(itertools.product(examples(name), repeat=2)), dtype=NAMES[name]).T
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


def in_f64(function):
    """Compute f32 in f64 and round once; f64 as it is."""

    def rounded(*operands):
        return function(*[x.astype(np.float64) for x in operands]).astype(operands[0].dtype)

    return rounded


def divide(a, b):
    if a.dtype.kind == "f":
        return a / b
    with np.errstate(all="ignore"):
        safe = np.where(b == 0, 1, b)
        quotient = np.abs(a.astype(object)) // np.abs(safe.astype(object))
        negative = (a.astype(object) < 0) != (safe.astype(object) < 0)
        exact = np.where(negative, -quotient, quotient)
        exact = np.where(b == 0, -1, exact)
    return wrap(exact, a.dtype)


def remainder(a, b):
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    safe = np.where(b == 0, 1, b)
    exact = np.abs(a.astype(object)) % np.abs(safe.astype(object))
    exact = np.where(a.astype(object) < 0, -exact, exact)
    return wrap(np.where(b == 0, a.astype(object), exact), a.dtype)


def wrap(exact, dtype):
    bits = 8 * dtype.itemsize
    values = [int(v) % (1 << bits) for v in exact.ravel()]
    return np.array(values, dtype=f"u{dtype.itemsize}").view(dtype).reshape(exact.shape)


def larger(a, b):
    result = np.maximum(a, b)
    if a.dtype.kind == "f":
        both_zero = (a == 0) & (b == 0)
        result = np.where(both_zero, np.where(np.signbit(a) & np.signbit(b), -0.0, 0.0), result)
    return result.astype(a.dtype)


def smaller(a, b):
    if a.dtype.kind == "f":
        return -larger(-a, -b)
    return np.minimum(a, b)


def sign(x):
    if x.dtype.kind != "f":
        return np.sign(x)
    return np.where(x == 0, x, np.sign(x)).astype(x.dtype)


def logistic(x):
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


def digamma(x):
    return np.where((x < 0) & (x == np.floor(x)), np.nan, special.digamma(x))


def igamma(a, x):
    """scipy's, whose answers for the smallest and the largest a are not the limits."""
    y = np.where((a > 0) & (a < 1e-300) & (x > 0), 1.0, special.gammainc(a, x))
    return np.where((a > 1e300) & (x >= 0) & (x < a), 0.0, y)


def lgamma(x):
    """Gamma(x) is 1/x near 0, where scipy overflows."""
    near = np.abs(x) < 1e-300
    return np.where(near, -np.log(np.abs(x)), np.where(np.isinf(x), np.inf, special.gammaln(x)))


def popcount(x):
    bits = 8 * x.dtype.itemsize
    return np.array([bin(int(v) % (1 << bits)).count("1") for v in x], dtype=x.dtype)


def clz(x):
    bits = 8 * x.dtype.itemsize
    return np.array([bits - (int(v) % (1 << bits)).bit_length() for v in x], dtype=x.dtype)


def signed(value, bits):
    """The same bits as a two's complement number."""
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def shifted(function):
    """Of Python's integers, whose shifts know no width; negative amounts count as large."""

    def on_arrays(a, b):
        bits = 8 * a.dtype.itemsize
        amounts = [int(n) if 0 <= n < bits else bits for n in b]
        exact = [function(int(x), n, bits) for x, n in zip(a, amounts, strict=True)]
        return wrap(np.array(exact, dtype=object), a.dtype)

    return on_arrays


# name: (function, ulps allowed in f32, in f64)
UNARY = {
    "neg": (np.negative, 0, 0),
    "abs": (np.abs, 0, 0),
    "sign": (sign, 0, 0),
    "floor": (np.floor, 0, 0),
    "ceil": (np.ceil, 0, 0),
    "round": (np.rint, 0, 0),
    "exp": (in_f64(np.exp), 1, 2),
    "expm1": (in_f64(np.expm1), 1, 2),
    "log": (in_f64(np.log), 1, 2),
    "log1p": (in_f64(np.log1p), 1, 2),
    "sqrt": (np.sqrt, 0, 0),
    "rsqrt": (in_f64(lambda x: 1 / np.sqrt(x)), 1, 2),
    "cbrt": (in_f64(np.cbrt), 1, 4),
    "sin": (in_f64(np.sin), 1, 2),
    "cos": (in_f64(np.cos), 1, 2),
    "tan": (in_f64(np.tan), 1, 4),
    "asin": (in_f64(np.arcsin), 1, 2),
    "acos": (in_f64(np.arccos), 1, 2),
    "atan": (in_f64(np.arctan), 1, 2),
    "sinh": (in_f64(np.sinh), 1, 4),
    "cosh": (in_f64(np.cosh), 1, 4),
    "tanh": (in_f64(np.tanh), 1, 4),
    "asinh": (in_f64(np.arcsinh), 1, 4),
    "acosh": (in_f64(np.arccosh), 1, 4),
    "atanh": (in_f64(np.arctanh), 1, 4),
    "erf": (in_f64(special.erf), 1, 4),
    "erfc": (in_f64(special.erfc), 1, 16),
    "erfinv": (in_f64(special.erfinv), 1, 8),
    "lgamma": (in_f64(lgamma), 1, 8),
    "digamma": (in_f64(digamma), 1, 64),
    "logistic": (in_f64(logistic), 1, 4),
    "not": (np.invert, 0, 0),
    "popcount": (popcount, 0, 0),
    "clz": (clz, 0, 0),
    "real": (np.real, 0, 0),
    "imag": (np.imag, 0, 0),
    "conj": (np.conj, 0, 0),
}
BINARY = {
    "add": (np.add, 0, 0),
    "sub": (np.subtract, 0, 0),
    "mul": (np.multiply, 0, 0),
    "div": (divide, 0, 0),
    "rem": (remainder, 0, 0),
    "pow": (in_f64(np.power), 1, 2),
    "max": (larger, 0, 0),
    "min": (smaller, 0, 0),
    "atan2": (in_f64(np.arctan2), 1, 2),
    "igamma": (in_f64(igamma), 1, 256),
    "and": (np.bitwise_and, 0, 0),
    "or": (np.bitwise_or, 0, 0),
    "xor": (np.bitwise_xor, 0, 0),
    "shl": (shifted(lambda x, n, bits: x << n if n < bits else 0), 0, 0),
    "shr": (shifted(lambda x, n, bits: x % (1 << bits) >> n), 0, 0),
    "sar": (shifted(lambda x, n, bits: signed(x, bits) >> n), 0, 0),
    "nextafter": (np.nextafter, 0, 0),
}
COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary_rows_agree_with_numpy(name):
    function, in_f32, in_f64_ = UNARY[name]
    for dtype in SETS[TABLE[name]["dtypes"]]:
        x = examples(dtype)
        with np.errstate(all="ignore"):
            expected = np.asarray(function(x))
        ulps = {"f32": in_f32, "f64": in_f64_}.get(dtype, 0)
        at_least = 1.0 if name in ("lgamma", "digamma") else 0.0  # their zeros are ill-conditioned
        assert_same(run_op(name, [x], {}, expected), expected, ulps, at_least)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_rows_agree_with_numpy(name):
    function, in_f32, in_f64_ = BINARY[name]
    for dtype in SETS[TABLE[name]["dtypes"]]:
        a, b = pairs(dtype)
        with np.errstate(all="ignore"):
            expected = np.asarray(function(a, b))
        ulps = {"f32": in_f32, "f64": in_f64_}.get(dtype, 0)
        at_least = 1e-3 if name == "igamma" else 0.0  # its tails are ill-conditioned
        assert_same(run_op(name, [a, b], {}, expected), expected, ulps, at_least)


# ---- every other row: examples as (operands, attributes, expected, ulps) -------------------------

R = np.random.default_rng(3)


def draw(name, *shape):
    dtype = NAMES[name]
    if name == "bool":
        return R.integers(0, 2, shape).astype(np.bool_)
    if name.startswith("f"):
        return R.uniform(-2, 2, shape).astype(dtype)
    if name.startswith("c"):
        return (R.uniform(-2, 2, shape) + 1j * R.uniform(-2, 2, shape)).astype(dtype)
    info = np.iinfo(dtype)
    return R.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def clamp_examples():
    for dtype in SETS["NUMBERS"]:
        x, low, high = draw(dtype, 5, 4), draw(dtype, 5, 4), draw(dtype, 5, 4)
        yield [x, low, high], {}, np.minimum(np.maximum(x, low), high), 0


def is_finite_examples():
    for dtype in SETS["FLOATS"]:
        yield [examples(dtype)], {}, np.isfinite(examples(dtype)), 0


def compare_examples():
    for dtype in SETS["ANY"]:
        a, b = pairs(dtype)
        for direction, function in COMPARISONS.items():
            yield [a, b], {"direction": direction}, function(a, b), 0


def select_examples():
    for dtype in SETS["ANY"]:
        p, a, b = draw("bool", 3, 4), draw(dtype, 3, 4), draw(dtype, 3, 4)
        yield [p, a, b], {}, np.where(p, a, b), 0


def complex_examples():
    for dtype in SETS["F32_F64"]:
        a, b = pairs(dtype)
        expected = np.empty(a.shape, NAMES["c64" if dtype == "f32" else "c128"])
        expected.real, expected.imag = a, b
        yield [a, b], {}, expected, 0


def converted(x, target):
    """What numpy gives, except that floats saturate and NaN becomes 0 on the way to integers."""
    dtype = np.dtype(NAMES[target])
    if dtype.kind not in "iu" or x.dtype.kind != "f":
        return x.astype(dtype)
    info = np.iinfo(dtype)
    values = [
        0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
        for v in x.astype(np.float64)
    ]
    return np.array(values, dtype=dtype)


def convert_examples():
    for source, target in itertools.product(SETS["ANY"], [*SETS["ANY"], "f16"]):
        x = examples(source)
        with np.errstate(all="ignore"):
            yield [x], {"dtype": target}, converted(x, target), 0


def reduced(x, exponent_bits, mantissa_bits):
    """By multiples of the last place that x has with so many bits."""
    most = 2 ** (exponent_bits - 1) - 1
    wide = x.astype(np.longdouble)
    exponent = np.maximum(np.frexp(wide)[1] - 1, 1 - most)
    place = np.ldexp(np.longdouble(1), exponent - mantissa_bits)
    y = np.where(np.isfinite(wide), np.rint(wide / place) * place, wide)
    y = np.where(np.abs(y) >= np.ldexp(np.longdouble(1), most + 1), np.copysign(np.inf, y), y)
    return y.astype(x.dtype)


def reduce_precision_examples():
    formats = [(5, 10, np.float16), (8, 23, np.float32), (11, 52, np.float64)]
    formats += [(4, 3, None), (2, 1, None), (8, 7, None), (3, 40, None)]
    for dtype, (exponent, mantissa, through) in itertools.product(SETS["FLOATS"], formats):
        x = examples(dtype)
        with np.errstate(all="ignore"):
            x = np.concatenate([x, x * 1e-5, x * 1e3]).astype(NAMES[dtype])
            expected = reduced(x, exponent, mantissa)
            if through:
                expected = x.astype(through).astype(x.dtype)
        yield [x], {"exponent_bits": exponent, "mantissa_bits": mantissa}, expected, 0


def bitcast_examples():
    names = [*INTEGERS, "f16", "f32", "f64"]
    for source, target in itertools.product(names, repeat=2):
        wider = max(np.dtype(NAMES[target]).itemsize // np.dtype(NAMES[source]).itemsize, 1)
        x = draw(source, 3, wider)
        expected = x.view(NAMES[target])
        if wider > 1:
            expected = expected[:, 0]
        elif expected.shape != x.shape:
            expected = expected[:, None, :]
        yield [x], {"dtype": target}, np.ascontiguousarray(expected), 0


def iota_examples():
    for dtype in SETS["NUMBERS"]:
        expected = np.broadcast_to(np.arange(5, dtype=NAMES[dtype])[None, :, None], (2, 5, 3))
        yield [], {"shape": (2, 5, 3), "axis": 1, "dtype": dtype}, expected, 0


def broadcast_examples():
    for dtype in SETS["ANY"]:
        x = draw(dtype, 2, 1)
        expected = np.broadcast_to(x[None], (3, 2, 4))
        yield [x], {"shape": (3, 2, 4), "axes": (1, 2)}, expected, 0


def reshape_examples():
    for dtype in SETS["ANY"]:
        x = draw(dtype, 2, 6)
        yield [x], {"shape": (3, 4)}, x.reshape(3, 4), 0


def transpose_examples():
    for dtype in SETS["ANY"]:
        x = draw(dtype, 2, 3, 4)
        yield [x], {"permutation": (2, 0, 1)}, np.ascontiguousarray(x.transpose(2, 0, 1)), 0


def slice_examples():
    for dtype in SETS["ANY"]:
        x = draw(dtype, 5, 7)
        attributes = {"start": (1, 0), "limit": (4, 7), "stride": (2, 3)}
        yield [x], attributes, np.ascontiguousarray(x[1:4:2, 0:7:3]), 0


def pad_examples():
    for dtype in SETS["ANY"]:
        x, value = draw(dtype, 3, 4), draw(dtype)
        expected = np.full((3 + 2 + 1, 4 + 3 * 2 + 0 - 1), value, dtype=x.dtype)
        expected[2:5, 0::3] = x[:, :3]
        attributes = {"low": (2, 0), "high": (1, -1), "interior": (0, 2)}
        yield [x, np.asarray(value)], attributes, expected, 0


def concat_examples():
    for dtype in SETS["ANY"]:
        parts = [draw(dtype, 2, 3), draw(dtype, 2, 1), draw(dtype, 2, 0)]
        yield parts, {"axis": 1}, np.concatenate(parts, axis=1), 0


def reverse_examples():
    for dtype in SETS["ANY"]:
        x = draw(dtype, 2, 3, 4)
        yield [x], {"axes": (2, 0)}, np.ascontiguousarray(np.flip(x, (2, 0))), 0


def dynamic_slice_examples():
    for dtype, start in itertools.product(SETS["ANY"], [(0, 0), (1, 3), (9, -4)]):
        x = draw(dtype, 4, 6)
        i, j = np.clip(start[0], 0, 2), np.clip(start[1], 0, 3)
        expected = np.ascontiguousarray(x[i : i + 2, j : j + 3])
        yield [x, np.array(start, np.int32)], {"sizes": (2, 3)}, expected, 0


def dynamic_update_slice_examples():
    for dtype, start in itertools.product(SETS["ANY"], [(0, 0), (1, 3), (9, -4)]):
        x, update = draw(dtype, 4, 6), draw(dtype, 2, 3)
        i, j = np.clip(start[0], 0, 2), np.clip(start[1], 0, 3)
        expected = x.copy()
        expected[i : i + 2, j : j + 3] = update
        yield [x, update, np.array(start, np.int64)], {}, expected, 0


NO_BATCH = {"operand_batch_dims": (), "indices_batch_dims": ()}


def gather_examples():
    rows = {"offset_dims": (1,), "collapsed_dims": (0,), **NO_BATCH, "start_map": (0,)}
    rows |= {"index_vector_dim": 2, "slice_sizes": (1, 6)}
    for dtype in SETS["ANY"]:
        x, i = draw(dtype, 4, 6), np.array([[0, 3, 3], [-5, 9, 1]], np.int32)
        wide = {**rows, "offset_dims": (2,)}
        yield [x, i], {**wide, "mode": "clip"}, np.take(x, i, 0, mode="clip"), 0
        inside = ((i >= 0) & (i < 4))[..., None]
        filled = np.where(inside, np.take(x, i, 0, mode="clip"), np.zeros((), x.dtype))
        yield [x, i], {**wide, "mode": "fill"}, filled, 0
        columns = {**wide, "offset_dims": (0,), "collapsed_dims": (1,), "start_map": (1,)}
        columns |= {"slice_sizes": (4, 1), "mode": "clip"}
        yield [x, i], columns, np.take(x, i, 1, mode="clip"), 0
        # windows of 2 x 3 that begin at (row, column)
        start = np.array([[0, 1], [2, 3], [7, -1]], np.int64)
        attributes = {"offset_dims": (0, 2), "collapsed_dims": (), **NO_BATCH}
        attributes |= {"start_map": (0, 1), "index_vector_dim": 1, "slice_sizes": (2, 3)}
        begins = np.clip(start, 0, [2, 3])
        windows = np.stack([x[r : r + 2, c : c + 3] for r, c in begins], axis=1)
        yield [x, start], {**attributes, "mode": "clip"}, windows, 0
        j = np.array([[0, 5], [2, 2], [1, 0], [4, 3]], np.uint8)
        along = {"offset_dims": (), "collapsed_dims": (1,), "operand_batch_dims": (0,)}
        along |= {"indices_batch_dims": (0,), "start_map": (1,), "index_vector_dim": 2}
        along |= {"slice_sizes": (1, 1), "mode": "clip"}
        yield [x, j], along, np.take_along_axis(x, j.astype(np.int64), 1), 0


def scatter_examples():
    rows = {"update_window_dims": (1,), "inserted_window_dims": (0,), **NO_BATCH}
    rows |= {"scatter_map": (0,), "index_vector_dim": 1}
    kinds = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for dtype in SETS["NUMBERS"]:
        x, i = draw(dtype, 4, 6), np.array([3, 0, 3, 9, -1, 3], np.int32)
        updates = draw(dtype, 6, 6)
        for kind, function in kinds.items():
            expected = x.copy()
            with np.errstate(all="ignore"):
                function.at(expected, np.clip(i, 0, 3), updates)
            yield [x, i, updates], {"kind": kind, **rows, "mode": "clip"}, expected, 0
            expected, inside = x.copy(), (i >= 0) & (i < 4)
            with np.errstate(all="ignore"):
                function.at(expected, i[inside], updates[inside])
            yield [x, i, updates], {"kind": kind, **rows, "mode": "fill"}, expected, 0
    for dtype in SETS["ANY"]:
        x, i = draw(dtype, 4, 6), np.array([3, 0, 3, 9, -1, 3], np.int32)
        updates = draw(dtype, 6, 6)
        expected = x.copy()
        for row, update in zip(np.clip(i, 0, 3), updates, strict=True):
            expected[row] = update
        yield [x, i, updates], {"kind": "set", **rows, "mode": "clip"}, expected, 0


def dot_examples():
    none = {"lhs_batch": (), "rhs_batch": ()}
    for dtype in SETS["NUMBERS"]:
        a, b = draw(dtype, 3, 5), draw(dtype, 5, 4)
        with np.errstate(all="ignore"):
            yield [a, b], {"lhs_contract": (1,), "rhs_contract": (0,), **none}, a @ b, 64
            a, b = draw(dtype, 5, 2, 3), draw(dtype, 3, 5, 4)
            attributes = {"lhs_contract": (0,), "rhs_contract": (1,)}
            attributes |= {"lhs_batch": (2,), "rhs_batch": (0,)}
            expected = np.einsum("kib,bkj->bij", a, b).astype(a.dtype)
            yield [a, b], attributes, expected, 64


def correlate(x, kernel, strides, low, high, lhs_dilation, rhs_dilation, groups):
    """N01C with 01IO by scipy: dilate, pad, correlate channel by channel, stride."""
    n, h, w, c = x.shape
    kh, kw, inputs, outputs = kernel.shape
    spread = np.zeros((n, (h - 1) * lhs_dilation[0] + 1, (w - 1) * lhs_dilation[1] + 1, c))
    spread[:, :: lhs_dilation[0], :: lhs_dilation[1]] = x
    padded = np.pad(spread, ((0, 0), (low[0], high[0]), (low[1], high[1]), (0, 0)))
    window = ((kh - 1) * rhs_dilation[0] + 1, (kw - 1) * rhs_dilation[1] + 1)
    taps = np.zeros((*window, inputs, outputs))
    taps[:: rhs_dilation[0], :: rhs_dilation[1]] = kernel
    planes = []
    for example, o in itertools.product(range(n), range(outputs)):
        first = o // (outputs // groups) * inputs
        plane = sum(
            signal.correlate2d(padded[example, :, :, first + i], taps[:, :, i, o], mode="valid")
            for i in range(inputs)
        )
        planes.append(plane[:: strides[0], :: strides[1]])
    shape = (n, outputs, *planes[0].shape)
    return np.ascontiguousarray(np.stack(planes).reshape(shape).transpose(0, 2, 3, 1))


def conv_examples():
    settings = [
        ((1, 1), (0, 0), (0, 0), (1, 1), (1, 1), 1),
        ((2, 1), (1, 0), (2, 1), (1, 1), (1, 1), 1),
        ((1, 2), (1, 2), (1, 0), (2, 3), (2, 1), 1),
        ((1, 1), (1, 1), (1, 1), (1, 1), (1, 1), 2),
    ]
    for dtype, setting in itertools.product(SETS["FLOATS"], settings):
        strides, low, high, lhs_dilation, rhs_dilation, groups = setting
        x, kernel = draw(dtype, 2, 5, 6, 4), draw(dtype, 3, 2, 4 // groups, 6)
        attributes = {
            "layout": "N01C,01IO,N01C",
            "strides": strides,
            "low": low,
            "high": high,
            "lhs_dilation": lhs_dilation,
            "rhs_dilation": rhs_dilation,
            "groups": groups,
            "batch_groups": 1,
        }
        expected = correlate(x, kernel, *setting).astype(x.dtype)
        yield [x, kernel], attributes, expected, 512


def reduce_examples():
    kinds = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
    for dtype, (kind, function) in itertools.product(SETS["NUMBERS"], kinds.items()):
        x = draw(dtype, 3, 4, 5)
        wraps = kind in ("sum", "prod")
        with np.errstate(all="ignore"):
            expected = function(x, axis=(0, 2), **({"dtype": x.dtype} if wraps else {}))
        ulps = 256 if wraps else 0
        yield [x], {"kind": kind, "axes": (0, 2)}, np.asarray(expected, x.dtype), ulps
    for dtype in SETS["BITS"]:
        x = draw(dtype, 3, 4)
        for kind, function in {"and": np.bitwise_and, "or": np.bitwise_or}.items():
            yield [x], {"kind": kind, "axes": (0,)}, function.reduce(x, axis=0), 0
    for dtype in SETS["FLOATS"]:
        x = draw(dtype, 2, 0)
        for kind, value in {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}.items():
            yield [x], {"kind": kind, "axes": (1,)}, np.full(2, value, x.dtype), 0


def arg_examples(function):
    for dtype in SETS["NUMBERS"]:
        x = draw(dtype, 3, 7)
        yield [x], {"axis": 1, "dtype": "i32"}, function(x, axis=1).astype(np.int32), 0
    x = np.array([[1, np.nan, 3, np.nan], [2, 5, 5, -1], [0, -0.0, -3, -3]], np.float32)
    yield [x], {"axis": 1, "dtype": "i64"}, function(x, axis=1).astype(np.int64), 0


REDUCERS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def identity(kind, dtype):
    if kind in ("sum", "prod"):
        return dtype.type(kind == "prod")
    if dtype.kind == "f":
        return dtype.type(-np.inf if kind == "max" else np.inf)
    return getattr(np.iinfo(dtype), "min" if kind == "max" else "max")


def cumulative_examples():
    for dtype, (kind, function) in itertools.product(SETS["NUMBERS"], REDUCERS.items()):
        x = draw(dtype, 3, 5, 2)
        before = np.full((3, 1, 2), identity(kind, x.dtype), x.dtype)
        ulps = 256 if kind in ("sum", "prod") else 0
        for reverse, exclusive in itertools.product((0, 1), (0, 1)):
            terms = x[:, ::-1] if reverse else x
            with np.errstate(all="ignore"):
                totals = function.accumulate(terms, axis=1, dtype=x.dtype)
            if exclusive:
                totals = np.concatenate([before, totals[:, :-1]], axis=1)
            expected = np.ascontiguousarray(totals[:, ::-1] if reverse else totals)
            attributes = {"kind": kind, "axis": 1, "reverse": reverse, "exclusive": exclusive}
            yield [x], attributes, expected, ulps


# window, strides, low, high, base_dilation, window_dilation
WINDOWS = [
    ((2, 3), (1, 1), (0, 0), (0, 0), (1, 1), (1, 1)),
    ((3, 2), (2, 3), (1, 0), (2, 1), (1, 1), (1, 1)),
    ((2, 3), (1, 2), (1, 2), (2, 1), (2, 3), (2, 1)),
]


def windows_of(x, fill, window, strides, low, high, base, dilation):
    """Views of all windows of a matrix: (windows, windows, in a window, in a window)."""
    shape = [(size - 1) * step + 1 for size, step in zip(x.shape, base, strict=True)]
    spread = np.full(shape, fill, x.dtype)
    spread[:: base[0], :: base[1]] = x
    padded = np.pad(spread, list(zip(low, high, strict=True)), constant_values=fill)
    extent = [(size - 1) * step + 1 for size, step in zip(window, dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(padded, extent)
    return views[:: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]


def reduce_window_examples():
    names = ("window", "strides", "low", "high", "base_dilation", "window_dilation")
    for dtype, kind, setting in itertools.product(SETS["NUMBERS"], REDUCERS, WINDOWS):
        x = draw(dtype, 5, 6)
        views = windows_of(x, identity(kind, x.dtype), *setting)
        with np.errstate(all="ignore"):
            expected = REDUCERS[kind].reduce(views, axis=(2, 3), dtype=x.dtype)
        ulps = 256 if kind in ("sum", "prod") else 0
        yield [x], {"kind": kind, **dict(zip(names, setting, strict=True))}, expected, ulps


def select_and_scatter_examples():
    for dtype, kind, setting in itertools.product(SETS["NUMBERS"], ("max", "min"), WINDOWS[:2]):
        window, strides, low, high, _, _ = setting
        x = draw(dtype, 5, 6)
        if x.dtype.kind == "f":
            x[0, 0] = np.nan
        places = np.arange(30).reshape(5, 6)
        inside = windows_of(places, -1, *setting)
        views = windows_of(x, identity(kind, x.dtype), *setting)
        source = draw(dtype, *views.shape[:2])
        expected = np.zeros_like(x)
        for index in np.ndindex(source.shape):
            elements = inside[index] >= 0
            choose = np.argmax if kind == "max" else np.argmin
            place = inside[index][elements][choose(views[index][elements])]
            with np.errstate(all="ignore"):
                expected.ravel()[place] += source[index]
        attributes = {"select": kind, "window": window, "strides": strides}
        attributes |= {"low": low, "high": high}
        yield [x, source], attributes, expected, 8


def philox(key, counter):
    """One block by the published definition, in Python's integers."""
    k, c = [int(v) for v in key], [int(v) for v in counter]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def rng_bits_examples():
    key = np.array([0xA4093822, 0x299F31D0], np.uint32)
    for first in (0x243F6A88, 0xFFFFFFFF):
        counter = np.array([first, 0xFFFFFFFF, 0xFFFFFFFF, 1], np.uint32)
        start = sum(int(word) << (32 * i) for i, word in enumerate(counter))
        blocks = [
            philox(key, [(start + k >> (32 * i)) & 0xFFFFFFFF for i in range(4)]) for k in range(3)
        ]
        words = np.array(blocks, np.uint32).ravel()
        yield [key, counter], {"shape": (2, 5), "dtype": "u32"}, words[:10].reshape(2, 5), 0
        yield [key, counter], {"shape": (5,), "dtype": "u64"}, words.view(np.uint64)[:5], 0


def wide_dtype(array):
    return np.complex128 if array.dtype.kind == "c" else np.float64


def solve_examples():
    flags = itertools.product(SETS["F32_F64_COMPLEX"], [0, 1], [0, 1], [0, 1], [0, 1])
    for dtype, left, lower, transpose, unit in flags:
        a = draw(dtype, 2, 5, 5) + 6 * np.eye(5, dtype=NAMES[dtype])
        b = draw(dtype, 2, 5, 3) if left else draw(dtype, 2, 3, 5)
        triangle = (np.tril if lower else np.triu)(a).astype(wide_dtype(a))
        if unit:
            triangle[:, range(5), range(5)] = 1
        if transpose:
            triangle = triangle.swapaxes(1, 2)
        inverse = np.linalg.inv(triangle)
        expected = (inverse @ b if left else b @ inverse).astype(b.dtype)
        attributes = {"left": left, "lower": lower, "transpose": transpose, "unit": unit}
        yield [a, b], attributes, expected, 64


def cholesky_examples():
    for dtype in SETS["F32_F64_COMPLEX"]:
        a = draw(dtype, 2, 3, 6, 6)
        a = (a @ a.swapaxes(-1, -2).conj() + np.eye(6)).astype(NAMES[dtype])
        garbage = np.triu(np.full((6, 6), np.nan, NAMES[dtype]), 1)
        expected = np.linalg.cholesky(a.astype(wide_dtype(a))).astype(a.dtype)
        bound = 256 if dtype in SETS["F32_F64"] else 1024
        yield [np.where(np.tri(6, dtype=bool), a, garbage)], {}, expected, bound
        a[1, 2, 3, 3] = -1
        expected = expected.copy()
        expected[1, 2] = np.nan if dtype in SETS["F32_F64"] else complex(np.nan, np.nan)
        yield [a], {}, expected, bound


FFT_SHAPES = [(1,), (3, 2), (2, 7), (2, 12), (3, 101), (2, 3, 5), (4, 6), (2, 3, 4, 6)]


def fft_examples():
    parts = {"f32": "c64", "f64": "c128"}
    for dtype, shape in itertools.product(SETS["F32_F64"], FFT_SHAPES):
        for n_axes in range(1, min(3, len(shape)) + 1):
            axes, lengths = range(-n_axes, 0), shape[-n_axes:]
            real = draw(dtype, *shape)
            number = NAMES[parts[dtype]]
            x = (real + 1j * draw(dtype, *shape)).astype(number)
            half = x[..., : shape[-1] // 2 + 1]
            bound = 200

            def attributes(kind, lengths=lengths):
                return {"kind": kind, "lengths": lengths}

            wide = x.astype(np.complex128)
            expected = np.fft.fftn(wide, axes=axes).astype(number)
            yield [x], attributes("fft"), expected, bound
            expected = np.fft.ifftn(wide, axes=axes).astype(number)
            yield [x], attributes("ifft"), expected, bound
            expected = np.fft.rfftn(real.astype(np.float64), axes=axes).astype(number)
            yield [real], attributes("rfft"), expected, bound
            expected = np.fft.irfftn(half.astype(np.complex128), s=lengths, axes=axes)
            yield [half], attributes("irfft"), expected.astype(NAMES[dtype]), bound


EXAMPLES = {
    "fft": fft_examples,
    "triangular_solve": solve_examples,
    "cholesky": cholesky_examples,
    "clamp": clamp_examples,
    "is_finite": is_finite_examples,
    "compare": compare_examples,
    "select": select_examples,
    "complex": complex_examples,
    "convert": convert_examples,
    "reduce_precision": reduce_precision_examples,
    "bitcast": bitcast_examples,
    "iota": iota_examples,
    "broadcast": broadcast_examples,
    "reshape": reshape_examples,
    "transpose": transpose_examples,
    "slice": slice_examples,
    "pad": pad_examples,
    "concat": concat_examples,
    "reverse": reverse_examples,
    "dynamic_slice": dynamic_slice_examples,
    "dynamic_update_slice": dynamic_update_slice_examples,
    "gather": gather_examples,
    "scatter": scatter_examples,
    "dot": dot_examples,
    "conv": conv_examples,
    "reduce": reduce_examples,
    "argmax": lambda: arg_examples(np.argmax),
    "argmin": lambda: arg_examples(np.argmin),
    "cumulative": cumulative_examples,
    "reduce_window": reduce_window_examples,
    "select_and_scatter": select_and_scatter_examples,
    "rng_bits": rng_bits_examples,
}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_rows_with_attributes_agree_with_numpy(name):
    count = 0
    for operands, attributes, expected, ulps in EXAMPLES[name]():
        expected = np.asarray(expected)
        got = run_op(name, [np.asarray(x) for x in operands], attributes, expected)
        if ulps:
            tolerance = ulps * np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
            scale = np.nanmax(np.abs(expected)) if expected.dtype.kind in "fc" else 0
            np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)
            assert got.dtype == expected.dtype
        else:
            assert_same(got, expected, 0)
        count += 1
    assert count > 0


# ---- programs ------------------------------------------------------------------------------------

BRANCHES = """
graph @sine(%0: f64[3], %1: f64[3]) {
    %2 = sin(%0) : f64[3]
    %3 = mul(%2, %1) : f64[3]
    return %3
}

graph @sum(%0: f64[3], %1: f64[3]) {
    %2 = add(%0, %1) : f64[3]
    return %2
}
"""


def run_program(text, *arrays):
    return run_text("mica graph 1\n" + text, *arrays)


X = np.array([0.5, -1.25, 2.0])
Y = np.array([3.0, 0.75, -1.5])


def program_constant():
    line = "%0 = constant() {value = i32[2] (1, -2)} : i32[2]"
    text = f"graph @main() {{\n    {line}\n    return %0\n}}\n"
    np.testing.assert_array_equal(run_program(text)[0], np.array([1, -2], np.int32))


def program_cond():
    text = BRANCHES + (
        "graph @main(%0: bool[], %1: f64[3], %2: f64[3]) {\n"
        "    %3 = cond(%0, %1, %2) @sine @sum : f64[3]\n    return %3\n}\n"
    )
    np.testing.assert_allclose(run_program(text, np.array(True), X, Y)[0], np.sin(X) * Y, 1e-15)
    np.testing.assert_array_equal(run_program(text, np.array(False), X, Y)[0], X + Y)


def program_case():
    text = BRANCHES + (
        "graph @main(%0: i32[], %1: f64[3], %2: f64[3]) {\n"
        "    %3 = case(%0, %1, %2) @sine @sum : f64[3]\n    return %3\n}\n"
    )
    for index, expected in [(0, np.sin(X) * Y), (1, X + Y), (2, X + Y), (-1, X + Y)]:
        got = run_program(text, np.array(index, np.int32), X, Y)[0]
        np.testing.assert_allclose(got, expected, 1e-15)


def program_while():
    text = """
graph @below(%0: i64[], %1: i64[], %2: i64[]) {
    %3 = compare(%1, %0) {direction = "lt"} : bool[]
    return %3
}

graph @fibonacci(%0: i64[], %1: i64[], %2: i64[]) {
    %3 = add(%1, %2) : i64[]
    return %2, %3
}

graph @main(%0: i64[], %1: i64[], %2: i64[]) {
    %3:2 = while(%0, %1, %2) @below @fibonacci {consts = 1, bookkeeping = 0} : (i64[], i64[])
    return %3, %3.1
}
"""
    got = run_program(text, np.array(1000), np.array(0), np.array(1))
    assert [int(v) for v in got] == [1597, 2584]


def program_scan():
    text = """
graph @step(%0: f64[], %1: f64[]) {
    %2 = add(%0, %1) : f64[]
    return %2, %2
}

graph @main(%0: f64[], %1: f64[3]) {
    %2:2 = scan(%0, %1) @step {consts = 0, carry = 1, length = 3, reverse = 0} : (f64[], f64[3])
    %3:2 = scan(%0, %1) @step {consts = 0, carry = 1, length = 3, reverse = 1} : (f64[], f64[3])
    return %2, %2.1, %3.1
}
"""
    last, forwards, backwards = run_program(text, np.array(0.0), X)
    np.testing.assert_allclose(last, X.sum(), 1e-15)
    np.testing.assert_allclose(forwards, np.cumsum(X), 1e-15)
    np.testing.assert_allclose(backwards, np.cumsum(X[::-1])[::-1], 1e-15)


def composite(line):
    return (
        BRANCHES
        + """
graph @vjp(%0: f64[3], %1: f64[3], %2: f64[3], %3: f64[3]) {
    return %3, %3
}

"""
        + f"graph @main(%0: f64[3], %1: f64[3]) {{\n    {line}\n    return %2\n}}\n"
    )


def program_call():
    attributes = '{name = "s", vjp = "", linear = 0, config = ""}'
    text = composite(f"%2 = call(%0, %1) @sine {attributes} : f64[3]")
    np.testing.assert_allclose(run_program(text, X, Y)[0], np.sin(X) * Y, 1e-15)


def program_custom_gradient():
    text = composite("%2 = custom_gradient(%0, %1) @sine @vjp : f64[3]")
    np.testing.assert_allclose(run_program(text, X, Y)[0], np.sin(X) * Y, 1e-15)


def program_remat():
    text = composite("%2 = remat(%0, %1) @sum : f64[3]")
    np.testing.assert_array_equal(run_program(text, X, Y)[0], X + Y)


def program_barrier():
    text = "graph @main(%0: f64[3], %1: f64[3]) {\n    %2:2 = barrier(%0, %1) : (f64[3], f64[3])\n"
    got = run_program(text + "    return %2.1, %2\n}\n", X, Y)
    np.testing.assert_array_equal(got[0], Y)
    np.testing.assert_array_equal(got[1], X)


def program_lists():
    text = """
graph @main(%0: f64[3], %1: f64[3]) {
    %2 = constant() {value = list(f64[3])} : list(f64[3])
    %3 = list_push(%2, %0) : list(f64[3])
    %4 = list_push(%3, %1) : list(f64[3])
    %5:2 = list_pop(%4) : (list(f64[3]), f64[3])
    %6:2 = list_pop(%5) : (list(f64[3]), f64[3])
    %7:2 = list_pop(%6) : (list(f64[3]), f64[3])
    return %5.1, %6.1, %7.1
}
"""
    for got, expected in zip(run_program(text, X, Y), [Y, X, np.zeros(3)], strict=True):
        np.testing.assert_array_equal(got, expected)


def program_axis_index():
    batch = np.arange(6.0).reshape(3, 2)
    with mica.device("ref"):
        got = mica.vmap(
            lambda x: x * mica.convert(mica.axis_index(axis="rows"), dtype="f64"),
            axis_name="rows",
        )(mica.tensor(batch, device="ref"))
    np.testing.assert_array_equal(got.numpy(), batch * np.arange(3.0)[:, None])


def program_all_reduce():
    batch = np.arange(6.0).reshape(3, 2)
    for kind, function in {"sum": np.sum, "max": np.max, "min": np.min}.items():
        with mica.device("ref"):
            got = mica.vmap(
                lambda x, kind=kind: mica.all_reduce(x, kind=kind, axis="rows"), axis_name="rows"
            )(mica.tensor(batch, device="ref"))
        expected = np.broadcast_to(function(batch, axis=0), (3, 2))
        np.testing.assert_array_equal(got.numpy(), expected)


def collective(function, batch):
    with mica.device("ref"):
        return mica.vmap(function, axis_name="rows")(mica.tensor(batch, device="ref")).numpy()


def program_all_gather():
    batch = np.arange(12.0).reshape(3, 2, 2)
    for dim in range(2):
        got = collective(lambda x, dim=dim: mica.all_gather(x, axis="rows", size=3, dim=dim), batch)
        expected = np.concatenate(list(batch), axis=dim)
        np.testing.assert_array_equal(got, np.stack([expected] * 3))


def program_reduce_scatter():
    batch = np.random.default_rng(2).standard_normal((3, 6, 3))
    kinds = {"sum": np.sum, "max": np.max, "min": np.min}
    for (kind, function), dim in itertools.product(kinds.items(), range(2)):
        got = collective(
            lambda x, kind=kind, dim=dim: mica.reduce_scatter(
                x, kind=kind, axis="rows", size=3, dim=dim
            ),
            batch,
        )
        expected = np.stack(np.split(function(batch, axis=0), 3, axis=dim))
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def program_permute():
    batch = np.arange(6.0).reshape(3, 2) + 1
    got = collective(
        lambda x: mica.permute(x, axis="rows", size=3, sources=(0, 2), targets=(2, 1)), batch
    )
    np.testing.assert_array_equal(got, np.stack([np.zeros(2), batch[2], batch[0]]))


def program_broadcast_from():
    batch = np.arange(6.0).reshape(3, 2)
    got = collective(lambda x: mica.broadcast_from(x, axis="rows", size=3, source=1), batch)
    np.testing.assert_array_equal(got, np.stack([batch[1]] * 3))


def program_callback():
    seen = []

    def double(x):
        seen.append(np.asarray(x).copy())
        return 2 * np.asarray(x)

    with mica.device("ref"):
        function = mica.jit(lambda x: mica.callback(double, x, x) + x)
        got = function(mica.tensor(X, device="ref"))
    np.testing.assert_array_equal(got.numpy(), 3 * X)
    np.testing.assert_array_equal(seen[0], X)


def run_factors(line, dtype, shapes):
    """Each matrix, and what the op gives for the stack, in f64 or c128."""
    for shape in shapes:
        x = draw(dtype, 2, *shape)
        k = min(shape)
        real = {"c64": "f32", "c128": "f64"}.get(dtype, dtype)
        sizes = {"m": shape[0], "n": shape[1], "k": k, "t": dtype, "r": real}
        text = f"graph @main(%0: {dtype}[2,{shape[0]},{shape[1]}]) {{\n    %1{line}\n"
        for name, size in sizes.items():
            text = text.replace(f"<{name}>", str(size))
        count = int(line[1])
        names = ", ".join(f"%1.{i}" if i else "%1" for i in range(count))
        results = run_program(text + f"    return {names}\n}}\n", x)
        for b in range(2):
            wide = [np.asarray(y[b], wide_dtype(np.asarray(y))) for y in results]
            yield x[b].astype(wide_dtype(x)), wide


def tolerance_of(dtype):
    return {"rtol": 0, "atol": 400 * np.finfo(NAMES[dtype]).eps}


def program_lu():
    line = ":3 = lu(%0) : (<t>[2,<m>,<n>], i32[2,<k>], i32[2,<m>])"
    linalg = pytest.importorskip("scipy.linalg")
    for dtype in SETS["F32_F64_COMPLEX"]:
        for x, (packed, pivots, order) in run_factors(line, dtype, [(5, 5), (6, 3), (3, 6)]):
            k = min(x.shape)
            lower = np.tril(packed[:, :k], -1) + np.eye(*x.shape)[:, :k]
            product = lower @ np.triu(packed[:k])
            np.testing.assert_allclose(product, x[order.astype(int)], **tolerance_of(dtype))
            if x.shape[0] == x.shape[1]:
                expected, expected_pivots = linalg.lu_factor(x)
                np.testing.assert_allclose(packed, expected, **tolerance_of(dtype))
                np.testing.assert_array_equal(pivots, expected_pivots)


def program_qr():
    line = ":2 = qr(%0) {full = 0} : (<t>[2,<m>,<k>], <t>[2,<k>,<n>])"
    full = ":2 = qr(%0) {full = 1} : (<t>[2,<m>,<m>], <t>[2,<m>,<n>])"
    shapes = [(5, 5), (6, 3), (3, 6)]
    for dtype, (text, mode) in itertools.product(
        SETS["F32_F64_COMPLEX"], [(line, "reduced"), (full, "complete")]
    ):
        for x, (q, r) in run_factors(text, dtype, shapes):
            expected = np.linalg.qr(x, mode=mode)
            np.testing.assert_allclose(q, expected[0], **tolerance_of(dtype))
            np.testing.assert_allclose(r, expected[1], **tolerance_of(dtype))


def with_phases(vectors):
    """What columns have to be multiplied with so that the first element of at least 7/10 of the
    largest magnitude is positive, and real."""
    large = np.abs(vectors) >= 0.7 * np.abs(vectors).max(axis=0)
    first = vectors[large.argmax(axis=0), range(vectors.shape[1])]
    return first.conj() / np.abs(first)


def program_eigh():
    line = ":2 = eigh(%0) : (<r>[2,<n>], <t>[2,<n>,<n>])"
    for dtype in SETS["F32_F64_COMPLEX"]:
        for x, (values, vectors) in run_factors(line, dtype, [(5, 5), (2, 2), (9, 9)]):
            expected = np.linalg.eigh(x)
            np.testing.assert_allclose(values, expected[0], **tolerance_of(dtype))
            expected = expected[1] * with_phases(expected[1])
            np.testing.assert_allclose(vectors, expected, **tolerance_of(dtype))


def program_svd():
    line = ":3 = svd(%0) {full = 0} : (<t>[2,<m>,<k>], <r>[2,<k>], <t>[2,<k>,<n>])"
    full = ":3 = svd(%0) {full = 1} : (<t>[2,<m>,<m>], <r>[2,<k>], <t>[2,<n>,<n>])"
    for dtype, text in itertools.product(SETS["F32_F64_COMPLEX"], [line, full]):
        for x, (u, s, vh) in run_factors(text, dtype, [(5, 5), (6, 3), (3, 6)]):
            k = min(x.shape)
            expected = np.linalg.svd(x, full_matrices=False)
            phases = with_phases(expected[0])
            np.testing.assert_allclose(s, expected[1], **tolerance_of(dtype))
            np.testing.assert_allclose(u[:, :k], expected[0] * phases, **tolerance_of(dtype))
            expected = expected[2] * phases.conj()[:, None]
            np.testing.assert_allclose(vh[:k], expected, **tolerance_of(dtype))
            np.testing.assert_allclose(u.T.conj() @ u, np.eye(u.shape[1]), **tolerance_of(dtype))
            np.testing.assert_allclose(vh @ vh.T.conj(), np.eye(vh.shape[0]), **tolerance_of(dtype))


def order_arrays(dtype, *shape):
    """Numbers among which many are equal; floats with NaN, infinities and zeros of both signs."""
    rng = np.random.default_rng(3)
    array = rng.integers(0, 4, shape).astype(NAMES[dtype])
    if array.dtype.kind == "f":
        special_values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -2.5], array.dtype)
        chosen = rng.integers(0, 12, shape)
        array = np.where(chosen < 6, special_values[chosen % 6], array)
    return array


def program_sort():
    shape = (4, 30)
    for dtype, axis in itertools.product([*SETS["ANY"], "f16"], [0, 1]):
        x, low = order_arrays(dtype, *shape), order_arrays("i8", *shape)[::-1]
        places = np.arange(120, dtype=np.int32).reshape(shape)
        sizes = ",".join(map(str, shape))
        kind = f"({dtype}[{sizes}], i8[{sizes}], i32[{sizes}])"
        text = f"""
graph @main(%0: {dtype}[{sizes}], %1: i8[{sizes}], %2: i32[{sizes}]) {{
    %3:3 = sort(%0, %1, %2) {{axis = {axis}, keys = 1, descending = 0}} : {kind}
    %4:3 = sort(%0, %1, %2) {{axis = {axis}, keys = 2, descending = 0}} : {kind}
    %5:3 = sort(%0, %1, %2) {{axis = {axis}, keys = 1, descending = 1}} : {kind}
    return %3, %3.2, %4.1, %4.2, %5, %5.2
}}
"""
        got = run_program(text, x, low, places)
        order = np.argsort(x, axis=axis, kind="stable")
        both = np.lexsort((low, x), axis=axis)
        # Descending and stable: the stable order of what is read backwards, backwards.
        backwards = np.flip(x, axis)
        down = x.shape[axis] - 1 - np.flip(np.argsort(backwards, axis=axis, kind="stable"), axis)
        for result, array, indices in zip(
            got,
            [x, places, low, places, x, places],
            [order, order, both, both, down, down],
            strict=True,
        ):
            assert_same(result, np.take_along_axis(array, indices, axis), 0)


def program_top_k():
    for dtype, k in itertools.product([*SETS["NUMBERS"], "f16"], [0, 1, 7, 30]):
        x = order_arrays(dtype, 4, 30)
        text = f"""
graph @main(%0: {dtype}[4,30]) {{
    %1:2 = top_k(%0) {{k = {k}}} : ({dtype}[4,{k}], i32[4,{k}])
    return %1, %1.1
}}
"""
        values, indices = run_program(text, x)
        order = 29 - np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1][:, :k]
        np.testing.assert_array_equal(indices, order)
        assert_same(values, np.take_along_axis(x, order, 1), 0)


def program_eig():
    for dtype in SETS["F32_F64_COMPLEX"]:
        number = {"f32": "c64", "f64": "c128"}.get(dtype, dtype)
        for n in (1, 2, 5, 9):
            x = draw(dtype, 2, n, n)
            text = f"""
graph @main(%0: {dtype}[2,{n},{n}]) {{
    %1:2 = eig(%0) : ({number}[2,{n}], {number}[2,{n},{n}])
    return %1, %1.1
}}
"""
            values, vectors = run_program(text, x)
            wide = x.astype(np.complex128)
            expected = np.linalg.eigvals(wide)
            order = np.argsort(expected.real + expected.imag / np.pi, axis=-1)
            limit = {"rtol": 0, "atol": 2000 * np.finfo(NAMES[number]).eps}
            np.testing.assert_allclose(values, np.take_along_axis(expected, order, -1), **limit)
            np.testing.assert_allclose(wide @ vectors, vectors * values[:, None, :], **limit)
            np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, **limit)
            sizes = np.abs(vectors)
            first = (sizes >= 0.7 * sizes.max(axis=1, keepdims=True)).argmax(axis=1)
            heads = np.take_along_axis(vectors, first[:, None, :], 1)
            np.testing.assert_allclose(heads, np.abs(heads), **limit)


PROGRAMS = {
    "eig": program_eig,
    "sort": program_sort,
    "top_k": program_top_k,
    "lu": program_lu,
    "qr": program_qr,
    "eigh": program_eigh,
    "svd": program_svd,
    "constant": program_constant,
    "cond": program_cond,
    "case": program_case,
    "while": program_while,
    "scan": program_scan,
    "call": program_call,
    "custom_gradient": program_custom_gradient,
    "remat": program_remat,
    "barrier": program_barrier,
    "list_push": program_lists,
    "list_pop": program_lists,
    "axis_index": program_axis_index,
    "all_reduce": program_all_reduce,
    "all_gather": program_all_gather,
    "reduce_scatter": program_reduce_scatter,
    "permute": program_permute,
    "broadcast_from": program_broadcast_from,
    "callback": program_callback,
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_programs_agree_with_numpy(name):
    PROGRAMS[name]()


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_row_has_an_oracle(name):
    oracles = [UNARY, BINARY, EXAMPLES, PROGRAMS]
    assert any(name in oracle for oracle in oracles), f"{name} has no entry in this file"
