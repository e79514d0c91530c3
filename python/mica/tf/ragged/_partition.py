"""`tf.experimental.RowPartition`: how values are cut into rows."""

from __future__ import annotations

import numpy

from ... import _mica
from .. import _dtypes, _spec_registry
from .._composite import CompositeTensor
from .._core import Tensor, convert_to_tensor, ops
from .._effects import control_dependencies
from .._shapes import TensorShape
from .._specs import TensorSpec, TypeSpec
from .._static import static_value
from ..debugging import assert_equal, assert_greater_equal, assert_less, assert_non_negative


def is_eager(tensor) -> bool:
    """Whether a tensor has its value now."""
    return isinstance(tensor, _mica.TFEagerTensor)


def known_int(tensor) -> int | None:
    """The value of an integer scalar as far as it is known."""
    if tensor is None:
        return None
    value = static_value(tensor)
    return None if value is None else int(value)


def numbers(count) -> Tensor:
    """0, 1, ... before count; a size that is computed does not have to be known before."""
    known = None if isinstance(count, int) else known_int(count)
    zero = convert_to_tensor(0, count.dtype)
    one = convert_to_tensor(1, count.dtype)
    found = ops["RaggedRange"](zero, count, one, Tsplits=_dtypes.int64)[1]
    return found if known is None else ops["EnsureShape"](found, shape=[known])


def checked(tensor: Tensor, checks: list) -> Tensor:
    """The tensor, once the checks have passed."""
    checks = [check for check in checks if check is not None]
    if not checks:
        return tensor
    with control_dependencies(checks):
        return ops["Identity"](tensor)


def size_of(values, dtype) -> Tensor:
    """The size of the first axis."""
    return ops["Shape"](values, out_type=dtype)[0]


def partition_operand(value, name: str, dtype=None, dtype_hint=None) -> Tensor:
    """An argument that says where rows are: int32 when it is that, else int64."""
    if isinstance(value, numpy.ndarray) and value.dtype == numpy.int32 and dtype is None:
        tensor = convert_to_tensor(value)
    else:
        hint = _dtypes.int64 if dtype_hint is None else dtype_hint
        tensor = convert_to_tensor(value, dtype, hint)
    if tensor.dtype not in (_dtypes.int32, _dtypes.int64):
        raise ValueError(f"{name} must have dtype int32 or int64")
    return tensor


def _starting_with_zero(tensor: Tensor) -> Tensor:
    return ops["ConcatV2"]([convert_to_tensor([0], tensor.dtype), tensor], 0)


def _monotonic(tensor: Tensor, message: str):
    return assert_non_negative(tensor[1:] - tensor[:-1], message)


@_spec_registry.register("tf.RowPartitionSpec")
class RowPartitionSpec(TypeSpec):
    """The spec of a RowPartition."""

    __slots__ = ("_dtype", "_nrows", "_nvals", "_uniform_row_length")

    def __init__(self, nrows=None, nvals=None, uniform_row_length=None, dtype=_dtypes.int64):
        self._nrows = TensorShape([nrows])
        self._nvals = TensorShape([nvals])
        self._uniform_row_length = TensorShape([uniform_row_length])
        self._dtype = _dtypes.as_dtype(dtype)
        if self._dtype not in (_dtypes.int32, _dtypes.int64):
            raise ValueError("dtype must be tf.int32 or tf.int64")
        rows, values = self._nrows[0], self._nvals[0]
        length = self._uniform_row_length[0]
        if rows == 0 and (values or 0) > 0:
            raise ValueError("nvals must be zero if nrows is zero")
        if None not in (rows, values, length) and rows * length != values:
            raise ValueError(
                f"{length} (uniform_row_length) x {rows} (nrows) != {values} (nvals)"
            )

    @property
    def value_type(self) -> type:
        """RowPartition."""
        return RowPartition

    @property
    def nrows(self) -> int | None:
        """The number of rows."""
        return self._nrows[0]

    @property
    def nvals(self) -> int | None:
        """The number of values."""
        return self._nvals[0]

    @property
    def uniform_row_length(self) -> int | None:
        """The length of all rows."""
        return self._uniform_row_length[0]

    @property
    def dtype(self) -> _dtypes.DType:
        """The dtype of the partition."""
        return self._dtype

    def _serialize(self) -> tuple:
        return (self._nrows, self._nvals, self._uniform_row_length, self._dtype)

    @classmethod
    def _deserialize(cls, serialization: tuple) -> RowPartitionSpec:
        rows, values, length, dtype = serialization
        return cls(rows[0], values[0], length[0], dtype)

    @property
    def _component_specs(self) -> list:
        rows = self._nrows[0]
        return [TensorSpec([None if rows is None else rows + 1], self._dtype)]

    def _to_components(self, value: RowPartition) -> list:
        return [value.row_splits()]

    def _from_components(self, components: list) -> RowPartition:
        length = self._uniform_row_length[0]
        uniform = None if length is None else convert_to_tensor(length, self._dtype)
        return RowPartition(components[0], uniform_row_length=uniform, internal=True)

    def __repr__(self) -> str:
        return (
            f"RowPartitionSpec(nrows={self.nrows}, nvals={self.nvals}, "
            f"uniform_row_length={self.uniform_row_length}, dtype={self._dtype!r})"
        )


