"""vectorized_map: a function of slices, run on all of them at once."""

from __future__ import annotations

from .. import _mica
from . import nest
from ._context import building
from ._core import convert_to_tensor, ops
from ._function import function
from ._graph import FuncGraph, operand, read_only_variables
from ._specs import TensorSpec


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """Return fn applied to the slices of elems along the first axis, the results stacked.

    Parameters
    ----------
    fn
        A function of one structure like elems, with the slices in it.
    elems
        A tensor or a structure of tensors with first axes of one size.
    """
    tensors = nest.map_structure(convert_to_tensor, elems)
    if _mica.tf_executing_eagerly():
        return function(lambda given: _traced(fn, given, fallback_to_while_loop), autograph=False)(
            tensors
        )
    return _traced(fn, tensors, fallback_to_while_loop)


def _spec(value):
    tensor = convert_to_tensor(value)
    return TensorSpec(tensor.shape, tensor.dtype)


def _traced(fn, elems, fallback: bool):
    graph = _mica.tf_current_graph()
    flat = nest.flatten(elems)
    body = FuncGraph("vectorized_map", graph)
    with read_only_variables(graph), building(body):
        inner = [body._parameter(t.dtype, t.shape[1:], "slice") for t in flat]
        result = fn(nest.pack_sequence_as(elems, inner))
        outputs = [operand(each) for each in nest.flatten(result)]
    captured = [external for external, _ in body._captures()]
    closed = body.closed(captured, outputs)
    if not closed._lowers:
        if not fallback:
            raise ValueError("The function has ops that cannot be vectorized")
        from ._functional import map_fn

        return map_fn(fn, elems, fn_output_signature=nest.map_structure(_spec, result))
    mapped = [1] * len(flat) + [0] * len(captured)
    stacked = ops["Vmap"](
        [*flat, *captured], Tout=[t.dtype for t in outputs], f=closed, mapped=mapped
    )
    stacked = list(stacked) if isinstance(stacked, list | tuple) else [stacked]
    return nest.pack_sequence_as(result, stacked)
