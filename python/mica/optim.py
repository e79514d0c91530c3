"""Optimizers: new parameters from old ones and their gradients.

An optimizer is immutable; what it remembers is a tree of arrays that goes in and comes out, so a
step can be compiled whole and its arrays saved.

Examples
--------
>>> import mica
>>> optimizer = mica.optim.adam(0.1)
>>> parameters = {"w": mica.ones((2,))}
>>> state = optimizer.init(parameters)
>>> gradients = {"w": mica.tensor([1.0, -1.0])}
>>> parameters, state = optimizer.update(gradients, state, parameters)
>>> [round(w, 3) for w in parameters["w"].tolist()]
[0.9, 1.1]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import _mica, tree
from ._functions import minimum, where, zeros_like
from ._tracing import as_array, stage

Tree = Any
Rate = float | Callable[[Any], Any]


class Optimizer:
    """What `sgd`, `adam`, `adamw` and `rmsprop` return."""

    __slots__ = ("_kind", "_options", "_rate")

    def __init__(self, kind: str, rate: Rate, options: dict[str, float | bool]) -> None:
        for name, value in options.items():
            if not isinstance(value, bool) and not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"[{kind}] {name} is {value}; it is finite and not negative")
        self._kind, self._rate, self._options = kind, rate, options

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"mica.optim.{self._kind}({self._rate!r}{options})"

    def init(self, parameters: Tree) -> dict:
        """The state before the first step: the number of steps, and zeros for each parameter."""
        n = _mica.optimizer_state_count(self._kind, self._options)
        slots = [tree.map(zeros_like, parameters) for _ in range(n)]
        return {"slots": slots, "step": _mica.tensor(0, "i32")}

    def rate(self, step: Any) -> Any:
        """The learning rate of a step, the first of which is 0."""
        return self._rate(step) if callable(self._rate) else self._rate

    def update(self, gradients: Tree, state: dict, parameters: Tree) -> tuple[Tree, dict]:
        """One step.

        Parameters
        ----------
        gradients, parameters : tree
            Of one structure.
        state : dict
            From `init` or the step before.

        Returns
        -------
        tuple
            The new parameters and the new state.
        """
        values, shape = _mica.flatten(parameters)
        slopes, slopes_shape = _mica.flatten(gradients)
        if slopes_shape != shape:
            raise ValueError(f"[{self._kind}] gradients and parameters differ in structure")
        columns = [_mica.flatten(slot) for slot in state["slots"]]
        n = _mica.optimizer_state_count(self._kind, self._options)
        if len(columns) != n or any(s != shape for _, s in columns):
            raise ValueError(f"[{self._kind}] the state is not of these parameters")
        slots = [leaves for leaves, _ in columns]
        values, slopes = [as_array(v) for v in values], [as_array(v) for v in slopes]
        results = stage(self._kind, self._step, state["step"], values, slopes, slots)
        step, values, slots = results
        slots = [_mica.unflatten(shape, leaves) for leaves in slots]
        return _mica.unflatten(shape, values), {"slots": slots, "step": step}

    def _step(self, step: Any, values: list, slopes: list, slots: list) -> tuple:
        rate = self.rate(step)
        count = step + 1
        news = []
        for i, (value, slope) in enumerate(zip(values, slopes, strict=True)):
            states = [leaves[i] for leaves in slots]
            operands = (_scalar(rate), count, value, slope, *states, *[None] * (3 - len(states)))
            news.append(_mica.optimizer_update(operands, self._kind, self._options))
        return (
            count,
            [new[0] for new in news],
            [[n[1 + k] for n in news] for k in range(len(slots))],
        )


def _scalar(rate: Any) -> Any:
    return _mica.full((), float(rate), "f64") if isinstance(rate, (int, float)) else as_array(rate)


def sgd(
    rate: Rate = 0.01, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0
) -> Optimizer:
    """Gradient descent: ``m = momentum m + d``, ``p -= rate m``.

    Parameters
    ----------
    rate : float, or a function of the step's number
    momentum : float
    nesterov : bool
        ``p -= rate (d + momentum m)`` instead.
    weight_decay : float
        Times the parameter is added to the gradient.
    """
    options = {"momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
    return Optimizer("sgd", rate, options)


def adam(
    rate: Rate = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    amsgrad: bool = False,
    weight_decay: float = 0.0,
) -> Optimizer:
    """Adam: the mean of gradients over the root of the mean of their squares, without bias.

    Parameters
    ----------
    rate : float, or a function of the step's number
    beta1, beta2 : float
        How much of the means remains at each step.
    epsilon : float
        Is added to the root.
    amsgrad : bool
        The largest mean of squares so far counts.
    weight_decay : float
        Times the parameter is added to the gradient; `adamw` is the other way.
    """
    options = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "amsgrad": amsgrad}
    return Optimizer("adam", rate, {**options, "weight_decay": weight_decay})


def adamw(
    rate: Rate = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    amsgrad: bool = False,
    weight_decay: float = 0.01,
) -> Optimizer:
    """Adam, and ``p -= rate weight_decay p`` beside it."""
    options = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "amsgrad": amsgrad}
    return Optimizer("adamw", rate, {**options, "weight_decay": weight_decay})


def rmsprop(
    rate: Rate = 0.01,
    alpha: float = 0.99,
    epsilon: float = 1e-8,
    momentum: float = 0.0,
    centered: bool = False,
    weight_decay: float = 0.0,
) -> Optimizer:
    """The gradient over the root of the mean of its squares.

    Parameters
    ----------
    rate : float, or a function of the step's number
    alpha : float
        How much of the mean remains at each step.
    epsilon : float
        Is added to the root.
    momentum : float
    centered : bool
        The variance counts in the place of the mean of squares.
    weight_decay : float
    """
    options = {"alpha": alpha, "epsilon": epsilon, "momentum": momentum, "centered": centered}
    return Optimizer("rmsprop", rate, {**options, "weight_decay": weight_decay})


# ---- gradients -----------------------------------------------------------------------------------
def global_norm(gradients: Tree) -> Any:
    """The length of all arrays of a tree as one vector."""

    def staged(leaves: list) -> Any:
        total = (leaves[0] * leaves[0]).sum()
        for leaf in leaves[1:]:
            total = total + (leaf * leaf).sum().astype(total.dtype)
        return _mica.sqrt(total)

    leaves = [as_array(leaf) for leaf in tree.leaves(gradients)]
    if not leaves:
        raise ValueError("[global_norm] the tree has no arrays")
    return stage("global_norm", staged, leaves)


def clip_by_global_norm(gradients: Tree, most: float) -> Tree:
    """Gradients as they are, or shrunk together so that their `global_norm` is `most`.

    Examples
    --------
    >>> import mica
    >>> mica.optim.clip_by_global_norm([mica.tensor([3.0, 4.0])], 1.0)[0].tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    if not most > 0:
        raise ValueError(f"[clip_by_global_norm] the norm must be above 0, not {most}")
    norm = global_norm(gradients)
    factor = where(norm > most, most / norm, norm * 0 + 1)
    return tree.map(lambda d: as_array(d) * factor.astype(d.dtype), gradients)


