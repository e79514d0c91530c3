"""The cases in JAX: functions of trees of arrays under jax.jit, the state donated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from cases import CONV, GELU, HEADS, ROWS, Case, Cnn, Gpt, Lstm, Mlp, ResNet, normal
from jax import lax
from values import step_values

PACKAGE, MODULE = "jax", "jax"
COMPILED = "jit"

Array = Any
Params = dict[str, Any]
Model = Callable[[Params, Any, Any], tuple[Any, Params]]


def sync(result: Any) -> None:
    """Waits for the results."""
    jax.block_until_ready(result)


def is_settled() -> bool:
    """Everything is compiled when the first call returns."""
    return True


# ---- layers --------------------------------------------------------------------------------------
def dense(p: Params, name: str, x: Array) -> Array:
    """X w + b."""
    return x @ p[f"{name}.w"] + p[f"{name}.b"]


def conv(x: Array, w: Array, stride: int = 1, pad: int = 0) -> Array:
    """A convolution of NHWC images."""
    return lax.conv_general_dilated(
        x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def pool(x: Array, size: int, stride: int, pad: int) -> Array:
    """The largest of windows."""
    pads = [(0, 0), (pad, pad), (pad, pad), (0, 0)]
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, pads)


def layer_norm(x: Array, gain: Array, offset: Array) -> Array:
    """Normalized along the last axis."""
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * gain + offset


def dropout(x: Array, rate: float, key: Array) -> Array:
    """Some elements 0, the others larger."""
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """The mean of -ln softmax at the labels."""
    logp = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, labels[..., None], -1).mean()


# ---- models --------------------------------------------------------------------------------------
def mlp(sizes: Mlp) -> Model:
    """Dense layers with relu."""
    last = len(sizes.widths) - 2

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        for i in range(last):
            x = jax.nn.relu(dense(p, f"dense{i}", x))
        return dense(p, f"dense{last}", x), {}

    return forward


def cnn(sizes: Cnn) -> Model:
    """The MNIST net; dropout when there is a key."""

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        x = jax.nn.relu(conv(x, p["conv0.w"]) + p["conv0.b"])
        x = jax.nn.relu(conv(x, p["conv1.w"]) + p["conv1.b"])
        x = pool(x, 2, 2, 0)
        if key is not None:
            first, second = jax.random.split(key)
            x = dropout(x, 0.25, first)
        x = jax.nn.relu(dense(p, "dense0", x.reshape(len(x), -1)))
        if key is not None:
            x = dropout(x, 0.5, second)
        return dense(p, "dense1", x), {}

    return forward


def resnet(sizes: ResNet, training: bool) -> Model:
    """Residual blocks."""
    stem, blocks, _ = sizes.layers()

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        changed: Params = {}

        def layer(x: Array, spec: Any) -> Array:
            x = conv(x, p[f"{spec.name}.w"], spec.stride, spec.kernel // 2)
            mean, var = p[f"{spec.name}.mean"], p[f"{spec.name}.var"]
            if training:
                m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
                changed[f"{spec.name}.mean"] = 0.9 * mean + 0.1 * m
                changed[f"{spec.name}.var"] = 0.9 * var + 0.1 * v
                mean, var = m, v
            factor = lax.rsqrt(var + 1e-5) * p[f"{spec.name}.gamma"]
            return (x - mean) * factor + p[f"{spec.name}.beta"]

        x = jax.nn.relu(layer(x, stem))
        if sizes.big:
            x = pool(x, 3, 2, 1)
        for short, body in blocks:
            y = x
            for spec in body[:-1]:
                y = jax.nn.relu(layer(y, spec))
            x = jax.nn.relu(layer(y, body[-1]) + (layer(x, short) if short else x))
        return dense(p, "head", x.mean((1, 2))), changed

    return forward


def lstm(sizes: Lstm) -> Model:
    """A scan over time; the products with the inputs come before it."""

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        projected = (x @ p["input"] + p["bias"]).swapaxes(0, 1)

        def step(carry: Any, z: Array) -> tuple[Any, None]:
            i, f, g, o = jnp.split(z + carry[0] @ p["hidden"], 4, -1)
            c = jax.nn.sigmoid(f) * carry[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zero = jnp.zeros((len(x), sizes.hidden))
        (h, _), _ = lax.scan(step, (zero, zero), projected)
        return dense(p, "head", h), {}

    return forward


def gpt(sizes: Gpt) -> Model:
    """Causal attention and a pair of dense layers."""

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        h = p["tok"][x] + p["pos"]
        for i in range(sizes.layers):
            b = f"block{i}"
            z = dense(p, f"{b}.qkv", layer_norm(h, p[f"{b}.n1.w"], p[f"{b}.n1.b"]))
            parts = (t.reshape(*x.shape, sizes.heads, -1) for t in jnp.split(z, 3, -1))
            a = jax.nn.dot_product_attention(*parts, is_causal=True).reshape(*x.shape, -1)
            h = h + dense(p, f"{b}.out", a)
            z = layer_norm(h, p[f"{b}.n2.w"], p[f"{b}.n2.b"])
            z = jax.nn.gelu(dense(p, f"{b}.up", z), approximate=True)
            h = h + dense(p, f"{b}.down", z)
        return layer_norm(h, p["norm.w"], p["norm.b"]) @ p["head"], {}

    return forward


# ---- training ------------------------------------------------------------------------------------
def _update(optimizer: str, rate: float, state: Any, g: Params) -> tuple:
    tree = jax.tree.map
    params, m, v, t = state
    t = t + 1
    if optimizer == "sgd":
        m = tree(lambda m, g: 0.9 * m + g, m, g)
        return tree(lambda p, m: p - rate * m, params, m), m, v, t
    decay = 0.01 * rate if optimizer == "adamw" else 0.0
    scale = rate * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    after = tree(lambda p, m, v: p - decay * p - scale * m / (jnp.sqrt(v) + 1e-8), params, m, v)
    return after, m, v, t


def _train(forward: Model, optimizer: str, rate: float, sizes: Any) -> tuple:
    weights = sizes.weights()
    x, y = map(jnp.asarray, sizes.data())

    def first_state() -> tuple:
        arrays = {n: jnp.asarray(w) for n, w in weights.items()}
        stats = {n: w for n, w in arrays.items() if n.endswith((".mean", ".var"))}
        params = {n: w for n, w in arrays.items() if n not in stats}
        slots = [jax.tree.map(jnp.zeros_like, params) for _ in range(2)]
        return (params, slots[0], slots[1] if optimizer != "sgd" else None, jnp.float32(0)), stats

    def loss(params: Params, stats: Params, x: Array, y: Array, key: Array) -> Any:
        logits, changed = forward({**params, **stats}, x, key)
        return cross_entropy(logits, y), {**stats, **changed}

    both = jax.value_and_grad(loss, has_aux=True)

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state: Any, x: Array, y: Array) -> Any:
        trained, stats, key = state
        key, sub = jax.random.split(key)
        (value, stats), g = both(trained[0], stats, x, y, sub)
        return (_update(optimizer, rate, trained, g), stats, key), value

    state = (*first_state(), jax.random.key(0))

    def run() -> Array:
        nonlocal state
        state, value = step(state, x, y)
        return value

    def check() -> dict[str, Any]:
        @jax.jit
        def first(trained: Any, stats: Params, x: Array, y: Array) -> Any:
            (value, _), g = both(trained[0], stats, x, y, None)
            return value, g, _update(optimizer, rate, trained, g)[0]

        value, gradients, after = first(*first_state(), x, y)
        return step_values(value, gradients, weights, after)

    return {"jit": run}, check


# ---- cases ---------------------------------------------------------------------------------------
def _forward(function: Callable, *arguments: Any) -> tuple:
    """Also with the last result donated: JAX's way to write into memory that was used before."""
    arguments = tuple(map(jnp.asarray, arguments))
    compiled = jax.jit(function)
    again = jax.jit(lambda last, *a: function(*a), donate_argnums=0, keep_unused=True)
    last = None

    def donated() -> Array:
        nonlocal last
        last = again(compiled(*arguments) if last is None else last, *arguments)
        return last

    return {"jit": lambda: compiled(*arguments), "jit donated": donated}, lambda: compiled(
        *arguments
    )


