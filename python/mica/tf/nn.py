"""tf.nn: activations, losses, normalisation, embeddings. Windows are in _windows.py."""
# ruff: noqa: F401

from __future__ import annotations

import importlib as _importlib

from .. import _mica
from . import _dispatch, _dtypes
from . import random as _random
from ._array import (
    concat,
    gather,
    ones_like,
    reshape,
    shape,
    size,
    stack,
    stop_gradient,
    transpose,
    where,
    zeros_like,
)
from ._context import executing_eagerly
from ._core import Tensor, convert_to_tensor, ops
from ._elementwise import clip_by_norm, softsign
from ._math import cast, reduce_mean, reduce_sum, sigmoid, tanh
from ._missing import missing as _missing
from ._missing import namespace as _namespace
from ._partition import dynamic_partition, dynamic_stitch
from ._patches import dilation2d, erosion2d, max_pool_with_argmax
from ._reduce import in_top_k, reduce_logsumexp, reduce_max, top_k, zero_fraction
from ._refusals import refusal
from ._select import batch_to_space, one_hot, space_to_batch
from ._sequences import (
    collapse_repeated,
    ctc_beam_search_decoder,
    ctc_greedy_decoder,
    ctc_loss,
    ctc_unique_labels,
)
from ._static import of_rank, static_value
from ._windows import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    conv_transpose,
    convolution,
    depth_to_space,
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    pool,
    separable_conv2d,
    space_to_depth,
)
from .errors import InvalidArgumentError

relu = ops["Relu"]
relu6 = ops["Relu6"]
elu = ops["Elu"]
selu = ops["Selu"]
softplus = ops["Softplus"]


def leaky_relu(features, alpha=0.2, name=None):
    """Return x where x > 0, else alpha x."""
    x = convert_to_tensor(features)
    if x.dtype.is_integer:
        x = cast(x, _dtypes.float32)
    return ops["LeakyRelu"](x, alpha=float(alpha), name=name)


def silu(features, beta=1.0):
    """Return x sigmoid(beta x)."""
    x = convert_to_tensor(features)
    return x * sigmoid(cast(beta, x.dtype) * x)


swish = silu


def gelu(features, approximate=False, name=None):
    """Return x times the normal distribution function of x, by erf or by tanh."""
    x = convert_to_tensor(features)

    def number(value):
        return convert_to_tensor(value, x.dtype)

    # As in TensorFlow these two constants have the precision of float32.
    if approximate:
        inner = number(0.7978845608028654) * (x + cast(0.044715, x.dtype) * x * x * x)
        return number(0.5) * x * (number(1.0) + tanh(inner))
    root = cast(0.7071067811865476, x.dtype)
    return number(0.5) * x * (number(1.0) + ops["Erf"](x * root))


def crelu(features, axis=-1, name=None):
    """Return relu of x and of -x, side by side."""
    x = convert_to_tensor(features)
    return relu(concat([x, -x], axis))


def _place_of(axis: int, rank: int | None) -> int:
    """An axis that is not the last, counted from the front."""
    if rank is None:
        raise ValueError("the rank of the logits must be known when axis is not the last")
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            None,
            None,
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of "
            f"dimensions in the input. Received: dim={axis}",
        )
    return axis % rank


def _along_last(op: str, logits, axis):
    x = convert_to_tensor(logits)
    rank = x.shape.rank
    if axis is None or axis == -1 or (rank is not None and axis == rank - 1):
        return ops[op](x)
    axis = _place_of(axis, rank)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return transpose(ops[op](transpose(x, order)), order)


def softmax(logits, axis=None, name=None):
    """Return e^x divided by its sum along an axis."""
    return _along_last("Softmax", logits, axis)


def log_softmax(logits, axis=None, name=None):
    """Return the logarithm of softmax along an axis."""
    return _along_last("LogSoftmax", logits, axis)


# ---- losses --------------------------------------------------------------------------------------


