"""Lists of tensors (TensorArrays in files): a list becomes one tensor, its elements along axis 0.

A list whose elements have unknown sizes is a PendingList until the shape of an element is known:
when the first is written, or, in front of a loop, from what the loop's body writes.
"""

from __future__ import annotations

from .. import _dtypes
from .._array import gather, shape_operand
from .._core import convert_to_tensor, ops
from .._shapes import TensorShape
from ._import_graph import ListOf, UnknownOp


class PendingList:
    """A list of which only the number of elements and their dtype are known."""

    _count = 0

    def __init__(self, size, dtype, shape: TensorShape) -> None:
        PendingList._count -= 1
        self._id = PendingList._count  # no tensor has it
        self.dtype = _dtypes.variant
        self.shape = TensorShape([])
        self._size, self._element, self._element_shape = size, dtype, shape

    def made(self, builder, shape, static: TensorShape):
        """Return the list as a tensor of zeros, with elements of this shape (a tensor)."""
        sizes = ops["ConcatV2"]([ops["Reshape"](self._size, [1]), shape], 0)
        dense = ops["Fill"](sizes, convert_to_tensor(0, self._element))
        static = static.merge_with(self._element_shape)
        if static.rank is not None:
            dense.set_shape(TensorShape([None]).concatenate(static))
        builder.known[dense._id] = ListOf(self._element, static)
        return dense


def _element_shape(builder, tensor) -> TensorShape:
    """The shape that an operand says: a scalar -1 is an unknown rank."""
    if tensor.shape.rank == 0:
        return TensorShape(None)
    sizes = builder.graph._ints(tensor)
    if sizes is None:
        return TensorShape(None)
    return TensorShape([None if n is None or n < 0 else n for n in sizes])


def _reserve(builder, inputs, attributes):
    shape, size = _element_shape(builder, inputs[0]), inputs[1]
    dtype = attributes.get("element_dtype")
    pending = PendingList(size, dtype, shape)
    if shape.is_fully_defined():
        return {"handle": pending.made(builder, shape_operand(shape.as_list()), shape)}
    return {"handle": pending}


def _from_tensor(builder, inputs, attributes):
    dense = ops["Identity"](inputs[0])
    shape = dense.shape
    element = TensorShape(None) if shape.rank is None else TensorShape(shape.as_list()[1:])
    builder.known[dense._id] = ListOf(dense.dtype, element)
    return {"output_handle": dense}


def _dense(builder, value):
    if isinstance(value, PendingList):
        raise NotImplementedError("a list is read before anything was written to it")
    if not isinstance(builder.known.get(value._id), ListOf):
        raise NotImplementedError("a list of tensors that came from elsewhere")
    return value


def _grown(values, index):
    """A list with room for an element at the index; new ones are zeros."""
    size = ops["Shape"](values)
    more = ops["Maximum"](index + 1 - size[0], 0)
    room = ops["Fill"](
        ops["ConcatV2"]([ops["Reshape"](more, [1]), size[1:]], 0),
        convert_to_tensor(0, values.dtype),
    )
    return ops["ConcatV2"]([values, room], 0)


def _set_item(builder, inputs, attributes):
    values, index, item = inputs[:3]
    if isinstance(values, PendingList):
        values = values.made(builder, ops["Shape"](item), item.shape)
    fact = builder.known[_dense(builder, values)._id]
    if attributes.get("resize_if_index_out_of_bounds", False):
        values = _grown(values, index)
    written = ops["WriteElement"](values, index, item)
    if values.shape.rank is not None:
        written.set_shape(values.shape)
    builder.known[written._id] = fact
    return {"output_handle": written}


def _get_item(builder, inputs, attributes):
    item = ops["ReadElement"](_dense(builder, inputs[0]), inputs[1])
    shape = builder.known[inputs[0]._id].shape
    if shape.rank is not None:
        item.set_shape(shape)
    return {"item": item}


def _stack(builder, inputs, attributes):
    return {"tensor": ops["Identity"](_dense(builder, inputs[0]))}


def _length(builder, inputs, attributes):
    if isinstance(inputs[0], PendingList):
        return {"length": ops["Identity"](inputs[0]._size)}
    return {"length": ops["Shape"](_dense(builder, inputs[0]))[0]}


def _gather(builder, inputs, attributes):
    return {"values": gather(_dense(builder, inputs[0]), inputs[1], axis=0)}


# ---- loops ---------------------------------------------------------------------------------------


def _written_item(position: int):
    """What says which tensor a loop's body writes to the list that is its argument."""

    def wanted(definition) -> str:
        name = definition.signature.input_arg[position].name
        aliases = {name}
        for node in definition.node_def:
            first = node.input[0].partition(":")[0] if node.input else None
            if first not in aliases:
                continue
            if node.op == "Identity":
                aliases.add(node.name)
            elif node.op == "TensorListSetItem":
                return node.input[2]
        raise NotImplementedError("a loop has a list that its body does not write to directly")

    return wanted


def _while(builder, inputs, attributes):
    is_pending = [isinstance(x, PendingList) for x in inputs]
    is_list = [isinstance(builder.known.get(x._id), ListOf) for x in inputs]
    if not any(is_pending) and not any(is_list):
        return None
    body = attributes["body"].func.name
    made = list(inputs)
    for i, pending in enumerate(is_pending):
        if pending:
            item = builder.inline(body, inputs, _written_item(i))
            made[i] = inputs[i].made(builder, ops["Shape"](item), item.shape)
    facts = builder.facts(made)
    test = builder.library.graph(attributes["cond"].func.name, facts)
    step = builder.library.graph(body, facts)
    results = ops[attributes.node.op](made, cond=test, body=step)
    for result, fact in zip(results, facts, strict=True):
        if fact is not None:
            builder.known[result._id] = fact
    return {"output": results}


def _refuse(builder, inputs, attributes):
    """Lists that are not known yet go to loops only."""
    if any(isinstance(x, PendingList) for x in inputs):
        raise UnknownOp(
            f"A list of tensors of unknown shape is given to a node of op {attributes.node.op}"
        )
    return None


LIST_TRANSLATIONS = {
    "TensorListReserve": _reserve,
    "TensorListFromTensor": _from_tensor,
    "TensorListSetItem": _set_item,
    "TensorListGetItem": _get_item,
    "TensorListStack": _stack,
    "TensorListLength": _length,
    "TensorListGather": _gather,
    "While": _while,
    "StatelessWhile": _while,
    "If": _refuse,
    "StatelessIf": _refuse,
    "PartitionedCall": _refuse,
    "StatefulPartitionedCall": _refuse,
}
