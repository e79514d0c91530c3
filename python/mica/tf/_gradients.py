"""tf.gradients and tf.hessians: derivatives inside a graph, without a tape."""

from __future__ import annotations

from .. import _mica
from . import _dtypes, nest
from ._core import convert_to_tensor, ops
from ._graph import operand
from ._tape import UnconnectedGradients
from ._variable import Variable


class AggregationMethod:
    """How gradients of one tensor are added up; there is one way here."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def _listed(value) -> list:
    return list(value) if isinstance(value, list | tuple) else [value]


def _in_graph(graph, value):
    """The tensor of the graph that a gradient is of: a variable's handle, else the tensor."""
    if isinstance(value, Variable):
        return _mica.tf_lift(graph, value.handle)
    return operand(value)


def gradients(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
):
    """Return the derivative of the sum of ys with respect to each of xs, inside a graph.

    Parameters
    ----------
    ys, xs
        Tensors of the graph that is being built, or lists of them; xs may be variables.
    grad_ys
        What to weigh the elements of ys with; ones by default.
    stop_gradients
        Tensors that are held constant.
    unconnected_gradients
        "none" or "zero": what to answer where there is no connection.
    """
    graph = _mica.tf_current_graph()
    if graph is None:
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape "
            "instead."
        )
    kind = UnconnectedGradients(getattr(unconnected_gradients, "value", unconnected_gradients))
    sources = _listed(xs)
    targets = [operand(y) for y in nest.flatten(ys)]
    weights = [None] * len(targets) if grad_ys is None else nest.flatten(grad_ys)
    if len(weights) != len(targets):
        raise ValueError(f"Passed {len(weights)} grad_ys for {len(targets)} ys")
    cotangents = [
        ops["OnesLike"](y) if w is None else operand(w, y.dtype)
        for y, w in zip(targets, weights, strict=True)
    ]
    held = [_in_graph(graph, x) for x in _listed(stop_gradients or [])]
    found = graph._gradients(targets, cotangents, [_in_graph(graph, x) for x in sources], held)
    if kind is UnconnectedGradients.ZERO:
        found = [
            ops["ZerosLike"](convert_to_tensor(x)) if g is None else g
            for g, x in zip(found, sources, strict=True)
        ]
    return found


def hessians(
    ys,
    xs,
    gate_gradients=False,
    aggregation_method=None,
    name="hessians",
):
    """Return the second derivatives of the sum of ys with respect to each of xs, inside a graph."""
    results = []
    for x in _listed(xs):
        x = operand(x)
        count = x.shape.num_elements()
        if count is None:
            raise ValueError(
                f"The hessian with respect to a tensor of shape {x.shape} is not known"
            )
        (gradient,) = gradients(ys, x)
        if gradient is None:
            raise ValueError("Hessians need a gradient, and there is none.")
        flat = ops["Unpack"](ops["Reshape"](gradient, operand([count], _dtypes.int32)), num=count)
        rows = [
            gradients(element, x, unconnected_gradients=UnconnectedGradients.ZERO)[0]
            for element in flat
        ]
        whole = operand([*x.shape, *x.shape], _dtypes.int32)
        results.append(ops["Reshape"](ops["Pack"](rows), whole))
    return results


__all__ = ["AggregationMethod", "gradients", "hessians"]
