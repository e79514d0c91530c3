"""Activations, arithmetic, reductions, shapes, products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from nn_oracle import TensorFlow

if TYPE_CHECKING:
    from nn_oracle import Maker


def _y(f):
    """A function of one result called y."""
    return lambda **operands: {"y": f(**operands)}


ACTIVATIONS = {
    "none": (0, (1, 1, 1), lambda x: x * 1),
    "relu": (1, (0, 1, 1), F.relu),
    "leaky_relu": (1, (0.25, 1, 1), lambda x: F.leaky_relu(x, 0.25)),
    "linear": (2, (1.5, -0.25, 1), lambda x: 1.5 * x - 0.25),
    "sigmoid": (3, (1, 1, 1), torch.sigmoid),
    "hard_sigmoid": (4, (0.2, 0.5, 1), lambda x: torch.clamp(0.2 * x + 0.5, 0, 1)),
    "tanh": (5, (1.5, 0.75, 1), lambda x: 1.5 * torch.tanh(0.75 * x)),
    "absolute": (6, (1, 1, 1), torch.abs),
    "soft_plus": (7, (0.5, 2, 1), lambda x: F.softplus(x, 2, 40)),
    "soft_sign": (8, (1, 1, 1), F.softsign),
    "elu": (9, (1.5, 1, 1), lambda x: F.elu(x, 1.5)),
    "relu_n": (10, (0.125, 1.25, 1), lambda x: torch.clamp(F.leaky_relu(x, 0.125), max=1.25)),
    "relu6": (10, (0, 6, 1), F.relu6),
    "log_sigmoid": (11, (1, 1, 1), F.logsigmoid),
    "selu": (12, (1, 1, 1), F.selu),
    "celu": (13, (1.5, 1, 1), lambda x: F.celu(x, 1.5)),
    "hard_shrink": (14, (0.5, 1, 1), F.hardshrink),
    "soft_shrink": (15, (0.5, 1, 1), F.softshrink),
    "tanh_shrink": (16, (1, 1, 1), F.tanhshrink),
    "threshold": (17, (0.25, -1, 1), lambda x: F.threshold(x, 0.25, -1.0)),
    "gelu": (18, (1, 1, 1), lambda x: F.gelu(x, approximate="tanh")),
    "hard_swish": (19, (1, 1, 1), F.hardswish),
    "clamp": (20, (-0.5, 0.75, 1), lambda x: torch.clamp(x, -0.5, 0.75)),
}


def add_activations(m: Maker) -> None:
    for name, (kind, (a, b, c), f) in ACTIVATIONS.items():
        settings = {"kind": kind, "a": a, "b": b, "c": c}
        operands = {"x": m.normal(5, 7, scale=3)}
        m.add(f"activation_{name}", "activation", _y(lambda x, f=f: f(x)), operands,
              settings=settings, train=["x"], rate=1.0)  # fmt: skip
    m.add("gelu_erf", "gelu", _y(lambda x: F.gelu(x)), {"x": m.normal(5, 7, scale=2)}, rate=1.0)
    for axis in (1, -1):
        m.add(f"softmax_axis_{axis % 4}", "softmax", _y(lambda x, axis=axis: F.softmax(x, axis)),
              {"x": m.normal(2, 4, 3, 2, scale=2)}, settings={"axis": axis}, rate=2.0)  # fmt: skip
        m.add(f"log_softmax_axis_{axis % 4}", "log_softmax",
              _y(lambda x, axis=axis: F.log_softmax(x, axis)),
              {"x": m.normal(2, 4, 3, 2, scale=2)}, settings={"axis": axis}, rate=1.0)  # fmt: skip


BINARY = {
    "add": (0, torch.add),
    "subtract": (1, torch.sub),
    "multiply": (2, torch.mul),
    "divide": (3, torch.div),
    "pow": (21, torch.pow),
    "min": (28, torch.minimum),
    "max": (29, torch.maximum),
}

UNARY = {
    "floor": (4, torch.floor, "normal"),
    "round": (5, torch.round, "normal"),
    "ceil": (6, torch.ceil, "normal"),
    "sqrt": (7, torch.sqrt, "positive"),
    "rsqrt": (8, torch.rsqrt, "positive"),
    "sin": (9, torch.sin, "normal"),
    "cos": (10, torch.cos, "normal"),
    "tan": (11, torch.tan, "unit"),
    "asin": (12, torch.asin, "unit"),
    "acos": (13, torch.acos, "unit"),
    "atan": (14, torch.atan, "normal"),
    "sinh": (15, torch.sinh, "normal"),
    "cosh": (16, torch.cosh, "normal"),
    "tanh": (17, torch.tanh, "normal"),
    "asinh": (18, torch.asinh, "normal"),
    "acosh": (19, torch.acosh, "above"),
    "atanh": (20, torch.atanh, "unit"),
    "exp": (22, torch.exp, "normal"),
    "exp2": (23, torch.exp2, "normal"),
    "log": (24, torch.log, "positive"),
    "log2": (25, torch.log2, "positive"),
}


def add_arithmetic(m: Maker) -> None:
    for name, (kind, f) in BINARY.items():
        x = m.positive(2, 3, 4) if name == "pow" else m.normal(2, 3, 4)
        y = m.normal(3, 1) if name in ("add", "multiply", "pow") else m.positive(2, 3, 4)
        m.add(f"arithmetic_{name}", "arithmetic", _y(lambda x, y, f=f: f(x, y)),
              {"x": x, "y": y}, settings={"kind": kind})  # fmt: skip
    for name, (kind, f, draw) in UNARY.items():
        x = m.positive(4, 5) + 1 if draw == "above" else getattr(m, draw)(4, 5)
        flat = name in ("floor", "round", "ceil")
        m.add(f"arithmetic_{name}", "arithmetic", _y(lambda x, f=f: f(x)), {"x": x},
              settings={"kind": kind}, rate=0.01, train=[] if flat else None)  # fmt: skip
    for name, kind, f in (
        ("multiply_no_nan", 26, tf.math.multiply_no_nan),
        ("divide_no_nan", 27, tf.math.divide_no_nan),
    ):
        y = m.normal(3, 4)
        y[0, :2] = 0
        m.add(f"arithmetic_{name}", "arithmetic", _y(lambda x, y, f=f: f(x, y)),
              {"x": m.normal(3, 4), "y": y}, settings={"kind": kind, "differences": 0}, train=["x"],
              rate=1e-3, framework=TensorFlow)  # fmt: skip


COMPARISONS = [
    ("equal", np.equal),
    ("not_equal", np.not_equal),
    ("less", np.less),
    ("greater", np.greater),
    ("less_or_equal", np.less_equal),
    ("greater_or_equal", np.greater_equal),
    ("logical_and", np.logical_and),
    ("logical_or", np.logical_or),
    ("logical_not", np.logical_not),
    ("logical_nand", lambda x, y: ~np.logical_and(x, y)),
    ("logical_nor", lambda x, y: ~np.logical_or(x, y)),
    ("logical_xor", np.logical_xor),
]


def add_comparisons(m: Maker) -> None:
    for kind, (name, f) in enumerate(COMPARISONS):
        x, y = m.integers(3, 4, 5) / 2.0, m.integers(3, 4, 5) / 2.0
        operands = {"x": x} if name == "logical_not" else {"x": x, "y": y}
        m.add(f"comparison_{name}", "comparison",
              lambda f=f, **o: {"y": torch.from_numpy(f(*[v.numpy() for v in o.values()]))},
              operands, settings={"kind": kind}, wrt=[])  # fmt: skip
    m.add("where", "where", _y(lambda condition, x, y: torch.where(condition, x, y)),
          {"condition": m.bools(4, 5), "x": m.normal(4, 5), "y": m.normal(4, 5)},
          train=["x", "y"], rate=1.0)  # fmt: skip


def add_reductions(m: Maker) -> None:
    x = {"x": m.distinct(3, 4, 5)}
    axes = [0, 2]
    kinds = {
        "none": (0, lambda x: x * 1),
        "sum": (1, lambda x: x.sum(axes, keepdim=True)),
        "mean": (2, lambda x: x.mean(axes, keepdim=True)),
        "max": (3, lambda x: x.amax(axes, keepdim=True)),
        "min": (4, lambda x: x.amin(axes, keepdim=True)),
        "l1_norm": (7, lambda x: x.abs().sum(axes, keepdim=True)),
    }
    for name, (kind, f) in kinds.items():
        m.add(f"reduce_{name}", "reduce", _y(f), x, settings={"kind": kind, "axes": axes})

    def flat(x):
        return x.permute(1, 0, 2).reshape(4, 15)

    for name, kind, f in (
        ("argmax", 5, lambda x: flat(x).argmax(1)),
        ("argmin", 6, lambda x: flat(x).argmin(1)),
    ):
        m.add(f"reduce_{name}", "reduce", _y(lambda x, f=f: f(x).reshape(1, 4, 1).int()), x,
              settings={"kind": kind, "axes": axes}, wrt=[])  # fmt: skip
    sparse = {"x": m.integers(2, 3, 2, 4) * 1.0}
    for name, kind, f in (("any", 8, np.any), ("all", 9, np.all)):
        m.add(f"reduce_{name}", "reduce",
              lambda x, f=f: {"y": torch.from_numpy(f(x.numpy() != 0, (1, 2), keepdims=True))},
              sparse, settings={"kind": kind, "axes": [1, 2]}, wrt=[])  # fmt: skip


def add_shapes(m: Maker) -> None:
    m.add("gather", "gather", _y(lambda x, indices: torch.gather(x, 1, indices)),
          {"x": m.normal(4, 5, 3), "indices": m.integers(5, 3, 6, 2)},
          settings={"axis": 1}, rate=1.0)  # fmt: skip
    indices = np.stack([m.random.permutation(5)[:4] for _ in range(3)]).astype(np.int32)
    m.add("scatter_set", "scatter",
          _y(lambda x, indices, updates: torch.scatter(x, 1, indices, updates[:, :4])),
          {"x": m.normal(4, 5), "indices": indices, "updates": m.normal(3, 5)},
          settings={"axis": 1, "adds": 0}, train=["x", "updates"], rate=1.0)  # fmt: skip
    m.add("scatter_add", "scatter",
          _y(lambda x, indices, updates: torch.scatter_add(x, 0, indices, updates[:6])),
          {"x": m.normal(4, 5), "indices": m.integers(4, 6, 5), "updates": m.normal(7, 5)},
          settings={"axis": 0, "adds": 1}, train=["x", "updates"], rate=0.5)  # fmt: skip
    pads = {"x": m.normal(2, 3, 4, 5)}
    low, high = [0, 0, 2, 1], [0, 0, 1, 3]
    for kind, name in enumerate(("zero", "reflect", "symmetric", "constant")):
        mode = {"zero": "CONSTANT"}.get(name, name.upper())
        value = 1.5 if name == "constant" else 0.0
        m.add(f"pad_{name}", "pad",
              _y(lambda x, mode=mode, value=value: tf.pad(
                  x, list(zip(low, high, strict=True)), mode, constant_values=value)),
              pads, settings={"kind": kind, "low": low, "high": high, "value": value},
              framework=TensorFlow, rate=0.5)  # fmt: skip
    for name, sizes, mode, aligned in (
        ("nearest", (8, 10), "nearest", False),
        ("nearest_uneven", (7, 3), "nearest", False),
        ("linear", (8, 10), "bilinear", False),
        ("linear_smaller", (3, 7), "bilinear", False),
        ("linear_aligned", (9, 7), "bilinear", True),
    ):
        corners = aligned if mode == "bilinear" else None
        m.add(f"resize_{name}", "resize",
              _y(lambda x, sizes=sizes, mode=mode, corners=corners: F.interpolate(
                  x, sizes, mode=mode, align_corners=corners)),
              {"x": m.normal(2, 3, 4, 5)}, rate=0.5,
              settings={"sizes": sizes, "linear": mode != "nearest", "aligned": aligned},
              )  # fmt: skip
    for name, shape, sizes, mode in (
        ("nearest_1d", (2, 3, 4), (6,), "nearest"),
        ("linear_1d", (2, 3, 4), (6,), "linear"),
        ("linear_3d", (1, 2, 2, 3, 2), (3, 4, 5), "trilinear"),
    ):
        m.add(f"resize_{name}", "resize",
              _y(lambda x, sizes=sizes, mode=mode: F.interpolate(x, sizes, mode=mode)),
              {"x": m.normal(*shape)}, rate=0.5,
              settings={"sizes": sizes, "linear": mode != "nearest"})  # fmt: skip
    m.add("resize_nearest_aligned", "resize",
          _y(lambda x: tf.transpose(tf.compat.v1.image.resize_nearest_neighbor(
              tf.transpose(x, [0, 2, 3, 1]), (8, 9), align_corners=True), [0, 3, 1, 2])),
          {"x": m.normal(2, 3, 4, 5)}, framework=TensorFlow, rate=0.5,
          settings={"sizes": (8, 9), "linear": 0, "aligned": 1})  # fmt: skip


def add_products(m: Maker) -> None:
    m.add("matmul", "matmul", _y(lambda x, y: 0.5 * torch.matmul(x, y)),
          {"x": m.normal(2, 3, 4), "y": m.normal(4, 5)}, settings={"alpha": 0.5})  # fmt: skip
    m.add("matmul_transposed", "matmul", _y(lambda x, y: torch.matmul(x.mT, y.mT)),
          {"x": m.normal(2, 4, 3), "y": m.normal(2, 5, 4)},
          settings={"transposes_x": 1, "transposes_y": 1})  # fmt: skip
    for name, shape in (("", (4, 3)), ("_3d", (2, 3, 3))):
        m.add(f"fully_connected{name}", "fully_connected", _y(F.linear),
              {"input": m.normal(*shape), "weight": m.normal(5, 3), "bias": m.normal(5)},
              )  # fmt: skip
    m.add("fully_connected_image", "fully_connected",
          _y(lambda input, weight: F.linear(input[:, :, 0, 0], weight)[:, :, None, None]),
          {"input": m.normal(4, 3, 1, 1), "weight": m.normal(5, 3)})  # fmt: skip
    m.add("gram_matrix", "gram_matrix",
          _y(lambda x: 0.25 * torch.einsum("nihw,njhw->nij", x, x)),
          {"x": m.normal(2, 3, 2, 2)}, settings={"scale": 0.25})  # fmt: skip


def add_cases(m: Maker) -> None:
    add_activations(m)
    add_arithmetic(m)
    add_comparisons(m)
    add_reductions(m)
    add_shapes(m)
    add_products(m)
