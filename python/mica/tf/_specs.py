"""`tf.TypeSpec` and `tf.TensorSpec`: what is known of a value before it is there.

A spec says what a tensor, or a value made of tensors, will look like. Values of composite types
(variables, ragged and sparse tensors, datasets) get their specs through `register_type_spec`, or by
having a property `_type_spec`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np

from .. import _mica
from . import _spec_registry
from ._core import Tensor, convert_to_tensor
from ._dtypes import DType, as_dtype, float32
from ._shapes import TensorShape, as_shape

# Class of values -> function that gives the spec of one.
_SPEC_OF: dict[type, Callable] = {}


def register_type_spec(value_type: type, function: Callable) -> None:
    """Let `tf.type_spec_from_value` use the function for values of that class."""
    _SPEC_OF[value_type] = function


def _registered_spec(value: object) -> TypeSpec | None:
    for kind in type(value).__mro__:
        function = _SPEC_OF.get(kind)
        if function is not None:
            return function(value)
    if isinstance(value, _mica.TFTensor):
        return TensorSpec(value.shape, value.dtype)
    spec = getattr(value, "_type_spec", None)
    return spec if isinstance(spec, TypeSpec) else None


def type_spec_from_value(value: object) -> TypeSpec:
    """The spec of a value: of a tensor or of anything that stands for one.

    Raises
    ------
    TypeError
        If nothing of that type can become a tensor.
    """
    spec = _registered_spec(value)
    if spec is not None:
        return spec
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorSpec(value.shape, value.dtype)
    if isinstance(value, (bool, int, float, complex, str, bytes, list, tuple)):
        try:
            return type_spec_from_value(convert_to_tensor(value))
        except (TypeError, ValueError):
            pass
    raise TypeError(f"Could not build a TypeSpec for {value!r} of unsupported type {type(value)}.")


class TraceType:
    """What a tf.function tells its arguments apart by (`tf.types.experimental.TraceType`)."""

    __slots__ = ()

    def is_subtype_of(self, other: TraceType) -> bool:
        """Whether a function traced for the other can be called with this."""
        raise NotImplementedError

    def most_specific_common_supertype(self, others: Iterable[TraceType]) -> TraceType | None:
        """The most specific type that covers all of them."""
        raise NotImplementedError

    def placeholder_value(self, placeholder_context: object = None) -> object:
        """The value that the function sees while it is traced."""
        raise NotImplementedError


class TypeSpec(TraceType):
    """What is known of a value that is made of tensors.

    A class of specs says with `_serialize` what tells two specs apart, with `_component_specs` what
    the tensors inside look like, and with `_to_components` and `_from_components` how to take a
    value apart and to make it again.
    """

    @property
    def value_type(self) -> type:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple:
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    @classmethod
    def _deserialize(cls, serialization: tuple) -> TypeSpec:
        return cls(*serialization)

    @property
    def _component_specs(self) -> object:
        raise NotImplementedError(f"{type(self).__name__}._component_specs")

    def _to_components(self, value: object) -> object:
        raise NotImplementedError(f"{type(self).__name__}._to_components")

    def _from_components(self, components: object) -> object:
        raise NotImplementedError(f"{type(self).__name__}._from_components")

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether the value, or values of that spec, could be what this spec says."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = _registered_spec(other)
            if other is None:
                return False
        return type(self) is type(other) and _compatible(self._serialize(), other._serialize())

    def is_subtype_of(self, other: object) -> bool:
        """Whether all values of this spec are values of the other."""
        return type(self) is type(other) and _subtype(self._serialize(), other._serialize())

    def most_specific_common_supertype(self, others: Iterable[TypeSpec]) -> TypeSpec | None:
        """The most specific spec that covers this one and the others, or None."""
        found = self
        for other in others:
            if type(found) is not type(other):
                return None
            merged = _supertype(found._serialize(), other._serialize())
            if merged is _NO_MERGE:
                return None
            found = self._deserialize(merged)
        return found

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """As `most_specific_common_supertype` of one other; ValueError where there is none."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    def _without_tensor_names(self) -> TypeSpec:
        def strip(part: object) -> object:
            if isinstance(part, TensorSpec):
                return type(part)(part.shape, part.dtype)
            if isinstance(part, TypeSpec):
                return part._without_tensor_names()
            if isinstance(part, (tuple, list)):
                return type(part)(strip(x) for x in part)
            if isinstance(part, dict):
                return {key: strip(x) for key, x in part.items()}
            return part

        return self._deserialize(strip(self._serialize()))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _key(self._serialize()) == _key(other._serialize())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), _key(self._serialize())))

    def __reduce__(self):
        return _remake, (type(self), self._serialize())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


def _remake(kind: type[TypeSpec], serialization: tuple) -> TypeSpec:
    return kind._deserialize(serialization)


_NO_MERGE = object()


def _key(part: object) -> object:
    """A hashable stand-in that is equal exactly when the parts are."""
    if isinstance(part, (tuple, list)):
        return (type(part), *(_key(x) for x in part))
    if isinstance(part, dict):
        return (dict, *((key, _key(part[key])) for key in sorted(part, key=repr)))
    if isinstance(part, np.ndarray):
        return (np.ndarray, part.shape, tuple(part.ravel().tolist()))
    return part


def _pairs(a: object, b: object):
    if type(a) is not type(b) or len(a) != len(b):
        return None
    if isinstance(a, dict):
        return [(a[key], b[key]) for key in a] if a.keys() == b.keys() else None
    return list(zip(a, b, strict=True))


