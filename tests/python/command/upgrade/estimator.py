"""A model function in the manner of TensorFlow 1."""

import tensorflow as tf


def model_fn(features, labels, mode):
    w = tf.get_variable("w", initializer=0.0)
    y = features["x"] * w
    loss = tf.losses.mean_squared_error(labels, y)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, predictions={"y": y}, loss=loss, train_op=train_op)


def input_fn():
    data = tf.data.Dataset.from_tensor_slices(({"x": [1.0, 2.0]}, [3.0, 6.0]))
    return data.batch(2).repeat(40)


made = tf.estimator.Estimator(model_fn)
made.train(input_fn)
print(round(float(made.get_variable_value("w")), 3))

# prints: 3.0
