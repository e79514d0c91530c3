"""tf.lite: files of TensorFlow and of Mica, sound and broken."""

import sys
from pathlib import Path

import numpy as np
import pytest

tf = pytest.importorskip("mica.tf")
TESTS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "oracle"))

import lite_cases  # noqa: E402

FOLDER = TESTS / "tf" / "lite"
LABELS = [
    f"{name}_{weights}"
    for name in lite_cases.CASES
    for weights in lite_cases.WEIGHTS.get(name, ("float32",))
]


@pytest.fixture(scope="module")
def golden():
    with np.load(FOLDER / "golden.npz") as stored:
        return dict(stored)


def _check(results: dict, label: str, golden: dict) -> None:
    wanted = {k.partition("/")[2]: v for k, v in golden.items() if k.startswith(label + "/")}
    assert set(results) == set(wanted)
    for key, value in wanted.items():
        got = results[key]
        assert got.dtype == value.dtype and got.shape == value.shape, key
        assert lite_cases.is_close(got, value, label.rpartition("_")[2]), key


@pytest.mark.parametrize("label", lite_cases.KEPT)
def test_a_file_of_tensorflow_gives_what_it_gives_there(label, golden):
    data = (FOLDER / f"{label}.tflite").read_bytes()
    _check(lite_cases.run(tf, data, label.rpartition("_")[0]), label, golden)


@pytest.mark.parametrize("label", LABELS)
def test_a_file_of_mica_gives_what_tensorflow_s_gives(label, golden):
    name, _, weights = label.rpartition("_")
    data = lite_cases.converted(tf, name, weights=weights)
    _check(lite_cases.run(tf, data, name), label, golden)


def _converter(function, *shapes):
    specs = [tf.TensorSpec(shape) for shape in shapes]
    concrete = tf.function(function, input_signature=specs).get_concrete_function()
    return tf.lite.TFLiteConverter.from_concrete_functions([concrete])


def _ops(data: bytes) -> list[str]:
    details = tf.lite.Interpreter(model_content=data)._get_ops_details()
    return [each["op_name"] for each in details]


def test_biases_factors_and_activations_become_part_of_the_operator():
    w = tf.constant(np.ones([3, 4], np.float32))
    data = _converter(lambda x: tf.nn.relu((x @ w) * 2.0 + 1.0), [None, 3]).convert()
    assert _ops(data) == ["FULLY_CONNECTED"]
    run = tf.lite.Interpreter(model_content=data).get_signature_runner()
    (result,) = run(x=np.array([[1, 2, 3], [-9, 0, 0]], np.float32)).values()
    assert result.tolist() == [[13.0] * 4, [0.0] * 4]


def test_a_value_that_is_used_twice_stays():
    w = tf.constant(np.eye(3, dtype=np.float32))
    data = _converter(lambda x: (x @ w, tf.nn.relu(x @ w + 1.0)), [2, 3]).convert()
    assert _ops(data).count("FULLY_CONNECTED") == 2


def test_gelu_by_erf_is_one_operator():
    data = _converter(tf.nn.gelu, [4]).convert()
    assert _ops(data) == ["GELU"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * tf.nn.relu6(x + 3.0) / 6.0,
        lambda x: x * (tf.nn.relu6(x + 3.0) * (1 / 6)),
        lambda x: tf.nn.relu6(3.0 + x) * x * (1 / 6),
    ],
)
def test_hard_swish_is_one_operator(function):
    data = _converter(function, [4]).convert()
    assert _ops(data) == ["HARD_SWISH"]
    x = np.array([-4, -1, 0.5, 5], np.float32)
    (result,) = tf.lite.Interpreter(model_content=data).get_signature_runner()(x=x).values()
    assert np.allclose(result, function(tf.constant(x)).numpy(), atol=1e-6)


def _of_integers(x):
    pixels = tf.cast(x, tf.int32)
    return tf.image.resize(pixels, [7, 9]), tf.image.resize(pixels, [3, 8], method="nearest")


