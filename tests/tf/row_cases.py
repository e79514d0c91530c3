"""Single rows of the op table, for derivatives: tests/python/tf_ops/test_tf_derivatives.py.

``row(name, operands, attributes)`` calls the row by its name. An operand is a Draw (floating ones
are differentiated, all are batched), a list of Draws, or anything else: a constant that is the same
in a batch. ``@program(name)`` is for rows that take functions, variables or lists: a function of
``tf`` and the operands that are given. Draws are of float64 and away from kinks and poles, so that
finite differences serve. This module needs numpy alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from corpus import Draw


@dataclass
class RowCase:
    name: str  # of the row
    what: str
    call: Callable[..., Any]  # of tf and the operands
    operands: list[Draw]
    arguments: list[str]  # the input of the row that each operand is of; empty: none
    vmap: str = ""  # why it is not vectorized
    once: str = ""  # why there are first derivatives alone

    def draw(self, turn: int = 0) -> list[np.ndarray]:
        """The operands; another turn, other numbers."""
        seed = zlib.crc32(f"{self.name} {self.what} {turn}".encode())
        return [
            each.draw(seed + 7919 * i)
            if isinstance(each, Choice)
            else each.array((seed + 7919 * i) % 2**32)
            for i, each in enumerate(self.operands)
        ]


@dataclass(frozen=True)
class Choice:
    """An operand made from a draw: symmetric matrices, distinct numbers and so on."""

    shape: tuple[int, ...]
    make: Callable[[np.random.RandomState, tuple[int, ...]], np.ndarray]
    dtype: str = "float64"

    def draw(self, seed: int) -> np.ndarray:
        made = self.make(np.random.RandomState(seed % 2**32), self.shape)
        return np.asarray(made).astype(self.dtype)


ROW_CASES: list[RowCase] = []


def _take(value: Any, operands: list[Draw]) -> Callable[[list[Any]], Any]:
    """Appends the draws of a value to the operands; gives what puts tensors in their place."""
    if isinstance(value, (Draw, Choice)):
        operands.append(value)
        place = len(operands) - 1
        return lambda tensors: tensors[place]
    if isinstance(value, list) and any(isinstance(each, (Draw, Choice)) for each in value):
        parts = [_take(each, operands) for each in value]
        return lambda tensors: [part(tensors) for part in parts]
    return lambda tensors: value


def row(
    name: str,
    operands: dict[str, Any],
    attributes: dict[str, Any] | None = None,
    *,
    what: str = "",
    then: Callable[[Any, Any], Any] | None = None,
    once: str = "",
) -> None:
    """A case of one row; ``then(tf, results)`` is what is differentiated.

    ``once``: why it is not vectorized, and has first derivatives alone, backwards.
    """
    draws: list[Draw] = []
    takes, arguments = {}, []
    for key, value in operands.items():
        takes[key] = _take(value, draws)
        arguments += [key] * (len(draws) - len(arguments))

    def call(tf: Any, *tensors: Any) -> Any:
        given = {key: take(list(tensors)) for key, take in takes.items()}
        results = getattr(tf.raw_ops, name)(**given, **(attributes or {}))
        return then(tf, results) if then else results

    ROW_CASES.append(RowCase(name, what, call, draws, arguments, once, once))


def program(name: str, *operands: Any, what: str = "", vmap: str = "") -> Callable[..., Any]:
    """A case of a row that a function of ``tf`` uses; ``vmap``: why it is not vectorized."""

    def keep(call: Callable[..., Any]) -> Callable[..., Any]:
        ROW_CASES.append(RowCase(name, what, call, list(operands), [""] * len(operands), vmap))
        return call

    return keep


def first(tf: Any, results: Any) -> Any:
    return results[0]


def f(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    return Draw(shape, "float64", low, high)


def pos(*shape: int, low: float = 0.3, high: float = 2.5) -> Draw:
    return Draw(shape, "float64", low, high)


def unit(*shape: int) -> Draw:
    return Draw(shape, "float64", -0.9, 0.9)


def c(*shape: int, low: float = 0.3, high: float = 1.5) -> Draw:
    return Draw(shape, "complex128", low, high)


def i32(*shape: int, low: int = 0, high: int = 3) -> Draw:
    return Draw(shape, "int32", low, high)


def b(*shape: int) -> Draw:
    return Draw(shape, "bool")


def apart(*shape: int, scale: float = 0.5) -> Choice:
    """Numbers that all differ by 0.2 scale at least, none of them near 0."""

    def make(stream: np.random.RandomState, size: tuple[int, ...]) -> np.ndarray:
        n = int(np.prod(size))
        steps = stream.permutation(n) - n // 2 + 0.5 + 0.2 * stream.uniform(-1, 1, n)
        return scale * steps.reshape(size)

    return Choice(shape, make)


def definite(n: int) -> Choice:
    """A symmetric positive definite matrix."""

    def make(stream: np.random.RandomState, size: tuple[int, ...]) -> np.ndarray:
        a = stream.uniform(-1, 1, size)
        return a @ a.T + np.diag(1.0 + np.arange(n))

    return Choice((n, n), make)


def regular(*shape: int) -> Choice:
    """Matrices whose determinants and singular values are away from 0 and from each other."""

    def make(stream: np.random.RandomState, size: tuple[int, ...]) -> np.ndarray:
        diagonal = np.zeros(size[-2:])
        np.fill_diagonal(diagonal, 2.0 + np.arange(min(size[-2:])))
        return stream.uniform(-0.5, 0.5, size) + diagonal

    return Choice(shape, make)


def distinct(k: int, n: int) -> Choice:
    """k different places below n."""
    return Choice((k, 1), lambda s, size: s.permutation(n)[:k].reshape(size), "int32")


# Making, reshaping, selecting.

row("Identity", {"input": f(2, 3)})
row("Reshape", {"tensor": f(2, 3), "shape": [3, -1]})
row("EnsureShape", {"input": f(2, 3)}, {"shape": [None, 3]})
row("Fill", {"dims": [2, 3], "value": f()})
row(
    "StridedSlice",
    {"input": f(4, 3, 2), "begin": [0, 2, 0], "end": [3, 0, 2], "strides": [2, -1, 1]},
    {"end_mask": 2, "shrink_axis_mask": 4},
)
row(
    "StridedSlice",
    {"input": f(4, 3), "begin": i32(1), "end": i32(1, low=3, high=4), "strides": [1]},
    {"shrink_axis_mask": 1},
    what="an index that is a value",
)
row(
    "StridedSlice",
    {"input": f(2, 3, 4), "begin": [0, 0, 1], "end": [0, 0, 3], "strides": [1, 1, 1]},
    {"ellipsis_mask": 2, "new_axis_mask": 1},
    what="an ellipsis and a new axis",
)
row("BroadcastTo", {"input": f(3, 1), "shape": [2, 3, 4]})
row("ExpandDims", {"input": f(2, 3), "dim": 1})
row("Squeeze", {"input": f(2, 1, 3, 1)}, {"squeeze_dims": [1]})
row("Transpose", {"x": f(2, 3, 4), "perm": [2, 0, 1]})
row("ConcatV2", {"values": [f(2, 3), f(2, 1), f(2, 2)], "axis": 1})
row("Pack", {"values": [f(2, 3), f(2, 3)]}, {"axis": 1})
row("Unpack", {"value": f(2, 3)}, {"num": 3, "axis": 1})
row("GatherV2", {"params": f(4, 3), "indices": i32(2, 2, high=4), "axis": 0})
row(
    "GatherV2",
    {"params": f(2, 4, 3), "indices": i32(2, 3, high=4), "axis": 1},
    {"batch_dims": 1},
    what="batches",
)
row("Tile", {"input": f(2, 3), "multiples": [2, 2]})

row("StopGradient", {"input": f(3)})
row("ZerosLike", {"x": f(3)})
row("OnesLike", {"x": f(3)})
row("OneHot", {"indices": i32(3), "depth": 4, "on_value": f(), "off_value": f()})
row("Bitcast", {"input": f(2)}, {"type": "float32"})

# Arithmetic and reductions.

for name in ("AddV2", "Add", "Sub", "Mul"):
    row(name, {"x": f(2, 3), "y": f(3)})
row("Mul", {"x": c(2, 3), "y": c(3)}, what="complex")
row("AddN", {"inputs": [f(2, 3), f(2, 3), f(2, 3)]})
row("RealDiv", {"x": f(2, 3), "y": pos(3)})
row("RealDiv", {"x": c(2, 3), "y": c(3)}, what="complex")
for name in ("Maximum", "Minimum"):
    row(name, {"x": apart(2, 3), "y": f(3, low=0.01, high=0.06)})
row("Pow", {"x": pos(2, 3), "y": f(3)})
row("Pow", {"x": c(2, 3), "y": c(3)}, what="complex")
for name in ("Neg", "Exp", "Tanh", "Sigmoid", "Square"):
    row(name, {"x": f(2, 3)})
    row(name, {"x": c(2, 2)}, what="complex")
for name in ("Log", "Sqrt"):
    row(name, {"x": pos(2, 3)})
    row(name, {"x": c(2, 2)}, what="complex")
row("Cast", {"x": f(2, 3)}, {"DstT": "complex128"})
row("Cast", {"x": c(2, 3)}, {"DstT": "float64"}, what="the real part")
row("MatMul", {"a": f(3, 2), "b": f(4, 3)}, {"transpose_a": True, "transpose_b": True})
row("MatMul", {"a": c(2, 3), "b": c(3, 2)}, what="complex")
row("BatchMatMulV2", {"x": f(2, 1, 2, 3), "y": f(3, 4, 3)}, {"adj_y": True})
row("BatchMatMulV2", {"x": c(2, 3, 2), "y": c(2, 3, 2)}, {"adj_x": True}, what="complex")
row("Sum", {"input": f(2, 3, 2), "reduction_indices": [0, 2]})
row("Mean", {"input": f(2, 3, 2), "reduction_indices": [1]}, {"keep_dims": True})
row("SelectV2", {"condition": b(2, 3), "t": f(3), "e": f(2, 1)})

# Functions of elements.

for name in ("Floor", "Ceil", "Round", "Rint", "Sign"):
    row(name, {"x": apart(2, 3, scale=0.7)})
for name in ("FloorDiv", "TruncateDiv", "TruncateMod"):
    row(name, {"x": apart(2, 3, scale=0.7), "y": pos(3)})

for name in ("Sin", "Cos", "Sinh", "Cosh", "Atan", "Asinh", "Expm1"):
    row(name, {"x": f(2, 3)})
    row(name, {"x": c(2, 2)}, what="complex")
for name in ("Erf", "Erfc"):
    row(name, {"x": f(2, 3)})
for name in ("Asin", "Acos", "Atanh", "Tan"):
    row(name, {"x": unit(2, 3)})
    row(name, {"x": c(2, 2)}, what="complex")
for name in ("Log1p", "Rsqrt", "Reciprocal", "Inv"):
    row(name, {"x": pos(2, 3)})
    row(name, {"x": c(2, 2)}, what="complex")
row("Acosh", {"x": pos(2, 3, low=1.2)})
row("Acosh", {"x": c(2, 2)}, what="complex")
for name in ("Lgamma", "Digamma"):
    row(name, {"x": pos(2, 3)})
row("Abs", {"x": apart(2, 3)})
row("ComplexAbs", {"x": c(2, 3)}, {"Tout": "float64"})
row("Erfinv", {"x": unit(2, 3)})
row("Ndtri", {"x": pos(2, 3, low=0.1, high=0.9)})
for name in ("Softplus", "Softsign", "Relu6", "Elu", "Selu", "LeakyRelu", "Relu"):
    row(name, {"features": apart(2, 3, scale=1.1)})
row("Conj", {"input": c(2, 3)})
for name in ("Real", "Imag", "Angle"):
    row(name, {"input": c(2, 3)}, {"Tout": "float64"})
row("Complex", {"real": f(2, 3), "imag": f(3)}, {"Tout": "complex128"})
row("FloorMod", {"x": f(2, 3, low=4.2, high=4.8), "y": pos(3, low=1.5, high=1.9)})
row("DivNoNan", {"x": f(2, 3), "y": pos(3)})
row("DivNoNan", {"x": c(2, 3), "y": c(3)}, what="complex")
row("MulNoNan", {"x": f(2, 3), "y": pos(3)})
row("MulNoNan", {"x": c(2, 3), "y": c(3)}, what="complex")
row("SquaredDifference", {"x": f(2, 3), "y": f(3)})
row("SquaredDifference", {"x": c(2, 3), "y": c(3)}, what="complex")
row("Atan2", {"y": f(2, 3), "x": pos(3)})
for name in ("Xlogy", "Xlog1py", "Xdivy"):
    row(name, {"x": pos(2, 3), "y": pos(3)})
    row(name, {"x": c(2, 3), "y": c(3)}, what="complex")
row("NextAfter", {"x1": f(2, 3), "x2": f(3)})
for name in ("Igamma", "Igammac"):
    row(name, {"a": pos(2, 3), "x": pos(3)})


@program("ImplicitGamma", pos(3))
def _(tf, alpha):
    """Samples at given quantiles, found by Newton's method: alpha moves them."""
    quantiles = tf.constant([[0.3], [0.7]], tf.float64)
    held = tf.stop_gradient(alpha)

    def nearer(i, x):
        density = tf.exp((held - 1.0) * tf.math.log(x) - x - tf.math.lgamma(held))
        step = (tf.math.igamma(held, x) - quantiles) / (density * x)
        return i + 1, x * tf.exp(tf.clip_by_value(-step, -1.0, 1.0))

    start = (0, tf.zeros_like(quantiles) + held)
    sample = tf.while_loop(lambda i, x: i < 30, nearer, start)[1]
    return tf.raw_ops.ImplicitGamma(alpha=alpha, sample=tf.stop_gradient(sample))


