"""Ragged tensors from dense and sparse ones, and back."""

from __future__ import annotations

import numpy as np

from .. import _array, _dtypes
from .._core import Tensor, convert_to_tensor, ops
from .._refusals import refusal
from .._select import sequence_mask
from .._shapes import TensorShape
from ..debugging import assert_equal
from ..sparse import SparseTensor
from ._partition import checked, numbers, size_of
from ._tensor import RaggedTensor


def text(array) -> str:
    """An array as `repr` writes a ragged tensor: numpy's text, with commas."""
    def one(element) -> str:
        if isinstance(element, np.ndarray):
            if not element.size:
                return str(element.tolist())
            return np.array2string(element, separator=", ", formatter={"all": one})
        return repr(element) if isinstance(element, (str, bytes)) else str(element)

    return one(array)


# ---- dense ---------------------------------------------------------------------------------------


def _wanted_sizes(shape, rank: int) -> tuple:
    """The sizes that a result is to have: a tensor, -1 where anything, and as far as known."""
    if shape is None:
        return None, TensorShape(None)
    if isinstance(shape, Tensor):
        return shape, TensorShape(None)
    known = TensorShape(shape)
    if known.rank is None:
        return None, known
    if known.rank != rank:
        raise refusal(
            f"`shape` has {known.rank} sizes where the ragged tensor has rank {rank}"
        )
    return [-1 if n is None else n for n in known.as_list()], known


def to_tensor(x: RaggedTensor, default_value, shape) -> Tensor:
    """The rows as one tensor."""
    flat, depth = x.flat_values, x.ragged_rank + 1
    if default_value is None:
        zero = {_dtypes.string: "", _dtypes.bool: False}.get(x.dtype, 0)
        default = convert_to_tensor(zero, x.dtype)
    else:
        default = convert_to_tensor(default_value, x.dtype)
    rank = flat.shape.rank
    sizes, known = _wanted_sizes(shape, depth - 1 + (rank or 1))
    if isinstance(sizes, Tensor):
        sizes = ops["Cast"](sizes, DstT=_dtypes.int64)
    else:
        sizes = convert_to_tensor(-1 if sizes is None else sizes, _dtypes.int64)
    if x.dtype.is_floating or x.dtype.is_complex:
        made = _gathered(x, flat, default, sizes, depth)
    else:
        made = ops["RaggedTensorToTensor"](
            sizes,
            flat,
            default,
            list(x.nested_row_splits),
            row_partition_types=["ROW_SPLITS"] * x.ragged_rank,
        )
    own = x.shape
    if own.rank is not None and not isinstance(shape, Tensor):
        asked = [None] * own.rank if known.rank is None else known.as_list()
        sizes = [b if a is None else a for a, b in zip(asked, own.as_list(), strict=True)]
        made = ops["EnsureShape"](made, shape=TensorShape(sizes))
    return made


def _gathered(x: RaggedTensor, flat: Tensor, default: Tensor, sizes: Tensor, depth: int):
    """The result as slices of the values and one of defaults, through which gradients go."""
    count = size_of(flat, _dtypes.int64)
    inner = ops["Shape"](flat, out_type=_dtypes.int64)[1:]
    if sizes.shape.rank == 1:
        rest = sizes[depth:]
        text = "to_tensor: `shape` does not fit the shape of the flat_values' slices"
        fits = assert_equal(ops["SelectV2"](rest < 0, inner, rest), inner, text)
        sizes = checked(sizes, [fits])[:depth]
    places = ops["RaggedTensorToTensor"](
        sizes,
        numbers(count),
        count,
        list(x.nested_row_splits),
        row_partition_types=["ROW_SPLITS"] * x.ragged_rank,
    )
    fill = ops["BroadcastTo"](default, inner)
    padded = ops["ConcatV2"]([flat, ops["ExpandDims"](fill, 0)], 0)
    return ops["GatherV2"](padded, places, 0)


