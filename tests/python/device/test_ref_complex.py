"""The reference device against numpy on complex numbers, for every row that takes them."""

import itertools

import numpy as np
import pytest
from test_ref_numpy import NAMES, TABLE, run_op, run_text

COMPLEX = ["c64", "c128"]
R = np.random.default_rng(11)


def draw(name, *shape):
    return (R.uniform(-2, 2, shape) + 1j * R.uniform(-2, 2, shape)).astype(NAMES[name])


def edges(name):
    """Both parts from a list of hard numbers; no NaN, about which libraries may differ."""
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 1e-20, -1e-20, 3e7, 30.0, -30.0]
    result = np.empty(len(parts) ** 2, NAMES[name])
    result.real, result.imag = np.array(list(itertools.product(parts, repeat=2))).T
    return np.concatenate([result, draw(name, 50)])


def wide(function):
    """Compute c64 in c128 and round once."""

    def rounded(*operands):
        dtype = operands[0].dtype
        result = function(*[x.astype(np.complex128) for x in operands])
        return result.astype(dtype if result.dtype.kind == "c" else result.real.dtype)

    return rounded


def assert_close(got, expected, ulps):
    """Within some ulps of the larger part; equal where that is infinite."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    part = expected.real.dtype
    for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_array_equal(a[np.isinf(b)], b[np.isinf(b)])
    size = np.maximum(np.abs(expected.real), np.abs(expected.imag))
    finite = np.isfinite(size)
    scale = ulps * np.spacing(np.maximum(size[finite], np.finfo(part).tiny))
    assert np.all(np.abs(got.real[finite] - expected.real[finite]) <= scale)
    assert np.all(np.abs(got.imag[finite] - expected.imag[finite]) <= scale)


def sign(x):
    size = np.abs(x)
    return np.where(size == 0, x, x / np.where(size == 0, 1, size))


def expm1(x):
    """numpy's own is NaN where the exponential of a real number overflows."""
    real = np.expm1(x.real) + 1j * x.imag
    return np.where(x.imag == 0, real, np.expm1(x))


def log1p(x):
    """numpy's own loses the real part of small numbers."""
    small = np.abs(x) < 1e-3
    series = x - x**2 / 2 + x**3 / 3 - x**4 / 4 + x**5 / 5
    shifted = x.copy()
    shifted.real += 1  # 1 + x has no negative zeros
    return np.where(small, series, np.log(shifted))


# name: (function, ulps)
UNARY = {
    "neg": (np.negative, 0),
    "sign": (wide(sign), 2),
    "exp": (wide(np.exp), 4),
    "expm1": (wide(expm1), 4),
    "log": (wide(np.log), 4),
    "log1p": (wide(log1p), 8),
    "sqrt": (wide(np.sqrt), 2),
    "sin": (wide(np.sin), 4),
    "cos": (wide(np.cos), 4),
    "tan": (wide(np.tan), 4),
    "asin": (wide(np.arcsin), 4),
    "acos": (wide(np.arccos), 4),
    "atan": (wide(np.arctan), 4),
    "sinh": (wide(np.sinh), 4),
    "cosh": (wide(np.cosh), 4),
    "tanh": (wide(np.tanh), 4),
    "asinh": (wide(np.arcsinh), 4),
    "acosh": (wide(np.arccosh), 4),
    "atanh": (wide(np.arctanh), 4),
    "real": (np.real, 0),
    "imag": (np.imag, 0),
    "conj": (np.conj, 0),
}


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_complex_numbers_agree_with_numpy(name):
    function, ulps = UNARY[name]
    for dtype in COMPLEX:
        x = edges(dtype)
        with np.errstate(all="ignore"):
            expected = np.ascontiguousarray(function(x))
        assert_close(run_op(name, [x], {}, expected), expected, ulps)


def test_the_absolute_value_of_a_complex_number_is_real():
    for dtype in COMPLEX:
        x = edges(dtype)
        expected = np.abs(x.astype(np.complex128)).astype(x.real.dtype)
        got = run_op("abs", [x], {}, expected)
        assert np.all(np.abs(got - expected) <= np.spacing(expected))
        assert got.dtype == x.real.dtype


def test_rows_without_a_function_in_numpy():
    for dtype in COMPLEX:
        x = draw(dtype, 200)
        x64 = x.astype(np.complex128)
        expected = (1 / np.sqrt(x64)).astype(x.dtype)
        assert_close(run_op("rsqrt", [x], {}, expected), expected, 8)
        expected = (1 / (1 + np.exp(-x64))).astype(x.dtype)
        assert_close(run_op("logistic", [x], {}, expected), expected, 16)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
def test_arithmetic_of_complex_numbers_agrees_with_numpy(name):
    functions = {
        "add": (np.add, 0),
        "sub": (np.subtract, 0),
        "mul": (wide(np.multiply), 1),
        "div": (wide(np.divide), 4),
        "pow": (wide(np.power), 64),
    }
    function, ulps = functions[name]
    for dtype in COMPLEX:
        a, b = draw(dtype, 400), draw(dtype, 400)
        expected = function(a, b)
        assert_close(run_op(name, [a, b], {}, expected), expected, ulps)