# Special functions.

for name in (
    "BesselI0 BesselI1 BesselI0e BesselI1e BesselK0 BesselK1 BesselK0e BesselK1e BesselJ0 BesselJ1 "
    "BesselY0 BesselY1 Dawsn Expint Spence FresnelCos FresnelSin"
).split():
    row(name, {"x": pos(2, 3)})
row("Zeta", {"x": pos(2, 3, low=1.5, high=3.0), "q": pos(3)})
row("Polygamma", {"a": np.array([1.0, 2.0, 3.0]), "x": pos(2, 3)})
row("Betainc", {"a": pos(2, 3), "b": pos(2, 3), "x": pos(2, 3, low=0.2, high=0.8)})

# Selections, scans, scatters.

for name in ("Max", "Min"):
    row(name, {"input": apart(2, 3, 2), "reduction_indices": [0, 2]})
row("Prod", {"input": c(2, 3), "reduction_indices": [1]}, what="complex")
row("Prod", {"input": f(2, 3, 2), "reduction_indices": [0, 2]})
for name in ("Cumsum", "Cumprod"):
    row(name, {"x": f(2, 3), "axis": 1}, {"exclusive": True})
    row(name, {"x": f(2, 3), "axis": 0}, {"reverse": True}, what="backwards")
    row(name, {"x": f(3, 2), "axis": -2}, {"exclusive": True, "reverse": True}, what="both")
    row(name, {"x": c(3), "axis": 0}, what="complex")
