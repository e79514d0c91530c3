"""Making tensors, their shapes, joining and taking apart, padding, gathering and scattering."""

import numpy as np
from corpus import b, c64, case, f, f64, i32, lit, plain, pos, u8


# Making tensors.
@plain("tf.constant", "of Python values")
def _(tf):
    return [
        tf.constant(3),
        tf.constant(3.5),
        tf.constant(True),
        tf.constant([1, 2]),
        tf.constant([[1.0, 2], [3, 4]]),
        tf.constant([]),
        tf.constant(1 + 2j),
        tf.constant([[], []]),
        tf.constant((1, 2.5)),
        tf.constant(2**40),
        tf.constant([True, False]),
    ]


@plain("tf.constant", "of arrays")
def _(tf):
    return [
        tf.constant(np.arange(3)),
        tf.constant(np.float64(2.5)),
        tf.constant(np.zeros((2, 0))),
        tf.constant(np.array([1, 2], np.uint16)),
        tf.constant(np.array(True)),
        tf.constant(np.arange(6).reshape(2, 3).T),
        tf.constant([np.float32(1), np.float32(2)]),
        tf.constant(np.arange(6, dtype=np.int8)[::-2]),
        tf.constant([np.arange(2), np.arange(2)]),
    ]


@plain("tf.constant", "with dtype and shape")
def _(tf):
    return [
        tf.constant(1, tf.float32),
        tf.constant([1, 2], dtype="float64"),
        tf.constant(2, shape=[2, 2]),
        tf.constant([1, 2, 3, 4], shape=(2, 2)),
        tf.constant(1.5, tf.bfloat16),
        tf.constant([1, 2], tf.uint8),
        tf.constant(0, dtype=tf.int64),
        tf.constant([1.5], tf.float16),
        tf.constant([1, 0], dtype=tf.complex64),
        tf.constant(np.arange(4), shape=(4, 1)),
    ]


@plain("tf.convert_to_tensor", "of values")
def _(tf):
    t = tf.constant([1, 2])
    return [
        tf.convert_to_tensor(2),
        tf.convert_to_tensor([1.5]),
        tf.convert_to_tensor(np.arange(2)),
        tf.convert_to_tensor([t, t]),
        tf.convert_to_tensor(t) is t,
        tf.convert_to_tensor([tf.constant(1.0), 2.0]),
        tf.convert_to_tensor(3, dtype=tf.float64),
        tf.convert_to_tensor(5, dtype_hint=tf.float32),
        tf.convert_to_tensor(tf.Variable(3.0)),
        tf.convert_to_tensor(tf.TensorShape([2, 3])),
    ]


@plain(("tf.ones", "tf.zeros", "tf.fill", "tf.eye"), "filled")
def _(tf):
    return [
        tf.zeros([2, 3]),
        tf.ones([2], tf.int32),
        tf.zeros([]),
        tf.ones((0, 2)),
        tf.zeros(3),
        tf.zeros([2], tf.bool),
        tf.ones([2], tf.complex64),
        tf.zeros(tf.constant([1, 2])),
        tf.ones(tf.TensorShape([1, 2])),
        tf.ones([2], dtype=tf.float16),
        tf.ones([2], tf.bool),
        tf.fill([2, 2], 7),
        tf.fill([2], 1.5),
        tf.fill([], True),
        tf.fill(tf.constant([3]), 2),
        tf.eye(2),
        tf.eye(2, 3),
        tf.eye(2, batch_shape=[2]),
        tf.eye(3, dtype=tf.int32),
        tf.eye(3, num_columns=2, dtype=tf.float64),
    ]


@plain(("tf.zeros", "tf.ones"), "numpy sizes")
def _(tf):
    return [tf.zeros([np.int64(2), np.int32(1)]), tf.ones(np.array([1, 2])), tf.zeros((2, 1))]


@plain("tf.ones", "shapes that are tensors")
def _(tf):
    n = tf.constant(2)
    return [tf.ones([n, 3]), tf.ones([n, n], tf.int64), tf.ones(tf.shape(tf.zeros([2, 1])))]


@plain("tf.fill", "kinds")
def _(tf):
    return [tf.fill([2], tf.constant(3, tf.int64)), tf.fill((1, 2), 2.5), tf.fill([0], 1)]


@plain("tf.eye", "kinds")
def _(tf):
    return [tf.eye(0), tf.eye(tf.constant(2)), tf.eye(1, batch_shape=[2, 1], dtype=tf.float64)]


