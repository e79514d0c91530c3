"""Poles, ties and kinks, None against zeros, slices: first and second derivatives."""

from corpus import plain


def g1(tf, f, *xs):
    xs = [tf.constant(x) if not hasattr(x, "dtype") else x for x in xs]
    out = []
    for wrap in (lambda h: h, tf.function):
        h = wrap(f)
        with tf.GradientTape(persistent=True) as t2:
            t2.watch(xs)
            with tf.GradientTape() as t:
                t.watch(xs)
                y = h(*xs)
            d = t.gradient(y, xs)
            s = [tf.reduce_sum(e) for e in d if e is not None]
        out.append([y, d] + [t2.gradient(e, xs) for e in s])
    return out


def g_first(tf, f, *xs):
    xs = [tf.constant(x) for x in xs]
    out = []
    for wrap in (lambda h: h, tf.function):
        h = wrap(f)
        with tf.GradientTape() as t:
            t.watch(xs)
            y = h(*xs)
        out.append([y, t.gradient(y, xs)])
    return out


@plain("tf.GradientTape", "sqrt zero")
def _(tf):
    return g_first(tf, tf.sqrt, [0.0, 1.0, 4.0])


@plain("tf.GradientTape", "sqrt where")
def _(tf):
    return g_first(tf, lambda x: tf.where(x > 0, tf.sqrt(x), 0.0), [0.0, 1.0, -4.0])


@plain("tf.GradientTape", "rsqrt where")
def _(tf):
    return g_first(tf, lambda x: tf.where(x > 0, tf.math.rsqrt(x), 0.0), [0.0, 1.0, 4.0])


@plain("tf.GradientTape", "reciprocal where")
def _(tf):
    return g_first(tf, lambda x: tf.where(x > 0, tf.math.reciprocal(x), 0.0), [0.0, 1.0, 4.0])


@plain("tf.GradientTape", "div where")
def _(tf):
    return g_first(tf, lambda x: tf.where(x > 0, 1.0 / x, 0.0), [0.0, 1.0, 4.0])


@plain("tf.GradientTape", "log where")
def _(tf):
    return g_first(tf, lambda x: tf.where(x > 0, tf.math.log(x), 0.0), [0.0, 1.0, 4.0])


@plain("tf.GradientTape", "pow zero")
def _(tf):
    return g_first(tf, tf.pow, [0.0, 0.0, 0.0, 2.0, -2.0], [2.0, 1.0, 0.0, 3.0, 2.0])


@plain("tf.GradientTape", "pow half")
def _(tf):
    return g_first(tf, lambda x: x**0.5, [0.0, 4.0])


@plain("tf.GradientTape", "pow second")
def _(tf):
    return g1(tf, lambda x: x**3, [0.0, 2.0, -1.0])


@plain("tf.GradientTape", "pow two")
def _(tf):
    return g1(tf, lambda x: x**2, [0.0, 2.0, -1.0])


@plain("tf.GradientTape", "pow broadcast")
def _(tf):
    return g_first(tf, tf.pow, [[1.0], [2.0]], [1.0, 2.0, 3.0])


@plain("tf.GradientTape", "reduce max tie")
def _(tf):
    return g1(tf, lambda x: tf.reduce_max(x * x, axis=1), [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])


@plain("tf.GradientTape", "abs zero")
def _(tf):
    return g1(tf, tf.abs, [0.0, -1.0, 2.0])


@plain("tf.GradientTape", "sign")
def _(tf):
    return g_first(tf, lambda x: tf.sign(x) * x, [0.0, -1.0, 2.0])


@plain("tf.GradientTape", "relu")
def _(tf):
    return g1(tf, tf.nn.relu, [0.0, -1.0, 2.0])


@plain("tf.GradientTape", "relu6")
def _(tf):
    return g1(tf, tf.nn.relu6, [0.0, -1.0, 6.0, 7.0, 3.0])


@plain("tf.GradientTape", "leaky")
def _(tf):
    return g1(tf, tf.nn.leaky_relu, [0.0, -1.0, 2.0])


