"""tf.lite: models as .tflite files, and their interpreter."""

from __future__ import annotations

import tempfile

import numpy as np
from corpus import plain, raises

SMALL_WEIGHTS = 2e-3  # weights of eight bits, operands rounded as kernels run


def _numbers(*shape, seed=0, scale=0.3):
    return np.random.RandomState(seed).normal(0, scale, shape).astype(np.float32)


def _module(tf):
    class Network(tf.Module):
        def __init__(self):
            super().__init__()
            self.filters = tf.Variable(_numbers(3, 3, 2, 8))
            self.bias = tf.Variable(_numbers(8, seed=1))
            self.weights = tf.Variable(_numbers(128, 32, seed=2, scale=0.1))
            self.last = tf.Variable(_numbers(32, 3, seed=3))

        @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 2], tf.float32, name="pictures")])
        def __call__(self, pictures):
            y = tf.nn.conv2d(pictures, self.filters, 2, "SAME") + self.bias
            y = tf.reshape(tf.nn.relu(y), [-1, 128])
            y = tf.nn.relu6(y @ self.weights)
            return {"classes": tf.nn.softmax(y @ self.last)}

    return Network()


def _pictures(n=2):
    return _numbers(n, 8, 8, 2, seed=9, scale=1.0)


def _converter(tf):
    module = _module(tf)
    function = module.__call__.get_concrete_function()
    return tf.lite.TFLiteConverter.from_concrete_functions([function], module)


def _invoked(tf, data, pictures):
    interpreter = tf.lite.Interpreter(model_content=data)
    (taken,), (given,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.resize_tensor_input(taken["index"], pictures.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(taken["index"], pictures)
    interpreter.invoke()
    return interpreter.get_tensor(given["index"])


def _from_saved_model(tf, optimizations):
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(_module(tf), folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter.optimizations = optimizations
        data = converter.convert()
    return [_invoked(tf, data, _pictures()), data[4:8]]


@plain(("tf.lite.TFLiteConverter.from_concrete_functions", "tf.lite.Interpreter"), "a network")
def _(tf):
    return _invoked(tf, _converter(tf).convert(), _pictures())


@plain(("tf.lite.TFLiteConverter.from_saved_model", "tf.lite.Interpreter"), "a saved module")
def _(tf):
    return _from_saved_model(tf, [])


@plain(
    ("tf.lite.Optimize.DEFAULT", "tf.lite.Optimize", "tf.lite.TFLiteConverter.from_saved_model"),
    "large weights in eight bits",
    atol=SMALL_WEIGHTS,
)
def _(tf):
    return _from_saved_model(tf, [tf.lite.Optimize.DEFAULT])


@plain(("tf.lite.Optimize", "tf.lite.TargetSpec"), "weights in sixteen bits", atol=1e-5)
def _(tf):
    converter = _converter(tf)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = [tf.float16]
    data = converter.convert()
    names = [str(each) for each in tf.lite.Optimize]
    return [_invoked(tf, data, _pictures()), len(data) < 16000, names]


@plain("tf.lite.TFLiteConverter.from_keras_model", "a sequence of layers")
def _(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input([10, 10, 3], name="image"),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
            layers.MaxPooling2D(),
            layers.Dropout(0.5),
            layers.Flatten(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    model.set_weights(
        [
            np.abs(_numbers(*weight.shape, seed=i)) + 0.1 * (len(weight.shape) == 1)
            for i, weight in enumerate(model.weights)
        ]
    )
    x = _numbers(2, 10, 10, 3, seed=7)
    data = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    return [_invoked(tf, data, x), model(x)]


@plain(
    ("tf.lite.OpsSet", "tf.lite.OpsSet.SELECT_TF_OPS", "tf.lite.OpsSet.TFLITE_BUILTINS"),
    "a target with more than it needs",
)
def _(tf):
    sets = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter = _converter(tf)
    before = sorted(str(each) for each in converter.target_spec.supported_ops)
    converter.target_spec.supported_ops = sets
    return [before, [str(s) for s in sets], _invoked(tf, converter.convert(), _pictures(1))]


@plain("tf.lite.Interpreter", "tells what a model takes and gives")
def _(tf):
    data = _converter(tf).convert()
    interpreter = tf.lite.Interpreter(model_content=data, num_threads=1)
    interpreter.allocate_tensors()
    (taken,), (given,) = interpreter.get_input_details(), interpreter.get_output_details()
    runner = interpreter.get_signature_runner()
    result = runner(pictures=_pictures(3))
    return [
        sorted(taken),
        sorted(taken["quantization_parameters"]),
        taken["name"],
        [taken["shape"], taken["shape_signature"], given["shape"], given["shape_signature"]],
        [np.dtype(d["dtype"]).name for d in (taken, given)],
        list(taken["quantization"]),
        interpreter.get_signature_list(),
        sorted(runner.get_input_details()),
        result,
    ]


def _set_wrongly(tf, value):
    interpreter = tf.lite.Interpreter(model_content=_converter(tf).convert())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)


raises(
    "tf.lite.Interpreter",
    "an input of another shape",
    "Cannot set tensor: Dimension mismatch. Got 5 but expected 1 for dimension 0 of input 0.",
    lambda tf: _set_wrongly(tf, _pictures(5)),
)
raises(
    "tf.lite.Interpreter",
    "an input of another dtype",
    "Cannot set tensor: Got value of type FLOAT64 but expected type FLOAT32 for input 0",
    lambda tf: _set_wrongly(tf, _pictures(1).astype(np.float64)),
)
