"""Edges of losses: labels that do not sum to 1, blanks inside of labels, nothing to align."""

from __future__ import annotations

import numpy as np
from corpus import c64, c128, case, f, f16, plain, raises

# ---- softmax cross entropy -----------------------------------------------------------------------

case(
    "tf.nn.softmax_cross_entropy_with_logits",
    "edge labels of any sum",
    lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(y, x),
    f(2, 3),
    f(2, 3),
    second=True,
)
case(
    "tf.nn.softmax_cross_entropy_with_logits",
    "edge first of three axes",
    lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(y, x, axis=0),
    f(3, 2, 4),
    f(3, 2, 4),
    second=True,
)
case(
    "tf.nn.softmax_cross_entropy_with_logits",
    "edge halves",
    lambda tf, y, x: tf.nn.softmax_cross_entropy_with_logits(y, x),
    f16(2, 5),
    f16(2, 5),
)


@plain("tf.nn.softmax_cross_entropy_with_logits", "edge mixed second derivatives")
def _(tf):
    x = tf.constant([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]])
    y = tf.constant([[0.2, 0.3, 0.5], [0.6, 0.2, 0.1]])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, y])
        with tf.GradientTape() as inner:
            inner.watch([x, y])
            loss = tf.nn.softmax_cross_entropy_with_logits(y, x) * [1.0, 3.0]
        of_x, of_y = inner.gradient(loss, [x, y])
    return [outer.gradient(of_x, x), outer.gradient(of_x, y), outer.gradient(of_y, x)]


# ---- connectionist temporal classification -------------------------------------------------------


def _ctc(tf, x, labels, counts, times, **options):
    labels = tf.constant(labels) if isinstance(labels, list) else labels
    return tf.nn.ctc_loss(labels, x, counts, times, **options)


for _what, _labels, _blank in (
    ("first", [[1, 0, 2], [2, 3, 1]], 0),
    ("in the middle", [[1, 2, 0], [2, 1, 1]], 1),
    ("last", [[3, 0, 2], [2, 3, 1]], -1),
    ("no blank in labels", [[1, 2, 0], [2, 3, 1]], None),
    ("out of range", [[1, 7, 2], [2, -1, 1]], 0),
):
    case(
        "tf.nn.ctc_loss",
        f"edge blank {_what}",
        lambda tf, x, labels=_labels, blank=_blank: _ctc(
            tf, x, labels, [2, 3], [6, 5], blank_index=blank
        ),
        f(6, 2, 4),
    )


@plain("tf.nn.ctc_loss", "edge lengths", rtol=1e-4)
def _(tf):
    x = tf.constant(np.sin(np.arange(48) * 1.3).reshape(6, 2, 4), tf.float32)
    labels = [[1, 2, 2], [2, 3, 1]]
    unique = tf.nn.ctc_unique_labels(tf.constant(labels))
    return [
        _ctc(tf, x, labels, [3, 3], [2, 6]),
        _ctc(tf, x, labels, [0, 3], [6, 0]),
        _ctc(tf, x, labels, [0, 0], [0, 0]),
        _ctc(tf, x, labels, [3, 2], [6, 6], unique=unique),
        _ctc(tf, tf.transpose(x, [1, 0, 2]), labels, [3, 2], [6, 6], logits_time_major=False),
        list(unique),
    ]


@plain("tf.nn.ctc_loss", "edge sparse labels", rtol=1e-5)
def _(tf):
    x = tf.constant(np.sin(np.arange(48) * 1.3).reshape(6, 2, 4), tf.float32)

    def loss(labels, blank):
        sparse = tf.sparse.from_dense(tf.constant(labels))
        return _ctc(tf, x, sparse, None, [6, 5], blank_index=blank)

    return [
        loss([[1, 3, 2], [2, 3, 1]], -1),
        loss([[2, 3, 2], [2, 1, 3]], 1),
        loss([[2, 3, 2], [2, 1, 0]], 0),
    ]


raises(
    "tf.nn.ctc_loss",
    "edge a sparse label that is the blank",
    "labels must be nonnegative integers",
    lambda tf: tf.nn.ctc_loss(
        tf.SparseTensor([[0, 0]], [0], [1, 1]), tf.zeros([2, 1, 3]), None, [2], blank_index=0
    ),
)


# ---- sign ----------------------------------------------------------------------------------------

case("tf.sign", "edge complex", lambda tf, x: tf.sign(x), c64(2, 3), second=True)
case("tf.sign", "edge complex of double width", lambda tf, x: tf.sign(x), c128(3))


@plain("tf.sign", "edge complex zero")
def _(tf):
    x = tf.constant([0j, 1j], tf.complex64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sign(x)
    return tape.gradient(y, x)
