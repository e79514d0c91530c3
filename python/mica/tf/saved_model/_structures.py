"""Structures of Python values as messages, and back: arguments and results of functions."""

from __future__ import annotations

import collections

import numpy as np

from .. import _dtypes
from .._core import Tensor
from .._graph_def import TensorShapeProto, shape_proto
from .._shapes import TensorShape
from .._slices import IndexedSlicesSpec
from .._specs import TensorSpec, TypeSpec
from .._variable_updates import VariableSpec
from ..ragged import RaggedTensorSpec
from ..sparse import SparseTensorSpec
from ._messages import (
    DictValue,
    NamedTupleValue,
    NoneValue,
    PairValue,
    SequenceValue,
    StructuredValue,
    TensorSpecProto,
    TypeSpecProto,
)
from ._tensors import tensor_of, tensor_proto

# ---- shapes --------------------------------------------------------------------------------------


def shape_message(shape: TensorShape) -> TensorShapeProto:
    """Return a shape as a message."""
    return shape_proto(None if shape.rank is None else shape.as_list())


def shape_of(message: TensorShapeProto) -> TensorShape:
    """Return the shape that a message says."""
    if message.unknown_rank:
        return TensorShape(None)
    return TensorShape([None if d.size < 0 else d.size for d in message.dim])


# ---- specs of composite values -------------------------------------------------------------------


def _spec_classes() -> dict:
    return {1: SparseTensorSpec, 2: IndexedSlicesSpec, 3: RaggedTensorSpec, 9: VariableSpec}


def _encode_spec(spec: TypeSpec) -> StructuredValue:
    for number, kind in _spec_classes().items():
        if type(spec) is kind:
            return StructuredValue(
                type_spec_value=TypeSpecProto(
                    type_spec_class=number,
                    type_state=encode(spec._serialize()),
                    type_spec_class_name=kind.__name__,
                )
            )
    raise NotImplementedError(f"No encoder for object {spec!r} of type {type(spec)}.")


def _decode_spec(message: TypeSpecProto) -> TypeSpec:
    kind = _spec_classes().get(message.type_spec_class)
    if kind is None:
        raise ValueError(
            f"The type '{message.type_spec_class_name}' has not been registered. It must be "
            "registered before you load this object."
        )
    return kind._deserialize(decode(message.type_state))


# ---- structures ----------------------------------------------------------------------------------


def encode(value) -> StructuredValue:
    """Return a structure as a message; a tensor that is a result becomes a spec."""
    if value is None:
        return StructuredValue(none_value=NoneValue())
    if isinstance(value, bool | np.bool_):
        return StructuredValue(bool_value=bool(value))
    if isinstance(value, int | np.integer):
        return StructuredValue(int64_value=int(value))
    if isinstance(value, float | np.floating):
        return StructuredValue(float64_value=float(value))
    if isinstance(value, str):
        return StructuredValue(string_value=value)
    if isinstance(value, bytes):
        return StructuredValue(string_value=value.decode("utf-8", "surrogateescape"))
    if isinstance(value, TensorShape):
        return StructuredValue(tensor_shape_value=shape_message(value))
    if isinstance(value, _dtypes.DType):
        return StructuredValue(tensor_dtype_value=value.as_datatype_enum)
    if isinstance(value, TensorSpec):
        return StructuredValue(
            tensor_spec_value=TensorSpecProto(
                name=value.name or "",
                shape=shape_message(value.shape),
                dtype=value.dtype.as_datatype_enum,
            )
        )
    if isinstance(value, TypeSpec):
        return _encode_spec(value)
    if isinstance(value, Tensor):
        return StructuredValue(tensor_value=tensor_proto(value))
    if isinstance(value, np.ndarray):
        return StructuredValue(numpy_value=tensor_proto(value))
    return _encode_collection(value)


def _encode_collection(value) -> StructuredValue:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        pairs = [PairValue(key=k, value=encode(getattr(value, k))) for k in value._fields]
        named = NamedTupleValue(name=type(value).__name__, values=pairs)
        return StructuredValue(named_tuple_value=named)
    if isinstance(value, tuple):
        return StructuredValue(tuple_value=SequenceValue(values=map(encode, value)))
    if isinstance(value, list):
        return StructuredValue(list_value=SequenceValue(values=map(encode, value)))
    if isinstance(value, collections.abc.Mapping):
        for key in value:
            if not isinstance(key, str):
                raise NotImplementedError(f"Keys of dictionaries must be strings, not {key!r}.")
        fields = {k: encode(v) for k, v in value.items()}
        return StructuredValue(dict_value=DictValue(fields=fields))
    raise NotImplementedError(f"No encoder for object {value!r} of type {type(value)}.")


def decode(message: StructuredValue):
    """Return the structure that a message says."""
    kind = message.WhichOneof()
    if kind is None or kind == "none_value":
        return None
    value = getattr(message, kind)
    if kind in ("float64_value", "int64_value", "string_value", "bool_value"):
        return value
    if kind == "tensor_shape_value":
        return shape_of(value)
    if kind == "tensor_dtype_value":
        return _dtypes.as_dtype(value)
    if kind == "tensor_spec_value":
        name = value.name or None
        return TensorSpec(shape_of(value.shape), _dtypes.as_dtype(value.dtype), name)
    if kind == "type_spec_value":
        return _decode_spec(value)
    if kind == "list_value":
        return [decode(item) for item in value.values]
    if kind == "tuple_value":
        return tuple(decode(item) for item in value.values)
    if kind == "dict_value":
        return {key: decode(value.fields[key]) for key in sorted(value.fields)}
    if kind == "named_tuple_value":
        made = collections.namedtuple(value.name, [pair.key for pair in value.values])
        return made(*(decode(pair.value) for pair in value.values))
    tensor = tensor_of(value)
    return tensor.numpy() if kind == "numpy_value" else tensor
