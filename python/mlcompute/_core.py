"""What all classes share: handles of the library's objects, enumerations, properties."""

from __future__ import annotations

import enum
import inspect
import weakref
from typing import TYPE_CHECKING

from . import _mlcompute as _c

if TYPE_CHECKING:
    from typing_extensions import Self

#: The objects that stand for something in the library, by address: one each.
_alive: weakref.WeakValueDictionary[int, Base] = weakref.WeakValueDictionary()
_classes: dict[str, type] = {}
_structs: dict[str, type] = {}


class Base:
    """An object of the library."""

    _handle = None
    _owner = None

    def _adopt(self, handle, owner=None):
        self._handle = handle
        self._owner = owner
        _alive[handle.address] = self
        return self

    @classmethod
    def _of(cls, handle, owner=None):
        """The object of this class that a handle is of."""
        return cls.__new__(cls)._adopt(handle, owner)


def public(cls):
    """Marks a class whose name handles and fields refer to, and gives its constructor help."""
    _classes[cls.__name__] = cls
    make = vars(cls).get("__init__")
    if make is not None and not make.__doc__:
        texts = [cls.__doc__, *(getattr(_c, name).__doc__ for name in _calls_of(make))]
        kept = dict.fromkeys(text for text in texts if text)
        make.__doc__ = "\n\n".join([f"Make one: {cls.__name__}{_parameters(make)}", *kept])
    return cls


def _calls_of(function):
    """The functions of the library that a constructor calls."""
    return [name for name in function.__code__.co_names if name.startswith("mlc_")]


def _parameters(function):
    parameters = list(inspect.signature(function).parameters.values())[1:]
    plain = [p.replace(annotation=p.empty) for p in parameters]
    return str(inspect.Signature(plain))


def wrap(value, owner=None):
    """What C gave, as Python's classes: handles, lists of them, descriptors."""
    if isinstance(value, _c.Handle):
        known = _alive.get(value.address)
        if known is not None:
            return known
        return _classes[_class_name(value)]._of(value, owner)
    if isinstance(value, list):
        return [wrap(item, owner) for item in value]
    if isinstance(value, dict) and "_struct" in value:
        return _structs[value["_struct"]]._from(value)
    return value


def _class_name(handle):
    if handle.kind == "layer":
        return _LAYERS[_c.mlc_layer_kind_of(handle)]
    if handle.kind == "optimizer":
        return _OPTIMIZERS[_c.mlc_optimizer_kind_of(handle)]
    if handle.kind == "optimizer_device_data":
        return "tensor_optimizer_device_data"
    return handle.kind


class Descriptor:
    """Plain values that a layer or an optimizer is made with; it copies them."""

    _fields: dict
    _owner = None

    @classmethod
    def _from(cls, fields):
        self = cls.__new__(cls)
        self._fields = fields
        return self

    def copy(self) -> Self:
        """Return another descriptor with the same values."""
        return self._from(dict(self._fields))

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memory):
        return self.copy()

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self._fields == other._fields

    __hash__ = None

    def __repr__(self):
        names = (name for name in self._fields if not name.startswith("_"))
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"


def struct(name):
    """Mark the class of a descriptor."""

    def decorate(cls):
        _structs[name] = public(cls)
        return cls

    return decorate


# ---- enumerations --------------------------------------------------------------------------------


def _make_enum(name, original, values, are_flags):
    kind = enum.IntFlag if are_flags else enum.IntEnum
    made = kind(name, values, module="mlcompute")
    made.__doc__ = f"{original}: " + ", ".join(f"{k} {v}" for k, v in values.items())
    made.debug_description = lambda self: getattr(_c, f"mlc_{name}_description")(int(self))
    made.debug_description.__doc__ = f"The value's name, as {original}DebugDescription gives it."
    made.debug_description.c_name = f"mlc_{name}_description"
    return made


ENUMS = {
    name: _make_enum(name, original, values, are_flags)
    for name, (original, values, are_flags) in _c.ENUMS.items()
    if original
}
_LAYERS = {number: name.lower() for name, number in _c.ENUMS["layer_kind"][1].items()}
_OPTIMIZERS = {number: name.lower() for name, number in _c.ENUMS["optimizer_kind"][1].items()}
LAYER_KINDS = {name: number for number, name in _LAYERS.items()}


def value_of(kind, given):
    """A value of an enumeration from itself, its number or its name."""
    if isinstance(given, str):
        plain = given.replace("_", "").lower()
        for name, value in ENUMS[kind].__members__.items():
            if name.replace("_", "").lower() == plain:
                return value
    elif isinstance(given, int) and not isinstance(given, bool):
        for value in ENUMS[kind].__members__.values():
            if value == given:
                return value
    else:
        raise TypeError(f"[{kind}] expected a value or its name, got {type(given).__name__}")
    names = ", ".join(ENUMS[kind].__members__)
    raise ValueError(f"[{kind}] {given!r} is no {kind}; there are {names}")


def flags_of(kind, given):
    """Options from one or several, by value or name."""
    if isinstance(given, str | int):
        given = [given]
    elif not isinstance(given, list | tuple | set):
        raise TypeError(f"[{kind}] expected options or their names, got {type(given).__name__}")
    result = ENUMS[kind](0)
    for option in given:
        if isinstance(option, str):
            option = value_of(kind, option)
        elif isinstance(option, bool) or not isinstance(option, int):
            raise TypeError(f"[{kind}] expected options or their names, got {option!r}")
        result |= option
    known = 0
    for value in ENUMS[kind]:
        known |= value
    if int(result) & ~int(known) or int(result) < 0:
        names = ", ".join(ENUMS[kind].__members__)
        raise ValueError(f"[{kind}] {int(result)} has options that do not exist; there are {names}")
    return result


# ---- properties ----------------------------------------------------------------------------------


def _field_property(name, enumeration, text):
    def get(self):
        value = self._fields[name]
        return ENUMS[enumeration](value) if enumeration else value

    def put(self, value):
        self._fields[name] = value_of(enumeration, value) if enumeration else value

    return property(get, put, doc=text or f"The field {name}.")


def _call_property(name, getter, setter, enumeration, text):
    get_c = getattr(_c, getter)

    def get(self):
        value = getattr(_c, getter)(self)
        return ENUMS[enumeration](value) if enumeration else wrap(value, self._owner)

    put = None
    if setter:

        def put(self, value):
            getattr(_c, setter)(self, value)

        put.c_name = setter
    get.c_name = getter
    return property(get, put, doc=text or get_c.__doc__ or name)


def attach_properties():
    """Give classes the properties that the headers name and that they do not define themselves."""
    for owner, name, getter, setter, enumeration, text, is_field in _c.PROPERTIES:
        cls = _classes[owner]
        if name in vars(cls):
            continue
        if is_field:
            made = _field_property(name, enumeration, text)
            made.fget.c_name = f"{getter}.{name}"
        else:
            made = _call_property(name, getter, setter, enumeration, text)
        setattr(cls, name, made)
