"""A map before a batch runs once for a batch, with the bits of one call for each element."""

import collections
import gzip
import json

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
    "a draw": (VALUES, lambda x: x + tf.random.uniform([6], seed=1)),
    "draws of two ops": (VALUES, lambda x: (tf.random.uniform([]) * x, tf.random.uniform([9]))),
    "many draws": (VALUES, lambda x: tf.random.uniform([400], seed=2)),
    "doubles at random": (VALUES, lambda x: tf.random.uniform([3], dtype=tf.float64)),
    "integers at random": (VALUES, lambda x: tf.random.uniform([5], 0, 100, tf.int64)),
    "flipped at random": (PICTURES, lambda x: tf.image.random_flip_left_right(x)),
    "one of many": (PICTURES, lambda x: tf.one_hot(x[0, 0], 4)),
    "itself": (VALUES, lambda x: x),
    "several results": (VALUES, lambda x: {"a": x + 1.0, "b": (x[0], tf.cast(x > 1.0, tf.int32))}),
}
OTHERS = {
    "an exponential": (VALUES, lambda x: tf.exp(x)),
    "a sum": (VALUES, lambda x: tf.reduce_sum(x)),
    "a draw in a branch": (
        VALUES,
        lambda x: tf.cond(x[0] > 0.0, lambda: tf.random.uniform([]), lambda: 0.0),
    ),
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
    tf.random.set_seed(5)
    mapped = source.map(function, num_parallel_calls=calls)
    assert mapped._map is not None
    for drop in (False, True):
        fused = mapped.batch(16, drop_remainder=drop)
        tf.random.set_seed(5)
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


def calls_of(dataset, folder):
    """How often which functions ran."""
    tf.profiler.experimental.start(str(folder))
    for _ in dataset:
        pass
    tf.profiler.experimental.stop()
    (trace,) = folder.rglob("*.json*")
    opened = gzip.open if trace.suffix == ".gz" else open
    with opened(trace, "rt") as file:
        events = json.load(file)["traceEvents"]
    return collections.Counter(e["name"] for e in events if e.get("cat") == "function")


@pytest.mark.parametrize("name", ["flipped at random", "several results"])
def test_the_function_runs_once_for_a_batch(name, tmp_path):
    values, function = EXACT[name]
    made = D.from_tensor_slices(values).map(function).batch(16)
    assert calls_of(made, tmp_path) == {"vectorized_map": 4}


FEATURES = {
    "n": tf.io.FixedLenFeature([], tf.int64),
    "v": tf.io.FixedLenFeature([8], tf.float32),
    "b": tf.io.FixedLenFeature([], tf.string),
    "d": tf.io.FixedLenFeature([], tf.int64, default_value=7),
}


def message(i, is_bad):
    feature = {
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
        "b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([i] * 4)])),
    }
    if not is_bad:
        floats = tf.train.FloatList(value=np.arange(8) + i)
        feature["v"] = tf.train.Feature(float_list=floats)
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse(text):
    e = tf.io.parse_single_example(text, FEATURES)
    picture = tf.reshape(tf.io.decode_raw(e["b"], tf.uint8), [2, 2])
    return tf.cast(picture, tf.float32) / 255.0 + tf.random.uniform([]), e["n"], e["b"], e["d"]


def flip(picture, *rest):
    return (tf.image.random_flip_left_right(picture[..., None]), *rest)


def parsed(messages, fused, calls, drop):
    tf.random.set_seed(3)
    made = D.from_tensor_slices(messages)
    for function in (parse, flip):
        made = made.map(function, num_parallel_calls=calls)
        assert made._map is not None
        if not fused:
            made._map = None
    return made.batch(16, drop_remainder=drop)


def results(dataset):
    """Batches, and messages of errors instead of those that failed."""
    iterator, made = iter(dataset), []
    while True:
        try:
            made.append([part.numpy().tolist() for part in next(iterator)])
        except tf.errors.InvalidArgumentError as error:
            made.append(str(error))
        except StopIteration:
            return made


@pytest.mark.parametrize("bad", [(), (0,), (5,), (49,), (15, 16, 17, 40, 41)], ids=str)
@pytest.mark.parametrize("drop", [False, True], ids=["all", "whole batches"])
def test_messages_are_parsed_at_once_with_the_errors_of_each(bad, drop):
    messages = [message(i, i in bad) for i in range(50)]
    expected = results(parsed(messages, False, None, drop))
    assert results(parsed(messages, True, None, drop)) == expected
    errors = [part for part in expected if isinstance(part, str)]
    assert [part.split(":")[0] for part in errors] == [f"element {i}" for i in bad]
    aside = results(parsed(messages, True, 2, drop))
    plain = results(parsed(messages, False, 2, drop))
    assert [p if isinstance(p, str) else p[1:] for p in aside] == [
        p if isinstance(p, str) else p[1:] for p in plain
    ]


def test_messages_are_parsed_by_one_call_for_a_batch(tmp_path):
    messages = [message(i, False) for i in range(50)]
    counted = calls_of(parsed(messages, True, 2, False), tmp_path)
    assert counted == {"vectorized_map": 8, "map": 4}  # the keys, once for a batch


def test_what_the_input_fails_with_comes_in_its_turn():
    def make(fused):
        made = D.range(20).map(
            lambda i: tf.debugging.check_numerics(1.0 / (7.0 - tf.cast(i, "float32")), "x")
        )
        made = made.map(lambda x: x * 2.0)
        if not fused:
            made._map = None
        return made.batch(4)

    assert results(make(True)) == results(make(False))


@pytest.mark.parametrize("bad", [(), (18,)], ids=str)
@pytest.mark.parametrize("calls", [None, 2])
def test_an_iterator_goes_on_where_it_was_saved(bad, calls, tmp_path):
    made = parsed([message(i, i in bad) for i in range(60)], True, calls, False)
    iterator = iter(made)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "state"))
    expected = results(iterator)
    other = iter(made)
    tf.train.Checkpoint(iterator=other).read(path)
    assert results(other) == expected
    assert len(expected) == 3 + len(bad)


def test_an_iterator_of_it_is_saved_and_restored(tmp_path):
    made = D.from_tensor_slices(VALUES).shuffle(9, seed=1).map(lambda x: x * 2.0).batch(4)
    iterator = iter(made)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "state"))
    other = iter(made)
    tf.train.Checkpoint(iterator=other).read(path)
    np.testing.assert_equal([e.numpy() for e in other], [e.numpy() for e in iterator])
