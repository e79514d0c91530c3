"""Graphs of mlcompute: building, declaring, compiling, executing, training."""

import mlcompute as mlc
import numpy as np
import pytest

NOW = mlc.execution_options.SYNCHRONOUS
CPU = mlc.device("cpu")


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor_of(values):
    return mlc.tensor(list(values.shape), data=np.ascontiguousarray(values, np.float32))


def infer(g, inputs, *results, options=0):
    """Numbers of results, given tensors with their arrays."""
    inference = mlc.inference_graph([g])
    names = {f"x{i}": tensor for i, tensor in enumerate(inputs)}
    assert inference.add_inputs(names)
    assert inference.add_outputs({f"y{i}": result for i, result in enumerate(results)})
    assert inference.compile(CPU, options)
    assert inference.execute(dict(zip(names, inputs.values(), strict=True)), options=NOW)
    return [result.numpy().copy() for result in results]


# ---- building ------------------------------------------------------------------------------------


def test_a_graph_splits_and_concatenates():
    values, x = array(2, 5), mlc.tensor([2, 5])
    g = mlc.graph()
    parts = g.split(x, 2, 1)
    assert [part.shape for part in parts] == [[2, 3], [2, 2]]
    lengths = g.split(x, dimension=1, split_section_lengths=[1, 4])
    joined = g.concatenate([parts[1], lengths[0], parts[0]], 1)
    a, b, c, d, e = infer(g, {x: values}, *parts, *lengths, joined)
    assert (a == values[:, :3]).all() and (b == values[:, 3:]).all()
    assert (c == values[:, :1]).all() and (d == values[:, 1:]).all()
    assert (e == np.concatenate([values[:, 3:], values[:, :1], values[:, :3]], 1)).all()


def test_a_graph_reshapes_and_transposes():
    values, x = array(2, 3, 4), mlc.tensor([2, 3, 4])
    g = mlc.graph()
    flat, turned = g.reshape([2, 12], x), g.transpose([0, 2, 1], x)
    a, b = infer(g, {x: values}, flat, turned)
    assert (a == values.reshape(2, 12)).all() and (b == values.transpose(0, 2, 1)).all()


def test_a_graph_selects_gathers_and_scatters():
    values, x = array(3, 4), mlc.tensor([3, 4])
    y = tensor_of(np.zeros((3, 4)))
    condition, indices = mlc.tensor([3, 4], "Boolean"), mlc.tensor([2, 4], "Int32")
    truth, places = values > 0, np.array([[2, 0, 1, 1], [0, 0, 2, 1]], np.int32)
    g = mlc.graph()
    chosen = g.select([x, y], condition)
    taken = g.gather(0, x, indices)
    added = g.scatter(0, taken, indices, y, "Sum")
    put = g.scatter(0, taken, indices, y)
    inputs = {x: values, condition: truth, indices: places}
    a, b, c, d = infer(g, inputs, chosen, taken, added, put)
    assert (a == np.maximum(values, 0)).all()
    found = np.take_along_axis(values, places, 0)
    assert (b == found).all()
    wanted = np.zeros((3, 4), np.float32)
    np.add.at(wanted, (places, np.arange(4)), found)
    np.testing.assert_allclose(c, wanted, 1e-6)
    assert d[0, 1] == found[0, 1] and d[0, 0] == found[1, 0]


def test_a_graph_knows_its_layers_and_their_tensors():
    x, y = mlc.tensor([2]), mlc.tensor([2])
    g = mlc.graph()
    add, sine = mlc.arithmetic_layer("add"), mlc.arithmetic_layer("sin")
    add.label = "the sum"
    total = g.node(add, [x, y])
    result = g.node(sine, total)
    assert g.layers == [add, sine]
    assert g.source_tensors_for_layer(add) == [x, y]
    assert g.result_tensors_for_layer(add) == [total]
    assert g.source_tensors_for_layer(sine) == [total]
    assert g.result_tensors_for_layer(sine) == [result]
    assert g.source_tensors_for_layer(mlc.arithmetic_layer("sin")) == []
    assert g.device is None
    dot = g.summarized_dot_description
    assert dot.startswith("digraph") and "the sum" in dot and sine.label in dot