row("CumulativeLogsumexp", {"x": f(2, 3), "axis": 1})
row("CumulativeLogsumexp", {"x": f(3, 2), "axis": 0}, {"reverse": True}, what="backwards")
row("TopKV2", {"input": apart(2, 4), "k": 2})
SEGMENTS = Choice((5,), lambda s, size: s.permutation([0, 1, 2, 0, -1]), "int32")
for name in (
    "UnsortedSegmentSum",
    "UnsortedSegmentMax",
    "UnsortedSegmentMin",
    "UnsortedSegmentProd",
):
    row(name, {"data": apart(5, 2), "segment_ids": SEGMENTS, "num_segments": 3})
row("Slice", {"input": f(4, 3), "begin": [1, 0], "size": [2, -1]})
row("Split", {"split_dim": 1, "value": f(2, 4)}, {"num_split": 2})
row("SplitV", {"value": f(2, 4), "size_splits": [1, 3], "split_dim": 1}, {"num_split": 2})
row("Pad", {"input": f(2, 3), "paddings": [[1, 0], [0, 2]]})
row("PadV2", {"input": f(2, 3), "paddings": [[1, 0], [0, 2]], "constant_values": f()})
for mode in ("REFLECT", "SYMMETRIC"):
    row("MirrorPad", {"input": f(3, 3), "paddings": [[1, 2], [0, 2]]}, {"mode": mode}, what=mode)
