"""`tfa.metrics`: scores of classes, agreement, correlation, means."""

from __future__ import annotations

from .. import math as _math
from .._array import constant as _constant
from .._array import expand_dims as _expand_dims
from .._array import ones_like as _ones_like
from .._array import reshape as _reshape
from .._array import shape as _shape
from .._array import stack as _stack
from .._array import where as _where
from .._array import zeros_like as _zeros_like
from .._core import convert_to_tensor as _convert
from .._dtypes import float32 as _float32
from .._dtypes import int64 as _int64
from .._install import keras as _keras
from .._math import cast as _cast
from .._math import reduce_mean as _reduce_mean
from .._reduce import argmax as _argmax
from .._reduce import confusion_matrix as _confusion_matrix
from .._reduce import reduce_max as _reduce_max
from .._reduce import reduce_sum as _reduce_sum
from ..linalg import diag_part as _diag_part
from . import _missing

__all__ = [
    "CohenKappa",
    "F1Score",
    "FBetaScore",
    "GeometricMean",
    "HammingLoss",
    "HarmonicMean",
    "MatthewsCorrelationCoefficient",
    "MeanMetricWrapper",
    "MultiLabelConfusionMatrix",
    "RSquare",
    "hamming_distance",
    "hamming_loss_fn",
]

_Metric = _keras().metrics.Metric


class _Sums(_Metric):
    """A metric that is a function of sums."""

    def _sum(self, name, shape=()):
        return self.add_weight(name=name, shape=shape, initializer="zeros", dtype=self.dtype)

    def _labels(self, y_true, y_pred):
        return _cast(y_true, self.dtype), _cast(y_pred, self.dtype)


class FBetaScore(_Sums):
    """(1 + b^2) precision recall / (b^2 precision + recall), of each class or of all."""

    def __init__(
        self, num_classes, average=None, beta=1.0, threshold=None, name="fbeta_score", dtype=None
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                "Unknown average type. Acceptable values are: [None, 'micro', 'macro', 'weighted']"
            )
        if not isinstance(beta, float):
            raise TypeError("The value of beta should be a python float")
        if beta <= 0.0:
            raise ValueError("beta value should be greater than zero")
        if threshold is not None and not isinstance(threshold, float):
            raise TypeError("The value of threshold should be a python float")
        if threshold is not None and not 0.0 < threshold <= 1.0:
            raise ValueError("threshold should be between 0 and 1")
        self.num_classes, self.average, self.beta = num_classes, average, beta
        self.threshold = threshold
        self._axis = None if average == "micro" else 0
        shape = () if average == "micro" else (num_classes,)
        self.true_positives = self._sum("true_positives", shape)
        self.false_positives = self._sum("false_positives", shape)
        self.false_negatives = self._sum("false_negatives", shape)
        self.weights_intermediate = self._sum("weights_intermediate", shape)

    def update_state(self, y_true, y_pred, sample_weight=None) -> None:
        """Add a batch."""
        y, x = self._labels(y_true, y_pred)
        if self.threshold is None:
            most = _reduce_max(x, -1, True)
            x = _math.logical_and(x >= most, _math.abs(x) > 1e-12)
        else:
            x = x > self.threshold
        x = _cast(x, self.dtype)

        def total(values):
            if sample_weight is not None:
                weight = _cast(sample_weight, self.dtype)
                values = values * _expand_dims(weight, 1)
            return _reduce_sum(values, self._axis)

        self.true_positives.assign_add(total(x * y))
        self.false_positives.assign_add(total(x * (1 - y)))
        self.false_negatives.assign_add(total((1 - x) * y))
        self.weights_intermediate.assign_add(total(y))

    def result(self):
        """The score."""
        right = _convert(self.true_positives)
        precision = _math.divide_no_nan(right, right + self.false_positives)
        recall = _math.divide_no_nan(right, right + self.false_negatives)
        square = self.beta**2
        score = _math.divide_no_nan(precision * recall, precision * square + recall)
        score = score * (1 + square)
        if self.average == "weighted":
            total = _reduce_sum(_convert(self.weights_intermediate))
            weights = _math.divide_no_nan(_convert(self.weights_intermediate), total)
            return _reduce_sum(score * weights)
        return score if self.average is None else _reduce_mean(score)

    def get_config(self) -> dict:
        """What it was made with."""
        own = {"num_classes": self.num_classes, "average": self.average}
        return super().get_config() | own | {"beta": self.beta, "threshold": self.threshold}


class F1Score(FBetaScore):
    """FBetaScore with beta 1."""

    def __init__(
        self, num_classes, average=None, threshold=None, name="f1_score", dtype=None
    ) -> None:
        super().__init__(num_classes, average, 1.0, threshold, name, dtype)

    def get_config(self) -> dict:
        """What it was made with."""
        config = super().get_config()
        del config["beta"]
        return config