def test_a_stopped_gradient_is_dashed():
    x = mlc.tensor([2], fill_with_data=1)
    g = mlc.graph()
    y = g.node(mlc.arithmetic_layer("sin"), x)
    g.node(mlc.arithmetic_layer("cos"), y)
    training = mlc.training_graph([g])
    assert "dashed" not in training.summarized_dot_description
    training.stop_gradient_for_tensors([y])
    assert "dashed" in training.summarized_dot_description


# ---- inference -----------------------------------------------------------------------------------


def test_outputs_are_written_where_they_are_asked_for():
    x = mlc.tensor([2])
    g = mlc.graph()
    inner = g.node(mlc.arithmetic_layer("add"), [x, x])
    g.node(mlc.arithmetic_layer("multiply"), [inner, inner])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    assert inference.add_outputs({"inner": inner})
    inference.compile(CPU)
    assert inference.device.type is mlc.device_type.CPU
    out = np.zeros(2, np.float32)
    given = np.array([1, 2], np.float32)
    inference.execute({"x": given}, options=NOW, outputs_data={"inner": out})
    assert out.tolist() == [2, 4]
    assert inference.device_memory_size >= 0


def test_a_smaller_batch_is_a_part():
    x = mlc.tensor([4, 2])
    g = mlc.graph()
    y = g.node(mlc.arithmetic_layer("add"), [x, x])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile(CPU)
    out = np.zeros((4, 2), np.float32)
    inference.execute({"x": np.ones((4, 2), np.float32)}, 3, NOW, outputs_data={"y": out})
    assert out[:3].tolist() == [[2, 2]] * 3 and out[3].tolist() == [0, 0]


def test_a_size_that_equals_the_batch_is_no_batch():
    """A (2, 8) parameter in the shape (4, 4) keeps it when the batch of 4 is one of 3."""
    values, weights = array(4, 4), array(2, 8, seed=1)
    x, w = mlc.tensor([4, 4]), tensor_of(weights)
    g = mlc.graph()
    y = g.node(mlc.matmul_layer(), [x, g.reshape([4, 4], w)])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile(CPU)
    out = np.zeros((4, 4), np.float32)
    inference.execute({"x": values}, 3, NOW, outputs_data={"y": out})
    assert np.allclose(out[:3], values[:3] @ weights.reshape(4, 4), 1e-5, 1e-6)
    assert not out[3].any()


def test_constants_are_given_when_compiling():
    x, k = mlc.tensor([2]), mlc.tensor([2])
    g = mlc.graph()
    y = g.node(mlc.arithmetic_layer("multiply"), [x, k])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x, "k": k})
    three = np.full(2, 3, np.float32)
    assert inference.compile(CPU, 0, {"k": k}, {"k": three})
    inference.execute({"x": np.array([1, 2], np.float32)}, options=NOW)
    assert y.numpy().tolist() == [3, 6]


def test_an_inference_graph_computes_a_loss_with_its_weights():
    x, labels, weights = mlc.tensor([2, 2]), mlc.tensor([2, 2]), mlc.tensor([2, 1])
    g = mlc.graph()
    loss = mlc.loss_layer.mean_squared_error_loss("Sum")
    y = g.node(loss, x, loss_labels=[labels, weights])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x}, {"t": labels}, {"w": weights})
    inference.compile(CPU)
    ones, w = np.ones((2, 2), np.float32), np.array([[1], [10]], np.float32)
    inference.execute(
        {"x": 3 * ones}, options=NOW, loss_labels_data={"t": ones},
        loss_label_weights_data={"w": w},
    )  # fmt: skip
    assert y.numpy().item() == 4 * (2 + 20)


def test_linked_graphs_pass_tensors_on():
    x = mlc.tensor([2])
    first, second = mlc.graph(), mlc.graph()
    between = first.node(mlc.arithmetic_layer("add"), [x, x])
    result = second.node(mlc.arithmetic_layer("multiply"), [between, between])
    one, two = mlc.inference_graph([first]), mlc.inference_graph([second])
    one.add_inputs({"x": x})
    two.add_inputs({"between": between})
    for graph in (one, two):
        graph.compile(CPU, "LinkGraphs")
    assert one.link([two])
    one.execute({"x": np.array([1, 3], np.float32)}, options=NOW)
    two.execute({}, options=NOW)
    assert result.numpy().tolist() == [4, 36]


