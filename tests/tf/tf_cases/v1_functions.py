"""Functions of tf.compat.v1 whose arguments stand in an order, or have names, of their own."""

import numpy as np
from corpus import plain, raises

V1 = "tf.compat.v1"
MOVED = "log matrix_inverse segment_sum spectral.fft manip.roll".split()


def numbers(*shape):
    n = int(np.prod(shape))
    return np.sin(np.arange(n, dtype=np.float32) * 0.7).reshape(shape)


@plain(
    tuple(f"{V1}.{name}" for name in "transpose squeeze expand_dims gather pad argmax".split()),
    "arguments by place",
)
def _(tf):
    v1 = tf.compat.v1
    x = numbers(2, 3)
    return [
        v1.transpose(x, [1, 0], "name", False),
        v1.squeeze(x[None], [0], "name"),
        v1.squeeze(x[:, None], squeeze_dims=1),
        v1.expand_dims(x, dim=1),
        v1.gather(x, [1, 0], None, "name", 1),
        v1.pad(x, [[0, 1], [1, 0]], "CONSTANT", "name", 7.0),
        v1.argmax(x, 1, "name"),
        v1.argmin(x, dimension=1, output_type=tf.int32),
        v1.boolean_mask(x, [True, False], "name"),
        v1.reverse_sequence(x, [1, 3], seq_dim=1, batch_dim=0),
        v1.norm(x, axis=1, keep_dims=True),
    ]


@plain(
    tuple(
        f"{V1}.math.{name}" for name in "count_nonzero confusion_matrix bincount in_top_k".split()
    ),
    "arguments by place",
)
def _(tf):
    m = tf.compat.v1.math
    return [
        m.count_nonzero([[0, 1], [2, 3]], reduction_indices=0, keep_dims=True),
        m.confusion_matrix([0, 1], [1, 1], 2, tf.int64, "name", [2, 3]),
        m.bincount([1, 1, 3], minlength=5, dtype=tf.int64),
        m.in_top_k(numbers(2, 3), [1, 0], 1),
        m.reduce_sum(numbers(2, 3), 1, True),
        tf.compat.v1.linalg.transpose(numbers(2, 3, 2)),
    ]


@plain(
    tuple(f"{V1}.nn.{name}" for name in "conv2d conv1d max_pool avg_pool depthwise_conv2d".split()),
    "windows",
)
def _(tf):
    nn = tf.compat.v1.nn
    x, w = numbers(1, 4, 4, 2), numbers(2, 2, 2, 3)
    return [
        nn.conv2d(x, w, [1, 2, 2, 1], "SAME"),
        nn.conv2d(x, filters=w, strides=1, padding="VALID", dilations=[1, 2, 2, 1]),
        nn.conv1d(numbers(1, 5, 2), numbers(2, 2, 3), 1, "VALID", True),
        nn.max_pool(value=x, ksize=2, strides=2, padding="SAME"),
        nn.avg_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
        nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", [2, 2]),
        nn.separable_conv2d(x, w, numbers(1, 1, 6, 2), [1, 1, 1, 1], "SAME"),
        nn.conv2d_transpose(numbers(1, 2, 2, 3), w, [1, 4, 4, 2], [1, 2, 2, 1]),
        nn.convolution(x, w, "SAME", [1, 1]),
        nn.pool(x, [2, 2], "AVG", "VALID"),
        nn.dilation2d(x, w[..., 0], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
        nn.space_to_depth(x, 2, "name"),
        nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", Targmax=tf.int32),
        nn.fused_batch_norm(x, [1.0, 2.0], [0.5, 0.0])[0],
    ]


@plain(
    tuple(
        f"{V1}.nn.{name}"
        for name in "softmax log_softmax crelu moments dropout embedding_lookup ctc_loss".split()
    ),
    "activations, losses, tables",
)
def _(tf):
    nn = tf.compat.v1.nn
    x = numbers(3, 4)
    parts = [numbers(2, 2), numbers(2, 2) + 5, numbers(1, 2) - 5]
    labels = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [1, 2, 0], [2, 2])
    with tf.GradientTape() as tape:
        y = tf.constant(np.eye(4, dtype=np.float32)[:3])
        tape.watch(y)
        entropy = nn.softmax_cross_entropy_with_logits(labels=y, logits=x)
    return [
        nn.softmax(x, dim=0),
        nn.log_softmax(x, axis=0),
        nn.crelu(x, "name", 0),
        nn.moments(x, [0], keep_dims=True),
        nn.dropout(x, 1.0),
        nn.dropout(x, rate=0.0),
        nn.embedding_lookup(parts, [0, 1, 2, 4, 3]),
        nn.embedding_lookup(parts, [0, 1, 2, 4, 3], "div"),
        [entropy, tape.gradient(entropy, y) is None],
        nn.softmax_cross_entropy_with_logits_v2(y, x, dim=1),
        nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 2], logits=x),
        nn.weighted_cross_entropy_with_logits(logits=x, targets=np.abs(x), pos_weight=2.0),
        nn.l2_normalize(x, dim=1),
        nn.ctc_loss(labels, numbers(5, 2, 4), [5, 4]),
    ]


@plain(
    tuple(f"{V1}.{name}" for name in "string_split substr reduce_join string_to_number".split()),
    "texts",
)
def _(tf):
    v1 = tf.compat.v1
    texts = tf.constant(["a b,c", " d"])
    return [
        v1.string_split(texts, " ,").values,
        v1.string_split(texts, " ", skip_empty=False).values,
        v1.string_split(texts, delimiter="", result_type="RaggedTensor").to_list(),
        v1.strings.split(texts, ",").indices,
        v1.substr(texts, 0, 2, "name", "BYTE"),
        v1.reduce_join([["a", "b"]], 1, keep_dims=True, separator="-"),
        v1.string_to_number(["1.5"], tf.float64),
        v1.strings.length(["日本"], "name", "UTF8_CHAR"),
    ]


