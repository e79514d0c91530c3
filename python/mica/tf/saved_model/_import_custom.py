"""Custom gradients of files.

A function with a gradient of its own ends with an IdentityN over its results and arguments, whose
attribute `_gradient_op_type` is the name that a function of the library is registered under. That
one takes a cotangent for each result of the IdentityN, then what it needs of the function that the
IdentityN is in, which the graph of objects tells.
"""

from __future__ import annotations

from .. import _dtypes
from .._context import building
from .._core import ops
from .._function import GraphFunction, _flows
from .._graph import FuncGraph
from ._tensors import tensor_of


class Lost(NotImplementedError):
    """The gradient is not in the file, or needs what cannot be found."""


def needed_nodes(library, node) -> list[str]:
    """The nodes that must be made before this one, though they are no inputs of it."""
    function = library.gradients.get(_registered(node))
    found = []
    for number in library.bound(function) if function in library else ():
        proto = library.objects[number]
        if proto.WhichOneof() == "captured_tensor":
            found.append(proto.captured_tensor.name.partition(":")[0])
    return found


def _registered(node) -> str | None:
    if node.op != "IdentityN" or "_gradient_op_type" not in node.attr:
        return None
    return node.attr["_gradient_op_type"].s.decode()


def custom_gradient(builder, node, inputs: list):
    """The results of an IdentityN with a gradient; None: it has none of its own."""
    if _registered(node) is None or not any(_flows(x) for x in inputs):
        return None
    if any(x.dtype in (_dtypes.resource, _dtypes.variant) for x in inputs):
        return None
    try:
        needs, graph, places = _parts(builder, node, inputs)
    except Lost as error:
        message = f"[IdentityN] its custom gradient {error} ({node.name})"
        body = _body(builder, inputs, [], None, message)
        return _node(inputs, [], body, [-1])
    body = _body(builder, inputs, needs, graph, "custom_gradient")
    return _node(inputs, needs, body, places)


def _node(inputs: list, needs: list, body: FuncGraph, places: list) -> list:
    still = [x for x in inputs if not _flows(x)]
    results = ops["CustomGradient"](
        [*inputs, *inputs, *still, *needs],
        Tout=[x.dtype for x in inputs],
        n=len(inputs),
        backward=body,
        connected=places,
    )
    return list(results) if isinstance(results, list | tuple) else [results]


def _body(builder, inputs: list, needs: list, graph, name: str) -> FuncGraph:
    """A function of cotangents, of the inputs that have none, and of what is needed."""
    body = FuncGraph(name, None)
    with building(body):
        given: list = [None] * len(inputs)
        for flowing in (True, False):
            for i, x in enumerate(inputs):
                if _flows(x) == flowing:
                    given[i] = body._parameter(x.dtype, x.shape, "cotangent")
        extra = [body._parameter(x.dtype, x.shape, "needed") for x in needs]
        if graph is None:
            body._output(next(g for g in given if _flows(g)))
            return body
        strings = _dtypes.string
        given = [g if _flows(g) or g.dtype == strings else ops["ZerosLike"](g) for g in given]
        function = GraphFunction(graph)
        for result in function._node(graph, [*given, *extra]):
            body._output(result)
    return body


def _parts(builder, node, inputs: list) -> tuple:
    library = builder.library
    name = library.gradients.get(_registered(node))
    if name is None or name not in library:
        raise Lost("was not saved with the model")
    definition, bound = library.definition(name), library.bound(name)
    if len(definition.signature.input_arg) != len(inputs) + len(bound):
        raise Lost("takes other arguments than there are")
    needs = [_need(builder, number) for number in bound]
    for i, tensor in enumerate(needs):
        fact = builder.known.get(tensor._id)
        if tensor.dtype != _dtypes.resource:
            continue
        if fact is None or not library.only_reads(name, len(inputs) + i):
            raise Lost("changes a variable, or needs a resource")
        needs[i] = builder.value_of(tensor)
    places = _places(library.concrete(name).output_signature)
    if len(places) != len(definition.signature.output_arg):
        raise Lost("gives other results than it says")
    known = (None,) * len(inputs) + tuple(builder.known.get(t._id) for t in needs)
    return needs, library.graph(name, known), places


def _places(signature) -> list:
    """The results are a list, in which None stands for an input without a gradient."""
    kind = signature.WhichOneof()
    if kind not in ("list_value", "tuple_value"):
        raise Lost("gives no list")
    places = []
    for i, value in enumerate(getattr(signature, kind).values):
        if value.WhichOneof() == "tensor_spec_value":
            places.append(i)
        elif value.WhichOneof() != "none_value":
            raise Lost("gives what is no tensor")
    return places


def _need(builder, number: int):
    library = builder.library
    proto = library.objects[number]
    kind = proto.WhichOneof()
    if kind == "captured_tensor":
        saved = proto.captured_tensor
        if saved.concrete_function != builder.name:
            raise Lost("needs a tensor of another function")
        return builder.tensor_at(saved.name)
    if kind == "constant":
        return tensor_of(library.nodes[proto.constant.operation].attr["value"].tensor)
    own = library.bound(builder.name)
    if number not in own:
        raise Lost("needs an object that its function is not given")
    arguments = library.definition(builder.name).signature.input_arg
    return builder.tensor_at(arguments[len(arguments) - len(own) + own.index(number)].name)
