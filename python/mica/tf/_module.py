"""tf.Module: an object that knows the variables and modules in its attributes."""

from __future__ import annotations

import functools
import re

from . import _nest as nest
from ._names import name_scope, scoped
from ._tracking import Trackable
from ._variable import Variable

_HIDDEN = frozenset(("_self_tracked_trackables", "_obj_reference_counts_dict"))


def camel_to_snake(name: str) -> str:
    """A class's name as a module's: ``HTTPServer`` is ``http_server``."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", name).lower()


class Module(Trackable):
    """A base class for what has variables: layers, models, optimizers.

    Variables and modules are found in attributes, and in lists, tuples and dictionaries there.

    Examples
    --------
    >>> import mica.tf as tf
    >>> class Dense(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = tf.Variable(2.0)
    >>> len(Dense().trainable_variables)
    1
    """

    # Attributes that are not searched.
    _TF_MODULE_IGNORED_PROPERTIES = _HIDDEN

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = camel_to_snake(type(self).__name__)
        elif not name.isidentifier():
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                f"identifiers (e.g. a valid class name)."
            )
        self._name = name
        self._scope_name = scoped(name) + "/"

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        if "_mica_deferred" in self.__dict__:
            self._handle_deferred_dependencies(name=name, trackable=value)

    @property
    def name(self) -> str:
        """The name, by default that of the class in lower case."""
        return self._name

    @property
    def name_scope(self):
        """A context that puts the module's name in front of names made within it."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of this module and of those in it, attributes by name."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of the variables that are trainable."""
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and v.trainable))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """Those of the variables that are not trainable."""
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and not v.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in this one."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    @classmethod
    def with_name_scope(cls, method):
        """Run a method within the module's name scope (decorator)."""

        @functools.wraps(method)
        def wrapper(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        return wrapper

    def _flatten(
        self,
        recursive=True,
        predicate=None,
        attribute_traversal_key=None,
        with_path=False,
        expand_composites=False,
    ):
        """All values that satisfy the predicate, in a fixed order, each once."""
        keep = predicate or (lambda value: True)
        seen = {id(self)}
        pending = [((), self)]
        while pending:
            place, module = pending.pop(0)
            inside = []
            names = sorted(vars(module), key=attribute_traversal_key)
            for name in names:
                if name in module._TF_MODULE_IGNORED_PROPERTIES or name.startswith("_mica_"):
                    continue
                for path, value in _leaves(vars(module)[name]):
                    if id(value) in seen:
                        continue
                    seen.add(id(value))
                    where = (*place, name, *path)
                    if keep(value):
                        yield (where, value) if with_path else value
                    if recursive and isinstance(value, Module):
                        inside.append((where, value))
            # Modules in this one come before those that stand after it.
            pending = inside + pending


def _is_variable(value: object) -> bool:
    return isinstance(value, Variable)


def _leaves(value: object):
    try:
        return nest.flatten_with_paths(value)
    except TypeError:
        # Keys that cannot be sorted.
        return []
