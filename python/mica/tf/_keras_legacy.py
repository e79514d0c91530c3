"""tf.keras.optimizers.legacy: the optimizers of Keras 2 by their names, arguments and steps.

They are those of Keras 3, which run what has the same step as before. `lr` is learning_rate,
`decay` divides it by 1 + decay * iterations. Where Keras 3 puts epsilon elsewhere the step is that
of Keras 2.
"""

from __future__ import annotations

import importlib
import importlib.machinery

MODULES = ("keras.optimizers.legacy", "keras._tf_keras.keras.optimizers.legacy")

# name -> learning_rate and what else differs from Keras 3 when it is not given.
_DEFAULTS = {
    "Adadelta": {"learning_rate": 0.001},
    "Adagrad": {"learning_rate": 0.001},
    "Adam": {"learning_rate": 0.001},
    "Adamax": {"learning_rate": 0.001},
    "Ftrl": {"learning_rate": 0.001},
    "Nadam": {"learning_rate": 0.001},
    "RMSprop": {"learning_rate": 0.001},
    "SGD": {"learning_rate": 0.01},
}


def _decayed(rate: float, decay: float):
    from keras.optimizers.schedules import InverseTimeDecay

    return InverseTimeDecay(rate, decay_steps=1, decay_rate=decay)


class _Legacy:
    """Arguments of Keras 2."""

    def __init__(self, *args, **options):
        lr, decay = options.pop("lr", None), options.pop("decay", 0.0)
        if args:
            options["learning_rate"], args = args[0], args[1:]
        elif lr is not None:
            options["learning_rate"] = lr
        rate = options.setdefault("learning_rate", _DEFAULTS[type(self).__name__]["learning_rate"])
        if decay < 0:
            raise ValueError(f"decay cannot be less than 0. Received: decay={decay}.")
        if decay and not callable(rate):
            options["learning_rate"] = _decayed(float(rate), float(decay))
        super().__init__(options.pop("learning_rate"), *args, **options)

    @property
    def lr(self):
        """The learning rate, as Keras 2 also calls it."""
        return self.learning_rate

    @lr.setter
    def lr(self, rate) -> None:
        self.learning_rate = rate


def _accumulated(self, gradient, variable, learning_rate):
    """Adagrad's step with epsilon beside the root."""
    from keras import ops

    rate = ops.cast(learning_rate, variable.dtype)
    gradient = ops.cast(gradient, variable.dtype)
    total = self._accumulators[self._get_variable_index(variable)]
    self.assign_add(total, ops.square(gradient))
    step = rate * gradient / (ops.sqrt(total) + self.epsilon)
    self.assign_sub(variable, step)


_STEPS = {"Adagrad": {"update_step": _accumulated}}


def prepare(module) -> None:
    """Give the module of names that Keras 3 refuses the optimizers themselves."""
    optimizers = importlib.import_module("keras.src.optimizers")
    for name in _DEFAULTS:
        base = getattr(optimizers, name)
        made = type(name, (_Legacy, base), {"__doc__": base.__doc__, **_STEPS.get(name, {})})
        made.__module__ = MODULES[0]
        setattr(module, name, made)
    module.Optimizer = optimizers.Optimizer
