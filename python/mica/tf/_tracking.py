"""Objects that know what they hold: the dependencies that checkpoints and saved models follow.

Assigning a variable, a module or a collection of them to an attribute of an `AutoTrackable` makes
it a child under that name. Lists and dicts (exactly these types) become wrappers that are lists and
dicts still and are trackable themselves.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable


class Trackable:
    """Base of everything that can be a dependency. It has no layout and no slots of its own."""

    @property
    def _self_setattr_tracking(self) -> bool:
        return self.__dict__.get("_mica_setattr_tracking", True)

    @_self_setattr_tracking.setter
    def _self_setattr_tracking(self, value: bool) -> None:
        self.__dict__["_mica_setattr_tracking"] = bool(value)

    @property
    def _mica_children(self) -> dict:
        return self.__dict__.setdefault("__mica_tracked__", {})

    def _track_trackable(self, trackable: Trackable, name: str, overwrite: bool = False):
        """Make `trackable` a child; a name that is taken by another one is an error."""
        if not isinstance(trackable, Trackable):
            raise TypeError(
                "Trackable._track_trackable() can only be used to track objects of type "
                f"Trackable. Got type {type(trackable)}."
            )
        children = self._mica_children
        if not overwrite and children.get(name, trackable) is not trackable:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with "
                "this name is already declared as a dependency. Names must be unique (or "
                "overwrite=True)."
            )
        self._handle_deferred_dependencies(name=name, trackable=trackable)
        children[name] = trackable
        return trackable

    def _handle_deferred_dependencies(self, name: str, trackable: Trackable) -> None:
        """Give a new child the values that a checkpoint restored before it was there."""
        waiting = self.__dict__.get("_mica_deferred")
        if waiting and name in waiting:
            for restore in waiting.pop(name):
                restore(trackable)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs) -> dict:
        return dict(self._mica_children)

    def _lookup_dependency(self, name: str, cached_dependencies: dict | None = None):
        if cached_dependencies:
            return cached_dependencies.get(name)
        return self._trackable_children().get(name)

    def _serialize_to_tensors(self) -> dict:
        raise NotImplementedError

    def _restore_from_tensors(self, restored_tensors: dict):
        raise NotImplementedError


class TrackableResource(Trackable):
    """Base of what has a handle that functions capture, such as a table."""

    @property
    def resource_handle(self):
        """The handle that ops refer to it by."""
        raise NotImplementedError(f"{type(self).__name__}.resource_handle")


class NoDependency:
    """A value that is assigned without becoming a child."""

    def __init__(self, value: object) -> None:
        self.value = value


def no_automatic_dependency_tracking(method: Callable) -> Callable:
    """Assignments inside the method make no children."""

    @functools.wraps(method)
    def untracked(self, *args, **kwargs):
        before = getattr(self, "_self_setattr_tracking", True)
        self._self_setattr_tracking = False
        try:
            return method(self, *args, **kwargs)
        finally:
            self._self_setattr_tracking = before

    return untracked


def sticky_attribute_assignment(trackable: Trackable, name: str, value: object) -> object:
    """What an attribute gets for a value, which becomes a child when it can."""
    if isinstance(value, NoDependency):
        return value.value
    value = wrap_or_unwrap(value)
    if isinstance(value, Trackable):
        trackable._track_trackable(value, name=name, overwrite=True)
    return value


class AutoTrackable(Trackable):
    """Makes children of what is assigned to its attributes."""

    def __setattr__(self, name: str, value: object) -> None:
        if self.__dict__.get(name, self) is value:
            return
        if getattr(self, "_self_setattr_tracking", True):
            value = sticky_attribute_assignment(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._mica_children.pop(name, None)
        super().__delattr__(name)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs) -> dict:
        children = super()._trackable_children(save_type, **kwargs)
        if save_type != "savedmodel":
            return children
        from ._function import ConcreteFunction, Function

        for name in dir(self):
            try:
                value = getattr(self, name)
            except Exception:  # an attribute that cannot be read now is nothing to save
                continue
            if isinstance(value, (Function, ConcreteFunction)):
                children[name] = value
        return children


# ---- collections ---------------------------------------------------------------------------------


class ListWrapper(Trackable, list):
    """A list whose trackable elements are children under their index."""

    __hash__ = object.__hash__

    def __init__(self, values=()) -> None:
        list.__init__(self, [wrap_or_unwrap(v) for v in values])

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs) -> dict:
        return {str(i): v for i, v in enumerate(self) if isinstance(v, Trackable)}

    def append(self, value) -> None:
        """Append, wrapping what is a collection itself."""
        list.append(self, wrap_or_unwrap(value))
        self._handle_deferred_dependencies(name=str(len(self) - 1), trackable=self[-1])

    def extend(self, values) -> None:
        """Append each."""
        list.extend(self, [wrap_or_unwrap(v) for v in values])

    def insert(self, index, value) -> None:
        """Insert, wrapping what is a collection itself."""
        list.insert(self, index, wrap_or_unwrap(value))

    def __setitem__(self, key, value) -> None:
        if isinstance(key, slice):
            value = [wrap_or_unwrap(v) for v in value]
        else:
            value = wrap_or_unwrap(value)
        list.__setitem__(self, key, value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def __repr__(self) -> str:
        return f"ListWrapper({list.__repr__(self)})"

    def __reduce_ex__(self, protocol):
        return list, (list(self),)

    def __copy__(self):
        return ListWrapper(self)

    def __deepcopy__(self, memo):
        return ListWrapper([copy.deepcopy(v, memo) for v in self])


class _DictWrapper(Trackable, dict):
    """A dict whose trackable values are children under their keys."""

    __hash__ = object.__hash__

    def __init__(self, values=()) -> None:
        dict.__init__(self, {k: wrap_or_unwrap(v) for k, v in dict(values).items()})

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs) -> dict:
        return {str(k): v for k, v in self.items() if isinstance(v, Trackable)}

    def __setitem__(self, key, value) -> None:
        dict.__setitem__(self, key, wrap_or_unwrap(value))

    def setdefault(self, key, default=None):
        """As for a dict, wrapping what is a collection itself."""
        return dict.setdefault(self, key, wrap_or_unwrap(default))

    def update(self, *args, **kwargs) -> None:
        """Set each."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __repr__(self) -> str:
        return f"DictWrapper({dict.__repr__(self)})"

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)

    def __copy__(self):
        return _DictWrapper(self)

    def __deepcopy__(self, memo):
        return _DictWrapper({k: copy.deepcopy(v, memo) for k, v in self.items()})


def wrap_or_unwrap(value: object) -> object:
    """A trackable collection for a list or a dict; anything else as it is."""
    if isinstance(value, NoDependency):
        return value.value
    if type(value) is list:
        return ListWrapper(value)
    if type(value) is dict:
        return _DictWrapper(value)
    return value
