"""Ragged tensors one after the other, side by side, stacked, with more and fewer axes."""

from __future__ import annotations

from .. import _dtypes
from .._core import convert_to_tensor, ops
from .._select import split as dense
from .._static import static_value
from ..debugging import assert_equal
from ._gather import gather_rows
from ._partition import RowPartition, checked, numbers
from ._tensor import RaggedTensor, match_row_splits_dtypes, positive_axis


def _operands(values) -> list:
    if isinstance(values, RaggedTensor) or not isinstance(values, (list, tuple)):
        values = [values]
    hint = next((v.dtype for v in values if hasattr(v, "dtype")), None)
    found = [
        v if isinstance(v, RaggedTensor) else convert_to_tensor(v, dtype_hint=hint) for v in values
    ]
    return match_row_splits_dtypes(*found)


def stack(values, axis=0, name=None):
    """Tensors, ragged or not, along a new axis."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 0:
        raise ValueError("rt_inputs may not be empty.")
    return _joined(_operands(values), axis, True)


def concat(values, axis, name=None):
    """Tensors, ragged or not, one after the other along an axis."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 0:
        raise ValueError("rt_inputs may not be empty.")
    return _joined(_operands(values), axis, False)


def _joined(values: list, axis, is_stack: bool):
    if len(values) == 1 and not is_stack:
        return values[0]
    rank = None
    for each in values:
        if rank is None:
            rank = each.shape.rank
        elif each.shape.rank is not None:
            each.shape.assert_has_rank(rank)
    if hasattr(axis, "numpy"):
        axis = int(axis)
    axis = positive_axis(axis, None if rank is None else rank + is_stack)
    if is_stack and rank == 1 and axis == 0:
        sizes = [ops["Shape"](v) for v in values]
        return RaggedTensor.from_row_lengths(
            ops["ConcatV2"](values, 0), ops["ConcatV2"](sizes, 0), validate=False
        )
    if not any(isinstance(v, RaggedTensor) for v in values):
        last = rank is not None and axis == rank - (0 if is_stack else 1)
        if last or rank == 0 or (rank == 1 and not is_stack):
            return ops["Pack"](values, axis=axis) if is_stack else ops["ConcatV2"](values, axis)
    dtype = next((v.row_splits.dtype for v in values if isinstance(v, RaggedTensor)), None)
    values = [
        v
        if isinstance(v, RaggedTensor)
        else RaggedTensor.from_tensor(v, row_splits_dtype=dtype or _dtypes.int64)
        for v in values
    ]
    depth = max(v.ragged_rank for v in values)
    values = [with_ragged_rank(v, depth) for v in values]
    if axis == 0:
        return _below(values, is_stack)
    if axis == 1:
        return _beside(values, is_stack)
    splits = values[0].row_splits
    checks = [
        assert_equal(v.row_splits, splits, "Inputs must have identical ragged splits")
        for v in values[1:]
        if v.row_splits is not splits
    ]
    inner = _joined([v.values for v in values], axis - 1, is_stack)
    return RaggedTensor.from_row_splits(inner, checked(splits, checks), validate=False)


def _all_below(values: list):
    """The rows of all, one after the other."""
    if not isinstance(values[0], RaggedTensor):
        return ops["ConcatV2"](values, 0)
    splits, total = [values[0].row_splits], values[0].row_splits[-1]
    for each in values[1:]:
        splits.append(each.row_splits[1:] + total)
        total = total + each.row_splits[-1]
    inner = _all_below([v.values for v in values])
    return RaggedTensor.from_row_splits(inner, ops["ConcatV2"](splits, 0), validate=False)


def _below(values: list, is_stack: bool) -> RaggedTensor:
    whole = _all_below(values)
    if not is_stack:
        return whole
    lengths = ops["Pack"]([v.nrows() for v in values])
    return RaggedTensor.from_row_lengths(whole, lengths, validate=False)


def _beside(values: list, is_stack: bool) -> RaggedTensor:
    """Row i of the first, then row i of the second, and so on."""
    count = len(values)
    rows = values[0].nrows()
    message = "Input tensors must have the same number of rows"
    rows = checked(rows, [assert_equal(v.nrows(), rows, message) for v in values[1:]])
    whole = _all_below(values)
    places = ops["ExpandDims"](numbers(rows), 1) + rows * convert_to_tensor(
        list(range(count)), rows.dtype
    )
    mixed = gather_rows(whole, ops["Reshape"](places, [-1]))
    if is_stack:
        splits = numbers(rows + 1) * convert_to_tensor(count, rows.dtype)
        return RaggedTensor.from_row_splits(mixed, splits, validate=False)
    return RaggedTensor.from_row_splits(mixed.values, mixed.row_splits[::count], validate=False)


def with_ragged_rank(x, depth: int):
    """The same with that many ragged axes: even ones are said to be ragged."""
    if depth <= 0:
        return x
    if not isinstance(x, RaggedTensor):
        return RaggedTensor.from_tensor(x, ragged_rank=depth)
    if x.ragged_rank >= depth:
        return x
    inner = x.values
    if isinstance(inner, RaggedTensor):
        return x.with_values(with_ragged_rank(inner, depth - 1))
    return x.with_values(
        RaggedTensor.from_tensor(
            inner, ragged_rank=depth - 1, row_splits_dtype=x.row_splits.dtype
        )
    )


def expand_dims(input, axis, name=None):
    """One more axis, of size 1."""
    if not isinstance(input, RaggedTensor):
        return ops["ExpandDims"](convert_to_tensor(input), axis)
    rank = input.shape.rank
    axis = positive_axis(axis, None if rank is None else rank + 1)
    if axis == 0:
        return RaggedTensor.from_uniform_row_length(input, input.nrows(), 1, validate=False)
    if axis == 1:
        return RaggedTensor.from_uniform_row_length(input, 1, input.nrows(), validate=False)
    if isinstance(input.values, RaggedTensor):
        return input.with_values(expand_dims(input.values, axis - 1))
    return input.with_values(ops["ExpandDims"](input.values, axis - 1))


