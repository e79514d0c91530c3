"""Discrete Fourier transforms, as `numpy.fft` names them, with derivatives of any order.

Lengths may be any number, and transforms of f32 or c64 arrays stay in single precision; integers
and halves become f32. The primitive behind all of them is `transform`.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from . import _mica
from ._functions import Array, concatenate, zeros
from ._mica import DType, Tensor
from ._tracing import as_array

_COMPLEX = {"f32": "c64", "f64": "c128", "c64": "c64", "c128": "c128"}
_REAL = {"f32": "f32", "f64": "f64"}


# The primitive: transform(x, kind=..., lengths=...) over the last one to three axes.
transform = _mica.fft


def _as_dtype(x: Any, table: dict[str, str], what: str) -> Any:
    dtype = DType(x.dtype)
    if dtype.kind == "complex" and table is _REAL:
        raise TypeError(f"[{what}] takes real numbers, not {x.dtype}{list(x.shape)}")
    wanted = table.get(str(dtype), table["f32"])
    return x if str(dtype) == wanted else _mica.convert(x, dtype=wanted)


def _axes(x: Any, s: Any, axes: Any, what: str) -> tuple[int, ...]:
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = tuple(axes)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"[{what}] lengths {tuple(s)} and axes {axes} are not as many")
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"[{what}] axis {axis} is out of range for {tuple(x.shape)}")
    axes = tuple(axis % x.ndim for axis in axes)
    if not axes or len(set(axes)) != len(axes):
        raise ValueError(f"[{what}] axes {axes} must be different, and at least one")
    return axes


def _resized(x: Any, axis: int, size: int) -> Any:
    """Cut, or continued by zeros, to a size."""
    shape = list(x.shape)
    if size < shape[axis]:
        limit = [size if i == axis else n for i, n in enumerate(shape)]
        start, stride = [0] * len(shape), [1] * len(shape)
        return _mica.slice(x, start=start, limit=limit, stride=stride)
    if size > shape[axis]:
        shape[axis] = size - shape[axis]
        return concatenate([x, zeros(shape, x.dtype)], axis=axis)
    return x


def _to_the_end(x: Any, axes: Sequence[int]) -> tuple[Any, list[int]]:
    """The axes moved to the end, in order, and the permutation that moves them back."""
    order = [axis for axis in range(x.ndim) if axis not in axes] + list(axes)
    back = [order.index(axis) for axis in range(x.ndim)]
    if order == list(range(x.ndim)):
        return x, back
    return _mica.transpose(x, permutation=order), back


def _over(x: Any, kind: str, axes: Sequence[int], lengths: Sequence[int]) -> Any:
    """One primitive, over at most three axes."""
    moved, back = _to_the_end(x, axes)
    y = transform(moved, kind=kind, lengths=tuple(lengths))
    return y if back == list(range(x.ndim)) else _mica.transpose(y, permutation=back)


_TWINS = {"rfft": "fft", "irfft": "ifft", "fft": "fft", "ifft": "ifft"}


def _run(x: Any, kind: str, s: Any, axes: Any, norm: str | None, what: str) -> Any:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"[{what}] norm {norm!r} is none of backward, ortho, forward")
    x = as_array(x)
    x = _as_dtype(x, _REAL if kind == "rfft" else _COMPLEX, what)
    axes = _axes(x, s, axes, what)
    sizes = [x.shape[axis] for axis in axes]
    if kind == "irfft":
        sizes[-1] = 2 * (sizes[-1] - 1)
    lengths = sizes if s is None else [n if n != -1 else m for n, m in zip(s, sizes, strict=True)]
    if min(lengths) < 1:
        raise ValueError(f"[{what}] lengths {tuple(lengths)} must be at least 1")
    for axis, length in zip(axes, lengths, strict=True):
        half = kind == "irfft" and axis == axes[-1]
        x = _resized(x, axis, length // 2 + 1 if half else length)
    # The last axes go with the kind itself; others before (to real) or after it.
    split = max(0, len(axes) - 3)
    rest = [(axes[i : i + 3], lengths[i : i + 3]) for i in range(0, split, 3)]
    rest = [(a[: split - 3 * i], n[: split - 3 * i]) for i, (a, n) in enumerate(rest)]
    if kind == "irfft":
        for a, n in rest:
            x = _over(x, "ifft", a, n)
    x = _over(x, kind, axes[split:], lengths[split:])
    if kind != "irfft":
        for a, n in rest:
            x = _over(x, _TWINS[kind], a, n)
    return _normalized(x, kind[0] == "i", math.prod(lengths), norm)


def _normalized(x: Any, inverse: builtins.bool, n: int, norm: str | None) -> Any:
    power = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}[norm]
    if not power:
        return x
    return x * n**power if inverse else x * (1 / n**power)


def fft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform along one axis.

    Parameters
    ----------
    a : array
    n : int, optional
        The length, to which a is cut or continued by zeros.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Which way is divided by n: back (the default), both by its root, or this one.
    """
    return _run(a, "fft", None if n is None else (n,), (axis,), norm, "fft")


