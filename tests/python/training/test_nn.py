"""mica.nn: what devices compute whole is what the plain functions compute."""

import mica
import numpy as np
import pytest
from house import by_threads


def plain_lstm(x, wx, wh, b, h, c, reverse=False):
    """The same, step by step."""
    n = wh.shape[0]
    outputs = []
    steps = range(x.shape[1])
    for t in reversed(steps) if reverse else steps:
        z = x[:, t] @ wx + h @ wh + b
        i, f, g, o = (z[:, k * n : (k + 1) * n] for k in range(4))
        c = mica.sigmoid(f) * c + mica.sigmoid(i) * mica.tanh(g)
        h = mica.sigmoid(o) * mica.tanh(c)
        outputs.append(h)
    if reverse:
        outputs.reverse()
    return mica.stack(outputs, 1), (h, c)


def operands(batch, time, features, size, dtype="f32", seed=0):
    rng = np.random.default_rng(seed)
    shapes = [(batch, time, features), (features, 4 * size), (size, 4 * size), (4 * size,)]
    shapes += [(batch, size)] * 2
    return [mica.tensor(rng.standard_normal(s) * 0.5, dtype) for s in shapes]


def whole_lstm(*args, reverse=False):
    return mica.nn.lstm(*args, reverse=reverse)


def weighted(function, reverse, *args):
    """A scalar that every result enters."""
    y, (h, c) = function(*args, reverse=reverse)
    ramp = mica.arange(y.size, dtype=y.dtype).reshape(y.shape) * (1 / y.size)
    return (mica.sin(y) * ramp).sum() + (h * h).sum() + (c * h).sum()


SIZES = [(1, 1, 1, 1), (2, 3, 2, 5), (8, 4, 3, 16), (13, 6, 4, 33), (19, 3, 2, 70)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_values_of_an_lstm_are_those_of_its_steps(sizes, reverse):
    args = operands(*sizes)
    found, (h, c) = mica.jit(lambda *a: whole_lstm(*a, reverse=reverse))(*args)
    expected, (h1, c1) = plain_lstm(*args, reverse=reverse)
    for a, b in [(found, expected), (h, h1), (c, c1)]:
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_gradients_of_an_lstm_are_those_of_its_steps(sizes, reverse):
    args = operands(*sizes)
    every = tuple(range(len(args)))
    found = mica.jit(mica.grad(lambda *a: weighted(whole_lstm, reverse, *a), every))(*args)
    expected = mica.jit(mica.grad(lambda *a: weighted(plain_lstm, reverse, *a), every))(*args)
    for a, b in zip(found, expected, strict=True):
        scale = np.abs(b.numpy()).max()
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5 * scale)


def test_second_derivatives_forward_mode_and_vmap_go_through_an_lstm():
    args = operands(2, 3, 2, 4, "f64")
    rng = np.random.default_rng(1)
    moves = [mica.tensor(rng.standard_normal(a.shape), "f64") for a in args]

    def gradient_along(function):
        def f(*a):
            return weighted(function, False, *a)

        def slope(*a):
            return mica.jvp(f, a, moves)[1]

        return mica.jit(mica.grad(slope, tuple(range(6))))(*args)

    for a, b in zip(gradient_along(whole_lstm), gradient_along(plain_lstm), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)

    def twice(function):
        def norm(x):
            g = mica.grad(lambda x: weighted(function, False, x, *args[1:]))(x)
            return (g * g).sum()

        return mica.jit(mica.grad(norm))(args[0])

    np.testing.assert_allclose(twice(whole_lstm).numpy(), twice(plain_lstm).numpy(), rtol=1e-9)
    batch = mica.tensor(rng.standard_normal((3, *args[0].shape)), "f64")

    def mapped(function):
        return mica.vmap(lambda x: function(x, *args[1:])[0])(batch).numpy()

    np.testing.assert_allclose(mapped(whole_lstm), mapped(plain_lstm), rtol=1e-12)


def test_an_lstm_has_the_same_bits_for_any_number_of_threads_and_on_f32_and_f64_alike():
    args = operands(21, 5, 3, 20)
    step = mica.jit(mica.grad(lambda *a: weighted(whole_lstm, False, *a), tuple(range(6))))
    one, two, five = by_threads(lambda: [g.tobytes() for g in step(*args)])
    assert one == two == five
    wide = whole_lstm(*operands(21, 5, 3, 20, "f64"))[0].numpy()
    np.testing.assert_allclose(whole_lstm(*args)[0].numpy(), wide, rtol=1e-4, atol=1e-6)


