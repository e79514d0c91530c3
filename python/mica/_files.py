"""Trees of arrays in files."""

from __future__ import annotations

import os
from typing import Any

from . import _mica, tree
from ._mica import Tensor
from ._tracing import as_array


def _name(path: tuple) -> str:
    return ".".join(str(part) for part in path)


def save(path: str | os.PathLike, arrays: Any) -> None:
    """Write a tree of arrays to one file, in the place of the one that is there, if any.

    Parameters
    ----------
    path : path
        Its ending tells the format: ``.safetensors``, ``.npz``, or ``.npy`` for one array.
    arrays : tree
        An array is named by the keys and places that lead to it: ``parts.0.weight``.

    Examples
    --------
    >>> import mica, tempfile
    >>> path = tempfile.mkdtemp() + "/model.safetensors"
    >>> mica.save(path, {"layers": [mica.ones((2,)), mica.zeros((3,))]})
    >>> sorted(mica.load(path))
    ['layers.0', 'layers.1']
    """
    named: dict[str, Tensor] = {}
    for keys, leaf in zip(tree.paths(arrays), tree.leaves(arrays), strict=True):
        name = _name(keys)
        if name in named:
            raise ValueError(f"[save] two arrays of the tree are named {name!r}")
        named[name] = as_array(leaf)
    _mica.arrays_save(path, named)


def load(path: str | os.PathLike, like: Any = None) -> Any:
    """Read the arrays of a ``.safetensors``, ``.npz`` or ``.npy`` file.

    Parameters
    ----------
    path : path
    like : tree, optional
        Arrays of the names, shapes and dtypes that the file must have.

    Returns
    -------
    dict or tree
        The arrays by name, or as a tree like `like`; of an ``.npy`` file the name is "".

    Examples
    --------
    >>> import mica, tempfile
    >>> path, model = tempfile.mkdtemp() + "/model.npz", mica.nn.Linear(2, 3)
    >>> mica.save(path, model.parameters())
    >>> model.update(mica.load(path, like=model.parameters()))
    """
    found = dict(_mica.arrays_load(path))
    if like is None:
        return found
    leaves = [as_array(leaf) for leaf in tree.leaves(like)]
    names = [_name(keys) for keys in tree.paths(like)]
    if set(names) != set(found):
        lacking = sorted(set(names) - set(found))
        more = sorted(set(found) - set(names))
        raise ValueError(f"[load] '{path}' lacks {lacking} and has {more}, which the tree has not")
    for name, leaf in zip(names, leaves, strict=True):
        new = found[name]
        if new.shape != leaf.shape or new.dtype != leaf.dtype:
            raise ValueError(
                f"[load] '{path}' has {name!r} as {new.dtype}{list(new.shape)}, not "
                f"{leaf.dtype}{list(leaf.shape)}"
            )
    return tree.unflatten(tree.structure(like), [found[name] for name in names])
