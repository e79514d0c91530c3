"""`tf.compat.v1.nn`: functions whose arguments TensorFlow 1 orders or names otherwise.

The rest is `tf.nn`.
"""

from __future__ import annotations

from ... import _dtypes
from ... import nn as _nn
from ..._array import stop_gradient as _stop_gradient
from ..._core import convert_to_tensor as _convert
from ..._core import ops as _ops
from ..._math import cast as _cast
from ..._missing import missing as _missing_name
from ..._partition import dynamic_stitch as _dynamic_stitch
from ..._reduce import bincount as _bincount
from ..._sequences import beam_search as _beam_search
from ..._sparse_tensor import is_sparse as _is_sparse
from ._arguments import either as _either
from ._arguments import needed as _needed

__all__ = [
    "avg_pool",
    "avg_pool2d",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_loss",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "dilation2d",
    "dropout",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fused_batch_norm",
    "in_top_k",
    "log_softmax",
    "max_pool",
    "max_pool_with_argmax",
    "moments",
    "pool",
    "relu_layer",
    "safe_embedding_lookup_sparse",
    "separable_conv2d",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "sufficient_statistics",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
]


def xw_plus_b(x, weights, biases, name=None):
    """Return x times a matrix plus a vector."""
    x = _convert(x)
    product = _ops["MatMul"](x, _convert(weights, x.dtype))
    return _ops["BiasAdd"](product, _convert(biases, x.dtype), name=name)


def relu_layer(x, weights, biases, name=None):
    """Return what is positive of x times a matrix plus a vector, and zero of the rest."""
    return _ops["Relu"](xw_plus_b(x, weights, biases), name=name)


# ---- windows -------------------------------------------------------------------------------------


def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """Return the mean of each window of pictures."""
    value = _either("input", input, "value", value)
    return _nn.avg_pool2d(value, ksize, strides, padding, data_format or "NHWC", name)


avg_pool2d = avg_pool


def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """Return the largest of each window of pictures."""
    value = _either("input", input, "value", value)
    return _nn.max_pool2d(value, ksize, strides, padding, data_format or "NHWC", name)


def max_pool_with_argmax(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    Targmax=None,
    name=None,
    output_dtype=None,
    include_batch_in_index=False,
):
    """Return the largest of each window of pictures, and its place."""
    dtype = _either("output_dtype", output_dtype, "Targmax", Targmax)
    dtype = _dtypes.int64 if dtype is None else dtype
    return _nn.max_pool_with_argmax(
        input, ksize, strides, padding, data_format, dtype, include_batch_in_index, name
    )


