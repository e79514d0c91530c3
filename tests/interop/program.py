"""One side of an exchange of files: `python program.py write|read FOLDER [training]`.

It runs with TensorFlow and, by `python -m mica.tf`, with Mica. The writer leaves files in the
folder and, in expected.json, what is in them and how its training went on; the reader says the same
of the files in found.json. With `training` that is all there is to exchange.
"""

import json
import math
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "files"))

import example_program
import files_program
import numpy as np
import summary_program
import tensorflow as tf

STEPS, MORE_STEPS = 3, 3


# ---- training ------------------------------------------------------------------------------------
def numbers(shape, scale):
    """Numbers that need no generator."""
    values = np.arange(math.prod(shape)) * 7 % 11 * scale - 0.4
    return tf.constant(values.reshape(shape).astype("float32"))


class Net(tf.Module):
    """Two layers of variables."""

    def __init__(self):
        super().__init__()
        self.layers = [
            {"w": tf.Variable(numbers([4, 5], 0.08)), "b": tf.Variable(tf.zeros([5]))},
            {"w": tf.Variable(numbers([5, 2], 0.1)), "b": tf.Variable(tf.zeros([2]))},
        ]

    def __call__(self, x):
        """The results of the second layer."""
        for layer in self.layers:
            x = tf.tanh(x @ layer["w"] + layer["b"])
        return x


def keras_model():
    """The same in Keras."""
    layers = [
        tf.keras.layers.Dense(5, activation="tanh", name="first"),
        tf.keras.layers.Dense(2, activation="tanh", name="second"),
    ]
    model = tf.keras.Sequential(layers)
    model.build((None, 4))
    model.set_weights([numbers(w.shape, 0.08).numpy() for w in model.get_weights()])
    return model


