"""tf.nn: convolutions, pools, normalisations, losses, embeddings; tf.image's arithmetic."""

import numpy as np
from corpus import case, f, f64, lit, plain, pos, u8

# Softmax and losses.
case("tf.nn.softmax", "rows", lambda tf, x: tf.nn.softmax(x), f(2, 4), second=True)
case("tf.nn.softmax", "axis 0", lambda tf, x: tf.nn.softmax(x, axis=0), f(3, 2))
case("tf.nn.softmax", "middle axis", lambda tf, x: tf.nn.softmax(x, axis=1), f(2, 3, 2))
case("tf.nn.softmax", "large", lambda tf, x: tf.nn.softmax(x), lit([1000.0, 1001, 0]))
case("tf.nn.softmax", "a vector", lambda tf, x: tf.nn.softmax(x), f(4))
case("tf.nn.softmax", "f64", lambda tf, x: tf.nn.softmax(x), f64(2, 3))
case("tf.nn.softmax", "nothing", lambda tf, x: tf.nn.softmax(x), f(0, 3))
case("tf.nn.log_softmax", "rows", lambda tf, x: tf.nn.log_softmax(x), f(2, 4), second=True)
case("tf.nn.log_softmax", "axis 0", lambda tf, x: tf.nn.log_softmax(x, axis=0), f(3, 2))
ONE_HOT = lit([[1.0, 0, 0], [0, 0.5, 0.5]])
case(
    "tf.nn.softmax_cross_entropy_with_logits",
    "rows",
    lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x),
    ONE_HOT,
    f(2, 3),
)
case(
    "tf.nn.softmax_cross_entropy_with_logits",
    "axis",
    lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(y, x, axis=0),
    pos(3, 2),
    f(3, 2),
)
case(
    "tf.nn.softmax_cross_entropy_with_logits",
    "second order of the logits",
    lambda tf, x: tf.nn.softmax_cross_entropy_with_logits(ONE_HOT, x),
    f(2, 3),
    second=True,
)
case(
    "tf.nn.softmax_cross_entropy_with_logits",
    "more ranks",
    lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(y, x),
    pos(2, 2, 3),
    f(2, 2, 3),
)
case(
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "rows",
    lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
    lit([2, 0], "int32"),
    f(2, 3),
    second=True,
)
case(
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "i64",
    lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x),
    lit([2, 0], "int64"),
    f(2, 3),
)
case(
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "more ranks",
    lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x),
    lit([[2, 0], [1, 1]], "int32"),
    f(2, 2, 3),
)
case(
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "a scalar",
    lambda tf, y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x),
    lit(1, "int32"),
    f(3),
)
case(
    "tf.nn.sigmoid_cross_entropy_with_logits",
    "rows",
    lambda tf, y, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x),
    pos(2, 3, low=0, high=1),
    f(2, 3),
    second=True,
)
case(
    "tf.nn.sigmoid_cross_entropy_with_logits",
    "at zero and far",
    lambda tf, y, x: tf.nn.sigmoid_cross_entropy_with_logits(y, x),
    lit([1.0, 0, 1, 0]),
    lit([0.0, 0, 100, -100]),
)
case(
    "tf.nn.weighted_cross_entropy_with_logits",
    "rows",
    lambda tf, y, x: tf.nn.weighted_cross_entropy_with_logits(y, x, pos_weight=2.0),
    pos(2, 3, low=0, high=1),
    f(2, 3),
)
case("tf.nn.log_poisson_loss", "rows", lambda tf, y, x: tf.nn.log_poisson_loss(y, x), pos(3), f(3))
case(
    "tf.nn.log_poisson_loss",
    "full",
    lambda tf, y, x: tf.nn.log_poisson_loss(y, x, True),
    pos(3, low=1.5, high=4),
    f(3),
)
case("tf.nn.l2_loss", "a matrix", lambda tf, x: tf.nn.l2_loss(x), f(2, 3), second=True)
case("tf.nn.l2_loss", "a scalar", lambda tf, x: tf.nn.l2_loss(x), f())
case("tf.nn.l2_normalize", "rows", lambda tf, x: tf.nn.l2_normalize(x, axis=1), f(2, 3))
case("tf.nn.l2_normalize", "two axes", lambda tf, x: tf.nn.l2_normalize(x, [0, 1]), f(2, 3))