@plain("tf.GradientTape", "elu")
def _(tf):
    return g1(tf, tf.nn.elu, [0.0, -1.0, 2.0])


@plain("tf.GradientTape", "selu")
def _(tf):
    return g1(tf, tf.nn.selu, [0.0, -1.0, 2.0])


@plain("tf.GradientTape", "softplus")
def _(tf):
    return g1(tf, tf.math.softplus, [0.0, -1.0, 2.0, 100.0, -100.0])


@plain("tf.GradientTape", "norm zero")
def _(tf):
    return g_first(tf, lambda x: tf.norm(x), [0.0, 0.0])


@plain("tf.GradientTape", "norm axis")
def _(tf):
    return g_first(tf, lambda x: tf.norm(x, axis=1), [[0.0, 0.0], [3.0, 4.0]])


@plain("tf.GradientTape", "l2 normalize")
def _(tf):
    return g1(tf, lambda x: tf.math.l2_normalize(x, axis=-1), [[0.0, 0.0], [3.0, 4.0]])


@plain("tf.GradientTape", "std")
def _(tf):
    return g_first(tf, lambda x: tf.math.reduce_std(x), [1.0, 1.0, 1.0])


@plain("tf.GradientTape", "cumprod zero")
def _(tf):
    return g_first(tf, lambda x: tf.math.cumprod(x), [1.0, 2.0, 3.0])


@plain("tf.GradientTape", "logsumexp inf")
def _(tf):
    return g_first(tf, lambda x: tf.reduce_logsumexp(x), [float("-inf"), 0.0, 1.0])


@plain("tf.GradientTape", "logsumexp ties")
def _(tf):
    return g1(tf, lambda x: tf.reduce_logsumexp(x), [1.0, 1.0, 1.0])


@plain("tf.GradientTape", "max pool tie")
def _(tf):
    return g_first(tf, lambda x: tf.nn.max_pool1d(x, 2, 2, "VALID"), [[[1.0], [1.0], [2.0], [3.0]]])


@plain("tf.GradientTape", "floor mod")
def _(tf):
    return g_first(tf, lambda x, y: tf.math.floormod(x, y), [5.0, -5.0, 0.0], [3.0, 3.0, 2.0])


@plain("tf.GradientTape", "atan2")
def _(tf):
    return g_first(tf, tf.atan2, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])


@plain("tf.GradientTape", "asin one")
def _(tf):
    return g_first(tf, tf.asin, [1.0, 0.0, 0.5])


@plain("tf.GradientTape", "acosh")
def _(tf):
    return g_first(tf, tf.acosh, [1.0, 2.0])


@plain("tf.GradientTape", "div no nan")
def _(tf):
    return g_first(tf, tf.math.divide_no_nan, [1.0, 2.0, 0.0], [0.0, 2.0, 0.0])


@plain("tf.GradientTape", "mul no nan")
def _(tf):
    return g_first(tf, tf.math.multiply_no_nan, [1.0, float("inf"), 2.0], [2.0, 0.0, 3.0])


@plain("tf.GradientTape", "xlogy")
def _(tf):
    return g_first(tf, tf.math.xlogy, [0.0, 0.0, 2.0], [0.0, 2.0, 3.0])


@plain("tf.GradientTape", "squared difference")
def _(tf):
    return g1(tf, tf.math.squared_difference, [1.0, 2.0], [1.0, 5.0])


@plain("tf.GradientTape", "round")
def _(tf):
    return g_first(tf, lambda x: tf.round(x) + tf.floor(x) + tf.math.ceil(x), [1.5, 2.2])


@plain("tf.GradientTape", "top k")
def _(tf):
    return g_first(tf, lambda x: tf.math.top_k(x, 2)[0], [1.0, 3.0, 3.0, 2.0])


@plain("tf.GradientTape", "sort")
def _(tf):
    return g_first(tf, lambda x: tf.sort(x) * tf.constant([1.0, 2.0, 3.0]), [3.0, 1.0, 2.0])


@plain("tf.GradientTape", "segment max")
def _(tf):
    return g_first(tf, lambda x: tf.math.segment_max(x, tf.constant([0, 0, 1])), [3.0, 3.0, 2.0])


