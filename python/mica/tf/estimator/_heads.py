"""Heads: what the logits of a model mean, its loss, its metrics and its predictions."""

from __future__ import annotations

from .. import _dtypes
from .._array import concat, expand_dims, gather, ones_like, reshape, shape, tile, zeros_like
from .._context import building
from .._core import convert_to_tensor
from .._effects import control_dependencies, group
from .._math import add_n, cast
from .._reduce import argmax, reduce_sum
from ..compat.v1 import metrics as _metrics
from ..compat.v1._scopes import GraphKeys
from ..compat.v1._steps import get_global_step
from ..compat.v1._variables import get_collection, trainable_variables
from ..feature_column._features import keep_table
from ..lookup import KeyValueTensorInitializer, StaticHashTable
from ..math import maximum, sigmoid, square
from ..nn import (
    sigmoid_cross_entropy_with_logits,
    softmax,
    sparse_softmax_cross_entropy_with_logits,
)
from ..strings import as_string
from ._canned_optimizers import optimizer_of
from ._spec import EstimatorSpec, ModeKeys
from .export import ClassificationOutput, PredictOutput, RegressionOutput

_REDUCTIONS = ("sum_over_batch_size", "sum", "none")


def _reduction(given) -> str:
    name = getattr(given, "value", given) or "sum_over_batch_size"
    if name not in ("sum_over_batch_size", "sum"):
        raise ValueError(
            f"Invalid loss_reduction: {given}: sum_over_batch_size or sum gives one loss"
        )
    return name


