"""Order and the world outside: control_dependencies, group, py_function.

Ops with effects run in the order of the program, in functions too, so the names that ask for an
order have little to do.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import logging
import time

import numpy as np

from .. import _mica
from . import _dtypes
from . import _nest as nest
from ._context import current_graph, executing_eagerly
from ._core import convert_to_tensor, ops
from ._custom_gradient import custom_gradient
from ._graph import Operation, last_operation, operand
from ._tape import GradientTape


def _node_of(graph, value) -> int | None:
    """The number of the node that a tensor, operation or variable of the graph is from."""
    value = getattr(value, "values", value) if hasattr(value, "dense_shape") else value
    operation = value if isinstance(value, Operation) else getattr(value, "op", None)
    if not isinstance(operation, Operation):
        if isinstance(value, str | int | float):
            raise TypeError(f"a control input is a tensor or an operation, not {value!r}")
        return None
    if operation.graph is not graph:
        raise ValueError(f"a control input must be of the graph {graph}: {value} is not")
    return operation._number


@contextlib.contextmanager
def ordered_after(graph, control_inputs):
    """What is added to the graph inside runs after the given; None: after nothing around."""
    if control_inputs is None:
        nodes = None
    else:
        found = [_node_of(graph, value) for value in control_inputs]
        nodes = [number for number in found if number is not None]
    graph._order.push(nodes)
    try:
        yield
    finally:
        graph._order.pop()


@contextlib.contextmanager
def control_dependencies(control_inputs):
    """What is inside runs after the given; in functions effects keep their order anyway."""
    graph = current_graph()
    for value in control_inputs or ():
        if callable(value) and not hasattr(value, "dtype"):
            value()
    if graph is None or not graph._runs_parts:
        yield
        return
    with ordered_after(graph, control_inputs):
        yield


def group(*inputs, **kwargs):
    """Run all of the given; they have been added or run already. An operation in a graph."""
    unknown = kwargs.keys() - {"name"}
    if unknown:
        raise ValueError(f"Unknown keyword arguments: {', '.join(sorted(unknown))}")
    graph = current_graph()
    if graph is None or not graph._runs_parts:
        return no_op()
    with ordered_after(graph, nest.flatten(inputs)):
        return no_op(kwargs.get("name") or "group_deps")


def no_op(name=None):
    """Do nothing; an operation in a graph, a constant that nothing uses."""
    graph = current_graph()
    if graph is None:
        return None
    if graph._runs_parts:
        ops["NoOp"](name=name)
    else:
        operand(True)
    return last_operation()


def tuple(tensors, control_inputs=None, name=None) -> list:
    """The tensors, all computed before any is used."""
    if all(t is None for t in tensors):
        raise ValueError("Must have at least one Tensor.")
    given = [None if t is None else convert_to_tensor(t) for t in tensors]
    with control_dependencies([*(t for t in given if t is not None), *(control_inputs or ())]):
        return [None if t is None else ops["Identity"](t) for t in given]


def _dtypes_of(Tout) -> list:
    kinds = [] if Tout is None else nest.flatten(Tout)
    return [_dtypes.as_dtype(getattr(kind, "dtype", kind)) for kind in kinds]


def _listed(result) -> list:
    if result is None:
        return []
    return list(result) if isinstance(result, (list, builtins.tuple)) else [result]


class _PythonFunction:
    """A function of Python as a node: its tape is kept until the last call's gradient is asked."""

    def __init__(self, function, kinds: list, takes_arrays: bool) -> None:
        self.function, self.kinds, self.takes_arrays = function, kinds, takes_arrays
        self.last: builtins.tuple | None = None

    def results(self, tensors) -> list:
        given = [t.numpy() for t in tensors] if self.takes_arrays else list(tensors)
        results = _listed(self.function(*given))
        if len(results) != len(self.kinds):
            raise ValueError(
                f"the function of Python gave {len(results)} values, and Tout has {len(self.kinds)}"
            )
        return [
            convert_to_tensor(np.asarray(r, k.as_numpy_dtype) if self.takes_arrays else r, k)
            for r, k in zip(results, self.kinds, strict=True)
        ]

    def __call__(self, *tensors) -> list:
        if self.takes_arrays or not any(t.dtype.is_floating for t in tensors):
            return self.results(tensors)

        with GradientTape(persistent=True) as tape:
            for tensor in tensors:
                tape.watch(tensor)
            results = self.results(tensors)
        self.last = (tape, tensors, results)
        return results

    def gradient(self, *given) -> list:
        """Gradients, of (arguments, cotangents)."""
        count = len(given) - len(self.kinds)
        arguments, cotangents = given[:count], given[count:]
        if self.last is None or not all(
            np.array_equal(a.numpy(), b.numpy())
            for a, b in zip(arguments, self.last[1], strict=True)
        ):
            self(*arguments)  # another call came in between
        (tape, tensors, results), self.last = self.last, None
        found = tape.gradient(
            results, list(tensors), output_gradients=list(cotangents), unconnected_gradients="zero"
        )
        return [convert_to_tensor(part) for part in found]


def _call(function, inp, Tout, takes_arrays: bool):
    kinds = _dtypes_of(Tout)
    tensors = [convert_to_tensor(part) for part in ([] if inp is None else nest.flatten(inp))]
    node = _PythonFunction(function, kinds, takes_arrays)
    if executing_eagerly():
        results = node.results(tensors)
    else:
        results = _added(node, tensors)
        if not kinds and current_graph()._runs_parts:
            return last_operation()
    if Tout is None:
        return None
    if not nest.is_nested(Tout):
        return results[0]
    return nest.pack_sequence_as(Tout, results) if Tout else results


def _added(node: _PythonFunction, tensors: list) -> list:
    number = _mica.TFFunction(node)
    if node.takes_arrays or not node.kinds or not any(t.dtype.is_floating for t in tensors):
        return ops["PyFunc"](tensors, token=number, Tout=node.kinds)
    back = _mica.TFFunction(node.gradient)

    @custom_gradient
    def call(*inputs):
        outputs = ops["PyFunc"](list(inputs), token=number, Tout=node.kinds)

        def gradient(*cotangents):
            kinds = [t.dtype for t in inputs]
            found = ops["PyFunc"]([*inputs, *cotangents], token=back, Tout=kinds)
            for part, given in zip(found, inputs, strict=True):
                part.set_shape(given.shape)
            return list(found)

        return list(outputs), gradient

    return list(call(*tensors))


def py_function(func=None, inp=None, Tout=None, name=None):
    """Call a function of Python with eager tensors, in a graph too; tapes see through it.

    Without a function it is a decorator.
    """
    if func is None:
        return lambda f: functools.wraps(f)(lambda *args: _call(f, args, Tout, False))
    return _call(func, inp, Tout, False)


def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
    """Call a function of Python with numpy arrays, in a graph too; or a decorator, as above."""
    if func is None:
        return lambda f: functools.wraps(f)(lambda *args: _call(f, args, Tout, True))
    return _call(func, inp, Tout, True)


def timestamp(name=None):
    """Seconds since 1970, as float64."""
    return numpy_function(lambda: np.float64(time.time()), [], _dtypes.float64)


@functools.cache
def get_logger():
    """The logger of the package, named ``tensorflow``."""
    return logging.getLogger("tensorflow")


def inside_function() -> bool:
    """Whether a function is being traced."""
    return not executing_eagerly()
