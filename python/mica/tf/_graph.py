"""Graphs under construction: FuncGraph, and views of what is in them."""

from __future__ import annotations

from .. import _mica
from . import _dtypes
from ._core import convert_to_tensor, ops
from ._variable import Variable


def operand(value, dtype=None):
    """Return a value as a tensor of the current graph."""
    tensor = convert_to_tensor(value, dtype)
    graph = _mica.tf_current_graph()
    return tensor if graph is None else _mica.tf_lift(graph, tensor)


class Operation:
    """A node of a graph, as `.graph.get_operations()` shows it."""

    def __init__(self, graph, number: int) -> None:
        self._graph = graph
        self._number = number
        self.type, self.name, self._inputs, self._count = graph._node(number)

    @property
    def graph(self):
        """The graph it is in."""
        return self._graph

    @property
    def inputs(self) -> list:
        """The tensors it takes."""
        return [self._graph._tensor(node, index) for node, index in self._inputs]

    @property
    def outputs(self) -> list:
        """The tensors it gives."""
        return [self._graph._tensor(self._number, i) for i in range(self._count)]

    @property
    def node_def(self):
        """The node as a message."""
        from ._graph_def import node_def

        return node_def(self)

    @property
    def device(self) -> str:
        """The device it asks for: none, placement is decided later."""
        return ""

    @property
    def control_inputs(self) -> list:
        """Always empty: effects run in the order of the program."""
        return []

    def get_attr(self, name: str):
        """Return an attribute's value."""
        for key, kind, value in self._attributes():
            if key == name:
                return _dtypes.as_dtype(value) if kind == "type" else value
        raise ValueError(f"Operation {self.name!r} has no attr named {name!r}.")

    def _attributes(self) -> list:
        return self._graph._attributes(self._number)

    @property
    def op(self) -> str:
        """The name of its op."""
        return self.type

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def last_operation() -> Operation:
    """Return the node that the current graph got last."""
    graph = _mica.tf_current_graph()
    return Operation(graph, graph._node_count - 1)


class Graph(_mica.TFGraph):
    """A graph that ops can be added to."""

    def __new__(cls, name: str = "graph", outer=None):
        """Make an empty graph."""
        return super().__new__(cls, name, outer)

    def get_operations(self) -> list[Operation]:
        """Return all nodes, in the order of the program."""
        return [Operation(self, i) for i in range(self._node_count)]

    @property
    def operations(self) -> list[Operation]:
        """All nodes, in the order of the program."""
        return self.get_operations()

    def get_tensor_by_name(self, name: str):
        """Return the tensor of this name."""
        wanted, _, index = name.partition(":")
        for operation in self.get_operations():
            if operation.name == wanted:
                return operation.outputs[int(index or 0)]
        raise KeyError(f"The name {name!r} refers to a Tensor which does not exist.")

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the node of this name."""
        for operation in self.get_operations():
            if operation.name == name:
                return operation
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")

    def as_default(self):
        """Return a context in which ops are added to this graph."""
        from ._context import building

        return building(self)

    def as_graph_def(self, from_version=None, add_shapes: bool = False):
        """Return the graph as a GraphDef, with `_output_shapes` at each node if asked."""
        from ._graph_def import graph_def

        return graph_def(self, add_shapes)

    @property
    def building_function(self) -> bool:
        """Whether it is a function's."""
        return isinstance(self, FuncGraph)


_CURRENT = object()


