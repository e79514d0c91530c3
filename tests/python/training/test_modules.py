"""mica.nn's modules, losses and initializers, and mica.optim: what people train with."""

import mica
import numpy as np
import pytest
from mica import nn, optim

SAMPLES = [
    (lambda: nn.Linear(3, 4), (2, 3), (2, 4)),
    (lambda: nn.Linear(3, 4, bias=False), (5, 2, 3), (5, 2, 4)),
    (lambda: nn.Conv(3, 8, 3, padding="same"), (2, 5, 5, 3), (2, 5, 5, 8)),
    (lambda: nn.Conv(4, 8, (3,), groups=2, strides=2), (2, 9, 4), (2, 4, 8)),
    (lambda: nn.Conv(1, 2, (2, 2, 2), dilation=2), (1, 4, 4, 4, 1), (1, 2, 2, 2, 2)),
    (lambda: nn.LayerNorm(4), (2, 3, 4), (2, 3, 4)),
    (lambda: nn.RMSNorm(4), (2, 4), (2, 4)),
    (lambda: nn.GroupNorm(2, 4), (2, 3, 3, 4), (2, 3, 3, 4)),
    (lambda: nn.BatchNorm(4), (8, 4), (8, 4)),
    (lambda: nn.Dropout(0.5), (2, 4), (2, 4)),
    (lambda: nn.MultiHeadAttention(8, 2), (2, 5, 8), (2, 5, 8)),
    (lambda: nn.Sequential(nn.Linear(3, 4), mica.relu, nn.Linear(4, 1)), (2, 3), (2, 1)),
]


def numbers(shape, seed=0):
    return mica.tensor(np.random.default_rng(seed).standard_normal(shape), "f32")


@pytest.mark.parametrize(("make", "before", "after"), SAMPLES)
def test_a_module_is_a_function_of_its_parameters(make, before, after):
    mica.random.seed(1)
    model, x = make(), numbers(before)
    y = model(x)
    assert y.shape == after
    parameters = model.parameters()
    again = mica.jit(lambda p, x: model.bind(p)(x))(parameters, x)
    np.testing.assert_array_equal(again.numpy(), y.numpy())
    if not parameters:
        return
    slopes = mica.grad(lambda p: (model.bind(p)(x) * 0.5).sum())(parameters)
    assert mica.tree.structure(slopes) == mica.tree.structure(parameters)
    assert all(np.isfinite(leaf.numpy()).all() for leaf in mica.tree.leaves(slopes))
    other = mica.tree.map(lambda p: p * 0, parameters)
    assert (model.bind(other)(x).numpy() == 0).all()
    np.testing.assert_array_equal(model(x).numpy(), y.numpy())  # bind leaves the model alone
    model.update(other)
    assert (model(x).numpy() == 0).all()


def test_recurrent_modules_hold_the_weights_of_their_functions():
    x = numbers((2, 5, 3))
    lstm, gru = nn.LSTM(3, 4), nn.GRU(3, 4, reverse=True)
    outputs, (hidden, cell) = lstm(x)
    expected = nn.lstm(x, lstm.input_weights, lstm.hidden_weights, lstm.bias)
    np.testing.assert_array_equal(outputs.numpy(), expected[0].numpy())
    assert hidden.shape == cell.shape == (2, 4)
    outputs, last = gru(x)
    np.testing.assert_array_equal(outputs.numpy()[:, 0], last.numpy())


def test_normalizations_have_the_moments_that_they_promise():
    x = numbers((6, 5, 4)) * 3 + 1
    for module, axes in [
        (nn.LayerNorm(4), (2,)),
        (nn.LayerNorm((5, 4)), (1, 2)),
        (nn.BatchNorm(4).bind(training=True), (0, 1)),
    ]:
        y = module(x).numpy()
        np.testing.assert_allclose(y.mean(axes), 0, atol=1e-5)
        np.testing.assert_allclose(y.var(axes), 1, atol=1e-3)
    groups = nn.GroupNorm(2, 4)(x).numpy().reshape(6, 5, 2, 2)
    np.testing.assert_allclose(groups.mean((1, 3)), 0, atol=1e-5)
    squares = (nn.RMSNorm(4)(x).numpy() ** 2).mean(-1)
    np.testing.assert_allclose(squares, 1, atol=1e-4)


def test_a_batch_norm_in_training_moves_its_averages_in_the_bound_copy():
    x = numbers((50, 3)) * 2 + 5
    model = nn.BatchNorm(3, momentum=0.0)
    bound = model.bind(training=True)
    bound(x)
    np.testing.assert_allclose(bound.state()["mean"].numpy(), x.numpy().mean(0), rtol=1e-5)
    np.testing.assert_allclose(
        bound.state()["variance"].numpy(), x.numpy().var(0, ddof=1), rtol=1e-4
    )
    assert model.state()["mean"].tolist() == [0, 0, 0]
    model.update(state=bound.state())
    np.testing.assert_allclose(model(x).numpy().mean(0), 0, atol=1e-4)
    assert model.parameters().keys() == {"scale", "bias"}