for _name in ("zeros", "ones"):
    _symbol = f"tf.{_name}_like"
    case(_symbol, "floats", lambda tf, x, n=_name: getattr(tf, f"{n}_like")(x), f(2, 3))
    case(_symbol, "integers", lambda tf, x, n=_name: getattr(tf, f"{n}_like")(x), i32(2, 3))
    case(_symbol, "booleans", lambda tf, x, n=_name: getattr(tf, f"{n}_like")(x), b(3))
    case(
        _symbol, "a dtype", lambda tf, x, n=_name: getattr(tf, f"{n}_like")(x, dtype=tf.int64), f(2)
    )
    case(_symbol, "complex", lambda tf, x, n=_name: getattr(tf, f"{n}_like")(x), c64(2))


@plain("tf.range", "kinds")
def _(tf):
    return [
        tf.range(5),
        tf.range(2, 5),
        tf.range(0, 10, 3),
        tf.range(5, 0, -2),
        tf.range(1.5),
        tf.range(0.0, 1.0, 0.25),
        tf.range(3, dtype=tf.int64),
        tf.range(3, dtype=tf.float32),
        tf.range(0),
        tf.range(tf.constant(3)),
        tf.range(1, 4.5),
        tf.range(limit=3, start=1),
        tf.range(tf.constant(2, tf.int64), 5),
        tf.range(10, delta=4),
        tf.range(3.0, dtype=tf.float64),
    ]


case("tf.range", "a tensor limit", lambda tf, n: tf.range(n), lit(4, "int32"))
case(
    "tf.range",
    "floats of tensors",
    lambda tf, x, y: tf.range(x, y, 0.5),
    lit(1.0),
    lit(3.1),
)


@plain("tf.linspace", "kinds")
def _(tf):
    return [
        tf.linspace(0.0, 1.0, 5),
        tf.linspace(2.0, -2.0, 3),
        tf.linspace(1.0, 1.0, 1),
        tf.linspace(0.0, 10.0, 2),
        tf.linspace([0.0, 1.0], [1.0, 3.0], 3),
        tf.linspace([0.0, 1.0], [1.0, 3.0], 3, axis=-1),
        tf.linspace(0, 10, 5),
        tf.linspace(np.float64(0), np.float64(1), 4),
    ]


case("tf.linspace", "of tensors", lambda tf, x, y: tf.linspace(x, y, 4), f(), f())
case("tf.meshgrid", "xy", lambda tf, x, y: tf.meshgrid(x, y), f(3), f(2))
case("tf.meshgrid", "ij", lambda tf, x, y: tf.meshgrid(x, y, indexing="ij"), i32(3), i32(2))
case("tf.meshgrid", "three", lambda tf, x, y, z: tf.meshgrid(x, y, z), f(2), f(3), f(2))

# Types.
DTYPES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8", "int16", "bool"]
for _to in DTYPES:
    case("tf.cast", f"f32 to {_to}", lambda tf, x, d=_to: tf.cast(x, d), f(6, low=0, high=9))
    case("tf.cast", f"i32 to {_to}", lambda tf, x, d=_to: tf.cast(x, d), i32(6, low=0, high=9))
    case("tf.cast", f"bool to {_to}", lambda tf, x, d=_to: tf.cast(x, d), b(5))
case("tf.cast", "f64 to f32", lambda tf, x: tf.cast(x, tf.float32), f64(5))
case(
    "tf.cast",
    "negative to unsigned",
    lambda tf, x: tf.cast(x, tf.uint8),
    lit([-1, 256, 300], "int32"),
)
case("tf.cast", "i64 to i32", lambda tf, x: tf.cast(x, tf.int32), lit([2**33 + 5, -1], "int64"))
case("tf.cast", "to complex", lambda tf, x: tf.cast(x, tf.complex64), f(4))
case("tf.cast", "from complex", lambda tf, x: tf.cast(x, tf.float32), c64(4))
case(
    "tf.cast",
    "to bfloat16",
    lambda tf, x: tf.cast(x, tf.bfloat16),
    f(6),
    forward="the tangent is rounded to bfloat16, the gradient is not",
)
case("tf.cast", "to the same", lambda tf, x: tf.cast(x, tf.float32), f(3), second=False)
case("tf.cast", "truncates", lambda tf, x: tf.cast(x, tf.int32), lit([1.9, -1.9, 0.5, -0.5]))
case(
    "tf.saturate_cast",
    "to u8",
    lambda tf, x: tf.saturate_cast(x, tf.uint8),
    lit([-5.0, 300, 7.6]),
)
case(
    "tf.saturate_cast",
    "to i8",
    lambda tf, x: tf.saturate_cast(x, tf.int8),
    lit([-500, 300, 7], "int32"),
)
case("tf.bitcast", "f32 to i32", lambda tf, x: tf.bitcast(x, tf.int32), f(4))
case("tf.bitcast", "to bytes", lambda tf, x: tf.bitcast(x, tf.uint8), i32(2))
case("tf.bitcast", "from bytes", lambda tf, x: tf.bitcast(x, tf.int16), u8(3, 2))

