"""TensorArray, Module, name scopes, assertions, and loops over elements."""

import mica.tf as tf
import numpy as np
import pytest


@pytest.fixture(params=["eager", "function"])
def run(request):
    """Call a function as it is, or as tf.function."""

    def call(function, *arguments):
        if request.param == "function":
            function = tf.function(function)
        return function(*[tf.constant(a) for a in arguments])

    return call


def test_an_array_is_written_and_stacked(run):
    def f(x):
        array = tf.TensorArray(tf.float32, size=3)
        for i in range(3):
            array = array.write(i, x * float(i))
        return array.stack(), array.size()

    stacked, size = run(f, [1.0, 2.0])
    np.testing.assert_allclose(stacked, [[0, 0], [1, 2], [2, 4]])
    assert int(size) == 3


def test_an_array_grows(run):
    def f(x):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        array = array.write(0, x)
        array = array.write(2, x + 1.0)
        return array.stack()

    np.testing.assert_allclose(run(f, 2.0), [2, 0, 3])


def test_an_array_is_unstacked_read_and_gathered(run):
    def f(x):
        array = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
        return array.read(1), array.gather([2, 0]), array.stack()

    one, two, all_ = run(f, [1.0, 2.0, 3.0])
    assert float(one) == 2.0
    np.testing.assert_allclose(two, [3, 1])
    np.testing.assert_allclose(all_, [1, 2, 3])