def test_the_reference_device_computes_an_lstm_by_its_body():
    args = operands(3, 4, 2, 5)
    own = mica.nn.lstm(*args)[0].numpy()
    other = mica.nn.lstm(*(a.to("ref") for a in args))[0].numpy()
    np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)


def test_states_default_to_zeros_and_the_bias_may_be_missing():
    x, wx, wh, b, h, c = operands(2, 3, 2, 4)
    found = mica.nn.lstm(x, wx, wh)[0].numpy()
    expected = mica.nn.lstm(x, wx, wh, b * 0, h * 0, c * 0)[0].numpy()
    np.testing.assert_array_equal(found, expected)


def test_wrong_shapes_are_named():
    x, wx, wh, b, h, c = operands(2, 3, 2, 4)
    with pytest.raises(ValueError, match=r"\[lstm\] x must be"):
        mica.nn.lstm(x[0], wx, wh)
    with pytest.raises(ValueError, match=r"\[lstm\] hidden weights must be"):
        mica.nn.lstm(x, wx, wx)
    with pytest.raises(ValueError, match=r"\[lstm_steps\] projected inputs"):
        mica.nn.lstm(x, wx, wh, b, h, c[:1])


# ---- cross entropy -------------------------------------------------------------------------------
def plain_cross_entropy(logits, labels):
    picked = mica.take_along_axis(mica.log_softmax(logits), labels.reshape(*labels.shape, 1), -1)
    return -picked.reshape(labels.shape)


def logits_and_labels(*shape, dtype="f32"):
    rng = np.random.default_rng(2)
    labels = mica.tensor(rng.integers(0, shape[-1], shape[:-1]).astype("int32"))
    return mica.tensor(rng.standard_normal(shape) * 3, dtype), labels


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2, 4, 70), (300, 10)])
def test_cross_entropy_and_its_gradient_are_those_of_log_softmax(shape):
    logits, labels = logits_and_labels(*shape)
    ramp = mica.arange(labels.size, dtype="f32").reshape(labels.shape) + 1

    def weighted_loss(function):
        return mica.jit(mica.value_and_grad(lambda x: (function(x, labels) * ramp).sum()))(logits)

    for a, b in zip(
        weighted_loss(mica.nn.cross_entropy), weighted_loss(plain_cross_entropy), strict=True
    ):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-5)


def test_derivatives_of_any_order_and_vmap_go_through_cross_entropy():
    logits, labels = logits_and_labels(3, 4, dtype="f64")
    move = mica.tensor(np.random.default_rng(3).standard_normal((3, 4)), "f64")

    def every_way(function):
        def loss(x):
            return (function(x, labels) ** 2).sum()

        slope = mica.jvp(loss, [logits], [move])[1]
        forward_over_reverse = mica.jvp(mica.grad(loss), [logits], [move])[1]
        reverse_over_reverse = mica.grad(lambda x: (mica.grad(loss)(x) * move).sum())
        third = mica.grad(lambda x: (reverse_over_reverse(x) ** 2).sum())(logits)
        mapped = mica.vmap(function)(logits, labels)
        return slope, forward_over_reverse, reverse_over_reverse(logits), third, mapped

    ours, plain = every_way(mica.nn.cross_entropy), every_way(plain_cross_entropy)
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-10)


def test_cross_entropy_of_large_and_infinite_logits_is_exact_and_of_a_label_outside_nan():
    logits = mica.tensor([[1000.0, 0.0], [0.0, -np.inf], [-1000.0, -1000.0], [1.0, 2.0]])
    losses = mica.nn.cross_entropy(logits, mica.tensor([0, 0, 1, 2])).numpy()
    np.testing.assert_allclose(losses[:3], [0, 0, np.log(2)], atol=1e-7)
    assert np.isnan(losses[3])
    gradient = mica.grad(lambda x: mica.nn.cross_entropy(x, mica.tensor([0, 0, 1])).sum())
    found = gradient(logits[:3]).numpy()
    np.testing.assert_allclose(found, [[0, 0], [0, 0], [0.5, -0.5]], atol=1e-7)
    with pytest.raises(ValueError, match=r"\[cross_entropy\] logits"):
        mica.nn.cross_entropy(logits, [0, 1])
    with pytest.raises(ValueError, match=r"\[cross_entropy\] logits"):
        mica.nn.cross_entropy(logits, [0.0, 1.0, 0.0, 0.0])


