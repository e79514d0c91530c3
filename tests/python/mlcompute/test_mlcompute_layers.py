"""Layers of mlcompute: every form, every property, on numbers worked out with numpy."""

import math

import mlcompute as mlc
import numpy as np
import pytest

NOW = mlc.execution_options.SYNCHRONOUS
CPU = mlc.device("cpu")


def run(layer, *arrays, labels=None):
    """The layer's results on arrays."""
    types = {"f": "Float32", "i": "Int32", "b": "Boolean"}
    tensors = [mlc.tensor(list(a.shape), types[a.dtype.kind]) for a in arrays]
    g = mlc.graph()
    names = {f"x{i}": tensor for i, tensor in enumerate(tensors)}
    if labels is None:
        g.node(layer, tensors)
        inference = mlc.inference_graph([g])
        inference.add_inputs(names)
    else:
        expected = mlc.tensor(list(labels.shape))
        g.node(layer, tensors, loss_labels=expected)
        inference = mlc.inference_graph([g])
        inference.add_inputs(names, {"labels": expected})
    inference.compile(CPU)
    data = dict(zip(names, arrays, strict=True))
    given = None if labels is None else {"labels": labels}
    inference.execute(data, options=NOW, loss_labels_data=given)
    results = [t.numpy().copy() for t in g.result_tensors_for_layer(layer)]
    return results[0] if len(results) == 1 else results


def f32(*values):
    return np.array(values, np.float32)


def weights(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor_of(array):
    return mlc.tensor(list(array.shape), data=np.ascontiguousarray(array, np.float32))


# ---- what all layers have ------------------------------------------------------------------------


def test_layers_are_numbered_and_labelled():
    first, second = mlc.arithmetic_layer("add"), mlc.selection_layer()
    assert second.layer_id == first.layer_id + 1 > 1
    assert first.label == f"Arithmetic{first.layer_id}"
    first.label = "sum"
    assert first.label == "sum" and second.label == f"Selection{second.layer_id}"
    assert first.is_debugging_enabled is False
    first.is_debugging_enabled = True
    assert first.is_debugging_enabled is True


def test_a_layer_knows_where_it_runs():
    layer = mlc.arithmetic_layer("sqrt")
    assert layer.device_type is mlc.device_type.ANY
    assert run(layer, f32(4, 9)).tolist() == [2, 3]
    assert layer.device_type is mlc.device_type.CPU


def test_classes_of_layers_say_what_they_support():
    assert mlc.convolution_layer.supports_data_type("Float32", CPU) is True
    assert mlc.convolution_layer.supports_data_type("Boolean", CPU) is False
    assert mlc.embedding_layer.supports_data_type("Int32", CPU) is True
    assert mlc.layer.supports_data_type("Float32", CPU) is True


def test_a_layer_that_does_not_take_a_type_says_so():
    x = mlc.tensor([2, 3], "Boolean")
    softmax = mlc.softmax_layer("Softmax")
    softmax.label = "the softmax"
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=r"the softmax.*Boolean"):
        mlc.graph().node(softmax, x)


# ---- activations ---------------------------------------------------------------------------------

