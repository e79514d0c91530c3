"""tf.bitwise."""

from __future__ import annotations

from . import _dispatch
from ._core import ops
from ._missing import finder as _finder

bitwise_and = ops["BitwiseAnd"]
bitwise_or = ops["BitwiseOr"]
bitwise_xor = ops["BitwiseXor"]
invert = ops["Invert"]
left_shift = ops["LeftShift"]
right_shift = ops["RightShift"]

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

_dispatch.offer(globals())

__getattr__ = _finder(__name__)
