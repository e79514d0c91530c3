"""`tf.tpu`: TPUs, on a machine that has none."""

from . import experimental

__all__ = ["experimental"]
