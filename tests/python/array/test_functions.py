"""Everyday functions and random numbers, against numpy and scipy, eager and compiled."""

import mica
import numpy as np
import pytest

special = pytest.importorskip("scipy.special")

A = np.random.default_rng(0).normal(size=(3, 5)) * 4


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "ours, theirs",
    [
        (mica.relu, lambda a: np.maximum(a, 0)),
        (mica.sigmoid, special.expit),
        (mica.softplus, lambda a: np.logaddexp(a, 0)),
        (mica.silu, lambda a: a * special.expit(a)),
        (mica.gelu, lambda a: a * special.ndtr(a)),
        (mica.softmax, lambda a: special.softmax(a, axis=-1)),
        (lambda x: mica.softmax(x, axis=0), lambda a: special.softmax(a, axis=0)),
        (mica.log_softmax, lambda a: special.log_softmax(a, axis=-1)),
        (lambda x: mica.logsumexp(x, 1), lambda a: special.logsumexp(a, axis=1)),
        (lambda x: mica.var(x, 0), lambda a: a.var(0)),
        (lambda x: mica.mean(x, 1, True), lambda a: a.mean(1, keepdims=True)),
        (lambda x: mica.where(x > 0, x, 0.5), lambda a: np.where(a > 0, a, 0.5)),
        (lambda x: mica.maximum(x, 1.0), lambda a: np.maximum(a, 1)),
        (lambda x: mica.minimum(1.0, x), lambda a: np.minimum(a, 1)),
        (lambda x: mica.clip(x, -1.0, 1.0), lambda a: np.clip(a, -1, 1)),
        (lambda x: mica.stack([x, x * 2], 1), lambda a: np.stack([a, a * 2], 1)),
        (lambda x: mica.concatenate([x, x], -1), lambda a: np.concatenate([a, a], -1)),
        (lambda x: mica.expand_dims(x, 1), lambda a: np.expand_dims(a, 1)),
        (lambda x: mica.squeeze(x[:1]), lambda a: a[0]),
        (lambda x: x + mica.zeros_like(x) + mica.ones_like(x), lambda a: a + 1),
        (lambda x: x @ mica.eye(5, "f64"), lambda a: a),
        (mica.cumsum, np.cumsum),
        (lambda x: mica.cumsum(x, -1), lambda a: np.cumsum(a, -1)),
        (lambda x: mica.cumprod(x, 0), lambda a: np.cumprod(a, 0)),
    ],
)
def test_functions_agree(ours, theirs, compiled):
    function = mica.jit(ours) if compiled else ours
    got = function(mica.tensor(A))
    np.testing.assert_allclose(got.numpy(), theirs(A), rtol=1e-12, atol=1e-14)


IMAGES = np.random.default_rng(1).normal(size=(2, 7, 6, 3))


