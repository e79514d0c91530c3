"""Control flow: cond, case, switch_case, while_loop, map_fn, scan, folds, TensorArray, grouping."""

from corpus import case, f, i32, lit, plain


def branch(tf, p, x):
    return tf.cond(p > 0, lambda: x * 2.0, lambda: x - 1.0)


case("tf.cond", "taken", branch, lit(1.0), f(3))
case("tf.cond", "not taken", branch, lit(-1.0), f(3))
case(
    "tf.cond",
    "second order",
    lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: x**3, lambda: x**2),
    lit([1.0, 2.0]),
    second=True,
)
case(
    "tf.cond",
    "a structure",
    lambda tf, x: tf.cond(x[0] > 0, lambda: (x, x + 1), lambda: (x - 1, x)),
    f(2),
)
case(
    "tf.cond",
    "nested",
    lambda tf, x: tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: x * 3, lambda: x * 2), lambda: x),
    lit(0.5),
)
case(
    "tf.cond",
    "integers",
    lambda tf, x: tf.cond(x[0] > x[1], lambda: x[0], lambda: x[1]),
    i32(2),
)
case(
    "tf.case",
    "the second",
    lambda tf, x: tf.case([(x < 0, lambda: x * 1), (x < 5, lambda: x * 2)], default=lambda: x * 3),
    lit(2.0),
)
case(
    "tf.case",
    "the default",
    lambda tf, x: tf.case([(x < 0, lambda: x * 1), (x < 5, lambda: x * 2)], default=lambda: x * 3),
    lit(9.0),
)
case(
    "tf.switch_case",
    "in the middle",
    lambda tf, i, x: tf.switch_case(i, [lambda: x, lambda: x * 2, lambda: x * 3]),
    lit(1, "int32"),
    f(2),
)
case(
    "tf.switch_case",
    "beyond the end",
    lambda tf, i, x: tf.switch_case(i, [lambda: x, lambda: x * 2]),
    lit(7, "int32"),
    f(2),
)
case(
    "tf.switch_case",
    "a default",
    lambda tf, i, x: tf.switch_case(i, {0: lambda: x, 1: lambda: x * 2}, default=lambda: -x),
    lit(-1, "int32"),
    f(2),
)


def switch_with_a_check(tf, i, x):
    def checked():
        tf.debugging.Assert(tf.reduce_all(x < 2.0), [x])
        return x * 2

    return tf.switch_case(i, [lambda: x, checked])


case(
    "tf.switch_case",
    "a branch with an effect",
    switch_with_a_check,
    lit(1, "int32"),
    lit([0.5, -1.5]),
)

