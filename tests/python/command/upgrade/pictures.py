"""Pictures in other sizes, convolutions by older names of arguments."""

import tensorflow as tf

image = tf.reshape(tf.range(16, dtype=tf.float32), [1, 4, 4, 1])
kernel = tf.ones([2, 2, 1, 1])
with tf.Session() as sess:
    print(sess.run(tf.image.resize_bilinear(image, [2, 2])).ravel().tolist())
    print(sess.run(tf.image.resize_nearest_neighbor(image, [2, 2])).shape)
    y = tf.nn.conv2d(
        input=image, filter=kernel, strides=[1, 2, 2, 1], padding="VALID", use_cudnn_on_gpu=True
    )
    print(sess.run(y).ravel().tolist())
    print(
        sess.run(tf.nn.avg_pool(value=image, ksize=2, strides=2, padding="SAME")).ravel().tolist()
    )
    mean, _ = tf.nn.moments(image, [0, 1, 2], keep_dims=True)
    print(sess.run(mean).shape, sess.run(tf.depth_to_space(tf.ones([1, 1, 1, 4]), 2)).shape)

# prints: [0.0, 2.0, 8.0, 10.0]
# prints: (1, 2, 2, 1)
# prints: [10.0, 18.0, 42.0, 50.0]
# prints: [2.5, 4.5, 10.5, 12.5]
# prints: (1, 1, 1, 1) (1, 2, 2, 1)