class RowPartition(CompositeTensor):
    """A partition of values into rows: row i holds the values row_splits[i] to row_splits[i + 1].

    It is made by `from_row_splits`, `from_row_lengths`, `from_value_rowids`, `from_row_starts`,
    `from_row_limits` or `from_uniform_row_length`.
    """

    __module__ = "tensorflow.python.ops.ragged.row_partition"  # by which libraries tell it

    def __init__(
        self,
        row_splits,
        row_lengths=None,
        value_rowids=None,
        nrows=None,
        uniform_row_length=None,
        nvals=None,
        internal=False,
    ) -> None:
        if not internal:
            raise ValueError(
                "RowPartition constructor is private; please use one of the factory methods "
                "instead (e.g., RowPartition.from_row_lengths())"
            )
        self._row_splits = row_splits
        self._row_lengths = row_lengths
        self._value_rowids = value_rowids
        self._nrows = nrows
        self._uniform_row_length = uniform_row_length
        self._nvals = nvals

    # ---- making --------------------------------------------------------------------------------

    @classmethod
    def from_value_rowids(
        cls, value_rowids, nrows=None, validate=True, dtype=None, dtype_hint=None
    ) -> RowPartition:
        """Rows by the row of each value, in order."""
        text = "Arguments to from_value_rowids do not form a valid RowPartition"
        ids = partition_operand(value_rowids, "value_rowids", dtype, dtype_hint)
        zero = convert_to_tensor(0, ids.dtype)
        known = static_value(ids) if nrows is not None else None
        if nrows is None:
            # One more than the last row, and none without values.
            rows = _starting_with_zero(ids + 1)[-1]
        else:
            rows = convert_to_tensor(nrows, ids.dtype)
            count = known_int(rows)
            if count is not None and count < 0:
                raise ValueError(f"Expected nrows >= 0; got {count}")
            if None not in (count, known if known is None else 0) and known.size:
                last = int(known.reshape(-1)[-1])
                if count < last + 1:
                    raise ValueError(
                        f"Expected nrows >= value_rowids[-1] + 1; got nrows={count}, "
                        f"value_rowids[-1]={last}"
                    )
        ids.shape.assert_has_rank(1)
        rows.shape.assert_has_rank(0)
        if validate:
            checks = [
                assert_non_negative(ids[:1], text),
                _monotonic(ids, text),
                assert_less(ids[-1:], rows, text),
                assert_greater_equal(rows, zero, text),
            ]
            ids = checked(ids, checks)
        counts = ops["UnsortedSegmentSum"](ops["OnesLike"](ids), ids, rows)
        splits = _starting_with_zero(ops["Cumsum"](counts, 0))
        return cls(splits, counts, ids, rows, internal=True)

    @classmethod
    def from_row_splits(
        cls, row_splits, validate=True, dtype=None, dtype_hint=None
    ) -> RowPartition:
        """Rows by where they begin, and where the last ends."""
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        splits = partition_operand(row_splits, "row_splits", dtype, dtype_hint)
        splits.shape.assert_has_rank(1)
        if splits.shape[0] == 0:
            raise ValueError("row_splits tensor may not be empty.")
        if validate:
            text = "Arguments to from_row_splits do not form a valid RaggedTensor"
            checks = [
                assert_equal(splits[0], convert_to_tensor(0, splits.dtype), f"{text}:zero"),
                _monotonic(splits, f"{text}:monotonic"),
            ]
            splits = checked(splits, checks)
        return cls(splits, internal=True)

    @classmethod
    def from_row_lengths(
        cls, row_lengths, validate=True, dtype=None, dtype_hint=None
    ) -> RowPartition:
        """Rows by how long they are."""
        lengths = partition_operand(row_lengths, "row_lengths", dtype, dtype_hint)
        lengths.shape.assert_has_rank(1)
        if validate:
            text = "Arguments to from_row_lengths do not form a valid RowPartition"
            lengths = checked(lengths, [assert_non_negative(lengths, text)])
        return cls(_starting_with_zero(ops["Cumsum"](lengths, 0)), lengths, internal=True)

    @classmethod
    def from_row_starts(
        cls, row_starts, nvals, validate=True, dtype=None, dtype_hint=None
    ) -> RowPartition:
        """Rows by where they begin; the last one ends with the values."""
        starts = partition_operand(row_starts, "row_starts", dtype, dtype_hint)
        starts.shape.assert_has_rank(1)
        count = convert_to_tensor(nvals, starts.dtype)
        if validate:
            text = "Arguments to from_row_starts do not form a valid RaggedTensor"
            checks = [
                assert_equal(starts[:1], ops["ZerosLike"](starts[:1]), text),
                _monotonic(starts, text),
                assert_greater_equal(count, starts[-1:], text),
            ]
            starts = checked(starts, checks)
        splits = ops["ConcatV2"]([starts, ops["Reshape"](count, [1])], 0)
        return cls(splits, nvals=count, internal=True)

    @classmethod
    def from_row_limits(
        cls, row_limits, validate=True, dtype=None, dtype_hint=None
    ) -> RowPartition:
        """Rows by where they end."""
        limits = partition_operand(row_limits, "row_limits", dtype, dtype_hint)
        limits.shape.assert_has_rank(1)
        if validate:
            text = "Arguments to from_row_limits do not form a valid RaggedTensor"
            checks = [assert_non_negative(limits[:1], text), _monotonic(limits, text)]
            limits = checked(limits, checks)
        return cls(_starting_with_zero(limits), internal=True)

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length,
        nvals=None,
        nrows=None,
        validate=True,
        dtype=None,
        dtype_hint=None,
    ) -> RowPartition:
        """Rows that all have one length."""
        if nvals is None and nrows is None:
            raise ValueError("Either (or both) of `nvals` and `nrows` must be specified")
        if dtype is None:
            given = [x for x in (uniform_row_length, nvals, nrows) if isinstance(x, Tensor)]
            dtype = given[0].dtype if given else dtype_hint or _dtypes.int64
        length = partition_operand(uniform_row_length, "uniform_row_length", dtype)
        length.shape.assert_has_rank(0)
        values = None if nvals is None else convert_to_tensor(nvals, length.dtype)
        rows = None if nrows is None else convert_to_tensor(nrows, length.dtype)
        known, count, total = known_int(length), known_int(rows), known_int(values)
        if known is not None and known < 0:
            raise ValueError("uniform_row_length must be greater than or equal to 0.")
        if count is not None and count < 0:
            raise ValueError("nrows must be greater than or equal to 0.")
        if rows is None:
            if known is not None and total is not None:
                rows = convert_to_tensor(total // known if known else 0, length.dtype)
            else:
                one = convert_to_tensor(1, length.dtype)
                rows = ops["FloorDiv"](values, ops["Maximum"](length, one))
        count = known_int(rows)
        if None not in (known, count, total) and known * count != total:
            raise ValueError(
                f"uniform_row_length={known} times nrows={count} must equal nvals={total}"
            )
        if values is None:
            values = rows * length
        elif validate and None in (known, count, total):
            text = "Arguments to from_uniform_row_length do not form a valid RowPartition"
            zero = convert_to_tensor(0, length.dtype)
            checks = [
                assert_equal(rows * length, values, text),
                assert_greater_equal(length, zero, text),
                assert_greater_equal(rows, zero, text),
            ]
            length = checked(length, checks)
        splits = numbers(rows + 1) * length
        return cls(splits, None, None, rows, length, values, internal=True)

    # ---- what it says --------------------------------------------------------------------------

    @property
    def dtype(self) -> _dtypes.DType:
        """int32 or int64."""
        return self._row_splits.dtype

    def row_splits(self) -> Tensor:
        """Where rows begin, and where the last ends."""
        return self._row_splits

    def row_lengths(self) -> Tensor:
        """How long each row is."""
        if self._row_lengths is None:
            splits = self._row_splits
            self._row_lengths = splits[1:] - splits[:-1]
        return self._row_lengths

    def row_starts(self) -> Tensor:
        """Where each row begins."""
        return self._row_splits[:-1]

    def row_limits(self) -> Tensor:
        """Where each row ends."""
        return self._row_splits[1:]

    def nrows(self) -> Tensor:
        """The number of rows."""
        if self._nrows is not None:
            return self._nrows
        return size_of(self._row_splits, self.dtype) - 1

    def nvals(self) -> Tensor:
        """The number of values."""
        return self._nvals if self._nvals is not None else self._row_splits[-1]

    def value_rowids(self) -> Tensor:
        """The row of each value."""
        if self._value_rowids is not None:
            return self._value_rowids
        places = ops["RaggedTensorToSparse"]([self._row_splits], numbers(self.nvals()))[0]
        ids = ops["Cast"](places[:, 0], DstT=self.dtype)
        return ops["EnsureShape"](ids, shape=[self.static_nvals])

    def offsets_in_rows(self) -> Tensor:
        """The place of each value in its row."""
        places = ops["RaggedTensorToSparse"]([self._row_splits], numbers(self.nvals()))[0]
        return ops["Cast"](places[:, 1], DstT=self.dtype)

    def uniform_row_length(self) -> Tensor | None:
        """The length that all rows are known to have; None: they may differ."""
        return self._uniform_row_length

    def is_uniform(self) -> bool:
        """Whether all rows are known to have one length."""
        return self._uniform_row_length is not None

    @property
    def static_nrows(self) -> int | None:
        """The number of rows, where it is known."""
        shape = self._row_splits.shape
        if shape.rank is not None and shape[0] is not None:
            return shape[0] - 1
        return known_int(self._nrows)

    @property
    def static_nvals(self) -> int | None:
        """The number of values, where it is known."""
        if self._nvals is not None:
            found = known_int(self._nvals)
            if found is not None:
                return found
        if self._value_rowids is not None and self._value_rowids.shape[0] is not None:
            return self._value_rowids.shape[0]
        splits = static_value(self._row_splits)
        return None if splits is None else int(splits[-1])

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows, where it is known."""
        return known_int(self._uniform_row_length)

    def with_dtype(self, dtype) -> RowPartition:
        """The same rows in another dtype."""
        dtype = _dtypes.as_dtype(dtype)
        if dtype not in (_dtypes.int32, _dtypes.int64):
            raise ValueError(f"dtype must be int32 or int64. Received {dtype}")
        if dtype == self.dtype:
            return self

        def cast(part):
            return None if part is None else ops["Cast"](part, DstT=dtype)

        return RowPartition(
            cast(self._row_splits),
            cast(self._row_lengths),
            cast(self._value_rowids),
            cast(self._nrows),
            cast(self._uniform_row_length),
            cast(self._nvals),
            internal=True,
        )

    def _with_uniform_row_length(self, length: int) -> RowPartition:
        """The same rows, of which the length is known."""
        return RowPartition(
            self._row_splits,
            self._row_lengths,
            self._value_rowids,
            self._nrows,
            convert_to_tensor(length, self.dtype),
            self._nvals,
            internal=True,
        )

    @property
    def _type_spec(self) -> RowPartitionSpec:
        return RowPartitionSpec(
            self.static_nrows, self.static_nvals, self.static_uniform_row_length, self.dtype
        )

    def __repr__(self) -> str:
        def text(part):
            return part.numpy() if is_eager(part) else part

        if self._uniform_row_length is not None:
            return (
                f"tf.RowPartition(nrows={text(self.nrows())}, "
                f"uniform_row_length={text(self._uniform_row_length)})"
            )
        return f"tf.RowPartition(row_splits={text(self._row_splits)})"


__all__ = ["RowPartition", "RowPartitionSpec"]
