"""Indexing by arrays: what the slices of `x[...]` cannot say, by gather and scatter.

Indices count from the end when they are negative. Those whose values are known, as all are outside
of traces, are checked; a traced index out of range is clamped, as it is unknown while tracing.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import compress
from typing import Any

from . import _mica
from ._functions import Array, zeros
from ._mica import Tensor
from ._tracing import as_array

_SMALL = ("i8", "i16", "u8", "u16")


def _beside(x: Any, other: Any) -> Any:
    """A tensor where another one is."""
    both = isinstance(x, Tensor) and isinstance(other, Tensor)
    return x.to(other.device) if both and x.device != other.device else x


def _as_index(item: Any) -> Any:
    if isinstance(item, (list, tuple)) and not item:
        return zeros((0,), "i32")
    index = as_array(item)
    if index.dtype.kind not in ("signed", "unsigned", "boolean"):
        raise IndexError(f"[index] an array of indices holds integers or bools, not {index.dtype}")
    return index


def _where_true(mask: Any, sizes: Sequence[int], axis: int) -> list[Tensor]:
    """Index arrays, one per axis of a mask, of its true elements."""
    if not isinstance(mask, Tensor):
        raise IndexError(
            "[index] the shape would depend on the values of a traced mask; use where instead"
        )
    if mask.shape != tuple(sizes[axis : axis + mask.ndim]):
        raise IndexError(f"[index] a mask of {mask.shape} for axis {axis} of {tuple(sizes)}")
    flat = array("q", compress(range(mask.size), mask.tobytes()))
    rest = _mica.tensor(flat) if flat else zeros((0,), "i64")
    found = []
    for size in reversed(mask.shape):
        found.append(rest % max(size, 1))
        rest = rest // max(size, 1)
    return found[::-1]


def _wrapped(index: Any, size: int, axis: int) -> Any:
    """An index counted from the start, wide enough for the axis; checked when it is known."""
    if index.dtype.name in _SMALL:
        index = index.astype("i32")
    if index.dtype.name == "i32" and size >= 2**31:
        index = index.astype("i64")
    negative = index.dtype.kind == "signed"
    if isinstance(index, Tensor) and index.size:
        low, high = index.min().item(), index.max().item()
        if low < -size or high >= size:
            wrong = low if low < -size else high
            raise IndexError(f"[index] {wrong} is out of range for axis {axis} of size {size}")
        negative = low < 0
    return _mica.select(index < 0, index + size, index) if negative else index


def _broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(len(shape) for shape in shapes)
    result = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            listed = " ".join(str(tuple(shape)) for shape in shapes)
            raise IndexError(f"[index] arrays of indices do not broadcast: {listed}")
        result.append(others.pop() if others else 1)
    return tuple(result)


def _vectors(indices: list[Any], shape: tuple[int, ...]) -> Any:
    """Indices of one shape; several are joined along a last axis."""
    if len(indices) == 1:
        return indices[0].broadcast_to(shape)
    wide = any(index.dtype.name not in ("i32", *_SMALL) for index in indices)
    dtype = "i64" if wide else "i32"
    parts = [index.astype(dtype).broadcast_to(shape).reshape(*shape, 1) for index in indices]
    return _mica.concat(parts, axis=len(shape))


def _gather_axes(x: Any, axes: list[int], indices: list[Any], place: int, mode: str) -> Any:
    """x[..., i, j, ...] with indices for some axes; their own axes come at `place`."""
    shape = _broadcast_shape([index.shape for index in indices])
    kept = [size for axis, size in enumerate(x.shape) if axis not in axes]
    if 0 in shape:
        return zeros((*kept[:place], *shape, *kept[place:]), x.dtype)
    dims = [*range(place), *range(place + len(shape), len(kept) + len(shape))]
    return _mica.gather(
        x,
        _beside(_vectors(indices, shape), x),
        offset_dims=dims,
        collapsed_dims=sorted(axes),
        operand_batch_dims=(),
        indices_batch_dims=(),
        start_map=axes,
        index_vector_dim=len(shape),
        slice_sizes=[1 if axis in axes else size for axis, size in enumerate(x.shape)],
        mode=mode,
    )


def _expanded(items: tuple, rank: int) -> list[Any]:
    """Items without an ellipsis, arrays as arrays, masks still whole."""
    items = [
        item
        if item is None or item is Ellipsis or isinstance(item, (slice, int))
        else _as_index(item)
        for item in items
    ]
    taken = sum(
        item.ndim if getattr(getattr(item, "dtype", None), "kind", "") == "boolean" else 1
        for item in items
        if item is not None and item is not Ellipsis
    )
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("[index] more than one ellipsis")
    if taken > rank:
        raise IndexError(f"[index] {taken} indices for {rank} axes")
    at = ellipses[0] if ellipses else len(items)
    return [*items[:at], *[slice(None)] * (rank - taken), *items[at + 1 :]]


def subscript(x: Any, items: tuple) -> Any:
    """x[items], where an item is an array; the rule of numpy.

    Axes of index arrays come where the first of them stands when they stand together, else first.
    """
    basic: list[Any] = []  # x's slices and new axes, taken before
    indices: list[Any] = []
    axes: list[int] = []  # of what the basic index leaves
    axis = 0
    stands_apart, last = False, None
    for number, item in enumerate(_expanded(items, x.ndim)):
        if item is None or isinstance(item, slice):
            basic.append(item)
            axis += item is not None
            continue
        if isinstance(item, int):
            size = x.shape[axis]
            if not -size <= item < size:
                raise IndexError(f"[index] {item} is out of range for axis {axis} of size {size}")
            found = [_mica.tensor(item % size, dtype="i64" if size >= 2**31 else "i32")]
        elif item.dtype.kind == "boolean":
            found = _where_true(item, x.shape, axis)
        else:
            found = [_wrapped(item, x.shape[axis], axis)]
        for index in found:
            indices.append(index)
            axes.append(len(basic))
            basic.append(slice(None))
            axis += 1
        stands_apart = stands_apart or (last is not None and number != last + 1)
        last = number
    x = x[tuple(basic)]
    return _gather_axes(x, axes, indices, 0 if stands_apart else axes[0], "clip")


# ---- functions -----------------------------------------------------------------------------------
def _axis(axis: int, rank: int, what: str) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"[{what}] axis {axis} is out of range for {rank} axes")
    return axis % rank


def take(x: Array, indices: Array, axis: int | None = None, mode: str | None = None) -> Tensor:
    """Elements of x at indices along an axis: x[:, indices] and so on.

    Parameters
    ----------
    x : array
    indices : array of integers
    axis : int, optional
        By default x is flattened first.
    mode : {None, "clip", "fill"}
        None counts negative indices from the end and checks the others, as indexing does; "clip"
        clamps all to the axis; "fill" gives zeros for those outside.
    """
    x, index = as_array(x), _as_index(indices)
    if mode not in (None, "clip", "fill"):
        raise ValueError(f"[take] mode {mode!r} is neither clip nor fill")
    if index.dtype.kind == "boolean":
        raise TypeError("[take] the indices are bools; use indexing")
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = _axis(axis, x.ndim, "take")
    if mode is None:
        index = _wrapped(index, x.shape[axis], axis)
    return _gather_axes(x, [axis], [index], axis, mode or "clip")


def take_along_axis(x: Array, indices: Array, axis: int = -1) -> Tensor:
    """Elements of x at indices along an axis, each row of x with its own row of indices.

    y[i, j] = x[i, indices[i, j]] for the last of two axes. The other axes broadcast.

    Parameters
    ----------
    x : array
    indices : array of integers
        With as many axes as x.
    axis : int
    """
    x, index = as_array(x), _as_index(indices)
    if index.ndim != x.ndim or index.dtype.kind == "boolean":
        raise ValueError(
            f"[take_along_axis] {x.ndim} axes need integers of {x.ndim} axes, "
            f"not {index.dtype}{list(index.shape)}"
        )
    axis = _axis(axis, x.ndim, "take_along_axis")
    others = [a for a in range(x.ndim) if a != axis]
    index = _wrapped(index, x.shape[axis], axis)
    rows = [list(array.shape) for array in (x, index)]
    for row in rows:
        row[axis] = 1
    shape = list(_broadcast_shape([tuple(row) for row in rows]))
    x = x.broadcast_to([*shape[:axis], x.shape[axis], *shape[axis + 1 :]])
    index = index.broadcast_to([*shape[:axis], index.shape[axis], *shape[axis + 1 :]])
    if index.size == 0:
        return zeros(index.shape, x.dtype)
    return _mica.gather(
        x,
        _beside(index, x),
        offset_dims=(),
        collapsed_dims=(axis,),
        operand_batch_dims=others,
        indices_batch_dims=others,
        start_map=(axis,),
        index_vector_dim=x.ndim,
        slice_sizes=(1,) * x.ndim,
        mode="clip",
    )


def put(x: Array, index: Any, values: Any, kind: str = "set") -> Tensor:
    """x with x[index] replaced by values, or combined with them; x itself stays as it is.

    Parameters
    ----------
    x : array
    index : anything that x can be indexed with
        A tuple of ints, slices, None, Ellipsis and arrays, or one of them.
    values : array or scalar
        Broadcast to the shape of x[index]. Where an element is named twice, values are applied
        in order: of "set", the last one stays.
    kind : {"set", "add", "mul", "min", "max"}
    """
    x = as_array(x)
    size = math.prod(x.shape)
    dtype = "i32" if size < 2**31 else "i64"
    places = _mica.iota(shape=(size,), axis=0, dtype=dtype).reshape(x.shape)
    places = _beside(places, x)[index]
    if isinstance(values, (bool, int, float)):
        values = _mica.full((), values, x.dtype)
    values = _beside(as_array(values), x).broadcast_to(places.shape)
    flat = _mica.scatter(
        x.reshape(size),
        places.reshape(-1),
        values.reshape(-1),
        kind=kind,
        update_window_dims=(),
        inserted_window_dims=(0,),
        operand_batch_dims=(),
        indices_batch_dims=(),
        scatter_map=(0,),
        index_vector_dim=1,
        mode="clip",
    )
    return flat.reshape(x.shape)