def squeeze(input, axis=None, name=None):
    """Without axes of size 1."""
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = [axis] if isinstance(axis, int) else list(axis)
    axes = sorted({positive_axis(a, input.shape.rank) for a in axes})
    depth = input.ragged_rank
    flat = input.flat_values
    inner = [a - depth for a in axes if a > depth]
    if inner:
        flat = ops["Squeeze"](flat, squeeze_dims=inner)
    partitions = list(input._nested_row_partitions)
    kept = []
    message = "Can not squeeze axis"
    for k, partition in enumerate(partitions, 1):
        if k not in axes:
            kept.append(partition)
            continue
        lengths = partition.row_lengths()
        one = ops["OnesLike"](lengths)
        flat = checked(flat, [assert_equal(lengths, one, f"{message} {k}: not of size 1")])
    if 0 in axes:
        rows = partitions[0].nrows()
        one = ops["OnesLike"](rows)
        flat = checked(flat, [assert_equal(rows, one, f"{message} 0: not of size 1")])
        # The only row's values are what is left.
        if not kept:
            return ops["Squeeze"](flat, squeeze_dims=[0])
        if 1 in axes:
            return RaggedTensor._from_nested_row_partitions(flat, kept, validate=False)[0]
        kept = kept[1:]
    return RaggedTensor._from_nested_row_partitions(flat, kept, validate=False)


def tile(input, multiples, name=None):
    """Copies one after the other along each axis."""
    multiples = convert_to_tensor(multiples, dtype_hint=_dtypes.int64)
    dtype = input.row_splits.dtype
    multiples.shape.assert_has_rank(1)
    rank = input.shape.rank
    if None not in (rank, multiples.shape[0]) and multiples.shape[0] != rank:
        raise ValueError(
            f"multiples has {multiples.shape[0]} entries where the tensor has rank {rank}"
        )
    return _tiled(input, ops["Cast"](multiples, DstT=dtype), dtype)


def _tiled(x, multiples, dtype):
    if not isinstance(x, RaggedTensor):
        return ops["Tile"](x, multiples)
    # Within rows first, then the rows themselves.
    ones = ops["OnesLike"](multiples[:1])
    inner = _tiled(x.values, ops["ConcatV2"]([ones, multiples[2:]], 0), dtype)
    x = x.with_values(inner)
    count = multiples[1]
    rows = x.nrows()
    wide = ops["Reshape"](
        ops["Tile"](
            ops["ExpandDims"](numbers(rows), 1), ops["Pack"]([ops["OnesLike"](count), count])
        ),
        [-1],
    )
    many = gather_rows(x, wide)
    uniform = x.uniform_row_length
    partition = RowPartition(
        x.row_splits * count,
        uniform_row_length=None if uniform is None else uniform * count,
        internal=True,
    )
    wider = RaggedTensor(many.values, partition, internal=True)
    order = ops["Tile"](numbers(rows), ops["Reshape"](multiples[0], [1]))
    return gather_rows(wider, order)


def reverse(tensor, axis, name=None):
    """The elements along axes in reverse."""
    axes = list(axis) if isinstance(axis, (list, tuple)) else axis
    if not isinstance(axes, list):
        known = static_value(axes)
        if known is None:
            raise TypeError("`axis` must be a list of int or a constant tensor when reversing "
                            "axes in a ragged tensor")
        axes = [int(a) for a in known.reshape(-1)]
    rank = tensor.shape.rank
    axes = sorted({positive_axis(a, rank) for a in axes}, reverse=True)
    for each in axes:
        keys = [slice(None)] * each + [slice(None, None, -1)]
        tensor = tensor[tuple(keys)]
    return tensor


def split(value, num_or_size_splits, axis=0, num=None, name=None):
    """Parts along an axis that is not ragged."""
    rank = value.shape.rank
    axis = positive_axis(axis, rank)
    if axis > value.ragged_rank:
        parts = dense(value.flat_values, num_or_size_splits, axis - value.ragged_rank, num)
        return [value.with_flat_values(part) for part in parts]
    if axis != 0 and value._nested_row_partitions[axis - 1].static_uniform_row_length is None:
        raise ValueError("Split along a ragged dimension is not supported")
    if axis == 0:
        total = value._row_partition.static_nrows
    else:
        total = value._nested_row_partitions[axis - 1].static_uniform_row_length
    if isinstance(num_or_size_splits, int):
        if total is None:
            raise ValueError("Cannot split a ragged tensor whose size along the axis is unknown")
        if total % num_or_size_splits:
            raise ValueError(f"Cannot exactly split axis of size {total} into "
                             f"{num_or_size_splits} parts")
        sizes = [total // num_or_size_splits] * num_or_size_splits
    else:
        known = static_value(num_or_size_splits)
        if known is None:
            raise ValueError("the sizes of the parts must be known")
        sizes = [int(n) for n in known.reshape(-1)]
        if -1 in sizes and total is not None:
            sizes[sizes.index(-1)] = total - sum(n for n in sizes if n >= 0)
        if any(n < 0 for n in sizes) or (total is not None and sum(sizes) != total):
            raise ValueError(f"the parts {sizes} do not make up the axis, of size {total}")
    found, at = [], 0
    for size in sizes:
        keys = [slice(None)] * axis + [slice(at, at + size)]
        found.append(value[tuple(keys)])
        at += size
    return found
