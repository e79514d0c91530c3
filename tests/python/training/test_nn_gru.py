"""mica.nn.gru: what devices compute whole is what the plain functions compute."""

import mica
import numpy as np
import pytest
from house import by_threads


def plain_gru(x, wx, wh, b, bh, h, reverse=False):
    """The same, step by step."""
    n = wh.shape[0]
    outputs = []
    steps = range(x.shape[1])
    for t in reversed(steps) if reverse else steps:
        a, u = x[:, t] @ wx + b, h @ wh + bh
        z = mica.sigmoid(a[:, :n] + u[:, :n])
        r = mica.sigmoid(a[:, n : 2 * n] + u[:, n : 2 * n])
        h = z * h + (1 - z) * mica.tanh(a[:, 2 * n :] + r * u[:, 2 * n :])
        outputs.append(h)
    if reverse:
        outputs.reverse()
    return mica.stack(outputs, 1), h


def operands(batch, time, features, size, dtype="f32"):
    rng = np.random.default_rng(0)
    shapes = [(batch, time, features), (features, 3 * size), (size, 3 * size)]
    shapes += [(3 * size,), (3 * size,), (batch, size)]
    return [mica.tensor(rng.standard_normal(s) * 0.5, dtype) for s in shapes]


def weighted(function, reverse, *args):
    """A scalar that every result enters."""
    y, h = function(*args, reverse=reverse)
    ramp = mica.arange(y.size, dtype=y.dtype).reshape(y.shape) * (1 / y.size)
    return (mica.sin(y) * ramp).sum() + (h * h).sum()


SIZES = [(1, 1, 1, 1), (2, 3, 2, 5), (8, 4, 3, 16), (13, 6, 4, 33), (19, 3, 2, 70)]
EVERY = tuple(range(6))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_values_and_gradients_of_a_gru_are_those_of_its_steps(sizes, reverse):
    args = operands(*sizes)
    found = mica.jit(lambda *a: mica.nn.gru(*a, reverse=reverse))(*args)
    for a, b in zip(found, plain_gru(*args, reverse=reverse), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-6)
    found = mica.jit(mica.grad(lambda *a: weighted(mica.nn.gru, reverse, *a), EVERY))(*args)
    expected = mica.jit(mica.grad(lambda *a: weighted(plain_gru, reverse, *a), EVERY))(*args)
    for a, b in zip(found, expected, strict=True):
        scale = np.abs(b.numpy()).max()
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5 * scale)


def ramp(*shape, by):
    return np.sin(np.arange(1, np.prod(shape) + 1) * by).reshape(shape)


@pytest.mark.parametrize("dtype, close", [("f64", 1e-8), ("f32", 2e-4)])
def test_a_gru_has_the_golden_values_of_pytorch(dtype, close):
    """torch.nn.GRU of PyTorch 2, whose gates stand in the order r z n, in f64."""
    arrays = ramp(2, 5, 3, by=0.7), ramp(3, 12, by=1.3), ramp(4, 12, by=2.1) * 0.5
    arrays += ramp(12, by=0.4) * 0.1, ramp(12, by=0.9) * 0.2, ramp(2, 4, by=1.7)
    args = [mica.tensor(a, dtype) for a in arrays]
    last = [
        [0.170161623, -0.0126833255, -0.118347647, -0.2106471073],
        [0.0076527893, -0.1074201896, 0.1105941192, -0.1065436733],
    ]
    np.testing.assert_allclose(mica.nn.gru(*args)[1].numpy(), last, atol=close)

    def loss(*args):
        y = mica.nn.gru(*args)[0]
        return (mica.sin(y) * mica.arange(y.size, dtype=dtype).reshape(y.shape)).sum()

    value, gradients = mica.jit(mica.value_and_grad(loss, EVERY))(*args)
    golden = [9439.702340737, 12290.418390825, 15213.392327802]
    golden += [109047.274564683, 29507.651359446, 10409.235016486]
    assert float(value) == pytest.approx(-28.822146052, rel=close)
    squares = [float((g * g).sum()) for g in gradients]
    assert squares == pytest.approx(golden, rel=close)


def test_second_derivatives_forward_mode_and_vmap_go_through_a_gru():
    args = operands(2, 3, 2, 4, "f64")
    rng = np.random.default_rng(1)
    moves = [mica.tensor(rng.standard_normal(a.shape), "f64") for a in args]

    def gradient_along(function):
        def slope(*a):
            return mica.jvp(lambda *b: weighted(function, False, *b), a, moves)[1]

        return mica.jit(mica.grad(slope, EVERY))(*args)

    for a, b in zip(gradient_along(mica.nn.gru), gradient_along(plain_gru), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)

    def twice(function):
        def norm(x):
            g = mica.grad(lambda x: weighted(function, False, x, *args[1:]))(x)
            return (g * g).sum()

        return mica.jit(mica.grad(norm))(args[0]).numpy()

    np.testing.assert_allclose(twice(mica.nn.gru), twice(plain_gru), rtol=1e-9)
    batch = mica.tensor(rng.standard_normal((3, *args[0].shape)), "f64")

    def mapped(function):
        return mica.vmap(lambda x: function(x, *args[1:])[0])(batch).numpy()

    np.testing.assert_allclose(mapped(mica.nn.gru), mapped(plain_gru), rtol=1e-12)


def test_a_gru_has_the_same_bits_for_any_number_of_threads():
    args = operands(21, 5, 3, 20)
    step = mica.jit(mica.grad(lambda *a: weighted(mica.nn.gru, False, *a), EVERY))
    one, two, five = by_threads(lambda: [g.tobytes() for g in step(*args)])
    assert one == two == five


def test_what_a_gru_is_not_given_is_zero_and_wrong_shapes_are_named():
    x, wx, wh, b, bh, h = operands(2, 3, 2, 4)
    found = mica.nn.gru(x, wx, wh)[0].numpy()
    np.testing.assert_array_equal(found, mica.nn.gru(x, wx, wh, b * 0, bh * 0, h * 0)[0].numpy())
    with pytest.raises(ValueError, match=r"\[gru\] x must be"):
        mica.nn.gru(x[0], wx, wh)
    with pytest.raises(ValueError, match=r"\[gru\] hidden weights must be"):
        mica.nn.gru(x, wx, wx)
    with pytest.raises(ValueError, match=r"\[gru_steps\] projected inputs"):
        mica.nn.gru(x, wx, wh, b, bh, h[:1])
