"""tf.function: traces, signatures, closures, effects, shapes; graphs; document examples."""

import numpy as np
from corpus import captured_stderr, plain, raises


def counting(tf, body, **options):
    """A function and the list that grows at every trace of it."""
    traces = []

    def counted(*args, **named):
        traces.append(1)
        return body(*args, **named)

    return tf.function(counted, **options), traces


def counts(tf, calls, body=lambda x: x, **options):
    """The number of traces after each call."""
    function, traces = counting(tf, body, **options)
    out = []
    for arguments in calls(tf):
        function(*arguments)
        out.append(len(traces))
    return out


def traced(what, calls, body=lambda x: x, **options):
    @plain("tf.function", f"traces {what}")
    def _(tf):
        named = {k: v(tf) if callable(v) else v for k, v in options.items()}
        return counts(tf, calls, body, **named)


traced(
    "by dtype and shape",
    lambda tf: [
        [tf.constant(1)],
        [tf.constant(2)],
        [tf.constant(1.0)],
        [tf.constant([1])],
        [tf.constant([2])],
        [tf.constant([1, 2])],
        [tf.constant(3)],
        [tf.constant([[1]])],
    ],
)
traced(
    "by Python value", lambda tf: [[1], [1], [2], [True], [1.0], ["a"], ["a"], [None], [None], [1]]
)
traced(
    "of numpy arrays",
    lambda tf: [
        [np.array([1, 2])],
        [np.array([3, 4])],
        [np.array([1, 2, 3])],
        [np.float32(1)],
        [np.float32(2)],
        [tf.constant([5, 6], tf.int64)],
    ],
)
traced(
    "of lists",
    lambda tf: [
        [[tf.constant(1), tf.constant(2)]],
        [[tf.constant(3), tf.constant(4)]],
        [(tf.constant(1),) * 2],
        [[tf.constant(1)]],
        [[1, 2]],
        [[1, 2]],
        [[1, 3]],
    ],
)
traced(
    "of dictionaries",
    lambda tf: [
        [{"a": tf.constant(1), "b": 2}],
        [{"b": 2, "a": tf.constant(5)}],
        [{"a": tf.constant(1)}],
    ],
)
traced(
    "with a signature",
    lambda tf: [
        [tf.constant([1.0])],
        [tf.constant([1.0, 2.0])],
        [tf.zeros([0])],
        [[1.0, 2.0]],
        [np.ones(3, np.float32)],
    ],
    input_signature=lambda tf: [tf.TensorSpec([None], tf.float32)],
)
traced(
    "with reduced retracing",
    lambda tf: [
        [tf.zeros([1])],
        [tf.zeros([2])],
        [tf.zeros([3])],
        [tf.zeros([4])],
        [tf.zeros([1, 1])],
    ],
    reduce_retracing=True,
)
traced("without AutoGraph", lambda tf: [[tf.constant(1)], [tf.constant(1)]], autograph=False)
traced(
    "compiled",
    lambda tf: [[tf.constant(1.0)], [tf.constant(2.0)]],
    lambda x: x + 1,
    jit_compile=True,
)
traced("of no arguments", lambda tf: [[], [], []], lambda: 1)
traced(
    "of default arguments",
    lambda tf: [[tf.constant(1)], [tf.constant(1), 2], [tf.constant(1), 3]],
    lambda x, n=2: x + n,
)


@plain("tf.function", "traces with variables")
def _(tf):
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    function, traces = counting(tf, lambda x: x * 2.0)
    out = []
    for argument in (v, v, w, tf.constant(1.0)):
        function(argument)
        out.append(len(traces))
    return out


@plain("tf.function", "traces twice when variables are made")
def _(tf):
    made = []

    def body(x):
        if not made:
            made.append(tf.Variable(1.0))
        return made[0] * x

    function, traces = counting(tf, body)
    results = [function(tf.constant(2.0)), len(traces), function(tf.constant(3.0)), len(traces)]
    return results


