"""First values of variables: `tf.initializers`, `tf.zeros_initializer` and their like.

An initializer is called with a shape, and perhaps a dtype, and gives a tensor.
"""

from __future__ import annotations

import math as _math

from . import _dtypes
from . import random as _random
from ._composite import is_tensor
from ._core import convert_to_tensor, ops
from ._shapes import as_shape


class Initializer:
    """The base of initializers."""

    def __call__(self, shape, dtype=None, **kwargs):
        """A tensor of the shape."""
        raise NotImplementedError

    def get_config(self) -> dict:
        """The arguments that make another one like this."""
        return {name.lstrip("_"): value for name, value in vars(self).items()}

    @classmethod
    def from_config(cls, config: dict) -> Initializer:
        """An initializer of such arguments."""
        return cls(**{k: v for k, v in config.items() if k != "dtype"})


def _sizes(shape) -> list:
    return shape if is_tensor(shape) else [int(size) for size in as_shape(shape)]


def _count(shape) -> int:
    return _math.prod(_sizes(shape))


def _part(shape, kwargs: dict):
    """The shape that is made: that of one part of the variable, where a part is asked for."""
    for name in kwargs:
        if name not in ("partition_shape", "partition_offset"):
            raise TypeError(
                "Keyword argument should be one of ['partition_shape', 'partition_offset']. "
                f"Received: {name}"
            )
    return kwargs.get("partition_shape", shape)


def _filled(value, shape, dtype):
    dims = convert_to_tensor(_sizes(shape), _dtypes.int32)
    return ops["Fill"](dims, convert_to_tensor(value, dtype))


class Zeros(Initializer):
    """All zeros."""

    def __call__(self, shape, dtype=_dtypes.float32, **kwargs):
        """Zeros of the shape."""
        shape = _part(shape, kwargs)
        dtype = _dtypes.as_dtype(dtype or _dtypes.float32)
        return _filled(False if dtype == _dtypes.bool else 0, shape, dtype)


class Ones(Initializer):
    """All ones."""

    def __call__(self, shape, dtype=_dtypes.float32, **kwargs):
        """Ones of the shape."""
        shape = _part(shape, kwargs)
        dtype = _dtypes.as_dtype(dtype or _dtypes.float32)
        return _filled(True if dtype == _dtypes.bool else 1, shape, dtype)


class Constant(Initializer):
    """One value everywhere, or the given values in the given order."""

    def __init__(self, value=0, support_partition=False) -> None:
        self._value = value
        self._takes_parts = support_partition

    def __call__(self, shape, dtype=None, **kwargs):
        """The values in the shape."""
        if kwargs:
            part = _part(shape, kwargs)
            if not self._takes_parts:
                raise ValueError("Constant initializer doesn't support partition-related arguments")
            shape = part
        value = convert_to_tensor(self._value, None if dtype is None else _dtypes.as_dtype(dtype))
        dims = convert_to_tensor(_sizes(shape), _dtypes.int32)
        if value.shape.rank == 0:
            return ops["Fill"](dims, value)
        if not is_tensor(shape) and value.shape.num_elements() not in (None, _count(shape)):
            raise TypeError(
                f"{value.shape.num_elements()} values were given for the shape {tuple(shape)}, "
                f"which takes {_count(shape)}"
            )
        return ops["Reshape"](value, dims)


def _draw(what: str, seed, shape, first, second, dtype):
    """Return random numbers; with a seed always the same ones."""
    sizes = _sizes(shape)
    if seed is None:
        return getattr(_random, what)(sizes, first, second, dtype)
    return getattr(_random, f"stateless_{what}")(sizes, [seed, 0], first, second, dtype)


def _number(dtype, integers: bool = False) -> _dtypes.DType:
    dtype = _dtypes.as_dtype(dtype or _dtypes.float32)
    if not dtype.is_floating and not (integers and dtype.is_integer):
        kinds = "float or integer" if integers else "float"
        raise ValueError(f"Argument `dtype` expected to be numeric ({kinds}). Received {dtype}.")
    return dtype


class RandomUniform(Initializer):
    """Numbers drawn evenly between two bounds."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None) -> None:
        self._minval, self._maxval, self._seed = minval, maxval, seed

    def __call__(self, shape, dtype=_dtypes.float32, **kwargs):
        """Numbers in the shape."""
        shape = _part(shape, kwargs)
        dtype = _number(dtype, integers=True)
        return _draw("uniform", self._seed, shape, self._minval, self._maxval, dtype)


class RandomNormal(Initializer):
    """Normally distributed numbers."""

    _kind = "normal"

    def __init__(self, mean=0.0, stddev=0.05, seed=None) -> None:
        self._mean, self._stddev, self._seed = mean, stddev, seed

    def __call__(self, shape, dtype=_dtypes.float32, **kwargs):
        """Numbers in the shape."""
        shape = _part(shape, kwargs)
        return _draw(self._kind, self._seed, shape, self._mean, self._stddev, _number(dtype))


class TruncatedNormal(RandomNormal):
    """Normally distributed numbers, those beyond two standard deviations drawn again."""

    _kind = "truncated_normal"


class VarianceScaling(Initializer):
    """Numbers whose variance goes with the size of the weights."""

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None):
        if scale <= 0.0:
            raise ValueError(f"`scale` must be a positive float, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        self._scale, self._mode, self._distribution, self._seed = scale, mode, distribution, seed

    def __call__(self, shape, dtype=_dtypes.float32, **kwargs):
        """Numbers in the shape."""
        fan_in, fan_out = _fans(_sizes(shape))
        sizes = _sizes(_part(shape, kwargs))
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self._mode]
        scale = self._scale / max(1.0, fan)
        dtype = _number(dtype)
        if self._distribution == "uniform":
            limit = _math.sqrt(3.0 * scale)
            return _draw("uniform", self._seed, sizes, -limit, limit, dtype)
        if self._distribution == "untruncated_normal":
            return _draw("normal", self._seed, sizes, 0.0, _math.sqrt(scale), dtype)
        # The standard deviation of a normal distribution cut at two.
        deviation = _math.sqrt(scale) / 0.87962566103423978
        return _draw("truncated_normal", self._seed, sizes, 0.0, deviation, dtype)


def _fans(sizes: list) -> tuple[float, float]:
    if not sizes:
        return 1, 1
    if len(sizes) == 1:
        return sizes[0], sizes[0]
    field = _math.prod(sizes[:-2])
    return sizes[-2] * field, sizes[-1] * field


def _scaling(name: str, scale: float, mode: str, distribution: str) -> type:
    def __init__(self, seed=None) -> None:
        VarianceScaling.__init__(self, scale, mode, distribution, seed)

    return type(name, (VarianceScaling,), {"__init__": __init__, "__doc__": f"{name}."})


GlorotUniform = glorot_uniform = _scaling("GlorotUniform", 1.0, "fan_avg", "uniform")
GlorotNormal = glorot_normal = _scaling("GlorotNormal", 1.0, "fan_avg", "truncated_normal")
HeUniform = he_uniform = _scaling("HeUniform", 2.0, "fan_in", "uniform")
HeNormal = he_normal = _scaling("HeNormal", 2.0, "fan_in", "truncated_normal")
LecunUniform = lecun_uniform = _scaling("LecunUniform", 1.0, "fan_in", "uniform")
LecunNormal = lecun_normal = _scaling("LecunNormal", 1.0, "fan_in", "truncated_normal")
zeros, ones, constant = Zeros, Ones, Constant
random_uniform, random_normal, truncated_normal = RandomUniform, RandomNormal, TruncatedNormal
variance_scaling = VarianceScaling
