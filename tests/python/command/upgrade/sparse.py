"""Sparse tensors by the older names."""

import tensorflow as tf

sparse = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
ids = tf.sparse_placeholder(tf.float32, [2, 3])
with tf.Session() as sess:
    print(sess.run(tf.sparse_tensor_to_dense(sparse)).tolist())
    print(sess.run(tf.sparse_tensor_dense_matmul(sparse, tf.ones([3, 1]))).tolist())
    fed = tf.SparseTensorValue([[0, 1]], [5.0], [2, 3])
    print(sess.run(tf.sparse_tensor_to_dense(ids), {ids: fed}).tolist())

# prints: [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]
# prints: [[1.0], [2.0]]
# prints: [[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]