def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):
    """Return -sum(labels log_softmax(logits)) along an axis.

    As in TensorFlow the gradient of the logits is softmax(logits) - labels, also where the labels
    do not sum to 1.
    """
    logits = convert_to_tensor(logits)
    given, rank = logits.dtype, logits.shape.rank
    if given in (_dtypes.float16, _dtypes.bfloat16):
        logits = cast(logits, _dtypes.float32)
    labels = cast(labels, logits.dtype)
    if axis < -1:
        raise refusal(f"softmax_cross_entropy_with_logits: axis must be at least -1, not {axis}")
    if axis != -1 and axis != (rank or 0) - 1:
        order = _order_to_last(logits, axis)
        logits, labels = transpose(logits, order), transpose(labels, order)
    sizes = shape(logits)
    logits, labels = _as_rows(logits), _as_rows(labels)
    loss = ops["SoftmaxCrossEntropyWithLogits"](logits, labels, name=name)[0]
    return cast(loss if rank == 2 else ops["Reshape"](loss, sizes[:-1]), given)


def _order_to_last(x, axis: int):
    """The order of axes in which one becomes the last."""
    rank = x.shape.rank
    if rank is not None:
        axis = _place_of(axis, rank)
        return [*range(axis), *range(axis + 1, rank), axis]
    rank = ops["Rank"](x)
    axis = axis if axis >= 0 else rank + axis
    order = [ops["Range"](0, axis, 1), ops["Range"](axis + 1, rank, 1), stack([axis])]
    return concat(order, 0)


def _as_rows(x):
    """A tensor as a matrix, with its last axis as it is."""
    if x.shape.rank == 2:
        return x
    sizes = shape(x)
    return ops["Reshape"](x, stack([ops["Prod"](sizes[:-1], 0), sizes[-1]]))


def _check_labels(labels, logits) -> None:
    """Refuse labels out of range, in TensorFlow's words, where they are known."""
    if not (isinstance(labels, _mica.TFEagerTensor) and isinstance(logits, _mica.TFEagerTensor)):
        return
    values = labels.numpy()
    wrong = values[(values < 0) | (values >= logits.shape[-1])] if values.size else values
    if wrong.size:
        raise InvalidArgumentError(
            None,
            None,
            f"Received a label value of {wrong.ravel()[0]} which is outside the valid range of "
            f"[0, {logits.shape[-1]}).  Label values: {' '.join(map(str, values.ravel()))} "
            "[Op:SparseSoftmaxCrossEntropyWithLogits]",
        )


def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None):
    """Return -log_softmax(logits) at the label of each row.

    A label out of range is an error, and NaN on devices that do not check.
    """
    labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
    ranks = labels.shape.rank, logits.shape.rank
    if None not in ranks and ranks[0] != ranks[1] - 1:
        raise ValueError(
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
            f"labels.shape={labels.shape} of rank {ranks[0]} and logits.shape={logits.shape} of "
            f"rank {ranks[1]}"
        )
    if None not in ranks and not labels.shape.is_compatible_with(logits.shape[:-1]):
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
            f"labels.shape={labels.shape} and logits.shape={logits.shape}"
        )
    _check_labels(labels, logits)
    narrow = logits.dtype in (_dtypes.float16, _dtypes.bfloat16)
    precise = cast(logits, _dtypes.float32) if narrow else logits
    numbers = labels if labels.dtype in (_dtypes.int32, _dtypes.int64) else cast(labels, "int64")
    if ranks != (1, 2):
        numbers = ops["Reshape"](numbers, [-1])
    loss = ops["SparseSoftmaxCrossEntropyWithLogits"](_as_rows(precise), numbers, name=name)[0]
    if ranks != (1, 2):
        loss = ops["Reshape"](loss, shape(labels))
    loss = cast(loss, logits.dtype)
    loss.set_shape(labels.shape)
    if logits.shape.rank is not None:
        loss.set_shape(logits.shape[:-1])
    return loss


