"""Pictures that are scaled and moved: what is asked of TensorFlow (make_tensorflow_scale.py) and of
Mica. This module needs numpy alone.
"""

import numpy as np

FILTERS = (
    *("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic"),
    "mitchellcubic",
)
# size of the result, scale, translation
PLACES = (
    ([3, 4], [0.5, 0.6], [0.0, 0.0]),
    ([9, 8], [1.7, 1.3], [0.4, -0.7]),
    ([6, 7], [1.0, 1.0], [2.5, -1.5]),
    ([5, 5], [0.3, 2.0], [1.0, -6.0]),
)


def cases() -> list[tuple]:
    """(filter, antialias, size, scale, translation)."""
    return [(f, a, *place) for f in FILTERS for a in (False, True) for place in PLACES]


def run(tf, case) -> list:
    """The picture, and the gradient of a sum of its pixels with weights."""
    kind, antialias, size, scale, translation = case
    random = np.random.RandomState(3)
    images = tf.constant(random.uniform(-1, 1, (1, 6, 7, 2)).astype(np.float32))
    options = {"kernel_type": kind, "antialias": antialias}
    places = {"scale": tf.constant(scale), "translation": tf.constant(translation)}
    made = tf.raw_ops.ScaleAndTranslate(images=images, size=size, **places, **options)
    weights = tf.constant(random.uniform(-1, 1, (1, *size, 2)).astype(np.float32))
    pulled = tf.raw_ops.ScaleAndTranslateGrad(
        grads=weights, original_image=images, **places, **options
    )
    return [made, pulled]
