"""mica.tf: tensors, ops, functions, variables, derivatives, from end to end."""

import gc
import os
import subprocess
import sys
import textwrap
import weakref

import mica.tf as tf
import numpy as np
import pytest


def test_tensors_of_python_data_have_tensorflows_dtypes():
    assert tf.constant(1).dtype == tf.int32
    assert tf.constant(1.0).dtype == tf.float32
    assert tf.constant(2**40).dtype == tf.int64
    assert tf.constant(True).dtype == tf.bool
    assert tf.constant([1, 2]).dtype == tf.int32
    assert tf.constant(np.zeros(2)).dtype == tf.float64
    assert tf.constant("a").dtype == tf.string
    assert tf.constant(["a", "bc"]).numpy().tolist() == [b"a", b"bc"]
    assert tf.constant([tf.constant(1.0), 2.0]).numpy().tolist() == [1.0, 2.0]
    assert tf.constant(3, shape=[2]).numpy().tolist() == [3, 3]


def test_nothing_is_promoted_silently():
    x = tf.constant([1.0, 2.0])
    assert (x + 1).numpy().tolist() == [2.0, 3.0]
    assert (np.array([1.0, 2.0]) + x).dtype == tf.float32
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a float tensor"):
        _ = x + tf.constant(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a int32 tensor"):
        _ = tf.constant(1) + 1.5
    with pytest.raises(TypeError):
        _ = 1.5 + tf.constant(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2\] vs. \[3\]"):
        _ = x + tf.constant([1.0, 2.0, 3.0])


def test_indexing():
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    t = tf.constant(x)
    for key in [
        1,
        (0, 1),
        slice(None, None, -1),
        (..., 0),
        (0, ..., slice(1, 3)),
        (slice(None), None, 1),
        (1, slice(2, 0, -1)),
        (slice(-2, None), -1, slice(0, 4, 2)),
    ]:
        assert np.array_equal(t[key].numpy(), x[key]), key
    assert np.array_equal(t[tf.constant(1)].numpy(), x[1])
    assert np.array_equal(t[t > 5.0].numpy(), x[x > 5])
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        _ = t[2]
    assert [r.numpy().tolist() for r in tf.constant([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]


def test_a_function_is_traced_once_for_a_signature_with_unknown_sizes():
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(x):
        traces.append(x.shape.as_list())
        return tf.reduce_sum(x, axis=0) / tf.cast(tf.shape(x)[0], tf.float32)

    for n in (1, 3, 7):
        x = np.random.rand(n, 2).astype(np.float32)
        assert np.allclose(f(x).numpy(), x.mean(0), atol=1e-6)
    assert traces == [[None, 2]]
    with pytest.raises(TypeError):
        f(tf.zeros([2, 3]))


def test_python_arguments_are_taken_by_value():
    traces = []

    @tf.function
    def f(x, n, flag=True):
        traces.append(n)
        return x * n if flag else x

    x = tf.constant(2.0)
    assert float(f(x, 3)) == 6.0
    assert float(f(x, 3)) == 6.0
    assert float(f(x, n=3)) == 6.0
    assert float(f(x, 4)) == 8.0
    assert float(f(x, 4, flag=False)) == 2.0
    assert traces == [3, 4, 4]
    assert f.experimental_get_tracing_count() == 3


def test_variables_made_in_a_function_make_it_trace_twice():
    traces = []

    class Model:
        v = None

        @tf.function
        def __call__(self, x):
            traces.append(1)
            if self.v is None:
                self.v = tf.Variable(tf.ones([2]) * 3.0)
            self.v.assign_add(x)
            return self.v * 1.0

    model = Model()
    assert model(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 5.0]
    assert model(tf.constant([1.0, 2.0])).numpy().tolist() == [5.0, 7.0]
    assert len(traces) == 2


def test_effects_keep_their_order(capfd):
    v = tf.Variable(1.0)

    @tf.function
    def f():
        tf.print("before", v)
        v.assign(v * 2.0)
        tf.print("after", v)
        return v.read_value()

    assert float(f()) == 2.0
    assert float(f()) == 4.0
    assert capfd.readouterr().err == "before 1\nafter 2\nbefore 2\nafter 4\n"


def test_derivatives_of_any_order():
    x = tf.Variable(2.0)
    with tf.GradientTape() as third, tf.GradientTape() as second, tf.GradientTape() as first:
        y = x * x * x * x
        a = first.gradient(y, x)
        b = second.gradient(a, x)
    assert (float(a), float(b)) == (32.0, 48.0)
    assert third.gradient(b, x) is not None and float(y) == 16.0


def test_none_against_zeros_and_intermediate_sources():
    x = tf.constant(3.0)
    z = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        w = y * 2.0
        s = tf.stop_gradient(y) * x
    assert tape.gradient(w, z) is None
    assert float(tape.gradient(w, z, unconnected_gradients="zero")) == 0.0
    assert float(tape.gradient(w, y)) == 2.0
    assert float(tape.gradient(s, x)) == 9.0
    assert tape.gradient(tf.cast(w, tf.int32), x) is None


def test_forward_mode_agrees_with_reverse_mode():
    x = tf.constant([0.5, -1.0, 2.0])
    t = tf.constant([1.0, 2.0, -1.0])
    with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
        y = tf.exp(x) * tf.tanh(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.exp(x) * tf.tanh(x)
    gradient = tape.gradient(z, x).numpy()
    assert np.allclose(accumulator.jvp(y).numpy(), gradient * t.numpy(), rtol=1e-5)


def test_gradients_through_a_function_with_variables():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        return tf.reduce_sum(tf.exp(v) * x * x)

    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        dv, dx = tape.gradient(y, [v, x])
        total = tf.reduce_sum(dx)
    e = np.exp([1.0, 2.0])
    assert np.allclose(dv.numpy(), e * [9, 16], rtol=1e-5)
    assert np.allclose(dx.numpy(), 2 * e * [3, 4], rtol=1e-5)
    assert np.allclose(outer.gradient(total, x).numpy(), 2 * e, rtol=1e-5)


def test_control_flow_reaches_both_branches_and_any_count_in_one_trace():
    @tf.function
    def f(x, n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            if x[i] > 0.0:
                total += x[i] * x[i]
            else:
                total -= x[i]
        return total

    x = tf.constant([1.0, -2.0, 3.0])
    assert [float(f(x, tf.constant(n))) for n in (0, 1, 2, 3)] == [0.0, 1.0, 3.0, 12.0]
    assert f.experimental_get_tracing_count() == 1
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant(3))
    assert tape.gradient(y, x).numpy().tolist() == [2.0, -1.0, 6.0]
    kinds = {o.type for o in f.get_concrete_function(x, tf.constant(3)).graph.get_operations()}
    assert "StatelessWhile" in kinds


def test_variables_read_in_branches_have_gradients():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        if x > 0.0:
            y = v * x
        else:
            y = v * v
        return y

    for x, expected in ((2.0, 2.0), (-1.0, 6.0)):
        with tf.GradientTape() as tape:
            y = f(tf.constant(x))
        assert float(tape.gradient(y, v)) == expected


def test_a_host_op_splits_the_function_in_two():
    @tf.function
    def f(x):
        places = tf.where(x > 0.0)
        return places * 2

    x = tf.constant([-1.0, 2.0, 3.0])
    assert f(x).numpy().tolist() == [[2], [4]]
    assert len(f.get_concrete_function(x).graph._segments()) == 2


def test_sizes_that_depend_on_values_inside_a_function():
    seen = []

    @tf.function
    def f(n):
        x = tf.zeros(n + 1)
        seen.append(x.shape.as_list())
        x.set_shape([2, 3, 4])
        seen.append(x.shape.as_list())
        return x

    assert f(tf.constant([1, 2, 3])).shape == [2, 3, 4]
    assert seen == [[None, None, None], [2, 3, 4]]


def test_custom_gradients():
    @tf.custom_gradient
    def f(x):
        return x * x, lambda upstream: upstream * 100.0

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert (float(y), float(tape.gradient(y, x))) == (4.0, 100.0)


def test_a_custom_gradient_that_raises_matters_to_those_who_ask_for_it():
    @tf.custom_gradient
    def f(x):
        def gradient(upstream):
            raise ValueError(f"there is none for {upstream.dtype}")

        return x * x, gradient

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    x = tf.constant(3.0)
    outside = tf.function(f)
    assert float(outside(x)) == 9.0
    with (
        pytest.raises(tf.errors.UnimplementedError, match="there is none for <dtype: 'float32'>"),
        tf.GradientTape() as tape,
    ):
        tape.watch(x)
        tape.gradient(outside(x), x)
    with pytest.raises(ValueError, match="there is none"):
        inside(x)
    matrix = tf.constant([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    solve = tf.function(lambda a: tf.linalg.lstsq(a, tf.ones([3, 1]), fast=False))
    np.testing.assert_allclose(solve(matrix), [[0.0857143], [0.1714286]], rtol=1e-5)


def test_a_symbolic_tensor_has_no_truth_and_does_not_leak():
    leaked = []

    @tf.function(autograph=False)
    def f(x):
        leaked.append(x)
        if x > 0.0:
            return x
        return -x

    with pytest.raises(TypeError, match="bool"):
        f(tf.constant(1.0))
    with pytest.raises(TypeError, match="out of scope"):
        _ = leaked[0] + 1.0


def test_an_unmodified_script_runs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import tensorflow as tf
            from tensorflow import nn
            import tensorflow.math as m

            print(tf.add(1, 2).numpy(), nn.relu(tf.constant([-1.0, 1.0])).numpy(), m.add is tf.add)
            print(sys.argv[1:], __name__)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", str(script), "a", "-b"],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert done.stdout.splitlines() == ["3 [0. 1.] True", "['a', '-b'] __main__"], done.stderr


def test_py_function_and_numpy_function_are_decorators_too():
    @tf.numpy_function(Tout=tf.float32)
    def doubled(x):
        return x * np.float32(2)

    @tf.py_function(Tout=[tf.float32, tf.int32])
    def parts(x):
        return x + 1, 3

    @tf.function
    def both(x):
        first, second = parts(doubled(x))
        return first, second

    assert [float(v) for v in both(tf.constant(2.0))] == [5.0, 3.0]


def test_a_variable_given_to_a_function_keeps_its_identity_in_every_trace():
    v = tf.Variable([1.0])
    seen = []

    @tf.function
    def f(variable, n):
        seen.append(variable._unique_id)
        return variable * n

    f(v, 2.0), f(v, 3.0)
    assert seen == [v._unique_id, v._unique_id]


def test_lists_that_raw_ops_give_may_be_empty_by_default():
    variant = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[], rt_dense_values=[1.0, 2.0], batched_input=False
    )
    splits, values = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variant, Tvalues=tf.float32, input_ragged_rank=0
    )
    assert splits == [] and values.numpy().tolist() == [1.0, 2.0]


def test_raw_ops_say_axis_as_tensorflow_does():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert tf.raw_ops.Sum(input=x, axis=0).numpy().tolist() == [4.0, 6.0]
    assert tf.raw_ops.ExpandDims(input=x, axis=1).shape == (2, 1, 2)
    assert [y.shape for y in tf.raw_ops.Split(axis=1, value=x, num_split=2)] == [(2, 1)] * 2


def test_a_variable_begins_with_what_a_function_was_given():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(tf.reduce_sum(x) + x, name="v"))
        return made[0] * x

    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 10.0]
    assert f(tf.constant([2.0, 0.0])).numpy().tolist() == [8.0, 0.0]
    assert made[0].numpy().tolist() == [4.0, 5.0]


def test_a_variable_begins_with_what_an_outer_function_computed():
    made = []

    @tf.function
    def outer(x):
        y = x * 2.0

        @tf.function
        def inner(z):
            if not made:
                made.append(tf.Variable(z + y))
            return made[0] + z

        return inner(x)

    assert outer(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 8.0]
    assert made[0].numpy().tolist() == [3.0, 6.0]


def test_a_variable_of_an_argument_without_a_value_is_refused():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(x))
        return made[0]

    with pytest.raises(ValueError, match="Tensor-typed variable initializers"):
        f.get_concrete_function(tf.TensorSpec([2]))


def test_a_tensor_of_many_rows_is_walked_over():
    rows = tf.range(2500)
    assert [int(each) for each in rows] == list(range(2500))
    assert len(tf.unstack(tf.ones([70, 2]))) == 70
    x = tf.ones([1100])
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = sum(each * each for each in x)
    assert tape.gradient(total, x).numpy().tolist() == [2.0] * 1100
    with pytest.raises(TypeError, match="scalar tensor"):
        iter(tf.constant(1))


def test_bfloat16_is_shown_where_numpy_has_no_such_type():
    program = """
import sys
sys.modules["ml_dtypes"] = None  # as if it were not installed
import mica.tf as tf
x = tf.constant([1.5, 2.0], tf.bfloat16)
print(x, x[0], repr(tf.Variable(x[1])))
tf.print(x, output_stream=sys.stdout)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.splitlines() == [
        "tf.Tensor([1.5 2. ], shape=(2,), dtype=bfloat16) "
        "tf.Tensor(1.5, shape=(), dtype=bfloat16) "
        "<tf.Variable 'Variable:0' shape=() dtype=bfloat16, numpy=2.0>",
        "[1.5 2]",
    ]


def test_what_has_no_value_in_numpy_is_printed_by_its_dtype(capfd):
    handle = tf.Variable(1.0).handle
    dataset = tf.data.experimental.to_variant(tf.data.Dataset.range(3))
    tf.print(handle, [dataset, tf.constant(["b"])], output_stream=sys.stdout)
    assert capfd.readouterr().out == '<resource> [<variant>, ["b"]]\n'


def test_a_slice_that_leaves_its_tensor_is_told_of_the_argument_that_is_wrong():
    x = tf.ones([3, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"begin\[0\] in \[0, 3\], but got 5"):
        tf.slice(x, [5, 0], [1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"size\[1\] in \[0, 2\], but got 9"):
        tf.slice(x, [0, 1], [1, 9])


def test_what_a_python_function_computed_is_kept_until_its_gradient_is_asked():
    kept = []

    def square(x):
        y = x * x
        kept.append(weakref.ref(y))
        return y

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(square, [x], tf.float32)
        return tape.gradient(y, x)

    assert f(tf.constant(3.0)).numpy() == 6.0
    gc.collect()
    assert [reference() for reference in kept] == [None]
    assert f(tf.constant(4.0)).numpy() == 8.0