# Loops.
case(
    "tf.while_loop",
    "a count",
    lambda tf, x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), (0, x))[1],
    f(3),
    second=True,
)
case(
    "tf.while_loop",
    "until large",
    lambda tf, x: tf.while_loop(
        lambda y: tf.reduce_sum(y) < 100.0, lambda y: (y + 0.1 * y * y,), (x,)
    )[0],
    lit([1.0, 2.0]),
    second=True,
)
case(
    "tf.while_loop",
    "no turn",
    lambda tf, x: tf.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * x), (0, x))[1],
    f(3),
)
case(
    "tf.while_loop",
    "a given trip count",
    lambda tf, n, x: tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.sin(y) * 2), (0, x))[
        1
    ],
    lit(3, "int32"),
    f(2),
    second=True,
)
case(
    "tf.while_loop",
    "integers",
    lambda tf, n: tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))[1],
    lit(5, "int32"),
)
case(
    "tf.while_loop",
    "at most",
    lambda tf, x: tf.while_loop(lambda y: True, lambda y: [y * 2.0], [x], maximum_iterations=3)[0],
    f(2),
)
case(
    "tf.while_loop",
    "a growing shape",
    lambda tf, x: tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.concat([y, y[:1] * 2.0], 0)),
        (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )[1],
    f(2),
)
case(
    "tf.while_loop",
    "a condition inside",
    lambda tf, x: tf.while_loop(
        lambda i, y: i < 4,
        lambda i, y: (i + 1, tf.cond(i % 2 == 0, lambda: y * x, lambda: y + x)),
        (0, x),
    )[1],
    f(),
)
case(
    "tf.while_loop",
    "nested",
    lambda tf, x: tf.while_loop(
        lambda i, y: i < 2,
        lambda i, y: (
            i + 1,
            tf.while_loop(lambda j, z: j < 3, lambda j, z: (j + 1, z * x), (0, y))[1],
        ),
        (0, x),
    )[1],
    lit(1.1),
)
case(
    "tf.while_loop",
    "a structure",
    lambda tf, x: tf.while_loop(
        lambda i, d: i < 2,
        lambda i, d: (i + 1, {"a": d["a"] * 2.0, "b": d["b"] + d["a"]}),
        (0, {"a": x, "b": x}),
    )[1],
    f(2),
)
case(
    "tf.map_fn",
    "rows",
    lambda tf, x: tf.map_fn(lambda r: r * tf.reduce_sum(r), x),
    f(3, 2),
)
case(
    "tf.map_fn",
    "another dtype",
    lambda tf, x: tf.map_fn(lambda r: tf.argmax(r), x, fn_output_signature=tf.int64),
    f(3, 4),
)
case(
    "tf.map_fn",
    "two tensors",
    lambda tf, x, y: tf.map_fn(lambda t: t[0] * t[1], (x, y), fn_output_signature=tf.float32),
    f(3),
    f(3),
)
case(
    "tf.map_fn",
    "two results",
    lambda tf, x: tf.map_fn(lambda r: (r, r * 2), x, fn_output_signature=(tf.float32, tf.float32)),
    f(3),
)
case("tf.map_fn", "integers", lambda tf, x: tf.map_fn(lambda r: r + 1, x), i32(4))
case("tf.scan", "sums", lambda tf, x: tf.scan(lambda a, r: a + r, x), f(4))
case(
    "tf.scan",
    "with a start",
    lambda tf, x: tf.scan(lambda a, r: a * r, x, initializer=2.0),
    f(4),
)
case(
    "tf.scan",
    "reverse",
    lambda tf, x: tf.scan(lambda a, r: a + r * r, x, reverse=True),
    f(3, 2),
)
case(
    "tf.foldl",
    "products",
    lambda tf, x: tf.foldl(lambda a, r: a * r + 1.0, x),
    f(4),
)
case(
    "tf.foldr",
    "with a start",
    lambda tf, x: tf.foldr(lambda a, r: a - r, x, initializer=0.0),
    f(4),
)
case(
    "tf.vectorized_map",
    "rows",
    lambda tf, x: tf.vectorized_map(lambda r: r * tf.reduce_sum(r), x),
    f(3, 2),
    without="grad_unknown",
    why="slices where dense is meant",
)
case(
    "tf.vectorized_map",
    "outer products",
    lambda tf, x, y: tf.vectorized_map(lambda t: tf.tensordot(t[0], t[1], 0), (x, y)),
    f(2, 3),
    f(2, 2),
    without="grad_unknown",
    why="slices where dense is meant",
)
case(
    "tf.vectorized_map",
    "matrices",
    lambda tf, x, w: tf.vectorized_map(lambda r: tf.linalg.matvec(w, r), x),
    f(2, 3),
    f(4, 3),
    without="grad_unknown",
    why="slices where dense is meant",
)

# TensorArray.


def written(tf, x):
    array = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        array = array.write(i, x * float(i + 1))
    return array.stack()


