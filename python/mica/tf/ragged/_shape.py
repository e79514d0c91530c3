"""`tf.experimental.DynamicRaggedShape`, and stretching ragged tensors to a common shape."""

from __future__ import annotations

from .. import _dtypes
from .._composite import CompositeTensor
from .._core import Tensor, convert_to_tensor, ops
from .._select import broadcast_dynamic_shape as dense
from .._shapes import TensorShape
from .._specs import TensorSpec, TypeSpec
from .._static import shape_of_value, static_value
from ..debugging import assert_equal
from ._partition import RowPartition, RowPartitionSpec, checked, is_eager, known_int, numbers
from ._tensor import RaggedTensor


class DynamicRaggedShapeSpec(TypeSpec):
    """The spec of a DynamicRaggedShape."""

    __slots__ = ("_dtype", "_row_partitions", "_static_inner_shape")

    def __init__(self, row_partitions, static_inner_shape, dtype) -> None:
        self._row_partitions = tuple(row_partitions)
        self._static_inner_shape = TensorShape(static_inner_shape)
        self._dtype = _dtypes.as_dtype(dtype)
        if self._row_partitions and self._static_inner_shape.rank is None:
            raise ValueError("the rank of the inner shape must be known beside row partitions")

    @property
    def value_type(self) -> type:
        """DynamicRaggedShape."""
        return DynamicRaggedShape

    @property
    def dtype(self) -> _dtypes.DType:
        """The dtype of the sizes."""
        return self._dtype

    @property
    def num_row_partitions(self) -> int:
        """How many partitions there are."""
        return len(self._row_partitions)

    @property
    def inner_rank(self) -> int | None:
        """The number of axes of the inner shape."""
        return self._static_inner_shape.rank

    @property
    def rank(self) -> int | None:
        """The number of axes."""
        inner = self.inner_rank
        return None if inner is None else inner + self.num_row_partitions

    def with_dtype(self, dtype) -> DynamicRaggedShapeSpec:
        """The same of another dtype."""
        parts = [
            RowPartitionSpec(p.nrows, p.nvals, p.uniform_row_length, dtype)
            for p in self._row_partitions
        ]
        return DynamicRaggedShapeSpec(parts, self._static_inner_shape, dtype)

    def _serialize(self) -> tuple:
        return (self._row_partitions, self._static_inner_shape, self._dtype)

    @property
    def _component_specs(self) -> list:
        return [*self._row_partitions, TensorSpec([self.inner_rank], self._dtype)]

    def _to_components(self, value) -> list:
        return [*value.row_partitions, value.inner_shape]

    def _from_components(self, components: list) -> DynamicRaggedShape:
        *partitions, inner = components
        return DynamicRaggedShape(
            partitions, inner, self._dtype, static_inner_shape=self._static_inner_shape
        )

    def __repr__(self) -> str:
        return (
            f"DynamicRaggedShape.Spec(row_partitions={self._row_partitions}, "
            f"static_inner_shape={self._static_inner_shape}, dtype={self._dtype!r})"
        )


