"""What TensorFlow makes of NaN, of places that meet, of refusals inside functions."""

from corpus import plain, raises

NAN = float("nan")


def gradients(tf, function, *arrays):
    """Values and first derivatives, eagerly and in a function."""
    found = []
    for wrap in (lambda h: h, tf.function):
        xs = [tf.constant(x) for x in arrays]
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = wrap(function)(*xs)
        found.append([y, tape.gradient(y, xs)])
    return found


def second(tf, function, *arrays):
    """Second derivatives of the sum of the first, None included."""
    xs = [tf.constant(x, tf.float64) for x in arrays]
    with tf.GradientTape() as outer:
        outer.watch(xs)
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = function(*xs)
        first = [g for g in tape.gradient(y, xs) if g is not None]
        total = tf.add_n([tf.reduce_sum(g) for g in first])
    return outer.gradient(total, xs)


@plain("tf.maximum", "a derivative at NaN")
def _(tf):
    pair = [NAN, 1.0, 2.0, 1.0], [1.0, NAN, 1.0, 1.0]
    return [gradients(tf, op, *pair) for op in (tf.maximum, tf.minimum)]


@plain("tf.nn.relu", "a derivative at NaN")
def _(tf):
    return [gradients(tf, op, [NAN, 1.0, -1.0, 7.0]) for op in (tf.nn.relu, tf.nn.relu6)]


@plain("tf.dynamic_stitch", "a derivative where places meet")
def _(tf):
    def stitch(a, b):
        return tf.dynamic_stitch([[0, 1], [1, 2]], [a, b])

    return gradients(tf, stitch, [1.0, 2.0], [3.0, 4.0])


@plain("tf.math.betainc", "second derivatives by the orders")
def _(tf):
    return second(tf, tf.math.betainc, [0.5, 2.0], [1.5, 0.7], [0.3, 0.6])


@plain("tf.math.zeta", "second derivatives by the exponent")
def _(tf):
    return second(tf, tf.math.zeta, [2.5, 4.0], [1.5, 0.7])


@plain("tf.tensor_scatter_nd_max", "no second derivative")
def _(tf):
    def scatter(x, y):
        return tf.tensor_scatter_nd_max(x * x, [[0], [2]], y * y)

    return gradients(tf, scatter, [1.0, 2.0, 3.0], [4.0, 1.0])


@plain("tf.cast", "negative floats to unsigned integers")
def _(tf):
    x = tf.constant([-1.7, -0.3, 3.9, 3e9])
    return [tf.cast(x, tf.uint32), tf.cast(x, tf.uint64)]


@plain("tf.strings.split", "what is left after the last split")
def _(tf):
    texts = ["a", "a b", " a  b c ", " ", ""]
    return [tf.strings.split(tf.constant(t), maxsplit=n) for t in texts for n in (0, 1, 2)]


@plain("tf.strings.format", "complex numbers and no elements")
def _(tf):
    shapes = [], [1], [2, 2], [0]
    values = [tf.zeros(shape, tf.complex64) for shape in shapes]
    values += [tf.zeros(s, d) for s in ([0], [2, 0], [0, 2]) for d in (tf.float32, tf.bool)]
    return [tf.strings.format("<{}>", [value]) for value in values]


@plain("tf.strings.ngrams", "of no rows")
def _(tf):
    return [tf.strings.ngrams(tf.fill(shape, "a"), 2) for shape in ([0, 3], [2, 0], [0, 2, 3])]


@plain("tf.nn.weighted_moments", "weights that sum to 0")
def _(tf):
    return tf.nn.weighted_moments(tf.constant([1.0, 2.0]), [0], tf.constant([0.0, 0.0]))


@plain("tf.nn.max_pool_with_argmax", "NaN")
def _(tf):
    x = tf.reshape(tf.constant([1.0, NAN, 2.0, 3.0]), [1, 2, 2, 1])
    return list(tf.nn.max_pool_with_argmax(x, 2, 1, "SAME"))


@plain("tf.image.crop_and_resize", "a derivative of nearest pixels")
def _(tf):
    def crop(boxes):
        image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
        return tf.image.crop_and_resize(image, boxes, [0], [3, 3], method="nearest")

    return gradients(tf, crop, [[0.1, 0.2, 0.8, 0.7]])


def inside(function, *arguments):
    """The call inside a function whose arguments have unknown sizes."""

    def call(tf):
        tensors = [tf.constant(x) for x in arguments]
        signature = [tf.TensorSpec([None] * len(x.shape), x.dtype) for x in tensors]
        return tf.function(lambda *xs: function(tf)(*xs), signature)(*tensors)

    return call


raises(
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "a label too far, in a function",
    "",
    inside(lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits, [3], [[0.0, 0.0, 0.0]]),
)
raises(
    "tf.math.segment_min",
    "numbers that decrease, in a function",
    "segment ids are not increasing",
    inside(lambda tf: tf.math.segment_min, [1.0, 2.0], [1, 0]),
)
raises(
    "tf.nn.softmax_cross_entropy_with_logits",
    "an axis below -1",
    "",
    lambda tf: tf.nn.softmax_cross_entropy_with_logits(tf.ones([2, 2]), tf.ones([2, 2]), axis=-2),
)
raises(
    "tf.image.non_max_suppression",
    "a whole number for a threshold",
    "expected to be a float tensor but is a int32 tensor",
    lambda tf: tf.image.non_max_suppression(
        tf.constant([[0.0, 0.0, 1.0, 1.0]]), tf.constant([0.5]), 1, score_threshold=1
    ),
)
raises(
    "tf.linalg.eigvalsh",
    "matrices that are not finite",
    "eigen decomposition was not successful",
    lambda tf: tf.linalg.eigvalsh(tf.constant([[NAN, 0.0], [0.0, 1.0]])),
)
