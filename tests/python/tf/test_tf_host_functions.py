"""Functions of Python that graphs call live as long as a graph that calls them, and no longer."""

import gc
import threading
import weakref

import mica.tf as tf
import pytest
from mica import _mica


class Doubled:
    """A function that weak references can follow."""

    def __call__(self, x):
        return x * 2


@pytest.fixture(autouse=True)
def counted():
    """Each test gives back what it made."""
    gc.collect()
    before = _mica.tf_function_count()
    yield
    gc.collect()
    assert _mica.tf_function_count() == before


def made(door, functions: list):
    function = Doubled()
    functions.append(weakref.ref(function))
    return tf.function(lambda x: door(function, [x], tf.float32))


def living(references: list) -> int:
    gc.collect()
    return sum(reference() is not None for reference in references)


@pytest.mark.parametrize("door", [tf.py_function, tf.numpy_function])
def test_thousands_of_throwaway_functions_leave_nothing(door):
    functions = []
    for i in range(2000):
        assert float(made(door, functions)(tf.constant(float(i)))) == 2.0 * i
    assert len(functions) == 2000
    assert living(functions) == 0


def test_a_function_is_gone_with_its_gradient_whether_that_was_asked_or_not():
    functions, x = [], tf.constant(3.0)
    for asked in [False, True] * 50:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = made(tf.py_function, functions)(x)
        if asked:
            assert float(tape.gradient(y, x)) == 2.0
    del tape, y
    assert living(functions) == 0


def test_a_derivative_keeps_what_it_calls():
    functions, x = [], tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = made(tf.py_function, functions)(x)
    assert living(functions) == 1
    assert float(tape.gradient(y, x)) == 2.0


class Holder:
    """Its function calls it: a ring that passes through the library."""

    def __init__(self, body) -> None:
        self.function = tf.function(lambda x: body(self, x))

    def double(self, x):
        return x * 2


def by_call(self, x):
    return tf.py_function(self.double, [x], tf.float32)


def by_numpy(self, x):
    return tf.numpy_function(self.double, [x], tf.float32)


def by_map(self, x):
    return tf.map_fn(lambda v: tf.py_function(self.double, [v], tf.float32), x)


def by_branch(self, x):
    return tf.cond(x[0] > 0, lambda: by_call(self, x), lambda: x)


def by_loop(self, x):
    def body(i, x):
        return i + 1, tf.ensure_shape(by_call(self, x), [3])

    return tf.while_loop(lambda i, _: i < 1, body, (0, x))[1]


@pytest.mark.parametrize("body", [by_call, by_numpy, by_map, by_branch, by_loop])
@pytest.mark.parametrize("derives", [False, True])
def test_a_ring_through_a_graph_is_collected(body, derives):
    x, holders = tf.ones([3]), []
    for _ in range(20):
        holder = Holder(body)
        holders.append(weakref.ref(holder))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = holder.function(x)
        assert y.numpy().tolist() == [2.0, 2.0, 2.0]
        if derives:
            tape.gradient(y, x)
    gc.collect()
    assert float(holder.function(x)[0]) == 2.0  # collections leave what is in use alone
    del holder, tape, y
    assert living(holders) == 0


def test_a_dataset_keeps_what_it_calls_without_the_graphs_object():
    holders, results = [], []
    for _ in range(5):
        holder = Doubled()
        holders.append(weakref.ref(holder))
        data = tf.data.Dataset.range(3).map(
            lambda x, f=holder: tf.py_function(f, [x], tf.int64), num_parallel_calls=2
        )
        iterator = iter(data.batch(3))
        del data, holder
        gc.collect()
        results.append(next(iterator).numpy().tolist())
    assert results == [[0, 2, 4]] * 5
    del iterator
    assert living(holders) == 0


def test_generators_are_given_back_after_their_end():
    class Source:
        def __call__(self):
            yield from [1, 2]

    sources = []
    for _ in range(40):
        source = Source()
        sources.append(weakref.ref(source))
        data = tf.data.Dataset.from_generator(source, output_signature=tf.TensorSpec([], tf.int32))
        assert [int(x) for x in data] == [1, 2]
    del source, data
    assert living(sources) == 0


def test_collections_while_threads_call_functions():
    """Rings are made, called and dropped by several threads while another collects."""
    errors, ended = [], threading.Event()

    def work() -> None:
        try:
            for i in range(60):
                found = Holder(by_call if i % 2 else by_map).function(tf.ones([2]))
                assert found.numpy().tolist() == [2.0, 2.0]
        except Exception as error:  # told below
            errors.append(error)

    def collect() -> None:
        while not ended.is_set():
            gc.collect()

    workers = [threading.Thread(target=work) for _ in range(3)]
    collector = threading.Thread(target=collect)
    for thread in [*workers, collector]:
        thread.start()
    for thread in workers:
        thread.join()
    ended.set()
    collector.join()
    assert not errors


def test_a_number_without_a_function_is_an_error():
    with pytest.raises(tf.errors.NotFoundError, match="function 123456789 is not registered"):
        tf.raw_ops.PyFunc(input=[tf.constant(1.0)], token=123456789, Tout=[tf.float32])


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="cannot be called"):
        _mica.TFFunction(3)
