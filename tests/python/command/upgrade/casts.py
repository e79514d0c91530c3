"""Casts that had names of their own, and div."""

import tensorflow as tf

n = tf.constant([1, 2, 5])
with tf.Session() as sess:
    print(sess.run(tf.to_float(n)).tolist(), sess.run(tf.to_int64(tf.constant([1.7]))).tolist())
    print(
        sess.run(tf.div(n, 2)).tolist(),
        sess.run(
            tf.to_double(
                n,
            )
        ).dtype,
    )

# prints: [1.0, 2.0, 5.0] [1]
# prints: [0, 1, 2] float64
