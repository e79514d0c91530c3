"""Everyday functions, composed of primitives: they work on tensors and inside traces alike."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from . import _mica
from ._control import custom_gradient
from ._mica import DType, Tensor
from ._tracing import as_array

Axis = int | Sequence[int] | None
Array = Any  # a Tensor, a Traced, or what mica.tensor takes


def _like(value: Any, other: Any) -> Any:
    """An operand beside another: scalars stay, everything else becomes an array."""
    return value if isinstance(value, (bool, int, float)) else as_array(value)


def _beside(x: Any) -> AbstractContextManager:
    """A context in which new arrays go where another one is."""
    return x.device if isinstance(x, Tensor) else nullcontext()


def _float(x: Any, what: str) -> Any:
    x = as_array(x)
    if x.dtype.kind != "float":
        raise TypeError(f"[{what}] needs a float dtype, not {x.dtype}; use astype")
    return x


# ---- making --------------------------------------------------------------------------------------
def full(shape: int | Sequence[int], value: Any, dtype: Any = None) -> Tensor:
    """An array filled with a value.

    Parameters
    ----------
    shape : int or sequence of int
    value : scalar
    dtype : optional
        By default that of the value: bool, i32 or f32 for Python scalars.
    """
    if dtype is None:
        if isinstance(value, bool):
            dtype = _mica.bool
        elif isinstance(value, int):
            dtype = _mica.i32
        else:
            dtype = getattr(value, "dtype", _mica.f32)
    return _mica.full(shape, value, dtype)


def zeros(shape: int | Sequence[int], dtype: Any = "f32") -> Tensor:
    """An array of zeros."""
    return _mica.full(shape, _scalar(0, dtype), dtype)


def ones(shape: int | Sequence[int], dtype: Any = "f32") -> Tensor:
    """An array of ones."""
    return _mica.full(shape, _scalar(1, dtype), dtype)


def _scalar(value: int, dtype: Any) -> int | bool:
    return value != 0 if DType(dtype).kind == "boolean" else value


def zeros_like(x: Array) -> Tensor:
    """Zeros of the shape and dtype of another array."""
    x = as_array(x)
    with _beside(x):
        return zeros(x.shape, x.dtype)


def ones_like(x: Array) -> Tensor:
    """Ones of the shape and dtype of another array."""
    x = as_array(x)
    with _beside(x):
        return ones(x.shape, x.dtype)


def full_like(x: Array, value: Any) -> Tensor:
    """An array filled with a value, of the shape and dtype of another."""
    x = as_array(x)
    with _beside(x):
        return full(x.shape, value, x.dtype)


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tensor:
    """Evenly spaced numbers: start, start + step ... below stop; with one argument, from 0.

    Parameters
    ----------
    start, stop, step : int or float
    dtype : optional
        i32 for integers, else f32.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("[arange] the step is 0")
    if dtype is None:
        whole = builtins.all(isinstance(v, int) for v in (start, stop, step))
        dtype = _mica.i32 if whole else _mica.f32
    count = max(0, math.ceil((stop - start) / step))
    numbers = _mica.iota(shape=(count,), axis=0, dtype=dtype)
    if step != 1:
        numbers = numbers * step
    return numbers + start if start != 0 else numbers


def eye(n: int, dtype: Any = "f32") -> Tensor:
    """The identity matrix."""
    rows = _mica.iota(shape=(n, n), axis=0, dtype="i32")
    return (rows == _mica.iota(shape=(n, n), axis=1, dtype="i32")).astype(dtype)


def one_hot(labels: Array, n: int, dtype: Any = "f32") -> Tensor:
    """A last axis of size n with a 1 at the label and 0 elsewhere (all 0 for labels outside)."""
    labels = as_array(labels)
    with _beside(labels):
        classes = _mica.iota(shape=(*labels.shape, n), axis=labels.ndim, dtype=labels.dtype)
    return (classes == labels.reshape(*labels.shape, 1)).astype(dtype)


# ---- shapes --------------------------------------------------------------------------------------
def stack(arrays: Sequence[Array], axis: int = 0) -> Tensor:
    """Arrays of one shape, joined along a new axis."""
    items = [as_array(a) for a in arrays]
    if not items:
        raise ValueError("[stack] needs at least one array")
    rank = items[0].ndim + 1
    if not -rank <= axis < rank:
        raise ValueError(f"[stack] axis {axis} is out of range for {rank} axes")
    axis %= rank
    shape = items[0].shape
    return _mica.concat(
        [a.reshape(*shape[:axis], 1, *shape[axis:]) if a.shape == shape else a for a in items],
        axis=axis,
    )


