"""Functions that are in tf.math and tf.linalg now."""

import tensorflow as tf

x = tf.constant([1.0, 4.0, 9.0])
with tf.Session() as sess:
    values = [tf.log(x), tf.lgamma(x), tf.floordiv(x, 2.0), tf.mod(x, 2.0)]
    print([[round(float(v), 3) for v in sess.run(value)] for value in values])
    print(sess.run(tf.matrix_determinant([[1.0, 2.0], [3.0, 5.0]])).round(3))
    print(sess.run(tf.diag([1, 2])).tolist(), sess.run(tf.cumprod([1, 2, 3])).tolist())

# prints: [[0.0, 1.386, 2.197], [0.0, 1.792, 10.605], [0.0, 2.0, 4.0], [1.0, 0.0, 1.0]]
# prints: -1.0
# prints: [[1, 0], [0, 2]] [1, 2, 6]