class DynamicRaggedShape(CompositeTensor):
    """The shape of a tensor that may be ragged: row partitions, and the shape of the values.

    Parameters
    ----------
    row_partitions
        From the outermost.
    inner_shape
        The sizes of the flat values.
    dtype
        int32 or int64; that of the partitions by default.
    """

    Spec = DynamicRaggedShapeSpec

    def __init__(
        self, row_partitions, inner_shape, dtype=None, validate=False, static_inner_shape=None
    ) -> None:
        if not isinstance(row_partitions, (list, tuple)) or not all(
            isinstance(p, RowPartition) for p in row_partitions
        ):
            raise TypeError(
                f"row_partitions should be a sequence of RowPartitions. Got {row_partitions!r}"
            )
        if dtype is None and row_partitions:
            dtype = row_partitions[0].dtype
        hint = _dtypes.int64 if dtype is None else None
        inner = convert_to_tensor(inner_shape, dtype_hint=hint or dtype)
        if dtype is None:
            dtype = inner.dtype if inner.dtype == _dtypes.int32 else _dtypes.int64
        self._dtype = _dtypes.as_dtype(dtype)
        inner = inner if inner.dtype == self._dtype else ops["Cast"](inner, DstT=self._dtype)
        inner.shape.assert_has_rank(1)
        partitions = [p.with_dtype(self._dtype) for p in row_partitions]
        if partitions and inner.shape[0] == 0:
            raise ValueError("inner_shape must have at least one size beside row partitions")
        if validate:
            counts = [p.nvals() for p in partitions]
            rows = [p.nrows() for p in partitions[1:]] + ([inner[0]] if partitions else [])
            checks = [
                assert_equal(a, b, "Last row partition does not match flat_values.")
                for a, b in zip(counts, rows, strict=True)
            ]
            inner = checked(inner, checks)
        self._row_partitions = tuple(partitions)
        self._inner_shape = inner
        self._static = shape_of_value(inner)
        if static_inner_shape is not None:
            self._static = self._static.merge_with(static_inner_shape)

    @classmethod
    def from_lengths(
        cls, lengths, num_row_partitions=None, dtype=_dtypes.int64
    ) -> DynamicRaggedShape:
        """A shape by its sizes: an integer for an even axis, a tuple of integers for another."""
        if not isinstance(lengths, (list, tuple)):
            raise ValueError("lengths should be a list")
        for each in lengths:
            if not isinstance(each, int) and not (
                isinstance(each, (list, tuple)) and all(isinstance(n, int) for n in each)
            ):
                raise ValueError("element of lengths should be int or tuple of ints: instead "
                                 f"{each!r}")
        ragged = [k for k, each in enumerate(lengths) if not isinstance(each, int)]
        least = max(ragged) if ragged else 0
        if ragged and ragged[0] == 0:
            raise ValueError("The first element of lengths must be an integer.")
        count = least if num_row_partitions is None else num_row_partitions
        if count < least:
            raise ValueError(
                f"num_row_partitions = {num_row_partitions} should be at least {least}"
            )
        if count > 0 and count > len(lengths) - 1:
            raise ValueError(
                f"num_row_partitions = {num_row_partitions} should be less than the rank "
                f"{len(lengths)}"
            )
        if not count:
            return cls([], convert_to_tensor(list(lengths), dtype), dtype)
        rows, partitions = lengths[0], []
        for each in lengths[1 : count + 1]:
            if isinstance(each, int):
                partitions.append(
                    RowPartition.from_uniform_row_length(each, rows * each, rows, dtype=dtype)
                )
                rows *= each
                continue
            if len(each) != rows:
                raise ValueError(
                    f"there are {rows} rows where lengths has {len(each)} row lengths"
                )
            partitions.append(RowPartition.from_row_lengths(list(each), dtype=dtype))
            rows = sum(each)
        inner = convert_to_tensor([rows, *lengths[count + 1 :]], dtype)
        return cls(partitions, inner, dtype)

    @classmethod
    def from_row_partitions(cls, row_partitions, dtype=None) -> DynamicRaggedShape:
        """The shape of a ragged tensor of scalars."""
        if not row_partitions:
            raise ValueError("row_partitions cannot be empty")
        inner = ops["Reshape"](row_partitions[-1].nvals(), [1])
        return cls(row_partitions, inner, dtype)

    @classmethod
    def from_tensor(cls, t, dtype=None) -> DynamicRaggedShape:
        """The shape of a tensor."""
        if isinstance(t, RaggedTensor):
            dtype = t.row_splits.dtype if dtype is None else _dtypes.as_dtype(dtype)
            flat = t.flat_values
            return cls(
                t._nested_row_partitions,
                ops["Shape"](flat, out_type=dtype),
                dtype,
                static_inner_shape=flat.shape,
            )
        t = convert_to_tensor(t)
        dtype = _dtypes.int32 if dtype is None else _dtypes.as_dtype(dtype)
        return cls([], ops["Shape"](t, out_type=dtype), dtype, static_inner_shape=t.shape)

    @property
    def dtype(self) -> _dtypes.DType:
        """The dtype of the sizes."""
        return self._dtype

    @property
    def row_partitions(self) -> tuple:
        """The partitions, from the outermost."""
        return self._row_partitions

    @property
    def num_row_partitions(self) -> int:
        """How many partitions there are."""
        return len(self._row_partitions)

    @property
    def inner_shape(self) -> Tensor:
        """The sizes of the flat values."""
        return self._inner_shape

    @property
    def inner_rank(self) -> int | None:
        """The number of axes of the inner shape."""
        return self._static.rank

    @property
    def rank(self) -> int | None:
        """The number of axes."""
        inner = self.inner_rank
        return None if inner is None else inner + self.num_row_partitions

    def is_uniform(self, axis: int) -> bool:
        """Whether an axis has one size."""
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0 or (self.rank is not None and axis >= self.rank):
            raise IndexError(f"Axis {axis} is not in the range [0, {self.rank})")
        if 1 <= axis <= self.num_row_partitions:
            return self._row_partitions[axis - 1].is_uniform()
        return True

    def static_lengths(self, ragged_lengths: bool = True) -> list:
        """The sizes as far as they are known; of an uneven axis the lengths of its rows."""
        inner = self._static.as_list() if self._static.rank is not None else [...]
        if not self._row_partitions:
            return inner
        found = [self._row_partitions[0].static_nrows]
        for each in self._row_partitions:
            if each.is_uniform():
                found.append(each.static_uniform_row_length)
                continue
            lengths = static_value(each.row_lengths()) if ragged_lengths else None
            found.append(None if lengths is None else tuple(lengths.tolist()))
        return found + inner[1:]

    def with_dtype(self, dtype) -> DynamicRaggedShape:
        """The same of another dtype."""
        dtype = _dtypes.as_dtype(dtype)
        if dtype not in (_dtypes.int32, _dtypes.int64):
            raise ValueError("dtype must be int32 or int64")
        return DynamicRaggedShape(
            self._row_partitions,
            ops["Cast"](self._inner_shape, DstT=dtype),
            dtype,
            static_inner_shape=self._static,
        )

    def _dimension(self, axis: int):
        """The size of an axis that is even."""
        if not self._row_partitions:
            return self._inner_shape[axis]
        if axis == 0:
            return self._row_partitions[0].nrows()
        if axis <= self.num_row_partitions:
            length = self._row_partitions[axis - 1].uniform_row_length()
            if length is None:
                raise ValueError(f"Index {axis} is not uniform")
            return length
        return self._inner_shape[axis - self.num_row_partitions]

    def __getitem__(self, index):
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise IndexError("Cannot stride through a shape")
            rank = self.rank
            if rank is None:
                raise ValueError("Rank must be known to slice a shape")
            start, stop, _ = index.indices(rank)
            return self._sliced(start, max(start, stop))
        if not isinstance(index, int):
            raise TypeError("Index is not an int")
        if index < 0:
            if self.rank is None:
                raise ValueError("Rank must be known to use a negative index")
            index += self.rank
        if self.rank is not None and not 0 <= index < self.rank:
            raise IndexError(f"index {index} is out of range: the rank is {self.rank}")
        return self._dimension(index)

    def _sliced(self, start: int, stop: int) -> DynamicRaggedShape:
        if stop <= start:
            return DynamicRaggedShape([], convert_to_tensor([], self._dtype), self._dtype)
        count = self.num_row_partitions
        if start == 0 and stop > count:
            inner = self._inner_shape[: stop - count]
            return DynamicRaggedShape(self._row_partitions, inner, self._dtype)
        if start == 0 and stop > 1:
            kept = self._row_partitions[: stop - 1]
            return DynamicRaggedShape.from_row_partitions(kept, self._dtype)
        sizes = [self._dimension(axis) for axis in range(start, stop)]
        return DynamicRaggedShape([], ops["Pack"](sizes), self._dtype)

    def _num_elements(self) -> Tensor:
        return ops["Prod"](self._inner_shape, 0)

    def _to_tensor_shape(self) -> TensorShape:
        return TensorShape(
            [n if isinstance(n, int) else None for n in self.static_lengths(False)]
        )

    @property
    def _type_spec(self) -> DynamicRaggedShapeSpec:
        return DynamicRaggedShapeSpec(
            [p._type_spec for p in self._row_partitions], self._static, self._dtype
        )

    @staticmethod
    def _stand_in(key: str, function):
        from ._handlers import handler

        return handler(key, function) if key in _OF_SHAPES else None

    def __eq__(self, other):
        if not isinstance(other, DynamicRaggedShape):
            return False
        mine, theirs = self.static_lengths(), other.static_lengths()
        return mine == theirs and self.num_row_partitions == other.num_row_partitions

    __hash__ = None

    def __repr__(self) -> str:
        sizes = ", ".join("..." if n is ... else str(n) for n in self.static_lengths())
        return (
            f"<DynamicRaggedShape lengths=[{sizes}] "
            f"num_row_partitions={self.num_row_partitions}>"
        )