@plain("tf.GradientTape", "unsorted segment max")
def _(tf):
    return g_first(
        tf, lambda x: tf.math.unsorted_segment_max(x, tf.constant([0, 0, 1]), 2), [3.0, 3.0, 2.0]
    )


@plain("tf.GradientTape", "none vs zeros")
def _(tf):
    x = tf.constant([1.0, 2.0])
    y = tf.constant(3.0)
    out = []
    for f in (
        lambda x, y: x * 0.0 + 1.0,
        lambda x, y: tf.stop_gradient(x),
        lambda x, y: tf.zeros_like(x),
        lambda x, y: tf.cast(tf.cast(x, tf.int32), tf.float32),
        lambda x, y: tf.round(x),
        lambda x, y: tf.cast(tf.argmax(x), tf.float32),
        lambda x, y: tf.cast(tf.shape(x)[0], tf.float32) * 2.0,
        lambda x, y: tf.sign(x),
        lambda x, y: tf.ones_like(x) * y,
        lambda x, y: tf.where(x > 1.0, y, 0.0),
        lambda x, y: tf.one_hot(tf.argmax(x), 2) * y,
        lambda x, y: tf.fill([2], y),
        lambda x, y: tf.broadcast_to(y, [2]),
    ):
        for wrap in (lambda h: h, tf.function):
            h = wrap(f)
            with tf.GradientTape() as t:
                t.watch([x, y])
                z = h(x, y)
            out.append(t.gradient(z, [x, y]))
    return out


@plain("tf.GradientTape", "variable assign between")
def _(tf):
    v = tf.Variable(3.0)

    def f(x):
        a = v * x
        v.assign(v * 2.0)
        b = v * v * x
        v.assign_add(1.0)
        return a + b * v

    out = []
    for h in (f, tf.function(f)):
        v.assign(3.0)
        x = tf.constant(2.0)
        with tf.GradientTape() as t:
            t.watch(x)
            y = h(x)
        out.append([y, t.gradient(y, [x, v]), v.numpy()])
    return out


@plain("tf.while_loop", "variable assign loop")
def _(tf):
    v = tf.Variable(3.0)

    @tf.function
    def f(x, n):
        y = x
        for _i in tf.range(n):
            y = y * v
            v.assign_add(1.0)
        return y

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = f(x, tf.constant(3))
    return [y, t.gradient(y, x), v.numpy()]


@plain("tf.GradientTape", "unknown broadcast")
def _(tf):

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, None])])
    def f(x, y):
        return x * y + tf.sin(x) / y

    out = []
    for a, b in (([3, 1], [1, 4]), ([1, 1], [2, 3]), ([2, 3], [2, 3])):
        x = tf.ones(a) * 2.0
        y = tf.ones(b) * 3.0
        with tf.GradientTape() as t2:
            t2.watch([x, y])
            with tf.GradientTape() as t:
                t.watch([x, y])
                z = f(x, y)
            d = t.gradient(z, [x, y])
            s = tf.reduce_sum(d[0]) + tf.reduce_sum(d[1] ** 2)
        out.append([d, t2.gradient(s, [x, y])])
    return out


@plain("tf.GradientTape", "unknown rank broadcast")
def _(tf):

    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None)])
    def f(x, y):
        return x * y

    x = tf.ones([3, 1])
    y = tf.ones([2]) * 3.0
    with tf.GradientTape() as t:
        t.watch([x, y])
        z = f(x, y)
    return t.gradient(z, [x, y])


@plain("tf.GradientTape", "complex abs zero")
def _(tf):
    z = tf.constant([0j, 3 + 4j], tf.complex64)
    with tf.GradientTape() as t:
        t.watch(z)
        y = tf.abs(z)
    return t.gradient(y, z)


@plain("tf.IndexedSlices", "slices three")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    with tf.GradientTape() as t:
        y = (
            tf.reduce_sum(tf.gather(v, [0]))
            + tf.reduce_sum(tf.gather(v, [1])) * 2.0
            + tf.reduce_sum(tf.gather(v, [2])) * 3.0
        )
    return t.gradient(y, v)


