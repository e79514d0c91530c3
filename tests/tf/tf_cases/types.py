"""DTypes, shapes, printing, nests, devices, versions, debugging, errors."""

import numpy as np
from corpus import captured_stderr, plain, raises

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
    "string",
]

for _name in DTYPES:

    @plain(f"tf.{_name}", "properties")
    def _(tf, name=_name):
        d = getattr(tf, name)
        out = [
            d.name,
            repr(d),
            str(d),
            d.size,
            d.is_floating,
            d.is_integer,
            d.is_complex,
            d.is_unsigned,
            d.is_bool,
            d.is_numeric,
            d.as_datatype_enum,
            d.base_dtype == d,
            d == name,
            hash(d) == hash(getattr(tf, name)),
            "none in numpy" if name == "bfloat16" else np.dtype(d.as_numpy_dtype).name,
            d.real_dtype.name,
        ]
        if not (d.is_complex or name == "string" or name == "bool"):
            out += [float(d.min), float(d.max)]
        return out


for _name in ("int32", "int64", "float32", "string", "bool", "uint8"):

    @plain(f"tf.dtypes.{_name}", "is the same")
    def _(tf, name=_name):
        return [getattr(tf.dtypes, name) is getattr(tf, name), getattr(tf.dtypes, name).name]


@plain("tf.as_dtype", "kinds")
def _(tf):
    return [
        tf.as_dtype(each).name
        for each in ("float32", np.int64, tf.bool, np.dtype("uint8"), float, bool, 1)
    ]


@plain("tf.DType", "comparisons")
def _(tf):
    return [
        tf.float32 == np.float32,
        tf.float32 == "float32",
        tf.float32 != tf.float64,
        tf.float32.is_compatible_with(tf.float32),
        tf.float32.is_compatible_with(tf.int32),
        isinstance(tf.int32, tf.DType),
        tf.int32 in [tf.int32],
        {tf.int32: 1}[tf.int32],
        tf.float32.limits,
        tf.int8.limits,
    ]


@plain("tf.TensorShape", "making")
def _(tf):
    t = tf.TensorShape
    return [
        repr(t([2, None])),
        str(t([2, None])),
        repr(t(None)),
        str(t(None)),
        repr(t([])),
        repr(t(3)),
        repr(t((1, 2))),
        t([2, 3]).as_list(),
        t([2, 3]).rank,
        t(None).rank,
        t([2, 3]).num_elements(),
        t([None]).num_elements(),
        len(t([2, 3])),
        t([2, 3])[0],
        t([2, None])[1],
        repr(t([2, 3, 4])[1:]),
        list(t([2, 3])),
        bool(t([])),
        bool(t(None)),
        t([2, 3]).ndims,
        t([2, 3]).dims[1].value if t([2, 3]).dims else None,
        tf.constant([[1]]).shape == (1, 1),
        tuple(tf.zeros([2, 3]).shape),
    ]


@plain("tf.TensorShape", "comparing and joining")
def _(tf):
    t = tf.TensorShape
    return [
        t([2, 3]) == [2, 3],
        t([2, 3]) == (2, 3),
        t([2]) != [3],
        t([None]) == t([None]),
        t([2, None]).is_fully_defined(),
        t([2, None]).is_compatible_with([2, 5]),
        t([2]).is_compatible_with([3]),
        repr(t([2]).concatenate([None])),
        repr(t([None, 3]).merge_with([2, None])),
        repr(t([2, 3]).with_rank(2)),
        repr(t(None).with_rank(2)),
        repr(t([2]) + [3]),  # noqa: RUF005
        repr([1] + t([2])),  # noqa: RUF005
        repr(t([2, 3]).most_specific_compatible_shape([2, 4])),
        hash(t([2, 3])) == hash(t([2, 3])),
        repr(t([4, 5]).with_rank_at_least(1)),
        t([2, 3]).as_proto() is not None,
        repr(tf.broadcast_static_shape(t([2, 1]), t([3]))),
        t([1, 2]).is_subtype_of(t([None, 2])),
    ]


@plain("tf.Tensor", "its representation")
def _(tf):
    return [
        repr(each)
        for each in (
            tf.constant(1),
            tf.constant(1.5),
            tf.constant([1, 2]),
            tf.constant([[1.0, 2], [3, 4]]),
            tf.constant(True),
            tf.constant([]),
            tf.constant([[1.25, -3e10]]),
            tf.constant([1 + 2j]),
            tf.zeros([2, 0]),
            tf.constant(1, tf.uint8),
            tf.range(2000),
            tf.constant([1.5], tf.float16),
            tf.constant([0.1, 1e-7]),
            tf.ones([2, 2, 2], tf.int64),
            tf.constant([float("nan"), float("inf")]),
        )
    ]


