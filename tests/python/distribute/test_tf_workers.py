"""MultiWorkerMirroredStrategy with several workers: processes that meet, and some that do not."""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import mica.tf as tf
import numpy as np
import pytest
from mica.tf.distribute import _group

START = """
import json, sys
import mica.tf as tf
import numpy as np
strategy = tf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(timeout_seconds=60.0))
me = strategy.cluster_resolver.task_id
def lists(value):
    return tf.nest.map_structure(lambda v: np.asarray(v).tolist(), value)
"""


def addresses(count: int) -> list[str]:
    """Addresses whose ports are free."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("localhost", 0))
    found = [f"localhost:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found


def run_workers(program: str, count: int = 2) -> list:
    """What each of the workers prints as JSON at last."""
    cluster = {"worker": addresses(count)}
    children = []
    for index in range(count):
        task = {"type": "worker", "index": index}
        text = json.dumps({"cluster": cluster, "task": task})
        children.append(
            subprocess.Popen(
                [sys.executable, "-c", START + program],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "TF_CONFIG": text},
            )
        )
    try:
        ended = [child.communicate(timeout=100) for child in children]
    finally:
        for child in children:
            child.kill()
    for child, (_, error) in zip(children, ended, strict=True):
        assert child.returncode == 0, error
    return [json.loads(out.splitlines()[-1]) for out, _ in ended]


VALUES = """
x = tf.constant([1.0, 2.0]) * (me + 1)
def replica():
    context = tf.distribute.get_replica_context()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        summed = tf.reduce_sum(context.all_reduce("SUM", x * x))
        gathered = tf.reduce_sum(context.all_gather(x * x, 0) * [1.0, 2.0, 3.0, 4.0])
    return [
        context.all_reduce("SUM", x),
        context.all_reduce("MEAN", {"a": x, "b": [x + 1.0, tf.constant(float(me))]}),
        context.all_gather(tf.fill([me + 1, 2], float(me)), axis=0),
        tape.gradient(summed, x),
        tape.gradient(gathered, x),
        context.all_reduce("SUM", tf.cast(x, tf.bfloat16)),
        context.all_reduce("SUM", tf.IndexedSlices(x[None], tf.constant([me]), [2, 2])),
    ]
eager = strategy.run(replica)
traced = tf.function(lambda: strategy.run(replica))()
rows = tf.constant([1.0, 2.0, 6.0])[: 2 + me]
print(json.dumps([
    lists([tf.nest.map_structure(lambda v: tf.cast(v, tf.float32), e) for e in (eager, traced)]),
    lists([strategy.reduce("MEAN", rows, axis=0), strategy.reduce("SUM", rows, axis=0)]),
    lists([strategy.reduce("MEAN", x, axis=None), strategy.gather(x, axis=0)]),
    strategy.num_replicas_in_sync,
    strategy.experimental_local_results(strategy.experimental_distribute_values_from_function(
        lambda c: [c.replica_id_in_sync_group, c.num_replicas_in_sync])[0]),
]))
"""


def test_workers_combine_their_values_as_tensorflow_does():
    found = run_workers(VALUES)
    for me, (both, rows, x, count, number) in enumerate(found):
        wanted = [
            [3.0, 6.0],
            {"a": [1.5, 3.0], "b": [[2.5, 4.0], 0.5]},
            [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]],
            [4.0 * (me + 1), 8.0 * (me + 1)],
            [[4.0, 16.0], [24.0, 64.0]][me],
            [3.0, 6.0],
            [[1.0, 2.0], [2.0, 4.0]],
        ]
        assert both == [wanted, wanted]
        assert rows == [pytest.approx(2.4), 12.0]
        assert x == [[1.5, 3.0], [1.0, 2.0, 2.0, 4.0]]
        assert (count, number) == (2, [me])


VARIABLES = """
tf.random.set_seed(5 + me)
aggregations = tf.VariableAggregation
found = []
with strategy.scope():
    drawn = tf.Variable(tf.random.uniform([3]))
for kind in (aggregations.SUM, aggregations.MEAN, aggregations.ONLY_FIRST_REPLICA):
    for when in (tf.VariableSynchronization.AUTO, tf.VariableSynchronization.ON_READ):
        with strategy.scope():
            v = tf.Variable([1.0, 2.0], trainable=False, aggregation=kind, synchronization=when)
        @tf.function
        def step():
            v.assign_add([1.0 + me, 1.0])
            return v.read_value()
        @tf.function
        def nothing(variable):
            variable.assign_add([0.0, 0.0])
            return variable.read_value()
        found.append(lists([strategy.run(step), v]))
        strategy.run(nothing, args=(v,))
        v.assign(tf.constant([4.0, 6.0]))
        found.append(lists(v))
