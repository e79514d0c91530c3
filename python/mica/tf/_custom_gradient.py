"""Functions with a gradient of their own: custom_gradient, recompute_grad, grad_pass_through.

Tapes record the function's results with the gradient function itself. In a graph the results pass
through one node more, which carries the gradient function as a graph: so whoever differentiates the
graph later, or the loop that the node is in, finds it.
"""

from __future__ import annotations

import functools
import inspect

from .. import _mica
from . import nest
from ._context import building
from ._core import Tensor, convert_to_tensor, ops
from ._graph import FuncGraph, operand, read_only_variables
from ._slices import IndexedSlices
from ._tape import GradientTape, UnconnectedGradients, stop_recording
from ._variable import Variable

_NO_GRADIENT = -1  # a place of CustomGradient's attribute `connected`: the body's name is an error


def custom_gradient(f=None):
    """Give a function a gradient of one's own.

    The function returns `(result, gradient_function)`; the latter takes the cotangents of the
    results and gives those of the arguments, and, when variables are used, those of `variables`.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        if kwargs and _mica.tf_current_graph() is not None:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when "
                "eager execution is enabled."
            )
        return _with_gradient(f, args, kwargs)

    return decorated


class _Gradient:
    """The gradient function of one call: cotangents in, cotangents of arguments and variables out.

    Parameters
    ----------
    function
        What the user gave.
    count
        How many arguments there are.
    variables
        Those that the function has read.
    """

    def __init__(self, function, count: int, variables: list) -> None:
        self._function = function
        self._count = count
        self._variables = variables

    def __call__(self, cotangents, results, wanted=None) -> list:
        given = [
            ops["ZerosLike"](r) if c is None else c
            for c, r in zip(cotangents, results, strict=True)
        ]
        if self._variables:
            gradients, of_variables = self._function(*given, variables=self._variables)
            of_variables = nest.flatten(of_variables)
        else:
            gradients, of_variables = self._function(*given), []
        gradients = nest.flatten(gradients)
        if len(gradients) != self._count:
            raise ValueError(
                f"custom_gradient function expected to return {self._count} gradients, but "
                f"returned {len(gradients)} instead."
            )
        if len(of_variables) != len(self._variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn."
            )
        return [
            g if g is None or isinstance(g, IndexedSlices) else convert_to_tensor(g)
            for g in [*gradients, *of_variables]
        ]


def _with_gradient(f, args, kwargs):
    flat = nest.flatten((args, kwargs)) if kwargs else nest.flatten(args)
    tensors = [
        ops["Identity"](convert_to_tensor(arg)) if _is_tensor_like(arg) else arg for arg in flat
    ]
    inputs = [t for t in tensors if isinstance(t, Tensor)]
    if kwargs:
        args, kwargs = nest.pack_sequence_as((args, kwargs), tensors)
    else:
        args = nest.pack_sequence_as(args, tensors)
    seen = _mica.TFTape(True, only_watches=True)
    seen.push()
    try:
        result, gradient_function = f(*args, **kwargs)
    finally:
        seen.pop()
    handles = [h for h in seen.watched() if h._trainable]
    variables = [h._variable() for h in handles if h._variable() is not None]
    if variables and not _takes_variables(gradient_function):
        raise TypeError(
            f"{f} using @custom_gradient(f) uses variables, but `grad_fn` does not accept "
            "'variables' as keyword argument."
        )
    gradient = _Gradient(gradient_function, len(inputs), variables)
    read = [v._read() for v in variables] if _mica.tf_current_graph() is not None else []
    results = [convert_to_tensor(r) for r in nest.flatten(result)]
    if _mica.tf_current_graph() is None:
        with stop_recording():
            outputs = [ops["Identity"](r) for r in results]
    else:
        outputs = _node(gradient, inputs + read, results)
    _mica.tf_record(inputs + [v.handle for v in variables], outputs, gradient)
    # Forward, it is the function itself that counts, as it does for TensorFlow.
    _mica.tf_accumulate(results, outputs, list)
    return nest.pack_sequence_as(result, outputs)


def _flows(tensor) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def _traced(gradient: _Gradient, inputs: list, results: list, body: FuncGraph) -> tuple:
    """The gradients, traced into `body`, and the places of the inputs that they are of."""
    with read_only_variables(body.outer_graph), building(body):
        cotangents = _cotangents(body, results)
        found = gradient(cotangents, results)
        connected = [i for i, g in enumerate(found) if g is not None and _flows(inputs[i])]
        return [operand(found[i], inputs[i].dtype) for i in connected], connected


def _cotangents(body: FuncGraph, results: list) -> list:
    return [body._parameter(r.dtype, r.shape, "cotangent") if _flows(r) else None for r in results]


def _refusing(error: Exception, graph, results: list) -> tuple:
    """A body that says to whoever asks for the gradient what its function raised."""
    body = FuncGraph(str(error) or type(error).__name__, graph)
    with building(body):
        outputs = [c for c in _cotangents(body, results) if c is not None][:1]
    return body, outputs, [_NO_GRADIENT] * len(outputs)


def _node(gradient: _Gradient, inputs: list, results: list) -> list:
    """The results with the gradient function, as one node of the current graph."""
    graph = _mica.tf_current_graph()
    results = [operand(r) for r in results]
    body = FuncGraph("custom_gradient", graph)
    try:
        outputs, connected = _traced(gradient, inputs, results, body)
    except Exception as error:  # the gradient's: no matter where no caller asks for it
        body, outputs, connected = _refusing(error, graph, results)
    captured = [external for external, _ in body._captures()]
    with stop_recording():
        return list(
            ops["CustomGradient"](
                [*inputs, *results, *captured],
                Tout=[r.dtype for r in results],
                n=len(inputs),
                backward=body.closed(captured, outputs),
                connected=connected,
            )
        )


def _is_tensor_like(value) -> bool:
    return isinstance(value, Tensor | Variable | float | int) or hasattr(value, "__array__")


def _takes_variables(function) -> bool:
    try:
        specification = inspect.getfullargspec(function)
    except TypeError:
        return False
    return (
        "variables" in specification.args
        or "variables" in specification.kwonlyargs
        or specification.varkw is not None
    )


def recompute_grad(f):
    """Return f with a gradient that computes f again instead of keeping what it computed.

    Parameters
    ----------
    f
        A function of tensors; it may use variables.
    """

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        return _recomputed(f, kwargs)(*args)

    return wrapped


def _recomputed(f, kwargs: dict):
    @custom_gradient
    def computed(*args):
        with stop_recording():
            result = f(*args, **kwargs)

        def gradient(*cotangents, variables=None):
            flat = [a for a in nest.flatten(args) if isinstance(a, Tensor)]
            # Nothing of the first computation serves the second one.
            held = _apart([*flat, *cotangents])
            parts = iter(held[: len(flat)])
            again = nest.map_structure(lambda a: next(parts) if isinstance(a, Tensor) else a, args)
            with GradientTape() as tape:
                tape.watch(held[: len(flat)])
                tape.watch(list(variables or ()))
                results = f(*again, **kwargs)
            found = tape.gradient(
                results,
                held[: len(flat)] + list(variables or ()),
                output_gradients=held[len(flat) :],
                unconnected_gradients=UnconnectedGradients.ZERO,
            )
            if variables is None:
                return found
            return found[: len(flat)], found[len(flat) :]

        return result, gradient

    return computed


def _apart(tensors: list) -> list:
    if _mica.tf_current_graph() is None:
        return [ops["Identity"](t) for t in tensors]
    return list(ops["XlaOptimizationBarrier"](tensors))


def grad_pass_through(f):
    """Return a function with the values of f and the gradient of the identity."""

    @custom_gradient
    def wrapped(*args, **kwargs):
        return f(*args, **kwargs), lambda *cotangents: cotangents

    return wrapped
