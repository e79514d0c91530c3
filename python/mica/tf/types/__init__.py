"""`tf.types`."""

from . import experimental

__all__ = ["experimental"]
