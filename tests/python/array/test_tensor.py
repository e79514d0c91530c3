"""Tensors: making them, operators, methods, conversions."""

import ast
import copy
import inspect
import pickle

import mica
import numpy as np
import pytest
from house import ROOT

DTYPES = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]
NUMPY = {
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


def test_python_scalars_give_bool_i32_and_f32():
    assert mica.tensor(True).dtype == mica.bool_
    assert mica.tensor(3).dtype == mica.i32
    assert mica.tensor(3.0).dtype == mica.f32
    assert mica.tensor(3.5).item() == 3.5
    assert mica.tensor(3).shape == ()


def test_nested_lists_give_their_shape():
    x = mica.tensor([[1, 2, 3], [4, 5, 6]])
    assert x.shape == (2, 3)
    assert x.ndim == 2
    assert x.size == 6
    assert len(x) == 2
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert mica.tensor([1, 2.5]).dtype == mica.f32
    assert mica.tensor([]).shape == (0,)
    assert mica.tensor([[], []]).shape == (2, 0)


def test_lists_of_tensors_and_arrays_give_their_elements():
    parts = [mica.tensor([1.0, 2.0]), np.array([3.0, 4.0]), [5, np.float32(6)]]
    assert mica.tensor(parts).tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("dtype", [*DTYPES, "c64", "c128"])
def test_numpy_arrays_keep_dtype_and_values(dtype):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(NUMPY[dtype])
    x = mica.tensor(array)
    assert x.dtype == dtype
    assert x.shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(x), array)
    assert np.asarray(x).dtype == array.dtype


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_numpy_arrays_of_any_strides_are_read(step):
    array = np.arange(60, dtype=np.int32).reshape(3, 4, 5).transpose(2, 0, 1)[::step, :, ::2]
    np.testing.assert_array_equal(mica.tensor(array).numpy(), array)
    np.testing.assert_array_equal(mica.tensor(np.asfortranarray(array)).numpy(), array)


def test_bytes_and_memoryviews_are_buffers():
    assert mica.tensor(b"abc").tolist() == [97, 98, 99]
    assert mica.tensor(b"abc").dtype == mica.u8
    assert mica.tensor(memoryview(bytearray(4))).shape == (4,)


def test_dtype_names_of_all_kinds_are_understood():
    for name in ("f64", "float64", np.float64, np.dtype("float64"), mica.f64):
        assert mica.tensor([1], dtype=name).dtype == mica.f64
    assert mica.tensor([1], dtype=float).dtype == mica.f32
    assert mica.tensor([1], dtype=int).dtype == mica.i32
    assert mica.tensor([1], dtype=bool).dtype == mica.bool_
    assert mica.f32 == "f32"
    assert mica.f32 != mica.f64
    assert mica.f32.itemsize == 4
    assert mica.f32.kind == "float"
    assert pickle.loads(pickle.dumps(mica.bf16)) is mica.bf16


def test_halves_round_to_nearest_even():
    values = [0.0, -0.0, 1.0, 1.00048828125, 65504.0, 65520.0, 6e-8, 1e-8, float("inf"), -2.5]
    ours = mica.tensor(values, dtype="f16").tolist()
    with np.errstate(over="ignore"):
        assert ours == np.array(values).astype(np.float16).tolist()
    assert mica.tensor(1 + 2**-8, dtype="bf16").item() == 1.0
    assert mica.tensor(1 + 3 * 2**-8, dtype="bf16").item() == 1 + 2**-6
    assert mica.tensor([1.5, 2.5], dtype="bf16").numpy().tolist() == [1.5, 2.5]


def test_values_that_do_not_fit_a_dtype_are_refused():
    with pytest.raises(OverflowError, match="300 does not fit dtype u8"):
        mica.tensor(300, dtype="u8")
    with pytest.raises(OverflowError, match="does not fit dtype i32"):
        mica.tensor(2**31)
    with pytest.raises(OverflowError):
        mica.tensor(-1, dtype="u64")
    assert mica.tensor(2**64 - 1, dtype="u64").item() == 2**64 - 1
    assert mica.tensor(-(2**63), dtype="i64").item() == -(2**63)


def test_ragged_lists_and_strangers_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        mica.tensor([[1, 2], [3]])
    with pytest.raises(ValueError, match="a number where a list"):
        mica.tensor([[1], 2])
    with pytest.raises(TypeError, match="is no number"):
        mica.tensor("text")
    with pytest.raises(TypeError, match="is no number"):
        mica.tensor([object()])
    with pytest.raises(TypeError, match="buffer format"):
        mica.tensor(np.array([1.0], dtype=">f8"))
    with pytest.raises(TypeError, match="not a dtype"):
        mica.tensor(1, dtype="f33")


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", ">="]