# Functions of the package that take a shape.
_OF_SHAPES = frozenset("broadcast_dynamic_shape broadcast_to fill ones reshape zeros".split())


# ---- stretching ----------------------------------------------------------------------------------


class _Layers:
    """The outer axes of a shape: the number of rows, and for each axis within its partition."""

    def __init__(self, rows, partitions: list) -> None:
        self.rows, self.partitions = rows, partitions


def _uniform(length, rows, dtype) -> RowPartition:
    return RowPartition.from_uniform_row_length(
        length, nrows=rows, validate=False, dtype=dtype
    )


def _layers(shape: DynamicRaggedShape, rank: int, count: int, dtype) -> _Layers:
    """The axes of a shape, after axes of size 1 up to the rank, `count` of them apart."""
    missing = rank - shape.rank
    partitions = []
    rows = convert_to_tensor(1, dtype)
    sizes = []  # of the axes that are even, before the first partition
    if shape.row_partitions:
        sizes = [shape.row_partitions[0].nrows()]
    else:
        known = shape._static.as_list()
        sizes = [
            shape.inner_shape[k] if n is None else convert_to_tensor(n, dtype)
            for k, n in enumerate(known)
        ]
    axes = [convert_to_tensor(1, dtype)] * missing + sizes
    rows = axes[0] if axes else convert_to_tensor(1, dtype)
    first = rows
    for size in axes[1:]:
        if len(partitions) == count:
            break
        partition = _uniform(size, rows, dtype)
        partitions.append(partition)
        rows = partition.nvals()
    partitions += list(shape.row_partitions)
    if shape.row_partitions and len(partitions) < count:
        for k in range(1, shape.inner_rank):
            if len(partitions) == count:
                break
            partition = _uniform(shape.inner_shape[k], partitions[-1].nvals(), dtype)
            partitions.append(partition)
    return _Layers(first, partitions[:count])