# Shapes.
case("tf.shape", "a matrix", lambda tf, x: tf.shape(x), f(2, 3))
case("tf.shape", "i64", lambda tf, x: tf.shape(x, out_type=tf.int64), f(2, 0))
case("tf.shape", "a scalar", lambda tf, x: tf.shape(x), f())
case("tf.shape", "an element", lambda tf, x: tf.shape(x)[-1], f(2, 3, 4))
case("tf.shape_n", "two", lambda tf, x, y: tf.shape_n([x, y]), f(2, 3), f(4))
case("tf.size", "a matrix", lambda tf, x: tf.size(x), f(2, 3))
case("tf.size", "i64", lambda tf, x: tf.size(x, out_type=tf.int64), f())
case("tf.rank", "a matrix", lambda tf, x: tf.rank(x), f(2, 3))
case("tf.reshape", "a matrix", lambda tf, x: tf.reshape(x, [3, 2]), f(2, 3), second=False)
case("tf.reshape", "minus one", lambda tf, x: tf.reshape(x, [-1]), f(2, 3))
case("tf.reshape", "in the middle", lambda tf, x: tf.reshape(x, (2, -1, 2)), f(4, 3))
case("tf.reshape", "to a scalar", lambda tf, x: tf.reshape(x, []), f(1, 1))
case("tf.reshape", "of nothing", lambda tf, x: tf.reshape(x, [0, 5]), f(2, 0))
case("tf.reshape", "by a shape", lambda tf, x: tf.reshape(x, [tf.shape(x)[0], -1]), f(2, 3, 2))
case("tf.reshape", "like another", lambda tf, x, y: tf.reshape(x, tf.shape(y)), f(6), i32(3, 2))
case(
    "tf.reshape",
    "by a tensor",
    lambda tf, x, s: tf.reshape(x, s),
    f(6),
    lit([3, 2], "int32"),
    vmap="the second example has another shape",
)
case(
    "tf.reshape",
    "i64 shape",
    lambda tf, x, s: tf.reshape(x, s),
    i32(6),
    lit([-1, 2], "int64"),
    vmap="the second example has another shape",
)
case("tf.expand_dims", "axis 0", lambda tf, x: tf.expand_dims(x, 0), f(2, 3))
case("tf.expand_dims", "last", lambda tf, x: tf.expand_dims(x, axis=-1), f(2, 3))
case("tf.expand_dims", "middle", lambda tf, x: tf.expand_dims(x, -2), i32(2, 3))
case("tf.expand_dims", "a scalar", lambda tf, x: tf.expand_dims(x, 0), f())
case("tf.squeeze", "an axis", lambda tf, x: tf.squeeze(x, axis=0), f(1, 3))
case("tf.squeeze", "axes", lambda tf, x: tf.squeeze(x, [0, -1]), f(1, 3, 1))
case("tf.squeeze", "all", lambda tf, x: tf.squeeze(x), f(1, 3, 1))
case("tf.squeeze", "to a scalar", lambda tf, x: tf.squeeze(x), f(1, 1))
case("tf.transpose", "a matrix", lambda tf, x: tf.transpose(x), f(2, 3))
case("tf.transpose", "perm", lambda tf, x: tf.transpose(x, perm=[0, 2, 1]), f(2, 3, 4))
case("tf.transpose", "three", lambda tf, x: tf.transpose(x, [2, 0, 1]), f(2, 3, 4))
case("tf.transpose", "reversed", lambda tf, x: tf.transpose(x), f(2, 3, 4))
case("tf.transpose", "negative perm", lambda tf, x: tf.transpose(x, [-1, 0, 1]), i32(2, 3, 4))
case("tf.transpose", "conjugate", lambda tf, x: tf.transpose(x, conjugate=True), c64(2, 3))
case("tf.transpose", "a vector", lambda tf, x: tf.transpose(x), f(3))
case(
    "tf.transpose",
    "a tensor perm",
    lambda tf, x, p: tf.transpose(x, p),
    f(2, 3),
    lit([1, 0], "int32"),
    vmap="the second example has another shape",
)
case("tf.broadcast_to", "a row", lambda tf, x: tf.broadcast_to(x, [2, 3]), f(3))
case("tf.broadcast_to", "a column", lambda tf, x: tf.broadcast_to(x, [4, 3, 2]), f(3, 1))
case(
    "tf.broadcast_to",
    "like another",
    lambda tf, x, y: tf.broadcast_to(x, tf.shape(y)),
    f(1, 3),
    i32(2, 3),
)
case(
    "tf.broadcast_dynamic_shape",
    "two",
    lambda tf, x, y: tf.broadcast_dynamic_shape(x, y),
    lit([1, 2, 3], "int32"),
    lit([5, 1, 3], "int32"),
)
case("tf.tile", "a matrix", lambda tf, x: tf.tile(x, [2, 3]), f(2, 2), second=False)
case("tf.tile", "once", lambda tf, x: tf.tile(x, [1, 2, 1]), f(2, 1, 3))
case("tf.tile", "zero times", lambda tf, x: tf.tile(x, [0]), i32(3))
case(
    "tf.tile",
    "a tensor of multiples",
    lambda tf, x, m: tf.tile(x, m),
    f(2),
    lit([3], "int32"),
)
case("tf.repeat", "each", lambda tf, x: tf.repeat(x, 2), f(2, 3))
case("tf.repeat", "an axis", lambda tf, x: tf.repeat(x, 3, axis=0), f(2, 2))
case("tf.repeat", "counts", lambda tf, x: tf.repeat(x, [1, 3], axis=1), f(2, 2))
case("tf.repeat", "counts of a vector", lambda tf, x: tf.repeat(x, repeats=[2, 0, 1]), i32(3))

