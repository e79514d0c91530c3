"""tf.data: pipelines described in Python, made in C."""

import gc
import threading

import mica.tf as tf
import numpy as np
import pytest
from mica import _mica
from mica.tf import _core, random


def listed(dataset):
    return list(dataset.as_numpy_iterator())


def _collecting(number: int, function, tensors: list):
    """Calls a function of Python after a collection, on the thread that calls."""
    gc.collect()
    return _core._call_py_function(number, function, tensors)


@pytest.fixture(autouse=True, params=["", "collected"])
def collections(request):
    """Every test also with a collection at every callback."""
    if request.param:
        _mica.tf_register({}, {"py_func": _collecting})
    yield
    _mica.tf_register({}, {"py_func": _core._call_py_function})


@pytest.fixture(autouse=True)
def without_global_seed():
    before, random._global_seed = random._global_seed, None
    yield
    random._global_seed = before


def test_a_range_counts():
    assert listed(tf.data.Dataset.range(4)) == [0, 1, 2, 3]
    assert listed(tf.data.Dataset.range(5, 1, -2)) == [5, 3]
    assert len(tf.data.Dataset.range(10)) == 10


def test_elements_keep_their_structure():
    dataset = tf.data.Dataset.from_tensor_slices(
        {"x": [[1.0, 2.0], [3.0, 4.0]], "y": (["a", "b"],)}
    )
    first = next(iter(dataset))
    assert sorted(first) == ["x", "y"]
    np.testing.assert_array_equal(first["x"].numpy(), [1.0, 2.0])
    assert first["y"][0].numpy() == b"a"
    assert dataset.element_spec["x"] == tf.TensorSpec([2], tf.float32)


def test_a_function_gets_the_parts_of_a_tuple():
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30]))
    assert listed(pairs.map(lambda x, y: x + y)) == [11, 22, 33]
    assert [tuple(int(v) for v in e) for e in listed(pairs.map(lambda x, y: (y, x)))] == [
        (10, 1),
        (20, 2),
        (30, 3),
    ]


def test_a_function_is_traced_once_and_captures():
    traces = []
    base = tf.constant(100, tf.int64)

    def add(x):
        traces.append(x)
        return x + base

    assert listed(tf.data.Dataset.range(3).map(add)) == [100, 101, 102]
    assert len(traces) == 1


def test_control_flow_of_a_function_is_converted():
    def bend(x):
        if x > 2:
            return 10 * x
        while x < 5:
            x = x + 2
        return x

    assert listed(tf.data.Dataset.range(1, 5).map(bend)) == [5, 6, 30, 40]


def test_batches_and_their_specs():
    batches = tf.data.Dataset.range(5).batch(2)
    assert [b.tolist() for b in listed(batches)] == [[0, 1], [2, 3], [4]]
    assert batches.element_spec == tf.TensorSpec([None], tf.int64)
    assert tf.data.Dataset.range(5).batch(2, drop_remainder=True).element_spec == tf.TensorSpec(
        [2], tf.int64
    )
    assert listed(batches.unbatch()) == [0, 1, 2, 3, 4]


def test_filter_take_skip_repeat_concatenate_zip_enumerate():
    numbers = tf.data.Dataset.range(10)
    assert listed(numbers.filter(lambda x: x > 7)) == [8, 9]
    assert listed(numbers.take(2).repeat(2)) == [0, 1, 0, 1]
    assert listed(numbers.skip(8).concatenate(numbers.take(1))) == [8, 9, 0]
    assert listed(tf.data.Dataset.zip((numbers, numbers.skip(8)))) == [(0, 8), (1, 9)]
    assert listed(numbers.skip(8).enumerate(5)) == [(5, 8), (6, 9)]
    assert listed(numbers.shard(4, 1)) == [1, 5, 9]


def test_flat_map_takes_the_datasets_of_a_function():
    nested = tf.data.Dataset.range(4).flat_map(lambda x: tf.data.Dataset.range(x))
    assert listed(nested) == [0, 0, 1, 0, 1, 2]
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        tf.data.Dataset.range(4).flat_map(lambda x: x)


def test_a_shuffle_has_tensorflows_order():
    numbers = tf.data.Dataset.range(10)
    fixed = numbers.shuffle(4, seed=1, reshuffle_each_iteration=False)
    assert listed(fixed) == listed(fixed) == [3, 4, 0, 5, 2, 7, 8, 9, 1, 6]
    varied = numbers.shuffle(4, seed=1)
    assert listed(varied) == [0, 4, 5, 1, 2, 7, 9, 8, 6, 3]
    assert listed(varied) == [2, 1, 3, 4, 6, 8, 7, 9, 5, 0]
    tf.random.set_seed(5)
    assert listed(numbers.shuffle(4, seed=1, reshuffle_each_iteration=False)) == [
        0, 4, 3, 1, 2, 6, 7, 9, 8, 5
    ]  # fmt: skip
    dataset = tf.data.Dataset.range(12).shuffle(5)
    assert listed(dataset) == [2, 4, 0, 5, 6, 9, 1, 11, 8, 7, 10, 3]
    assert listed(dataset) == [4, 3, 0, 5, 8, 7, 10, 11, 6, 1, 2, 9]


