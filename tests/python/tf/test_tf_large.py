"""Graphs of many nodes: time grows with their number, and no fixed size is in the way."""

import pytest

tf = pytest.importorskip("mica.tf")

TURNS = 3000


def chain(x, w):
    for _ in range(TURNS):
        x = tf.tanh(x) + w
    return x


def test_a_function_of_many_nodes_is_traced_and_differentiated_inside():
    @tf.function(autograph=False)
    def gradients(x, w):
        with tf.GradientTape() as tape:
            tape.watch((x, w))
            y = chain(x, w)
        return tape.gradient(y, (x, w))

    # Each derivative looks at its own op, not at the whole graph: this takes less than a second.
    by_x, by_w = gradients(tf.zeros([2]), tf.fill([2], 5.0))
    assert abs(by_x.numpy()[0]) < 1e-6
    assert abs(by_w.numpy()[0] - 1.0) < 1e-2


def test_a_function_of_many_nodes_is_differentiated_from_outside():
    x, w = tf.zeros([2]), tf.fill([2], 5.0)
    with tf.GradientTape() as tape:
        tape.watch((x, w))
        y = tf.function(chain, autograph=False)(x, w)
    assert abs(tape.gradient(y, w).numpy()[0] - 1.0) < 1e-2


def test_names_are_numbered_as_they_come():
    graph = tf.Graph()
    with graph.as_default():
        names = [tf.add(1.0, 2.0, name=name).op.name for name in ("a", "a", "a_1", "a", "a_1")]
    assert names == ["a", "a_1", "a_1_1", "a_2", "a_1_2"]
