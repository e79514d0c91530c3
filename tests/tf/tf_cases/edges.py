"""Edges of ops: nothing at all, unknown ranks, numbers at the ends of their dtypes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from corpus import case, f, i32, lit, plain, raises


def _unranked(tf, function, *values):
    """What a function gives inside tf.function when not even the rank of an input is known."""
    tensors = [tf.constant(value) for value in values]
    signature = [tf.TensorSpec(None, tensor.dtype) for tensor in tensors]
    return tf.function(function, input_signature=signature)(*tensors)


# ---- repeat and range ----------------------------------------------------------------------------

case("tf.repeat", "edge one count for all", lambda tf, x: tf.repeat(x, [3]), f(2))
case("tf.repeat", "edge one count along an axis", lambda tf, x: tf.repeat(x, [2], 1), f(2, 3))
case("tf.repeat", "edge counts", lambda tf, x: tf.repeat(x, [2, 0, 3], -1), f(2, 3))
case("tf.repeat", "edge of no rows", lambda tf, x: tf.repeat(x, 2, 1), f(0, 3))


@plain("tf.repeat", "edge counts of all kinds")
def _(tf):
    one = tf.function(lambda x, n: tf.repeat(x, n, axis=0))
    return [
        tf.repeat([1, 2], [-1, 1]),
        tf.repeat(tf.zeros([0]), tf.zeros([0], tf.int32)),
        tf.repeat(tf.zeros([0]), 3),
        tf.repeat([b"a", b"b"], [2]),
        tf.repeat(5, [3]),
        one(tf.constant([[1, 2], [3, 4]]), tf.constant([3])),
        one(tf.constant([[1, 2], [3, 4]]), tf.constant([0, 2])),
        _unranked(tf, lambda x: tf.repeat(x, 2, axis=0), [3.0, 1.0]),
        _unranked(tf, lambda x, n: tf.repeat(x, n), [[3.0, 1.0]], 2),
    ]


raises("tf.repeat", "edge counts of rank 2", "rank", lambda tf: tf.repeat([1], [[1]], axis=0))
raises("tf.repeat", "edge an axis too far", "axis", lambda tf: tf.repeat([1], [1], axis=1))


@plain("tf.range", "edge halves and large integers")
def _(tf):
    half, brain = tf.float16, tf.bfloat16
    whole = tf.function(lambda a, b, c: tf.range(a, b, c))
    return [
        tf.range(tf.constant(5, half)),
        tf.range(1, 3, 0.5, dtype=half),
        tf.range(tf.constant(0, half), tf.constant(1, half), tf.constant(0.1, half)),
        tf.cast(tf.range(tf.constant(5, brain)), tf.float32),
        tf.cast(tf.range(3, 1, -0.5, dtype=brain), tf.float32),
        tf.cast(tf.range(tf.constant(300, brain)), tf.float32),
        whole(tf.constant(1, half), tf.constant(3, half), tf.constant(0.5, half)),
        tf.range(2**62, 2**62 + 3),
        tf.range(-(2**63), -(2**63) + 2),
        tf.range(-(2**63), 2**63 - 1, 2**62),
        whole(tf.constant(-(2**31)), tf.constant(2**31 - 1), tf.constant(2**30)),
        tf.range([3]),
    ]


raises("tf.range", "edge of fractions as integers", "2.5", lambda tf: tf.range(0, 9, 2.5, tf.int32))


@plain("tf.linspace", "edge large integers and ranks")
def _(tf):
    return [
        tf.linspace(tf.constant(-(2**62), tf.int64), tf.constant(2**62, tf.int64), 3),
        tf.linspace(tf.constant(-(2**31)), tf.constant(2**31 - 1), 3),
        tf.linspace(tf.constant(0, tf.uint8), tf.constant(255, tf.uint8), 3),
        tf.linspace([[0.0, 1.0]], [3.0, 4.0], 3, axis=1),
        tf.linspace(0.0, float("inf"), 3),
        tf.linspace(0.0, 1.0, 0),
        tf.linspace(0.0, 1.0, tf.constant(2, tf.int64)),
        _unranked(tf, lambda a, b: tf.linspace(a, b, 3), 0.0, 1.0),
        _unranked(tf, lambda a, b: tf.linspace(a, b, 3, axis=-1), [0.0, 1.0], 1.0),
    ]


case(
    "tf.linspace",
    "edge along an axis",
    lambda tf, a, b: tf.linspace(a, b, 4, axis=1),
    f(2, 3),
    f(3),
)


# ---- nothing -------------------------------------------------------------------------------------


@plain(("tf.unique", "tf.unique_with_counts"), "edge of nothing")
def _(tf):
    unknown = tf.function(lambda x: tf.unique(x), input_signature=[tf.TensorSpec([None])])
    return [
        list(tf.unique(tf.zeros([0]))),
        list(tf.unique(tf.constant([], tf.string))),
        list(tf.unique_with_counts(tf.zeros([0], tf.int32))),
        list(unknown(tf.zeros([0]))),
    ]


for _name in ("sum", "mean", "max", "min", "prod"):
    case(
        f"tf.math.segment_{_name}",
        "edge of nothing",
        lambda tf, x, ids, name=_name: getattr(tf.math, f"segment_{name}")(x, ids),
        f(0, 3),
        i32(0),
    )


@plain("tf.math.segment_mean", "edge of integers")
def _(tf):
    ids = [0, 0, 2]
    return [
        tf.math.segment_mean(tf.constant([-1, -2, 5], dtype), ids)
        for dtype in (tf.int32, tf.int64, tf.int8)
    ] + [tf.math.segment_mean(tf.constant([250, 250, 5], tf.uint8), ids)]


case("tf.gather", "edge of no rows", lambda tf, x, i: tf.gather(x, i), f(0, 3), i32(0, 2))
case("tf.gather", "edge of no columns", lambda tf, x, i: tf.gather(x, i, axis=1), f(2, 0), i32(0))
case(
    "tf.gather_nd",
    "edge of no rows",
    lambda tf, x, i: tf.gather_nd(x, i),
    f(0, 3),
    i32(0, 1),
    without="grad_unknown",
    why="TensorFlow gives slices in one mode and a tensor in another",
)
case(
    "tf.tensor_scatter_nd_update",
    "edge of no rows",
    lambda tf, x, i, u: tf.tensor_scatter_nd_update(x, i, u),
    f(0, 3),
    i32(0, 1),
    f(0, 3),
)


@plain(("tf.gather", "tf.boolean_mask", "tf.dynamic_stitch"), "edge of nothing")
def _(tf):
    none, places = tf.zeros([0]), tf.zeros([0], tf.int32)
    return [
        tf.gather(tf.zeros([2, 0]), tf.zeros([2, 0], tf.int32), batch_dims=1),
        tf.gather(tf.zeros([0, 4]), tf.zeros([0, 2], tf.int32), batch_dims=1),
        tf.boolean_mask(none, tf.zeros([0], tf.bool)),
        tf.dynamic_partition(none, places, 2),
        tf.dynamic_stitch([places], [tf.zeros([0, 2])]),
        tf.scatter_nd(tf.zeros([0, 1], tf.int32), none, [0]),
        tf.math.invert_permutation(places),
        tf.nn.embedding_lookup(tf.zeros([0, 3]), places),
        tf.constant([], tf.string),
        tf.constant([[], []], tf.string),
        tf.strings.reduce_join(tf.constant([], tf.string)),
    ]


# ---- control -------------------------------------------------------------------------------------


@plain("tf.case", "edge no default")
def _(tf):
    def choose(p, q):
        return tf.case([(p, lambda: tf.constant(1)), (q, lambda: tf.constant(2))])

    traced = tf.function(choose)
    true, false = tf.constant(True), tf.constant(False)
    return [run(p, q) for run in (choose, traced) for p, q in ((true, false), (false, true))]


_PAIR = [(False, 1), (False, 2)]


def _none_is_true(tf, wrap):
    def choose(p, q):
        return tf.case([(p, lambda: tf.constant(1)), (q, lambda: tf.constant(2))])

    return wrap(choose)(tf.constant(False), tf.constant(False))


raises("tf.case", "edge none is true", "None true", lambda tf: _none_is_true(tf, lambda g: g))
raises(
    "tf.case", "edge none is true in a function", "None", lambda tf: _none_is_true(tf, tf.function)
)
raises(
    "tf.case",
    "edge one that is not true",
    "None",
    lambda tf: tf.case([(tf.constant(False), lambda: tf.constant(1))]),
)


@plain("tf.function", "edge results with names")
def _(tf):
    x = tf.constant([[3.0, 1.0], [1.0, 2.0]])
    functions = [
        lambda x: tf.math.top_k(x, 1),
        lambda x: tf.linalg.qr(x),
        lambda x: tf.linalg.slogdet(x),
        lambda x: tf.linalg.lu(x),
    ]
    found = [tf.function(function)(x) for function in functions]
    return [type(each).__name__ for each in found], found[0].values, found[2].sign, found[3].p


# ---- pictures ------------------------------------------------------------------------------------

for _shape, _size in (((5, 4), (7, 7)), ((4, 5), (7, 8)), ((7, 3), (5, 5)), ((6, 10), (7, 7))):
    case(
        "tf.image.resize_with_pad",
        f"edge {_shape} into {_size}".translate({ord(c): None for c in "(),"}),
        lambda tf, x, size=_size: tf.image.resize_with_pad(x, *size),
        f(2, *_shape, 1),
    )


@plain("tf.image.stateless_random_flip_left_right", "edge batches")
def _(tf):
    x = tf.reshape(tf.range(48.0), [6, 2, 4, 1])
    tf.random.set_seed(7)
    return [
        tf.image.stateless_random_flip_left_right(x, seed=[1, 2]),
        tf.image.stateless_random_flip_up_down(x, seed=[5, 2]),
        tf.image.stateless_random_flip_up_down(x[0], seed=[5, 2]),
        tf.image.random_flip_left_right(x, seed=3),
        tf.image.random_flip_up_down(x, seed=3),
    ]


@plain("tf.image.sobel_edges", "edge dtypes")
def _(tf):
    x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    return [tf.image.sobel_edges(tf.cast(x, dtype)) for dtype in (tf.float64, tf.float16)]


case(
    "tf.image.extract_patches",
    "edge same with rates",
    lambda tf, x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 3, 1], [1, 2, 1, 1], "SAME"),
    f(2, 7, 6, 2),
)


@plain("tf.image.extract_patches", "edge dtypes and infinities")
def _(tf):
    x = tf.reshape(tf.range(16), [1, 4, 4, 1])
    kinds = (tf.int32, tf.uint8, tf.int64, tf.float16, tf.complex64)
    given = [tf.cast(x, dtype) for dtype in kinds]
    given.append(tf.where(x == 5, np.inf, tf.cast(x, tf.float32)))
    return [
        tf.image.extract_patches(each, [1, 2, 2, 1], [1, 3, 3, 1], [1, 2, 2, 1], padding)
        for each in given
        for padding in ("SAME", "VALID")
    ]


# ---- strings and bytes ---------------------------------------------------------------------------


@plain("tf.strings.substr", "edge negative lengths")
def _(tf):
    return [
        tf.strings.substr("hello", [0, 1, 2, 5, -3], [-1, -4, -9, -1, -1]),
        tf.strings.substr("hello", tf.constant(1, tf.int64), tf.constant(-(2**63), tf.int64)),
        tf.strings.substr("h\u00e9llo", [0, 1, 5], [-1, -3, -1], unit="UTF8_CHAR"),
    ]


raises(
    "tf.strings.substr",
    "edge both negative in characters",
    "pos -2 out of range",
    lambda tf: tf.strings.substr("hello", -2, -1, unit="UTF8_CHAR"),
)


@plain("tf.io.decode_raw", "edge fixed length")
def _(tf):
    texts = ["abcd", "e"]
    return [
        tf.io.decode_raw(texts, tf.uint8, fixed_length=2),
        tf.io.decode_raw(texts, tf.uint8, fixed_length=6),
        tf.io.decode_raw(texts, tf.int16, fixed_length=6),
        tf.io.decode_raw(texts, tf.uint16, little_endian=False, fixed_length=4),
        tf.io.decode_raw([["abcd"]], tf.float32, fixed_length=8),
        tf.io.decode_raw("abcd", tf.uint8, fixed_length=3),
        tf.io.decode_raw(tf.constant([], tf.string), tf.uint8, fixed_length=3),
    ]


def _written(tf, wrap, values, *more, **options):
    """What tf.print writes of a tensor, eagerly or in a function."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/text"

        def write(x):
            tf.print(*more, x, output_stream=f"file://{path}", **options)
            return x

        wrap(write)(tf.constant(values))
        return Path(path).read_text(encoding="utf-8")