def pool(
    input,
    window_shape,
    pooling_type,
    padding,
    dilation_rate=None,
    strides=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """Return the mean or the largest of each window."""
    rate = _either("dilations", dilations, "dilation_rate", dilation_rate)
    return _nn.pool(
        input, window_shape, pooling_type, strides, padding, data_format, rate, name=name
    )


def conv1d(
    value=None,
    filters=None,
    stride=None,
    padding=None,
    use_cudnn_on_gpu=None,
    data_format=None,
    name=None,
    input=None,
    dilations=None,
):
    """Return the convolution of series with filters."""
    value = _either("input", input, "value", value)
    _needed("conv1d", value=value, filters=filters, stride=stride, padding=padding)
    return _nn.conv1d(value, filters, stride, padding, data_format or "NWC", dilations, name)


def conv2d(
    input,
    filter=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=(1, 1, 1, 1),
    name=None,
    filters=None,
):
    """Return the convolution of pictures with filters."""
    filters = _either("filters", filters, "filter", filter)
    _needed("conv2d", filters=filters, padding=padding)
    strides = 1 if strides is None else strides
    dilations = None if dilations is None else _list(dilations)
    return _nn.conv2d(input, filters, strides, padding, data_format or "NHWC", dilations, name)


def _list(values):
    return list(values) if isinstance(values, tuple) else values


def conv2d_transpose(
    value=None,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """Return the transpose of conv2d, which makes pictures larger."""
    filters = _either("filters", filters, "filter", filter)
    value = _either("input", input, "value", value)
    _needed("conv2d_transpose", value=value, filters=filters, output_shape=output_shape)
    return _nn.conv2d_transpose(
        value, filters, output_shape, strides, padding, data_format, dilations, name
    )


def conv3d(
    input,
    filter=None,
    strides=None,
    padding=None,
    data_format="NDHWC",
    dilations=(1, 1, 1, 1, 1),
    name=None,
    filters=None,
):
    """Return the convolution of volumes with filters."""
    filters = _either("filters", filters, "filter", filter)
    _needed("conv3d", filters=filters, strides=strides, padding=padding)
    return _nn.conv3d(input, filters, strides, padding, data_format, _list(dilations), name)


def conv3d_transpose(
    value,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NDHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """Return the transpose of conv3d, which makes volumes larger."""
    filters = _either("filters", filters, "filter", filter)
    value = _either("input", input, "value", value)
    _needed("conv3d_transpose", filters=filters, output_shape=output_shape, strides=strides)
    return _nn.conv3d_transpose(
        value, filters, output_shape, strides, padding, data_format, dilations, name
    )


def convolution(
    input,
    filter,
    padding,
    strides=None,
    dilation_rate=None,
    name=None,
    data_format=None,
    filters=None,
    dilations=None,
):
    """Return the convolution over one, two or three axes."""
    filters = _either("filters", filters, "filter", filter)
    rate = _either("dilations", dilations, "dilation_rate", dilation_rate)
    return _nn.convolution(input, filters, strides, padding, data_format, rate, name)


def depthwise_conv2d(
    input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None
):
    """Return the convolution of each channel with filters of its own."""
    rate = _either("dilations", dilations, "rate", rate)
    return _nn.depthwise_conv2d(input, filter, strides, padding, data_format, rate, name)


def depthwise_conv2d_native(
    input, filter, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None
):
    """Return the convolution of each channel with filters of its own."""
    return _nn.depthwise_conv2d(
        input, filter, strides, padding, data_format, _list(dilations)[1:3], name
    )


def separable_conv2d(
    input,
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    rate=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """Return the convolution of each channel, and one of the channels."""
    rate = _either("dilations", dilations, "rate", rate)
    return _nn.separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, data_format, rate, name
    )


def dilation2d(
    input,
    filter=None,
    strides=None,
    rates=None,
    padding=None,
    name=None,
    filters=None,
    dilations=None,
):
    """Return the largest of input plus filter in each window."""
    filters = _either("filters", filters, "filter", filter)
    rates = _either("dilations", dilations, "rates", rates)
    _needed("dilation2d", filters=filters, strides=strides, rates=rates, padding=padding)
    return _nn.dilation2d(input, filters, strides, padding, "NHWC", rates, name)


def erosion2d(value, kernel, strides, rates, padding, name=None):
    """Return the smallest of input less the mirrored filter in each window."""
    return _nn.erosion2d(value, kernel, strides, padding, "NHWC", rates, name)


def depth_to_space(input, block_size, name=None, data_format="NHWC"):
    """Return pictures whose channels have become squares of pixels."""
    return _nn.depth_to_space(input, block_size, data_format, name)


def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    """Return pictures whose squares of pixels have become channels."""
    return _nn.space_to_depth(input, block_size, data_format, name)


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """Return pictures whose squares of pixels have become pictures of the batch."""
    shape = _either("block_shape", block_shape, "block_size", block_size)
    shape = [shape, shape] if isinstance(shape, int) else shape
    return _nn.space_to_batch(input, shape, paddings, name)


# ---- activations, losses, normalization ----------------------------------------------------------


def softmax(logits, axis=None, name=None, dim=None):
    """Return e^x divided by its sum along an axis."""
    return _nn.softmax(logits, _either("axis", axis, "dim", dim), name)


def log_softmax(logits, axis=None, name=None, dim=None):
    """Return the logarithm of softmax along an axis."""
    return _nn.log_softmax(logits, _either("axis", axis, "dim", dim), name)


def crelu(features, name=None, axis=-1):
    """Return relu of x and of -x, side by side."""
    return _nn.crelu(features, axis, name)


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Return x with some elements 0 and the others larger; each is kept with `keep_prob`."""
    if keep_prob is not None and rate is not None:
        raise ValueError("Cannot specify both 'keep_prob' and 'rate'.")
    if keep_prob is None and rate is None:
        raise ValueError(f"`rate` must be a scalar in the range [0, 1). Received: rate={rate}")
    return _nn.dropout(x, 1 - keep_prob if rate is None else rate, noise_shape, seed, name)


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    """Return the cross entropy of softmax(logits) for each row of probabilities."""
    axis = _either("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    return _nn.softmax_cross_entropy_with_logits(labels, logits, axis, name)


def softmax_cross_entropy_with_logits(labels=None, logits=None, dim=-1, name=None, axis=None):
    """Return the cross entropy of softmax(logits); no gradient goes to the labels."""
    labels, logits = _needed("softmax_cross_entropy_with_logits", labels=labels, logits=logits)
    along = dim if axis is None else axis
    labels = _stop_gradient(_convert(labels))
    return _nn.softmax_cross_entropy_with_logits(labels, logits, along, name)


def sparse_softmax_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """Return the cross entropy of softmax(logits) for each class."""
    function = "sparse_softmax_cross_entropy_with_logits"
    labels, logits = _needed(function, labels=labels, logits=logits)
    return _nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name)


def weighted_cross_entropy_with_logits(
    labels=None, logits=None, pos_weight=None, name=None, targets=None
):
    """Return the cross entropy of sigmoid(logits), where true labels count `pos_weight` times."""
    labels = _either("labels", labels, "targets", targets)
    function = "weighted_cross_entropy_with_logits"
    given = _needed(function, labels=labels, logits=logits, pos_weight=pos_weight)
    return _nn.weighted_cross_entropy_with_logits(*given, name=name)


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """Return mean and variance over axes."""
    keep = _either("keepdims", keepdims, "keep_dims", keep_dims)
    return _nn.moments(x, axes, shift, bool(keep), name)


def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """Return weighted mean and variance over axes."""
    keep = _either("keepdims", keepdims, "keep_dims", keep_dims)
    return _nn.weighted_moments(x, axes, frequency_weights, bool(keep), name)


def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """Return count, sum, sum of squares over axes, and the shift."""
    keep = _either("keepdims", keepdims, "keep_dims", keep_dims)
    return _nn.sufficient_statistics(x, axes, shift, bool(keep), name)


def fused_batch_norm(
    x,
    scale,
    offset,
    mean=None,
    variance=None,
    epsilon=0.001,
    data_format="NHWC",
    is_training=True,
    name=None,
    exponential_avg_factor=1.0,
):
    """Return (pictures normalized by channel, the mean and the variance that come of it)."""
    x, scale, offset = _convert(x), _convert(scale), _convert(offset)
    whole = _ops["ZerosLike"](scale)
    mean = whole if mean is None else _convert(mean)
    variance = whole if variance is None else _convert(variance)
    found = _ops["FusedBatchNormV3"](
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return tuple(found[:3])


def in_top_k(predictions, targets, k, name=None):
    """Return whether each target is among the k largest of its row of predictions."""
    return _nn.in_top_k(targets, predictions, k, name)


# ---- tables --------------------------------------------------------------------------------------


def _whole(params, partition_strategy: str):
    """A table's parts in the order that makes `div` of what was cut by `mod`."""
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
    if partition_strategy == "div" or not isinstance(params, list | tuple) or len(params) == 1:
        return params
    parts = [_convert(part) for part in params]
    rows = [part.shape[0] for part in parts]
    if None in rows:
        raise ValueError("partition_strategy 'mod' needs parts with a known number of rows")
    places = [[i + len(parts) * row for row in range(n)] for i, n in enumerate(rows)]
    if max(rows) - min(rows) > 1 or rows != sorted(rows, reverse=True):
        raise ValueError(f"parts cut by 'mod' have even numbers of rows, not {rows}")
    return _dynamic_stitch(places, parts)


def embedding_lookup(
    params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None
):
    """Return the rows of a table that ids name."""
    return _nn.embedding_lookup(_whole(params, partition_strategy), ids, max_norm, name)


def embedding_lookup_sparse(
    params,
    sp_ids,
    sp_weights,
    partition_strategy="mod",
    name=None,
    combiner=None,
    max_norm=None,
    allow_fast_lookup=False,
):
    """Return, for each row of ids, the combined rows of a table."""
    table = _whole(params, partition_strategy)
    return _nn.embedding_lookup_sparse(
        table, sp_ids, sp_weights, combiner, max_norm, name, allow_fast_lookup
    )


def safe_embedding_lookup_sparse(
    embedding_weights,
    sparse_ids,
    sparse_weights=None,
    combiner="mean",
    default_id=None,
    name=None,
    partition_strategy="div",
    max_norm=None,
    allow_fast_lookup=False,
):
    """Return, for each row of ids, the combined rows of a table; rows without any have zeros."""
    return _nn.safe_embedding_lookup_sparse(
        _whole(embedding_weights, partition_strategy),
        sparse_ids,
        sparse_weights,
        combiner,
        default_id,
        max_norm,
        name,
        allow_fast_lookup,
    )


# ---- sequences -----------------------------------------------------------------------------------


def ctc_beam_search_decoder(
    inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True
):
    """Return the likeliest label sequences, and the logarithms of their probabilities."""
    return _beam_search(inputs, sequence_length, beam_width, top_paths, merge_repeated)


def ctc_loss(
    labels,
    inputs=None,
    sequence_length=None,
    preprocess_collapse_repeated=False,
    ctc_merge_repeated=True,
    ignore_longer_outputs_than_inputs=False,
    time_major=True,
    logits=None,
):
    """Return -log of the probability of each sequence of labels; the last class is the blank."""
    inputs = _either("logits", logits, "inputs", inputs)
    _needed("ctc_loss", inputs=inputs, sequence_length=sequence_length)
    if not _is_sparse(labels):
        raise TypeError("Expected argument `labels` to be a SparseTensor.")
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise NotImplementedError(
            "tf.compat.v1.nn.ctc_loss: preprocess_collapse_repeated=False and "
            "ctc_merge_repeated=True are there, the others are not: prepare the labels with "
            "tf.nn.collapse_repeated"
        )
    losses = _nn.ctc_loss(
        labels, inputs, None, sequence_length, logits_time_major=time_major, blank_index=-1
    )
    if ignore_longer_outputs_than_inputs:
        rows = _cast(labels.dense_shape[0], _dtypes.int32)
        lengths = _bincount(_cast(labels.indices[:, 0], _dtypes.int32), minlength=rows)
        fits = _ops["LessEqual"](lengths, _cast(sequence_length, _dtypes.int32))
        losses = _ops["SelectV2"](fits, losses, _ops["ZerosLike"](losses))
    return losses


_RENAMED = {
    "avg_pool_v2": "avg_pool",
    "ctc_beam_search_decoder_v2": "ctc_beam_search_decoder",
    "ctc_loss_v2": "ctc_loss",
    "max_pool_v2": "max_pool",
}


def __getattr__(name: str):
    name = _RENAMED.get(name, name)
    if not name.startswith("_"):
        try:
            return getattr(_nn, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in dir(_nn) if not n.startswith("_"))})
