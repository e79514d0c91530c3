"""Pictures: boxes, colours, similarity, changes at random; functions of matrices made of others."""

from __future__ import annotations

import numpy as np
from corpus import case, f, lit, plain, pos, raises

BOXES = lit(
    [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0], [0.0, 2.05, 1.0, 3.0]]
)
SCORES = lit([0.9, 0.75, 0.6, 0.95])
WINDOWS = lit([[0.1, 0.1, 0.6, 0.7], [0.0, 0.0, 1.0, 1.0], [0.4, 0.2, 1.3, 0.9]])

case(
    "tf.image.crop_and_resize",
    "bilinear",
    lambda tf, x, boxes: tf.image.crop_and_resize(
        x, boxes, [0, 1, 0], [3, 2], extrapolation_value=-1.0
    ),
    pos(2, 5, 4, 2),
    WINDOWS,
)
case(
    "tf.image.crop_and_resize",
    "nearest and one row",
    lambda tf, x: [
        tf.image.crop_and_resize(x, WINDOWS, [0, 1, 0], [3, 3], method="nearest"),
        tf.image.crop_and_resize(x, WINDOWS, [0, 1, 0], [1, 2]),
    ],
    pos(2, 5, 4, 1),
)
case(
    "tf.image.non_max_suppression",
    "",
    lambda tf, boxes, scores: [
        tf.image.non_max_suppression(boxes, scores, 3),
        tf.image.non_max_suppression(boxes, scores, 1, 0.9),
        tf.image.non_max_suppression(boxes, scores, 4, 0.5, score_threshold=0.92),
        tf.image.non_max_suppression(boxes, scores, 0),
    ],
    BOXES,
    SCORES,
)
case(
    "tf.image.non_max_suppression_with_scores",
    "soft",
    lambda tf, boxes, scores: tf.image.non_max_suppression_with_scores(
        boxes, scores, 4, 0.5, score_threshold=0.1, soft_nms_sigma=0.5
    ),
    BOXES,
    SCORES,
    grad="TensorFlow has no gradient of it",
)
case(
    "tf.image.non_max_suppression_padded",
    "",
    lambda tf, boxes, scores: tf.image.non_max_suppression_padded(
        boxes, scores, 4, 0.5, pad_to_max_output_size=True
    ),
    BOXES,
    SCORES,
)
case(
    "tf.image.non_max_suppression_overlaps",
    "",
    lambda tf, scores: tf.image.non_max_suppression_overlaps(
        tf.constant([[1.0, 0.9, 0, 0], [0.9, 1, 0, 0], [0, 0, 1, 0.2], [0, 0, 0.2, 1]]),
        scores,
        4,
        0.5,
    ),
    SCORES,
)
case(
    "tf.image.combined_non_max_suppression",
    "",
    lambda tf, boxes, scores: [
        tf.image.combined_non_max_suppression(boxes, scores, 3, 4, 0.5, 0.3),
        tf.image.combined_non_max_suppression(
            boxes, scores, 2, 9, 0.5, pad_per_class=True, clip_boxes=False
        ),
    ],
    BOXES.reshape(1, 4, 1, 4),
    lit([[[0.9, 0.2], [0.75, 0.4], [0.6, 0.45], [0.95, 0.1]]]),
    grad="TensorFlow has no gradient of it",
)
case(
    "tf.image.draw_bounding_boxes",
    "",
    lambda tf, x: [
        tf.image.draw_bounding_boxes(
            x, [[[0.1, 0.1, 0.8, 0.8], [0.3, -0.2, 1.4, 0.6]]], [[1.0, 0.5, 0.0], [0.0, 0.0, 2.0]]
        ),
        tf.image.draw_bounding_boxes(x, [[[0.0, 0.0, 1.0, 1.0]] * 3], None),
    ],
    pos(1, 6, 5, 3),
    grad="TensorFlow has no gradient of it",
    without="unknown",
    why="the number of channels has to be known",
)
case("tf.image.rgb_to_yiq", "", lambda tf, x: tf.image.rgb_to_yiq(x), pos(2, 2, 3))
case("tf.image.yiq_to_rgb", "", lambda tf, x: tf.image.yiq_to_rgb(x), pos(2, 2, 3))
case("tf.image.yuv_to_rgb", "", lambda tf, x: tf.image.yuv_to_rgb(x), pos(2, 2, 3))
case(
    "tf.image.ssim",
    "",
    lambda tf, x, y: tf.image.ssim(x, y, 3.0, filter_size=5),
    pos(1, 8, 8, 2),
    pos(1, 8, 8, 2),
    rtol=1e-4,
)


