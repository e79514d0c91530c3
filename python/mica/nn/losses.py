"""Losses: how far predictions are from what they should be.

Each takes predictions, labels of their shape and weights that broadcast to the losses, and gives
the mean of the losses, their sum, or with reduction "none" the losses themselves. Those over
classes have them on `axis`, and take integers without that axis for labels as well.
"""

from __future__ import annotations

from typing import Any

from .. import _mica
from .._mica import Tensor
from .._tracing import as_array, stage

Array = Any


def _loss(
    kind: str,
    predictions: Array,
    labels: Array,
    weights: Array | None,
    reduction: str,
    smoothing: float = 0.0,
    epsilon: float = 1e-7,
    delta: float = 1.0,
    axis: int = -1,
) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"[{kind}] reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    x, t = as_array(predictions), as_array(labels)
    if x.ndim == 0:
        x, t = x.reshape(1), t.reshape(1)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"[{kind}] axis {axis} is out of range for {x.ndim} axes")
    w = None if weights is None else as_array(weights)
    options = (kind, float(smoothing), float(epsilon), float(delta), axis % x.ndim)

    def staged(x: Any, t: Any, w: Any) -> Any:
        losses = _mica.loss((x, t, w), *options)[0]
        if reduction == "none":
            return losses
        return losses.mean() if reduction == "mean" else losses.sum()

    return stage(kind, staged, x, t, w)


def absolute_error(
    predictions: Array, labels: Array, weights: Array | None = None, reduction: str = "mean"
) -> Tensor:
    """``|x - t|``."""
    return _loss("absolute_error", predictions, labels, weights, reduction)


def squared_error(
    predictions: Array, labels: Array, weights: Array | None = None, reduction: str = "mean"
) -> Tensor:
    """``(x - t)^2``.

    Examples
    --------
    >>> import mica
    >>> mica.nn.losses.squared_error([1.0, 4.0], [1.0, 2.0]).item()
    2.0
    """
    return _loss("squared_error", predictions, labels, weights, reduction)


def huber(
    predictions: Array,
    labels: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    delta: float = 1.0,
) -> Tensor:
    """With e = ``|x - t|``: ``e^2 / 2`` up to delta, ``delta e - delta^2 / 2`` beyond."""
    return _loss("huber", predictions, labels, weights, reduction, delta=delta)


def hinge(
    predictions: Array, labels: Array, weights: Array | None = None, reduction: str = "mean"
) -> Tensor:
    """``max(0, 1 - (2 t - 1) x)`` of labels 0 and 1."""
    return _loss("hinge", predictions, labels, weights, reduction)


def log_loss(
    predictions: Array, labels: Array, weights: Array | None = None, reduction: str = "mean"
) -> Tensor:
    """``-t ln(x + 1e-7) - (1 - t) ln(1 - x + 1e-7)`` of probabilities x."""
    return _loss("log_loss", predictions, labels, weights, reduction)


def sigmoid_cross_entropy(
    logits: Array,
    labels: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    smoothing: float = 0.0,
) -> Tensor:
    """``max(x, 0) - x t + ln(1 + e^-|x|)``; smoothing s makes labels ``t (1 - s) + s / 2``."""
    return _loss("sigmoid_cross_entropy", logits, labels, weights, reduction, smoothing)


def softmax_cross_entropy(
    logits: Array,
    labels: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """``-sum of t ln softmax(x)``; smoothing s makes labels ``t (1 - s) + s / classes``.

    Examples
    --------
    >>> import mica
    >>> mica.nn.losses.softmax_cross_entropy([[0.0, 0.0]], [1]).item()
    0.6931471824645996
    """
    return _loss("softmax_cross_entropy", logits, labels, weights, reduction, smoothing, axis=axis)


def categorical_cross_entropy(
    probabilities: Array,
    labels: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    epsilon: float = 1e-7,
    axis: int = -1,
) -> Tensor:
    """``-sum of t ln(x)``, x kept inside [epsilon, 1 - epsilon]."""
    return _loss(
        "categorical_cross_entropy",
        probabilities,
        labels,
        weights,
        reduction,
        epsilon=epsilon,
        axis=axis,
    )


def cosine_distance(
    predictions: Array,
    labels: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    axis: int = -1,
) -> Tensor:
    """``1 - sum of x t`` of vectors of length 1."""
    return _loss("cosine_distance", predictions, labels, weights, reduction, axis=axis)