def concatenate(arrays: Sequence[Array], axis: int = 0) -> Tensor:
    """Arrays one after the other along an axis."""
    items = [as_array(a) for a in arrays]
    if not items:
        raise ValueError("[concatenate] needs at least one array")
    return _mica.concat(items, axis=axis % items[0].ndim if items[0].ndim else axis)


def expand_dims(x: Array, axis: int) -> Tensor:
    """One more axis of size 1."""
    x = as_array(x)
    rank = x.ndim + 1
    if not -rank <= axis < rank:
        raise ValueError(f"[expand_dims] axis {axis} is out of range for {rank} axes")
    axis %= rank
    return x.reshape(*x.shape[:axis], 1, *x.shape[axis:])


def squeeze(x: Array, axis: Axis = None) -> Tensor:
    """Without axes of size 1: all of them, or those given."""
    x = as_array(x)
    if axis is None:
        axes = [i for i, n in enumerate(x.shape) if n == 1]
    else:
        axes = [a % x.ndim for a in ([axis] if isinstance(axis, int) else axis)]
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"[squeeze] axis {a} has size {x.shape[a]}")
    return x.reshape(tuple(n for i, n in enumerate(x.shape) if i not in axes))


def broadcast_to(x: Array, shape: Sequence[int]) -> Tensor:
    """The array stretched to a shape by numpy's rule."""
    return as_array(x).broadcast_to(shape)


# ---- choosing ------------------------------------------------------------------------------------
def where(condition: Array, x: Any, y: Any) -> Tensor:
    """x where the condition holds, else y, element by element."""
    return _mica.select(as_array(condition), _like(x, y), _like(y, x))


def maximum(x: Any, y: Any) -> Tensor:
    """The larger of two, element by element."""
    return _mica.max(_like(x, y), _like(y, x))


def minimum(x: Any, y: Any) -> Tensor:
    """The smaller of two, element by element."""
    return _mica.min(_like(x, y), _like(y, x))


def clip(x: Array, low: Any, high: Any) -> Tensor:
    """x, but not below low and not above high."""
    return _mica.clamp(as_array(x), low, high)


