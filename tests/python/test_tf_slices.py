"""Slices as gradients, parts of variables, vectorized_map."""

import mica.tf as tf
import numpy as np
import pytest


def test_the_gradient_of_a_gather_is_slices_with_duplicates_kept():
    v = tf.Variable(np.arange(6.0).reshape(3, 2).astype(np.float32))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(v, [0, 2, 0]) * 2.0)
    gradient = tape.gradient(y, v)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.indices.numpy().tolist() == [0, 2, 0]
    assert gradient.values.shape == [3, 2]
    dense = tf.convert_to_tensor(gradient).numpy()
    assert dense.tolist() == [[4, 4], [0, 0], [2, 2]]


def test_slices_and_a_tensor_add_up_to_a_tensor():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(v, [1, 1])) + tf.reduce_sum(v)
    gradient = tape.gradient(y, v)
    assert tf.convert_to_tensor(gradient).numpy().tolist() == [1, 3, 1]


def test_parts_of_variables_are_assigned():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    v.scatter_add(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 1])))
    assert v.numpy().tolist() == [[1, 2], [5, 6], [5, 6]]
    v[0:2, 1].assign([7.0, 8.0])
    assert v.numpy().tolist() == [[1, 7], [5, 8], [5, 6]]
    v.scatter_nd_update([[2, 0]], [9.0])
    assert v.numpy()[2, 0] == 9
    assert v.sparse_read([2]).numpy().tolist() == [[9, 6]]


def test_vectorized_map_is_a_loop_over_slices():
    x = tf.constant(np.random.rand(4, 3).astype(np.float32))
    w = tf.Variable(np.random.rand(3, 2).astype(np.float32))

    def one(row):
        return tf.matmul(row[None], w)[0], tf.reduce_sum(row)

    products, sums = tf.vectorized_map(one, x)
    assert np.allclose(products, x.numpy() @ w.numpy(), atol=1e-5)
    assert np.allclose(sums, x.numpy().sum(1), atol=1e-5)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.vectorized_map(one, x)[0])
    assert np.allclose(tape.gradient(y, w), np.tile(x.numpy().sum(0)[:, None], [1, 2]), atol=1e-5)
    inside = tf.function(lambda t: tf.vectorized_map(one, t))(x)
    assert np.allclose(inside[0], products)
    with pytest.raises(ValueError, match="first axes"):
        tf.vectorized_map(lambda pair: pair[0], (tf.zeros([2]), tf.zeros([3])))
