"""Enumerations, devices, tensor descriptors, tensors and parameters of mlcompute."""

import json
from pathlib import Path

import mlcompute as mlc
import numpy as np
import pytest

MEMBERS = json.loads(
    (Path(__file__).parent / "data/mlcompute_members.json").read_text(encoding="utf-8")
)
NOW = mlc.execution_options.SYNCHRONOUS
CPU = mlc.device("cpu")


# ---- enumerations --------------------------------------------------------------------------------


def snake(name: str) -> str:
    words = {"MLC": "", "LSTM": "Lstm"}
    for word, plain in words.items():
        name = name.replace(word, plain)
    return "".join("_" + c.lower() if c.isupper() else c for c in name).strip("_")


@pytest.mark.parametrize("original", MEMBERS["enumerations"])
def test_an_enumeration_has_the_originals_values_and_names(original):
    made = getattr(mlc, snake(original))
    wanted = MEMBERS["enumerations"][original]
    assert len(made.__members__) == len(wanted)
    for name, number in wanted.items():
        value = made(number)
        assert int(value) == number
        assert value.debug_description() == name
        assert value.name is None or value.name.replace("_", "").lower() == name.lower()


@pytest.mark.parametrize("name", ["Float32", "float32", "FLOAT32", "float_32"])
def test_values_are_taken_by_name(name):
    assert mlc.tensor([1], name).descriptor.data_type is mlc.data_type.FLOAT32
    assert mlc.comparison_layer("LogicalAND").operation is mlc.comparison_operation.LOGICAL_AND


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("Float32", np.float32), ("Float16", np.float16), ("Boolean", np.bool_),
        ("Int64", np.int64), ("Int32", np.int32), ("Int8", np.int8), ("UInt8", np.uint8),
    ],
)  # fmt: skip
def test_a_data_type_has_numpys_elements(name, dtype):
    array = np.array([0, 1, 1], dtype)
    made = mlc.tensor([3], name, data=array)
    assert mlc.numpy_dtype(name) == dtype and made.numpy().dtype == dtype
    assert (made.numpy() == array).all()
    assert made.descriptor.tensor_allocation_size_in_bytes == array.nbytes


# ---- platform and devices ------------------------------------------------------------------------


def test_a_seed_gives_the_same_numbers_again():
    mlc.platform.set_rng_seed_to(7)
    assert mlc.platform.get_rng_seed() == 7
    first = mlc.tensor([4, 5], random_initializer_type="Uniform").numpy().copy()
    other = mlc.tensor([4, 5], random_initializer_type="Uniform").numpy().copy()
    mlc.platform.set_rng_seed_to(7)
    again = mlc.tensor([4, 5], random_initializer_type="Uniform").numpy()
    assert (first == again).all() and (first != other).any()
    mlc.platform.set_rng_seed_to(8)
    assert (mlc.tensor([4, 5], random_initializer_type="Uniform").numpy() != first).any()


def test_initializers_have_their_distributions():
    mlc.platform.set_rng_seed_to(1)
    shape = [100, 50]
    uniform = mlc.tensor(shape, random_initializer_type="Uniform").numpy()
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
    bound = np.sqrt(6 / 150)
    glorot = mlc.tensor(shape, random_initializer_type="GlorotUniform").numpy()
    assert np.abs(glorot).max() <= bound and np.abs(glorot).max() > 0.99 * bound
    assert abs(glorot.mean()) < 0.05 * bound
    xavier = mlc.tensor(shape, random_initializer_type="Xavier").numpy()
    assert abs(xavier.std() / np.sqrt(2 / 150) - 1) < 0.05
    assert np.abs(xavier).max() > 2.5 * xavier.std()
    with pytest.raises(ValueError):
        mlc.tensor(shape, random_initializer_type="Invalid")


def test_devices_are_of_their_types():
    assert mlc.device.cpu_device().type is mlc.device_type.CPU
    assert mlc.device.cpu_device().actual_device_type is mlc.device_type.CPU
    assert mlc.device.gpu_device().type is mlc.device_type.GPU
    assert mlc.device.ane_device().type is mlc.device_type.ANE
    assert mlc.device("any").actual_device_type in (mlc.device_type.CPU, mlc.device_type.GPU)
    assert mlc.device.ane_device().actual_device_type is not mlc.device_type.ANY
    chosen = mlc.device.device_with_type("gpu", selects_multiple_compute_devices=True)
    assert chosen.type is mlc.device_type.GPU
    assert mlc.device.device_with_type(mlc.device_type.CPU).type is mlc.device_type.CPU
    assert mlc.device.named("ref").actual_device_type is mlc.device_type.CPU
    with pytest.raises(ValueError):
        mlc.device.named("no such device")