case("tf.TensorArray", "write and stack", written, f(2))
case(
    "tf.TensorArray",
    "unstack and gather",
    lambda tf, x: tf.TensorArray(tf.float32, 3).unstack(x).gather([2, 0]),
    f(3, 2),
)
case(
    "tf.TensorArray",
    "read",
    lambda tf, x: tf.TensorArray(tf.float32, 3).unstack(x).read(1) * 2.0,
    f(3, 2),
)
case(
    "tf.TensorArray",
    "concat",
    lambda tf, x, y: (
        tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, x).write(1, y).concat()
    ),
    f(1, 2),
    f(3, 2),
    without=("unknown", "grad_unknown"),
    why="the shapes of elements must be known",
)
case(
    "tf.TensorArray",
    "scatter",
    lambda tf, x: tf.TensorArray(tf.float32, 4).scatter([3, 1, 0, 2], x).stack(),
    f(4),
)
case(
    "tf.TensorArray",
    "split",
    lambda tf, x: tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2]).read(1),
    f(3, 2),
)


def filled_in_a_loop(tf, x):
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)

    def body(i, y, a):
        return i + 1, y * x, a.write(i, y)

    return tf.while_loop(lambda i, y, a: i < 4, body, (0, x, array))[2].stack()


case(
    "tf.TensorArray",
    "grown in a loop",
    filled_in_a_loop,
    f(2),
    second=True,
)


@plain("tf.TensorArray", "its properties")
def _(tf):
    a = tf.TensorArray(tf.float32, size=2, element_shape=[3], clear_after_read=False)
    a = a.write(0, [1.0, 2, 3]).write(1, [4.0, 5, 6])
    d = tf.TensorArray(tf.int32, size=0, dynamic_size=True).write(3, 7)
    return [a.size(), a.dtype, a.element_shape, a.read(0), a.read(0), d.size(), a.dynamic_size]


# Grouping and order.
@plain("tf.group", "assignments")
def _(tf):
    v = tf.Variable(1.0)
    w = tf.Variable(2.0)
    result = tf.group(v.assign_add(1.0), w.assign_sub(0.5))

    @tf.function
    def f():
        tf.group(v.assign_add(1.0), w.assign_sub(0.5))

    f()
    return [result, v, w]


@plain("tf.group", "nothing")
def _(tf):
    return tf.group()


@plain("tf.tuple", "two")
def _(tf):
    return tf.tuple([tf.constant(1), tf.constant(2.0)])


@plain("tf.control_dependencies", "order")
def _(tf):
    v = tf.Variable(1.0)

    @tf.function
    def f():
        with tf.control_dependencies([v.assign(5.0)]):
            return tf.identity(v) * 2.0

    return f()


@plain("tf.py_function", "values and gradient")
def _(tf):
    def body(x):
        return x * x if float(x) > 0 else -x

    @tf.function
    def f(x):
        return tf.py_function(body, [x], tf.float32)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [y, tape.gradient(y, x), f(tf.constant(-2.0))]


@plain("tf.py_function", "several results")
def _(tf):
    out = tf.py_function(lambda x, y: (x + y, x.numpy() * 2), [1, 2], [tf.int32, tf.int32])
    return [list(out), tf.py_function(lambda: 3.0, [], tf.float32)]


@plain("tf.numpy_function", "values")
def _(tf):
    import numpy as np

    @tf.function
    def f(x):
        y = tf.numpy_function(lambda a: np.sinh(a), [x], tf.float32)
        return y, y.shape.rank is None

    y, unknown = f(tf.constant([0.5, 1.0]))
    return [y, bool(unknown)]


@plain("tf.recompute_grad", "a chain")
def _(tf):
    calls = []

    @tf.recompute_grad
    def f(x):
        calls.append(1)
        return tf.sin(x) * x

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [y, tape.gradient(y, x), len(calls)]


@plain("tf.TensorArray", "of strings that grows in a loop")
def _(tf):
    @tf.function
    def words(n):
        out = tf.TensorArray(tf.string, size=0, dynamic_size=True)
        for i in tf.range(1, n + 1):
            if i % 15 == 0:
                word = tf.constant("FizzBuzz")
            elif i % 3 == 0:
                word = tf.constant("Fizz")
            elif i % 5 == 0:
                word = tf.constant("Buzz")
            else:
                word = tf.strings.as_string(i)
            out = out.write(i - 1, word)
        return out.stack()

    return words(tf.constant(15))