def _check_same_shape(name: str, x, other: str, y) -> None:
    if not x.shape.is_compatible_with(y.shape):
        raise ValueError(
            f"`{name}` and `{other}` must have the same shape, received ({x.shape} vs {y.shape})."
        )


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """Return -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x))."""
    x = convert_to_tensor(logits)
    y = convert_to_tensor(labels, dtype_hint=x.dtype)
    _check_same_shape("logits", x, "labels", y)
    zero = zeros_like(x)
    positive = x >= zero
    return where(positive, x, zero) - x * y + ops["Log1p"](ops["Exp"](where(positive, -x, x)))


def weighted_cross_entropy_with_logits(labels, logits, pos_weight, name=None):
    """Return sigmoid cross entropy, positive labels with a weight."""
    x = convert_to_tensor(logits)
    y = convert_to_tensor(labels, dtype_hint=x.dtype)
    _check_same_shape("logits", x, "labels", y)
    weight = 1 + (pos_weight - 1) * y
    return (1 - y) * x + weight * (ops["Log1p"](ops["Exp"](-ops["Abs"](x))) + relu(-x))


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """Return e^x - x z, with Stirling's term on request."""
    x = convert_to_tensor(log_input)
    z = convert_to_tensor(targets, dtype_hint=x.dtype)
    _check_same_shape("log_input", x, "targets", z)
    loss = ops["Exp"](x) - x * z
    if not compute_full_loss:
        return loss
    stirling = z * ops["Log"](z) - z + 0.5 * ops["Log"](6.283185307179586 * z)
    inside = ops["LogicalAnd"](z >= zeros_like(z), z <= ones_like(z))
    return loss + where(inside, zeros_like(z), stirling)


def l2_loss(t, name=None):
    """Return half the sum of squares."""
    t = convert_to_tensor(t)
    return reduce_sum(t * t) * convert_to_tensor(0.5, t.dtype)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """Return x divided by its norm along axes; `dim` is an older name of `axis`."""
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'dim' and 'axis'.")
    axis = dim if axis is None else axis
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        squares = ops["Real"](x * ops["Conj"](x), Tout=x.dtype.real_dtype)
        total = ops["Maximum"](reduce_sum(squares, axis, True), epsilon)
        return x * cast(ops["Rsqrt"](total), x.dtype)
    total = reduce_sum(ops["Square"](x), axis, True)
    return x * ops["Rsqrt"](ops["Maximum"](total, epsilon))


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """Return the sum of losses over the batch size."""
    losses = convert_to_tensor(per_example_loss)
    if losses.shape.rank == 0:
        raise ValueError("`per_example_loss` must have at least rank 1, not 0")
    known = None if global_batch_size is None else static_value(global_batch_size)
    if known is not None and known.ndim == 0 and known < 0:
        raise InvalidArgumentError(
            None, None, f"global_batch_size must be non-negative, not {known}"
        )
    given = losses.dtype
    if sample_weight is not None:
        weighted = cast(losses, _dtypes.float32) * cast(sample_weight, _dtypes.float32)
        losses = cast(weighted, given)
    if global_batch_size is None:
        count = shape(losses)[0]
    else:
        count = global_batch_size
    return reduce_sum(losses) / cast(count, losses.dtype)


def scale_regularization_loss(regularization_loss):
    """Return the sum of regularization losses, for one replica."""
    total = reduce_sum(convert_to_tensor(regularization_loss))
    return total / ops["OnesLike"](total)


# ---- normalisation -------------------------------------------------------------------------------


def bias_add(value, bias, data_format=None, name=None):
    """Return the value with a bias for each channel added."""
    first = data_format is not None and data_format.startswith("NC")
    return ops["BiasAdd"](value, bias, data_format="NCHW" if first else "NHWC", name=name)


def moments(x, axes, shift=None, keepdims=False, name=None):
    """Return mean and variance over axes."""
    x = convert_to_tensor(x)
    y = cast(x, _dtypes.float32) if x.dtype in (_dtypes.float16, _dtypes.bfloat16) else x
    mean = reduce_mean(y, axes, True)
    difference = y - stop_gradient(mean)
    variance = reduce_mean(ops["Square"](difference), axes, keepdims)
    if not keepdims:
        mean = ops["Reshape"](mean, shape(variance))
    return cast(mean, x.dtype), cast(variance, x.dtype)


