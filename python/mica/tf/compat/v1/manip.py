"""`tf.compat.v1.manip`: functions that are at the top of tf now."""

from __future__ import annotations

from ..._missing import missing as _missing_name
from ._aliases import find as _find

# A name -> where it is now.
_NAMES = {
    "gather_nd": "gather_nd",
    "reshape": "reshape",
    "reverse": "reverse",
    "roll": "roll",
    "scatter_nd": "scatter_nd",
    "tile": "tile",
}


def __getattr__(name: str):
    if name in _NAMES:
        return _find(_NAMES[name])
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