# ---- attention -----------------------------------------------------------------------------------
def plain_attention(q, k, v, mask=None, causal=False):
    """The same with all scores; queries that attend to nothing give 0."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose((*range(k.ndim - 2), k.ndim - 1, k.ndim - 2))
    if mask is not None:
        scores = (
            mica.where(mask, -np.inf, scores) if mask.dtype.kind == "boolean" else scores + mask
        )
    if causal:
        query = mica.iota(shape=scores.shape, axis=scores.ndim - 2, dtype="i32")
        key = mica.iota(shape=scores.shape, axis=scores.ndim - 1, dtype="i32")
        scores = mica.where(key > query, -np.inf, scores)
    top = scores.max(-1, True)
    powers = mica.exp(scores - mica.where(mica.is_finite(top), top, 0.0))
    total = powers.sum(-1, True)
    return (powers / mica.where(total == 0, 1.0, total)) @ v


def heads(leading, queries, keys, d, e, dtype="f32"):
    rng = np.random.default_rng(4)
    shapes = [(*leading, queries, d), (*leading, keys, d), (*leading, keys, e)]
    return [mica.tensor(rng.standard_normal(s), dtype) for s in shapes]


ATTENTION = [
    ((), 1, 1, 1, 1),
    ((2,), 5, 7, 3, 4),
    ((2, 3), 33, 40, 16, 8),
    ((1,), 65, 300, 20, 33),
    ((2,), 130, 130, 64, 64),
]


def attention_masks(sizes):
    leading, queries, keys, *_ = sizes
    rng = np.random.default_rng(5)
    hidden = rng.random((queries, keys)) < 0.3
    hidden[0] = True
    per_head = rng.random((*leading, 1, keys)) < 0.5
    added = rng.standard_normal((*leading[-1:], queries, keys))
    masks = [None, mica.tensor(hidden), mica.tensor(per_head)]
    return [*masks, mica.tensor(added, "f32")]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", ATTENTION)
def test_attention_and_its_gradients_are_those_of_the_whole_matrix(sizes, causal):
    operands = heads(*sizes)
    for mask in attention_masks(sizes):

        def results(function, mask=mask):
            def loss(q, k, v):
                y = function(q, k, v, mask=mask, causal=causal)
                ramp = mica.arange(y.size, dtype="f32").reshape(y.shape) * (1 / y.size)
                return (mica.sin(y) * ramp).sum(), y

            both = mica.value_and_grad(loss, (0, 1, 2), has_aux=True)
            (_, y), gradients = mica.jit(both)(*operands)
            return [y, *gradients]

        pairs = zip(results(mica.nn.attention), results(plain_attention), strict=True)
        for found, expected in pairs:
            scale = np.abs(expected.numpy()).max() + 1e-6
            difference = np.abs(found.numpy() - expected.numpy()).max()
            assert difference < 2e-5 * scale


@pytest.mark.parametrize(("dtype", "tolerance"), [("f64", 1e-8), ("f32", 2e-3)])
def test_derivatives_of_any_order_and_vmap_go_through_attention(dtype, tolerance):
    rng = np.random.default_rng(6)
    operands = heads((2,), 4, 5, 3, 2, dtype)
    moves = [mica.tensor(rng.standard_normal(x.shape), dtype) for x in operands]
    mask = mica.tensor(rng.standard_normal((4, 5)), dtype)

    def every_way(function):
        def loss(q, k, v):
            return (function(q, k, v, mask=mask, causal=True) ** 2).sum()

        every = (0, 1, 2)
        slope = mica.jvp(loss, operands, moves)[1]
        forward = mica.jvp(mica.grad(loss, every), operands, moves)[1]

        def along(*point):
            gradients = mica.grad(loss, every)(*point)
            return sum((g * m).sum() for g, m in zip(gradients, moves, strict=True))

        reverse = mica.grad(along, every)(*operands)
        of_mask = mica.grad(lambda m: function(*operands, mask=m).sum() ** 2)(mask)
        q, k, v = operands
        mapped = mica.vmap(lambda one: function(one, k[0], v[0]))(q)
        return [slope, *forward, *reverse, of_mask, mapped]

    ours, plain = every_way(mica.nn.attention), every_way(plain_attention)
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


def test_attention_has_the_same_bits_for_any_number_of_threads():
    operands = heads((3,), 70, 90, 16, 24)
    step = mica.jit(
        mica.grad(lambda q, k, v: mica.sin(mica.nn.attention(q, k, v)).sum(), (0, 1, 2))
    )
    one, two, five = by_threads(lambda: [g.tobytes() for g in step(*operands)])
    assert one == two == five


def test_wrong_operands_of_attention_are_named():
    q, k, v = heads((2,), 4, 5, 3, 2)
    with pytest.raises(ValueError, match=r"\[attention\] query .* do not fit"):
        mica.nn.attention(q, v, k)
    with pytest.raises(ValueError, match=r"\[attention\] q must be"):
        mica.nn.attention(q[0, 0], k, v)
