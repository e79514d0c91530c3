"""Optimizers of canned estimators: by name, of TensorFlow 1, of Keras, or made by a function."""

from __future__ import annotations

from .._array import zeros
from .._effects import group
from ..compat.v1._optimizers import (
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
    _number,
)
from ..math import sqrt, square

_NAMES = ("Adagrad", "Adam", "Ftrl", "RMSProp", "SGD")


class _Adagrad(AdagradOptimizer):
    """Steps as TensorFlow 2 takes them: epsilon is added to the root."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, epsilon=1e-7) -> None:
        super().__init__(learning_rate, initial_accumulator_value)
        self._epsilon = epsilon

    def _apply_dense(self, grad, var):
        slot = self.get_slot(var, "accumulator")
        total = slot._read() + square(grad)
        step = grad * _number(self._rate, var) / (sqrt(total) + _number(self._epsilon, var))
        return group(slot.assign(total, read_value=False), var.assign_sub(step, read_value=False))


class _RMSProp(Optimizer):
    """Steps as TensorFlow 2 takes them: averages begin at zero, epsilon is added to the root."""

    def __init__(self, learning_rate, rho=0.9, epsilon=1e-7) -> None:
        super().__init__(False, "RMSProp")
        self._rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list) -> None:
        for variable in var_list:
            self._slot(variable, "rms", zeros, self._name)

    def _apply_dense(self, grad, var):
        rms, rho = self.get_slot(var, "rms"), _number(self._rho, var)
        mean = rms._read() * rho + square(grad) * (1 - rho)
        step = grad * _number(self._rate, var) / (sqrt(mean) + _number(self._epsilon, var))
        return group(rms.assign(mean, read_value=False), var.assign_sub(step, read_value=False))


def _named(name: str, rate: float | None) -> Optimizer:
    makers = {
        "Adagrad": _Adagrad,
        "Adam": lambda r: AdamOptimizer(r, epsilon=1e-7),
        "Ftrl": FtrlOptimizer,
        "RMSProp": _RMSProp,
        "SGD": GradientDescentOptimizer,
    }
    if name not in makers:
        raise ValueError(
            f"Unsupported optimizer name: {name}. Supported names are: {', '.join(_NAMES)}"
        )
    if rate is None:
        rate = 0.01 if name == "SGD" else 0.001
    return makers[name](rate)


def _of_keras(optimizer) -> Optimizer:
    """The same steps as a Keras optimizer's, on variables of a graph."""
    config, kind = dict(optimizer.get_config()), type(optimizer).__name__
    rate = config.get("learning_rate")
    unsupported = {
        key: config[key]
        for key in ("weight_decay", "clipnorm", "clipvalue", "global_clipnorm", "use_ema")
        if config.get(key)
    }
    if isinstance(rate, dict) or unsupported or config.get("amsgrad") or config.get("centered"):
        raise NotImplementedError(
            f"An estimator's optimizer {kind} has a number as its rate and none of weight_decay, "
            f"clipping, averages, amsgrad and centered; given: {config}"
        )
    if kind == "Adagrad":
        return _Adagrad(rate, config["initial_accumulator_value"], config["epsilon"])
    if kind == "Adam":
        return AdamOptimizer(rate, config["beta_1"], config["beta_2"], config["epsilon"])
    if kind == "RMSprop" and not config.get("momentum"):
        return _RMSProp(rate, config["rho"], config["epsilon"])
    if kind == "SGD" and not config.get("momentum"):
        return GradientDescentOptimizer(rate)
    if kind == "SGD":
        return MomentumOptimizer(rate, config["momentum"], use_nesterov=config["nesterov"])
    if kind == "Ftrl":
        return FtrlOptimizer(
            rate,
            config["learning_rate_power"],
            config["initial_accumulator_value"],
            config["l1_regularization_strength"],
            config["l2_regularization_strength"],
            l2_shrinkage_regularization_strength=config["l2_shrinkage_regularization_strength"],
            beta=config["beta"],
        )
    raise NotImplementedError(
        f"An estimator's optimizer is one of {', '.join(_NAMES)}, an optimizer of "
        f"tf.compat.v1.train, or a function that makes one; given: {kind}"
    )


def optimizer_of(given, rate: float | None = None) -> Optimizer:
    """Return the optimizer that is meant; `rate` is that of one given by name, or the usual one."""
    if isinstance(given, str):
        return _named(given, rate)
    if isinstance(given, Optimizer):
        return given
    if hasattr(given, "get_config"):
        return _of_keras(given)
    if callable(given):
        return optimizer_of(given(), rate)
    raise ValueError(f"The given object is not an optimizer: {given!r}")
