"""Branches, loops and assignments."""

import tensorflow as tf

total = tf.Variable(0, name="total")
flag = tf.placeholder(tf.bool, [])
chosen = tf.cond(flag, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))
_, power = tf.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), [0, 1])
with tf.control_dependencies([tf.assign_add(total, 5)]):
    after = tf.identity(total)
picked = tf.where([True, False], [1, 2], [3, 4])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(chosen, {flag: True}), sess.run(chosen, {flag: False}), sess.run(power))
    print(sess.run(after), sess.run(after), sess.run(picked).tolist())
    sess.run(tf.assign(total, 1))
    print(sess.run(total))

# prints: 1 2 32
# prints: 5 10 [1, 4]
# prints: 1
