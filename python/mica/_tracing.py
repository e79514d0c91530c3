"""Tracing: how Python functions become graphs, and how graphs run.

A transform is written once, for the trace that is current on this thread. Called without one,
it is traced into a graph of its own, compiled and run: see `stage`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from . import _mica
from ._mica import Executable, Graph, Tensor, Trace, Traced, flatten, unflatten

#: Executables of graphs that eager transforms made, by device and graph; the oldest go first.
_EXECUTABLES: OrderedDict[tuple, Executable] = OrderedDict()
_EXECUTABLES_LIMIT = 512
_LOCK = Lock()


def is_array(value: Any) -> bool:
    """Whether a value is a Tensor or a Traced."""
    return type(value) is Tensor or type(value) is Traced


def is_array_like(value: Any) -> bool:
    """Whether a leaf is data: an array, or something that becomes one (but no Python scalar)."""
    if is_array(value):
        return True
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def as_array(value: Any) -> Tensor | Traced:
    """An array from a leaf; Python scalars become constants of the current trace."""
    if is_array(value):
        return _mica.strengthen(value)
    if isinstance(value, (bool, int, float)) and _mica.is_tracing():
        return _mica.constant(value=value)
    return _mica.tensor(value)


def name_of(function: Callable) -> str:
    """A name for a function's graph."""
    name = getattr(function, "__name__", "") or type(function).__name__
    return "".join(c if c.isalnum() else "_" for c in name).strip("_") or "function"


def compile_cached(graph: Graph, device: _mica.Device) -> Executable:
    """Compile a graph, or find the executable of an equal one."""
    key = (device, graph.serialize())
    with _LOCK:
        executable = _EXECUTABLES.get(key)
        if executable is not None:
            _EXECUTABLES.move_to_end(key)
            return executable
    executable = Executable(graph, device)
    with _LOCK:
        _EXECUTABLES[key] = executable
        while len(_EXECUTABLES) > _EXECUTABLES_LIMIT:
            _EXECUTABLES.popitem(last=False)
    return executable


def clear_caches() -> None:
    """Forget compiled graphs and small cached tensors (those of `jit` functions stay)."""
    with _LOCK:
        _EXECUTABLES.clear()
    _mica.clear_caches()


def device_of(tensors: Sequence[Tensor]) -> _mica.Device:
    """The device of the first tensor; without one, the default device."""
    return tensors[0].device if tensors else _mica.device(None)


def on_device(tensors: Sequence[Tensor], device: _mica.Device) -> list[Tensor]:
    """The tensors, copied where they are elsewhere."""
    return [t if t.device == device else t.to(device) for t in tensors]


def stage(name: str, function: Callable, *args: Any) -> Any:
    """Call a function of arrays in the current trace; without one, trace, compile and run it.

    The arrays among the leaves of `args` become the graph's parameters; other leaves reach the
    function as they are.
    """
    if _mica.is_tracing():
        return function(*args)
    leaves, structure = flatten(args)
    places = [i for i, leaf in enumerate(leaves) if is_array_like(leaf)]
    inputs = [leaves[i] if type(leaves[i]) is Tensor else _mica.tensor(leaves[i]) for i in places]
    with Trace(name) as trace:
        for i, tensor in zip(places, inputs, strict=True):
            leaves[i] = trace.parameter(tensor)
        outputs, out_structure = flatten(function(*unflatten(structure, leaves)))
        trace.output([as_array(leaf) for leaf in outputs])
    inputs.extend(trace.captured)
    device = device_of(inputs)
    results = compile_cached(trace.graph, device).run(on_device(inputs, device))
    return unflatten(out_structure, results)


class Region:
    """A function traced into a graph of its own inside the current trace.

    Parameters
    ----------
    name
        The graph's name.
    function
        The function to trace.
    leaves, structure
        Its arguments: leaves are arrays or types (shape, dtype); the structure is of the tuple of
        arguments.

    Attributes
    ----------
    graph : Graph
        Its outputs are the leaves of the result, then a token if it has effects.
    captured : tuple of Traced
        Values of the trace around it that it uses; parameters after the arguments.
    structure
        The structure of its result.
    """

    def __init__(self, name: str, function: Callable, leaves: Sequence, structure: Any) -> None:
        with Trace(name) as trace:
            parameters = [trace.parameter(leaf) for leaf in leaves]
            result, self.structure = flatten(function(*unflatten(structure, parameters)))
            outputs = [as_array(leaf) for leaf in result]
            trace.output(outputs)
            if trace.has_effects:
                trace.output([_mica.token()])
        self.graph = trace.graph
        self.captured = trace.captured
        self.has_effects = trace.has_effects
        self.token_parameter = trace.token_parameter
        self.n_arguments = len(leaves)
        self.n_outputs = len(outputs)

    def spread(self, arguments: Sequence, captured: Sequence, token: Any) -> list:
        """One item per parameter of the graph: arguments, captured values and the token."""
        items = list(arguments)
        rest = iter(captured)
        for i in range(self.n_arguments, self.n_arguments + len(self.captured) + self.has_effects):
            items.append(token if i == self.token_parameter else next(rest))
        return items

    def placed(
        self,
        types: Sequence,
        arguments: Sequence[int],
        first_captured: int,
        token: int | None,
        token_output: int | None,
    ) -> Graph:
        """The graph with parameters of `types`, its own ones found at the given places.

        Parameters
        ----------
        types
            The new parameters.
        arguments
            Where among them the function's arguments are.
        first_captured
            Where its captured values begin.
        token
            Where the token is, if the op has one; it is passed on unless the region has effects.
        token_output
            Before which output the token goes.
        """
        captured = range(first_captured, first_captured + len(self.captured))
        outputs = list(range(self.n_outputs))
        if token is not None:
            outputs.insert(token_output, self.n_outputs if self.has_effects else -1 - token)
        return _mica.rewire(self.graph, types, self.spread(arguments, captured, token), outputs)