def test_unseeded_shuffles_differ():
    numbers = tf.data.Dataset.range(100)
    assert listed(numbers.shuffle(100)) != listed(numbers.shuffle(100))


def test_an_iterator_is_an_argument_of_a_function_without_another_trace():
    @tf.function
    def double(iterator):
        return 2 * next(iterator)

    for _ in range(3):
        iterator = iter(tf.data.Dataset.range(1, 3))
        assert [int(double(iterator)), int(double(iterator))] == [2, 4]
        with pytest.raises(tf.errors.OutOfRangeError):
            double(iterator)
    assert double.experimental_get_tracing_count() == 1


def test_an_optional_has_a_value_or_none():
    iterator = iter(tf.data.Dataset.range(1))
    there, gone = iterator.get_next_as_optional(), iterator.get_next_as_optional()
    assert there.has_value() and int(there.get_value()) == 0
    assert not gone.has_value()
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        gone.get_value()


def test_prefetch_stops_when_nobody_asks():
    before = threading.active_count()
    iterator = iter(tf.data.Dataset.range(10**9).map(lambda x: x + 1).prefetch(tf.data.AUTOTUNE))
    assert int(next(iterator)) == 1
    del iterator
    gc.collect()
    assert threading.active_count() == before


def test_bad_input_is_an_error_with_names():
    with pytest.raises(ValueError, match="3 and 4"):
        tf.data.Dataset.from_tensor_slices(([1, 2, 3], [1, 2, 3, 4]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
        list(tf.data.Dataset.range(3).batch(0))
    ragged = tf.data.Dataset.range(1, 3).map(lambda n: tf.fill([n], 1)).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes"):
        list(ragged)
    with pytest.raises(TypeError, match="infinite"):
        len(tf.data.Dataset.range(3).repeat())


def test_options_are_kept_and_merged():
    first, second = tf.data.Options(), tf.data.Options()
    first.experimental_optimization.apply_default_optimizations = False
    second.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    options = tf.data.Dataset.range(1).with_options(first).with_options(second).options()
    assert options.experimental_optimization.apply_default_optimizations is False
    assert options.experimental_distribute.auto_shard_policy == 2
    with pytest.raises(AttributeError):
        first.no_such_option = 1


def test_random_ops_in_a_pipeline_start_anew_with_each_iterator():
    """As TensorFlow's: within one iterator numbers go on, also when a part is repeated."""
    tf.random.set_seed(1)
    orders = tf.data.Dataset.range(1).map(lambda _: tf.random.shuffle(tf.range(8))).prefetch(1)
    for _ in range(3):
        assert [v.numpy().tolist() for v in orders] == [[0, 4, 1, 5, 7, 6, 2, 3]]
    tf.random.set_seed(1)
    numbers = tf.data.Dataset.range(3).map(lambda _: tf.random.uniform([]))
    golden = [0.8126964569, 0.5272892714, 0.8489425182, 0.8928561211, 0.3780696392, 0.9844201803]
    for dataset, wanted in ((numbers, golden[:3]), (numbers.repeat(2), golden)):
        for _ in range(2):
            np.testing.assert_allclose([float(v) for v in dataset], wanted, rtol=1e-6)


def test_random_ops_without_a_seed_differ_from_one_iterator_to_the_next():
    numbers = tf.data.Dataset.range(4).map(
        lambda _: tf.raw_ops.RandomUniform(shape=[2], dtype=tf.float32, seed=0, seed2=0)
    )
    first, second = ([v.numpy().tolist() for v in numbers] for _ in range(2))
    assert first != second


def test_a_generator_of_python_is_called_anew_for_each_iterator():
    def rows(n):
        for i in range(n):
            yield i, [0.5] * i

    signature = (tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.float32))
    dataset = tf.data.Dataset.from_generator(rows, output_signature=signature, args=[3])
    for _ in range(2):
        assert [(int(n), x.tolist()) for n, x in listed(dataset)] == [
            (0, []),
            (1, [0.5]),
            (2, [0.5, 0.5]),
        ]
    assert dataset.element_spec == signature and int(dataset.cardinality()) == -2
    ahead = dataset.map(lambda n, x: n).batch(2).prefetch(1)
    assert [b.tolist() for b in listed(ahead)] == [[0, 1], [2]]
    counted = dataset.apply(tf.data.experimental.assert_cardinality(3))
    assert len(counted) == 3 and len(listed(counted)) == 3


def test_what_a_generator_yields_must_fit_and_its_errors_come_through():
    def broken():
        yield 1
        raise KeyError("no more")

    wrong = tf.data.Dataset.from_generator(
        lambda: iter([[1, 2, 3]]), output_signature=tf.TensorSpec([2], tf.int32)
    )
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"shape \(3,\) where an element of shape \(2,\)"
    ):
        listed(wrong)
    iterator = iter(tf.data.Dataset.from_generator(broken, tf.int64, []))
    assert int(next(iterator)) == 1
    with pytest.raises(KeyError, match="no more"):
        next(iterator)
    with pytest.raises(TypeError, match="must be a Python callable"):
        tf.data.Dataset.from_generator([1, 2], tf.int64)


