"""Gradients, clipped and applied."""

import tensorflow as tf

w = tf.get_variable("w", initializer=[3.0, 4.0])
loss = tf.reduce_sum(w * w)
(gradient,) = tf.gradients(loss, [w])
clipped, norm = tf.clip_by_global_norm([gradient], 5.0)
optimizer = tf.train.MomentumOptimizer(learning_rate=0.1, momentum=0.9)
step = tf.train.get_or_create_global_step()
train = optimizer.apply_gradients([(clipped[0], w)], global_step=step)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(gradient), float(sess.run(norm)), float(sess.run(tf.global_norm([gradient]))))
    sess.run(train)
    print(sess.run(w).round(3), sess.run(step))

# prints: [6. 8.] 10.0 10.0
# prints: [2.7 3.6] 1