@plain(
    tuple(f"{V1}.{name}" for name in "sparse_add sparse_concat sparse_reduce_sum".split()),
    "sparse ones",
)
def _(tf):
    v1 = tf.compat.v1
    a = tf.SparseTensor([[0, 0], [1, 2]], [1.0, -2.0], [2, 3])
    return [
        v1.sparse_add(a, a, thresh=3.0).values,
        v1.sparse_concat(1, [a, a], "name", True).indices,
        v1.sparse_reduce_sum(a, 1, True),
        v1.sparse_reduce_sum_sparse(a, reduction_axes=0).values,
        [part.values for part in v1.sparse_split(sp_input=a, num_split=2, axis=1)],
        v1.sparse_segment_sum(numbers(3, 2), [0, 2], [0, 0], "name"),
    ]


@plain(tuple(f"{V1}.{name}" for name in "cond while_loop name_scope".split()), "in a session")
def _(tf):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        filled = session.run(v1.constant([1, 2], shape=[2, 2]))
        i = v1.while_loop(lambda i: i < 5, lambda i: i + 2, [tf.constant(0)])
        pair = v1.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2.0), [0, 1.0])
        one = v1.cond(tf.constant(True), lambda: [tf.constant(1)], lambda: [tf.constant(2)])
        two = v1.cond(tf.constant(False), fn1=lambda: 1.5, fn2=lambda: 2.5)
        with v1.name_scope(None, "default", [i]) as scope:
            named = tf.identity(one, name="x")
        return [session.run([i, pair, one, two]), filled, scope, named.name]


@plain(
    tuple(f"{V1}.{name}" for name in MOVED),
    "names that have moved",
)
def _(tf):
    v1 = tf.compat.v1
    return [
        v1.log([1.0, 2.0]),
        v1.matrix_inverse([[2.0, 0.0], [0.0, 4.0]]),
        v1.segment_sum([1.0, 2.0, 3.0], [0, 0, 1]),
        v1.spectral.fft(tf.constant([1.0, 2.0], tf.complex64)),
        v1.manip.roll([1, 2, 3], 1, 0),
        v1.is_nan([1.0, float("nan")]),
        v1.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        v1.lin_space(0.0, 1.0, 3),
        v1.matrix_band_part(numbers(3, 3), 0, 1),
        v1.sets.set_size(tf.SparseTensor([[0, 0], [0, 1]], [1, 2], [1, 2])),
        v1.io.gfile.exists("/"),
    ]


@plain((f"{V1}.random_normal_initializer", f"{V1}.random_uniform_initializer"), "their spread")
def _(tf):
    v1 = tf.compat.v1
    normal = v1.random_normal_initializer(seed=1)((4000,))
    uniform = v1.random_uniform_initializer(seed=1)((4000,))
    return [
        tf.abs(tf.math.reduce_std(normal) - 1.0) < 0.1,
        tf.abs(tf.reduce_mean(uniform) - 0.5) < 0.05,
        v1.zeros_initializer(tf.float64)((1,)),
    ]


raises(
    f"{V1}.expand_dims",
    "two names of one argument",
    "axis dim",
    lambda tf: tf.compat.v1.expand_dims([1], axis=0, dim=0),
)
raises(
    f"{V1}.assert_equal",
    "with data of its own",
    "mine",
    lambda tf: tf.compat.v1.assert_equal(1, 2, data=["mine"]),
)


@plain(("tf.scatter_nd", "tf.gather_nd", "tf.tensor_scatter_nd_add"), "bad places are ignored")
def _(tf):
    x = numbers(3, 2)
    return [
        tf.scatter_nd([[1], [5]], [1.0, 2.0], [3], "IGNORE"),
        tf.gather_nd(x, [[0, 1], [4, 0], [2, 2]], bad_indices_policy="IGNORE"),
        tf.tensor_scatter_nd_add(x, [[2], [-1]], numbers(2, 2), "IGNORE"),
        tf.tensor_scatter_nd_max(x, [[1], [7]], numbers(2, 2) + 1, "IGNORE"),
    ]


@plain(("tf.scalar_mul", "tf.space_to_batch_nd", "tf.nn.atrous_conv2d_transpose"), "values")
def _(tf):
    return [
        tf.scalar_mul(2.0, numbers(2)),
        tf.scalar_mul(3, tf.IndexedSlices(numbers(1, 2), [1], [2, 2])),
        tf.space_to_batch_nd(numbers(1, 2, 2, 1), [2, 2], [[0, 0], [0, 0]]),
        tf.nn.atrous_conv2d_transpose(
            numbers(1, 3, 3, 2), numbers(2, 2, 1, 2), [1, 5, 5, 1], 2, "VALID"
        ),
    ]


@plain(
    ("tf.lookup.StaticHashTable", f"{V1}.setdiff1d", f"{V1}.py_func"), "in the graph of a session"
)
def _(tf):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        keys, numbers_ = tf.constant(["a", "b"]), [1, 2]
        fill = tf.lookup.KeyValueTensorInitializer(keys, numbers_)
        table = tf.lookup.StaticHashTable(fill, -1)
        ids = table.lookup(v1.string_split(["a b c"]).values)
        rest = v1.setdiff1d([1, 2, 3, 2], [2])
        doubled = v1.py_func(lambda a: a * 2, [tf.constant([1.0, 2.0])], tf.float32)
        session.run(v1.tables_initializer())
        return session.run([ids, rest.out, rest.idx, doubled])
