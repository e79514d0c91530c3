"""A monitored session that stops by itself."""

import tensorflow as tf

step = tf.train.create_global_step()
v = tf.get_variable("v", initializer=1.0)
train = tf.group(tf.assign(v, v * 2.0), tf.assign_add(step, 1))
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=4)]) as sess:
    while not sess.should_stop():
        sess.run(train)
        last = sess.run(v) if not sess.should_stop() else None
        print(last)

# prints: 2.0
# prints: 4.0
# prints: 8.0
# prints: None
