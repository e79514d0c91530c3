"""`tf.compat.v1.tpu`: what a model function says of shards."""

from __future__ import annotations

import contextlib as _contextlib

from ... import _dtypes
from ..._core import convert_to_tensor, ops
from ..._effects import get_logger
from ..._missing import finder as _finder
from ...estimator._shards import number_of_shards
from ._optimizers import Optimizer
from ._scopes import get_variable_scope, variable_scope
from .losses import Reduction

__all__ = ["CrossShardOptimizer", "bfloat16_scope", "cross_replica_sum"]


def _shards():
    return number_of_shards()


def cross_replica_sum(x, group_assignment=None, name=None):
    """The sum of a tensor over all shards."""
    if group_assignment is None:
        group_assignment = [list(range(_shards() or 1))]
    groups = convert_to_tensor(group_assignment, _dtypes.int32)
    return ops["CrossReplicaSum"](convert_to_tensor(x), groups, name=name)


class CrossShardOptimizer(Optimizer):
    """Adds gradients up over the shards before another optimizer applies them.

    Parameters
    ----------
    opt
        The other optimizer.
    reduction
        MEAN: the loss of a shard counts as its part of the mean; SUM: as it is.
    """

    def __init__(
        self, opt, reduction=Reduction.MEAN, name="CrossShardOptimizer", group_assignment=None
    ) -> None:
        accepted = (Reduction.SUM, Reduction.MEAN)
        if reduction not in accepted:
            raise ValueError(f"Unsupported reduction: {reduction}.")
        if not isinstance(opt, Optimizer):
            raise TypeError(
                "CrossShardOptimizer only works with tf.training.Optimizer and not Optimizer_v2. "
                "If "
                "you are using TPUStrategy, OptimizerV2 will sum gradients across replicas."
            )
        if group_assignment is not None and len(group_assignment) != 1:
            raise NotImplementedError("CrossShardOptimizer: all shards are one group")
        super().__init__(False, name)
        self._opt, self._reduction = opt, reduction

    def compute_gradients(self, loss, var_list=None, **kwargs) -> list:
        """Return pairs of a gradient and a variable, of this shard."""
        count = _shards()
        if count is None:
            get_logger().warning(
                "CrossShardOptimizer should be used within a tpu_shard_context, but got unset "
                "number_of_shards. Assuming 1."
            )
            count = 1
        if count > 1 and self._reduction == Reduction.MEAN:
            loss = loss * convert_to_tensor(1.0 / count, loss.dtype)
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def minimize(self, loss, global_step=None, var_list=None, **kwargs):
        """Add compute_gradients and apply_gradients."""
        name = kwargs.pop("name", None)
        pairs = self.compute_gradients(loss, var_list, **kwargs)
        if all(gradient is None for gradient, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in pairs]} and loss "
                f"{loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Add the gradients up over the shards and apply them."""
        summed = [(None if g is None else cross_replica_sum(g), v) for g, v in grads_and_vars]
        return self._opt.apply_gradients(summed, global_step, name)

    def get_slot(self, var, name):
        """Return a slot of the other optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list:
        """Return the names of its slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list:
        """Return its variables."""
        return self._opt.variables()


@_contextlib.contextmanager
def bfloat16_scope(name: str | None = None):
    """Within it, get_variable gives bfloat16 values of variables that are kept in float32."""

    def getter(next_getter, *args, **kwargs):
        if kwargs.get("dtype") != _dtypes.bfloat16:
            return next_getter(*args, **kwargs)
        kwargs["dtype"] = _dtypes.float32
        return _Cast(next_getter(*args, **kwargs))

    with variable_scope(name or get_variable_scope(), custom_getter=getter) as scope:
        yield scope


class _Cast:
    """The value of a variable in another dtype, where layers ask for it."""

    def __init__(self, variable) -> None:
        self._variable = variable
        self.dtype, self.shape = _dtypes.bfloat16, variable.shape

    def _read(self):
        return ops["Cast"](self._variable._read(), DstT=_dtypes.bfloat16)

    def __tf_tensor__(self, dtype=None, name=None):
        return self._read()

    def __getattr__(self, name: str):
        return getattr(self._variable, name)


__getattr__ = _finder(__name__)