def v1_session(work):
    """What a function gives, given a session over a graph of its own."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return work(session)


def train(model, optimizer, steps, apply):
    """The losses of some steps."""
    x, y = numbers([6, 4], 0.13), numbers([6, 2], 0.05)
    losses = []
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        variables = list(model.trainable_variables)
        apply(optimizer, tape.gradient(loss, variables), variables)
        losses.append(float(loss))
    return losses


def apply_keras(optimizer, gradients, variables):
    """A step of an optimizer of Keras."""
    optimizer.apply_gradients(zip(gradients, variables, strict=True))


class KerasTraining:
    """A model and Adam of Keras, with learning rate decay, by tf.train.Checkpoint."""

    def __init__(self):
        rate = tf.keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.9)
        self.model, self.optimizer = keras_model(), tf.keras.optimizers.Adam(rate)
        self.step = tf.Variable(0, dtype=tf.int64)
        self.saved = tf.train.Checkpoint(
            model=self.model, optimizer=self.optimizer, step=self.step
        )

    def write(self, folder):
        """Train, save, go on."""
        train(self.model, self.optimizer, STEPS, apply_keras)
        self.step.assign(STEPS)
        manager = tf.train.CheckpointManager(self.saved, f"{folder}/keras", max_to_keep=2)
        manager.save()
        return self._go_on()

    def read(self, folder):
        """Restore and go on."""
        self.optimizer.build(self.model.trainable_variables)
        path = tf.train.latest_checkpoint(f"{folder}/keras")
        self.saved.restore(path).assert_existing_objects_matched()
        return self._go_on()

    def _go_on(self):
        weights = [w.tolist() for w in self.model.get_weights()]
        losses = train(self.model, self.optimizer, MORE_STEPS, apply_keras)
        step, iterations = int(self.step), int(self.optimizer.iterations)
        return {"weights": weights, "losses": losses, "step": step, "iterations": iterations}


class SlotTraining:
    """Variables and their moments, kept by hand as optimizers keep slots."""

    def __init__(self):
        self.net = Net()
        self.slots = tf.Module()
        self.slots.m = [tf.Variable(tf.zeros_like(v)) for v in self.net.trainable_variables]
        self.slots.v = [tf.Variable(tf.zeros_like(v)) for v in self.net.trainable_variables]
        self.count = tf.Variable(0, dtype=tf.int64)
        self.saved = tf.train.Checkpoint(net=self.net, slots=self.slots, count=self.count)

    def apply(self, _, gradients, variables):
        """A step of Adam."""
        self.count.assign_add(1)
        t = tf.cast(self.count, tf.float32)
        slots = zip(self.slots.m, self.slots.v, strict=True)
        for v, g, (first, second) in zip(variables, gradients, slots, strict=True):
            first.assign(0.9 * first + 0.1 * g)
            second.assign(0.999 * second + 0.001 * g * g)
            scale = tf.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            v.assign_sub(0.05 * scale * first / (tf.sqrt(second) + 1e-7))

    def write(self, folder):
        """Train, save, go on."""
        train(self.net, None, STEPS, self.apply)
        self.saved.write(f"{folder}/slots")
        return self._go_on()

    def read(self, folder):
        """Restore and go on."""
        self.saved.read(f"{folder}/slots").assert_consumed()
        return self._go_on()

    def _go_on(self):
        return {"losses": train(self.net, None, MORE_STEPS, self.apply), "count": int(self.count)}


def v1_training(folder, reads):
    """A graph of TensorFlow 1 with its Adam, by tf.compat.v1.train.Saver."""
    v1 = tf.compat.v1

    def work(session):
        x, y = numbers([6, 4], 0.13), numbers([6, 2], 0.05)
        with v1.variable_scope("net"):
            w = v1.get_variable("w", initializer=numbers([4, 2], 0.07), use_resource=True)
        loss = tf.reduce_mean((tf.tanh(x @ w) - y) ** 2)
        step = v1.train.AdamOptimizer(0.05).minimize(loss)
        saver = v1.train.Saver()
        if reads:
            saver.restore(session, f"{folder}/v1")
        else:
            session.run(v1.global_variables_initializer())
            for _ in range(STEPS):
                session.run(step)
            saver.save(session, f"{folder}/v1", write_meta_graph=False, write_state=False)
        return [float(session.run([loss, step])[0]) for _ in range(MORE_STEPS)]

    losses = v1_session(work)
    names = [[name, list(shape)] for name, shape in tf.train.list_variables(f"{folder}/v1")]
    return {"losses": losses, "names": names}


# ---- records, messages, events -------------------------------------------------------------------
def records(folder, reads):
    """What files of records, lines and pieces hold, and Example messages."""
    plain, path = example_program.plain, f"{folder}/examples"
    if not reads:
        files_program.write_files(tf, folder)
        with tf.io.TFRecordWriter(path) as writer:
            for message in example_program.examples(tf):
                writer.write(message.SerializeToString())
    found = {
        name: [plain(part.numpy()) for part in dataset]
        for name, dataset in files_program.datasets(tf, folder).items()
        if name not in ("skipped", "repeated")
    }
    messages = [text.numpy() for text in tf.data.TFRecordDataset(path)]
    return {
        "datasets": found,
        "examples": [
            plain(tf.train.Example.FromString(text).SerializeToString(deterministic=True))
            for text in messages
        ],
        "parsed": [
            plain(example_program.parse(tf, messages, which, features))
            for which, features in example_program.specs(tf)
        ],
    }


def exchange(folder, reads, only_training):
    """All that is exchanged."""
    found = {}
    for name, kind in ("keras", KerasTraining), ("slots", SlotTraining):
        training = kind()
        found[name] = training.read(folder) if reads else training.write(folder)
    found["v1"] = v1_training(folder, reads)
    if only_training:
        return found
    found["records"] = records(folder, reads)
    if not reads:
        summary_program.write(tf, f"{folder}/events")
    return found


def main():
    """Write or read."""
    verb, folder, *rest = sys.argv[1:]
    reads = verb == "read"
    found = exchange(folder, reads, rest == ["training"])
    name = "found.json" if reads else "expected.json"
    Path(folder, name).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
