"""TensorFlow 2's names on Mica: ``import mica.tf as tf``.

Submodules are imported when they are first touched, so that importing the package stays quick.

Examples
--------
>>> import mica.tf as tf
>>> float(tf.reduce_sum(tf.constant([1.0, 2.0]) * 3.0))
9.0
"""

from __future__ import annotations

import importlib

from ._install import install

__version__ = "2.16.0"
newaxis = None

# Where a public name comes from, for what is not imported at once: name -> module of this package.
# A module that stands for a namespace of TensorFlow (tf.nn) is its own value.
_LAZY_MODULES = ("autograph", "nest")


def __getattr__(name: str):
    if name in _LAZY_MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'tensorflow' has no attribute '{name}'")


__all__ = ["install", "newaxis"]
