"""Losses of logits, and those of tf.losses."""

import tensorflow as tf

logits = tf.constant([[2.0, 0.0], [0.0, 2.0]])
labels = tf.one_hot([0, 0], 2)
one = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
two = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, dim=-1)
three = tf.losses.sparse_softmax_cross_entropy([0, 0], logits)
four = tf.losses.mean_squared_error(labels, logits)
with tf.Session() as sess:
    print([[round(float(v), 4) for v in sess.run(each)] for each in (one, two)])
    print(round(float(sess.run(three)), 4), round(float(sess.run(four)), 4))
    print(sess.run(tf.losses.get_total_loss()).round(4))

# prints: [[0.1269, 2.1269], [0.1269, 2.1269]]
# prints: 1.1269 1.5
# prints: 2.6269
