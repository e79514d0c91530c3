"""`tf.RaggedTensor`: rows of different lengths, as values and where rows begin and end."""

from __future__ import annotations

import itertools

import numpy as np

from .. import _dtypes, fill
from .._composite import CompositeTensor
from .._core import Tensor, convert_to_tensor, ops
from .._refusals import refusal
from .._shapes import TensorShape
from ..debugging import assert_equal
from ..sparse import SparseTensor
from ._partition import RowPartition, checked, is_eager, numbers, size_of


def convert_to_values(value):
    """What may be the values of a ragged tensor: one, or a tensor."""
    if isinstance(value, RaggedTensor):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(v, RaggedTensor) for v in value):
        raise ValueError("a list of ragged tensors is no ragged tensor: use tf.ragged.stack")
    return convert_to_tensor(value)


def _dtype_hint(values):
    return values.row_splits.dtype if isinstance(values, RaggedTensor) else None


def positive_axis(axis, rank: int | None, name: str = "axis") -> int:
    """The axis, counted from the first."""
    if not isinstance(axis, int):
        raise TypeError(f"{name} must be an int; got {type(axis).__name__}")
    if rank is None:
        if axis < 0:
            raise ValueError(f"{name}={axis} may only be negative if rank is statically known.")
        return axis
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return axis % rank