def test_an_ane_is_for_inference_alone():
    x = mlc.tensor([2])
    g = mlc.graph()
    g.node(mlc.activation_layer("relu"), x)
    training = mlc.training_graph([g])
    training.add_inputs({"x": x})
    with pytest.raises((ValueError, RuntimeError, NotImplementedError), match="neural engine"):
        training.compile(mlc.device.ane_device())


# ---- descriptors ---------------------------------------------------------------------------------


def test_a_tensor_descriptor_knows_sizes_and_strides():
    made = mlc.tensor_descriptor([2, 3, 4], "Int32")
    assert made.shape == [2, 3, 4] and made.dimension_count == 3
    assert made.data_type is mlc.data_type.INT32
    assert made.stride == [48, 16, 4]
    assert made.tensor_allocation_size_in_bytes == 96
    assert made.sequence_lengths == [] and made.sorted_sequences is False
    assert made.batch_size_per_sequence_step == []
    most = mlc.tensor_descriptor.max_tensor_dimensions()
    assert most >= 4 and mlc.tensor_descriptor([1] * most).dimension_count == most
    with pytest.raises(ValueError):
        mlc.tensor_descriptor([1] * (most + 1))


def test_a_tensor_descriptor_knows_sequences():
    made = mlc.tensor_descriptor([3, 4, 2], "Float32", [4, 2, 1], True)
    assert made.sequence_lengths == [4, 2, 1] and made.sorted_sequences is True
    assert made.batch_size_per_sequence_step == [3, 2, 1, 1]
    mixed = mlc.tensor_descriptor([3, 4, 2], "Float32", [1, 4, 2], False)
    assert mixed.sequence_lengths == [1, 4, 2] and mixed.sorted_sequences is False
    with pytest.raises(ValueError):
        mlc.tensor_descriptor([3, 4, 2], "Float32", [1, 4, 2], True)
    with pytest.raises(ValueError):
        mlc.tensor_descriptor([3, 4, 2], "Float32", [5, 2, 1], True)


def test_descriptors_of_images_and_weights_have_their_shapes():
    d = mlc.tensor_descriptor
    assert d.with_width(5, 4, 3, 2).shape == [2, 3, 4, 5]
    assert d.with_width(5, 4, 3, 2, "Float16").data_type is mlc.data_type.FLOAT16
    weights = d.convolution_weights_descriptor(5, 4, 3, 2)
    assert weights.shape == [1, 6, 4, 5]
    assert d.convolution_weights_descriptor(None, None, 3, 2).shape == [1, 6, 1, 1]
    assert d.convolution_biases_descriptor(7).shape == [1, 7, 1, 1]


# ---- tensors -------------------------------------------------------------------------------------


def test_a_tensor_is_made_of_a_descriptor():
    descriptor = mlc.tensor_descriptor([2, 3])
    array = np.arange(6, dtype=np.float32)
    t = mlc.tensor.tensor_with_descriptor
    assert t(descriptor).shape == [2, 3] and t(descriptor).data is None
    assert t(descriptor).descriptor is descriptor
    assert (t(descriptor, fill_with_data=2.5).numpy() == 2.5).all()
    drawn = t(descriptor, random_initializer_type="Uniform").numpy()
    assert len(np.unique(drawn)) == 6
    assert np.shares_memory(t(descriptor, data=array).numpy(), array)
    assert mlc.tensor(descriptor, fill_with_data=3).numpy()[1, 2] == 3


def test_a_tensor_is_made_of_a_shape():
    array = np.arange(6, dtype=np.int32)
    t = mlc.tensor.tensor_with_shape
    assert t([2, 3]).descriptor.data_type is mlc.data_type.FLOAT32 and t([2, 3]).data is None
    assert t([2, 3], "Int8").descriptor.data_type is mlc.data_type.INT8
    assert t([2, 3], "Int32", fill_with_data=-4).numpy().tolist() == [[-4] * 3] * 2
    assert len(np.unique(t([2, 3], random_initializer_type="Xavier").numpy())) == 6
    half = t([2, 3], "Float16", random_initializer_type="Uniform")
    assert half.numpy().dtype == np.float16 and half.numpy().max() <= 1
    assert np.shares_memory(t([2, 3], "Int32", data=array).numpy(), array)