@plain("tf.Tensor", "as a string")
def _(tf):
    return [
        str(each)
        for each in (
            tf.constant(1),
            tf.constant(1.5),
            tf.constant([1, 2]),
            tf.constant([[1.0, 2], [3, 4]]),
            tf.constant(True),
            tf.constant([[1.25, -3e10]]),
            tf.zeros([2, 0]),
            tf.range(2000),
        )
    ] + [f"{tf.constant(2.5)}", f"{tf.constant(2.5):.2f}"]


@plain("tf.Tensor", "representation in a graph")
def _(tf):
    seen = []

    @tf.function
    def f(x):
        y = tf.add(x, 1.0, name="y")
        seen.extend(
            [
                repr(x),
                repr(y),
                y.name,
                y.op.name,
                y.op.type,
                [i.name for i in y.op.inputs][:1],
                str(y.dtype),
            ]
        )
        return y

    f.get_concrete_function(tf.TensorSpec([None, 2], name="x"))
    return seen


@plain("tf.Tensor", "properties")
def _(tf):
    t = tf.constant([[1.0, 2.0]])
    return [
        t.shape,
        t.dtype,
        t.ndim,
        t.numpy().tolist(),
        float(t[0, 0]),
        int(tf.constant(3)),
        bool(tf.constant(True)),
        len(t),
        [x.numpy().tolist() for x in t],
        tf.is_tensor(t),
        tf.is_tensor(1),
        isinstance(t, tf.Tensor),
        t.get_shape(),
        np.asarray(t).dtype.name,
        np.add(t, 1).tolist(),
        tf.constant(5).__index__(),
        [10, 20][tf.constant(1)],
        t.device.endswith("CPU:0"),
        tf.is_tensor(tf.Variable(1)),
    ]


@plain("tf.Tensor", "numpy behaviour")
def _(tf):
    a = np.array([1.0, 2.0], np.float32)
    t = tf.constant([3.0, 4.0])
    return [
        type(a + t).__name__ == type(t).__name__,
        a + t,
        t + a,
        np.sum(t),
        np.sin(t).dtype.name,
        np.array([t, t]).shape,
    ]


@plain("tf.constant", "is not changed by its source")
def _(tf):
    a = np.ones(3, np.float32)
    t = tf.constant(a)
    a[0] = 9
    return t


@plain("tf.is_tensor", "kinds")
def _(tf):
    return [
        tf.is_tensor(each)
        for each in (tf.constant(1), tf.Variable(1), 1, np.ones(2), [tf.constant(1)], None)
    ]


@plain("tf.get_static_value", "kinds")
def _(tf):
    seen = []

    @tf.function
    def f(x):
        seen.append(tf.get_static_value(x) is None)
        seen.append(tf.get_static_value(tf.constant([1, 2])).tolist())
        seen.append(tf.get_static_value(tf.shape(tf.zeros([2, 3]))).tolist())
        return x

    f(tf.constant(1))
    return [seen, tf.get_static_value(tf.constant(4)).tolist()]


# Printing.
def printed(what, *values, of="tf.print", **named):
    @plain(of, what)
    def _(tf):
        with captured_stderr() as text:
            tf.print(*[v(tf) if callable(v) else v for v in values], **named)
        return text()


printed("a tensor", lambda tf: tf.constant([1, 2, 3]))
printed("words and numbers", "x =", lambda tf: tf.constant(2.5), 3, True, None)
printed("a matrix", lambda tf: tf.constant([[1.5, 2], [3, 4]]))
printed("long", lambda tf: tf.range(20))
printed("all of it", lambda tf: tf.range(10), summarize=-1)
printed("a long matrix", lambda tf: tf.reshape(tf.range(80), [8, 10]))
printed(
    "structures",
    lambda tf: {"a": tf.constant(1), "b": [tf.constant(2.0), 3]},
    lambda tf: (1, "two"),
)
printed("separated", 1, 2, 3, sep=", ", end="!\n")
printed("floats", lambda tf: tf.constant([0.1, 1e-7, 1e10, 123456.789, 1 / 3]))
printed("doubles", lambda tf: tf.constant([0.1, 1e-7, 1e10, 1 / 3], tf.float64))
printed("booleans", lambda tf: tf.constant([True, False]))
printed("a scalar", lambda tf: tf.constant(7))
printed("a variable", lambda tf: tf.Variable([1.0, 2.0]))
printed("strings", "plain", lambda tf: tf.constant("inside"))
printed("nothing but a line")


