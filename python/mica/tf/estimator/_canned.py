"""Canned estimators: linear models, networks of dense layers, both together, and a baseline."""

from __future__ import annotations

import math

from .. import _dtypes
from .._array import expand_dims, ones_like, shape, tile
from .._core import convert_to_tensor
from .._effects import group
from ..compat.v1 import layers as _layers
from ..compat.v1._scopes import get_variable, variable_scope
from ..compat.v1._steps import get_global_step
from ..compat.v1._variables import trainable_variables
from ..feature_column._inputs import input_layer, linear_model
from ..initializers import GlorotUniform, Zeros
from ..nn import relu
from ._canned_optimizers import optimizer_of
from ._estimator import Estimator
from ._heads import BinaryClassHead, MultiClassHead, RegressionHead
from ._spec import ModeKeys

_MEAN = "sum_over_batch_size"


def _class_head(n_classes, weight_column, label_vocabulary, loss_reduction):
    if n_classes == 2:
        return BinaryClassHead(
            weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction
        )
    return MultiClassHead(
        n_classes, weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction
    )


# ---- logits --------------------------------------------------------------------------------------


class _Linear:
    """A weighted sum of columns."""

    scope = "linear"

    def __init__(self, columns, optimizer, combiner: str, most: float) -> None:
        self._columns, self._combiner = columns, combiner
        count = len(columns) if isinstance(columns, list | tuple) else 1
        self.optimizer, self.rate = optimizer, min(most, 1.0 / math.sqrt(max(count, 1)))

    def logits(self, features, units: int, mode):
        with variable_scope(self.scope):
            return linear_model(features, self._columns, units, self._combiner)


class _Layers:
    """Dense layers over columns."""

    scope = "dnn"

    def __init__(
        self, columns, hidden_units, optimizer, activation, dropout, batch_norm, rate
    ) -> None:
        for units in hidden_units:
            if units < 1:
                raise ValueError(f"hidden_units must be positive, given: {list(hidden_units)}")
        if dropout is not None and not 0 < dropout < 1:
            raise ValueError(f"dropout must be between 0 and 1, given: {dropout}")
        self._columns, self._units, self._dropout = columns, list(hidden_units), dropout
        self._activation, self._batch_norm = activation, batch_norm
        self.optimizer, self.rate = optimizer, rate

    def logits(self, features, units: int, mode):
        training = mode == ModeKeys.TRAIN
        with variable_scope(self.scope):
            with variable_scope("input_from_feature_columns"):
                net = input_layer(features, self._columns)
            for i, size in enumerate(self._units):
                net = _layers.dense(
                    net,
                    size,
                    self._activation,
                    kernel_initializer=GlorotUniform(),
                    name=f"hiddenlayer_{i}",
                )
                if self._dropout is not None and training:
                    net = _layers.dropout(net, self._dropout, training=True)
                if self._batch_norm:
                    net = _layers.batch_normalization(
                        net, momentum=0.999, training=training, name=f"batchnorm_{i}"
                    )
            return _layers.dense(net, units, kernel_initializer=GlorotUniform(), name="logits")


class _Bias:
    """The same logits for all examples."""

    scope = "baseline"

    def __init__(self, optimizer) -> None:
        self.optimizer, self.rate = optimizer, 0.3

    def logits(self, features, units: int, mode):
        first = convert_to_tensor(features[sorted(features)[0]])
        with variable_scope(self.scope):
            bias = get_variable("bias", [units], _dtypes.float32, Zeros())
        return tile(expand_dims(bias._read(), 0), [shape(first)[0], 1])


class _Canned(Estimator):
    """An estimator whose logits are the sum of those of parts, each with its optimizer."""

    def __init__(self, head, parts: list, model_dir, config, warm_start_from=None) -> None:
        self._head, self._parts = head, parts

        def model_fn(features, labels, mode, config):
            if not isinstance(features, dict):
                raise ValueError(
                    "features should be a dictionary of `Tensor`s. Given type: "
                    f"{type(features).__name__}"
                )
            size = head.logits_dimension
            logits = [part.logits(features, size, mode) for part in parts]
            total = logits[0]
            for more in logits[1:]:
                total = total + more
            return head.create_estimator_spec(
                features, mode, total, labels, train_op_fn=self._train
            )

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)

    def _train(self, loss):
        """Let each part's optimizer train the part's variables."""
        operations = []
        for part in self._parts:
            own = [v for v in trainable_variables() if v.name.startswith(part.scope + "/")]
            if own:
                optimizer = optimizer_of(part.optimizer, part.rate)
                operations.append(optimizer.minimize(loss, var_list=own))
        step = get_global_step()
        return group(*operations, step.assign_add(ones_like(step._read()), read_value=False))


# ---- linear --------------------------------------------------------------------------------------