@plain("tf.print", "edge strings")
def _(tf):
    unknown = tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
    out = []
    for wrap in (lambda function: function, tf.function, unknown):
        out.append(_written(tf, wrap, ["a", "b"]))
        out.append(_written(tf, wrap, list("abcdefgh")))
        out.append(_written(tf, wrap, [["a", "b"], ["c", "d"], ["e", "f"]], summarize=1))
        out.append(_written(tf, wrap, "a", "x:"))
        out.append(_written(tf, wrap, ["a", "b"], "{} x:"))
    return [*out, *(_written(tf, wrap, "a") for wrap in (lambda function: function, tf.function))]


raises(
    "tf.io.decode_raw",
    "edge a length that does not fit",
    "fixed_length 5",
    lambda tf: tf.io.decode_raw("abcd", tf.int16, fixed_length=5),
)


# ---- order and norms -----------------------------------------------------------------------------


@plain("tf.math.in_top_k", "edge what is not finite")
def _(tf):
    nan, inf = float("nan"), float("inf")
    rows = [[nan, 1, 2], [nan, 1, 2], [1, nan, 2], [1, 2, 3], [inf, 1, 2], [1, 2, -inf]]
    return [tf.math.in_top_k([0, 1, 2, 1, 1, 1], tf.constant(rows), k) for k in (1, 2, 3)]