class RaggedTensor(CompositeTensor):
    """Rows of different lengths: row i is values[row_splits[i] : row_splits[i + 1]].

    The values are a tensor, or ragged themselves. It is made by `tf.ragged.constant`,
    `from_row_splits` and the like.
    """

    __module__ = "tensorflow.python.ops.ragged.ragged_tensor"  # by which libraries tell it
    __array_priority__ = 101
    _is_tensor = True
    _mica_own_operators = True

    def __init__(self, values, row_partition, internal=False) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        self._values = values
        self._row_partition = row_partition

    # ---- making --------------------------------------------------------------------------------

    @classmethod
    def _from_row_partition(cls, values, row_partition, validate=True) -> RaggedTensor:
        if not isinstance(row_partition, RowPartition):
            raise TypeError(
                f"Argument `row_partition` should be a RowPartition. Received {row_partition}"
            )
        if not isinstance(validate, bool):
            raise TypeError(f"Argument `validate` must have type bool. Received {validate}.")
        values = convert_to_values(values)
        if isinstance(values, RaggedTensor):
            if values.row_splits.dtype != row_partition.dtype:
                raise ValueError(
                    f"dtype mismatch: values have row_splits of dtype "
                    f"{values.row_splits.dtype.name}, the rows of {row_partition.dtype.name}"
                )
        else:
            if values.shape.rank == 0:
                raise refusal("the values of a ragged tensor must not be a scalar")
        if validate:
            text = "Arguments to _from_row_partition do not form a valid RaggedTensor"
            if isinstance(values, RaggedTensor):
                count = values.nrows(row_partition.dtype)
            else:
                count = size_of(values, row_partition.dtype)
            check = assert_equal(row_partition.nvals(), count, text)
            splits = checked(row_partition.row_splits(), [check])
            if splits is not row_partition.row_splits():
                row_partition = RowPartition(
                    splits,
                    uniform_row_length=row_partition.uniform_row_length(),
                    internal=True,
                )
        return cls(values, row_partition, internal=True)

    @classmethod
    def from_value_rowids(
        cls, values, value_rowids, nrows=None, name=None, validate=True
    ) -> RaggedTensor:
        """Rows by the row of each value, in order."""
        _check_validate(validate)
        values = convert_to_values(values)
        partition = RowPartition.from_value_rowids(
            value_rowids, nrows, validate, dtype_hint=_dtype_hint(values)
        )
        return cls._from_row_partition(values, partition, validate)

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True) -> RaggedTensor:
        """Rows by where they begin, and where the last ends."""
        _check_validate(validate)
        values = convert_to_values(values)
        partition = RowPartition.from_row_splits(
            row_splits, validate, dtype_hint=_dtype_hint(values)
        )
        return cls._from_row_partition(values, partition, validate)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True) -> RaggedTensor:
        """Rows by how long they are."""
        _check_validate(validate)
        values = convert_to_values(values)
        partition = RowPartition.from_row_lengths(
            row_lengths, validate, dtype_hint=_dtype_hint(values)
        )
        return cls._from_row_partition(values, partition, validate)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True) -> RaggedTensor:
        """Rows by where they begin; the last one ends with the values."""
        _check_validate(validate)
        values = convert_to_values(values)
        is_ragged = isinstance(values, RaggedTensor)
        count = values.nrows() if is_ragged else size_of(values, _dtypes.int64)
        starts = convert_to_tensor(
            row_starts, dtype_hint=_dtype_hint(values) or _dtypes.int64
        )
        partition = RowPartition.from_row_starts(
            starts, ops["Cast"](count, DstT=starts.dtype), validate
        )
        return cls._from_row_partition(values, partition, validate)

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True) -> RaggedTensor:
        """Rows by where they end."""
        _check_validate(validate)
        values = convert_to_values(values)
        partition = RowPartition.from_row_limits(
            row_limits, validate, dtype_hint=_dtype_hint(values)
        )
        return cls._from_row_partition(values, partition, validate)

    @classmethod
    def from_uniform_row_length(
        cls, values, uniform_row_length, nrows=None, validate=True, name=None
    ) -> RaggedTensor:
        """Rows that all have one length."""
        _check_validate(validate)
        values = convert_to_values(values)
        dtype = _dtype_hint(values)
        if dtype is None:
            given = [x for x in (uniform_row_length, nrows) if isinstance(x, Tensor)]
            dtype = given[0].dtype if given else _dtypes.int64
        is_ragged = isinstance(values, RaggedTensor)
        count = values.nrows(dtype) if is_ragged else _count(values, dtype)
        partition = RowPartition.from_uniform_row_length(
            uniform_row_length, count, nrows, validate, dtype_hint=dtype
        )
        return cls._from_row_partition(values, partition, validate)

    @classmethod
    def from_nested_value_rowids(
        cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True
    ) -> RaggedTensor:
        """Rows of rows, from the outermost, by `from_value_rowids`."""
        _check_nested("nested_value_rowids", nested_value_rowids)
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        else:
            _check_nested("nested_nrows", nested_nrows)
            if len(nested_nrows) != len(nested_value_rowids):
                raise ValueError(
                    "Argument `nested_nrows` must have the same length as argument "
                    f"`nested_value_rowids`. len(nested_nrows) = {len(nested_nrows)} vs. "
                    f"len(nested_values_rowids) = {len(nested_value_rowids)}."
                )
        result = flat_values
        for ids, rows in reversed(list(zip(nested_value_rowids, nested_nrows, strict=True))):
            result = cls.from_value_rowids(result, ids, rows, validate=validate)
        return result

    @classmethod
    def from_nested_row_splits(
        cls, flat_values, nested_row_splits, name=None, validate=True
    ) -> RaggedTensor:
        """Rows of rows, from the outermost, by `from_row_splits`."""
        _check_nested("nested_row_splits", nested_row_splits)
        result = flat_values
        for splits in reversed(nested_row_splits):
            result = cls.from_row_splits(result, splits, validate=validate)
        return result

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values, nested_row_lengths, name=None, validate=True
    ) -> RaggedTensor:
        """Rows of rows, from the outermost, by `from_row_lengths`."""
        _check_nested("nested_row_lengths", nested_row_lengths)
        result = flat_values
        for lengths in reversed(nested_row_lengths):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result

    @classmethod
    def _from_nested_row_partitions(
        cls, flat_values, nested_row_partitions, name=None, validate=True
    ) -> RaggedTensor:
        result = flat_values
        for partition in reversed(nested_row_partitions):
            result = cls._from_row_partition(result, partition, validate)
        return result

    @classmethod
    def from_tensor(
        cls,
        tensor,
        lengths=None,
        padding=None,
        ragged_rank=1,
        name=None,
        row_splits_dtype=_dtypes.int64,
    ) -> RaggedTensor:
        """A tensor's rows: up to their lengths, or without the padding at their ends."""
        from ._convert import from_tensor

        return from_tensor(tensor, lengths, padding, ragged_rank, row_splits_dtype)

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=_dtypes.int64) -> RaggedTensor:
        """The rows of a sparse matrix, in which no row has a gap."""
        from ._convert import from_sparse

        return from_sparse(st_input, row_splits_dtype)

    # ---- parts ---------------------------------------------------------------------------------

    @property
    def dtype(self) -> _dtypes.DType:
        """The element type."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape; None along ragged axes."""
        partition = self._row_partition
        outer = TensorShape([partition.static_nrows, partition.static_uniform_row_length])
        return outer.concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        """The shape; None along ragged axes."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged."""
        return len(self._nested_row_partitions)

    @property
    def values(self):
        """The rows one after the other."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The innermost rows one after the other."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def _nested_row_partitions(self) -> tuple:
        inner = self._values
        return (
            self._row_partition,
            *(inner._nested_row_partitions if isinstance(inner, RaggedTensor) else ()),
        )

    @property
    def row_splits(self) -> Tensor:
        """Where rows begin, and the end of the last."""
        return self._row_partition.row_splits()

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length that all rows are known to have; None: they may differ."""
        return self._row_partition.uniform_row_length()

    @property
    def nested_row_splits(self) -> tuple:
        """Where rows begin, and the end of the last, from the outermost to the innermost."""
        return tuple(p.row_splits() for p in self._nested_row_partitions)

    def value_rowids(self, name=None) -> Tensor:
        """The row of each value."""
        return self._row_partition.value_rowids()

    def nested_value_rowids(self, name=None) -> tuple:
        """The row of each value, from the outermost to the innermost."""
        return tuple(p.value_rowids() for p in self._nested_row_partitions)

    def nrows(self, out_type=None, name=None) -> Tensor:
        """How many rows there are."""
        count = self._row_partition.nrows()
        return count if out_type is None else ops["Cast"](count, DstT=_dtypes.as_dtype(out_type))

    def row_starts(self, name=None) -> Tensor:
        """Where each row begins."""
        return self._row_partition.row_starts()

    def row_limits(self, name=None) -> Tensor:
        """Where each row ends."""
        return self._row_partition.row_limits()

    def row_lengths(self, axis=1, name=None):
        """How long each row along an axis is; along axes of the values, in the same rows."""
        place = positive_axis(axis, self.shape.rank)
        if place == 0:
            return self.nrows()
        if place == 1:
            return self._row_partition.row_lengths()
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(place - 1))

        sizes = ops["Shape"](self._values, out_type=self.row_splits.dtype)
        return self.with_values(fill(sizes[: place - 1], sizes[place - 1]))

    def nested_row_lengths(self, name=None) -> tuple:
        """How long rows are, from the outermost to the innermost."""
        return tuple(p.row_lengths() for p in self._nested_row_partitions)

    def bounding_shape(self, axis=None, name=None, out_type=None):
        """The sizes of the smallest tensor that holds all; or those along some axes."""
        dtype = self.row_splits.dtype if out_type is None else _dtypes.as_dtype(out_type)

        def longest(partition: RowPartition) -> Tensor:
            lengths = partition.row_lengths()
            widest = ops["Max"](ops["ConcatV2"]([lengths, ops["ZerosLike"](lengths[:1])], 0), 0)
            # Without rows there is nothing to be longest.
            return ops["Cast"](
                ops["Maximum"](widest, convert_to_tensor(0, lengths.dtype)), DstT=dtype
            )

        partitions = self._nested_row_partitions
        if isinstance(axis, int):
            if axis == 0:
                return self.nrows(dtype)
            if axis == 1:
                return longest(self._row_partition)
        sizes = [self.nrows(dtype), *map(longest, partitions)]
        inner = ops["Shape"](self.flat_values, out_type=dtype)[1:]
        whole = ops["ConcatV2"]([ops["Pack"](sizes), inner], 0)
        return whole if axis is None else ops["GatherV2"](whole, convert_to_tensor(axis), 0)

    # ---- the same rows, other values -----------------------------------------------------------

    def with_values(self, new_values) -> RaggedTensor:
        """The same rows of other values."""
        values = convert_to_values(new_values)
        values.shape.with_rank_at_least(1)
        old, new = self._values.shape[:1], values.shape[:1]
        old.assert_is_compatible_with(new)
        partition = self._row_partition
        if isinstance(values, RaggedTensor) and values.row_splits.dtype != partition.dtype:
            raise ValueError(
                "self and values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return RaggedTensor(values, partition, internal=True)

    def with_flat_values(self, new_values) -> RaggedTensor:
        """The same rows, at all depths, of other innermost values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype) -> RaggedTensor:
        """The same with row splits of another dtype."""
        dtype = _dtypes.as_dtype(dtype)
        if dtype not in (_dtypes.int32, _dtypes.int64):
            raise ValueError(
                f"Argument `row_splits` dtype must be int32 or int64. Received {dtype}."
            )
        if self.row_splits.dtype == dtype:
            return self
        values = self._values
        if isinstance(values, RaggedTensor):
            values = values.with_row_splits_dtype(dtype)
        return RaggedTensor(values, self._row_partition.with_dtype(dtype), internal=True)

    def merge_dims(self, outer_axis: int, inner_axis: int):
        """The axes from one to another as one axis."""
        rank = self.shape.rank
        outer = positive_axis(outer_axis, rank, "outer_axis")
        inner = positive_axis(inner_axis, rank, "inner_axis")
        if not outer <= inner:
            raise ValueError(
                f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis "
                f"({inner_axis})."
            )
        return merge_dims(self, outer, inner)

    def _with_known_shape(self, shape: TensorShape) -> RaggedTensor:
        """The same, of which more is known: sizes of even rows and of the values."""
        sizes = shape.as_list()
        values, partition = self._values, self._row_partition
        if sizes[1] is not None and not partition.is_uniform():
            partition = partition._with_uniform_row_length(sizes[1])
        if isinstance(values, RaggedTensor):
            values = values._with_known_shape(TensorShape([None, *sizes[2:]]))
        elif not is_eager(values):
            values.set_shape([None, *sizes[2:]])
        return RaggedTensor(values, partition, internal=True)

    # ---- as other values -----------------------------------------------------------------------

    def to_tensor(self, default_value=None, name=None, shape=None) -> Tensor:
        """The rows as one tensor: short ones filled up, long ones cut to the shape."""
        from ._convert import to_tensor

        return to_tensor(self, default_value, shape)

    def to_sparse(self, name=None):
        """The elements and their places."""
        flat = self.flat_values
        indices, _, sizes = ops["RaggedTensorToSparse"](
            list(self.nested_row_splits), numbers_like(flat)
        )
        return SparseTensor(indices, ops["Reshape"](flat, [-1]), sizes)

    def to_list(self) -> list:
        """The rows as lists of Python's values."""
        if not self._is_eager():
            raise ValueError("RaggedTensor.to_list() is only supported in eager mode; in graph "
                             "mode, evaluate the RaggedTensor first and then use "
                             "RaggedTensorValue.to_list().")
        inner, splits = self._values, self.row_splits.numpy().tolist()
        values = inner.to_list() if isinstance(inner, RaggedTensor) else inner.numpy().tolist()
        return [values[a:b] for a, b in itertools.pairwise(splits)]

    def numpy(self):
        """The rows as an array of arrays, or as one array when they are all of one length."""
        if not self._is_eager():
            raise ValueError("RaggedTensor.numpy() is only supported in eager mode.")
        values, splits = self._values.numpy(), self.row_splits.numpy()
        rows = [values[a:b] for a, b in itertools.pairwise(splits)]
        if not rows:
            return np.array([], dtype=values.dtype)
        if len({len(row) for row in rows}) == 1:
            return np.array(rows)
        return np.array(rows, dtype=object)

    def _is_eager(self) -> bool:
        parts = [self.flat_values, *self.nested_row_splits]
        return all(map(is_eager, parts))

    def _to_variant(self, batched_input=False, name=None) -> Tensor:
        return ops["RaggedTensorToVariant"](
            list(self.nested_row_splits),
            self.flat_values,
            Tsplits=self.row_splits.dtype,
            batched_input=batched_input,
        )

    @classmethod
    def _from_variant(
        cls,
        variant,
        dtype,
        output_ragged_rank,
        input_ragged_rank=None,
        row_splits_dtype=_dtypes.int64,
        name=None,
    ):
        *splits, values = ops["RaggedTensorFromVariant"](
            variant,
            input_ragged_rank=-1 if input_ragged_rank is None else input_ragged_rank,
            output_ragged_rank=output_ragged_rank,
            Tvalues=_dtypes.as_dtype(dtype),
            Tsplits=_dtypes.as_dtype(row_splits_dtype),
        )
        if not splits:
            return values
        return cls.from_nested_row_splits(values, splits, validate=False)

    @property
    def _type_spec(self):
        from ._spec import RaggedTensorSpec

        return RaggedTensorSpec.from_value(self)

    def _shape_invariant_to_type_spec(self, shape):
        from ._spec import RaggedTensorSpec

        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self.row_splits.dtype)

    def consumers(self) -> list:
        """The operations that use it: what is kept of that is on the tensors inside."""
        return []

    def _from_gradients(self, parts: list) -> RaggedTensor | None:
        """The gradient, given those of the flat values and the row splits."""
        return None if parts[0] is None else self.with_flat_values(parts[0])

    @staticmethod
    def _stand_in(key: str, function):
        from ._handlers import handler

        return handler(key, function)

    # ---- indexing, text ------------------------------------------------------------------------

    def __getitem__(self, key):
        from ._getitem import getitem

        return getitem(self, key)

    def __repr__(self) -> str:
        if self._is_eager():
            from ._convert import text

            return f"<tf.RaggedTensor {text(self.numpy())}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self.row_splits})"

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __hash__(self) -> int:
        raise TypeError("RaggedTensor is unhashable.")

    def __eq__(self, other):
        from ._elementwise import equals

        return equals(self, other)

    def __ne__(self, other):
        from ._elementwise import differs

        return differs(self, other)


