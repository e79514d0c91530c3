"""Elements of datasets: nested values, their specs, and the flat tensors that pipelines carry.

Tuples, named tuples and dicts are structure; a list is data, and becomes a tensor. None is a
leaf without tensors.

A spec of values that are no fixed number of tensors of fixed ranks (sparse and ragged ones) says
itself how pipelines carry them: with `_flat_tensor_specs`, `_to_tensor_list(value)`,
`_from_tensor_list(tensors)`; `_to_batched_tensor_list(value)` gives tensors whose slices along the
first axis are the tensor lists of the value's slices, and `_batch(size)` and `_unbatch()` are the
specs of stacked values and of slices.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import _spec_registry
from .._core import Tensor, convert_to_tensor
from .._dtypes import DType, variant
from .._extension import BatchableExtensionType
from .._shapes import TensorShape
from .._specs import TensorSpec, TypeSpec, type_spec_from_value


@_spec_registry.register("tf.NoneTensorSpec")
class NoneTensorSpec(TypeSpec):
    """The spec of None."""

    @property
    def value_type(self) -> type:
        """The class of None."""
        return type(None)

    def _serialize(self) -> tuple:
        return ()

    @property
    def _component_specs(self) -> list:
        return []

    def _to_components(self, value: object) -> list:
        return []

    def _from_components(self, components: object) -> None:
        return None

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


class HandleSpec(TypeSpec):
    """The spec of a value that is one handle (a dataset, an iterator, an optional) to elements."""

    __slots__ = ("_element_spec",)
    _handle_dtype: DType = variant

    def __init__(self, element_spec: object) -> None:
        self._element_spec = element_spec

    @property
    def element_spec(self) -> object:
        """The spec of the elements."""
        return self._element_spec

    def _serialize(self) -> tuple:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> list:
        return [TensorSpec([], self._handle_dtype)]

    def _to_components(self, value: object) -> list:
        return [value._handle_tensor]

    def _from_components(self, components: list) -> object:
        return self.value_type(components[0], self._element_spec)


def _is_named_tuple(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_structure(value: object) -> bool:
    return isinstance(value, (tuple, Mapping))


def _map(function, value: object) -> object:
    """The structure with each leaf replaced; dicts in the order of their keys."""
    if isinstance(value, Mapping):
        made = {key: _map(function, value[key]) for key in sorted(value)}
        ordered = {key: made[key] for key in value}
        return ordered if type(value) is dict else type(value)(ordered)
    if _is_named_tuple(value):
        return type(value)(*(_map(function, v) for v in value))
    if isinstance(value, tuple):
        return tuple(_map(function, v) for v in value)
    return function(value)


def _leaves(value: object) -> list:
    if isinstance(value, Mapping):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key])]
    if isinstance(value, tuple):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _is_composite(value: object) -> bool:
    return isinstance(getattr(value, "_type_spec", None), TypeSpec) and not isinstance(
        value, Tensor
    )


def normalize(element: object) -> object:
    """The element with tensors (or values made of tensors) as its leaves."""

    def leaf(value: object) -> object:
        if value is None or isinstance(value, (Tensor, TypeSpec)) or _is_composite(value):
            return value
        return convert_to_tensor(value)

    return _map(leaf, element)


def spec_of(element: object) -> object:
    """The spec of a normalized element."""

    def leaf(value: object) -> object:
        if value is None:
            return NoneTensorSpec()
        if isinstance(value, TypeSpec):
            return value
        if isinstance(value, Tensor):
            return TensorSpec(value.shape, value.dtype)
        return type_spec_from_value(value)

    return _map(leaf, element)


def flat_specs(spec: object) -> list[TensorSpec]:
    """The specs of the tensors that an element consists of."""
    found = []
    for leaf in _leaves(spec):
        if isinstance(leaf, TensorSpec):
            found.append(leaf)
        elif hasattr(leaf, "_flat_tensor_specs"):
            found.extend(leaf._flat_tensor_specs)
        else:
            parts = leaf._component_specs
            for part in parts if isinstance(parts, (list, tuple)) else [parts]:
                found.extend(flat_specs(part))
    return found


def to_tensors(spec: object, element: object) -> list[Tensor]:
    """The tensors that an element consists of."""
    found = []
    for leaf, value in zip(_leaves(spec), _leaves(element), strict=True):
        if isinstance(leaf, TensorSpec):
            found.append(value if isinstance(value, Tensor) else convert_to_tensor(value))
        elif hasattr(leaf, "_to_tensor_list"):
            found.extend(leaf._to_tensor_list(value))
        else:
            specs, parts = leaf._component_specs, leaf._to_components(value)
            if not isinstance(specs, (list, tuple)):
                specs, parts = [specs], [parts]
            for inner, part in zip(specs, parts, strict=True):
                found.extend(to_tensors(inner, part))
    return found


def to_slices(spec: object, element: object) -> list[Tensor]:
    """The tensors whose slices along the first axis are those of the element's slices."""
    found = []
    for leaf, value in zip(_leaves(spec), _leaves(element), strict=True):
        made = getattr(leaf, "_to_batched_tensor_list", None)
        found.extend(made(value) if made else to_tensors(leaf, value))
    return found


