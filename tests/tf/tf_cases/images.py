"""Pictures seen through projective maps, glimpses, boxes at random, qualities of JPEG."""

from __future__ import annotations

import numpy as np
from corpus import case, f, f16, f64, i32, lit, plain, raises, u8

TURNED = lit([[0.9, -0.3, 1.2, 0.35, 0.8, -0.7, 0.02, -0.01]])
EACH = lit([[1.5, 0.2, -4.0, -0.3, 1.3, -3.0, 0, 0], [0.4, 0, 1, 0, -0.6, 5, 0.1, 0]])
OWN_GRADIENT = (
    "TensorFlow's gradient is the picture of the inverse maps, which is not that of its function"
)


def _projected(fill_mode, interpolation, size=(6, 7), fill_value=0.25):
    def function(tf, images, transforms):
        return tf.raw_ops.ImageProjectiveTransformV3(
            images=images,
            transforms=transforms,
            output_shape=list(size),
            fill_value=fill_value,
            interpolation=interpolation,
            fill_mode=fill_mode,
        )

    return function


for _mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
    for _interpolation in ("NEAREST", "BILINEAR"):
        case(
            "tf.raw_ops.ImageProjectiveTransformV3",
            f"{_mode} {_interpolation}",
            _projected(_mode, _interpolation),
            f(2, 4, 5, 3),
            TURNED,
            grad=OWN_GRADIENT,
        )
        case(
            "tf.raw_ops.ImageProjectiveTransformV3",
            f"{_mode} {_interpolation} each its own",
            _projected(_mode, _interpolation, (9, 8)),
            f(2, 3, 4, 1),
            EACH,
            grad=OWN_GRADIENT,
        )
for _draw in (f64, f16, u8, i32):
    case(
        "tf.raw_ops.ImageProjectiveTransformV3",
        f"{_draw.__name__}",
        _projected("REFLECT", "BILINEAR", fill_value=3.0),
        _draw(2, 4, 5, 3),
        TURNED,
        grad=OWN_GRADIENT,
        rtol=2e-3 if _draw is f16 else 1e-5,
        atol=1e-2 if _draw is f16 else 1e-6,
    )


@plain("tf.raw_ops.ImageProjectiveTransformV2", "")
def _projected_to_zeros(tf):
    images = tf.reshape(tf.range(24.0), [1, 4, 6, 1])
    return [
        tf.raw_ops.ImageProjectiveTransformV2(
            images=images, transforms=TURNED, output_shape=[3, 4], interpolation=interpolation
        )
        for interpolation in ("NEAREST", "BILINEAR")
    ] + [
        tf.raw_ops.ImageProjectiveTransformV3(
            images=images[:, :0],
            transforms=TURNED,
            output_shape=[2, 2],
            fill_value=2.0,
            interpolation="NEAREST",
        )
    ]


def _refused(**changed):
    arguments = {
        "transforms": TURNED,
        "output_shape": [2, 2],
        "fill_value": 0.0,
        "interpolation": "NEAREST",
        "fill_mode": "WRAP",
    } | changed

    def function(tf):
        return tf.raw_ops.ImageProjectiveTransformV3(images=tf.zeros([1, 2, 2, 1]), **arguments)

    return function


for _what, _words, _changed in (
    ("seven numbers", "num_images x 8 or 1 x 8", {"transforms": [[1.0] * 7]}),
    ("a vector", "num_images x 8 or 1 x 8", {"transforms": [1.0] * 8}),
    ("no rows", "must be positive", {"output_shape": [0, 3]}),
    ("three sizes", "must have two elements", {"output_shape": [1, 2, 3]}),
    ("two values", "must be a scalar", {"fill_value": [1.0, 2.0]}),
):
    raises("tf.raw_ops.ImageProjectiveTransformV3", _what, _words, _refused(**_changed))


raises(
    "tf.image.resize",
    "in an unknown way",
    "Resize method is not implemented: foo",
    lambda tf: tf.image.resize(tf.zeros([1, 2, 2, 1]), [3, 3], "foo"),
)


# ---- glimpses, windows, qualities --------------------------------------------------------------


@plain("tf.image.extract_glimpse", "")
def _glimpses(tf):
    images = tf.reshape(tf.range(40.0), [2, 4, 5, 1])
    found = [
        tf.image.extract_glimpse(images, [3, 3], offsets, centered, normalized, "zero")
        for offsets in ([[0.25, -0.5], [1.0, 2.0]], [[-0.9, 0.9], [5.0, -5.0]])
        for centered in (True, False)
        for normalized in (True, False)
    ]
    found.append(tf.image.extract_glimpse(images, [7, 8], [[0.0, 0.0]] * 2, noise="zero"))
    # Noise is like the pixels.
    for noise in ("uniform", "gaussian"):
        found.append(
            tf.image.extract_glimpse(images * 0 + 7, [6, 6], [[0.0, 0.0]] * 2, noise=noise)
        )
    function = tf.function(lambda x, size: tf.image.extract_glimpse(x, size, [[0.0, 0.0]]))
    spec = [tf.TensorSpec([1, None, None, 3]), tf.TensorSpec([2], tf.int32)]
    return [*found, function.get_concrete_function(*spec).outputs[0].shape]


