"""What a model function returns."""

from __future__ import annotations

from collections import namedtuple

from .._core import Tensor, convert_to_tensor
from .._graph import Operation
from ..compat.v1._hooks import SessionRunHook


class ModeKeys:
    """What a model function is called for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


_FIELDS = [
    "mode",
    "predictions",
    "loss",
    "train_op",
    "eval_metric_ops",
    "export_outputs",
    "training_chief_hooks",
    "training_hooks",
    "scaffold",
    "evaluation_hooks",
    "prediction_hooks",
]


def checked_loss(loss, mode: str):
    """The loss as a scalar."""
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    loss = convert_to_tensor(loss)
    if loss.shape.rank not in (0, None) and loss.shape.num_elements() != 1:
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return loss


def checked_train_op(train_op, mode: str):
    """What training runs."""
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    if not isinstance(train_op, (Tensor, Operation)) and not hasattr(train_op, "op"):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
    return train_op


def checked_hooks(hooks) -> tuple:
    """Hooks as a tuple."""
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return hooks


class EstimatorSpec(namedtuple("EstimatorSpec", _FIELDS)):
    """What an estimator runs: of each mode what it needs."""

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        export_outputs=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        """Check what the mode needs."""
        if predictions is None:
            if mode == ModeKeys.PREDICT:
                raise ValueError("Missing predictions.")
            predictions = {}
        for name, pair in (eval_metric_ops or {}).items():
            if not hasattr(pair, "update_state") and (
                not isinstance(pair, tuple) or len(pair) != 2
            ):
                raise TypeError(
                    "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                    f"{pair} for key: {name}"
                )
        return super().__new__(
            cls,
            mode,
            predictions,
            checked_loss(loss, mode),
            checked_train_op(train_op, mode),
            dict(eval_metric_ops or {}),
            export_outputs,
            checked_hooks(training_chief_hooks),
            checked_hooks(training_hooks),
            scaffold,
            checked_hooks(evaluation_hooks),
            checked_hooks(prediction_hooks),
        )
