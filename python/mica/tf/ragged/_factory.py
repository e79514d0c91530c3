"""Functions of `tf.ragged`."""

from __future__ import annotations

import numpy

from .. import _array, _dtypes, nest
from .._core import Tensor, convert_to_tensor, ops
from .._reduce import argsort
from ..debugging import assert_equal
from ._concat import stack
from ._gather import gather_values
from ._mask import boolean_mask
from ._partition import RowPartition, checked
from ._tensor import RaggedTensor, match_row_splits_dtypes, merge_dims

# ---- constants -----------------------------------------------------------------------------------


def _is_list(value) -> bool:
    return isinstance(value, (list, tuple)) or numpy.ndim(value) != 0


def _depths(value) -> tuple:
    """How deep the scalars are, or None without any, and how deep the lists are."""
    if not _is_list(value):
        return 0, 0
    scalar, deepest = None, 1
    for item in value:
        own, below = _depths(item)
        if own is not None:
            if scalar is not None and scalar != own + 1:
                raise ValueError("all scalar values must have the same nesting depth")
            scalar = own + 1
        deepest = max(deepest, below + 1)
    return scalar, deepest


def _inner_shape(value, ragged_rank: int) -> tuple:
    """The shape that all values below ragged_rank axes have."""

    def shape_of(item) -> tuple:
        if not _is_list(item):
            return ()
        if len(item) == 0:
            return (0,)
        return (len(item), *shape_of(item[0]))

    def check(item, shape) -> None:
        if _is_list(item) != bool(shape):
            raise ValueError("inner values have inconsistent shape")
        if shape:
            if len(item) != shape[0]:
                raise ValueError("inner values have inconsistent shape")
            for each in item:
                check(each, shape[1:])

    rows = value
    for axis in builtin_range(ragged_rank):
        if axis and not all(_is_list(v) for v in rows):
            raise ValueError("pylist has scalar values depth inconsistent with ragged_rank")
        rows = [item for row in rows for item in row]
    shape = ()
    for item in rows:
        shape = shape_of(item)
        break
    for item in rows:
        check(item, shape)
    return shape


builtin_range = range


