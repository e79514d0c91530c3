"""`tf.compat.v1.initializers`: first values, with their dtype where TensorFlow 1 says it."""

from __future__ import annotations

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
        given.pop("verify_shape", None)
        self.dtype = _dtypes.as_dtype(given.pop("dtype", None) or _dtypes.float32)
        base.__init__(self, **given)

    def __call__(self, shape, dtype=None, **kwargs):
        kwargs.pop("partition_info", None)
        return base.__call__(self, shape, dtype=dtype or self.dtype, **kwargs)

    members = {"__init__": __init__, "__call__": __call__, "__doc__": f"As tf.initializers.{name}."}
    return type(name, (base,), members)


zeros = _typed("zeros", _initializers.Zeros, ())
ones = _typed("ones", _initializers.Ones, ())
constant = _typed("constant", _initializers.Constant, ("value",))
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
