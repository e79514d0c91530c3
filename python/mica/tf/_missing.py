"""Names that TensorFlow has and Mica has not: an AttributeError that says so.

A module ends its search for a name with ``raise missing(__name__, name)``; one that has nothing to
search has ``__getattr__ = finder(__name__)``. A small namespace inside a module is a class that
``namespace`` makes one of. Asking whether a name is there stays what it is:
``hasattr`` is false, and ``from tensorflow.x import y`` an ImportError.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

_ROOT = __name__.rpartition(".")[0]


@functools.cache
def _theirs() -> tuple[str, dict[str, frozenset[str]]]:
    """TensorFlow's version, and the names of its namespaces ('' is its top)."""
    import json  # late: most programs ask for no name that is missing

    path = Path(__file__).with_name("_public_names.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    names = {place: frozenset(text.split()) for place, text in stored["names"].items()}
    return stored["version"], names


def public_names(namespace: str) -> frozenset[str]:
    """Return the names that TensorFlow has in a namespace such as 'nn'; '' is its top."""
    return _theirs()[1].get(namespace, frozenset())


def missing(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module of this package does not have."""
    namespace = module.removeprefix(_ROOT).removeprefix(".")
    shown = f"tensorflow.{namespace}".rstrip(".")
    text = f"module '{shown}' has no attribute '{name}'"
    if not name.startswith("_") and name in public_names(namespace):
        text += (
            f": TensorFlow {_theirs()[0]} has {shown}.{name}, Mica does not have it yet. "
            "docs/tensorflow.md lists what there is, docs/tensorflow_scripts.md says what to do"
        )
    return AttributeError(text, name=name)


def finder(module: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a module that has nothing to find but what is missing."""

    def __getattr__(name: str):
        raise missing(module, name)

    return __getattr__


class _Namespace:
    def __init__(self, path: str, members: dict[str, object]) -> None:
        self.__dict__.update(members)
        self.__name__ = path

    def __getattr__(self, name: str):
        raise missing(self.__name__, name)

    def __repr__(self) -> str:
        return f"<namespace '{self.__name__}'>"


def namespace(members: type) -> _Namespace:
    """Return the public members of a class as a namespace of its module, for use as a decorator."""
    public = {name: getattr(members, name) for name in dir(members) if not name.startswith("_")}
    result = _Namespace(f"{members.__module__}.{members.__name__}", public)
    result.__doc__ = members.__doc__
    return result