def test_only_graphs_compiled_for_it_are_linked():
    graphs = []
    for _ in range(2):
        x = mlc.tensor([2])
        g = mlc.graph()
        g.node(mlc.arithmetic_layer("sin"), x)
        inference = mlc.inference_graph([g])
        inference.add_inputs({"x": x})
        inference.compile(CPU)
        graphs.append(inference)
    with pytest.raises(RuntimeError, match="LinkGraphs"):
        graphs[0].link([graphs[1]])


def test_data_is_bound_by_name_and_used_again():
    x = mlc.tensor([2])
    g = mlc.graph()
    y = g.node(mlc.arithmetic_layer("add"), [x, x])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile(CPU)
    assert inference.bind_and_write_data({"x": np.array([1, 2], np.float32)}, {"x": x}, CPU)
    inference.execute({}, options=NOW)
    assert y.numpy().tolist() == [2, 4]
    other = np.array([5, 5], np.float32)
    inference.execute({"x": other}, options=["Synchronous", "SkipWritingInputDataToDevice"])
    assert y.numpy().tolist() == [2, 4]
    inference.execute({"x": other}, options=NOW)
    assert y.numpy().tolist() == [10, 10]


def test_profiling_times_the_whole_and_every_layer():
    x = mlc.tensor([200, 200])
    g = mlc.graph()
    layer = mlc.matmul_layer()
    g.node(layer, [x, x])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile(CPU)
    times = []
    for options in (["Synchronous"], ["Synchronous", "Profiling"]):
        inference.execute(
            {"x": array(200, 200)}, options=options,
            completion_handler=lambda result, error, seconds: times.append(seconds),
        )  # fmt: skip
    assert times[0] == 0 and times[1] > 0
    assert inference.layer_seconds(layer) == 0
    inference.execute({"x": array(200, 200)}, options=["Synchronous", "PerLayerProfiling"])
    assert inference.layer_seconds(layer) > 0


def test_without_options_an_execution_does_not_wait_for_its_handler():
    import threading

    x = mlc.tensor([2])
    g = mlc.graph()
    g.node(mlc.arithmetic_layer("sin"), x)
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile(CPU, "None")
    gate, seen = threading.Event(), []

    def handler(*given):
        gate.wait(10)
        seen.append(given)

    inference.execute({"x": array(2)}, options="None", completion_handler=handler)
    assert not seen
    gate.set()
    inference.wait()
    assert len(seen) == 1


def test_layers_are_debugged():
    x = mlc.tensor([2])
    g = mlc.graph()
    layer = mlc.arithmetic_layer("log")
    layer.label, layer.is_debugging_enabled = "the logarithm", True
    inner = g.node(layer, x)
    g.node(mlc.arithmetic_layer("exp"), inner)
    good, bad = np.array([1, 2], np.float32), np.array([1, 0], np.float32)
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile(CPU, "DebugLayers")
    inference.execute({"x": good}, options=NOW)
    np.testing.assert_allclose(inner.data.numpy(), np.log(good), 1e-6)
    with pytest.raises(ValueError, match=r"the logarithm.*NaN or infinity"):
        inference.execute({"x": bad}, options=NOW)
    inference.execute({"x": good}, options=NOW)


def test_layers_that_are_not_fused_stay_apart_and_give_the_same():
    values, sizes, results = array(2, 32, 64), [], []
    for options in ("None", "DisableLayerFusion"):
        x = mlc.tensor([2, 32, 64])
        g = mlc.graph()
        back = g.transpose([0, 2, 1], g.transpose([0, 2, 1], x))
        y = g.node(mlc.matmul_layer(mlc.matmul_descriptor(1.0, False, True)), [back, back])
        inference = mlc.inference_graph([g])
        inference.add_inputs({"x": x})
        inference.compile(CPU, options)
        inference.execute({"x": values}, options=NOW)
        sizes.append(inference.device_memory_size)
        results.append(y.numpy())
    assert sizes[0] < sizes[1]  # there and back is nothing, unless layers are kept apart
    np.testing.assert_allclose(results[0], results[1], 1e-6)


def test_without_debugging_infinity_is_a_number_like_others():
    x = mlc.tensor([1])
    g = mlc.graph()
    y = g.node(mlc.arithmetic_layer("log"), x)
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile(CPU, "None")
    inference.execute({"x": np.zeros(1, np.float32)}, options=NOW)
    assert y.numpy()[0] == -np.inf


# ---- training ------------------------------------------------------------------------------------