def _operator(key: str, swapped: bool = False):
    """The operator that a function of the package is."""

    def operate(self, other):
        from ._handlers import operator

        x, y = (other, self) if swapped else (self, other)
        return operator(key)(x, y)

    return operate


for _key, _names in {
    "add": "add radd",
    "subtract": "sub rsub",
    "multiply": "mul rmul",
    "truediv": "truediv rtruediv",
    "floordiv": "floordiv rfloordiv",
    "floormod": "mod rmod",
    "pow": "pow rpow",
    "logical_and": "and rand",
    "logical_or": "or ror",
    "logical_xor": "xor rxor",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}.items():
    for _name in _names.split():
        _swapped = _name[0] == "r" and _name != "rshift"
        setattr(RaggedTensor, f"__{_name}__", _operator(_key, _swapped))


def _unary_operator(key: str):
    def operate(self):
        from ._handlers import operator

        return operator(key)(self)

    return operate


for _key, _name in {"negative": "neg", "abs": "abs", "logical_not": "invert"}.items():
    setattr(RaggedTensor, f"__{_name}__", _unary_operator(_key))
del _key, _name, _names, _swapped


def _check_validate(validate) -> None:
    if not isinstance(validate, bool):
        raise TypeError(f"Argument `validate` must have type bool. Received {validate}.")


