"""What the tables of translations share: how a function enters one, and numbers like a tensor."""

from __future__ import annotations

from .._core import convert_to_tensor


def entering(table: dict):
    """Return a decorator that enters a function into the table under the names of ops."""

    def of(*names: str):
        def register(function):
            for name in names:
                table[name] = function
            return function

        return register

    return of


def scalar(number, like):
    """Return the number as a tensor of another's dtype."""
    return convert_to_tensor(number, like.dtype)
