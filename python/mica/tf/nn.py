"""tf.nn."""

from __future__ import annotations

from ._core import ops
from ._math import sigmoid, tanh

relu = ops["Relu"]

__all__ = ["relu", "sigmoid", "tanh"]
