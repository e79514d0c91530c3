"""Keras layers on mica.tf reach the kernels of recurrences and of attention, and compute the same.

Each script runs twice: as it is, with MICA_LOG=match, and with MICA_PASSES=-match, where loops and
products stay what Keras made of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SHARED = """
import json, sys
import numpy as np
import tensorflow as tf
from tensorflow import keras
from keras import layers, ops

rng = np.random.default_rng(0)
found = {}

def begin(name):
    print("==", name, file=sys.stderr, flush=True)

def keep(name, *values):
    found[name] = [np.asarray(value).tolist() for value in values]

def with_gradients(function, arguments, weights=(), free=()):
    def both(*arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            y = function(*arguments)
            loss = tf.reduce_sum(y * tf.sin(y + 1))
        return y, *tape.gradient(loss, [*arguments, *weights])
    shapes = [[None if i in free else n for i, n in enumerate(a.shape)] for a in arguments]
    signature = [tf.TensorSpec(shape) for shape in shapes]
    return tf.function(both, input_signature=signature)(*map(tf.constant, arguments))
"""

RECURRENCES = """
LAYERS = {
    "lstm": lambda: [layers.LSTM(6)],
    "gru": lambda: [layers.GRU(6)],
    "sequences": lambda: [layers.LSTM(6, return_sequences=True), layers.GRU(5)],
    "backwards": lambda: [layers.GRU(6, go_backwards=True, return_sequences=True)],
    "bidirectional": lambda: [layers.Bidirectional(layers.LSTM(6))],
    "plain": lambda: [layers.LSTM(6, use_bias=False), layers.RepeatVector(2),
                      layers.GRU(6, use_bias=False)],
    "dropout": lambda: [layers.LSTM(6, dropout=0.5, seed=1)],
    "relu": lambda: [layers.LSTM(6, activation="relu")],
    "before": lambda: [layers.GRU(6, reset_after=False)],
    "recurrent_dropout": lambda: [layers.LSTM(6, recurrent_dropout=0.5, seed=1)],
    "masked": lambda: [layers.Masking(), layers.GRU(6)],
    "two_cells": lambda: [layers.RNN([layers.LSTMCell(6), layers.LSTMCell(5)])],
    "double": lambda: [layers.LSTM(6, dtype="float64")],
}
x = rng.standard_normal((3, 5, 4), dtype="float32")
y = rng.standard_normal((3, 2), dtype="float32")
for name, make in LAYERS.items():
    for free in ((), (0,), (0, 1)):
        keras.utils.set_random_seed(3)
        begin(f"{name} {len(free)}")
        time = None if 1 in free and name != "plain" else 5
        model = keras.Sequential([keras.Input((time, 4)), *make()])
        run = lambda x: model(x, training=True)
        keep(f"{name} {len(free)}", *with_gradients(run, [x], model.trainable_variables, free))
for name in ("lstm", "gru"):
    keras.utils.set_random_seed(3)
    begin(f"{name} fit")
    model = keras.Sequential([keras.Input((5, 4)), *LAYERS[name](), layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    history = model.fit(x, y, batch_size=2, epochs=3, shuffle=False, verbose=0)
    keep(f"{name} fit", history.history["loss"], model.predict(x, verbose=0), *model.get_weights())

sizes = [tf.TensorSpec([None, None, 4])]

@tf.function(input_signature=sizes)
def states(x):
    return layer(x)

begin("states")
keras.utils.set_random_seed(3)
layer = layers.LSTM(6, return_sequences=True, return_state=True)
keep("states", *states(tf.constant(x)))
for shape in (0, 5, 4), (2, 0, 4), (2, 1, 4):
    begin(f"sizes {shape}")
    keep(f"sizes {shape}", *states(tf.ones(shape)))

begin("tape outside")
x = tf.constant(x)
function = tf.function(lambda x: layer(x))
with tf.GradientTape() as tape:
    tape.watch(x)
    y, last, cell = function(x)
    loss = tf.reduce_sum(y * y) + tf.reduce_sum(last * cell)
keep("tape outside", *tape.gradient(loss, [x, *layer.trainable_variables]))
print(json.dumps(found))
"""

ATTENTION = """
attend = ops.dot_product_attention
q, k, v = (rng.standard_normal((2, n, 3, 4), dtype="float32") for n in (5, 7, 7))
mask = rng.random((2, 1, 5, 7)) < 0.6
mask[0, 0, 2] = mask[1, 0, 0] = False
bias = rng.standard_normal((1, 3, 5, 7), dtype="float32")
CASES = {
    "plain": lambda q, k, v: attend(q, k, v),
    "scaled": lambda q, k, v: attend(q, k, v, scale=0.3),
    "causal": lambda q, k, v: attend(q, k, v, is_causal=True),
    "masked": lambda q, k, v: attend(q, k, v, mask=tf.constant(mask)),
    "masked_causal": lambda q, k, v: attend(q, k, v, mask=tf.constant(mask), is_causal=True),
    "biased": lambda q, k, v: attend(q, k, v, bias=tf.constant(bias)),
}
for name, function in CASES.items():
    for free in ((), (0, 1)):
        begin(f"{name} {len(free)}")
        keep(f"{name} {len(free)}", *with_gradients(function, [q, k, v], free=free))
begin("trained bias")
keep("trained bias", *with_gradients(lambda *a: attend(*a[:3], bias=a[3]), [q, k, v, bias]))
begin("double")
keep("double", tf.function(lambda *a: attend(*(tf.cast(t, tf.float64) for t in a)))(q, k, v))

x = rng.standard_normal((2, 7, 8), dtype="float32")
seen = rng.random((2, 7, 7)) < 0.6
seen[0, 3] = False
HEADS = {
    "heads": ({}, {}),
    "heads causal": ({}, {"use_causal_mask": True}),
    "heads masked": ({}, {"attention_mask": tf.constant(seen)}),
    "heads dropout": ({"dropout": 0.3, "seed": 2}, {"training": True}),
}
for name, (settings, options) in HEADS.items():
    begin(name)
    keras.utils.set_random_seed(3)
    layer = layers.MultiHeadAttention(3, 4, **settings)
    layer.build(x.shape, x.shape)
    run = lambda x: layer(x, x, **options)
    keep(name, *with_gradients(run, [x], layer.trainable_variables, free=(0,)))

class Block(layers.Layer):
    def build(self, shape):
        self.norm = layers.LayerNormalization()
        self.all, self.out = layers.Dense(24), layers.Dense(8)

    def call(self, x):
        parts = ops.split(self.all(self.norm(x)), 3, -1)
        q, k, v = (ops.reshape(part, (-1, 7, 2, 4)) for part in parts)
        return x + self.out(ops.reshape(attend(q, k, v, is_causal=True), (-1, 7, 8)))

begin("fit")
keras.utils.set_random_seed(3)
tokens = rng.integers(0, 11, (6, 7))
model = keras.Sequential([keras.Input((7,), dtype="int32"), layers.Embedding(11, 8), Block(),
                          Block(), layers.Dense(11)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.SGD(0.1), loss)
history = model.fit(tokens, np.roll(tokens, -1, 1), batch_size=4, epochs=2, shuffle=False,
                    verbose=0)
keep("fit", history.history["loss"], *model.get_weights())
print(json.dumps(found))
"""


SAVED = """
import json, sys
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
print(json.dumps({"saved": model.serve([[0, 1, 2, 3, 1], [3, 3, 0, 0, 2]]).numpy().tolist()}))
"""


def run(tmp_path, text, *arguments, **environment):
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        # With one tier each program is made once.
        env={**os.environ, "MICA_TIER": "built-in", **environment},
    )
    assert done.returncode == 0, done.stderr
    lines, name = {}, None
    for line in done.stderr.splitlines():
        if line.startswith("== "):
            name = line[3:]
        elif line.startswith("mica match: "):
            lines.setdefault(name, []).append(line.removeprefix("mica match: "))
    return json.loads(done.stdout.splitlines()[-1]), lines


def run_both(tmp_path, text, *arguments):
    """The lines of the log by case, after the results were compared."""
    values, lines = run(tmp_path, text, *arguments, MICA_LOG="match")
    plain, no_lines = run(tmp_path, text, *arguments, MICA_LOG="match", MICA_PASSES="-match")
    assert not no_lines
    for name, results in values.items():
        for value, expected in zip(results, plain[name], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-5, err_msg=name)
    return lines


@pytest.fixture(scope="module")
def recurrences(tmp_path_factory):
    return run_both(tmp_path_factory.mktemp("recurrences"), SHARED + RECURRENCES)


@pytest.fixture(scope="module")
def attention(tmp_path_factory):
    return run_both(tmp_path_factory.mktemp("attention"), SHARED + ATTENTION)


def claims(lines, kernel):
    return sum(line.startswith(f"{kernel} of ") and line.endswith("claimed") for line in lines)


@pytest.mark.parametrize(
    ("name", "lstms", "grus"),
    [
        ("lstm", 1, 0),
        ("gru", 0, 1),
        ("sequences", 1, 1),
        ("backwards", 0, 1),
        ("bidirectional", 2, 0),
        ("plain", 1, 1),
        ("dropout", 1, 0),
    ],
)
@pytest.mark.parametrize("free", range(3))
def test_recurrent_layers_run_and_train_on_their_kernels(recurrences, name, lstms, grus, free):
    lines = recurrences[f"{name} {free}"]
    for kind, count in ("lstm", lstms), ("gru", grus):
        assert sum(line.endswith(f"become mica.{kind}_steps") for line in lines) == count
        assert claims(lines, f"mica.{kind}_steps") == count
        assert claims(lines, f"mica.{kind}_steps.back") == count


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_fit_trains_recurrent_layers_on_their_kernels(recurrences, kind):
    """With batches of two sizes, and predict."""
    lines = recurrences[f"{kind} fit"]
    assert claims(lines, f"mica.{kind}_steps.back") == 2
    assert claims(lines, f"mica.{kind}_steps") == 3


def test_the_states_after_the_last_step_come_from_the_kernel_too(recurrences):
    assert claims(recurrences["states"], "mica.lstm_steps") == 1


def test_a_function_under_a_tape_goes_back_on_the_kernel(recurrences):
    assert claims(recurrences["tape outside"], "mica.lstm_steps.back") == 1


def test_batches_and_sequences_without_elements_are_served(recurrences):
    assert recurrences["sizes (0, 5, 4)"][0].endswith("5 steps of 0 x 6 become mica.lstm_steps")
    assert recurrences["sizes (2, 0, 4)"][0].endswith("no recurrence: there are no steps")
    assert claims(recurrences["sizes (2, 1, 4)"], "mica.lstm_steps") == 1


def test_a_recurrent_layer_of_a_saved_model_runs_on_its_kernel(tmp_path):
    """The model is one that TensorFlow saved, with a loop over lists of tensors."""
    model = Path(__file__).parents[2] / "tf" / "saved_models" / "recurrent"
    assert claims(run_both(tmp_path, SAVED, str(model))[None], "mica.gru_steps") == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("relu", "the output of a step is not sigmoid(o) tanh(cell)"),
        ("before", "the gates are not those of a GRU with reset_after"),
        ("recurrent_dropout", "the output of a step is not sigmoid(o) tanh(cell)"),
        ("masked", "a mask chooses between old and new states"),
        ("two_cells", "more than two states are carried"),
        ("double", "something besides f32 states is carried"),
    ],
)
def test_other_loops_stay_and_the_log_says_why(recurrences, name, why):
    for free in range(3):
        lines = recurrences[f"{name} {free}"]
        assert lines and all(line.endswith(f"no recurrence: {why}") for line in lines)


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("plain", ""),
        ("scaled", ""),
        ("causal", ", causal"),
        ("masked", ", masked"),
        ("masked_causal", ", masked"),
        ("biased", ""),
    ],
)
@pytest.mark.parametrize("free", [0, 2])
def test_dot_product_attention_is_one_call_per_direction(attention, name, ending, free):
    """Queries whose keys are all hidden are among those of the masks: they get the mean of v."""
    lines = attention[f"{name} {free}"]
    assert lines[0].endswith(f"becomes mica.attention and mica.attention.back{ending}")
    assert claims(lines, "mica.attention") == claims(lines, "mica.attention.back") == 1


@pytest.mark.parametrize("name", ["heads", "heads causal", "heads masked"])
def test_layers_of_several_heads_are_one_call_per_direction(attention, name):
    lines = attention[name]
    assert claims(lines, "mica.attention") == claims(lines, "mica.attention.back") == 1


def test_fit_trains_a_transformer_on_the_kernel(attention):
    """Two blocks, with batches of two sizes."""
    lines = attention["fit"]
    assert claims(lines, "mica.attention") == claims(lines, "mica.attention.back") == 4
    assert sum(line.endswith(", causal") for line in lines) == 4


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("trained bias", "something else uses the derivative of the scores"),
        ("double", "it is not of f32"),
        ("heads dropout", "something stands between softmax and values, such as dropout"),
    ],
)
def test_other_attention_stays_and_the_log_says_why(attention, name, why):
    lines = attention[name]
    assert lines and all(line.endswith(f"no attention: {why}") for line in lines), lines
