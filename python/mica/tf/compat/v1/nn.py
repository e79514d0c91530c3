"""`tf.compat.v1.nn`: what TensorFlow 1 has beside `tf.nn`."""

from __future__ import annotations

from ... import nn as _nn
from ..._core import convert_to_tensor as _convert
from ..._core import ops as _ops
from ..._missing import missing as _missing_name

__all__ = ["relu_layer", "xw_plus_b"]


def xw_plus_b(x, weights, biases, name=None):
    """Return x times a matrix plus a vector."""
    x = _convert(x)
    product = _ops["MatMul"](x, _convert(weights, x.dtype))
    return _ops["BiasAdd"](product, _convert(biases, x.dtype), name=name)


def relu_layer(x, weights, biases, name=None):
    """Return what is positive of x times a matrix plus a vector, and zero of the rest."""
    return _ops["Relu"](xw_plus_b(x, weights, biases), name=name)


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_nn, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)
