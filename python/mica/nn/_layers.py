"""Layers of one kind of array each: dense, convolutions, normalization, embedding, dropout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _mica, random
from .._functions import Padding, conv
from .._index import take
from .._mica import Tensor
from .._tracing import as_array, stage
from . import initializers
from ._module import Module

Array = Any


def _key(key: Any) -> Any:
    return random.next_key() if key is None else key


class Sequential(Module):
    """One part after the other: modules, and functions of one array such as `mica.relu`.

    Examples
    --------
    >>> import mica
    >>> model = mica.nn.Sequential(mica.nn.Linear(3, 4), mica.relu, mica.nn.Linear(4, 2))
    >>> model(mica.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(self, *parts: Callable[[Any], Any]) -> None:
        for part in parts:
            if not callable(part):
                raise TypeError(f"[Sequential] {part!r} is no layer and no function")
        self.parts = list(parts)

    def __call__(self, x: Array) -> Any:
        """The result of the last part."""
        for part in self.parts:
            x = part(x)
        return x


class Linear(Module):
    """``x @ weight + bias``.

    Parameters
    ----------
    inputs, outputs : int
        The sizes of the last axis, before and after.
    bias : bool
    key : u32[2], optional
        Where the weights come from; by default `mica.random.seed`'s sequence.
    dtype : float dtype
    weight : initializer
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bias: bool = True,
        key: Any = None,
        dtype: Any = "f32",
        weight: initializers.Initializer = initializers.glorot_uniform,
    ) -> None:
        self.weight = weight(_key(key), (inputs, outputs), dtype)
        self.bias = initializers.zeros(None, (outputs,), dtype) if bias else None

    def __call__(self, x: Array) -> Tensor:
        """x (..., inputs) -> (..., outputs)."""
        x = as_array(x)
        if x.ndim == 0 or x.shape[-1] != self.weight.shape[0]:
            raise ValueError(
                f"[Linear] x {tuple(x.shape)} needs a last axis of {self.weight.shape[0]}"
            )
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class Conv(Module):
    """A convolution over the axes between the first and the last, and a bias per channel.

    Parameters
    ----------
    inputs, outputs : int
        Channels, the last axis.
    window : int or sequence of int
        The size of the window; its length is the number of axes. An int stands for two axes.
    strides, dilation : int or sequence of int
    padding : "valid", "same" or pairs (low, high)
    groups : int
    bias, key, dtype, weight
        As in `Linear`; the weights are (*window, inputs / groups, outputs).
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        window: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: Padding = "valid",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        key: Any = None,
        dtype: Any = "f32",
        weight: initializers.Initializer = initializers.glorot_uniform,
    ) -> None:
        if groups < 1 or inputs % groups or outputs % groups:
            raise ValueError(
                f"[Conv] {groups} groups do not divide {inputs} and {outputs} channels"
            )
        sizes = (window, window) if isinstance(window, int) else tuple(window)
        self.strides, self.padding, self.dilation = strides, padding, dilation
        self.groups = groups
        self.weight = weight(_key(key), (*sizes, inputs // groups, outputs), dtype)
        self.bias = initializers.zeros(None, (outputs,), dtype) if bias else None

    def __call__(self, x: Array) -> Tensor:
        """x (batch, sizes, inputs) -> (batch, sizes, outputs)."""
        y = conv(
            x,
            self.weight,
            strides=self.strides,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )
        return y if self.bias is None else y + self.bias


class Embedding(Module):
    """Rows of a table by their numbers.

    Parameters
    ----------
    count, size : int
        How many rows there are, and how long one is.
    key, dtype, weight
        As in `Linear`.
    """

    def __init__(
        self,
        count: int,
        size: int,
        key: Any = None,
        dtype: Any = "f32",
        weight: initializers.Initializer | None = None,
    ) -> None:
        weight = initializers.normal(1.0) if weight is None else weight
        self.weight = weight(_key(key), (count, size), dtype)

    def __call__(self, indices: Array) -> Tensor:
        """Integers (...) -> (..., size)."""
        return take(self.weight, indices, 0)


class Dropout(Module):
    """In training, each element is 0 with probability `rate`, else divided by 1 - rate."""

    def __init__(self, rate: float) -> None:
        if not 0 <= rate < 1:
            raise ValueError(f"[Dropout] the rate is {rate}; it is at least 0 and below 1")
        self.rate = rate

    def __call__(self, x: Array) -> Tensor:
        """x, or in training a part of it."""
        if not self.training or self.rate == 0:
            return as_array(x)
        key, stream = self.random_key()
        rate = float(self.rate)
        return stage("dropout", lambda *v: _mica.dropout(v, rate, stream)[0], as_array(x), key)


# ---- normalization -------------------------------------------------------------------------------
class LayerNorm(Module):
    """Over the last axes: mean 0, variance 1, then a scale and an offset for each element.

    Parameters
    ----------
    shape : int or sequence of int
        The sizes of the last axes.
    epsilon : float
        Is added to the variance.
    scale, bias : bool
        Whether there are such parameters.
    dtype : float dtype
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        epsilon: float = 1e-5,
        scale: bool = True,
        bias: bool = True,
        dtype: Any = "f32",
    ) -> None:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        if not sizes:
            raise ValueError("[LayerNorm] normalizes over at least one axis")
        self.shape, self.epsilon = sizes, epsilon
        self.scale = initializers.ones(None, sizes, dtype) if scale else None
        self.bias = initializers.zeros(None, sizes, dtype) if bias else None

    def __call__(self, x: Array) -> Tensor:
        """x (..., *shape) -> the same shape."""
        x = as_array(x)
        n = len(self.shape)
        if tuple(x.shape[-n:]) != self.shape:
            raise ValueError(f"[LayerNorm] x {tuple(x.shape)} does not end with {self.shape}")
        epsilon = float(self.epsilon)

        def staged(*operands: Any) -> Any:
            return _mica.layer_norm(operands, n, epsilon)[0]

        return stage("layer_norm", staged, x, self.scale, self.bias)


class RMSNorm(Module):
    """``x / sqrt(mean(x^2) + epsilon)`` over the last axis, times a scale for each element."""

    def __init__(self, size: int, epsilon: float = 1e-6, dtype: Any = "f32") -> None:
        self.epsilon = epsilon
        self.scale = initializers.ones(None, (size,), dtype)

    def __call__(self, x: Array) -> Tensor:
        """x (..., size) -> the same shape."""
        epsilon = float(self.epsilon)

        def staged(x: Any, scale: Any) -> Any:
            return x * _mica.rsqrt((x * x).mean(-1, True) + epsilon) * scale

        return stage("rms_norm", staged, as_array(x), self.scale)


class GroupNorm(Module):
    """Over groups of channels (the last axis) and all places: mean 0, variance 1.

    Parameters
    ----------
    groups, channels : int
    epsilon : float
    dtype : float dtype
    """

    def __init__(
        self, groups: int, channels: int, epsilon: float = 1e-5, dtype: Any = "f32"
    ) -> None:
        if groups < 1 or channels % groups:
            raise ValueError(f"[GroupNorm] {groups} groups do not divide {channels} channels")
        self.groups, self.epsilon = groups, epsilon
        self.scale = initializers.ones(None, (channels,), dtype)
        self.bias = initializers.zeros(None, (channels,), dtype)

    def __call__(self, x: Array) -> Tensor:
        """x (batch, ..., channels) -> the same shape."""
        x = as_array(x)
        if x.ndim < 2 or x.shape[-1] != self.scale.shape[0]:
            raise ValueError(
                f"[GroupNorm] x {tuple(x.shape)} must be (batch, ..., {self.scale.shape[0]})"
            )
        groups, epsilon = self.groups, float(self.epsilon)
        last = x.ndim - 1
        to_front = (0, last, *range(1, last))
        to_back = (0, *range(2, x.ndim), 1)

        def staged(x: Any, scale: Any, bias: Any) -> Any:
            y = _mica.group_norm((x.transpose(to_front), scale, bias), groups, epsilon)[0]
            return y.transpose(to_back)

        return stage("group_norm", staged, x, self.scale, self.bias)


class BatchNorm(Module):
    """Each channel (the last axis) over the whole batch: mean 0, variance 1, scale and offset.

    In training the batch's own statistics normalize, and enter the moving ones: ``moving =
    momentum * moving + (1 - momentum) * batch``; else the moving ones normalize.

    Parameters
    ----------
    channels : int
    momentum, epsilon : float
    dtype : float dtype
    """

    STATE = frozenset({"mean", "variance"})

    def __init__(
        self, channels: int, momentum: float = 0.9, epsilon: float = 1e-5, dtype: Any = "f32"
    ) -> None:
        self.momentum, self.epsilon = momentum, epsilon
        self.scale = initializers.ones(None, (channels,), dtype)
        self.bias = initializers.zeros(None, (channels,), dtype)
        self.mean = initializers.zeros(None, (channels,), dtype)
        self.variance = initializers.ones(None, (channels,), dtype)

    def __call__(self, x: Array) -> Tensor:
        """x (..., channels) -> the same shape."""
        x = as_array(x)
        if x.ndim < 2 or x.shape[-1] != self.scale.shape[0]:
            raise ValueError(
                f"[BatchNorm] x {tuple(x.shape)} must be (batch, ..., {self.scale.shape[0]})"
            )
        axis, training = x.ndim - 1, self.training
        epsilon, momentum = float(self.epsilon), float(self.momentum)

        def staged(*operands: Any) -> Any:
            return _mica.batch_norm(operands, axis, epsilon, momentum, training)

        results = stage("batch_norm", staged, x, self.mean, self.variance, self.scale, self.bias)
        if training:
            self.mean, self.variance = results[1], results[2]
        return results[0]