A = mlc.activation_layer
SELU = (1.0507009873554805, 1.6732632423543772)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "relu": (A.relu_layer, lambda x: np.maximum(x, 0)),
    "relu6": (A.relu6_layer, lambda x: np.clip(x, 0, 6)),
    "leaky_relu": (A.leaky_relu_layer, lambda x: np.where(x > 0, x, 0.01 * x)),
    "leaky_relu_slope": (lambda: A.leaky_relu_layer(0.5), lambda x: np.where(x > 0, x, x / 2)),
    "linear": (lambda: A.linear_layer(2, -1), lambda x: 2 * x - 1),
    "sigmoid": (A.sigmoid_layer, sigmoid),
    "hard_sigmoid": (A.hard_sigmoid_layer, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    "tanh": (A.tanh_layer, np.tanh),
    "absolute": (A.absolute_layer, np.abs),
    "soft_plus": (A.soft_plus_layer, lambda x: np.log1p(np.exp(x))),
    "soft_plus_beta": (lambda: A.soft_plus_layer(2), lambda x: np.log1p(np.exp(2 * x)) / 2),
    "soft_sign": (A.soft_sign_layer, lambda x: x / (1 + np.abs(x))),
    "elu": (A.elu_layer, lambda x: np.where(x > 0, x, np.expm1(x))),
    "elu_a": (lambda: A.elu_layer(0.5), lambda x: np.where(x > 0, x, np.expm1(x) / 2)),
    "relun": (lambda: A.relun_layer(0.5, 2), lambda x: np.minimum(np.where(x > 0, x, x / 2), 2)),
    "log_sigmoid": (A.log_sigmoid_layer, lambda x: np.log(sigmoid(x))),
    "selu": (A.selu_layer, lambda x: SELU[0] * np.where(x > 0, x, SELU[1] * np.expm1(x))),
    "celu": (A.celu_layer, lambda x: np.where(x > 0, x, np.expm1(x))),
    "celu_a": (lambda: A.celu_layer(2), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    "hard_shrink": (A.hard_shrink_layer, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "hard_shrink_a": (lambda: A.hard_shrink_layer(2), lambda x: np.where(np.abs(x) > 2, x, 0)),
    "soft_shrink": (
        A.soft_shrink_layer, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "soft_shrink_a": (
        lambda: A.soft_shrink_layer(2), lambda x: np.sign(x) * np.maximum(np.abs(x) - 2, 0)),
    "tanh_shrink": (A.tanh_shrink_layer, lambda x: x - np.tanh(x)),
    "threshold": (lambda: A.threshold_layer(1, -7), lambda x: np.where(x > 1, x, -7)),
    "gelu": (
        A.gelu_layer,
        lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2),
    "hard_swish": (A.hard_swish_layer, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "clamp": (lambda: A.clamp_layer(-1, 2), lambda x: np.clip(x, -1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_its_formula(name):
    make, formula = ACTIVATIONS[name]
    x = np.array([-8, -3.5, -2.25, -1, -0.75, -0.25, 0.25, 0.75, 1.5, 2.25, 3.5, 8], np.float32)
    layer = make()
    np.testing.assert_allclose(run(layer, x), formula(x.astype(np.float64)), 1e-5, 1e-6)
    assert isinstance(layer.descriptor, mlc.activation_descriptor)


def test_an_activation_layer_keeps_its_descriptor():
    layer = mlc.activation_layer(mlc.activation_descriptor("linear", 3, 4))
    assert layer.descriptor.activation_type is mlc.activation_type.LINEAR
    assert (layer.descriptor.a, layer.descriptor.b) == (3, 4)
    assert run(layer, f32(1, 2)).tolist() == [7, 10]
    assert run(mlc.activation_layer("none"), f32(1, 2)).tolist() == [1, 2]


# ---- arithmetic, comparison, selection -----------------------------------------------------------


def test_layers_know_their_operations():
    assert mlc.arithmetic_layer("Rsqrt").operation is mlc.arithmetic_operation.RSQRT
    assert mlc.comparison_layer("LessOrEqual").operation is mlc.comparison_operation.LESS_OR_EQUAL
    assert mlc.softmax_layer("LogSoftmax").operation is mlc.softmax_operation.LOG_SOFTMAX


def test_operations_without_nan_give_zero():
    x, y = f32(np.nan, np.inf, 3), f32(0, 0, 2)
    assert run(mlc.arithmetic_layer("MultiplyNoNaN"), x, y).tolist() == [0, 0, 6]
    assert run(mlc.arithmetic_layer("DivideNoNaN"), f32(1, 0, 3), y).tolist() == [0, 0, 1.5]


def test_a_comparison_is_boolean():
    result = run(mlc.comparison_layer("less"), f32(1, 2, 3), f32(2, 2, 2))
    assert result.dtype == bool and result.tolist() == [True, False, False]


def test_a_selection_takes_the_first_where_it_is_true():
    condition = np.array([True, False])
    assert run(mlc.selection_layer(), condition, f32(1, 2), f32(3, 4)).tolist() == [1, 4]


# ---- normalizations ------------------------------------------------------------------------------


def affine(n):
    gamma, beta = weights(n, seed=1), weights(n, seed=2)
    return tensor_of(gamma), tensor_of(beta), gamma, beta


def test_batch_normalization_uses_its_statistics():
    gamma, beta, g, b = affine(2)
    mean, variance = tensor_of(f32(1, -1)), tensor_of(f32(4, 0.25))
    layer = mlc.batch_normalization_layer(2, mean, variance, beta, gamma, 0.5, 0.75)
    assert layer.feature_channel_count == 2
    assert (layer.mean, layer.variance) == (mean, variance)
    assert (layer.beta, layer.gamma) == (beta, gamma)
    assert layer.beta_parameter.tensor is beta and layer.gamma_parameter.tensor is gamma
    assert layer.variance_epsilon == 0.5 and layer.momentum == 0.75
    assert mlc.batch_normalization_layer(2, mean, variance).momentum == np.float32(0.99)
    x = weights(3, 2, 2, 2)
    m, v = np.reshape([1, -1], (2, 1, 1)), np.reshape([4, 0.25], (2, 1, 1))
    wanted = (x - m) / np.sqrt(v + 0.5) * g.reshape(2, 1, 1) + b.reshape(2, 1, 1)
    np.testing.assert_allclose(run(layer, x), wanted, 1e-5, 1e-5)


def test_instance_normalization_uses_every_examples_own_statistics():
    gamma, beta, g, b = affine(2)
    layer = mlc.instance_normalization_layer(2, beta, gamma, 0.5)
    assert layer.feature_channel_count == 2 and layer.mean is None and layer.variance is None
    assert (layer.beta, layer.gamma) == (beta, gamma)
    assert layer.beta_parameter.tensor is beta and layer.gamma_parameter.tensor is gamma
    assert layer.variance_epsilon == 0.5 and layer.momentum == np.float32(0.99)
    x = weights(3, 2, 4, 2)
    m, v = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    wanted = (x - m) / np.sqrt(v + 0.5) * g.reshape(2, 1, 1) + b.reshape(2, 1, 1)
    np.testing.assert_allclose(run(layer, x), wanted, 1e-5, 1e-5)
    mean, variance = tensor_of(f32(1, -1)), tensor_of(f32(4, 0.25))
    with_statistics = mlc.instance_normalization_layer(
        2, None, None, 0.5, 0.25, mean=mean, variance=variance
    )
    assert (with_statistics.mean, with_statistics.variance) == (mean, variance)
    assert with_statistics.momentum == 0.25 and with_statistics.beta is None


def test_group_normalization_normalizes_groups():
    gamma, beta, g, b = affine(4)
    layer = mlc.group_normalization_layer(4, 2, beta, gamma, 0.25)
    assert layer.feature_channel_count == 4 and layer.group_count == 2
    assert (layer.beta, layer.gamma) == (beta, gamma)
    assert layer.beta_parameter.tensor is beta and layer.gamma_parameter.tensor is gamma
    assert layer.variance_epsilon == 0.25
    x = weights(2, 4, 3, 1)
    groups = x.reshape(2, 2, -1)
    z = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 0.25)
    wanted = z.reshape(x.shape) * g.reshape(4, 1, 1) + b.reshape(4, 1, 1)
    np.testing.assert_allclose(run(layer, x), wanted, 1e-5, 1e-5)


def test_layer_normalization_normalizes_the_last_dimensions():
    gamma, beta = tensor_of(weights(2, 3, seed=1)), tensor_of(weights(2, 3, seed=2))
    layer = mlc.layer_normalization_layer([2, 3], beta, gamma, 0.25)
    assert layer.normalized_shape == [2, 3] and layer.variance_epsilon == 0.25
    assert (layer.beta, layer.gamma) == (beta, gamma)
    assert layer.beta_parameter.tensor is beta and layer.gamma_parameter.tensor is gamma
    x = weights(4, 2, 3)
    m, v = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    wanted = (x - m) / np.sqrt(v + 0.25) * gamma.numpy() + beta.numpy()
    np.testing.assert_allclose(run(layer, x), wanted, 1e-5, 1e-5)


# ---- layers with weights -------------------------------------------------------------------------


def test_a_convolution_layer_keeps_its_weights_and_descriptor():
    w, b = tensor_of(weights(1, 6, 2, 2)), tensor_of(weights(1, 3, 1, 1))
    d = mlc.convolution_descriptor.descriptor(
        None, None, 2, 3, kernel_sizes=2, padding_policy="Valid"
    )
    layer = mlc.convolution_layer(w, b, d)
    assert layer.weights is w and layer.biases is b and layer.descriptor == d
    assert layer.weights_parameter.tensor is w and layer.biases_parameter.tensor is b
    x = weights(1, 2, 3, 3, seed=3)
    kernel = w.numpy().reshape(3, 2, 2, 2)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3))
    wanted = np.einsum("ncyxhw,ochw->noyx", windows, kernel) + b.numpy()
    np.testing.assert_allclose(run(layer, x), wanted, 1e-5, 1e-5)
    assert mlc.convolution_layer(w, None, d).biases is None


@pytest.mark.parametrize(("policy", "size"), [("Same", 5), ("Valid", 3), ("UsePaddingSize", 7)])
def test_a_padding_policy_decides_the_size(policy, size):
    w = tensor_of(np.ones((1, 1, 3, 3)))
    d = mlc.convolution_descriptor(
        "Standard", 3, 1, 1, padding_policy=policy,
        padding_sizes=2 if policy == "UsePaddingSize" else None,
    )  # fmt: skip
    assert run(mlc.convolution_layer(w, None, d), weights(1, 1, 5, 5)).shape == (1, 1, size, size)


def test_a_fully_connected_layer_keeps_its_weights_and_descriptor():
    w, b = tensor_of(weights(3, 2)), tensor_of(weights(3))
    d = mlc.convolution_descriptor.descriptor(1, 1, 2, 3)
    layer = mlc.fully_connected_layer(w, b, d)
    assert layer.weights is w and layer.biases is b and layer.descriptor == d
    assert layer.weights_parameter.tensor is w and layer.biases_parameter.tensor is b
    x = weights(4, 2, seed=5)
    np.testing.assert_allclose(run(layer, x), x @ w.numpy().T + b.numpy(), 1e-5, 1e-5)


def test_an_embedding_layer_keeps_its_weights_and_descriptor():
    w, d = tensor_of(weights(5, 3)), mlc.embedding_descriptor(5, 3)
    layer = mlc.embedding_layer(d, w)
    assert layer.weights is w and layer.weights_parameter.tensor is w and layer.descriptor == d
    indices = np.array([[4, 0], [2, 2]], np.int32)
    assert (run(layer, indices) == w.numpy()[indices]).all()


def test_an_lstm_layer_keeps_its_weights_and_activations():
    d = mlc.lstm_descriptor(2, 3)
    w = [tensor_of(weights(3, 2, seed=i)) for i in range(4)]
    u = [tensor_of(weights(3, 3, seed=i + 4)) for i in range(4)]
    b = [tensor_of(weights(3, seed=i + 8)) for i in range(4)]
    v = [tensor_of(weights(3, seed=i + 12)) for i in range(4)]
    plain = mlc.lstm_layer(d, w, u, b)
    assert plain.descriptor == d and plain.peephole_weights == []
    assert plain.input_weights == w and plain.hidden_weights == u and plain.biases == b
    for parameters, tensors in (
        (plain.input_weights_parameters, w),
        (plain.hidden_weights_parameters, u),
        (plain.biases_parameters, b),
    ):
        assert [p.tensor for p in parameters] == tensors
    kinds = [a.activation_type.name for a in plain.gate_activations]
    assert kinds == ["SIGMOID", "SIGMOID", "TANH", "SIGMOID"]
    assert plain.output_result_activation.activation_type is mlc.activation_type.TANH
    gates = [mlc.activation_descriptor(kind) for kind in ("tanh", "relu", "softsign", "sigmoid")]
    whole = mlc.lstm_layer(d, w, u, b, v, gates, mlc.activation_descriptor("softsign"))
    assert whole.peephole_weights == v
    assert [p.tensor for p in whole.peephole_weights_parameters] == v
    assert whole.gate_activations == gates
    assert whole.output_result_activation.activation_type is mlc.activation_type.SOFT_SIGN
    x = weights(2, 1, 2, seed=20)
    assert np.abs(run(plain, x) - run(whole, x)).max() > 1e-3
    only_peepholes = mlc.lstm_layer(d, w, u, b, v)
    assert only_peepholes.peephole_weights == v and len(only_peepholes.gate_activations) == 4


def test_an_attention_layer_keeps_its_weights():
    d = mlc.multihead_attention_descriptor(4, 2, has_attention_biases=True)
    w = [tensor_of(weights(4, 4, seed=i)) for i in range(4)]
    b = [tensor_of(weights(4, seed=i + 4)) for i in range(4)]
    a = [tensor_of(weights(4, seed=i + 8)) for i in range(2)]
    layer = mlc.multihead_attention_layer(d, w, b, a)
    assert layer.descriptor == d and layer.weights == w and layer.biases == b
    assert layer.attention_biases == a
    assert [p.tensor for p in layer.weights_parameters] == w
    assert [p.tensor for p in layer.biases_parameters] == b
    assert run(layer, *[weights(2, 3, 4, seed=i) for i in (20, 21, 22)]).shape == (2, 3, 4)


# ---- losses --------------------------------------------------------------------------------------

X, Y = weights(3, 4, seed=1), np.eye(4, dtype=np.float32)[[2, 0, 1]]
P = (np.exp(X) / np.exp(X).sum(1, keepdims=True)).astype(np.float32)
L = mlc.loss_layer
E = np.abs(X - Y)
SMOOTH = Y * 0.5 + 0.5 / 4
LOSSES = {
    "softmax_cross_entropy": (
        lambda **w: L.softmax_cross_entropy_loss("None", 0.5, 4, **w), X,
        -(SMOOTH * np.log(P)).sum(1, keepdims=True)),
    "categorical_cross_entropy": (
        lambda **w: L.categorical_cross_entropy_loss("None", 0.5, 4, **w), P,
        -(SMOOTH * np.log(P)).sum(1, keepdims=True)),
    "sigmoid_cross_entropy": (
        lambda **w: L.sigmoid_cross_entropy_loss("None", 0.5, **w), X,
        np.log1p(np.exp(X)) - (Y * 0.5 + 0.25) * X),
    "log": (
        lambda **w: L.log_loss("None", 0.125, **w), P,
        -Y * np.log(P + 0.125) - (1 - Y) * np.log(1 - P + 0.125)),
    "huber": (
        lambda **w: L.huber_loss("None", 0.5, **w), X,
        np.where(E <= 0.5, E * E / 2, 0.5 * E - 0.125)),
    "mean_absolute_error": (lambda **w: L.mean_absolute_error_loss("None", **w), X, E),
    "mean_squared_error": (lambda **w: L.mean_squared_error_loss("None", **w), X, E * E),
    "hinge": (lambda **w: L.hinge_loss("None", **w), X, np.maximum(0, 1 - (2 * Y - 1) * X)),
    "cosine_distance": (
        lambda **w: L.cosine_distance_loss("None", **w), X, 1 - (X * Y).sum(1, keepdims=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_its_formula(name):
    make, scores, wanted = LOSSES[name]
    layer = make()
    kind = mlc.loss_type[name.upper()]
    assert layer.descriptor.loss_type is kind and layer.weights is None
    np.testing.assert_allclose(run(layer, scores, labels=Y), wanted, 1e-5, 1e-5)
    halved = make(weight=0.5)
    assert halved.descriptor.weight == 0.5
    np.testing.assert_allclose(run(halved, scores, labels=Y), wanted / 2, 1e-5, 1e-5)
    column = tensor_of(f32(1, 2, 3).reshape(3, 1))
    weighted = make(weights=column)
    assert weighted.weights is column
    wanted = wanted * column.numpy()
    np.testing.assert_allclose(run(weighted, scores, labels=Y), wanted, 1e-5, 1e-5)


@pytest.mark.parametrize(("reduction", "function"), [("Sum", np.sum), ("Mean", np.mean)])
def test_a_loss_is_reduced(reduction, function):
    layer = mlc.loss_layer(mlc.loss_descriptor("MeanSquaredError", reduction))
    np.testing.assert_allclose(run(layer, X, labels=Y), function(E * E), 1e-5)
    weighted = mlc.loss_layer(
        mlc.loss_descriptor("MeanSquaredError", reduction), tensor_of(f32(1, 2, 3).reshape(3, 1))
    )
    wanted = function(E * E * np.array([[1], [2], [3]]))
    np.testing.assert_allclose(run(weighted, X, labels=Y), wanted, 1e-5)


# ---- the others ----------------------------------------------------------------------------------


def test_a_concatenation_layer_joins_along_its_dimension():
    a, b = weights(2, 3), weights(2, 3, seed=1)
    layer = mlc.concatenation_layer()
    assert layer.dimension == 1 and (run(layer, a, b) == np.concatenate([a, b], 1)).all()
    layer = mlc.concatenation_layer(0)
    assert layer.dimension == 0 and (run(layer, a, b) == np.concatenate([a, b], 0)).all()


def test_a_dropout_layer_does_nothing_in_inference():
    layer = mlc.dropout_layer(0.75, 17)
    assert layer.rate == 0.75 and layer.seed == 17
    x = weights(5, 6)
    assert (run(layer, x) == x).all()


def dropped(rate, seed):
    x = mlc.tensor([50, 40])
    g = mlc.graph()
    y = g.node(mlc.dropout_layer(rate, seed), x)
    training = mlc.training_graph([g])
    training.add_inputs({"x": x})
    training.compile(CPU)
    training.bind_and_write_data({"x": np.ones((50, 40), np.float32)}, {"x": x}, CPU)
    training.execute_forward(options=NOW)
    return y.numpy()


def test_a_dropout_layer_zeroes_its_rate_in_training():
    result = dropped(0.75, 17)
    assert set(np.unique(result)) == {0, 4}
    assert abs((result == 0).mean() - 0.75) < 0.05
    assert (dropped(0.75, 17) == result).all() and (dropped(0.75, 18) != result).any()


def test_gather_and_scatter_know_their_dimension():
    x, indices = weights(4, 3), np.array([[3, 0, 1], [0, 0, 2]], np.int32)
    layer = mlc.gather_layer(0)
    assert layer.dimension == 0
    assert (run(layer, x, indices) == np.take_along_axis(x, indices, 0)).all()
    put, add = mlc.scatter_layer(0), mlc.scatter_layer(0, "Sum")
    assert put.dimension == 0 and mlc.scatter_layer(1).dimension == 1
    assert put.reduction_type is mlc.reduction_type.NONE
    assert add.reduction_type is mlc.reduction_type.SUM
    values, base = np.ones((2, 3), np.float32), np.zeros((4, 3), np.float32)
    wanted = np.zeros((4, 3), np.float32)
    np.add.at(wanted, (indices, np.arange(3)), 1)
    assert (run(add, values, indices, base) == wanted).all()
    assert (run(put, values, indices, base) == np.minimum(wanted, 1)).all()


def test_a_gram_matrix_is_scaled():
    layer = mlc.gram_matrix_layer(0.5)
    assert layer.scale == 0.5
    x = weights(2, 3, 2, 2)
    rows = x.reshape(2, 3, 4)
    wanted = 0.5 * rows @ rows.transpose(0, 2, 1)
    np.testing.assert_allclose(run(layer, x).reshape(2, 3, 3), wanted, 1e-5, 1e-5)


def test_a_matmul_layer_keeps_its_descriptor():
    d = mlc.matmul_descriptor(0.5, True, False)
    layer = mlc.matmul_layer(d)
    assert layer.descriptor == d
    a, b = weights(3, 2), weights(3, 4, seed=1)
    np.testing.assert_allclose(run(layer, a, b), 0.5 * a.T @ b, 1e-5, 1e-5)
    np.testing.assert_allclose(run(mlc.matmul_layer(), a.T.copy(), b), a.T @ b, 1e-5, 1e-5)


PADDINGS = {"zero": "constant", "reflect": "reflect", "symmetric": "symmetric"}
MADE = {
    "zero": mlc.padding_layer.layer_with_zero_padding,
    "reflect": mlc.padding_layer.layer_with_reflection_padding,
    "symmetric": mlc.padding_layer.layer_with_symmetric_padding,
}


@pytest.mark.parametrize("name", PADDINGS)
def test_a_padding_layer_pads(name):
    x, mode = weights(1, 1, 4, 5), PADDINGS[name]
    sides = ((0, 0), (0, 0), (1, 2), (3, 0))
    for layer in (MADE[name]([1, 2, 3, 0]), mlc.padding_layer(name, [1, 2, 3, 0])):
        assert layer.padding_type is mlc.padding_type[name.upper()]
        assert (layer.padding_top, layer.padding_bottom) == (1, 2)
        assert (layer.padding_left, layer.padding_right) == (3, 0)
        assert (run(layer, x) == np.pad(x, sides, mode)).all()
    layer = MADE[name]([3, 1])
    assert (layer.padding_left, layer.padding_right, layer.padding_top) == (3, 1, 0)
    assert MADE[name](2).padding_bottom == 2


def test_a_padding_layer_pads_with_a_constant():
    x = weights(1, 1, 2, 2)
    layer = mlc.padding_layer.layer_with_constant_padding(1, 2.5)
    assert layer.constant_value == 2.5 and layer.padding_type is mlc.padding_type.CONSTANT
    wanted = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=2.5)
    assert (run(layer, x) == wanted).all()
    assert (run(mlc.padding_layer("constant", 1, 2.5), x) == wanted).all()


def test_a_pooling_layer_keeps_its_descriptor():
    d = mlc.pooling_descriptor("Max", 2, 2)
    layer = mlc.pooling_layer(d)
    assert layer.descriptor == d
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    assert run(layer, x).tolist() == [[[[5, 7], [13, 15]]]]
    mean = mlc.pooling_layer(mlc.pooling_descriptor("Average", 2, 2))
    assert run(mean, x).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]


REDUCTIONS = {
    "Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min,
    "L1Norm": lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims),
    "ArgMax": np.argmax, "ArgMin": np.argmin,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_keeps_its_dimension(name):
    x = weights(3, 4, 2)
    layer = mlc.reduction_layer(name, 1)
    assert layer.dimension == 1 and layer.dimensions == [1]
    assert layer.reduction_type.debug_description() == name
    wanted = REDUCTIONS[name](x, axis=1, keepdims=True)
    np.testing.assert_allclose(run(layer, x), wanted, 1e-5, 1e-5)


def test_a_reduction_takes_several_dimensions():
    x = weights(3, 4, 2)
    layer = mlc.reduction_layer("Sum", dimensions=[0, 2])
    assert layer.dimensions == [0, 2]
    np.testing.assert_allclose(run(layer, x), x.sum((0, 2), keepdims=True), 1e-5, 1e-5)


@pytest.mark.parametrize(("name", "function"), [("Any", np.any), ("All", np.all)])
def test_a_reduction_of_truths_is_boolean(name, function):
    x = np.array([[True, False], [True, True], [False, False]])
    result = run(mlc.reduction_layer(name, 1), x)
    assert result.dtype == bool and (result == function(x, axis=1, keepdims=True)).all()


def test_reshape_slice_split_and_transpose_keep_their_lists():
    x = weights(2, 6, 4)
    layer = mlc.reshape_layer([2, 3, 8])
    assert layer.shape == [2, 3, 8] and (run(layer, x) == x.reshape(2, 3, 8)).all()
    layer = mlc.slice_layer([0, 1, 0], [2, 6, 4], [1, 2, 3])
    assert (layer.start, layer.end, layer.stride) == ([0, 1, 0], [2, 6, 4], [1, 2, 3])
    assert (run(layer, x) == x[:, 1:6:2, ::3]).all()
    assert (run(mlc.slice_layer([0, 1, 0], [2, 6, 4]), x) == x[:, 1:6]).all()
    layer = mlc.transpose_layer([0, 2, 1])
    assert layer.dimensions == [0, 2, 1] and (run(layer, x) == x.transpose(0, 2, 1)).all()


def test_a_split_layer_splits():
    x = weights(2, 7)
    layer = mlc.split_layer(3, 1)
    assert layer.split_count == 3 and layer.dimension == 1 and layer.split_section_lengths == []
    assert [part.shape[1] for part in run(layer, x)] == [3, 2, 2]
    layer = mlc.split_layer(dimension=1, split_section_lengths=[1, 4, 2])
    assert layer.split_section_lengths == [1, 4, 2] and layer.dimension == 1
    for part, wanted in zip(run(layer, x), np.split(x, [1, 5], 1), strict=True):
        assert (part == wanted).all()


def test_a_softmax_layer_knows_its_dimension():
    x = weights(2, 3, 4)
    layer = mlc.softmax_layer("Softmax")
    assert layer.dimension == 1
    wanted = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(run(layer, x), wanted, 1e-5)
    layer = mlc.softmax_layer("LogSoftmax", 2)
    assert layer.dimension == 2
    wanted = np.log(np.exp(x) / np.exp(x).sum(2, keepdims=True))
    np.testing.assert_allclose(run(layer, x), wanted, 1e-4, 1e-5)


def test_an_upsample_layer_knows_its_mode():
    x = f32(0, 3).reshape(1, 1, 1, 2)
    layer = mlc.upsample_layer([1, 4])
    assert layer.shape == [1, 4] and layer.sample_mode is mlc.sample_mode.NEAREST
    assert layer.aligns_corners is False and run(layer, x).ravel().tolist() == [0, 0, 3, 3]
    layer = mlc.upsample_layer([1, 4], "Linear", True)
    assert layer.sample_mode is mlc.sample_mode.LINEAR and layer.aligns_corners is True
    np.testing.assert_allclose(run(layer, x).ravel(), [0, 1, 2, 3], 1e-6)
    np.testing.assert_allclose(
        run(mlc.upsample_layer([1, 4], "Linear", False), x).ravel(), [0, 0.75, 2.25, 3], 1e-6
    )


def test_a_yolo_layer_keeps_its_descriptor():
    layer = mlc.yolo_loss_layer(mlc.yolo_loss_descriptor([[1, 2], [3, 4]]))
    assert isinstance(layer, mlc.loss_layer)
    kept = layer.yolo_loss_descriptor
    assert kept.anchor_box_count == 2 and kept.anchor_boxes.tolist() == [[1, 2], [3, 4]]