@plain("tf.nn.compute_average_loss", "kinds")
def _(tf):
    loss = tf.constant([1.0, 2, 3])
    return [
        tf.nn.compute_average_loss(loss),
        tf.nn.compute_average_loss(loss, global_batch_size=6),
        tf.nn.compute_average_loss(loss, sample_weight=tf.constant([1.0, 0, 2])),
        tf.nn.scale_regularization_loss(tf.constant(3.0)),
        tf.nn.scale_regularization_loss(loss),
    ]


@plain("tf.nn.scale_regularization_loss", "kinds")
def _(tf):
    return [tf.nn.scale_regularization_loss([1.0, 2.0]), tf.nn.scale_regularization_loss(2.5)]


# Bias, normalisation, dropout.
case("tf.nn.bias_add", "a matrix", lambda tf, x, c: tf.nn.bias_add(x, c), f(2, 3), f(3))
case("tf.nn.bias_add", "a picture", lambda tf, x, c: tf.nn.bias_add(x, c), f(1, 2, 2, 3), f(3))
case(
    "tf.nn.bias_add",
    "channels first",
    lambda tf, x, c: tf.nn.bias_add(x, c, data_format="NCHW"),
    f(1, 3, 2, 2),
    f(3),
)
case("tf.nn.bias_add", "rank three", lambda tf, x, c: tf.nn.bias_add(x, c), f(2, 2, 3), f(3))
case("tf.nn.moments", "a column", lambda tf, x: tf.nn.moments(x, axes=[0]), f(4, 3))
case("tf.nn.moments", "a picture", lambda tf, x: tf.nn.moments(x, [0, 1, 2]), f(2, 2, 2, 3))
case("tf.nn.moments", "kept", lambda tf, x: tf.nn.moments(x, axes=-1, keepdims=True), f(2, 4))
case("tf.nn.moments", "equal values", lambda tf, x: tf.nn.moments(x, [0]), lit([3.0, 3.0]))
case(
    "tf.nn.weighted_moments",
    "a column",
    lambda tf, x, w: tf.nn.weighted_moments(x, [0], w),
    f(4, 3),
    pos(4, 3),
)
case(
    "tf.nn.normalize_moments",
    "sums",
    lambda tf, x: tf.nn.normalize_moments(tf.constant(4.0), x, tf.square(x) + 3.0, None),
    f(3),
)
case(
    "tf.nn.sufficient_statistics",
    "a column",
    lambda tf, x: tf.nn.sufficient_statistics(x, [0])[:3],
    f(4, 3),
)
case(
    "tf.nn.batch_normalization",
    "a matrix",
    lambda tf, x, m, v, o, s: tf.nn.batch_normalization(x, m, v, o, s, 1e-3),
    f(4, 3),
    f(3),
    pos(3),
    f(3),
    f(3),
)
case(
    "tf.nn.batch_normalization",
    "no scale",
    lambda tf, x, m, v: tf.nn.batch_normalization(x, m, v, None, None, 1e-3),
    f(2, 2, 3),
    f(3),
    pos(3),
)
case(
    "tf.compat.v1.nn.fused_batch_norm",
    "training",
    lambda tf, x, s, o: tf.compat.v1.nn.fused_batch_norm(x, s, o, is_training=True)[0],
    f(2, 2, 2, 3),
    f(3),
    f(3),
    rtol=1e-4,
    atol=1e-5,
)
case(
    "tf.nn.local_response_normalization",
    "a picture",
    lambda tf, x: tf.nn.local_response_normalization(x, depth_radius=1),
    f(1, 2, 2, 4),
)
case("tf.nn.lrn", "wide", lambda tf, x: tf.nn.lrn(x, 2, 1.0, 0.5, 0.75), f(1, 1, 2, 6))


@plain("tf.nn.dropout", "keeps the mean")
def _(tf):
    tf.random.set_seed(3)
    y = tf.nn.dropout(tf.ones([200]), 0.25)
    values = sorted({round(float(v), 5) for v in y.numpy()})
    return [values, tf.nn.dropout(tf.ones([3]), 0), tf.nn.dropout(tf.ones([4, 5]), 0.5).shape]