def constant(
    pylist,
    dtype=None,
    ragged_rank=None,
    inner_shape=None,
    name=None,
    row_splits_dtype=_dtypes.int64,
):
    """A ragged tensor of nested lists."""
    splits_dtype = _dtypes.as_dtype(row_splits_dtype)
    if isinstance(pylist, RaggedTensor):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if inner_shape is not None and not isinstance(inner_shape, (list, tuple)):
        inner_shape = tuple(inner_shape)
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return _array.constant(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    scalar, deepest = _depths(pylist)
    if scalar is not None and deepest > scalar:
        raise ValueError(
            f"Invalid pylist={pylist}: empty list nesting is greater than scalar value nesting"
        )
    if scalar is not None and ragged_rank is not None and deepest < ragged_rank:
        raise ValueError(
            f"Invalid pylist={pylist}, max depth smaller than ragged_rank={ragged_rank}"
        )
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + len(inner_shape) + 1
        if expected != scalar if scalar is not None else expected < deepest:
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    own = len(inner_shape) if inner_shape is not None else 0
    if ragged_rank == 0 or (ragged_rank is None and deepest - own < 2):
        return _array.constant(pylist, dtype, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        depth = deepest if scalar is None else scalar - len(inner_shape)
        ragged_rank = max(1, depth - 1)
    nested, values = [], pylist
    for _ in builtin_range(ragged_rank):
        splits, joined = [0], []
        for row in values:
            splits.append(splits[-1] + len(row))
            joined.extend(row)
        nested.append(splits)
        values = joined
    flat = _array.constant(values, dtype, (len(values), *inner_shape))
    for splits in reversed(nested):
        partition = RowPartition.from_row_splits(
            convert_to_tensor(splits, splits_dtype), validate=False
        )
        flat = RaggedTensor._from_row_partition(flat, partition, validate=False)
    return flat


# ---- numbers -------------------------------------------------------------------------------------

_ORDER = (_dtypes.int32, _dtypes.int64, _dtypes.float32, _dtypes.float64)


def range(
    starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=_dtypes.int64
) -> RaggedTensor:
    """A row of numbers from each start on, delta apart, before its limit."""
    splits_dtype = _dtypes.as_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    parts = [convert_to_tensor(part, dtype) for part in (starts, limits, deltas)]
    if dtype is None:
        known = [part.dtype for part in parts]
        if any(d not in _ORDER for d in known) and len(set(known)) > 1:
            raise TypeError(f"starts, limits and deltas have the dtypes {known}")
        if len(set(known)) > 1:
            widest = max(known, key=_ORDER.index)
            parts = [ops["Cast"](part, DstT=widest) for part in parts]
    splits, values = ops["RaggedRange"](*parts, Tsplits=splits_dtype)
    return RaggedTensor.from_row_splits(values, splits, validate=False)


# ---- rows by segments ----------------------------------------------------------------------------


def row_splits_to_segment_ids(splits, name=None, out_type=None) -> Tensor:
    """The row of each value."""
    splits = convert_to_tensor(splits, dtype_hint=_dtypes.int64)
    if splits.dtype not in (_dtypes.int32, _dtypes.int64):
        raise ValueError("splits must have dtype int32 or int64")
    splits.shape.assert_has_rank(1)
    if splits.shape[0] == 0:
        raise ValueError("Invalid row_splits: []")
    ids = RowPartition.from_row_splits(splits, validate=False).value_rowids()
    return ids if out_type is None else ops["Cast"](ids, DstT=_dtypes.as_dtype(out_type))


def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None) -> Tensor:
    """Where the rows of segment numbers begin, and where the last ends."""
    ids = convert_to_tensor(segment_ids)
    if ids.dtype not in (_dtypes.int32, _dtypes.int64):
        raise ValueError(f"segment_ids must be integers; got {ids.dtype.name}")
    ids.shape.assert_has_rank(1)
    if out_type is None:
        wanted = [d.dtype for d in (segment_ids, num_segments) if isinstance(d, Tensor)]
        dtype = _dtypes.int64 if not wanted or _dtypes.int64 in wanted else wanted[0]
    else:
        dtype = _dtypes.as_dtype(out_type)
    ids = ops["Cast"](ids, DstT=dtype)
    if num_segments is None:
        rows = None
    else:
        rows = convert_to_tensor(num_segments)
        rows.shape.assert_has_rank(0)
        rows = ops["Cast"](rows, DstT=dtype)
    return RowPartition.from_value_rowids(ids, rows, validate=False).row_splits()


def stack_dynamic_partitions(data, partitions, num_partitions, name=None) -> RaggedTensor:
    """Rows of data: row i holds what has the partition i, in order."""
    if not isinstance(partitions, RaggedTensor):
        partitions = convert_to_tensor(partitions)
    if not isinstance(data, RaggedTensor):
        data = convert_to_tensor(data)
    count = convert_to_tensor(num_partitions, partitions.dtype)
    rank = partitions.shape.rank
    if rank is None:
        raise ValueError("partitions must have known rank.")
    count.shape.assert_has_rank(0)
    if rank == 0:
        data, partitions = ops["ExpandDims"](data, 0), ops["ExpandDims"](partitions, 0)
    elif isinstance(partitions, RaggedTensor) or rank > 1:
        if isinstance(partitions, RaggedTensor) and not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(
                data,
                ragged_rank=partitions.ragged_rank,
                row_splits_dtype=partitions.row_splits.dtype,
            )
        data, partitions = match_row_splits_dtypes(data, partitions)
        data = merge_dims(data, 0, rank - 1)
        partitions = merge_dims(partitions, 0, rank - 1)
    order = argsort(partitions, stable=True)
    ids = ops["GatherV2"](partitions, order, 0)
    if isinstance(data, RaggedTensor) and ids.dtype != data.row_splits.dtype:
        ids = ops["Cast"](ids, DstT=data.row_splits.dtype)
        count = ops["Cast"](count, DstT=data.row_splits.dtype)
    if ids.dtype not in (_dtypes.int32, _dtypes.int64):
        raise TypeError(f"partitions must be int32 or int64, not {ids.dtype.name}")
    return RaggedTensor.from_value_rowids(gather_values(data, order), ids, count)


# ---- functions of values -------------------------------------------------------------------------


def map_flat_values(op, *args, **kwargs):
    """A function of the flat values of ragged tensors that have the same rows."""
    found: list[RaggedTensor] = []

    def values(each):
        if isinstance(each, RaggedTensor):
            found.append(each)
            return each.flat_values
        return each

    args = nest.map_structure(values, list(args))
    kwargs = {key: nest.map_structure(values, value) for key, value in kwargs.items()}
    if not found:
        return op(*args, **kwargs)
    first = found[0]
    same = match_row_splits_dtypes(*found)
    splits = [x.nested_row_splits for x in same]
    if any(len(s) != len(splits[0]) for s in splits):
        raise ValueError("All ragged inputs must have the same ragged_rank.")
    first = _with_matching_splits(same)
    made = op(*args, **kwargs)
    return first.with_flat_values(made)


def _with_matching_splits(tensors: list) -> RaggedTensor:
    """The first of ragged tensors, once it is clear that all have the same rows."""
    first = tensors[0]
    partitions = []
    for depth, partition in enumerate(first._nested_row_partitions):
        own = partition.row_splits()
        others = [x.nested_row_splits[depth] for x in tensors[1:]]
        checks = [
            assert_equal(own, other, "Inputs must have identical ragged splits")
            for other in others
            if other is not own
        ]
        splits = checked(own, checks)
        uniform = partition.uniform_row_length()
        partitions.append(RowPartition(splits, uniform_row_length=uniform, internal=True))
    return RaggedTensor._from_nested_row_partitions(first.flat_values, partitions, validate=False)


__all__ = [
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]
