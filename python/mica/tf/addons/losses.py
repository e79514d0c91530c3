"""`tfa.losses`: losses of pairs, triplets and boxes, and focal ones."""

from __future__ import annotations

from .. import math as _math
from .. import nn as _nn
from .._array import expand_dims as _expand_dims
from .._array import reshape as _reshape
from .._array import shape as _shape
from .._array import size as _size
from .._array import transpose as _transpose
from .._array import unstack as _unstack
from .._array import where as _where
from .._core import convert_to_tensor as _convert
from .._install import keras as _keras
from .._math import cast as _cast
from .._math import reduce_mean as _reduce_mean
from .._reduce import reduce_max as _reduce_max
from .._reduce import reduce_min as _reduce_min
from .._reduce import reduce_sum as _reduce_sum
from ..linalg import l2_normalize as _l2_normalize
from ..linalg import matmul as _matmul
from ..linalg import set_diag as _set_diag
from . import _missing
from .activations import sparsemax as _sparsemax

_Loss = _keras().losses.Loss


class _Wrapped(_Loss):
    """A loss made of a function of labels, predictions and options."""

    def __init__(self, function, reduction="none", name=None, **options) -> None:
        super().__init__(name=name, reduction=_reduction(reduction))
        self._function, self._options = function, options

    def call(self, y_true, y_pred):
        """The function's values."""
        return self._function(y_true, y_pred, **self._options)

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | self._options


def _reduction(name):
    """Keras 2's names of reductions, as Keras 3 has them."""
    return {"auto": "sum_over_batch_size"}.get(name, name)


def contrastive_loss(y_true, y_pred, margin=1.0):
    """Return y d^2 + (1 - y) max(margin - d, 0)^2 for distances d."""
    distance = _convert(y_pred)
    y = _cast(y_true, distance.dtype)
    gap = _math.maximum(margin - distance, _cast(0, distance.dtype))
    return y * distance * distance + (1 - y) * gap * gap


class ContrastiveLoss(_Wrapped):
    """contrastive_loss as a class."""

    def __init__(self, margin=1.0, reduction="sum_over_batch_size", name="contrastive_loss"):
        super().__init__(contrastive_loss, reduction, name, margin=margin)


def sigmoid_focal_crossentropy(y_true, y_pred, alpha=0.25, gamma=2.0, from_logits=False):
    """Return cross entropies of which easy examples count little, summed over the last axis.

    T. Lin and others: Focal Loss for Dense Object Detection, 2017.
    """
    if gamma and gamma < 0:
        raise ValueError("Value of gamma should be greater than or equal to zero.")
    x = _convert(y_pred)
    y = _cast(y_true, x.dtype)
    entropy = _keras().backend.binary_crossentropy(y, x, from_logits=from_logits)
    chance = _math.sigmoid(x) if from_logits else x
    right = y * chance + (1 - y) * (1 - chance)
    factor = 1.0
    if alpha:
        factor = y * alpha + (1 - y) * (1 - alpha)
    if gamma:
        factor = factor * (1.0 - right) ** gamma
    return _reduce_sum(factor * entropy, -1)


class SigmoidFocalCrossEntropy(_Wrapped):
    """sigmoid_focal_crossentropy as a class."""

    def __init__(
        self,
        from_logits=False,
        alpha=0.25,
        gamma=2.0,
        reduction="none",
        name="sigmoid_focal_crossentropy",
    ):
        options = {"from_logits": from_logits, "alpha": alpha, "gamma": gamma}
        super().__init__(sigmoid_focal_crossentropy, reduction, name, **options)


def giou_loss(y_true, y_pred, mode="giou"):
    """Return 1 less the (generalized) overlap of boxes [top, left, bottom, right]."""
    if mode not in ("giou", "iou"):
        raise ValueError("Value of mode should be 'iou' or 'giou'")
    found = _convert(y_pred)
    found = found if found.dtype.is_floating else _cast(found, "float32")
    wanted = _cast(y_true, found.dtype)
    return _squeezed(1 - _overlap(wanted, found, mode))


def _squeezed(x):
    return x[..., 0] if x.shape.rank and x.shape[-1] == 1 and x.shape.rank > 1 else x