class CohenKappa(_Sums):
    """How much two raters agree, beyond what chance gives."""

    def __init__(
        self,
        num_classes,
        name="cohen_kappa",
        weightage=None,
        sparse_labels=False,
        regression=False,
        dtype=None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if weightage not in (None, "linear", "quadratic"):
            raise ValueError("Unknown kappa weighting type.")
        self.num_classes, self.weightage = num_classes, weightage
        self.sparse_labels, self.regression = sparse_labels, regression
        size = 2 if num_classes == 2 else num_classes
        self.conf_mtx = self._sum("conf_mtx", (size, size))

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Add a batch."""
        y, x = _convert(y_true), _convert(y_pred)
        if self.num_classes == 2:
            y, x = _reshape(_cast(y, _int64), [-1]), _reshape(_cast(x, _float32), [-1])
            x = _cast(x if self.regression else x > 0.5, _int64)
        else:
            y = _cast(y, _int64) if self.sparse_labels else _argmax(y, -1)
            if not self.regression:
                x = _argmax(x, -1)
            elif x.dtype.is_floating:
                x = _math.rint(x)
            y, x = _reshape(y, [-1]), _reshape(_cast(x, _int64), [-1])
        found = _confusion_matrix(y, x, self.num_classes, sample_weight, _float32)
        self.conf_mtx.assign_add(_cast(found, self.dtype))
        return _convert(self.conf_mtx)

    def result(self):
        """Kappa."""
        table = _convert(self.conf_mtx)
        n = self.num_classes
        places = _cast(_constant(list(range(n))), self.dtype)
        gap = places[:, None] - places[None, :]
        if self.weightage is None:
            weights = _cast(gap != 0, self.dtype)
        else:
            weights = gap * gap if self.weightage == "quadratic" else _math.abs(gap)
        rows, columns = _reduce_sum(table, 1), _reduce_sum(table, 0)
        expected = rows[:, None] * columns[None, :]
        total = _reduce_sum(table)
        expected = _math.divide_no_nan(expected, total)
        seen = _reduce_sum(weights * table)
        chance = _reduce_sum(weights * expected)
        return _where(chance == 0, _zeros_like(chance), 1 - _math.divide_no_nan(seen, chance))

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | {
            "num_classes": self.num_classes,
            "weightage": self.weightage,
            "sparse_labels": self.sparse_labels,
            "regression": self.regression,
        }


class MatthewsCorrelationCoefficient(_Sums):
    """The correlation of labels and predictions, as one-hot rows."""

    def __init__(self, num_classes, name="MatthewsCorrelationCoefficient", dtype=None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.conf_mtx = self._sum("conf_mtx", (num_classes, num_classes))

    def update_state(self, y_true, y_pred, sample_weight=None) -> None:
        """Add a batch."""
        y, x = _argmax(_convert(y_true), 1), _argmax(_convert(y_pred), 1)
        found = _confusion_matrix(y, x, self.num_classes, sample_weight, _float32)
        self.conf_mtx.assign_add(_cast(found, self.dtype))

    def result(self):
        """The coefficient."""
        table = _convert(self.conf_mtx)
        true, pred = _reduce_sum(table, 1), _reduce_sum(table, 0)
        right, total = _reduce_sum(_diag_part(table)), _reduce_sum(table)
        both = right * total - _reduce_sum(true * pred)
        of_pred = total**2 - _reduce_sum(pred * pred)
        of_true = total**2 - _reduce_sum(true * true)
        return _math.divide_no_nan(both, _math.sqrt(of_pred * of_true))

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | {"num_classes": self.num_classes}


def hamming_distance(actuals, predictions):
    """Return the share of places where two vectors differ."""
    actuals, predictions = _convert(actuals), _convert(predictions)
    differs = _cast(_math.not_equal(actuals, predictions), _float32)
    return _reduce_sum(differs) / _cast(_shape(actuals)[-1], _float32)


def hamming_loss_fn(y_true, y_pred, threshold, mode):
    """Return the share of labels that are wrong."""
    if mode not in ("multiclass", "multilabel"):
        raise TypeError("mode must be either multiclass or multilabel]")
    x = _convert(y_pred)
    if threshold is None:
        most = _reduce_max(x, -1, True)
        x = _math.logical_and(x >= most, _math.abs(x) > 1e-12)
    else:
        x = x > threshold
    y, x = _cast(y_true, "int32"), _cast(x, "int32")
    if mode == "multiclass":
        right = _cast(_math.count_nonzero(y * x, axis=-1), _float32)
        return 1.0 - right
    wrong = _cast(_math.count_nonzero(y - x, axis=-1), _float32)
    return wrong / _cast(x.shape[-1], _float32)


class MeanMetricWrapper(_keras().metrics.MeanMetricWrapper):
    """The mean of a function of labels and predictions."""

    def __init__(self, fn, name=None, dtype=None, **kwargs) -> None:
        super().__init__(fn, name=name, dtype=dtype, **kwargs)


class HammingLoss(MeanMetricWrapper):
    """hamming_loss_fn as a metric."""

    def __init__(self, mode, name="hamming_loss", threshold=None, dtype=None, **kwargs) -> None:
        options = {"mode": mode, "threshold": threshold}
        super().__init__(hamming_loss_fn, name, dtype, **options, **kwargs)


class MultiLabelConfusionMatrix(_Sums):
    """For each class [[true negatives, false positives], [false negatives, true positives]]."""

    def __init__(self, num_classes, name="Multilabel_confusion_matrix", dtype=None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self._parts = [
            self._sum(part, (num_classes,))
            for part in ("true_negatives", "false_positives", "false_negatives", "true_positives")
        ]

    def update_state(self, y_true, y_pred, sample_weight=None) -> None:
        """Add a batch."""
        y, x = (_cast(_cast(each, "int32"), self.dtype) for each in (y_true, y_pred))
        weight = 1 if sample_weight is None else _expand_dims(_cast(sample_weight, self.dtype), 1)
        counts = ((1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x)
        for part, count in zip(self._parts, counts, strict=True):
            part.assign_add(_reduce_sum(count * weight, 0))

    def result(self):
        """The tables."""
        flat = _stack([_convert(part) for part in self._parts], 1)
        return _reshape(flat, [-1, 2, 2])

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | {"num_classes": self.num_classes}


class RSquare(_Sums):
    """The share of the variance that predictions explain."""

    def __init__(
        self,
        name="r_square",
        dtype=None,
        multioutput="uniform_average",
        num_regressors=0,
        **kwargs,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        if multioutput not in ("raw_values", "uniform_average", "variance_weighted"):
            raise ValueError(
                "The multioutput argument must be one of ('raw_values', 'uniform_average', "
                f"'variance_weighted'), but was: {multioutput}"
            )
        self.multioutput, self.num_regressors = multioutput, num_regressors
        self._made = False
        self.num_samples = self._sum("num_samples")

    def _make(self, shape) -> None:
        if not self._made:
            self.squared_sum = self._sum("squared_sum", shape)
            self.sum = self._sum("sum", shape)
            self.res = self._sum("residual", shape)
            self.count = self._sum("count", shape)
            self._made = True

    def update_state(self, y_true, y_pred, sample_weight=None) -> None:
        """Add a batch."""
        y, x = self._labels(y_true, y_pred)
        self._make(tuple(y.shape[1:]))
        weight = _ones_like(y)
        if sample_weight is not None:
            given = _cast(sample_weight, self.dtype)
            while given.shape.rank < y.shape.rank:
                given = _expand_dims(given, -1)
            weight = weight * given
        self.sum.assign_add(_reduce_sum(y * weight, 0))
        self.squared_sum.assign_add(_reduce_sum(y * y * weight, 0))
        self.res.assign_add(_reduce_sum((y - x) ** 2 * weight, 0))
        self.count.assign_add(_reduce_sum(weight, 0))
        self.num_samples.assign_add(_cast(_shape(y)[0], self.dtype))

    def result(self):
        """The score."""
        if not self._made:
            return _constant(0.0, self.dtype)
        total = _convert(self.sum)
        mean = total / self.count
        variance = _convert(self.squared_sum) - total * mean
        score = 1 - _convert(self.res) / variance
        score = _where(score != score, _zeros_like(score), score)
        if self.multioutput == "uniform_average":
            score = _reduce_mean(score)
        elif self.multioutput == "variance_weighted":
            score = _reduce_sum(score * variance) / _reduce_sum(variance)
        if self.num_regressors:
            n = _convert(self.num_samples)
            score = 1 - (1 - score) * (n - 1) / (n - self.num_regressors - 1)
        return score

    def get_config(self) -> dict:
        """What it was made with."""
        own = {"multioutput": self.multioutput, "num_regressors": self.num_regressors}
        return super().get_config() | own


class _MeanOf(_Sums):
    """A mean of numbers through a function and its inverse."""

    def __init__(self, name, dtype) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total, self.count = self._sum("total"), self._sum("count")

    def update_state(self, values, sample_weight=None) -> None:
        """Add numbers."""
        values = _cast(values, self.dtype)
        weight = _ones_like(values)
        if sample_weight is not None:
            weight = weight * _cast(sample_weight, self.dtype)
        self.total.assign_add(_reduce_sum(self._there(values) * weight))
        self.count.assign_add(_reduce_sum(weight))


class GeometricMean(_MeanOf):
    """The root of a product."""

    def __init__(self, name="geometric_mean", dtype=None) -> None:
        super().__init__(name, dtype)

    def _there(self, values):
        return _math.log(values)

    def result(self):
        """The mean."""
        mean = _math.exp(_convert(self.total) / self.count)
        return _where(_convert(self.count) == 0, _zeros_like(mean), mean)


class HarmonicMean(_MeanOf):
    """The inverse of the mean of inverses."""

    def __init__(self, name="harmonic_mean", dtype=None) -> None:
        super().__init__(name, dtype)

    def _there(self, values):
        return 1 / values

    def result(self):
        """The mean."""
        return _math.divide_no_nan(_convert(self.count), _convert(self.total))


def __getattr__(name: str):
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return __all__
