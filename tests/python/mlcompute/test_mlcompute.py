"""The module mlcompute: whole programs, bad input, handlers, memory."""

import gc
import subprocess
import sys
import threading

import mlcompute as mlc
import numpy as np
import pytest

NOW = mlc.execution_options.SYNCHRONOUS

# The program of the published introduction to ML Compute from Python: three tensors added.
PROGRAM = """
import time
import numpy as np
import mlcompute as mlc

n = {length}
arrays = {arrays}
tensors = [mlc.tensor([n, 1], "Float32") for _ in arrays]
data = [mlc.tensor_data(np.array(v).astype(np.float32)) for v in arrays]
for x in data:
    x.print()
g = mlc.graph()
result = tensors[0]
for tensor, operation in zip(tensors[1:], {operations}):
    result = g.add_layer(mlc.arithmetic_layer(operation), [result, tensor])
i = mlc.inference_graph([g])
names = ["data%d" % (k + 1) for k in range(len(arrays))]
i.add_inputs(dict(zip(names, tensors)))
device = mlc.device("{device}")
print(i.compile(device))
i.execute(dict(zip(names, data)), 0)
{pause}
result.print()
"""


def run_program(text: str) -> tuple[str, str]:
    result = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr


def number(value: float) -> str:
    return f"{float(np.float32(value)):g}"


def test_the_introductions_program_prints_its_five_lines():
    out, err = run_program(
        PROGRAM.format(
            length=6,
            arrays=[[1, 2, 3, 4, 5, 6], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [-0.1] * 6],
            operations=["add", "add"],
            device="gpu",
            pause="time.sleep(0.1)",
        )
    )
    assert out == (
        "1 2 3 4 5 6\n"
        "0.1 0.2 0.3 0.4 0.5 0.6\n"
        "-0.1 -0.1 -0.1 -0.1 -0.1 -0.1\n"
        "True\n"
        "MLCTensor data5 : 1 2.1 3.2 4.3 5.4 6.5\n"
    )
    assert err.count("\n") <= 1  # a note where there is no GPU


@pytest.mark.parametrize(
    ("arrays", "operations"),
    [
        ([[1.5, -2.0]], []),
        ([[1.5, -2.0, 1e10], [2.0, 4.0, 1e-10]], ["multiply"]),
        ([[9.0], [2.0], [0.5], [3.0]], ["subtract", "divide", "pow"]),
        ([[float(k) for k in range(20)]] * 7, ["add", "max", "min", "subtract", "add", "add"]),
        ([[0.25, 1.0], [3.0, 1.0], [7.0, 1.0]], ["Add", "MultiplyNoNaN"]),
    ],
)
def test_variants_print_their_own_right_answers(arrays, operations):
    if not operations:
        operations = ["add"]
        arrays = [arrays[0], arrays[0]]
    out, _ = run_program(
        PROGRAM.format(
            length=len(arrays[0]), arrays=arrays, operations=operations, device="cpu", pause=""
        )
    )
    functions = {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
        "pow": np.power, "max": np.maximum, "min": np.minimum, "multiplynonan": np.multiply,
    }  # fmt: skip
    result = np.array(arrays[0], np.float32)
    for array, operation in zip(arrays[1:], operations, strict=True):
        result = functions[operation.lower()](result, np.array(array, np.float32))
    lines = out.splitlines()
    for line, array in zip(lines, arrays, strict=False):
        assert line == " ".join(number(v) for v in array)
    last = len(arrays) + len(operations)
    assert lines[-2] == "True"
    assert lines[-1] == f"MLCTensor data{last} : " + " ".join(number(v) for v in result)


def test_other_types_print_as_they_are(capsys):
    mlc.tensor_data(np.array([[1, -2], [3, 4]], np.int32)).print()
    mlc.tensor_data(np.array([True, False])).print()
    made = mlc.tensor([2], "Int64", data=np.array([7, -9]))
    made.label = "counts"
    made.print()
    assert capsys.readouterr().out == "1 -2 3 4\n1 0\nMLCTensor counts : 7 -9\n"