def test_a_complex_number_divided_by_zero_or_infinity():
    a = np.array([1, -2j, 1 + 1j, 3, 0], np.complex128)
    b = np.array([0, 0, complex(np.inf, 1), complex(0, -np.inf), 0])
    got = run_op("div", [a, b], {}, a)
    assert got[0].real == np.inf and got[1].imag == -np.inf
    assert got[2] == 0 and got[3] == 0
    assert np.isnan(got[4].real) and np.isnan(got[4].imag)


def test_comparisons_and_tests_of_complex_numbers():
    for dtype in COMPLEX:
        a, b = draw(dtype, 30), draw(dtype, 30)
        b[::3] = a[::3]
        b[1] = complex(a[1].real, 5)
        for direction, function in (("eq", np.equal), ("ne", np.not_equal)):
            expected = function(a, b)
            got = run_op("compare", [a, b], {"direction": direction}, expected)
            np.testing.assert_array_equal(got, expected)
        a[3], a[4], a[5] = complex(np.nan, 0), complex(0, np.inf), complex(0, np.nan)
        np.testing.assert_array_equal(run_op("is_finite", [a], {}, np.isfinite(a)), np.isfinite(a))


@pytest.mark.parametrize("target", ["bool", "i32", "f16", "f32", "f64", "c64", "c128"])
def test_conversions_take_the_real_part(target):
    for dtype in COMPLEX:
        x = draw(dtype, 40)
        x[:4] = [0, 1j, 1, 0.25 + 3j]
        if target == "bool":
            expected = x != 0
        else:
            source = x if NAMES[target](0).dtype.kind == "c" else x.real
            expected = source.astype(NAMES[target])
        got = run_op("convert", [x], {"dtype": target}, expected)
        np.testing.assert_array_equal(got, expected)
    x = R.uniform(-9, 9, 20).astype(np.float32)
    expected = x.astype(np.complex64)
    np.testing.assert_array_equal(run_op("convert", [x], {"dtype": "c64"}, expected), expected)


DOT = {"lhs_contract": (1,), "rhs_contract": (0,), "lhs_batch": (), "rhs_batch": ()}


def test_contractions_and_reductions_of_complex_numbers():
    for dtype in COMPLEX:
        a, b = draw(dtype, 4, 7), draw(dtype, 7, 3)
        expected = (a.astype(np.complex128) @ b.astype(np.complex128)).astype(a.dtype)
        assert_close(run_op("dot", [a, b], DOT, expected), expected, 32)
        for kind, function in (("sum", np.sum), ("prod", np.prod)):
            expected = function(a.astype(np.complex128), axis=1).astype(a.dtype)
            got = run_op("reduce", [a], {"kind": kind, "axes": (1,)}, expected)
            assert_close(got, expected, 32)
        for kind, function in (("sum", np.cumsum), ("prod", np.cumprod)):
            attributes = {"kind": kind, "axis": 1, "reverse": 0, "exclusive": 0}
            expected = function(a.astype(np.complex128), axis=1).astype(a.dtype)
            assert_close(run_op("cumulative", [a], attributes, expected), expected, 64)
        x, k = draw(dtype, 1, 9, 1), draw(dtype, 3, 1, 1)
        attributes = {
            "layout": "N0C,0IO,N0C",
            "strides": (1,),
            "low": (0,),
            "high": (0,),
            "lhs_dilation": (1,),
            "rhs_dilation": (1,),
            "groups": 1,
            "batch_groups": 1,
        }
        x64, k64 = x[0, :, 0].astype(np.complex128), k[:, 0, 0].astype(np.complex128)
        expected = np.convolve(x64, k64[::-1], "valid").astype(x.dtype).reshape(1, 7, 1)
        assert_close(run_op("conv", [x, k], attributes, expected), expected, 32)


def test_scatter_adds_and_multiplies_complex_numbers():
    text = """mica graph 1

graph @main(%0: c128[4], %1: i32[3], %2: c128[3]) {
    %3 = scatter(%0, %1, %2) {kind = "KIND", update_window_dims = (), inserted_window_dims = (0),
        operand_batch_dims = (), indices_batch_dims = (), scatter_map = (0), index_vector_dim = 1,
        mode = "fill"} : c128[4]
    return %3
}
""".replace("\n        ", " ")
    x, at, u = draw("c128", 4), np.array([2, 0, 2], np.int32), draw("c128", 3)
    added, multiplied = x.copy(), x.copy()
    np.add.at(added, at, u)
    np.multiply.at(multiplied, at, u)
    assert_close(run_text(text.replace("KIND", "add"), x, at, u)[0], added, 2)
    assert_close(run_text(text.replace("KIND", "mul"), x, at, u)[0], multiplied, 8)


def test_every_map_row_that_takes_complex_numbers_is_here():
    checked = {*UNARY, "abs", "rsqrt", "logistic", "add", "sub", "mul", "div", "pow"}
    rows = {
        name
        for name, row in TABLE.items()
        if row["class"] == "MAP" and row["dtypes"].endswith("COMPLEX")
    }
    assert rows - checked == set()
