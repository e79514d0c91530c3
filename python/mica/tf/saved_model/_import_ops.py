"""TensorFlow's ops that have no row of their own: what each is made of.

A translation gets the builder, the input tensors and the attributes, and returns the outputs by
name (a list where an output is several tensors), or None to leave the node to its row.
"""

from __future__ import annotations

from functools import partial

from .. import _dtypes
from .._array import gather
from .._core import convert_to_tensor, ops
from .._function import GraphFunction, _flows
from ._import_lists import LIST_TRANSLATIONS
from ._tensors import FEW, count_of, element_of
from ._translating import entering

TRANSLATIONS: dict = {}
_of = entering(TRANSLATIONS)


def _simple(name: str, function, output: str = "output") -> None:
    """An op that is a function of its inputs alone."""
    TRANSLATIONS[name] = lambda builder, inputs, attributes: {output: function(*inputs)}


# ---- the frame of graphs -------------------------------------------------------------------------


@_of("NoOp", "ControlTrigger")
def _nothing(builder, inputs, attributes):
    return {}


@_of("Placeholder")
def _placeholder(builder, inputs, attributes):
    raise NotImplementedError("a placeholder inside a function has no value")


@_of("PlaceholderWithDefault", "DebugIdentityV2")
def _same(builder, inputs, attributes):
    return {"output": ops["Identity"](inputs[0]), "y": ops["Identity"](inputs[0])}


@_of("SymbolicGradient")
def _symbolic_gradient(builder, inputs, attributes):
    """The gradient of a function: arguments, then cotangents; a result for each argument."""
    count = len(attributes["Tout"].list.type)
    arguments, cotangents = inputs[:count], inputs[count:]
    name = attributes["f"].func.name
    graph = builder.library.graph(name, builder.facts(arguments))
    forward, backward, connected = GraphFunction(graph)._gradient(
        tuple(_flows(x) or x.dtype == _dtypes.resource for x in arguments)
    )
    results = forward._node(forward.graph, arguments)
    n = len(graph._outputs())
    given = [c for c, r in zip(cotangents, results[:n], strict=True) if _flows(r)]
    answers = iter(backward._node(backward.graph, given + results[n:]))
    found = []
    for argument, how in zip(arguments, connected, strict=True):
        if how == 0:
            found.append(ops["ZerosLike"](argument))
        elif how == 1:
            found.append(next(answers))
        else:
            total = ops["ZerosLike"](argument)
            for _ in range(how - 1):
                values, places = next(answers), next(answers)
                places = ops["ExpandDims"](places, -1)
                total = ops["TensorScatterAdd"](total, places, values)
            found.append(total)
    return {"output": found}


# ---- variables -----------------------------------------------------------------------------------


@_of("ReadVariableOp")
def _read_variable(builder, inputs, attributes):
    return {"value": builder.read(inputs[0], attributes.get("dtype"))}


@_of("ResourceGather")
def _resource_gather(builder, inputs, attributes):
    handle, indices = inputs
    value = builder.read(handle, attributes.get("dtype"))
    batch = attributes.get("batch_dims", 0)
    return {"output": gather(value, indices, axis=batch, batch_dims=batch)}


@_of("ResourceGatherNd")
def _resource_gather_nd(builder, inputs, attributes):
    _refuse_policies(attributes)
    value = builder.read(inputs[0], attributes.get("dtype"))
    return {"output": ops["GatherNd"](value, inputs[1])}


@_of("VariableShape")
def _variable_shape(builder, inputs, attributes):
    fact = builder.known.get(inputs[0]._id)
    dtype = attributes.get("out_type", _dtypes.int32)
    if fact is None:
        raise NotImplementedError("the shape of a variable that is not known cannot be read")
    return {"output": ops["Shape"](builder.read(inputs[0], fact.dtype), out_type=dtype)}


def _refuse_policies(attributes):
    policy = attributes.get("bad_indices_policy", "")
    if policy not in ("", "DEFAULT", "ERROR"):
        raise NotImplementedError(f"bad_indices_policy {policy!r} must be '' or 'ERROR'")


def _spread(value, indices, updates):
    """A place for each index, and one update that serves all of them in full."""
    is_one = indices.shape.rank == 0
    if is_one:
        indices = ops["ExpandDims"](indices, 0)
    places = ops["ExpandDims"](indices, -1)
    if updates.shape.rank == 0:
        there = ops["GatherNd"](value, places)
        return places, ops["BroadcastTo"](updates, ops["Shape"](there))
    return places, ops["ExpandDims"](updates, 0) if is_one else updates


def _scatter(builder, inputs, attributes, slices: bool):
    handle, places, updates = inputs
    _refuse_policies(attributes)
    value = builder.read(handle, updates.dtype)
    if slices:
        places, updates = _spread(value, places, updates)
    kind = attributes.node.op.removeprefix("ResourceScatter").removeprefix("Nd")
    ops["AssignVariableOp"](handle, ops[f"TensorScatter{kind}"](value, places, updates))
    return {}


for _row in ops:
    if _row.startswith("TensorScatter"):
        _kind = _row.removeprefix("TensorScatter")
        TRANSLATIONS[f"ResourceScatter{_kind}"] = partial(_scatter, slices=True)
        TRANSLATIONS[f"ResourceScatterNd{_kind}"] = partial(_scatter, slices=False)


# ---- constants -----------------------------------------------------------------------------------


@_of("Const")
def _constant(builder, inputs, attributes):
    """One element for a large tensor is spread where the tensor is used, not when it is read."""
    proto = attributes["value"].tensor
    if count_of(proto) <= FEW:
        return None
    element = element_of(proto)
    if element is None:
        return None
    sizes = convert_to_tensor([dim.size for dim in proto.tensor_shape.dim], _dtypes.int64)
    return {"output": ops["Fill"](sizes, ops["Const"](value=element, dtype=element.dtype))}


# ---- rewritten graphs ----------------------------------------------------------------------------


@_of("_FusedMatMul", "_FusedConv2D")
def _fused(builder, inputs, attributes):
    raise NotImplementedError("the model was rewritten for one machine; save it as it was")


# ---- tables --------------------------------------------------------------------------------------


@_of("HashTableV2", "MutableHashTableV2")
def _hash_table(builder, inputs, attributes):
    handle = ops["AnonymousMutableHashTable"](
        key_dtype=attributes.get("key_dtype"), value_dtype=attributes.get("value_dtype")
    )
    return {"table_handle": handle}


@_of("LookupTableImportV2")
def _table_import(builder, inputs, attributes):
    ops["LookupTableInsertV2"](*inputs)
    return {}


TRANSLATIONS.update(LIST_TRANSLATIONS)