# ---- the device by name --------------------------------------------------------------------------


def test_the_chosen_device_is_the_one_of_graphs_compiled_without_one():
    try:
        for name in ("cpu", "gpu", "any"):
            mlc.set_mlc_device(device_name=name)
            assert mlc.device().type == mlc.device_type[name.upper()]
        mlc.set_mlc_device("cpu")
        _x, _g, inference = add_one()
        assert inference.compile()
        assert inference.device.type == mlc.device_type.CPU
    finally:
        mlc.set_mlc_device()
    assert mlc.device().type == mlc.device_type.ANY


@pytest.mark.parametrize("name", ["tpu", "CPU", "", None, 1])
def test_a_wrong_device_name_is_an_error_that_lists_the_right_ones(name):
    with pytest.raises(ValueError, match="'cpu', 'gpu', 'any'"):
        mlc.set_mlc_device(name)


def test_whether_the_engine_is_on_follows_the_environment(monkeypatch):
    monkeypatch.delenv("TF_DISABLE_MLC", raising=False)
    assert mlc.is_apple_mlc_enabled()
    monkeypatch.setenv("TF_DISABLE_MLC", "1")
    assert not mlc.is_apple_mlc_enabled()
    assert isinstance(mlc.is_tf_compiled_with_apple_mlc(), bool)


# ---- bad input -----------------------------------------------------------------------------------


def add_one(shape=(2, 3)):
    """x + 1, not compiled."""
    x = mlc.tensor(list(shape))
    one = mlc.tensor(list(shape), fill_with_data=1)
    g = mlc.graph()
    g.add_layer(mlc.arithmetic_layer("add"), [x, one])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    return x, g, inference


ZEROS = np.zeros((2, 3), np.float32)
X = mlc.tensor([2, 3])

