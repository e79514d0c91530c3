"""Derivatives inside and across functions: custom gradients, branches and loops on the host."""

from corpus import plain


def cg(tf):

    @tf.custom_gradient
    def f(x):

        def grad(dy):
            return dy * 100.0 * x

        return (x * x, grad)

    return f


@plain("tf.custom_gradient", "basic in a function")
def _(tf):
    f = cg(tf)
    g = tf.function(f)
    x = tf.constant(6.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return [y, t.gradient(y, x)]


@plain("tf.custom_gradient", "nested functions in a function")
def _(tf):
    f = cg(tf)

    @tf.function
    def inner(x):
        return f(x) * 2.0

    @tf.function
    def outer(x):
        return inner(x) + f(inner(x))

    x = tf.constant(3.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = outer(x)
    return [y, t.gradient(y, x)]


@plain("tf.custom_gradient", "while in a function")
def _(tf):
    f = cg(tf)

    @tf.function
    def g(x, n):
        i = tf.constant(0)
        while i < n:
            x = f(x) * 0.1
            i += 1
        return x

    x = tf.constant(1.5)
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x, tf.constant(3))
    return [y, t.gradient(y, x)]


@plain("tf.custom_gradient", "while second in a function")
def _(tf):
    f = cg(tf)

    @tf.function
    def g(x, n):
        i = tf.constant(0)
        while i < n:
            x = f(x) * 0.1
            i += 1
        return x

    x = tf.constant(1.5)
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = g(x, tf.constant(2))
        d = t.gradient(y, x)
    return [y, d, t2.gradient(d, x)]


@plain("tf.custom_gradient", "variables in a function")
def _(tf):
    v = tf.Variable(3.0)
    w = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x):
        y = x * v * w

        def grad(dy, variables=None):
            return (dy * 10.0, [dy * 100.0 * (i + 1) for i, _ in enumerate(variables)])

        return (y, grad)

    @tf.function
    def g(x):
        return f(x) * 1.0

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    d = t.gradient(y, [x, v, w])
    return [y, d[0], sorted([float(d[1]), float(d[2])])]


@plain("tf.custom_gradient", "kwargs eager in a function")
def _(tf):

    @tf.custom_gradient
    def f(x, scale=2.0):

        def grad(dy):
            return (dy * 7.0, None)

        return (x * scale, grad)

    @tf.custom_gradient
    def h(x, scale=2.0):

        def grad(dy):
            return dy * 7.0

        return (x * scale, grad)

    x = tf.constant(3.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = h(x)
    a = t.gradient(y, x)
    return [a]


@plain("tf.custom_gradient", "second order in a function")
def _(tf):
    f = cg(tf)
    g = tf.function(f)
    x = tf.constant(6.0)
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = g(x)
        d = t.gradient(y, x)
    return [d, t2.gradient(d, x)]


def log1pexp(tf):

    @tf.custom_gradient
    def f(x):
        e = tf.exp(x)

        def grad(dy):
            return dy * (1 - 1 / (1 + e))

        return (tf.math.log(1 + e), grad)

    return f


@plain("tf.custom_gradient", "log1pexp while in a function")
def _(tf):
    f = log1pexp(tf)

    @tf.function
    def g(x, n):
        for _ in tf.range(n):
            x = f(x)
        return x

    x = tf.constant([1.0, 100.0])
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x, tf.constant(2))
    return [y, t.gradient(y, x)]


@plain("tf.stop_gradient", "stop gradient while")
def _(tf):

    @tf.function
    def g(x, n):
        for _ in tf.range(n):
            x = x * tf.stop_gradient(tf.sqrt(x))
        return x

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x, tf.constant(2))
    return [y, t.gradient(y, x)]


@plain("tf.autodiff.ForwardAccumulator", "forward eager")
def _(tf):
    f = cg(tf)
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(2.0)) as acc:
        y = f(x)
    return [y, acc.jvp(y)]


@plain("tf.autodiff.ForwardAccumulator", "forward function")
def _(tf):
    f = tf.function(cg(tf))
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(2.0)) as acc:
        y = f(x)
    return [y, acc.jvp(y)]


@plain("tf.gradients", "gradients")
def _(tf):
    f = cg(tf)

    @tf.function
    def g(x):
        y = f(x)
        d = tf.gradients(y, x)[0]
        return (y, d, tf.gradients(d, x)[0])

    return g(tf.constant(3.0))