class Head:
    """The base of heads.

    Parameters
    ----------
    weight_column
        The key of a feature that says how much an example counts, or a numeric column of it.
    loss_reduction
        "sum_over_batch_size" or "sum" of the losses of the examples.
    loss_fn
        A function of labels and logits that gives a loss for each example.
    """

    def __init__(self, weight_column, loss_reduction, loss_fn, name) -> None:
        self._weight_column, self._loss_fn, self._name = weight_column, loss_fn, name
        self._sum = _reduction(loss_reduction)

    @property
    def name(self) -> str | None:
        """The name, which keys of metrics end with."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """How many logits an example has."""
        raise NotImplementedError(f"{type(self).__name__}.logits_dimension")

    # ---- what heads differ in --------------------------------------------------------------------

    def _labels(self, labels, logits):
        """Labels in the form that the losses take."""
        raise NotImplementedError(f"{type(self).__name__}._labels")

    def _losses(self, labels, logits):
        """The loss of each example, of the shape [examples, 1]."""
        raise NotImplementedError(f"{type(self).__name__}._losses")

    def predictions(self, logits, keys=None) -> dict:
        """Return what is predicted, by name."""
        raise NotImplementedError(f"{type(self).__name__}.predictions")

    def _own_metrics(self, labels, logits, predictions, weights) -> dict:
        """Pairs of values and updates, by name."""
        raise NotImplementedError(f"{type(self).__name__}._own_metrics")

    def _outputs(self, predictions) -> dict:
        """What signatures give, by their name."""
        raise NotImplementedError(f"{type(self).__name__}._outputs")

    # ---- what they have in common ----------------------------------------------------------------

    def _weights(self, features):
        if self._weight_column is None:
            return None
        key = getattr(self._weight_column, "key", self._weight_column)
        weights = cast(convert_to_tensor(features[key]), _dtypes.float32)
        normalize = getattr(self._weight_column, "normalizer_fn", None)
        weights = weights if normalize is None else normalize(weights)
        return expand_dims(weights, -1) if weights.shape.rank == 1 else weights

    def loss(self, labels, logits, features=None, mode=None, regularization_losses=None):
        """Return the loss of a batch, with what regularizers add."""
        labels = self._labels(labels, logits)
        losses = self._losses(labels, logits)
        weights = self._weights(features)
        weighed = losses if weights is None else losses * weights
        total = reduce_sum(weighed)
        if self._sum == "sum_over_batch_size":
            total = total / cast(reduce_sum(ones_like(losses)), total.dtype)
        return add_n([total, *regularization_losses]) if regularization_losses else total

    def _key(self, key: str) -> str:
        return f"{key}/{self._name}" if self._name else key

    def _eval_metrics(self, labels, logits, features, regularization_losses) -> dict:
        labels, weights = self._labels(labels, logits), self._weights(features)
        losses = self._losses(labels, logits)
        found = {"average_loss": _metrics.mean(losses, weights)}
        found |= self._own_metrics(labels, logits, self.predictions(logits), weights)
        if regularization_losses:
            found["regularization_loss"] = _metrics.mean(add_n(list(regularization_losses)))
        return {self._key(key): pair for key, pair in found.items()}

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        trainable_variables=None,
        train_op_fn=None,
        update_ops=None,
        regularization_losses=None,
    ) -> EstimatorSpec:
        """Return what an estimator runs.

        Parameters
        ----------
        optimizer, train_op_fn
            What trains: an optimizer, or a function of the loss.
        trainable_variables
            What the optimizer trains; all trainable variables by default.
        update_ops
            What runs beside the optimizer.
        """
        logits = _checked_logits(logits, self.logits_dimension)
        predictions = self.predictions(logits)
        if mode == ModeKeys.PREDICT:
            outputs = self._outputs(predictions)
            outputs["predict"] = PredictOutput(predictions)
            return EstimatorSpec(mode, predictions, export_outputs=outputs)
        if labels is None:
            raise ValueError("labels must be given for training and evaluation")
        loss = self.loss(labels, logits, features, mode, regularization_losses)
        if mode == ModeKeys.EVAL:
            metrics = self._eval_metrics(labels, logits, features, regularization_losses)
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics)
        train_op = _train_op(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        return EstimatorSpec(mode, predictions, loss, train_op)


def _train_op(loss, optimizer, variables, train_op_fn, update_ops):
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError("exactly one of optimizer and train_op_fn must be given")
    waits = list(update_ops or ()) + list(get_collection(GraphKeys.UPDATE_OPS))
    if train_op_fn is not None:
        made = train_op_fn(loss)
        return group(made, *waits) if waits else made
    with control_dependencies(waits):
        return optimizer_of(optimizer).minimize(
            loss, get_global_step(), variables if variables is not None else trainable_variables()
        )


def _checked_logits(logits, dimension: int):
    logits = cast(convert_to_tensor(logits), _dtypes.float32)
    if logits.shape.rank == 1 and dimension == 1:
        logits = expand_dims(logits, -1)
    if logits.shape[-1] not in (None, dimension):
        raise ValueError(f"logits shape must be [D0, D1, ... DN, {dimension}], got {logits.shape}.")
    return logits


def _column_of(labels):
    """Labels of the shape [examples, 1]."""
    labels = convert_to_tensor(labels)
    return expand_dims(labels, -1) if labels.shape.rank == 1 else labels


class _ClassHead(Head):
    """What heads of classes have in common."""

    def __init__(
        self, n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    ) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None:
            if not isinstance(label_vocabulary, list | tuple):
                raise ValueError(
                    "label_vocabulary should be a list or a tuple. Given type: "
                    f"{type(label_vocabulary)}"
                )
            if len(label_vocabulary) != n_classes:
                raise ValueError(
                    f"Length of label_vocabulary must be n_classes. Given: {len(label_vocabulary)} "
                    f"words for {n_classes} classes"
                )
        self._n, self._vocabulary = n_classes, label_vocabulary

    def _ids(self, labels):
        """Labels as numbers of classes."""
        labels = _column_of(labels)
        if self._vocabulary is None:
            if not (labels.dtype.is_integer or labels.dtype.is_floating or labels.dtype.is_bool):
                raise ValueError(
                    f"Labels dtype should be integer. Instead got {labels.dtype}: give "
                    "label_vocabulary for texts"
                )
            return labels
        if labels.dtype != _dtypes.string:
            raise ValueError(
                f"Labels dtype should be string if there is a vocabulary. Instead got "
                f"{labels.dtype}"
            )
        with building(None):
            initializer = KeyValueTensorInitializer(
                convert_to_tensor(list(self._vocabulary), _dtypes.string),
                convert_to_tensor(list(range(self._n)), _dtypes.int64),
            )
            table = StaticHashTable(initializer, -1)
        return keep_table(table).lookup(labels)

    def _names(self, ids):
        if self._vocabulary is None:
            return as_string(ids)
        return gather(convert_to_tensor(list(self._vocabulary), _dtypes.string), ids)

    def _all(self, logits) -> dict:
        """The numbers and the names of all classes, for each example."""
        ids = convert_to_tensor(list(range(self._n)), _dtypes.int32)
        counts = [shape(logits)[0], 1]
        rows = tile(expand_dims(ids, 0), counts)
        names = tile(expand_dims(self._names(ids), 0), counts)
        return {"all_class_ids": rows, "all_classes": names}

    def _outputs(self, predictions) -> dict:
        output = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {"serving_default": output, "classification": output}


class BinaryClassHead(_ClassHead):
    """Two classes, one logit.

    Parameters
    ----------
    thresholds
        Probabilities from which on an example is of class 1; metrics are given for each.
    label_vocabulary
        The names of the classes, where labels are texts.
    """

    def __init__(
        self,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction="sum_over_batch_size",
        loss_fn=None,
        name=None,
    ) -> None:
        super().__init__(2, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        for threshold in thresholds or ():
            if not 0.0 < threshold < 1.0:
                raise ValueError(f"thresholds not in (0, 1): {tuple(thresholds)}.")
        self._thresholds = tuple(thresholds or ())

    @property
    def logits_dimension(self) -> int:
        """One."""
        return 1

    def _labels(self, labels, logits):
        return cast(self._ids(labels), _dtypes.float32)

    def _losses(self, labels, logits):
        if self._loss_fn is not None:
            return reshape(self._loss_fn(labels, logits), [-1, 1])
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def predictions(self, logits, keys=None) -> dict:
        """Return what is predicted, by name."""
        logits = _checked_logits(logits, 1)
        both = concat([zeros_like(logits), logits], -1)
        ids = expand_dims(argmax(both, axis=-1), -1)
        made = {
            "logits": logits,
            "logistic": sigmoid(logits),
            "probabilities": softmax(both),
            "class_ids": ids,
            "classes": self._names(ids),
            **self._all(logits),
        }
        return made if keys is None else {key: made[key] for key in keys}

    def _own_metrics(self, labels, logits, predictions, weights) -> dict:
        ids, logistic = cast(predictions["class_ids"], _dtypes.float32), predictions["logistic"]
        found = {
            "accuracy": _metrics.accuracy(labels, ids, weights),
            "precision": _metrics.precision(labels, ids, weights),
            "recall": _metrics.recall(labels, ids, weights),
            "prediction/mean": _metrics.mean(logistic, weights),
            "label/mean": _metrics.mean(labels, weights),
            "accuracy_baseline": _baseline(labels, weights),
        }
        for curve, key in (("ROC", "auc"), ("PR", "auc_precision_recall")):
            method = "trapezoidal" if curve == "ROC" else "careful_interpolation"
            found[key] = _metrics.auc(
                labels, logistic, weights, curve=curve, summation_method=method
            )
        for threshold in self._thresholds:
            chosen = cast(logistic > threshold, _dtypes.float32)
            for kind in ("accuracy", "precision", "recall"):
                key = {
                    "accuracy": f"accuracy/positive_threshold_{threshold:g}",
                    "precision": f"precision/positive_threshold_{threshold:g}",
                    "recall": f"recall/positive_threshold_{threshold:g}",
                }[kind]
                found[key] = getattr(_metrics, kind)(labels, chosen, weights)
        return found

    def _outputs(self, predictions) -> dict:
        made = super()._outputs(predictions)
        made["regression"] = RegressionOutput(predictions["logistic"])
        return made


def _baseline(labels, weights) -> tuple:
    """How often the more frequent class is there."""
    value, update = _metrics.mean(labels, weights, name="accuracy_baseline")
    return maximum(value, 1.0 - value), maximum(update, 1.0 - update)


class MultiClassHead(_ClassHead):
    """More than two classes, a logit for each."""

    def __init__(
        self,
        n_classes,
        weight_column=None,
        label_vocabulary=None,
        loss_reduction="sum_over_batch_size",
        loss_fn=None,
        name=None,
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}. For 2 use BinaryClassHead.")
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)

    @property
    def logits_dimension(self) -> int:
        """One for each class."""
        return self._n

    def _labels(self, labels, logits):
        return cast(self._ids(labels), _dtypes.int64)

    def _losses(self, labels, logits):
        if self._loss_fn is not None:
            return reshape(self._loss_fn(labels, logits), [-1, 1])
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=reshape(labels, [-1]), logits=logits
        )
        return expand_dims(losses, -1)

    def predictions(self, logits, keys=None) -> dict:
        """Return what is predicted, by name."""
        logits = _checked_logits(logits, self._n)
        ids = expand_dims(argmax(logits, axis=-1), -1)
        made = {
            "logits": logits,
            "probabilities": softmax(logits),
            "class_ids": ids,
            "classes": self._names(ids),
            **self._all(logits),
        }
        return made if keys is None else {key: made[key] for key in keys}

    def _own_metrics(self, labels, logits, predictions, weights) -> dict:
        return {"accuracy": _metrics.accuracy(labels, predictions["class_ids"], weights)}


class RegressionHead(Head):
    """Numbers: `label_dimension` of them for each example.

    Parameters
    ----------
    inverse_link_fn
        What makes predictions of logits.
    """

    def __init__(
        self,
        label_dimension=1,
        weight_column=None,
        loss_reduction="sum_over_batch_size",
        loss_fn=None,
        inverse_link_fn=None,
        name=None,
    ) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self._dimension, self._link = label_dimension, inverse_link_fn

    @property
    def logits_dimension(self) -> int:
        """One for each number."""
        return self._dimension

    def _labels(self, labels, logits):
        return cast(_column_of(labels), _dtypes.float32)

    def _losses(self, labels, logits):
        if self._loss_fn is not None:
            return self._loss_fn(labels, logits)
        return square(logits - labels)

    def predictions(self, logits, keys=None) -> dict:
        """Return what is predicted, by name."""
        logits = _checked_logits(logits, self._dimension)
        if self._link is None:
            made = {"predictions": logits}
        else:
            made = {"predictions": self._link(logits), "logits": logits}
        return made if keys is None else {key: made[key] for key in keys}

    def _own_metrics(self, labels, logits, predictions, weights) -> dict:
        return {
            "prediction/mean": _metrics.mean(predictions["predictions"], weights),
            "label/mean": _metrics.mean(labels, weights),
        }

    def _outputs(self, predictions) -> dict:
        output = RegressionOutput(predictions["predictions"])
        return {"serving_default": output, "regression": output}
