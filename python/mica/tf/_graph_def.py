"""A graph as TensorFlow's GraphDef: what `graph.as_graph_def()` returns."""

from __future__ import annotations

import numpy as np

from .. import _mica
from . import _dtypes
from ._proto import extend, message
from ._rows import row_of

_PRODUCER = 2474  # the version of graphs that TensorFlow 2.21 makes


def _enum_name(dtype) -> str:
    special = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}
    return "DT_" + special.get(dtype.name, dtype.name.upper())


DataType = {0: "DT_INVALID"} | {
    number: _enum_name(_dtypes.as_dtype(number)) for number in range(1, 24)
}

Dim = message("Dim", size=(1, "int"), name=(2, "string"))
TensorShapeProto = message("TensorShapeProto", dim=(2, [Dim]), unknown_rank=(3, "bool"))
TensorProto = message(
    "TensorProto",
    dtype=(1, DataType),
    tensor_shape=(2, TensorShapeProto),
    version_number=(3, "int"),
    tensor_content=(4, "bytes"),
    float_val=(5, "float*"),
    double_val=(6, "double*"),
    int_val=(7, "int*"),
    string_val=(8, "bytes*"),
    scomplex_val=(9, "float*"),
    int64_val=(10, "int*"),
    bool_val=(11, "bool*"),
    dcomplex_val=(12, "double*"),
    half_val=(13, "int*"),
    uint32_val=(16, "int*"),
    uint64_val=(17, "int*"),
)
NameAttrList = message("NameAttrList", name=(1, "string"))
ListValue = message(
    "ListValue",
    s=(2, "bytes*"),
    i=(3, "int*"),
    f=(4, "float*"),
    b=(5, "bool*"),
    type=(6, [DataType]),
    shape=(7, [TensorShapeProto]),
    tensor=(8, [TensorProto]),
    func=(9, [NameAttrList]),
)
AttrValue = message(
    "AttrValue",
    oneof=("list", "s", "i", "f", "b", "type", "shape", "tensor", "placeholder", "func"),
    list=(1, ListValue),
    s=(2, "bytes"),
    i=(3, "int"),
    f=(4, "float"),
    b=(5, "bool"),
    type=(6, DataType),
    shape=(7, TensorShapeProto),
    tensor=(8, TensorProto),
    placeholder=(9, "string"),
    func=(10, NameAttrList),
)
extend(NameAttrList, attr=(2, {AttrValue}))
NodeDef = message(
    "NodeDef",
    name=(1, "string"),
    op=(2, "string"),
    input=(3, "string*"),
    device=(4, "string"),
    attr=(5, {AttrValue}),
)
VersionDef = message("VersionDef", producer=(1, "int"), min_consumer=(2, "int"))
ArgDef = message(
    "ArgDef",
    name=(1, "string"),
    description=(2, "string"),
    type=(3, DataType),
    type_attr=(4, "string"),
    number_attr=(5, "string"),
    type_list_attr=(6, "string"),
    is_ref=(16, "bool"),
)
AttrDef = message("AttrDef", name=(1, "string"), type=(2, "string"), default_value=(3, AttrValue))
OpDef = message(
    "OpDef",
    name=(1, "string"),
    input_arg=(2, [ArgDef]),
    output_arg=(3, [ArgDef]),
    attr=(4, [AttrDef]),
    is_stateful=(17, "bool"),
    control_output=(20, "string*"),
)
ArgAttrs = message("ArgAttrs", attr=(1, {AttrValue}))
FunctionDef = message(
    "FunctionDef",
    signature=(1, OpDef),
    node_def=(3, [NodeDef]),
    ret=(4, ("string", "string")),
    attr=(5, {AttrValue}),
    control_ret=(6, ("string", "string")),
    arg_attr=(7, ("int", ArgAttrs)),
)
RegisteredGradient = message(
    "RegisteredGradient", gradient_func=(1, "string"), registered_op_type=(2, "string")
)
FunctionDefLibrary = message(
    "FunctionDefLibrary",
    function=(1, [FunctionDef]),
    registered_gradients=(3, [RegisteredGradient]),
)
GraphDef = message(
    "GraphDef", node=(1, [NodeDef]), library=(2, FunctionDefLibrary), versions=(4, VersionDef)
)


def shape_proto(shape) -> TensorShapeProto:
    """Return a shape (None, or sizes with -1 or None for unknown ones) as a message."""
    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[Dim(size=-1 if n is None else n) for n in shape])


