"""Graphs under construction: FuncGraph, and views of what is in them."""

from __future__ import annotations

import re
import weakref

from .. import _mica
from . import _dtypes
from ._context import building
from ._core import convert_to_tensor, ops
from ._devices import device
from ._names import name_scope
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
        """What runs before it in a session; in functions effects keep the order of the program."""
        return [Operation(self._graph, n) for n in self._graph._order.before(self._number)]

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

    def run(self, feed_dict=None, session=None) -> None:
        """Run it in a session, the default one if none is given."""
        from ._session import evaluate

        evaluate(self, feed_dict, session)

    def __eq__(self, other) -> bool:
        is_operation = isinstance(other, Operation)
        return is_operation and self._graph is other._graph and self._number == other._number

    def __hash__(self) -> int:
        return hash((id(self._graph), self._number))

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def last_operation() -> Operation:
    """Return the node that the current graph got last."""
    graph = _mica.tf_current_graph()
    return Operation(graph, graph._node_count - 1)


class _Order:
    """What runs before the nodes that are being added: contexts of control_dependencies.

    Nodes are numbered as they are added, so a context is a range of numbers.
    """

    def __init__(self, graph) -> None:
        self._count = weakref.ref(graph)
        self._stack: list = []  # of lists of nodes; None hides those below
        self._first = 0
        self._done: list = []  # (first, end, before)

    def _active(self) -> list[int]:
        found: list[int] = []
        for nodes in reversed(self._stack):
            if nodes is None:
                break
            found += [n for n in nodes if n not in found]
        return found

    def _flush(self) -> None:
        count = self._count()._node_count
        if count > self._first:
            self._done += [(self._first, count, n) for n in self._active()]
        self._first = count

    def push(self, nodes) -> None:
        """What is added from now on runs after these nodes; None: after none."""
        self._flush()
        self._stack.append(nodes)

    def pop(self) -> None:
        """Leave the context that was entered last."""
        self._flush()
        self._stack.pop()

    @property
    def is_active(self) -> bool:
        """Whether what is added now waits for something."""
        return bool(self._active())

    def ranges(self) -> list:
        """(first, end, before): nodes from first on, below end, run after that one."""
        self._flush()
        return self._done

    def before(self, number: int) -> list[int]:
        """The nodes that run before this one."""
        return [n for first, end, n in self.ranges() if first <= number < end]


class Graph(_mica.TFGraph):
    """A graph that ops can be added to, and that sessions run parts of.

    Of what it holds a session runs what its fetches need (`_runs_parts`); a function, which is a
    FuncGraph, runs whole.
    """

    _runs_parts = True

    def __new__(cls, name: str = "graph", outer=None):
        """Make an empty graph."""
        return super().__new__(cls, name, outer)

    def __init__(self, *_arguments, **_named) -> None:
        self._by_identity = self._runs_parts
        self._collections: dict = {}
        self._order = _Order(self)
        self.seed = None  # what set_random_seed set for the whole graph
        self._is_final = False

    def _last_operation(self) -> Operation:
        """Return the node that was added last."""
        return Operation(self, self._node_count - 1)

    def finalize(self) -> None:
        """Let nothing be added any more by what asks for it (`check_not_finalized`)."""
        self._is_final = True

    @property
    def finalized(self) -> bool:
        """Whether finalize was called."""
        return self._is_final

    def add_to_collection(self, name, value) -> None:
        """Append a value to a list that the graph keeps under a name."""
        if self._is_final:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value) -> None:
        """Append a value to several of these lists."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name) -> list:
        """Return the list itself."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None) -> list:
        """Return what was added under a name; with a scope, what has a name that begins so."""
        values = list(self._collections.get(name, ()))
        if scope is None:
            return values
        pattern = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and pattern.match(v.name)]

    def get_all_collection_keys(self) -> list:
        """Return the names of the lists that are not empty."""
        return [
            name for name, values in self._collections.items() if isinstance(name, str) and values
        ]

    def clear_collection(self, name) -> None:
        """Forget a list."""
        self._collections.pop(name, None)

    def control_dependencies(self, control_inputs):
        """Return a context in which nodes run after the given tensors and operations."""
        from ._effects import ordered_after

        return ordered_after(self, control_inputs)

    def name_scope(self, name):
        """Return a context in which names of this graph begin so."""
        return name_scope(name or "/")

    def device(self, device_name_or_function):
        """Return a context of tf.device."""
        return device(device_name_or_function)

    def unique_name(self, name, mark_as_used=True) -> str:
        """Return a name that no scope of the graph has yet."""
        used = self.__dict__.setdefault("_scopes", {})
        whole = f"{self._scope}/{name}" if self._scope else name
        number = used.get(whole, 0)
        if mark_as_used:
            used[whole] = number + 1
        return whole if number == 0 else f"{whole}_{number}"

    def is_feedable(self, tensor) -> bool:
        """Whether a session may be given its value."""
        return tensor.graph is self

    def is_fetchable(self, tensor_or_op) -> bool:
        """Whether a session may be asked for it."""
        return tensor_or_op.graph is self

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        """Return the tensor or operation that an object or a name stands for."""
        from ._session import graph_element

        return graph_element(self, obj, allow_tensor, allow_operation)

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


class _NoOrder:
    """The order of a function, whose effects run in the order of the program."""

    is_active = False

    def before(self, unused_number: int) -> list[int]:
        """Nothing that had to be asked for."""
        return []


_NO_ORDER = _NoOrder()


class FuncGraph(Graph):
    """The graph of a function, a branch or a loop's body.

    It is inside of the graph `outer`, whose tensors it captures: of the current one when none is
    named.
    """

    _runs_parts = False

    def __new__(cls, name: str, outer=_CURRENT):
        return super().__new__(cls, name, _mica.tf_current_graph() if outer is _CURRENT else outer)

    def __init__(self, *_arguments, **_named) -> None:
        self._order = _NO_ORDER

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
