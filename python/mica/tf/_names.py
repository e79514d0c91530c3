"""Name scopes: what is put in front of the names of variables and ops made within them."""

from __future__ import annotations

import threading


class _State(threading.local):
    scope = ""


_state = _State()


def current_scope() -> str:
    """The names of the scopes around, joined by slashes; empty outside of all."""
    return _state.scope


def scoped(name: str) -> str:
    """A name with the scopes around it in front."""
    return f"{_state.scope}/{name}" if _state.scope else name


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
        self._before = _state.scope
        if not self._name or self._name == "/":
            _state.scope = ""
        elif self._name.endswith("/"):
            _state.scope = self._name[:-1]
        else:
            _state.scope = scoped(self._name)
        return _state.scope + "/" if _state.scope else ""

    def __exit__(self, *unused: object) -> None:
        _state.scope = self._before
