"""Whatever the functions under mlcompute are given, they answer or raise: they never crash."""

import os
import random
import subprocess
import sys

import pytest
from house import ROOT

CALLS = 1500


def sources():
    """Objects of all kinds, good and bad."""
    import mlcompute as mlc
    import numpy as np

    x, y = mlc.tensor([2, 3]), mlc.tensor([2, 3], fill_with_data=1)
    g = mlc.graph()
    add = mlc.arithmetic_layer("add")
    z = g.node(add, [x, y])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    sizes = mlc.convolution_descriptor.descriptor(1, 1, 3, 4)
    weights, biases = mlc.tensor([4, 3], fill_with_data=0.5), mlc.tensor([4], fill_with_data=0)
    dense = mlc.fully_connected_layer(weights, biases, sizes)
    net, source, target = mlc.graph(), mlc.tensor([2, 3]), mlc.tensor([2, 4])
    net.node(dense, source)
    optimizer = mlc.adam_optimizer(mlc.optimizer_descriptor(0.1))
    loss = mlc.loss_layer.mean_squared_error_loss("Mean")
    training = mlc.training_graph([net], loss, optimizer)
    training.add_inputs({"x": source}, {"t": target})
    training.compile("cpu")
    data = mlc.tensor_data(np.ones((2, 3), np.float32))
    labels = mlc.tensor_data(np.ones((2, 4), np.float32))
    parameter = mlc.tensor_parameter(y)
    numbers = [0, 1, 2, -1, 5, 2**31, 2**63, 2**70, -(2**63), 0.5, -1.0, 1e300, float("nan")]
    words = ["", "add", "Float32", "x", "t", "cpu", b"abc"]
    lists = [[], [1], [2, 3], [3, 2, 1], [-1], [10**12, 10**12], [x], [x, y], [z, None], [g]]
    lists += [[inference], [training], [data], [parameter]]
    names = [{"x": x}, {"x": data}, {"y": y}, {"x": data, "t": labels}, {}, {"x": None}, {1: x}]
    runs = [({"x": data}, None, None, None, 0, 2, None), (None,) * 7, ()]
    runs += [({"x": data}, {"t": labels}, None, None, 0, 2, None)]
    descriptors = [
        mlc.activation_descriptor("relu"), mlc.matmul_descriptor(), sizes,
        mlc.pooling_descriptor("Max", 2, 2), mlc.pooling_descriptor("Average", -1, 0),
        mlc.convolution_descriptor.descriptor(-3, 0, 2**40, -1), mlc.lstm_descriptor(3, 4),
        mlc.lstm_descriptor(-3, 2**50, 2**40), mlc.loss_descriptor("Huber", "Sum"),
        mlc.multihead_attention_descriptor(4, 2), mlc.multihead_attention_descriptor(4, 0),
        mlc.embedding_descriptor(5, 3), mlc.embedding_descriptor(-5, 2**60),
        mlc.yolo_loss_descriptor([[1, 2]]), mlc.optimizer_descriptor(0.1),
    ]  # fmt: skip
    objects = [x, y, z, g, inference, training, add, dense, optimizer, loss, data, parameter]
    objects += [mlc.device("cpu"), x.descriptor, mlc.tensor([1], "Int32", fill_with_data=0)]
    arrays = [np.zeros((2, 3), np.float32), np.zeros(3), bytearray(24)]
    everything = [None, True, False, *numbers, *words, *lists, *names, *runs, *descriptors]
    return everything + objects + arrays


def fits(value, type_: str) -> bool:
    """Whether a value may be meant by a parameter's type."""
    kind = getattr(getattr(value, "_handle", None), "kind", "")
    struct = getattr(value, "_fields", {}).get("_struct", "")
    if kind or struct:
        return type_.rstrip(" *").endswith(struct or kind)
    if "execution" in type_:
        return isinstance(value, tuple)
    if type_.startswith("mlc_named"):
        return isinstance(value, dict)
    if type_ == "mica_ints" or type_ in ("mlc_tensors", "mlc_graphs", "mlc_data_list"):
        return isinstance(value, list)
    return isinstance(value, {"float": float, "double": float, "bool": bool}.get(type_, int))


def call_at_random(seed: int, count: int) -> int:
    """Call functions with arguments of which most fit; count those that answer."""
    from mlcompute import _mlcompute as extension

    sys.path.insert(0, str(ROOT / "python/_mlcompute"))
    import headers

    functions = headers.read(ROOT / "include/mica").functions
    names = [n for n in dir(extension) if n.startswith("mlc_") and n != "mlc_set_note_handler"]
    chance, answered, pool = random.Random(seed), 0, []
    for i in range(count):
        if i % 200 == 0:
            pool = sources()
        name = chance.choice(names)
        arguments = []
        for p in functions[name].parameters:
            if p.name == "length" or (p.name.startswith("out_") and "*" in p.type):
                continue
            good = [value for value in pool if fits(value, p.type)]
            arguments.append(chance.choice(good if good and chance.random() < 0.85 else pool))
        try:
            getattr(extension, name)(*arguments)
            answered += 1
        except (ValueError, TypeError, RuntimeError, NotImplementedError, MemoryError):
            pass
    return answered


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls_answer_or_raise(seed):
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, str(seed), str(CALLS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]
    assert int(result.stdout) > CALLS // 8


if __name__ == "__main__":
    print(call_at_random(int(sys.argv[1]), int(sys.argv[2])))
