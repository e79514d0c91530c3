"""A line fitted by gradient descent."""

import numpy as np
import tensorflow as tf

tf.set_random_seed(1)
xs = np.array([0.0, 1.0, 2.0, 3.0], np.float32)
ys = 2.0 * xs + 1.0
w = tf.Variable(tf.zeros([1]), name="w")
b = tf.Variable(tf.zeros([1]), name="b")
loss = tf.reduce_mean(tf.squared_difference(xs * w + b, ys))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(300):
        sess.run(train)
    print(np.round(sess.run([w, b]), 2).ravel().tolist())

# prints: [2.0, 1.0]
