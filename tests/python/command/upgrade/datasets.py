"""An iterator that is initialized with what is fed."""

import tensorflow as tf

top = tf.placeholder(tf.int64, [])
dataset = tf.data.Dataset.range(top).map(lambda x: x * x)
iterator = dataset.make_initializable_iterator()
value = iterator.get_next()
with tf.Session() as sess:
    for n in (3, 2):
        sess.run(iterator.initializer, {top: n})
        print([int(sess.run(value)) for _ in range(n)])

# prints: [0, 1, 4]
# prints: [0, 1]