class LinearEstimator(_Canned):
    """A linear model with a head of one's own."""

    def __init__(
        self,
        head,
        feature_columns,
        model_dir=None,
        optimizer="Ftrl",
        config=None,
        sparse_combiner="sum",
        warm_start_from=None,
    ) -> None:
        part = _Linear(feature_columns, optimizer, sparse_combiner, 0.2)
        super().__init__(head, [part], model_dir, config, warm_start_from)


class LinearClassifier(LinearEstimator):
    """A linear model of classes.

    Parameters
    ----------
    weight_column
        A feature that says how much an example counts.
    label_vocabulary
        The names of the classes, where labels are texts.
    sparse_combiner
        "sum", "mean" or "sqrtn": how weights of an example's categories become one.
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Ftrl",
        config=None,
        warm_start_from=None,
        loss_reduction=_MEAN,
        sparse_combiner="sum",
    ) -> None:
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, sparse_combiner, warm_start_from
        )


class LinearRegressor(LinearEstimator):
    """A linear model of numbers."""

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Ftrl",
        config=None,
        warm_start_from=None,
        loss_reduction=_MEAN,
        sparse_combiner="sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, sparse_combiner, warm_start_from
        )


# ---- layers --------------------------------------------------------------------------------------


class DNNEstimator(_Canned):
    """Dense layers with a head of one's own."""

    def __init__(
        self,
        head,
        hidden_units,
        feature_columns,
        model_dir=None,
        optimizer="Adagrad",
        activation_fn=relu,
        dropout=None,
        config=None,
        warm_start_from=None,
        batch_norm=False,
    ) -> None:
        part = _Layers(
            feature_columns, hidden_units, optimizer, activation_fn, dropout, batch_norm, None
        )
        super().__init__(head, [part], model_dir, config, warm_start_from)


class DNNClassifier(DNNEstimator):
    """Dense layers for classes."""

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Adagrad",
        activation_fn=relu,
        dropout=None,
        config=None,
        warm_start_from=None,
        loss_reduction=_MEAN,
        batch_norm=False,
    ) -> None:
        super().__init__(
            _class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            config,
            warm_start_from,
            batch_norm,
        )


class DNNRegressor(DNNEstimator):
    """Dense layers for numbers."""

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Adagrad",
        activation_fn=relu,
        dropout=None,
        config=None,
        warm_start_from=None,
        loss_reduction=_MEAN,
        batch_norm=False,
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            config,
            warm_start_from,
            batch_norm,
        )


# ---- both ----------------------------------------------------------------------------------------


class DNNLinearCombinedEstimator(_Canned):
    """A linear model and dense layers whose logits are added, with a head of one's own."""

    def __init__(
        self,
        head,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        config=None,
        batch_norm=False,
        linear_sparse_combiner="sum",
        _warm_start_from=None,
    ) -> None:
        if not linear_feature_columns and not dnn_feature_columns:
            raise ValueError(
                "Either linear_feature_columns or dnn_feature_columns must be defined."
            )
        parts: list = []
        if dnn_feature_columns:
            if not dnn_hidden_units:
                raise ValueError(
                    "dnn_hidden_units must be defined when dnn_feature_columns is specified."
                )
            parts.append(
                _Layers(
                    dnn_feature_columns,
                    dnn_hidden_units,
                    dnn_optimizer,
                    dnn_activation_fn,
                    dnn_dropout,
                    batch_norm,
                    0.001,
                )
            )
        if linear_feature_columns:
            parts.append(
                _Linear(linear_feature_columns, linear_optimizer, linear_sparse_combiner, 0.005)
            )
        super().__init__(head, parts, model_dir, config, _warm_start_from)


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """A linear model and dense layers for classes."""

    def __init__(
        self,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        config=None,
        warm_start_from=None,
        loss_reduction=_MEAN,
        batch_norm=False,
        linear_sparse_combiner="sum",
    ) -> None:
        super().__init__(
            _class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            config,
            batch_norm,
            linear_sparse_combiner,
            warm_start_from,
        )


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """A linear model and dense layers for numbers."""

    def __init__(
        self,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=relu,
        dnn_dropout=None,
        label_dimension=1,
        weight_column=None,
        config=None,
        warm_start_from=None,
        loss_reduction=_MEAN,
        batch_norm=False,
        linear_sparse_combiner="sum",
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            config,
            batch_norm,
            linear_sparse_combiner,
            warm_start_from,
        )


# ---- baseline ------------------------------------------------------------------------------------


class BaselineEstimator(_Canned):
    """What is predicted without looking at features, with a head of one's own."""

    def __init__(self, head, model_dir=None, optimizer="Ftrl", config=None) -> None:
        super().__init__(head, [_Bias(optimizer)], model_dir, config)


class BaselineClassifier(BaselineEstimator):
    """How frequent classes are."""

    def __init__(
        self,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Ftrl",
        config=None,
        loss_reduction=_MEAN,
    ) -> None:
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)


class BaselineRegressor(BaselineEstimator):
    """The mean of the labels."""

    def __init__(
        self,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Ftrl",
        config=None,
        loss_reduction=_MEAN,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)
