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


def slices_of(gradient):
    assert isinstance(gradient, tf.IndexedSlices), gradient
    assert gradient.dense_shape.numpy().tolist() == [3, 2]
    return gradient.indices.numpy().tolist(), gradient.values.numpy().tolist()


@pytest.mark.parametrize("nested", [False, True])
def test_gathers_inside_a_function_give_slices(nested):
    v = tf.Variable(np.arange(6.0).reshape(3, 2).astype(np.float32))
    places = tf.constant([2, 0, 2])

    def gradient(f, source=v):
        f = tf.function(f)
        with tf.GradientTape() as tape:
            tape.watch(source)
            y = tf.function(lambda: f())() if nested else f()
        return tape.gradient(y, source)

    indices, values = slices_of(gradient(lambda: tf.gather(v, places) ** 2))
    assert (indices, values) == ([2, 0, 2], [[8.0, 10.0], [0.0, 2.0], [8.0, 10.0]])
    indices, values = slices_of(gradient(lambda: tf.nn.embedding_lookup(v, [[0, 1], [2, 2]])))
    assert (indices, values) == ([0, 1, 2, 2], [[1.0, 1.0]] * 4)
    twice = gradient(lambda: tf.gather(v, places)[0] + 2.0 * tf.gather(v, [1])[0])
    assert slices_of(twice)[0] == [2, 0, 2, 1]
    x = tf.constant(v.numpy())
    assert slices_of(gradient(lambda: tf.gather(x, places), x))[0] == [2, 0, 2]


def test_what_else_leads_to_a_source_inside_a_function_makes_a_tensor():
    v = tf.Variable(np.arange(6.0).reshape(3, 2).astype(np.float32))

    def gradient(f):
        with tf.GradientTape() as tape:
            y = tf.function(f)()
        return tape.gradient(y, v)

    both = gradient(lambda: tf.reduce_sum(tf.gather(v, [2, 0, 2])) + tf.reduce_sum(v))
    assert both.numpy().tolist() == [[2.0, 2.0], [1.0, 1.0], [3.0, 3.0]]
    both = gradient(lambda: tf.reduce_sum(v) + tf.reduce_sum(tf.gather(v, [2, 0, 2])))
    assert both.numpy().tolist() == [[2.0, 2.0], [1.0, 1.0], [3.0, 3.0]]
    assert gradient(lambda: tf.gather(v * 2.0, [1])).numpy().tolist()[1] == [2.0, 2.0]
    assert gradient(lambda: tf.gather(v, [1], axis=1)).numpy().tolist() == [[0.0, 1.0]] * 3


def test_slices_from_a_function_have_a_second_derivative():
    v = tf.Variable(np.arange(6.0).reshape(3, 2).astype(np.float32))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.function(lambda: tf.reduce_sum(tf.gather(v, [2, 0, 2]) ** 3))()
        gradient = tape.gradient(y, v)
        total = tf.reduce_sum(tf.convert_to_tensor(gradient) ** 2)
    second = tf.convert_to_tensor(outer.gradient(total, v))
    assert second.numpy().tolist() == [[0.0, 36.0], [0.0, 0.0], [9216.0, 18000.0]]
