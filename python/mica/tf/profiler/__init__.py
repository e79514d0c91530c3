"""`tf.profiler`: what runs when."""

from __future__ import annotations

from .._missing import finder as _finder
from . import experimental

__all__ = ["experimental"]

__getattr__ = _finder(__name__)