@plain("tf.function", "traces of objects")
def _(tf):
    class Thing:
        pass

    a, c = Thing(), Thing()
    function, traces = counting(tf, lambda t, x: x)
    out = []
    for thing in (a, a, c):
        function(thing, tf.constant(1))
        out.append(len(traces))
    return out


@plain("tf.function", "traces of methods")
def _(tf):
    traces = []

    class Thing:
        def __init__(self, k):
            self.k = k

        @tf.function
        def f(self, x):
            traces.append(1)
            return x * self.k

    a, c = Thing(2), Thing(3)
    return [a.f(tf.constant(1)), c.f(tf.constant(1)), a.f(tf.constant(5)), len(traces)]


@plain("tf.function", "keyword arguments")
def _(tf):
    function, traces = counting(tf, lambda x, y=1, *, z=0: x * y + z)
    out = [
        function(tf.constant(2)),
        function(x=tf.constant(2)),
        function(tf.constant(2), y=3),
        function(tf.constant(2), 3),
        function(tf.constant(2), z=tf.constant(7)),
    ]
    return [out, len(traces)]


@plain("tf.function", "effects of Python happen once")
def _(tf):
    seen = []

    @tf.function
    def f(x):
        seen.append("traced")
        return x + 1

    f(tf.constant(1))
    f(tf.constant(2))
    f(tf.constant([1]))
    return [len(seen), f.experimental_get_tracing_count()]


@plain("tf.function", "structures returned")
def _(tf):
    @tf.function
    def f(x):
        return {"a": x, "b": (x + 1, [x + 2]), "c": None}

    out = f(tf.constant(1))
    return [out["a"], out["b"], out["c"] is None, type(out["b"]).__name__]


@plain("tf.function", "closures are read anew")
def _(tf):
    v = tf.Variable(1.0)
    k = tf.constant(10.0)

    @tf.function
    def f(x):
        return x * v + k

    a = f(1.0)
    v.assign(5.0)
    return [a, f(1.0)]


@plain("tf.function", "nested functions")
def _(tf):
    inner, inner_traces = counting(tf, lambda x: x * 2)

    def body(x):
        return inner(x) + inner(x + 1)

    outer, outer_traces = counting(tf, body)
    return [outer(tf.constant(3)), outer(tf.constant(4)), len(inner_traces), len(outer_traces)]


@plain("tf.function", "recursion at tracing")
def _(tf):
    @tf.function
    def f(n, x):
        return x if n == 0 else x * f(n - 1, x)

    return f(3, tf.constant(2))


@plain("tf.function", "shapes while tracing")
def _(tf):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def f(x):
        y = tf.transpose(x)
        z = tf.reshape(x, [-1])
        w = tf.reduce_sum(x, axis=0)
        c = tf.concat([x, x], 0)
        m = tf.matmul(x, tf.ones([3, 5]))
        d = tf.concat([x, x], 1)
        n = x[1:, :2]
        s = tf.shape(x)
        p = tf.reshape(x, [tf.shape(x)[0], 3, 1])
        g = tf.gather(x, [0, 1])
        for each in (
            x,
            y,
            z,
            w,
            c,
            m,
            d,
            n,
            s,
            p,
            g,
            x + 1.0,
            x * tf.ones([4, 1, 3]),
            tf.where(x > 0),
        ):
            seen.append(str(each.shape))
        return m

    f(tf.ones([2, 3]))
    return seen


