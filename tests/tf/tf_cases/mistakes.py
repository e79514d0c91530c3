"""Mistakes that programs make: the class of the error, and words of its message."""

from __future__ import annotations

from corpus import raises


def _traced(tf, function, *inputs, **options):
    return tf.function(function, **options)(*inputs)


def _leaked(tf):
    kept = []

    @tf.function
    def f(x):
        kept.append(x + 1)
        return x

    f(tf.constant(1.0))
    return kept[0]


def _into_another(tf):
    kept = _leaked(tf)
    return tf.function(lambda x: x + kept)(tf.constant(1.0))


def _concrete(tf):
    return tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([2], tf.float32))


def _signed(tf):
    return tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], tf.float32)])


def _tape_in_itself(tf):
    with tf.GradientTape() as tape, tape:
        pass


def _variables_each_time(tf):
    made = []

    @tf.function
    def f(x):
        if len(made) < 3:
            made.append(tf.Variable(1.0))
        return x + made[-1]

    f(tf.constant(1.0))
    f(tf.constant([1.0]))


def _written_beyond(tf):
    return tf.TensorArray(tf.float32, 3).write(5, 1.0).stack()


def _read_twice(tf):
    array = tf.TensorArray(tf.float32, 3).write(0, tf.constant(1.0))
    array.read(0)
    array.read(0)


def _two_shapes(tf):
    array = tf.TensorArray(tf.float32, 3).write(0, tf.zeros([2]))
    array.write(1, tf.zeros([3]))


