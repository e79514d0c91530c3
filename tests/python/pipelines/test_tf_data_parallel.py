"""tf.data side by side: what runs at the same time, and that nothing else changes by it."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import mica.tf as tf
import numpy as np
import pytest

Dataset = tf.data.Dataset


def listed(dataset):
    return [np.asarray(v).tolist() for v in dataset.as_numpy_iterator()]


def run(program: str, *arguments: str, threads: int = 2, timeout: int = 60):
    environment = {**os.environ, "MICA_THREADS": str(threads)}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


# A pipe is read by nobody before its reader is there: the second one is written first, so that
# the first reader ends only when the second has begun.
_PIPES = """
import os, sys, threading
import mica.tf as tf

names = [os.path.join(sys.argv[1], name) for name in "ab"]
for name in names:
    os.mkfifo(name)

def write():
    for name in reversed(names):
        with open(name, "w") as file:
            file.write(name[-1])

threading.Thread(target=write, daemon=True).start()
read = tf.io.read_file
dataset = tf.data.Dataset.from_tensor_slices(names)
dataset = eval(sys.argv[2])
print(*(v.decode() for v in dataset.as_numpy_iterator()))
"""


@pytest.mark.parametrize(
    "pipeline",
    [
        "dataset.map(read, num_parallel_calls=2)",
        "dataset.map(read, num_parallel_calls=tf.data.AUTOTUNE)",
        "dataset.map(read, num_parallel_calls=2, deterministic=False)",
        "dataset.interleave(lambda n: tf.data.Dataset.from_tensors(n).map(read), "
        "cycle_length=2, num_parallel_calls=2)",
    ],
)
def test_two_calls_are_inside_at_the_same_time(tmp_path, pipeline):
    finished = run(_PIPES, str(tmp_path), pipeline)
    assert sorted(finished.stdout.split()) == ["a", "b"], finished.stderr
    if "False" not in pipeline:
        assert finished.stdout.split() == ["a", "b"]


@pytest.mark.parametrize("calls", [1, 2, 7, tf.data.AUTOTUNE])
def test_the_order_and_random_numbers_are_those_of_a_plain_map(calls):
    def noisy(x):
        return tf.random.uniform([3]) + tf.random.normal([3]) + tf.cast(x, tf.float32)

    given = []
    for parallel in ({}, {"num_parallel_calls": calls}):
        tf.random.set_seed(3)
        dataset = Dataset.range(20).map(noisy, **parallel)
        given.append(listed(dataset.repeat(2)) + listed(dataset))
    assert given[0] == given[1]


def test_numbers_of_a_branch_are_those_of_a_plain_map_too():
    def noisy(x):
        if x % 2 == 0:
            return tf.random.uniform([])
        return 0.0

    given = []
    for parallel in ({}, {"num_parallel_calls": 4}):
        tf.random.set_seed(3)
        given.append(listed(Dataset.range(12).map(noisy, **parallel)))
    assert given[0] == given[1]


@pytest.mark.parametrize("block", [1, 3, 40])
@pytest.mark.parametrize("cycle", [1, 2, 5, 30])
def test_a_parallel_interleave_has_the_order_of_a_plain_one(cycle, block):
    def some(i):
        return Dataset.range(i * 10, i * 10 + i % 4)

    plain = listed(Dataset.range(12).interleave(some, cycle, block))
    for calls in (1, 2, tf.data.AUTOTUNE):
        made = Dataset.range(12).interleave(some, cycle, block, num_parallel_calls=calls)
        assert listed(made) == plain
    free = Dataset.range(12).interleave(
        some, cycle, block, num_parallel_calls=3, deterministic=False
    )
    assert sorted(listed(free)) == sorted(plain)


def test_functions_of_python_run_in_order_on_the_thread_that_asks():
    calls = []

    def seen(x):
        calls.append((int(x), threading.get_ident()))
        return x

    def function(x):
        return tf.py_function(seen, [x], tf.int64)

    assert listed(Dataset.range(9).map(function, num_parallel_calls=4)) == list(range(9))
    assert calls == [(i, threading.get_ident()) for i in range(9)]
    calls.clear()
    nested = Dataset.range(3).interleave(
        lambda i: Dataset.range(2).map(function), cycle_length=3, num_parallel_calls=3
    )
    assert listed(nested) == [0, 0, 0, 1, 1, 1]
    assert {thread for _, thread in calls} == {threading.get_ident()}


def test_effects_keep_their_order():
    seen = tf.Variable(0, dtype=tf.int64)

    def count(x):
        return seen.assign(seen * 3 + x)

    assert listed(Dataset.range(4).map(count, num_parallel_calls=4)) == [0, 1, 5, 18]


@pytest.mark.parametrize("parallel", [{}, {"num_parallel_calls": 2}])
def test_an_error_comes_in_its_turn_and_names_stage_and_element(parallel):
    def picky(x):
        tf.debugging.assert_none_equal(x, tf.constant(2, tf.int64))
        return x

    iterator = iter(Dataset.range(5).map(picky, **parallel))
    assert [int(next(iterator)) for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"element 2: .*MapDataset"):
        next(iterator)
    assert [int(v) for v in iterator] == [3, 4]


def test_counts_that_are_no_counts_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls"):
        Dataset.range(3).map(lambda x: x, num_parallel_calls=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls"):
        Dataset.range(3).interleave(lambda x: Dataset.range(x), num_parallel_calls=-2)


def test_a_pipeline_inside_a_function_of_another_ends_with_any_number_of_threads():
    program = """
    import mica.tf as tf
    D = tf.data.Dataset
    def inner(i):
        made = D.range(i).map(lambda x: x * 2, num_parallel_calls=4)
        return made.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)
    dataset = D.range(40).map(inner, num_parallel_calls=4)
    dataset = dataset.map(inner, num_parallel_calls=4).prefetch(2)
    print(sum(int(v) for v in dataset))
    """
    wanted = sum((i * (i - 1)) * (i * (i - 1) - 1) for i in range(40))
    for threads in (1, 2, 3):
        finished = run(program, threads=threads)
        assert finished.stdout.split() == [str(wanted)], finished.stderr


def _opened(name, process) -> int:
    """The pipe for writing, as soon as the process reads it."""
    while process.poll() is None:
        try:
            return os.open(name, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno not in (errno.ENXIO, errno.ENOENT):
                raise
        time.sleep(0.01)
    raise AssertionError(f"the process ended with {process.returncode}")


def test_ctrl_c_ends_the_wait_for_a_call(tmp_path):
    """Nobody writes to the pipe: the call does not end by itself."""
    program = """
    import os, signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    import mica.tf as tf
    names = tf.data.Dataset.from_tensor_slices([sys.argv[1], sys.argv[1]])
    iterator = iter(names.map(tf.io.read_file, num_parallel_calls=2).prefetch(1))
    try:
        next(iterator)
    except KeyboardInterrupt:
        print("left", flush=True)
        os._exit(0)
    """
    name = tmp_path / "pipe"
    os.mkfifo(name)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(name)],
        env={**os.environ, "MICA_THREADS": "2"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        pipe = _opened(name, process)
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[0] == "left\n"
        finally:
            process.kill()
            os.close(pipe)
        assert process.returncode == 0
