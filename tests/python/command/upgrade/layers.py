"""A network of tf.layers, dropout by what is kept."""

import tensorflow as tf

x = tf.ones([2, 4, 4, 1])
ones = tf.ones_initializer()
net = tf.layers.conv2d(x, filters=2, kernel_size=3, kernel_initializer=ones, activation=tf.nn.relu)
net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
net = tf.layers.flatten(net)
net = tf.nn.dropout(net, keep_prob=1.0)
net = tf.nn.dropout(net, 1.0 - 0.0)
logits = tf.layers.dense(net, 3, kernel_initializer=ones)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(logits).tolist())

# prints: [[18.0, 18.0, 18.0], [18.0, 18.0, 18.0]]
