"""The objects that a root holds, numbered, with the names they hold each other by."""

from __future__ import annotations

from .. import _tracking
from .._core import Tensor
from .._function import ConcreteFunction, Function
from .._module import Module
from .._variable import Variable
from ._load import RestoredResource


def variable_of(value):
    """Return the tf.Variable that an object is, or holds as Keras's variables do; else None."""
    if isinstance(value, Variable):
        return value
    if isinstance(value, _tracking.Trackable) and hasattr(value, "_shared_name"):
        inner = getattr(value, "value", None)
        return inner if isinstance(inner, Variable) else None
    return None


def is_kept(value) -> bool:
    """Whether an object is one that models and checkpoints know."""
    if isinstance(value, _tracking.Trackable | Function | ConcreteFunction):
        return True
    if isinstance(value, dict):
        return any(is_kept(v) for v in value.values())
    return isinstance(value, list | tuple) and any(is_kept(v) for v in value)


def children_of(value, save_type: str) -> dict:
    """Return the objects that an object holds, by name, in a fixed order."""
    if isinstance(value, Function | ConcreteFunction | Tensor) or variable_of(value) is not None:
        return {}
    if isinstance(value, RestoredResource):
        return {}
    if isinstance(value, Module):
        found = _of_module(value, save_type)
    elif hasattr(value, "_trackable_children"):
        found = dict(value._trackable_children(save_type))
        found.update(_tuples_of(value, found))
    elif isinstance(value, list | tuple):
        found = {str(i): v for i, v in enumerate(value)}
    elif isinstance(value, dict):
        found = {str(k): v for k, v in value.items()}
    else:
        found = {}
    return {name: child for name, child in found.items() if is_kept(child)}


def _of_module(module: Module, save_type: str) -> dict:
    found = dict(module._trackable_children(save_type))
    hidden = module._TF_MODULE_IGNORED_PROPERTIES
    for name in sorted(vars(module)):
        if name not in hidden and not name.startswith("_mica_"):
            found.setdefault(name, vars(module)[name])
    if save_type == "savedmodel":
        for name in dir(type(module)):
            for kind in type(module).__mro__:
                if name in vars(kind):
                    if isinstance(vars(kind)[name], Function):
                        found.setdefault(name, getattr(module, name))
                    break
    return found


def _tuples_of(value, found: dict) -> dict:
    """Tuples in attributes, which know nothing of being held."""
    if not isinstance(value, _tracking.AutoTrackable):
        return {}
    return {
        name: held
        for name, held in vars(value).items()
        if isinstance(held, tuple) and name not in found and not name.startswith("_mica_")
    }


class ObjectView:
    """All objects below a root: numbers, children, and the first path to each."""

    def __init__(self, root, save_type: str, first: dict | None = None) -> None:
        self.objects: list = []
        self.children: list[dict] = []  # name -> number
        self.paths: list[tuple] = []
        self._numbers: dict[int, int] = {}
        self._kept: list = []  # so that ids stay those of these objects
        self._add(root, ())
        at = 0
        while at < len(self.objects):
            if at > 0 or first is None:
                found = children_of(self.objects[at], save_type)
            else:
                found = first  # the root's, as the caller has them
            for name, child in found.items():
                self.children[at][name] = self._add(child, (*self.paths[at], name))
            at += 1

    def _add(self, value, path: tuple) -> int:
        variable = variable_of(value)
        key = id(value if variable is None else variable)
        if key not in self._numbers:
            self._numbers[key] = len(self.objects)
            self._kept.append(value)
            self.objects.append(value)
            self.children.append({})
            self.paths.append(path)
        return self._numbers[key]

    def add(self, value) -> int:
        """Give a number to an object without a name."""
        return self._add(value, ())

    def spread(self, marks: list[bool]) -> list[bool]:
        """Return marks with those of all objects that hold a marked one, however far below."""
        holders: list[list[int]] = [[] for _ in self.objects]
        for number, children in enumerate(self.children):
            for child in children.values():
                holders[child].append(number)
        marks = list(marks)
        pending = [i for i, marked in enumerate(marks) if marked]
        while pending:
            for holder in holders[pending.pop()]:
                if not marks[holder]:
                    marks[holder] = True
                    pending.append(holder)
        return marks


def escaped(name: str) -> str:
    """A name as part of a key of a checkpoint."""
    return name.replace(".", "..").replace("/", ".S")


def checkpoint_key(path: tuple, attribute: str) -> str:
    """The key of what an object at this path keeps under the attribute."""
    return "/".join(map(escaped, path)) + f"/.ATTRIBUTES/{attribute}"
