"""Weights in fewer bits."""

from __future__ import annotations

import numpy as np

from ._plan import Plan, Quantization, Step, Value

_LEAST_ELEMENTS = 1024  # smaller constants stay as they are

# Operators that take weights of eight bits beside operands of float: the place of the weights, and
# the axis with a scale for each index; None: one scale for all.
_HYBRID = {
    "FULLY_CONNECTED": (1, 0),
    "CONV_2D": (1, 0),
    "DEPTHWISE_CONV_2D": (1, 3),
    "BATCH_MATMUL": (1, None),
}
_ASYMMETRIC = ("FULLY_CONNECTED", "BATCH_MATMUL")


def quantized(value: Value, axis: int | None) -> Value:
    """A constant in eight bits, symmetric around zero, from -127 to 127."""
    data = value.data.astype(np.float32)
    others = None if axis is None else tuple(i for i in range(data.ndim) if i != axis)
    largest = np.max(np.abs(data), axis=others, keepdims=axis is not None)
    scale = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    stored = np.clip(np.round(data / scale), -127, 127).astype(np.int8)
    flat = scale.reshape(-1)
    quantization = Quantization(flat, np.zeros(flat.size, np.int64), axis or 0)
    return Value(value.name, "int8", stored.shape, stored, quantization)


def _is_large(value: Value | None) -> bool:
    if value is None or value.data is None or value.dtype != "float32":
        return False
    return value.data.size >= _LEAST_ELEMENTS


def dynamic_range(plan: Plan) -> None:
    """Large weights become integers; kernels round their operands as they run."""
    for step in plan.steps:
        if step.op not in _HYBRID:
            continue
        place, axis = _HYBRID[step.op]
        if not _is_large(step.inputs[place]):
            continue
        step.inputs[place] = quantized(step.inputs[place], axis)
        if step.op in _ASYMMETRIC:
            step.options["asymmetric_quantize_inputs"] = True


def half_precision(plan: Plan) -> None:
    """Constants become float16, each with a step that makes it float32 again."""
    made: dict[Value, Value] = {}
    front = []
    for step in plan.steps:
        for place, value in enumerate(step.inputs):
            is_float = value is not None and value.data is not None and value.dtype == "float32"
            if not is_float or value.data.size < 2:
                continue
            if value not in made:
                limit = np.finfo(np.float16).max
                data = np.clip(value.data, -limit, limit).astype(np.float16)
                small = Value(value.name, "float16", data.shape, data)
                made[value] = Value(value.name + "_dequantize", "float32", data.shape)
                front.append(Step("DEQUANTIZE", [small], [made[value]]))
            step.inputs[place] = made[value]
    plan.steps = front + plan.steps
