"""Iterators over datasets, and optional values: `tf.data.Iterator`, `tf.experimental.Optional`."""

from __future__ import annotations

from .. import errors
from .._composite import CompositeTensor
from .._core import ops
from .._dtypes import resource
from .._tracking import Trackable
from . import _structure


class IteratorSpec(_structure.HandleSpec):
    """The spec of an iterator: a function that takes one is traced once for all of a spec."""

    __slots__ = ()
    _handle_dtype = resource

    @property
    def value_type(self) -> type:
        """Iterator."""
        return Iterator


_STATE = "ITERATOR_STATE"


class Iterator(CompositeTensor, Trackable):
    """Makes the elements of a dataset, one after the other.

    A tf.train.Checkpoint that holds it saves where it is, and restores it at the very next element.
    """

    def __init__(self, resource_tensor, element_spec: object) -> None:
        self._handle_tensor = resource_tensor
        self._element_spec = element_spec

    @classmethod
    def _of(cls, dataset) -> Iterator:
        types = _structure.types_and_shapes(dataset.element_spec)
        handle = ops["AnonymousIteratorV3"](**types)
        ops["MakeIterator"](dataset._handle_tensor, handle)
        return cls(handle, dataset.element_spec)

    @property
    def element_spec(self) -> object:
        """The spec of its elements."""
        return self._element_spec

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self._element_spec)

    def get_next(self, name: str | None = None) -> object:
        """The next element; OutOfRangeError at the end."""
        types = _structure.types_and_shapes(self._element_spec)
        tensors = ops["IteratorGetNext"](self._handle_tensor, **types)
        return _structure.from_tensors(self._element_spec, _listed(tensors, types))

    def get_next_as_optional(self) -> Optional:
        """The next element, or an optional without value at the end."""
        types = _structure.types_and_shapes(self._element_spec)
        made = ops["IteratorGetNextAsOptional"](self._handle_tensor, **types)
        return Optional(made, self._element_spec)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> object:
        try:
            return self.get_next()
        except errors.OutOfRangeError:
            raise StopIteration from None

    def next(self) -> object:
        """As `next(iterator)`."""
        return self.__next__()

    def _serialize_to_tensors(self) -> dict:
        return {_STATE: ops["SerializeIterator"](self._handle_tensor)}

    def _restore_from_tensors(self, restored_tensors: dict) -> None:
        if _STATE not in restored_tensors:
            found = ", ".join(sorted(restored_tensors))
            message = f"The checkpoint has {found} for an iterator, and no {_STATE}."
            raise errors.DataLossError(None, None, message)
        ops["DeserializeIterator"](self._handle_tensor, restored_tensors[_STATE])


def _listed(tensors: object, types: dict) -> list:
    """What an op with several results gave, as a list."""
    if len(types["output_types"]) == 1 and not isinstance(tensors, (list, tuple)):
        return [tensors]
    return list(tensors)


def _as_numpy(value: object) -> object:
    """Sparse and ragged tensors say with `_numpy` what they are of numpy's arrays."""
    made = getattr(value, "_numpy", None) or getattr(value, "numpy", None)
    return made() if made else value


class NumpyIterator:
    """Gives elements with numpy's arrays in them."""

    def __init__(self, dataset) -> None:
        self._iterator = iter(dataset)

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> object:
        return _structure._map(_as_numpy, next(self._iterator))

    def next(self) -> object:
        """As `next(iterator)`."""
        return self.__next__()


class OptionalSpec(_structure.HandleSpec):
    """The spec of an optional."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """Optional."""
        return Optional


class Optional(CompositeTensor):
    """A value that may be there (`tf.experimental.Optional`)."""

    def __init__(self, variant_tensor, element_spec: object) -> None:
        self._handle_tensor = variant_tensor
        self._element_spec = element_spec

    @staticmethod
    def empty(element_spec: object) -> Optional:
        """An optional without value."""
        return Optional(ops["OptionalNone"](), element_spec)

    @staticmethod
    def from_value(value: object) -> Optional:
        """An optional that has this value."""
        value = _structure.normalize(value)
        spec = _structure.spec_of(value)
        tensors = _structure.to_tensors(spec, value)
        return Optional(ops["OptionalFromValue"](tensors), spec)

    @property
    def element_spec(self) -> object:
        """The spec of the value."""
        return self._element_spec

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._element_spec)

    def has_value(self, name: str | None = None):
        """Whether there is a value, as a tensor."""
        return ops["OptionalHasValue"](self._handle_tensor, name=name)

    def get_value(self, name: str | None = None) -> object:
        """The value; InvalidArgumentError when there is none."""
        types = _structure.types_and_shapes(self._element_spec)
        tensors = ops["OptionalGetValue"](self._handle_tensor, **types)
        return _structure.from_tensors(self._element_spec, _listed(tensors, types))

    def __repr__(self) -> str:
        return f"tf.experimental.Optional(element_spec={self._element_spec!r})"