@plain("tf.IndexedSlices", "slices and dense")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))

    def f():
        return tf.reduce_sum(tf.gather(v, [2, 0]) ** 2) + tf.reduce_sum(v * v)

    out = []
    for h in (f, tf.function(f)):
        with tf.GradientTape() as t:
            y = h()
        g = t.gradient(y, v)
        out.append([type(g).__name__ if hasattr(g, "indices") else "dense", g])
    return out


@plain("tf.IndexedSlices", "slices gather nd")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    out = []
    for i in ([[2], [0], [2]], [[2, 1], [0, 0]]):
        with tf.GradientTape() as t:
            y = tf.reduce_sum(tf.gather_nd(v, i) ** 2)
        g = t.gradient(y, v)
        out.append([hasattr(g, "indices"), g])
    return out


@plain("tf.IndexedSlices", "slices gather nd tensor")
def _(tf):
    v = tf.reshape(tf.range(6.0), [3, 2])
    out = []
    for i in ([[2], [0], [2]], [[2, 1], [0, 0]]):
        with tf.GradientTape() as t:
            t.watch(v)
            y = tf.reduce_sum(tf.gather_nd(v, i) ** 2)
        g = t.gradient(y, v)
        out.append([hasattr(g, "indices"), g])
    return out


@plain("tf.IndexedSlices", "slices further back")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    with tf.GradientTape() as t:
        y = tf.reduce_sum(tf.gather(v * 2.0, [2, 0, 2]) ** 2)
    g = t.gradient(y, v)
    return [hasattr(g, "indices"), g]


@plain("tf.IndexedSlices", "slices axis1")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    with tf.GradientTape() as t:
        y = tf.reduce_sum(tf.gather(v, [1, 1], axis=1) ** 2)
    g = t.gradient(y, v)
    return [hasattr(g, "indices"), g]


@plain("tf.IndexedSlices", "slices embedding")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))

    @tf.function
    def step(i):
        with tf.GradientTape() as t:
            y = tf.reduce_sum(tf.nn.embedding_lookup(v, i) ** 2)
        g = t.gradient(y, v)
        return g

    return step(tf.constant([[0, 1], [1, 1]]))


@plain("tf.IndexedSlices", "slices sparse read")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    with tf.GradientTape() as t:
        y = tf.reduce_sum(v.sparse_read([2, 2]) ** 2)
    return t.gradient(y, v)


@plain("tf.clip_by_global_norm", "clip slices")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as t:
        y = tf.reduce_sum(tf.gather(v, [2, 0, 2]) ** 2) + tf.reduce_sum(w**3)
    g = t.gradient(y, [v, w])
    c, n = tf.clip_by_global_norm(g, 1.0)
    return [
        c,
        n,
        tf.linalg.global_norm(g),
        tf.clip_by_norm(g[0], 0.5),
        tf.clip_by_value(g[0], -1.0, 1.0),
    ]


@plain("tf.clip_by_global_norm", "clip none")
def _(tf):
    c, n = tf.clip_by_global_norm([None, tf.constant([3.0, 4.0])], 1.0)
    return [c, n]


@plain("tf.clip_by_global_norm", "clip inf")
def _(tf):
    c, n = tf.clip_by_global_norm([tf.constant([float("inf"), 4.0])], 1.0)
    return [c, n]


@plain("tf.IndexedSlices", "slices apply")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))

    @tf.function
    def step():
        with tf.GradientTape() as t:
            y = tf.reduce_sum(tf.gather(v, [2, 0, 2]) ** 2)
        g = t.gradient(y, v)
        v.scatter_sub(g)
        return y

    step()
    return v.numpy()


@plain("tf.IndexedSlices", "slices second")
def _(tf):
    v = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t:
            y = tf.reduce_sum(tf.gather(v, [2, 0, 2]) ** 3)
        g = tf.convert_to_tensor(t.gradient(y, v))
        s = tf.reduce_sum(g**2)
    return t2.gradient(s, v)
