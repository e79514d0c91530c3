"""tf.device, tf.config, mlcompute: where ops are asked to go."""

import subprocess
import sys

import mica.tf as tf
import pytest


def test_a_gpu_that_is_not_there_gives_way_to_the_cpu_with_one_note(capfd):
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    tf._devices._noted.clear()
    for _ in range(2):
        with tf.device("/gpu:0"):
            assert float(tf.constant(1.0) + 1.0) == 2.0
    assert capfd.readouterr().err.count("GPU:0") == 1
    with tf.device("GPU:1"), tf.device("TPU:0"), tf.device("/cpu:0"), tf.device(None):
        assert "CPU:0" in tf.ones([2]).device
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="GPU:7"), tf.device("GPU:7"):
            pass
    finally:
        tf.config.set_soft_device_placement(True)


DIVIDED = """
import mica.tf as tf
c = tf.config
cpu = c.list_physical_devices("CPU")
assert cpu[0].name == "/physical_device:CPU:0" and cpu[0].device_type == "CPU"
halves = [c.LogicalDeviceConfiguration(), c.LogicalDeviceConfiguration()]
c.set_logical_device_configuration(cpu[0], halves)
assert [d.name for d in c.list_logical_devices("CPU")] == ["/device:CPU:0", "/device:CPU:1"]
c.set_logical_device_configuration(cpu[0], halves)  # nothing new
c.set_visible_devices([], "GPU")
assert c.get_visible_devices("GPU") == []
for change in (
    lambda: c.set_logical_device_configuration(cpu[0], halves[:1]),
    lambda: c.set_visible_devices([], "CPU"),
):
    try:
        change()
    except RuntimeError as error:
        assert "cannot be modified after being initialized" in str(error)
    else:
        raise AssertionError("devices changed after they were shown")
"""


def test_devices_can_be_listed_hidden_and_divided_before_anything_runs():
    subprocess.run([sys.executable, "-c", DIVIDED], check=True)


def test_memory_grows_on_gpus_alone():
    cpu = tf.config.list_physical_devices("CPU")[0]
    with pytest.raises(ValueError, match="memory growth on non-GPU"):
        tf.config.experimental.set_memory_growth(cpu, True)


def test_a_name_that_is_no_device_is_refused():
    with pytest.raises(ValueError, match="oven"):
        tf.device("/oven:0")


def test_the_choice_of_the_accelerated_tensorflow():
    from mica.tf.python.compiler.mlcompute import mlcompute

    mlcompute.set_mlc_device(device_name="cpu")
    assert mlcompute.get_mlc_device() == "cpu"
    with pytest.raises(ValueError, match="'toaster'"):
        mlcompute.set_mlc_device("toaster")
    mlcompute.set_mlc_device()