def _overlap(a, b, mode: str):
    zero = _cast(0, a.dtype)
    top, left, bottom, right = _unstack(a, 4, -1)
    top_b, left_b, bottom_b, right_b = _unstack(b, 4, -1)

    def area(t, x, u, z):
        return _math.maximum(zero, z - x) * _math.maximum(zero, u - t)

    both = area(
        _math.maximum(top, top_b),
        _math.maximum(left, left_b),
        _math.minimum(bottom, bottom_b),
        _math.minimum(right, right_b),
    )
    union = area(top, left, bottom, right) + area(top_b, left_b, bottom_b, right_b) - both
    overlap = _math.divide_no_nan(both, union)
    if mode == "iou":
        return overlap
    around = area(
        _math.minimum(top, top_b),
        _math.minimum(left, left_b),
        _math.maximum(bottom, bottom_b),
        _math.maximum(right, right_b),
    )
    return overlap - _math.divide_no_nan(around - union, around)


class GIoULoss(_Wrapped):
    """giou_loss as a class."""

    def __init__(self, mode="giou", reduction="sum_over_batch_size", name="giou_loss"):
        super().__init__(giou_loss, reduction, name, mode=mode)


def pinball_loss(y_true, y_pred, tau=0.5):
    """Return the mean of max(tau d, (tau - 1) d) for d = y_true - y_pred: of quantile tau."""
    x = _convert(y_pred)
    y = _cast(y_true, x.dtype)
    tau = _expand_dims(_cast(tau, x.dtype), 0)
    difference = y - x
    pinball = _math.maximum(tau * difference, (tau - 1) * difference)
    return _reduce_mean(_reshape(pinball, [_shape(pinball)[0], -1]), -1)


class PinballLoss(_Wrapped):
    """pinball_loss as a class."""

    def __init__(self, tau=0.5, reduction="sum_over_batch_size", name="pinball_loss"):
        super().__init__(pinball_loss, reduction, name, tau=tau)


def sparsemax_loss(logits, sparsemax, labels, name=None):
    """Return the loss whose gradient is sparsemax(logits) - labels."""
    x = _convert(logits)
    p, y = _cast(sparsemax, x.dtype), _cast(labels, x.dtype)
    shifted = x - _reduce_mean(x, 1, True)
    support = p > 0
    zero = _cast(0, x.dtype) * shifted
    threshold = _reduce_sum(_where(support, shifted**2 - (shifted - p) ** 2, zero), 1) / 2
    return _reduce_sum(y * (y * 0.5 - shifted), 1, name=name) + threshold


def sparsemax_loss_from_logits(y_true, logits_pred):
    """Return sparsemax_loss of logits alone."""
    return sparsemax_loss(logits_pred, _sparsemax(logits_pred), y_true)


class SparsemaxLoss(_Wrapped):
    """sparsemax_loss as a class; it takes logits."""

    def __init__(self, from_logits=True, reduction="sum_over_batch_size", name="sparsemax_loss"):
        if from_logits is not True:
            raise ValueError("from_logits must be True")
        super().__init__(sparsemax_loss_from_logits, reduction, name)


# ---- distances of examples -----------------------------------------------------------------------


def _distances(x, squared: bool = False):
    """Distances of all pairs of rows."""
    squares = _reduce_sum(x * x, 1)
    found = squares[:, None] - 2 * _matmul(x, x, transpose_b=True) + squares[None, :]
    found = _math.maximum(found, _cast(0, x.dtype))
    if not squared:
        wrong = found <= 0
        found = _math.sqrt(found + _cast(wrong, x.dtype) * 1e-16)
        found = found * _cast(_math.logical_not(wrong), x.dtype)
    return _set_diag(found, 0 * squares)


def _angular(x):
    """One less the cosine of all pairs of rows."""
    x = _l2_normalize(x, 1)
    return _math.maximum(1 - _matmul(x, x, transpose_b=True), _cast(0, x.dtype))


def _pairs(x, metric):
    if metric == "L2":
        return _distances(x)
    if metric == "squared-L2":
        return _distances(x, True)
    if metric == "angular":
        return _angular(x)
    return metric(x)