def weighted_moments(x, axes, frequency_weights, keepdims=False, name=None):
    """Return weighted mean and variance over axes."""
    x = convert_to_tensor(x)
    given = x.dtype
    if given == _dtypes.float16:
        x = cast(x, _dtypes.float32)
    weights = cast(frequency_weights, x.dtype)
    whole = weights + zeros_like(x)
    total = reduce_sum(whole, axes, True)
    mean = ops["DivNoNan"](reduce_sum(weights * x, axes, True), total)
    spread = ops["SquaredDifference"](x, mean)
    variance = ops["DivNoNan"](reduce_sum(weights * spread, axes, True), total)
    if not keepdims:
        final = reduce_sum(whole, axes)
        mean, variance = reshape(mean, shape(final)), reshape(variance, shape(final))
        mean.set_shape(final.shape)
        variance.set_shape(final.shape)
    return cast(mean, given), cast(variance, given)


def sufficient_statistics(x, axes, shift=None, keepdims=False, name=None):
    """Return count, sum and sum of squares over axes, and the shift."""
    x = convert_to_tensor(x)
    if x.shape.rank is not None:
        x.shape.as_list()[max(axes, default=-1)]  # an IndexError where there is no such axis
        axes = sorted({a % x.shape.rank for a in axes})
    count = convert_to_tensor(1, x.dtype)
    for a in axes:
        count = count * cast(shape(x)[a], x.dtype)
    if shift is not None:
        shift = convert_to_tensor(shift, x.dtype if executing_eagerly() else None)
        x = x - shift
    total = reduce_sum(x, axes, keepdims)
    return count, total, reduce_sum(ops["Square"](x), axes, keepdims), shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Return mean and variance from sufficient statistics."""
    divisor = ops["Reciprocal"](convert_to_tensor(counts))
    mean_ss, variance_ss = convert_to_tensor(mean_ss), convert_to_tensor(variance_ss)
    if shift is None:
        mean = shifted = mean_ss * divisor
    else:
        shifted = mean_ss * divisor
        mean = shifted + shift
    return mean, variance_ss * divisor - ops["Square"](shifted)


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """Return (x - mean) / sqrt(variance + epsilon), scaled and moved."""
    x = convert_to_tensor(x)
    inverse = ops["Rsqrt"](convert_to_tensor(variance) + variance_epsilon)
    if scale is not None:
        inverse = inverse * scale
    moved = -mean * inverse if offset is None else offset - mean * inverse
    return x * cast(inverse, x.dtype) + cast(moved, x.dtype)


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """Return x divided by a power of the sum of squares of neighbouring channels."""
    given = {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}
    given = {key: value for key, value in given.items() if value is not None}
    return ops["LRN"](_images_to_normalize(input), **given, name=name)


def _images_to_normalize(input):
    """Return images of rank 4 and of float32 or narrower; eagerly numpy's become float32."""
    eager = _mica.tf_executing_eagerly()
    if eager and not isinstance(input, Tensor):
        input = convert_to_tensor(input, _dtypes.float32)
    x = convert_to_tensor(input)
    if x.dtype not in (_dtypes.float16, _dtypes.bfloat16, _dtypes.float32):
        message = f"LRN: {x.dtype.name} is not in the list of allowed values: half, bfloat16, float"
        raise InvalidArgumentError(None, None, message) if eager else TypeError(message)
    if x.shape.rank not in (None, 4):
        message = f"LRN: input must be 4-dimensional, not of shape {x.shape}"
        raise InvalidArgumentError(None, None, message) if eager else ValueError(message)
    return of_rank(x, 4)


lrn = local_response_normalization


# ---- embeddings ----------------------------------------------------------------------------------


