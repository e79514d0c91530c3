"""`tf.compat.v1.math`: functions whose arguments TensorFlow 1 orders or names otherwise.

The rest is `tf.math`.
"""

from __future__ import annotations

from ... import _dtypes
from ... import math as _math
from ..._missing import missing as _missing_name
from ._arguments import either as _either
from ._arguments import needed as _needed
from ._older import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from .nn import in_top_k, log_softmax, softmax

__all__ = [
    "argmax",
    "argmin",
    "bincount",
    "confusion_matrix",
    "count_nonzero",
    "in_top_k",
    "log_softmax",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "softmax",
]


def argmax(input, axis=None, name=None, dimension=None, output_type=_dtypes.int64):
    """Return the place of the largest element along an axis."""
    axis = _either("axis", axis, "dimension", dimension)
    return _math.argmax(input, 0 if axis is None else axis, output_type, name)


def argmin(input, axis=None, name=None, dimension=None, output_type=_dtypes.int64):
    """Return the place of the smallest element along an axis."""
    axis = _either("axis", axis, "dimension", dimension)
    return _math.argmin(input, 0 if axis is None else axis, output_type, name)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=_dtypes.int32):
    """Return how often each whole number occurs."""
    return _math.bincount(arr, weights, minlength, maxlength, dtype)


def confusion_matrix(
    labels, predictions, num_classes=None, dtype=_dtypes.int32, name=None, weights=None
):
    """Return how often each label was predicted as each."""
    return _math.confusion_matrix(labels, predictions, num_classes, weights, dtype, name)


def count_nonzero(
    input_tensor=None,
    axis=None,
    keepdims=None,
    dtype=_dtypes.int64,
    name=None,
    reduction_indices=None,
    keep_dims=None,
    input=None,
):
    """Return how many elements are not 0, over axes."""
    keep = _either("keepdims", keepdims, "keep_dims", keep_dims)
    value = _either("input", input, "input_tensor", input_tensor)
    axis = _either("axis", axis, "reduction_indices", reduction_indices)
    _needed("count_nonzero", input=value)
    return _math.count_nonzero(value, axis, keep, dtype, name)


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_math, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in dir(_math) if not n.startswith("_"))})
