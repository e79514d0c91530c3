"""Graphs as functions of a file.

Nodes keep their ops; those that TensorFlow does not have become what they are made of. The order of
effects, which is the order of nodes here, becomes control inputs: what touches a variable, or does
something that others see, waits for what did so before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ... import _mica
from .. import _dtypes
from .._context import building
from .._function import GraphFunction, _flows
from .._graph import FuncGraph
from .._graph_def import (
    AttrValue,
    ListValue,
    NameAttrList,
    NodeDef,
    _attr,
    nodes_behind,
    shape_proto,
)
from .._rows import row_of
from ._messages import ArgAttrs, FunctionDef, OpDef
from ._node_names import NodeNames, allowed
from ._tensors import tensor_proto

_BAD_IN_ARGUMENTS = re.compile(r"[^a-z0-9_]")


class Gradient(NamedTuple):
    """A custom gradient: of the IdentityN that has this name as its attribute."""

    registered: str
    function: str
    within: str  # the function that the IdentityN is in
    captured: list  # nodes of that, whose first results are the function's last arguments
    results: list  # tensors like the IdentityN's results
    count: int  # of the results that are no arguments, and have no gradient


class Functions:
    """The functions of a file: each graph once, under a name of its own."""

    def __init__(self) -> None:
        self.gradients: list[Gradient] = []
        self.definitions: dict[str, FunctionDef] = {}
        self._names: dict = {}  # number of a graph -> name
        self._kept: list = []  # graphs whose numbers are in use

    def unique(self, wanted: str) -> str:
        """Return a name for a function that no other has."""
        wanted = allowed(wanted) or "function"
        name, n = wanted, 0
        while name in self.definitions:
            n += 1
            name = f"{wanted}_{n}"
        return name

    def add(self, graph, wanted: str, order: list[int] | None = None) -> str:
        """Add a graph, with what it calls, and return its name.

        `order` says which parameters the function's first arguments are; the rest follow.
        """
        name = self.unique(wanted)
        self.definitions[name] = FunctionDef()  # the name is taken from now on
        order = order or []
        order = [*order, *range(len(order), graph._parameter_count)]
        self.definitions[name] = _Writer(self, graph, name, order).definition
        return name

    def inner(self, number: int, graph) -> str:
        """Return the name of a graph that a node refers to."""
        if number not in self._names:
            self._kept.append(graph)
            self._names[number] = self.add(graph, f"{graph.name}_inner")
        return self._names[number]


class EffectOrder:
    """Which nodes wait for which: the order of effects, as control inputs say it."""

    def __init__(self, graph) -> None:
        self._graph = graph
        self._last: dict = {}  # what is touched -> names of those that wait
        self._readers: dict = {}

    def add(self, name: str, row, inputs: list) -> list[str]:
        """Return the nodes that the next one waits for; `inputs` are places in the graph."""
        if not row.has_effect:
            return []
        touched = [
            place for place in inputs if self._graph._tensor(*place).dtype == _dtypes.resource
        ]
        reads = row.category == "read"
        if not reads and (not touched or row.category != "assign"):
            touched.append("world")
        waits: list[str] = []
        for thing in touched:
            waits += self._last.get(thing, [])
            if reads:
                self._readers.setdefault(thing, []).append(name)
            else:
                waits += self._readers.pop(thing, [])
                self._last[thing] = [name]
        return list(dict.fromkeys(waits))

    def last(self) -> list[str]:
        """Return the nodes that nothing waits for."""
        names = [n for names in (*self._last.values(), *self._readers.values()) for n in names]
        return list(dict.fromkeys(names))


class _Writer:
    """Writes one graph as a function."""

    def __init__(self, functions: Functions, graph, name: str, order: list[int]) -> None:
        self._functions = functions
        self._graph = graph
        self._name = name
        self.definition = FunctionDef(signature=OpDef(name=name))
        self._names = NodeNames()
        self._texts: dict = {}  # (node, output) -> how an input says it
        self._effects = EffectOrder(graph)
        self._constants: dict = {}
        needed = self._needed()
        for place, i in enumerate(order):
            self._add_argument(place, graph._parameter_at(i))
        for number in range(graph._node_count):
            if (number, 0) not in self._texts and number in needed:
                self._add_node(number)
        self._add_results()

    def _needed(self) -> set:
        """The nodes that outputs or effects need."""
        graph = self._graph
        pending = [o._node for o in graph._outputs()]
        for number in range(graph._node_count):
            row = row_of(graph._node(number)[0])
            if row is not None and row.has_effect:
                pending.append(number)
        return nodes_behind(graph, pending)

    # ---- names

    def _add_argument(self, place: int, tensor) -> None:
        given = tensor.name.partition(":")[0]
        plain = _BAD_IN_ARGUMENTS.sub("_", given.lower()).lstrip("_0123456789") or "unknown"
        name = self._names.unique(plain)
        self._texts[tensor._node, tensor.value_index] = name
        self.definition.signature.input_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
        attributes = self.definition.arg_attr.setdefault(place, ArgAttrs()).attr
        attributes["_output_shapes"] = _shapes([tensor])
        attributes["_user_specified_name"] = AttrValue(s=given.encode())

    def _add_results(self) -> None:
        signature = self.definition.signature
        for i, output in enumerate(self._graph._outputs()):
            name = "identity" if i == 0 else f"identity_{i}"
            signature.output_arg.add(name=name, type=output.dtype.as_datatype_enum)
            self.definition.ret[name] = self._texts[output._node, output.value_index]
        for name in self._effects.last():
            signature.control_output.append(name)
            self.definition.control_ret[name] = name
        signature.is_stateful = bool(self.definition.control_ret)

    # ---- nodes

    def _add_node(self, number: int) -> None:
        op, wanted, inputs, count = self._graph._node(number)
        texts = [self._texts[place] for place in inputs]
        special = _SPECIAL.get(op)
        if special is not None:
            special(self, number, wanted, texts)
            return
        row = row_of(op)
        if row.no_file:
            raise NotImplementedError(
                f"The function {self._name!r} cannot be saved: it has {row.no_file} in it ({op})."
            )
        node = self.node(op, wanted, texts)
        functions = _mica.tf_functions(self._graph, number)
        for name, kind, value in self._graph._attributes(number):
            if kind == "functions":
                value = [self._functions.inner(*entry) for entry in functions[name]]
            elif kind == "function":
                value = self._functions.inner(*functions[name][0])
            node.attr[name] = _attr(kind, value)
        results = [self._graph._tensor(number, i) for i in range(count)]
        node.attr["_output_shapes"] = _shapes(results)
        self._name_results(number, node, row, count)
        node.input.extend(f"^{before}" for before in self._effects.add(node.name, row, inputs))

    def node(self, op: str, name: str, inputs: list, **attributes) -> NodeDef:
        """Append a node."""
        made = self.definition.node_def.add(name=self._names.unique(name), op=op, input=inputs)
        made.attr.update(attributes)
        return made

    def constant(self, value, dtype) -> str:
        """Return how an input says a constant."""
        key = dtype, str(value)
        if key not in self._constants:
            array = np.array(value, dtype.as_numpy_dtype)
            node = self.node(
                "Const",
                "constant",
                [],
                dtype=AttrValue(type=dtype.as_datatype_enum),
                value=AttrValue(tensor=tensor_proto(array)),
            )
            self._constants[key] = f"{node.name}:output:0"
        return self._constants[key]

    def dtype(self, number: int, index: int):
        """The dtype of an input of a node."""
        return self._graph._tensor(*self._graph._node(number)[2][index]).dtype

    def give(self, number: int, index: int, text: str) -> None:
        """Say what a result of a node of the graph is in the file."""
        self._texts[number, index] = text

    def _name_results(self, number: int, node: NodeDef, row, count: int) -> None:
        at = 0
        for argument in row.outputs:
            n = argument.size(node.attr)
            for i in range(n):
                self._texts[number, at + i] = f"{node.name}:{argument.name}:{i}"
            at += n
        if at != count:
            raise ValueError(f"The node {node.name} of op {node.op} has {count} results, not {at}")


def _shapes(tensors: list) -> AttrValue:
    shapes = [shape_proto(None if t.shape.rank is None else t.shape.as_list()) for t in tensors]
    return AttrValue(list=ListValue(shape=shapes))


# ---- ops that are Mica's own, in TensorFlow's ----------------------------------------------------


def _types(numbers) -> AttrValue:
    return AttrValue(list=ListValue(type=list(numbers)))


def _custom_gradient(writer: _Writer, number: int, name: str, texts: list) -> None:
    """An IdentityN of the results and the arguments that have a gradient, which is registered."""
    attributes = {k: v for k, _, v in writer._graph._attributes(number)}
    tensors = [writer._graph._tensor(*place) for place in writer._graph._node(number)[2]]
    n, count, connected = attributes["n"], len(attributes["Tout"]), attributes["connected"]
    needs = range(n + count, len(texts))
    is_lost = any(i < 0 for i in connected)
    kept = [*range(n, n + count)]
    kept += [i for i in range(n) if _flows(tensors[i])] if is_lost else connected
    node = writer.node(
        "IdentityN",
        name,
        [texts[i] for i in kept],
        T=_types([tensors[i].dtype.as_datatype_enum for i in kept]),
    )
    for i in range(count):
        writer.give(number, i, f"{node.name}:output:{i}")
    registered = f"CustomGradient-{writer._name}/{node.name}"
    node.attr["_gradient_op_type"] = AttrValue(s=registered.encode())
    if is_lost or any(tensors[i].dtype == _dtypes.resource for i in needs):
        return  # without a gradient of this name, asking for it is an error
    captured = []
    for i in needs:
        dtype = AttrValue(type=tensors[i].dtype.as_datatype_enum)
        captured.append(writer.node("Identity", f"{name}/needed", [texts[i]], T=dtype).name)
    _, backward = _mica.tf_functions(writer._graph, number)["backward"][0]
    function = _gradient_function(
        backward, [tensors[i] for i in kept], count, [tensors[i] for i in needs]
    )
    writer._functions.gradients.append(
        Gradient(
            registered,
            writer._functions.add(function, f"__inference_internal_grad_fn_{writer._name}"),
            writer._name,
            captured,
            [tensors[i] for i in kept],
            count,
        )
    )


def _gradient_function(backward, results: list, count: int, needs: list) -> FuncGraph:
    """A function of a cotangent for each result of the IdentityN, then what is needed."""
    graph = FuncGraph("custom_gradient", None)
    with building(graph):
        given = [
            graph._parameter(x.dtype, x.shape, f"result_grads_{i}") for i, x in enumerate(results)
        ]
        extra = [graph._parameter(x.dtype, x.shape, "needed") for x in needs]
        cotangents = [g for g in given[:count] if _flows(g)]
        for gradient in GraphFunction(backward)._node(backward, cotangents + extra):
            graph._output(gradient)
    return graph


def _barrier(writer: _Writer, number: int, name: str, texts: list) -> None:
    """The same tensors."""
    types = [writer.dtype(number, i).as_datatype_enum for i in range(len(texts))]
    node = writer.node("IdentityN", name, texts, T=_types(types))
    for i in range(len(texts)):
        writer.give(number, i, f"{node.name}:output:{i}")


def _implicit_gamma(writer: _Writer, number: int, name: str, texts: list) -> None:
    """The samples; their derivative is not kept."""
    dtype = AttrValue(type=writer.dtype(number, 1).as_datatype_enum)
    node = writer.node("Identity", name, texts[1:], T=dtype)
    writer.give(number, 0, f"{node.name}:output:0")


def _read_element(writer: _Writer, number: int, name: str, texts: list) -> None:
    dtype = writer.dtype(number, 0).as_datatype_enum
    node = writer.node(
        "GatherV2",
        name,
        [*texts, writer.constant(0, _dtypes.int32)],
        Tparams=AttrValue(type=dtype),
        Tindices=AttrValue(type=_dtypes.int32.as_datatype_enum),
        Taxis=AttrValue(type=_dtypes.int32.as_datatype_enum),
        batch_dims=AttrValue(i=0),
    )
    writer.give(number, 0, f"{node.name}:output:0")


def _write_element(writer: _Writer, number: int, name: str, texts: list) -> None:
    dtype = AttrValue(type=writer.dtype(number, 0).as_datatype_enum)
    int32 = AttrValue(type=_dtypes.int32.as_datatype_enum)
    buffer, index, value = texts
    shape = writer.constant([1, 1], _dtypes.int32)
    place = writer.node("Reshape", name + "/place", [index, shape], T=int32, Tshape=int32)
    zero = writer.constant(0, _dtypes.int32)
    row = writer.node("ExpandDims", name + "/row", [value, zero], T=dtype, Tdim=int32)
    node = writer.node(
        "TensorScatterUpdate",
        name,
        [buffer, f"{place.name}:output:0", f"{row.name}:output:0"],
        T=dtype,
        Tindices=int32,
    )
    writer.give(number, 0, f"{node.name}:output:0")


def _vjp(writer: _Writer, number: int, name: str, texts: list) -> None:
    """The gradient of a function of one op; TensorFlow finds it by the op's own rule."""
    attributes = {k: v for k, _, v in writer._graph._attributes(number)}
    n = attributes["n"]
    forward = _mica.tf_forward(writer._graph, number)
    function = writer._functions.add(forward, f"{writer._name}_forward")
    inputs = [writer.dtype(number, i).as_datatype_enum for i in range(n)]
    outputs = [o.dtype.as_datatype_enum for o in forward._outputs()]
    call = AttrValue(func=NameAttrList(name=function))
    given = dict(zip(attributes["outputs"], texts[n:], strict=True))
    if len(given) < len(outputs):
        values = writer.node(
            "PartitionedCall",
            name + "/forward",
            texts[:n],
            Tin=_types(inputs),
            Tout=_types(outputs),
            f=call,
        )
    cotangents = []
    for i, dtype in enumerate(outputs):
        if i in given:
            cotangents.append(given[i])
            continue
        value = f"{values.name}:output:{i}"
        zeros = writer.node("ZerosLike", name + "/zeros", [value], T=AttrValue(type=dtype))
        cotangents.append(f"{zeros.name}:y:0")
    node = writer.node(
        "SymbolicGradient",
        name,
        texts[:n] + cotangents,
        Tin=_types(inputs + outputs),
        Tout=_types(inputs),
        f=call,
    )
    for place, i in enumerate(attributes["inputs"]):
        writer.give(number, place, f"{node.name}:output:{i}")


_SPECIAL = {
    "CustomGradient": _custom_gradient,
    "ImplicitGamma": _implicit_gamma,
    "ReadElement": _read_element,
    "WriteElement": _write_element,
    "Vjp": _vjp,
    "XlaOptimizationBarrier": _barrier,
}
