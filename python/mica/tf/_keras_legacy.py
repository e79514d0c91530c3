"""Names that TensorFlow 2's own documents use and Keras 3 has dropped.

The optimizers of tf.keras.optimizers.legacy have the arguments and steps of Keras 2. They are those
of Keras 3, whose steps are the same but for where epsilon is added. `lr` is another name of
learning_rate, `decay` divides it by 1 + decay * iterations.
"""

from __future__ import annotations

import functools
import importlib

from ._dtypes import as_dtype

# name -> its parameters in Keras 2's order
_PARAMETERS = {
    "Adagrad": "learning_rate initial_accumulator_value epsilon name",
    "Adam": "learning_rate beta_1 beta_2 epsilon amsgrad name",
    "Ftrl": "learning_rate learning_rate_power initial_accumulator_value "
    "l1_regularization_strength l2_regularization_strength name "
    "l2_shrinkage_regularization_strength beta",
    "RMSprop": "learning_rate rho momentum epsilon centered name",
    "SGD": "learning_rate momentum nesterov name",
}


class _Legacy:
    """Arguments of Keras 2."""

    def __init__(self, *args, **options) -> None:
        name = type(self).__name__
        names = _PARAMETERS[name].split()
        if len(args) > len(names):
            raise TypeError(f"{name} takes at most {len(names)} arguments, {len(args)} were given")
        options |= dict(zip(names, args, strict=False))
        if "lr" in options:
            options["learning_rate"] = options.pop("lr")
        rate = options.setdefault("learning_rate", 0.01 if name == "SGD" else 0.001)
        decay = options.pop("decay", 0.0)
        if decay < 0:
            raise ValueError(f"decay cannot be less than 0. Received: decay={decay}.")
        if decay and not callable(rate):
            schedules = importlib.import_module("keras.src.optimizers.schedules")
            options["learning_rate"] = schedules.InverseTimeDecay(float(rate), 1, float(decay))
        super().__init__(**options)

    @property
    def lr(self):
        """The learning rate."""
        return self.learning_rate

    @lr.setter
    def lr(self, rate) -> None:
        self.learning_rate = rate


def _ops():
    return importlib.import_module("keras.src.ops")


class _Adagrad(_Legacy):
    def update_step(self, gradient, variable, learning_rate) -> None:
        ops = _ops()
        rate, gradient = ops.cast(learning_rate, variable.dtype), ops.cast(gradient, variable.dtype)
        total = self._accumulators[self._get_variable_index(variable)]
        self.assign_add(total, ops.square(gradient))
        self.assign_sub(variable, rate * gradient / (ops.sqrt(total) + self.epsilon))


class _RMSprop(_Legacy):
    def update_step(self, gradient, variable, learning_rate) -> None:
        if self.momentum > 0:  # epsilon is below the root, as in Keras 3
            super().update_step(gradient, variable, learning_rate)
            return
        ops = _ops()
        rate, gradient = ops.cast(learning_rate, variable.dtype), ops.cast(gradient, variable.dtype)
        index, rho = self._get_variable_index(variable), self.rho
        squares = self._velocities[index]
        self.assign(squares, rho * squares + (1 - rho) * ops.square(gradient))
        spread = squares
        if self.centered:
            mean = self._average_gradients[index]
            self.assign(mean, rho * mean + (1 - rho) * gradient)
            spread = squares - ops.square(mean)
        self.assign_sub(variable, rate * gradient / (ops.sqrt(spread) + self.epsilon))


_STEPS = {"Adagrad": _Adagrad, "RMSprop": _RMSprop}


@functools.cache
def _optimizers() -> dict[str, type]:
    found = importlib.import_module("keras.src.optimizers")
    made = {"Optimizer": importlib.import_module("keras.src.optimizers.optimizer").Optimizer}
    for name in _PARAMETERS:
        base = getattr(found, name)
        members = {"__doc__": base.__doc__, "__module__": "keras.optimizers.legacy"}
        made[name] = type(name, (_STEPS.get(name, _Legacy), base), members)
    return made


def add_optimizers(module) -> None:
    """Give the module the optimizers, in place of what says that Keras 3 has none."""
    vars(module).update(_optimizers())


# ---- names of other classes ----------------------------------------------------------------------


def _zero_state(self, batch_size, dtype=None):
    """The state of a cell before the first step."""
    states = self.get_initial_state(batch_size)
    if dtype is None:
        return states
    tree, name = importlib.import_module("keras.src.tree"), as_dtype(dtype).name
    return tree.map_structure(lambda state: _ops().cast(state, name), states)


def add_names(module) -> None:
    """Give classes of tf.keras the names of methods that they had in Keras 2."""
    metric, layers = module.metrics.Metric, module.layers
    if not hasattr(metric, "reset_states"):
        metric.reset_states = lambda self: self.reset_state()
    for cell in (layers.SimpleRNNCell, layers.GRUCell, layers.LSTMCell, layers.StackedRNNCells):
        if not hasattr(cell, "zero_state"):
            cell.zero_state = _zero_state
