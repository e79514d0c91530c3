"""A graph with a placeholder, run in a session."""

import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 2], name="x")
y = tf.reduce_sum(tf.square(x), reduction_indices=[1], keep_dims=True)
with tf.Session() as sess:
    print(sess.run(y, feed_dict={x: [[1.0, 2.0], [3.0, 4.0]]}).tolist())

# prints: [[5.0], [25.0]]
