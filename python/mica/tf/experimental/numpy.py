"""`tf.experimental.numpy`: the few of its names that stand for more than numpy's own."""

from __future__ import annotations

import builtins as _builtins

import numpy as _np

from .. import _dtypes
from .._core import Tensor, convert_to_tensor, ops
from .._missing import finder as _finder


def finfo(dtype):
    """Return numpy's limits of a floating dtype.

    Examples
    --------
    >>> import mica.tf as tf
    >>> tf.experimental.numpy.finfo(tf.float32).bits
    32
    """
    return _np.finfo(_dtypes.as_dtype(dtype).as_numpy_dtype)


def iinfo(type):
    """Return numpy's limits of an integer dtype."""
    return _np.iinfo(_dtypes.as_dtype(type).as_numpy_dtype)


def _common_dtype(values) -> _dtypes.DType:
    """The dtype that numpy finds for these; Python's numbers follow the others."""
    parts = [
        value
        if isinstance(value, _builtins.bool | _builtins.int | _builtins.float | _builtins.complex)
        else convert_to_tensor(value).dtype.as_numpy_dtype
        for value in values
    ]
    return _dtypes.as_dtype(_np.result_type(*parts))


def select(condlist, choicelist, default=0):
    """Return from each place the choice of the first condition that is true there, or default.

    Examples
    --------
    >>> import mica.tf as tf
    >>> tf.experimental.numpy.select([[True, False]], [[1, 2]], 7).numpy().tolist()
    [1, 7]
    """
    condlist, choicelist = list(condlist), list(choicelist)
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must be same length as choicelist: {len(condlist)} vs {len(choicelist)}"
        )
    if not condlist:
        raise ValueError("condlist must be non-empty")
    dtype = _common_dtype([default, *choicelist])

    def as_common(value):
        if isinstance(value, Tensor) or hasattr(_builtins.type(value), "__tf_tensor__"):
            value = convert_to_tensor(value)
            return value if value.dtype == dtype else ops["Cast"](value, DstT=dtype)
        return convert_to_tensor(_np.asarray(value, dtype.as_numpy_dtype))

    found = as_common(default)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        condition = convert_to_tensor(condition)
        if condition.dtype != _dtypes.bool:
            condition = ops["Cast"](condition, DstT=_dtypes.bool)
        found = ops["SelectV2"](condition, as_common(choice), found)
    return found


__all__ = ["finfo", "iinfo", "select"]

__getattr__ = _finder(__name__)