def _rows_of_parts(params, ids):
    """Return rows of a table in parts, which are as even as its rows allow, the larger first."""
    if not params:
        raise ValueError("Argument `params` must have at least one table")
    ids = convert_to_tensor(ids)
    flat = reshape(ids, [-1])
    total = cast(reduce_sum(stack([shape(part)[0] for part in params])), ids.dtype)
    least, more = total // len(params), total % len(params)
    # Rows before `more` parts of `least` + 1 rows, then those of `least`.
    part = ops["Maximum"](flat // (least + 1), (flat - more) // ops["Maximum"](least, 1))
    first = part * least + ops["Minimum"](part, more)
    part = cast(part, _dtypes.int32)
    places = dynamic_partition(ops["Range"](0, shape(flat)[0], 1), part, len(params))
    inside = dynamic_partition(flat - first, part, len(params))
    found = [gather(*pair) for pair in zip(params, inside, strict=True)]
    rows = dynamic_stitch(places, found)
    return reshape(rows, concat([shape(ids), shape(params[0])[1:]], 0))


def embedding_lookup(params, ids, max_norm=None, name=None):
    """Return the rows of a table that ids name; of a table in parts, one after the other."""
    if isinstance(params, list | tuple) and len(params) == 1:
        params = params[0]
    if isinstance(params, list | tuple):
        rows = _rows_of_parts(params, ids)
    else:
        rows = gather(params, ids)
    if max_norm is None:
        return ops["Identity"](rows, name=name)  # as TensorFlow: gradients come in the order of ops
    ids = convert_to_tensor(ids)
    if None in (ids.shape.rank, rows.shape.rank):
        axes = ops["Range"](size(shape(ids)), size(shape(rows)), 1)
    else:
        axes = list(range(ids.shape.rank, rows.shape.rank))
    return clip_by_norm(rows, max_norm, axes=axes)


# ---- dropout -------------------------------------------------------------------------------------


def _dropped(x, rate, noise_shape, uniform):
    x = convert_to_tensor(x)
    known = static_value(rate) if not isinstance(rate, int | float) else rate
    if known is not None and not 0 <= float(known) < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1): {rate}")
    if not x.dtype.is_floating:
        raise ValueError(f"`x.dtype` must be a floating point tensor, not {x.dtype!r}")
    if known is not None and float(known) == 0:
        return x
    sizes = shape(x) if noise_shape is None else _noise_shape(x, noise_shape)
    rate = convert_to_tensor(rate, x.dtype)
    scaled = x * (ones_like(rate) / (ones_like(rate) - rate))
    return where(uniform(sizes, x.dtype) >= rate, scaled, zeros_like(x))


def _noise_shape(x, noise_shape):
    if not isinstance(noise_shape, list | tuple):
        return noise_shape
    return [shape(x)[i] if n is None else n for i, n in enumerate(noise_shape)]


def dropout(x, rate, noise_shape=None, seed=None, name=None):
    """Return x with elements set to zero at random and the others scaled up."""
    return _dropped(
        x, rate, noise_shape, lambda sizes, dtype: _random.uniform(sizes, seed=seed, dtype=dtype)
    )


@_namespace
class experimental:
    """tf.nn.experimental."""

    @staticmethod
    def stateless_dropout(x, rate, seed, rng_alg=None, noise_shape=None, name=None):
        """Return x with elements set to zero by a seed and the others scaled up."""
        return _dropped(
            x,
            rate,
            noise_shape,
            lambda sizes, dtype: _random.stateless_uniform(
                sizes, seed, dtype=dtype, alg="auto_select" if rng_alg is None else rng_alg
            ),
        )


_dispatch.offer(globals())

# Names that are found when they are first touched, in modules that build on this one.
_LATE = {
    "embedding_lookup_sparse": "_sparse_lookup",
    "safe_embedding_lookup_sparse": "_sparse_lookup",
}


def __getattr__(name: str):
    if name not in _LATE:
        raise _missing(__name__, name)
    value = getattr(_importlib.import_module(f"..{_LATE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
