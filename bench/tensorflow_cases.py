"""The cases of TensorFlow's own way of working: the same code for the real one and for mica.tf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import TF_STEPS, Case, Cnn, labels, normal

ADDS, CALLS = 20000, 5000


def _add(tf: Any) -> tuple:
    a = tf.constant(normal(4))

    def loop() -> Any:
        add, c = tf.add, a
        for _ in range(ADDS):
            c = add(a, a)
        return c

    return {"eager": (loop, ADDS)}, lambda: tf.add(a, a).numpy()


def _call(tf: Any) -> tuple:
    a, b = tf.constant(1.5), tf.constant(2.25)
    function = tf.function(lambda x, y: x + y)

    def loop() -> Any:
        c = a
        for _ in range(CALLS):
            c = function(a, b)
        return c

    return {"graph": (loop, CALLS)}, lambda: function(a, b).numpy()


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

    def check() -> np.ndarray:
        fresh = keras_model(tf, sizes)
        return np.asarray(fresh.evaluate(x, y, batch_size=sizes.batch, verbose=0)[:1])

    return {"fit": (fit, TF_STEPS)}, check


def prepare(tf: Any, case: Case) -> tuple[dict[str, Any], Callable]:
    """The idioms of a case, and a function that gives the value to compare."""
    if case.name == "keras_fit":
        return _fit(tf, case.sizes)
    return {"tf_add": _add, "tf_function": _call, "tf_tape": _tape}[case.name](tf)