raises(
    "tf.image.extract_glimpse",
    "an unknown noise",
    "uniform, gaussian, or zero",
    lambda tf: tf.image.extract_glimpse(tf.zeros([1, 2, 2, 1]), [1, 1], [[0.0, 0.0]], noise="x"),
)

BOXES = [[[0.1, 0.2, 0.5, 0.6], [0, 0, 1, 1]]]


@plain("tf.image.stateless_sample_distorted_bounding_box", "")
def _stateless_windows(tf):
    sample = tf.image.stateless_sample_distorted_bounding_box
    results = []
    for seed in ([1, 2], [3, 4], [5, 6], [7, 8]):
        results += sample([100, 200, 3], [BOXES[0][:1]], seed)
        results += sample([100, 200, 3], BOXES, seed, 0.3, [0.5, 2.0], [0.2, 0.6])
        results += sample(tf.constant([9, 7, 3], tf.uint8), BOXES, seed, 0.9, max_attempts=5)
        results += sample(
            [60, 80, 1], tf.zeros([1, 0, 4]), seed, use_image_if_no_bounding_boxes=True
        )
    return results


@plain("tf.image.sample_distorted_bounding_box", "")
def _windows(tf):
    tf.random.set_seed(5)
    results = []
    for _ in range(3):
        results += tf.image.sample_distorted_bounding_box([100, 200, 3], BOXES, seed=7)
    function = tf.function(lambda: tf.image.sample_distorted_bounding_box([90, 50, 3], BOXES, 9))
    results += [*function(), *function()]
    return results


for _what, _words, _arguments in (
    ("no boxes", "No bounding boxes", {"bounding_boxes": np.zeros([1, 0, 4], np.float32)}),
    ("a vector", "3-dimensional", {"bounding_boxes": [[0.0] * 4]}),
    ("beyond", "must be in [0.0, 1.0]", {"bounding_boxes": [[[0.1, 0.2, 0.5, 1.6]]]}),
    ("two sizes", "must contain 3 elements", {"image_size": [10, 20]}),
    ("no attempts", "Max attempts", {"max_attempts": 0}),
    ("one ratio", "must specify 2 dimensions", {"aspect_ratio_range": [1.0]}),
    ("areas", "must be non-negative", {"area_range": [-1.0, 0.5]}),
    ("covered", "object covered must be", {"min_object_covered": -1.0}),
):
    raises(
        "tf.image.sample_distorted_bounding_box",
        _what,
        _words,
        lambda tf, given=_arguments: tf.image.sample_distorted_bounding_box(
            **{"image_size": [10, 20, 3], "bounding_boxes": tf.zeros([1, 1, 4])} | given
        ),
    )


@plain(
    (
        "tf.image.adjust_jpeg_quality",
        "tf.image.random_jpeg_quality",
        "tf.image.stateless_random_jpeg_quality",
    ),
    "",
    atol=3,
)
def _qualities(tf):
    picture = tf.reshape(tf.range(5 * 7 * 3) * 37 % 251, [5, 7, 3])
    picture = tf.cast(picture, tf.uint8)
    floats = tf.image.convert_image_dtype(picture, tf.float32)
    tf.random.set_seed(3)
    found = [
        tf.image.adjust_jpeg_quality(picture, 50),
        tf.image.adjust_jpeg_quality(picture, tf.constant(20), dct_method="INTEGER_ACCURATE"),
        255 * tf.image.adjust_jpeg_quality(floats, 70),
        tf.image.stateless_random_jpeg_quality(picture, 10, 90, [1, 2]),
        tf.image.random_jpeg_quality(picture, 10, 90, seed=4),
    ]
    return [tf.cast(x, tf.float32) for x in found]


raises(
    "tf.image.random_jpeg_quality",
    "bounds the other way round",
    "must be less than",
    lambda tf: tf.image.random_jpeg_quality(tf.zeros([2, 2, 3], tf.uint8), 95, 75),
)
raises(
    "tf.image.stateless_random_jpeg_quality",
    "bounds beyond",
    "between 0 and 100",
    lambda tf: tf.image.stateless_random_jpeg_quality(tf.zeros([2, 2, 3]), 5, 175, [1, 2]),
)


for _norm in (None, "ortho"):
    for _window in (True, False):
        case(
            "tf.signal.inverse_mdct",
            f"norm {_norm}, {'a window' if _window else 'no window'}",
            lambda tf, x, norm=_norm, window=_window: (
                tf.signal.inverse_mdct(x, norm=norm)
                if window
                else tf.signal.inverse_mdct(x, None, norm)
            ),
            f(2, 3, 4),
            without=("unknown", "grad_unknown"),
            why="the half of a piece's length has to be known",
        )
