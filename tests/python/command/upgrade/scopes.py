"""Variables by name, in scopes that are used again."""

import tensorflow as tf


def dense(x, size):
    w = tf.get_variable("w", [x.shape[1].value, size], initializer=tf.ones_initializer())
    b = tf.get_variable("b", [size], initializer=tf.constant_initializer(0.5))
    return tf.nn.xw_plus_b(x, w, b)


x = tf.ones([2, 3])
with tf.variable_scope("layer"):
    y = dense(x, 2)
with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
    z = dense(2 * x, 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(y).tolist(), sess.run(z).tolist())
print([v.name for v in tf.trainable_variables()])

# prints: [[3.5, 3.5], [3.5, 3.5]] [[6.5, 6.5], [6.5, 6.5]]
# prints: ['layer/w:0', 'layer/b:0']
