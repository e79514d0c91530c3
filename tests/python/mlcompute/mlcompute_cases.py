"""The cases of tests/nn/golden.txt.gz as layers of mlcompute."""

import sys
from dataclasses import dataclass, field

import mlcompute as mlc
import numpy as np
from house import ROOT

sys.path.insert(0, str(ROOT / "tests/oracle"))
from golden_format import Case, read

CASES = {case.name: case for case in read()}
# What mica/nn.h has and ML Compute has not: other layouts, other formulas.
WITHOUT_LAYER = {"gelu_erf", "attention", "loss_softmax_cross_entropy_classes"}
WITHOUT_SETTING = {"channels_last", "output_padding"}


def names(*kinds: str) -> list[str]:
    """Cases of functions that have a layer; of all when none is named."""
    return [
        name
        for name, case in CASES.items()
        if name not in WITHOUT_LAYER
        and not WITHOUT_SETTING & set(case.settings)
        and (not kinds or case.kind in kinds)
    ]


def as_f32(array: np.ndarray) -> np.ndarray:
    """Floats as Float32; others as they are; always a new array."""
    return np.array(array, np.float32 if array.dtype.kind == "f" else None, order="C")


def data_type(array: np.ndarray) -> str:
    return {"f": "Float32", "i": "Int32", "b": "Boolean"}[array.dtype.kind]


@dataclass
class Built:
    """A layer, its sources by operand name in order, and its weights by operand name."""

    case: Case
    layer: mlc.layer = None
    sources: dict[str, mlc.tensor] = field(default_factory=dict)
    weights: dict[str, mlc.tensor] = field(default_factory=dict)
    labels: dict[str, mlc.tensor] = field(default_factory=dict)

    def array(self, name: str) -> np.ndarray:
        return as_f32(self.case.tensors["in." + name])

    def has(self, name: str) -> bool:
        return "in." + name in self.case.tensors

    def source(self, *found: str) -> None:
        for name in found:
            array = self.array(name)
            self.sources[name] = mlc.tensor(list(array.shape), data_type(array))

    def weight(self, name: str, shape: list[int] | None = None) -> mlc.tensor | None:
        if not self.has(name):
            return None
        array = self.array(name)
        made = mlc.tensor(shape or list(array.shape), data_type(array), data=array)
        self.weights[name] = made
        return made

    def number(self, name: str, otherwise: float = 0) -> float:
        return float(self.case.settings.get(name, [otherwise])[0])

    def integer(self, name: str, otherwise: int = 0) -> int:
        return int(self.case.settings.get(name, [otherwise])[0])

    def flag(self, name: str, otherwise: bool = False) -> bool:
        return bool(self.integer(name, int(otherwise)))

    def integers(self, name: str) -> list[int] | None:
        given = self.case.settings.get(name)
        return None if given is None else [int(float(v)) for v in given]


def build_activation(b: Built) -> None:
    b.source("x")
    constants = (b.number(name, 1) for name in "abc")
    b.layer = mlc.activation_layer(mlc.activation_descriptor(b.integer("kind"), *constants))


def build_softmax(b: Built) -> None:
    b.source("x")
    operation = "Softmax" if b.case.kind == "softmax" else "LogSoftmax"
    b.layer = mlc.softmax_layer(operation, b.integer("axis") % 4)


def build_arithmetic(b: Built) -> None:
    b.source(*b.case.group("in"))
    b.layer = mlc.arithmetic_layer(b.integer("kind"))


def build_comparison(b: Built) -> None:
    b.source(*b.case.group("in"))
    b.layer = mlc.comparison_layer(b.integer("kind"))


def build_where(b: Built) -> None:
    b.source("condition", "x", "y")
    b.layer = mlc.selection_layer()


def build_reduce(b: Built) -> None:
    b.source("x")
    b.layer = mlc.reduction_layer(b.integer("kind"), dimensions=b.integers("axes"))


def build_gather(b: Built) -> None:
    b.source("x", "indices")
    b.layer = mlc.gather_layer(b.integer("axis"))


def build_scatter(b: Built) -> None:
    b.source("updates", "indices", "x")
    b.layer = mlc.scatter_layer(b.integer("axis"), "Sum" if b.flag("adds") else "None")


def build_pad(b: Built) -> None:
    b.source("x")
    low, high = b.integers("low"), b.integers("high")
    kind = mlc.padding_type(b.integer("kind"))
    value = b.number("value") if kind.name == "CONSTANT" else None
    b.layer = mlc.padding_layer(kind, [low[2], high[2], low[3], high[3]], value)


