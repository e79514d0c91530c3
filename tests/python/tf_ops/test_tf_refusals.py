"""mica.tf: operands that mean nothing are refused, and the process lives."""

import mica.tf as tf
import numpy as np
import pytest

HUGE = 1 << 62

REFUSED = {
    "a list of no tensors": lambda: tf.raw_ops.Pack(values=[]),
    "a sum of no tensors": lambda: tf.raw_ops.AddN(inputs=[]),
    "a choice of no branches": lambda: tf.raw_ops.Case(
        branch_index=0, input=[], Tout=[tf.float32], branches=[]
    ),
    "no parts": lambda: tf.split(tf.ones(4), 0),
    "two axes to split": lambda: tf.split(tf.ones(4), 2, axis=[0, 0]),
    "no axis to split": lambda: tf.split(tf.ones([2, 2]), 1, axis=tf.zeros([0], tf.int32)),
    "two axes to join": lambda: tf.concat([[1], [2]], axis=[0, 0]),
    "two axes to gather": lambda: tf.gather([1, 2], [0], axis=[0, 0]),
    "two sizes for one": lambda: tf.one_hot([1], tf.constant([1, 2])),
    "a negative size": lambda: tf.broadcast_to(1, [-5, 100]),
    "numbers beyond memory": lambda: tf.random.truncated_normal([HUGE]),
    "others beyond memory": lambda: tf.random.gamma([HUGE], 1.0),
    "an array beyond memory": lambda: tf.zeros([HUGE]),
    "a dtype that is none of numbers": lambda: tf.raw_ops.DecodeRaw(bytes="a", out_type=tf.string),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_op_refuses(what):
    with pytest.raises((ValueError, TypeError, tf.errors.OpError)):
        REFUSED[what]()


@pytest.mark.parametrize("what", REFUSED)
def test_a_function_refuses(what):
    with pytest.raises((ValueError, TypeError, tf.errors.OpError)):
        tf.function(REFUSED[what])()


def test_an_axis_that_is_known_only_when_it_runs_is_refused():
    def gather(axis):
        return tf.gather([1, 2], [0], axis=axis)

    with pytest.raises(ValueError, match="axis must be one number"):
        tf.function(gather)(tf.constant([0, 0]))
    unknown = tf.function(gather, input_signature=[tf.TensorSpec(None, tf.int32)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis must be one number"):
        unknown(tf.constant([0, 0]))


def test_several_strings_are_no_number():
    with pytest.raises(TypeError, match="length-1"):
        float(tf.constant(["a", "b"]))
    assert float(tf.constant("1.5")) == 1.5


def test_a_handle_is_no_array():
    table = tf.raw_ops.AnonymousMutableHashTable(key_dtype=tf.int64, value_dtype=tf.int64)
    for convert in (float, np.asarray, lambda handle: handle.numpy()):
        with pytest.raises((TypeError, ValueError)):
            convert(table)


def test_a_handle_that_no_step_makes_is_not_given_back():
    @tf.function
    def made():
        return tf.raw_ops.AnonymousMutableHashTable(key_dtype=tf.int64, value_dtype=tf.int64)

    with pytest.raises(tf.errors.UnimplementedError, match="resource"):
        made()


def test_nothing_stacked_is_an_empty_vector():
    assert tf.stack([]).shape == (0,)
