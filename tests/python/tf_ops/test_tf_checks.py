"""Integers that TensorFlow refuses are refused: by ops, in functions, branches, loops, maps."""

import pytest

tf = pytest.importorskip("mica.tf")

X = [1.0, 2.0, 3.0]
M = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def in_a_loop(read):
    def call(n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            total += read(i)
        return total

    return call


def in_a_branch(n):
    return tf.gather(X, n) if n > 2 else tf.constant(0.0)


def array_of(n, size=3):
    array = tf.TensorArray(tf.float32, size=size)
    for i in tf.range(n):
        array = array.write(i, 1.0)
    return array.stack()


def from_array(i):
    return tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(X).read(i)


def divided_in_a_loop(n):
    total = 0
    for i in tf.range(n):
        total += 12 // (2 - i)
    return total


def segment_sums(i):
    return tf.math.unsorted_segment_sum(X, i, 2)


REFUSED = {
    "gather": (lambda i: tf.gather(X, i), [0, 5], "indices[1] = 5 is not in [0, 3)"),
    "one place": (lambda i: tf.gather(X, i), 5, "indices = 5 is not in [0, 3)"),
    "computed": (lambda i: tf.gather(M, i * 2 + 1), [0, 1], "indices[1] = 3 is not in [0, 3)"),
    "below": (lambda i: tf.gather(M, i, axis=1), [[0, -1]], "indices[0,1] = -1 is not in [0, 2)"),
    "a constant": (lambda i: tf.gather(X, [0, 7]) + 0.0 * i, 1.0, "indices[1] = 7 is not in"),
    "coordinates": (
        lambda i: tf.gather_nd(M, i),
        [[0, 1], [3, 0]],
        "indices[1] = [3, 0] does not index into param shape [3,2]",
    ),
    "scatter": (
        lambda i: tf.scatter_nd(i, [1.0, 2.0], [3]),
        [[0], [3]],
        "indices[1] = [3] does not index into shape [3]",
    ),
    "update": (
        lambda i: tf.tensor_scatter_nd_update(X, i, [1.0, 2.0]),
        [[0], [-1]],
        "indices[1] = [-1] does not index into shape [3]",
    ),
    "index": (lambda i: tf.constant(M)[1, i], 5, "slice index 5 of dimension 1 out of bounds"),
    "quotient": (lambda i: 7 // i, [1, 0], "Integer division by zero"),
    "remainder": (lambda i: 7 % i, [1, 0], "Integer division by zero"),
    "power": (lambda i: tf.pow(2, i), [1, -1], "Integers to negative integer powers"),
    "segments": (segment_sums, [0, 1, 2], "segment_ids[2] = 2 is out of range [0, 2)"),
    "a map": (
        lambda i: tf.vectorized_map(lambda k: tf.gather(X, k), i),
        [0, 3],
        "indices[1] = 3 is not in [0, 3)",
    ),
    "a function inside": (
        lambda i: tf.function(lambda k: tf.gather(X, k))(i),
        [0, 3],
        "indices[1] = 3 is not in [0, 3)",
    ),
    "a branch": (in_a_branch, 5, "indices = 5 is not in [0, 3)"),
    "a loop": (in_a_loop(lambda i: tf.gather(X, i)), 5, "indices = 3 is not in [0, 3)"),
    "an index in a loop": (
        in_a_loop(lambda i: tf.constant(X)[i]),
        5,
        "slice index 3 of dimension 0 out of bounds",
    ),
    "a loop in a loop": (
        in_a_loop(lambda i: in_a_loop(lambda k: tf.gather(X, i + k))(i + 1)),
        3,
        "indices = 3 is not in [0, 3)",
    ),
    "a quotient in a loop": (divided_in_a_loop, 4, "Integer division by zero"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("kind", ["eager", "function", "unknown"])
def test_what_tensorflow_refuses_is_refused(name, kind):
    function, argument, words = REFUSED[name]
    argument = tf.constant(argument)
    if kind == "function":
        function = tf.function(function)
    if kind == "unknown":
        spec = tf.TensorSpec([None] * len(argument.shape), argument.dtype)
        function = tf.function(function, input_signature=[spec])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        function(argument)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "call, argument, words",
    [
        (array_of, 5, "Trying to modify element 3 in a list with 3 elements"),
        (from_array, 5, "Trying to access element 5 in a list with 3 elements"),
        (from_array, -1, "Trying to access element -1 in a list with 3 elements"),
    ],
)
def test_arrays_in_graphs_refuse_places_that_are_not_there(call, argument, words):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.function(call)(tf.constant(argument))
    assert words in str(caught.value)


def test_what_is_not_reached_is_not_refused():
    branch = tf.function(in_a_branch)
    assert branch(tf.constant(1)).numpy() == 0.0
    loop = tf.function(in_a_loop(lambda i: tf.gather(X, i)))
    assert loop(tf.constant(3)).numpy() == 6.0
    assert loop(tf.constant(0)).numpy() == 0.0
    assert tf.function(array_of)(tf.constant(3)).numpy().tolist() == [1.0] * 3


def test_a_function_goes_on_after_it_has_refused():
    gather = tf.function(lambda i: tf.gather(X, i + 1))
    for place, value in ((0, 2.0), (7, None), (1, 3.0)):
        if value is None:
            with pytest.raises(tf.errors.InvalidArgumentError):
                gather(tf.constant(place))
        else:
            assert gather(tf.constant(place)).numpy() == value


def test_an_argument_that_is_refused_leaves_variables_as_they_were():
    table = tf.Variable(tf.constant(M))

    @tf.function
    def step(places):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, places) ** 2)
        table.assign_sub(tf.convert_to_tensor(tape.gradient(loss, table)))
        return loss

    with pytest.raises(tf.errors.InvalidArgumentError):
        step(tf.constant([0, 3]))
    assert table.numpy().tolist() == M
    assert step(tf.constant([0, 1])).numpy() == 14.0


def test_gradients_of_what_is_looked_at():
    @tf.function
    def gradient(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = in_a_loop(lambda i: tf.gather(x, i) ** 2)(n)
            if n > 1:
                y += x[n - 1]
        return tape.gradient(y, x)

    assert gradient(tf.constant(X), tf.constant(2)).numpy().tolist() == [2.0, 5.0, 0.0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        gradient(tf.constant(X), tf.constant(4))