for _axis in ([-2, -1], [0, 2]):
    for _keep in (False, True):
        case(
            "tf.norm",
            f"edge spectral {_axis[0] + 2} {_keep}",
            lambda tf, x, axis=_axis, keep=_keep: tf.norm(x, 2, axis, keep),
            f(2, 3, 2),
        )


@plain("tf.norm", "edge of complex matrices")
def _(tf):
    x = tf.constant([[3 + 4j, 1], [2, 1j]], tf.complex64)
    return [tf.norm(x, ord, [0, 1]) for ord in ("fro", 1, 2, np.inf)] + [
        _unranked(tf, lambda x: tf.norm(x, 2, [0, 1]), [[3.0, 1.0], [2.0, 3.0]])
    ]


raises("tf.norm", "edge one axis in a list", "axis", lambda tf: tf.norm([[1.0]], axis=[-1]))
raises("tf.norm", "edge an axis twice", "axis", lambda tf: tf.norm([[1.0]], axis=[0, 0]))
raises("tf.norm", "edge fro of a vector", "ord fro", lambda tf: tf.norm([1.0], "fro", axis=0))


# ---- products ------------------------------------------------------------------------------------


@plain("tf.matmul", "edge products of bytes")
def _(tf):
    def product(a, b, out):
        left = tf.constant([[100, 100]], a)
        right = tf.constant([[100], [100]], b)
        return tf.cast(tf.matmul(left, right, output_type=out), tf.float64)

    kinds = (tf.int8, tf.uint8)
    return [product(a, b, tf.int32) for a in kinds for b in kinds] + [
        product(tf.bfloat16, tf.int8, tf.bfloat16),
        product(tf.int32, tf.int32, tf.int32),
        tf.matmul(
            tf.ones([2, 1, 3], tf.int8),
            tf.fill([2, 3, 1], tf.constant(100, tf.int8)),
            output_type=tf.int32,
        ),
    ]


