"""sort, argsort and top_k in Python."""

import numpy as np
import pytest

mica = pytest.importorskip("mica")

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
def test_sort_and_argsort_are_numpys(dtype, axis):
    x = RNG.integers(0, 40, (30, 50)).astype(dtype)
    np.testing.assert_array_equal(mica.sort(x, axis=axis).numpy(), np.sort(x, axis))
    order = np.argsort(x, axis, kind="stable")
    got = mica.argsort(x, axis=axis)
    assert str(got.dtype) == "i32"
    np.testing.assert_array_equal(got.numpy(), order)


def test_nan_is_last_and_first_in_descending_order():
    x = np.array([2.0, np.nan, -np.inf, 1.0, np.inf], np.float32)
    np.testing.assert_array_equal(mica.sort(x).numpy(), np.sort(x))
    np.testing.assert_array_equal(mica.sort(x, descending=True).numpy(), np.sort(x)[::-1])


def test_several_arrays_go_together():
    keys = np.array([1, 0, 1, 0])
    more = np.array([5.0, 6.0, 4.0, 3.0], np.float32)
    first, second, places = mica.sort(keys, more, np.arange(4), keys=2)
    assert first.tolist() == [0, 0, 1, 1]
    assert second.tolist() == [3.0, 6.0, 4.0, 5.0]
    assert places.tolist() == [3, 1, 2, 0]


def test_gradients_go_where_the_values_came_from():
    x = mica.tensor([3.0, 1.0, 2.0])
    weights = mica.tensor([1.0, 10.0, 100.0])
    assert mica.grad(lambda v: (mica.sort(v) * weights).sum())(x).tolist() == [100.0, 1.0, 10.0]
    largest = mica.grad(lambda v: (mica.top_k(v, k=2)[0] * weights[:2]).sum())
    assert largest(x).tolist() == [1.0, 0.0, 10.0]
    # A sort that also sorts its places is not sorted again for the derivative.
    text = str(mica.trace(mica.grad(lambda v: _median(v)), x))
    assert text.count("sort(") == 1


def _median(v):
    places = mica.iota(shape=v.shape, axis=0, dtype="i32")
    return mica.sort(v, places)[0][1]


def test_top_k_of_a_matrix():
    x = RNG.standard_normal((7, 40)).astype(np.float32)
    values, indices = mica.top_k(x, k=5)
    order = np.argsort(-x, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, 1))


def test_long_lines_are_sorted_whatever_they_hold():
    for x in [
        np.zeros(100_000, np.float32),
        np.arange(100_000, dtype=np.int32)[::-1].copy(),
        RNG.standard_normal(100_000),
        RNG.integers(0, 2, 100_000).astype(bool),
    ]:
        np.testing.assert_array_equal(mica.sort(x).numpy(), np.sort(x))
        np.testing.assert_array_equal(mica.argsort(x).numpy(), np.argsort(x, kind="stable"))


def test_wrong_calls_say_what_is_wrong():
    with pytest.raises(TypeError, match=r"\[sort\] needs at least one array"):
        mica.sort()
    with pytest.raises(ValueError, match=r"\[sort\] axis 2 is out of range for \(2,3\)"):
        mica.sort(np.zeros((2, 3)), axis=2)
    with pytest.raises(ValueError, match=r"\[top_k\] k is 4"):
        mica.top_k(np.zeros((2, 3)), k=4)
