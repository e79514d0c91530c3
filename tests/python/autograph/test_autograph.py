"""AutoGraph over tensors: 188 functions give eagerly and as tf.function what TensorFlow gives."""

import gzip
import importlib.util
import json
import subprocess
import sys
import traceback
from pathlib import Path

import mica.tf as tf
import numpy as np
import pytest

# The cases say `import tensorflow`; here that is mica.tf, and only while they are imported.
_before = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "tensorflow"}
sys.modules["tensorflow"] = tf
from autograph_cases import CASES, argument  # noqa: E402
from autograph_programs import Writer, made_from  # noqa: E402

del sys.modules["tensorflow"]
sys.modules.update(_before)

with gzip.open(Path(__file__).parent / "data" / "tf_autograph.json.gz", "rt") as _file:
    GOLDEN = json.load(_file)


def listed(result):
    return [np.asarray(part).tolist() for part in tf.nest.flatten(result)]


def same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_there_are_as_many_cases_as_golden_values():
    assert len(CASES) > 180
    assert {case.function.__name__ for case in CASES} == set(GOLDEN)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_a_function_gives_what_tensorflow_gives(case):
    golden = GOLDEN[case.function.__name__]
    function = tf.function(case.function)
    for inputs, wanted in zip(case.inputs, golden["results"], strict=True):
        arguments = [argument(value) for value in inputs]
        same(listed(case.function(*arguments)), wanted)
        same(listed(function(*arguments)), wanted)
    assert function.experimental_get_tracing_count() == golden.get("traces", case.traces)


def test_random_programs_give_the_same_in_a_graph():
    for seed in range(60):
        text = Writer(seed, "tf.constant(0)", "tf.range").function()
        function = made_from(text, tf=tf)
        traced = tf.function(function)
        for n in (0, 1, 7):
            assert int(traced(tf.constant(n))) == int(function(tf.constant(n))), text
        assert traced.experimental_get_tracing_count() == 1


def ops_of(function, *specs):
    graph = function.get_concrete_function(*specs).graph
    return [operation.type for operation in graph.get_operations()]


def test_the_graph_holds_branches_and_loops():
    @tf.function
    def branch(x):
        return x if x > 0 else -x

    @tf.function
    def loop(n):
        total = 0
        for i in tf.range(n):
            total += i
        return total

    spec = tf.TensorSpec([], tf.int32)
    assert any(kind in ("If", "StatelessIf") for kind in ops_of(branch, spec))
    assert any(kind in ("While", "StatelessWhile") for kind in ops_of(loop, spec))


def test_python_runs_once_and_the_graph_runs_every_time():
    seen = []

    @tf.function
    def function(x):
        seen.append(1)
        if x > 0:
            seen.append("then")
            y = x * 2
        else:
            seen.append("else")
            y = x * 3
        return y

    assert int(function(tf.constant(2))) == 4 and int(function(tf.constant(-2))) == -6
    assert seen == [1, "then", "else"]


@pytest.mark.parametrize("value", [1])
class TestMessages:
    """Errors name the variable."""

    def check(self, kind, words, function, value):
        with pytest.raises(kind, match=words):
            tf.function(function)(tf.constant(value))

    def test_one_branch_alone_defines_a_variable(self, value):
        def f(x):
            if x > 0:
                y = 1
            return y

        self.check(ValueError, "'y' must also be initialized in the else branch", f, value)

    def test_branches_of_different_dtypes(self, value):
        def f(x):
            if x > 0:
                y = 1
            else:
                y = 1.0
            return y

        words = "'y' has dtype int32 in the main branch, but dtype float32 in the else branch"
        self.check(TypeError, words, f, value)

    def test_branches_of_different_structures(self, value):
        def f(x):
            if x > 0:
                y = (1, 2)
            else:
                y = [1, 2]
            return y

        self.check(TypeError, "'y' must have the same nested structure", f, value)

    def test_none_in_one_branch(self, value):
        def f(x):
            y = None
            if x > 0:
                y = 1
            return y

        self.check(ValueError, "'y' is None at the end of the else branch", f, value)

    def test_a_shape_that_changes_in_a_loop(self, value):
        def f(n):
            s = tf.zeros([1])
            for _ in tf.range(n):
                s = tf.concat([s, s], 0)
            return s

        words = r"'s' has shape \(1,\) before the loop, but shape \(2,\) after one iteration"
        self.check(ValueError, words, f, value)

    def test_a_variable_that_only_the_loop_reads_and_defines(self, value):
        def f(n):
            for i in tf.range(n):
                if i > 0:
                    y = y + 1  # noqa: F821
                else:
                    y = 0
            return y

        self.check(ValueError, "'y' must be defined before the loop", f, value)

    def test_a_missing_return(self, value):
        def f(x):
            if x > 0:
                return x

        self.check(ValueError, "must also have a return statement", f, value)

    def test_a_python_loop_with_a_tensor_break(self, value):
        def f(x):
            for i in [1, 2, 3]:
                if x > i:
                    break
            return i

        self.check(NotImplementedError, "break and return statements", f, value)

    def test_a_loop_that_becomes_one_of_tensors(self, value):
        def f(x):
            i = 0
            while i < 3:
                i = i + x
            return i

        self.check(NotImplementedError, "started as non-Tensor", f, value)

    def test_a_condition_that_is_no_bool(self, value):
        def f(x):
            if x:
                return 1
            return 2

        self.check(
            ValueError, "condition of if statement expected to be `tf.bool` scalar", f, value
        )


