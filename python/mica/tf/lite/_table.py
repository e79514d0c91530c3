"""The whole table, and what is asked of it."""

from __future__ import annotations

from . import _rows_array, _rows_math, _rows_windows  # noqa: F401  they fill the table
from ._rows import BY_CODE, ROWS, WRITERS, ConverterError, Maker, Row

__all__ = ["BY_CODE", "ROWS", "ConverterError", "Row", "is_written", "version", "write"]


def is_written(op: str) -> bool:
    """Whether an op of TensorFlow has a form in TensorFlow Lite."""
    return op in WRITERS


def write(node, plan) -> None:
    """Add the steps of a node to a plan."""
    WRITERS[node.op](node, Maker(plan, node))


def version(step) -> int:
    """The version of an operator that a step needs."""
    chosen = _VERSIONS.get(step.op)
    first = next((v.dtype for v in step.inputs if v is not None), "float32")
    if chosen is not None:
        return chosen(step, first)
    if first == "int8" and len(ROWS[step.op].since) > 1:
        return 2
    return 1


def _per_channel(step) -> bool:
    quantization = step.inputs[1].quantization
    return quantization is not None and quantization.scale.size > 1


def _is_hybrid(step, first: str) -> bool:
    return first == "float32" and step.inputs[1].dtype == "int8"


def _conv(step, first: str) -> int:
    channels, weights = step.inputs[0].shape, step.inputs[1].shape
    if channels and channels[-1] and weights[3] != channels[-1]:
        return 6  # in groups
    if _is_hybrid(step, first):
        return 5 if _per_channel(step) else 2
    return 3 if first == "int8" else 1


def _depthwise(step, first: str) -> int:
    if _is_hybrid(step, first):
        return 6 if _per_channel(step) else 4
    if first == "int8":
        return 3
    dilations = (step.options.get(f"dilation_{axis}_factor", 1) for axis in "hw")
    return 2 if any(n != 1 for n in dilations) else 1


def _fully_connected(step, first: str) -> int:
    if _is_hybrid(step, first):
        if _per_channel(step):
            return 12
        if step.options.get("asymmetric_quantize_inputs"):
            return 9
    if step.options.get("keep_num_dims"):
        return 5
    return 4 if first == "int8" else 3 if _is_hybrid(step, first) else 1


def _batch_matmul(step, first: str) -> int:
    if _is_hybrid(step, first) and step.options.get("asymmetric_quantize_inputs"):
        return 4
    return 2 if first == "int8" else 1


def _dequantize(step, first: str) -> int:
    if first in ("int16", "float16"):
        return 3
    quantization = step.inputs[0].quantization
    if quantization is not None and quantization.scale.size > 1:
        return 5
    return 2 if first == "int8" else 1


def _by_rank(most: int, high: int):
    def chosen(step, first: str) -> int:
        rank = step.inputs[0].rank or 0
        return high if rank > most else 3 if first == "bool" else 2 if first == "int8" else 1

    return chosen


def _strided_slice(step, first: str) -> int:
    if step.options.get("ellipsis_mask") or step.options.get("new_axis_mask"):
        return 6
    return _by_rank(4, 4)(step, first)


def _gather(step, first: str) -> int:
    if step.options.get("batch_dims"):
        return 5
    return {"int16": 4, "bool": 3, "int8": 2}.get(first, 1)


def _mul(step, first: str) -> int:
    return {"int64": 5, "int8": 2}.get(first, 1)


_VERSIONS = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "BATCH_MATMUL": _batch_matmul,
    "DEQUANTIZE": _dequantize,
    "TRANSPOSE": _by_rank(4, 4),
    "SLICE": _by_rank(4, 5),
    "STRIDED_SLICE": _strided_slice,
    "GATHER": _gather,
    "MUL": _mul,
    "ADD": lambda step, first: {"int64": 4, "int8": 2}.get(first, 1),
    "SUB": lambda step, first: {"int64": 4, "int8": 2}.get(first, 1),
    "SPLIT": lambda step, first: {"int32": 3, "int8": 2}.get(step.inputs[1].dtype, 1),
    "TRANSPOSE_CONV": lambda step, first: (
        3 if len(step.inputs) > 3 else 2 if step.inputs[1].dtype == "int8" else 1
    ),
    "BROADCAST_TO": lambda step, first: 2,
    "FILL": lambda step, first: {"bool": 2, "int8": 3}.get(step.inputs[1].dtype, 1),
    "RESIZE_BILINEAR": lambda step, first: 3 if step.options.get("half_pixel_centers") else 1,
    "SIGN": lambda step, first: 2 if first == "int32" else 1,
    "ABS": lambda step, first: 5 if first == "int32" else 2 if first == "int8" else 1,
    "FLOOR_DIV": lambda step, first: 2 if first == "float32" else 1,
    "RANGE": lambda step, first: 2 if first == "int64" else 1,
    "QUANTIZE": lambda step, first: 1,
    "CAST": lambda step, first: 1,
    "PAD": _by_rank(4, 4),
    "PADV2": _by_rank(4, 4),
    "REVERSE_V2": lambda step, first: {"bool": 2, "int8": 3}.get(first, 1),
}