def dense(n_in, n_out, seed=0):
    """A fully connected layer and its weights."""
    w, b = tensor_of(array(n_out, n_in, seed=seed)), tensor_of(array(n_out, seed=seed + 1))
    d = mlc.convolution_descriptor.descriptor(1, 1, n_in, n_out)
    return mlc.fully_connected_layer(w, b, d), w, b


def regression(optimizer=None, options=0, **more):
    """y = x W^T + b against t, compiled; with its parts."""
    x, t = mlc.tensor([4, 3]), mlc.tensor([4, 2])
    layer, w, b = dense(3, 2)
    g = mlc.graph()
    y = g.node(layer, x, **more)
    loss = mlc.loss_layer.mean_squared_error_loss("Sum")
    training = mlc.training_graph([g], loss, optimizer)
    training.add_inputs({"x": x}, {"t": t})
    training.add_outputs({"y": y})
    training.compile(CPU, options)
    return training, x, t, y, w, b, layer, loss


XS, TS = array(4, 3, seed=10), array(4, 2, seed=11)


def expected_gradients(w, b):
    error = 2 * (XS @ w.T + b - TS)
    return error.T @ XS, error.sum(0), error @ w


def sgd(rate=0.125):
    return mlc.sgd_optimizer(mlc.optimizer_descriptor(rate))


def test_one_execution_is_forward_gradient_and_update():
    optimizer = sgd()
    training, _, _, y, w, b, _, loss = regression(optimizer)
    assert training.optimizer is optimizer
    w0, b0 = w.numpy().copy(), b.numpy().copy()
    dw, db, _ = expected_gradients(w0, b0)
    seen = []
    assert training.execute(
        {"x": XS}, {"t": TS}, options=NOW, completion_handler=lambda *a: seen.append(a)
    )
    np.testing.assert_allclose(y.numpy(), XS @ w0.T + b0, 1e-5, 1e-5)
    wanted = np.sum((XS @ w0.T + b0 - TS) ** 2)
    np.testing.assert_allclose(training.result_tensors_for_layer(loss)[0].numpy(), wanted, 1e-5)
    assert seen[0][1] is None
    assert training.synchronize_updates()
    np.testing.assert_allclose(w.data.numpy().reshape(2, 3), w0 - 0.125 * dw, 1e-4, 1e-4)
    np.testing.assert_allclose(b.data.numpy(), b0 - 0.125 * db, 1e-4, 1e-4)
    assert training.device_memory_size > 0


def test_forward_gradient_and_update_are_separate():
    training, x, t, y, w, b, layer, _ = regression(sgd())
    w0, b0 = w.numpy().copy(), b.numpy().copy()
    dw, db, _ = expected_gradients(w0, b0)
    training.bind_and_write_data({"x": XS, "t": TS}, {"x": x, "t": t}, CPU)
    assert training.execute_forward(options=NOW)
    np.testing.assert_allclose(y.numpy(), XS @ w0.T + b0, 1e-5, 1e-5)
    assert training.execute_gradient(options=NOW)
    found = training.gradient_data_for_parameter(w, layer)
    np.testing.assert_allclose(found, dw, 1e-4, 1e-4)
    np.testing.assert_allclose(training.gradient_data_for_parameter(b, layer), db, 1e-4, 1e-4)
    training.synchronize_updates()
    assert (w.numpy() == w0).all()
    assert training.execute_optimizer_update(options=NOW)
    training.synchronize_updates()
    np.testing.assert_allclose(w.numpy(), w0 - 0.125 * dw, 1e-4, 1e-4)


def test_separate_passes_need_each_other():
    training, x, t, *_ = regression(sgd())
    with pytest.raises(RuntimeError, match="forward pass"):
        training.execute_gradient(options=NOW)
    training.bind_and_write_data({"x": XS, "t": TS}, {"x": x, "t": t}, CPU)
    training.execute_forward(options=NOW)
    training.execute_gradient(options=NOW)
    assert training.execute_optimizer_update(options=NOW)