row("ReverseV2", {"tensor": f(2, 3, 2), "axis": [0, 2]})
row("Roll", {"input": f(3, 4), "shift": [1, -2], "axis": [0, 1]})
for mode in ("NEAREST", "BILINEAR"):
    MAPS = {"transforms": np.array([[0.9, -0.3, 1.2, 0.35, 0.8, -0.7, 0.02, -0.01]], np.float32)}
    KINDS = {"interpolation": mode, "fill_mode": "REFLECT"}
    PICTURES = {"images": f(2, 3, 4, 1), **MAPS, "output_shape": [4, 3]}
    row("ImageProjectiveTransformV2", PICTURES, KINDS, what=mode)
    row("ImageProjectiveTransformV3", {**PICTURES, "fill_value": 0.5}, KINDS, what=mode)
row("GatherNd", {"params": f(3, 3, 2), "indices": i32(2, 2, 2)})
row("ScatterNd", {"indices": i32(4, 1), "updates": f(4, 2), "shape": [3, 2]})
for name in ("TensorScatterAdd", "TensorScatterSub"):
    row(name, {"tensor": f(3, 2), "indices": i32(4, 1), "updates": f(4, 2)})
for name in ("TensorScatterMax", "TensorScatterMin"):
    low = f(4, 2, low=0.01, high=0.06)
    row(name, {"tensor": low, "indices": distinct(3, 4), "updates": apart(3, 2)})
row("TensorScatterUpdate", {"tensor": f(4, 2), "indices": distinct(3, 4), "updates": f(3, 2)})
row("ReadElement", {"buffer": f(3, 2), "index": i32()})
row("WriteElement", {"buffer": f(3, 2), "index": i32(), "value": f(2)})
row("XlaDynamicUpdateSlice", {"input": f(3, 4), "update": f(2, 2), "indices": i32(2)})
row("MatrixBandPart", {"input": f(2, 3, 4), "num_lower": 1, "num_upper": 0})
row("Diag", {"diagonal": f(2, 3)})
row("DiagPart", {"input": f(2, 3, 2, 3)})
row("Einsum", {"inputs": [f(2, 3), f(2, 3, 2)]}, {"equation": "bi,bij->bj"})
for equation, *operands in (
    ("...i,ij->...j", f(2, 2, 3), f(3, 2)),
    ("bij,bjk->ik", c(2, 2, 3), c(2, 3, 2)),
    ("ij->", f(2, 3)),
    ("i,j,k->kij", f(2), f(3), f(2)),
):
    row("Einsum", {"inputs": operands}, {"equation": equation}, what=equation)
row("Einsum", {"inputs": [f(3, 3)]}, {"equation": "ii->i"}, what="a diagonal")

# Windows.