def test_a_tensor_is_made_of_images():
    array = np.arange(120, dtype=np.float32)
    t = mlc.tensor.tensor_with_width
    assert t(5, 4, 3, 2).shape == [2, 3, 4, 5] and t(5, 4, 3, 2).data is None
    assert (t(5, 4, 3, 2, fill_with_data=1.5).numpy() == 1.5).all()
    assert t(5, 4, 3, 2, fill_with_data=1, data_type="UInt8").numpy().dtype == np.uint8
    assert len(np.unique(t(5, 4, 3, 2, random_initializer_type="Uniform").numpy())) > 100
    assert t(5, 4, 3, 2, data=array).numpy()[1, 2, 3, 4] == 119
    small = t(2, 1, 1, 1, data=np.array([3, 4], np.int8), data_type="Int8")
    assert small.numpy().tolist() == [[[[3, 4]]]]


def test_a_tensor_is_made_of_sequences():
    array = np.arange(24, dtype=np.float32)
    t = mlc.tensor.tensor_with_sequence_length
    assert t(4, 3, 2).shape == [2, 4, 3] and t(4, 3, 2).data is None
    assert len(np.unique(t(4, 3, 2, random_initializer_type="Uniform").numpy())) == 24
    assert t(4, 3, 2, data=array).numpy()[1, 3, 2] == 23
    t = mlc.tensor.tensor_with_sequence_lengths
    drawn = t([4, 2], True, 3, 2, random_initializer_type="Uniform")
    assert drawn.shape == [2, 4, 3] and drawn.descriptor.sequence_lengths == [4, 2]
    assert drawn.descriptor.sorted_sequences and np.ptp(drawn.numpy()) > 0
    given = t([2, 4], False, 3, 2, data=array)
    assert given.numpy()[1, 3, 2] == 23 and given.descriptor.sequence_lengths == [2, 4]
    with pytest.raises(ValueError, match="data or an initializer"):
        t([2, 4], False, 3, 2)


def test_tensors_are_numbered_and_labelled():
    first, second = mlc.tensor([1]), mlc.tensor([1])
    assert second.tensor_id == first.tensor_id + 1 > 1
    assert first.label == f"data{first.tensor_id}"
    first.label = "weights"
    assert first.label == "weights" and second.label != "weights"


def test_a_copy_of_a_tensor_is_another_tensor_with_the_same_data():
    one = mlc.tensor([2], data=np.array([1, 2], np.float32))
    one.label = "one"
    other = one.copy()
    assert other.tensor_id != one.tensor_id and other.label == "one"
    assert other.numpy().tolist() == [1, 2]


def test_a_tensor_knows_where_its_data_is():
    x = mlc.tensor([2])
    assert x.device is None
    x.bind_and_write_data(np.array([1, 2], np.float32), CPU)
    assert x.device.type is mlc.device_type.CPU
    assert x.numpy().tolist() == [1, 2] and x.data.length == 8


def test_a_tensor_says_whether_its_numbers_are_finite():
    assert mlc.tensor([2], fill_with_data=1).has_valid_numerics is True
    for bad in (np.nan, np.inf, -np.inf):
        array = np.array([1, bad], np.float32)
        assert mlc.tensor([2], data=array).has_valid_numerics is False


def doubled():
    """x + x, compiled."""
    x = mlc.tensor([3])
    g = mlc.graph()
    y = g.node(mlc.arithmetic_layer("add"), [x, x])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile(CPU)
    return inference, x, y


def test_results_are_synchronized_and_copied():
    inference, _, y = doubled()
    inference.execute({"x": np.array([1, 2, 3], np.float32)}, options=NOW)
    out = np.zeros(3, np.float32)
    assert y.copy_data_from_device_memory(out)
    assert out.tolist() == [2, 4, 6]
    assert y.synchronize_data() and y.data.numpy().tolist() == [2, 4, 6]
    view = y.numpy()
    inference.execute({"x": np.array([2, 2, 2], np.float32)}, options=NOW)
    y.synchronize_data()
    assert view.tolist() == [4, 4, 4]
    for wrong in (np.zeros(2, np.float32), np.zeros(4, np.float32)):
        with pytest.raises(ValueError):
            y.copy_data_from_device_memory(wrong)
    with pytest.raises(TypeError):
        y.copy_data_from_device_memory([1, 2, 3])


# ---- quantization --------------------------------------------------------------------------------


def test_a_tensor_is_quantized_and_back():
    array = np.array([-1.0, 0.3, 0.5, 300.0], np.float32)
    t = mlc.tensor([4], data=array)
    q = t.tensor_by_quantizing("Int8", 0.25, 3)
    assert q.descriptor.data_type is mlc.data_type.INT8
    assert q.numpy().tolist() == [-1, 4, 5, 127]
    assert t.tensor_by_quantizing("UInt8", 0.25, 3).numpy().tolist() == [0, 4, 5, 255]
    scale = mlc.tensor([1], data=np.array([0.25], np.float32))
    bias = mlc.tensor([1], "Int8", data=np.array([3], np.int8))
    back = q.tensor_by_dequantizing("Float32", scale, bias)
    assert back.numpy().tolist() == [-1.0, 0.25, 0.5, 31.0]


