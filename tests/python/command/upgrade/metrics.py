"""A metric as a pair of a value and an update."""

import tensorflow as tf

labels = tf.placeholder(tf.int64, [None])
predictions = tf.placeholder(tf.int64, [None])
value, update = tf.metrics.accuracy(labels=labels, predictions=predictions)
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    sess.run(update, {labels: [1, 0, 1], predictions: [1, 1, 1]})
    sess.run(update, {labels: [1], predictions: [1]})
    print(round(float(sess.run(value)), 2))
    print(sess.run(tf.confusion_matrix([0, 1, 1], [0, 1, 0], 2, tf.int32)).tolist())

# prints: 0.75
# prints: [[1, 0], [1, 1]]
