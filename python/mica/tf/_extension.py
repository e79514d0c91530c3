"""tf.experimental.ExtensionType: classes of one's own with tensors in their fields.

A subclass says its fields with annotations. Its values are immutable, pass through tf.function,
tf.cond, tf.while_loop and tf.nest, and have a spec (`Vector.Spec`).
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping

from . import _nest as nest
from . import _spec_registry
from ._composite import CompositeTensor
from ._core import Tensor, convert_to_tensor, ops
from ._specs import TensorSpec, TypeSpec

_RESERVED = ("Spec", "_type_spec")
_NO_DEFAULT = inspect.Parameter.empty


class ExtensionTypeSpec(TypeSpec):
    """The spec of an ExtensionType: specs of the tensors in its fields, and the other fields."""

    _value_class: type | None = None

    def __init__(self, *values: object, **fields: object) -> None:
        names = [name for name, _, _ in self._value_class._fields()]
        self._parts = {**dict(zip(names, values, strict=False)), **fields}

    def __getattr__(self, name: str) -> object:
        parts = self.__dict__.get("_parts", {})
        if name in parts:
            return parts[name]
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    @property
    def value_type(self) -> type:
        """The ExtensionType."""
        return self._value_class

    def _serialize(self) -> tuple:
        return tuple(self._parts.items())

    @classmethod
    def _deserialize(cls, serialization: tuple) -> ExtensionTypeSpec:
        return cls(**dict(serialization))

    @property
    def _component_specs(self) -> dict:
        return {name: part for name, part in self._parts.items() if _is_spec_structure(part)}

    def _to_components(self, value: ExtensionType) -> dict:
        return {name: getattr(value, name) for name in self._component_specs}

    def _from_components(self, components: dict) -> ExtensionType:
        return self._value_class._of({**self._parts, **components})

    def _batch(self, batch_size):
        return self._with(lambda spec: spec._batch(batch_size))

    def _unbatch(self):
        return self._with(lambda spec: spec._unbatch())

    def _with(self, function) -> ExtensionTypeSpec:
        parts = {
            name: nest.map_structure(function, part) if _is_spec_structure(part) else part
            for name, part in self._parts.items()
        }
        return type(self)(**parts)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={part!r}" for name, part in self._parts.items())
        return f"{self._value_class.__qualname__}.Spec({inside})"


def _is_spec_structure(part: object) -> bool:
    flat = nest.flatten(part)
    return bool(flat) and all(isinstance(leaf, TypeSpec) for leaf in flat)


def _spec_of(value: object) -> object:
    def one(leaf: object) -> object:
        if isinstance(leaf, Tensor):
            return TensorSpec(leaf.shape, leaf.dtype)
        spec = getattr(leaf, "_type_spec", None)
        return spec if isinstance(spec, TypeSpec) else leaf

    return nest.map_structure(one, value) if nest.is_nested(value) else one(value)


class ExtensionType(CompositeTensor):
    """A base for immutable classes with tensors in their fields.

    Examples
    --------
    >>> import mica.tf as tf
    >>> class Vector(tf.experimental.ExtensionType):
    ...     x: tf.Tensor
    ...     tag: str = "t"
    >>> Vector([3.0, 4.0]).tag
    't'
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for name in vars(cls).get("__annotations__", {}):
            if name in _RESERVED:
                raise ValueError(f"The field annotation {name!r} is reserved.")
        cls.Spec = type("Spec", (ExtensionTypeSpec,), {"_value_class": cls})
        if "__name__" in vars(cls):
            _spec_registry.register(f"{vars(cls)['__name__']}.Spec")(cls.Spec)
        own = vars(cls).get("__init__")
        if own is None:
            cls.__init__ = _made_constructor(cls)
        elif not hasattr(own, "ag_finishes"):
            cls.__init__ = _finishing(own)

    @classmethod
    def _fields(cls) -> list[tuple[str, object, object]]:
        """Names, annotations and defaults."""
        found: dict[str, object] = {}
        for part in reversed(cls.__mro__):
            if part is not ExtensionType and issubclass(part, ExtensionType):
                found.update(vars(part).get("__annotations__", {}))
        try:
            hints = typing.get_type_hints(cls)
        except (NameError, TypeError):
            hints = {}
        return [
            (name, hints.get(name, kind), getattr(cls, name, _NO_DEFAULT))
            for name, kind in found.items()
        ]

    @classmethod
    def _of(cls, values: dict) -> ExtensionType:
        """A value of checked fields."""
        self = object.__new__(cls)
        self.__dict__.update(values)
        self.__dict__["_frozen"] = True
        return self

    def __validate__(self) -> None:
        """Check a new value; subclasses raise here."""

    @property
    def _type_spec(self) -> ExtensionTypeSpec:
        names = [name for name, _, _ in self._fields()]
        return self.Spec(**{name: _spec_of(getattr(self, name)) for name in names})

    def __setattr__(self, name: str, value: object) -> None:
        if self.__dict__.get("_frozen"):
            raise AttributeError(
                f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType."
            )
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType."
        )

    def __eq__(self, other: object) -> object:
        if type(self) is not type(other):
            return False
        found = convert_to_tensor(True)
        for name, _, _ in self._fields():
            a, b = nest.flatten(getattr(self, name)), nest.flatten(getattr(other, name))
            if len(a) != len(b):
                return convert_to_tensor(False)
            for x, y in zip(a, b, strict=True):
                if isinstance(x, Tensor) and isinstance(y, Tensor):
                    if x.dtype != y.dtype or not x.shape.is_compatible_with(y.shape):
                        return convert_to_tensor(False)
                    same = ops["Equal"](x, y)
                    rank = same.shape.rank or 0
                    same = ops["All"](same, convert_to_tensor(list(range(rank)), "int32"))
                else:
                    same = convert_to_tensor(bool(x == y))
                found = ops["LogicalAnd"](found, same)
        return found

    def __ne__(self, other: object) -> object:
        equal = self.__eq__(other)
        return not equal if isinstance(equal, bool) else ops["LogicalNot"](equal)

    __hash__ = None

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name, _, _ in self._fields())
        return f"{type(self).__qualname__}({inside})"