@plain("tf.print", "in a function")
def _(tf):
    @tf.function
    def f(x):
        tf.print("x:", x, {"y": x + 1})
        return x

    with captured_stderr() as text:
        f(tf.constant([1, 2]))
        f(tf.constant([3, 4]))
    return text()


@plain("tf.print", "in a loop and a branch")
def _(tf):
    @tf.function
    def f(n):
        for i in tf.range(n):
            if i % 2 == 0:
                tf.print("even", i)
            else:
                tf.print("odd", i)
        return n

    with captured_stderr() as text:
        f(tf.constant(4))
    return text()


# Nests.
@plain("tf.nest.flatten", "structures")
def _(tf):
    return [
        tf.nest.flatten({"b": 1, "a": [2, (3,)]}),
        tf.nest.flatten(5),
        tf.nest.flatten([]),
        tf.nest.flatten(np.ones(2))[0].tolist(),
        tf.nest.flatten([None, {"x": None}]),
        tf.nest.flatten("text"),
    ]


@plain("tf.nest.flatten", "named tuples")
def _(tf):
    from collections import OrderedDict, namedtuple

    P = namedtuple("P", "x y")
    return [tf.nest.flatten(P(1, [2])), tf.nest.flatten(OrderedDict([("z", 1), ("a", 2)]))]


@plain("tf.nest.map_structure", "structures")
def _(tf):
    m = tf.nest.map_structure
    return [
        m(lambda x: x + 1, {"a": 1, "b": (2, [3])}),
        m(lambda x, y: x * y, [1, 2], [3, 4]),
        m(lambda x: x, 3),
        m(str, ()),
    ]


@plain("tf.nest.map_structure", "tensors")
def _(tf):
    return tf.nest.map_structure(lambda t: t * 2, {"w": tf.constant([1.0]), "b": (tf.constant(2),)})


@plain("tf.nest.pack_sequence_as", "structures")
def _(tf):
    p = tf.nest.pack_sequence_as
    return [
        p({"a": 0, "b": [0, 0]}, [1, 2, 3]),
        p((0, [0]), [4, 5]),
        p(0, [9]),
        tf.nest.is_nested([1]),
        tf.nest.is_nested(1),
        tf.nest.is_nested({"a": 1}),
        tf.nest.is_nested("text"),
    ]


@plain("tf.nest.assert_same_structure", "equal")
def _(tf):
    tf.nest.assert_same_structure([1, {"a": 2}], [3, {"a": 4}])
    tf.nest.assert_same_structure([1], (1,), check_types=False)
    return True


raises(
    "tf.nest.assert_same_structure",
    "different",
    "structure",
    lambda tf: tf.nest.assert_same_structure([1, 2], [1, [2]]),
)
raises(
    "tf.nest.map_structure",
    "different",
    "structure",
    lambda tf: tf.nest.map_structure(max, [1], [1, 2]),
)
raises(
    "tf.nest.pack_sequence_as", "too many", "2", lambda tf: tf.nest.pack_sequence_as([0], [1, 2])
)


# Devices and the rest.
@plain("tf.config.list_physical_devices", "CPUs")
def _(tf):
    devices = tf.config.list_physical_devices("CPU")
    return [
        len(devices),
        devices[0].name,
        devices[0].device_type,
        repr(devices[0]),
        tf.config.list_physical_devices("GPU"),
    ]


@plain("tf.config.list_logical_devices", "CPUs")
def _(tf):
    devices = tf.config.list_logical_devices("CPU")
    return [devices[0].name, devices[0].device_type]


@plain("tf.config.LogicalDeviceConfiguration", "fields")
def _(tf):
    c = tf.config.LogicalDeviceConfiguration(memory_limit=128)
    d = tf.config.experimental.VirtualDeviceConfiguration()
    return [c.memory_limit, d.memory_limit]


@plain("tf.config.experimental.VirtualDeviceConfiguration", "is the same")
def _(tf):
    return tf.config.experimental.VirtualDeviceConfiguration is tf.config.LogicalDeviceConfiguration


@plain("tf.config.set_visible_devices", "CPUs")
def _(tf):
    tf.config.set_visible_devices([], "GPU")
    return [
        len(tf.config.get_visible_devices("GPU")),
        tf.config.get_visible_devices()[0].device_type,
    ]


@plain("tf.config.set_soft_device_placement", "is told")
def _(tf):
    before = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(True)
    return [before, tf.config.get_soft_device_placement()]


@plain("tf.config.optimizer.set_experimental_options", "are kept")
def _(tf):
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"constant_folding": True})
    after = tf.config.optimizer.get_experimental_options()
    return [isinstance(before, dict), after["constant_folding"]]


