"""What Keras asks of TensorFlow's inner modules, and faults that its own tests have found."""

import subprocess
import sys

SCRIPT = """
import numpy as np
import tensorflow as tf
from tensorflow.python.data.experimental.ops.distribute import compute_batch_size
from tensorflow.python.eager import context

source = tf.data.Dataset
batched = source.range(32).batch(4)
kept = batched.prefetch(2).repeat().take(2).skip(1).shuffle(3).cache().filter(lambda x: True)
found = [
    batched,
    source.range(32).batch(4, drop_remainder=True),
    batched.map(lambda x: x + 1),
    kept,
    source.zip((batched, batched)),
    source.zip((batched, source.range(3).batch(2))),
    batched.concatenate(batched),
    batched.batch(2),
    source.range(8).padded_batch(3),
    source.from_tensor_slices(np.zeros([4, 3])),
    batched.with_options(tf.data.Options()),
]
sizes = [int(compute_batch_size(dataset)) for dataset in found]
assert sizes == [4, 4, -1, 4, 4, -1, 4, 2, 3, 3, 4], sizes
try:
    compute_batch_size(source.range(3))
except IndexError:
    pass
else:
    raise AssertionError("scalars have no batch axis")

(cpu,) = tf.config.list_physical_devices("CPU")
for parts in (2, 3, 1):
    context._reset_context()
    each = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [each] * parts)
    assert len(tf.config.list_logical_devices("CPU")) == parts
    assert int(tf.constant(2) + parts) == 2 + parts
context._reset_context()
print("answered")
"""


def test_batch_sizes_are_found_and_the_context_is_reset(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "answered" in done.stdout
