"""The error of a run names the line of the script that the failing node was made by."""

import os
import re

import numpy as np
import pytest
from mica import tf

FILE = os.path.abspath(__file__)


def line_of(text):
    """The number of the only line of this file that ends with this comment."""
    with open(FILE, encoding="utf-8") as lines:
        (number,) = [i for i, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {text}")]
    return number


def check(error, text, node, comment):
    """The message, then the node and its line, and both once."""
    message, _, origin = error.value.message.partition("\n\nDetected at node ")
    assert message == text
    match = re.fullmatch(
        r"'(.*)' defined at \(most recent call last\):\n  File \"(.*)\", line (\d+)", origin
    )
    assert match, error.value.message
    assert match[1] == node and match[2] == FILE and int(match[3]) == line_of(comment)


def test_an_index_that_is_an_input_names_the_line_of_its_gather():
    @tf.function
    def take(x, i):
        y = x + 1.0
        return tf.gather(y, i)  # takes

    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            take(tf.constant([1.0, 2.0]), tf.constant([5]))
        check(error, "indices[0] = 5 is not in [0, 2) [Op:GatherV2]", "GatherV2", "takes")


def test_an_index_that_is_computed_in_a_loop_names_its_line():
    @tf.function
    def loop(x):
        i = tf.constant(0)
        while i < 5:
            x = x + tf.gather(tf.constant([1.0, 2.0]), i)  # in the loop
            i += 1
        return x

    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        loop(tf.constant(0.0))
    check(error, "indices = 2 is not in [0, 2) [Op:GatherV2]", "GatherV2", "in the loop")


def test_a_branch_names_the_line_of_what_was_taken():
    @tf.function
    def branch(x, i):
        if x > 0:
            y = tf.gather([1, 2], i)  # when positive
        else:
            y = tf.gather([1, 2, 3], i)
        return y

    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        branch(tf.constant(1.0), tf.constant(2))
    check(error, "indices = 2 is not in [0, 2) [Op:GatherV2]", "GatherV2", "when positive")


def test_a_function_within_a_function_names_the_innermost_line():
    @tf.function
    def inner(x):
        tf.debugging.assert_positive(x, message="must be positive")  # asserts
        return x + 1.0

    @tf.function
    def outer(x):
        return inner(x) * 2.0

    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        outer(tf.constant([-1.0]))
    assert error.value.message.count("Detected at node") == 1
    assert error.value.message.startswith("assertion failed: [must be positive")
    assert f'File "{FILE}", line {line_of("asserts")}' in error.value.message


def test_sizes_that_do_not_go_together_when_they_are_known_name_their_line():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def add(x, y):
        return x + y  # adds

    assert add(tf.ones([2]), tf.ones([2])).shape == [2]
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        add(tf.ones([2]), tf.ones([3]))
    assert f'File "{FILE}", line {line_of("adds")}' in error.value.message


def test_a_gradient_names_the_line_of_its_function():
    @tf.function
    def loss(w, i):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_sum(tf.gather(w, i) ** 2)  # in the tape
        return tape.gradient(y, w)

    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        loss(tf.constant([1.0, 2.0]), tf.constant([7]))
    check(error, "indices[0] = 7 is not in [0, 2) [Op:GatherV2]", "GatherV2", "in the tape")


def test_an_op_that_runs_by_itself_has_its_traceback_alone():
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        tf.gather([1.0, 2.0], [5])
    assert "Detected" not in error.value.message


def test_an_exception_of_the_scripts_own_stays_itself():
    def raises(x):
        raise KeyError("mine")

    @tf.function
    def call(x):
        return tf.py_function(raises, [x], tf.float32)

    with pytest.raises(Exception) as error:
        call(tf.constant(1.0))
    assert "mine" in str(error.value) and "Detected" not in str(error.value)


def test_a_train_step_of_keras_names_the_line_of_the_layer_or_of_fit():
    keras = tf.keras

    class Bounded(keras.layers.Layer):
        def call(self, x):
            tf.debugging.assert_less(x, 100.0)  # in the layer
            return x

    model = keras.Sequential([keras.Input((2,)), Bounded(), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = np.ones((4, 2), np.float32), np.array([0, 1, 2, 1])
    model.fit(x, y, verbose=0)
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        model.fit(1000 * x, y, verbose=0)
    assert f'File "{FILE}", line {line_of("in the layer")}' in error.value.message

    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    other.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        other.fit(x, np.array([0, 1, 2, 7]), verbose=0)  # of fit
    assert error.value.message.startswith("Received a label value of 7 which is outside")
    assert f'File "{FILE}", line {line_of("of fit")}' in error.value.message
    assert "site-packages" not in error.value.message


def test_a_label_out_of_range_in_a_function_names_its_loss():
    @tf.function
    def loss(labels, logits):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)  # loses

    assert loss(tf.constant([0, 2]), tf.zeros([2, 3])).shape == [2]
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        loss(tf.constant([0, 3]), tf.zeros([2, 3]))
    assert "label value of 3 which is outside the valid range of [0, 3)" in error.value.message
    assert f'File "{FILE}", line {line_of("loses")}' in error.value.message