WRONG = [
    (ValueError, "sizes are at least 1", lambda: mlc.tensor([2, -1])),
    (TypeError, "a sequence of integers", lambda: mlc.tensor("ab")),
    (TypeError, "an integer", lambda: mlc.tensor([1.5])),
    (ValueError, "Float99.*FLOAT32", lambda: mlc.tensor([2], "Float99")),
    (ValueError, "2 is no data_type", lambda: mlc.tensor([2], 2)),
    (ValueError, "INVALID has no elements", lambda: mlc.tensor([2], "Invalid")),
    (ValueError, "12 bytes.*which has 8", lambda: mlc.tensor([2], data=np.zeros(3, np.float32))),
    (ValueError, "float64.*float32", lambda: mlc.tensor([2], data=np.zeros(2))),
    (ValueError, "exclude each other", lambda: mlc.tensor([2], data=ZEROS, fill_with_data=1)),
    (TypeError, "a buffer.*got list", lambda: mlc.tensor_data([1, 2])),
    (ValueError, "C-contiguous", lambda: mlc.tensor_data(np.zeros((4, 4))[:, ::2])),
    (ValueError, "read-only", lambda: mlc.tensor_data(np.frombuffer(b"abcd", np.uint8))),
    (ValueError, "'ad' is no arithmetic_operation", lambda: mlc.arithmetic_layer("ad")),
    (ValueError, "99 is no", lambda: mlc.arithmetic_layer(99)),
    (TypeError, "got float", lambda: mlc.arithmetic_layer(1.5)),
    (TypeError, "subclasses", mlc.layer),
    (TypeError, "subclasses", mlc.optimizer),
    (ValueError, "xpu.*CPU, GPU, ANY", lambda: mlc.device("xpu")),
    (ValueError, "2 sources, not 1", lambda: add_layer(mlc.arithmetic_layer("add"), [X])),
    (TypeError, "a tensor, got int", lambda: add_layer(mlc.arithmetic_layer("add"), [X, 3])),
    (TypeError, "a layer, got int", lambda: add_layer(3, [X])),
    (
        ValueError,
        r"Arithmetic.*\(2,3\).*\(4,5\)",
        lambda: add_layer(mlc.arithmetic_layer("add"), [X, mlc.tensor([4, 5])]),
    ),
    (TypeError, "a convolution_descriptor", lambda: mlc.convolution_layer(X, None, None)),
    (
        TypeError,
        "got matmul_descriptor",
        lambda: mlc.convolution_layer(X, None, mlc.matmul_descriptor()),
    ),
    (ValueError, "no layers", lambda: mlc.inference_graph([]).compile()),
    (TypeError, "a graph, got int", lambda: mlc.inference_graph([1])),
    (ValueError, r"\[0, 1\)", lambda: mlc.dropout_layer(2.0)),
    (TypeError, "a number, got str", lambda: mlc.dropout_layer("a")),
    (ValueError, "2\\*\\*64", lambda: mlc.dropout_layer(0.5, -1)),
    (RuntimeError, "has no data", lambda: mlc.tensor([2, 3]).numpy()),
    (RuntimeError, "has no data", lambda: mlc.tensor([2, 3]).print()),
    (ValueError, "64 bits", lambda: mlc.tensor([1 << 70])),
    (ValueError, "fits a float", lambda: mlc.dropout_layer(1e300)),
    (TypeError, "a optimizer_descriptor", lambda: mlc.sgd_optimizer(None)),
    (ValueError, "b needs a", lambda: mlc.activation_descriptor("relu", b=2)),
    (ValueError, "Reshape.*6 elements", lambda: mlc.graph().reshape([7], X)),
    (ValueError, "batch", lambda: mlc.graph().transpose([1, 0], X)),
    (ValueError, "give split_count", lambda: mlc.graph().split(X, 2)),
    (ValueError, "every box", lambda: mlc.yolo_loss_descriptor([1, 2, 3])),
    (TypeError, "only the library", mlc.tensor_optimizer_device_data),
    (TypeError, "a str", lambda: setattr(X, "label", 3)),
    (AttributeError, "setter", lambda: setattr(X, "tensor_id", 3)),
    (ValueError, "weight and weights", lambda: mlc.loss_layer.hinge_loss("Sum", 1, X)),
    (TypeError, "a bool", lambda: mlc.matmul_descriptor(1.0, 1, 0)),
    (TypeError, "got NoneType", lambda: mlc.tensor_parameter(None)),
]


def add_layer(layer, sources):
    return mlc.graph().add_layer(layer, sources)


@pytest.mark.parametrize(("error", "words", "call"), WRONG, ids=range(len(WRONG)))
def test_a_bad_argument_is_an_exception_that_says_what_is_wrong(error, words, call):
    with pytest.raises(error, match=words):
        call()


EXECUTIONS = [
    (ValueError, "no data for the input 'x'", {}, {}),
    (ValueError, "12 bytes.*which has 24", {"x": ZEROS[:1]}, {}),
    (ValueError, "int32.*Float32", {"x": ZEROS.astype(np.int32)}, {}),
    (ValueError, "'q' is no declared input", {"x": ZEROS, "q": ZEROS}, {}),
    (ValueError, "'now' is no execution_options", {"x": ZEROS}, {"options": "now"}),
    (ValueError, "64", {"x": ZEROS}, {"options": 64}),
    (TypeError, "options", {"x": ZEROS}, {"options": 1.5}),
    (ValueError, "batch size 5", {"x": ZEROS}, {"batch_size": 5}),
    (TypeError, "callable", {"x": ZEROS}, {"completion_handler": 3}),
    (TypeError, "a dict", [ZEROS], {}),
    (TypeError, "a str", {1: ZEROS}, {}),
    (ValueError, "no", {"x": ZEROS}, {"loss_labels_data": {"y": ZEROS}}),
    (ValueError, "no", {"x": ZEROS}, {"outputs_data": {"y": ZEROS}}),
]


