"""`import_graph_def`: the nodes of a GraphDef, its functions too, in the graph that is being built.

Each node is a row of the op table, as in the functions of saved models
(`saved_model/_import_graph.py`), whose builder does the work.
"""

from __future__ import annotations

import contextlib

from . import _dtypes
from ._context import current_graph
from ._core import Tensor
from ._effects import control_dependencies
from ._graph import last_operation
from ._names import name_scope, scoped
from ._shapes import TensorShape
from .saved_model._import_graph import FunctionBuilder, Library, _in_order
from .saved_model._messages import FunctionDef, GraphDef, OpDef
from .saved_model._structures import shape_of


class _Nodes(FunctionBuilder):
    """Nodes of the current graph, whose results are said as `node` or `node:index`."""

    def __init__(self, library: Library, graph, input_map: dict) -> None:
        nothing = FunctionDef(signature=OpDef(name=graph.name))
        super().__init__(library, nothing, (), graph)
        self._mapped = {_canonical(text): tensor for text, tensor in input_map.items()}
        self._used: set[tuple[str, int]] = set()
        self.results: dict[str, list] = {}
        self.operations: dict = {}

    def _value(self, text: str):
        name, index = _canonical(text)
        if (name, index) in self._mapped:
            self._used.add((name, index))
            return self._mapped[name, index]
        if name not in self.results:
            raise ValueError(f"graph_def is invalid: there is no node for the input {text!r}")
        if not self.results[name] and not index:
            raise ValueError(
                f"the placeholder {name!r} has no value in a function: give one in input_map, as "
                f"{{'{name}:0': tensor}}"
            )
        if index >= len(self.results[name]):
            raise ValueError(
                f"graph_def is invalid: the node {name!r} has {len(self.results[name])} results, "
                f"so there is no {text!r}"
            )
        return self.results[name][index]

    def add(self, node) -> None:
        """Append a node after those that it waits for."""
        waits = [text[1:] for text in node.input if text.startswith("^")]
        before = [self.operations[name] for name in waits if name in self.operations]
        with control_dependencies(before) if before else contextlib.nullcontext():
            if node.op in ("Placeholder", "PlaceholderV2"):
                self._add_placeholder(node)
            else:
                self._add_node(node)
                prefix = f"{node.name}:"
                found = [ts for key, ts in self._values.items() if key.startswith(prefix)]
                self.results[node.name] = [tensor for tensors in found for tensor in tensors]
                self._values.clear()
        if self.graph._node_count:
            self.operations[node.name] = last_operation()

    def _add_placeholder(self, node) -> None:
        if self.graph.building_function:
            self.results[node.name] = []  # which has no value; the input map may have one
            return
        shape = shape_of(node.attr["shape"].shape) if "shape" in node.attr else TensorShape(None)
        dtype = _dtypes.as_dtype(node.attr["dtype"].type)
        made = self.graph._parameter(dtype, shape, scoped(node.name))
        self.results[node.name] = [made]

    def refuse_unused(self) -> None:
        """Refuse keys of the input map that no node asked for."""
        unused = sorted(f"{n}:{i}" for n, i in set(self._mapped) - self._used)
        if unused:
            raise ValueError(
                "Attempted to map inputs that were not found in graph_def: "
                f"[{', '.join(unused)}]"
            )


def _canonical(text: str) -> tuple[str, int]:
    name, _, index = str(text).partition(":")
    if index and not index.isdigit():
        raise ValueError(f"{text!r} is no name of a tensor: those have the form <node>:<index>")
    return name, int(index or 0)


def _read(graph_def) -> GraphDef:
    """The message with its functions as bytes, whatever class of message it is given as."""
    if not hasattr(graph_def, "SerializeToString"):
        raise TypeError(
            f"Argument `graph_def` must be a GraphDef proto. Received type "
            f"{type(graph_def).__name__}"
        )
    return GraphDef.FromString(graph_def.SerializeToString())


def import_graph_def(
    graph_def,
    input_map=None,
    return_elements=None,
    name=None,
    op_dict=None,
    producer_op_list=None,
):
    """Add the nodes of a GraphDef to the graph being built; return the elements asked for.

    Parameters
    ----------
    input_map : dict or None
        What stands for inputs of nodes, which it names as `node:index`.
    return_elements : list of str or None
        Names of nodes (for operations) and of tensors, `node:index`.
    name : str or None
        What is put in front of the names, with a slash; "import" when it is None.
    op_dict
        Not read, as in TensorFlow: the ops are those of the library.
    producer_op_list : OpList or None
        What the ops had for defaults where the message was made.
    """
    message = _read(graph_def)
    graph = current_graph()
    if graph is None:
        raise ValueError(
            "tf.graph_util.import_graph_def() adds nodes to a graph: call it in "
            "tf.Graph().as_default() or in a function"
        )
    op_list = () if producer_op_list is None else producer_op_list.op
    scope = "import" if name is None else name
    with name_scope(scope) if scope else contextlib.nullcontext():
        mapped = {
            key: value if isinstance(value, Tensor) else graph.as_graph_element(value)
            for key, value in (input_map or {}).items()
        }
        nodes = _Nodes(Library(message, op_list), graph, mapped)
        for node in _in_order(message.node):
            nodes.add(node)
    nodes.refuse_unused()
    if return_elements is None:
        return None
    return [_element(nodes, text) for text in return_elements]


def _element(nodes: _Nodes, text: str):
    name, colon, _ = str(text).partition(":")
    if name not in nodes.results:
        raise ValueError(f"Requested return_element {text!r} not found in graph_def.")
    return nodes._value(text) if colon else nodes.operations[name]