def test_a_loop_that_must_run_says_so():
    @tf.function
    def function(n):
        for i in tf.range(n):
            y = i * 2
        return y

    assert int(function(tf.constant(3))) == 4
    with pytest.raises(tf.errors.InvalidArgumentError, match="loop must iterate at least once"):
        function(tf.constant(0))


def test_assertions_are_checked_when_the_graph_runs():
    @tf.function
    def function(x):
        assert x > 0, "x is positive"
        return x

    assert int(function(tf.constant(1))) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="x is positive"):
        function(tf.constant(-1))


def fails(x):
    y = x
    if x > 0:
        y = tf.zeros([2]) + tf.zeros([3])  # the line
    return y


def test_errors_point_at_the_line_of_the_user():
    with pytest.raises((ValueError, tf.errors.OpError)) as caught:
        tf.function(fails)(tf.constant(1.0))
    lines = traceback.extract_tb(caught.value.__traceback__)
    assert lines[-1].line.endswith("# the line")
    assert lines[-1].lineno == fails.__code__.co_firstlineno + 3
    own = str(Path(tf.__file__).parent)
    assert sum(line.filename.startswith(own) for line in lines) == 1


def test_variables_alone_are_a_loop_s_state():
    v = tf.Variable(0)

    @tf.function
    def function(n):
        while v < n:
            v.assign_add(2)
        return v.read_value()

    assert int(function(tf.constant(5))) == 6
    assert int(function(tf.constant(9))) == 10


def test_the_number_of_iterations_can_be_limited():
    @tf.function
    def function(n):
        i = 0
        while i < n:
            tf.autograph.experimental.set_loop_options(maximum_iterations=5)
            i += 1
        return i

    assert int(function(tf.constant(7))) == 5 and int(function(tf.constant(3))) == 3


def test_functions_without_conversion_run_as_they_are():
    def function(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(TypeError, match="bool"):
        tf.function(function, autograph=False)(tf.constant(1))

    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return function(x)

    with pytest.raises(TypeError, match="bool"):
        tf.function(plain)(tf.constant(1))


def test_converted_functions_run_eagerly_too():
    function = tf.autograph.to_graph(fails)
    assert int(function(tf.constant(-3))) == -3


def test_datasets_are_looped_over_in_a_graph():
    @tf.function
    def total(dataset, stop):
        count = 0
        found = tf.constant(0.0)
        for x, y in dataset:
            if tf.reduce_sum(x) > stop:
                break
            found += tf.reduce_sum(x * y)
            count += 1
        return found, count

    x = np.arange(10, dtype=np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, x + 1.0)).batch(4)
    found, count = total(dataset, tf.constant(1e9))
    assert float(found) == float((x * (x + 1)).sum()) and int(count) == 3
    found, count = total(dataset, tf.constant(10.0))
    assert int(count) == 1 and float(found) == float((x * (x + 1))[:4].sum())
    assert total.experimental_get_tracing_count() == 1


def test_a_function_returns_from_a_loop_over_a_dataset():
    @tf.function
    def first_above(limit):
        for x in tf.data.Dataset.range(6):
            if x * x > limit:
                return x
        return tf.constant(-1, tf.int64)

    assert int(first_above(tf.constant(10, tf.int64))) == 4
    assert int(first_above(tf.constant(100, tf.int64))) == -1


