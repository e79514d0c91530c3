"""Name scopes: what is put in front of the names of variables and ops made within them."""

from __future__ import annotations

import threading

from .. import _mica


class _State(threading.local):
    scope = ""


_state = _State()


def current_scope() -> str:
    """The names of the scopes around, joined by slashes; empty outside of all.

    A graph that is being built has scopes of its own.
    """
    graph = _mica.tf_current_graph()
    return _state.scope if graph is None else graph._scope


def scoped(name: str) -> str:
    """A name with the scopes around it in front."""
    scope = current_scope()
    return f"{scope}/{name}" if scope else name


def _set_scope(graph, scope: str) -> None:
    if graph is None:
        _state.scope = scope
    else:
        graph._scope = scope


def _new_scope(graph, scope: str) -> str:
    """A scope that the graph has not had yet: its name, or that with a number."""
    if graph is None:
        return scope
    used = graph.__dict__.setdefault("_scopes", {})
    number = used.get(scope, 0)
    used[scope] = number + 1
    return scope if number == 0 else f"{scope}_{number}"


class name_scope:
    """Within it, names begin with its own; a name that ends with a slash stands alone.

    Examples
    --------
    >>> with name_scope("a"), name_scope("b") as scope:
    ...     print(scope)
    a/b/
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    def __enter__(self) -> str:
        self._graph = _mica.tf_current_graph()
        self._before = current_scope()
        if not self._name or self._name == "/":
            scope = ""
        elif self._name.endswith("/"):
            scope = self._name[:-1]
        else:
            scope = _new_scope(self._graph, scoped(self._name))
        _set_scope(self._graph, scope)
        return scope + "/" if scope else ""

    def __exit__(self, *unused: object) -> None:
        _set_scope(self._graph, self._before)
