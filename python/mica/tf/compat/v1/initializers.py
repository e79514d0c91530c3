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


def _typed(name: str, base: type, arguments: tuple) -> type:
    """An initializer whose dtype is that of its making, where a call asks for none."""

    def __init__(self, *args, **kwargs) -> None:
        given = dict(zip((*arguments, "dtype"), args, strict=False), **kwargs)
        if "distribution" in given and given["distribution"] == "normal":
            given["distribution"] = "truncated_normal"
        self.dtype = _dtypes.as_dtype(given.pop("dtype", None) or _dtypes.float32)
        base.__init__(self, **given)

    def __call__(self, shape, dtype=None, **kwargs):
        kwargs.pop("partition_info", None)
        return base.__call__(self, shape, dtype=dtype or self.dtype, **kwargs)

    members = {"__init__": __init__, "__call__": __call__, "__doc__": f"As tf.initializers.{name}."}
    return type(name, (base,), members)


zeros = _typed("zeros", _initializers.Zeros, ())
ones = _typed("ones", _initializers.Ones, ())
_Constant = _typed("constant", _initializers.Constant, ("value",))


class constant(_Constant):
    """As tf.initializers.constant; with verify_shape the values have the shape already."""

    def __init__(self, value=0, dtype=None, verify_shape=False) -> None:
        super().__init__(value, dtype=dtype)
        self._verify_shape = verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        """The values in the shape; of a part of a variable, as of a whole one."""
        verify = self._verify_shape if verify_shape is None else verify_shape
        found = _np.shape(self._value)
        if verify and tuple(found) != tuple(shape):
            raise TypeError(f"Expected values of the shape {tuple(shape)}, but got {found}.")
        return super().__call__(shape, dtype, partition_info=partition_info)


random_uniform = _typed("random_uniform", _initializers.RandomUniform, ("minval", "maxval", "seed"))
random_normal = _typed("random_normal", _initializers.RandomNormal, ("mean", "stddev", "seed"))
truncated_normal = _typed(
    "truncated_normal", _initializers.TruncatedNormal, ("mean", "stddev", "seed")
)
variance_scaling = _typed(
    "variance_scaling",
    _initializers.VarianceScaling,
    ("scale", "mode", "distribution", "seed"),
)
glorot_uniform = _typed("glorot_uniform", _initializers.GlorotUniform, ("seed",))
glorot_normal = _typed("glorot_normal", _initializers.GlorotNormal, ("seed",))
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
