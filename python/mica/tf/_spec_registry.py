"""Classes of specs by the names under which they are written down."""

from __future__ import annotations

_BY_NAME: dict[str, type] = {}


def register(name: str):
    """Register a class of specs under a name such as "package.Class"."""

    def decorate(cls: type) -> type:
        if name in _BY_NAME and _BY_NAME[name] is not cls:
            raise ValueError(f"Name {name} has already been registered for {_BY_NAME[name]}.")
        _BY_NAME[name] = cls
        return cls

    return decorate


def get_name(cls: type) -> str:
    """The name of a class."""
    for name, found in _BY_NAME.items():
        if found is cls:
            return name
    raise ValueError(f"TypeSpec {cls.__module__}.{cls.__name__} has not been registered.")


def lookup(name: str) -> type:
    """The class of a name."""
    if name not in _BY_NAME:
        raise ValueError(f"No TypeSpec has been registered with name {name!r}")
    return _BY_NAME[name]
