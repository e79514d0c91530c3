"""A training whose events TensorBoard shows: `python -m mica.tf shown.py FOLDER`."""

import sys

import numpy as np
import tensorflow as tf

folder = sys.argv[1]
source = np.random.default_rng(0)
x = source.random((2000, 28, 28, 1), dtype=np.float32)
y = (x[:, :14].mean((1, 2, 3)) > x[:, 14:].mean((1, 2, 3))).astype(np.int64)
tf.keras.utils.set_random_seed(0)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(2),
    ]
)
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(tf.keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
board = tf.keras.callbacks.TensorBoard(folder, histogram_freq=1)
model.fit(x, y, epochs=12, batch_size=50, validation_split=0.2, verbose=0, callbacks=[board])
with tf.summary.create_file_writer(folder + "/pictures").as_default():
    tf.summary.image("pictures", x[:3], step=0)
    tf.summary.text("about", "*Noise*, brighter in its upper or lower half", step=0)