# Joining and taking apart.
case("tf.concat", "axis 0", lambda tf, x, y: tf.concat([x, y], 0), f(2, 3), f(1, 3))
case("tf.concat", "last axis", lambda tf, x, y: tf.concat([x, y], axis=-1), f(2, 3), f(2, 1))
case("tf.concat", "three", lambda tf, x, y: tf.concat([x, y, x], 1), f(2, 3), f(2, 1), second=False)
case("tf.concat", "one", lambda tf, x: tf.concat([x], 0), f(2))
case("tf.concat", "integers", lambda tf, x, y: tf.concat([x, y], 0), i32(2), i32(3))
case("tf.concat", "nothing", lambda tf, x, y: tf.concat([x, y], 0), f(0, 2), f(1, 2))
case("tf.concat", "with a list", lambda tf, x: tf.concat([x, [1.0, 2.0]], 0), f(2))
case("tf.concat", "booleans", lambda tf, x, y: tf.concat([x, y], 0), b(2), b(3))
case("tf.stack", "axis 0", lambda tf, x, y: tf.stack([x, y]), f(2, 3), f(2, 3))
case("tf.stack", "last axis", lambda tf, x, y: tf.stack([x, y], axis=-1), f(2, 3), f(2, 3))
case("tf.stack", "axis 1", lambda tf, x, y: tf.stack([x, y, x], 1), i32(2), i32(2))
case("tf.stack", "scalars", lambda tf, x, y: tf.stack([x, y]), f(), f())
case("tf.stack", "with numbers", lambda tf, x: tf.stack([x, 1.0, 2]), f())
case("tf.stack", "a shape", lambda tf, x: tf.stack([tf.shape(x)[0], 4]), f(2, 3))
case(
    "tf.parallel_stack",
    "two",
    lambda tf, x: tf.parallel_stack([x, x]),
    f(2),
    grad="TensorFlow has it in functions alone",
    without=("unknown", "eager"),
    why="its shape must be known, in a graph",
)
case(
    "tf.unstack",
    "axis 0",
    lambda tf, x: tf.unstack(x),
    f(2, 3),
    without=("unknown", "grad_unknown"),
    why="the number must be known",
)
case("tf.unstack", "num", lambda tf, x: tf.unstack(x, num=3, axis=1), f(2, 3))
case("tf.unstack", "last", lambda tf, x: tf.unstack(x, 3, -1), i32(2, 3))
case("tf.split", "a number", lambda tf, x: tf.split(x, 3, axis=1), f(2, 6))
case("tf.split", "sizes", lambda tf, x: tf.split(x, [1, 2, 3], 1), f(2, 6))
case("tf.split", "minus one", lambda tf, x: tf.split(x, [2, -1], 0), f(5))
case("tf.split", "last axis", lambda tf, x: tf.split(x, 2, axis=-1), i32(2, 4))
case("tf.split", "in one", lambda tf, x: tf.split(x, 1), f(3))
case("tf.slice", "a matrix", lambda tf, x: tf.slice(x, [0, 1], [2, 2]), f(3, 4))
case("tf.slice", "to the end", lambda tf, x: tf.slice(x, [1, 1], [-1, -1]), f(3, 4))
case("tf.slice", "tensors", lambda tf, x, s: tf.slice(x, s, [2]), f(5), lit([1], "int32"))
case("tf.slice", "nothing", lambda tf, x: tf.slice(x, [1], [0]), f(5))
case(
    "tf.strided_slice", "steps", lambda tf, x: tf.strided_slice(x, [0, 1], [4, 5], [2, 2]), f(4, 5)
)
case(
    "tf.strided_slice",
    "masks",
    lambda tf, x: tf.strided_slice(x, [1, 0], [0, 2], begin_mask=1, end_mask=1, shrink_axis_mask=2),
    f(4, 5),
)
case("tf.reverse", "an axis", lambda tf, x: tf.reverse(x, [1]), f(2, 3))
case("tf.reverse", "two axes", lambda tf, x: tf.reverse(x, axis=[0, -1]), f(2, 3))
case("tf.reverse", "booleans", lambda tf, x: tf.reverse(x, [0]), b(5))
case(
    "tf.reverse_sequence",
    "lengths",
    lambda tf, x, n: tf.reverse_sequence(x, n, seq_axis=1),
    f(2, 4),
    lit([2, 3], "int32"),
)
case(
    "tf.reverse_sequence",
    "axes",
    lambda tf, x, n: tf.reverse_sequence(x, n, seq_axis=0, batch_axis=1),
    f(4, 2, 2),
    lit([4, 1], "int64"),
)
case("tf.roll", "one axis", lambda tf, x: tf.roll(x, 2, axis=0), f(5))
case("tf.roll", "two axes", lambda tf, x: tf.roll(x, [1, -2], [0, 1]), f(2, 5))
case("tf.roll", "negative", lambda tf, x: tf.roll(x, -7, axis=-1), i32(2, 5))
case("tf.pad", "constant", lambda tf, x: tf.pad(x, [[1, 0], [2, 1]]), f(2, 3))
case("tf.pad", "a value", lambda tf, x: tf.pad(x, [[1, 1]], constant_values=9.0), f(3))
case("tf.pad", "reflect", lambda tf, x: tf.pad(x, [[1, 1], [2, 1]], "REFLECT"), f(2, 3))
case("tf.pad", "symmetric", lambda tf, x: tf.pad(x, [[1, 2], [0, 1]], "SYMMETRIC"), f(2, 3))
case("tf.pad", "integers", lambda tf, x: tf.pad(x, [[0, 2]], constant_values=-1), i32(3))
case("tf.pad", "a tensor", lambda tf, x, p: tf.pad(x, p), f(3), lit([[1, 2]], "int32"))