IMAGES = {"strides": [1, 2, 1, 1], "padding": "SAME"}
VOLUMES = {"strides": [1, 1, 1, 2, 1], "padding": "VALID"}
row("Conv2D", {"input": f(2, 4, 3, 2), "filter": f(2, 3, 2, 2)}, IMAGES)
row(
    "Conv2D",
    {"input": f(1, 5, 5, 2), "filter": f(2, 2, 2, 1)},
    {"strides": [1, 1, 1, 1], "padding": "VALID", "dilations": [1, 2, 2, 1]},
    what="dilated",
)
row(
    "Conv2D",
    {"input": f(1, 4, 4, 2), "filter": f(3, 2, 1, 4)},
    {
        "strides": [1, 2, 1, 1],
        "padding": "EXPLICIT",
        "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0],
    },
    what="groups and explicit padding",
)
row(
    "Conv2D",
    {"input": f(1, 2, 4, 3), "filter": f(2, 2, 2, 1)},
    {"strides": [1, 1, 1, 2], "padding": "SAME", "data_format": "NCHW"},
    what="channels first",
)
row("Conv3D", {"input": f(1, 3, 2, 4, 2), "filter": f(2, 1, 2, 2, 1)}, VOLUMES)
row(
    "DepthwiseConv2dNative",
    {"input": f(1, 4, 4, 2), "filter": f(2, 2, 2, 2)},
    {"strides": [1, 2, 2, 1], "padding": "VALID"},
)
row(
    "Conv2DBackpropInput",
    {"input_sizes": [2, 4, 3, 2], "filter": f(2, 3, 2, 2), "out_backprop": f(2, 2, 3, 2)},
    IMAGES,
)
row(
    "Conv3DBackpropInputV2",
    {"input_sizes": [1, 3, 2, 4, 2], "filter": f(2, 1, 2, 2, 1), "out_backprop": f(1, 2, 2, 2, 1)},
    VOLUMES,
)
for name, operand in (("MaxPool", "input"), ("AvgPool", "value")):
    row(name, {operand: apart(1, 4, 3, 2)}, {"ksize": [1, 2, 2, 1], **IMAGES})
for name in ("MaxPool3D", "AvgPool3D"):
    row(name, {"input": apart(1, 3, 2, 4, 1)}, {"ksize": [1, 2, 1, 2, 1], **VOLUMES})
row(
    "MaxPool",
    {"input": apart(1, 2, 5, 5)},
    {"ksize": [1, 1, 3, 3], "strides": [1, 1, 2, 1], "padding": "VALID", "data_format": "NCHW"},
    what="channels first",
)
for name in ("Softmax", "LogSoftmax"):
    row(name, {"logits": f(2, 3)})


@program("SoftmaxCrossEntropyWithLogits", f(2, 3))
def _(tf, x):
    """Labels that sum to 1: for others its gradient is not that of the function."""
    labels = [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]
    return tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=labels)[0]


@program("SparseSoftmaxCrossEntropyWithLogits", f(3, 4))
def _(tf, x):
    return tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=[2, 0, 3])[0]


row("BiasAdd", {"value": f(2, 3, 2), "bias": f(2)})