def from_tensor(tensor, lengths, padding, ragged_rank, row_splits_dtype) -> RaggedTensor:
    """The rows of a tensor."""
    dtype = _dtypes.as_dtype(row_splits_dtype)
    if lengths is not None and padding is not None:
        raise ValueError("Specify argument `lengths` or `padding`, but not both.")
    if not isinstance(ragged_rank, int):
        raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
    if ragged_rank <= 0:
        raise ValueError(
            f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}."
        )
    if isinstance(tensor, RaggedTensor):
        raise TypeError("Argument `tensor` must be a tensor, not a RaggedTensor.")
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank is None:
        raise ValueError("from_tensor: the rank of the tensor must be known")
    tensor.shape.with_rank_at_least(ragged_rank + 1)
    if _is_nested(lengths):
        return _from_nested_lengths(tensor, lengths, ragged_rank, dtype)
    sizes = ops["Shape"](tensor, out_type=dtype)
    known = tensor.shape.as_list()
    if ragged_rank > 1:
        joint = TensorShape(known[:ragged_rank]).num_elements()
        flat = ops["Reshape"](tensor, ops["ConcatV2"]([[-1], sizes[ragged_rank:]], 0))
        if None not in known[:ragged_rank] and 0 in known:
            flat = ops["Reshape"](
                tensor,
                ops["ConcatV2"]([convert_to_tensor([joint], dtype), sizes[ragged_rank:]], 0),
            )
        flat = ops["EnsureShape"](flat, shape=[joint, *known[ragged_rank:]])
        result = from_tensor(flat, lengths, padding, 1, dtype)
        for axis in range(ragged_rank - 1, 0, -1):
            rows = TensorShape(known[:axis]).num_elements()
            result = RaggedTensor.from_uniform_row_length(
                result,
                sizes[axis] if known[axis] is None else convert_to_tensor(known[axis], dtype),
                ops["Prod"](sizes[:axis], 0) if rows is None else rows,
                validate=False,
            )
        return result
    columns = sizes[1]
    if padding is not None:
        lengths = _lengths_without(tensor, padding, columns)
    if lengths is not None:
        lengths = convert_to_tensor(lengths, dtype_hint=dtype)
        lengths = ops["Cast"](lengths, DstT=dtype)
        lengths.shape.assert_has_rank(1)
        lengths = ops["Maximum"](ops["Minimum"](lengths, columns), convert_to_tensor(0, dtype))
        values = _array.boolean_mask(tensor, sequence_mask(lengths, columns))
        return RaggedTensor.from_row_lengths(values, lengths, validate=False)
    joint = TensorShape(known[:2]).num_elements()
    whole = ops["ConcatV2"]([ops["Reshape"](sizes[0] * sizes[1], [1]), sizes[2:]], 0)
    values = ops["EnsureShape"](ops["Reshape"](tensor, whole), shape=[joint, *known[2:]])
    return RaggedTensor.from_uniform_row_length(
        values,
        columns if known[1] is None else convert_to_tensor(known[1], dtype),
        sizes[0] if known[0] is None else known[0],
        validate=False,
    )


def _is_nested(lengths) -> bool:
    return (
        isinstance(lengths, (list, tuple))
        and len(lengths) > 0
        and not isinstance(lengths[0], (int, float))
        and not (isinstance(lengths[0], Tensor) and lengths[0].shape.rank == 0)
    )


def _from_nested_lengths(tensor, lengths, ragged_rank: int, dtype) -> RaggedTensor:
    if ragged_rank not in (1, len(lengths)):
        raise ValueError(
            "If Argument `lengths` is a tuple of row_lengths, argument `ragged_rank` must be "
            f"len(lengths): {len(lengths)}. Received ragged_rank: {ragged_rank}"
        )
    tensor.shape.with_rank_at_least(len(lengths) + 1)
    lengths = [ops["Cast"](convert_to_tensor(n, dtype_hint=dtype), DstT=dtype) for n in lengths]
    total = ops["Sum"](lengths[-1], 0)
    there = ops["Fill"](ops["Reshape"](total, [1]), convert_to_tensor(True))
    mask = RaggedTensor.from_nested_row_lengths(there, lengths, validate=False)
    sizes = ops["Shape"](tensor, out_type=_dtypes.int64)[: len(lengths) + 1]
    known = tensor.shape.as_list()[: len(lengths) + 1]
    dense = ops["EnsureShape"](mask.to_tensor(False, shape=sizes), shape=known)
    values = _array.boolean_mask(tensor, dense)
    return RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)


def _lengths_without(tensor: Tensor, padding, columns: Tensor) -> Tensor:
    """How long rows are without the padding at their ends."""
    padding = convert_to_tensor(padding, tensor.dtype)
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    is_padding = ops["Equal"](tensor, padding)
    if tensor.shape.rank > 2:
        is_padding = ops["All"](is_padding, list(range(2, tensor.shape.rank)))
    is_there = ops["Cast"](ops["LogicalNot"](is_padding), DstT=columns.dtype)
    last = ops["Max"](is_there * numbers(columns + 1)[1:], 1)
    return ops["Maximum"](last, convert_to_tensor(0, columns.dtype))


# ---- sparse --------------------------------------------------------------------------------------


def from_sparse(st_input, row_splits_dtype) -> RaggedTensor:
    """The rows of a sparse matrix."""
    dtype = _dtypes.as_dtype(row_splits_dtype)
    if not isinstance(st_input, SparseTensor):
        raise TypeError(
            "Argument `st_input` must be of type SparseTensor, but is of type "
            f"{type(st_input).__name__}."
        )
    known = st_input.dense_shape.shape.as_list()[0], st_input.indices.shape.as_list()[1]
    if any(n is not None and n != 2 for n in known):
        raise ValueError("rank(st_input) must be 2.")
    ids, places = st_input.indices[:, 0], st_input.indices[:, 1]
    is_new = ops["NotEqual"](ids[1:], ids[:-1])
    following = places[:-1] + 1
    expected = ops["SelectV2"](is_new, ops["ZerosLike"](following), following)
    message = "SparseTensor is not right-ragged"
    checks = [
        assert_equal(places[:1], ops["ZerosLike"](places[:1]), message),
        assert_equal(places[1:], expected, message),
    ]
    ids = ops["Cast"](checked(ids, checks), DstT=dtype)
    rows = ops["Cast"](st_input.dense_shape[0], DstT=dtype)
    return RaggedTensor.from_value_rowids(st_input.values, ids, rows, validate=False)