def _given(y_true, y_pred):
    x = _convert(y_pred)
    narrow = x.dtype.name in ("float16", "bfloat16")
    y = _reshape(_convert(y_true), [-1])
    same = y[:, None] == y[None, :]
    return (_cast(x, "float32") if narrow else x), y, same, x.dtype


def triplet_hard_loss(y_true, y_pred, margin=1.0, soft=False, distance_metric="L2"):
    """Return the mean over anchors of (farthest of the class) - (nearest other) + margin, or 0."""
    x, _, same, dtype = _given(y_true, y_pred)
    distances = _pairs(x, distance_metric)
    others = _cast(_math.logical_not(same), x.dtype)
    mine = _set_diag(_cast(same, x.dtype), 0 * distances[:, 0])
    near = _masked_minimum(distances, others)
    far = _masked_maximum(distances, mine)
    gap = far - near
    values = _math.log1p(_math.exp(gap)) if soft else _math.maximum(gap + margin, 0.0)
    return _cast(_reduce_mean(values), dtype)


def _masked_maximum(data, mask):
    least = _reduce_min(data, 1, True)
    return _reduce_max((data - least) * mask, 1, True) + least


def _masked_minimum(data, mask):
    most = _reduce_max(data, 1, True)
    return _reduce_min((data - most) * mask, 1, True) + most


def triplet_semihard_loss(y_true, y_pred, margin=1.0, distance_metric="L2"):
    """Return the mean over pairs of a class of d - (the nearest other that is farther) + margin."""
    x, _, same, dtype = _given(y_true, y_pred)
    distances = _pairs(x, distance_metric)
    size = _size(distances[:, 0])
    farther = distances[None, :, :] > _transpose(distances)[:, :, None]
    # [anchor, positive, negative]: others that are farther from the anchor than the positive.
    mask = _math.logical_and(_math.logical_not(same)[:, None, :], _transpose(farther, [1, 0, 2]))
    mask = _math.logical_and(
        _math.logical_not(same)[:, None, :], distances[:, None, :] > distances[:, :, None]
    )
    weight = _cast(mask, x.dtype)
    spread = distances[:, None, :] + 0 * weight
    most = _reduce_max(distances, 1, True)[:, :, None]
    outside = (_reduce_min((spread - most) * weight, 2, True) + most)[:, :, 0]
    others = _cast(_math.logical_not(same), x.dtype)
    inside = _masked_maximum(distances, others) + 0 * distances
    nearest = _where(_math.reduce_any(mask, 2), outside, inside)
    mine = _set_diag(_cast(same, x.dtype), 0 * distances[:, 0])
    values = _math.maximum((margin + distances - nearest) * mine, _cast(0, x.dtype))
    count = _reduce_sum(mine)
    return _cast(_math.divide_no_nan(_reduce_sum(values), count) + 0 * _cast(size, x.dtype), dtype)


def lifted_struct_loss(labels, embeddings, margin=1.0):
    """Return the lifted structured loss of pairs: H. Song and others, 2015."""
    x, _, same, dtype = _given(labels, embeddings)
    distances = _distances(x)
    others = _cast(_math.logical_not(same), x.dtype)
    difference = margin - distances
    row_minimum = _reduce_min(difference, 1, True)
    row_negative = _reduce_max((difference - row_minimum) * others, 1, True) + row_minimum
    most = _math.maximum(row_negative, _transpose(row_negative))
    gap = others[None, :, :] * _math.exp(difference[None, :, :] - most[:, :, None])
    left = _reduce_sum(others[:, None, :] * _math.exp(difference[:, None, :] - most[:, :, None]), 2)
    right = _reduce_sum(gap, 2)
    exponent = most + _math.log(left + right)
    values = exponent + distances
    mine = _set_diag(_cast(same, x.dtype), 0 * distances[:, 0])
    count = _reduce_sum(mine) / 2
    total = _reduce_sum(_math.maximum(values * mine, _cast(0, x.dtype)) ** 2)
    return _cast(_math.truediv(0.25 * total, count), dtype)


def npairs_loss(y_true, y_pred):
    """Return the mean cross entropy of similarities, whose targets are examples of the class."""
    x = _convert(y_pred)
    y = _convert(y_true)
    if y.shape.rank == 1:
        y = y[:, None]
    y = _cast(y == _transpose(y), x.dtype)
    y = y / _reduce_sum(y, 1, True)
    return _reduce_mean(_nn.softmax_cross_entropy_with_logits(y, x))


