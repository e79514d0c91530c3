"""Namespaces that both versions of TensorFlow have: tf.metrics and tf.losses.

A name that only one of them has is that one's. Of a name that both have, the one of TensorFlow 1 is
given while a graph is built that sessions run, else the one of TensorFlow 2.
"""

from __future__ import annotations

import functools
import importlib

from ._context import graph_of_variables
from ._install import keras


class _Both:
    def __init__(self, name: str) -> None:
        self.__name__ = f"tensorflow.{name}"
        self._newer = getattr(keras(), name)
        self._older = importlib.import_module(f".compat.v1.{name}", __package__)

    def __getattr__(self, name: str):
        is_older = name in self._older.__all__
        if is_older and (graph_of_variables() is not None or not hasattr(self._newer, name)):
            return getattr(self._older, name)
        return getattr(self._newer, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._newer), *self._older.__all__})


@functools.cache
def merged(name: str) -> _Both:
    """Return the namespace of this name."""
    return _Both(name)


def collisions(name: str) -> list[str]:
    """Return the names that both versions have."""
    both = merged(name)
    return [n for n in both._older.__all__ if hasattr(both._newer, n)]