@plain("tf.nn.dropout", "seeded")
def _(tf):
    tf.random.set_seed(3)
    x = tf.ones([3, 4])
    return [
        tf.nn.dropout(x, 0.5, seed=5),
        tf.nn.dropout(x, rate=0.3, noise_shape=[3, 1], seed=1),
        tf.nn.experimental.stateless_dropout(x, 0.5, seed=[1, 2]),
    ]


@plain("tf.nn.dropout", "gradient")
def _(tf):
    x = tf.ones([40])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.dropout(x, 0.4)
    return bool(tf.reduce_all(tape.gradient(y, x) == y))


# Embeddings.
case(
    "tf.nn.embedding_lookup",
    "ids",
    lambda tf, p, i: tf.nn.embedding_lookup(p, i),
    f(4, 3),
    lit([[0, 2], [2, 1]], "int32"),
)
case(
    "tf.nn.embedding_lookup",
    "max norm",
    lambda tf, p, i: tf.nn.embedding_lookup(p, i, max_norm=1.0),
    f(4, 3),
    lit([0, 2], "int64"),
)

# Convolutions.
for _padding in ("VALID", "SAME"):
    for _stride in (1, 2):
        case(
            "tf.nn.conv2d",
            f"{_padding} by {_stride}",
            lambda tf, x, w, s=_stride, p=_padding: tf.nn.conv2d(x, w, s, p),
            f(2, 5, 4, 2),
            f(3, 2, 2, 3),
            second=_stride == 1 and _padding == "SAME",
            rtol=3e-5,
        )
        case(
            "tf.nn.conv1d",
            f"{_padding} by {_stride}",
            lambda tf, x, w, s=_stride, p=_padding: tf.nn.conv1d(x, w, s, p),
            f(2, 6, 2),
            f(3, 2, 3),
            rtol=3e-5,
        )
        case(
            "tf.nn.conv3d",
            f"{_padding} by {_stride}",
            lambda tf, x, w, s=_stride, p=_padding: tf.nn.conv3d(x, w, [1, s, s, s, 1], p),
            f(1, 3, 4, 3, 2),
            f(2, 2, 2, 2, 2),
            rtol=3e-5,
        )
        case(
            "tf.nn.depthwise_conv2d",
            f"{_padding} by {_stride}",
            lambda tf, x, w, s=_stride, p=_padding: tf.nn.depthwise_conv2d(x, w, [1, s, s, 1], p),
            f(1, 4, 5, 2),
            f(3, 2, 2, 2),
            rtol=3e-5,
        )
        case(
            "tf.nn.max_pool2d",
            f"{_padding} by {_stride}",
            lambda tf, x, s=_stride, p=_padding: tf.nn.max_pool2d(x, 2, s, p),
            f(2, 5, 4, 2),
        )
        case(
            "tf.nn.avg_pool2d",
            f"{_padding} by {_stride}",
            lambda tf, x, s=_stride, p=_padding: tf.nn.avg_pool2d(x, [3, 2], s, p),
            f(2, 5, 4, 2),
        )