def _one_branch(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = x
        return y

    return f(tf.constant(1.0))


def _two_dtypes(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = 1
        else:
            y = 2.0
        return y

    return f(tf.constant(1.0))


def _one_return(tf):
    @tf.function
    def f(x):
        if x > 0:
            return x

    return f(tf.constant(1.0))


def _growing(tf):
    @tf.function
    def f(x):
        i = tf.constant(0)
        while i < 3:
            x = tf.concat([x, x], 0)
            i += 1
        return x

    return f(tf.zeros([1]))


def _dynamic(tf, function):
    return tf.function(function, input_signature=[tf.TensorSpec([None, None])])(tf.zeros([2, 3]))


# Shapes.
raises(
    "tf.add",
    "ranks that do not fit",
    "Incompatible shapes: [2,3] [4] AddV2",
    lambda tf: tf.zeros([2, 3]) + tf.zeros([4]),
)
raises(
    "tf.add",
    "ranks that do not fit in a function",
    "Dimensions must equal 3 4 AddV2 [2,3] [4] shapes:",
    lambda tf: _traced(tf, lambda x, y: x + y, tf.zeros([2, 3]), tf.zeros([4])),
)
raises(
    "tf.concat",
    "ranks",
    "Ranks of all input tensors should match [2,3] [2] ConcatV2",
    lambda tf: tf.concat([tf.zeros([2, 3]), tf.zeros([2])], 0),
)
raises(
    "tf.concat",
    "an axis too far",
    "dimensions [-2, 2), got 2 ConcatV2",
    lambda tf: tf.concat([tf.zeros([2, 3]), tf.zeros([2, 3])], 2),
)
raises(
    "tf.concat",
    "scalars",
    "concatenate scalars stack",
    lambda tf: tf.concat([tf.constant(1.0), tf.constant(2.0)], 0),
)
raises(
    "tf.concat",
    "sizes in a function",
    "Dimension in both shapes must be equal 3 4 [2,3] [2,4]",
    lambda tf: _traced(tf, lambda x, y: tf.concat([x, y], 0), tf.zeros([2, 3]), tf.zeros([2, 4])),
)
raises(
    "tf.reshape",
    "too few in a function",
    "reshape 6 4 [2,3]",
    lambda tf: _traced(tf, lambda x: tf.reshape(x, [4]), tf.zeros([2, 3])),
)
raises(
    "tf.reshape",
    "sizes known when it runs",
    "reshape 6 values 4",
    lambda tf: _dynamic(tf, lambda x: tf.reshape(x, [4])),
)
raises(
    "tf.ensure_shape",
    "sizes known when it runs",
    "Shape [2,3] compatible expected [2,4]",
    lambda tf: _dynamic(tf, lambda x: tf.ensure_shape(x, [2, 4])),
)
raises(
    "tf.matmul",
    "in a function",
    "Dimensions must be equal 3 2 MatMul [2,3]",
    lambda tf: _traced(tf, lambda x, y: tf.matmul(x, y), tf.zeros([2, 3]), tf.zeros([2, 3])),
)
raises(
    "tf.matmul",
    "batches that do not fit",
    "[2,2,3] [3,3,2] BatchMatMulV2",
    lambda tf: tf.matmul(tf.zeros([2, 2, 3]), tf.zeros([3, 3, 2])),
)
raises(
    "tf.squeeze",
    "two in a function",
    "squeeze dim[0] 1 2 Squeeze",
    lambda tf: _traced(tf, lambda x: tf.squeeze(x, 0), tf.zeros([2])),
)
raises(
    "tf.argmax",
    "an axis too far",
    "dimension range [-2, 2) 3 ArgMax",
    lambda tf: tf.argmax(tf.zeros([2, 3]), 3),
)
raises(
    "tf.nn.softmax",
    "an axis too far",
    "range [-2, 2) 3",
    lambda tf: tf.nn.softmax(tf.zeros([2, 3]), 3),
)
raises("tf.sort", "an axis too far", "index 3", lambda tf: tf.sort(tf.zeros([2]), axis=3))
raises(
    "tf.Tensor",
    "an index too far in a function",
    "slice index 5 of dimension 0 out of bounds StridedSlice",
    lambda tf: _traced(tf, lambda x: x[5], tf.constant([1, 2])),
)
raises(
    "tf.Tensor",
    "too many indices in a function",
    "Index out of range dim 1 only dims",
    lambda tf: _traced(tf, lambda x: x[0, 0], tf.constant([1, 2])),
)
raises(
    "tf.boolean_mask",
    "sizes",
    "Shapes (3,) (2,) incompatible",
    lambda tf: tf.boolean_mask(tf.zeros([3]), [True, False]),
)
raises(
    "tf.repeat",
    "counts that do not fit",
    "3 2 compatible",
    lambda tf: tf.repeat(tf.zeros([3]), [1, 2]),
)
raises(
    "tf.Tensor",
    "set_shape",
    "2 3",
    lambda tf: _traced(tf, lambda x: x.set_shape([3]), tf.zeros([2])),
)

# Dtypes.
raises(
    "tf.add",
    "a float and an integer tensor in a function",
    "Input 'y' 'AddV2' Op has type float32 does not match type int32 of argument 'x'",
    lambda tf: _traced(tf, lambda x: x + 1.5, tf.constant(1)),
)
raises(
    "tf.add",
    "a float to an integer tensor",
    "AddV2 input #1(zero-based) expected int32 float",
    lambda tf: tf.add(tf.constant(1), 1.5),
)
raises(
    "tf.add",
    "a float in front of an integer tensor",
    "Cannot convert 1.5 int32",
    lambda tf: 1.5 + tf.constant(1),
)
raises(
    "tf.add",
    "text",
    "AddV2 input #1(zero-based) expected float string",
    lambda tf: tf.constant(1.0) + "a",
)
raises("tf.add", "None", "None NoneType unsupported type", lambda tf: tf.constant(1.0) + None)
raises(
    "tf.matmul",
    "dtypes in a function",
    "Input 'b' 'MatMul' float64 float32 'a'",
    lambda tf: _traced(
        tf, lambda x, y: tf.matmul(x, y), tf.zeros([2, 2]), tf.zeros([2, 2], tf.float64)
    ),
)
raises(
    "tf.concat",
    "dtypes in a function",
    "Tensors in list passed to 'values' 'ConcatV2' Op types don't all match",
    lambda tf: _traced(
        tf, lambda x, y: tf.concat([x, y], 0), tf.zeros([2]), tf.zeros([2], tf.int32)
    ),
)
raises(
    "tf.subtract",
    "truth values",
    "'T' bool list of allowed values",
    lambda tf: tf.constant(True) - tf.constant(False),
)
raises(
    "tf.divide",
    "an integer and a float tensor",
    "same dtype int32 float32",
    lambda tf: tf.constant(1) / tf.constant(2.0),
)
raises(
    "tf.where",
    "a condition that is no truth value",
    "bool int32",
    lambda tf: tf.where(tf.constant([1, 0]), [1, 2], [3, 4]),
)
raises(
    "tf.gather",
    "by floats",
    "'Tindices' float allowed values",
    lambda tf: tf.gather(tf.constant([1, 2, 3]), [1.0]),
)

# Values.
raises(
    "tf.math.floormod",
    "by zero",
    "Integer division by zero FloorMod",
    lambda tf: tf.constant([1]) % tf.constant([0]),
)
raises(
    "tf.pow",
    "negative integers",
    "Integers to negative integer powers Pow",
    lambda tf: tf.pow(tf.constant(2), tf.constant(-1)),
)
raises(
    "tf.tensor_scatter_nd_update",
    "beyond the end",
    "indices[0] [5] index into shape [3]",
    lambda tf: tf.tensor_scatter_nd_update(tf.zeros([3]), [[5]], [1.0]),
)
raises(
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "a label too far",
    "label value of 5 outside valid range [0, 3)",
    lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits([5], tf.zeros([1, 3])),
)
raises(
    "tf.math.bincount",
    "a negative number",
    "Input arr must be non-negative!",
    lambda tf: tf.math.bincount([1, -1]),
)
raises(
    "tf.math.segment_sum",
    "not in order",
    "segment ids are not increasing",
    lambda tf: tf.math.segment_sum(tf.zeros([3]), [1, 0, 2]),
)
raises(
    "tf.nn.embedding_lookup",
    "beyond the end",
    "indices[0] = 5 [0, 3)",
    lambda tf: tf.nn.embedding_lookup(tf.zeros([3, 2]), [5]),
)

# Functions.
raises(
    "tf.function",
    "the truth of a symbolic tensor",
    "symbolic `tf.Tensor` as a Python `bool` is not allowed",
    lambda tf: _traced(tf, lambda x: 1 if x else 2, tf.constant(True), autograph=False),
)
raises(
    "tf.function",
    "iterating over a symbolic tensor",
    "Iterating over a symbolic `tf.Tensor` is not allowed",
    lambda tf: _traced(tf, lambda x: list(x), tf.zeros([2]), autograph=False),
)
raises(
    "tf.function",
    "the length of a symbolic tensor",
    "len symbolic Tensor x.shape",
    lambda tf: _dynamic(tf, lambda x: len(x) if tf.executing_eagerly() else x.__len__()),
)
raises(
    "tf.function",
    "a symbolic tensor as an integer",
    "int()",
    lambda tf: _traced(tf, lambda x: int(x), tf.constant(1), autograph=False),
)
raises("tf.function", "a leaked tensor", "out of scope locals", lambda tf: _leaked(tf) + 1.0)
raises("tf.function", "a leaked tensor in another", "out of scope locals", _into_another)
raises(
    "tf.function",
    "another shape than the signature",
    "Binding Can not cast TensorSpec(shape=(3,), TensorSpec(shape=(2,), args kwargs",
    lambda tf: _signed(tf)(tf.zeros([3])),
)
raises(
    "tf.function",
    "another dtype than the signature",
    "Binding Can not cast tf.int32 tf.float32",
    lambda tf: _signed(tf)(tf.zeros([2], tf.int32)),
)
raises(
    "tf.function",
    "too many for the signature",
    "Binding failed too many positional arguments",
    lambda tf: _signed(tf)(tf.zeros([2]), tf.zeros([2])),
)
raises(
    "tf.function",
    "too few arguments",
    "Binding missing a required argument: 'y'",
    lambda tf: tf.function(lambda x, y: x)(tf.zeros([2])),
)
raises(
    "tf.function",
    "another dtype for a concrete function",
    "input #0(zero-based) expected float int32",
    lambda tf: _concrete(tf)(tf.zeros([2], tf.int32)),
)
raises(
    "tf.function",
    "nothing for a concrete function",
    "Binding failed args: kwargs:",
    lambda tf: _concrete(tf)(),
)
raises(
    "tf.function",
    "too much for a concrete function",
    "Binding failed args: kwargs:",
    lambda tf: _concrete(tf)(tf.zeros([2]), tf.zeros([2])),
)
raises("tf.function", "variables each time", "singleton first call", _variables_each_time)
raises("tf.function", "a name of one branch", "'y' initialized else branch", _one_branch)
raises("tf.function", "dtypes of branches", "'y' int32 float32 else branch", _two_dtypes)
raises("tf.function", "a return of one branch", "else branch return", _one_return)
raises("tf.function", "a shape that grows", "'x' (1,) (2,) iteration", _growing)

# Tapes and arrays.
raises("tf.GradientTape", "entered twice", "still recording", _tape_in_itself)
raises(
    "tf.GradientTape",
    "watching a number",
    "1.0 float tf.Tensor",
    lambda tf: tf.GradientTape().watch(1.0),
)
raises("tf.TensorArray", "written beyond", "index 5 resizeable size 3", _written_beyond)
raises("tf.TensorArray", "read twice", "index 0 twice clear_after_read", _read_twice)
raises("tf.TensorArray", "two shapes", "Incompatible shape (3,) (2,)", _two_shapes)
for _what, _words, _function in [
    (
        "sizes",
        "Dimensions must be equal, but are 3 and 2",
        lambda tf: tf.zeros([2, 3]) @ tf.zeros([2, 3]),
    ),
    (
        "a shape",
        "Cannot reshape a tensor with 6 elements to shape [4,2] (8 elements)",
        lambda tf: tf.reshape(tf.zeros([6]), [4, 2]),
    ),
    (
        "a size",
        "Dimension size must be evenly divisible by 4 but is 6",
        lambda tf: tf.reshape(tf.zeros([6]), [-1, 4]),
    ),
    ("an axis", "dim 5 not in the interval [-2, 1].", lambda tf: tf.expand_dims(tf.zeros([2]), 5)),
    (
        "a window",
        "Negative dimension size caused by subtracting 3 from 2",
        lambda tf: tf.nn.conv2d(tf.zeros([1, 2, 2, 1]), tf.zeros([3, 3, 1, 1]), 1, "VALID"),
    ),
    (
        "a depth",
        "Depth of input (3) is not a multiple of input depth of filter (4)",
        lambda tf: tf.nn.conv2d(tf.zeros([1, 5, 5, 3]), tf.zeros([3, 3, 4, 8]), 1, "SAME"),
    ),
    (
        "a padding",
        "'padding' same SAME VALID",
        lambda tf: tf.nn.conv2d(tf.zeros([1, 5, 5, 3]), tf.zeros([3, 3, 3, 8]), 1, "same"),
    ),
    (
        "labels",
        "`labels.shape` must equal `logits.shape` except for the last dimension.",
        lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits([1], tf.zeros([2, 4])),
    ),
    (
        "operands",
        "Got 1 inputs for equation expecting 2",
        lambda tf: tf.einsum("ij,jk", tf.zeros([2, 3])),
    ),
]:
    raises(
        "tf.function",
        f"that does not fit {_what}",
        _words,
        lambda tf, g=_function: tf.function(lambda: g(tf))(),
    )
    if _what != "a window":  # eagerly TensorFlow gives an empty result
        raises("tf.errors", f"that does not fit {_what}", "", _function)
