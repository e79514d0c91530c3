"""A map followed by a batch as one function of the batch, where that gives the same bits.

The function of the map is vectorised (the row `Vmap`) and runs once for each batch. That is done
only where every op of it moves elements or rounds exactly as IEEE 754 says, so that an element does
not depend on how many are computed at once; where no op can fail, has an effect or draws; and where
all shapes are known, so that batching the arguments fails just where batching the results would.
"""

from __future__ import annotations

from ... import _mica
from .._context import building
from .._core import ops
from .._graph import FuncGraph, operand
from .._specs import TensorSpec
from . import _structure

_EXACT = frozenset(
    """
    Abs Add AddV2 Cast ClipByValue ConcatV2 Const Equal ExpandDims Fill Greater GreaterEqual
    Identity Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor Maximum Minimum Mul Neg
    NotEqual OnesLike Pack Pad PadV2 Rank RealDiv Relu Reshape ReverseV2 Select SelectV2 Shape Sign
    Size Slice Square SquaredDifference Squeeze StridedSlice Sub Tile Transpose Unpack ZerosLike
    """.split()
)


def _is_plain(spec: object) -> bool:
    """Whether a spec is one of real numbers or truths whose shape is known."""
    return isinstance(spec, TensorSpec) and spec.shape.is_fully_defined() and _is_real(spec.dtype)


def _is_real(dtype) -> bool:
    return dtype.is_floating or dtype.is_integer or dtype.name == "bool"


def _rounds_exactly(operation) -> bool:
    """Numbers beyond the integers have no integer that every kernel must give."""
    if operation.type != "Cast":
        return operation.type in _EXACT
    return operation.outputs[0].dtype.is_floating or not operation.inputs[0].dtype.is_floating


def is_exact(traced, element_spec: object) -> bool:
    """Whether a traced function computes the same bits for one element and for many."""
    given = [TensorSpec(t.shape, t.dtype) for t in traced.captured]
    elements = _structure._leaves(element_spec)
    known = elements + _structure._leaves(traced.spec) + given
    if not elements or not all(map(_is_plain, known)):
        return False
    if not all(isinstance(tensor, _mica.TFEagerTensor) for tensor in traced.captured):
        return False
    for operation in traced.graph.get_operations():
        if operation.type == "Placeholder":
            continue
        specs = [TensorSpec(t.shape, t.dtype) for t in operation.outputs]
        if not _rounds_exactly(operation) or not all(map(_is_plain, specs)):
            return False
    return True


class Vectorized:
    """The function of a batch: of slices along the first axis of the components."""

    def __init__(self, traced, spec: object, batched: object) -> None:
        specs = _structure.flat_specs(spec)
        self.graph = FuncGraph("vectorized_map", None)
        with building(self.graph):
            elements = [
                self.graph._parameter(s.dtype, s.shape, "elements")
                for s in _structure.flat_specs(batched)
            ]
            captured = [
                self.graph._parameter(t.dtype, t.shape, "captured") for t in traced.captured
            ]
            results = ops["Vmap"](
                [*elements, *captured],
                Tout=[s.dtype for s in _structure.flat_specs(traced.spec)],
                f=traced.graph,
                mapped=[1] * len(specs) + [0] * len(captured),
            )
            results = results if isinstance(results, (list, tuple)) else [results]
            for result in results:
                self.graph._output(operand(result))
        self.captured = traced.captured
