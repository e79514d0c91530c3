"""The cases of TensorFlow's own way of working: the same code for the real one and for mica.tf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import TF_STEPS, Case, Cnn, labels, normal
from values import step_values

ADDS, CALLS = 20000, 5000


def _add(tf: Any) -> tuple:
    a = tf.constant(normal(4))

    def loop() -> Any:
        add, c = tf.add, a
        for _ in range(ADDS):
            c = add(a, a)
        return c

    return {"eager": (loop, ADDS)}, lambda: tf.add(a, a).numpy()


def _call_loop(function: Callable, *arguments: Any) -> tuple[Callable, int]:
    def loop() -> Any:
        c = None
        for _ in range(CALLS):
            c = function(*arguments)
        return c

    return loop, CALLS


def _calls(tf: Any, function: Callable, *arguments: Any) -> tuple:
    """What a call of a function costs whose work is next to nothing."""
    ways = {"graph": tf.function(function), "jit_compile": tf.function(function, jit_compile=True)}
    return {name: _call_loop(way, *arguments) for name, way in ways.items()}, lambda: ways["graph"](
        *arguments
    ).numpy()


def _call(tf: Any) -> tuple:
    return _calls(tf, lambda x, y: x + y, tf.constant(1.5), tf.constant(2.25))


def _nested_call(tf: Any) -> tuple:
    batch = {"x": tf.constant(1.5), "more": [tf.constant(2.25), (tf.constant(0.5),)]}
    return _calls(tf, lambda b: b["x"] + b["more"][0] + b["more"][1][0], batch)


def _tape(tf: Any) -> tuple:
    x0, a, b = (tf.constant(normal(32)) for _ in range(3))

    def gradient() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x0)
            x = x0
            for _ in range(5):
                x = tf.sin(tf.tanh(x)) * a + b
            y = tf.reduce_sum(x)
        return tape.gradient(y, x0)

    return {"eager": gradient}, lambda: gradient().numpy()


def keras_model(tf: Any, sizes: Cnn) -> Any:
    """The MNIST net as Keras layers, compiled, with the case's weights."""
    weights, layers = sizes.weights(), tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((sizes.size, sizes.size, 1)),
            layers.Conv2D(sizes.channels[0], 3, activation="relu"),
            layers.Conv2D(sizes.channels[1], 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(sizes.hidden, activation="relu"),
            layers.Dense(sizes.classes),
        ]
    )
    names = "conv0", "conv1", "dense0", "dense1"
    model.set_weights([weights[f"{name}.{k}"] for name in names for k in "wb"])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(loss=loss, optimizer=tf.keras.optimizers.Adam(1e-3), metrics=["accuracy"])
    return model


def _fit(tf: Any, sizes: Cnn) -> tuple:
    n = sizes.batch * TF_STEPS
    x, y = normal(n, sizes.size, sizes.size, 1), labels(sizes.classes, n)
    model = keras_model(tf, sizes)

    def fit() -> None:
        model.fit(x, y, batch_size=sizes.batch, epochs=1, verbose=0)

    def check() -> dict[str, np.ndarray]:
        fresh = keras_model(tf, sizes)
        names = [f"{name}.{k}" for name in ("conv0", "conv1", "dense0", "dense1") for k in "wb"]
        loss = fresh.evaluate(x, y, batch_size=sizes.batch, verbose=0)[0]
        first = x[: sizes.batch], y[: sizes.batch]
        with tf.GradientTape() as tape:
            value = fresh.loss(first[1], fresh(first[0], training=True))
        gradients = [g.numpy() for g in tape.gradient(value, fresh.trainable_variables)]
        fresh.train_on_batch(*first)
        after = dict(zip(names, fresh.get_weights(), strict=True))
        return step_values(loss, dict(zip(names, gradients, strict=True)), sizes.weights(), after)

    return {"fit": (fit, TF_STEPS)}, check


def prepare(tf: Any, case: Case) -> tuple[dict[str, Any], Callable]:
    """The idioms of a case, and a function that gives the value to compare."""
    if case.name == "keras_fit":
        return _fit(tf, case.sizes)
    cases = {"tf_add": _add, "tf_function": _call, "tf_tape": _tape}
    return {**cases, "tf_function_nested": _nested_call}[case.name](tf)
