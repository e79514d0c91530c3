"""Edges of mathematics: poles, beyond domains, counts beyond widths, what functions know early."""

from __future__ import annotations

from corpus import case, f, f64, plain, raises

_AROUND = [-2.0, -0.5, 0.5, 2.0, 12.0, 40.0]
_WITH_ZERO = [-2.0, 0.0, 0.5, 2.0]


def _values_and_slopes(tf, function, values):
    """A function of one number, its derivative and the derivative of that, in float64."""
    x = tf.constant(values, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        slope = inner.gradient(y, x)
    return [y, slope, outer.gradient(slope, x)]


for _name in ("k0", "k0e", "k1", "k1e", "y0", "y1"):

    @plain(f"tf.math.special.bessel_{_name}", "edge below zero")
    def _(tf, name=_name):
        return _values_and_slopes(tf, getattr(tf.math.special, f"bessel_{name}"), _AROUND)


for _name in ("expint", "spence"):

    @plain(f"tf.math.special.{_name}", "edge below zero")
    def _(tf, name=_name):
        return _values_and_slopes(tf, getattr(tf.math.special, name), _AROUND)


@plain("tf.math.special.expint", "edge at zero")
def _(tf):
    return tf.math.special.expint(tf.constant(_WITH_ZERO))


@plain("tf.math.special.fresnel_sin", "edge far out")
def _(tf):
    far = tf.constant([-1e30, 36975.0, 1e6], tf.float64)
    return [tf.math.special.fresnel_sin(far), tf.math.special.fresnel_cos(far)]


@plain(("tf.math.digamma", "tf.math.lgamma"), "edge poles")
def _(tf):
    x = tf.constant([0.0, -0.0, -1.0, -1.5, 1.0, 2.0, 3.5])
    return [tf.math.digamma(x), tf.math.lgamma(x)]


@plain(("tf.math.zeta", "tf.math.polygamma"), "edge poles")
def _(tf):
    q = tf.constant([0.0, -1.0, -0.5, -2.5, 3.0, float("inf")], tf.float64)
    orders = tf.constant([[0.5], [1.0], [2.0], [2.5], [3.0]], tf.float64)
    return [tf.math.zeta(orders, q), tf.math.polygamma(orders - 1.0, q)]


@plain("tf.math.zeta", "edge derivative beyond the domain")
def _(tf):
    q = tf.constant([0.5, 2.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(q)
        y = tf.math.zeta(tf.constant([0.5, 3.0], tf.float64), q)
    return [y, tape.gradient(y, q)]


@plain("tf.math.betainc", "edge beyond the domain")
def _(tf):
    x = tf.constant([-0.5, 0.0, 0.3, 1.0, 1.5], tf.float64)
    one = tf.ones_like(x)
    return [tf.math.betainc(a * one, b * one, x) for a, b in ((2.0, 3.0), (0.0, 1.0), (2.0, -1.0))]


raises(
    "tf.math.betainc",
    "edge of other shapes",
    "hape",
    lambda tf: tf.math.betainc(tf.ones([3]), tf.ones([1]), tf.ones([3])),
)


@plain(("tf.bitwise.left_shift", "tf.bitwise.right_shift"), "edge counts beyond the width")
def _(tf):
    counts = tf.constant([-3, 0, 7, 8, 100], tf.int8)
    out = []
    for kind in (tf.int8, tf.uint8):
        x = tf.cast(tf.constant([3, 3, 3, 3, 3]), kind)
        count = tf.maximum(counts, 0) if kind == tf.uint8 else counts
        out += [
            op(x, tf.cast(count, kind)) for op in (tf.bitwise.left_shift, tf.bitwise.right_shift)
        ]
    return [*out, tf.bitwise.right_shift(tf.constant(-5, tf.int8), tf.constant(100, tf.int8))]


case(
    "tf.math.cumulative_logsumexp",
    "edge small beside large",
    lambda tf, x: tf.math.cumulative_logsumexp(tf.concat([x, x + 1e4, x], 0), 0, exclusive=True),
    f64(3),
)
case(
    "tf.math.cumulative_logsumexp",
    "edge backwards",
    lambda tf, x: tf.math.cumulative_logsumexp(x, -1, reverse=True),
    f(2, 5),
)


@plain("tf.histogram_fixed_width", "edge integers")
def _(tf):
    x = tf.constant([-4, -1, 0, 1, 2, 3, 9])
    return [
        tf.histogram_fixed_width(x, [-1, 3], 3),
        tf.histogram_fixed_width(tf.cast(x, tf.int64), tf.constant([-1, 3], tf.int64), 5, tf.int64),
    ]


@plain("tf.saturate_cast", "edge complex")
def _(tf):
    wide = tf.constant([1e300 + 2j, -1e300j, 1 - 1j], tf.complex128)
    return [
        tf.saturate_cast(wide, tf.complex64),
        tf.saturate_cast(tf.constant([1e300, -1e300], tf.float64), tf.complex64),
        tf.saturate_cast(tf.constant([300.0 + 2j, -1j, -4.6]), tf.uint8),
    ]


@plain("tf.clip_by_norm", "edge below zero")
def _(tf):
    return tf.clip_by_norm(tf.constant([3.0, 4.0]), -1.0)


@plain(("tf.linspace", "tf.signal.frame", "tf.signal.stft"), "edge sizes that are known early")
def _(tf):
    shapes = []

    @tf.function
    def program(x, a):
        found = [
            tf.linspace(a, 1.0, 5),
            tf.signal.frame(x, 4, 2),
            tf.signal.frame(x, 4, 3, pad_end=True),
            tf.signal.stft(x, 4, 2),
            tf.signal.mdct(x, 4),
            tf.signal.kaiser_bessel_derived_window(6),
        ]
        shapes.extend(str(value.shape) for value in found)
        return x

    program(tf.zeros([2, 9]), tf.zeros([3]))
    return shapes


@plain(("tf.signal.fft2d", "tf.signal.rfft2d"), "edge of nothing")
def _(tf):
    return [
        tf.signal.fft2d(tf.zeros([2, 0], tf.complex64)),
        tf.signal.rfft2d(tf.zeros([0, 4])),
        tf.signal.irfft(tf.zeros([0, 3], tf.complex64)),
    ]


@plain(("tf.debugging.assert_less", "tf.debugging.assert_rank"), "edge what is given in functions")
def _(tf):
    found = []

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def program(x):
        checks = [
            tf.debugging.assert_less(x, 5.0),
            tf.debugging.assert_positive(x),
            tf.debugging.assert_near(x, x),
            tf.debugging.assert_rank(x, 1),
            tf.debugging.assert_rank_in(x, [1, 2]),
            tf.debugging.assert_rank(tf.zeros([2]), 1),
            tf.no_op(),
            tf.group(x),
        ]
        found.extend(isinstance(check, tf.Operation) for check in checks)
        found.append(tf.debugging.assert_integer(1) is None)
        return x

    program(tf.constant([1.0]))
    return [*found, tf.debugging.assert_less(1.0, 2.0) is None, tf.no_op() is None]


@plain("tf.debugging.assert_rank", "edge asked when it runs")
def _(tf):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def program(x):
        tf.debugging.assert_rank(x, 2)
        return x

    try:
        program(tf.constant([1.0]))
    except tf.errors.InvalidArgumentError:
        return "refused"
    return "taken"


raises("tf.abs", "edge unsigned", "uint8", lambda tf: tf.abs(tf.constant(1, tf.uint8)))
raises("tf.sign", "edge unsigned", "uint8", lambda tf: tf.sign(tf.constant(1, tf.uint8)))
raises("tf.negative", "edge unsigned", "uint8", lambda tf: tf.negative(tf.constant(1, tf.uint8)))
raises(
    "tf.math.squared_difference",
    "edge of short integers",
    "int16",
    lambda tf: tf.math.squared_difference(tf.constant(1, tf.int16), tf.constant(1, tf.int16)),
)
raises(
    "tf.truncatemod",
    "edge of short integers",
    "int16",
    lambda tf: tf.truncatemod(tf.constant(1, tf.int16), tf.constant(1, tf.int16)),
)
raises(
    "tf.math.bincount",
    "edge weights of truths",
    "binary_output",
    lambda tf: tf.math.bincount([1], weights=[1.0], binary_output=True),
)
raises(
    "tf.quantization.fake_quant_with_min_max_args",
    "edge of one bit",
    "num_bits",
    lambda tf: tf.quantization.fake_quant_with_min_max_args([1.0], num_bits=1),
)
raises(
    "tf.debugging.check_numerics",
    "edge no words",
    "string",
    lambda tf: tf.debugging.check_numerics(tf.constant(1.0), None),
)
raises("tf.range", "edge constants in functions", "start <= limit", lambda tf: _traced_range(tf))


def _traced_range(tf):
    return tf.function(lambda: tf.range(3, 1), autograph=False)()