def test_separate_passes_write_outputs():
    x, t = mlc.tensor([4, 3]), mlc.tensor([4, 2])
    layer, w, b = dense(3, 2)
    g = mlc.graph()
    y = g.node(layer, x)
    training = mlc.training_graph([g], mlc.loss_layer.mean_squared_error_loss("Sum"), sgd())
    training.add_inputs({"x": x}, {"t": t})
    assert training.add_outputs({"y": y})
    training.compile(CPU)
    wanted = XS @ w.numpy().T + b.numpy()
    training.bind_and_write_data({"x": XS, "t": TS}, {"x": x, "t": t}, CPU)
    out = np.zeros((4, 2), np.float32)
    training.execute_forward(options=NOW, outputs_data={"y": out})
    np.testing.assert_allclose(out, wanted, 1e-5, 1e-5)
    out[:] = 0
    training.execute_gradient(options=NOW, outputs_data={"y": out})
    np.testing.assert_allclose(out, wanted, 1e-5, 1e-5)
    out[:] = 0
    training.execute({"x": XS}, {"t": TS}, options=NOW, outputs_data={"y": out})
    np.testing.assert_allclose(out, wanted, 1e-5, 1e-5)


def test_gradients_of_inputs_and_layers_are_tensors():
    training, x, t, _, w, b, layer, _ = regression(sgd(), "ComputeAllGradients")
    _, _, dx = expected_gradients(w.numpy(), b.numpy())
    gradient = training.gradient_tensor_for_input(x)
    (source,) = training.source_gradient_tensors_for_layer(layer)
    (result,) = training.result_gradient_tensors_for_layer(layer)
    training.bind_and_write_data({"x": XS, "t": TS}, {"x": x, "t": t}, CPU)
    training.execute_forward(options=NOW)
    training.execute_gradient(options=NOW)
    np.testing.assert_allclose(gradient.numpy(), dx, 1e-4, 1e-4)
    np.testing.assert_allclose(source.numpy(), dx, 1e-4, 1e-4)
    error = 2 * (XS @ w.numpy().T + b.numpy() - TS)
    np.testing.assert_allclose(result.numpy(), error, 1e-4, 1e-4)


def test_all_gradients_are_there_without_asking_for_them_before():
    for options, there in (("ComputeAllGradients", True), ("None", False)):
        training, x, t, _, w, b, *_ = regression(sgd(), options)
        _, _, dx = expected_gradients(w.numpy(), b.numpy())
        training.bind_and_write_data({"x": XS, "t": TS}, {"x": x, "t": t}, CPU)
        training.execute_forward(options=NOW)
        training.execute_gradient(options=NOW)
        gradient = training.gradient_tensor_for_input(x)
        if there:
            np.testing.assert_allclose(gradient.numpy(), dx, 1e-4, 1e-4)
        else:
            with pytest.raises(RuntimeError, match="no data"):
                gradient.numpy()


def test_label_weights_multiply_losses():
    x, t, weights = mlc.tensor([4, 3]), mlc.tensor([4, 2]), mlc.tensor([4, 1])
    layer, w, b = dense(3, 2)
    g = mlc.graph()
    g.node(layer, x)
    loss = mlc.loss_layer.mean_squared_error_loss("Sum")
    training = mlc.training_graph([g], loss, sgd())
    training.add_inputs({"x": x}, {"t": t}, {"w": weights})
    training.compile(CPU)
    factors = np.array([[1], [0], [2], [5]], np.float32)
    wanted = np.sum(factors * (XS @ w.numpy().T + b.numpy() - TS) ** 2)
    training.execute({"x": XS}, {"t": TS}, {"w": factors}, options=NOW)
    np.testing.assert_allclose(training.result_tensors_for_layer(loss)[0].numpy(), wanted, 1e-4)


def test_an_optimizer_comes_later_or_is_replaced():
    training, _, _, _, w, b, *_ = regression()
    assert training.optimizer is None
    with pytest.raises(RuntimeError, match="optimizer"):
        training.execute({"x": XS}, {"t": TS}, options=NOW)
    optimizer = sgd(0.25)
    assert training.compile_optimizer(optimizer) and training.optimizer is optimizer
    w0, b0 = w.numpy().copy(), b.numpy().copy()
    dw, _, _ = expected_gradients(w0, b0)
    training.execute({"x": XS}, {"t": TS}, options=NOW)
    np.testing.assert_allclose(w.numpy(), w0 - 0.25 * dw, 1e-4, 1e-4)


