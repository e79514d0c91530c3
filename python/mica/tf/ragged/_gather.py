"""Rows and elements of ragged tensors by their numbers."""

from __future__ import annotations

from .. import _dtypes
from .._core import convert_to_tensor, ops
from .._refusals import check_true
from ._partition import numbers, size_of
from ._tensor import RaggedTensor, match_row_splits_dtypes, positive_axis


def gather_rows(params: RaggedTensor, indices) -> RaggedTensor:
    """Rows by a tensor of their numbers; the values are gathered, so that gradients reach them."""
    flat = params.flat_values
    rank = indices.shape.rank
    if rank is None:
        raise ValueError("rank(indices) must be known statically")
    depth = params.ragged_rank + rank - 1
    *splits, places = ops["RaggedGather"](
        list(params.nested_row_splits),
        numbers(size_of(flat, _dtypes.int64)),
        indices,
        OUTPUT_RAGGED_RANK=depth,
    )
    found = ops["GatherV2"](flat, places, 0)
    if not splits:
        return found
    return RaggedTensor.from_nested_row_splits(found, splits, validate=False)


def gather_values(values, places):
    """values[places] of a vector of places; the values may be ragged."""
    if isinstance(values, RaggedTensor):
        return gather_rows(values, places)
    return ops["GatherV2"](values, places, 0)


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Slices along an axis by their numbers; of both, either may be ragged."""
    if not isinstance(params, RaggedTensor):
        params = convert_to_tensor(params)
    if not isinstance(indices, RaggedTensor):
        indices = convert_to_tensor(indices, dtype_hint=_dtypes.int64)
    params, indices = match_row_splits_dtypes(params, indices)
    if axis is None:
        axis = batch_dims
    rank = indices.shape.rank
    if batch_dims != rank or rank is None:
        batch_dims = positive_axis(batch_dims, rank, "batch_dims")
    axis = positive_axis(axis, params.shape.rank)
    if axis < batch_dims:
        raise ValueError("axis must be greater than or equal to batch_dims")
    if batch_dims == 0 and axis == 0:
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather(params, indices.values))
        if isinstance(params, RaggedTensor):
            return gather_rows(params, indices)
        return ops["GatherV2"](params, indices, 0)
    if batch_dims == 0:
        return _along(params, indices, axis)
    return _in_batches(params, indices, axis, batch_dims)


def _along(params, indices, axis: int):
    """Gather along an axis behind the first: in each row the same numbers."""
    if not isinstance(params, RaggedTensor):
        if not isinstance(indices, RaggedTensor):
            return ops["GatherV2"](params, indices, axis)
        dtype = indices.row_splits.dtype
        params = RaggedTensor.from_tensor(params, ragged_rank=axis, row_splits_dtype=dtype)
        return _along(params, indices, axis)
    if axis > 1:
        return params.with_values(_along(params.values, indices, axis - 1))
    starts, lengths = params.row_starts(), params.row_lengths()
    dtype = starts.dtype
    outer = []  # row lengths of the ragged axes of the indices, the first one first
    flat = indices
    while isinstance(flat, RaggedTensor):
        outer.append(flat.row_lengths())
        flat = flat.values
    within = ops["Cast"](ops["Reshape"](flat, [1, -1]), DstT=dtype)
    _check_bounds(within, ops["ExpandDims"](lengths, 1))
    places = ops["Reshape"](ops["ExpandDims"](starts, 1) + within, [-1])
    found = gather_values(params.values, places)
    # Every row of params has all rows of the indices.
    sizes, count = ops["Shape"](flat, out_type=dtype), params.nrows()
    inner = range(flat.shape.rank - 1, -1, -1)
    if outer:  # the innermost ragged axis cuts axis 0
        inner = inner[:-1]
    if outer and inner and not isinstance(found, RaggedTensor):
        dims = [ops["Reshape"](-1, [1]), ops["Cast"](sizes[1:], DstT=_dtypes.int32)]
        found = ops["Reshape"](found, ops["ConcatV2"]([*dims, ops["Shape"](found)[1:]], 0))
        inner = ()
    for axis in inner:
        rows = count * ops["Prod"](sizes[:axis], 0)
        length = sizes[axis] if flat.shape[axis] is None else flat.shape[axis]
        found = RaggedTensor.from_uniform_row_length(found, length, rows, validate=False)
    for parts in reversed(outer):
        again = ops["Tile"](parts, ops["Reshape"](count, [1]))
        found = RaggedTensor.from_row_lengths(found, again, validate=False)
    if outer:
        number = ops["Shape"](outer[0], out_type=dtype)[0]
        found = RaggedTensor.from_uniform_row_length(found, number, count, validate=False)
    return found


def _check_bounds(indices, limits) -> None:
    inside = ops["LogicalAnd"](indices >= 0, indices < limits)
    check_true(inside, "indices are not in the range of their rows")


def _in_batches(params, indices, axis: int, batch_dims: int):
    """Gather row by row: row i of the indices numbers slices of row i of params."""
    if not isinstance(params, RaggedTensor):
        if not isinstance(indices, RaggedTensor):
            return ops["GatherV2"](params, indices, axis, batch_dims=batch_dims)
        params = RaggedTensor.from_tensor(
            params, ragged_rank=1, row_splits_dtype=indices.row_splits.dtype
        )
    if batch_dims > 1:
        if not isinstance(indices, RaggedTensor):
            indices = RaggedTensor.from_tensor(
                indices, ragged_rank=1, row_splits_dtype=params.row_splits.dtype
            )
        return indices.with_values(
            gather(params.values, indices.values, axis=axis - 1, batch_dims=batch_dims - 1)
        )
    if axis > 1:
        if not isinstance(indices, RaggedTensor):
            indices = RaggedTensor.from_tensor(
                indices, ragged_rank=1, row_splits_dtype=params.row_splits.dtype
            )
        raise ValueError("gather with batch_dims=1 of ragged tensors needs axis=1")
    dtype = params.row_splits.dtype
    starts, lengths = params.row_starts(), params.row_lengths()
    if isinstance(indices, RaggedTensor):
        ids = _outer_rowids(indices)
        flat = ops["Cast"](indices.flat_values, DstT=dtype)
    else:
        flat = ops["Cast"](indices, DstT=dtype)
        ids = None
    offset = starts if ids is None else ops["GatherV2"](starts, ids, 0)
    limit = lengths if ids is None else ops["GatherV2"](lengths, ids, 0)
    for _ in range((flat.shape.rank or 1) - 1):
        offset, limit = ops["ExpandDims"](offset, -1), ops["ExpandDims"](limit, -1)
    _check_bounds(flat, limit)
    places = flat + offset
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(_many(params.values, places))
    return _many(params.values, places)


def _many(values, places):
    return (
        gather_rows(values, places)
        if isinstance(values, RaggedTensor)
        else ops["GatherV2"](values, places, 0)
    )


def _outer_rowids(x: RaggedTensor):
    """The outermost row of each of the flat values."""
    ids = x.value_rowids()
    inner = x.values
    while isinstance(inner, RaggedTensor):
        ids = ops["GatherV2"](ids, inner.value_rowids(), 0)
        inner = inner.values
    return ids


def gather_nd(params, indices, batch_dims=0, name=None, bad_indices_policy=""):
    """Slices by the coordinates of their first axes."""
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    if bad_indices_policy not in ("", "DEFAULT", "ERROR"):
        raise ValueError(f"bad_indices_policy={bad_indices_policy!r} is not supported")
    if isinstance(indices, RaggedTensor):
        return indices.with_values(gather_nd(params, indices.values))
    indices = convert_to_tensor(indices)
    if not isinstance(params, RaggedTensor):
        return ops["GatherNd"](convert_to_tensor(params), indices)
    if indices.shape.rank is None:
        raise ValueError("indices.rank must be statically known")
    size = indices.shape[-1]
    if size is None:
        raise ValueError("indices.shape[-1] must be statically known.")
    if indices.shape.rank > 2:
        flat = ops["Reshape"](indices, [-1, size])
        found = gather_nd(params, flat)
        if not isinstance(found, RaggedTensor):
            sizes = ops["ConcatV2"]([ops["Shape"](indices)[:-1], ops["Shape"](found)[1:]], 0)
            return ops["Reshape"](found, sizes)
        for axis in range(indices.shape.rank - 2, 0, -1):
            sizes = ops["Shape"](indices, out_type=found.row_splits.dtype)
            found = RaggedTensor.from_uniform_row_length(
                found, sizes[axis], ops["Prod"](sizes[:axis], 0), validate=False
            )
        return found
    if size == 0:
        raise ValueError("gather_nd of no coordinates is not supported for ragged params")
    if indices.shape.rank == 1:
        found = params
        for k in range(size):
            found = found[indices[k]]
        return found
    # Row by row inwards: where the entry of each index is among the entries of the next axis.
    places = indices[:, 0]
    found = params
    dtype = params.row_splits.dtype
    places = ops["Cast"](places, DstT=dtype)
    for k in range(1, size):
        if not isinstance(found, RaggedTensor):
            rest = ops["Cast"](indices[:, k:], DstT=dtype)
            return ops["GatherNd"](
                found, ops["ConcatV2"]([ops["ExpandDims"](places, 1), rest], 1)
            )
        place = ops["Cast"](indices[:, k], DstT=dtype)
        _check_bounds(places, found.nrows())
        starts = ops["GatherV2"](found.row_starts(), places, 0)
        _check_bounds(place, ops["GatherV2"](found.row_lengths(), places, 0))
        places = starts + place
        found = found.values
    return gather_values(found, places)