@plain("tf.function", "more shapes while tracing")
def _(tf):
    seen = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 8, 8, 3]),
            tf.TensorSpec(None),
            tf.TensorSpec([2, None]),
        ]
    )
    def f(x, u, r):
        seen.append(str(tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]), 2, "SAME").shape))
        seen.append(str(tf.nn.max_pool2d(x, 2, 2, "VALID").shape))
        seen.append(str(tf.reduce_mean(x, [1, 2]).shape))
        seen.append(str(tf.reshape(x, [-1, 8 * 8 * 3]).shape))
        for each in (u, u + 1.0, tf.reshape(u, [-1, 2]), tf.reduce_sum(u), tf.expand_dims(u, 0)):
            seen.append(str(each.shape))
        for each in (
            r,
            tf.stack([r, r]),
            tf.tile(r, [2, 2]),
            tf.pad(r, [[0, 1], [1, 1]]),
            tf.split(r, 2)[0],
            tf.squeeze(r[:1]),
            tf.one_hot(tf.argmax(r, 1), 5),
            tf.unstack(r)[0],
            tf.expand_dims(r, -1),
            tf.linalg.matmul(r, r, transpose_b=True),
            tf.nn.softmax(r),
            tf.cumsum(r),
            tf.math.top_k(r, 3)[0],
            tf.boolean_mask(r, r > 0),
            tf.range(tf.shape(r)[1]),
            tf.zeros_like(r),
            tf.broadcast_to(r, [3, 2, 4]),
            tf.transpose(r),
            tf.einsum("ij,kj->ik", r, r),
            tf.eye(tf.shape(r)[1]),
        ):
            seen.append(str(each.shape))
        return x

    f(tf.ones([1, 8, 8, 3]), tf.ones([4]), tf.ones([2, 4]))
    return seen


@plain("tf.function", "document 004")
def _(tf):
    seen = []

    @tf.function
    def f(size):
        x = tf.zeros(size + 1)
        seen.append(str(x.shape))
        x.set_shape([2, 3, 4])
        seen.append(str(x.shape))
        return x

    known = []

    @tf.function
    def g():
        x = tf.zeros(tf.constant([1, 2, 3]) + 1)
        known.append(str(x.shape))
        x.set_shape([2, 3, 4])
        return x

    return [f(tf.constant([1, 2, 3])), seen, g(), known]


@plain("tf.function", "set_shape and ensure_shape")
def _(tf):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x):
        seen.append(x.shape.rank)
        x.set_shape([None, 2])
        seen.append(str(x.shape))
        y = tf.ensure_shape(x, [3, None])
        seen.append(str(y.shape))
        return y

    return [f(tf.ones([3, 2])), seen]


@plain("tf.function", "concrete functions")
def _(tf):
    @tf.function
    def f(x, y):
        return x + y

    c = f.get_concrete_function(tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32))
    d = f.get_concrete_function(tf.TensorSpec([2], tf.float32, name="x"), 3.0)
    return [
        c(tf.constant([1.0, 2.0]), tf.constant(1.0)),
        d(tf.constant([1.0, 2.0])),
        [str(i.shape) for i in c.inputs],
        str(c.output_shapes),
        c.output_dtypes.name,
    ]


@plain("tf.Graph", "operations of a function")
def _(tf):
    @tf.function
    def f(x):
        return tf.nn.relu(tf.matmul(x, x) + 1.0)

    graph = f.get_concrete_function(tf.TensorSpec([2, 2])).graph
    kinds = [op.type for op in graph.get_operations()]
    return [kinds, isinstance(graph, tf.Graph), type(graph).__name__]


@plain("tf.Graph", "holds If and While")
def _(tf):
    @tf.function
    def f(x):
        if tf.reduce_sum(x) > 0:
            x = x + 1.0
        while tf.reduce_sum(x) < 10.0:
            x = x * 2.0
        return x

    graph = f.get_concrete_function(tf.TensorSpec([2])).graph
    kinds = {op.type for op in graph.get_operations()}
    return [
        bool(kinds & {"If", "StatelessIf"}),
        bool(kinds & {"While", "StatelessWhile"}),
        f(tf.constant([1.0, 1.0])),
        f(tf.constant([-1.0, 0.5])),
    ]


@plain("tf.Graph", "building one")
def _(tf):
    g = tf.Graph()
    with g.as_default():
        c = tf.constant(3.0)
        inside = tf.executing_eagerly()
    return [c.graph is g, inside, c.op.type, tf.executing_eagerly()]