def _made_constructor(cls: type):
    def __init__(self, *args: object, **kwargs: object) -> None:
        fields = type(self)._fields()
        names = [name for name, _, _ in fields]
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__} takes {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"got an unexpected keyword argument {name!r}")
            if name in given:
                raise TypeError(f"multiple values for argument {name!r}")
            given[name] = value
        for name, _, default in fields:
            if name not in given:
                if default is _NO_DEFAULT:
                    raise TypeError(f"missing a required argument: {name!r}")
                given[name] = default
        self.__dict__.update(given)
        _finish(self)

    __init__.ag_finishes = True
    return __init__


def _finishing(own):
    def __init__(self, *args: object, **kwargs: object) -> None:
        own(self, *args, **kwargs)
        # The constructor of a subclass that calls this one goes on.
        if type(self).__init__ is __init__:
            _finish(self)

    __init__.__doc__ = own.__doc__
    __init__.ag_finishes = True
    return __init__


def _finish(self: ExtensionType) -> None:
    """Bring the fields to their types, check the value, and close it."""
    for name, kind, _ in self._fields():
        if name not in self.__dict__:
            raise TypeError(f"missing a value for the field {name!r}")
        self.__dict__[name] = _converted(name, kind, self.__dict__[name])
    self.__dict__["_frozen"] = True
    self.__validate__()


def _converted(name: str, kind: object, value: object) -> object:
    if isinstance(kind, str):
        kind = Tensor if kind.endswith("Tensor") else object
    if kind is Tensor or isinstance(kind, TensorSpec):
        if isinstance(value, (Tensor, TypeSpec)):
            return value
        try:
            return convert_to_tensor(
                value, getattr(kind, "dtype", None) if kind is not Tensor else None
            )
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name}: expected a Tensor, got {value!r}") from error
    origin = typing.get_origin(kind)
    if origin in (tuple, list):
        inner = typing.get_args(kind)
        kinds = inner[:1] * len(value) if len(inner) == 2 and inner[1] is Ellipsis else inner
        return tuple(_converted(name, k, v) for k, v in zip(kinds, value, strict=True))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        inner = typing.get_args(kind)[1]
        return {key: _converted(name, inner, part) for key, part in value.items()}
    if isinstance(kind, type) and kind is not object and origin is None:
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return value
        if not isinstance(value, (kind, TypeSpec)):
            raise TypeError(
                f"{name}: expected a value of type {kind.__name__!r}, got {value!r} of type "
                f"{type(value).__name__!r}"
            )
    return value


class BatchableExtensionType(ExtensionType):
    """An ExtensionType whose fields have a common first axis that can be taken apart."""


class ExtensionTypeBatchEncoder:
    """Says how values are joined and taken apart: field by field."""

    def batch(self, spec: ExtensionTypeSpec, batch_size):
        """The spec of values joined along a new first axis."""
        return spec._batch(batch_size)

    def unbatch(self, spec: ExtensionTypeSpec):
        """The spec of one of the joined values."""
        return spec._unbatch()