def build_resize(b: Built) -> None:
    b.source("x")
    mode = "Linear" if b.flag("linear") else "Nearest"
    b.layer = mlc.upsample_layer(b.integers("sizes"), mode, b.flag("aligned"))


def build_matmul(b: Built) -> None:
    b.source("x", "y")
    flags = (b.flag("transposes_x"), b.flag("transposes_y"))
    b.layer = mlc.matmul_layer(mlc.matmul_descriptor(b.number("alpha", 1), *flags))


def build_fully_connected(b: Built) -> None:
    b.source("input")
    out, channels = b.array("weight").shape
    descriptor = mlc.convolution_descriptor.descriptor(1, 1, channels, out)
    b.layer = mlc.fully_connected_layer(b.weight("weight"), b.weight("bias"), descriptor)


def build_gram(b: Built) -> None:
    b.source("x")
    b.layer = mlc.gram_matrix_layer(b.number("scale"))


def build_conv(b: Built) -> None:
    b.source("input")
    kind, groups = b.integer("kind"), b.integer("groups", 1)
    first, second, *kernel = b.array("weight").shape
    out, channels = (second * groups, first) if kind == 1 else (first, second * groups)
    strides, dilations = b.integers("strides"), b.integers("dilations")
    padding = (b.integer("policy", 1), b.integers("padding"))
    if kind == 2:
        channels = b.array("input").shape[1]
        descriptor = mlc.convolution_descriptor.depthwise_convolution_descriptor(
            None, None, channels, out // channels, kernel_sizes=kernel, strides=strides,
            dilation_rates=dilations, padding_policy=padding[0], padding_sizes=padding[1],
        )  # fmt: skip
    else:
        descriptor = mlc.convolution_descriptor(
            kind, kernel, channels, out, groups, strides, dilations, *padding
        )
    weights = b.weight("weight", [1, first * second, *kernel])
    b.layer = mlc.convolution_layer(weights, b.weight("bias"), descriptor)


def build_pool(b: Built) -> None:
    b.source("x")
    policy, padding = b.integer("policy", 1), b.integers("padding")
    window, strides, dilations = (b.integers(k) for k in ("window", "strides", "dilations"))
    kind = mlc.pooling_type(b.integer("kind"))
    d = mlc.pooling_descriptor
    if kind.name == "MAX":
        made = d.max_pooling_descriptor(window, strides, policy, padding, dilations)
    elif kind.name == "AVERAGE":
        counts = b.flag("count_includes_padding")
        made = d.average_pooling_descriptor(window, strides, policy, padding, counts, dilations)
    else:
        made = d.l2_norm_pooling_descriptor(window, strides, policy, padding, dilations)
    b.layer = mlc.pooling_layer(made)


def build_norm(b: Built) -> None:
    b.source("x")
    epsilon = b.number("epsilon", 1e-5)
    beta, gamma = b.weight("beta"), b.weight("gamma")
    channels = b.array("x").shape[1]
    if b.case.kind == "layer_norm":
        b.layer = mlc.layer_normalization_layer(b.integers("shape"), beta, gamma, epsilon)
    elif b.case.kind == "group_norm":
        groups = b.integer("groups")
        b.layer = mlc.group_normalization_layer(channels, groups, beta, gamma, epsilon)
    elif b.case.kind == "instance_norm":
        momentum = b.number("momentum", 0.99)
        mean, variance = b.weight("mean"), b.weight("variance")
        b.layer = mlc.instance_normalization_layer(
            channels, beta, gamma, epsilon, momentum, mean, variance
        )
    else:
        momentum = b.number("momentum", 0.99)
        mean, variance = b.weight("mean"), b.weight("variance")
        b.layer = mlc.batch_normalization_layer(
            channels, mean, variance, beta, gamma, epsilon, momentum
        )


def build_embedding(b: Built) -> None:
    b.source("indices")
    count, size = b.array("weights").shape
    padding = b.integer("padding_index", -1)
    descriptor = mlc.embedding_descriptor(
        count,
        size,
        None if padding < 0 else padding,
        b.number("maximum_norm") or None,
        b.number("p_norm", 2),
        b.flag("scales_gradient_by_frequency"),
    )
    b.layer = mlc.embedding_layer(descriptor, b.weight("weights"))