def pooled(a, function, window, strides, low, high):
    """Pool padded images with numpy; NaN stands for padding."""
    a = np.pad(a, ((0, 0), (low[0], high[0]), (low[1], high[1]), (0, 0)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(a, window, axis=(1, 2))
    return function(windows[:, :: strides[0], :: strides[1]], axis=(-2, -1))


@pytest.mark.parametrize("ours, theirs", [(mica.max_pool, np.nanmax), (mica.avg_pool, np.nanmean)])
@pytest.mark.parametrize(
    "window, strides, padding, low, high",
    [
        (2, None, "valid", (0, 0), (0, 0)),
        ((3, 2), (2, 1), "valid", (0, 0), (0, 0)),
        (3, 2, "same", (1, 0), (1, 1)),
        ((2, 3), 1, [(1, 0), (1, 2)], (1, 1), (0, 2)),
    ],
)
def test_pooling_agrees(ours, theirs, window, strides, padding, low, high):
    sizes = (window, window) if isinstance(window, int) else window
    steps = (
        sizes if strides is None else (strides, strides) if isinstance(strides, int) else strides
    )
    expected = pooled(IMAGES, theirs, sizes, steps, low, high)
    got = ours(mica.tensor(IMAGES), window, strides, padding)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12, atol=1e-14)


def test_the_gradient_of_max_pool_goes_to_the_first_of_equals():
    x = mica.tensor(np.array([1.0, 3.0, 3.0, 2.0]).reshape(1, 4, 1))
    gradient = mica.grad(lambda v: mica.max_pool(v, 3, 1).sum())(x)
    assert gradient.numpy().ravel().tolist() == [0, 2, 0, 0]


def test_the_gradient_of_cumprod_is_right_at_zeros():
    x = mica.tensor([2.0, 0.0, 3.0])
    assert mica.grad(lambda v: mica.cumprod(v).sum())(x).tolist() == [1, 8, 0]


def test_pooling_says_what_is_wrong():
    x = mica.ones((2, 3, 3, 1))
    with pytest.raises(ValueError, match="padding 'full' is neither valid nor same"):
        mica.max_pool(x, 2, padding="full")
    with pytest.raises(ValueError, match="must have 2 entries above 0"):
        mica.max_pool(x, (2,))
    with pytest.raises(ValueError, match="needs"):
        mica.avg_pool(mica.ones((2, 3)), 2)
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        mica.cumsum(mica.ones((2, 3)), 2)


def test_softmax_survives_large_values():
    x = mica.tensor([1000.0, 0.0, -1000.0])
    assert mica.softmax(x).tolist() == [1, 0, 0]
    assert mica.logsumexp(x).item() == 1000
    assert mica.logsumexp(mica.tensor([float("-inf")] * 2)).item() == float("-inf")


def test_arange_and_full():
    assert mica.arange(4).tolist() == [0, 1, 2, 3]
    assert mica.arange(2, 11, 3).tolist() == [2, 5, 8]
    assert mica.arange(3, 0, -1).tolist() == [3, 2, 1]
    assert mica.arange(0.0, 1.0, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert mica.full((2,), True).dtype == mica.bool_
    assert mica.full(2, 7).tolist() == [7, 7]
    assert mica.zeros((2, 0)).shape == (2, 0)
    assert mica.ones((), "bool").item() is True
    assert mica.one_hot([0, 2, 5], 3).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_the_mean_of_integers_is_a_float():
    mean = mica.mean(mica.arange(4))
    assert (mean.dtype, mean.item()) == (mica.f32, 1.5)
    assert mica.var(mica.arange(4)).item() == 1.25
    assert mica.mean([True, False]).item() == 0.5


def test_softmax_takes_floats_alone():
    with pytest.raises(TypeError, match=r"\[softmax\]"):
        mica.softmax(mica.arange(3))


def test_a_key_gives_the_same_numbers_everywhere():
    key = mica.random.key(42)
    first = mica.random.normal(key, (1000,))
    assert first.tolist() == mica.random.normal(key, (1000,)).tolist()
    assert first.tolist() == mica.jit(lambda k: mica.random.normal(k, (1000,)))(key).tolist()
    for name in ("ref", "fake"):
        bits = mica.random.bits(key.to(name), (100,))
        assert bits.device == name
        assert bits.tolist() == mica.random.bits(key, (100,)).tolist()


def test_random_numbers_have_their_moments():
    a, b = mica.random.split(mica.random.key(7))
    uniform = mica.random.uniform(a, (20000,), low=-1.0, high=3.0).numpy()
    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert uniform.mean() == pytest.approx(1, abs=0.05)
    for dtype in ("f32", "f64"):
        normal = mica.random.normal(b, (20000,), dtype).numpy()
        assert normal.mean() == pytest.approx(0, abs=0.05)
        assert normal.std() == pytest.approx(1, abs=0.05)
    flips = mica.random.bernoulli(a, 0.25, (20000,)).numpy()
    assert flips.mean() == pytest.approx(0.25, abs=0.02)
    assert abs(np.corrcoef(uniform, normal)[0, 1]) < 0.05


def test_small_floats_stay_below_one():
    for dtype in ("f16", "bf16"):
        x = mica.random.uniform(mica.random.key(1), (20000,), dtype).astype("f32").numpy()
        assert x.max() < 1
        assert x.min() >= 0


def test_dropout_can_be_written_with_keys():
    def dropout(key, x, rate):
        keep = mica.random.uniform(key, x.shape) >= rate
        return mica.where(keep, x / (1 - rate), 0.0)

    out = mica.jit(dropout)(mica.random.key(3), mica.ones(10000), 0.5).numpy()
    assert set(np.unique(out)) == {0.0, 2.0}


def test_the_mean_of_many_halves_does_not_overflow():
    x = mica.tensor(np.full(70000, 2, np.float16))
    assert float(mica.mean(x)) == 2 and mica.mean(x).dtype.name == "f16"
    assert float(mica.jit(mica.mean)(x)) == 2
    assert float(mica.var(x)) == 0


POOLS = [((3, 6, 4, 67), 2), ((2, 6, 9, 5), 3), ((2, 7, 5, 4), 2)]


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
@pytest.mark.parametrize("shape, window", POOLS)
def test_the_gradient_of_max_pool_goes_to_the_first_of_the_largest(shape, window, dtype):
    random = np.random.default_rng(0)
    x = random.integers(-2, 3, shape).astype(float)  # many are equal
    x[0, 1, 1, :3] = np.nan
    n, h, w, c = shape
    out = h // window, w // window
    dy = random.integers(-8, 8, (n, *out, c)).astype(float)
    dy[0, 0, 0, 0] = -0.0
    expected = np.zeros(shape)
    for b, i, j, k in np.ndindex(n, *out, c):
        part = x[b, i * window : (i + 1) * window, j * window : (j + 1) * window, k].ravel()
        best = np.isnan(part).argmax() if np.isnan(part).any() else part.argmax()
        at = i * window + best // window, j * window + best % window
        expected[b, at[0], at[1], k] = dy[b, i, j, k]
    pool = mica.jit(lambda v, d: mica.vjp(lambda u: mica.max_pool(u, window), v)[1](d)[0])
    got = pool(mica.tensor(x, dtype), mica.tensor(dy, dtype)).numpy()
    np.testing.assert_array_equal(got, expected.astype(got.dtype))
    assert not np.signbit(got[got == 0]).any()


def test_max_pool_has_second_derivatives_and_batches():
    x = mica.tensor(np.random.default_rng(0).normal(size=(2, 4, 4, 3)), "f64")
    f = lambda v: (mica.max_pool(v * v * v, 2) ** 2).sum()  # noqa: E731
    gradient = mica.grad(f)(x).numpy()
    product = mica.jvp(mica.grad(f), (x,), (x,))[1].numpy()  # f is of degree 6
    np.testing.assert_allclose(product, 5 * gradient, rtol=1e-12)
    one = mica.vmap(mica.grad(lambda v: f(v.reshape(1, 4, 4, 3))))(x).numpy()
    np.testing.assert_allclose(one, gradient, rtol=1e-12)
