"""tf.device, tf.config, mlcompute: where ops are asked to go."""

import os
import subprocess
import sys

import mica.tf as tf
import pytest
from mica import _mica


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


def test_where_ops_run_is_written_on_request(capfd):
    x = tf.constant([1.0, 2.0])
    tf.debugging.set_log_device_placement(True)
    try:
        assert tf.debugging.get_log_device_placement()
        tf.sqrt(x)
        tf.function(lambda y: tf.exp(y, name="power"))(x)
    finally:
        tf.debugging.set_log_device_placement(False)
    tf.sin(x)
    lines = capfd.readouterr().err.splitlines()
    assert "Executing op Sqrt in device /job:localhost/replica:0/task:0/device:CPU:0" in lines
    assert "power: (Exp): /job:localhost/replica:0/task:0/device:CPU:0" in lines
    assert not any("Sin" in line for line in lines)


def test_an_error_of_a_listener_is_the_ops():
    from mica import _mica

    def listener(op, name, runner):
        tf.constant(1.0) + 1.0  # of which it is not told
        raise KeyError(op)

    x = tf.constant(1.0)
    _mica.tf_set_listener(listener)
    try:
        with pytest.raises(KeyError, match="Neg"):
            tf.negative(x)
    finally:
        _mica.tf_set_listener(None)
    assert float(tf.negative(x)) == -1.0


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


ACCELERATED = """
import sys
from tensorflow.python.compiler.mlcompute import mlcompute
import tensorflow as tf

mlcompute.set_mlc_device(device_name="any")
print(mlcompute.is_apple_mlc_enabled(), mlcompute.is_tf_compiled_with_apple_mlc())
"""


@pytest.mark.parametrize(("disabled", "shown"), [("", "True True"), ("1", "False True")])
def test_a_script_of_the_accelerated_tensorflow_asks_what_it_runs_on(disabled, shown, tmp_path):
    (tmp_path / "script.py").write_text(ACCELERATED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", tmp_path / "script.py"],
        env={**os.environ, "TF_DISABLE_MLC": disabled},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, f"{shown}\n"), done.stderr


def test_a_scope_places_ops_and_what_they_need_moves_there():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.device("/device:FAKE:0"):
        made = tf.ones([3])
        y = x + made
        with tf.device("/cpu:0"):
            back = y * 2.0
        with tf.device(None):
            default = y + 1.0
        total = tf.reduce_sum(y)
    outside = y + x
    assert made.device.endswith("FAKE:0") and y.device.endswith("FAKE:0")
    assert total.device.endswith("FAKE:0") and float(total) == 9.0
    assert back.device.endswith("CPU:0") and back.numpy().tolist() == [4.0, 6.0, 8.0]
    assert default.device.endswith("CPU:0") and outside.device.endswith("CPU:0")
    assert outside.numpy().tolist() == [3.0, 5.0, 7.0]


def test_a_function_runs_on_the_device_of_its_call_and_gradients_too():
    v = tf.Variable([2.0, 3.0])

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v * x[: tf.shape(x)[0] // 2 * 2])
        return y, tape.gradient(y, v)

    x = tf.constant([1.0, 10.0])
    here, gradient = f(x)
    assert here.device.endswith("CPU:0") and v.device.endswith("CPU:0")
    with tf.device("FAKE:1"):
        there, moved = f(x)
    assert there.device.endswith("FAKE:1") and float(there) == float(here) == 94.0
    assert moved.numpy().tolist() == gradient.numpy().tolist() == [4.0, 60.0]
    assert v.device.endswith("FAKE:1")  # it stays where the function needed it
    with tf.device("FAKE:1"), tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * x)
    assert tape.gradient(loss, v).numpy().tolist() == [1.0, 10.0]


def test_variables_stay_where_they_were_made():
    with tf.device("FAKE:0"):
        v = tf.Variable([1.0, 2.0])
    assert v.device.endswith("FAKE:0")
    v.assign_add([1.0, 1.0])  # an op on a variable runs there
    assert v.device.endswith("FAKE:0") and v.numpy().tolist() == [2.0, 3.0]
    v.assign(tf.constant([5.0, 6.0]))
    assert v.device.endswith("FAKE:0") and v.numpy().tolist() == [5.0, 6.0]
    assert (v + 1.0).numpy().tolist() == [6.0, 7.0]


def test_a_training_loop_on_another_device():
    with tf.device("FAKE:0"):
        w = tf.Variable([[0.0], [0.0]])
        x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]])
        y = tf.constant([[5.0], [11.0], [18.0]])

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ w - y) ** 2)
            w.assign_sub(0.01 * tape.gradient(loss, w))
            return loss

        losses = [float(step()) for _ in range(30)]
    assert losses[-1] < losses[0] / 100 and w.device.endswith("FAKE:0")


def test_shape_operands_are_not_read_back():
    """Ops with sizes, axes and indices as operands read nothing back from the device."""
    script = """
import mica.tf as tf
with tf.device("FAKE:0"):
    x = tf.cast(tf.reshape(tf.range(24), [2, 3, 4]), tf.float32)
    y = tf.transpose(tf.reduce_sum(x, axis=[1]), perm=[1, 0])
    y = tf.gather(y, tf.constant([3, 0]), axis=0)
    y = tf.concat([y, tf.zeros(tf.shape(y))], axis=tf.constant(1))[:, 1:3]
    f = tf.function(lambda x, n: tf.tile(tf.reshape(x, [-1, 2]), n))
    z = f(y, tf.constant([2, 1]))
print("computed", flush=True)
assert z.shape == (4, 2)
assert z.numpy().tolist()[0][1] == 0.0
"""
    environment = dict(os.environ, MICA_LOG="transfer")
    done = subprocess.run(
        [sys.executable, "-u", "-c", script],
        check=True,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    before, _, after = done.stdout.partition("computed")
    assert "host -> fake:0" in before and "fake:0 -> host" not in before
    assert after.count("f32[4,2], 32 bytes: fake:0 -> host") == 1


def test_indices_are_looked_at_where_that_costs_nothing():
    x, beyond = tf.constant([1.0, 2.0]), tf.constant([0, 7])
    with pytest.raises(tf.errors.InvalidArgumentError, match="7"):
        tf.gather(x, beyond)
    with tf.device("FAKE:0"):  # as on a GPU
        assert tf.gather(x, beyond).numpy().tolist() == [1.0, 0.0]
        assert tf.function(tf.gather)(x, beyond).numpy().tolist() == [1.0, 0.0]


def test_memory_is_counted_limited_and_named_when_it_runs_out():
    device = _mica.device("fake:1")
    with tf.device("FAKE:1"):
        held = tf.ones([1024, 256])  # 1 MiB
        info = tf.config.experimental.get_memory_info("FAKE:1")
        assert info["current"] >= 2**20 and info["peak"] >= info["current"]
        tf.ones([1024, 512])
        tf.config.experimental.reset_memory_stats("FAKE:1")
        info = tf.config.experimental.get_memory_info("FAKE:1")
        assert info["peak"] == info["current"] == tf.config.experimental.get_memory_usage("FAKE:1")
        device.limit_memory(8 * 2**20)
        try:
            with pytest.raises(tf.errors.ResourceExhaustedError, match=r"f32\[1024,256\]"):
                kept = [held + float(i) for i in range(20)]
            kept = []
            assert kept == [] and float(tf.reduce_sum(held * 2.0)) == 2.0 * 2**18
        finally:
            device.limit_memory(None)
    with pytest.raises(ValueError, match="No matching devices"):
        tf.config.experimental.get_memory_info("FAKE:7")
