"""Functions that become .tflite files: written once, converted by TensorFlow and by mica.tf.

A case is (function of tf and tensors, shapes of the inputs). A size of None is left unknown and is
3 in the inputs. Inputs are drawn from a stream that the case's name chooses.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import numpy as np

UNKNOWN = 3


def _stream(name: str) -> np.random.RandomState:
    return np.random.RandomState(zlib.crc32(name.encode()))


def _weights(tf, name: str, *shape: int, scale: float = 0.5):
    return tf.constant(_stream(name).normal(0, scale, shape).astype(np.float32))


def _dense(tf, x):
    hidden = tf.nn.relu(x @ _weights(tf, "w", 40, 48, scale=0.2) + _weights(tf, "b", 48))
    return tf.nn.softmax(hidden @ _weights(tf, "v", 48, 5, scale=0.2))


def _convnet(tf, x):
    y = tf.nn.conv2d(x, _weights(tf, "c", 3, 3, 3, 8), 2, "SAME") + _weights(tf, "b", 8)
    y = tf.nn.relu6(y)
    y = tf.nn.depthwise_conv2d(y, _weights(tf, "d", 3, 3, 8, 2), [1, 1, 1, 1], "SAME")
    y = tf.nn.batch_normalization(
        y,
        _weights(tf, "mean", 16),
        tf.abs(_weights(tf, "variance", 16)) + 0.5,
        _weights(tf, "offset", 16),
        _weights(tf, "scale", 16),
        1e-3,
    )
    y = tf.nn.relu(y)
    y = tf.nn.max_pool2d(y, 2, 2, "VALID")
    y = tf.nn.conv2d(y, _weights(tf, "e", 1, 1, 16, 80), 1, "VALID")
    y = tf.nn.avg_pool2d(tf.nn.relu(y), 3, 1, "SAME")
    y = tf.reduce_mean(y, [1, 2])
    return tf.nn.softmax(y @ _weights(tf, "f", 80, 4))


def _transposed(tf, x):
    shape = tf.stack([tf.shape(x)[0], 10, 10, 3])
    filters = _weights(tf, "t", 3, 3, 3, 4)
    return tf.nn.conv2d_transpose(x, filters, shape, 2, "SAME") + _weights(tf, "b", 3)


def _attention(tf, x):
    q, k, v = (tf.einsum("btd,dhk->bthk", x, _weights(tf, n, 8, 2, 4)) for n in "qkv")
    scores = tf.nn.softmax(tf.einsum("bthk,bshk->bhts", q, k) * 0.5)
    y = tf.einsum("bhts,bshk->bthk", scores, v)
    return tf.einsum("bthk,hkd->btd", y, _weights(tf, "o", 2, 4, 8))


def _loop(tf, x):
    state = tf.zeros_like(x[:, 0])
    for t in tf.range(4):
        state = tf.tanh(state @ _weights(tf, "r", 6, 6) + x[:, t])
    return state


def _slices(tf, x):
    a, b = tf.split(x, 2, axis=2)
    c = tf.concat([a[:, 1:], b[:, :-1]], 2)[..., ::2]
    return tf.stack(tf.unstack(c, axis=1), axis=-1), x[:, -1], x[:, tf.newaxis, 0:2, 1]


def _shapes(tf, x):
    n = tf.shape(x)[0]
    y = tf.reshape(x, [n, -1])
    z = tf.tile(tf.expand_dims(y, 1), [1, 2, 1])
    return z, tf.fill([n, 2], 1.5), tf.transpose(x, [2, 0, 1]), tf.squeeze(x[:, :1], 1)


def _choices(tf, x):
    y = tf.where(x > 0, x, tf.zeros_like(x)) + tf.cast(x < -1, tf.float32)
    z = tf.logical_and(x >= 0.5, tf.logical_not(x <= 1)) | tf.equal(x, 0) | tf.not_equal(x, x)
    return y, tf.cast(z, tf.int32), tf.argmax(x, 1), tf.argmin(x, 1, output_type=tf.int32)


def _gathers(tf, x):
    table = _weights(tf, "table", 9, 4)
    rows = tf.gather(table, tf.constant([[1, 8], [0, 3]]))
    one_hot = tf.one_hot(tf.argmax(x, -1), 5, 2.0, -1.0)
    values, places = tf.math.top_k(x, 2)
    return rows + x[0, 0], one_hot, values, places, tf.gather(x, [2, 0], axis=1)


def _elements(tf, x):
    p = tf.abs(x) + 0.1
    return [
        tf.exp(x) + tf.math.log(p) - tf.sqrt(p) * tf.math.rsqrt(p),
        tf.sin(x) / p + tf.cos(x) + tf.square(x) - tf.negative(x),
        tf.floor(x) + tf.math.ceil(x) * tf.round(x) + tf.sign(x),
        tf.pow(p, 1.7) + tf.maximum(x, 0.3) - tf.minimum(x, -0.2),
        tf.math.floormod(x, 0.7) + tf.math.floordiv(x, 0.7),
        tf.math.squared_difference(x, 0.5) + tf.sigmoid(x) * tf.tanh(x),
    ]


def _activations(tf, x):
    f = tf.nn
    return [
        f.relu(x) + f.relu6(4 * x) + f.elu(x) + f.leaky_relu(x, 0.3),
        f.gelu(x, approximate=True) + f.silu(x),
        f.softplus(x) + f.softsign(x) + f.selu(x) + f.log_softmax(x),
        x * f.relu6(x + 3) / 6,
    ]


def _reductions(tf, x):
    return [
        tf.reduce_sum(x, 1),
        tf.reduce_mean(x, [0, 2], keepdims=True),
        tf.reduce_max(x, -1),
        tf.reduce_min(x, 0),
        tf.reduce_prod(x, 2),
        tf.cast(tf.reduce_any(x > 1, 1), tf.int32) + tf.cast(tf.reduce_all(x > -2, 1), tf.int32),
        tf.cumsum(x, 1, exclusive=True, reverse=True),
    ]


def _pads(tf, x):
    return [
        tf.pad(x, [[0, 0], [1, 2], [0, 1]]),
        tf.pad(x, [[0, 0], [1, 0], [2, 2]], constant_values=3.5),
        tf.pad(x, [[0, 0], [1, 1], [1, 0]], "REFLECT"),
        tf.reverse(x, [1]),
        tf.slice(x, [0, 1, 0], [-1, 2, 3]),
    ]


def _products(tf, x):
    return [
        tf.matmul(x, x, transpose_b=True),
        tf.matmul(x, _weights(tf, "m", 5, 7)) + _weights(tf, "n", 7),
        tf.einsum("bij->bj", x),
        tf.einsum("bij,ik->bkj", x, _weights(tf, "k", 4, 6)),
    ]


def _integers(tf, x):
    n = tf.cast(x * 4, tf.int32)
    return [n + 3, n * n - 2, n // 2, n % 3, tf.maximum(n, 1), tf.range(5), tf.abs(n)]


def _resized(tf, x):
    return tf.image.resize(x, [7, 9]), tf.image.resize(x, [3, 8], method="nearest")


CASES = {
    "dense": (_dense, [[None, 40]]),
    "convnet": (_convnet, [[None, 16, 16, 3]]),
    "transposed": (_transposed, [[None, 5, 5, 4]]),
    "attention": (_attention, [[None, 6, 8]]),
    "loop": (_loop, [[2, 4, 6]]),
    "slices": (_slices, [[None, 4, 6]]),
    "shapes": (_shapes, [[None, 4, 5]]),
    "choices": (_choices, [[None, 5]]),
    "gathers": (_gathers, [[2, 5]]),
    "elements": (_elements, [[3, 5]]),
    "activations": (_activations, [[3, 5]]),
    "reductions": (_reductions, [[2, 4, 5]]),
    "pads": (_pads, [[None, 4, 5]]),
    "products": (_products, [[None, 4, 5]]),
    "integers": (_integers, [[2, 3]]),
    "resized": (_resized, [[None, 5, 6, 2]]),
}


# What weights are kept in, beside float32 alone.
_ALL = ("float32", "float16", "int8")
WEIGHTS = {
    "dense": (*_ALL, "full"),
    "convnet": (*_ALL, "full"),
    "transposed": ("float32", "float16"),
    "attention": _ALL,
}
# The files that are stored.
KEPT = (
    "dense_int8",
    "convnet_float32",
    "convnet_float16",
    "convnet_int8",
    "convnet_full",
    "transposed_float32",
    "attention_float32",
    "loop_float32",
    "slices_float32",
    "choices_float32",
    "activations_float32",
    "reductions_float32",
    "resized_float32",
)
# Relative to the largest result, or to 1. With integers everywhere a step more or less on the way
# is no difference, and softmax makes a few of it.
TOLERANCES = {"float32": 1e-5, "float16": 1e-5, "int8": 1e-4, "full": 4 / 255}


def is_close(got: np.ndarray, wanted: np.ndarray, weights: str) -> bool:
    """Whether two results are the same, as far as weights of that kind allow."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    if got.dtype.kind != "f":
        return bool(np.array_equal(got, wanted))
    bound = TOLERANCES[weights] * max(1.0, float(np.max(np.abs(wanted), initial=0)))
    return bool(np.max(np.abs(got - wanted), initial=0) <= bound)


