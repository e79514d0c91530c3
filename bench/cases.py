"""The benchmark's cases: what is computed, on which data, with which weights, and what bounds it.

Every framework computes a case from the same data and the same weights, in the layouts that it
likes best. Sizes are parameters, so that the tests can run the same models with small ones.
Weights are named arrays in one canonical form: matrices (in, out), convolution kernels HWIO,
the gates of an LSTM side by side in the order i f g o.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the driver's Python may have no numpy
    import numpy as np

THREADS = 2


# ---- data ----------------------------------------------------------------------------------------
def generator() -> np.random.Generator:
    """The same numbers for everybody."""
    import numpy as np

    return np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    """Numbers of the normal distribution, f32."""
    return generator().standard_normal(shape, dtype="float32")


def labels(classes: int, *shape: int) -> np.ndarray:
    """Integers below a number of classes, i32."""
    return generator().integers(0, classes, shape).astype("int32")


class Weights(dict):
    """Named arrays, drawn one after the other."""

    def __init__(self) -> None:
        import numpy as np

        self.source = np.random.default_rng(1)
        self.full = np.full

    def draw(self, name: str, *shape: int, scale: float | None = None) -> None:
        """Normal numbers, by default with the deviation (2 / fan in) ** 0.5."""
        scale = math.sqrt(2 / math.prod(shape[:-1])) if scale is None else scale
        self[name] = self.source.standard_normal(shape, dtype="float32")
        self[name] *= scale

    def fill(self, name: str, value: float, *shape: int) -> None:
        """A constant."""
        self[name] = self.full(shape, value, "float32")

    def dense(self, name: str, inputs: int, outputs: int) -> None:
        """A matrix and a bias of zeros."""
        self.draw(f"{name}.w", inputs, outputs)
        self.fill(f"{name}.b", 0, outputs)

    def norm(self, name: str, width: int) -> None:
        """A factor of ones and an offset of zeros."""
        self.fill(f"{name}.w", 1, width)
        self.fill(f"{name}.b", 0, width)


# ---- models --------------------------------------------------------------------------------------
@dataclass
class Mlp:
    """Dense layers with relu between them."""

    batch: int = 128
    widths: tuple[int, ...] = (784, 512, 512, 10)

    def weights(self) -> Weights:
        """One matrix and one bias per layer."""
        w = Weights()
        for i, (a, b) in enumerate(zip(self.widths, self.widths[1:], strict=False)):
            w.dense(f"dense{i}", a, b)
        return w

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """A batch and its labels."""
        return normal(self.batch, self.widths[0]), labels(self.widths[-1], self.batch)

    def flops(self) -> float:
        """Of one forward pass."""
        pairs = zip(self.widths, self.widths[1:], strict=False)
        return 2.0 * self.batch * sum(a * b for a, b in pairs)

    def train_flops(self) -> float:
        """Of a step; the first layer's input has no gradient."""
        return 3 * self.flops() - 2.0 * self.batch * self.widths[0] * self.widths[1]


