"""Digits by two dense layers, with Keras."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(0)
images = random.random((1024, 784), dtype=np.float32)
labels = random.integers(0, 10, 1024)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(256, activation="relu", name="hidden"),
        tf.keras.layers.Dense(10, name="logits"),
    ]
)
model.compile(
    optimizer=tf.keras.optimizers.Adam(1e-3),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(images, labels, epochs=2, batch_size=128, verbose=0)
