"""Models that train from the same weights on the same batches, here and on the real TensorFlow.

    PYTHON tests/keras/curves.py     writes {model: loss before each of 50 steps} as JSON

Weights are drawn by numpy; nothing is dropped out. The golden values, curves.json, are made by
tests/oracle/make_keras_curves.py; tests/python/keras/test_tf_keras_curves.py compares.
"""

from __future__ import annotations

import gzip
import json
import pathlib

import keras
import numpy as np
from keras import layers

STEPS = 50
MNIST = pathlib.Path(__file__).resolve().parents[2] / "data" / "mnist"


def idx(name: str, offset: int) -> np.ndarray:
    with gzip.open(MNIST / f"{name}.gz", "rb") as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=offset)


def convnet():
    """The model of an MNIST script, batches of 32."""
    images = idx("train-images-idx3-ubyte", 16)[: STEPS * 32 * 784].reshape(STEPS, 32, 28, 28, 1)
    labels = idx("train-labels-idx1-ubyte", 8)[: STEPS * 32].reshape(STEPS, 32).astype("int64")
    model = keras.Sequential(
        [
            layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
            layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    return model, images.astype("float32") / 255, labels


def recurrent():
    """Sequences whose class is where their largest sum is."""
    x = np.random.default_rng(1).standard_normal((STEPS, 16, 12, 8), dtype="float32")
    y = x[..., :4].sum(2).argmax(-1).astype("int64")
    return keras.Sequential([layers.LSTM(24), layers.Dense(4, activation="softmax")]), x, y


def residual():
    """Two residual blocks with batch normalization, the second of half the size."""
    x = np.random.default_rng(2).standard_normal((STEPS, 16, 12, 12, 3), dtype="float32")
    y = x[:, :, 3:9, 3:9].mean((2, 3)).argmax(-1).astype("int64")

    def norm(x):
        return layers.BatchNormalization()(x)

    start = keras.Input((12, 12, 3))
    h = layers.ReLU()(norm(layers.Conv2D(8, 3, padding="same", use_bias=False)(start)))
    for width, stride in ((8, 1), (16, 2)):
        inner = layers.Conv2D(width, 3, stride, padding="same", use_bias=False)(h)
        inner = layers.ReLU()(norm(inner))
        inner = norm(layers.Conv2D(width, 3, padding="same", use_bias=False)(inner))
        if stride > 1:
            h = norm(layers.Conv2D(width, 1, stride, use_bias=False)(h))
        h = layers.ReLU()(layers.add([h, inner]))
    h = layers.Dense(3, activation="softmax")(layers.GlobalAveragePooling2D()(h))
    return keras.Model(start, h), x, y


def transformer():
    """A block of attention over 9 tokens, so that most are repeated: which one comes next."""
    step = np.random.default_rng(3).integers(1, 4, (STEPS, 16, 1))
    tokens = (np.arange(13) * step + np.arange(16)[None, :, None]) % 9
    start = keras.Input((12,), dtype="int64")
    places = keras.ops.cumsum(keras.ops.ones_like(start), axis=-1) - 1
    h = layers.Embedding(9, 16)(start) + layers.Embedding(12, 16)(places)
    inner = layers.LayerNormalization()(h)
    h = h + layers.MultiHeadAttention(2, 8)(inner, inner, use_causal_mask=True)
    inner = layers.Dense(32, activation="gelu")(layers.LayerNormalization()(h))
    h = h + layers.Dense(16)(inner)
    h = layers.Dense(9, activation="softmax")(layers.LayerNormalization()(h))
    return keras.Model(start, h), tokens[..., :12].astype("int64"), tokens[..., 1:].astype("int64")


MODELS = {make.__name__: make for make in (convnet, recurrent, residual, transformer)}


def draw_weights(model) -> None:
    """Kernels from a normal distribution as wide as Glorot's, the rest as it is."""
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        if len(weight.shape) > 1:
            inputs, outputs = int(np.prod(weight.shape[:-1])), weight.shape[-1]
            width = np.sqrt(2 / (inputs + outputs))
            weight.assign((rng.standard_normal(weight.shape) * width).astype("float32"))


def losses(name: str) -> list[float]:
    model, x, y = MODELS[name]()
    model.build(x.shape[1:])
    draw_weights(model)
    model.compile(keras.optimizers.Adam(0.001), "sparse_categorical_crossentropy")
    found = []
    for step in range(STEPS):
        found.append(float(model.train_on_batch(x[step], y[step])))
        model.reset_metrics()
    return found


if __name__ == "__main__":
    print(json.dumps({name: losses(name) for name in MODELS}))