# Gathering.
case("tf.gather", "rows", lambda tf, x, i: tf.gather(x, i), f(4, 3), lit([2, 0, 2], "int32"))
case("tf.gather", "i64", lambda tf, x, i: tf.gather(x, i), f(4), lit([[2, 0], [1, 1]], "int64"))
case("tf.gather", "axis 1", lambda tf, x, i: tf.gather(x, i, axis=1), f(2, 4), lit([3, 0], "int32"))
case(
    "tf.gather", "last axis", lambda tf, x, i: tf.gather(x, i, axis=-1), f(2, 2, 3), lit(1, "int32")
)
case(
    "tf.gather",
    "batch dims",
    lambda tf, x, i: tf.gather(x, i, batch_dims=1, axis=1),
    f(2, 4),
    lit([[3, 0], [1, 1]], "int32"),
)
case(
    "tf.gather",
    "batch of rows",
    lambda tf, x, i: tf.gather(x, i, axis=1, batch_dims=1),
    f(2, 3, 2),
    lit([[2, 0], [1, 1]], "int32"),
)
case("tf.gather", "an index", lambda tf, x: tf.gather(x, 1), f(3, 2))
case("tf.gather", "nothing", lambda tf, x, i: tf.gather(x, i), f(3, 2), lit([], "int32"))
case("tf.gather", "integers", lambda tf, x, i: tf.gather(x, i), i32(5), lit([4, 4], "int32"))
case(
    "tf.gather_nd",
    "elements",
    lambda tf, x, i: tf.gather_nd(x, i),
    f(3, 4),
    lit([[0, 1], [2, 3], [0, 1]], "int32"),
)
case(
    "tf.gather_nd",
    "rows",
    lambda tf, x, i: tf.gather_nd(x, i),
    f(3, 4),
    lit([[2], [0]], "int32"),
    without="grad_unknown",
    why="slices where the last dimension is known to be one",
)
case(
    "tf.gather_nd",
    "batch dims",
    lambda tf, x, i: tf.gather_nd(x, i, batch_dims=1),
    f(2, 3, 2),
    lit([[[1]], [[2]]], "int32"),
)
case(
    "tf.gather_nd",
    "an empty index",
    lambda tf, x, i: tf.gather_nd(x, i),
    f(2, 2),
    lit(np.zeros((2, 0)), "int32"),
    grad="TensorFlow's gradient scatters with an empty index, and fails",
)
case(
    "tf.gather_nd",
    "integers",
    lambda tf, x, i: tf.gather_nd(x, i),
    i32(3, 4),
    lit([[2, 0]], "int64"),
)
case(
    "tf.boolean_mask",
    "a vector",
    lambda tf, x, m: tf.boolean_mask(x, m),
    f(5),
    lit([1, 0, 1, 1, 0], "bool"),
)
case(
    "tf.boolean_mask",
    "rows",
    lambda tf, x, m: tf.boolean_mask(x, m),
    f(3, 2),
    lit([1, 0, 1], "bool"),
)
case(
    "tf.boolean_mask",
    "a matrix of it",
    lambda tf, x, m: tf.boolean_mask(x, m),
    i32(2, 2),
    lit([[1, 0], [1, 1]], "bool"),
)
case(
    "tf.boolean_mask",
    "an axis",
    lambda tf, x: tf.boolean_mask(x, [True, False, True], axis=1),
    f(2, 3),
)
case(
    "tf.dynamic_partition",
    "two",
    lambda tf, x, p: tf.dynamic_partition(x, p, 2),
    f(5),
    lit([0, 1, 1, 0, 0], "int32"),
)
case(
    "tf.dynamic_stitch",
    "two",
    lambda tf, x, y: tf.dynamic_stitch([tf.constant([0, 2]), tf.constant([1, 3])], [x, y]),
    f(2),
    f(2),
)