case(
    "tf.nn.conv2d",
    "strides",
    lambda tf, x, w: tf.nn.conv2d(x, w, [1, 2, 1, 1], "SAME"),
    f(1, 5, 4, 1),
    f(2, 2, 1, 1),
    rtol=3e-5,
)
case(
    "tf.nn.conv2d",
    "dilated",
    lambda tf, x, w: tf.nn.conv2d(x, w, 1, "VALID", dilations=2),
    f(1, 6, 5, 2),
    f(2, 2, 2, 2),
    rtol=3e-5,
    without=("grad", "grad_static", "grad_unknown"),
    why="no CPU kernel has the gradient",
)
case(
    "tf.nn.conv2d",
    "explicit padding",
    lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1], [[0, 0], [1, 2], [0, 1], [0, 0]]),
    f(1, 4, 4, 1),
    f(2, 3, 1, 2),
    rtol=3e-5,
)
case(
    "tf.nn.conv2d",
    "groups",
    lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"),
    f(1, 3, 3, 4),
    f(2, 2, 2, 4),
    rtol=3e-5,
    grad="TensorFlow's CPU has no gradient of grouped convolutions",
)
case(
    "tf.nn.conv2d",
    "one by one",
    lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"),
    f(2, 2, 3, 3),
    f(1, 1, 3, 2),
    rtol=3e-5,
)
case(
    "tf.nn.conv2d",
    "f64",
    lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"),
    f64(1, 3, 3, 1),
    f64(2, 2, 1, 1),
)
case(
    "tf.nn.conv2d",
    "no pictures",
    lambda tf, x, w: tf.nn.conv2d(x, w, 1, "VALID"),
    f(0, 4, 4, 1),
    f(2, 2, 1, 1),
)
case(
    "tf.nn.conv2d_transpose",
    "SAME",
    lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [1, 4, 6, 2], 2, "SAME"),
    f(1, 2, 3, 3),
    f(3, 3, 2, 3),
    rtol=3e-5,
)
case(
    "tf.nn.conv2d_transpose",
    "VALID",
    lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [2, 5, 5, 1], [2, 2], "VALID"),
    f(2, 2, 2, 1),
    f(3, 3, 1, 1),
    rtol=3e-5,
)
case(
    "tf.nn.conv1d_transpose",
    "SAME",
    lambda tf, x, w: tf.nn.conv1d_transpose(x, w, [1, 6, 2], 2),
    f(1, 3, 3),
    f(3, 2, 3),
    rtol=3e-5,
)
case(
    "tf.nn.conv3d_transpose",
    "SAME",
    lambda tf, x, w: tf.nn.conv3d_transpose(x, w, [1, 2, 4, 4, 1], [1, 1, 2, 2, 1]),
    f(1, 2, 2, 2, 2),
    f(2, 2, 2, 1, 2),
    rtol=3e-5,
)
case(
    "tf.nn.conv_transpose",
    "two",
    lambda tf, x, w: tf.nn.conv_transpose(x, w, [1, 4, 4, 2], 2),
    f(1, 2, 2, 3),
    f(2, 2, 2, 3),
    rtol=3e-5,
)
case(
    "tf.nn.depthwise_conv2d",
    "dilated",
    lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[2, 2]),
    f(1, 5, 5, 2),
    f(2, 2, 2, 1),
    rtol=3e-5,
    without=("unknown", "grad_unknown"),
    why="the sizes must be known",
)
case(
    "tf.nn.separable_conv2d",
    "SAME",
    lambda tf, x, d, p: tf.nn.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME"),
    f(1, 4, 4, 2),
    f(2, 2, 2, 2),
    f(1, 1, 4, 3),
    rtol=3e-5,
)
case(
    "tf.nn.convolution",
    "two",
    lambda tf, x, w: tf.nn.convolution(x, w, padding="SAME"),
    f(1, 4, 4, 2),
    f(3, 3, 2, 1),
    rtol=3e-5,
)
case(
    "tf.nn.convolution",
    "one dilated",
    lambda tf, x, w: tf.nn.convolution(x, w, padding="VALID", dilations=2),
    f(1, 7, 2),
    f(3, 2, 1),
    rtol=3e-5,
)
case(
    "tf.nn.convolution",
    "three with strides",
    lambda tf, x, w: tf.nn.convolution(x, w, strides=[1, 2, 2], padding="VALID"),
    f(1, 2, 4, 4, 1),
    f(1, 2, 2, 1, 2),
    rtol=3e-5,
    without="grad",
    why="TensorFlow's eager gradient raises",
)
case(
    "tf.nn.atrous_conv2d",
    "two",
    lambda tf, x, w: tf.nn.atrous_conv2d(x, w, 2, "SAME"),
    f(1, 5, 5, 1),
    f(2, 2, 1, 2),
    rtol=3e-5,
    without=("unknown", "grad_unknown"),
    why="the sizes must be known",
)
case(
    "tf.nn.conv1d",
    "dilated",
    lambda tf, x, w: tf.nn.conv1d(x, w, 1, "SAME", dilations=2),
    f(1, 6, 1),
    f(3, 1, 2),
    rtol=3e-5,
    without=("grad", "grad_static", "grad_unknown"),
    why="no CPU kernel has the gradient",
)
case(
    "tf.nn.dilation2d",
    "a picture",
    lambda tf, x, w: tf.nn.dilation2d(x, w, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]),
    f(1, 3, 3, 1),
    f(2, 2, 1),
)