def test_dropout_drops_in_training_alone_and_by_its_key():
    model, x = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5)), mica.ones((200, 50))
    assert model(x).tolist() == x.tolist()
    first = model.bind(training=True, key=mica.random.key(3))(x).numpy()
    again = mica.jit(lambda key, x: model.bind(training=True, key=key)(x))(mica.random.key(3), x)
    np.testing.assert_array_equal(first, again.numpy())
    assert set(np.unique(first)) == {0, 4}
    kept = (first != 0).mean()  # the two layers draw apart: a quarter, not a half
    assert 0.235 < kept < 0.265


def test_a_tree_that_does_not_fit_is_refused_and_nothing_changes():
    model = nn.Sequential(nn.Linear(2, 3), mica.relu, nn.Linear(3, 1))
    before = model.parameters()["parts"][2]["weight"].tolist()
    tree = model.parameters()
    tree["parts"][0] = {"weight": mica.zeros((2, 3)), "bias": mica.zeros((4,))}
    with pytest.raises(ValueError, match=r"parts\.0\.bias is f32\[3\], not f32\[4\]"):
        model.update(tree)
    with pytest.raises(ValueError, match=r"the model has \['parts'\], not \['w'\]"):
        model.bind({"w": 1})
    with pytest.raises(ValueError, match="parts needs a list of 3 trees"):
        model.bind({"parts": []})
    assert model.parameters()["parts"][2]["weight"].tolist() == before


def test_modules_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"\[Linear\] x \(2, 4\) needs a last axis of 3"):
        nn.Linear(3, 1)(mica.ones((2, 4)))
    with pytest.raises(ValueError, match="2 groups do not divide 3 and 4 channels"):
        nn.Conv(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="the rate is 1"):
        nn.Dropout(1)
    with pytest.raises(ValueError, match="3 heads do not divide a size of 8"):
        nn.MultiHeadAttention(8, 3)
    with pytest.raises(TypeError, match="is no layer and no function"):
        nn.Sequential(3)
    with pytest.raises(ValueError, match="need a key as argument"):
        mica.jit(lambda x: nn.Dropout(0.5).bind(training=True)(x))(mica.ones((2,)))


def test_a_model_is_shown_with_its_parameters():
    model = nn.Sequential(nn.Linear(2, 3), mica.relu)
    assert repr(model).splitlines() == [
        "Sequential()",
        "  parts[0]: Linear(weight f32[2, 3], bias f32[3])",
        "  parts[1]: relu",
    ]
    assert "<td>parts.0.weight</td>" in model._repr_html_()
    assert nn.count(model) == 9


# ---- losses --------------------------------------------------------------------------------------
def test_losses_are_their_formulas():
    x, t = np.array([[0.5, -2.0, 3.0]], "f"), np.array([[1.0, 0.0, 1.0]], "f")
    e = np.abs(x - t)
    sigmoid = np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x)))
    one = np.array([[0.2, 0.3, 0.5]], "f")
    for found, expected in [
        (nn.losses.absolute_error(x, t), e.mean()),
        (nn.losses.squared_error(x, t, reduction="sum"), (e**2).sum()),
        (
            nn.losses.huber(x, t, delta=0.75),
            np.where(e <= 0.75, e**2 / 2, 0.75 * e - 0.28125).mean(),
        ),
        (nn.losses.hinge(x, t), np.maximum(0, 1 - (2 * t - 1) * x).mean()),
        (nn.losses.sigmoid_cross_entropy(x, t), sigmoid.mean()),
        (nn.losses.softmax_cross_entropy(x, [2]), np.log(np.exp(x).sum(-1)) - x[:, 2]),
        (nn.losses.categorical_cross_entropy(one, [[0.0, 1.0, 0.0]]), -np.log(0.3)),
        (nn.losses.log_loss(one, t), -(np.log(0.2) + np.log(0.7) + np.log(0.5)) / 3),
        (nn.losses.cosine_distance(one, t), 1 - 0.7),
    ]:
        np.testing.assert_allclose(found.numpy(), np.squeeze(expected), rtol=1e-5)
    with pytest.raises(ValueError, match="reduction is 'mean', 'sum' or 'none'"):
        nn.losses.huber(x, t, reduction="median")


# ---- optimizers ----------------------------------------------------------------------------------
def by_hand(kind, p, d, slots, t, rate):
    """One step of a formula of nn.h with the options of KINDS."""
    if kind == "sgd":
        slots[0] = 0.9 * slots[0] + d
        return p - rate * slots[0]
    if kind == "rmsprop":
        slots[0] = 0.99 * slots[0] + 0.01 * d * d
        return p - rate * d / (np.sqrt(slots[0]) + 1e-8)
    if kind == "adamw":
        p = p - rate * 0.01 * p
    slots[0] = 0.9 * slots[0] + 0.1 * d
    slots[1] = 0.999 * slots[1] + 0.001 * d * d
    root = np.sqrt(slots[1] / (1 - 0.999**t)) + 1e-8
    return p - rate * slots[0] / (1 - 0.9**t) / root