def single(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    return Draw(shape, "float32", low, high)


BATCH_NORM = {
    "x": single(2, 3, 2, 2),
    "scale": single(2),
    "offset": single(2),
    "mean": single(2),
    "variance": single(2, low=0.5),
}
for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
    row(name, BATCH_NORM, what="in training", then=first)
    row(name, BATCH_NORM, {"is_training": False}, what="in inference", then=first)
BATCH_NORM_GRAD = {
    "y_backprop": single(2, 3, 2, 2),
    "x": single(2, 3, 2, 2),
    "scale": single(2),
    "reserve_space_1": single(2),
    "reserve_space_2": single(2, low=0.5),
}
for name in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"):
    operands = dict(BATCH_NORM_GRAD)
    if name.endswith("V3"):
        operands["reserve_space_3"] = single(0)
    row(name, operands, what="in training", then=first)
    row(name, operands, {"is_training": False}, what="in inference", then=first)
row("LRN", {"input": single(1, 2, 2, 5)}, {"depth_radius": 1, "beta": 0.75})
row(
    "LRNGrad",
    {
        "input_grads": single(1, 2, 2, 5),
        "input_image": single(1, 2, 2, 5),
        "output_image": single(1, 2, 2, 5),
    },
    {"depth_radius": 1, "beta": 0.75},
)

for name in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
    row(name, {"images": single(1, 3, 4, 2), "size": [5, 3]}, {"half_pixel_centers": True})
row(
    "ResizeBicubicGrad",
    {"grads": single(1, 2, 3, 2), "original_image": single(1, 3, 4, 2)},
    {"half_pixel_centers": True},
)
row("ResizeNearestNeighborGrad", {"grads": single(1, 2, 3, 2), "size": [5, 3]})
MOVED = {"scale": [1.5, 0.7], "translation": [0.3, -0.2]}
row("ScaleAndTranslate", {"images": single(1, 3, 4, 2), "size": [5, 3], **MOVED})
row(
    "ScaleAndTranslateGrad",
    {"grads": single(1, 2, 3, 2), "original_image": single(1, 3, 4, 2), **MOVED},
)

# What TensorFlow writes for derivatives.

for name in ("ReluGrad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad"):
    row(name, {"gradients": f(2, 3), "features": apart(2, 3)})
row("Relu6Grad", {"gradients": f(2, 3), "features": f(2, 3, low=1.0, high=5.0)})
for name in ("EluGrad", "SeluGrad"):
    row(name, {"gradients": f(2, 3), "outputs": apart(2, 3)})
for name in ("Sigmoid", "Tanh", "Sqrt", "Rsqrt", "Reciprocal", "Inv"):
    row(f"{name}Grad", {"y": pos(2, 3), "dy": f(2, 3)})
    row(f"{name}Grad", {"y": c(3), "dy": c(3)}, what="complex")
row("BiasAddV1", {"value": f(2, 3, 2), "bias": f(2)})
row("BiasAddGrad", {"out_backprop": f(2, 3, 2)})
row("BiasAddGrad", {"out_backprop": f(2, 3, 2)}, {"data_format": "NCHW"}, what="channels first")
POOLED = {"orig_input": apart(1, 4, 3, 2), "orig_output": f(1, 2, 3, 2), "grad": f(1, 2, 3, 2)}
row("MaxPoolGrad", POOLED, {"ksize": [1, 2, 2, 1], **IMAGES})
row(
    "AvgPoolGrad",
    {"orig_input_shape": [1, 4, 3, 2], "grad": f(1, 2, 3, 2)},
    {"ksize": [1, 2, 2, 1], **IMAGES},
)
for name, operands in (
    ("MaxPool3DGrad", {"orig_input": apart(1, 3, 2, 4, 1), "orig_output": f(1, 2, 2, 2, 1)}),
    ("AvgPool3DGrad", {"orig_input_shape": [1, 3, 2, 4, 1]}),
):
    operands["grad"] = f(1, 2, 2, 2, 1)
    row(name, operands, {"ksize": [1, 2, 1, 2, 1], **VOLUMES})
row(
    "Conv2DBackpropFilter",
    {"input": f(2, 4, 3, 2), "filter_sizes": [2, 3, 2, 2], "out_backprop": f(2, 2, 3, 2)},
    IMAGES,
)
row(
    "Conv3DBackpropFilterV2",
    {"input": f(1, 3, 2, 4, 2), "filter_sizes": [2, 1, 2, 2, 1], "out_backprop": f(1, 2, 2, 2, 1)},
    VOLUMES,
)
row(
    "DepthwiseConv2dNativeBackpropFilter",
    {"input": f(2, 4, 3, 2), "filter_sizes": [2, 3, 2, 2], "out_backprop": f(2, 2, 3, 4)},
    IMAGES,
)
row(
    "DepthwiseConv2dNativeBackpropInput",
    {"input_sizes": [2, 4, 3, 2], "filter": f(2, 3, 2, 2), "out_backprop": f(2, 2, 3, 4)},
    IMAGES,
)

# Diagonals, blocks, sequences.

for version, extra in (("", {}), ("V2", {}), ("V3", {"align": "LEFT_RIGHT"})):
    k = {"k": [-1, 1]} if version else {}
    padding = {"padding_value": f()} if version else {}
    sizes = {"num_rows": 3, "num_cols": 4} if version else {}
    band = f(2, 3, 3) if version else f(2, 3)
    row(f"MatrixDiag{version}", {"diagonal": band, **k, **sizes, **padding}, extra)
    row(f"MatrixDiagPart{version}", {"input": f(2, 3, 4), **k, **padding}, extra)
    row(f"MatrixSetDiag{version}", {"input": f(2, 3, 4), "diagonal": band, **k}, extra)
row(
    "SpaceToBatchND",
    {"input": f(1, 3, 4, 2), "block_shape": [2, 2], "paddings": [[1, 0], [0, 0]]},
)
row("BatchToSpaceND", {"input": f(4, 2, 2, 1), "block_shape": [2, 2], "crops": [[1, 0], [0, 1]]})
row("SpaceToBatch", {"input": f(1, 3, 4, 2), "paddings": [[1, 0], [0, 0]]}, {"block_size": 2})
row("BatchToSpace", {"input": f(4, 2, 2, 1), "crops": [[1, 0], [0, 1]]}, {"block_size": 2})
for name in ("SpaceToDepth", "DepthToSpace"):
    row(name, {"input": f(1, 2, 4, 4)}, {"block_size": 2})
row(
    "ReverseSequence",
    {"input": f(2, 4, 3), "seq_lengths": i32(2, high=5)},
    {"seq_dim": 1, "batch_dim": 0},
)

# Of TensorFlow 1.

row("Select", {"condition": b(2), "x": f(2, 3), "y": f(2, 3)})
row("Div", {"x": f(2, 3), "y": pos(3)})
row("ClipByValue", {"t": apart(2, 3), "clip_value_min": -0.7, "clip_value_max": 0.8})
row("L2Loss", {"t": f(2, 3)})
row("Cross", {"a": f(2, 3), "b": f(2, 3)})
for name in ("BatchMatMul", "BatchMatMulV3"):
    attributes = {"Tout": "float64"} if name.endswith("V3") else {}
    row(name, {"x": f(2, 2, 3), "y": f(2, 3, 2)}, attributes)
row("Snapshot", {"input": f(3)})


@program("IdentityN", f(3), f(2))
def _(tf, x, y):
    x, y = tf.raw_ops.IdentityN(input=[x, y])
    return tf.reduce_sum(x) * y


# Linear algebra. Eigenvectors and the like are unique but for a phase: products are compared.


@program("Cholesky", definite(3))
def _(tf, x):
    """Its gradient is spread over both triangles, of which it reads one."""
    return tf.raw_ops.Cholesky(input=(x + tf.transpose(x)) / 2.0)


row("MatrixInverse", {"input": regular(2, 3, 3)}, {"adjoint": True})
row("MatrixDeterminant", {"input": regular(2, 3, 3)})
row("LogMatrixDeterminant", {"input": regular(2, 3, 3)}, then=lambda tf, y: y[1])
row("MatrixSolve", {"matrix": regular(2, 3, 3), "rhs": f(2, 3, 2)}, {"adjoint": True})
row("MatrixTriangularSolve", {"matrix": regular(2, 3, 3), "rhs": f(2, 3, 2)})
row("MatrixTriangularSolve", {"matrix": c(2, 2), "rhs": c(2, 2)}, {"adjoint": True}, what="complex")
row("Qr", {"input": regular(4, 3)})
row("Svd", {"input": regular(2, 3, 3)})
row("Svd", {"input": regular(3, 4)}, {"compute_uv": False}, what="values", then=first)
row("SelfAdjointEigV2", {"input": definite(3)})
row(
    "Eig", {"input": regular(3, 3)}, {"Tout": "complex128"}, then=lambda tf, y: (y[0], tf.abs(y[1]))
)
row("Lu", {"input": regular(3, 3)}, then=first)
row("MatrixInverse", {"input": c(2, 2)}, what="complex")
row("MatrixDeterminant", {"input": c(2, 2)}, what="complex")
row("LogMatrixDeterminant", {"input": c(2, 2)}, what="complex")
row("MatrixSolve", {"matrix": c(2, 2), "rhs": c(2, 3)}, what="complex")
row("Qr", {"input": regular(3, 4)}, what="wide")
row("Qr", {"input": regular(3, 3)}, {"full_matrices": True}, what="whole")
row("Svd", {"input": regular(4, 3)}, what="tall")
row(
    "Svd",
    {"input": c(3, 2)},
    what="complex",
    then=lambda tf, y: (y[0], tf.abs(y[1]), tf.abs(y[2])),
)
row("SelfAdjointEigV2", {"input": definite(3)}, {"compute_v": False}, what="values", then=first)
row("Lu", {"input": c(2, 3, 3)}, what="complex", then=first)


@program("SelfAdjointEigV2", c(3, 3), what="complex")
def _(tf, x):
    e, v = tf.raw_ops.SelfAdjointEigV2(input=x + tf.linalg.adjoint(x))
    return e, tf.abs(v)


@program("Cholesky", c(2, 2), what="complex")
def _(tf, x):
    return tf.raw_ops.Cholesky(
        input=tf.matmul(x, x, adjoint_b=True) + 2.0 * tf.eye(2, dtype=x.dtype)
    )


for rank, name in enumerate(("FFT", "FFT2D", "FFT3D"), 1):
    row(name, {"input": c(*(2, 3, 2)[:rank])})
    row(f"I{name}", {"input": c(*(2, 3, 2)[:rank])})
for rank, name in enumerate(("RFFT", "RFFT2D", "RFFT3D"), 1):
    sizes, length = (2, 3, 4)[-rank:], [2, 3, 4][-rank:]
    row(name, {"input": f(*sizes), "fft_length": length}, {"Tcomplex": "complex128"})
    half = (*sizes[:-1], 3)
    row(f"I{name}", {"input": c(*half), "fft_length": length}, {"Treal": "float64"})

# Functions, branches, loops, derivatives, variables.

HAS_EFFECTS = "an assertion is not vectorized"


@program("PartitionedCall", f(3))
def _(tf, x):
    return tf.function(lambda t: t * t * t, autograph=False)(x)


@program("StatefulPartitionedCall", f(3), vmap=HAS_EFFECTS)
def _(tf, x):
    def inner(t):
        tf.debugging.Assert(tf.reduce_all(tf.math.is_finite(t)), [t])
        return t * t * t

    return tf.function(inner, autograph=False)(x)


@program("StatelessIf", f(3))
def _(tf, x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(x), lambda: x * x * x)


@program("If", f(3), vmap=HAS_EFFECTS)
def _(tf, x):
    def positive():
        tf.debugging.Assert(tf.reduce_sum(x) > 0.0, [x])
        return tf.sin(x)

    return tf.cond(tf.reduce_sum(x) > 0.0, positive, lambda: x * x * x)


@program("StatelessWhile", f(3))
def _(tf, x):
    return tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.sin(t) * t), (0, x))[1]