class FuncGraph(Graph):
    """The graph of a function, a branch or a loop's body.

    It is inside of the graph `outer`, whose tensors it captures: of the current one when none is
    named.
    """

    def __new__(cls, name: str, outer=_CURRENT):
        return super().__new__(cls, name, _mica.tf_current_graph() if outer is _CURRENT else outer)

    @property
    def captures(self) -> list:
        """Pairs of what was captured and what stands for it inside."""
        return self._captures()

    @property
    def external_captures(self) -> list:
        """What was captured."""
        return [external for external, _ in self._captures()]

    @property
    def internal_captures(self) -> list:
        """What stands for what was captured."""
        return [internal for _, internal in self._captures()]

    @property
    def variables(self) -> list[Variable]:
        """The variables whose handles were captured."""
        found = [external._variable for external in self.external_captures]
        return [v() for v in found if v is not None and v() is not None]

    @property
    def trainable_variables(self) -> list[Variable]:
        """Those of the variables that are trainable."""
        return [v for v in self.variables if v.trainable]

    def closed(self, externals: list, outputs: list, returns_captured: bool = False):
        """Return the function with all these captured, in this order, after its own parameters."""
        own = {external._id: internal for external, internal in self._captures()}
        if [e._id for e, _ in self._captures()] != [e._id for e in externals[: len(own)]]:
            return self._reordered(externals, outputs, returns_captured)
        for external in externals[len(own) :]:
            self._parameter(external.dtype, external.shape, "unused")
        parameters = [self._parameter_at(i) for i in range(self._parameter_count)]
        for output in outputs:
            self._output(output)
        if returns_captured:
            for parameter in parameters[len(parameters) - len(externals) :]:
                self._output(parameter)
        return self

    def _reordered(self, externals: list, outputs: list, returns_captured: bool):
        """Return a function that calls this one with its captured values in another order."""
        own = [external._id for external, _ in self._captures()]
        for output in outputs:
            self._output(output)
        count = self._parameter_count - len(own)
        whole = FuncGraph(self.name, None)
        first = [self._parameter_at(i) for i in range(count)]
        parameters = [whole._parameter(p.dtype, p.shape, "loop") for p in first]
        captured = [whole._parameter(e.dtype, e.shape, "captured") for e in externals]
        place = {e._id: c for e, c in zip(externals, captured, strict=True)}
        before = _mica.tf_set_graph(whole)
        try:
            op = "StatefulPartitionedCall" if self._has_effects else "PartitionedCall"
            results = ops[op](
                parameters + [place[i] for i in own], Tout=[o.dtype for o in outputs], f=self
            )
        finally:
            _mica.tf_set_graph(before)
        for result in results:
            whole._output(result)
        if returns_captured:
            for parameter in captured:
                whole._output(parameter)
        return whole


# ---- variables read in front of a branch or loop -----------------------------------------------


class read_only_variables:
    """Within it, bodies read variables in the graph outside, but for the frozen ones."""

    def __init__(self, graph, frozen: set = frozenset()) -> None:
        self._graph = graph
        self._frozen = frozen

    def __enter__(self) -> None:
        _hoists.append((self._graph, self._frozen))

    def __exit__(self, *unused) -> None:
        _hoists.pop()


_hoists: list = []


def reads_in_front(body) -> set:
    """Return the ids of the handles that the body read outside."""
    return getattr(body, "_hoisted", set())


def _read(self):
    """Read a variable; from within a branch or body that has not assigned it, outside of it."""
    graph = _mica.tf_current_graph()
    if graph is None or not _hoists:
        return _plain_read(self)
    outer = graph.outer_graph
    handle = self._handle._id
    for hoisting, frozen in reversed(_hoists):
        if outer is not hoisting:
            continue
        if handle in frozen or handle in getattr(graph, "_assigned", ()):
            break
        before = _mica.tf_set_graph(outer)
        try:
            value = self._read()
        finally:
            _mica.tf_set_graph(before)
        graph._hoisted = getattr(graph, "_hoisted", set()) | {handle}
        lifted = _mica.tf_lift(graph, value)
        if _mica.tf_is_recording():
            # A tape inside the body sees the same value.
            _mica.tf_record([self._handle], [lifted], lambda given, outputs, wanted: list(given))
        return lifted
    return _plain_read(self)


_plain_read = Variable._read
Variable._read = _read
