"""mica.tf: what becomes known only when an op runs is bounded before it is used."""

import mica.tf as tf
import numpy as np
import pytest

UNKNOWN = tf.TensorSpec(None)
INTS = tf.TensorSpec(None, tf.int32)
LONGS = tf.TensorSpec(None, tf.int64)
LEAST, MOST = -(2**63), 2**63 - 1


def ints(*values, dtype=tf.int32):
    return tf.constant(np.array(values, dtype.as_numpy_dtype))


# Each: the function, what its arguments are declared as, the arguments.
CASES = {
    "an axis beyond the rank": (tf.reduce_sum, [UNKNOWN, INTS], [tf.ones([2, 2]), ints(5)]),
    "an axis far beyond": (tf.reduce_sum, [UNKNOWN, INTS], [tf.ones([2, 2]), ints(100_000)]),
    "the least axis": (tf.reduce_max, [UNKNOWN, LONGS], [tf.ones(2), ints(LEAST, dtype=tf.int64)]),
    "an axis of a product": (tf.reduce_prod, [UNKNOWN, INTS], [tf.ones([2, 2]), ints(-100_000)]),
    "no axis of extrema": (
        lambda x, a: tf.raw_ops.ArgMax(input=x, dimension=a),
        [UNKNOWN, INTS],
        [tf.ones([2, 2]), ints()],
    ),
    "no axis of a sum": (
        lambda x, a: tf.raw_ops.Cumsum(x=x, axis=a),
        [UNKNOWN, INTS],
        [tf.ones([2, 2]), ints()],
    ),
    "too few sizes": (
        lambda x, s: tf.raw_ops.SplitV(value=x, size_splits=s, split_dim=0, num_split=3),
        [UNKNOWN, LONGS],
        [tf.ones(6), ints(2, dtype=tf.int64)],
    ),
    "sizes whose sum is beyond": (
        lambda x, s: tf.raw_ops.SplitV(value=x, size_splits=s, split_dim=0, num_split=3),
        [UNKNOWN, LONGS],
        [tf.ones(6), ints(MOST, MOST, 8, dtype=tf.int64)],
    ),
    "negative paddings": (tf.pad, [UNKNOWN, INTS], [tf.ones([3, 3]), tf.constant([[-1, 0]] * 2)]),
    "too few paddings": (tf.pad, [UNKNOWN, INTS], [tf.ones([3, 3]), tf.constant([[1, 1]])]),
    "too many paddings": (tf.pad, [UNKNOWN, INTS], [tf.ones([3]), tf.ones([30, 2], tf.int32)]),
    "too many mirrored": (
        lambda x, p: tf.pad(x, p, "REFLECT"),
        [UNKNOWN, INTS],
        [tf.ones([3]), tf.ones([30, 2], tf.int32)],
    ),
    "negative mirrored": (
        lambda x, p: tf.pad(x, p, "SYMMETRIC"),
        [UNKNOWN, INTS],
        [tf.ones([3]), tf.constant([[-2, 1]])],
    ),
    "a slice of other axes": (
        tf.slice,
        [UNKNOWN, INTS, INTS],
        [tf.ones([3]), ints(*[0] * 40), ints(*[1] * 40)],
    ),
    "a slice from the end on": (
        tf.slice,
        [UNKNOWN, LONGS, LONGS],
        [tf.ones([3]), ints(2, dtype=tf.int64), ints(MOST, dtype=tf.int64)],
    ),
    "places of too many axes": (
        lambda x, b: tf.raw_ops.StridedSlice(
            input=x, begin=b, end=b + 1, strides=tf.ones_like(b), shrink_axis_mask=1
        ),
        [UNKNOWN, INTS],
        [tf.ones([3]), ints(*[0] * 100)],
    ),
    "lengths of other axes": (
        lambda x, n: tf.raw_ops.RFFT(input=x, fft_length=n),
        [UNKNOWN, INTS],
        [tf.ones([8]), ints(*[4] * 30)],
    ),
    "a negative length": (
        lambda x, n: tf.raw_ops.RFFT(input=x, fft_length=n),
        [UNKNOWN, INTS],
        [tf.ones([8]), ints(-5)],
    ),
    "no length": (
        lambda x, n: tf.raw_ops.IRFFT(input=tf.cast(x, tf.complex64), fft_length=n),
        [UNKNOWN, INTS],
        [tf.ones([8]), ints()],
    ),
    "more coordinates than axes": (
        lambda i, u: tf.scatter_nd(i, u, [4]),
        [INTS, UNKNOWN],
        [tf.zeros([1, 20], tf.int32), tf.ones([1])],
    ),
    "one coordinate more than arrays have axes": (
        lambda i, u: tf.scatter_nd(i, u, [4]),
        [INTS, UNKNOWN],
        [tf.zeros([1, 17], tf.int32), tf.ones([1])],
    ),
    "a coordinate that is a scalar": (
        lambda i, u: tf.scatter_nd(i, u, [4]),
        [INTS, UNKNOWN],
        [tf.zeros([], tf.int32), tf.ones([])],
    ),
    "more coordinates than the tensor has axes": (
        lambda t, i: tf.tensor_scatter_nd_add(t, i, tf.ones([1])),
        [UNKNOWN, INTS],
        [tf.ones([4]), tf.zeros([1, 40], tf.int32)],
    ),
    "numbers up to one that is none": (
        lambda a, b: tf.range(a, b, 1.0),
        [UNKNOWN, UNKNOWN],
        [tf.constant(0.0), tf.constant(np.nan)],
    ),
    "more numbers than there are": (
        lambda a, b: tf.range(a, b),
        [LONGS, LONGS],
        [ints(LEAST, dtype=tf.int64)[0], ints(MOST, dtype=tf.int64)[0]],
    ),
    "sizes whose product is beyond": (
        lambda x, n: tf.tile(x, n),
        [UNKNOWN, LONGS],
        [tf.ones([4, 4]), ints(2**62, 2**62, dtype=tf.int64)],
    ),
    "a shape of too many elements": (
        lambda x, n: tf.fill(n, x),
        [UNKNOWN, LONGS],
        [tf.constant(1.0), ints(2**40, 2**40, dtype=tf.int64)],
    ),
    "too many axes": (
        lambda x, n: tf.fill(n, x),
        [UNKNOWN, INTS],
        [tf.constant(1.0), ints(*[1] * 17)],
    ),
    "axes to transpose that no array has": (
        lambda x: tf.transpose(x, list(range(20))),
        [UNKNOWN],
        [tf.ones([2])],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_an_op_is_refused(what):
    call, _, arguments = CASES[what]
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        call(*arguments)


@pytest.mark.parametrize("what", CASES)
def test_in_a_function_of_unknown_shapes_it_is_refused(what):
    call, specs, arguments = CASES[what]
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        tf.function(call, input_signature=specs)(*arguments)


@pytest.mark.parametrize("what", CASES)
def test_in_a_branch_it_is_refused(what):
    call, specs, arguments = CASES[what]

    def branch(go, *tensors):
        return tf.cond(go, lambda: call(*tensors), lambda: call(*tensors))

    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        tf.function(branch, input_signature=[tf.TensorSpec([], tf.bool), *specs])(
            tf.constant(True), *arguments
        )


@pytest.mark.parametrize("what", CASES)
def test_its_gradient_is_refused(what):
    call, specs, arguments = CASES[what]

    def gradient(*tensors):
        with tf.GradientTape() as tape:
            tape.watch([t for t in tensors if t.dtype.is_floating])
            y = call(*tensors)
        return y, tape.gradient(y, [t for t in tensors if t.dtype.is_floating])

    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        tf.function(gradient, input_signature=specs)(*arguments)


def test_the_same_values_are_refused_after_good_ones():
    total = tf.function(lambda x, axis: tf.reduce_sum(x, axis))
    x = tf.ones([2, 3])
    assert total(x, tf.constant(1)).numpy().tolist() == [3.0, 3.0]
    for axis in (2, 5, 100_000, -3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="dimension"):
            total(x, tf.constant(axis))
    assert total(x, tf.constant(-2)).numpy().tolist() == [2.0, 2.0, 2.0]


# ---- variants and handles -----------------------------------------------------------------------

NO_ELEMENTS = {
    "zeros_like": tf.zeros_like,
    "ones_like": tf.ones_like,
    "reshape": lambda x: tf.reshape(x, [1]),
    "stack": lambda x: tf.stack([x, x]),
    "unstack": lambda x: tf.unstack(x, 1),
    "concat": lambda x: tf.concat([x, x], 0),
    "transpose": lambda x: tf.raw_ops.Transpose(x=x, perm=tf.zeros([0], tf.int32)),
    "equal": lambda x: tf.raw_ops.Equal(x=x, y=x),
    "not_equal": lambda x: tf.raw_ops.NotEqual(x=x, y=x),
    "expand_dims": lambda x: tf.expand_dims(x, 0),
    "squeeze": tf.squeeze,
    "tile": lambda x: tf.raw_ops.Tile(input=x, multiples=tf.zeros([0], tf.int32)),
    "gather": lambda x: tf.gather(x, [0]),
    "fill": lambda x: tf.raw_ops.Fill(dims=[2], value=x),
    "broadcast_to": lambda x: tf.broadcast_to(x, [2]),
    "where": lambda x: tf.raw_ops.SelectV2(condition=True, t=x, e=x),
    "pad": lambda x: tf.pad(x, tf.zeros([0, 2], tf.int32)),
    "slice": lambda x: tf.slice(x, [], []),
    "split": lambda x: tf.split(x, 1),
    "reverse": lambda x: tf.reverse(x, []),
    "one_hot": lambda x: tf.raw_ops.OneHot(indices=[0], depth=2, on_value=x, off_value=x),
    "unique": lambda x: tf.raw_ops.Unique(x=x),
    "argmax": lambda x: tf.raw_ops.ArgMax(input=x, dimension=0),
    "cast": lambda x: tf.raw_ops.Cast(x=x, DstT=tf.float32),
    "shuffle": lambda x: tf.raw_ops.RandomShuffle(value=x),
    "as_string": lambda x: tf.raw_ops.AsString(input=x),
}
HANDLES = {
    "an optional": lambda: tf.raw_ops.OptionalNone(),
    "a variable": lambda: tf.Variable(1.0).handle,
    "a table": lambda: tf.raw_ops.AnonymousMutableHashTable(
        key_dtype=tf.int64, value_dtype=tf.int64
    ),
}


@pytest.mark.parametrize("kind", HANDLES)
@pytest.mark.parametrize("what", NO_ELEMENTS)
def test_what_has_no_elements_is_refused(what, kind):
    handle = HANDLES[kind]()
    with pytest.raises((TypeError, ValueError, tf.errors.OpError)):
        NO_ELEMENTS[what](handle)
    with pytest.raises((TypeError, ValueError, tf.errors.OpError)):
        tf.function(NO_ELEMENTS[what])(handle)


def test_what_has_no_elements_is_a_scalar():
    for make in HANDLES.values():
        handle = make()
        assert tf.shape(handle).numpy().tolist() == []
        assert tf.function(tf.rank)(handle).numpy() == 0
        assert tf.function(tf.size)(handle).numpy() == 1


# ---- results have the dtypes that graphs say ----------------------------------------------------


def test_results_of_wide_complex_numbers_are_wide():
    x = tf.constant([3 + 4j], tf.complex128)
    for measure in (tf.abs, lambda z: tf.norm(z, 1), lambda z: tf.norm(z, np.inf)):
        traced = tf.function(measure).get_concrete_function(x)
        assert traced.outputs[0].dtype == traced(x).dtype == tf.float64
    with pytest.raises(tf.errors.InvalidArgumentError, match="double where the attributes say"):
        tf.raw_ops.ComplexAbs(x=x, Tout=tf.float32)


def test_an_index_out_of_a_constant_matrix_is_a_row():
    rows = tf.constant([[2, 3], [3, 2]])
    double = tf.function(lambda x: tf.reshape(x, rows[0]))
    assert double(tf.ones([6])).shape == (2, 3)


# ---- attributes ---------------------------------------------------------------------------------


def test_a_choice_of_no_branches_is_refused():
    def call(index):
        x = [tf.constant([1.0])]
        return tf.raw_ops.Case(branch_index=index, input=x, Tout=[tf.float32], branches=[])

    for index in (0, -1, 7):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="no branch"):
            call(tf.constant(index))
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="no branch"):
            tf.function(call)(tf.constant(index))


