"""Summaries, logging and flags."""

import os
import tempfile

import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
tf.flags.DEFINE_integer("upgrade_size", 3, "how many")
loss = tf.placeholder(tf.float32, [])
merged = [tf.summary.scalar("loss", loss), tf.summary.histogram("values", tf.random_normal([4]))]
folder = tempfile.mkdtemp()
with tf.Session() as sess:
    writer = tf.summary.FileWriter(folder, sess.graph)
    text = sess.run(tf.summary.merge(merged), {loss: 0.25})
    writer.add_summary(text, 3)
    writer.close()
    found = tf.Summary.FromString(text)
print([value.tag for value in found.value], found.value[0].simple_value)
print(len(os.listdir(folder)), tf.flags.FLAGS["upgrade_size"].default)

# prints: ['loss', 'values'] 0.25
# prints: 1 3