@dataclass
class Cnn:
    """The convolutional net of the Keras MNIST example."""

    batch: int = 128
    size: int = 28
    channels: tuple[int, int] = (32, 64)
    hidden: int = 128
    classes: int = 10

    def flat(self) -> int:
        """Elements of an image after pooling."""
        return ((self.size - 4) // 2) ** 2 * self.channels[1]

    def weights(self) -> Weights:
        """Two convolutions, two dense layers."""
        w = Weights()
        w.draw("conv0.w", 3, 3, 1, self.channels[0])
        w.fill("conv0.b", 0, self.channels[0])
        w.draw("conv1.w", 3, 3, *self.channels)
        w.fill("conv1.b", 0, self.channels[1])
        w.dense("dense0", self.flat(), self.hidden)
        w.dense("dense1", self.hidden, self.classes)
        return w

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Images NHWC and labels."""
        return normal(self.batch, self.size, self.size, 1), labels(self.classes, self.batch)

    def train_flops(self) -> float:
        """Of a step; the images have no gradient."""
        first = (self.size - 2) ** 2 * 9 * self.channels[0]
        second = (self.size - 4) ** 2 * 9 * self.channels[0] * self.channels[1]
        dense = self.flat() * self.hidden + self.hidden * self.classes
        return 2.0 * self.batch * (2 * first + 3 * second + 3 * dense)


@dataclass
class Layer:
    """A convolution of a ResNet, followed by batch normalization."""

    name: str
    kernel: int
    inputs: int
    outputs: int
    stride: int


@dataclass
class ResNet:
    """Residual nets: basic blocks on small images, bottlenecks on large ones."""

    batch: int = 64
    size: int = 32
    counts: tuple[int, ...] = (2, 2, 2, 2)
    bottleneck: bool = False
    width: int = 64
    classes: int = 10

    @property
    def big(self) -> bool:
        """Large images have a stem that halves them twice."""
        return self.size > 64

    def layers(self) -> tuple[Layer, list[tuple[Layer | None, list[Layer]]], int]:
        """The stem, the blocks (shortcut or None, body), and the width before the head."""
        kernel, stride = (7, 2) if self.big else (3, 1)
        stem = Layer("stem", kernel, 3, self.width, stride)
        blocks, width = [], self.width
        for stage, count in enumerate(self.counts):
            w = self.width << stage
            out = w * 4 if self.bottleneck else w
            for i in range(count):
                name = f"stage{stage}.{i}"
                stride = 2 if stage and not i else 1
                short = None
                if width != out or stride > 1:
                    short = Layer(f"{name}.short", 1, width, out, stride)
                if self.bottleneck:
                    shapes = [(1, width, w, 1), (3, w, w, stride), (1, w, out, 1)]
                else:
                    shapes = [(3, width, w, stride), (3, w, out, 1)]
                body = [Layer(f"{name}.{k}", *shape) for k, shape in enumerate(shapes)]
                blocks.append((short, body))
                width = out
        return stem, blocks, width

    def all_layers(self) -> list[Layer]:
        """Every convolution, in the order in which it is drawn."""
        stem, blocks, _ = self.layers()
        return [stem, *(y for short, body in blocks for y in [short, *body] if y is not None)]

    def weights(self) -> Weights:
        """Kernels, factors and offsets of the normalizations, running statistics, the head."""
        w = Weights()
        for layer in self.all_layers():
            w.draw(f"{layer.name}.w", layer.kernel, layer.kernel, layer.inputs, layer.outputs)
            w.fill(f"{layer.name}.gamma", 1, layer.outputs)
            w.fill(f"{layer.name}.beta", 0, layer.outputs)
            w.fill(f"{layer.name}.mean", 0, layer.outputs)
            w.fill(f"{layer.name}.var", 1, layer.outputs)
        w.dense("head", self.layers()[2], self.classes)
        return w

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Images NHWC and labels."""
        return normal(self.batch, self.size, self.size, 3), labels(self.classes, self.batch)

    def flops(self) -> float:
        """Of one forward pass."""
        stem, blocks, width = self.layers()

        def work(layer: Layer, size: int) -> int:
            return size**2 * layer.kernel**2 * layer.inputs * layer.outputs

        size = self.size // stem.stride
        total = work(stem, size)
        size = size // 2 if self.big else size
        for short, body in blocks:
            for layer in body:
                size //= layer.stride
                total += work(layer, size)
            total += work(short, size) if short else 0
        return 2.0 * self.batch * (total + width * self.classes)

    def train_flops(self) -> float:
        """Of a step."""
        return 3 * self.flops()


@dataclass
class Lstm:
    """One LSTM layer, its last output through a dense layer."""

    batch: int = 64
    time: int = 100
    features: int = 64
    hidden: int = 128
    classes: int = 10

    def weights(self) -> Weights:
        """Input and recurrent matrices, a bias, the head."""
        w = Weights()
        w.draw("input", self.features, 4 * self.hidden, scale=1 / math.sqrt(self.features))
        w.draw("hidden", self.hidden, 4 * self.hidden, scale=1 / math.sqrt(self.hidden))
        w.fill("bias", 0, 4 * self.hidden)
        w.dense("head", self.hidden, self.classes)
        return w

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Sequences (batch, time, features) and labels."""
        return normal(self.batch, self.time, self.features), labels(self.classes, self.batch)

    def train_flops(self) -> float:
        """Of a step; the sequences have no gradient."""
        steps = self.batch * self.time * 4.0 * self.hidden
        head = self.batch * self.hidden * self.classes
        return 2 * (2 * steps * self.features + 3 * steps * self.hidden + 3 * head)


@dataclass
class Gpt:
    """A decoder with learned positions; norms before attention and before the dense pair."""

    batch: int = 8
    time: int = 128
    vocabulary: int = 1024
    width: int = 256
    heads: int = 4
    layers: int = 4

    def weights(self) -> Weights:
        """Embeddings, blocks, a last norm, the head."""
        w, n = Weights(), self.width
        w.draw("tok", self.vocabulary, n, scale=0.05)
        w.draw("pos", self.time, n, scale=0.05)
        for i in range(self.layers):
            w.norm(f"block{i}.n1", n)
            w.norm(f"block{i}.n2", n)
            w.dense(f"block{i}.qkv", n, 3 * n)
            w.dense(f"block{i}.out", n, n)
            w.dense(f"block{i}.up", n, 4 * n)
            w.dense(f"block{i}.down", 4 * n, n)
        w.norm("norm", n)
        w.draw("head", n, self.vocabulary)
        return w

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens, and others to be foretold."""
        x = labels(self.vocabulary, self.batch, self.time)
        return x, labels(self.vocabulary, self.batch, self.time + 1)[:, 1:].copy()

    def train_flops(self) -> float:
        """Of a step; attention counts the triangle that it needs."""
        dense = self.layers * 12 * self.width**2 + self.width * self.vocabulary
        attention = self.layers * self.time * self.width
        return 6.0 * self.batch * self.time * (dense + attention)


# ---- cases ---------------------------------------------------------------------------------------
@dataclass
class Case:
    """One line of the table.

    Attributes
    ----------
    unit, value
        What is printed, from the seconds of one call.
    better
        "more" or "less".
    flops, bytes
        Of one call: they give the fraction of the machine's limit.
    fraction
        Of that limit, to be reached; 0: the peers alone are the bar.
    limited_by
        What bytes are measured against, a measurement of the driver's.
    sizes
        The model's, or None.
    bars
        How many times as good as each of these frameworks it has to be; none: as good as the
        best of all. Only they and Mica have the case.
    most
        The largest value that is good enough; 0: any.
    """

    name: str
    unit: str
    value: Callable[[float], float]
    better: str = "more"
    flops: float = 0
    bytes: float = 0
    fraction: float = 0
    sizes: Any = None
    tags: tuple[str, ...] = field(default=())
    bars: dict[str, float] = field(default_factory=dict)
    most: float = 0
    limited_by: str = "copy_gbs"

    def frameworks(self, all_of_them: list[str]) -> list[str]:
        """Those of the frameworks that have the case."""
        return [f for f in all_of_them if not self.bars or f == "mica" or f in self.bars]


GELU = 1 << 24
ROWS = 4096
CONV = (8, 56, 64, 3)  # batch, size, channels, kernel
HEADS = (32, 512, 16, 64)
TF_STEPS = 8  # of one call of fit
IMAGES, RECORDS, JPEGS = 60000, 100000, 1000  # of a pass of an input pipeline
CHECKPOINT = 1 << 30  # bytes


def _rate(name: str, work: float, unit: str, **more: Any) -> Case:
    return Case(name, unit, lambda s: work / s / 1e9, **more)


def _flops(name: str, work: float, fraction: float) -> Case:
    return _rate(name, work, "GFLOP/s", flops=work, fraction=fraction)


def _bytes(name: str, work: float) -> Case:
    return _rate(name, work, "GB/s", bytes=work, fraction=0.7)


def _train(name: str, sizes: Any, unit: str = "step/s", per_step: float = 1) -> Case:
    return Case(
        name, unit, lambda s: per_step / s, flops=sizes.train_flops(), sizes=sizes, tags=("train",)
    )


def _latency(name: str, sizes: Any) -> Case:
    return Case(name, "ms", lambda s: s * 1e3, "less", flops=sizes.flops(), sizes=sizes)


def _micro(name: str, **bars: float) -> Case:
    return Case(name, "us/op", lambda s: s * 1e6, "less", bars=bars)


def _pass(name: str, unit: str, count: int, **bars: float) -> Case:
    return Case(name, unit, lambda s: count / s, bars=bars)


def _file(name: str, limited_by: str) -> Case:
    value = lambda s: CHECKPOINT / s / 1e9  # noqa: E731
    more = {"bytes": CHECKPOINT, "fraction": 0.8, "limited_by": limited_by, "bars": {"tf": 1}}
    return Case(name, "GB/s", value, **more)


def _once(name: str, unit: str, **more: Any) -> Case:
    return Case(name, unit, lambda v: v, "less", tags=("process",), **more)


_CONV_FLOPS = 2.0 * CONV[0] * CONV[1] ** 2 * CONV[2] ** 2 * CONV[3] ** 2
_MATRIX = 4.0 * ROWS * ROWS

CASES = {
    case.name: case
    for case in [
        Case("eager_add", "us/op", lambda s: s * 1e6, "less"),
        Case("eager_chain_grad", "us/op", lambda s: s / 20 * 1e6, "less"),
        _flops("matmul_256", 2.0 * 256**3, 0.65),
        _flops("matmul_2048", 2.0 * 2048**3, 0.85),
        _flops("conv_forward", _CONV_FLOPS, 0.6),
        _flops("conv_input_grad", _CONV_FLOPS, 0.6),
        _flops("conv_weight_grad", _CONV_FLOPS, 0.6),
        _bytes("gelu", 2 * 4.0 * GELU),
        _bytes("softmax", 2 * _MATRIX),
        _bytes("layernorm", 2 * _MATRIX),
        _bytes("reduce_rows", _MATRIX),
        _bytes("reduce_columns", _MATRIX),
        _bytes("reduce_all", _MATRIX),
        _bytes("transpose", 2 * _MATRIX),
        _bytes("transpose_heads", 2 * 4.0 * math.prod(HEADS)),
        _train("mlp_train", Mlp()),
        _train("cnn_train", Cnn()),
        _train("resnet18_train", ResNet(), "img/s", 64),
        _train("lstm_train", Lstm()),
        _train("gpt_train", Gpt(), "tok/s", 8 * 128),
        _latency("resnet50_infer", ResNet(1, 224, (3, 4, 6, 3), True, classes=1000)),
        _latency("mlp_infer", Mlp(batch=1)),
        _once("first_result_mlp", "s", sizes=Mlp()),
        _once("first_result_gpt", "s", sizes=Gpt()),
        _once("first_compiled_mlp", "s", sizes=Mlp()),
        _once("first_compiled_gpt", "s", sizes=Gpt()),
        _micro("tf_add", tf=5, torch=1),
        _micro("tf_function", tf=10),
        _micro("tf_function_nested", tf=1),
        Case("tf_tape", "us/op", lambda s: s / 20 * 1e6, "less", bars={"tf": 3}),
        Case(
            "keras_fit",
            "step/s",
            lambda s: 1 / s,
            flops=Cnn().train_flops(),
            sizes=Cnn(),
            bars={"tf": 1},
        ),
        _pass("data_images", "img/s", IMAGES, tf=5, torch=1),
        _pass("data_images_flipped", "img/s", IMAGES, tf=5, torch=1),
        _pass("data_records", "rec/s", RECORDS, tf=10),
        _pass("data_records_batched", "rec/s", RECORDS, tf=1.5),
        _pass("data_jpegs", "img/s", JPEGS, tf=1),
        _file("checkpoint_write", "disk_write_gbs"),
        _file("checkpoint_read", "disk_read_gbs"),
        _once("import", "s"),
        _once("import_tf", "s", bars={"tf": 1}, most=0.15),
        _once("memory_resnet18", "MB", sizes=ResNet()),
        _once("memory_gpt", "MB", sizes=Gpt()),
        _once("installed", "MB"),
        _once("installed_tf", "MB", bars={"tf": 1}),
    ]
}

#: Cases of one process each: the model that it makes a few steps of.
PROCESS_MODELS = {
    "first_result_mlp": "mlp_train",
    "first_result_gpt": "gpt_train",
    "first_compiled_mlp": "mlp_train",
    "first_compiled_gpt": "gpt_train",
    "memory_resnet18": "resnet18_train",
    "memory_gpt": "gpt_train",
}