def _may_stretch(size) -> bool | None:
    """Whether an even axis of that size is stretched; None where that turns out in a run."""
    known = known_int(size)
    return None if known is None else known == 1


def _joined(a, b, can_a, can_b, size_a, size_b, message: str):
    """The common sizes of two axes, and whether each is stretched (a truth or a tensor)."""
    one = convert_to_tensor(1, a.dtype)
    is_a = can_a if can_a is not None else ops["Equal"](size_a, one)
    is_b = can_b if can_b is not None else ops["Equal"](size_b, one)
    if is_a is True:
        return b, is_a, (False if is_b is True else is_b if isinstance(is_b, bool) else False)
    if is_b is True:
        return a, is_a if isinstance(is_a, bool) else False, is_b
    if is_a is False and is_b is False:
        return checked(a, [assert_equal(a, b, message)]), False, False
    zero = ops["ZerosLike"](a)
    stretch_a = ops["LogicalAnd"](is_a, ops["OnesLike"](a) > zero) if is_a is not False else False
    result = a if stretch_a is False else ops["SelectV2"](stretch_a, b, a)
    if is_b is not False:
        fits_b = ops["SelectV2"](is_b, result, b)
    else:
        fits_b = b
    result = checked(result, [assert_equal(result, fits_b, message)])
    return result, is_a, is_b