def test_padded_batches_have_the_size_of_their_largest_element():
    rows = tf.data.Dataset.range(1, 4).map(lambda n: (tf.fill([n], n), n))
    padded = rows.padded_batch(2)
    assert [x.tolist() for x, _ in listed(padded)] == [[[1, 0], [2, 2]], [[3, 3, 3]]]
    minus = tf.constant(-1, tf.int64)
    wide = rows.padded_batch(2, ([4], []), (minus, minus), drop_remainder=True)
    assert wide.element_spec[0] == tf.TensorSpec([2, 4], tf.int64)
    assert listed(wide)[0][0].tolist() == [[1, -1, -1, -1], [2, 2, -1, -1]]
    with pytest.raises(tf.errors.DataLossError, match="smaller size"):
        listed(rows.padded_batch(3, ([2], [])))


def test_interleave_scan_window_cache_and_take_while():
    numbers = tf.data.Dataset.range(1, 5)
    turns = numbers.interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2
    )
    assert listed(turns) == [1, 1, 2, 2, 1, 2, 3, 3, 4, 4, 3, 4]
    assert listed(numbers.scan(np.int64(0), lambda s, x: (s + x, s * x))) == [0, 2, 9, 24]
    assert listed(numbers.take_while(lambda x: x < 3)) == [1, 2]
    windows = tf.data.Dataset.range(7).window(3, shift=2, drop_remainder=True)
    assert [[int(v) for v in w] for w in windows] == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    joined = windows.flat_map(lambda w: w.batch(3))
    assert [b.tolist() for b in listed(joined)] == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    kept = numbers.map(lambda x: tf.random.uniform([])).cache()
    assert listed(kept) == listed(kept)
    assert listed(tf.data.Dataset.range(7).batch(3).rebatch(2).map(tf.reduce_sum)) == [1, 5, 9, 6]
    assert listed(tf.data.Dataset.from_tensor_slices([1, 2, 1]).unique()) == [1, 2]


def test_datasets_are_chosen_and_sampled_in_tensorflows_order():
    a, b = tf.data.Dataset.range(5), tf.data.Dataset.range(100, 105)
    order = tf.data.Dataset.from_tensor_slices(np.array([0, 1, 1, 0], "int64"))
    assert listed(tf.data.Dataset.choose_from_datasets([a, b], order)) == [0, 100, 101, 1]
    tf.random.set_seed(3)
    sampled = tf.data.Dataset.sample_from_datasets([a, b], weights=[0.3, 0.7], seed=7)
    assert listed(sampled) == [0, 100, 1, 101, 2, 102, 103, 3, 4, 104]
    assert listed(tf.data.Dataset.random(seed=4).take(2)) == [1995848961, 2377083460]


def test_functions_reduce_datasets_and_loop_over_them():
    @tf.function
    def squares(dataset):
        return dataset.reduce(tf.constant(0, tf.int64), lambda s, x: s + x * x)

    @tf.function
    def weighted(dataset):
        total = tf.constant(0, tf.int64)
        for i, x in enumerate(dataset):
            if x == 3:
                continue
            total += i * x
            if x > 5:
                break
        return total

    numbers = tf.data.Dataset.range(10)
    assert int(squares(numbers.take(4))) == 14
    assert int(weighted(numbers)) == 82
    grown = numbers.take(3).reduce(tf.zeros([0], tf.int64), lambda s, x: tf.concat([s, [x]], 0))
    np.testing.assert_array_equal(grown.numpy(), [0, 1, 2])
    with pytest.raises(TypeError, match="element types"):
        numbers.reduce(0, lambda s, x: x)


def test_an_iterator_may_be_collected_by_its_own_thread():
    inside, dropped, ended = threading.Event(), threading.Event(), threading.Event()

    def numbers():
        try:
            yield 1
            inside.set()
            dropped.wait(60)
            gc.collect()
            yield 2
            yield 3
        finally:
            ended.set()

    class Cycle:
        pass

    gc.disable()
    try:
        dataset = tf.data.Dataset.from_generator(
            numbers, output_signature=tf.TensorSpec([], tf.int32)
        ).prefetch(2)
        cycle = Cycle()
        cycle.itself, cycle.iterator = cycle, iter(dataset)
        assert int(next(cycle.iterator)) == 1
        assert inside.wait(60)
        del cycle
        dropped.set()
        assert ended.wait(60)  # the generator was closed after its second element
    finally:
        gc.enable()


def test_a_generator_that_asks_its_own_iterator_is_told_so():
    iterators = []

    def numbers():
        yield 1
        yield int(next(iterators[0]))

    for ahead in (0, 2):
        dataset = tf.data.Dataset.from_generator(
            numbers, output_signature=tf.TensorSpec([], tf.int32)
        ).prefetch(ahead)
        iterators[:] = [iter(dataset)]
        assert int(next(iterators[0])) == 1
        with pytest.raises(tf.errors.FailedPreconditionError, match="asks the iterator"):
            next(iterators[0])