def build_lstm(b: Built, mode: str = "OutputAndStates") -> None:
    b.source("x")
    layers, directions = b.integer("layers"), 1 + b.integer("bidirectional")
    count = 4 * layers * directions

    def parts(letter: str) -> list | None:
        found = [b.weight(f"{letter}{k}") for k in range(count)]
        return None if found[0] is None else found

    if b.has("h0"):
        b.source("h0", "c0")
    if b.has("lengths"):
        b.source("lengths")
    features = b.array("x").shape[2]
    descriptor = mlc.lstm_descriptor(
        features, b.integer("hidden"), layers, b.has("b0"), directions == 2, 0.0, True,
        b.flag("sequences", True), mode,
    )  # fmt: skip
    gates, output = b.integers("gates"), b.integer("output", 5)
    plain = gates == [3, 3, 5, 3] and output == 5
    b.layer = mlc.lstm_layer(
        descriptor,
        parts("w"),
        parts("u"),
        parts("b"),
        parts("v"),
        None if plain else [mlc.activation_descriptor(kind) for kind in gates],
        None if plain else mlc.activation_descriptor(output),
    )


def build_attention(b: Built) -> None:
    b.source("query", "key", "value")
    for mask in ("key_mask", "mask"):
        if b.has(mask):
            b.source(mask)
    weights = [b.weight(f"w{p}") for p in "qkvo"]
    biases = [b.weight(f"b{p}") for p in "qkvo"] if b.has("bq") else None
    attention = [b.weight("bias_k"), b.weight("bias_v")] if b.has("bias_k") else None
    descriptor = mlc.multihead_attention_descriptor(
        b.array("query").shape[2], b.integer("heads"), b.array("key").shape[2],
        b.array("value").shape[2], 0.0, biases is not None, attention is not None, b.flag("zero"),
    )  # fmt: skip
    b.layer = mlc.multihead_attention_layer(descriptor, weights, biases, attention)


def build_loss(b: Built) -> None:
    b.source("x")
    array = b.array("labels")
    b.labels["labels"] = mlc.tensor(list(array.shape), data_type(array))
    kind = b.integer("kind")
    descriptor = mlc.loss_descriptor(
        kind, b.integer("reduction", 2), b.number("weight", 1), b.number("smoothing"),
        array.shape[1] if kind in (2, 4) else 1, b.number("epsilon", 1e-7), b.number("delta", 1),
    )  # fmt: skip
    weights = b.weight("weights")
    if weights is not None:  # they stand in the place of the scalar
        weights.numpy()[:] *= np.float32(b.number("weight", 1))
    b.layer = mlc.loss_layer(descriptor, weights)


def build_yolo(b: Built) -> None:
    b.source("x")
    array = b.array("labels")
    b.labels["labels"] = mlc.tensor(list(array.shape))
    anchors = np.array([float(v) for v in b.case.settings["anchors"]], np.float32)
    descriptor = mlc.yolo_loss_descriptor(anchors.reshape(-1, 2))
    scales = [float(v) for v in b.case.settings["scales"]]
    descriptor.should_rescore = b.flag("rescores")
    descriptor.scale_spatial_position_loss = scales[0]
    descriptor.scale_spatial_size_loss = scales[1]
    descriptor.scale_no_object_confidence_loss = scales[2]
    descriptor.scale_object_confidence_loss = scales[3]
    descriptor.scale_class_loss = scales[4]
    b.layer = mlc.yolo_loss_layer(descriptor)


BUILDERS = {
    "activation": build_activation,
    "softmax": build_softmax,
    "log_softmax": build_softmax,
    "arithmetic": build_arithmetic,
    "comparison": build_comparison,
    "where": build_where,
    "reduce": build_reduce,
    "gather": build_gather,
    "scatter": build_scatter,
    "pad": build_pad,
    "resize": build_resize,
    "matmul": build_matmul,
    "fully_connected": build_fully_connected,
    "gram_matrix": build_gram,
    "conv2d": build_conv,
    "pool2d": build_pool,
    "batch_norm": build_norm,
    "batch_norm_inference": build_norm,
    "instance_norm": build_norm,
    "group_norm": build_norm,
    "layer_norm": build_norm,
    "embedding": build_embedding,
    "lstm": build_lstm,
    "multihead_attention": build_attention,
    "loss": build_loss,
    "yolo": build_yolo,
}


def build(name: str) -> Built:
    """The case's layer with fresh tensors."""
    built = Built(CASES[name])
    BUILDERS[built.case.kind](built)
    return built
