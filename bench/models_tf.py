"""The cases in TensorFlow: Keras layers and optimizers in a tf.function, with and without XLA."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from cases import CONV, GELU, HEADS, ROWS, THREADS, Case, Cnn, Gpt, Lstm, Mlp, ResNet, normal
from keras_models import cnn, gpt, lstm, mlp, resnet
from values import step_values

PACKAGE, MODULE = "tensorflow_cpu", "tensorflow"
COMPILED = "jit_compile"
tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(int(os.environ.get("INTER_OP", THREADS)))


def sync(result: Any) -> None:
    """Reads one element of the last result."""
    if result is not None:
        tf.reshape(result, [-1])[0].numpy()


def is_settled() -> bool:
    """Everything is compiled when the first call returns."""
    return True


# ---- training ------------------------------------------------------------------------------------
def _train(make: Callable, optimizer: Callable, sizes: Any) -> tuple:
    x, y = map(tf.constant, sizes.data())
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def stepping(training: bool = True) -> tuple[keras.Model, Callable]:
        model, opt = make(sizes), optimizer()
        variables = model.trainable_variables
        opt.build(variables)

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=training))
            gradients = tape.gradient(value, variables)
            opt.apply(gradients, variables)
            return value, gradients

        return model, step

    def way(wrap: Callable) -> Callable:
        _, step = stepping()
        wrapped = wrap(lambda x, y: step(x, y)[0])
        return lambda: wrapped(x, y)

    def check() -> dict[str, np.ndarray]:
        # Training mode for the batch's statistics, but without dropout.
        model, step = stepping(training=not isinstance(sizes, Cnn))
        value, gradients = tf.function(step)(x, y)
        dense = [tf.convert_to_tensor(g).numpy() for g in gradients]
        after = [v.numpy() for v in model.trainable_variables]
        return step_values(
            value.numpy(),
            dict(zip(model.names, dense, strict=True)),
            sizes.weights(),
            dict(zip(model.names, after, strict=True)),
        )

    idioms = {
        "eager": way(lambda f: f),
        "graph": way(tf.function),
        "jit_compile": way(tf.function(jit_compile=True)),
    }
    return idioms, check


# ---- cases ---------------------------------------------------------------------------------------
def _ways(function: Callable, *arguments: Any) -> tuple:
    arguments = tuple(map(tf.constant, arguments))
    graph, jit = tf.function(function), tf.function(function, jit_compile=True)
    idioms = {
        "eager": lambda: function(*arguments),
        "graph": lambda: graph(*arguments),
        "jit_compile": lambda: jit(*arguments),
    }
    return idioms, lambda: idioms["eager"]().numpy()


def _add_loop(a: Any, n: int) -> Any:
    c = a
    for _ in range(n):
        c = a + a
    return c


def _chain() -> tuple:
    x0, a, b = (tf.constant(normal(32)) for _ in range(3))

    def gradient() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x0)
            x = x0
            for _ in range(5):
                x = tf.sin(tf.tanh(x)) * a + b
            y = tf.reduce_sum(x)
        return tape.gradient(y, x0)

    return {"eager": gradient}, lambda: gradient().numpy()


def _conv_case(which: str) -> tuple:
    n, size, channels, kernel = CONV
    x, w = normal(n, size, size, channels), normal(kernel, kernel, channels, channels)
    same = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    if which == "forward":
        return _ways(lambda x, w: tf.raw_ops.Conv2D(input=x, filter=w, **same), x, w)
    if which == "input":
        return _ways(
            lambda c, w: tf.raw_ops.Conv2DBackpropInput(
                input_sizes=x.shape, filter=w, out_backprop=c, **same
            ),
            x,
            w,
        )
    return _ways(
        lambda x, c: tf.raw_ops.Conv2DBackpropFilter(
            input=x, filter_sizes=w.shape, out_backprop=c, **same
        ),
        x,
        x,
    )


def _layer_norm(x: Any, g: Any) -> Any:
    mean, var = tf.nn.moments(x, -1, keepdims=True)
    return tf.nn.batch_normalization(x, mean, var, g, g, 1e-5)


def _infer(model: keras.Model, x: np.ndarray) -> tuple:
    idioms, _ = _ways(lambda x: model(x, training=False), x)
    del idioms["eager"]
    return idioms, lambda: idioms["graph"]().numpy()


def prepare(case: Case) -> tuple[dict[str, Any], Callable]:
    """The idioms of a case, and a function that gives the value to compare."""
    name, sizes = case.name, case.sizes
    matrix = (ROWS, ROWS)
    if name.startswith(("tf_", "keras_")):
        import tensorflow_cases

        return tensorflow_cases.prepare(tf, case)
    if name.startswith(("data_", "checkpoint_")):
        import pipelines

        return pipelines.prepare(tf, case)
    if name == "eager_add":
        a = tf.constant(normal(1))
        return {"eager": (lambda: _add_loop(a, 20000), 20000)}, lambda: (a + a).numpy()
    if name == "eager_chain_grad":
        return _chain()
    if name.startswith("matmul_"):
        n = int(name.removeprefix("matmul_"))
        return _ways(lambda a: tf.matmul(a, a), normal(n, n))
    if name.startswith("conv_"):
        return _conv_case(name.split("_")[1])
    if name == "layernorm":
        return _ways(_layer_norm, normal(*matrix), normal(ROWS))
    forwards = {
        "gelu": (lambda x: tf.nn.gelu(x, approximate=True), (GELU,)),
        "softmax": (tf.nn.softmax, matrix),
        "reduce_rows": (lambda x: tf.reduce_sum(x, 1), matrix),
        "reduce_columns": (lambda x: tf.reduce_sum(x, 0), matrix),
        "reduce_all": (tf.reduce_sum, matrix),
        "transpose": (tf.transpose, matrix),
        "transpose_heads": (lambda x: tf.transpose(x, (0, 2, 1, 3)), HEADS),
    }
    if name in forwards:
        function, shape = forwards[name]
        return _ways(function, normal(*shape))
    if name == "resnet50_infer":
        return _infer(resnet(sizes), sizes.data()[0])
    if name == "mlp_infer":
        return _infer(mlp(sizes), sizes.data()[0])
    adam = lambda: keras.optimizers.Adam(1e-3, epsilon=1e-8)  # noqa: E731
    if isinstance(sizes, Mlp):
        return _train(mlp, adam, sizes)
    if isinstance(sizes, Cnn):
        return _train(cnn, adam, sizes)
    if isinstance(sizes, ResNet):
        return _train(resnet, lambda: keras.optimizers.SGD(0.1, 0.9), sizes)
    if isinstance(sizes, Lstm):
        return _train(lstm, adam, sizes)
    if isinstance(sizes, Gpt):
        adamw = {"learning_rate": 3e-4, "weight_decay": 0.01, "epsilon": 1e-8}
        return _train(gpt, lambda: keras.optimizers.AdamW(**adamw), sizes)
    raise KeyError(name)
