"""Where an iterator of a dataset is: saved in a checkpoint, restored at the very next element."""

import random as python_random

import mica.tf as tf
import numpy as np
import pytest

D = tf.data.Dataset


def numbers(n=10):
    return D.range(n)


def files(tmp_path):
    """A text file, a TFRecord file, a file of pieces, a table."""
    lines = tmp_path / "lines"
    lines.write_text("".join(f"line {i}\n" for i in range(9)))
    with tf.io.TFRecordWriter(str(tmp_path / "records")) as writer:
        for i in range(9):
            writer.write(b"record" * i)
    (tmp_path / "pieces").write_bytes(b"HH" + bytes(range(18)) + b"F")
    (tmp_path / "table").write_text("a,b\n" + "".join(f'{i},"x\n{i}"\n' for i in range(9)))
    return {
        "lines": D.from_tensors(str(lines)).flat_map(tf.data.TextLineDataset),
        "records": tf.data.TFRecordDataset([str(tmp_path / "records")] * 2),
        "pieces": tf.data.FixedLengthRecordDataset(
            str(tmp_path / "pieces"), 2, header_bytes=2, footer_bytes=1
        ),
        "table": tf.data.experimental.CsvDataset(
            [str(tmp_path / "table")] * 2, [0, tf.string], header=True
        ),
    }


def inner(x):
    return D.range(x * 3).map(lambda y: y + x)


REDUCER = tf.data.experimental.Reducer(
    lambda k: tf.zeros([], tf.int64), lambda s, x: s + x, lambda s: s * 10
)
KINDS = {
    "range": lambda: numbers(),
    "tensors": lambda: D.from_tensors([1, 2]).repeat(3),
    "slices of strings": lambda: D.from_tensor_slices(["a", "bb", "", "ccc"]).shuffle(2, seed=1),
    "map": lambda: numbers().map(lambda x: (x * 2, tf.strings.as_string(x))),
    "map that draws": lambda: numbers().map(lambda x: tf.random.uniform([2], seed=3)),
    "parallel map": lambda: numbers(40).map(lambda x: x * 2, num_parallel_calls=2),
    "parallel map that draws": lambda: numbers(40).map(
        lambda x: tf.random.normal([], seed=5), num_parallel_calls=2
    ),
    "shuffle and repeat": lambda: numbers().shuffle(4, seed=1).repeat(3),
    "shuffle once": lambda: numbers().shuffle(4, 1, reshuffle_each_iteration=False).repeat(2),
    "batch and unbatch": lambda: numbers().batch(3).unbatch().batch(2),
    "rebatch": lambda: numbers().batch(4).rebatch([1, 3]),
    "prefetch": lambda: numbers(40).shuffle(4, seed=1).map(lambda x: x + 1).prefetch(3),
    "zip": lambda: D.zip(numbers().concatenate(numbers(3)), numbers(20).skip(2).take(12)),
    "shard": lambda: numbers(20).shard(3, 1),
    "flat_map": lambda: numbers(5).flat_map(inner),
    "interleave": lambda: numbers(5).interleave(inner, cycle_length=3, block_length=2),
    "parallel interleave": lambda: numbers(5).interleave(
        inner, cycle_length=3, block_length=2, num_parallel_calls=2
    ),
    "window": lambda: numbers(9).window(3, shift=2).flat_map(lambda w: w.batch(2)),
    "windows shuffled": lambda: numbers(9).window(3).shuffle(3, 3).flat_map(lambda w: w.batch(2)),
    "cache": lambda: numbers(6).cache().repeat(3),
    "scan": lambda: numbers(6).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s * x)),
    "filter": lambda: numbers(16).filter(lambda x: x % 3 > 0).take_while(lambda x: x < 13),
    "padded": lambda: numbers(6).map(lambda x: tf.fill([x], x)).padded_batch(2),
    "random": lambda: D.random(seed=4, rerandomize_each_iteration=True).take(8).repeat(2),
    "choose": lambda: D.choose_from_datasets(
        [numbers(4), numbers(6).map(lambda x: x + 100)], numbers(2).repeat(8), False
    ),
    "sample": lambda: D.sample_from_datasets(
        [numbers(4), numbers(6).map(lambda x: x + 100)], seed=3
    ),
    "group_by_window": lambda: numbers(20).group_by_window(
        lambda x: x % 3, lambda k, w: w.batch(2), 4
    ),
    "group_by_reducer": lambda: numbers().apply(
        tf.data.experimental.group_by_reducer(lambda x: x % 3, REDUCER)
    ),
    "unique": lambda: D.from_tensor_slices([1, 2, 1, 3, 2, 4]).unique(),
    "ignored errors": lambda: (
        D.from_tensor_slices([1, 0, 2, 0, 4]).map(lambda x: 12 // x).ignore_errors()
    ),
}