# Scattering.
case(
    "tf.scatter_nd",
    "elements",
    lambda tf, i, u: tf.scatter_nd(i, u, [6]),
    lit([[4], [1], [4]], "int32"),
    f(3),
)
case(
    "tf.scatter_nd",
    "rows",
    lambda tf, i, u: tf.scatter_nd(i, u, [4, 2]),
    lit([[2], [0]], "int32"),
    f(2, 2),
)
case(
    "tf.scatter_nd",
    "integers",
    lambda tf, i, u: tf.scatter_nd(i, u, tf.constant([2, 3], tf.int64)),
    lit([[0, 1], [1, 2], [0, 1]], "int64"),
    i32(3),
)
for _name in ("add", "sub", "min", "max", "update"):
    _symbol = f"tf.tensor_scatter_nd_{_name}"
    _twice = _name not in ("update", "min", "max")
    case(
        _symbol,
        "elements",
        lambda tf, x, i, u, n=_name: getattr(tf, f"tensor_scatter_nd_{n}")(x, i, u),
        f(6),
        lit([[4], [1], [4 if _twice else 2]], "int32"),
        f(3),
    )
    case(
        _symbol,
        "rows",
        lambda tf, x, i, u, n=_name: getattr(tf, f"tensor_scatter_nd_{n}")(x, i, u),
        f(3, 2),
        lit([[2], [0]], "int32"),
        f(2, 2),
    )
    case(
        _symbol,
        "integers",
        lambda tf, x, i, u, n=_name: getattr(tf, f"tensor_scatter_nd_{n}")(x, i, u),
        i32(2, 3),
        lit([[0, 1], [1, 2]], "int64"),
        i32(2),
    )
case("tf.one_hot", "a vector", lambda tf, i: tf.one_hot(i, 4), lit([0, 3, -1, 9], "int32"))
case("tf.one_hot", "axis", lambda tf, i: tf.one_hot(i, 3, axis=0), lit([0, 2], "int32"))
case(
    "tf.one_hot",
    "values",
    lambda tf, i: tf.one_hot(i, 3, on_value=5.0, off_value=-1.0),
    lit([[0, 2], [1, 1]], "int64"),
)
case("tf.one_hot", "a dtype", lambda tf, i: tf.one_hot(i, 3, dtype=tf.int32), lit([0, 2], "uint8"))
case("tf.one_hot", "booleans", lambda tf, i: tf.one_hot(i, 2, True, False), lit([0, 1], "int32"))
case("tf.one_hot", "a scalar", lambda tf, i: tf.one_hot(i, 3), lit(1, "int32"))
case("tf.sequence_mask", "maxlen", lambda tf, n: tf.sequence_mask(n, 5), lit([1, 3, 0], "int32"))
case(
    "tf.sequence_mask",
    "from data",
    lambda tf, n: tf.sequence_mask(n),
    lit([1, 3, 0], "int32"),
)
case(
    "tf.sequence_mask",
    "a dtype",
    lambda tf, n: tf.sequence_mask(n, 3, dtype=tf.float32),
    lit([[1, 3], [2, 0]], "int64"),
)
case(
    "tf.searchsorted",
    "unsorted shapes",
    lambda tf, s, v: tf.searchsorted(s, v),
    f(0),
    f(3),
)

