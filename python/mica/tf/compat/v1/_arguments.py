"""Arguments that have two names: that of TensorFlow 1, and the one it has had since."""

from __future__ import annotations


def either(new_name: str, new, old_name: str, old):
    """Return the one of two values that was given; an error where both were."""
    if new is None:
        return old
    if old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return new


def needed(function: str, **values):
    """Return the values in order; an error where one was not given."""
    for name, value in values.items():
        if value is None:
            raise TypeError(f"{function}: the argument {name!r} is needed")
    return list(values.values())
