"""Rewrites of a plan: factors and biases go into weights, activations into the operator before."""

from __future__ import annotations

import numpy as np

from ._plan import Plan, Step, Value
from ._schema import ACTIVATIONS

# Operators with weights: the axis of the weights that counts the channels of the result, and the
# place of the bias among the operands.
_WEIGHTED = {
    "CONV_2D": (0, 2),
    "DEPTHWISE_CONV_2D": (3, 2),
    "FULLY_CONNECTED": (0, 2),
    "TRANSPOSE_CONV": (0, 3),
}
# Steps that are only parts of operators, and the ops that they come from.
PARTS = {"ERF": "Erf"}
_ACTIVATED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "SUB", "MUL", "DIV")
_FUSED = {"RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}
assert all(ACTIVATIONS[number] == name for name, number in _FUSED.items())


def fuse(plan: Plan) -> None:
    """Apply all rewrites."""
    for rewrite in (_gelu, _same_shape, _merge, _hard_swish, drop_unused):
        rewrite(plan)


def drop_unused(plan: Plan) -> None:
    """Remove the steps that no result depends on."""
    wanted = set(plan.outputs)
    kept = []
    for step in reversed(plan.steps):
        if any(value in wanted for value in step.outputs):
            kept.append(step)
            wanted.update(value for value in step.inputs if value is not None)
    plan.steps = kept[::-1]


def _same_shape(plan: Plan) -> None:
    """Take out reshapes that change nothing."""
    kept = []
    for step in plan.steps:
        x, y = step.inputs[0] if step.inputs else None, step.outputs[0]
        known = y.shape is not None and x is not None and x.shape == y.shape
        if step.op == "RESHAPE" and known and sum(n is None for n in y.shape) <= 1:
            if y not in plan.outputs or x not in plan.inputs:
                plan.replace(y, x)
                continue
        kept.append(step)
    plan.steps = kept


# ---- into weights --------------------------------------------------------------------------------


def _merge(plan: Plan) -> None:
    users = plan.users()
    producers: dict[Value, Step] = {}
    kept = []
    for step in plan.steps:
        if not _merged(step, producers, users):
            kept.append(step)
            for value in step.outputs:
                producers[value] = step
    plan.steps = kept


def _merged(step: Step, producers: dict, users: dict) -> bool:
    """Whether a step became part of the one before it."""
    for place, x in enumerate(step.inputs):
        last = before = producers.get(x)
        if before is None or len(users[x]) > 1:
            continue
        if _keeps_channels(before) and len(users[before.inputs[0]]) == 1:
            before = producers.get(before.inputs[0])
        if before is None or before.options.get("fused_activation_function"):
            continue
        other = step.inputs[1 - place] if len(step.inputs) == 2 else None
        if _activated(step, before) or _weighted(step, before, place, other):
            producers[step.outputs[0]] = last
            last.outputs = step.outputs
            return True
    return False


def _keeps_channels(step: Step) -> bool:
    """Whether a step only gives axes in front of the channels another shape."""
    if step.op not in ("RESHAPE", "SQUEEZE"):
        return False
    before, after = step.inputs[0].shape, step.outputs[0].shape
    return bool(before and after and before[-1] is not None and before[-1] == after[-1])


def _activated(step: Step, before: Step) -> bool:
    if step.op not in _FUSED or before.op not in _ACTIVATED:
        return False
    if before.outputs[0].dtype != "float32":
        return False
    before.options["fused_activation_function"] = _FUSED[step.op]
    return True


def _weighted(step: Step, before: Step, place: int, other: Value | None) -> bool:
    """A factor or a summand for each channel goes into the weights or the bias."""
    if before.op not in _WEIGHTED or other is None or other.data is None:
        return False
    if step.options.get("fused_activation_function") or other.dtype != "float32":
        return False
    axis, bias_place = _WEIGHTED[before.op]
    weights = before.inputs[1]
    bias = before.inputs[bias_place] if len(before.inputs) > bias_place else None
    if weights.data is None or (bias is not None and bias.data is None):
        return False
    channels = _for_channels(other.data, weights.shape[axis], before.outputs[0].rank)
    if channels is None or (step.op in ("SUB", "DIV") and place != 0):
        return False
    if step.op in ("ADD", "SUB"):
        summand = channels if step.op == "ADD" else -channels
        total = summand if bias is None else bias.data + summand
        _set_bias(before, bias_place, total, other.name)
        return True
    if step.op not in ("MUL", "DIV"):
        return False
    factor = channels if step.op == "MUL" else np.float32(1) / channels
    if not np.all(np.isfinite(factor)):
        return False
    shape = [1] * len(weights.shape)
    shape[axis] = -1
    scaled = (weights.data * factor.reshape(shape)).astype(np.float32)
    before.inputs[1] = Value(weights.name, "float32", scaled.shape, scaled)
    if bias is not None:
        _set_bias(before, bias_place, bias.data * factor, bias.name)
    return True


def _for_channels(data: np.ndarray, count: int, rank: int | None) -> np.ndarray | None:
    """A number for each channel, if the constant is one along the last axis."""
    if rank is None or data.ndim > rank or data.size not in (1, count):
        return None
    if data.size > 1 and data.shape[-1] != count:
        return None
    return np.broadcast_to(data.reshape(-1), [count]).astype(np.float32)


def _set_bias(step: Step, place: int, data: np.ndarray, name: str) -> None:
    data = data.astype(np.float32)
    while len(step.inputs) <= place:
        step.inputs.append(None)
    step.inputs[place] = Value(name, "float32", data.shape, data)


# ---- gelu ----------------------------------------------------------------------------------------


def _scalar(value: Value | None) -> float | None:
    if value is None or value.data is None or value.data.size != 1:
        return None
    return float(value.data.reshape(-1)[0])


def _split(step: Step | None, op: str) -> tuple:
    """The scalar and the other operand of a step; (None, None) when it is no such step."""
    if step is None or step.op != op:
        return None, None
    a, b = step.inputs
    if _scalar(a) is not None and op != "DIV":
        return _scalar(a), b
    return _scalar(b), a


def _gelu(plan: Plan) -> None:
    """0.5 x (1 + erf(x / sqrt(2))) is one operator."""
    if not any(step.op == "ERF" for step in plan.steps):
        return
    producers = {value: step for step in plan.steps for value in step.outputs}
    for step in plan.steps:
        x = _gelu_operand(step, producers)
        if x is not None:
            step.op, step.inputs, step.options = "GELU", [x], {"approximate": False}
    drop_unused(plan)


def _gelu_operand(step: Step, producers: dict) -> Value | None:
    if step.op != "MUL":
        return None
    for place in (0, 1):
        half, x = _split(producers.get(step.inputs[place]), "MUL")
        one, inner = _split(producers.get(step.inputs[1 - place]), "ADD")
        erf = producers.get(inner)
        if half != 0.5 or one != 1.0 or erf is None or erf.op != "ERF":
            continue
        inside = producers.get(erf.inputs[0])
        divisor, same = _split(inside, "DIV")
        if divisor is None:
            factor, same = _split(inside, "MUL")
            divisor = 1 / factor if factor else None
        if same is x and divisor is not None and abs(divisor - 2**0.5) < 1e-5:
            return x
    return None


# ---- hard swish ----------------------------------------------------------------------------------


def _hard_swish(plan: Plan) -> None:
    """x relu6(x + 3) / 6, in any order, is one operator."""
    producers = {value: step for step in plan.steps for value in step.outputs}
    for step in plan.steps:
        sixth, whole = _sixth(step)
        x = _swished(producers.get(whole), producers) if sixth else None
        if x is None and step.op == "MUL" and not step.options.get("fused_activation_function"):
            x = _swished(step, producers, divided=True)
        if x is not None and x.dtype == "float32":
            step.op, step.inputs, step.options = "HARD_SWISH", [x], {}


def _sixth(step: Step | None) -> tuple:
    """Whether a step gives a sixth of a value, and the value."""
    if step is None or step.options.get("fused_activation_function"):
        return False, None
    divisor, value = _split(step, "DIV")
    if divisor is None:
        factor, value = _split(step, "MUL")
        divisor = 1 / factor if factor else None
    return divisor is not None and abs(divisor - 6) < 1e-5, value


def _swished(step: Step | None, producers: dict, divided: bool = False) -> Value | None:
    """The x of x relu6(x + 3); with `divided` of x (relu6(x + 3) / 6)."""
    if step is None or step.op != "MUL" or step.options.get("fused_activation_function"):
        return None
    for place in (0, 1):
        inner = producers.get(step.inputs[1 - place])
        if divided:
            is_sixth, value = _sixth(inner)
            inner = producers.get(value) if is_sixth else None
        three, x = _split(inner, "ADD")
        fused = inner.options.get("fused_activation_function") if inner is not None else None
        if three == 3 and fused == _FUSED["RELU6"] and x is step.inputs[place]:
            return x
    return None