raises(
    "tf.matmul",
    "edge of int8 alone",
    "int8",
    lambda tf: tf.matmul(tf.ones([1, 2], tf.int8), tf.ones([2, 1], tf.int8)),
)


@plain("tf.nn.embedding_lookup", "edge tables in parts")
def _(tf):
    first, second = tf.constant([[1.0, 2], [3, 4]]), tf.constant([[5.0, 6], [7, 8]])
    return [
        tf.nn.embedding_lookup([first, second], [1, 0, 3, 2]),
        tf.nn.embedding_lookup([first, second[:1]], [[2], [0]]),
        tf.nn.embedding_lookup([first, second], [1, 0, 3, 2], max_norm=1.0),
        tf.nn.embedding_lookup([first], [1, 0]),
    ]


case(
    "tf.nn.embedding_lookup",
    "edge of parts",
    lambda tf, a, b: tf.nn.embedding_lookup([a, b], [3, 0, 3]),
    f(2, 2),
    f(2, 2),
)


# ---- ranks that are not known --------------------------------------------------------------------

_MATRIX = [[3.0, 1.0], [1.0, 2.0]]
_SIGNAL = [3.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
for _symbol, _what, _function, _value in (
    ("tf.sort", "last", lambda tf, x: tf.sort(x), _MATRIX),
    ("tf.sort", "first", lambda tf, x: tf.sort(x, 0), _MATRIX),
    ("tf.sort", "before last", lambda tf, x: tf.sort(x, -2, "DESCENDING"), _MATRIX),
    ("tf.argsort", "first", lambda tf, x: tf.argsort(x, 0), _MATRIX),
    ("tf.linalg.trace", "", lambda tf, x: tf.linalg.trace(x), _MATRIX),
    ("tf.linalg.logdet", "", lambda tf, x: tf.linalg.logdet(x), _MATRIX),
    ("tf.linalg.diag_part", "", lambda tf, x: tf.linalg.diag_part(x), _MATRIX),
    ("tf.linalg.diag_part", "above", lambda tf, x: tf.linalg.diag_part(x, k=1), _MATRIX),
    ("tf.linalg.diag_part", "band", lambda tf, x: tf.linalg.diag_part(x, k=(-1, 1)), _MATRIX),
    ("tf.linalg.tensor_diag_part", "", lambda tf, x: tf.linalg.tensor_diag_part(x), _MATRIX),
    ("tf.linalg.diag", "", lambda tf, x: tf.linalg.diag(x), _MATRIX),
    ("tf.linalg.lstsq", "", lambda tf, x: tf.linalg.lstsq(x, [[1.0], [2.0]]), _MATRIX),
    ("tf.tensordot", "one", lambda tf, x: tf.tensordot(x, x, 1), _MATRIX),
    ("tf.tensordot", "two", lambda tf, x: tf.tensordot(x, x, 2), _MATRIX),
    ("tf.tensordot", "none", lambda tf, x: tf.tensordot(x, x, 0), _MATRIX),
    ("tf.tensordot", "axes", lambda tf, x: tf.tensordot(x, x, [[0], [1]]), _MATRIX),
    (
        "tf.tensordot",
        "of another",
        lambda tf, x: tf.tensordot(x, [[1.0], [2]], [[-1], [0]]),
        _MATRIX,
    ),
    ("tf.tensordot", "both", lambda tf, x: tf.tensordot(x, x, [[0, 1], [1, 0]]), _MATRIX),
    ("tf.signal.stft", "", lambda tf, x: tf.signal.stft(x, 4, 2), _SIGNAL),
    ("tf.signal.frame", "", lambda tf, x: tf.signal.frame(x, 4, 3, pad_end=True), _SIGNAL),
    ("tf.signal.overlap_and_add", "", lambda tf, x: tf.signal.overlap_and_add(x, 1), _MATRIX),
    (
        "tf.strings.reduce_join",
        "",
        lambda tf, x: tf.strings.reduce_join(x),
        [["a", "b"], ["c", "d"]],
    ),
):
    plain(_symbol, f"edge rank unknown {_what}".strip())(
        lambda tf, function=_function, value=_value: _unranked(tf, lambda x: function(tf, x), value)
    )


@plain("tf.tensordot", "edge gradient with rank unknown")
def _(tf):
    def gradient(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.reduce_sum(tf.tensordot(x, y, [[0], [1]]) ** 2)
        return tape.gradient(z, [x, y])

    return _unranked(tf, gradient, [[1.0, 2.0], [3.0, 4.0]], [[1.0, -2.0], [0.5, 4.0]])


@plain("tf.linalg.lstsq", "edge slow")
def _(tf):
    tall = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    lacking = tf.constant([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    b = tf.constant([[1.0], [2.0], [4.0]])
    wide = tf.transpose(tall)
    return [
        tf.linalg.lstsq(tall, b, fast=False),
        tf.linalg.lstsq(lacking, b, fast=False),
        tf.linalg.lstsq(wide, b[:2], fast=False),
        tf.linalg.lstsq(tall, b, l2_regularizer=100.0, fast=False),
        tf.linalg.lstsq(tall, b, l2_regularizer=1.0),
    ]


case(
    "tf.nn.softmax",
    "edge of one class",
    lambda tf, x: tf.nn.softmax(x),
    lit([[1.0], [2.0]]),
)