def test_the_rate_and_the_clipping_change_between_executions():
    p = mlc.tensor([2], fill_with_data=0)
    g = mlc.graph()
    g.node(mlc.activation_layer(mlc.activation_descriptor("linear", 10, 0)), p)
    descriptor = mlc.optimizer_descriptor(1.0, applies_gradient_clipping=True)
    optimizer = mlc.sgd_optimizer(descriptor)
    training = mlc.training_graph([g], None, optimizer)
    training.set_training_tensor_parameters([mlc.tensor_parameter(p)])
    training.compile(CPU)

    def step():
        training.execute_forward(options=NOW)
        training.execute_gradient(options=NOW)
        training.execute_optimizer_update(options=NOW)
        return p.numpy().tolist()

    assert step() == [-1, -1]
    optimizer.learning_rate = 0.5
    assert step() == [-1.5, -1.5]
    optimizer.applies_gradient_clipping = False
    assert step() == [-6.5, -6.5]


def test_an_optimizer_counts_its_steps():
    adam = mlc.adam_optimizer(mlc.optimizer_descriptor(0.125))
    training, *_ = regression(adam)
    assert adam.time_step == 1
    for _ in range(3):
        training.execute({"x": XS}, {"t": TS}, options=NOW)
    assert adam.time_step == 4


def test_a_layer_with_updates_disabled_stays_as_it_is():
    for disable in (True, False):
        x, t = mlc.tensor([4, 3]), mlc.tensor([4, 2])
        frozen, w, _ = dense(3, 3)
        last, v, _ = dense(3, 2, seed=5)
        g = mlc.graph()
        h = g.node(frozen, x, disable_update=disable)
        g.node(last, h)
        training = mlc.training_graph([g], mlc.loss_layer.mean_squared_error_loss("Sum"), sgd(0.01))
        training.add_inputs({"x": x}, {"t": t})
        training.compile(CPU)
        w0, v0 = w.numpy().copy(), v.numpy().copy()
        training.execute({"x": XS}, {"t": TS}, options=NOW)
        assert (w.numpy() == w0).all() == disable and (v.numpy() != v0).all()


def test_a_stopped_gradient_trains_nothing_before_it():
    for stop in (True, False):
        x, t = mlc.tensor([4, 3]), mlc.tensor([4, 2])
        first, w, _ = dense(3, 3)
        last, v, _ = dense(3, 2, seed=5)
        g = mlc.graph()
        h = g.node(first, x)
        g.node(last, h)
        training = mlc.training_graph([g], mlc.loss_layer.mean_squared_error_loss("Sum"), sgd(0.01))
        training.add_inputs({"x": x}, {"t": t})
        if stop:
            assert training.stop_gradient_for_tensors([h])
        training.compile(CPU)
        w0, v0 = w.numpy().copy(), v.numpy().copy()
        training.execute({"x": XS}, {"t": TS}, options=NOW)
        assert (w.numpy() == w0).all() == stop and (v.numpy() != v0).all()


def test_constants_are_given_when_compiling_a_training_graph():
    p, k = mlc.tensor([2], fill_with_data=1), mlc.tensor([2])
    g = mlc.graph()
    y = g.node(mlc.arithmetic_layer("multiply"), [p, k])
    training = mlc.training_graph([g], None, sgd(1.0))
    training.add_inputs({"k": k})
    training.set_training_tensor_parameters([mlc.tensor_parameter(p)])
    assert training.compile(CPU, 0, {"k": k}, {"k": np.array([3, 5], np.float32)})
    training.execute_forward(options=NOW)
    training.execute_gradient(options=NOW)
    training.execute_optimizer_update(options=NOW)
    assert y.numpy().tolist() == [3, 5] and p.numpy().tolist() == [-2, -4]


def test_a_forward_pass_for_inference_keeps_statistics_and_dropout_out():
    x = mlc.tensor([50, 2])
    g = mlc.graph()
    y = g.node(mlc.dropout_layer(0.5, 1), x)
    training = mlc.training_graph([g])
    training.add_inputs({"x": x})
    training.compile(CPU)
    ones = np.ones((50, 2), np.float32)
    training.bind_and_write_data({"x": ones}, {"x": x}, CPU)
    training.execute_forward(options=NOW)
    assert (y.numpy() == 0).any()
    training.execute_forward(options=["Synchronous", "ForwardForInference"])
    assert (y.numpy() == 1).all()