@plain("tf.gradients", "gradients stop")
def _(tf):

    @tf.function
    def g(x):
        a = x * 2.0
        b = a * x
        return (tf.gradients(a * b, [x, a], stop_gradients=[a, x]), tf.gradients(a * b, [x]))

    return g(tf.constant(3.0))


@plain("tf.gradients", "gradients variable")
def _(tf):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def g(x):
        return tf.gradients(tf.reduce_sum(v * v * x), [v, x])

    return g(tf.constant(3.0))


@plain("tf.gradients", "gradients cond loop")
def _(tf):

    @tf.function
    def g(x, n):
        y = x
        for _i in tf.range(n):
            y = y * x
        z = tf.cond(y > 5.0, lambda: y * 2.0, lambda: y * x)
        return tf.gradients(z, x)

    return [g(tf.constant(3.0), tf.constant(2)), g(tf.constant(1.1), tf.constant(2))]


@plain("tf.custom_gradient", "multi none in a function")
def _(tf):

    @tf.custom_gradient
    def f(x, y):

        def grad(dy):
            return (dy * 3.0, None)

        return (x * y, grad)

    g = tf.function(f)
    x, y = (tf.constant(2.0), tf.constant(5.0))
    with tf.GradientTape() as t:
        t.watch([x, y])
        z = g(x, y)
    return t.gradient(z, [x, y])


@plain("tf.custom_gradient", "int output in a function")
def _(tf):

    @tf.custom_gradient
    def f(x):

        def grad(dy, di):
            return dy * 3.0

        return ((x * x, tf.cast(x, tf.int32)), grad)

    g = tf.function(f)
    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        z, i = g(x)
    return [i, t.gradient(z, x)]


@plain("tf.recompute_grad", "recompute")
def _(tf):
    calls = []
    v = tf.Variable(3.0)

    @tf.recompute_grad
    def f(x):
        calls.append(1)
        return tf.sin(x) * x * v

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = f(x)
    return [y, t.gradient(y, [x, v]), len(calls)]


@plain("tf.recompute_grad", "recompute function")
def _(tf):
    v = tf.Variable(3.0)

    @tf.recompute_grad
    def f(x):
        return tf.sin(x) * x * v

    @tf.function
    def step(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = f(f(x))
        return [y, *t.gradient(y, [x, v])]

    return step(tf.constant(2.0))


@plain("tf.recompute_grad", "recompute function outer")
def _(tf):
    v = tf.Variable(3.0)

    @tf.recompute_grad
    def f(x):
        return tf.sin(x) * x * v

    g = tf.function(lambda x: f(f(x)))
    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return [y, t.gradient(y, [x, v])]


@plain("tf.custom_gradient", "tape inside while in a function")
def _(tf):
    f = cg(tf)

    @tf.function
    def g(x, n):
        for _ in tf.range(n):
            with tf.GradientTape() as t:
                t.watch(x)
                y = f(x)
            x = x - 0.001 * t.gradient(y, x)
        return x

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x, tf.constant(3))
    return [y, t.gradient(y, x)]


@plain("tf.custom_gradient", "implicit in a function")
def _(tf):

    @tf.custom_gradient
    def sqrt_newton(a):
        x = a
        for _ in range(30):
            x = 0.5 * (x + a / x)

        def grad(dy):
            return dy / (2 * x)

        return (x, grad)

    @tf.function
    def loss(a):
        return tf.reduce_sum(sqrt_newton(a) ** 3)

    a = tf.constant([4.0, 9.0])
    with tf.GradientTape() as t2:
        t2.watch(a)
        with tf.GradientTape() as t:
            t.watch(a)
            y = loss(a)
        d = t.gradient(y, a)
    return [y, d, t2.gradient(d, a)]


@plain("tf.py_function", "py function")
def _(tf):

    @tf.function
    def g(x):
        return tf.py_function(lambda a: a * a * a, [x], tf.float32) * 2.0

    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return [y, t.gradient(y, x)]


