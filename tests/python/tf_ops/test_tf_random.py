"""With the same seeds, the numbers that TensorFlow draws (golden values of TensorFlow 2.21)."""

import mica.tf as tf
import numpy as np
import pytest


def near(tensor, golden):
    return np.allclose(tensor.numpy(), golden, rtol=1e-6, atol=1e-6)


def test_ops_with_the_global_seed():
    tf.random.set_seed(1)
    assert near(tf.random.uniform([3]), [0.16513085, 0.9014813, 0.6309742])
    assert near(tf.random.uniform([3]), [0.51010704, 0.44353175, 0.4085331])
    assert near(
        tf.random.normal([5]), [-0.45701224, -0.40686727, 0.72857773, -0.8929778, 0.31261146]
    )
    # Ops with equal seeds share a generator, of whatever shape.
    assert near(tf.random.uniform([3], seed=5), [0.195606, 0.02986085, 0.36493087])
    assert near(tf.random.uniform([2], seed=5), [0.44306076, 0.88781226])
    assert near(
        tf.random.uniform([2, 2], seed=5, dtype=tf.float64),
        [[0.5648488, 0.9194474], [0.31243669, 0.44232418]],
    )
    assert tf.random.uniform([3], 0, 10, dtype=tf.int32, seed=5).numpy().tolist() == [6, 9, 2]
    assert tf.random.uniform([3], 0, 10, dtype=tf.int64, seed=5).numpy().tolist() == [0, 4, 9]
    assert near(
        tf.random.truncated_normal([6], seed=5),
        [0.33694574, 1.77476, 1.4188327, -0.05485329, -0.02095677, 0.352799],
    )
    assert tf.random.shuffle(tf.range(8), seed=3).numpy().tolist() == [7, 4, 0, 2, 3, 5, 6, 1]


def test_a_functions_ops_have_generators_of_their_own():
    tf.random.set_seed(1)

    @tf.function
    def f():
        return tf.random.uniform([2]), tf.random.normal([2]), tf.random.uniform([1], seed=9)

    for golden in (
        ([0.81269646, 0.07857466], [0.28183395, 2.3878284], [0.3095399]),
        ([0.8489425, 0.09832478], [1.0040135, -0.30107328], [0.36875606]),
    ):
        assert all(near(x, y) for x, y in zip(f(), golden, strict=True))


def test_stateless_ops():
    seed = [1, 2]
    assert near(tf.random.stateless_uniform([3], seed), [0.8440604, 0.19204533, 0.9962232])
    assert near(tf.random.stateless_normal([3], seed), [0.5441101, 0.20738031, 0.07356432])
    integers = tf.random.stateless_uniform([3], seed, 0, 100, tf.int32)
    assert integers.numpy().tolist() == [40, 49, 94]
    full = tf.random.stateless_uniform([2], seed, None, None, tf.int32)
    assert full.numpy().tolist() == [1105988140, 1738052849]
    wide = tf.random.stateless_uniform([2], seed, dtype=tf.float64)
    assert near(wide, [0.75248375, 0.96978577])
    half = tf.random.stateless_uniform([2], seed, dtype=tf.float16)
    assert np.allclose(half.numpy(), [0.543, 0.2354], atol=1e-3)
    assert near(
        tf.random.stateless_truncated_normal([3], seed), [0.5441101, 0.20738031, 0.07356432]
    )
    split = tf.random.split(seed, 2)
    assert split.numpy().tolist() == [[1105988140, 1738052849], [-335576002, 370444179]]
    assert tf.random.fold_in(seed, 3).numpy().tolist() == [1105988140, 3]


def test_binomial_numbers():
    def draw(*arguments):
        return tf.random.stateless_binomial(*arguments).numpy().ravel().tolist()

    few = draw([12, 1], [1, 2], [10.0], [0.3])
    assert few == [5, 5, 5, 4, 4, 3, 4, 0, 5, 2, 4, 3]
    assert draw([6, 2], [1, 2], [10.0, 1000.0], [0.3, 0.4])[1::2] == [401, 398, 381, 408, 399, 393]
    with pytest.raises(tf.errors.InvalidArgumentError, match="end with"):
        draw([2, 3], [1, 2], [10.0, 10.0], [0.3, 0.3])


def test_strings_are_shuffled():
    words = tf.constant(["a", "b", "c", "d", "e"])
    places = tf.random.experimental.stateless_shuffle(tf.range(5), [1, 2]).numpy()
    found = tf.random.experimental.stateless_shuffle(words, [1, 2]).numpy()
    assert [b"abcde"[i : i + 1] for i in places] == found.tolist()


@pytest.mark.parametrize("seed", [1, [1], [1, 2, 3]])
def test_a_seed_is_two_integers(seed):
    def draw():
        return tf.random.stateless_uniform([2], seed)

    with pytest.raises(tf.errors.InvalidArgumentError, match="seed"):
        draw()
    with pytest.raises(ValueError, match="seed"):
        tf.function(draw)()


def test_generators():
    g = tf.random.Generator.from_seed(7)
    assert g.state.numpy().tolist() == [7, 0, 0]
    assert near(g.normal([3]), [-1.3240396, 0.28785667, -0.8757901])
    assert g.state.numpy().tolist() == [775, 0, 0]
    assert near(g.uniform([2]), [0.46447873, 0.76275814])
    assert g.uniform([3], 0, 9, dtype=tf.int32).numpy().tolist() == [0, 0, 5]
    assert g.state.numpy().tolist() == [2055, 0, 0]
    assert near(g.truncated_normal([3]), [-1.5651422, -0.46152303, 0.4117519])
    assert g.split(2)[0].state.numpy().tolist() == [0, 0, 8622760326148602425]


def test_a_generator_draws_as_many_numbers_as_a_traced_shape_says():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def like(x):
        return generator.normal(tf.shape(x))

    generator = tf.random.Generator.from_seed(3)
    drawn = [like(tf.zeros((n, 2))).numpy() for n in (4, 1)]
    generator = tf.random.Generator.from_seed(3)
    assert np.array_equal(drawn[0], generator.normal((4, 2)).numpy())
    assert np.array_equal(drawn[1], generator.normal((1, 2)).numpy())


def test_without_a_seed_numbers_differ():
    tf.random.set_seed(3)
    a = tf.random.stateless_uniform([4], [1, 1]).numpy()
    b = tf.random.Generator.from_non_deterministic_state().uniform([4]).numpy()
    assert not np.allclose(a, b)

    @tf.function
    def f(n):
        total = tf.zeros([])
        for _ in tf.range(n):
            total += tf.random.uniform([])
        return total

    loop = [float(f(tf.constant(3))) for _ in range(2)]
    assert loop[0] != loop[1]
