"""`tf.train.TrackableView`: the objects below a root."""

from __future__ import annotations

from .saved_model._objects import children_of


class TrackableView:
    """The objects that a root holds, and that those hold."""

    def __init__(self, root) -> None:
        self._root = root

    @property
    def root(self):
        """The root."""
        return self._root

    @classmethod
    def children(cls, obj, save_type: str = "checkpoint", **kwargs) -> dict:
        """Return the objects that an object holds, by name."""
        return children_of(obj, save_type)

    def descendants(self) -> list:
        """Return the root and all objects below it, each once, the closest ones first."""
        found, seen = [self._root], {id(self._root)}
        for value in found:
            for child in self.children(value).values():
                if id(child) not in seen:
                    seen.add(id(child))
                    found.append(child)
        return found