def test_an_iterator_goes_on_where_it_was():
    @tf.function
    def rest(iterator):
        total = tf.constant(0, tf.int64)
        first = next(iterator)
        for x in iterator:
            total += x
        return first, total

    iterator = iter(tf.data.Dataset.range(5))
    next(iterator)
    first, total = rest(iterator)
    assert (int(first), int(total)) == (1, 2 + 3 + 4)


def test_training_steps_run_in_a_loop_over_a_dataset():
    w = tf.Variable(0.0)

    @tf.function
    def epoch(dataset):
        loss = tf.constant(0.0)
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(w * x - y))
            w.assign_sub(0.05 * tape.gradient(loss, w))
        return loss

    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, 3.0 * x)).batch(2)
    for _ in range(20):
        loss = epoch(dataset)
    assert float(loss) < 1e-6 and abs(float(w) - 3.0) < 1e-3


def test_tapes_inside_branches_and_loops_see_variables():
    w = tf.Variable(3.0)

    @tf.function
    def in_a_loop(x, n):
        of_w, of_x = tf.constant(0.0), tf.constant(0.0)
        for _ in tf.range(n):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = w * x * x
            of_w, of_x = tape.gradient(y, w), tape.gradient(y, x)
        return of_w, of_x

    assert [float(g) for g in in_a_loop(tf.constant(2.0), tf.constant(2))] == [4.0, 12.0]

    @tf.function
    def in_a_branch(x):
        if x > 0.0:
            with tf.GradientTape() as tape:
                y = w * w * x
            g = tape.gradient(y, w)
        else:
            g = x
        return g

    with tf.GradientTape() as tape:
        g = in_a_branch(tf.constant(2.0))
    assert float(g) == 12.0 and float(tape.gradient(g, w)) == 4.0


LINES = """\
import traceback

import tensorflow as tf


def decorate(function):
    return function


@tf.function
def plain(x):
    y = x + 1
    return tf.matmul(y, tf.ones((3, 3)))  # here


@tf.function
@decorate
def branch(x):

    y = x + 1
    if tf.reduce_sum(y) > 0:
        y = y * 2
        y = tf.matmul(y, tf.ones((3, 3)))  # here
    return y


class Layer(tf.keras.layers.Layer):
    def call(self, x):
        return tf.matmul(x, tf.ones((17, 3)))  # here


model = tf.keras.Sequential([Layer()])
model.compile("sgd", "mse")
calls = [
    lambda: plain(tf.ones((2, 2))),
    lambda: branch(tf.ones((2, 2))),
    lambda: model.fit(tf.ones((8, 4)), tf.ones((8, 3)), verbose=0),
]
for call in calls:
    try:
        call()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.line for frame in frames if frame.filename == __file__]
        assert own[-1].endswith("# here"), own
    else:
        raise AssertionError("no error")
"""


def test_tracebacks_show_the_lines_that_failed(tmp_path):
    script = tmp_path / "lines.py"
    script.write_text(LINES)
    command = [sys.executable, "-m", "mica.tf", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


TRAIN_STEP = """
import traceback

import keras
import numpy as np
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x):
        return tf.matmul(self.dense(x), tf.zeros([7, 3]))  # call

    def train_step(self, data):
        x, y = data
        predicted = self(x)  # train_step
        return {"loss": tf.reduce_sum(predicted - y)}


model = Model()
model.compile("sgd", "mse")
x = np.zeros((4, 2), "float32")
try:
    model.fit(x, x, verbose=0)  # fit
except ValueError as error:
    shown = traceback.extract_tb(error.__traceback__)
own = [(f.name, f.line.partition("  # ")[2]) for f in shown if f.filename == __file__]
assert own == [("<module>", "fit"), ("train_step", "train_step"), ("call", "call")], own
"""


@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="keras is not installed")
def test_tracebacks_show_the_lines_of_a_train_step_of_keras(tmp_path):
    script = tmp_path / "train_step.py"
    script.write_text(TRAIN_STEP)
    command = [sys.executable, "-m", "mica.tf", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_tf_function_is_given_is_converted_wherever_it_comes_from():
    def larger(x):
        if x > 0.0:
            return x
        return -x

    larger.__module__ = "keras.somewhere"

    def calls_it(x):
        return larger(x)

    asked = tf.function(larger)
    assert float(asked(tf.constant(-3.0))) == 3.0
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(calls_it)(tf.constant(1.0))
