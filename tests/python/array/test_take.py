"""Indexing by arrays, take, take_along_axis and put, against numpy; their derivatives."""

import mica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ARRAY = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)
TENSOR = mica.tensor(ARRAY)
MASK = np.arange(20).reshape(4, 5) % 3 == 0


def both_ways(index):
    """The index on a tensor, and on a traced value with traced indices where that is possible."""
    yield TENSOR[index]
    items = index if isinstance(index, tuple) else (index,)
    arrays = [mica.tensor(i) for i in items if isinstance(i, np.ndarray) and i.dtype != bool]

    def traced(x, arrays):
        rest = iter(arrays)
        is_index = [isinstance(i, np.ndarray) and i.dtype != bool for i in items]
        return x[
            tuple(next(rest) if is_it else i for i, is_it in zip(items, is_index, strict=True))
        ]

    yield mica.jit(traced)(TENSOR, arrays)


ROW, COLUMN = np.array([0, 3, -1, 3]), np.array([[2], [-5]])
INDICES = [
    ROW,
    (ROW,),
    (ROW, ROW),
    (ROW, COLUMN),
    (ROW, COLUMN, 1),
    (slice(None), ROW),
    (slice(None), ROW, slice(1, 5, 2)),
    (slice(None, None, -1), slice(1, 3), ROW),
    (ROW, slice(None), ROW),
    (0, slice(None), ROW),
    (0, ROW),
    (ROW, 0),
    (slice(None), 1, ROW),
    (..., ROW),
    (ROW, ..., 2),
    (ROW, None, ROW),
    (None, ROW, ROW),
    (ROW, ROW, None),
    (slice(None), ROW, ROW),
    (np.zeros((0,), np.int64),),
    (slice(None), np.zeros((2, 0), np.int64)),
    (np.array(2), ROW),
    (ROW.astype(np.int8), ROW.astype(np.int16)),
    (np.array([1, 2], np.uint8),),
    MASK,
    (MASK, ROW[:1]),
    (MASK, slice(1, 4)),
    (slice(None), np.array([True, False, True, False, True])),
    (ARRAY > 50,),
    (np.zeros(4, bool),),
]


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_arrays_index_as_in_numpy(index):
    expected = ARRAY[index]
    for got in both_ways(index):
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got.numpy(), expected)


@st.composite
def mixed_indices(draw):
    shape = draw(st.sampled_from([(3,), (1,), (2, 1), (2, 3)]))
    items = []
    for size in ARRAY.shape:
        kind = draw(st.sampled_from(["array", "int", "slice", "array"]))
        if kind == "array":
            numbers = draw(st.lists(st.integers(-size, size - 1), min_size=6, max_size=6))
            items.append(np.array(numbers)[: int(np.prod(shape))].reshape(shape))
        elif kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
        else:
            items.append(slice(draw(st.integers(0, 2)), None, draw(st.sampled_from([1, 2, -1]))))
    items = items[: draw(st.integers(1, 3))]
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@settings(max_examples=60, deadline=None)
@given(mixed_indices())
def test_any_mixture_gives_what_numpy_gives(index):
    expected = ARRAY[index]
    got = TENSOR[index]
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)


def test_lists_are_arrays():
    np.testing.assert_array_equal(TENSOR[[2, 0], [1, -1]].numpy(), ARRAY[[2, 0], [1, -1]])
    assert TENSOR[[]].shape == (0, 5, 6)


def test_wrong_index_arrays_are_named():
    with pytest.raises(IndexError, match=r"\[index\] 4 is out of range for axis 0 of size 4"):
        TENSOR[np.array([0, 4])]
    with pytest.raises(IndexError, match="-6 is out of range for axis 1 of size 5"):
        TENSOR[:, [-6]]
    with pytest.raises(IndexError, match="holds integers or bools, not f32"):
        TENSOR[TENSOR]
    with pytest.raises(IndexError, match=r"do not broadcast: \(2,\) \(3,\)"):
        TENSOR[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match="4 indices for 3 axes"):
        TENSOR[ROW, 0, 0, 0]
    with pytest.raises(IndexError, match=r"a mask of \(3,\) for axis 0"):
        TENSOR[np.array([True, False, True])]
    with pytest.raises(IndexError, match="traced mask"):
        mica.jit(lambda x: x[x > 3])(TENSOR)


def test_a_traced_index_out_of_range_is_clamped():
    got = mica.jit(lambda x, i: x[i])(TENSOR, mica.tensor([-9, 9]))
    np.testing.assert_array_equal(got.numpy(), ARRAY[[0, 3]])