def test_a_loop_s_shapes_are_those_of_what_goes_in():
    x = tf.ones([3])
    same = tf.function(lambda x: x).get_concrete_function(x).graph
    never = tf.function(lambda x: False).get_concrete_function(x).graph
    for op in (tf.raw_ops.While, tf.raw_ops.StatelessWhile):

        def call(shape, op=op):
            return op(input=[x], cond=never, body=same, output_shapes=[shape])

        assert call([None])[0].shape == call([3])[0].shape == (3,)
        for shape in ([4], [None, 4], [2, 2**31, None]):
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="begins as"):
                call(shape)
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="begins as"):
                tf.function(call)(shape)


@pytest.mark.parametrize("n", [LEAST, -(2**31), -1, 2, 2**31 - 1, 2**32, MOST])
def test_a_gradient_of_results_that_are_not_there_is_refused(n):
    backward = tf.function(lambda dy: dy).get_concrete_function(tf.ones([2])).graph
    x = tf.ones([2])
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="not a gradient"):
        tf.raw_ops.CustomGradient(
            args=[x, x], Tout=[tf.float32], n=n, backward=backward, connected=[0]
        )


def test_any_number_of_elements_can_be_asked_for_in_text():
    for summarize in (MOST, MOST // 2 + 1, 2**62):
        text = tf.strings.format("{}", tf.range(4), summarize=summarize)
        assert text.numpy() == b"[0 1 2 3]"


def test_sizes_that_follow_from_constants_do_not_wrap():
    large = tf.constant(2**62, tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def sizes(x):
        n = tf.shape(x, tf.int64)[0] * 0 + large
        return tf.stack([n * 4, n + n + n, -n - n - n])

    wrapped = [0, 3 * 2**62 - 2**64, 2**64 - 3 * 2**62]
    assert sizes(tf.ones([3])).numpy().tolist() == wrapped

    @tf.function(input_signature=[tf.TensorSpec([])])
    def filled(x):
        return tf.fill(tf.stack([large * 2, large * 2]), x)

    with pytest.raises((tf.errors.OpError, ValueError)):
        filled(tf.constant(1.0))


def test_every_op_is_described_whole():
    for name in dir(tf.raw_ops):
        text = getattr(tf.raw_ops, name).__doc__ or ""
        if name[0].isupper() and text.startswith(name + "("):
            assert "name=None)\n" in text or text.split("\n")[0].endswith(")"), name
            assert len(text.split("--\n\n")[-1]) > 3, name


@pytest.mark.parametrize("rank", [MOST, 2**62, 2**32 + 1, 2**31, -1, LEAST])
def test_attributes_ask_for_a_number_of_results_that_there_can_be(rank):
    value = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[tf.constant([0, 1], tf.int64)],
        rt_dense_values=tf.constant([1.0]),
        batched_input=False,
    )

    def call():
        return tf.raw_ops.RaggedTensorFromVariant(
            encoded_ragged=value, output_ragged_rank=rank, Tvalues=tf.float32, Tsplits=tf.int64
        )

    with pytest.raises(tf.errors.InvalidArgumentError, match="results"):
        call()
    with pytest.raises(ValueError, match="too many results"):
        tf.function(call)()


def test_zeros_of_both_signs_are_one_slice():
    for dtype in (tf.float32, tf.float64):
        x = tf.constant([[-0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, -0.0]], dtype)
        y, places = tf.raw_ops.UniqueV2(x=x, axis=[0])
        assert places.numpy().tolist() == [0, 0, 1, 1]
        assert y.shape == [2, 2]


@pytest.mark.parametrize("other", ["new_axis_mask", "shrink_axis_mask"])
def test_an_ellipsis_is_one_whatever_other_masks_say(other):
    def call(x, begin, end, strides):
        return tf.raw_ops.StridedSlice(
            input=x, begin=begin, end=end, strides=strides, ellipsis_mask=2, **{other: 2}
        )

    x, bounds = tf.ones([2, 3, 4]), [ints(0, 0, 1), ints(1, 0, 3), ints(1, 1, 1)]
    vector = tf.TensorSpec([3], tf.int32)
    traced = tf.function(call, input_signature=[tf.TensorSpec([None] * 3), *[vector] * 3])
    assert call(x, *bounds).shape == traced(x, *bounds).shape == [1, 3, 2]
    assert traced.get_concrete_function().outputs[0].shape.rank == 3