_ONE_VALUE = {  # how a tensor of one element is written
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


def tensor_proto(tensor) -> TensorProto:
    """Return an eager tensor as a message."""
    dtype = tensor.dtype
    proto = TensorProto(dtype=dtype.as_datatype_enum)
    proto.tensor_shape = shape_proto(tensor.shape.as_list())
    if dtype in (_dtypes.resource, _dtypes.variant):
        return proto
    array = tensor.numpy()
    if dtype == _dtypes.string:
        proto.string_val.extend(np.asarray(array, dtype=object).reshape(-1).tolist())
        return proto
    array = np.asarray(array)
    if array.size == 1 and dtype.name in _ONE_VALUE:
        getattr(proto, _ONE_VALUE[dtype.name]).append(array.reshape(())[()].item())
    elif array.size == 1 and dtype.is_integer:
        proto.int_val.append(int(array.reshape(())[()]))
    else:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    return proto


_SCALAR_ATTRS = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type"}
_LIST_ATTRS = {"ints": "i", "floats": "f", "strings": "s", "types": "type"}


def _attr(kind: str, value) -> AttrValue:
    if kind in _SCALAR_ATTRS:
        return AttrValue(**{_SCALAR_ATTRS[kind]: value})
    if kind in _LIST_ATTRS:
        return AttrValue(list=ListValue(**{_LIST_ATTRS[kind]: value}))
    if kind == "shape":
        return AttrValue(shape=shape_proto(value))
    if kind == "shapes":
        return AttrValue(list=ListValue(shape=[shape_proto(shape) for shape in value]))
    if kind == "tensor":
        return AttrValue(tensor=tensor_proto(value))
    if kind == "functions":
        return AttrValue(list=ListValue(func=[NameAttrList(name=name) for name in value]))
    return AttrValue(func=NameAttrList(name=value))  # a function, or an op that Vjp is of


def graph_def(graph, add_shapes: bool = False) -> GraphDef:
    """Return a graph as a GraphDef, with the functions that its nodes call."""
    from .saved_model._export_graph import EffectOrder, Functions

    made = GraphDef(versions=VersionDef(producer=_PRODUCER))
    functions = Functions()
    effects = EffectOrder(graph)
    for operation in graph.get_operations():
        node = node_def(operation)
        if graph.building_function and operation.type != "Placeholder":
            waits = effects.add(node.name, row_of(operation.type), operation._inputs)
            node.input.extend(f"^{name}" for name in waits)
        _name_functions(operation, node, functions)
        if add_shapes:
            shapes = [shape_proto(_sizes(tensor)) for tensor in operation.outputs]
            node.attr["_output_shapes"] = AttrValue(list=ListValue(shape=shapes))
        made.node.append(node)
    made.library.function.extend(functions.definitions.values())
    return made


def _name_functions(operation, node: NodeDef, functions) -> None:
    """Let a node's attributes that are functions name those of the library."""
    for name, kind, _ in operation._attributes():
        if kind in ("function", "functions"):
            entries = _mica.tf_functions(operation.graph, operation._number)[name]
            named = [functions.inner(*entry) for entry in entries]
            node.attr[name] = _attr(kind, named if kind == "functions" else named[0])


def _sizes(tensor) -> list | None:
    return None if tensor.shape.rank is None else tensor.shape.as_list()


def node_def(operation) -> NodeDef:
    """Return a node as a NodeDef."""
    node = NodeDef(name=operation.name, op=operation.type)
    for tensor in operation.inputs:
        name, _, index = tensor.name.rpartition(":")
        node.input.append(name if index == "0" else tensor.name)
    node.input.extend(f"^{each.name}" for each in operation.control_inputs)
    if operation.type == "Placeholder":
        (tensor,) = operation.outputs
        node.attr["dtype"].type = tensor.dtype.as_datatype_enum
        shape = tensor.shape
        node.attr["shape"].shape = shape_proto(None if shape.rank is None else shape.as_list())
        node.attr["_user_specified_name"].s = operation.name.encode()
    for name, kind, value in operation._attributes():
        node.attr[name] = _attr(kind, value)
    return node


def nodes_behind(graph, nodes: list) -> set:
    """Return the numbers of these nodes and of all that they depend on."""
    waiting, found = list(nodes), set()
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += [node for node, _ in graph._node(number)[2]]
    return found
