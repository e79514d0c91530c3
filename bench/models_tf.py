"""The cases in TensorFlow: Keras layers and optimizers in a tf.function, with and without XLA."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from cases import CONV, GELU, HEADS, ROWS, THREADS, Case, Cnn, Gpt, Lstm, Mlp, ResNet, normal
from keras import layers, ops
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


# ---- models --------------------------------------------------------------------------------------
def named(model: keras.Model, weights: Any, names: list[str]) -> keras.Model:
    """Gives the trainable variables their values, and keeps their canonical names."""
    for variable, name in zip(model.trainable_variables, names, strict=True):
        variable.assign(weights[name])
    model.names = names
    return model


def mlp(sizes: Mlp) -> keras.Model:
    """Dense layers with relu."""
    weights, count = sizes.weights(), len(sizes.widths) - 1
    model = keras.Sequential([keras.Input((sizes.widths[0],))])
    for i, width in enumerate(sizes.widths[1:]):
        model.add(layers.Dense(width, "relu" if i < count - 1 else None))
    return named(model, weights, [f"dense{i}.{k}" for i in range(count) for k in "wb"])


def cnn(sizes: Cnn) -> keras.Model:
    """The MNIST net."""
    weights, (c0, c1) = sizes.weights(), sizes.channels
    model = keras.Sequential(
        [
            keras.Input((sizes.size, sizes.size, 1)),
            layers.Conv2D(c0, 3, activation="relu"),
            layers.Conv2D(c1, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(sizes.hidden, "relu"),
            layers.Dropout(0.5),
            layers.Dense(sizes.classes),
        ]
    )
    parts = "conv0", "conv1", "dense0", "dense1"
    return named(model, weights, [f"{name}.{k}" for name in parts for k in "wb"])


def resnet(sizes: ResNet) -> keras.Model:
    """Residual blocks."""
    weights = sizes.weights()
    stem, blocks, _ = sizes.layers()
    made: list[tuple[str, Any, Any]] = []

    def layer(x: Any, spec: Any, act: bool) -> Any:
        padding = "same"
        if spec.kernel > 1 and spec.stride > 1:
            x, padding = layers.ZeroPadding2D(spec.kernel // 2)(x), "valid"
        conv = layers.Conv2D(spec.outputs, spec.kernel, spec.stride, padding, use_bias=False)
        norm = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)
        made.append((spec.name, conv, norm))
        x = norm(conv(x))
        return layers.ReLU()(x) if act else x

    inputs = keras.Input((sizes.size, sizes.size, 3))
    x = layer(inputs, stem, True)
    if sizes.big:
        x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
    for short, body in blocks:
        y = x
        for spec in body:
            y = layer(y, spec, spec is not body[-1])
        x = layers.ReLU()(y + (layer(x, short, False) if short else x))
    head = layers.Dense(sizes.classes)
    model = keras.Model(inputs, head(layers.GlobalAveragePooling2D()(x)))
    paths = {}
    for name, conv, norm in made:
        conv.set_weights([weights[f"{name}.w"]])
        norm.set_weights([weights[f"{name}.{k}"] for k in ("gamma", "beta", "mean", "var")])
        paths |= {conv.kernel.path: f"{name}.w"}
        paths |= {norm.gamma.path: f"{name}.gamma", norm.beta.path: f"{name}.beta"}
    paths |= {head.kernel.path: "head.w", head.bias.path: "head.b"}
    return named(model, weights, [paths[v.path] for v in model.trainable_variables])


def lstm(sizes: Lstm) -> keras.Model:
    """An LSTM and a dense layer."""
    weights = sizes.weights()
    model = keras.Sequential(
        [
            keras.Input((sizes.time, sizes.features)),
            layers.LSTM(sizes.hidden),
            layers.Dense(sizes.classes),
        ]
    )
    return named(model, weights, ["input", "hidden", "bias", "head.w", "head.b"])


class Block(layers.Layer):
    """Attention and a pair of dense layers."""

    def __init__(self, sizes: Gpt) -> None:
        super().__init__()
        n, self.heads = sizes.width, sizes.heads
        self.n1 = layers.LayerNormalization(epsilon=1e-5)
        self.n2 = layers.LayerNormalization(epsilon=1e-5)
        self.qkv, self.out = layers.Dense(3 * n), layers.Dense(n)
        self.up, self.down = layers.Dense(4 * n), layers.Dense(n)

    def call(self, x: Any) -> Any:
        """X with both added."""
        t, n = x.shape[1:]
        parts = ops.split(self.qkv(self.n1(x)), 3, -1)
        q, k, v = (ops.reshape(p, (-1, t, self.heads, n // self.heads)) for p in parts)
        a = ops.dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(ops.reshape(a, (-1, t, n)))
        return x + self.down(ops.gelu(self.up(self.n2(x)), approximate=True))


class GptModel(keras.Model):
    """Embeddings, blocks, a norm, the head."""

    def __init__(self, sizes: Gpt) -> None:
        super().__init__()
        self.sizes = sizes
        self.tok = layers.Embedding(sizes.vocabulary, sizes.width)
        self.pos = layers.Embedding(sizes.time, sizes.width)
        self.blocks = [Block(sizes) for _ in range(sizes.layers)]
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.head = layers.Dense(sizes.vocabulary, use_bias=False)

    def call(self, x: Any) -> Any:
        """Logits of every position."""
        x = self.tok(x) + self.pos(ops.arange(self.sizes.time))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(sizes: Gpt) -> keras.Model:
    """The decoder, with its weights."""
    weights, model = sizes.weights(), GptModel(sizes)
    model(sizes.data()[0])
    paths = {model.tok.embeddings.path: "tok", model.pos.embeddings.path: "pos"}
    paths |= {model.head.kernel.path: "head"}
    paths |= {model.norm.gamma.path: "norm.w", model.norm.beta.path: "norm.b"}
    for i, block in enumerate(model.blocks):
        for part in "qkv", "out", "up", "down":
            layer, name = getattr(block, part), f"block{i}.{part}"
            paths |= {layer.kernel.path: f"{name}.w", layer.bias.path: f"{name}.b"}
        for part in "n1", "n2":
            layer, name = getattr(block, part), f"block{i}.{part}"
            paths |= {layer.gamma.path: f"{name}.w", layer.beta.path: f"{name}.b"}
    return named(model, weights, [paths[v.path] for v in model.trainable_variables])


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
