"""Pictures seen through projective maps, glimpses, boxes at random, qualities of JPEG."""

from __future__ import annotations

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