@plain("tf.py_function", "py function inner")
def _(tf):

    @tf.function
    def g(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.py_function(lambda a: a * a * a, [x], tf.float32) * 2.0
        return t.gradient(y, x)

    return g(tf.constant([2.0, 3.0]))


@plain("tf.custom_gradient", "custom shape capture in a function")
def _(tf):

    @tf.custom_gradient
    def f(x):
        s = tf.shape(x)

        def grad(dy):
            return tf.reshape(tf.reshape(dy, [-1]) * 3.0, s)

        return (x * x, grad)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def g(x):
        return f(x)

    x = tf.ones([2, 3])
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return t.gradient(y, x)


@plain("tf.autodiff.ForwardAccumulator", "acc in function")
def _(tf):

    @tf.custom_gradient
    def f(x):

        def grad(dy):
            return dy * 100.0 * x

        return (x * x, grad)

    @tf.function
    def g(x):
        with tf.autodiff.ForwardAccumulator(x, tf.constant(2.0)) as acc:
            y = f(x)
        return (y, acc.jvp(y))

    return g(tf.constant(3.0))


@plain("tf.GradientTape", "captured constant")
def _(tf):
    x = tf.constant(2.0)
    f = tf.function(lambda: x * x)
    f()
    with tf.GradientTape() as t:
        t.watch(x)
        y = f()
    return t.gradient(y, x)


@plain("tf.GradientTape", "watched variables in function")
def _(tf):
    v = tf.Variable(1.0)
    w = tf.Variable(2.0)
    names = []

    @tf.function
    def f():
        with tf.GradientTape() as t:
            y = v * w
        names.extend((int(a is b) for a, b in zip(t.watched_variables(), (v, w), strict=False)))
        return y

    f()
    return names


@plain("tf.while_loop", "grow inner")
def _(tf):

    @tf.function
    def g(x, n):
        with tf.GradientTape() as t:
            t.watch(x)
            acc = tf.reshape(x, [1])
            i = tf.constant(0)
            while i < n:
                tf.autograph.experimental.set_loop_options(
                    shape_invariants=[(acc, tf.TensorShape([None]))]
                )
                acc = tf.concat([acc, acc[-1:] * x], 0)
                i += 1
            y = tf.reduce_sum(acc**2)
        return (y, t.gradient(y, x))

    return g(tf.constant(2.0), tf.constant(3))


@plain("tf.while_loop", "host op in loop")
def _(tf):

    @tf.function
    def g(x, n):
        i = tf.constant(0)
        s = x
        while i < n:
            u, _ = tf.unique(tf.cast(s > 0, tf.int32))
            s = s * x + tf.cast(tf.size(u), tf.float32) * x
            i += 1
        return tf.reduce_sum(s)

    x = tf.constant([2.0, -1.0, 3.0])
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = g(x, tf.constant(3))
        d = t.gradient(y, x)
    return [y, d, t2.gradient(d, x)]


@plain("tf.while_loop", "host op in loop inner")
def _(tf):

    @tf.function
    def g(x, n):
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t:
                t.watch(x)
                i = tf.constant(0)
                s = x
                while i < n:
                    u, _ = tf.unique(tf.cast(s > 0, tf.int32))
                    s = s * x + tf.cast(tf.size(u), tf.float32) * x
                    i += 1
                y = tf.reduce_sum(s)
            d = t.gradient(y, x)
        return (y, d, t2.gradient(d, x))

    return g(tf.constant([2.0, -1.0, 3.0]), tf.constant(3))


@plain("tf.GradientTape", "host cond")
def _(tf):

    @tf.function
    def g(x):

        def a():
            u, _ = tf.unique(tf.cast(x, tf.int32))
            return (x * x * tf.cast(tf.size(u), tf.float32), tf.size(u))

        def b():
            return (tf.sin(x), 7)

        y, _n = tf.cond(tf.reduce_sum(x) > 0, a, b)
        return y * x

    out = []
    for v in ([1.0, 2.0, 2.0], [-1.0, -2.0, -3.0]):
        x = tf.constant(v)
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t:
                t.watch(x)
                y = g(x)
            d = t.gradient(y, x)
        out.append([y, d, t2.gradient(d, x)])
    return out


@plain("tf.GradientTape", "host switch")
def _(tf):

    @tf.function
    def g(i, x):

        def a():
            u, _ = tf.unique(tf.cast(x, tf.int32))
            return x * x * tf.cast(tf.size(u), tf.float32)

        return tf.switch_case(i, [a, lambda: tf.exp(x), lambda: 2.0 * x])

    out = []
    for i in range(3):
        x = tf.constant([1.0, 2.0, 2.0])
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t:
                t.watch(x)
                y = g(tf.constant(i), x)
            d = t.gradient(y, x)
        out.append([y, d, t2.gradient(d, x)])
    return out


@plain("tf.map_fn", "map fn unknown")
def _(tf):

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def g(x):
        return tf.map_fn(lambda r: tf.cumsum(r) * tf.reduce_sum(r), x)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = g(x)
        d = t.gradient(y, x)
    return [y, d, t2.gradient(d, x)]


@plain("tf.scan", "scan unknown")
def _(tf):

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def g(x):
        return tf.scan(lambda a, r: a * r + tf.sin(r), x)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = g(x)
        d = t.gradient(y, x)
    return [y, d, t2.gradient(d, x)]


@plain("tf.foldl", "foldl unknown")
def _(tf):

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None])])
    def g(x, i):
        return (
            tf.foldl(lambda a, r: a * r + tf.sin(r), x, i),
            tf.foldr(lambda a, r: a * r + tf.sin(r), x),
        )

    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    i = tf.constant([1.0, 1.0])
    with tf.GradientTape() as t:
        t.watch([x, i])
        y = g(x, i)
    return [y, t.gradient(y, [x, i])]