def test_a_tensor_is_quantized_along_an_axis():
    array = np.array([[1.0, 1.0], [2.0, 2.0]], np.float32)
    t = mlc.tensor([2, 2], data=array)
    scale = mlc.tensor([2], data=np.array([0.5, 0.25], np.float32))
    bias = mlc.tensor([2], "Int8", data=np.array([0, 1], np.int8))
    assert t.tensor_by_quantizing("Int8", scale, bias, axis=1).numpy().tolist() == [[2, 5], [4, 9]]
    q = t.tensor_by_quantizing("Int8", scale, bias, axis=0)
    assert q.numpy().tolist() == [[2, 2], [9, 9]]
    back = q.tensor_by_dequantizing("Float32", scale, bias, axis=0)
    assert (back.numpy() == array).all()


# ---- parameters and optimizer data ---------------------------------------------------------------


def momentum_training(parameter, momentum=0.5):
    """Trains p with the gradient 1, a rate of 1 and momentum."""
    g = mlc.graph()
    g.node(mlc.activation_layer("none"), parameter.tensor)
    sgd = mlc.sgd_optimizer(mlc.optimizer_descriptor(1.0), momentum)
    training = mlc.training_graph([g], None, sgd)
    training.set_training_tensor_parameters([parameter])
    training.compile(CPU)
    return training


def step(training):
    training.execute_forward(options=NOW)
    training.execute_gradient(options=NOW)
    training.execute_optimizer_update(options=NOW)


def test_a_parameter_is_trained_unless_it_is_not_updatable():
    for updatable in (True, False):
        p = mlc.tensor([2], fill_with_data=3)
        parameter = mlc.tensor_parameter(p)
        assert parameter.tensor is p and parameter.is_updatable is True
        parameter.is_updatable = updatable
        assert parameter.is_updatable is updatable
        g = mlc.graph()
        weights = mlc.tensor([2], fill_with_data=1)
        g.node(mlc.arithmetic_layer("multiply"), [p, weights])
        sgd = mlc.sgd_optimizer(mlc.optimizer_descriptor(1.0))
        training = mlc.training_graph([g], None, sgd)
        training.set_training_tensor_parameters([parameter, mlc.tensor_parameter(weights)])
        training.compile(CPU)
        step(training)
        training.synchronize_updates()
        assert p.numpy().tolist() == ([2, 2] if updatable else [3, 3])


def test_optimizer_data_goes_on_from_a_checkpoint():
    for bind in ("parameter", "tensor", "graph"):
        p = mlc.tensor([2], fill_with_data=10)
        velocity = np.array([4, 8], np.float32)
        parameter = mlc.tensor_parameter(p, [velocity] if bind == "parameter" else None)
        if bind == "tensor":
            assert p.bind_optimizer_data([velocity])
        training = momentum_training(parameter)
        if bind == "graph":
            assert training.bind_optimizer_data([velocity], None, p)
        step(training)  # v = 0.5 v + 1
        training.synchronize_updates()
        assert p.numpy().tolist() == [7, 5], bind
        assert len(p.optimizer_data) == 1
        assert p.synchronize_optimizer_data()
        assert velocity.tolist() == [3, 5], bind
        assert p.optimizer_data[0].numpy(np.float32).tolist() == [3, 5]


def test_optimizer_data_appears_on_the_device_and_is_synchronized():
    p = mlc.tensor([2], fill_with_data=10)
    training = momentum_training(mlc.tensor_parameter(p))
    assert p.optimizer_data == [] and p.optimizer_device_data == []
    step(training)
    step(training)
    (buffer,) = p.optimizer_device_data
    assert isinstance(buffer, mlc.tensor_optimizer_device_data) and buffer.length == 8
    assert p.synchronize_optimizer_data()
    assert p.optimizer_data[0].numpy(np.float32).tolist() == [1.5, 1.5]


def test_optimizer_data_of_one_tensor_is_taken_over_by_another():
    p, q = (mlc.tensor([2], fill_with_data=10) for _ in range(2))
    first = momentum_training(mlc.tensor_parameter(p))
    step(first)
    q.bind_optimizer_data([], p.optimizer_device_data)
    second = momentum_training(mlc.tensor_parameter(q))
    step(second)
    assert q.numpy().tolist() == [8.5, 8.5]
