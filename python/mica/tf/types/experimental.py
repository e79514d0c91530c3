"""`tf.types.experimental`: names for annotations, and the base of what functions are traced by."""

from __future__ import annotations

from typing import Any

import numpy as _np

from .._core import Tensor
from .._function import ConcreteFunction, Function
from .._missing import finder as _finder
from .._specs import TraceType

# What becomes a tensor where one is asked for.
TensorLike = Tensor | int | float | bool | str | bytes | complex | tuple | list | _np.ndarray | Any

# What tf.function returns, and what a saved model has of it.
PolymorphicFunction = GenericFunction = Function

__all__ = [
    "ConcreteFunction",
    "GenericFunction",
    "PolymorphicFunction",
    "TensorLike",
    "TraceType",
]

__getattr__ = _finder(__name__)
