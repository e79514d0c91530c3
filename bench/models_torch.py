"""The cases in PyTorch: modules, eager and under torch.compile, with fused optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cases import CONV, GELU, HEADS, ROWS, THREADS, Case, Cnn, Gpt, Lstm, Mlp, ResNet, normal
from torch import nn
from torch.nn import functional
from values import step_values

PACKAGE, MODULE = "torch", "torch"
COMPILED = "compile"
torch.set_num_threads(THREADS)


def sync(result: Any) -> None:
    """Everything is done when a call returns."""


def is_settled() -> bool:
    """Everything is compiled when the first call returns."""
    return True


# ---- weights -------------------------------------------------------------------------------------
def _same(array: np.ndarray) -> np.ndarray:
    return array


def _put(
    target: torch.Tensor, weights: Any, name: str, to: Callable = _same, back: Callable = _same
) -> None:
    """Gives a parameter its value: `to` of the canonical one, which `back` undoes."""
    with torch.no_grad():
        target.copy_(torch.from_numpy(np.ascontiguousarray(to(weights[name]))))
    target.canonical = (name, back)


def _transposed(array: np.ndarray) -> np.ndarray:
    return array.T


def _put_dense(layer: nn.Linear, weights: Any, name: str) -> None:
    _put(layer.weight, weights, f"{name}.w", _transposed, _transposed)
    _put(layer.bias, weights, f"{name}.b")


def _kernel(w: np.ndarray) -> np.ndarray:
    return w.transpose(3, 2, 0, 1)  # HWIO to OIHW


def _kernel_back(w: np.ndarray) -> np.ndarray:
    return w.transpose(2, 3, 1, 0)


def _put_norm(layer: nn.Module, weights: Any, names: tuple[str, str]) -> None:
    _put(layer.weight, weights, names[0])
    _put(layer.bias, weights, names[1])


def _canonical(values: dict[torch.Tensor, torch.Tensor]) -> dict[str, np.ndarray]:
    """Values of parameters in the canonical form, by its names."""
    named = {}
    for parameter, value in values.items():
        name, back = getattr(parameter, "canonical", (None, None))
        if name:
            named[name] = back(value.detach().numpy())
    return named


# ---- models --------------------------------------------------------------------------------------
def mlp(sizes: Mlp) -> nn.Module:
    """Dense layers with relu."""
    weights, layers = sizes.weights(), []
    for i, (a, b) in enumerate(zip(sizes.widths, sizes.widths[1:], strict=False)):
        layers += [nn.Linear(a, b), nn.ReLU()]
        _put_dense(layers[-2], weights, f"dense{i}")
    return nn.Sequential(*layers[:-1])


def cnn(sizes: Cnn) -> nn.Module:
    """The MNIST net."""
    weights, (c0, c1), side = sizes.weights(), sizes.channels, (sizes.size - 4) // 2
    conv0, conv1 = nn.Conv2d(1, c0, 3), nn.Conv2d(c0, c1, 3)
    dense0, dense1 = nn.Linear(sizes.flat(), sizes.hidden), nn.Linear(sizes.hidden, sizes.classes)
    for name, layer in ("conv0", conv0), ("conv1", conv1):
        _put(layer.weight, weights, f"{name}.w", _kernel, _kernel_back)
        _put(layer.bias, weights, f"{name}.b")

    def as_nchw(w: np.ndarray) -> np.ndarray:  # images are flattened with channels first
        w = w.reshape(side, side, c1, sizes.hidden).transpose(2, 0, 1, 3)
        return w.reshape(sizes.flat(), sizes.hidden).T

    def as_nhwc(w: np.ndarray) -> np.ndarray:
        w = w.T.reshape(c1, side, side, sizes.hidden).transpose(1, 2, 0, 3)
        return w.reshape(sizes.flat(), sizes.hidden)

    _put(dense0.weight, weights, "dense0.w", as_nchw, as_nhwc)
    _put(dense0.bias, weights, "dense0.b")
    _put_dense(dense1, weights, "dense1")
    return nn.Sequential(
        conv0, nn.ReLU(), conv1, nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
        dense0, nn.ReLU(), nn.Dropout(0.5), dense1,
    )  # fmt: skip


def resnet(sizes: ResNet) -> nn.Module:
    """Residual blocks."""
    weights = sizes.weights()
    stem, blocks, width = sizes.layers()

    def layer(spec: Any, act: bool) -> nn.Module:
        conv = nn.Conv2d(
            spec.inputs, spec.outputs, spec.kernel, spec.stride, spec.kernel // 2, bias=False
        )
        norm = nn.BatchNorm2d(spec.outputs)
        _put(conv.weight, weights, f"{spec.name}.w", _kernel, _kernel_back)
        _put_norm(norm, weights, (f"{spec.name}.gamma", f"{spec.name}.beta"))
        return nn.Sequential(conv, norm, *([nn.ReLU(True)] if act else []))

    class Block(nn.Module):
        def __init__(self, short: Any, body: list) -> None:
            super().__init__()
            self.short = layer(short, False) if short else nn.Identity()
            self.body = nn.Sequential(*(layer(s, s is not body[-1]) for s in body))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.body(x) + self.short(x)).relu()

    head = nn.Linear(width, sizes.classes)
    _put_dense(head, weights, "head")
    pool = [nn.MaxPool2d(3, 2, 1)] if sizes.big else []
    return nn.Sequential(
        layer(stem, True), *pool, *(Block(*b) for b in blocks), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), head,
    )  # fmt: skip


class LstmModel(nn.Module):
    """nn.LSTM and a dense layer."""

    def __init__(self, sizes: Lstm) -> None:
        super().__init__()
        weights = sizes.weights()
        self.lstm = nn.LSTM(sizes.features, sizes.hidden, batch_first=True)
        self.head = nn.Linear(sizes.hidden, sizes.classes)
        _put(self.lstm.weight_ih_l0, weights, "input", _transposed, _transposed)
        _put(self.lstm.weight_hh_l0, weights, "hidden", _transposed, _transposed)
        _put(self.lstm.bias_ih_l0, weights, "bias")
        nn.init.zeros_(self.lstm.bias_hh_l0)  # a second bias, which the others do not have
        self.lstm.bias_hh_l0.requires_grad_(False)
        _put_dense(self.head, weights, "head")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits from the last output."""
        return self.head(self.lstm(x)[0][:, -1])


