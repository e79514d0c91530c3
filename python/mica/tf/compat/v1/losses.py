"""`tf.compat.v1.losses`: losses with weights, kept in the collection LOSSES of the graph."""

from __future__ import annotations

from ... import _dtypes
from ..._array import ones_like, squeeze
from ..._array import shape as _shape
from ..._context import graph_of_variables
from ..._core import convert_to_tensor, ops
from ..._math import add_n, cast
from ..._missing import finder as _finder
from ..._names import name_scope
from ..._reduce import reduce_sum
from ...math import abs as _abs
from ...math import divide_no_nan, log, minimum, squared_difference
from ...nn import (
    relu,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from ._scopes import GraphKeys

__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


class Reduction:
    """How the losses of elements become one."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple:
        """Return all of them."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key) -> None:
        """Raise a ValueError unless it is one of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def _keep(loss, collection):
    graph = graph_of_variables()
    if collection and graph is not None:
        graph.add_to_collection(collection, loss)
    return loss


def _present(losses, weights):
    """How many elements have weights that are not zero."""
    counted = cast(ops["NotEqual"](weights, ops["ZerosLike"](weights)), losses.dtype)
    return reduce_sum(ones_like(losses) * counted)


def _check_weights(weights, values) -> None:
    """Weights are one number, or have sizes that are 1 or those of the values."""
    if weights.shape.rank in (None, 0) or values.shape.rank is None:
        return
    if weights.shape.rank != values.shape.rank:
        raise ValueError(
            "weights can not be broadcast to values. "
            f"values.rank={values.shape.rank}. weights.rank={weights.shape.rank}. "
            f"values.shape={values.shape}. weights.shape={weights.shape}."
        )
    for a, b in zip(weights.shape, values.shape, strict=True):
        if a not in (None, 1) and b is not None and a != b:
            raise ValueError(
                f"weights can not be broadcast to values. values.shape={values.shape}. "
                f"weights.shape={weights.shape}."
            )


def compute_weighted_loss(
    losses,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """Weigh the losses of elements and make one of them."""
    Reduction.validate(reduction)
    with name_scope(scope or "weighted_loss"):
        losses = convert_to_tensor(losses)
        given, losses = losses.dtype, cast(losses, _dtypes.float32)
        weights = cast(convert_to_tensor(weights), _dtypes.float32)
        _check_weights(weights, losses)
        weighed = losses * weights
        if reduction == Reduction.NONE:
            loss = weighed
        else:
            loss = reduce_sum(weighed)
            if reduction == Reduction.MEAN:
                loss = divide_no_nan(loss, reduce_sum(ones_like(losses) * weights))
            elif reduction == Reduction.SUM_OVER_NONZERO_WEIGHTS:
                loss = divide_no_nan(loss, _present(losses, weights))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = divide_no_nan(loss, cast(ops["Size"](losses), _dtypes.float32))
        return _keep(cast(loss, given), loss_collection)


def _both(labels, predictions, second: str = "predictions"):
    if labels is None:
        raise ValueError("labels must not be None.")
    if predictions is None:
        raise ValueError(f"{second} must not be None.")
    predictions = cast(convert_to_tensor(predictions), _dtypes.float32)
    labels = cast(convert_to_tensor(labels), _dtypes.float32)
    if not predictions.shape.is_compatible_with(labels.shape):
        raise ValueError(f"Shapes {predictions.shape} and {labels.shape} are incompatible")
    return labels, predictions


def absolute_difference(
    labels,
    predictions,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """|predictions - labels|."""
    with name_scope(scope or "absolute_difference"):
        labels, predictions = _both(labels, predictions)
        losses = _abs(predictions - labels)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def cosine_distance(
    labels,
    predictions,
    axis=None,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim=None,
):
    """1 - the product of unit vectors along an axis."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    with name_scope(scope or "cosine_distance_loss"):
        labels, predictions = _both(labels, predictions)
        losses = 1 - reduce_sum(predictions * labels, axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def hinge_loss(
    labels,
    logits,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """relu(1 - (2 labels - 1) logits)."""
    with name_scope(scope or "hinge_loss"):
        labels, logits = _both(labels, logits, "logits")
        losses = relu(1.0 - (2 * labels - 1.0) * logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def huber_loss(
    labels,
    predictions,
    weights=1.0,
    delta=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """Half the square of small errors, linear beyond delta."""
    with name_scope(scope or "huber_loss"):
        labels, predictions = _both(labels, predictions)
        error = _abs(predictions - labels)
        small = minimum(error, delta)
        losses = 0.5 * small * small + delta * (error - small)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def log_loss(
    labels,
    predictions,
    weights=1.0,
    epsilon=1e-7,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """-labels log(predictions) - (1 - labels) log(1 - predictions)."""
    with name_scope(scope or "log_loss"):
        labels, predictions = _both(labels, predictions)
        losses = -labels * log(predictions + epsilon)
        losses = losses - (1 - labels) * log(1 - predictions + epsilon)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def mean_squared_error(
    labels,
    predictions,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """(predictions - labels)^2."""
    with name_scope(scope or "mean_squared_error"):
        labels, predictions = _both(labels, predictions)
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """Cross entropy of independent classes."""
    with name_scope(scope or "sigmoid_cross_entropy_loss"):
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(multi_class_labels), logits.dtype)
        if not logits.shape.is_compatible_with(labels.shape):
            raise ValueError(f"Shapes {logits.shape} and {labels.shape} are incompatible")
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """Cross entropy of classes that exclude each other, labels as distributions."""
    with name_scope(scope or "softmax_cross_entropy_loss"):
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(onehot_labels), logits.dtype)
        if not logits.shape.is_compatible_with(labels.shape):
            raise ValueError(f"Shapes {logits.shape} and {labels.shape} are incompatible")
        if label_smoothing > 0:
            classes = cast(_shape(labels)[1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = ops["StopGradient"](labels)
        losses = softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels,
    logits,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """Cross entropy of classes that exclude each other, labels as their numbers."""
    with name_scope(scope or "sparse_softmax_cross_entropy_loss"):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        weights = convert_to_tensor(weights)
        if labels.shape.rank is not None and labels.shape.rank == logits.shape.rank:
            labels = squeeze(labels, [-1])
        if weights.shape.rank is not None and weights.shape.rank == logits.shape.rank:
            weights = squeeze(weights, [-1])
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, None, loss_collection, reduction)


# ---- the losses of a graph -----------------------------------------------------------------------


def _collection(name: str, scope) -> list:
    graph = graph_of_variables()
    return [] if graph is None else graph.get_collection(name, scope)


def add_loss(loss, loss_collection=GraphKeys.LOSSES) -> None:
    """Keep a loss in the graph's list."""
    _keep(loss, loss_collection)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES) -> list:
    """Return the losses that were kept."""
    return _collection(loss_collection, scope)


def get_regularization_losses(scope=None) -> list:
    """Return the losses of regularizers."""
    return _collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    """Return the sum of the losses of regularizers."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else convert_to_tensor(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    """Return the sum of the losses that were kept."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return add_n(losses, name=name)


__getattr__ = _finder(__name__)
