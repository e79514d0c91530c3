"""Indexing, against numpy."""

import mica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ARRAY = np.arange(4 * 5 * 6, dtype=np.int32).reshape(4, 5, 6)
TENSOR = mica.tensor(ARRAY)


def one_index(size):
    bound = st.one_of(st.none(), st.integers(-size - 2, size + 2))
    step = st.one_of(st.none(), st.integers(-3, 3).filter(lambda n: n != 0))
    return st.one_of(st.integers(-size, size - 1), st.builds(slice, bound, bound, step))


@st.composite
def indices(draw):
    sizes = ARRAY.shape[: draw(st.integers(0, 3))]
    items = [draw(one_index(size)) for size in sizes]
    if draw(st.booleans()):
        items.insert(len(items), Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@settings(max_examples=150, deadline=None)
@given(indices())
def test_any_basic_index_gives_what_numpy_gives(index):
    expected = ARRAY[index]
    got = TENSOR[index]
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)


def test_an_ellipsis_stands_for_the_missing_axes():
    for index in [(..., 0), (0, ..., 1), (..., slice(1, 3), 2), ..., (None, ..., None)]:
        np.testing.assert_array_equal(TENSOR[index].numpy(), ARRAY[index])


def test_indices_out_of_range_name_axis_and_size():
    with pytest.raises(IndexError, match=r"\[index\] 4 is out of range for axis 0 of size 4"):
        TENSOR[4]
    with pytest.raises(IndexError, match=r"-6 is out of range for axis 1 of size 5"):
        TENSOR[0, -6]
    with pytest.raises(IndexError, match="4 indices for 3 axes"):
        TENSOR[0, 0, 0, 0]
    with pytest.raises(IndexError, match="more than one ellipsis"):
        TENSOR[..., 0, ...]


def test_what_is_no_index_is_named():
    with pytest.raises(IndexError, match="not float"):
        TENSOR[1.5]
    with pytest.raises(IndexError, match="holds integers or bools"):
        TENSOR[mica.tensor([0.5, 1.5])]
    with pytest.raises(IndexError, match="not bool"):
        TENSOR[True]


def test_integer_tensors_and_numpy_integers_are_indices():
    assert TENSOR[mica.tensor(1), np.int64(2), 3].item() == ARRAY[1, 2, 3]


def test_traced_indices_take_one_element():
    take = mica.jit(lambda x, i, j: (x[i], x[..., j], x[i, ::-1, j]))
    for i, j in [(0, 0), (3, 5), (-1, -6)]:
        a, b, c = take(TENSOR, mica.tensor(i), j)
        np.testing.assert_array_equal(a.numpy(), ARRAY[i])
        np.testing.assert_array_equal(b.numpy(), ARRAY[..., j])
        np.testing.assert_array_equal(c.numpy(), ARRAY[i, ::-1, j])


def test_traced_values_index_like_tensors():
    for index in [(0,), (slice(None, None, -2), 1), (..., None, 2), (slice(3, 1),)]:
        got = mica.jit(lambda x, index=index: x[index])(TENSOR)
        np.testing.assert_array_equal(got.numpy(), ARRAY[index])


def test_gradients_go_through_indexing():
    gradient = mica.grad(lambda x: (x[::-2, 1] * 3.0).sum())(TENSOR.astype("f32"))
    expected = np.zeros(ARRAY.shape, np.float32)
    expected[::-2, 1] = 3
    np.testing.assert_array_equal(gradient.numpy(), expected)
