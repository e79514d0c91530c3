"""`tf.compat.v1.metrics`: metrics as pairs of a value and the operation that takes in a batch.

What they count is in local variables: `local_variables_initializer` begins anew.
"""

from __future__ import annotations

from ... import _dtypes
from ..._array import expand_dims, ones_like, reshape, squeeze, where, zeros
from ..._context import executing_eagerly, graph_of_variables
from ..._core import convert_to_tensor, ops
from ..._effects import control_dependencies
from ..._math import cast
from ..._missing import finder as _finder
from ..._reduce import reduce_mean, reduce_sum
from ...linalg import eye
from ...math import abs as _abs
from ...math import divide_no_nan, equal, greater, less, log, logical_and, logical_not, sqrt, square
from ._scopes import GraphKeys, Variable, variable_scope

__all__ = [
    "accuracy",
    "auc",
    "false_negatives",
    "false_negatives_at_thresholds",
    "false_positives",
    "false_positives_at_thresholds",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_iou",
    "mean_per_class_accuracy",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "percentage_below",
    "precision",
    "precision_at_thresholds",
    "recall",
    "recall_at_thresholds",
    "root_mean_squared_error",
    "true_negatives",
    "true_negatives_at_thresholds",
    "true_positives",
    "true_positives_at_thresholds",
]


class _Metric:
    """A metric under construction: its scope, its variables, the lists it is put in."""

    def __init__(self, name, default: str, metrics_collections, updates_collections) -> None:
        if executing_eagerly():
            raise RuntimeError(
                f"tf.metrics.{default} is not supported when eager execution is enabled."
            )
        self._lists = metrics_collections, updates_collections
        self._scope = variable_scope(name, default)

    def __enter__(self) -> _Metric:
        self._scope.__enter__()
        return self

    def __exit__(self, *exception) -> None:
        self._scope.__exit__(*exception)

    def variable(self, shape, dtype, name: str):
        keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
        return Variable(lambda: zeros(shape, dtype), False, keys, name=name, dtype=dtype)

    def pair(self, value, update) -> tuple:
        graph = graph_of_variables()
        for names, tensor in zip(self._lists, (value, update), strict=True):
            if names:
                graph.add_to_collections(names, tensor)
        return value, update


def _weighed(values, weights):
    """Weights in the shape of the values."""
    weights = cast(convert_to_tensor(weights), values.dtype)
    if weights.shape.rank is not None and values.shape.rank is not None:
        if weights.shape.rank == values.shape.rank + 1:
            weights = squeeze(weights, [-1])
        elif weights.shape.rank and weights.shape.rank == values.shape.rank - 1:
            weights = expand_dims(weights, -1)
    return ones_like(values) * weights


def _matched(predictions, labels) -> tuple:
    """Predictions and labels of one rank: a last axis of 1 that only one of them has goes."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    a, b = predictions.shape, labels.shape
    if a.rank is not None and b.rank is not None:
        if a.rank - b.rank == 1 and a[-1] in (None, 1):
            predictions = squeeze(predictions, [-1])
        elif b.rank - a.rank == 1 and b[-1] in (None, 1):
            labels = squeeze(labels, [-1])
    if not predictions.shape.is_compatible_with(labels.shape):
        raise ValueError(f"Shapes {predictions.shape} and {labels.shape} are incompatible")
    return predictions, labels


def _mean(metric: _Metric, values, weights, finish=lambda value: value) -> tuple:
    values = cast(convert_to_tensor(values), _dtypes.float32)
    total = metric.variable([], _dtypes.float32, "total")
    count = metric.variable([], _dtypes.float32, "count")
    if weights is None:
        number = cast(ops["Size"](values), _dtypes.float32)
    else:
        weights = _weighed(values, weights)
        values, number = values * weights, reduce_sum(weights)
    value = finish(divide_no_nan(total._read(), count._read()))
    new_total = total.assign_add(reduce_sum(values))
    with control_dependencies([values]):
        new_count = count.assign_add(number)
    update = finish(divide_no_nan(convert_to_tensor(new_total), convert_to_tensor(new_count)))
    return metric.pair(value, update)


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of all values so far."""
    with _Metric(name, "mean", metrics_collections, updates_collections) as metric:
        return _mean(metric, values, weights)


