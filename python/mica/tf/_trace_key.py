"""What tells the traces of a function apart, and keys that cover others when shapes may vary."""

from __future__ import annotations

import weakref

import numpy

from .. import _mica
from . import _dtypes, nest
from ._core import Tensor, convert_to_tensor
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec
from ._variable import Variable


class _ByIdentity:
    """A key for an object that is compared by identity, and does not keep it alive."""

    __slots__ = ("_number", "_reference")

    def __init__(self, value) -> None:
        self._number = id(value)
        try:
            self._reference = weakref.ref(value)
        except TypeError:
            self._reference = lambda: value

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, _ByIdentity)
            and self._number == other._number
            and self._reference() is not None
            and self._reference() is other._reference()
        )

    def __hash__(self) -> int:
        return self._number


def key_of(value, tensors: list):
    """Return what tells traces apart for a value; appends the tensors found in it."""
    kind = type(value)
    if kind is _mica.TFEagerTensor or kind is _mica.TFSymbolicTensor:
        tensors.append(value)
        return value.dtype, value.shape
    if kind in (int, float, bool, str, bytes, complex) or value is None:
        return "literal", value  # True is 1 and 1.0 here, as it is for TensorFlow
    if isinstance(value, Variable):
        tensors.append(value._handle)
        return "variable", value._dtype, value._shape, value._trainable
    if isinstance(value, list | tuple):
        return kind, tuple([key_of(item, tensors) for item in value])
    if isinstance(value, dict):
        return kind, tuple([(k, key_of(value[k], tensors)) for k in sorted(value)])
    return _other_key(value, tensors)


def _other_key(value, tensors: list):
    if isinstance(value, numpy.ndarray | numpy.generic) and value.dtype.kind not in "OV":
        tensor = convert_to_tensor(value)
        tensors.append(tensor)
        return tensor.dtype, tensor.shape
    if nest.is_nested(value):
        flat = nest.flatten(value)
        if not (len(flat) == 1 and flat[0] is value):
            return type(value), tuple([key_of(item, tensors) for item in flat])
    spec = getattr(value, "_type_spec", None)
    if isinstance(spec, TypeSpec):
        parts = nest.flatten(value, expand_composites=True)
        keys = tuple([key_of(item, tensors) for item in parts])
        # How many elements a sparse or ragged tensor has makes no other trace.
        return (spec, ()) if hasattr(spec, "_flat_tensor_specs") else (spec, keys)
    try:
        hash(value)
    except TypeError:
        return _ByIdentity(value)
    if isinstance(value, TensorShape | _dtypes.DType | type):
        return type(value), value
    return _ByIdentity(value) if _has_identity_only(value) else (type(value), value)


def _has_identity_only(value) -> bool:
    return type(value).__eq__ is object.__eq__


def spec_key(value, tensors: list):
    """As key_of; TensorSpecs may stand for tensors."""
    if isinstance(value, TensorSpec):
        return value.dtype, value.shape
    if isinstance(value, list | tuple):
        return type(value), tuple([spec_key(item, tensors) for item in value])
    if isinstance(value, dict):
        return type(value), tuple([(k, spec_key(value[k], tensors)) for k in sorted(value)])
    return key_of(value, tensors)


# ---- relaxing shapes ---------------------------------------------------------------------------


def _is_tensor_key(key) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], TensorShape)


def key_covers(general, special) -> bool:
    """Whether a trace for one key serves calls of another."""
    if _is_tensor_key(general) and _is_tensor_key(special):
        return general[0] == special[0] and special[1].is_subtype_of(general[1])
    if isinstance(general, tuple) and isinstance(special, tuple):
        return len(general) == len(special) and all(
            key_covers(g, s) for g, s in zip(general, special, strict=True)
        )
    return general == special


def join_keys(a, b):
    """Return the key that covers both, with unknown sizes where they differ, or None."""
    if _is_tensor_key(a) and _is_tensor_key(b):
        if a[0] != b[0]:
            return None
        return a[0], a[1].most_specific_compatible_shape(b[1])
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            return None
        parts = [join_keys(x, y) for x, y in zip(a, b, strict=True)]
        return (
            None
            if any(p is None and x is not None for p, x in zip(parts, a, strict=True))
            else tuple(parts)
        )
    return a if a == b else None


def with_shapes(key, args, kwargs):
    """Return the arguments with the shapes of a key."""
    shapes = iter(_tensor_keys(key[1:]))

    def one(value):
        if isinstance(value, Tensor | TensorSpec) or hasattr(value, "__array__"):
            if isinstance(value, Variable):
                return value
            dtype, shape = next(shapes)
            return TensorSpec(shape, dtype)
        return value

    return [nest.map_structure(one, a) for a in args], {
        k: nest.map_structure(one, v) for k, v in kwargs.items()
    }


def _tensor_keys(key) -> list:
    if _is_tensor_key(key):
        return [key]
    if isinstance(key, tuple):
        return [found for part in key for found in _tensor_keys(part)]
    return []