@plain("tf.function", "prints in order")
def _(tf):
    v = tf.Variable(0)

    @tf.function
    def f():
        tf.print("first", v)
        v.assign_add(1)
        tf.print("second", v)
        v.assign_add(1)
        return v.read_value()

    with captured_stderr() as text:
        f()
    return text()


@plain("tf.function", "run eagerly")
def _(tf):
    seen = []

    @tf.function
    def f(x):
        seen.append(tf.executing_eagerly())
        return x

    tf.config.run_functions_eagerly(True)
    try:
        f(1)
        f(1)
    finally:
        tf.config.run_functions_eagerly(False)
    f(1)
    return seen


@plain("tf.config.run_functions_eagerly", "is told")
def _(tf):
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    during = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)
    return [before, during, tf.config.functions_run_eagerly()]


@plain("tf.TensorSpec", "properties")
def _(tf):
    s = tf.TensorSpec([None, 3], tf.int32, name="x")
    t = tf.TensorSpec.from_tensor(tf.constant([1.0]))
    return [
        s.shape,
        s.dtype,
        s.name,
        repr(s),
        repr(t),
        s == tf.TensorSpec([None, 3], tf.int32, "x"),
        s.is_compatible_with(tf.zeros([2, 3], tf.int32)),
        s.is_compatible_with(tf.zeros([2, 3])),
        tf.TensorSpec([2]).dtype,
        repr(tf.TensorSpec(None)),
        s.most_specific_compatible_type(tf.TensorSpec([2, 4], tf.int32, "x")).shape,
        t.is_subtype_of(tf.TensorSpec([None])),
    ]


@plain("tf.type_spec_from_value", "values")
def _(tf):
    return [
        repr(tf.type_spec_from_value(tf.constant([1, 2]))),
        type(tf.type_spec_from_value(tf.Variable(1.0))).__name__,
    ]


@plain("tf.autograph.to_code", "has the name")
def _(tf):
    def f(x):
        if x > 0:
            x = x + 1
        return x

    code = tf.autograph.to_code(f)
    return ["def tf__f(x)" in code, "if_stmt" in code]


@plain("tf.autograph.experimental.do_not_convert", "is left alone")
def _(tf):
    @tf.autograph.experimental.do_not_convert
    def g(x):
        return x + 1 if isinstance(x, tf.Tensor) else 0

    return tf.function(lambda x: g(x))(tf.constant(1))


@plain("tf.experimental.dispatch_for_api", "wraps")
def _(tf):
    class Tagged(tf.experimental.ExtensionType):
        value: tf.Tensor

    @tf.experimental.dispatch_for_api(tf.shape)
    def shape_of(input: Tagged, out_type=tf.int32, name=None):
        return tf.shape(input.value, out_type)

    out = tf.shape(Tagged(tf.zeros([2, 3])))
    tf.experimental.unregister_dispatch_for(shape_of)
    return out


@plain("tf.experimental.dispatch_for_unary_elementwise_apis", "wraps")
def _(tf):
    class Masked(tf.experimental.ExtensionType):
        values: tf.Tensor
        mask: tf.Tensor

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api, x):
        return Masked(api(x.values), x.mask)

    @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Masked)
    def binary(api, x, y):
        return Masked(api(x.values, y.values), x.mask & y.mask)

    x = Masked(tf.constant([1.0, -2.0]), tf.constant([True, False]))
    out = [tf.abs(x).values, tf.add(x, x).values, tf.add(x, x).mask]
    tf.experimental.unregister_dispatch_for(unary)
    tf.experimental.unregister_dispatch_for(binary)
    return out


@plain("tf.experimental.dispatch_for_binary_elementwise_apis", "wraps")
def _(tf):
    class Pair(tf.experimental.ExtensionType):
        v: tf.Tensor

    @tf.experimental.dispatch_for_binary_elementwise_apis(Pair, Pair)
    def binary(api, x, y):
        return Pair(api(x.v, y.v))

    out = tf.multiply(Pair([2.0]), Pair([3.0])).v
    tf.experimental.unregister_dispatch_for(binary)
    return out