@plain("tf.config.optimizer.get_experimental_options", "is a dictionary")
def _(tf):
    return isinstance(tf.config.optimizer.get_experimental_options(), dict)


raises(
    (
        "tf.config.set_logical_device_configuration",
        "tf.config.experimental.set_virtual_device_configuration",
    ),
    "after the start",
    "modified",
    lambda tf: tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * (1 + len(tf.config.list_logical_devices("CPU"))),
    ),
)
raises(
    "tf.config.experimental.set_memory_growth",
    "of a CPU",
    "memory growth GPU",
    lambda tf: tf.config.experimental.set_memory_growth(
        tf.config.list_physical_devices("CPU")[0], True
    ),
)


@plain("tf.types.experimental.TraceType", "its methods")
def _(tf):
    kind = tf.types.experimental.TraceType
    names = ("is_subtype_of", "most_specific_common_supertype", "placeholder_value")
    return [isinstance(kind, type), *[hasattr(kind, name) for name in names]]


@plain("tf.debugging.set_log_device_placement", "can be set")
def _(tf):
    tf.debugging.set_log_device_placement(False)
    return tf.debugging.get_log_device_placement()


@plain("tf.device", "CPU")
def _(tf):
    with tf.device("/CPU:0"):
        a = tf.constant([1.0]) + 1.0
    with tf.device("cpu:0"):
        v = tf.Variable(2.0)
    with tf.device(None):
        c = a * 2
    return [a, a.device.split("/")[-1], v.device.split("/")[-1], c]


@plain("tf.device", "in a function")
def _(tf):
    @tf.function
    def f(x):
        with tf.device("/cpu:0"):
            return x + 1

    return f(tf.constant(1))


@plain("tf.__version__", "is two")
def _(tf):
    return [tf.__version__.split(".")[0], tf.version.VERSION == tf.__version__]


@plain("tf.version.VERSION", "is two")
def _(tf):
    return tf.version.VERSION.split(".")[0]


@plain("tf.get_logger", "is a logger")
def _(tf):
    return tf.get_logger().name


@plain("tf.debugging.check_numerics", "passes")
def _(tf):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.debugging.check_numerics(x, "all well")
    return [y, tape.gradient(y, x)]


raises(
    "tf.debugging.check_numerics",
    "NaN",
    "look NaN",
    lambda tf: tf.debugging.check_numerics(tf.constant([float("nan")]), "look"),
)
raises(
    "tf.debugging.check_numerics",
    "infinity in a function",
    "look Inf",
    lambda tf: tf.function(lambda x: tf.debugging.check_numerics(x, "look"))(
        tf.constant([float("inf")])
    ),
)


@plain("tf.debugging.assert_equal", "that hold")
def _(tf):
    d = tf.debugging
    a, c = tf.constant([1, 2]), tf.constant([1, 3])
    d.assert_equal(a, a)
    d.assert_less(a, a + 1)
    d.assert_less_equal(a, c)
    d.assert_greater(a + 5, c)
    d.assert_greater_equal(c, a)
    d.assert_positive(a)
    d.assert_non_negative(a - 1)
    d.assert_negative(-a)
    d.assert_non_positive(1 - a)
    d.assert_none_equal(a, a + 9)
    d.assert_near(tf.constant([1.0]), tf.constant([1.0 + 1e-9]))
    d.assert_rank(a, 1)
    d.assert_rank_at_least(a, 1)
    d.assert_rank_in(a, [1, 2])
    d.assert_shapes([(a, ("N",)), (c, ("N",))])
    d.assert_type(a, tf.int32)
    d.assert_integer(a)
    d.assert_scalar(tf.constant(1))
    d.assert_all_finite(tf.constant([1.0]), "finite")
    d.Assert(True, [a])
    d.assert_same_float_dtype([tf.constant(1.0)])
    return [d.is_numeric_tensor(a), tf.math.is_strictly_increasing(a), tf.math.is_non_decreasing(c)]


raises(
    "tf.debugging.assert_equal",
    "that fails",
    "not equal message",
    lambda tf: tf.debugging.assert_equal([1, 2], [1, 3], message="not equal message"),
)
raises(
    "tf.debugging.assert_less",
    "that fails",
    "too large",
    lambda tf: tf.debugging.assert_less([3], [2], message="too large"),
)
raises(
    "tf.debugging.assert_positive",
    "in a function",
    "positive",
    lambda tf: tf.function(lambda x: (tf.debugging.assert_positive(x, "positive please"), x)[1])(
        tf.constant([-1])
    ),
)
raises(
    "tf.debugging.assert_rank",
    "static",
    "rank",
    lambda tf: tf.debugging.assert_rank(tf.zeros([2]), 2),
)
raises("tf.Assert", "fails", "3 wrong", lambda tf: tf.Assert(False, ["wrong", 3]))
raises(
    "tf.debugging.assert_type",
    "another",
    "int32",
    lambda tf: tf.debugging.assert_type(tf.constant(1.0), tf.int32),
)