def ifft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _run(a, "ifft", None if n is None else (n,), (axis,), norm, "ifft")


def rfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of the transform of real numbers, which say the rest."""
    return _run(a, "rfft", None if n is None else (n,), (axis,), norm, "rfft")


def irfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`, real; n is that of the result, by default even."""
    return _run(a, "irfft", None if n is None else (n,), (axis,), norm, "irfft")


_OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform, real, of a signal whose first half is given and whose rest is conjugate."""
    a = _as_dtype(as_array(a), _COMPLEX, "hfft")
    return irfft(_mica.conj(a), n, axis, _OTHER.get(norm, norm))


def ihfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    return _mica.conj(rfft(a, n, axis, _OTHER.get(norm, norm)))


def fftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The transform along several axes, by default all.

    Parameters
    ----------
    a : array
    s : ints, optional
        The lengths of the axes; -1 leaves one as it is.
    axes : ints, optional
        By default the last ones that s names, or all.
    norm : {"backward", "ortho", "forward"}, optional
        As in `fft`.
    """
    return _run(a, "fft", s, axes, norm, "fftn")


def ifftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `fftn`."""
    return _run(a, "ifft", s, axes, norm, "ifftn")


def rfftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """`rfft` along the last of several axes, `fft` along the others."""
    return _run(a, "rfft", s, axes, norm, "rfftn")


def irfftn(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of `rfftn`, real."""
    return _run(a, "irfft", s, axes, norm, "irfftn")


def fft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """`fftn` along the last two axes."""
    return _run(a, "fft", s, axes, norm, "fft2")


def ifft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The inverse of `fft2`."""
    return _run(a, "ifft", s, axes, norm, "ifft2")


def rfft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """`rfftn` along the last two axes."""
    return _run(a, "rfft", s, axes, norm, "rfft2")


def irfft2(
    a: Array,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """The inverse of `rfft2`, real."""
    return _run(a, "irfft", s, axes, norm, "irfft2")


def fftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies that the elements of `fft` belong to, for samples d apart."""
    places = [*range((n + 1) // 2), *range(-(n // 2), 0)]
    return _mica.tensor([k / (n * d) for k in places])


def rfftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies that the elements of `rfft` belong to, for samples d apart."""
    return _mica.tensor([k / (n * d) for k in range(n // 2 + 1)])


def _rolled(x: Any, axes: Any, inverse: builtins.bool, what: str) -> Any:
    x = as_array(x)
    axes = (axes,) if isinstance(axes, int) else axes
    for axis in _axes(x, None, axes, what):
        n = x.shape[axis]
        cut = n // 2 if inverse else (n + 1) // 2
        start, stride = [0] * x.ndim, [1] * x.ndim
        middle = [cut if i == axis else size for i, size in enumerate(x.shape)]
        first = _mica.slice(x, start=start, limit=middle, stride=stride)
        start[axis] = cut
        second = _mica.slice(x, start=start, limit=list(x.shape), stride=stride)
        x = concatenate([second, first], axis=axis)
    return x


def fftshift(x: Array, axes: int | Sequence[int] | None = None) -> Tensor:
    """The frequency 0 moved from the front to the middle of axes, by default of all."""
    return _rolled(x, axes, False, "fftshift")


def ifftshift(x: Array, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _rolled(x, axes, True, "ifftshift")


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
    "transform",
]