def _compatible(a: object, b: object) -> bool:
    if isinstance(a, (tuple, list, dict)):
        pairs = _pairs(a, b)
        return pairs is not None and all(_compatible(x, y) for x, y in pairs)
    if isinstance(a, (TensorShape, TypeSpec, DType)) and type(a) is type(b):
        return a.is_compatible_with(b)
    return _key(a) == _key(b)


def _subtype(a: object, b: object) -> bool:
    if isinstance(a, (tuple, list, dict)):
        pairs = _pairs(a, b)
        return pairs is not None and all(_subtype(x, y) for x, y in pairs)
    if isinstance(a, (TensorShape, TypeSpec, DType)):
        return a.is_subtype_of(b)
    return _key(a) == _key(b)


def _supertype(a: object, b: object) -> object:
    if isinstance(a, (tuple, list, dict)):
        pairs = _pairs(a, b)
        if pairs is None:
            return _NO_MERGE
        merged = [_supertype(x, y) for x, y in pairs]
        if any(part is _NO_MERGE for part in merged):
            return _NO_MERGE
        return dict(zip(a, merged, strict=True)) if isinstance(a, dict) else type(a)(merged)
    if isinstance(a, (TensorShape, TypeSpec, DType)) and type(a) is type(b):
        found = a.most_specific_common_supertype([b])
        return _NO_MERGE if found is None else found
    return a if _key(a) == _key(b) else _NO_MERGE


class DenseSpec(TypeSpec):
    """The common part of the specs of tensors: shape, dtype and name."""

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: object, dtype: object = float32, name: str | None = None) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name that a placeholder made from this gets."""
        return self._name

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, self._name

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and self._shape == other._shape
            and self._dtype == other._dtype
            and self._name == other._name
        )

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(shape={self._shape}, dtype={self._dtype!r}, "
            f"name={self._name!r})"
        )


@_spec_registry.register("tf.TensorSpec")
class TensorSpec(DenseSpec):
    """The shape, dtype and name of a tensor that is not there yet.

    Examples
    --------
    >>> TensorSpec([None, 3], "float32")
    TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    __slots__ = ()

    @classmethod
    def from_spec(cls, spec: TypeSpec, name: str | None = None) -> TensorSpec:
        """A spec like another one, perhaps with another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: object, name: str | None = None) -> TensorSpec:
        """The spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @property
    def value_type(self) -> type:
        """The class `tf.Tensor`."""
        return Tensor

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value: object) -> object:
        assert isinstance(value, self.value_type)
        return value

    def _from_components(self, components: object) -> object:
        return components

    def is_compatible_with(self, spec_or_tensor: object) -> bool:
        """Whether the tensor, or tensors of that spec, could be what this spec says."""
        other = spec_or_tensor
        if not isinstance(other, DenseSpec):
            other = _registered_spec(other)
            if not isinstance(other, DenseSpec):
                return False
        return self._dtype.is_compatible_with(other._dtype) and self._shape.is_compatible_with(
            other._shape
        )

    def is_subtype_of(self, other: object) -> bool:
        """Whether all tensors of this spec are tensors of the other."""
        return (
            type(other) is type(self)
            and (self._name is None or self._name == other._name)
            and self._shape.is_subtype_of(other._shape)
            and self._dtype == other._dtype
        )

    def most_specific_common_supertype(self, others: Iterable[TypeSpec]) -> TensorSpec | None:
        """The most specific spec that covers this one and the others, or None."""
        others = list(others)
        if any(
            type(other) is not type(self)
            or other._dtype != self._dtype
            or other._name != self._name
            for other in others
        ):
            return None
        shape = functools.reduce(
            TensorShape.most_specific_compatible_shape, [o._shape for o in others], self._shape
        )
        return type(self)(shape, self._dtype, self._name)

    def _batch(self, batch_size: int | None) -> TensorSpec:
        return TensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> TensorSpec:
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self._shape[1:], self._dtype)


@_spec_registry.register("tf.BoundedTensorSpec")
class BoundedTensorSpec(TensorSpec):
    """A `TensorSpec` with the smallest and the largest value of the elements."""

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self, shape: object, dtype: object, minimum: object, maximum: object, name=None
    ) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError("`minimum` and `maximum` can not be None.")
        kind = self._dtype.as_numpy_dtype
        self._minimum = np.array(minimum, dtype=kind)
        self._maximum = np.array(maximum, dtype=kind)
        for bound in (self._minimum, self._maximum):
            bound.setflags(write=False)

    @classmethod
    def from_spec(cls, spec: TypeSpec, name: str | None = None) -> BoundedTensorSpec:
        """A spec like another one; without bounds of its own, it gets those of the dtype."""
        low = getattr(spec, "minimum", spec.dtype.min)
        high = getattr(spec, "maximum", spec.dtype.max)
        return cls(spec.shape, spec.dtype, low, high, name or spec.name)

    @property
    def minimum(self) -> np.ndarray:
        """The smallest value."""
        return self._minimum

    @property
    def maximum(self) -> np.ndarray:
        """The largest value."""
        return self._maximum

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, self._minimum, self._maximum, self._name

    def __eq__(self, other: object) -> bool:
        return (
            DenseSpec.__eq__(self, other)
            and np.allclose(self._minimum, other._minimum)
            and np.allclose(self._maximum, other._maximum)
        )

    def __hash__(self) -> int:
        return DenseSpec.__hash__(self)

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )
