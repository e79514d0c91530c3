"""mlcompute: handlers read their own results, inputs stay, messages and help are clear."""

import itertools
import subprocess
import sys

import mlcompute as mlc
import numpy as np
import pytest
from house import ROOT


def relu():
    x = mlc.tensor([2, 2], "Float32")
    graph = mlc.graph()
    y = graph.node(mlc.activation_layer.relu_layer(), x)
    inference = mlc.inference_graph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile(mlc.device("cpu"))
    return inference, y


def test_a_completion_handler_reads_its_own_results():
    inference, y = relu()
    seen = []
    for i in range(20):
        inference.execute(
            {"x": np.full((2, 2), i, np.float32)},
            completion_handler=lambda result, error, seconds, i=i: seen.append(
                (i, float(result.numpy()[0, 0]), float(y.numpy()[1, 1]))
            ),
        )
    inference.wait()
    assert seen == [(i, i, i) for i in range(20)]
    assert y.numpy()[0, 0] == 19


def test_handlers_of_training_steps_read_the_loss_of_their_step():
    x, t = mlc.tensor([4, 1]), mlc.tensor([4, 1])
    w, b = mlc.tensor([1, 1], fill_with_data=0.0), mlc.tensor([1], fill_with_data=0.0)
    graph = mlc.graph()
    layer = mlc.fully_connected_layer(w, b, mlc.convolution_descriptor.descriptor(1, 1, 1, 1))
    graph.node(layer, x)
    loss = mlc.loss_layer.mean_squared_error_loss("Mean")
    training = mlc.training_graph([graph], loss, mlc.sgd_optimizer(mlc.optimizer_descriptor(0.1)))
    training.add_inputs({"x": x}, {"t": t})
    training.compile(mlc.device("cpu"))
    ones = np.ones((4, 1), np.float32)

    def losses(synchronous):
        seen = []
        for _ in range(6):
            training.execute(
                {"x": ones}, {"t": 3 * ones}, options="Synchronous" if synchronous else 0,
                completion_handler=lambda result, *_: seen.append(float(result.numpy().mean())),
            )  # fmt: skip
        training.wait()
        return seen

    queued = losses(False)
    assert all(a > b for a, b in itertools.pairwise(queued)), queued
    assert losses(True)[0] < queued[-1]


def test_an_input_that_is_not_given_again_keeps_its_data():
    a, b = mlc.tensor([2]), mlc.tensor([2])
    graph = mlc.graph()
    total = graph.node(mlc.arithmetic_layer("Add"), [a, b])
    inference = mlc.inference_graph([graph])
    inference.add_inputs({"a": a, "b": b})
    inference.compile(mlc.device("cpu"))
    one = np.ones(2, np.float32)
    with pytest.raises(ValueError, match="there is no data for the input 'b'"):
        inference.execute({"a": one}, options="Synchronous")
    inference.execute({"a": one, "b": one}, options="Synchronous")
    inference.execute({"a": 5 * one}, options="Synchronous")
    assert total.numpy().tolist() == [6, 6]
    assert "keeps the data" in mlc.inference_graph.execute.__doc__


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        ((8, 3), "8 cannot be divided among 3 heads"),
        ((8, 0), "8 cannot be divided among 0 heads"),
        ((-1, 1), "dimensions are 1 or more: given model -1"),
    ],
)
def test_messages_of_attention_name_what_is_wrong(descriptor, message):
    given = mlc.multihead_attention_descriptor(*descriptor)
    size = max(descriptor[0], 1)
    weights = [mlc.tensor([1, size, size, 1], fill_with_data=0.1) for _ in range(4)]
    with pytest.raises(ValueError, match=message):
        mlc.multihead_attention_layer(given, weights)


def test_every_constructor_has_help():
    for name in dir(mlc):
        value = getattr(mlc, name)
        if isinstance(value, type) and "__init__" in vars(value):
            text = value.__init__.__doc__ or ""
            assert text.startswith(f"Make one: {name}("), name
            assert len(text.split("\n\n")) > 1, name


def test_the_header_of_even_names_is_up_to_date():
    script = ROOT / "scripts" / "mlcompute_names.py"
    made = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert made.stdout == (ROOT / "include/mica/mlc_names.h").read_text()
    assert "#define MLC_POOLING_TYPE_MAX MLC_POOLING_MAX\n" in made.stdout
