"""`tf.compat.v1.sets`: the functions of `tf.sets` under their older names too."""

from __future__ import annotations

from ... import sets as _sets
from ..._missing import missing as _missing_name
from ...sets import difference, intersection, size, union

set_difference, set_intersection, set_size, set_union = difference, intersection, size, union

__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_sets, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)