class Block(nn.Module):
    """Attention and a pair of dense layers."""

    def __init__(self, sizes: Gpt, weights: Any, name: str) -> None:
        super().__init__()
        n, self.sizes = sizes.width, sizes
        self.n1, self.n2 = nn.LayerNorm(n), nn.LayerNorm(n)
        self.qkv, self.out = nn.Linear(n, 3 * n), nn.Linear(n, n)
        self.up, self.down = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)
        for part in "qkv", "out", "up", "down":
            _put_dense(getattr(self, part), weights, f"{name}.{part}")
        for part in "n1", "n2":
            _put_norm(getattr(self, part), weights, (f"{name}.{part}.w", f"{name}.{part}.b"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """X with both added."""
        b, t, n = x.shape
        parts = self.qkv(self.n1(x)).split(n, -1)
        q, k, v = (p.view(b, t, self.sizes.heads, -1).transpose(1, 2) for p in parts)
        a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, n))
        return x + self.down(functional.gelu(self.up(self.n2(x)), approximate="tanh"))


class GptModel(nn.Module):
    """Embeddings, blocks, a norm, the head."""

    def __init__(self, sizes: Gpt) -> None:
        super().__init__()
        weights = sizes.weights()
        self.tok = nn.Embedding(sizes.vocabulary, sizes.width)
        self.pos = nn.Embedding(sizes.time, sizes.width)
        self.blocks = nn.Sequential(
            *(Block(sizes, weights, f"block{i}") for i in range(sizes.layers))
        )
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, sizes.vocabulary, bias=False)
        _put(self.tok.weight, weights, "tok")
        _put(self.pos.weight, weights, "pos")
        _put_norm(self.norm, weights, ("norm.w", "norm.b"))
        _put(self.head.weight, weights, "head", _transposed, _transposed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of every position."""
        return self.head(self.norm(self.blocks(self.tok(x) + self.pos.weight)))


# ---- training ------------------------------------------------------------------------------------
def _loss(model: nn.Module) -> Callable:
    return lambda x, y: functional.cross_entropy(model(x).flatten(0, -2), y.flatten())


def _step(model: nn.Module, optimizer: Callable, x: Any, y: Any, compiled: bool) -> Callable:
    opt, loss = optimizer(model.parameters()), _loss(model)
    loss = torch.compile(loss) if compiled else loss

    def step() -> torch.Tensor:
        opt.zero_grad(set_to_none=True)
        value = loss(x, y)
        value.backward()
        opt.step()
        return value

    return step


def _adam(rate: float) -> Callable:
    return lambda p: torch.optim.Adam(p, lr=rate, fused=True)


def _layouts(make: Callable, x: torch.Tensor) -> dict[str, tuple[nn.Module, torch.Tensor]]:
    last = {"memory_format": torch.channels_last}
    return {" nchw": (make(), x), " channels_last": (make().to(**last), x.to(**last))}


def _train(make: Callable, optimizer: Callable, sizes: Any, images: bool = False) -> tuple:
    x, y = sizes.data()
    y = torch.from_numpy(y).long()
    x = torch.from_numpy(x)
    x = x.permute(0, 3, 1, 2).contiguous() if images else x.long() if x.dtype == torch.int32 else x
    idioms = {}
    for name in "eager", "compile":
        ways = _layouts(make, x) if images else {"": (make(), x)}
        for way, (model, data) in ways.items():
            idioms[name + way] = _step(model, optimizer, data, y, name == "compile")

    def first(dtype: torch.dtype) -> dict[str, np.ndarray]:
        model = make().train().to(dtype)
        for part in model.modules():
            if isinstance(part, nn.Dropout):
                part.eval()
        value = _step(model, optimizer, x.to(dtype) if x.is_floating_point() else x, y, False)()
        parameters = [p for p in model.parameters() if p.grad is not None]
        gradients = _canonical({p: p.grad for p in parameters})
        after = _canonical({p: p for p in parameters})
        return step_values(value.detach().numpy(), gradients, sizes.weights(), after)

    def check() -> dict[str, np.ndarray]:
        exact = first(torch.float64)
        return {**first(torch.float32), **{f"exact/{name}": v for name, v in exact.items()}}

    return idioms, check


# ---- cases ---------------------------------------------------------------------------------------
def _forward(
    function: Callable, *arguments: Any, compiled: bool = True, into: Callable | None = None
) -> tuple:
    arguments = tuple(map(torch.from_numpy, arguments))

    def way(f: Callable) -> Callable:
        def run() -> torch.Tensor:
            with torch.inference_mode():
                return f(*arguments)

        return run

    idioms = {"eager": way(function)}
    if compiled:
        idioms["compile"] = way(torch.compile(function))
    if into:  # results in memory that was used before, as Mica's are
        result = idioms["eager"]().clone()
        idioms["out"] = way(lambda *a: into(*a, result))
    return idioms, lambda: idioms["eager"]().numpy()


def _add_loop(a: torch.Tensor, n: int) -> torch.Tensor:
    c = a
    for _ in range(n):
        c = a + a
    return c


def _chain() -> tuple:
    a, b = torch.from_numpy(normal(32)), torch.from_numpy(normal(32))
    x0 = torch.from_numpy(normal(32)).requires_grad_()

    def gradient() -> torch.Tensor:
        x = x0
        for _ in range(5):
            x = torch.sin(torch.tanh(x)) * a + b
        return torch.autograd.grad(x.sum(), x0)[0]

    return {"eager": gradient}, lambda: gradient().numpy()


def _conv_case(which: str) -> tuple:
    n, size, channels, kernel = CONV
    x = torch.from_numpy(normal(n, size, size, channels)).permute(0, 3, 1, 2)
    w = torch.from_numpy(_kernel(normal(kernel, kernel, channels, channels)).copy())
    pad, ones = [kernel // 2] * 2, [1, 1]

    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            if which == "forward":
                return functional.conv2d(x, w, padding=pad)
            mask = [which == "input", which == "weight", False]
            found = torch.ops.aten.convolution_backward(
                x, x, w, None, ones, pad, ones, False, [0, 0], 1, mask
            )
            return found[0 if which == "input" else 1]

    def way(x: torch.Tensor, w: torch.Tensor) -> Callable:
        return lambda: run(x, w)

    wl = w.contiguous(memory_format=torch.channels_last)
    idioms = {"nchw": way(x.contiguous(), w), "channels_last": way(x, wl)}
    order = (2, 3, 1, 0) if which == "weight" else (0, 2, 3, 1)
    return idioms, lambda: idioms["nchw"]().permute(order).numpy()


def _infer(make: Callable, x: torch.Tensor, images: bool) -> tuple:
    import torch._inductor.config

    torch._inductor.config.freezing = True  # folds batch norm into the weights
    idioms = {}

    def way(f: Callable, data: torch.Tensor) -> Callable:
        def run() -> torch.Tensor:
            with torch.no_grad():
                return f(data)

        return run

    for name in "eager", "compile":
        ways = _layouts(make, x) if images else {"": (make(), x)}
        for layout, (model, data) in ways.items():
            model = model.eval()
            idioms[name + layout] = way(torch.compile(model) if name == "compile" else model, data)
    first = next(iter(idioms))
    return idioms, lambda: idioms[first]().numpy()


def prepare(case: Case) -> tuple[dict[str, Any], Callable]:
    """The idioms of a case, and a function that gives the value to compare."""
    name, sizes = case.name, case.sizes
    matrix = (ROWS, ROWS)
    if name.startswith("data_"):
        import pipelines

        return pipelines.prepare_torch(torch, case)
    if name in ("eager_add", "tf_add"):
        a = torch.from_numpy(normal(1 if name == "eager_add" else 4))
        return {"eager": (lambda: _add_loop(a, 20000), 20000)}, lambda: (a + a).numpy()
    if name == "eager_chain_grad":
        return _chain()
    if name.startswith("matmul_"):
        n = int(name.removeprefix("matmul_"))
        into = lambda a, out: torch.mm(a, a, out=out)  # noqa: E731
        return _forward(lambda a: a @ a, normal(n, n), compiled=False, into=into)
    if name.startswith("conv_"):
        return _conv_case(name.split("_")[1])
    if name == "layernorm":
        g = torch.from_numpy(normal(ROWS))
        moments = [torch.empty(ROWS, 1) for _ in range(2)]
        normalize = torch.ops.aten.native_layer_norm.out
        return _forward(
            lambda x: functional.layer_norm(x, (ROWS,), g, g),
            normal(*matrix),
            into=lambda x, out: normalize(
                x, (ROWS,), g, g, 1e-5, out0=out, out1=moments[0], out2=moments[1]
            )[0],
        )
    gelu = torch.ops.aten.gelu.out
    forwards = {
        "gelu": (
            lambda x: functional.gelu(x, approximate="tanh"),
            lambda x, out: gelu(x, approximate="tanh", out=out),
            (GELU,),
        ),
        "softmax": (
            lambda x: functional.softmax(x, -1),
            lambda x, out: torch.softmax(x, -1, out=out),
            matrix,
        ),
        "reduce_rows": (lambda x: x.sum(1), lambda x, out: torch.sum(x, 1, out=out), matrix),
        "reduce_columns": (lambda x: x.sum(0), lambda x, out: torch.sum(x, 0, out=out), matrix),
        "reduce_all": (lambda x: x.sum(), None, matrix),
        "transpose": (lambda x: x.t().contiguous(), lambda x, out: out.copy_(x.t()), matrix),
        "transpose_heads": (
            lambda x: x.transpose(1, 2).contiguous(),
            lambda x, out: out.copy_(x.transpose(1, 2)),
            HEADS,
        ),
    }
    if name in forwards:
        function, into, shape = forwards[name]
        return _forward(function, normal(*shape), into=into)
    if name == "resnet50_infer":
        x = torch.from_numpy(sizes.data()[0]).permute(0, 3, 1, 2).contiguous()
        return _infer(lambda: resnet(sizes), x, True)
    if name == "mlp_infer":
        return _infer(lambda: mlp(sizes), torch.from_numpy(sizes.data()[0]), False)
    if isinstance(sizes, Mlp):
        return _train(lambda: mlp(sizes), _adam(1e-3), sizes)
    if isinstance(sizes, Cnn):
        return _train(lambda: cnn(sizes), _adam(1e-3), sizes, True)
    if isinstance(sizes, ResNet):
        return _train(
            lambda: resnet(sizes),
            lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
            sizes,
            True,
        )
    if isinstance(sizes, Lstm):
        return _train(lambda: LstmModel(sizes), _adam(1e-3), sizes)
    if isinstance(sizes, Gpt):
        return _train(
            lambda: GptModel(sizes),
            lambda p: torch.optim.AdamW(p, lr=3e-4, weight_decay=0.01, fused=True),
            sizes,
        )
    raise KeyError(name)