def mean_tensor(
    values, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The mean of tensors, element by element."""
    with _Metric(name, "mean", metrics_collections, updates_collections) as metric:
        values = cast(convert_to_tensor(values), _dtypes.float32)
        total = metric.variable(values.shape, _dtypes.float32, "total_tensor")
        count = metric.variable(values.shape, _dtypes.float32, "count_tensor")
        number = ones_like(values)
        if weights is not None:
            number = number * _weighed(values, weights)
            values = values * number
        value = divide_no_nan(total._read(), count._read())
        sums = convert_to_tensor(total.assign_add(values))
        numbers = convert_to_tensor(count.assign_add(number))
        return metric.pair(value, divide_no_nan(sums, numbers))


def accuracy(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """How often predictions are the labels."""
    with _Metric(name, "accuracy", metrics_collections, updates_collections) as metric:
        predictions, labels = _matched(predictions, labels)
        if labels.dtype != predictions.dtype:
            predictions = cast(predictions, labels.dtype)
        hits = cast(equal(predictions, labels), _dtypes.float32)
        return _mean(metric, hits, weights)


def mean_absolute_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The mean of |predictions - labels|."""
    with _Metric(name, "mean_absolute_error", metrics_collections, updates_collections) as metric:
        predictions, labels = _matched(predictions, labels)
        return _mean(metric, _abs(predictions - labels), weights)


def mean_squared_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The mean of (predictions - labels)^2."""
    with _Metric(name, "mean_squared_error", metrics_collections, updates_collections) as metric:
        predictions, labels = _matched(predictions, labels)
        return _mean(metric, square(predictions - labels), weights)


def root_mean_squared_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The root of the mean of (predictions - labels)^2."""
    default = "root_mean_squared_error"
    with _Metric(name, default, metrics_collections, updates_collections) as metric:
        predictions, labels = _matched(predictions, labels)
        squares = square(predictions - labels)
        return _mean(metric, squares, weights, sqrt)


def mean_relative_error(
    labels,
    predictions,
    normalizer,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of |labels - predictions| / normalizer, 0 where that is 0."""
    with _Metric(name, "mean_relative_error", metrics_collections, updates_collections) as metric:
        predictions, labels = _matched(predictions, labels)
        predictions, normalizer = _matched(predictions, normalizer)
        error = _abs(cast(labels, predictions.dtype) - predictions)
        return _mean(metric, divide_no_nan(error, cast(normalizer, predictions.dtype)), weights)


def mean_cosine_distance(
    labels,
    predictions,
    dim,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of 1 - labels . predictions along an axis, of unit vectors."""
    with _Metric(name, "mean_cosine_distance", metrics_collections, updates_collections) as metric:
        predictions, labels = _matched(predictions, labels)
        products = predictions * cast(labels, predictions.dtype)
        near = reduce_sum(products, axis=[dim], keepdims=True)
        return _mean(metric, near, weights, lambda value: 1 - value)


def percentage_below(
    values,
    threshold,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How often values are below a threshold."""
    with _Metric(name, "percentage_below_threshold", metrics_collections, updates_collections) as m:
        values = convert_to_tensor(values)
        below = less(values, convert_to_tensor(threshold, values.dtype))
        return _mean(m, cast(below, _dtypes.float32), weights)


# ---- counts --------------------------------------------------------------------------------------


def _count(metric: _Metric, condition, weights) -> tuple:
    count = metric.variable([], _dtypes.float32, "count")
    values = cast(condition, _dtypes.float32)
    if weights is not None:
        values = values * _weighed(values, weights)
    value = ops["Identity"](count._read())
    return value, convert_to_tensor(count.assign_add(reduce_sum(values)))


def _truths(predictions, labels) -> tuple:
    predictions, labels = _matched(predictions, labels)
    return cast(predictions, _dtypes.bool), cast(labels, _dtypes.bool)


def _counter(name_: str, of_labels: bool, of_predictions: bool):
    def count(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with _Metric(name, name_, metrics_collections, updates_collections) as metric:
            p, t = _truths(predictions, labels)
            p = p if of_predictions else logical_not(p)
            t = t if of_labels else logical_not(t)
            return metric.pair(*_count(metric, logical_and(p, t), weights))

    count.__name__ = count.__qualname__ = name_
    count.__doc__ = f"How many {name_.replace('_', ' ')} there are."
    return count


true_positives = _counter("true_positives", True, True)
false_positives = _counter("false_positives", False, True)
false_negatives = _counter("false_negatives", True, False)
true_negatives = _counter("true_negatives", False, False)


def _ratio(name_: str, other: tuple[bool, bool]):
    def ratio(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with _Metric(name, name_, metrics_collections, updates_collections) as metric:
            p, t = _truths(predictions, labels)
            with variable_scope("true_positives"):
                hits, more_hits = _count(metric, logical_and(p, t), weights)
            missed = logical_and(
                t if other[0] else logical_not(t), p if other[1] else logical_not(p)
            )
            scope = "false_negatives" if other[0] else "false_positives"
            with variable_scope(scope):
                misses, more_misses = _count(metric, missed, weights)
            value = divide_no_nan(hits, hits + misses)
            return metric.pair(value, divide_no_nan(more_hits, more_hits + more_misses))

    ratio.__name__ = ratio.__qualname__ = name_
    ratio.__doc__ = f"The {name_} of predictions that are true or false."
    return ratio


precision = _ratio("precision", (False, True))
recall = _ratio("recall", (True, False))


# ---- at thresholds -------------------------------------------------------------------------------


def _table(metric: _Metric, labels, predictions, thresholds, weights, wanted) -> tuple:
    """Counts by threshold: (values, updates), each by name of `wanted`."""
    predictions, labels = _matched(predictions, labels)
    labels = reshape(cast(labels, _dtypes.bool), [1, -1])
    scores = reshape(cast(predictions, _dtypes.float32), [1, -1])
    limits = reshape(convert_to_tensor(list(thresholds), _dtypes.float32), [-1, 1])
    positive = greater(scores, limits)
    kinds = {
        "tp": (positive, labels),
        "fp": (positive, logical_not(labels)),
        "fn": (logical_not(positive), labels),
        "tn": (logical_not(positive), logical_not(labels)),
    }
    names = {
        "tp": "true_positives",
        "fp": "false_positives",
        "fn": "false_negatives",
        "tn": "true_negatives",
    }
    factor = (
        None
        if weights is None
        else reshape(_weighed(cast(predictions, _dtypes.float32), weights), [1, -1])
    )
    values, updates = {}, {}
    for kind in wanted:
        counts = metric.variable([len(thresholds)], _dtypes.float32, names[kind])
        new = cast(logical_and(*kinds[kind]), _dtypes.float32)
        new = new if factor is None else new * factor
        values[kind] = ops["Identity"](counts._read())
        updates[kind] = convert_to_tensor(counts.assign_add(reduce_sum(new, axis=1)))
    return values, updates


def _at_thresholds(name_: str, kind: str):
    def count(
        labels,
        predictions,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with _Metric(name, name_, metrics_collections, updates_collections) as metric:
            values, updates = _table(metric, labels, predictions, thresholds, weights, [kind])
            return metric.pair(values[kind], updates[kind])

    count.__name__ = count.__qualname__ = name_ + "_at_thresholds"
    count.__doc__ = f"How many {name_.replace('_', ' ')} there are, by threshold."
    return count


true_positives_at_thresholds = _at_thresholds("true_positives", "tp")
false_positives_at_thresholds = _at_thresholds("false_positives", "fp")
false_negatives_at_thresholds = _at_thresholds("false_negatives", "fn")
true_negatives_at_thresholds = _at_thresholds("true_negatives", "tn")


def _ratio_at_thresholds(name_: str, other: str):
    def ratio(
        labels,
        predictions,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with _Metric(name, name_, metrics_collections, updates_collections) as metric:
            values, updates = _table(
                metric, labels, predictions, thresholds, weights, ["tp", other]
            )
            return metric.pair(*(c["tp"] / (c["tp"] + c[other] + 1e-7) for c in (values, updates)))

    ratio.__name__ = ratio.__qualname__ = name_
    ratio.__doc__ = f"The {name_.partition('_')[0]} by threshold."
    return ratio


precision_at_thresholds = _ratio_at_thresholds("precision_at_thresholds", "fp")
recall_at_thresholds = _ratio_at_thresholds("recall_at_thresholds", "fn")


def _area(c: dict, curve: str, method: str, count: int):
    if curve == "PR" and method == "careful_interpolation":
        return _careful_area(c, count)
    epsilon = 1.0e-6
    rate = (c["tp"] + epsilon) / (c["tp"] + c["fn"] + epsilon)
    if curve == "ROC":
        x, y = c["fp"] / (c["fp"] + c["tn"] + epsilon), rate
    else:
        x, y = rate, (c["tp"] + epsilon) / (c["tp"] + c["fp"] + epsilon)
    left, right = y[: count - 1], y[1:]
    if method in ("trapezoidal", "careful_interpolation"):
        heights = (left + right) / 2.0
    elif method == "minoring":
        heights = ops["Minimum"](left, right)
    else:
        heights = ops["Maximum"](left, right)
    return reduce_sum((x[: count - 1] - x[1:]) * heights)


def _careful_area(c: dict, count: int):
    """The area below precision over recall, interpolated as its formula in the counts goes."""
    tp, fp, fn = c["tp"], c["fp"], c["fn"]
    step = tp[: count - 1] - tp[1:]
    p = tp + fp
    slope = divide_no_nan(step, ops["Maximum"](p[: count - 1] - p[1:], 0.0))
    intercept = tp[1:] - slope * p[1:]
    both = logical_and(greater(p[: count - 1], 0.0), greater(p[1:], 0.0))
    ratio = where(both, divide_no_nan(p[: count - 1], ops["Maximum"](p[1:], 0.0)), ones_like(p[1:]))
    area = slope * (step + intercept * log(ratio))
    return reduce_sum(divide_no_nan(area, ops["Maximum"](tp[1:] + fn[1:], 0.0)))


def auc(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
    summation_method="trapezoidal",
    thresholds=None,
):
    """The area below a curve of rates over thresholds."""
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {summation_method}")
    if curve == "ROC" and summation_method == "careful_interpolation":
        raise ValueError(f"Invalid summation_method: {summation_method} for ROC")
    with _Metric(name, "auc", metrics_collections, updates_collections) as metric:
        epsilon = 1e-7
        if thresholds is not None:
            inner = sorted(thresholds)
            num_thresholds = len(inner) + 2
        else:
            inner = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        limits = [0.0 - epsilon, *inner, 1.0 + epsilon]
        values, updates = _table(
            metric, labels, predictions, limits, weights, ["tp", "fn", "tn", "fp"]
        )
        return metric.pair(
            *(_area(c, curve, summation_method, num_thresholds) for c in (values, updates))
        )


# ---- by class ------------------------------------------------------------------------------------


def mean_iou(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean over classes of intersection over union."""
    with _Metric(name, "mean_iou", metrics_collections, updates_collections) as metric:
        total = metric.variable([num_classes] * 2, _dtypes.float64, "total_confusion_matrix")
        labels = reshape(cast(convert_to_tensor(labels), _dtypes.int64), [-1])
        predictions = reshape(cast(convert_to_tensor(predictions), _dtypes.int64), [-1])
        factor = ones_like(labels, _dtypes.float64)
        if weights is not None:
            factor = factor * cast(reshape(convert_to_tensor(weights), [-1]), _dtypes.float64)
        flat = ops["UnsortedSegmentSum"](
            factor,
            labels * num_classes + predictions,
            convert_to_tensor(num_classes * num_classes, _dtypes.int32),
        )
        new = reshape(flat, [num_classes, num_classes])

        def value(matrix):
            hits = cast(matrix_diagonal(matrix), _dtypes.float32)
            rows = cast(reduce_sum(matrix, axis=0), _dtypes.float32)
            columns = cast(reduce_sum(matrix, axis=1), _dtypes.float32)
            union = rows + columns - hits
            present = reduce_sum(
                cast(ops["NotEqual"](union, ops["ZerosLike"](union)), _dtypes.float32)
            )
            return divide_no_nan(reduce_sum(divide_no_nan(hits, union)), present)

        def matrix_diagonal(matrix):
            return reduce_sum(matrix * _identity(num_classes), axis=1)

        before = value(total._read())
        after = convert_to_tensor(total.assign_add(new))
        return metric.pair(before, after)


def _identity(size: int):
    return eye(size, dtype=_dtypes.float64)


def mean_per_class_accuracy(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean over classes of how often their members are found."""
    default = "mean_accuracy"
    with _Metric(name, default, metrics_collections, updates_collections) as metric:
        labels = reshape(cast(convert_to_tensor(labels), _dtypes.int64), [-1])
        predictions = reshape(cast(convert_to_tensor(predictions), _dtypes.int64), [-1])
        total = metric.variable([num_classes], _dtypes.float32, "total")
        count = metric.variable([num_classes], _dtypes.float32, "count")
        size = convert_to_tensor(num_classes, _dtypes.int32)
        hits, number = cast(equal(predictions, labels), _dtypes.float32), None
        number = ones_like(hits)
        if weights is not None:
            weights = cast(reshape(convert_to_tensor(weights), [-1]), _dtypes.float32)
            hits, number = hits * weights, number * weights
        members = convert_to_tensor(
            total.assign_add(ops["UnsortedSegmentSum"](number, labels, size))
        )
        found = convert_to_tensor(count.assign_add(ops["UnsortedSegmentSum"](hits, labels, size)))
        value = reduce_mean(divide_no_nan(count._read(), total._read()))
        return metric.pair(value, divide_no_nan(found, members))


__getattr__ = _finder(__name__)