# ---- reductions ----------------------------------------------------------------------------------
def sum(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The sum over axes, or over all."""
    return as_array(x).sum(axis, keepdims)


def prod(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The product over axes, or over all."""
    return as_array(x).prod(axis, keepdims)


def mean(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The mean over axes, or over all."""
    return as_array(x).mean(axis, keepdims)


def std(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The standard deviation over axes: the root of the variance."""
    return _mica.sqrt(var(x, axis, keepdims))


def var(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """The variance over axes: the mean of the squared distance from the mean."""
    x = as_array(x)
    x = x if x.dtype.kind == "float" else x.astype("f32")
    centred = x - x.mean(axis, True)
    return (centred * centred).mean(axis, keepdims)


def any(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Whether any element over axes is not zero."""
    return as_array(x).any(axis, keepdims)


def all(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Whether no element over axes is zero."""
    return as_array(x).all(axis, keepdims)


def _running(x: Array, kind: str, axis: int | None) -> Tensor:
    x = as_array(x)
    if axis is None:
        x, axis = x.reshape(math.prod(x.shape)), 0
    elif axis < 0:
        axis += x.ndim
    return _mica.cumulative(x, kind=kind, axis=axis, reverse=0, exclusive=0)


def cumsum(x: Array, axis: int | None = None) -> Tensor:
    """The sums up to each element along an axis, or of all elements in row-major order."""
    return _running(x, "sum", axis)


def cumprod(x: Array, axis: int | None = None) -> Tensor:
    """The products up to each element along an axis, or of all elements in row-major order."""
    return _running(x, "prod", axis)


def sort(
    *arrays: Array, axis: int = -1, keys: int = 1, descending: builtins.bool = False
) -> Tensor | tuple[Tensor, ...]:
    """Arrays of one shape sorted together along an axis; one array gives one array.

    Equals keep their order, descending too. NaN is above all numbers, -0 equals +0, complex numbers
    go by their real and then by their imaginary parts.

    Parameters
    ----------
    *arrays : array
    axis : int, optional
    keys : int, optional
        How many of the arrays decide: the first one, among equals the second, and so on.
    descending : bool, optional

    Examples
    --------
    >>> import mica
    >>> mica.sort([3.0, 1.0, 2.0]).tolist()
    [1.0, 2.0, 3.0]
    >>> [x.tolist() for x in mica.sort([2, 1, 2], [7, 8, 9], descending=True)]
    [[2, 2, 1], [7, 9, 8]]
    """
    if not arrays:
        raise TypeError("[sort] needs at least one array")
    operands = [as_array(x) for x in arrays]
    axis += operands[0].ndim if axis < 0 else 0
    out = _mica.sort(*operands, axis=axis, keys=keys, descending=int(descending))
    return out[0] if len(operands) == 1 else out


def argsort(x: Array, axis: int = -1, descending: builtins.bool = False) -> Tensor:
    """The indices (i32) that sort an array along an axis, in the order of `sort`.

    Examples
    --------
    >>> import mica
    >>> mica.argsort([3.0, 1.0, 2.0]).tolist()
    [1, 2, 0]
    """
    x = as_array(x)
    axis += x.ndim if axis < 0 else 0
    with _beside(x):
        places = _mica.iota(shape=x.shape, axis=axis, dtype=_mica.i32)
    return _mica.sort(x, places, axis=axis, keys=1, descending=int(descending))[1]


def logsumexp(x: Array, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """ln of the sum of e^x over axes, computed without overflow."""
    x = _float(x, "logsumexp")
    top = _stop_infinite(x.max(axis, True))
    total = _mica.log(_mica.exp(x - top).sum(axis, True)) + top
    return total if keepdims else total.reshape(x.max(axis).shape)


def _stop_infinite(top: Any) -> Any:
    return where(_mica.is_finite(top), top, zeros_like(top))


# ---- neural networks -----------------------------------------------------------------------------
def relu(x: Array) -> Tensor:
    """max(x, 0)."""
    return _mica.max(as_array(x), 0)


def sigmoid(x: Array) -> Tensor:
    """1 / (1 + e^-x)."""
    return _mica.logistic(_float(x, "sigmoid"))


def softplus(x: Array) -> Tensor:
    """ln(1 + e^x), computed without overflow."""
    x = _float(x, "softplus")
    return relu(x) + _mica.log1p(_mica.exp(-abs(x)))


def silu(x: Array) -> Tensor:
    """x / (1 + e^-x)."""
    x = _float(x, "silu")
    return x * _mica.logistic(x)


def gelu(x: Array) -> Tensor:
    """x times the normal distribution function of x."""
    x = _float(x, "gelu")
    return x * 0.5 * (_mica.erf(x * math.sqrt(0.5)) + 1)


def softmax(x: Array, axis: int = -1) -> Tensor:
    """e^x over its sum along an axis, computed without overflow."""
    x = _float(x, "softmax")
    powers = _mica.exp(x - x.max(axis, True))
    total = powers.sum(axis, True)
    # One division for all; f16 and bf16, where a rounding more would show, are divided.
    return powers * (1 / total) if x.dtype in (_mica.f32, _mica.f64) else powers / total


def log_softmax(x: Array, axis: int = -1) -> Tensor:
    """ln of softmax along an axis, computed without overflow."""
    x = _float(x, "log_softmax")
    shifted = x - x.max(axis, True)
    return shifted - _mica.log(_mica.exp(shifted).sum(axis, True))


Padding = str | Sequence[tuple[int, int]]


def _each(value: int | Sequence[int], n: int, what: str, name: str) -> tuple[int, ...]:
    """One number per spatial axis."""
    numbers = (value,) * n if isinstance(value, int) else tuple(value)
    if len(numbers) != n or builtins.any(number < 1 for number in numbers):
        raise ValueError(f"[{what}] {name} {numbers} must have {n} entries above 0")
    return numbers


def _pads(
    padding: Padding, sizes: Sequence[int], widths: Sequence[int], steps: Sequence[int], what: str
) -> list[tuple[int, int]]:
    """What lies before and behind each spatial axis, for windows of these widths."""
    if padding == "valid":
        return [(0, 0)] * len(sizes)
    if padding == "same":
        totals = [
            builtins.max(0, (-(-size // step) - 1) * step + width - size)
            for size, width, step in zip(sizes, widths, steps, strict=True)
        ]
        return [(total // 2, total - total // 2) for total in totals]
    if isinstance(padding, str):
        raise ValueError(f"[{what}] padding '{padding}' is neither valid nor same")
    pads = [tuple(pair) for pair in padding]
    if len(pads) != len(sizes) or builtins.any(len(pair) != 2 for pair in pads):
        raise ValueError(f"[{what}] padding {pads} must be {len(sizes)} pairs")
    return pads


def conv(
    x: Array,
    kernel: Array,
    *,
    strides: int | Sequence[int] = 1,
    padding: Padding | None = None,
    dilation: int | Sequence[int] | None = None,
    groups: int = 1,
    layout: str | None = None,
    low: Sequence[int] | None = None,
    high: Sequence[int] | None = None,
    lhs_dilation: int | Sequence[int] = 1,
    rhs_dilation: int | Sequence[int] | None = None,
    batch_groups: int = 1,
) -> Tensor:
    """The convolution (as correlation) of images with a kernel.

    Parameters
    ----------
    x : array
        By default (batch, sizes, channels), with one to three sizes.
    kernel : array
        By default (window, channels / groups, results).
    strides, dilation : int or sequence of int
        One per size; dilation is the distance between the kernel's elements, also `rhs_dilation`.
    padding : "valid", "same" or pairs (low, high)
        By default "valid"; `low` and `high` give the same as two sequences.
    groups : int
    layout : str, optional
        Names the axes of x, the kernel and the result, such as 'N01C,01IO,N01C'.
    lhs_dilation : int or sequence of int
        The distance between the elements of x, with zeros between them.
    batch_groups : int
        The groups of the batch, for gradients of grouped convolutions.

    Examples
    --------
    >>> import mica
    >>> mica.conv(mica.ones((1, 5, 5, 3)), mica.ones((3, 3, 3, 8)), padding="same").shape
    (1, 5, 5, 8)
    """
    x, kernel = as_array(x), as_array(kernel)
    n = x.ndim - 2
    if not 1 <= n <= 3 or kernel.ndim != x.ndim:
        raise ValueError(
            f"[conv] x {tuple(x.shape)} and kernel {tuple(kernel.shape)} need the same 3 to 5 axes"
        )
    places = "012"[:n]
    layout = layout or f"N{places}C,{places}IO,N{places}C"
    parts = layout.split(",")
    if len(parts) != 3:
        raise ValueError(f"[conv] layout '{layout}' must name the axes of x, kernel and result")
    if dilation is not None and rhs_dilation is not None:
        raise TypeError("[conv] dilation and rhs_dilation are the same; give one")
    gaps = dilation if rhs_dilation is None else rhs_dilation
    gaps = _each(1 if gaps is None else gaps, n, "conv", "dilation")
    steps = _each(strides, n, "conv", "strides")
    spread = _each(lhs_dilation, n, "conv", "lhs_dilation")
    if (low is None) != (high is None) or (low is not None and padding is not None):
        raise TypeError("[conv] give padding, or both low and high")
    if low is None:
        try:
            sizes = [
                (x.shape[parts[0].index(p)] - 1) * d + 1
                for p, d in zip(places, spread, strict=True)
            ]
            widths = [
                (kernel.shape[parts[1].index(p)] - 1) * d + 1
                for p, d in zip(places, gaps, strict=True)
            ]
        except (ValueError, IndexError):
            raise ValueError(f"[conv] layout '{layout}' lacks an axis of {places}") from None
        pads = _pads("valid" if padding is None else padding, sizes, widths, steps, "conv")
        low, high = [a for a, _ in pads], [b for _, b in pads]
    return _mica.conv(
        x,
        kernel,
        layout=layout,
        strides=steps,
        low=tuple(low),
        high=tuple(high),
        lhs_dilation=spread,
        rhs_dilation=gaps,
        groups=groups,
        batch_groups=batch_groups,
    )


def _pool(
    x: Any,
    what: str,
    kind: str,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None,
    padding: Padding,
) -> Any:
    """reduce_window over the axes between the first and the last."""
    n = x.ndim - 2
    if n < 1:
        raise ValueError(f"[{what}] needs (batch, sizes, channels), not {tuple(x.shape)}")
    windows = _each(window, n, what, "window")
    steps = windows if strides is None else _each(strides, n, what, "strides")
    pads = _pads(padding, x.shape[1:-1], windows, steps, what)
    ones = (1,) * (n + 2)
    return _mica.reduce_window(
        x,
        kind=kind,
        window=(1, *windows, 1),
        strides=(1, *steps, 1),
        low=(0, *(low for low, _ in pads), 0),
        high=(0, *(high for _, high in pads), 0),
        base_dilation=ones,
        window_dilation=ones,
    )


def max_pool(
    x: Array,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: Padding = "valid",
) -> Tensor:
    """The largest elements of windows.

    Parameters
    ----------
    x : array
        Of shape (batch, sizes, channels), with any number of sizes.
    window, strides : int or sequence of int
        One per size. By default windows lie side by side.
    padding : "valid", "same" or pairs (low, high)
        "same" gives ceil(size / stride) results. Padding is never the largest.
    """
    return _pool(as_array(x), "max_pool", "max", window, strides, padding)


def avg_pool(
    x: Array,
    window: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: Padding = "valid",
) -> Tensor:
    """The means of windows. As `max_pool`; padding does not count as elements."""
    x = _float(x, "avg_pool")
    total = _pool(x, "avg_pool", "sum", window, strides, padding)
    return total / _pool(ones_like(x), "avg_pool", "sum", window, strides, padding)


def stop_gradient(x: Array) -> Tensor:
    """The same value, constant for derivatives."""
    return custom_gradient(lambda v: v, lambda arguments, result, cotangent: (None,))(x)
