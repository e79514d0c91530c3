"""`tf.compat.v1.linalg`: functions whose arguments TensorFlow 1 orders or names otherwise.

The rest is `tf.linalg`.
"""

from __future__ import annotations

from ... import linalg as _linalg
from ..._missing import missing as _missing_name
from ._arrays import norm

__all__ = ["norm", "transpose"]


def transpose(a, name="matrix_transpose", conjugate=False):
    """Return matrices with rows and columns exchanged."""
    return _linalg.matrix_transpose(a, name, conjugate)


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_linalg, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in dir(_linalg) if not n.startswith("_"))})