# Pools.
case(
    "tf.nn.max_pool2d",
    "ties take the first",
    lambda tf, x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    lit(np.ones((1, 2, 4, 1))),
)
case(
    "tf.nn.max_pool2d",
    "negative values padded",
    lambda tf, x: tf.nn.max_pool2d(x, 3, 2, "SAME"),
    f(1, 4, 4, 1, low=-3, high=-1),
)
case(
    "tf.nn.max_pool2d",
    "explicit padding",
    lambda tf, x: tf.nn.max_pool2d(x, 2, 2, [[0, 0], [1, 1], [1, 0], [0, 0]]),
    f(1, 4, 4, 1),
    without=("grad", "grad_static", "grad_unknown"),
    why="no CPU kernel has the gradient",
)
case(
    "tf.nn.max_pool2d",
    "second order",
    lambda tf, x: tf.nn.max_pool2d(x * x, 2, 2, "VALID"),
    f(1, 4, 4, 1),
    second=True,
)
case(
    "tf.nn.avg_pool2d",
    "second order",
    lambda tf, x: tf.nn.avg_pool2d(x * x, 2, 1, "SAME"),
    f(1, 3, 3, 1),
    second=True,
)
case("tf.nn.max_pool1d", "SAME", lambda tf, x: tf.nn.max_pool1d(x, 3, 2, "SAME"), f(1, 6, 2))
case("tf.nn.avg_pool1d", "SAME", lambda tf, x: tf.nn.avg_pool1d(x, 3, 2, "SAME"), f(1, 6, 2))
case(
    "tf.nn.max_pool3d", "VALID", lambda tf, x: tf.nn.max_pool3d(x, 2, 2, "VALID"), f(1, 4, 2, 4, 1)
)
case("tf.nn.avg_pool3d", "SAME", lambda tf, x: tf.nn.avg_pool3d(x, 2, 2, "SAME"), f(1, 3, 2, 3, 1))
case("tf.nn.max_pool", "by rank", lambda tf, x: tf.nn.max_pool(x, 2, 2, "VALID"), f(1, 4, 4, 1))
case("tf.nn.avg_pool", "by rank", lambda tf, x: tf.nn.avg_pool(x, 2, 2, "VALID"), f(1, 4, 2))
case(
    "tf.nn.pool",
    "average",
    lambda tf, x: tf.nn.pool(x, [2, 2], "AVG", strides=[2, 2]),
    f(1, 4, 4, 1),
)
case(
    "tf.nn.pool",
    "maximum dilated",
    lambda tf, x: tf.nn.pool(x, [2], "MAX", padding="VALID", dilations=[2]),
    f(1, 6, 1),
)
case(
    "tf.nn.max_pool_with_argmax",
    "a picture",
    lambda tf, x: tf.nn.max_pool_with_argmax(x, 2, 2, "VALID"),
    f(1, 4, 4, 2),
)
case(
    "tf.nn.erosion2d",
    "a picture",
    lambda tf, x, w: tf.nn.erosion2d(x, w, [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]),
    f(1, 3, 3, 1),
    f(2, 2, 1),
)

# Sequences.
case(
    "tf.nn.ctc_loss",
    "dense labels",
    lambda tf, x: tf.nn.ctc_loss(
        tf.constant([[1, 2], [1, 0]]), x, tf.constant([2, 1]), tf.constant([4, 3]), blank_index=0
    ),
    f(4, 2, 3),
    rtol=1e-4,
    atol=1e-5,
)
case(
    "tf.nn.isotonic_regression",
    "rows",
    lambda tf, x: tf.nn.isotonic_regression(x)[0],
    f(2, 4),
    without="grad_unknown",
    why="TensorFlow's gradient needs a known size",
)
case(
    "tf.nn.collapse_repeated",
    "rows",
    lambda tf, x: tf.nn.collapse_repeated(x, tf.constant([4, 3]))[0],
    lit([[1, 1, 2, 2], [3, 3, 3, 0]], "int32"),
)
case(
    "tf.nn.space_to_batch",
    "a picture",
    lambda tf, x: tf.nn.space_to_batch(x, [2, 2], [[0, 0], [0, 0]]),
    f(1, 2, 2, 1),
)

# Pictures.
IMAGE = {"rtol": 1e-4, "atol": 1e-5}
for _method in (
    "bilinear",
    "nearest",
    "bicubic",
    "area",
    "lanczos3",
    "lanczos5",
    "gaussian",
    "mitchellcubic",
):
    case(
        "tf.image.resize",
        _method,
        lambda tf, x, m=_method: tf.image.resize(x, [5, 3], method=m),
        f(1, 4, 4, 2),
        grad="TensorFlow has no gradient of it" if _method == "area" else None,
        **IMAGE,
    )
