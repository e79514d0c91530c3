"""ML Compute: tensors, layers, graphs of layers, inference graphs and training graphs.

    import mlcompute as mlc

    x = mlc.tensor([2, 3], "Float32")
    g = mlc.graph()
    y = g.add_layer(mlc.activation_layer("relu"), [x])
    inference = mlc.inference_graph([g])
    inference.add_inputs({"x": x})
    inference.compile(mlc.device("cpu"))
    inference.execute({"x": array})
    y.numpy()

Names are those of the original in snake case; docs/mlcompute.md lists them. Arrays are bound, not
copied. Enumerations are `enum`s, and every parameter takes a value's name as well ("Float32",
"add", "LogicalAND"). What the library refuses is an exception with the layer's label and shapes.
"""

import importlib.util
import os
import sys

from . import _mlcompute
from ._core import ENUMS, attach_properties
from ._descriptors import (
    activation_descriptor,
    adam_optimizer,
    adamw_optimizer,
    convolution_descriptor,
    embedding_descriptor,
    loss_descriptor,
    lstm_descriptor,
    matmul_descriptor,
    multihead_attention_descriptor,
    optimizer,
    optimizer_descriptor,
    pooling_descriptor,
    rmsprop_optimizer,
    sgd_optimizer,
    yolo_loss_descriptor,
)
from ._graphs import graph, inference_graph, training_graph
from ._layers import (
    activation_layer,
    arithmetic_layer,
    batch_normalization_layer,
    comparison_layer,
    concatenation_layer,
    convolution_layer,
    dropout_layer,
    embedding_layer,
    fully_connected_layer,
    gather_layer,
    gram_matrix_layer,
    group_normalization_layer,
    instance_normalization_layer,
    layer,
    layer_normalization_layer,
    loss_layer,
    lstm_layer,
    matmul_layer,
    multihead_attention_layer,
    padding_layer,
    pooling_layer,
    reduction_layer,
    reshape_layer,
    scatter_layer,
    selection_layer,
    slice_layer,
    softmax_layer,
    split_layer,
    transpose_layer,
    upsample_layer,
    yolo_loss_layer,
)
from ._tensors import (
    device,
    numpy_dtype,
    platform,
    set_mlc_device,
    tensor,
    tensor_data,
    tensor_descriptor,
    tensor_optimizer_device_data,
    tensor_parameter,
)

attach_properties()
globals().update(ENUMS)


def is_apple_mlc_enabled() -> bool:
    """Return whether graphs run on this engine: unless TF_DISABLE_MLC=1 is set."""
    return os.environ.get("TF_DISABLE_MLC", "") in ("", "0")


def is_tf_compiled_with_apple_mlc() -> bool:
    """Return whether this Mica has a TensorFlow that runs on the engine."""
    try:
        return importlib.util.find_spec("mica.tf") is not None
    except ImportError:
        return False


def __dir__():
    return sorted({*__all__, *ENUMS})


def _note(text):
    print(f"mlcompute: {text}", file=sys.stderr)


_mlcompute.mlc_set_note_handler(_note)

__all__ = [
    "activation_descriptor",
    "activation_layer",
    "adam_optimizer",
    "adamw_optimizer",
    "arithmetic_layer",
    "batch_normalization_layer",
    "comparison_layer",
    "concatenation_layer",
    "convolution_descriptor",
    "convolution_layer",
    "device",
    "dropout_layer",
    "embedding_descriptor",
    "embedding_layer",
    "fully_connected_layer",
    "gather_layer",
    "gram_matrix_layer",
    "graph",
    "group_normalization_layer",
    "inference_graph",
    "instance_normalization_layer",
    "is_apple_mlc_enabled",
    "is_tf_compiled_with_apple_mlc",
    "layer",
    "layer_normalization_layer",
    "loss_descriptor",
    "loss_layer",
    "lstm_descriptor",
    "lstm_layer",
    "matmul_descriptor",
    "matmul_layer",
    "multihead_attention_descriptor",
    "multihead_attention_layer",
    "numpy_dtype",
    "optimizer",
    "optimizer_descriptor",
    "padding_layer",
    "platform",
    "pooling_descriptor",
    "pooling_layer",
    "reduction_layer",
    "reshape_layer",
    "rmsprop_optimizer",
    "scatter_layer",
    "selection_layer",
    "set_mlc_device",
    "sgd_optimizer",
    "slice_layer",
    "softmax_layer",
    "split_layer",
    "tensor",
    "tensor_data",
    "tensor_descriptor",
    "tensor_optimizer_device_data",
    "tensor_parameter",
    "training_graph",
    "transpose_layer",
    "upsample_layer",
    "yolo_loss_descriptor",
    "yolo_loss_layer",
    *ENUMS,
]