@pytest.mark.parametrize(
    ("error", "words", "data", "options"), EXECUTIONS, ids=range(len(EXECUTIONS))
)
def test_a_refused_execution_leaves_the_graph_usable(error, words, data, options):
    _x, g, inference = add_one()
    with pytest.raises(RuntimeError, match="compile it first"):
        inference.execute({"x": ZEROS})
    inference.compile("cpu")
    with pytest.raises(error, match=words):
        inference.execute(data, **options)
    assert inference.execute({"x": ZEROS}, options=NOW)
    assert (g.result_tensors_for_layer(g.layers[0])[0].numpy() == 1).all()


def test_what_is_compiled_cannot_be_added_to():
    x, g, inference = add_one()
    inference.compile("cpu")
    result = g.result_tensors_for_layer(g.layers[0])[0]
    for call in (
        lambda: inference.node(mlc.arithmetic_layer("sin"), result),
        lambda: g.node(mlc.arithmetic_layer("sin"), result),
        lambda: inference.add_inputs({"y": x}),
        lambda: inference.add_outputs({"y": result}),
    ):
        with pytest.raises(RuntimeError, match="compiled"):
            call()
    assert inference.execute({"x": ZEROS}, options=NOW)


def test_a_layer_belongs_to_one_graph():
    layer = mlc.arithmetic_layer("sin")
    first = mlc.graph()
    assert first.node(layer, X).shape == [2, 3]
    with pytest.raises(ValueError, match=f"{layer.label}.*another graph"):
        mlc.graph().node(layer, X)


# ---- handlers ------------------------------------------------------------------------------------


def test_a_handler_gets_the_result_and_the_seconds():
    _x, g, inference = add_one()
    inference.compile("cpu")
    seen = []
    inference.execute(
        {"x": ZEROS}, options=["Synchronous", "Profiling"],
        completion_handler=lambda *given: seen.append(given),
    )  # fmt: skip
    ((result, error, seconds),) = seen
    assert error is None and seconds > 0
    assert result is g.result_tensors_for_layer(g.layers[0])[0]
    assert (result.numpy() == 1).all()


def test_handlers_of_overlapping_executions_are_each_called_once():
    _x, _g, inference = add_one()
    inference.compile("cpu")
    lock, calls = threading.Lock(), []

    def handler(result, error, seconds, k):
        with lock:
            calls.append((k, error))

    for k in range(300):
        inference.execute({"x": ZEROS}, completion_handler=lambda *a, k=k: handler(*a, k))
    assert inference.wait()
    assert sorted(calls) == [(k, None) for k in range(300)]


def test_an_exception_in_a_handler_comes_out_of_a_synchronous_execution():
    _x, _g, inference = add_one()
    inference.compile("cpu")

    def handler(result, error, seconds):
        raise KeyError("from the handler")

    with pytest.raises(KeyError, match="from the handler"):
        inference.execute({"x": ZEROS}, options=NOW, completion_handler=handler)
    assert inference.execute({"x": ZEROS}, options=NOW)
    assert inference.wait()


def test_an_exception_in_a_handler_comes_out_of_wait_once():
    _x, _g, inference = add_one()
    inference.compile("cpu")

    def handler(result, error, seconds):
        raise KeyError("from the handler")

    inference.execute({"x": ZEROS}, completion_handler=handler)
    inference.execute({"x": ZEROS})
    with pytest.raises(KeyError, match="from the handler"):
        inference.wait()
    assert inference.wait()
    assert inference.execute({"x": ZEROS}, options=NOW)


UNASKED = """
import mlcompute as mlc, numpy as np
x = mlc.tensor([2])
g = mlc.graph()
g.node(mlc.arithmetic_layer("sin"), x)
i = mlc.inference_graph([g])
i.add_inputs({"x": x})
i.compile("cpu")
def handler(*given):
    raise KeyError("nobody asked")
i.execute({"x": np.zeros(2, np.float32)}, completion_handler=handler)
"""


def test_an_exception_in_a_handler_that_nobody_asks_for_is_reported():
    _, err = run_program(UNASKED)
    assert "KeyError: 'nobody asked'" in err
    _, err = run_program(UNASKED + "del i, g, x\nimport gc, time\ntime.sleep(0.1)\ngc.collect()\n")
    assert "KeyError: 'nobody asked'" in err