case(
    "tf.image.resize",
    "antialias",
    lambda tf, x: tf.image.resize(x, [2, 2], antialias=True),
    f(1, 5, 4, 1),
    **IMAGE,
)
case(
    "tf.image.resize", "one picture", lambda tf, x: tf.image.resize(x, (3, 6)), f(2, 3, 1), **IMAGE
)
case("tf.image.resize", "integers", lambda tf, x: tf.image.resize(x, [3, 3]), u8(2, 2, 3), **IMAGE)
case(
    "tf.image.resize",
    "integers nearest",
    lambda tf, x: tf.image.resize(x, [3, 3], "nearest"),
    u8(2, 2, 3),
)
case(
    "tf.image.resize",
    "keeping proportions",
    lambda tf, x: tf.image.resize(x, [4, 8], preserve_aspect_ratio=True),
    f(3, 3, 1),
    **IMAGE,
)


@plain("tf.image.ResizeMethod", "names")
def _(tf):
    m = tf.image.ResizeMethod
    return [
        m.BILINEAR,
        m.NEAREST_NEIGHBOR,
        m.BICUBIC,
        m.AREA,
        m.LANCZOS3,
        m.LANCZOS5,
        m.GAUSSIAN,
        m.MITCHELLCUBIC,
    ]


case(
    "tf.image.resize_with_pad",
    "wider",
    lambda tf, x: tf.image.resize_with_pad(x, 4, 6),
    f(3, 3, 1),
    **IMAGE,
)
case(
    "tf.image.resize_with_crop_or_pad",
    "both",
    lambda tf, x: tf.image.resize_with_crop_or_pad(x, 2, 5),
    f(4, 3, 1),
)
case(
    "tf.image.convert_image_dtype",
    "u8 to f32",
    lambda tf, x: tf.image.convert_image_dtype(x, tf.float32),
    u8(2, 2, 3),
)
case(
    "tf.image.convert_image_dtype",
    "f32 to u8",
    lambda tf, x: tf.image.convert_image_dtype(x, tf.uint8),
    pos(2, 2, 3, low=0, high=1),
)
case(
    "tf.image.convert_image_dtype",
    "saturating",
    lambda tf, x: tf.image.convert_image_dtype(x, tf.uint8, saturate=True),
    f(2, 2, 3),
)
case(
    "tf.image.convert_image_dtype",
    "u8 to i16",
    lambda tf, x: tf.image.convert_image_dtype(x, tf.int16),
    u8(2, 2, 3),
)
case("tf.image.flip_left_right", "a picture", lambda tf, x: tf.image.flip_left_right(x), f(2, 3, 1))
case(
    "tf.image.flip_left_right", "pictures", lambda tf, x: tf.image.flip_left_right(x), f(2, 2, 3, 1)
)
case("tf.image.flip_up_down", "a picture", lambda tf, x: tf.image.flip_up_down(x), f(2, 3, 1))
ROTATED = {
    "without": "grad_static",
    "why": "TensorFlow's gradient takes the shapes of all branches for one, and fails",
}
case("tf.image.rot90", "twice", lambda tf, x: tf.image.rot90(x, k=2), f(2, 3, 1), **ROTATED)
case("tf.image.rot90", "once", lambda tf, x: tf.image.rot90(x), f(2, 3, 1), **ROTATED)
case("tf.image.transpose", "a picture", lambda tf, x: tf.image.transpose(x), f(2, 3, 1))
case("tf.image.central_crop", "half", lambda tf, x: tf.image.central_crop(x, 0.5), f(4, 6, 1))
case(
    "tf.image.crop_to_bounding_box",
    "a part",
    lambda tf, x: tf.image.crop_to_bounding_box(x, 1, 0, 2, 2),
    f(4, 3, 1),
)
case(
    "tf.image.pad_to_bounding_box",
    "larger",
    lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 0, 4, 5),
    f(2, 3, 1),
)
case(
    "tf.image.adjust_brightness",
    "f32",
    lambda tf, x: tf.image.adjust_brightness(x, 0.1),
    f(2, 2, 3),
)
case(
    "tf.image.adjust_brightness",
    "u8",
    lambda tf, x: tf.image.adjust_brightness(x, 0.2),
    u8(2, 2, 3),
)
case(
    "tf.image.adjust_contrast",
    "f32",
    lambda tf, x: tf.image.adjust_contrast(x, 1.5),
    f(2, 2, 3),
    grad="TensorFlow has no gradient of it",
    **IMAGE,
)
case(
    "tf.image.adjust_saturation",
    "f32",
    lambda tf, x: tf.image.adjust_saturation(x, 0.5),
    pos(2, 2, 3, low=0, high=1),
    grad="TensorFlow has no gradient of it",
    **IMAGE,
)
case(
    "tf.image.adjust_hue",
    "f32",
    lambda tf, x: tf.image.adjust_hue(x, 0.2),
    pos(2, 2, 3, low=0, high=1),
    grad="TensorFlow has no gradient of it",
    **IMAGE,
)
case(
    "tf.image.adjust_gamma",
    "f32",
    lambda tf, x: tf.image.adjust_gamma(x, 2.0, 0.5),
    pos(2, 2, 1, low=0, high=1),
    **IMAGE,
)
case("tf.image.rgb_to_grayscale", "f32", lambda tf, x: tf.image.rgb_to_grayscale(x), f(2, 2, 3))
case("tf.image.rgb_to_grayscale", "u8", lambda tf, x: tf.image.rgb_to_grayscale(x), u8(2, 2, 3))
case(
    "tf.image.grayscale_to_rgb",
    "f32",
    lambda tf, x: tf.image.grayscale_to_rgb(x),
    f(2, 2, 1),
    without=("unknown", "grad_unknown"),
    why="the last dimension must be known",
)
case(
    "tf.image.rgb_to_hsv",
    "f32",
    lambda tf, x: tf.image.rgb_to_hsv(x),
    pos(2, 2, 3, low=0, high=1),
    **IMAGE,
)
case(
    "tf.image.hsv_to_rgb",
    "f32",
    lambda tf, x: tf.image.hsv_to_rgb(x),
    pos(2, 2, 3, low=0, high=1),
    grad="TensorFlow gives None: it has no gradient of HSVToRGB",
    **IMAGE,
)
case(
    "tf.image.rgb_to_yuv",
    "f32",
    lambda tf, x: tf.image.rgb_to_yuv(x),
    pos(2, 2, 3, low=0, high=1),
    **IMAGE,
)
case("tf.image.sobel_edges", "a picture", lambda tf, x: tf.image.sobel_edges(x), f(1, 4, 4, 2))
case(
    "tf.image.image_gradients",
    "a picture",
    lambda tf, x: tf.image.image_gradients(x),
    f(1, 3, 4, 2),
    without=("unknown", "grad_unknown"),
    why="the sizes must be known",
)
case(
    "tf.image.total_variation", "pictures", lambda tf, x: tf.image.total_variation(x), f(2, 3, 4, 1)
)
case(
    "tf.image.per_image_standardization",
    "a picture",
    lambda tf, x: tf.image.per_image_standardization(x),
    f(3, 3, 2),
    **IMAGE,
)
case(
    "tf.image.extract_patches",
    "VALID",
    lambda tf, x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
    f(1, 4, 4, 2),
)
case(
    "tf.image.extract_patches",
    "SAME dilated",
    lambda tf, x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], "SAME"),
    f(1, 4, 4, 1),
)
case(
    "tf.image.psnr",
    "two",
    lambda tf, x, y: tf.image.psnr(x, y, 1.0),
    pos(3, 3, 1, low=0, high=1),
    pos(3, 3, 1, low=0, high=1),
    **IMAGE,
)
case(
    "tf.image.crop_and_resize",
    "boxes",
    lambda tf, x: tf.image.crop_and_resize(
        x, [[0.0, 0, 1, 1], [0.2, 0.3, 0.7, 0.9]], [0, 0], [2, 3]
    ),
    f(1, 4, 4, 1),
    **IMAGE,
)
case(
    "tf.image.non_max_suppression",
    "boxes",
    lambda tf, s: tf.image.non_max_suppression(
        [[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], s, 3, 0.5
    ),
    lit([0.9, 0.75, 0.6]),
)
