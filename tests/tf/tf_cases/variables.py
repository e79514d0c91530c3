"""Variables, modules, scopes, initializers."""

import numpy as np
from corpus import plain, raises


@plain("tf.Variable", "making")
def _(tf):
    v = tf.Variable([1.0, 2.0], name="weights")
    w = tf.Variable(3, dtype=tf.float64, trainable=False)
    u = tf.Variable(lambda: tf.ones([2]))
    return [
        v,
        v.shape,
        v.dtype,
        v.name,
        v.trainable,
        w,
        w.trainable,
        u,
        tf.Variable(2),
        tf.Variable(True),
        tf.Variable(np.arange(3)),
        v.numpy().tolist(),
        v.read_value(),
        v.value(),
    ]


@plain("tf.Variable", "assignments")
def _(tf):
    v = tf.Variable([1.0, 2.0])
    out = [v.assign([3.0, 4.0]), v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.5]), v]
    v.assign(np.array([7, 8], np.float32), read_value=False)
    return [tf.identity(each) for each in out] + [v]


@plain("tf.Variable", "operators")
def _(tf):
    v = tf.Variable([1.0, 2.0])
    m = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    return [
        v + 1,
        1 - v,
        v * v,
        v / 2,
        -v,
        v**2,
        v[0],
        v[::-1],
        m @ m,
        v > 1,
        abs(v),
        v == v,
        m[:, 1],
        tf.reduce_sum(v),
        tf.matmul(m, m),
        tf.concat([v, v], 0),
        tf.stack([v, v]),
    ]


@plain("tf.Variable", "slices assigned")
def _(tf):
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])
    v[1:3].assign([9.0, 8.0])
    m = tf.Variable(tf.zeros([2, 3]))
    m[0].assign([1.0, 2, 3])
    m[:, 1].assign([7.0, 7.0])
    m[1, 2].assign(5.0)
    return [v, m]


@plain("tf.Variable", "scatter")
def _(tf):
    def fresh():
        return tf.Variable([[1.0, 2], [3, 4], [5, 6]])

    slices = tf.IndexedSlices(tf.constant([[10.0, 20.0], [1.0, 1.0]]), tf.constant([2, 0]))
    twice = tf.IndexedSlices(tf.constant([[10.0, 20.0], [1.0, 1.0]]), tf.constant([1, 1]))
    out = []
    for name in (
        "scatter_add",
        "scatter_sub",
        "scatter_update",
        "scatter_max",
        "scatter_min",
        "scatter_mul",
        "scatter_div",
    ):
        v = fresh()
        getattr(v, name)(slices)
        out.append(tf.identity(v))
    v = fresh()
    v.scatter_add(twice)
    out.append(v)
    return out


@plain("tf.Variable", "scatter nd")
def _(tf):
    v = tf.Variable([1.0, 2, 3, 4])
    a = tf.identity(v.scatter_nd_add([[3], [0]], [10.0, 20.0]))
    c = tf.identity(v.scatter_nd_update([[1]], [0.5]))
    d = tf.identity(v.scatter_nd_sub([[2], [2]], [1.0, 1.0]))
    return [a, c, d]


@plain("tf.Variable", "gather")
def _(tf):
    v = tf.Variable([[1.0, 2], [3, 4]])
    return [v.sparse_read([1, 1]), v.gather_nd([[0, 1]]), tf.gather(v, [1])]


@plain("tf.Variable", "an unknown shape")
def _(tf):
    v = tf.Variable([1.0], shape=tf.TensorShape([None]))
    first = v.shape
    v.assign([1.0, 2.0, 3.0])
    u = tf.Variable(0.0, shape=tf.TensorShape(None))
    u.assign([[1.0]])
    return [first, v, u, u.shape]


@plain("tf.Variable", "in a function")
def _(tf):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        before = v.read_value()
        v.assign_add(x)
        between = v * 1.0
        v.assign(v * 2.0)
        return before, between, v + 0.0

    return [f(tf.constant(2.0)), f(tf.constant(3.0)), v]


@plain("tf.Variable", "made in a function once")
def _(tf):
    class Counter:
        v = None

    @tf.function
    def f(x):
        if Counter.v is None:
            Counter.v = tf.Variable(10.0)
        return Counter.v.assign_add(x)

    return [f(1.0), f(1.0), f(2.0), Counter.v]


@plain("tf.Variable", "iteration and length")
def _(tf):
    v = tf.Variable([1.0, 2.0])
    return [[float(each) for each in v], v.shape.rank, len(tf.constant([1, 2, 3]))]


@plain("tf.Variable", "its representation")
def _(tf):
    return [
        repr(tf.Variable(1.0)),
        repr(tf.Variable([1, 2], name="counts")),
        str(tf.Variable([[1.5]], name="w")),
    ]


@plain("tf.Variable", "counts up and down")
def _(tf):
    v = tf.Variable(5, dtype=tf.int32)
    v.assign_add(2)
    return [v, v.assign_sub(1)]


