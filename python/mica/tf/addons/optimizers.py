"""`tfa.optimizers`: steps beside those of Keras, wrappers that average, cyclical rates.

They are optimizers of Keras 3: learning rates may be schedules, gradients are clipped and decayed
as the base class says.
"""

from __future__ import annotations

from .. import math as _math
from .._array import constant as _constant
from .._array import expand_dims as _expand_dims
from .._array import gather as _gather
from .._array import where as _where
from .._core import convert_to_tensor as _convert
from .._install import keras as _keras
from .._math import cast as _cast
from .._reduce import reduce_sum as _reduce_sum
from .._select import tensor_scatter_nd_update as _scatter
from .._select import unique as _unique
from .._slices import IndexedSlices as _IndexedSlices
from ..linalg import norm as _norm
from . import _missing

_optimizers = _keras().optimizers
_Optimizer = _optimizers.Optimizer
_Schedule = _optimizers.schedules.LearningRateSchedule


class _Moments(_Optimizer):
    """The base of steps that keep means of gradients and of their squares."""

    def __init__(self, learning_rate, beta_1, beta_2, epsilon, name, **options) -> None:
        super().__init__(learning_rate=learning_rate, name=name, **options)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def build(self, variables) -> None:
        """Make the means."""
        if self.built:
            return
        super().build(variables)
        self._m = [self.add_variable_from_reference(v, "m") for v in variables]
        self._v = [self.add_variable_from_reference(v, "v") for v in variables]

    def _place(self, variable) -> int:
        return self._get_variable_index(variable)

    def _means(self, gradient, variable):
        """The new means, which are kept."""
        i = self._place(variable)
        m, v = self._m[i], self._v[i]
        self.assign(m, m * self.beta_1 + gradient * (1 - self.beta_1))
        self.assign(v, v * self.beta_2 + gradient * gradient * (1 - self.beta_2))
        return _convert(m), _convert(v)

    def _step(self, variable):
        return _cast(self.iterations + 1, variable.dtype)

    def get_config(self) -> dict:
        """What it was made with."""
        own = {"beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon}
        return super().get_config() | own


def _matches(variable, patterns) -> bool:
    name = getattr(variable, "path", variable.name)
    return any(pattern in name for pattern in patterns or ())


class LAMB(_Moments):
    """Adam whose step has the size of the layer's weights: Y. You and others, 2019."""

    def __init__(
        self,
        learning_rate=0.001,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        weight_decay=0.0,
        exclude_from_weight_decay=None,
        exclude_from_layer_adaptation=None,
        name="LAMB",
        **options,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **options)
        self._decay = weight_decay
        self._undecayed = exclude_from_weight_decay
        self._unscaled = exclude_from_layer_adaptation or exclude_from_weight_decay

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Step one variable."""
        m, v = self._means(gradient, variable)
        step = self._step(variable)
        m = m / (1 - self.beta_1**step)
        v = v / (1 - self.beta_2**step)
        update = m / (_math.sqrt(v) + self.epsilon)
        if not _matches(variable, self._undecayed):
            update = update + self._decay * _convert(variable)
        ratio = 1.0
        if not _matches(variable, self._unscaled):
            size, length = _norm(_convert(variable)), _norm(update)
            one = _cast(1, size.dtype)
            ratio = _where(size > 0, _where(length > 0, size / length, one), one)
        self.assign_sub(variable, ratio * _cast(learning_rate, variable.dtype) * update)

    def get_config(self) -> dict:
        """What it was made with."""
        own = {
            "weight_decay": self._decay,
            "exclude_from_weight_decay": self._undecayed,
            "exclude_from_layer_adaptation": self._unscaled,
        }
        return super().get_config() | own


class LazyAdam(_Moments):
    """Adam that leaves the rows alone which a sparse gradient does not have."""

    def __init__(
        self,
        learning_rate=0.001,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-7,
        amsgrad=False,
        name="LazyAdam",
        **options,
    ) -> None:
        if amsgrad:
            raise ValueError("LazyAdam has no amsgrad: leave it out")
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **options)

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Step one variable, or its rows that the gradient has."""
        step = self._step(variable)
        rate = _cast(learning_rate, variable.dtype)
        rate = rate * _math.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        if not isinstance(gradient, _IndexedSlices):
            m, v = self._means(gradient, variable)
            self.assign_sub(variable, rate * m / (_math.sqrt(v) + self.epsilon))
            return
        rows, places = _unique(gradient.indices)
        values = _math.unsorted_segment_sum(gradient.values, places, rows.shape[0])
        i = self._place(variable)
        m = _gather(_convert(self._m[i]), rows) * self.beta_1 + values * (1 - self.beta_1)
        v = _gather(_convert(self._v[i]), rows) * self.beta_2 + values * values * (1 - self.beta_2)
        at = _expand_dims(rows, 1)
        new = _gather(_convert(variable), rows) - rate * m / (_math.sqrt(v) + self.epsilon)
        for kept, part in ((self._m[i], m), (self._v[i], v), (variable, new)):
            self.assign(kept, _scatter(_convert(kept), at, part))


class NovoGrad(_Optimizer):
    """Momentum of gradients divided by a norm of the whole layer: B. Ginsburg and others, 2019."""

    def __init__(
        self,
        learning_rate=0.001,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-7,
        weight_decay=0.0,
        grad_averaging=False,
        amsgrad=False,
        name="NovoGrad",
        **options,
    ) -> None:
        super().__init__(learning_rate=learning_rate, name=name, **options)
        if weight_decay < 0.0:
            raise ValueError("Weight decay rate cannot be negative")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self._decay, self._averages, self._keeps_most = weight_decay, grad_averaging, amsgrad

    def build(self, variables) -> None:
        """Make the momentum and a number for each variable."""
        if self.built:
            return
        super().build(variables)
        self._m = [self.add_variable_from_reference(v, "m") for v in variables]
        self._v = [self.add_variable((), initializer="zeros", name="v") for v in variables]
        self._most = [self.add_variable((), initializer="zeros", name="vhat") for v in variables]

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Step one variable."""
        i = self._get_variable_index(variable)
        is_first = self.iterations == 0
        square = _reduce_sum(_cast(gradient, "float32") ** 2)
        v = self._v[i] * self.beta_2 + square * (1 - self.beta_2)
        self.assign(self._v[i], _where(is_first, square, v))
        norm = _convert(self._v[i])
        if self._keeps_most:
            self.assign(self._most[i], _math.maximum(self._most[i], norm))
            norm = _convert(self._most[i])
        gradient = gradient / (_math.sqrt(norm) + self.epsilon)
        if self._decay > 0:
            gradient = gradient + self._decay * _convert(variable)
        if self._averages:
            gradient = _where(is_first, gradient, gradient * (1 - self.beta_1))
        rate = _cast(learning_rate, variable.dtype)
        self.assign(self._m[i], self._m[i] * self.beta_1 - rate * gradient)
        self.assign_add(variable, _convert(self._m[i]))

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | {
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "weight_decay": self._decay,
            "grad_averaging": self._averages,
            "amsgrad": self._keeps_most,
        }


class RectifiedAdam(_Moments):
    """Adam that waits until the variance is known well enough: L. Liu and others, 2019."""

    def __init__(
        self,
        learning_rate=0.001,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-7,
        weight_decay=0.0,
        amsgrad=False,
        sma_threshold=5.0,
        total_steps=0,
        warmup_proportion=0.1,
        min_lr=0.0,
        name="RectifiedAdam",
        **options,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **options)
        if amsgrad:
            raise NotImplementedError("RectifiedAdam: amsgrad=True is not there, leave it out")
        self._decay, self._threshold = weight_decay, sma_threshold
        self._total, self._warm, self._least = total_steps, warmup_proportion, min_lr

    def _rate(self, learning_rate, step):
        if not self._total:
            return learning_rate
        warm = self._total * self._warm
        rest = max(self._total - warm, 1)
        slope = (self._least - learning_rate) / rest
        late = learning_rate + slope * _math.minimum(step - warm, float(rest))
        return _where(step <= warm, learning_rate * step / warm, late)

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Step one variable."""
        m, v = self._means(gradient, variable)
        step = self._step(variable)
        rate = self._rate(_cast(learning_rate, variable.dtype), step)
        left = self.beta_2**step
        most = 2.0 / (1.0 - self.beta_2) - 1.0
        length = most - 2.0 * step * left / (1 - left)
        m = m / (1 - self.beta_1**step)
        v = _math.sqrt(v / (1 - left))
        factor = (length - 4) / (most - 4) * (length - 2) / (most - 2) * most / length
        known = length >= self._threshold
        factor = _math.sqrt(_where(known, factor, _cast(1, factor.dtype)))
        update = _where(known, factor * m / (v + self.epsilon), m)
        if self._decay:
            update = update + self._decay * _convert(variable)
        self.assign_sub(variable, rate * update)

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | {
            "weight_decay": self._decay,
            "sma_threshold": self._threshold,
            "total_steps": self._total,
            "warmup_proportion": self._warm,
            "min_lr": self._least,
        }


class Yogi(_Moments):
    """Adam whose mean of squares grows slowly: M. Zaheer and others, 2018."""

    def __init__(
        self,
        learning_rate=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-3,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        initial_accumulator_value=1e-6,
        activation="sign",
        name="Yogi",
        **options,
    ) -> None:
        if activation not in ("sign", "tanh"):
            raise NotImplementedError("Activation function can be sign or tanh")
        super().__init__(learning_rate, beta1, beta2, epsilon, name, **options)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._first, self._activation = initial_accumulator_value, activation

    def build(self, variables) -> None:
        """Make the means; that of squares begins with a number of its own."""
        if self.built:
            return
        super().build(variables)
        for v in self._v:
            self.assign(v, 0 * _convert(v) + self._first)

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Step one variable."""
        i = self._place(variable)
        m, v = self._m[i], self._v[i]
        step = self._step(variable)
        rate = _cast(learning_rate, variable.dtype)
        rate = rate * _math.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        self.assign(m, m * self.beta_1 + gradient * (1 - self.beta_1))
        square = gradient * gradient
        difference = square - _convert(v)
        if self._activation == "sign":
            sign = _math.sign(difference)
        else:
            sign = _math.tanh(10 * difference)
        self.assign_add(v, (1 - self.beta_2) * sign * square)
        rates = rate / (_math.sqrt(_convert(v)) + self.epsilon)
        new = _convert(variable) - rates * _convert(m)
        scale = 1 + self._l2 * rates
        if self._l1 > 0:  # the smallest of scale/2 x^2 - new x + l1 rates |x|
            new = _math.sign(new) * _math.maximum(_math.abs(new) - self._l1 * rates, 0.0)
        if self._l1 > 0 or self._l2 > 0:
            new = new / scale
        self.assign(variable, new)

    def get_config(self) -> dict:
        """What it was made with."""
        config = super().get_config()
        config["beta1"], config["beta2"] = config.pop("beta_1"), config.pop("beta_2")
        return config | {
            "l1_regularization_strength": self._l1,
            "l2_regularization_strength": self._l2,
            "initial_accumulator_value": self._first,
            "activation": self._activation,
        }


# ---- weight decay --------------------------------------------------------------------------------


class DecoupledWeightDecayExtension:
    """Makes weights smaller by a part of themselves before each step, whatever the rate."""

    def __init__(self, weight_decay, exclude_from_weight_decay=None, **options) -> None:
        super().__init__(**options)
        self._part, self._left_out = weight_decay, exclude_from_weight_decay

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Step one variable."""
        if not _matches(variable, self._left_out):
            part = self._part(self.iterations) if callable(self._part) else self._part
            self.assign_sub(variable, _cast(part, variable.dtype) * _convert(variable))
        super().update_step(gradient, variable, learning_rate)

    def get_config(self) -> dict:
        """What it was made with."""
        config = super().get_config()
        return config | {"weight_decay": self._part, "exclude_from_weight_decay": self._left_out}


def extend_with_decoupled_weight_decay(base_optimizer):
    """Return the class of an optimizer that also makes weights smaller."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """The base optimizer, with `weight_decay` as its first argument."""

        def __init__(self, weight_decay, *args, **kwargs) -> None:
            left_out = kwargs.pop("exclude_from_weight_decay", None)
            base_optimizer.__init__(self, *args, **kwargs)
            self._part, self._left_out = weight_decay, left_out

    return OptimizerWithDecoupledWeightDecay


class SGDW(DecoupledWeightDecayExtension, _optimizers.SGD):
    """SGD with weights that are made smaller: I. Loshchilov and F. Hutter, 2017."""

    def __init__(
        self,
        weight_decay,
        learning_rate=0.001,
        momentum=0.0,
        nesterov=False,
        name="SGDW",
        **options,
    ) -> None:
        given = {"learning_rate": learning_rate, "momentum": momentum, "nesterov": nesterov}
        super().__init__(weight_decay, name=name, **given, **options)


class AdamW(DecoupledWeightDecayExtension, _optimizers.Adam):
    """Adam with weights that are made smaller: I. Loshchilov and F. Hutter, 2017."""

    def __init__(
        self,
        weight_decay,
        learning_rate=0.001,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-07,
        amsgrad=False,
        name="AdamW",
        **options,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            amsgrad=amsgrad,
            name=name,
            **options,
        )


# ---- averages of the steps of another optimizer --------------------------------------------------


class _Wrapper(_Optimizer):
    """An optimizer that lets another one step, then does something with the variables."""

    def __init__(self, optimizer, name) -> None:
        inner = _optimizers.get(optimizer)
        if not isinstance(inner, _Optimizer):
            raise TypeError("optimizer is not an object of tf.keras.optimizers.Optimizer")
        rate = inner._learning_rate
        rate = rate if isinstance(rate, _Schedule) else float(inner.learning_rate)
        super().__init__(learning_rate=rate, name=name)
        self._optimizer = inner

    def build(self, variables) -> None:
        """Make a copy of each variable beside what the other optimizer keeps."""
        if self.built:
            return
        super().build(variables)
        self._optimizer.build(variables)
        self._copies = [self.add_variable_from_reference(v, "average") for v in variables]
        for copy, variable in zip(self._copies, variables, strict=True):
            copy.assign(variable)

    def update_step(self, gradient, variable, learning_rate) -> None:
        """Step one variable."""
        self._optimizer.update_step(gradient, variable, learning_rate)
        self._after(self._copies[self._get_variable_index(variable)], variable)

    def _backend_increment(self) -> None:
        self._optimizer.iterations.assign(self.iterations)

    def apply(self, grads, trainable_variables=None):
        """Step the variables."""
        found = super().apply(grads, trainable_variables)
        self._backend_increment()
        return found

    def get_config(self) -> dict:
        """What it was made with."""
        saved = _keras().saving.serialize_keras_object(self._optimizer)
        return {"optimizer": saved, "name": self.name}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Return one made of a configuration."""
        inner = _keras().saving.deserialize_keras_object(config.pop("optimizer"), custom_objects)
        return cls(inner, **config)


class Lookahead(_Wrapper):
    """Goes a part of the way to where some steps led: M. Zhang and others, 2019."""

    def __init__(self, optimizer, sync_period=6, slow_step_size=0.5, name="Lookahead") -> None:
        super().__init__(optimizer, name)
        self._period, self._part = sync_period, slow_step_size

    def _after(self, slow, variable) -> None:
        is_due = (self.iterations + 1) % self._period == 0
        moved = _convert(slow) + self._part * (_convert(variable) - _convert(slow))
        self.assign(slow, _where(is_due, moved, _convert(slow)))
        self.assign(variable, _where(is_due, _convert(slow), _convert(variable)))

    def get_config(self) -> dict:
        """What it was made with."""
        own = {"sync_period": self._period, "slow_step_size": self._part}
        return super().get_config() | own


class AveragedOptimizerWrapper(_Wrapper):
    """The base of optimizers that keep averages of the variables."""

    def assign_average_vars(self, var_list) -> None:
        """Give the variables their averages."""
        for variable in var_list:
            variable.assign(self._copies[self._get_variable_index(variable)])


class MovingAverage(AveragedOptimizerWrapper):
    """Keeps moving averages of the variables."""

    def __init__(
        self,
        optimizer,
        average_decay=0.99,
        num_updates=None,
        start_step=0,
        dynamic_decay=False,
        name="MovingAverage",
    ) -> None:
        super().__init__(optimizer, name)
        if not 0 <= average_decay <= 1:
            raise ValueError(f"average_decay must lie between 0 and 1: {average_decay}")
        self._decay, self._updates = average_decay, num_updates
        self._start, self._is_dynamic = start_step, dynamic_decay

    def _after(self, average, variable) -> None:
        step = _cast(_math.maximum(_convert(self.iterations) - self._start, 0), variable.dtype)
        decay = _constant(self._decay, variable.dtype)
        if self._updates is not None:
            decay = _math.minimum(decay, (1.0 + self._updates) / (10.0 + self._updates))
        elif self._is_dynamic:
            decay = _math.minimum(decay, (1.0 + step) / (10.0 + step))
        kept, value = _convert(average), _convert(variable)
        before = _convert(self.iterations) < self._start
        self.assign(average, _where(before, value, kept * decay + value * (1 - decay)))

    def get_config(self) -> dict:
        """What it was made with."""
        return super().get_config() | {
            "average_decay": self._decay,
            "num_updates": self._updates,
            "start_step": self._start,
            "dynamic_decay": self._is_dynamic,
        }


class SWA(AveragedOptimizerWrapper):
    """Keeps the mean of the variables after every so many steps: P. Izmailov and others, 2018."""

    def __init__(self, optimizer, start_averaging=0, average_period=10, name="SWA") -> None:
        super().__init__(optimizer, name)
        if average_period < 1:
            raise ValueError("average_period must be >= 1")
        if start_averaging < 0:
            raise ValueError("start_averaging must be >= 0")
        self._start, self._period = start_averaging, average_period

    def _after(self, average, variable) -> None:
        step = _convert(self.iterations)
        count = _math.maximum(_math.floordiv(step - self._start, self._period), 0)
        is_due = _math.logical_and(step >= self._start, (step - self._start) % self._period == 0)
        n = _cast(count, variable.dtype)
        kept, value = _convert(average), _convert(variable)
        self.assign(average, _where(is_due, (kept * n + value) / (n + 1), kept))

    def get_config(self) -> dict:
        """What it was made with."""
        own = {"start_averaging": self._start, "average_period": self._period}
        return super().get_config() | own


# ---- rates ---------------------------------------------------------------------------------------


class CyclicalLearningRate(_Schedule):
    """A rate that goes up and down between two: L. Smith, 2015."""

    def __init__(
        self,
        initial_learning_rate,
        maximal_learning_rate,
        step_size,
        scale_fn,
        scale_mode="cycle",
        name="CyclicalLearningRate",
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.maximal_learning_rate = maximal_learning_rate
        self.step_size, self.scale_fn, self.scale_mode = step_size, scale_fn, scale_mode
        self.name = name

    def __call__(self, step):
        """The rate at a step."""
        least = _convert(self.initial_learning_rate)
        most = _cast(self.maximal_learning_rate, least.dtype)
        size = _cast(self.step_size, least.dtype)
        step = _cast(step, least.dtype)
        cycle = _math.floor(1 + step / (2 * size))
        height = _math.maximum(_cast(0, least.dtype), 1 - _math.abs(step / size - 2 * cycle + 1))
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else step)
        return least + (most - least) * height * scale

    def get_config(self) -> dict:
        """What it was made with."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "maximal_learning_rate": self.maximal_learning_rate,
            "scale_fn": self.scale_fn,
            "step_size": self.step_size,
            "scale_mode": self.scale_mode,
        }


class TriangularCyclicalLearningRate(CyclicalLearningRate):
    """Every cycle is as high as the first."""

    def __init__(
        self,
        initial_learning_rate,
        maximal_learning_rate,
        step_size,
        scale_mode="cycle",
        name="TriangularCyclicalLearningRate",
    ) -> None:
        given = initial_learning_rate, maximal_learning_rate, step_size
        super().__init__(*given, lambda x: 1.0, scale_mode, name)


class Triangular2CyclicalLearningRate(CyclicalLearningRate):
    """Every cycle is half as high as the one before."""

    def __init__(
        self,
        initial_learning_rate,
        maximal_learning_rate,
        step_size,
        scale_mode="cycle",
        name="Triangular2CyclicalLearningRate",
    ) -> None:
        given = initial_learning_rate, maximal_learning_rate, step_size
        super().__init__(*given, lambda x: 1 / (2.0 ** (x - 1)), scale_mode, name)


class ExponentialCyclicalLearningRate(CyclicalLearningRate):
    """Every cycle is `gamma` times as high for each of the steps, or cycles, before."""

    def __init__(
        self,
        initial_learning_rate,
        maximal_learning_rate,
        step_size,
        scale_mode="iterations",
        gamma=1.0,
        name="ExponentialCyclicalLearningRate",
    ) -> None:
        given = initial_learning_rate, maximal_learning_rate, step_size
        super().__init__(*given, lambda x: gamma**x, scale_mode, name)
        self.gamma = gamma


__all__ = [
    "LAMB",
    "SGDW",
    "SWA",
    "AdamW",
    "AveragedOptimizerWrapper",
    "CyclicalLearningRate",
    "DecoupledWeightDecayExtension",
    "ExponentialCyclicalLearningRate",
    "LazyAdam",
    "Lookahead",
    "MovingAverage",
    "NovoGrad",
    "RectifiedAdam",
    "Triangular2CyclicalLearningRate",
    "TriangularCyclicalLearningRate",
    "Yogi",
    "extend_with_decoupled_weight_decay",
]


def __getattr__(name: str):
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return __all__