@pytest.mark.parametrize(
    ("function", "operators"),
    [
        (_of_integers, {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "CAST"}),
        (
            lambda x: (
                tf.raw_ops.ResizeBilinear(images=x, size=[7, 9], align_corners=True),
                tf.raw_ops.ResizeBilinear(images=x, size=[2, 3]),
                tf.raw_ops.ResizeNearestNeighbor(images=x, size=[7, 9], align_corners=True),
            ),
            {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"},
        ),
    ],
    ids=["integers", "places"],
)
def test_pictures_of_another_size_are_operators(function, operators):
    data = _converter(function, [1, 5, 6, 2]).convert()
    assert set(_ops(data)) == operators
    x = np.random.default_rng(3).integers(0, 255, [1, 5, 6, 2]).astype(np.float32)
    results = tf.lite.Interpreter(model_content=data).get_signature_runner()(x=x)
    for (_, result), wanted in zip(sorted(results.items()), function(tf.constant(x)), strict=True):
        assert result.dtype == wanted.dtype.as_numpy_dtype
        assert np.allclose(result, wanted.numpy(), atol=1e-3)


def test_an_op_without_an_operator_is_named():
    with pytest.raises(tf.lite.ConverterError, match=r"TF Select ops: Lgamma"):
        _converter(tf.math.lgamma, [3]).convert()
    with pytest.raises(tf.lite.ConverterError, match=r"Erf"):
        _converter(tf.math.erf, [3]).convert()
    with pytest.raises(tf.lite.ConverterError, match=r"no kernel for float64"):
        _converter(lambda x: tf.cast(x, tf.float64) * 2, [3]).convert()


def test_a_model_that_assigns_is_refused():
    count = tf.Variable(0.0)
    with pytest.raises(tf.lite.ConverterError, match="AssignAddVariableOp"):
        _converter(lambda x: x + count.assign_add(1.0), [3]).convert()


def test_sparse_weights_are_refused_not_ignored():
    converter = _converter(lambda x: x + x, [3])
    converter.optimizations = [tf.lite.Optimize.EXPERIMENTAL_SPARSITY]
    with pytest.raises(NotImplementedError, match="sparse"):
        converter.convert()


def _network(x):
    w = tf.constant(np.random.RandomState(1).normal(0, 1, [6, 4]).astype(np.float32))
    return tf.nn.softmax(x @ w)


def _samples():
    stream = np.random.RandomState(2)
    for _ in range(8):
        yield [stream.normal(0, 1, [1, 6]).astype(np.float32)]


def test_integers_from_the_input_to_the_output():
    converter = _converter(_network, [1, 6])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = tf.lite.RepresentativeDataset(_samples)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type, converter.inference_output_type = tf.uint8, tf.int8
    data = converter.convert()
    assert _ops(data) == ["QUANTIZE", "FULLY_CONNECTED", "SOFTMAX"]
    interpreter = tf.lite.Interpreter(model_content=data)
    (taken,), (given,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert taken["dtype"] is np.uint8 and given["dtype"] is np.int8
    interpreter.allocate_tensors()
    x = next(_samples())[0]
    scale, zero = taken["quantization"]
    interpreter.set_tensor(taken["index"], np.round(x / scale + zero).astype(np.uint8))
    interpreter.invoke()
    scale, zero = given["quantization"]
    result = (interpreter.get_tensor(given["index"]).astype(np.float32) - zero) * scale
    assert np.allclose(result, _network(tf.constant(x)).numpy(), atol=0.02)


def test_quantization_without_samples_or_of_other_kinds_is_refused():
    converter = _converter(_network, [1, 6])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.inference_input_type = tf.int8
    with pytest.raises(ValueError, match="inference_input_type"):
        converter.convert()
    converter.inference_input_type = tf.float32
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    with pytest.raises(ValueError, match="representative_dataset"):
        converter.convert()
    converter.representative_dataset = lambda: iter([])
    with pytest.raises(ValueError, match="no samples"):
        converter.convert()
    kinds = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    converter.target_spec.supported_ops = [kinds]
    with pytest.raises(NotImplementedError, match="INT16"):
        converter.convert()


def test_operators_without_integers_stay_floats_or_are_refused():
    converter = _converter(lambda x: tf.exp(x + 1.0) * 0.5, [1, 6])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = _samples
    assert _ops(converter.convert())[:4] == ["QUANTIZE", "ADD", "DEQUANTIZE", "EXP"]
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    with pytest.raises(tf.lite.ConverterError, match="EXP"):
        converter.convert()


def test_every_value_can_be_kept():
    data = _converter(lambda x: tf.exp(tf.sin(x)), [2]).convert()
    interpreter = tf.lite.Interpreter(
        model_content=data, experimental_preserve_all_tensors=True, num_threads=2
    )
    interpreter.allocate_tensors()
    x = np.array([0.5, 1.5], np.float32)
    interpreter.tensor(interpreter.get_input_details()[0]["index"])()[:] = x
    interpreter.invoke()
    values = [interpreter.get_tensor(d["index"]) for d in interpreter.get_tensor_details()]
    assert any(np.allclose(value, np.sin(x), atol=1e-6) for value in values)
    assert any(np.allclose(value, np.exp(np.sin(x)), atol=1e-5) for value in values)


def test_an_interpreter_that_is_not_ready_says_so():
    interpreter = tf.lite.Interpreter(model_content=_converter(lambda x: x + x, [2]).convert())
    with pytest.raises(RuntimeError, match="not ready"):
        interpreter.invoke()
    with pytest.raises(ValueError, match="unallocated"):
        interpreter.set_tensor(0, np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="Could not open"):
        tf.lite.Interpreter("no_such_file.tflite")
    with pytest.raises(ValueError, match="signature_key"):
        interpreter.get_signature_runner("other")


# ---- broken files --------------------------------------------------------------------------------


def _try(data: bytes) -> None:
    """Load a file and make it ready: it may be refused, in words."""
    try:
        interpreter = tf.lite.Interpreter(model_content=data)
        for details in interpreter.get_input_details():
            if int(np.prod(details["shape"], dtype=np.float64)) > 1 << 16:
                return  # a sound file with a large input
        interpreter.allocate_tensors()
    except ValueError as error:
        assert str(error)


@pytest.mark.parametrize("label", ["convnet_int8", "slices_float32", "loop_float32"])
def test_cut_files_are_refused(label):
    data = (FOLDER / f"{label}.tflite").read_bytes()
    for cut in [0, 3, 7, 8, 20, *range(24, len(data), 397)]:
        _try(data[:cut])
    with pytest.raises(ValueError, match="TFL3"):
        tf.lite.Interpreter(model_content=b"TFL3" + data[4:8][::-1] + data[8:])


@pytest.mark.parametrize("label", ["convnet_int8", "slices_float32", "resized_float32"])
def test_files_with_flipped_bits_do_no_harm(label):
    data = (FOLDER / f"{label}.tflite").read_bytes()
    stream = np.random.RandomState(len(label))
    for _ in range(120):
        broken = bytearray(data)
        for _ in range(stream.randint(1, 4)):
            broken[stream.randint(8, len(data))] ^= 1 << stream.randint(8)
        _try(bytes(broken))
