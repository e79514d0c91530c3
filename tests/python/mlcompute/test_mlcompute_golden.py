"""Every layer, loss and optimizer gives the stored golden values of PyTorch and TensorFlow."""

import mlcompute as mlc
import mlcompute_cases as cases
import numpy as np
import pytest
from mlcompute_cases import Built, as_f32, build

DEVICE = mlc.device("cpu")
NOW = mlc.execution_options.SYNCHRONOUS
ALL_GRADIENTS = mlc.graph_compilation_options.COMPUTE_ALL_GRADIENTS
LOSSES = cases.names("loss", "yolo")
LAYERS = [name for name in cases.names() if cases.CASES[name].kind != "optimizer"]
LAYERS = [name for name in LAYERS if name not in LOSSES]
# Statistics of the batch itself are for training.
IN_TRAINING = {
    name
    for name in cases.names("batch_norm", "instance_norm")
    if "in.mean" in cases.CASES[name].tensors
}
DIFFERENTIABLE = [
    name
    for name in LAYERS
    if cases.CASES[name].group("grad") and cases.CASES[name].kind != "batch_norm_inference"
]
TRAINABLE = [
    name
    for name in LAYERS
    if cases.CASES[name].group("trained")
    and cases.CASES[name].kind != "batch_norm_inference"
    # The golden values forget from step to step what a maximum norm has made of the rows.
    and "maximum_norm" not in cases.CASES[name].settings
]


def close(ours, theirs, what):
    theirs = np.asarray(theirs, np.float64)
    np.testing.assert_allclose(
        np.asarray(ours, np.float64).reshape(theirs.shape), theirs, 1e-5, 1e-5, err_msg=what
    )


def inputs_of(b: Built, leave_out=()) -> dict[str, np.ndarray]:
    return {name: b.array(name) for name in b.sources if name not in leave_out}


def node(b: Built, graph):
    if b.labels:
        return graph.node(b.layer, list(b.sources.values()), loss_labels=list(b.labels.values()))
    return graph.node(b.layer, list(b.sources.values()))


# ---- forward -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in LAYERS + LOSSES if name not in IN_TRAINING])
def test_results_are_the_stored_ones(name):
    b = build(name)
    g = mlc.graph()
    first = node(b, g)
    inference = mlc.inference_graph([g])
    assert inference.add_inputs(b.sources, b.labels or None)
    assert inference.compile(DEVICE)
    labels = {label: b.array(label) for label in b.labels}
    assert inference.execute(inputs_of(b), options=NOW, loss_labels_data=labels or None)
    results = g.result_tensors_for_layer(b.layer)
    assert results[0] is first
    wanted = b.case.group("out")
    for tensor, (key, value) in zip(results, wanted.items(), strict=False):
        close(tensor.numpy(), value, f"{name}: {key}")
    assert len(results) == (1 if b.case.kind != "lstm" else 3)


@pytest.mark.parametrize("name", cases.names("lstm"))
def test_an_lstm_of_mode_output_has_one_result(name):
    b = Built(cases.CASES[name])
    cases.build_lstm(b, "Output")
    g = mlc.graph()
    y = node(b, g)
    inference = mlc.inference_graph([g])
    inference.add_inputs(b.sources)
    inference.compile(DEVICE)
    inference.execute(inputs_of(b), options=NOW)
    assert len(g.result_tensors_for_layer(b.layer)) == 1
    close(y.numpy(), b.case.tensors["out.y"], name)


@pytest.mark.parametrize("name", sorted(IN_TRAINING))
def test_running_statistics_are_the_stored_ones(name):
    b = build(name)
    g = mlc.graph()
    y = node(b, g)
    training = mlc.training_graph([g])
    training.add_inputs(b.sources)
    training.compile(DEVICE)
    training.bind_and_write_data(inputs_of(b), b.sources, DEVICE)
    training.execute_forward(options=NOW)
    close(y.numpy(), b.case.tensors["out.y"], name)
    training.synchronize_updates()
    close(b.layer.mean.numpy(), b.case.tensors["out.mean"], name)
    close(b.layer.variance.numpy(), b.case.tensors["out.variance"], name)


