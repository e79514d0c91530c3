"""Modules: what layers have in common."""

from __future__ import annotations

import copy
import html
from typing import Any

from .. import random
from .._mica import Tensor
from .._tracing import is_array


class _Run:
    """What the modules of one bound model share: the mode, and keys for random layers."""

    __slots__ = ("key", "n_drawn", "training")

    def __init__(self, training: bool = False, key: Any = None) -> None:
        self.training = training
        self.key = key
        self.n_drawn = 0

    def stream(self) -> int:
        """A number that no other random layer of this run has."""
        self.n_drawn += 1
        return self.n_drawn - 1


class Module:
    """A layer or a model: a callable object with arrays and other modules as attributes.

    Arrays are parameters, those named in `STATE` excepted; modules may also stand in lists, tuples
    and dicts. `parameters()` gives the parameters as a tree, `bind` a copy of the model with other
    ones, so that a model is a function of its parameters:

    Examples
    --------
    >>> import mica
    >>> model = mica.nn.Sequential(mica.nn.Linear(2, 3), mica.tanh, mica.nn.Linear(3, 1))
    >>> def loss(parameters, x, y):
    ...     return ((model.bind(parameters)(x) - y) ** 2).mean()
    >>> x, y = mica.ones((4, 2)), mica.zeros((4, 1))
    >>> slopes = mica.grad(loss)(model.parameters(), x, y)
    >>> slopes["parts"][0]["weight"].shape
    (2, 3)
    """

    #: Attributes that are no parameters: arrays that a run in training mode replaces.
    STATE: frozenset[str] = frozenset()

    _run = _Run()

    # ---- trees -----------------------------------------------------------------------------------
    def parameters(self) -> dict:
        """The parameters: a dict by attribute, of modules again a dict."""
        return _arrays(self, is_state=False)

    def state(self) -> dict:
        """The arrays that are no parameters, such as moving averages, as a tree like parameters."""
        return _arrays(self, is_state=True)

    def bind(
        self,
        parameters: dict | None = None,
        state: dict | None = None,
        *,
        training: bool = False,
        key: Any = None,
    ) -> Any:
        """A copy of the model with other arrays, for one run.

        Parameters
        ----------
        parameters, state : dict, optional
            As `parameters()` and `state()` give them; by default the model's own.
        training : bool
            Whether dropout drops, and normalization takes the batch's statistics; after the run
            `state()` of the copy has the new moving averages.
        key : u32[2], optional
            For random layers; without one they draw from `mica.random.seed`'s sequence.
        """
        bound = _copy(self, _Run(training, key))
        if parameters is not None:
            _replace(bound, parameters, False, ())
        if state is not None:
            _replace(bound, state, True, ())
        return bound

    def update(self, parameters: dict | None = None, state: dict | None = None) -> None:
        """Put other arrays in the place of the model's own.

        Shapes and dtypes are checked before anything is changed.
        """
        for tree, is_state in ((parameters, False), (state, True)):
            if tree is not None:
                _replace(_copy(self, self._run), tree, is_state, ())
        for tree, is_state in ((parameters, False), (state, True)):
            if tree is not None:
                _replace(self, tree, is_state, ())

    # ---- for layers ------------------------------------------------------------------------------
    @property
    def training(self) -> bool:
        """Whether this copy was bound for training."""
        return self._run.training

    def random_key(self) -> tuple[Any, int]:
        """A key, and the number of a stream of it that no other layer of the run draws from."""
        run = self._run
        if run.key is None:
            run.key = random.next_key()
        return run.key, run.stream()

    def __repr__(self) -> str:
        return "\n".join(_lines(self, type(self).__name__))

    def _repr_html_(self) -> str:
        rows = [
            f"<tr><td>{html.escape('.'.join(path))}</td><td>{array.dtype}</td><td>{tuple(array.shape)}</td></tr>"
            for path, array in _named(self.parameters(), ())
        ]
        head = "<tr><th>parameter</th><th>dtype</th><th>shape</th></tr>"
        return f"<b>{type(self).__name__}</b><table>{head}{''.join(rows)}</table>"

    def __call__(self, *args: Any) -> Any:
        """What the layer makes of its input."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


def count(model: Module) -> int:
    """How many numbers the parameters of a model have together."""
    return sum(array.size for _, array in _named(model.parameters(), ()))


# ---- walks over attributes -----------------------------------------------------------------------
def _attributes(module: Module) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(module).items() if name != "_run"]


def _arrays_of(value: Any, is_state: bool) -> Any:
    """The tree of a value that is no array: None where nothing is in it."""
    if isinstance(value, Module):
        return _arrays(value, is_state) or None
    if isinstance(value, dict):
        tree = {k: _arrays_of(v, is_state) for k, v in value.items()}
        return {k: v for k, v in tree.items() if v is not None} or None
    if isinstance(value, (list, tuple)):
        items = [_arrays_of(v, is_state) for v in value]
        return items if any(item is not None for item in items) else None
    return None


def _arrays(module: Module, is_state: bool) -> dict:
    found = {}
    for name, value in _attributes(module):
        if is_array(value):
            if (name in module.STATE) == is_state:
                found[name] = value
        else:
            tree = _arrays_of(value, is_state)
            if tree is not None:
                found[name] = tree
    return found


def _copy(value: Any, run: _Run) -> Any:
    if isinstance(value, Module):
        other = copy.copy(value)
        for name, item in _attributes(value):
            if not is_array(item):
                setattr(other, name, _copy(item, run))
        other._run = run
        return other
    if isinstance(value, dict):
        return {k: _copy(v, run) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_copy(v, run) for v in value)
    return value


def _dotted(path: tuple) -> str:
    return ".".join(str(part) for part in path) or "the model"


def _same_type(old: Any, new: Any, path: tuple) -> Any:
    if not is_array(new):
        raise TypeError(f"[Module] {_dotted(path)} is {type(new).__name__}, an array is needed")
    if tuple(old.shape) != tuple(new.shape) or old.dtype != new.dtype:
        raise ValueError(
            f"[Module] {_dotted(path)} is {old.dtype}{list(old.shape)}, "
            f"not {new.dtype}{list(new.shape)}"
        )
    return new


def _replace(value: Any, tree: Any, is_state: bool, path: tuple) -> None:
    """Puts a tree's arrays in their places; the tree must have exactly those that there are."""
    known = _arrays_of(value, is_state)
    if isinstance(known, list):
        if not isinstance(tree, (list, tuple)) or len(tree) != len(known):
            raise ValueError(f"[Module] {_dotted(path)} needs a list of {len(known)} trees")
        for i, item in enumerate(known):
            if item is not None:
                _replace(value[i], tree[i], is_state, (*path, i))
        return
    names = set(known or ())
    given = set(tree) if isinstance(tree, dict) else None
    if given != names:
        shown = type(tree).__name__ if given is None else sorted(map(str, given))
        raise ValueError(f"[Module] {_dotted(path)} has {sorted(map(str, names))}, not {shown}")
    for name in names:
        old = getattr(value, name) if isinstance(value, Module) else value[name]
        if is_array(old):
            setattr(value, name, _same_type(old, tree[name], (*path, name)))
        else:
            _replace(old, tree[name], is_state, (*path, name))


def _named(tree: Any, path: tuple) -> list[tuple[tuple[str, ...], Tensor]]:
    if is_array(tree):
        return [(path, tree)]
    items = tree.items() if isinstance(tree, dict) else enumerate(tree or ())
    return [pair for name, item in items for pair in _named(item, (*path, str(name)))]


def _lines(value: Any, name: str, indent: str = "") -> list[str]:
    if not isinstance(value, Module):
        return [f"{indent}{name}: {getattr(value, '__name__', value)}"]
    shown, parts = [], []
    for key, item in _attributes(value):
        if isinstance(item, Module):
            parts.append((key, item))
        elif isinstance(item, (list, tuple)) and any(isinstance(v, Module) for v in item):
            parts += [(f"{key}[{i}]", v) for i, v in enumerate(item)]
        elif is_array(item):
            shown.append(f"{key} {item.dtype}{list(item.shape)}")
        elif not callable(item) and item is not None:
            shown.append(f"{key}={item!r}")
    kind = type(value).__name__
    head = kind if name == kind else f"{name}: {kind}"
    lines = [f"{indent}{head}({', '.join(shown)})"]
    for key, item in parts:
        lines += _lines(item, key, indent + "  ")
    return lines
