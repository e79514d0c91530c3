"""Elements and places where a mask is true."""

from __future__ import annotations

from .. import _array, _dtypes
from .._core import convert_to_tensor, ops
from ..debugging import assert_equal
from ._elementwise import binary, together
from ._gather import gather_rows
from ._partition import checked, numbers
from ._tensor import RaggedTensor, match_row_splits_dtypes


def boolean_mask(data, mask, name=None):
    """The elements where a mask is true; within rows, they stay in their rows."""
    if not isinstance(mask, RaggedTensor):
        mask = convert_to_tensor(mask, _dtypes.bool)
    elif mask.dtype != _dtypes.bool:
        raise TypeError(f"mask must be bool, not {mask.dtype.name}")
    if not isinstance(data, RaggedTensor):
        data = convert_to_tensor(data)
    rank = mask.shape.rank
    if rank is None:
        raise ValueError("mask.shape.ndims must be known statically.")
    if rank == 0:
        raise ValueError("mask cannot be scalar.")
    if not isinstance(mask, RaggedTensor) and not isinstance(data, RaggedTensor):
        return _dense(data, mask, rank)
    if rank == 1:
        chosen = ops["Reshape"](ops["Where"](mask), [-1])
        rows = data.nrows()
        size = ops["Shape"](mask, out_type=rows.dtype)[0]
        chosen = checked(chosen, [assert_equal(size, rows, "mask and data differ in rows")])
        return gather_rows(data, chosen)
    if not isinstance(mask, RaggedTensor):
        mask = RaggedTensor.from_tensor(
            mask,
            ragged_rank=min(data.ragged_rank, rank - 1),
            row_splits_dtype=data.row_splits.dtype,
        )
    elif not isinstance(data, RaggedTensor):
        data = RaggedTensor.from_tensor(
            data, ragged_rank=mask.ragged_rank, row_splits_dtype=mask.row_splits.dtype
        )
    data, mask = match_row_splits_dtypes(data, mask)
    same = checked(
        mask.row_splits,
        [assert_equal(mask.row_splits, data.row_splits, "mask and data differ in rows")],
    )
    found = boolean_mask(data.values, mask.values)
    if rank > 2:
        return RaggedTensor.from_row_splits(found, same, validate=False)
    truths = ops["Cast"](mask.values, DstT=mask.row_splits.dtype)
    zero = convert_to_tensor([0], mask.row_splits.dtype)
    ends = ops["ConcatV2"]([zero, ops["Cumsum"](truths, 0)], 0)
    splits = ops["GatherV2"](ends, same, 0)
    return RaggedTensor.from_row_splits(found, splits, validate=False)


def _dense(data, mask, rank: int):
    found = _array.boolean_mask(data, mask)
    if rank == 1:
        return found
    counts = ops["Sum"](ops["Cast"](mask, DstT=_dtypes.int64), rank - 1)
    found = RaggedTensor.from_row_lengths(found, ops["Reshape"](counts, [-1]), validate=False)
    sizes = ops["Shape"](mask, out_type=_dtypes.int64)
    for axis in range(rank - 2, 0, -1):
        splits = numbers(ops["Prod"](sizes[:axis], 0) + 1) * sizes[axis]
        found = RaggedTensor.from_row_splits(found, splits, validate=False)
    return found


def where(condition, x=None, y=None, name=None):
    """x where the condition is true, else y; or the places where it is true."""
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        flat = condition.flat_values
        is_true = flat if flat.dtype == _dtypes.bool else ops["Cast"](flat, DstT=_dtypes.bool)
        places = ops["RaggedTensorToSparse"](
            list(condition.nested_row_splits), ops["Reshape"](is_true, ops["Shape"](flat))
        )[0]
        chosen = ops["Where"](ops["Reshape"](is_true, [-1]))
        return ops["GatherV2"](places, ops["Reshape"](chosen, [-1]), 0)
    parts = [
        p if isinstance(p, RaggedTensor) else convert_to_tensor(p)
        for p in (condition, x, y)
    ]
    condition, x, y = match_row_splits_dtypes(*parts)
    if x.dtype != y.dtype:
        x = x if isinstance(x, RaggedTensor) else convert_to_tensor(parts[1], y.dtype)
        y = y if isinstance(y, RaggedTensor) else convert_to_tensor(parts[2], x.dtype)
    # The rows of all three: each pair is stretched together with the third.
    if isinstance(x, RaggedTensor) or isinstance(y, RaggedTensor):
        a, b, rows = together(x, y)
        x = rows.with_flat_values(_like(a, rows))
        y = rows.with_flat_values(_like(b, rows))
    if not isinstance(condition, RaggedTensor) and condition.shape.rank == 0:
        return x.with_flat_values(ops["SelectV2"](condition, x.flat_values, y.flat_values))
    if not isinstance(x, RaggedTensor):
        return binary(lambda c, v: ops["SelectV2"](c, v, _number_of(c, y)), ("c", "v"))(
            condition, x
        ) if y.shape.rank == 0 else _three(condition, x, y)
    return _three(condition, x, y)


def _number_of(c, y):
    return y


def _like(flat, rows: RaggedTensor):
    """Flat values of all rows, where they are one for all."""
    if flat.shape.rank == rows.flat_values.shape.rank:
        return flat
    return ops["BroadcastTo"](flat, ops["Shape"](rows.flat_values))


def _three(condition, x, y) -> RaggedTensor:
    flat_c, flat_x, rows = together(condition, x)
    wide = rows.with_flat_values(_like(flat_x, rows))
    kept = rows.with_flat_values(_like(flat_c, rows)) if flat_c.shape.rank else None
    flat_y, _, again = together(y, wide)
    if kept is None:
        return again.with_flat_values(ops["SelectV2"](flat_c, wide.flat_values, flat_y))
    flat_c, flat_x, _ = together(kept, wide)
    return again.with_flat_values(ops["SelectV2"](flat_c, flat_x, flat_y))
