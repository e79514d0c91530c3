"""`tf.compat.v1.keras`: what brings models of TensorFlow 1 along; the rest is `tf.keras`."""

from __future__ import annotations

import importlib as _importlib

from ...._install import keras as _keras
from ...._missing import missing as _missing_name

_OWN = frozenset({"experimental", "utils"})


def __getattr__(name: str):
    if name in _OWN:
        return _importlib.import_module(f".{name}", __name__)
    if not name.startswith("_"):
        try:
            return getattr(_keras(), name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)