@plain("tf.Module", "tracks variables")
def _(tf):
    class Dense(tf.Module):
        def __init__(self, n, m, name=None):
            super().__init__(name=name)
            self.w = tf.Variable(tf.ones([n, m]), name="w")
            self.b = tf.Variable(tf.zeros([m]), name="b", trainable=False)

        def __call__(self, x):
            return x @ self.w + self.b

    class Net(tf.Module):
        def __init__(self):
            super().__init__(name="net")
            self.layers = [Dense(2, 3, "one"), Dense(3, 1, "two")]
            self.more = {"k": tf.Variable(1.0, name="k")}

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    return [
        net(tf.constant([[1.0, 2.0]])),
        net.name,
        [v.name for v in net.variables],
        [v.name for v in net.trainable_variables],
        [v.name for v in net.non_trainable_variables],
        [m.name for m in net.submodules],
        len(net.variables),
    ]


@plain("tf.Module", "names by itself")
def _(tf):
    class MyBlock(tf.Module):
        pass

    class LSTMCell(tf.Module):
        pass

    m = MyBlock()
    return [
        m.name,
        LSTMCell().name,
        m.name_scope.name,
        m.variables == (),
        MyBlock(name="given").name,
    ]


@plain("tf.Module", "with name scope")
def _(tf):
    class Layer(tf.Module):
        @tf.Module.with_name_scope
        def __call__(self, x):
            if not hasattr(self, "w"):
                self.w = tf.Variable(tf.ones([2, 2]), name="w")
            return x @ self.w

    layer = Layer(name="layer")
    layer(tf.ones([1, 2]))
    return [layer.w.name]


@plain("tf.Module", "with a function")
def _(tf):
    class Accumulator(tf.Module):
        def __init__(self):
            super().__init__()
            self.total = tf.Variable(0.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def add(self, x):
            self.total.assign_add(x)
            return self.total

    a, c = Accumulator(), Accumulator()
    a.add(1.0)
    a.add(2.0)
    c.add(5.0)
    return [a.total, c.total]


@plain("tf.Module", "trains a line")
def _(tf):
    class Line(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(5.0)
            self.b = tf.Variable(0.0)

        def __call__(self, x):
            return self.w * x + self.b

    line = Line()
    x = tf.linspace(-2.0, 2.0, 20)
    y = 3.0 * x + 2.0
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(line(x) - y))
        dw, db = tape.gradient(loss, [line.w, line.b])
        line.w.assign_sub(0.1 * dw)
        line.b.assign_sub(0.1 * db)
    return [line.w, line.b, loss]


@plain("tf.name_scope", "names of variables")
def _(tf):
    with tf.name_scope("outer"):
        a = tf.Variable(1.0, name="a")
        with tf.name_scope("inner") as scope:
            c = tf.Variable(1.0, name="c")
    return [a.name, c.name, scope]


@plain("tf.name_scope", "names in a graph")
def _(tf):
    names = []

    @tf.function
    def f(x):
        with tf.name_scope("part"):
            y = tf.add(x, 1.0, name="sum")
            z = tf.add(x, 1.0, name="sum")
        names.extend([y.op.name, z.op.name])
        return y

    f(tf.constant(1.0))
    return names


@plain("tf.variable_creator_scope", "is called")
def _(tf):
    seen = []

    def creator(next_creator, **kwargs):
        seen.append(kwargs.get("name"))
        return next_creator(**kwargs)

    with tf.variable_creator_scope(creator):
        v = tf.Variable(2.0, name="x")
    return [seen, v]


@plain("tf.init_scope", "leaves a graph")
def _(tf):
    seen = []

    @tf.function
    def f():
        seen.append(tf.executing_eagerly())
        with tf.init_scope():
            seen.append(tf.executing_eagerly())
        return 1

    f()
    return [*seen, tf.executing_eagerly()]


@plain("tf.executing_eagerly", "in and out")
def _(tf):
    seen = []
    tf.function(lambda: seen.append(tf.executing_eagerly()))()
    return [tf.executing_eagerly(), *seen, tf.inside_function()]


@plain("tf.initializers.zeros", "values")
def _(tf):
    return [
        tf.initializers.zeros()([2]),
        tf.zeros_initializer()([2, 1]),
        tf.ones_initializer()([2]),
        tf.constant_initializer(3.0)([2, 2]),
        tf.zeros_initializer()([1], tf.int32),
    ]


@plain("tf.initializers.TruncatedNormal", "shapes")
def _(tf):
    return [tf.initializers.TruncatedNormal(seed=1)([2, 3]).shape]


@plain("tf.VariableAggregation", "names")
def _(tf):
    a, s = tf.VariableAggregation, tf.VariableSynchronization
    return [
        a.NONE.name,
        a.SUM.value,
        a.MEAN.name,
        a.ONLY_FIRST_REPLICA.name,
        s.AUTO.name,
        s.ON_READ.name,
    ]


raises(
    "tf.Variable",
    "another shape",
    "shape",
    lambda tf: tf.Variable([1.0, 2.0]).assign([1.0, 2.0, 3.0]),
)
raises("tf.Variable", "no value", "initial_value", lambda tf: tf.Variable())


def _made_twice(tf):
    @tf.function
    def f():
        return tf.Variable(1.0) + 1.0

    return f()


raises("tf.Variable", "made in every call", "tf.function variable", _made_twice)