# Errors.
def _assign(tf):
    t = tf.constant([1, 2])
    t[0] = 1


@plain("tf.errors.InvalidArgumentError", "classes")
def _(tf):
    e = tf.errors
    names = [
        "InvalidArgumentError",
        "NotFoundError",
        "OutOfRangeError",
        "UnimplementedError",
        "AlreadyExistsError",
        "FailedPreconditionError",
        "InternalError",
        "UnknownError",
        "CancelledError",
        "PermissionDeniedError",
        "ResourceExhaustedError",
        "UnavailableError",
        "DataLossError",
        "AbortedError",
        "DeadlineExceededError",
        "UnauthenticatedError",
    ]
    made = [getattr(e, n)(None, None, "words") for n in names]
    return [
        [type(m).__name__, m.error_code, m.message, str(m), isinstance(m, e.OpError)] for m in made
    ]


@plain("tf.errors.UnimplementedError", "a class")
def _(tf):
    error = tf.errors.UnimplementedError(None, None, "not here")
    return [
        error.message,
        error.error_code,
        error.op is None,
        error.node_def is None,
        isinstance(error, Exception),
    ]


raises("tf.add", "dtypes that differ", "float", lambda tf: tf.constant(1.0) + tf.constant(1))
raises(
    "tf.add",
    "shapes that do not fit",
    "Incompatible shapes: [2] [3]",
    lambda tf: tf.constant([1, 2]) + tf.constant([1, 2, 3]),
)
raises(
    "tf.add",
    "shapes that do not fit in a function",
    "2 3 Dimensions equal",
    lambda tf: tf.function(lambda x, y: x + y)(tf.constant([1, 2]), tf.constant([1, 2, 3])),
)
raises("tf.add", "a float and an integer tensor", "int32", lambda tf: tf.constant(1) + 1.5)
raises(
    "tf.add",
    "f32 and f64",
    "float double",
    lambda tf: tf.constant(1.0) + tf.constant(1.0, tf.float64),
)
raises(
    "tf.multiply",
    "f32 and f64 in a function",
    "float32 float64",
    lambda tf: tf.function(lambda x, y: x * y)(tf.constant(1.0), tf.constant(1.0, tf.float64)),
)
raises(
    "tf.matmul",
    "inner sizes",
    "Matrix size-incompatible",
    lambda tf: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])),
)
raises(
    "tf.matmul",
    "inner sizes in a function",
    "3 2 Dimensions equal",
    lambda tf: tf.function(lambda x, y: tf.matmul(x, y))(tf.zeros([2, 3]), tf.zeros([2, 3])),
)
raises("tf.reshape", "too few", "6 4", lambda tf: tf.reshape(tf.zeros([2, 3]), [2, 2]))
raises("tf.reshape", "two unknown", "one", lambda tf: tf.reshape(tf.zeros([2, 3]), [-1, -1]))
raises(
    "tf.concat", "sizes", "Dimension", lambda tf: tf.concat([tf.zeros([2, 3]), tf.zeros([2, 4])], 0)
)
raises(
    "tf.concat",
    "dtypes",
    "float",
    lambda tf: tf.concat([tf.zeros([2]), tf.zeros([2], tf.int32)], 0),
)
raises("tf.gather", "beyond the end", "indices 5", lambda tf: tf.gather([1, 2, 3], [5]))
raises(
    "tf.gather_nd", "beyond the end", "indices", lambda tf: tf.gather_nd([[1, 2], [3, 4]], [[2, 0]])
)
raises("tf.stack", "shapes", "Shapes", lambda tf: tf.stack([tf.zeros([2]), tf.zeros([3])]))
raises("tf.squeeze", "a dimension of two", "squeeze", lambda tf: tf.squeeze(tf.zeros([2]), 0))
raises("tf.split", "unevenly", "split", lambda tf: tf.split(tf.zeros([5]), 2))
raises(
    "tf.reduce_sum",
    "an axis too far",
    "dimension",
    lambda tf: tf.reduce_sum(tf.zeros([2, 3]), axis=2),
)
raises("tf.transpose", "a bad perm", "", lambda tf: tf.transpose(tf.zeros([2, 3]), [0]))
raises("tf.constant", "ragged", "non-rectangular", lambda tf: tf.constant([[1, 2], [3]]))
raises("tf.constant", "a float as an integer", "int32", lambda tf: tf.constant(1.5, tf.int32))
raises("tf.constant", "an object", "object", lambda tf: tf.constant(object()))
raises("tf.constant", "another shape", "shape", lambda tf: tf.constant([1, 2, 3], shape=[2, 2]))
raises("tf.convert_to_tensor", "None", "None", lambda tf: tf.convert_to_tensor(None))
raises(
    "tf.convert_to_tensor",
    "another dtype",
    "int32 float32",
    lambda tf: tf.convert_to_tensor(tf.constant(1), dtype=tf.float32),
)
raises("tf.cast", "an unknown dtype", "nonsense", lambda tf: tf.cast(1, "nonsense"))
raises("tf.Tensor", "an index too far", "index", lambda tf: tf.constant([1, 2])[5])
raises("tf.Tensor", "too many indices", "", lambda tf: tf.constant([1, 2])[0, 0])
raises("tf.Tensor", "index by a float", "valid", lambda tf: tf.constant([1, 2])[1.5])
raises("tf.Tensor", "assigned by index", "assignment", _assign)
raises("tf.Tensor", "truth of several", "ambiguous", lambda tf: bool(tf.constant([1, 2])))
raises("tf.Tensor", "length of a scalar", "len", lambda tf: len(tf.constant(1)))
raises("tf.Tensor", "iterating a scalar", "scalar", lambda tf: list(tf.constant(1)))
raises("tf.Tensor", "hashing", "unhashable", lambda tf: hash(tf.constant(1)))
raises("tf.expand_dims", "too far", "dimension", lambda tf: tf.expand_dims(tf.zeros([2]), 3))
raises("tf.broadcast_to", "does not fit", "shape", lambda tf: tf.broadcast_to(tf.zeros([2]), [3]))
raises("tf.one_hot", "no depth", "", lambda tf: tf.one_hot([1]))
raises(
    "tf.nn.conv2d",
    "channels",
    "depth",
    lambda tf: tf.nn.conv2d(tf.zeros([1, 4, 4, 3]), tf.zeros([2, 2, 2, 1]), 1, "SAME"),
)
raises(
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "ranks",
    "rank",
    lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits([[1]], tf.zeros([1, 3])),
)
raises(
    "tf.nn.softmax_cross_entropy_with_logits",
    "shapes",
    "logits labels",
    lambda tf: tf.nn.softmax_cross_entropy_with_logits(tf.zeros([2, 3]), tf.zeros([2, 4])),
)
raises(
    "tf.linalg.inv", "singular", "invertible", lambda tf: tf.linalg.inv([[1.0, 2.0], [2.0, 4.0]])
)
raises("tf.tile", "too few multiples", "multiples", lambda tf: tf.tile(tf.zeros([2, 2]), [2]))
raises("tf.slice", "too far", "", lambda tf: tf.slice(tf.zeros([3]), [2], [4]))
raises("tf.pad", "negative", "", lambda tf: tf.pad(tf.zeros([3]), [[-1, 0]]))
raises(
    "tf.while_loop",
    "shapes that vary",
    "shape",
    lambda tf: tf.function(
        lambda: tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), (0, tf.zeros([1]))
        )
    )(),
)
raises(
    "tf.cond",
    "different dtypes",
    "type",
    lambda tf: tf.function(lambda p: tf.cond(p, lambda: 1, lambda: 1.0))(tf.constant(True)),
)
raises("tf.math.floordiv", "by zero", "zero", lambda tf: tf.constant([1]) // tf.constant([0]))
raises("tf.range", "no steps", "delta", lambda tf: tf.range(0, 5, 0))
raises("tf.zeros", "a negative size", "", lambda tf: tf.zeros([-1]))
raises(
    "tf.einsum",
    "a bad equation",
    "",
    lambda tf: tf.einsum("ij,jk->iz", tf.zeros([2, 2]), tf.zeros([2, 2])),
)
raises("tf.TensorShape", "merging", "compatible", lambda tf: tf.TensorShape([2]).merge_with([3]))
raises("tf.device", "nonsense", "", lambda tf: tf.device("nonsense:::").__enter__())


# Names that are values.
@plain(
    (
        "tf.VariableAggregation.MEAN",
        "tf.VariableAggregation.NONE",
        "tf.VariableAggregation.ONLY_FIRST_REPLICA",
        "tf.VariableAggregation.SUM",
        "tf.VariableSynchronization.AUTO",
        "tf.VariableSynchronization.NONE",
        "tf.VariableSynchronization.ON_READ",
        "tf.VariableSynchronization.ON_WRITE",
    ),
    "numbers and names",
)
def _(tf):
    kinds = tf.VariableAggregation, tf.VariableSynchronization
    return [[(member.name, member.value) for member in kind] for kind in kinds]


@plain(
    tuple(
        f"tf.image.ResizeMethod.{name}"
        for name in (
            "AREA BICUBIC BILINEAR GAUSSIAN LANCZOS3 LANCZOS5 MITCHELLCUBIC NEAREST_NEIGHBOR"
        ).split()
    ),
    "values",
)
def _(tf):
    methods = tf.image.ResizeMethod
    return [getattr(methods, name) for name in sorted(dir(methods)) if name.isupper()]


@plain(("tf.float16.max", "tf.float16.min", "tf.int32.max", "tf.int32.min"), "bounds")
def _(tf):
    return [float(tf.float16.max), float(tf.float16.min), int(tf.int32.max), int(tf.int32.min)]


@plain(("tf.dtypes",), "the same dtypes")
def _(tf):
    same = tf.dtypes.float32 == tf.float32
    return [same, tf.dtypes.as_dtype("int8").name, tf.dtypes.cast(1, "int8")]


@plain(("tf.errors.NotFoundError", "tf.errors.OpError", "tf.errors.OutOfRangeError"), "classes")
def _(tf):
    found = tf.errors.OutOfRangeError(None, None, "past the end")
    missing = tf.errors.NotFoundError(None, None, "nothing there")
    return [
        found.message,
        found.error_code,
        missing.error_code,
        isinstance(missing, tf.errors.OpError),
        found.op,
    ]


@plain("tf.nest.is_nested", "what is nested")
def _(tf):
    return [tf.nest.is_nested(x) for x in ([1], (1,), {"a": 1}, 1, "text", tf.constant([1]), None)]


@plain("tf.broadcast_static_shape", "shapes")
def _(tf):
    shape = tf.TensorShape
    return [
        str(tf.broadcast_static_shape(shape([2, 1]), shape([3]))),
        str(tf.broadcast_static_shape(shape([None, 1]), shape([4, 3]))),
    ]


@plain("tf.inside_function", "outside and inside")
def _(tf):
    seen = [tf.inside_function()]

    @tf.function
    def f():
        seen.append(tf.inside_function())

    f()
    return seen


@plain(("tf.TensorSpec.from_tensor", "tf.TypeSpec"), "of tensors")
def _(tf):
    spec = tf.TensorSpec.from_tensor(tf.zeros([2, 3]), name="x")
    return [str(spec.shape), spec.dtype.name, spec.name, isinstance(spec, tf.TypeSpec)]


@plain("tf.signal.hamming_window", "lengths", rtol=1e-5, atol=1e-6)
def _(tf):
    window = tf.signal.hamming_window
    return [window(8), window(5, periodic=False), window(6, dtype=tf.float64), window(1)]


@plain("tf.signal.inverse_stft_window_fn", "undoes a window", rtol=1e-5, atol=1e-6)
def _(tf):
    return tf.signal.inverse_stft_window_fn(2)(8, dtype=tf.float32)


@plain("tf.nn.experimental.stateless_dropout", "by a seed", rtol=1e-6)
def _(tf):
    dropout = tf.nn.experimental.stateless_dropout
    return [dropout(tf.ones([4, 5]), 0.4, [1, 2]), dropout(tf.ones([3]), 0.0, [1, 2])]


@plain("tf.assert_greater", "as in tf.debugging")
def _(tf):
    tf.assert_greater(tf.constant([2, 3]), 1)
    return tf.assert_greater is tf.debugging.assert_greater


@plain("tf.nn.ctc_greedy_decoder", "rows", rtol=1e-5)
def _(tf):
    best = [[1, 0, 2], [1, 2, 2], [0, 0, 1], [2, 1, 1]]
    logits = tf.one_hot(best, 3) * 2.0
    (decoded,), scores = tf.nn.ctc_greedy_decoder(logits, [4, 3, 2])
    (whole,), _ = tf.nn.ctc_greedy_decoder(logits, [4, 3, 2], merge_repeated=False, blank_index=0)
    return [
        decoded.indices,
        decoded.values,
        decoded.dense_shape,
        scores,
        whole.indices,
        whole.values,
        whole.dense_shape,
    ]


OTHERS = {
    "doubles": lambda: np.array([1.5, 2]),
    "floats": lambda: np.array([1.5, 2], np.float32),
    "longs": lambda: np.array([3, 2]),
    "a mask": lambda: np.array([True, False]),
    "a double": lambda: np.float64(2.5),
    "a truth": lambda: np.bool_(True),
    "a float": lambda: 2.5,
    "an int": lambda: 3,
    "a bool": lambda: True,
    "a list": lambda: [1.5, 2],
    "a string": lambda: "a",
}


def _kind_of(function):
    """What comes out, or the class of what is raised."""
    try:
        result = function()
    except Exception as error:
        return type(error).__name__
    return [result.dtype.name, np.asarray(result).tolist()]


# Arrays of numpy take the dtype of the tensor, whatever theirs is; what numbers of Python cannot
# become is refused.
for _name in ("int32", "int64", "uint8", "float16", "float32", "float64"):
    for _what, _other in OTHERS.items():

        @plain("tf.Tensor", f"{_name} beside {_what}")
        def _(tf, name=_name, other=_other):
            x, y = tf.constant([1, 2], getattr(tf, name)), other()
            functions = [
                lambda: x + y,
                lambda: y + x,
                lambda: x * y,
                lambda: y * x,
                lambda: x - y,
                lambda: x < y,
                lambda: x == y,
                lambda: tf.maximum(x, y),
                lambda: tf.multiply(y, x),
                lambda: tf.stack([x, y]) if isinstance(y, np.ndarray) else x,
                lambda: tf.Variable(x) * y,
                lambda: tf.convert_to_tensor(y, x.dtype),
            ]
            return [_kind_of(function) for function in functions]


def _codes(name):
    import ml_dtypes

    return np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name))