def _add_loop(a: Array, n: int) -> Array:
    c = a
    for _ in range(n):
        c = a + a
    return c


def _chain() -> tuple:
    x0, a, b = (jnp.asarray(normal(32)) for _ in range(3))

    def chain(x: Array) -> Array:
        for _ in range(5):
            x = jnp.sin(jnp.tanh(x)) * a + b
        return x.sum()

    gradient = jax.grad(chain)
    return {"eager": lambda: gradient(x0)}, lambda: gradient(x0)


def _conv_case(which: str) -> tuple:
    n, size, channels, kernel = CONV
    x, w = normal(n, size, size, channels), normal(kernel, kernel, channels, channels)

    def forward(x: Array, w: Array) -> Array:
        return conv(x, w, 1, kernel // 2)

    if which == "forward":
        return _forward(forward, x, w)
    if which == "input":
        return _forward(lambda c, w: jax.vjp(lambda v: forward(v, w), c)[1](c)[0], x, w)
    return _forward(lambda x, c: jax.vjp(lambda v: forward(x, v), jnp.asarray(w))[1](c)[0], x, x)


def _infer(model: Model, sizes: Any) -> tuple:
    params = {n: jnp.asarray(w) for n, w in sizes.weights().items()}
    x = jnp.asarray(sizes.data()[0])
    run = jax.jit(lambda p, x: model(p, x, None)[0])
    return {"jit": lambda: run(params, x)}, lambda: run(params, x)


def prepare(case: Case) -> tuple[dict[str, Any], Callable]:
    """The idioms of a case, and a function that gives the value to compare."""
    name, sizes = case.name, case.sizes
    matrix = (ROWS, ROWS)
    if name == "eager_add":
        a = jnp.asarray(normal(1))
        return {"eager": (lambda: _add_loop(a, 20000), 20000)}, lambda: a + a
    if name == "eager_chain_grad":
        return _chain()
    if name.startswith("matmul_"):
        n = int(name.removeprefix("matmul_"))
        return _forward(lambda a: a @ a, normal(n, n))
    if name.startswith("conv_"):
        return _conv_case(name.split("_")[1])
    if name == "layernorm":
        g = jnp.asarray(normal(ROWS))
        return _forward(lambda x: layer_norm(x, g, g), normal(*matrix))
    forwards = {
        "gelu": (lambda x: jax.nn.gelu(x, approximate=True), (GELU,)),
        "softmax": (jax.nn.softmax, matrix),
        "reduce_rows": (lambda x: x.sum(1), matrix),
        "reduce_columns": (lambda x: x.sum(0), matrix),
        "reduce_all": (lambda x: x.sum(), matrix),
        "transpose": (lambda x: x.T, matrix),
        "transpose_heads": (lambda x: x.swapaxes(1, 2), HEADS),
    }
    if name in forwards:
        function, shape = forwards[name]
        return _forward(function, normal(*shape))
    if name == "resnet50_infer":
        return _infer(resnet(sizes, False), sizes)
    if name == "mlp_infer":
        return _infer(mlp(sizes), sizes)
    if isinstance(sizes, Mlp):
        return _train(mlp(sizes), "adam", 1e-3, sizes)
    if isinstance(sizes, Cnn):
        return _train(cnn(sizes), "adam", 1e-3, sizes)
    if isinstance(sizes, ResNet):
        return _train(resnet(sizes, True), "sgd", 0.1, sizes)
    if isinstance(sizes, Lstm):
        return _train(lstm(sizes), "adam", 1e-3, sizes)
    if isinstance(sizes, Gpt):
        return _train(gpt(sizes), "adamw", 3e-4, sizes)
    raise KeyError(name)
