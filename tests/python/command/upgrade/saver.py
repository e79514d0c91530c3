"""A checkpoint, written and read."""

import os
import tempfile

import tensorflow as tf

v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
saver = tf.train.Saver(max_to_keep=1)
folder = tempfile.mkdtemp()
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    path = saver.save(sess, os.path.join(folder, "model.ckpt"), global_step=7)
    sess.run(v.assign([0.0, 0.0]))
    saver.restore(sess, tf.train.latest_checkpoint(folder))
    print(sess.run(v).tolist(), os.path.basename(path))

# prints: [1.0, 2.0] model.ckpt-7