def is_sliced_otherwise(spec: object) -> bool:
    """Whether an element has other tensors for its slices than for itself."""
    return any(hasattr(leaf, "_to_batched_tensor_list") for leaf in _leaves(spec))


def from_tensors(spec: object, tensors: list) -> object:
    """The element that consists of these tensors."""
    rest = iter(tensors)

    def leaf(kind: TypeSpec) -> object:
        if isinstance(kind, TensorSpec):
            tensor = next(rest)
            if not kind.shape.is_fully_defined() or tensor.shape.is_fully_defined():
                return tensor
            tensor.set_shape(kind.shape)
            return tensor
        if hasattr(kind, "_from_tensor_list"):
            return kind._from_tensor_list([next(rest) for _ in kind._flat_tensor_specs])
        specs = kind._component_specs
        if isinstance(specs, (list, tuple)):
            return kind._from_components([leaf(s) for s in specs])
        return kind._from_components(_map(leaf, specs))

    return _map(leaf, spec)


def types_and_shapes(spec: object) -> dict:
    """The attributes `output_types` and `output_shapes` of a dataset op."""
    flat = flat_specs(spec)
    return {"output_types": [s.dtype for s in flat], "output_shapes": [s.shape for s in flat]}


def map_specs(function, spec: object) -> object:
    """The structure of specs with each one replaced."""
    return _map(function, spec)


def _is_batchable(kind: TypeSpec) -> bool:
    """Whether values are joined and taken apart tensor by tensor, as their type says."""
    if isinstance(kind, TensorSpec):
        return True
    if not isinstance(getattr(kind, "value_type", None), type):
        return False
    if not issubclass(kind.value_type, BatchableExtensionType):
        return False
    parts = kind._component_specs
    leaves = parts if isinstance(parts, (list, tuple)) else [parts]
    return all(_is_batchable(leaf) for part in leaves for leaf in _leaves(part))


def batched(spec: object, size: int | None) -> object:
    """The spec of elements that are stacked."""
    def leaf(kind: TypeSpec) -> TypeSpec:
        if isinstance(kind, TensorSpec):
            return TensorSpec(TensorShape([size]).concatenate(kind.shape), kind.dtype)
        if isinstance(kind, NoneTensorSpec):
            return kind
        if hasattr(kind, "_flat_tensor_specs") or _is_batchable(kind):
            return kind._batch(size)
        raise TypeError(f"Batching of values of spec {kind} is not supported.")

    return _map(leaf, spec)


def unbatched(spec: object) -> object:
    """The spec of slices along the first axis."""

    def leaf(kind: TypeSpec) -> TypeSpec:
        if isinstance(kind, TensorSpec):
            if kind.shape.rank == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            return TensorSpec(kind.shape[1:] if kind.shape.rank else None, kind.dtype)
        if isinstance(kind, NoneTensorSpec):
            return kind
        if hasattr(kind, "_flat_tensor_specs") or _is_batchable(kind):
            return kind._unbatch()
        raise TypeError(f"Slices of values of spec {kind} are not supported.")

    return _map(leaf, spec)


def determinism(deterministic: bool | None) -> str:
    """The attribute that says whether elements keep their order."""
    return "default" if deterministic is None else "true" if deterministic else "false"


def joined(a: object, b: object) -> object:
    """The spec that covers elements of both."""
    ours, theirs = _leaves(a), _leaves(b)
    if len(ours) != len(theirs):
        raise TypeError(f"Incompatible types of input datasets: {a} vs. {b}.")
    merged = []
    for x, y in zip(ours, theirs, strict=True):
        common = x.most_specific_common_supertype([y])
        if common is None:
            raise TypeError(f"Incompatible types of input datasets: {a} vs. {b}.")
        merged.append(common)
    rest = iter(merged)
    return _map(lambda _: next(rest), a)


def same_structure(a: object, b: object) -> bool:
    """Whether two structures have their leaves in the same places."""
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return (
            isinstance(a, Mapping)
            and isinstance(b, Mapping)
            and set(a) == set(b)
            and all(same_structure(a[key], b[key]) for key in a)
        )
    if isinstance(a, tuple) or isinstance(b, tuple):
        return (
            isinstance(a, tuple)
            and isinstance(b, tuple)
            and len(a) == len(b)
            and all(same_structure(x, y) for x, y in zip(a, b, strict=True))
        )
    return True


def map_tensors(function, element: object) -> object:
    """The element with each tensor in it replaced."""
    spec = spec_of(normalize(element))
    return from_tensors(spec, [function(t) for t in to_tensors(spec, element)])
