"""Models of keras.applications without weights of others, and what prepares their inputs."""

import numpy as np
from corpus import plain
from keras_numbers import numbers, set_weights

A = "tf.keras.applications"


@plain((f"{A}.MobileNet", f"{A}.MobileNetV2"), "small ones with fixed weights", rtol=2e-3)
def _(tf):
    applications = tf.keras.applications
    x = numbers(1, 32, 32, 3)
    found = []
    for model in (
        applications.MobileNet((32, 32, 3), alpha=0.25, weights=None, classes=5),
        applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None, include_top=False),
    ):
        set_weights(model)
        y = model(x, training=False)
        found.append([model.count_params(), len(model.layers), y.shape, tf.reduce_mean(y)])
    return found


@plain((f"{A}.VGG19", f"{A}.EfficientNetB0"), "shapes and numbers of weights")
def _(tf):
    applications = tf.keras.applications
    return [
        [model.count_params(), len(model.layers), str(model.output_shape)]
        for model in (
            applications.VGG19(False, None, input_shape=(32, 32, 3)),
            applications.EfficientNetB0(True, None, classes=3, input_shape=(32, 32, 3)),
        )
    ]


@plain(
    tuple(
        f"{A}.{name}.preprocess_input"
        for name in "mobilenet mobilenet_v2 inception_v3 vgg19".split()
    ),
    "pixels made ready",
)
def _(tf):
    applications = tf.keras.applications
    pixels = (np.arange(24) * 10.0).astype(np.float32).reshape(1, 2, 4, 3)
    return [
        module.preprocess_input(kind(pixels))
        for module in (
            applications.mobilenet,
            applications.mobilenet_v2,
            applications.inception_v3,
            applications.vgg19,
        )
        for kind in (np.copy, tf.constant)
    ]
