"""`tf.compat.v1.initializers`: first values, with their dtype where TensorFlow 1 says it."""

from __future__ import annotations

import numpy as _np

from ... import _dtypes
from ... import initializers as _initializers
from ..._missing import finder as _finder
from ._variables import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
    variables_initializer,
)


class _Typed:
    """An initializer whose dtype is that of its making, where a call asks for none."""

    dtype = _dtypes.float32

    def __call__(self, shape, dtype=None, partition_info=None, **kwargs):
        """The values in the shape; of a part of a variable, as of a whole one."""
        return super().__call__(shape, dtype=dtype or self.dtype, **kwargs)


class zeros(_Typed, _initializers.Zeros):
    """As tf.initializers.zeros."""

    def __init__(self, dtype=_dtypes.float32) -> None:
        super().__init__()
        self.dtype = _dtypes.as_dtype(dtype)


class ones(_Typed, _initializers.Ones):
    """As tf.initializers.ones."""

    def __init__(self, dtype=_dtypes.float32) -> None:
        super().__init__()
        self.dtype = _dtypes.as_dtype(dtype)


class constant(_Typed, _initializers.Constant):
    """As tf.initializers.constant; with verify_shape the values have the shape already."""

    def __init__(self, value=0, dtype=_dtypes.float32, verify_shape=False) -> None:
        super().__init__(value)
        self.dtype = _dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        """The values in the shape; of a part of a variable, as of a whole one."""
        verify = self._verify_shape if verify_shape is None else verify_shape
        found = _np.shape(self._value)
        if verify and tuple(found) != tuple(shape):
            raise TypeError(f"Expected values of the shape {tuple(shape)}, but got {found}.")
        return super().__call__(shape, dtype)


class random_uniform(_Typed, _initializers.RandomUniform):
    """Evenly distributed numbers; up to 1 where no upper bound is given."""

    def __init__(self, minval=0.0, maxval=None, seed=None, dtype=_dtypes.float32) -> None:
        self.dtype = _dtypes.as_dtype(dtype)
        if maxval is None:
            if self.dtype.is_integer:
                raise ValueError("random_uniform of an integer dtype needs maxval")
            maxval = 1.0
        super().__init__(minval, maxval, seed)


class random_normal(_Typed, _initializers.RandomNormal):
    """Normally distributed numbers."""

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=_dtypes.float32) -> None:
        super().__init__(mean, stddev, seed)
        self.dtype = _dtypes.as_dtype(dtype)


class truncated_normal(_Typed, _initializers.TruncatedNormal):
    """Normally distributed numbers, those beyond two standard deviations drawn anew."""

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=_dtypes.float32) -> None:
        super().__init__(mean, stddev, seed)
        self.dtype = _dtypes.as_dtype(dtype)


class variance_scaling(_Typed, _initializers.VarianceScaling):
    """As tf.initializers.variance_scaling."""

    def __init__(
        self,
        scale=1.0,
        mode="fan_in",
        distribution="truncated_normal",
        seed=None,
        dtype=_dtypes.float32,
    ) -> None:
        chosen = "truncated_normal" if distribution == "normal" else distribution
        super().__init__(scale, mode, chosen, seed)
        self.dtype = _dtypes.as_dtype(dtype)


class glorot_uniform(_Typed, _initializers.GlorotUniform):
    """As tf.initializers.glorot_uniform."""

    def __init__(self, seed=None, dtype=_dtypes.float32) -> None:
        super().__init__(seed)
        self.dtype = _dtypes.as_dtype(dtype)


class glorot_normal(_Typed, _initializers.GlorotNormal):
    """As tf.initializers.glorot_normal."""

    def __init__(self, seed=None, dtype=_dtypes.float32) -> None:
        super().__init__(seed)
        self.dtype = _dtypes.as_dtype(dtype)


he_uniform = _initializers.HeUniform
he_normal = _initializers.HeNormal
lecun_uniform = _initializers.LecunUniform
lecun_normal = _initializers.LecunNormal
global_variables, local_variables = global_variables_initializer, local_variables_initializer
variables = variables_initializer
del global_variables_initializer, local_variables_initializer, variables_initializer

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "variables",
    "variance_scaling",
    "zeros",
]

__getattr__ = _finder(__name__)
