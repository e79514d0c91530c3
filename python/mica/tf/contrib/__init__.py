"""`tf.contrib`: the part of TensorFlow 1's contrib that programs for TPUs use."""

from __future__ import annotations

import importlib as _importlib

from .._missing import missing as _missing_name

_MODULES = frozenset({"cluster_resolver", "data", "tpu"})


def __getattr__(name: str):
    if name in _MODULES:
        return _importlib.import_module(f".{name}", __name__)
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted(_MODULES)