def batches(dataset):
    return [b.numpy().tolist() for b in strategy.experimental_distribute_dataset(dataset)]
numbers = tf.data.Dataset.range(13)
pairs = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": [[4], [5], [6]]}).batch(2)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
made = strategy.distribute_datasets_from_function(
    lambda c: numbers.shard(c.num_input_pipelines, c.input_pipeline_id).batch(
        c.get_per_replica_batch_size(8)))
twice = strategy.experimental_distribute_dataset(
    strategy.experimental_distribute_dataset(numbers.batch(4)))
print(json.dumps([
    lists(drawn), found, batches(numbers.batch(4)),
    batches(tf.data.Dataset.range(8).batch(4).with_options(options)), batches(numbers.take(5)),
    [lists(e) for e in strategy.experimental_distribute_dataset(pairs)],
    [b.numpy().tolist() for b in made], [b.numpy().tolist() for b in twice],
]))
"""


def test_variables_and_datasets_of_workers_are_as_tensorflow_has_them():
    first, second = run_workers(VARIABLES)
    assert first[0] == second[0]
    for me, found in enumerate((first, second)):
        own = [[2.0, 3.0], [3.0, 3.0]][me]
        after = [4.0, 6.0]
        assert found[1] == [
            *([[4.0, 4.0]] * 2, after),  # SUM: 1 + (1 + 2), 2 + (1 + 1)
            *([own, [5.0, 6.0]], after),
            *([[2.5, 3.0]] * 2, after),  # MEAN
            *([own, [2.5, 3.0]], after),
            *([own] * 2, after),
            *([own] * 2, after),
        ]
        assert (
            found[2]
            == [
                [[0, 1], [4, 5], [8, 9], [12]],
                [[2, 3], [6, 7], [10, 11], []],
            ][me]
        )
        assert found[3] == [[0, 1], [2, 3], [4, 5], [6, 7]]
        assert found[4] == [[0, 2], [1, 3]][me]
        assert (
            found[5]
            == [
                [{"a": [1], "b": [[4]]}, {"a": [3], "b": [[6]]}],
                [{"a": [2], "b": [[5]]}, {"a": [], "b": []}],
            ][me]
        )
        assert found[6] == [[[0, 2, 4, 6], [8, 10, 12]], [[1, 3, 5, 7], [9, 11]]][me]
        assert found[7] == found[2]


FIT = """
import mica.tf
mica.tf.install()
import keras
keras.utils.set_random_seed(3 + me)
x = np.arange(32, dtype="float32").reshape(16, 2) / 32
y = x @ np.array([[1.0], [2.0]], "float32")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
with strategy.scope():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.1, momentum=0.9), loss="mse", metrics=["mae"])
before = lists(model.get_weights())
history = model.fit(data, epochs=2, verbose=0, shuffle=False).history
print(json.dumps([before, lists(model.get_weights()), history,
    lists(model.predict(x[:4], verbose=0)), model.evaluate(data, verbose=0)]))
"""


def test_keras_fits_with_two_workers_as_with_one():
    if importlib.util.find_spec("keras") is None:
        pytest.skip("there is no keras")
    first, second = run_workers(FIT)
    assert first == second
    before, after, history, predicted, evaluated = first
    x = np.arange(32, dtype="float32").reshape(16, 2) / 32
    y = x @ np.array([[1.0], [2.0]], "float32")
    weights = [np.array(w) for w in before]
    velocity = [np.zeros_like(w) for w in weights]
    for _ in range(2):
        for at in (0, 8):
            part, target = x[at : at + 8], y[at : at + 8]
            hidden = part @ weights[0] + weights[1]
            error = 2.0 * (hidden @ weights[2] + weights[3] - target) / 8
            back = error @ weights[2].T
            gradients = [part.T @ back, back.sum(0), hidden.T @ error, error.sum(0)]
            for i, gradient in enumerate(gradients):
                velocity[i] = 0.9 * velocity[i] - 0.1 * gradient
                weights[i] = weights[i] + velocity[i]
    for got, wanted in zip(after, weights, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    out = (x @ weights[0] + weights[1]) @ weights[2] + weights[3]
    np.testing.assert_allclose(predicted, out[:4], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(evaluated[0], np.mean((out - y) ** 2), rtol=1e-4)
    assert len(history["loss"]) == 2


MPIRUN = shutil.which("mpirun", path=str(Path(sys.executable).parent))
LAUNCHED = """
import mica.tf as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    v = tf.Variable(float(strategy.cluster_resolver.task_id + 5))
step = tf.function(lambda: tf.distribute.get_replica_context().all_reduce(
    "SUM", v * (strategy.cluster_resolver.task_id + 1.0)))
