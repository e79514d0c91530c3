"""What Keras asks of TensorFlow's inner modules, and faults that its own tests have found."""

import json
import os
import subprocess
import sys

import numpy as np
from house import ROOT

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


MODELS = """
import glob

import keras
import numpy as np
from keras import layers, ops
from tensorflow.core.util import event_pb2
from tensorflow.python.lib.io import tf_record

rng = np.random.default_rng(0)
x = rng.standard_normal((20, 4, 6, 3), dtype="float32")
y = rng.standard_normal((20, 1), dtype="float32")


class Folded(keras.Model):
    def __init__(self, recurrent):
        super().__init__()
        self.first, self.recurrent, self.last = layers.Dense(5), recurrent, layers.Dense(1)

    def call(self, x):
        x = self.first(x)
        sizes = ops.shape(x)
        x = self.recurrent(ops.reshape(x, (sizes[0] * sizes[1], sizes[2], sizes[3])))
        return self.last(ops.mean(ops.reshape(x, (sizes[0], sizes[1], x.shape[-1])), 1))


for recurrent in (layers.LSTM(4), layers.GRU(4), layers.Bidirectional(layers.LSTM(3))):
    model = Folded(recurrent)
    model.compile("adam", "mse")
    losses = model.fit(x, y, batch_size=8, epochs=2, verbose=0).history["loss"]
    assert np.isfinite(losses).all(), losses
    # What a first call builds, it builds by its input's shape.
    assert model._build_shapes_dict == {"input_shape": (None, 4, 6, 3)}, model._build_shapes_dict

flat, above = x.reshape(20, 72), (y > 0).astype("float32")
model = keras.Sequential([layers.Dense(1, activation="sigmoid")])
metrics = keras.metrics
confusion = [metrics.TruePositives(), metrics.Precision(), metrics.AUC(), metrics.MeanIoU(2)]
model.compile("adam", "binary_crossentropy", metrics=confusion)
held = (flat[:7], above[:7])
model.fit(flat, above, batch_size=8, epochs=1, verbose=0, validation_data=held)
by_steps = keras.Sequential([keras.Input((72,)), layers.Dense(1)])
by_steps.compile("adam", "mse", steps_per_execution=3)
by_steps.fit(flat, y, batch_size=2, verbose=0)

# What cannot be loaded says why, and the callback's files are read by TensorFlow's own paths.
small, large = (
    keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(n)]) for n in (5, 6)
)
small.save("small.keras")
try:
    large.load_weights("small.keras")
except ValueError as error:
    assert "must match" in str(error), error
else:
    raise AssertionError("the shapes differ")
small.compile("sgd", "mse")
board = keras.callbacks.TensorBoard("board", histogram_freq=1)
small.fit(x.reshape(480, 3), np.ones((480, 5)), verbose=0, callbacks=[board])
(path,) = glob.glob("board/train/events.out.*")
events = [event_pb2.Event.FromString(record) for record in tf_record.tf_record_iterator(path)]
tags = {value.tag for event in events for value in event.summary.value}
assert {"epoch_loss", "epoch_learning_rate"} <= tags, tags

(images, labels), (held_images, _) = keras.datasets.mnist.load_data()
assert images.shape == (60000, 28, 28) and held_images.shape == (10000, 28, 28)
assert images.dtype == np.uint8 and labels[:5].tolist() == [5, 0, 4, 1, 9]
print("trained")
"""


def run_script(tmp_path, text, cwd=None, **variables):
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "mica.tf", str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env={**os.environ, **variables},
    )


def test_models_train_that_have_failed_and_mnist_needs_no_network(tmp_path):
    nowhere = "http://127.0.0.1:9"
    without = {"https_proxy": nowhere, "http_proxy": nowhere, "KERAS_HOME": str(tmp_path)}
    done = run_script(tmp_path, MODELS, cwd=tmp_path, **without)
    assert done.returncode == 0, done.stderr
    assert "trained" in done.stdout


def test_batch_sizes_are_found_and_the_context_is_reset(tmp_path):
    done = run_script(tmp_path, SCRIPT)
    assert done.returncode == 0, done.stderr
    assert "answered" in done.stdout


OLDER = """
import json
import sys

import numpy as np
import tensorflow as tf
from tensorflow.keras.optimizers.legacy import SGD

sys.path.insert(0, FOLDER)
from legacy_optimizers import walk

legacy = tf.keras.optimizers.legacy
assert legacy.SGD is SGD and isinstance(SGD(0.5), legacy.Optimizer)
optimizer = SGD(lr=0.5)
optimizer.lr = 0.25
assert float(optimizer.learning_rate) == 0.25
for wrong, words in (({"decay": -1.0}, "decay"), ({"unknown": 1}, "unknown")):
    try:
        legacy.Adam(**wrong)
    except (TypeError, ValueError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(wrong)

# A model keeps its optimizer.
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(legacy.RMSprop(0.01, decay=0.1), "mse")
model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
model.save("model.keras")
loaded = tf.keras.models.load_model("model.keras")
assert type(loaded.optimizer) is legacy.RMSprop
assert int(loaded.optimizer.iterations) == 1

# The loop over a cell of "Effective TensorFlow 2".
for cell in (tf.keras.layers.LSTMCell(4), tf.keras.layers.GRUCell(4)):
    x, state = tf.ones([3, 2, 5]), cell.zero_state(2, dtype=tf.float32)
    for i in range(3):
        output, state = cell(x[i], state)
    assert output.shape == (2, 4)
assert cell.zero_state(2, tf.float64)[0].dtype == tf.float64
print(json.dumps(walk(legacy, tf)))
"""


def test_names_of_keras_2_train_as_they_did(tmp_path):
    folder = ROOT / "tests" / "keras"
    done = run_script(tmp_path, OLDER.replace("FOLDER", repr(str(folder))), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    golden = json.loads((folder / "legacy_optimizers.json").read_text())
    assert found.keys() == golden.keys()
    for name, wanted in golden.items():
        np.testing.assert_allclose(found[name], wanted, rtol=2e-5, atol=1e-7, err_msg=name)
