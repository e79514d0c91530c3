"""The models of the cases as Keras layers, for every backend of Keras, with the cases' weights."""

from __future__ import annotations

from typing import Any

import keras
from cases import Cnn, Gpt, Lstm, Mlp, ResNet
from keras import layers, ops


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