print(strategy._collectives.engine, strategy.num_replicas_in_sync, float(strategy.run(step)))
"""


@pytest.mark.skipif(not MPIRUN, reason="there is no mpirun beside Python")
def test_workers_that_mpirun_started_meet_by_mpi():
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run = subprocess.run(
        [MPIRUN, "-n", "2", "--oversubscribe", sys.executable, "-c", LAUNCHED],
        env={**os.environ, **root},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["mpi 2 15.0"] * 2


# ---- in threads of this process


def together(works: list, seconds: float = 20.0) -> list:
    """What functions of groups give, each in a thread: a value or an exception."""
    places = addresses(len(works))
    found = [None] * len(works)

    def call(index: int) -> None:
        try:
            found[index] = works[index](lambda: _group.Group(places, index, seconds, 20.0))
        except Exception as error:
            found[index] = error

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_sums_are_a_tree_over_the_workers():
    parts = [1e8, 1.0, -1e8, 1.0, 3.0]

    def work(value):
        def call(join):
            group = join()
            (total,) = group.meet("sum", [tf.constant(value)])
            (first,) = group.meet("first", [tf.constant(value)])
            return float(total), float(first)

        return call

    a, b, c, d, e = (np.float32(part) for part in parts)
    total = ((a + b) + (c + d)) + e
    assert together([work(part) for part in parts]) == [(float(total), 1e8)] * 5


@pytest.mark.parametrize("dead", [0, 2])
def test_a_worker_that_is_lost_ends_the_meetings_of_all(dead):
    def work(index):
        def call(join):
            group = join()
            group.meet("sum", [tf.constant(1.0)])
            if index == dead:
                group.close()
                return None
            group.meet("sum", [tf.constant(1.0)])

        return call

    start = time.monotonic()
    found = together([work(i) for i in range(3)])
    assert time.monotonic() - start < 10.0
    for index, error in enumerate(found):
        if index != dead:
            assert isinstance(error, tf.errors.UnavailableError), error
            assert f"rank {dead} " in str(error)


def test_after_a_loss_nothing_is_tried_again():
    def first(join):
        group = join()
        for _ in range(2):
            with pytest.raises(tf.errors.UnavailableError, match="rank 1"):
                group.meet("sum", [tf.constant(1.0)])
        return "told"

    assert together([first, lambda join: join().close()])[0] == "told"


def test_workers_that_do_not_come_are_named_in_time():
    places = addresses(2)
    for index, words in ((0, "rank 1 .* did not come"), (1, "rank 0 .* cannot be reached")):
        with pytest.raises(tf.errors.UnavailableError, match=words):
            _group.Group(places, index, 0.3)


def test_a_worker_that_is_silent_is_lost_in_time():
    over = threading.Event()

    def silent(join):
        group = join()
        over.wait(20)
        return group

    def waits(join):
        group = join()
        try:
            return group.meet("sum", [tf.constant(1.0)])
        finally:
            over.set()

    error = together([waits, silent], 0.2)[0]
    assert isinstance(error, tf.errors.UnavailableError) and "rank 1" in str(error)


def test_workers_of_different_programs_are_told_so():
    def work(what, value):
        return lambda join: join().meet(what, [value])

    one, two = tf.constant([1.0]), tf.constant([1.0, 2.0])
    for errors in (
        together([work("sum", one), work("first", one)]),
        together([work("sum", one), work("sum", two)]),
        together([work("sum", one), work("sum", tf.constant([1]))]),
    ):
        kinds = (tf.errors.InternalError, tf.errors.InvalidArgumentError)
        assert all(isinstance(error, kinds) for error in errors), errors


def test_strangers_at_the_port_are_sent_away():
    places = addresses(2)
    found = []

    def lead():
        group = _group.Group(places, 0, 20.0)
        found.append(group.meet("sum", [tf.constant(1.0)])[0])

    thread = threading.Thread(target=lead)
    thread.start()
    host, port = places[0].split(":")
    for data in (b"GET / HTTP/1.1\r\n\r\n", b"MICA" + b"\xff" * 12, b"M"):
        for _ in range(100):
            try:
                stranger = socket.create_connection((host, int(port)), 5.0)
                break
            except OSError:
                time.sleep(0.02)
        stranger.sendall(data)
        stranger.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="the same addresses"):
        _group.Group([places[0], "elsewhere:1"], 1, 5.0)
    group = _group.Group(places, 1, 20.0)
    assert float(group.meet("sum", [tf.constant(2.0)])[0]) == 3.0
    thread.join(20)
    assert float(found[0]) == 3.0
