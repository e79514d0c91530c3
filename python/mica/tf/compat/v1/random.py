"""`tf.compat.v1.random`: functions whose arguments TensorFlow 1 orders or names otherwise.

The rest is `tf.random`.
"""

from __future__ import annotations

from ... import _dtypes
from ... import random as _random
from ..._core import convert_to_tensor as _convert
from ..._missing import missing as _missing_name
from ._older import multinomial
from ._switches import get_seed, set_random_seed

__all__ = ["get_seed", "multinomial", "poisson", "set_random_seed"]


def poisson(lam, shape, dtype=_dtypes.float32, seed=None, name=None):
    """Return numbers of Poisson's distribution, `shape` of them for each rate."""
    return _random.poisson(shape, _convert(lam, dtype), dtype, seed, name)


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_random, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in dir(_random) if not n.startswith("_"))})
