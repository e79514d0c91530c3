"""Arguments that are called otherwise now, by place and by name."""

import tensorflow as tf

x = tf.constant([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
with tf.Session() as sess:
    print(sess.run(tf.argmax(x, dimension=1)).tolist())
    print(
        sess.run(tf.expand_dims(x, dim=0)).shape,
        sess.run(tf.squeeze([[1, 2]], squeeze_dims=[0])).tolist(),
    )
    print(sess.run(tf.transpose(x, [1, 0], "turned")).shape)
    print(sess.run(tf.boolean_mask(x, [True, False], "some")).tolist())
    print(sess.run(tf.nn.softmax(x * 0.0, dim=0)).tolist())
    print(sess.run(tf.count_nonzero(x, reduction_indices=0, keep_dims=False)).tolist())
    print(sess.run(tf.shape(x, "its_shape", tf.int64)).tolist())

# prints: [0, 1]
# prints: (1, 2, 3) [1, 2]
# prints: (3, 2)
# prints: [[3.0, 1.0, 2.0]]
# prints: [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
# prints: [1, 2, 2]
# prints: [2, 3]
