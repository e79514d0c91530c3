"""The global step, and learning rates that follow it."""

from __future__ import annotations

import math

from ... import _dtypes
from ..._array import where, zeros
from ..._context import building, executing_eagerly
from ..._core import convert_to_tensor, ops
from ..._math import cast
from ..._names import name_scope
from ..._session import get_default_graph, session_or_default
from ...math import cos, exp, floor
from ._scopes import GraphKeys, Variable, variable_scope


def assert_global_step(global_step_tensor) -> None:
    """Raise unless it is a scalar of integers."""
    if not global_step_tensor.dtype.is_integer:
        raise TypeError(
            f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}'
        )
    if global_step_tensor.shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')


def get_global_step(graph=None):
    """Return the variable that counts steps, or None."""
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise RuntimeError("Multiple global steps in the collection global_step.")
    if not found:
        named = [
            v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.name == "global_step:0"
        ]
        found = named
    if not found:
        return None
    assert_global_step(found[0])
    return found[0]


def create_global_step(graph=None):
    """Make the variable that counts steps; a ValueError when there is one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with building(graph), variable_scope(""):
        return Variable(
            lambda: zeros([], _dtypes.int64),
            False,
            [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            name="global_step",
            dtype=_dtypes.int64,
        )


def get_or_create_global_step(graph=None):
    """Return the variable that counts steps; make it when there is none."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess, global_step_tensor) -> int:
    """Return the number of steps in a session."""
    return int(session_or_default(sess).run(global_step_tensor))


# ---- learning rates ------------------------------------------------------------------------------


def _scheduled(function):
    """A rate now; of eager programs a function that asks again each time."""
    return function if executing_eagerly() else function()


def _parts(learning_rate, step, *others) -> list:
    rate = convert_to_tensor(learning_rate)
    return [rate, *(cast(convert_to_tensor(x), rate.dtype) for x in (step, *others))]


def _needed(step, what: str):
    if step is None:
        raise ValueError(f"global_step is required for {what}.")
    return step


def exponential_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate * decay_rate ^ (global_step / decay_steps)."""
    _needed(global_step, "exponential_decay")

    def rate():
        with name_scope(name or "ExponentialDecay"):
            start, step, steps, factor = _parts(learning_rate, global_step, decay_steps, decay_rate)
            power = step / steps
            return start * (factor ** (floor(power) if staircase else power))

    return _scheduled(rate)


def natural_exp_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    _needed(global_step, "natural_exp_decay")

    def rate():
        with name_scope(name or "NaturalExpDecay"):
            start, step, steps, factor = _parts(learning_rate, global_step, decay_steps, decay_rate)
            power = step / steps
            return start * exp(-factor * (floor(power) if staircase else power))

    return _scheduled(rate)


def inverse_time_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    _needed(global_step, "inverse_time_decay")

    def rate():
        with name_scope(name or "InverseTimeDecay"):
            start, step, steps, factor = _parts(learning_rate, global_step, decay_steps, decay_rate)
            power = step / steps
            return start / (1 + factor * (floor(power) if staircase else power))

    return _scheduled(rate)


def polynomial_decay(
    learning_rate,
    global_step,
    decay_steps,
    end_learning_rate=0.0001,
    power=1.0,
    cycle=False,
    name=None,
):
    """From learning_rate to end_learning_rate along a power of what is left of decay_steps."""
    _needed(global_step, "polynomial_decay")

    def rate():
        with name_scope(name or "PolynomialDecay"):
            start, step, steps, end, order = _parts(
                learning_rate, global_step, decay_steps, end_learning_rate, power
            )
            if cycle:
                times = where(
                    ops["Equal"](step, ops["ZerosLike"](step)),
                    ops["OnesLike"](step),
                    ops["Ceil"](step / steps),
                )
                steps = steps * times
            else:
                step = ops["Minimum"](step, steps)
            return (start - end) * (1 - step / steps) ** order + end

    return _scheduled(rate)


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """Along half a wave of the cosine, down to alpha * learning_rate."""
    _needed(global_step, "cosine_decay")

    def rate():
        with name_scope(name or "CosineDecay"):
            start, step, steps = _parts(learning_rate, global_step, decay_steps)
            part = ops["Minimum"](step, steps) / steps
            wave = 0.5 * (1.0 + cos(part * math.pi))
            return start * ((1 - alpha) * wave + alpha)

    return _scheduled(rate)


def piecewise_constant(x, boundaries, values, name=None):
    """values[i] where x is above boundaries[i - 1] and not above boundaries[i]."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")

    def rate():
        with name_scope(name or "PiecewiseConstant"):
            place = convert_to_tensor(x)
            result = convert_to_tensor(values[-1])
            pairs = list(zip(boundaries, values, strict=False))
            for limit, value in reversed(pairs):
                below = ops["LessEqual"](place, convert_to_tensor(limit, place.dtype))
                result = where(below, convert_to_tensor(value, result.dtype), result)
            return result

    return _scheduled(rate)


piecewise_constant_decay = piecewise_constant
