"""A map before a batch runs once for a batch, with the bits of one call for each element."""

import mica.tf as tf
import numpy as np
import pytest

D = tf.data.Dataset
RANDOM = np.random.RandomState(7)
PICTURES = RANDOM.randint(0, 256, (50, 5, 4, 3)).astype(np.uint8)
VALUES = np.concatenate(
    [
        RANDOM.standard_normal((44, 6)) * 10.0 ** RANDOM.randint(-30, 30, (44, 1)),
        np.array([[np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45]] * 6, np.float32),
    ]
).astype(np.float32)
SCALE = tf.constant([0.5, 1.5, -2.0, 3.0, 0.1, 7.0])

EXACT = {
    "cast and scale": (PICTURES, lambda x: tf.cast(x, tf.float32) / 255.0 - 0.5),
    "captured": (VALUES, lambda x: x * SCALE + 1.0),
    "mirrored": (PICTURES, lambda x: tf.reverse(x, [1])),
    "transposed": (PICTURES, lambda x: tf.transpose(x, [2, 0, 1])),
    "reshaped and cut": (PICTURES, lambda x: tf.reshape(x, [-1])[3:17:2]),
    "divided": (VALUES, lambda x: 1.0 / x),
    "chosen": (VALUES, lambda x: tf.where(x > 0.0, x * 2.0, -x)),
    "clipped": (VALUES, lambda x: tf.clip_by_value(x, -1.0, 1.0)),
    "largest": (VALUES, lambda x: tf.maximum(x, tf.reverse(x, [0]))),
    "stacked": (VALUES, lambda x: tf.stack([x, x * x])),
    "halves": (VALUES, lambda x: tf.cast(x, tf.float16) * tf.cast(3.0, tf.float16)),
    "doubles": (VALUES, lambda x: tf.cast(x, tf.float64) / 3.0),
    "a constant": (VALUES, lambda x: tf.constant([1.0, 2.0])),
    "several results": (VALUES, lambda x: {"a": x + 1.0, "b": (x[0], tf.cast(x > 1.0, tf.int32))}),
}
OTHERS = {
    "an exponential": (VALUES, lambda x: tf.exp(x)),
    "a sum": (VALUES, lambda x: tf.reduce_sum(x)),
    "a draw": (VALUES, lambda x: x + tf.random.uniform([6], seed=1)),
    "integers of floats": (VALUES, lambda x: tf.cast(x, tf.int32)),
    "a check": (VALUES, lambda x: tf.debugging.check_numerics(x, "x")),
    "text": (VALUES, lambda x: tf.strings.as_string(x)),
    "unknown sizes": (VALUES, lambda x: tf.boolean_mask(x, x > 0.0)),
    "a call of Python": (VALUES, lambda x: tf.numpy_function(np.sin, [x], tf.float32)),
}


def bytes_of(dataset):
    return [
        [np.asarray(part).tobytes() for part in tf.nest.flatten(batch)]
        for batch in dataset.as_numpy_iterator()
    ]


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("name", EXACT)
def test_the_bits_are_those_of_one_call_for_each_element(name, calls):
    values, function = EXACT[name]
    source = D.from_tensor_slices(values)
    mapped = source.map(function, num_parallel_calls=calls)
    assert mapped._map is not None
    for drop in (False, True):
        fused = mapped.batch(16, drop_remainder=drop)
        plain = source.map(function)
        plain._map = None
        plain = plain.batch(16, drop_remainder=drop)
        assert bytes_of(fused) == bytes_of(plain)
        assert fused.element_spec == plain.element_spec
        assert int(fused.cardinality()) == int(plain.cardinality())
        assert repr(fused) == repr(plain)


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_differ_or_fail_runs_for_each_element(name):
    values, function = OTHERS[name]
    assert D.from_tensor_slices(values).map(function)._map is None


def test_elements_of_unknown_size_are_mapped_one_by_one():
    source = D.range(6).map(lambda x: tf.range(x))
    assert source.map(lambda v: v + 1)._map is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes"):
        list(source.map(lambda v: v + 1).batch(3))


def test_maps_behind_each_other_and_pairs_are_taken_together():
    def make(fused):
        made = D.from_tensor_slices((PICTURES, np.arange(50)))
        for function in (lambda x, n: (tf.cast(x, tf.float32), n), lambda x, n: (x / 255.0, n * 2)):
            made = made.map(function)
            if not fused:
                made._map = None
        return made.batch(7)

    assert bytes_of(make(True)) == bytes_of(make(False))


def test_an_iterator_of_it_is_saved_and_restored(tmp_path):
    made = D.from_tensor_slices(VALUES).shuffle(9, seed=1).map(lambda x: x * 2.0).batch(4)
    iterator = iter(made)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "state"))
    other = iter(made)
    tf.train.Checkpoint(iterator=other).read(path)
    np.testing.assert_equal([e.numpy() for e in other], [e.numpy() for e in iterator])