# ---- gradients -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_the_stored_ones(name):
    b = build(name)
    g = mlc.graph()
    node(b, g)
    training = mlc.training_graph([g])
    training.add_inputs(b.sources)
    training.compile(DEVICE, ALL_GRADIENTS)
    results = training.result_gradient_tensors_for_layer(b.layer)
    gradients = {
        key: training.gradient_tensor_for_input(b.sources[key])
        for key in b.case.group("grad")
        if key in b.sources
    }
    training.bind_and_write_data(inputs_of(b), b.sources, DEVICE)
    training.execute_forward(options=NOW)
    wanted = list(b.case.group("ct").items())[: len(results)]
    data = {key: as_f32(value).reshape(t.shape) for t, (key, value) in zip(results, wanted)}  # noqa: B905
    training.bind_and_write_data(data, dict(zip(data, results, strict=True)), DEVICE)
    training.execute_gradient(options=NOW)
    found = 0
    for key, value in b.case.group("grad").items():
        if key in gradients:
            ours = gradients[key].numpy()
        elif key in b.weights:
            ours = training.gradient_data_for_parameter(b.weights[key], b.layer)
        else:
            continue
        if b.case.kind == "embedding":  # there the weights are a result as well
            value = value - b.case.tensors["ct.weights"]
        close(ours, value, f"{name}: {key}")
        found += 1
    assert found


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_losses_are_the_stored_ones(name):
    b = build(name)
    seed = as_f32(b.case.tensors["ct.loss"])
    g = mlc.graph()
    x, labels = b.sources["x"], b.labels["labels"]
    g_in = g.node(mlc.activation_layer("none"), x)
    assert g_in.shape == x.shape
    training = mlc.training_graph([g], b.layer)
    weights = {"w": mlc.tensor(list(seed.shape))} if seed.ndim else None
    training.add_inputs({"x": x}, {"labels": labels}, weights)
    training.compile(DEVICE, ALL_GRADIENTS)
    gradient = training.gradient_tensor_for_input(x)
    every = {"x": x, "labels": labels} | (weights or {})
    data = {"x": b.array("x"), "labels": b.array("labels")} | ({"w": seed} if weights else {})
    training.bind_and_write_data(data, every, DEVICE)
    training.execute_forward(options=NOW)
    training.execute_gradient(options=NOW)
    scale = 1.0 if weights else float(seed)
    close(gradient.numpy() * scale, b.case.tensors["grad.x"], name)


# ---- training ------------------------------------------------------------------------------------


def parameters_of(layer) -> list:
    found = []
    for attribute in (
        "weights_parameter", "biases_parameter", "beta_parameter", "gamma_parameter",
        "weights_parameters", "biases_parameters", "input_weights_parameters",
        "hidden_weights_parameters", "peephole_weights_parameters",
    ):  # fmt: skip
        value = getattr(layer, attribute, None)
        found += value if isinstance(value, list) else [value]
    return [parameter for parameter in found if parameter is not None]


@pytest.mark.parametrize("name", TRAINABLE)
def test_twenty_steps_of_training_give_the_stored_losses_and_weights(name):
    b = build(name)
    trained = b.case.group("trained")
    for key in set(trained) & set(b.sources):
        array = b.array(key)
        b.sources[key] = mlc.tensor(list(array.shape), data=array)
    names = {id(tensor): key for key, tensor in b.weights.items()}
    for parameter in parameters_of(b.layer):
        parameter.is_updatable = names[id(parameter.tensor)] in trained
    g = mlc.graph()
    y = node(b, g)
    target = mlc.tensor(y.shape)
    loss = mlc.loss_layer.mean_squared_error_loss("Mean")
    sgd = mlc.sgd_optimizer(mlc.optimizer_descriptor(b.number("rate")))
    training = mlc.training_graph([g], loss, sgd)
    inputs = {key: tensor for key, tensor in b.sources.items() if key not in trained}
    training.add_inputs(inputs, {"target": target})
    training.set_training_tensor_parameters(
        [mlc.tensor_parameter(tensor) for key, tensor in b.sources.items() if key in trained]
    )
    training.compile(DEVICE)
    data = inputs_of(b, leave_out=trained)
    labels = {"target": as_f32(b.case.tensors["target"]).reshape(y.shape)}
    losses = []
    for _ in range(20):
        training.execute(data, labels, options=NOW)
        losses.append(float(training.result_tensors_for_layer(loss)[0].numpy().item()))
    close(losses, b.case.tensors["losses"], name)
    training.synchronize_updates()
    for key, value in trained.items():
        tensor = b.sources.get(key) or b.weights[key]
        close(tensor.numpy(), value, f"{name}: {key}")


def shrink(weights, indices, norm, p):
    """What PyTorch does to the rows of an embedding that are looked up."""
    for row in np.unique(indices):
        size = np.sum(np.abs(weights[row]) ** p) ** (1 / p)
        if size > norm:
            weights[row] *= norm / (size + 1e-7)


@pytest.mark.parametrize(
    "name", [n for n in cases.names("embedding") if "maximum_norm" in cases.CASES[n].settings]
)
def test_an_embedding_with_a_maximum_norm_keeps_its_rows_short(name):
    b = build(name)
    g = mlc.graph()
    y = node(b, g)
    loss = mlc.loss_layer.mean_squared_error_loss("Mean")
    sgd = mlc.sgd_optimizer(mlc.optimizer_descriptor(0.5))
    training = mlc.training_graph([g], loss, sgd)
    target = as_f32(b.case.tensors["target"])
    training.add_inputs(b.sources, {"target": mlc.tensor(y.shape)})
    training.compile(DEVICE)
    weights, indices = b.array("weights").astype(np.float64), b.array("indices")
    padding = b.integer("padding_index", -1)
    for _ in range(5):
        training.execute({"indices": indices}, {"target": target}, options=NOW)
        shrink(weights, indices, b.number("maximum_norm"), b.number("p_norm", 2))
        error = weights[indices] - target
        close(training.result_tensors_for_layer(loss)[0].numpy(), np.mean(error**2), name)
        gradient = np.zeros_like(weights)
        np.add.at(gradient, indices, 2 * error / error.size)
        if padding >= 0:
            gradient[padding] = 0
        weights -= 0.5 * gradient
    training.synchronize_updates()
    close(b.weights["weights"].numpy(), weights, name)


