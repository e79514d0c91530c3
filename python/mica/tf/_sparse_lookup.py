"""Rows of tables that sparse ids name, combined row by row of the ids."""

from __future__ import annotations

from . import _array, _dtypes, _select
from ._core import Tensor, convert_to_tensor, ops
from ._math import cast
from ._reduce import segment_sum
from ._sparse_tensor import SparseTensor
from ._variable import Variable
from .nn import embedding_lookup
from .sparse import (
    fill_empty_rows,
    ordered_unique,
    reshape,
    retain,
    segment_mean,
    segment_sqrt_n,
)
from .sparse import segment_sum as rows_sum

_COMBINERS = ("mean", "sqrtn", "sum")


def _tables(params) -> list:
    """One table, or the parts of one."""
    return list(params) if isinstance(params, list | tuple) else [params]


def _check_lookup(sp_ids, sp_weights, combiner: str) -> None:
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is None:
        return
    if not isinstance(sp_weights, SparseTensor):
        raise TypeError(
            f"sp_weights must be either None or SparseTensor,got {type(sp_weights)}"
        )
    for part in ("values", "indices", "dense_shape"):
        ours, theirs = getattr(sp_ids, part).shape, getattr(sp_weights, part).shape
        if not ours.is_compatible_with(theirs):
            raise ValueError(f"Shapes {ours} and {theirs} are incompatible")


def embedding_lookup_sparse(
    params,
    sp_ids,
    sp_weights,
    combiner=None,
    max_norm=None,
    name=None,
    allow_fast_lookup=False,
):
    """Return, for each row of ids, the combined rows of a table.

    They are combined as their weighted sum, as that over the sum of the weights (mean), or over the
    root of the sum of their squares (sqrtn). With `allow_fast_lookup` the gradient of the table is
    dense, else slices.
    """
    combiner = "mean" if combiner is None else combiner
    _check_lookup(sp_ids, sp_weights, combiner)
    tables, segments = _tables(params), sp_ids.indices[:, 0]
    fast = allow_fast_lookup and len(tables) == 1 and max_norm is None
    if sp_weights is None and fast:
        function = {"mean": segment_mean, "sqrtn": segment_sqrt_n, "sum": rows_sum}[combiner]
        return function(convert_to_tensor(tables[0]), sp_ids.values, segments, name=name)
    in_order = sp_weights is None and len(tables) == 1 and max_norm is None
    ids, places = (ordered_unique if in_order else _select.unique)(sp_ids.values)
    rows = embedding_lookup(tables, ids, max_norm=max_norm)
    if sp_weights is None:
        function = {"mean": segment_mean, "sqrtn": segment_sqrt_n, "sum": rows_sum}[combiner]
        return function(rows, places, segments, name=name)
    rows = _array.gather(rows, places)
    return _weighted(rows, sp_weights.values, segments, combiner, name)


def _weighted(rows: Tensor, weights: Tensor, segments: Tensor, combiner: str, name):
    dtype = rows.dtype
    if dtype in (_dtypes.float16, _dtypes.bfloat16):
        rows = cast(rows, _dtypes.float32)
    weights = cast(weights, rows.dtype)
    ones = _array.ones(ops["ExpandDims"](ops["Rank"](rows) - 1, 0), _dtypes.int32)
    sizes = ops["ConcatV2"]([ops["Shape"](weights), ones], 0)
    weights = ops["Reshape"](weights, sizes)
    sums = segment_sum(rows * weights, segments)
    if combiner == "mean":
        sums = ops["DivNoNan"](sums, segment_sum(weights, segments))
    elif combiner == "sqrtn":
        sums = ops["DivNoNan"](sums, ops["Sqrt"](segment_sum(weights * weights, segments)))
    return ops["Identity"](cast(sums, dtype), name=name)


def safe_embedding_lookup_sparse(
    embedding_weights,
    sparse_ids,
    sparse_weights=None,
    combiner="mean",
    default_id=None,
    max_norm=None,
    name=None,
    allow_fast_lookup=False,
):
    """Return `embedding_lookup_sparse` of the ids that are valid.

    These are not negative, and their weights are positive. A row without any is zeros, or the
    table's row `default_id`. The ids may have any rank; those along the last axis are combined.
    """
    if embedding_weights is None or (
        isinstance(embedding_weights, list | tuple) and not embedding_weights
    ):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    tables = [
        each if isinstance(each, Variable) and dtype in (None, each.dtype) else _of(each, dtype)
        for each in _tables(embedding_weights)
    ]
    outer = sparse_ids.dense_shape[:-1]
    rank = sparse_ids.dense_shape.shape[0]
    flat = ops["Pack"]([ops["Prod"](outer, [0]), sparse_ids.dense_shape[-1]])
    ids, weights = reshape(sparse_ids, flat), None
    if sparse_weights is not None:
        weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
    ids, weights = _valid(ids, weights, combiner)
    ids, empty = fill_empty_rows(ids, default_id or 0)
    if weights is not None:
        weights, _ = fill_empty_rows(weights, 1.0)
    result = embedding_lookup_sparse(
        tables,
        ids,
        weights,
        combiner=combiner,
        max_norm=max_norm,
        allow_fast_lookup=allow_fast_lookup,
    )
    if default_id is None:
        result = _array.where(ops["Reshape"](empty, [-1, 1]), _array.zeros_like(result), result)
    rest = ops["Shape"](result)[1:]
    sizes = ops["ConcatV2"]([cast(outer, _dtypes.int32), rest], 0)
    final = ops["Reshape"](result, sizes, name=name)
    if rank is not None and result.shape.rank is not None:
        final.set_shape([*[None] * (rank - 1), *result.shape.as_list()[1:]])
    return final


def _of(table, dtype) -> Tensor:
    table = convert_to_tensor(table)
    return table if dtype is None else cast(table, dtype)


def _valid(ids: SparseTensor, weights, combiner: str) -> tuple:
    kept = ids.values >= 0
    if weights is None:
        return retain(ids, kept), None
    ids, weights = retain(ids, kept), retain(weights, kept)
    if combiner == "sum":
        return ids, weights
    kept = weights.values > 0
    return retain(ids, kept), retain(weights, kept)