def test_a_users_gradient_is_added():
    x = mlc.tensor([2], fill_with_data=1)
    g = mlc.graph()
    h = g.node(mlc.activation_layer(mlc.activation_descriptor("linear", 2, 0)), x)
    g.node(mlc.activation_layer(mlc.activation_descriptor("linear", 3, 0)), h)
    training = mlc.training_graph([g], None, sgd(1.0))
    training.set_training_tensor_parameters([mlc.tensor_parameter(x)])
    hole = training.allocate_user_gradient_for_tensor(h)
    assert hole.shape == [2]
    training.compile(CPU)
    training.execute_forward(options=NOW)
    training.bind_and_write_data({"d": np.array([10, 20], np.float32)}, {"d": hole}, CPU)
    training.execute_gradient(options=NOW)
    found = training.gradient_data_for_parameter(x)
    assert found.tolist() == [2 * (3 + 10), 2 * (3 + 20)]


def test_linked_training_graphs_pass_gradients_back():
    x = mlc.tensor([2], fill_with_data=3)
    first, second = mlc.graph(), mlc.graph()
    between = first.node(mlc.activation_layer(mlc.activation_descriptor("linear", 2, 0)), x)
    second.node(mlc.arithmetic_layer("multiply"), [between, between])
    one, two = (
        mlc.training_graph([first], None, sgd(1.0)),
        mlc.training_graph([second], None, sgd()),
    )
    one.set_training_tensor_parameters([mlc.tensor_parameter(x)])
    two.add_inputs({"between": between})
    for graph in (one, two):
        graph.compile(CPU, "LinkGraphs")
    assert one.link([two])
    one.execute_forward(options=NOW)
    two.execute_forward(options=NOW)
    two.execute_gradient(options=NOW)
    one.execute_gradient(options=NOW)
    assert one.gradient_data_for_parameter(x).tolist() == [24, 24]


def test_losses_that_are_combined_are_trained_together():
    p, t = mlc.tensor([2], fill_with_data=3), mlc.tensor([2])
    g = mlc.graph()
    first = g.node(mlc.loss_layer.mean_squared_error_loss("Sum"), p, loss_labels=t)
    second = g.node(mlc.loss_layer.mean_absolute_error_loss("Sum"), p, loss_labels=t)
    g.node(mlc.arithmetic_layer("multiply"), [first, second])
    g.node(mlc.arithmetic_layer("sin"), p)  # a result that is no loss
    training = mlc.training_graph([g], None, sgd(1.0))
    training.add_inputs({}, {"t": t})
    training.set_training_tensor_parameters([mlc.tensor_parameter(p)])
    training.compile(CPU)
    training.execute({}, {"t": np.zeros(2, np.float32)}, options=NOW)
    # d (18 * 6) = (2 * 3) * 6 + 18 * 1
    assert p.numpy().tolist() == [3 - 54, 3 - 54]


def test_random_initializers_train_a_net():
    mlc.platform.set_rng_seed_to(3)
    d = mlc.tensor_descriptor.convolution_weights_descriptor(None, None, 2, 8)
    w1 = mlc.tensor(d, random_initializer_type="GlorotUniform")
    d = mlc.tensor_descriptor.convolution_weights_descriptor(None, None, 8, 1)
    w2 = mlc.tensor(d, random_initializer_type="GlorotUniform")
    c = mlc.convolution_descriptor.descriptor
    b1, b2 = (mlc.tensor([n], fill_with_data=0) for n in (8, 1))
    x, t = mlc.tensor([4, 2]), mlc.tensor([4, 1])
    g = mlc.graph()
    y = g.node(mlc.fully_connected_layer(w1, b1, c(1, 1, 2, 8)), x)
    y = g.node(mlc.activation_layer.tanh_layer(), y)
    y = g.node(mlc.fully_connected_layer(w2, b2, c(1, 1, 8, 1)), y)
    loss = mlc.loss_layer.sigmoid_cross_entropy_loss("Mean")
    adam = mlc.adam_optimizer(mlc.optimizer_descriptor(0.05))
    training = mlc.training_graph([g], loss, adam)
    training.add_inputs({"x": x}, {"t": t})
    training.add_outputs({"y": y})
    training.compile(CPU)
    xs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    ts = np.array([[0], [1], [1], [0]], np.float32)
    for _ in range(200):
        training.execute({"x": xs}, {"t": ts}, options=NOW)
    assert ((y.numpy() > 0) == (ts > 0.5)).all()