@pytest.mark.parametrize("operator", OPERATORS)
def test_float_operators_agree_with_numpy(operator):
    a = np.array([[1.5, -2.25, 3.0], [0.5, 7.0, -0.75]])
    b = np.array([[2.0, 0.5, -1.5], [3.0, -2.0, 0.25]])
    if operator == "**":
        a = np.abs(a)
    names = {"a": a, "b": b}
    ours = {k: mica.tensor(v) for k, v in names.items()}
    for text in (f"a {operator} b", f"a {operator} 2", f"2.5 {operator} b"):
        expected = eval(text, names)
        got = eval(text, ours)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-14)
        assert got.dtype == ("bool" if expected.dtype == bool else "f64")


@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "%", "&", "|", "^", "<", "=="])
def test_integer_operators_agree_with_numpy(operator):
    a = np.array([7, -7, 7, -7, 0, 5], dtype=np.int32)
    b = np.array([3, 3, -3, -3, 4, 1], dtype=np.int32)
    for text in (f"a {operator} b", f"a {operator} 2", f"9 {operator} b"):
        expected = eval(text, {"a": a, "b": b})
        got = eval(text, {"a": mica.tensor(a), "b": mica.tensor(b)})
        np.testing.assert_array_equal(got.numpy(), expected)


def test_floor_division_and_modulo_follow_python_at_the_edges():
    inf = float("inf")
    for a, b in [(-1.0, inf), (1.0, inf), (5.0, -inf), (0.3, 0.1), (-0.3, 0.1), (1e17, 3.0)]:
        x, y = mica.tensor(a, dtype="f64"), mica.tensor(b, dtype="f64")
        assert (x // y).item() == a // b
        assert (x % y).item() == a % b
        assert divmod(x, y)[0].item() == divmod(a, b)[0]
    assert (mica.tensor(1.0) // 0.0).item() == inf


def test_unary_operators():
    x = mica.tensor([1.0, -2.0])
    assert (-x).tolist() == [-1, 2]
    assert (+x).tolist() == [1, -2]
    assert abs(x).tolist() == [1, 2]
    assert (~mica.tensor([True, False])).tolist() == [False, True]
    assert (~mica.tensor([0, 5])).tolist() == [-1, -6]


def test_shifts_keep_the_sign_of_signed_integers():
    signed = mica.tensor([-8, 5], dtype="i32")
    unsigned = mica.tensor([0xF0, 5], dtype="u8")
    assert (signed << 2).tolist() == [-32, 20]
    assert (signed >> 1).tolist() == [-4, 2]
    assert (signed >> 40).tolist() == [-1, 0]
    assert (unsigned >> 4).tolist() == [15, 0]
    assert (1 << mica.tensor([3, 4], dtype="i32")).tolist() == [8, 16]
    assert mica.jit(lambda x: (x << 1) >> unsigned)(unsigned).tolist() == [0, 0]
    with pytest.raises(TypeError, match=r"\[shl\]"):
        mica.tensor([1.0]) << 1


def test_small_whole_powers_are_products_for_integers_too():
    x = mica.tensor([2, -3])
    assert (x**3).tolist() == [8, -27]
    assert (x**0).tolist() == [1, 1]
    assert (mica.tensor([2.0]) ** -1).tolist() == [0.5]
    with pytest.raises(ValueError, match=r"\[pow\]"):
        x**-1


def test_python_scalars_adopt_the_dtype():
    for dtype in ("f16", "bf16", "f32", "f64"):
        x = mica.tensor([1.0, 2.0], dtype=dtype)
        assert (x + 1).dtype == dtype
        assert (2.5 * x).dtype == dtype
    assert (mica.tensor([1, 2], dtype="u8") + 1).dtype == "u8"
    assert (mica.tensor([1]) + 1.5).tolist() == [2.5]
    with pytest.raises(OverflowError, match="does not fit dtype u8"):
        mica.tensor([1], dtype="u8") + 256


def test_integers_are_divided_as_floats():
    quotient = mica.tensor([1, 3]) / mica.tensor([2, 4])
    assert (quotient.dtype, quotient.tolist()) == (mica.f32, [0.5, 0.75])
    assert (1 / mica.tensor([4], "u8")).tolist() == [0.25]
    assert mica.jit(lambda a, n: a / n)(mica.tensor([1]), 2).tolist() == [0.5]


@pytest.mark.parametrize("function", [lambda f: f, mica.jit])
def test_what_stands_beside_a_float_array_takes_its_dtype(function):
    for dtype in ("f16", "f32", "f64"):
        x = mica.tensor([1.0, 2.0], dtype)
        for other in (np.array([1.5, 2]), np.array([1, 2]), np.float64(2), [0.5, 1], np.array(2)):
            assert function(lambda x, y=other: x + y)(x).dtype == dtype
            assert function(lambda x, y=other: y * x)(x).dtype == dtype
    with pytest.raises(TypeError, match="dtypes differ: f32\\[1\\] and c128"):
        mica.tensor([1.0]) + np.array([1j])


@pytest.mark.parametrize("function", [lambda f: f, mica.jit])
def test_integers_beside_fractions_are_floats(function):
    x = mica.tensor([1, 2])
    for other in (0.5, np.array([0.5, 0.5]), np.float32(0.5), [0.5, 0.5]):
        result = function(lambda x, y=other: x + y)(x)
        assert (result.dtype, result.tolist()) == (mica.f32, [1.5, 2.5])
        assert function(lambda x, y=other: x > y)(x).tolist() == [True, True]
    assert mica.jit(lambda x, n: x * n)(x, 0.5).tolist() == [0.5, 1.0]
    with pytest.raises(TypeError, match="dtypes differ"):
        x + np.array([1, 2])  # i64: nothing widens, nothing is cut


def test_two_dtypes_do_not_mix():
    with pytest.raises(TypeError, match=r"\[add\].*f32.*f64|\[add\].*f64.*f32"):
        mica.tensor([1.0]) + mica.tensor([1.0], dtype="f64")
    with pytest.raises(TypeError, match=r"\[mul\]"):
        mica.tensor([1]) * mica.tensor([1.0])
    with pytest.raises(TypeError, match=r"\[exp\]"):
        mica.exp(mica.tensor([1]))


def test_numpy_arrays_on_either_side():
    a, x = np.ones(3, np.float32), mica.tensor([1.0, 2.0, 3.0])
    assert isinstance(a + x, mica.Tensor)
    assert (a + x).tolist() == [2, 3, 4]
    assert (x - a).tolist() == [0, 1, 2]
    assert (np.float32(2) * x).tolist() == [2, 4, 6]
    assert (np.float64(2) * x).dtype == mica.f32


def test_strangers_leave_the_operator_alone():
    x = mica.tensor([1.0])
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        assert x < None

    class Other:
        def __radd__(self, left):
            return "mine"

    assert x + Other() == "mine"


SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
]


@pytest.mark.parametrize("left, right", SHAPES)
def test_matmul_follows_numpy(left, right):
    random = np.random.default_rng(0)
    a, b = random.normal(size=left), random.normal(size=right)
    got = mica.tensor(a) @ mica.tensor(b)
    assert got.shape == (a @ b).shape
    np.testing.assert_allclose(got.numpy(), a @ b, rtol=1e-12)
    np.testing.assert_allclose(mica.matmul(a, b).numpy(), a @ b, rtol=1e-12)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_agree_with_numpy(axis, keepdims):
    a = np.random.default_rng(1).normal(size=(3, 4, 5))
    x = mica.tensor(a)
    for name in ("sum", "prod", "mean", "max", "min"):
        got = getattr(x, name)(axis=axis, keepdims=keepdims)
        expected = getattr(a, name)(axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
    mask = a > 0
    for name in ("any", "all"):
        got = getattr(mica.tensor(mask), name)(axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(
            got.numpy(), getattr(mask, name)(axis=axis, keepdims=keepdims)
        )


def test_argmax_and_argmin_agree_with_numpy():
    a = np.random.default_rng(2).integers(0, 5, size=(3, 4))
    x = mica.tensor(a)
    for axis in (None, 0, 1, -1):
        np.testing.assert_array_equal(x.argmax(axis).numpy(), a.argmax(axis))
        np.testing.assert_array_equal(x.argmin(axis).numpy(), a.argmin(axis))
    assert x.argmax(0, dtype="i64").dtype == "i64"


def test_shapes_can_be_changed():
    x = mica.arange(12)
    assert x.reshape(3, 4).shape == (3, 4)
    assert x.reshape((2, -1)).shape == (2, 6)
    assert x.reshape(3, 4).T.shape == (4, 3)
    assert x.reshape(2, 3, 2).transpose(1, 0, -1).shape == (3, 2, 2)
    assert x.reshape(2, 6).flatten().shape == (12,)
    assert mica.tensor([1, 2]).broadcast_to(3, 2).tolist() == [[1, 2]] * 3
    np.testing.assert_array_equal(x.reshape(3, 4).T.numpy(), np.arange(12).reshape(3, 4).T)


def test_scalars_convert_to_python():
    assert float(mica.tensor(2.5)) == 2.5
    assert int(mica.tensor(7)) == 7
    assert bool(mica.tensor([True]))
    assert not mica.tensor(0.0)
    assert [10, 20, 30][mica.tensor(1)] == 20
    assert f"{mica.tensor(2.5):.2f}" == "2.50"
    with pytest.raises(ValueError, match="ambiguous"):
        bool(mica.tensor([1, 2]))
    with pytest.raises(ValueError, match=r"\[item\].*i32\[2\]"):
        mica.tensor([1, 2]).item()
    with pytest.raises(TypeError, match=r"\[index\]"):
        [1, 2][mica.tensor(1.0)]


def test_iteration_walks_the_first_axis():
    x = mica.tensor([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    _, b = x
    assert b.tolist() == [3, 4]
    with pytest.raises(TypeError):
        iter(mica.tensor(1))
    with pytest.raises(TypeError):
        len(mica.tensor(1))


def test_conversions_between_dtypes():
    x = mica.tensor([1.9, -1.9, 300.0])
    assert x.astype("i32").tolist() == [1, -1, 300]
    assert x.astype("u8").tolist() == [1, 0, 255]
    assert x.astype("bool").tolist() == [True, True, True]
    assert mica.tensor([1.7], dtype="i32").tolist() == [1]


def test_pickles_and_copies_are_equal():
    for dtype in ("f32", "bf16", "bool", "u64"):
        x = mica.tensor([[1, 0], [0, 1]], dtype=dtype)
        y = pickle.loads(pickle.dumps(x))
        assert y.dtype == dtype
        assert y.tolist() == x.tolist()
    assert copy.copy(x) is x
    assert copy.deepcopy(x) is x


def test_repr_shows_values_type_and_device():
    text = repr(mica.tensor([[1.0, 10.0], [0.1, 1e20]], device="cpu"))
    assert text == "Tensor([[1, 10],\n        [0.1, 1e+20]], f32[2,2], cpu:0)"
    assert repr(mica.tensor(True, device="cpu")) == "Tensor(True, bool[], cpu:0)"
    assert "..." in repr(mica.arange(1000))
    assert len(repr(mica.zeros((100, 100)))) < 2000
    assert repr(mica.zeros((0, 3))).startswith("Tensor([], f32[0,3]")


def test_tensors_are_immutable_and_unhashable():
    x = mica.tensor([1, 2])
    with pytest.raises(TypeError):
        x[0] = 5
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        mica.Tensor()


def test_every_primitive_is_a_function_with_its_meaning_as_docstring():
    for row in mica.ops():
        if row["class"] in ("CONTROL", "HOST"):
            continue
        function = getattr(mica, row["name"])
        assert callable(function) or inspect.ismodule(function)
        primitive = getattr(mica._mica, row["name"])
        assert row["meaning"] in (primitive.__doc__ or row["meaning"])
    assert mica.and_ is getattr(mica, "and")


def test_primitives_take_attributes_as_keywords_or_in_order():
    x = mica.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert mica.transpose(x, permutation=(1, 0)).tolist() == [[1, 3], [2, 4]]
    assert mica.transpose(x, (1, 0)).tolist() == [[1, 3], [2, 4]]
    assert mica.concat(x, x, axis=0).shape == (4, 2)
    assert mica.concat([x, x], axis=1).shape == (2, 4)
    assert mica.pad(x, 0.0, low=(1, 0), high=(0, 0), interior=(0, 0)).shape == (3, 2)
    assert mica.iota(shape=(2, 3), axis=1, dtype="i32").tolist() == [[0, 1, 2]] * 2
    assert mica.constant(value=[1, 2]).tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"\[transpose\] needs the attribute permutation"):
        mica.transpose(x)
    with pytest.raises(TypeError, match=r"\[transpose\] has no attribute 'axes'"):
        mica.transpose(x, axes=(1, 0))
    with pytest.raises(TypeError, match=r"\[add\] takes 2 operands"):
        mica.add(x)


def test_the_stubs_name_what_is_there():
    tree = ast.parse((ROOT / "python" / "mica" / "_mica.pyi").read_text())
    shared = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "_Array")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name != "__getattr__":
            assert callable(getattr(mica._mica, node.name))
        if isinstance(node, ast.ClassDef) and node is not shared:
            members = [m.name for m in node.body if isinstance(m, ast.FunctionDef)]
            if node.name in ("Tensor", "Traced"):
                members += [m.name for m in shared.body if isinstance(m, ast.FunctionDef)]
            for member in members:
                assert hasattr(getattr(mica._mica, node.name), member), (node.name, member)
    for name in dir(mica.Tensor):
        documented = {m.name for m in shared.body if isinstance(m, ast.FunctionDef)}
        own = {"device", "item", "tolist", "numpy", "tobytes", "to", "wait", "_repr_html_"}
        assert name.startswith("__") or name in documented | own, name