def test_elements_of_different_lengths_are_split_and_joined(run):
    def f(x):
        array = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [1, 2])
        return array.concat(), array.read(1) if False else array.size()

    joined, size = run(f, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(joined, [1, 2, 3])
    assert int(size) == 2


def test_an_array_passes_through_a_loop_and_has_a_derivative():
    @tf.function
    def f(x, n):
        array = tf.TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            array = array.write(i, x * x)
        return tf.reduce_sum(array.stack())

    x = tf.constant([1.0, 2.0])
    for n in (1, 3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(n))
        assert float(y) == 5.0 * n
        np.testing.assert_allclose(tape.gradient(y, x), [2.0 * n, 4.0 * n])
    assert f.experimental_get_tracing_count() == 1


def test_mistakes_with_arrays_are_told():
    array = tf.TensorArray(tf.float32, size=2)
    with pytest.raises(tf.errors.OutOfRangeError, match="not resizeable"):
        array.write(5, 1.0)
    array.write(0, 1.0)
    with pytest.raises(ValueError, match=r"Incompatible shape"):
        array.write(1, [1.0, 2.0])
    array.read(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
        array.read(0)


def test_functions_are_mapped_over_elements(run):
    def f(x, y):
        both = tf.map_fn(lambda e: (e[0] + e[1], e[0] * 2.0), (x, y))
        return both, tf.map_fn(lambda row: tf.reduce_sum(row), x)

    (sums, doubled), rows = run(f, [[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0], [30.0, 40.0]])
    np.testing.assert_allclose(sums, [[11, 22], [33, 44]])
    np.testing.assert_allclose(doubled, [[2, 4], [6, 8]])
    np.testing.assert_allclose(rows, [3, 7])


def test_elements_are_folded_and_scanned(run):
    def f(x):
        return (
            tf.foldl(lambda a, e: a * 10.0 + e, x),
            tf.foldr(lambda a, e: a * 10.0 + e, x),
            tf.foldl(lambda a, e: a + e, x, initializer=100.0),
            tf.scan(lambda a, e: a + e, x),
            tf.scan(lambda a, e: a + e, x, initializer=1.0, reverse=True),
        )

    left, right, started, sums, back = run(f, [1.0, 2.0, 3.0])
    assert (float(left), float(right), float(started)) == (123.0, 321.0, 106.0)
    np.testing.assert_allclose(sums, [1, 3, 6])
    np.testing.assert_allclose(back, [7, 6, 4])


class Dense(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.w = tf.Variable([1.0, 2.0], name="w")
        self.b = tf.Variable(0.5, trainable=False, name="b")

    @tf.Module.with_name_scope
    def __call__(self, x):
        if not hasattr(self, "made"):
            self.made = tf.Variable(1.0, name="made")
        return x * self.w + self.b


class Stack(tf.Module):
    def __init__(self):
        super().__init__(name="stack")
        self.layers = [Dense(), {"last": Dense("other")}]
        self.same = self.layers[0]


def test_a_module_knows_its_variables_and_modules():
    stack = Stack()
    assert [m.name for m in stack.submodules] == ["dense", "other"]
    assert [v.name for v in stack.variables] == ["b:0", "w:0", "b:0", "w:0"]
    assert [v.name for v in stack.trainable_variables] == ["w:0", "w:0"]
    assert [v.name for v in stack.non_trainable_variables] == ["b:0", "b:0"]
    layer = stack.layers[0]
    np.testing.assert_allclose(layer(tf.constant(2.0)), [2.5, 4.5])
    assert layer.made.name == "dense/made:0"
    with pytest.raises(ValueError, match="not a valid module name"):
        Dense("1x")


class HTTPServer2D(tf.Module):
    pass


def test_names_of_modules_come_from_their_classes():
    assert HTTPServer2D().name == "http_server2_d"


def test_name_scopes_nest():
    with tf.name_scope("a") as a, tf.name_scope("b") as b:
        assert (a, b) == ("a/", "a/b/")
        assert tf.Variable(1.0, name="v").name == "a/b/v:0"
        with tf.name_scope("c/"):
            assert tf.Variable(1.0).name == "c/Variable:0"
    assert tf.Variable(1.0).name == "Variable:0"


@pytest.mark.parametrize(
    "check, kind, words",
    [
        (lambda d: d.assert_equal([1, 2], [1, 3], message="m"), "InvalidArgumentError", "x == y"),
        (lambda d: d.assert_less(2, 1), "InvalidArgumentError", "x < y"),
        (lambda d: d.assert_none_equal([1], [1]), "InvalidArgumentError", "x != y"),
        (lambda d: d.assert_positive([1, 0]), "InvalidArgumentError", "x > 0"),
        (lambda d: d.assert_non_negative([-1]), "InvalidArgumentError", "x >= 0"),
        (lambda d: d.assert_rank(tf.zeros([2]), 2), ValueError, "must have rank 2"),
        (lambda d: d.assert_rank_in(tf.zeros([2]), [2, 3]), ValueError, r"rank in \(2, 3\)"),
        (lambda d: d.assert_rank_at_least(tf.zeros([2]), 2), ValueError, "rank at least 2"),
        (lambda d: d.assert_type(tf.zeros([1]), tf.int32), TypeError, "must be of type tf.int32"),
        (lambda d: d.assert_integer(1.0), TypeError, "integer type"),
        (lambda d: d.assert_scalar([1]), ValueError, "Expected scalar shape"),
        (lambda d: d.assert_proper_iterable(1), TypeError, "iterable"),
        (lambda d: d.check_numerics([float("inf")], "msg"), "InvalidArgumentError", "Inf"),
        (lambda d: d.assert_shapes([(tf.zeros([2, 3]), ("a", "a"))]), ValueError, "size 2"),
        (lambda d: d.Assert(False, ["a", 1]), "InvalidArgumentError", "Expected 'False'|true"),
    ],
)
def test_assertions_that_do_not_hold_raise(check, kind, words):
    kind = getattr(tf.errors, kind) if isinstance(kind, str) else kind
    with pytest.raises(kind, match=words):
        check(tf.debugging)


def test_assertions_that_hold_are_quiet():
    d = tf.debugging
    d.assert_equal([1, 2], [1, 2])
    d.assert_greater([2, 3], 1)
    d.assert_shapes(
        [(tf.zeros([2, 3]), ("n", 3)), (tf.zeros([2]), ("n",)), (tf.zeros([4]), ("*",))]
    )
    d.assert_same_float_dtype([tf.zeros([1]), tf.zeros([2])])
    assert d.is_numeric_tensor(tf.zeros([1])) and not d.is_numeric_tensor([1])


def test_assertions_in_functions_are_checked_when_they_run():
    @tf.function
    def f(x):
        tf.debugging.Assert(x > 0.0, [x, "is not positive"])
        return x

    assert float(f(tf.constant(1.0))) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not positive"):
        f(tf.constant(-1.0))


def test_parts_of_a_variable_are_written():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v[0].assign([5.0, 6.0])
    v[:, 1].assign_add([1.0, 1.0])
    np.testing.assert_allclose(v.numpy(), [[5, 7], [3, 5]])
    twice = tf.IndexedSlices(tf.constant([[2.0, 2.0], [3.0, 3.0]]), tf.constant([1, 1]))
    v.scatter_mul(twice)
    np.testing.assert_allclose(v.numpy(), [[5, 7], [18, 30]])
    v.scatter_add(twice)
    np.testing.assert_allclose(v.numpy(), [[5, 7], [23, 35]])
    v.scatter_nd_update([[0, 1]], [0.5])
    np.testing.assert_allclose(v.gather_nd([[0, 1], [1, 0]]), [0.5, 23])
    np.testing.assert_allclose(v.sparse_read([1]), [[23, 35]])

    @tf.function
    def f(x):
        v[1].assign(x)
        v.scatter_sub(tf.IndexedSlices(x[None], tf.constant([0])))
        return v.read_value()

    np.testing.assert_allclose(f(tf.constant([1.0, 2.0])), [[4, -1.5], [1, 2]])
    assert repr(tf.type_spec_from_value(tf.Variable(1))).startswith("VariableSpec(shape=()")


def test_functions_of_python_are_nodes():
    @tf.function
    def f(x):
        total, first = tf.py_function(lambda t: (sum(t.numpy()), t[0]), [x], [tf.float32] * 2)
        return total, first, tf.numpy_function(np.sinh, [x], tf.float32)

    total, first, sinh = f(tf.constant([1.0, 2.0]))
    assert float(total) == 3.0 and float(first) == 1.0
    np.testing.assert_allclose(sinh, np.sinh([1.0, 2.0]), rtol=1e-6)


def test_effects_keep_their_order():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        with tf.control_dependencies([v.assign(5.0)]):
            first = tf.identity(v)
        tf.group(v.assign_add(1.0), v.assign_add(1.0))
        return first, v.read_value()

    assert [float(x) for x in f()] == [5.0, 7.0]


def test_initializers_fill_shapes():
    np.testing.assert_allclose(tf.zeros_initializer()([2]), [0, 0])
    np.testing.assert_allclose(tf.constant_initializer([1.0, 2.0])([2, 1]), [[1], [2]])
    assert tf.random_normal_initializer(seed=1)([2, 3]).shape == [2, 3]
    limit = np.sqrt(6.0 / 7.0)
    drawn = tf.initializers.GlorotUniform(seed=2)([3, 4]).numpy()
    assert drawn.shape == (3, 4) and np.abs(drawn).max() <= limit


def test_tensors_are_told_from_other_values():
    values = [tf.constant(1), tf.Variable(1), 1, np.ones(2), [tf.constant(1)], None]
    assert [tf.is_tensor(value) for value in values] == [True, True, False, False, False, False]
    assert tf.version.VERSION == tf.__version__
    assert not tf.inside_function() and tf.get_logger().name == "tensorflow"


def test_an_array_learns_even_the_rank_of_its_elements_in_a_loop():
    @tf.function
    def f(x, n):
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        numbers = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            row = tf.py_function(lambda t: t * t, [x], tf.float32)
            assert row.shape.rank is None
            rows = rows.write(i, row * tf.cast(i, tf.float32))
            numbers = numbers.write(i, tf.numpy_function(lambda k: k * 2, [i], tf.int32))
        return rows.stack(), numbers.stack()

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        rows, numbers = f(x, 3)
        total = tf.reduce_sum(rows)
    assert rows.numpy().tolist() == [[0, 0], [1, 4], [2, 8]]
    assert numbers.numpy().tolist() == [0, 2, 4]
    assert tape.gradient(total, x).numpy().tolist() == [6, 12]


def test_writing_to_an_array_in_a_loop_touches_one_element_a_turn():
    @tf.function
    def squares(n):
        array = tf.TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            array = array.write(i, tf.cast(i * i, tf.float32))
        return array.stack()

    assert squares(tf.constant(4)).numpy().tolist() == [0.0, 1.0, 4.0, 9.0]
    # Were the whole array written each time, this would take minutes.
    assert squares(tf.constant(300_000)).numpy()[:4].tolist() == [0.0, 1.0, 4.0, 9.0]