def _places(outer, partition: RowPartition, target: RowPartition, stretched) -> Tensor:
    """For each value of the target, which value of the partition stands there."""
    starts = ops["GatherV2"](partition.row_starts(), outer, 0)
    ids = target.value_rowids()
    begin = ops["GatherV2"](starts, ids, 0)
    if stretched is True:
        return begin
    offsets = target.offsets_in_rows()
    if stretched is not False:
        offsets = ops["SelectV2"](stretched, ops["ZerosLike"](offsets), offsets)
    return begin + offsets


def _stretch(a: _Layers, b: _Layers, dtype) -> tuple:
    """The common axes of two shapes, and for each the places of its values in the common ones."""
    message = "Unable to broadcast: dimension size mismatch in dimension"
    can_a, can_b = _may_stretch(a.rows), _may_stretch(b.rows)
    rows, is_a, is_b = _joined(a.rows, b.rows, can_a, can_b, a.rows, b.rows, f"{message} 0")

    def first(stretched):
        here = numbers(rows)
        if stretched is True:
            return ops["ZerosLike"](here)
        if stretched is False:
            return here
        return ops["SelectV2"](stretched, ops["ZerosLike"](here), here)

    at_a, at_b = first(is_a), first(is_b)
    partitions = []
    for axis, (p, q) in enumerate(zip(a.partitions, b.partitions, strict=True)):
        of_p, of_q = p.uniform_row_length(), q.uniform_row_length()
        can_p = _may_stretch(of_p) if of_p is not None else False
        can_q = _may_stretch(of_q) if of_q is not None else False
        lengths_p = ops["GatherV2"](p.row_lengths(), at_a, 0)
        lengths_q = ops["GatherV2"](q.row_lengths(), at_b, 0)
        lengths, is_p, is_q = _joined(
            lengths_p, lengths_q, can_p, can_q, of_p, of_q, f"{message} {axis + 1}"
        )
        target = RowPartition.from_row_lengths(lengths, validate=False)
        evens = p.static_uniform_row_length, q.static_uniform_row_length
        if None not in evens:
            target = target._with_uniform_row_length(evens[1] if evens[0] == 1 else evens[0])
        partitions.append(target)
        at_a, at_b = _places(at_a, p, target, is_p), _places(at_b, q, target, is_q)
    return rows, partitions, at_a, at_b


def _flat(x, count: int, rank: int) -> Tensor:
    """The values of x with its outer axes as one: an axis of values, and those within."""
    flat = x.flat_values if isinstance(x, RaggedTensor) else x
    own = x.ragged_rank if isinstance(x, RaggedTensor) else 0
    missing = rank - (own + flat.shape.rank)
    extra = count - own - missing
    if extra == 0:
        return flat
    known = flat.shape.as_list()
    if extra < 0:
        for _ in range(-extra):
            flat = ops["ExpandDims"](flat, 0)
        return flat
    from ._tensor import _merged_sizes

    return _merged_sizes(flat, 0, min(extra, len(known) - 1))


def are_alike(x: RaggedTensor, y: RaggedTensor) -> bool:
    """Whether both are known to have the same rows."""
    if x.ragged_rank != y.ragged_rank or x.flat_values.shape.rank != y.flat_values.shape.rank:
        return False
    for a, b in zip(x.nested_row_splits, y.nested_row_splits, strict=True):
        if a is b:
            continue
        if not (is_eager(a) and is_eager(b)) or (a.numpy().tolist() != b.numpy().tolist()):
            return False
    return True


def stretched_together(x, y) -> tuple:
    """Two tensors, at least one of them ragged, with the same rows."""
    shapes = [DynamicRaggedShape.from_tensor(t, _row_dtype(x, y)) for t in (x, y)]
    if any(s.rank is None for s in shapes):
        raise ValueError("Unable to broadcast: unknown rank")
    dtype = shapes[0].dtype
    rank = max(s.rank for s in shapes)
    count = max(
        s.num_row_partitions + (rank - s.rank) for s in shapes if s.num_row_partitions
    )
    layers = [_layers(s, rank, count, dtype) for s in shapes]
    _, partitions, *places = _stretch(*layers, dtype)
    return tuple(
        RaggedTensor._from_nested_row_partitions(
            ops["GatherV2"](_flat(t, count, rank), at, 0), partitions, validate=False
        )
        for t, at in zip((x, y), places, strict=True)
    )