@program("While", f(3), vmap=HAS_EFFECTS)
def _(tf, x):
    def body(i, t):
        tf.debugging.Assert(i < 3, [i])
        return i + 1, tf.sin(t) * t

    return tf.while_loop(lambda i, t: i < 3, body, (0, x))[1]


@program("StatelessCase", f(3), i32())
def _(tf, x, k):
    return tf.switch_case(k, [lambda: tf.sin(x), lambda: x * x * x, lambda: tf.exp(x)])


@program("Case", f(3), i32(), vmap=HAS_EFFECTS)
def _(tf, x, k):
    def checked():
        tf.debugging.Assert(tf.reduce_all(tf.math.is_finite(x)), [x])
        return tf.sin(x)

    return tf.switch_case(k, [checked, lambda: x * x * x, lambda: tf.exp(x)])


@program("Vjp", f(3))
def _(tf, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x) * x
    return tape.gradient(y, x)


@program("Jvp", f(3))
def _(tf, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = tf.sin(x) * x
    return accumulator.jvp(y)


@program("Vmap", f(3, 2))
def _(tf, x):
    return tf.vectorized_map(lambda t: tf.sin(t) * tf.reduce_sum(t), x)


@program("CustomGradient", f(3))
def _(tf, x):
    @tf.custom_gradient
    def cube(t):
        return t * t * t, lambda dy: 3.0 * t * t * dy

    return cube(tf.sin(x))


@program("XlaOptimizationBarrier", f(3))
def _(tf, x):
    (y,) = tf.raw_ops.XlaOptimizationBarrier(input=[x])
    return tf.sin(y)


@program("CrossReplicaSum", f(3))
def _(tf, x):
    return tf.sin(tf.raw_ops.CrossReplicaSum(input=x, group_assignment=[[0]]))


@program("PlaceholderWithDefault", f(3))
def _(tf, x):
    return tf.sin(tf.raw_ops.PlaceholderWithDefault(input=x, shape=[3]))


for stack_row in ("StackPush", "StackPop", "StackPopLike"):

    @program(stack_row, f(3), vmap=HAS_EFFECTS)
    def _(tf, x):
        """A loop whose body stays on the host keeps what its gradient needs on stacks."""

        def body(i, t):
            tf.debugging.Assert(i < 3, [i])
            return i + 1, tf.sin(t) * t

        inner = tf.function(
            lambda t: tf.while_loop(lambda i, s: i < 3, body, (0, t))[1], autograph=False
        )
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
        return tape.gradient(y, x)

# ---- sparse --------------------------------------------------------------------------------------

ON_THE_HOST = "it runs on the host; its derivative is another row"
_PLACES, _SIZES = [[0, 1], [0, 3], [1, 0], [2, 2], [2, 3]], [3, 4]
_SPARSE = {"sp_indices": _PLACES, "sp_values": f(5), "sp_shape": _SIZES}
_INPUT = {"input_indices": _PLACES, "input_values": f(5), "input_shape": _SIZES}
row("SparseReorder", {**_INPUT, "input_indices": _PLACES[::-1]})
for axes in ([0], [1], [0, 1], [-1]):
    row("SparseReduceSum", {**_INPUT, "reduction_axes": axes}, what=f"over {axes}")
row("SparseSoftmax", _SPARSE)
for left, right, other in (
    (False, False, f(4, 2)),
    (True, False, f(3, 2)),
    (False, True, f(2, 4)),
    (True, True, f(2, 3)),
):
    row(
        "SparseTensorDenseMatMul",
        {"a_indices": _PLACES, "a_values": f(5), "a_shape": _SIZES, "b": other},
        {"adjoint_a": left, "adjoint_b": right},
        what=f"adjoint {left} {right}",
    )
row(
    "SparseTensorDenseAdd",
    {"a_indices": _PLACES, "a_values": f(5), "a_shape": _SIZES, "b": f(3, 4)},
)
for dense in ((3, 4), (4,), (3, 1), ()):
    row("SparseDenseCwiseMul", {**_SPARSE, "dense": f(*dense)}, what=f"by {dense}")
    row("SparseDenseCwiseDiv", {**_SPARSE, "dense": pos(*dense)}, what=f"by {dense}")
    row("SparseDenseCwiseAdd", {**_SPARSE, "dense": f(*dense)}, what=f"by {dense}")
row(
    "SparseAdd",
    {
        "a_indices": _PLACES,
        "a_values": f(5),
        "a_shape": _SIZES,
        "b_indices": [[0, 0], [0, 3], [2, 2]],
        "b_values": f(3),
        "b_shape": _SIZES,
        "thresh": np.float64(0),
    },
    once=ON_THE_HOST,
)
row(
    "SparseSlice",
    {"indices": _PLACES, "values": f(5), "shape": _SIZES, "start": [0, 1], "size": [2, 3]},
    once=ON_THE_HOST,
)
row(
    "SparseFillEmptyRows",
    {"indices": _PLACES, "values": f(5), "dense_shape": [5, 4], "default_value": f()},
    once=ON_THE_HOST,
)
row(
    "SparseToDense",
    {
        "sparse_indices": _PLACES,
        "output_shape": _SIZES,
        "sparse_values": f(5),
        "default_value": f(),
    },
    once=ON_THE_HOST,
)
row("CheckNumerics", {"tensor": f(2, 3)}, {"message": "x"}, once=ON_THE_HOST)
row("CheckNumericsV2", {"tensor": f(2, 3)}, {"message": "x"}, once=ON_THE_HOST)
_ROWS = {"data": f(3, 2), "indices": [0, 2, 1, 2], "segment_ids": [0, 0, 1, 3]}
for kind in ("Sum", "Mean", "SqrtN"):
    row(f"SparseSegment{kind}", _ROWS, once=ON_THE_HOST)
    row(
        f"SparseSegment{kind}WithNumSegments",
        {**_ROWS, "num_segments": 6},
        once=ON_THE_HOST,
    )
