"""Connects AutoGraph's operators with tensors."""

from __future__ import annotations

from .. import _mica
from . import _control, _dtypes, errors
from ._context import building
from ._core import Tensor, convert_to_tensor, ops
from ._graph import FuncGraph
from ._shapes import TensorShape
from ._static import static_value
from ._variable import Variable


class _Scratch(building):
    def __init__(self) -> None:
        super().__init__(FuncGraph("scratch", _mica.tf_current_graph()))


def _placeholder(dtype, shape):
    return _mica.tf_current_graph()._parameter(dtype, shape, "placeholder")


def _elements(tensor):
    tensor = convert_to_tensor(tensor)
    number = ops["StridedSlice"](ops["Shape"](tensor), [0], [1], [1], shrink_axis_mask=1)
    return number, lambda i: ops["GatherV2"](tensor, i, 0)


def _range_parts(value):
    if not isinstance(value, _mica.TFSymbolicTensor):
        return None
    kind, _, inputs, _ = value.graph._node(value._node)
    if kind != "Range":
        return None
    return tuple(value.graph._tensor(node, index) for node, index in inputs)


def _zeros(shape, dtype):
    return ops["Fill"](convert_to_tensor(shape, _dtypes.int32), convert_to_tensor(0, dtype))


def _check(condition, data) -> None:
    from . import debugging

    debugging.Assert(condition, data)


def _builtins() -> dict:
    from . import print as tf_print
    from . import range as tf_range

    return {"print": tf_print, "range": tf_range}


def connect() -> None:
    """Fill AutoGraph's table."""
    from . import autograph

    autograph.connect(
        is_tensor=lambda value: isinstance(value, Tensor | Variable),
        convert=convert_to_tensor,
        cond=_control.cond,
        while_loop=_control.while_loop,
        scratch_graph=_Scratch,
        placeholder=_placeholder,
        zeros=_zeros,
        identity=lambda x: ops["Identity"](convert_to_tensor(x)),
        to_scalar=lambda x: ops["Reshape"](x, convert_to_tensor([], _dtypes.int32)),
        logical_not=ops["LogicalNot"],
        logical_and=ops["LogicalAnd"],
        logical_or=ops["LogicalOr"],
        check=_check,
        range_parts=_range_parts,
        constant_value=static_value,
        elements=_elements,
        is_truth_error=lambda error: isinstance(error, errors.OperatorNotAllowedInGraphError),
        as_shape=TensorShape,
    )