@pytest.mark.parametrize("name", [name for name in LOSSES if cases.CASES[name].group("trained")])
def test_twenty_steps_down_a_loss_give_the_stored_losses(name):
    b = build(name)
    descends = b.case.kind == "loss"
    x = mlc.tensor(list(b.array("x").shape), data=b.array("x"))
    g = mlc.graph()
    start = g.node(mlc.activation_layer("none"), x)
    rate = mlc.optimizer_descriptor(b.number("rate"))
    if descends:
        training = mlc.training_graph([g], b.layer, mlc.sgd_optimizer(rate))
        labels = {"labels": b.labels["labels"]}
        last = b.layer
    else:  # the square of the loss's distance from a target
        found = g.node(b.layer, start, loss_labels=[b.labels["labels"]])
        last = mlc.loss_layer.mean_squared_error_loss("Mean")
        training = mlc.training_graph([g], last, mlc.sgd_optimizer(rate))
        labels = {"target": mlc.tensor(found.shape)}
    training.add_inputs({} if descends else {"labels": b.labels["labels"]}, labels)
    training.set_training_tensor_parameters([mlc.tensor_parameter(x)])
    training.compile(DEVICE)
    data = {} if descends else {"labels": b.array("labels")}
    given = (
        {"labels": b.array("labels")}
        if descends
        else {"target": as_f32(b.case.tensors["target"]).reshape(labels["target"].shape)}
    )
    losses = []
    for _ in range(20):
        training.execute(data, given, options=NOW)
        losses.append(float(training.result_tensors_for_layer(last)[0].numpy().item()))
        if "bounds" in b.case.settings:
            low, high = (float(v) for v in b.case.settings["bounds"])
            x.bind_and_write_data(np.clip(x.numpy(), low, high), DEVICE)
    close(losses, b.case.tensors["losses"], name)
    close(x.numpy(), b.case.tensors["trained.x"], name)


def optimizer_of(b: Built):
    clipping = b.case.settings.get("clipping")
    descriptor = mlc.optimizer_descriptor(
        b.number("rate"),
        b.number("rescale", 1),
        b.integer("regularization"),
        b.number("regularization_scale"),
        applies_gradient_clipping=clipping is not None,
        gradient_clipping_type=b.integer("clipping"),
        gradient_clip_max=b.number("clip_max", 1),
        gradient_clip_min=b.number("clip_min", -1),
        maximum_clipping_norm=b.number("maximum_norm", 1),
        custom_global_norm=b.number("custom_global_norm"),
    )
    kind = b.integer("kind")
    if kind == 0:
        return mlc.sgd_optimizer(descriptor, b.number("momentum"), b.flag("nesterov"))
    if kind == 3:
        return mlc.rmsprop_optimizer(
            descriptor, b.number("momentum"), b.number("alpha", 0.99), b.number("epsilon", 1e-8),
            b.flag("centered"),
        )  # fmt: skip
    adam = mlc.adam_optimizer if kind == 1 else mlc.adamw_optimizer
    return adam(
        descriptor, b.number("beta1", 0.9), b.number("beta2", 0.999), b.number("epsilon", 1e-8),
        uses_amsgrad=b.flag("amsgrad"),
    )  # fmt: skip


@pytest.mark.parametrize("name", cases.names("optimizer"))
def test_twenty_updates_give_the_stored_weights(name):
    b = Built(cases.CASES[name])
    g = mlc.graph()
    parameters, gradients = [], {}
    for i in range(2):
        p = mlc.tensor(list(b.array(f"p{i}").shape), data=b.array(f"p{i}"))
        d = mlc.tensor(p.shape)
        g.node(mlc.arithmetic_layer("multiply"), [p, d])
        parameters.append(p)
        gradients[f"d{i}"] = d
    training = mlc.training_graph([g], None, optimizer_of(b))
    training.add_inputs(gradients)
    training.set_training_tensor_parameters([mlc.tensor_parameter(p) for p in parameters])
    training.compile(DEVICE)
    for step in range(20):
        data = {key: np.ascontiguousarray(b.array(key)[step]) for key in gradients}
        training.bind_and_write_data(data, gradients, DEVICE)
        training.execute_forward(options=NOW)
        training.execute_gradient(options=NOW)
        training.execute_optimizer_update(options=NOW)
    for i, p in enumerate(parameters):
        close(p.numpy(), b.case.tensors[f"trained.p{i}"], f"{name}: p{i}")