@plain("tf.experimental.unregister_dispatch_for", "takes away")
def _(tf):
    class Alone(tf.experimental.ExtensionType):
        v: tf.Tensor

    @tf.experimental.dispatch_for_unary_elementwise_apis(Alone)
    def unary(api, x):
        return Alone(api(x.v))

    before = tf.abs(Alone([-2.0])).v
    tf.experimental.unregister_dispatch_for(unary)
    try:
        tf.abs(Alone([-2.0]))
    except (ValueError, TypeError):
        return [before, "raised"]
    return [before, "not raised"]


@plain("tf.experimental.ExtensionType", "a class")
def _(tf):
    class Vector(tf.experimental.ExtensionType):
        x: tf.Tensor
        tag: str = "t"

        def norm(self):
            return tf.norm(self.x)

    v = Vector([3.0, 4.0])

    @tf.function
    def f(v):
        return Vector(v.x * 2.0, v.tag)

    return [
        v.norm(),
        v.tag,
        f(v).x,
        f(v).tag,
        v == Vector([3.0, 4.0]),
        tf.nest.flatten(v, expand_composites=True),
    ]


@plain("tf.experimental.ExtensionType", "is immutable")
def _(tf):
    class Point(tf.experimental.ExtensionType):
        x: float
        y: float = 0.0

    p = Point(1.0)
    try:
        p.x = 2.0
    except AttributeError as error:
        return [p.x, p.y, "immutable" in str(error) or "mutate" in str(error).lower()]
    return "changed"


@plain("tf.experimental.BatchableExtensionType", "a class")
def _(tf):
    class Node(tf.experimental.BatchableExtensionType):
        weight: tf.Tensor

    n = Node(tf.constant([[1.0], [2.0]]))
    return tf.map_fn(lambda m: m.weight * 2.0, n, fn_output_signature=tf.TensorSpec([1]))


def _with_signature(tf):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        return x

    return f(tf.constant([[1.0]]))


raises("tf.function", "arguments that do not fit", "", _with_signature)


def _as_a_bool(tf):
    @tf.function(autograph=False)
    def f(x):
        return 1 if x > 0 else 2

    return f(tf.constant(1))


raises("tf.function", "a symbolic tensor as a Python bool", "tf.Tensor bool", _as_a_bool)


def _leaked(tf):
    kept = []

    @tf.function
    def f(x):
        kept.append(x)
        return x

    f(tf.constant(1))
    return tf.function(lambda: kept[0] + 1)()


raises("tf.function", "a tensor of another graph", "out of scope", _leaked)


def _numpy_inside(tf):
    return tf.function(lambda x: x.numpy())(tf.constant(1))


raises("tf.function", "numpy of a symbolic tensor", "numpy", _numpy_inside)


def _wrong_shape(tf):
    @tf.function
    def f(x):
        x.set_shape([3])
        return x

    return f(tf.constant([1, 2]))


raises("tf.function", "set_shape that does not fit", "Shapes", _wrong_shape)
raises(
    "tf.ensure_shape", "does not fit", "Shape", lambda tf: tf.ensure_shape(tf.zeros([2, 3]), [2, 4])
)


@plain("tf.Graph", "ops have the names that they are given")
def _(tf):
    @tf.function
    def named(x):
        with tf.name_scope("scope"):
            y = tf.reduce_sum(tf.reshape(x, [-1], name="flat"), name="total")
        return tf.identity(tf.expand_dims(y, 0, name="row"), name="answer")

    graph = named.get_concrete_function(tf.TensorSpec([2, 2])).graph
    wanted = ["scope/flat", "scope/total", "row", "answer"]
    return [graph.get_operation_by_name(name).type for name in wanted]
