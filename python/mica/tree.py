"""Trees: nested tuples, lists and dicts of leaves, as `jit`, `grad` and the rest take and give.

What is no tuple, list or dict is a leaf; None is a tree without leaves. The entries of a dict come
in the order of their keys.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from ._mica import flatten, unflatten

__all__ = ["flatten", "leaves", "map", "map_with_path", "paths", "structure", "unflatten"]


def leaves(tree: Any) -> list:
    """The leaves of a tree, in order.

    Examples
    --------
    >>> import mica
    >>> mica.tree.leaves({"b": 1, "a": (2, None, [3])})
    [2, 3, 1]
    """
    return flatten(tree)[0]


def structure(tree: Any) -> Any:
    """What a tree is without its leaves; equal for trees that `map` takes together."""
    return flatten(tree)[1]


def map(function: Callable, tree: Any, *others: Any) -> Any:
    """A tree of what a function makes of the leaves of one tree, or of several of one structure.

    Examples
    --------
    >>> import mica
    >>> mica.tree.map(lambda a, b: a + b, {"w": 1, "b": (2,)}, {"w": 10, "b": (20,)})
    {'b': (22,), 'w': 11}
    """
    first, shape = flatten(tree)
    columns = [first]
    for number, other in enumerate(others, 2):
        items, other_shape = flatten(other)
        if other_shape != shape:
            raise ValueError(f"[tree.map] tree {number} has another structure than tree 1")
        columns.append(items)
    return unflatten(shape, [function(*items) for items in zip(*columns, strict=True)])


def paths(tree: Any) -> list[tuple]:
    """The keys and places that lead to each leaf, in the order of `leaves`.

    Examples
    --------
    >>> import mica
    >>> mica.tree.paths({"layers": [1, 2]})
    [('layers', 0), ('layers', 1)]
    """
    found: list[tuple] = []
    _collect(flatten(tree)[1], (), found)
    return found


def _collect(shape: Any, path: tuple, found: list[tuple]) -> None:
    if shape is None:
        return
    if not isinstance(shape, tuple):
        found.append(path)
        return
    keys: Sequence = shape[1] if shape[0] is dict else range(len(shape) - 1)
    for key, child in zip(keys, shape[2:] if shape[0] is dict else shape[1:], strict=True):
        _collect(child, (*path, key), found)


def map_with_path(function: Callable, tree: Any) -> Any:
    """As `map` of one tree, for a function of a leaf's path and the leaf.

    Examples
    --------
    >>> import mica
    >>> mica.tree.map_with_path(lambda path, x: (path[-1] == "w") * x, {"w": 3, "b": 4})
    {'b': 0, 'w': 3}
    """
    items, shape = flatten(tree)
    return unflatten(shape, list(builtins.map(function, paths(tree), items)))
