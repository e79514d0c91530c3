"""`tf.tpu`: TPUs, on a machine that has none."""

from .._missing import finder as _finder
from . import experimental

__all__ = ["experimental"]

__getattr__ = _finder(__name__)