def npairs_multilabel_loss(y_true, y_pred):
    """Return npairs_loss whose targets are by how many labels examples share."""
    x = _convert(y_pred)
    y = _cast(_convert(y_true), x.dtype)
    y = _matmul(y, y, transpose_b=True)
    y = y / _reduce_sum(y, 1, True)
    return _reduce_mean(_nn.softmax_cross_entropy_with_logits(y, x))


class TripletHardLoss(_Wrapped):
    """triplet_hard_loss as a class."""

    def __init__(self, margin=1.0, soft=False, distance_metric="L2", name=None, **options):
        given = {"margin": margin, "soft": soft, "distance_metric": distance_metric}
        super().__init__(triplet_hard_loss, name=name, **given, **options)


class TripletSemiHardLoss(_Wrapped):
    """triplet_semihard_loss as a class."""

    def __init__(self, margin=1.0, distance_metric="L2", name=None, **options):
        given = {"margin": margin, "distance_metric": distance_metric}
        super().__init__(triplet_semihard_loss, name=name, **given, **options)


class LiftedStructLoss(_Wrapped):
    """lifted_struct_loss as a class."""

    def __init__(self, margin=1.0, name=None, **options):
        super().__init__(lifted_struct_loss, name=name, margin=margin, **options)


class NpairsLoss(_Wrapped):
    """npairs_loss as a class."""

    def __init__(self, name="npairs_loss"):
        super().__init__(npairs_loss, name=name)


class NpairsMultilabelLoss(_Wrapped):
    """npairs_multilabel_loss as a class."""

    def __init__(self, name="npairs_multilabel_loss"):
        super().__init__(npairs_multilabel_loss, name=name)


class WeightedKappaLoss(_Loss):
    """The logarithm of 1 less Cohen's weighted kappa, to be minimized."""

    def __init__(
        self,
        num_classes,
        weightage="quadratic",
        name="cohen_kappa_loss",
        epsilon=1e-6,
        reduction="none",
    ):
        super().__init__(name=name, reduction=_reduction(reduction))
        if weightage not in ("linear", "quadratic"):
            raise ValueError("Unknown kappa weighting type.")
        self.num_classes, self.weightage, self.epsilon = num_classes, weightage, epsilon

    def call(self, y_true, y_pred):
        """The loss of one-hot labels and probabilities."""
        p = _convert(y_pred)
        y = _cast(y_true, p.dtype)
        places = _cast(_math.cumsum(y[:1] * 0 + 1, 1) - 1, p.dtype)
        gap = _transpose(places) - places
        weights = gap * gap if self.weightage == "quadratic" else _math.abs(gap)
        truth = _matmul(y, _transpose(places))
        away = _transpose(places) - _transpose(truth)
        away = away * away if self.weightage == "quadratic" else _math.abs(away)
        numerator = _reduce_sum(_transpose(away) * p)
        expected = _matmul(
            _reduce_sum(y, 0, True), _matmul(weights, _reduce_sum(p, 0, True), transpose_b=True)
        )
        denominator = _reduce_sum(expected / _cast(_shape(y)[0], p.dtype))
        return _math.log(_math.divide_no_nan(numerator, denominator) + self.epsilon)

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | {
            "num_classes": self.num_classes,
            "weightage": self.weightage,
            "epsilon": self.epsilon,
        }


__all__ = [
    "ContrastiveLoss",
    "GIoULoss",
    "LiftedStructLoss",
    "NpairsLoss",
    "NpairsMultilabelLoss",
    "PinballLoss",
    "SigmoidFocalCrossEntropy",
    "SparsemaxLoss",
    "TripletHardLoss",
    "TripletSemiHardLoss",
    "WeightedKappaLoss",
    "contrastive_loss",
    "giou_loss",
    "lifted_struct_loss",
    "npairs_loss",
    "npairs_multilabel_loss",
    "pinball_loss",
    "sigmoid_focal_crossentropy",
    "sparsemax_loss",
    "triplet_hard_loss",
    "triplet_semihard_loss",
]


def __getattr__(name: str):
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return __all__
