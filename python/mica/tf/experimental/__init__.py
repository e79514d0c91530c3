"""`tf.experimental`."""

from ..data._iterator import Optional
from . import dtensor

__all__ = ["Optional", "dtensor"]
