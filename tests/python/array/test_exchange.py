"""Buffers, __array__ and DLPack."""

import gc

import mica
import mica.tf as tf
import numpy as np
import pytest


def test_the_buffer_is_a_read_only_view_without_a_copy():
    x = mica.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device="cpu")
    view = memoryview(x)
    assert view.shape == (2, 3)
    assert view.format == "f"
    assert view.readonly
    assert view.tolist() == [[1, 2, 3], [4, 5, 6]]
    a, b = np.asarray(x), np.asarray(x)
    assert a.__array_interface__["data"] == b.__array_interface__["data"]
    assert not a.flags.writeable


def test_a_view_outlives_its_tensor():
    a = np.asarray(mica.tensor([1.0, 2.0, 3.0]) * 2)
    gc.collect()
    [mica.ones(3) * k for k in range(100)]
    assert a.tolist() == [2, 4, 6]


def test_array_takes_dtype_and_copy():
    x = mica.tensor([1.0, 2.0])
    assert np.array(x).flags.writeable
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert x.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.dtype("float64"), copy=False)
    assert x.numpy().flags.writeable


def test_an_open_view_keeps_a_donated_tensor_alive():
    step = mica.jit(lambda x: x + 1, donate_argnums=0)
    x = mica.tensor([1.0, 2.0], device="cpu") * 1
    view = memoryview(x)
    y = step(x)
    assert y.tolist() == [2, 3]
    assert view.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["bool", "i8", "i32", "u64", "f16", "f32", "f64", "c64"])
def test_dlpack_goes_to_numpy_and_back(dtype):
    x = mica.tensor([[0, 1], [1, 0], [1, 1]], dtype="i32")
    x = x.astype(dtype) if dtype != "c64" else mica.tensor(np.ones((3, 2), np.complex64))
    array = np.from_dlpack(x)
    np.testing.assert_array_equal(array, x.numpy())
    back = mica.from_dlpack(array)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back.numpy(), x.numpy())


def test_bf16_travels_by_dlpack():
    x = mica.tensor([1.5, -2.0], dtype="bf16")
    y = mica.from_dlpack(x)
    assert y.dtype == "bf16"
    assert y.tolist() == [1.5, -2.0]


def test_from_dlpack_shares_host_memory():
    array = np.arange(5, dtype=np.float32)
    x = mica.from_dlpack(array, device="cpu")
    array[0] = 100
    assert x.tolist()[0] == 100
    del array
    gc.collect()
    assert x.tolist() == [100, 1, 2, 3, 4]


def test_bytes_of_bools_that_are_neither_0_nor_1_are_true():
    array = np.array([0, 1, 2, 255], np.uint8).view(bool)
    message = b"\x08\x0a\x12\x04\x12\x02\x08\x04\x22\x04" + array.tobytes()  # a TensorProto
    for x in (mica.tensor(array), mica.from_dlpack(array)):
        assert x.numpy().view(np.uint8).tolist() == [0, 1, 1, 1]
        assert (x.astype("i32") + 0).tolist() == [0, 1, 1, 1]
    for x in (
        tf.constant(array),
        tf.convert_to_tensor(array),
        tf.Variable(array).value(),
        tf.io.decode_raw(array.tobytes(), tf.bool),
        tf.io.parse_tensor(message, tf.bool),
        next(iter(tf.data.Dataset.from_tensors(array))),
        tf.numpy_function(lambda: array, [], tf.bool),
    ):
        assert tf.cast(x, tf.int32).numpy().tolist() == [0, 1, 1, 1]
        assert tf.logical_and(x, True).numpy().tolist() == [False, True, True, True]


def test_from_dlpack_reads_strides():
    array = np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)[::-1]
    np.testing.assert_array_equal(mica.from_dlpack(array).numpy(), array)
    assert mica.from_dlpack(np.zeros((0, 3))).shape == (0, 3)


def test_capsules_are_used_once_and_released_when_unused():
    x = mica.tensor([1.0])
    capsule = x.__dlpack__()
    assert mica.from_dlpack(capsule).tolist() == [1.0]
    with pytest.raises(TypeError, match=r"\[from_dlpack\]"):
        mica.from_dlpack(capsule)
    for _ in range(100):
        x.__dlpack__()
        x.__dlpack__(max_version=(1, 0), copy=True)
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


def test_other_devices_export_a_copy_of_their_memory():
    x = mica.tensor([1.0, 2.0], device="fake")
    assert np.asarray(x).tolist() == [1, 2]
    assert np.from_dlpack(x).tolist() == [1, 2]
    assert mica.from_dlpack(np.ones(2, np.float32), device="fake").tolist() == [1, 1]
