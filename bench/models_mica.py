"""The cases in Mica: functions of trees of arrays under `mica.jit`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import mica
from cases import CONV, GELU, HEADS, ROWS, Case, Cnn, Gpt, Lstm, Mlp, ResNet, normal
from footprint import children
from values import step_values

PACKAGE, MODULE = "mica", "mica"
COMPILED = "jit"  # the idiom of first_compiled
LAYOUT = "N01C,01IO,N01C"

Array = Any
Params = dict[str, Any]
Model = Callable[[Params, Any, Any], tuple[Any, Params]]


def sync(result: Any) -> None:
    """Waits until the last of the results is there."""
    while isinstance(result, (tuple, list)):
        result = result[-1]
    if isinstance(result, mica.Tensor):
        result.wait()


def is_settled() -> bool:
    """Whether no compiler is at work: compiled code comes in while the first tier runs."""
    return len(list(children(os.getpid()))) == 1


# ---- layers --------------------------------------------------------------------------------------
def dense(p: Params, name: str, x: Array) -> Array:
    """X w + b."""
    return x @ p[f"{name}.w"] + p[f"{name}.b"]


def conv(x: Array, w: Array, stride: int = 1, pad: int = 0) -> Array:
    """A convolution of NHWC images, the same padding on all sides."""
    return mica.conv(
        x,
        w,
        layout=LAYOUT,
        strides=(stride, stride),
        low=(pad, pad),
        high=(pad, pad),
        lhs_dilation=(1, 1),
        rhs_dilation=(1, 1),
        groups=1,
        batch_groups=1,
    )


def layer_norm(x: Array, gain: Array, offset: Array) -> Array:
    """Normalized along the last axis."""
    centred = x - x.mean(-1, True)
    return centred * mica.rsqrt((centred * centred).mean(-1, True) + 1e-5) * gain + offset


def gelu(x: Array) -> Array:
    """The form with tanh."""
    return 0.5 * x * (1 + mica.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def dropout(x: Array, rate: float, key: Array) -> Array:
    """Some elements 0, the others larger."""
    return mica.where(mica.random.uniform(key, x.shape) >= rate, x * (1 / (1 - rate)), 0.0)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """The mean of -ln softmax at the labels."""
    return mica.nn.cross_entropy(logits, labels).mean()


# ---- models: (params, x, key) -> (logits, changed params) ----------------------------------------
def mlp(sizes: Mlp) -> Model:
    """Dense layers with relu."""
    last = len(sizes.widths) - 2

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        for i in range(last):
            x = mica.relu(dense(p, f"dense{i}", x))
        return dense(p, f"dense{last}", x), {}

    return forward


def cnn(sizes: Cnn) -> Model:
    """Two convolutions, pooling, two dense layers; dropout when there is a key."""

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        x = mica.relu(conv(x, p["conv0.w"]) + p["conv0.b"])
        x = mica.relu(conv(x, p["conv1.w"]) + p["conv1.b"])
        x = mica.max_pool(x, 2)
        if key is not None:
            keys = mica.random.split(key)
            x = dropout(x, 0.25, keys[0])
        x = mica.relu(dense(p, "dense0", x.reshape(x.shape[0], sizes.flat())))
        if key is not None:
            x = dropout(x, 0.5, keys[1])
        return dense(p, "dense1", x), {}

    return forward


def resnet(sizes: ResNet, training: bool) -> Model:
    """Residual blocks; in training the batch's statistics, which also update the running ones."""
    stem, blocks, _ = sizes.layers()

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        changed: Params = {}

        def layer(x: Array, spec: Any) -> Array:
            x = conv(x, p[f"{spec.name}.w"], spec.stride, spec.kernel // 2)
            mean, var = p[f"{spec.name}.mean"], p[f"{spec.name}.var"]
            if training:
                m = x.mean((0, 1, 2))
                centred = x - m
                v = (centred * centred).mean((0, 1, 2))
                changed[f"{spec.name}.mean"] = 0.9 * mean + 0.1 * m
                changed[f"{spec.name}.var"] = 0.9 * var + 0.1 * v
                mean, var = m, v
            factor = mica.rsqrt(var + 1e-5) * p[f"{spec.name}.gamma"]
            return (x - mean) * factor + p[f"{spec.name}.beta"]

        x = mica.relu(layer(x, stem))
        if sizes.big:
            x = mica.max_pool(x, 3, 2, [(1, 1), (1, 1)])
        for short, body in blocks:
            y = x
            for spec in body[:-1]:
                y = mica.relu(layer(y, spec))
            x = mica.relu(layer(y, body[-1]) + (layer(x, short) if short else x))
        return dense(p, "head", x.mean((1, 2))), changed

    return forward


def lstm(sizes: Lstm) -> Model:
    """The last output of an LSTM through a dense layer."""

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        _, (h, _) = mica.nn.lstm(x, p["input"], p["hidden"], p["bias"])
        return dense(p, "head", h), {}

    return forward


def gpt(sizes: Gpt) -> Model:
    """Causal attention and a pair of dense layers, four times."""
    width, heads = sizes.width, sizes.heads

    def attend(q: Array, k: Array, v: Array) -> Array:
        q, k, v = (
            t.reshape(t.shape[0], t.shape[1], heads, width // heads).transpose((0, 2, 1, 3))
            for t in (q, k, v)
        )
        y = mica.nn.attention(q, k, v, causal=True).transpose((0, 2, 1, 3))
        return y.reshape(y.shape[0], y.shape[1], width)

    def forward(p: Params, x: Array, key: Array) -> tuple[Array, Params]:
        h = mica.take(p["tok"], x, 0) + p["pos"]
        for i in range(sizes.layers):
            b = f"block{i}"
            z = dense(p, f"{b}.qkv", layer_norm(h, p[f"{b}.n1.w"], p[f"{b}.n1.b"]))
            parts = [z[:, :, k * width : (k + 1) * width] for k in range(3)]
            h = h + dense(p, f"{b}.out", attend(*parts))
            z = layer_norm(h, p[f"{b}.n2.w"], p[f"{b}.n2.b"])
            h = h + dense(p, f"{b}.down", gelu(dense(p, f"{b}.up", z)))
        return layer_norm(h, p["norm.w"], p["norm.b"]) @ p["head"], {}

    return forward


# ---- training ------------------------------------------------------------------------------------
def adam(rate: float, decay: float = 0.0) -> tuple[Callable, Callable]:
    """(state of a parameter, update): Adam, with decay AdamW."""

    def update(p: Array, g: Array, state: Any, t: Array) -> tuple[Array, Any]:
        m = 0.9 * state[0] + 0.1 * g
        v = 0.999 * state[1] + 0.001 * (g * g)
        step = rate * mica.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        p = p * (1 - rate * decay) if decay else p
        return p - step * m / (mica.sqrt(v) + 1e-8), (m, v)

    return lambda p: (mica.zeros_like(p), mica.zeros_like(p)), update


def sgd(rate: float, momentum: float) -> tuple[Callable, Callable]:
    """(state of a parameter, update): SGD with momentum."""

    def update(p: Array, g: Array, state: Any, t: Array) -> tuple[Array, Any]:
        m = momentum * state[0] + g
        return p - rate * m, (m,)

    return lambda p: (mica.zeros_like(p),), update


class Training:
    """A model, its state, and a step that is compiled."""

    def __init__(self, forward: Model, optimizer: tuple[Callable, Callable], sizes: Any) -> None:
        self.start, self.update = optimizer
        self.forward = forward
        self.weights = sizes.weights()
        self.x, self.y = map(mica.tensor, sizes.data())
        self.compiled = mica.jit(self.step, donate_argnums=0)

    def state(self) -> Params:
        """The first one."""
        params = {name: mica.tensor(w) for name, w in self.weights.items()}
        frozen = {n for n in params if n.endswith((".mean", ".var"))}
        return {
            "params": {n: p for n, p in params.items() if n not in frozen},
            "stats": {n: p for n, p in params.items() if n in frozen},
            "slots": {n: self.start(p) for n, p in params.items() if n not in frozen},
            "t": mica.tensor(0.0),
            "key": mica.random.key(0),
        }

    def loss(self, params: Params, stats: Params, x: Array, y: Array, key: Array) -> Any:
        """The loss, and the statistics after it; without a key there is no dropout."""
        logits, changed = self.forward({**params, **stats}, x, key)
        return cross_entropy(logits, y), {**stats, **changed}

    def apply(self, state: Params, gradients: Params) -> tuple[Params, Params, Array]:
        """Parameters, slots and count after the optimizer's step."""
        t, params, slots = state["t"] + 1, {}, {}
        for n, p in state["params"].items():
            params[n], slots[n] = self.update(p, gradients[n], state["slots"][n], t)
        return params, slots, t

    def step(self, state: Params, x: Array, y: Array) -> tuple[Params, Array]:
        """The next state, and the loss before it."""
        keys = mica.random.split(state["key"])
        both = mica.value_and_grad(self.loss, has_aux=True)
        (value, stats), gradients = both(state["params"], state["stats"], x, y, keys[1])
        params, slots, t = self.apply(state, gradients)
        return {"params": params, "stats": stats, "slots": slots, "t": t, "key": keys[0]}, value

    def first(self) -> dict[str, Any]:
        """The values to compare: of a first step without dropout."""

        def step(state: Params, x: Array, y: Array) -> Any:
            both = mica.value_and_grad(self.loss, has_aux=True)
            (value, _), gradients = both(state["params"], state["stats"], x, y, None)
            return value, gradients, self.apply(state, gradients)[0]

        value, gradients, after = mica.jit(step)(self.state(), self.x, self.y)
        arrays = [{n: t.numpy() for n, t in tree.items()} for tree in (gradients, after)]
        return step_values(value.numpy(), arrays[0], self.weights, arrays[1])

    def runner(self) -> Callable[[], Array]:
        """A function without arguments that makes one step and returns the loss before it."""
        state = self.state()

        def run() -> Array:
            nonlocal state
            state, value = self.compiled(state, self.x, self.y)
            return value

        return run


def _train(forward: Model, optimizer: tuple[Callable, Callable], sizes: Any) -> tuple:
    training = Training(forward, optimizer, sizes)
    return {"jit": training.runner()}, training.first


# ---- cases: name -> ({idiom: function or (function, calls)}, checked value) ----------------------
def _forward(function: Callable, *arguments: Any) -> tuple:
    arguments = tuple(map(mica.tensor, arguments))
    compiled = mica.jit(function)
    return {"jit": lambda: compiled(*arguments)}, lambda: compiled(*arguments).numpy()


def _add_loop(a: Array, n: int) -> Array:
    c = a
    for _ in range(n):
        c = a + a
    return c


def _chain() -> tuple:
    x0, a, b = (mica.tensor(normal(32)) for _ in range(3))

    def chain(x: Array) -> Array:
        for _ in range(5):
            x = mica.sin(mica.tanh(x)) * a + b
        return x.sum()

    gradient = mica.grad(chain)
    return {"eager": lambda: gradient(x0)}, lambda: gradient(x0).numpy()


def _conv_case(which: str) -> tuple:
    n, size, channels, kernel = CONV
    x, w = normal(n, size, size, channels), normal(kernel, kernel, channels, channels)

    def forward(x: Array, w: Array) -> Array:
        return conv(x, w, 1, kernel // 2)

    if which == "forward":
        return _forward(forward, x, w)
    if which == "input":
        return _forward(lambda c, w: mica.vjp(lambda v: forward(v, w), c)[1](c)[0], x, w)
    return _forward(lambda x, c: mica.vjp(lambda v: forward(x, v), mica.tensor(w))[1](c)[0], x, x)


def _infer(model: Model, sizes: Any) -> tuple:
    params = {name: mica.tensor(w) for name, w in sizes.weights().items()}
    x = mica.tensor(sizes.data()[0])
    run = mica.jit(lambda p, x: model(p, x, None)[0])
    return {"jit": lambda: run(params, x)}, lambda: run(params, x).numpy()


def prepare(case: Case) -> tuple[dict[str, Any], Callable]:
    """The idioms of a case, and a function that gives the value to compare."""
    name, sizes = case.name, case.sizes
    matrix = (ROWS, ROWS)
    if name.startswith(("tf_", "keras_")):
        import mica.tf as tf
        import tensorflow_cases

        return tensorflow_cases.prepare(tf, case)
    if name.startswith(("data_", "checkpoint_")):
        import mica.tf as tf
        import pipelines

        return pipelines.prepare(tf, case)
    if name == "eager_add":
        a = mica.tensor(normal(1))
        return {"eager": (lambda: _add_loop(a, 20000), 20000)}, lambda: (a + a).numpy()
    if name == "eager_chain_grad":
        return _chain()
    if name.startswith("matmul_"):
        n = int(name.removeprefix("matmul_"))
        return _forward(lambda a: a @ a, normal(n, n))
    if name.startswith("conv_"):
        return _conv_case(name.split("_")[1])
    if name == "layernorm":
        g = mica.tensor(normal(ROWS))
        return _forward(lambda x: layer_norm(x, g, g), normal(*matrix))
    forwards = {
        "gelu": (gelu, (GELU,)),
        "softmax": (mica.softmax, matrix),
        "reduce_rows": (lambda x: x.sum(1), matrix),
        "reduce_columns": (lambda x: x.sum(0), matrix),
        "reduce_all": (lambda x: x.sum(), matrix),
        "transpose": (lambda x: x.transpose((1, 0)), matrix),
        "transpose_heads": (lambda x: x.transpose((0, 2, 1, 3)), HEADS),
    }
    if name in forwards:
        function, shape = forwards[name]
        return _forward(function, normal(*shape))
    if name == "resnet50_infer":
        return _infer(resnet(sizes, False), sizes)
    if name == "mlp_infer":
        return _infer(mlp(sizes), sizes)
    if isinstance(sizes, Mlp):
        return _train(mlp(sizes), adam(1e-3), sizes)
    if isinstance(sizes, Cnn):
        return _train(cnn(sizes), adam(1e-3), sizes)
    if isinstance(sizes, ResNet):
        return _train(resnet(sizes, True), sgd(0.1, 0.9), sizes)
    if isinstance(sizes, Lstm):
        return _train(lstm(sizes), adam(1e-3), sizes)
    if isinstance(sizes, Gpt):
        return _train(gpt(sizes), adam(3e-4, 0.01), sizes)
    raise KeyError(name)
