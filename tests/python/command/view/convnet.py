"""A convolutional net and a training step of one's own, in a tf.function."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(0)
images = tf.constant(random.random((64, 28, 28, 1), dtype=np.float32))
labels = tf.constant(random.integers(0, 10, 64))

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(16, 3, activation="relu", padding="same", name="edges"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(32, 3, activation="relu", padding="same", name="parts"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, name="logits"),
    ]
)
model.build((None, 28, 28, 1))


@tf.function
def step(images, labels):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images))
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        variable.assign_sub(0.05 * gradient)
    return loss


for _ in range(8):
    loss = step(images, labels)
assert loss < 3