KINDS = {
    "sgd": optim.sgd(0.1, momentum=0.9),
    "adam": optim.adam(0.1),
    "adamw": optim.adamw(0.1),
    "rmsprop": optim.rmsprop(0.1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_optimizers_step_by_their_formulas(kind):
    optimizer, rng = KINDS[kind], np.random.default_rng(0)
    p = {"a": rng.standard_normal((3, 2)), "b": [rng.standard_normal(4)]}
    parameters = mica.tree.map(lambda v: mica.tensor(v, "f64"), p)
    state = optimizer.init(parameters)
    slots = [[np.zeros(v.shape) for _ in range(2)] for v in mica.tree.leaves(p)]
    update = mica.jit(optimizer.update)
    for t in range(1, 6):
        slopes = mica.tree.map(lambda v: rng.standard_normal(v.shape), p)
        given = mica.tree.map(lambda v: mica.tensor(v, "f64"), slopes)
        parameters, state = update(given, state, parameters)
        leaves, shape = mica.tree.flatten(p)
        news = [
            by_hand(kind, v, d, s, t, 0.1)
            for v, d, s in zip(leaves, mica.tree.leaves(slopes), slots, strict=True)
        ]
        p = mica.tree.unflatten(shape, news)
    for found, expected in zip(mica.tree.leaves(parameters), mica.tree.leaves(p), strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)
    assert state["step"].item() == 5


def test_a_rate_may_depend_on_the_step():
    rates = optim.exponential(1.0, 0.5, 1)
    optimizer = optim.sgd(rates)
    p, state = mica.zeros((1,)), optimizer.init(mica.zeros((1,)))
    seen = []
    for _ in range(3):
        p, state = mica.jit(optimizer.update)(mica.ones((1,)), state, p)
        seen.append(round(p.item(), 6))
    assert seen == [-1.0, -1.5, -1.75]
    schedule = optim.cosine(1.0, 20, warmup=10, last=0.1)
    assert [round(schedule(s).item(), 3) for s in (0, 5, 10, 15, 20, 99)] == [
        0.0,
        0.5,
        1.0,
        0.55,
        0.1,
        0.1,
    ]


def test_gradients_are_clipped_together():
    slopes = {"a": mica.tensor([3.0]), "b": mica.tensor([4.0])}
    assert optim.global_norm(slopes).item() == 5
    clipped = optim.clip_by_global_norm(slopes, 2.5)
    assert [clipped["a"].item(), clipped["b"].item()] == [1.5, 2.0]
    assert optim.clip_by_global_norm(slopes, 9.0)["a"].item() == 3


def test_optimizers_say_what_is_wrong():
    optimizer = optim.adam()
    parameters = {"w": mica.ones((2,))}
    with pytest.raises(ValueError, match="gradients and parameters differ in structure"):
        optimizer.update({"v": mica.ones((2,))}, optimizer.init(parameters), parameters)
    with pytest.raises(ValueError, match="the state is not of these parameters"):
        optimizer.update(parameters, optim.sgd().init(parameters), parameters)
    with pytest.raises(ValueError, match="beta1 is -1"):
        optim.adam(beta1=-1)
    with pytest.raises(ValueError, match=r"\[adam\] parameter f32\[2\], but gradient f32\[3\]"):
        optimizer.update({"w": mica.ones((3,))}, optimizer.init(parameters), parameters)


# ---- trees, random numbers without a key ---------------------------------------------------------
def test_trees_are_mapped_with_their_paths():
    tree = {"b": (1, [2]), "a": None, "c": 3}
    assert mica.tree.paths(tree) == [("b", 0), ("b", 1, 0), ("c",)]
    assert mica.tree.map_with_path(lambda path, x: (path[-1], x), tree)["c"] == ("c", 3)
    with pytest.raises(ValueError, match="tree 2 has another structure"):
        mica.tree.map(lambda a, b: a, {"a": 1}, {"b": 1})


def test_random_numbers_without_a_key_follow_the_seed():
    mica.random.seed(5)
    first = mica.random.normal((2,)).tolist() + mica.random.uniform(3).tolist()
    mica.random.seed(5)
    assert mica.random.normal((2,)).tolist() + mica.random.uniform(3).tolist() == first
    assert mica.random.normal((2,)).tolist() != first[:2]
    with pytest.raises(ValueError, match="need a key as argument"):
        mica.jit(lambda x: x + mica.random.normal((2,)))(mica.ones((2,)))
    with pytest.raises(TypeError, match="a key is an array"):
        mica.random.normal(7, (2,))
    whole = mica.random.randint(mica.random.key(1), (1000,), -2, 3).numpy()
    assert set(whole) == {-2, -1, 0, 1, 2}
    assert sorted(mica.random.permutation(None, 50).tolist()) == list(range(50))
    rows = mica.random.permutation(mica.random.key(2), [[1, 1], [2, 2]]).tolist()
    assert sorted(rows) == [[1, 1], [2, 2]]