def inputs_of(name: str) -> list[np.ndarray]:
    """What a case is run with."""
    stream = _stream(name + "/inputs")
    shapes = CASES[name][1]
    return [
        stream.normal(0, 1.2, [UNKNOWN if n is None else n for n in s]).astype(np.float32)
        for s in shapes
    ]


def module_of(tf, name: str):
    """The case as a module with a method `call` of x, x1, ..."""
    function, shapes = CASES[name]
    specs = [tf.TensorSpec(s, tf.float32, name=f"x{i or ''}") for i, s in enumerate(shapes)]

    @tf.function(input_signature=specs)
    def case(*tensors):
        result = function(tf, *tensors)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        return {f"y{i}": each for i, each in enumerate(results)}

    module = tf.Module()
    module.call = case
    return module


def converted(tf, name: str, *, weights: str = "float32") -> bytes:
    """The file of a case; weights are float32, float16 or int8, or with `full` all is int8."""
    module = module_of(tf, name)
    functions = [module.call.get_concrete_function()]
    converter = tf.lite.TFLiteConverter.from_concrete_functions(functions, module)
    if weights != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if weights == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if weights == "full":
        arrays = inputs_of(name)
        converter.representative_dataset = lambda: (
            [array[i : i + 1] for array in arrays] for i in range(UNKNOWN)
        )
    return converter.convert()


def run(tf, data: bytes, name: str) -> dict[str, np.ndarray]:
    """The results of a file, by name; in TensorFlow of its own kernels, without delegates."""
    kernels = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = tf.lite.Interpreter(model_content=data, experimental_op_resolver_type=kernels)
    runner = interpreter.get_signature_runner()
    names = sorted(runner.get_input_details())
    return runner(**dict(zip(names, inputs_of(name), strict=True)))


def write_all(folder: str) -> None:
    """Convert every case with mica.tf; a file and its results each."""
    import mica.tf as tf

    for name in CASES:
        for weights in WEIGHTS.get(name, ("float32",)):
            data = converted(tf, name, weights=weights)
            path = Path(folder) / f"{name}_{weights}.tflite"
            path.write_bytes(data)
            np.savez(path.with_suffix(".npz"), **run(tf, data, name))


if __name__ == "__main__":
    write_all(sys.argv[1])