def _row_dtype(*tensors):
    for each in tensors:
        if isinstance(each, RaggedTensor):
            return each.row_splits.dtype
    return _dtypes.int64


def broadcast_to(input, shape: DynamicRaggedShape, name=None):
    """A tensor stretched to a shape."""
    if not isinstance(shape, DynamicRaggedShape):
        raise TypeError("shape must be a DynamicRaggedShape for a ragged tensor")
    if not isinstance(input, RaggedTensor):
        input = convert_to_tensor(input)
    own = DynamicRaggedShape.from_tensor(input, shape.dtype)
    if own.rank > shape.rank:
        raise ValueError(
            f"Cannot broadcast a tensor of rank {own.rank} to a shape of rank {shape.rank}"
        )
    if not shape.num_row_partitions and not own.num_row_partitions:
        return ops["BroadcastTo"](input, shape.inner_shape)
    rank = shape.rank
    count = max(shape.num_row_partitions, own.num_row_partitions + rank - own.rank)
    if not own.num_row_partitions:
        count = shape.num_row_partitions
    layers = [_layers(s, rank, count, shape.dtype) for s in (own, shape)]
    _, partitions, at, _ = _stretch(*layers, shape.dtype)
    flat = ops["GatherV2"](_flat(input, count, rank), at, 0)
    extra = count - shape.num_row_partitions
    inner = shape.inner_shape[extra + 1 :]
    sizes = ops["ConcatV2"]([ops["Shape"](flat, out_type=shape.dtype)[:1], inner], 0)
    flat = ops["BroadcastTo"](flat, sizes)
    return RaggedTensor._from_nested_row_partitions(flat, partitions, validate=False)


def broadcast_dynamic_shape(shape_x, shape_y) -> DynamicRaggedShape:
    """The shape to which two shapes are stretched."""
    x, y = (
        s if isinstance(s, DynamicRaggedShape) else DynamicRaggedShape([], s)
        for s in (shape_x, shape_y)
    )
    if x.dtype != y.dtype:
        x, y = x.with_dtype(_dtypes.int64), y.with_dtype(_dtypes.int64)
    rank = max(x.rank, y.rank)
    counts = [s.num_row_partitions + rank - s.rank for s in (x, y) if s.num_row_partitions]
    if not counts:
        return DynamicRaggedShape([], dense(x.inner_shape, y.inner_shape), x.dtype)
    count = max(counts)
    _, partitions, _, _ = _stretch(
        _layers(x, rank, count, x.dtype), _layers(y, rank, count, x.dtype), x.dtype
    )

    def inner(s):
        start = max(0, s.rank - (rank - count - 1)) - s.num_row_partitions
        return s.inner_shape[max(start, 1 if s.num_row_partitions else 0) :]

    rest = dense(inner(x), inner(y))
    sizes = ops["ConcatV2"]([ops["Reshape"](partitions[-1].nvals(), [1]), rest], 0)
    return DynamicRaggedShape(partitions, sizes, x.dtype)


def reshaped(tensor, shape: DynamicRaggedShape, name=None):
    """The elements in another shape."""
    flat = tensor.flat_values if isinstance(tensor, RaggedTensor) else convert_to_tensor(tensor)
    flat = ops["Reshape"](flat, shape.inner_shape)
    if not shape.row_partitions:
        return flat
    return RaggedTensor._from_nested_row_partitions(flat, list(shape.row_partitions))


def filled(shape: DynamicRaggedShape, value) -> object:
    """A tensor of a shape, every element the value."""
    flat = ops["Fill"](shape.inner_shape, convert_to_tensor(value))
    if not shape.row_partitions:
        return flat
    return RaggedTensor._from_nested_row_partitions(
        flat, list(shape.row_partitions), validate=False
    )