def plain(element):
    return [np.asarray(v).tolist() for v in tf.nest.flatten(element)]


def rest(iterator):
    return [plain(element) for element in iterator]


def moved(iterator, n):
    for _ in range(n):
        if next(iterator, None) is None:
            break
    return iterator


def agree(make, folder, places=(0, 1, 3, 7, 1000)):
    for n in places:
        iterator = moved(iter(make()), n)
        path = tf.train.Checkpoint(iterator=iterator).write(str(folder / "state"))
        wanted = rest(iterator)
        fresh = iter(make())
        tf.train.Checkpoint(iterator=fresh).read(path).assert_consumed()
        assert rest(fresh) == wanted, n
        used = moved(iter(make()), 2)
        tf.train.Checkpoint(iterator=used).read(path)
        assert rest(used) == wanted, n


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_goes_on_at_the_next_element(kind, tmp_path):
    agree(KINDS[kind], tmp_path)


@pytest.mark.parametrize("kind", ["lines", "records", "pieces", "table"])
def test_an_iterator_of_files_goes_on_at_the_next_element(kind, tmp_path):
    agree(lambda: files(tmp_path)[kind], tmp_path)


def test_errors_that_wait_are_restored(tmp_path):
    def make():
        parts = numbers(6).map(lambda x: 1.0 / tf.cast(x - 2, tf.float32))
        return parts.map(lambda x: tf.debugging.check_numerics(x, "not finite"))

    def outcomes(iterator):
        found = []
        while True:
            try:
                found.append(float(next(iterator)))
            except StopIteration:
                return found
            except tf.errors.InvalidArgumentError:
                found.append("error")

    iterator = moved(iter(make().prefetch(4)), 1)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "state"))
    other = iter(make().prefetch(4))
    tf.train.Checkpoint(iterator=other).read(path)
    assert outcomes(other) == outcomes(iterator)
    assert "error" in outcomes(iter(make()))


def state_of(dataset, n):
    return moved(iter(dataset), n)._serialize_to_tensors()["ITERATOR_STATE"].numpy()


def restore(dataset, state):
    iterator = iter(dataset)
    iterator._restore_from_tensors({"ITERATOR_STATE": tf.constant(state)})
    return iterator


def test_the_state_of_another_pipeline_is_refused():
    state = state_of(numbers().batch(2), 1)
    with pytest.raises(tf.errors.DataLossError, match="BatchDataset where the pipeline has a Shuf"):
        restore(numbers().shuffle(3), state)


def test_a_refused_state_leaves_the_iterator_where_it_was():
    iterator = moved(iter(numbers()), 4)
    with pytest.raises(tf.errors.DataLossError):
        iterator._restore_from_tensors({"ITERATOR_STATE": tf.constant(b"mica-iterator-1\nno")})
    assert int(next(iterator)) == 4


def test_generators_and_functions_of_python_have_state_of_their_own(tmp_path):
    made = D.from_generator(lambda: iter(range(5)), output_signature=tf.TensorSpec([], tf.int32))
    with pytest.raises(tf.errors.FailedPreconditionError, match="PyFunc is stateful"):
        tf.train.Checkpoint(iterator=iter(made)).write(str(tmp_path / "state"))
    called = numbers().map(lambda x: tf.py_function(lambda v: v + 1, [x], tf.int64))
    with pytest.raises(tf.errors.FailedPreconditionError, match="is stateful"):
        tf.train.Checkpoint(iterator=iter(called)).write(str(tmp_path / "state"))


@pytest.mark.parametrize("kind", [k for k in KINDS if "draws" not in k])
def test_damaged_states_are_refused(kind):
    dataset = KINDS[kind]()
    state = state_of(dataset, 2)
    draws = python_random.Random(kind)
    for _ in range(20):
        damaged = bytearray(state)
        damaged[draws.randrange(len(damaged))] ^= 1 << draws.randrange(8)
        with pytest.raises(tf.errors.DataLossError):
            restore(dataset, bytes(damaged))
    for cut in (0, 5, len(state) // 2, len(state) - 1):
        with pytest.raises(tf.errors.DataLossError):
            restore(dataset, state[:cut])
