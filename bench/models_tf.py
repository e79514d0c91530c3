"""The cases in TensorFlow: Keras layers and optimizers in a tf.function, with and without XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from cases import CONV, GELU, HEADS, ROWS, THREADS, Case, Cnn, Gpt, Lstm, Mlp, ResNet, normal
from keras import layers, ops

PACKAGE, MODULE = "tensorflow_cpu", "tensorflow"
COMPILED = "jit_compile"
tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(THREADS)


def sync(result: Any) -> None:
    """Reads one element of the last result."""
    if result is not None:
        tf.reshape(result, [-1])[0].numpy()


# ---- models --------------------------------------------------------------------------------------
def mlp(sizes: Mlp) -> keras.Model:
    """Dense layers with relu."""
    weights, count = sizes.weights(), len(sizes.widths) - 1
    model = keras.Sequential([keras.Input((sizes.widths[0],))])
    for i, width in enumerate(sizes.widths[1:]):
        model.add(layers.Dense(width, "relu" if i < count - 1 else None))
    model.set_weights([weights[f"dense{i}.{k}"] for i in range(count) for k in "wb"])
    return model


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
    for name in "conv0", "conv1", "dense0", "dense1":
        layer = [y for y in model.layers if y.weights][int(name[-1]) + 2 * name.startswith("dense")]
        layer.set_weights([weights[f"{name}.w"], weights[f"{name}.b"]])
    return model


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
    for name, conv, norm in made:
        conv.set_weights([weights[f"{name}.w"]])
        norm.set_weights([weights[f"{name}.{k}"] for k in ("gamma", "beta", "mean", "var")])
    head.set_weights([weights["head.w"], weights["head.b"]])
    return model


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
    model.set_weights([weights[k] for k in ("input", "hidden", "bias", "head.w", "head.b")])
    return model


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
    model.tok.set_weights([weights["tok"]])
    model.pos.set_weights([weights["pos"]])
    model.head.set_weights([weights["head"]])
    for i, block in enumerate(model.blocks):
        for part in "qkv", "out", "up", "down":
            pair = [weights[f"block{i}.{part}.{k}"] for k in "wb"]
            getattr(block, part).set_weights(pair)
    return model


# ---- training ------------------------------------------------------------------------------------
def _train(make: Callable, optimizer: Callable, sizes: Any) -> tuple:
    x, y = map(tf.constant, sizes.data())
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def way(jit: bool) -> Callable:
        model, opt = make(sizes), optimizer()
        variables = model.trainable_variables
        opt.build(variables)

        @tf.function(jit_compile=jit)
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            opt.apply(tape.gradient(value, variables), variables)
            return value

        return lambda: step(x, y)

    def check() -> float:
        # Training mode for the batch's statistics, but without dropout.
        return float(loss(y, make(sizes)(x, training=not isinstance(sizes, Cnn))))

    return {"graph": way(False), "jit_compile": way(True)}, check


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
    adam = lambda: keras.optimizers.Adam(1e-3)  # noqa: E731
    if isinstance(sizes, Mlp):
        return _train(mlp, adam, sizes)
    if isinstance(sizes, Cnn):
        return _train(cnn, adam, sizes)
    if isinstance(sizes, ResNet):
        return _train(resnet, lambda: keras.optimizers.SGD(0.1, 0.9), sizes)
    if isinstance(sizes, Lstm):
        return _train(lstm, adam, sizes)
    if isinstance(sizes, Gpt):
        return _train(gpt, lambda: keras.optimizers.AdamW(3e-4, weight_decay=0.01), sizes)
    raise KeyError(name)