# ---- learning rates ------------------------------------------------------------------------------
def _float(step: Any) -> Any:
    return as_array(step).astype("f32")


def cosine(rate: float, steps: int, warmup: int = 0, last: float = 0.0) -> Callable[[Any], Any]:
    """Linear from 0 to `rate` over `warmup` steps, then half a cosine down to `last`.

    Examples
    --------
    >>> import mica
    >>> schedule = mica.optim.cosine(1.0, 20, warmup=10)
    >>> [round(schedule(step).item(), 3) for step in (0, 5, 10, 15, 20)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if not 0 <= warmup < steps:
        raise ValueError(
            f"[cosine] warmup must be 0 or more and less than steps: {warmup} of {steps}"
        )

    def schedule(step: Any) -> Any:
        at = _float(step)
        part = minimum((at - warmup) / float(steps - warmup), 1.0)
        down = last + (rate - last) * 0.5 * (_mica.cos(part * math.pi) + 1.0)
        return where(at < warmup, at * (rate / max(1, warmup)), down)

    return schedule


def exponential(rate: float, factor: float, steps: int) -> Callable[[Any], Any]:
    """``rate * factor^(step / steps)``."""
    if not (factor > 0 and steps > 0):
        raise ValueError(f"[exponential] factor {factor} and steps {steps} must be above 0")
    return lambda step: _mica.exp(_float(step) * (math.log(factor) / steps)) * rate