def test_take_goes_along_an_axis_or_over_all():
    indices = np.array([[0, 3], [-1, 2]])
    for axis in (None, 0, 1, -1):
        got = mica.take(TENSOR, indices, axis)
        np.testing.assert_array_equal(got.numpy(), np.take(ARRAY, indices, axis))
    outside = np.array([-1, 9, 2])
    got = mica.take(TENSOR, outside, 1, mode="clip")
    np.testing.assert_array_equal(got.numpy(), np.take(ARRAY, outside, 1, mode="clip"))
    got = mica.take(TENSOR, outside, 1, mode="fill").numpy()
    np.testing.assert_array_equal(got[:, :2], np.zeros((4, 2, 6)))
    np.testing.assert_array_equal(got[:, 2], ARRAY[:, 2])
    with pytest.raises(ValueError, match=r"\[take\] axis 3 is out of range"):
        mica.take(TENSOR, outside, 3)
    with pytest.raises(ValueError, match="mode 'wrap'"):
        mica.take(TENSOR, outside, 0, mode="wrap")


def test_take_along_axis_takes_each_row_by_its_own_indices():
    order = np.argsort(-ARRAY % 7, axis=1)
    for axis, indices in [(1, order), (0, order[:1] % 4), (-1, order[:, :1]), (2, order - 5)]:
        got = mica.take_along_axis(TENSOR, indices, axis)
        np.testing.assert_array_equal(got.numpy(), np.take_along_axis(ARRAY, indices, axis))
    with pytest.raises(ValueError, match=r"\[take_along_axis\] 3 axes need integers of 3 axes"):
        mica.take_along_axis(TENSOR, [0, 1], 0)


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_put_writes_what_indexing_reads(index):
    expected = ARRAY.copy()
    values = -1 - np.arange(expected[index].size, dtype=np.float32).reshape(expected[index].shape)
    expected[index] = values
    np.testing.assert_array_equal(mica.put(TENSOR, index, values).numpy(), expected)


def test_put_combines_in_order():
    index = np.array([1, 1, 3, 1])
    values = np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1)
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for kind, function in functions.items():
        expected = ARRAY.copy()
        function.at(expected, index, np.broadcast_to(values, (4, 5, 6)))
        got = mica.put(TENSOR, index, values, kind)
        np.testing.assert_array_equal(got.numpy(), expected)
    got = mica.put(TENSOR, (slice(1, 3), ..., 0), 7)
    expected = ARRAY.copy()
    expected[1:3, ..., 0] = 7
    np.testing.assert_array_equal(got.numpy(), expected)


def test_the_gradient_of_a_lookup_counts_its_uses():
    table = mica.tensor(np.ones((5, 2), np.float32))
    indices = mica.tensor([1, 3, 1, 1])
    gradient = mica.grad(lambda t: (t[indices] * 2.0).sum())(table)
    expected = np.zeros((5, 2), np.float32)
    expected[1], expected[3] = 6, 2
    np.testing.assert_array_equal(gradient.numpy(), expected)


def test_the_last_of_several_values_gets_the_gradient():
    weights = mica.tensor([1.0, 10.0, 100.0])

    def f(x, values):
        return (mica.put(x, mica.tensor([1, 2, 1, 1]), values) * weights).sum()

    x, values = mica.tensor([1.0, 2.0, 3.0]), mica.tensor([4.0, 5.0, 6.0, 7.0])
    by_x, by_values = mica.grad(f, argnums=(0, 1))(x, values)
    assert by_x.tolist() == [1, 0, 0]
    assert by_values.tolist() == [0, 100, 0, 10]


def test_products_with_zeros_have_derivatives_of_two_orders():
    indices = mica.tensor([0, 0, 1])

    def f(values):
        return mica.put(mica.tensor([2.0, 3.0]), indices, values, "mul").sum()

    values = mica.tensor([0.0, 0.0, 5.0])
    assert mica.grad(f)(values).tolist() == [0, 0, 3]
    hessian = mica.jacobian(mica.grad(f))(values)
    assert hessian.tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]


def test_extremes_share_the_gradient_among_equals():
    def f(x, values):
        return mica.put(x, mica.tensor([0, 0, 1]), values, "max").sum()

    x, values = mica.tensor([4.0, 9.0]), mica.tensor([4.0, 3.0, 1.0])
    by_x, by_values = mica.grad(f, argnums=(0, 1))(x, values)
    assert by_x.tolist() == [0.5, 1]
    assert by_values.tolist() == [0.5, 0, 0]


def test_every_example_has_its_own_indices():
    indices = mica.tensor(np.array([[0, 1], [3, 3], [2, 0], [1, 2]]))
    got = mica.vmap(lambda x, i: x[i])(TENSOR, indices).numpy()
    np.testing.assert_array_equal(
        got, np.stack([a[i] for a, i in zip(ARRAY, indices.numpy(), strict=True)])
    )
    got = mica.vmap(lambda i: TENSOR[i])(indices).numpy()
    np.testing.assert_array_equal(got, ARRAY[indices.numpy()])