def _around_each(name):
    """Every number of an 8-bit float, the middle of each and the next, and the floats beside it."""
    finite = _codes(name).astype(np.float64)
    finite = np.unique(finite[np.isfinite(finite)])
    middles = (finite[1:] + finite[:-1]) / 2
    last = finite[-1] + (finite[-1] - finite[-2]) / 2
    exact = np.concatenate([finite, middles, [last, -last, 1e-30, 3e38, -3e38]]).astype(np.float32)
    every = np.concatenate([exact, np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])
    return np.concatenate([every, np.float32([np.nan, -np.nan, np.inf, -np.inf, -0.0])])


for _name in ("float8_e4m3fn", "float8_e5m2"):

    @plain("tf.cast", f"every number of {_name}")
    def _(tf, name=_name):
        codes = tf.constant(_codes(name))
        wide = [tf.cast(codes, kind).numpy() for kind in ("float32", "float64", "float16")]
        back = tf.cast(tf.cast(codes, "float32"), name).numpy().view(np.uint8)
        other = {"float8_e5m2": "float8_e4m3fn", "float8_e4m3fn": "float8_e5m2"}[name]
        return [
            *(each.astype(np.float64).tolist() for each in wide),
            [np.signbit(each).tolist() for each in wide[:1]],
            back.tolist(),
            tf.cast(codes, other).numpy().view(np.uint8).tolist(),
            tf.cast(codes, "bool").numpy().tolist(),
        ]

    for _from in ("float32", "float64", "bfloat16"):

        @plain("tf.cast", f"{_from} around every number of {_name}")
        def _(tf, name=_name, kind=_from):
            x = tf.constant(_around_each(name).astype(tf.as_dtype(kind).as_numpy_dtype))
            if kind == "float64":  # nearer to the middle than any float32
                x = tf.concat([x, x * (1 + 2.0**-40), x * (1 - 2.0**-40)], 0)
            return tf.cast(x, name).numpy().view(np.uint8).tolist()

    @plain("tf.cast", f"{_name} is moved")
    def _(tf, name=_name):
        x = tf.cast(tf.reshape(tf.range(24.0), (2, 3, 4)) / 3, name)
        v = tf.Variable(x)
        v.assign(x[::-1])
        moved = [
            tf.reshape(x, (4, 6)),
            x[:, 1:, ::2],
            tf.concat([x, x], 1),
            tf.gather(x, [1, 0, 1], axis=2),
            tf.stack([x[0], x[1]], -1),
            tf.expand_dims(x, 0),
            tf.broadcast_to(x[0], (2, 3, 4)),
            tf.convert_to_tensor(1.5, x.dtype),
            tf.constant([1.0, 449.0], x.dtype),
            *tf.split(x, 3, 1),
            v,
        ]
        return [[each.dtype.name, tf.cast(each, tf.float32).numpy().tolist()] for each in moved]

    for _what in ("add", "multiply", "matmul", "negative", "abs", "reduce_sum"):

        def _refused(tf, name=_name, what=_what):
            x = tf.cast([[1.0]], name)
            takes_two = what in ("add", "multiply", "matmul")
            return getattr(tf, what)(*([x, x] if takes_two else [x]))

        raises("tf.cast", f"{_name} has no {_what}", "allowed values", _refused)