# Blocks.
case(
    "tf.space_to_batch",
    "a picture",
    lambda tf, x: tf.space_to_batch(x, [2, 2], [[0, 0], [1, 1]]),
    f(1, 2, 2, 1),
)
case(
    "tf.batch_to_space",
    "a picture",
    lambda tf, x: tf.batch_to_space(x, [2, 2], [[0, 0], [0, 1]]),
    f(4, 1, 2, 1),
)
case("tf.nn.space_to_depth", "a picture", lambda tf, x: tf.nn.space_to_depth(x, 2), f(1, 4, 2, 3))
case("tf.nn.depth_to_space", "a picture", lambda tf, x: tf.nn.depth_to_space(x, 2), f(1, 2, 1, 8))
case(
    "tf.extract_volume_patches",
    "a volume",
    lambda tf, x: tf.extract_volume_patches(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID"),
    f(1, 2, 4, 4, 1),
    without="grad_unknown",
    why="TensorFlow's gradient multiplies sizes that are None",
)

# Identity and its kind.
case(
    "tf.stop_gradient",
    "a product",
    lambda tf, x: x * tf.stop_gradient(x),
    f(3),
    second=False,
)
case("tf.identity", "integers", lambda tf, x: tf.identity(x), i32(3))
case("tf.identity_n", "two", lambda tf, x, y: tf.identity_n([x, y]), f(3), f(2))
case(
    "tf.guarantee_const",
    "a vector",
    lambda tf, x: tf.guarantee_const(x),
    f(3),
    grad="TensorFlow has no gradient of it",
)
case("tf.ensure_shape", "a matrix", lambda tf, x: tf.ensure_shape(x, [None, 3]), f(2, 3))
case(
    "tf.grad_pass_through",
    "a step",
    lambda tf, x: tf.grad_pass_through(tf.floor)(x),
    f(3),
    forward="where the function has no tangent there is none; TensorFlow asks the gradient",
)
case("tf.fingerprint", "bytes", lambda tf, x: tf.fingerprint(x), u8(2, 3))
case(
    "tf.quantization.fake_quant_with_min_max_args",
    "a vector",
    lambda tf, x: tf.quantization.fake_quant_with_min_max_args(x, -1, 1),
    f(6),
)
case(
    "tf.quantization.fake_quant_with_min_max_vars",
    "a vector",
    lambda tf, x, lo, hi: tf.quantization.fake_quant_with_min_max_vars(x, lo, hi, num_bits=4),
    f(6),
    lit(-1.0),
    lit(1.0),
)
case(
    "tf.quantization.fake_quant_with_min_max_vars_per_channel",
    "a matrix",
    lambda tf, x, lo, hi: tf.quantization.fake_quant_with_min_max_vars_per_channel(x, lo, hi),
    f(3, 2),
    lit([-1.0, -0.5]),
    lit([1.0, 1.5]),
)
case(
    "tf.raw_ops.Bucketize",
    "a vector",
    lambda tf, x: tf.raw_ops.Bucketize(input=x, boundaries=[0.0, 1.0]),
    f(6),
)
case("tf.raw_ops.Add", "two", lambda tf, x, y: tf.raw_ops.Add(x=x, y=y), f(2, 3), f(3))
case("tf.raw_ops.Inv", "a vector", lambda tf, x: tf.raw_ops.Inv(x=x), pos(3))
case(
    "tf.raw_ops.PreventGradient",
    "a vector",
    lambda tf, x: tf.raw_ops.PreventGradient(input=x),
    f(3),
    grad="TensorFlow raises, as it is meant to",
)
case("tf.raw_ops.StatelessRandomGetAlg", "Philox", lambda tf: tf.raw_ops.StatelessRandomGetAlg())


@plain("tf.raw_ops.VarIsInitializedOp", "a variable")
def _(tf):
    return tf.raw_ops.VarIsInitializedOp(resource=tf.Variable(1.0).handle)


case(
    "tf.required_space_to_batch_paddings",
    "two",
    lambda tf: tf.required_space_to_batch_paddings([3, 5], [2, 2]),
)

# Indexing.
INDEXED = {
    "an element": lambda tf, x: x[1],
    "the last": lambda tf, x: x[-1],
    "two": lambda tf, x: x[1, 2],
    "a range": lambda tf, x: x[1:3],
    "to a place": lambda tf, x: x[:2],
    "steps": lambda tf, x: x[::2, 1::2],
    "backwards": lambda tf, x: x[::-1],
    "backwards from": lambda tf, x: x[2:0:-1, 3::-2],
    "ellipsis": lambda tf, x: x[..., 0],
    "ellipsis between": lambda tf, x: x[1, ..., 1:3],
    "newaxis": lambda tf, x: x[:, tf.newaxis, :],
    "None at the end": lambda tf, x: x[..., None],
    "newaxis and element": lambda tf, x: x[None, 1, :, None],
    "negative range": lambda tf, x: x[-2:, :-1],
    "beyond the end": lambda tf, x: x[1:99],
    "nothing": lambda tf, x: x[2:1],
    "everything": lambda tf, x: x[:],
}
for _what, _function in INDEXED.items():
    case("tf.Tensor", f"index {_what}", _function, f(3, 4))
case("tf.Tensor", "index by a tensor", lambda tf, x, i: x[i], f(3, 4), lit(1, "int32"))
case(
    "tf.Tensor",
    "index range by tensors",
    lambda tf, x, i: x[i : i + 2],
    f(5),
    lit(1, "int32"),
)
case("tf.Tensor", "index by numpy", lambda tf, x: x[np.int64(1), np.int32(0) :], f(3, 4))
case(
    "tf.Tensor",
    "index by a mask",
    lambda tf, x: x[tf.constant([True, False, True])],
    f(3, 2),
)
case("tf.Tensor", "index of integers", lambda tf, x: x[1:, ::-1], i32(3, 4))
case("tf.newaxis", "a row", lambda tf, x: x[tf.newaxis], f(3))
case("tf.newaxis", "two", lambda tf, x: x[tf.newaxis, :, tf.newaxis], i32(3))
case("tf.linalg.diag", "a vector", lambda tf, x: tf.linalg.diag(x), f(3))
case("tf.linalg.diag", "rows", lambda tf, x: tf.linalg.diag(x), f(2, 3))
case("tf.linalg.diag", "above", lambda tf, x: tf.linalg.diag(x, k=1), f(2))
case(
    "tf.linalg.diag", "padded", lambda tf, x: tf.linalg.diag(x, num_rows=3, padding_value=9.0), f(2)
)
case(
    "tf.linalg.diag",
    "a band",
    lambda tf, x: tf.linalg.diag(x, k=(-1, 0)),
    f(2, 3),
    without=("unknown", "grad_unknown"),
    why="the band's width must be known",
)
case("tf.linalg.diag_part", "a matrix", lambda tf, x: tf.linalg.diag_part(x), f(3, 4))
case("tf.linalg.diag_part", "below", lambda tf, x: tf.linalg.diag_part(x, k=-1), f(2, 3, 3))
case(
    "tf.linalg.diag_part",
    "a band",
    lambda tf, x: tf.linalg.diag_part(x, k=(-1, 1)),
    f(3, 3),
    without="grad_unknown",
    why="the band's width must be known",
)
case("tf.linalg.set_diag", "a matrix", lambda tf, x, d: tf.linalg.set_diag(x, d), f(3, 4), f(3))
case("tf.linalg.set_diag", "above", lambda tf, x, d: tf.linalg.set_diag(x, d, k=1), f(3, 3), f(2))
case("tf.linalg.tensor_diag", "a vector", lambda tf, x: tf.linalg.tensor_diag(x), f(3))
case("tf.linalg.tensor_diag_part", "a matrix", lambda tf, x: tf.linalg.tensor_diag_part(x), f(3, 3))
case("tf.linalg.band_part", "lower", lambda tf, x: tf.linalg.band_part(x, -1, 0), f(3, 4))
case("tf.linalg.band_part", "upper", lambda tf, x: tf.linalg.band_part(x, 0, -1), f(2, 3, 3))
case("tf.linalg.band_part", "a band", lambda tf, x: tf.linalg.band_part(x, 1, 1), i32(4, 4))
case("tf.linalg.trace", "rows", lambda tf, x: tf.linalg.trace(x), f(2, 3, 3))
case(
    "tf.unravel_index",
    "three",
    lambda tf, i: tf.unravel_index(i, [3, 4]),
    lit([5, 0, 11], "int32"),
)