@plain("tf.TensorArray", "ta dynamic")
def _(tf):

    @tf.function
    def g(x, n):
        ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        i = tf.constant(0)
        s = x
        while i < n:
            s = s * x
            ta = ta.write(i, s)
            i += 1
        return ta.stack()

    x = tf.constant([1.5, 2.0])
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = g(x, tf.constant(4))
        d = t.gradient(y, x)
    return [y, d, t2.gradient(d, x)]


@plain("tf.TensorArray", "ta dynamic break")
def _(tf):

    @tf.function
    def g(x):
        ta = tf.TensorArray(tf.float32, size=1, dynamic_size=True, clear_after_read=False)
        ta = ta.write(0, x)
        i = 0
        while tf.constant(True):
            v = ta.read(i) * 1.5
            ta = ta.write(i + 1, v)
            i += 1
            if v > 20.0:
                break
        return ta.stack()

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return [y, t.gradient(y, x)]


@plain("tf.while_loop", "print in loop inner")
def _(tf):
    seen = []

    @tf.function
    def g(x, n):
        with tf.GradientTape() as t:
            t.watch(x)
            y = x
            for _i in tf.range(n):
                tf.py_function(lambda v: seen.append(v.numpy().item()), [y], [])
                y = y * x
        return (y, t.gradient(y, x))

    return [g(tf.constant(1.5), tf.constant(3)), seen]


@plain("tf.while_loop", "random in loop inner")
def _(tf):

    @tf.function
    def g(x, n):
        with tf.GradientTape() as t:
            t.watch(x)
            s = tf.zeros([3])
            for _i in tf.range(n):
                s += x * tf.random.uniform([3])
        return (s, t.gradient(s, x))

    y, d = g(tf.ones([3]), tf.constant(3))
    return bool(tf.reduce_all(tf.abs(d - y) < 1e-05))


@plain("tf.autodiff.ForwardAccumulator", "jvp host loop")
def _(tf):

    @tf.function
    def g(x, n):
        i = tf.constant(0)
        s = x
        while i < n:
            u, _ = tf.unique(tf.cast(s > 0, tf.int32))
            s = s * x + tf.cast(tf.size(u), tf.float32) * x
            i += 1
        return s

    x = tf.constant([2.0, -1.0, 3.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 2.0, 3.0])) as acc:
        y = g(x, tf.constant(3))
    return [y, acc.jvp(y)]


@plain("tf.while_loop", "nested loops host")
def _(tf):

    @tf.function
    def g(x, n):
        s = x
        for i in tf.range(n):
            for _j in tf.range(i + 1):
                u, _ = tf.unique(tf.cast(s > 0, tf.int32))
                if tf.reduce_sum(s) > tf.cast(i, tf.float32):
                    s = s * x * 0.5 * tf.cast(tf.size(u), tf.float32)
                else:
                    s = s + x
        return tf.reduce_sum(s)

    x = tf.constant([2.0, -1.0, 3.0])
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = g(x, tf.constant(3))
        d = t.gradient(y, x)
    return [y, d, t2.gradient(d, x)]


@plain("tf.vectorized_map", "vmap slice")
def _(tf):
    x = tf.reshape(tf.range(12.0), [3, 4])
    n = tf.constant([1, 0, 2])
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.vectorized_map(lambda a: a[0][a[1] : a[1] + 2] * 2.0, (x, n))
    return [y, t.gradient(y, x)]