@plain("tf.image.ssim_multiscale", "", rtol=1e-4)
def _(tf):
    x = tf.random.stateless_uniform([1, 90, 99, 1], [1, 2])
    return tf.image.ssim_multiscale(x, x * 0.9, 1.0, filter_size=5)


@plain(
    (
        "tf.image.random_saturation",
        "tf.image.random_hue",
        "tf.image.stateless_random_saturation",
        "tf.image.stateless_random_hue",
    ),
    "numbers",
)
def _(tf):
    x = tf.random.stateless_uniform([3, 3, 3], [1, 2])
    tf.random.set_seed(5)
    return [
        tf.image.random_saturation(x, 0.5, 2.0, seed=1),
        tf.image.random_hue(x, 0.2, seed=1),
        tf.image.stateless_random_saturation(x, 0.5, 1.0, (1, 2)),
        tf.image.stateless_random_hue(x, 0.2, (1, 2)),
    ]


@plain("tf.random.uniform", "between tensors")
def _(tf):
    tf.random.set_seed(3)

    @tf.function
    def draw(low):
        return tf.random.uniform([3], low, low + 1.0, seed=4)

    return [draw(tf.constant(2.0)), tf.random.uniform([2], tf.constant(1.0), 3.0, seed=5)]


case("tf.linalg.expm", "", lambda tf, x: tf.linalg.expm(x), f(2, 3, 3), rtol=1e-4)
case(
    "tf.linalg.expm",
    "large",
    lambda tf, x: tf.linalg.expm(20.0 * x),
    lit([[0.0, -1.0], [1.0, 0.0]], "float64"),
    rtol=1e-7,
)
_MATRIX = lit([[[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [0.0, 1.0, 5.0]]])
case(
    ("tf.linalg.lu_solve", "tf.linalg.lu_reconstruct", "tf.linalg.lu_matrix_inverse"),
    "of lu",
    lambda tf, x: [
        tf.linalg.lu_solve(*tf.linalg.lu(x), tf.ones([1, 3, 2])),
        tf.linalg.lu_reconstruct(*tf.linalg.lu(x)),
        tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x)),
    ],
    _MATRIX,
    grad="TensorFlow has no gradient of it",
    without="unknown",
    why="TensorFlow needs the rank",
)
_BANDS = lit([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0], [0.0, 1.0, 2.0]])
case(
    ("tf.linalg.tridiagonal_solve", "tf.linalg.tridiagonal_matmul"),
    "bands",
    lambda tf, d, y: [tf.linalg.tridiagonal_solve(d, y), tf.linalg.tridiagonal_matmul(d, y)],
    _BANDS,
    f(3, 2),
)
case(
    "tf.linalg.tridiagonal_solve",
    "vector and sequence",
    lambda tf, d: [
        tf.linalg.tridiagonal_solve(d, tf.constant([1.0, 2.0, 3.0])),
        tf.linalg.tridiagonal_solve(
            (d[0, :2], d[1], d[2, 1:]), tf.ones([3]), diagonals_format="sequence"
        ),
    ],
    _BANDS,
    without=("unknown", "grad_unknown"),
    why="the sizes of a sequence have to be known",
)
case(
    "tf.linalg.banded_triangular_solve",
    "",
    lambda tf, d: [
        tf.linalg.banded_triangular_solve(d[1:], tf.ones([3, 1])),
        tf.linalg.banded_triangular_solve(d[:2], tf.ones([3, 1]), lower=False),
    ],
    _BANDS,
    without=("unknown", "grad_unknown"),
    why="the number of diagonals has to be known",
)
case(
    "tf.linalg.eigh_tridiagonal",
    "",
    lambda tf, x: tf.linalg.eigh_tridiagonal(x, tf.constant([0.5, 0.2])),
    lit([1.0, 2.0, 3.0]),
    grad="TensorFlow differentiates its bisection, not the eigenvalues",
    without="unknown",
    why="TensorFlow needs the sizes",
)
raises(
    "tf.image.random_hue",
    "too far",
    "max_delta",
    lambda tf: tf.image.random_hue(np.ones([2, 2, 3], "float32"), 0.7),
)