def test_a_failed_execution_gives_the_handler_its_error():
    x = mlc.tensor([2])
    g = mlc.graph()
    layer = mlc.arithmetic_layer("log")
    layer.label = "the logarithm"
    g.node(layer, x)
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile("cpu", "DebugLayers")
    seen = []
    bad = np.array([1, 0], np.float32)
    inference.execute({"x": bad}, completion_handler=lambda *given: seen.append(given))
    with pytest.raises(ValueError, match="the logarithm"):
        inference.wait()
    ((result, error, _),) = seen
    assert result is None and "the logarithm" in str(error)
    assert inference.execute({"x": bad + 1}, options=NOW)


# ---- memory --------------------------------------------------------------------------------------


def test_arrays_are_bound_not_copied():
    array = np.arange(4, dtype=np.float32)
    data = mlc.tensor_data(array)
    tensor = mlc.tensor([4], data=data)
    assert data.length == len(data) == 16 and data.bytes.nbytes == 16
    assert np.shares_memory(data.numpy(), array) and np.shares_memory(tensor.numpy(), array)
    array[2] = 9
    assert data.numpy()[2] == 9 and tensor.numpy()[2] == 9
    assert tensor.data is data


def test_an_array_lives_as_long_as_its_data_and_no_longer():
    array = np.zeros(4, np.float32)
    before = sys.getrefcount(array)
    data = mlc.tensor_data(array)
    tensor = mlc.tensor([4], data=data)
    assert sys.getrefcount(array) > before
    del data
    view = tensor.numpy()
    del tensor
    gc.collect()
    assert sys.getrefcount(array) > before
    del view
    gc.collect()
    assert sys.getrefcount(array) == before


def test_a_deallocator_is_called_once_with_the_array():
    array, calls = np.zeros(4, np.float32), []
    data = mlc.tensor_data(array, deallocator=calls.append)
    tensor = mlc.tensor([4], data=data)
    del data
    gc.collect()
    assert not calls
    del tensor
    gc.collect()
    assert len(calls) == 1 and calls[0] is array


def test_immutable_data_is_read_and_never_written():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    array.flags.writeable = False
    data = mlc.tensor_data(array, immutable=True)
    assert not data.numpy().flags.writeable
    _x, g, inference = add_one()
    result = g.result_tensors_for_layer(g.layers[0])[0]
    inference.add_outputs({"y": result})
    inference.compile("cpu")
    inference.execute({"x": array}, options=NOW)
    assert (result.numpy() == array + 1).all()
    with pytest.raises(ValueError):
        inference.execute({"x": data}, options=NOW, outputs_data={"y": data})


def test_a_result_outlives_its_graph():
    x, g, inference = add_one()
    inference.compile("cpu")
    inference.execute({"x": ZEROS}, options=NOW)
    result = g.result_tensors_for_layer(g.layers[0])[0]
    del x, g, inference
    gc.collect()
    array = result.numpy()
    del result
    gc.collect()
    assert (array == 1).all()


def test_objects_are_the_same_object_however_they_are_reached():
    x, g, inference = add_one()
    layer = g.layers[0]
    assert inference.layers == [layer] and inference.layers[0] is layer
    assert g.source_tensors_for_layer(layer)[0] is x


def test_graphs_work_from_several_threads():
    wrong = []

    def work(k):
        _x, g, inference = add_one()
        inference.compile("cpu")
        result = g.result_tensors_for_layer(g.layers[0])[0]
        for i in range(20):
            inference.execute({"x": np.full((2, 3), k + i, np.float32)}, options=NOW)
            if not (result.numpy() == k + i + 1).all():
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_every_public_name_has_a_docstring():
    for name in mlc.__all__:
        thing = getattr(mlc, name)
        assert thing.__doc__, name
        for member in dir(thing):
            if not member.startswith("_") and isinstance(thing, type):
                assert getattr(thing, member).__doc__, f"{name}.{member}"