def _check_nested(name: str, value) -> None:
    if isinstance(value, Tensor):
        raise TypeError(f"Argument `{name}` must be a list of Tensors. Received {value}.")


def _count(values: Tensor, dtype):
    known = values.shape[0] if values.shape.rank else None
    return size_of(values, dtype) if known is None else known


def numbers_like(values: Tensor) -> Tensor:
    """0, 1, ... in the shape of values."""
    sizes = ops["Shape"](values, out_type=_dtypes.int64)
    return ops["Reshape"](numbers(ops["Prod"](sizes, 0)), sizes)


def _merged_sizes(values: Tensor, first: int, last: int):
    """The sizes of values in which the axes from first to last are one."""
    sizes = ops["Shape"](values)
    known = values.shape.as_list()
    joint = TensorShape(known[first : last + 1]).num_elements()
    parts = [sizes[:first], [-1], sizes[last + 1 :]]
    made = ops["Reshape"](values, ops["ConcatV2"](parts, 0))
    return ops["EnsureShape"](made, shape=[*known[:first], joint, *known[last + 1 :]])


def merge_dims(value, outer: int, inner: int):
    """The axes from outer to inner, counted from the first, as one."""
    if outer == inner:
        return value
    while outer == 0 and isinstance(value, RaggedTensor):
        value, inner = value.values, inner - 1
        if inner == 0:
            return value
    if not isinstance(value, RaggedTensor):
        return _merged_sizes(value, outer, inner)
    if outer > 1:
        return value.with_values(merge_dims(value.values, outer - 1, inner - 1))
    values, splits = value.values, value.row_splits
    for axis in range(outer, inner):
        if not isinstance(values, RaggedTensor):
            depth = inner - axis
            sizes = ops["Shape"](values, out_type=splits.dtype)
            splits = splits * ops["Prod"](sizes[1 : depth + 1], 0)
            values = _merged_sizes(values, 0, depth)
            break
        splits = ops["GatherV2"](values.row_splits, splits, 0)
        values = values.values
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def match_row_splits_dtypes(*tensors):
    """The same with row splits of one dtype: int64 where they differ; what is not ragged as is."""
    dtypes = {t.row_splits.dtype for t in tensors if isinstance(t, RaggedTensor)}
    if len(dtypes) < 2:
        return list(tensors)
    return [
        t.with_row_splits_dtype(_dtypes.int64) if isinstance(t, RaggedTensor) else t
        for t in tensors
    ]


__all__ = ["RaggedTensor"]
