"""Tapes, accumulators, custom gradients, Jacobians, higher orders, and the hard cases."""

from corpus import plain, raises


def gradient(tf, function, *xs, **named):
    xs = [tf.convert_to_tensor(x) for x in xs]
    with tf.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = function(*xs)
    return tape.gradient(y, xs, **named)


@plain("tf.GradientTape", "a square")
def _(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x**2
    return [y, tape.gradient(y, x)]


@plain("tf.GradientTape", "structures")
def _(tf):
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    b = tf.Variable([1.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.constant([[1.0, 2.0]]) @ w + b)
    return [
        tape.gradient(y, {"w": w, "b": b}),
        tape.gradient(y, [w, b]),
        tape.gradient(y, (w, [b])),
        tape.gradient([y, y * 2.0], b),
    ]


@plain("tf.GradientTape", "what is watched")
def _(tf):
    a = tf.Variable(1.0)
    c = tf.Variable(2.0, trainable=False)
    d = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = a * c * d
    with tf.GradientTape(watch_accessed_variables=False) as other:
        other.watch(c)
        z = a * c * d
    names = [v.name for v in tape.watched_variables()]
    return [tape.gradient(y, [a, c, d]), len(names), other.gradient(z, [a, c, d])]


@plain("tf.GradientTape", "unconnected")
def _(tf):
    x, y = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        z = y * y
    zero = tf.UnconnectedGradients.ZERO
    return [
        tape.gradient(z, x),
        tape.gradient(z, x, unconnected_gradients=zero),
        tape.gradient(z, [x, y], unconnected_gradients="zero"),
    ]


@plain("tf.UnconnectedGradients", "values")
def _(tf):
    return [tf.UnconnectedGradients.NONE.value, tf.UnconnectedGradients.ZERO.value]


@plain("tf.GradientTape", "second order")
def _(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        d = inner.gradient(y, x)
    return [d, outer.gradient(d, x)]


@plain("tf.GradientTape", "fifth order")
def _(tf):
    def nth(x, n):
        if n == 0:
            return tf.sin(x) * tf.exp(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = nth(x, n - 1)
        return tape.gradient(y, x)

    return [nth(tf.constant([0.3, 1.0]), n) for n in range(6)]


@plain("tf.GradientTape", "jacobian", rtol=1e-3)
def _(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    w = tf.Variable([[1.0, -1.0, 0.5], [0.3, 2.0, 1.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(x @ w)
    return [
        tape.jacobian(y, w),
        tape.jacobian(y, x),
        tape.batch_jacobian(y, x),
        tape.jacobian(y, [x, w], experimental_use_pfor=False),
    ]


@plain("tf.GradientTape", "jacobian in a function")
def _(tf):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * tf.reduce_sum(x)
        return tape.jacobian(y, x)

    return f(tf.constant([0.5, 1.0, 2.0]))


@plain("tf.GradientTape", "hessian by jacobian")
def _(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x**3) + x[0] * x[1]
        g = inner.gradient(y, x)
    return outer.jacobian(g, x)


@plain("tf.GradientTape", "stop recording and reset")
def _(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            z = x * 3.0
        w = y + z
    first = tape.gradient(w, x)
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()
        y = x * 5.0
    return [first, tape.gradient(y, x)]


@plain("tf.GradientTape", "output gradients")
def _(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0]))


@plain("tf.GradientTape", "variables read and assigned in between")
def _(tf):
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        a = v * v
        v.assign(5.0)
        c = v * 3.0
        y = a + c
    first = tape.gradient(y, v)

    @tf.function
    def f():
        with tf.GradientTape() as tape:
            a = v * v
            v.assign_add(1.0)
            y = a * v
        return tape.gradient(y, v)

    return [first, f(), v]


@plain("tf.GradientTape", "indexed slices")
def _(tf):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape(persistent=True) as tape:
        rows = tf.gather(table, [2, 0, 2])
        y = tf.reduce_sum(rows * rows)
        twice = y + tf.reduce_sum(tf.nn.embedding_lookup(table, [1]))
        dense = y + tf.reduce_sum(table)
        further = tf.reduce_sum(tf.gather(table * 2.0, [0, 0]))
    return [
        tape.gradient(y, table),
        tape.gradient(twice, table),
        tape.gradient(dense, table),
        tape.gradient(further, table),
    ]


@plain("tf.GradientTape", "integers have none")
def _(tf):
    x = tf.constant(3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    z = tf.Variable(2.0)
    with tf.GradientTape() as other:
        w = tf.cast(tf.cast(z, tf.int32), tf.float32) * 2.0
    return [tape.gradient(y, x), other.gradient(w, z)]


@plain("tf.GradientTape", "none or zeros")
def _(tf):
    x = tf.constant([1.0, 2.0])
    out = []
    for function in (
        tf.floor,
        tf.round,
        tf.sign,
        tf.ones_like,
        tf.zeros_like,
        tf.stop_gradient,
        lambda t: tf.cast(t > 0, tf.float32),
        lambda t: tf.one_hot(tf.argmax(t), 2),
        lambda t: tf.shape(t),
        lambda t: tf.cast(tf.cast(t, tf.int32), tf.float32),
        lambda t: tf.where(t > 0, 1.0, 0.0),
        lambda t: tf.gather(t, [0]) * 0.0,
        lambda t: tf.cast(tf.size(t), tf.float32),
        tf.math.ceil,
    ):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        out.append(tape.gradient(y, x))
    return out


@plain("tf.GradientTape", "a loop with an unknown trip count")
def _(tf):
    @tf.function
    def f(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x
                while tf.reduce_sum(y) < 50.0:
                    y = y * x
            first = inner.gradient(y, x)
        return y, first, outer.gradient(first, x)

    return [f(tf.constant([1.5, 2.0])), f(tf.constant([1.1, 3.0])), f(tf.constant([60.0, 2.0]))]


@plain("tf.GradientTape", "shapes that vary in a loop")
def _(tf):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for i in tf.range(3):
                tf.autograph.experimental.set_loop_options(
                    shape_invariants=[(y, tf.TensorShape([None]))]
                )
                y = tf.concat([y, y[:1] * tf.cast(i + 1, tf.float32)], 0)
            z = tf.reduce_sum(y * y)
        return y, tape.gradient(z, x)

    return f(tf.constant([1.0, 2.0]))


@plain("tf.GradientTape", "unknown axes of broadcasts")
def _(tf):
    spec = tf.TensorSpec(None, tf.float32)

    @tf.function(input_signature=[spec, spec])
    def f(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = x * y + x
        return tape.gradient(z, [x, y])

    return [
        f(tf.ones([2, 3]), tf.ones([3])),
        f(tf.ones([2, 1]), tf.ones([1, 3])),
        f(tf.ones([]), tf.ones([2])),
    ]


@plain("tf.GradientTape", "through a function")
def _(tf):
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        return v * x * x

    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        d = inner.gradient(y, x)
    return [tape.gradient(y, [x, v]), d, tape.gradient(d, [x, v])]


@plain("tf.GradientTape", "random draws are not repeated")
def _(tf):
    @tf.function
    def f(x):
        return x * tf.random.uniform([4])

    x = tf.ones([4])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return bool(tf.reduce_all(tape.gradient(y, x) == y))


@plain("tf.GradientTape", "persistent and several targets")
def _(tf):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = tf.reduce_sum(y)
    return [tape.gradient(z, x), tape.gradient(z, y), tape.gradient({"a": y, "b": z}, x)]


@plain("tf.GradientTape", "complex")
def _(tf):
    return gradient(tf, lambda z: tf.abs(z) ** 2, tf.constant([1 + 2j, 3 - 1j], tf.complex64))


@plain("tf.custom_gradient", "log1pexp")
def _(tf):
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(upstream):
            return upstream * (1 - 1 / (1 + e))

        return tf.math.log(1 + e), grad

    eager = gradient(tf, log1pexp, tf.constant([1.0, 100.0]))
    inside = tf.function(lambda x: gradient(tf, log1pexp, x))(tf.constant([1.0, 100.0]))
    return [eager, inside, log1pexp(tf.constant(0.5))]


@plain("tf.custom_gradient", "several results and second order")
def _(tf):
    @tf.custom_gradient
    def f(x, y):
        def grad(da, dc):
            return da * y * 2.0 + dc, da * x + dc * 3.0

        return (x * y, x + y), grad

    x, y = tf.constant(2.0), tf.constant(5.0)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, y])
        a, c = f(x, y)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            a, c = f(x, y)
            z = a * c
        first = tape.gradient(z, [x, y])
        total = first[0] + first[1]
    return [first, outer.gradient(total, [x, y])]


@plain("tf.custom_gradient", "variables")
def _(tf):
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        y = x * v

        def grad(upstream, variables=None):
            return upstream * 10.0, [upstream * 100.0]

        return y, grad

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [y, tape.gradient(y, [x, v])]


@plain("tf.gradients", "in a function")
def _(tf):
    @tf.function
    def f(x, y):
        z = x * x * y
        return (
            tf.gradients(z, [x, y]),
            tf.gradients(tf.gradients(z, x)[0], x),
            tf.gradients(z, [x], grad_ys=2.0 * z),
        )

    return f(tf.constant(3.0), tf.constant(5.0))


@plain("tf.gradients", "unconnected")
def _(tf):
    @tf.function
    def f(x, y):
        none = tf.gradients(x * 2.0, y)
        zero = tf.gradients(x * 2.0, y, unconnected_gradients="zero")
        return none[0] is None, zero

    none, zero = f(tf.constant(3.0), tf.constant([5.0, 1.0]))
    return [bool(none), zero]


@plain("tf.hessians", "in a function")
def _(tf):
    @tf.function
    def f(x):
        return tf.hessians(tf.reduce_sum(x**3) + x[0] * x[1], x)

    return f(tf.constant([1.0, 2.0]))


@plain("tf.autodiff.ForwardAccumulator", "a product")
def _(tf):
    x, y = tf.constant([1.0, 2.0]), tf.Variable(3.0)
    with tf.autodiff.ForwardAccumulator([x, y], [tf.constant([1.0, 0.5]), tf.constant(1.0)]) as acc:
        z = tf.sin(x) * y + x
        s = tf.reduce_sum(z)
    return [acc.jvp(z), acc.jvp(s), acc.jvp(tf.constant(1.0))]


@plain("tf.autodiff.ForwardAccumulator", "over reverse")
def _(tf):
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, -1.0])) as acc:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_prod(x) + tf.reduce_sum(x**3)
        g = tape.gradient(y, x)
    return [acc.jvp(g), acc.jvp(x * 2.0, unconnected_gradients="zero")]


@plain("tf.autodiff.ForwardAccumulator", "in a function")
def _(tf):
    @tf.function
    def f(x, t):
        with tf.autodiff.ForwardAccumulator(x, t) as acc:
            y = tf.tanh(x) * x
        return y, acc.jvp(y)

    return f(tf.constant([1.0, 2.0]), tf.constant([1.0, 0.5]))


@plain("tf.autodiff.ForwardAccumulator", "nested")
def _(tf):
    x = tf.constant(1.5)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as outer:
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as inner:
            y = x**4
        d = inner.jvp(y)
    return [d, outer.jvp(d)]


@plain("tf.IndexedSlices", "to a tensor")
def _(tf):
    s = tf.IndexedSlices(tf.constant([[1.0, 2], [3, 4]]), tf.constant([2, 0]), tf.constant([3, 2]))
    twice = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([1, 1]), tf.constant([3]))
    return [
        tf.convert_to_tensor(s),
        s.indices,
        s.values,
        s.dense_shape,
        s.shape,
        s.dtype,
        -s,
        tf.convert_to_tensor(twice),
    ]


@plain("tf.stop_gradient", "in a sum")
def _(tf):
    return gradient(
        tf, lambda x, y: x * tf.stop_gradient(y) + y, tf.constant(2.0), tf.constant(3.0)
    )


def _twice(tf):
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    return tape.gradient(y, x)


raises("tf.GradientTape", "used twice", "persistent", _twice)


def _of_a_string(tf):
    with tf.GradientTape() as tape:
        tape.watch("x")


raises("tf.GradientTape", "watching a string", "str", _of_a_string)
raises("tf.gradients", "outside a function", "eager", lambda tf: tf.gradients(tf.constant(1.0), []))
