"""`tf.ragged`: tensors whose rows differ in length."""

from __future__ import annotations

import itertools as _itertools

from .. import _mica
from . import _dtypes
from ._composite import CompositeTensor
from ._core import Tensor, convert_to_tensor, ops
from ._missing import finder as _finder
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec


class RaggedTensorSpec(TypeSpec):
    """The spec of a ragged tensor: its axes 1 to ragged_rank are ragged, all by default."""

    __slots__ = ("_dtype", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape=None,
        dtype=_dtypes.float32,
        ragged_rank=None,
        row_splits_dtype=_dtypes.int64,
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _dtypes.as_dtype(dtype)
        if ragged_rank is None and self._shape.rank is None:
            raise ValueError("Must specify ragged_rank or pass a shape with a known rank.")
        self._ragged_rank = self._shape.rank - 1 if ragged_rank is None else int(ragged_rank)
        if self._ragged_rank < 1:
            raise ValueError(f"ragged_rank must be at least 1, not {self._ragged_rank}")
        self._row_splits_dtype = _dtypes.as_dtype(row_splits_dtype)

    @property
    def value_type(self) -> type:
        """RaggedTensor."""
        return RaggedTensor

    @property
    def shape(self) -> TensorShape:
        """The shape; None along the ragged axis."""
        return self._shape

    @property
    def dtype(self) -> _dtypes.DType:
        """The element type."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged."""
        return self._ragged_rank

    def _serialize(self) -> tuple:
        return (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)

    @property
    def _component_specs(self) -> list:
        first = self._ragged_rank + 1
        inner = [None, *self._shape.as_list()[first:]] if self._shape.rank else None
        splits = [TensorSpec([None], self._row_splits_dtype) for _ in range(self._ragged_rank)]
        return [TensorSpec(inner, self._dtype), *splits]

    def _to_components(self, value: RaggedTensor) -> list:
        return [value.flat_values, *value.nested_row_splits]

    def _from_components(self, components: list) -> RaggedTensor:
        values, *splits = components
        sizes = self._shape.as_list()[1:] if self._shape.rank else [None] * len(splits)
        for axis in reversed(range(len(splits))):
            values = RaggedTensor(values, splits[axis], sizes[axis])
        return values


def _checked(values: Tensor, splits: Tensor) -> Tensor:
    """The splits, once it is clear that they make rows of the values."""
    from ._effects import control_dependencies
    from .debugging import assert_equal, assert_non_negative

    text = "Arguments to from_row_splits do not form a valid RaggedTensor"
    zero = convert_to_tensor(0, splits.dtype)
    if isinstance(values, RaggedTensor):
        count = values.nrows(splits.dtype)
    else:
        count = ops["Shape"](values, out_type=splits.dtype)[0]
    checks = [
        assert_equal(splits[0], zero, f"{text}:zero"),
        assert_non_negative(splits[1:] - splits[:-1], f"{text}:monotonic"),
        assert_equal(splits[-1], count, text),
    ]
    with control_dependencies([check for check in checks if check is not None]):
        return ops["Identity"](splits)


def _part(values):
    return values if isinstance(values, RaggedTensor) else convert_to_tensor(values)


def _cut(values, start, stop):
    """The values from start on up to stop; both may be tensors."""
    if not isinstance(values, RaggedTensor):
        return values[start:stop]
    splits = values.row_splits[start : stop + 1]
    inner = _cut(values.values, splits[0], splits[-1])
    return RaggedTensor(inner, splits - splits[0], values.uniform_row_length)


class RaggedTensor(CompositeTensor):
    """Rows of different lengths: row i is values[row_splits[i] : row_splits[i + 1]].

    The values are a tensor, or ragged themselves.
    """

    _is_tensor = True

    __module__ = "tensorflow.python.ops.ragged.ragged_tensor"  # by which libraries tell it

    def __init__(self, values, row_splits, uniform_row_length: int | None = None) -> None:
        self._values = _part(values)
        self._uniform = uniform_row_length
        self._row_splits = convert_to_tensor(row_splits)

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True) -> RaggedTensor:
        """Rows by where they begin and end.

        With `validate` the splits begin with 0, never decrease and end with the number of values.
        """
        if isinstance(row_splits, (list, tuple)):
            row_splits = convert_to_tensor(row_splits, _dtypes.int64)
        values, row_splits = _part(values), convert_to_tensor(row_splits)
        row_splits.shape.assert_has_rank(1)
        return cls(values, _checked(values, row_splits) if validate else row_splits)

    @property
    def values(self) -> Tensor:
        """The rows one after the other."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The innermost rows one after the other."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def nested_row_splits(self) -> tuple:
        """Where rows begin, and the end of the last, from the outermost to the innermost."""
        inner = self._values
        return (
            self._row_splits,
            *(inner.nested_row_splits if isinstance(inner, RaggedTensor) else ()),
        )

    @property
    def uniform_row_length(self) -> int | None:
        """The length that all rows are known to have; None: they may differ."""
        return self._uniform

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged."""
        return len(self.nested_row_splits)

    def with_values(self, new_values) -> RaggedTensor:
        """The same rows of other values."""
        return RaggedTensor(new_values, self._row_splits, self._uniform)

    def with_flat_values(self, new_values) -> RaggedTensor:
        """The same rows, at all depths, of other innermost values."""
        inner = self._values
        if isinstance(inner, RaggedTensor):
            new_values = inner.with_flat_values(new_values)
        return self.with_values(new_values)

    @property
    def row_splits(self) -> Tensor:
        """Where rows begin, and the end of the last."""
        return self._row_splits

    @property
    def dtype(self) -> _dtypes.DType:
        """The element type."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape; None along ragged axes."""
        splits = self._row_splits.shape[0] if self._row_splits.shape.rank else None
        rows = None if splits is None else splits - 1
        return TensorShape([rows, self._uniform]).concatenate(self._values.shape[1:])

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def row_lengths(self, axis=1, name=None) -> Tensor | RaggedTensor:
        """How long each row along an axis is; along axes of the values, in the same rows."""
        rank = None if self._values.shape.rank is None else self._values.shape.rank + 1
        place = axis if axis >= 0 or rank is None else axis + rank
        if place < 0 or (rank is not None and place >= rank):
            bounds = "" if rank is None else f": expected -{rank}<=axis<{rank}"
            raise ValueError(f"axis={axis} out of bounds{bounds}")
        if place == 0:
            return self.nrows()
        if place == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(place - 1))
        from . import fill

        sizes = ops["Shape"](self._values, out_type=self._row_splits.dtype)
        return RaggedTensor(fill(sizes[: place - 1], sizes[place - 1]), self._row_splits)

    def nrows(self, out_type=None, name=None) -> Tensor:
        """How many rows there are."""
        count = ops["Shape"](self._row_splits, out_type=self._row_splits.dtype)[0] - 1
        return count if out_type is None else ops["Cast"](count, DstT=out_type)

    def to_tensor(self, default_value=None, name=None, shape=None) -> Tensor:
        """The rows as one tensor, short ones filled up."""
        if isinstance(self._values, RaggedTensor):
            dense = self.with_values(self._values.to_tensor(default_value))
            return dense.to_tensor(default_value, name, shape)
        from . import fill, reduce_max, sequence_mask
        from . import range as number

        lengths = self.row_lengths()
        longest = reduce_max(lengths)
        wanted = None if shape is None else TensorShape(shape).as_list()
        if wanted is not None and len(wanted) > 1 and wanted[1] is not None:
            longest = convert_to_tensor(wanted[1], lengths.dtype)
            lengths = ops["Minimum"](lengths, longest)
        known = self.shape.as_list()
        if wanted is not None and any(
            n is not None and n != own
            for k, (n, own) in enumerate(zip(wanted, known, strict=False))
            if k != 1
        ):
            raise NotImplementedError("RaggedTensor.to_tensor: the ragged axis alone has a size.")
        there = sequence_mask(lengths, longest)
        places = self._row_splits[:-1][:, None] + number(longest, dtype=lengths.dtype)[None, :]
        last = ops["Maximum"](self._row_splits[-1] - 1, ops["ZerosLike"](self._row_splits[-1]))
        rows = ops["GatherV2"](self._values, ops["Minimum"](places, last), 0)
        empty = "" if self.dtype == _dtypes.string else 0
        default = convert_to_tensor(empty if default_value is None else default_value, self.dtype)
        for _ in range(self._values.shape.rank - 1):
            there = there[..., None]
        return ops["SelectV2"](there, rows, fill(ops["Shape"](rows), default), name=name)

    def to_list(self) -> list:
        """The rows as lists of Python's values."""
        inner, splits = self._values, self._row_splits.numpy().tolist()
        values = inner.to_list() if isinstance(inner, RaggedTensor) else inner.numpy().tolist()
        return [values[a:b] for a, b in _itertools.pairwise(splits)]

    def numpy(self):
        """The rows as an array of arrays, or as one array when they are all of one length."""
        import numpy as np

        values, splits = self._values.numpy(), self._row_splits.numpy()
        rows = [values[a:b] for a, b in _itertools.pairwise(splits)]
        if len({len(row) for row in rows}) == 1:
            return np.stack(rows)
        array = np.empty(len(rows), dtype=object)
        array[:] = rows
        return array

    def __len__(self) -> int:
        if not isinstance(self._row_splits, _mica.TFEagerTensor):
            raise TypeError("len of a ragged tensor inside a function; use nrows().")
        return len(self._row_splits) - 1

    def __getitem__(self, key):
        if isinstance(key, slice) and key.step in (None, 1):
            start, stop, _ = key.indices(len(self))
            return _cut(self, start, max(start, stop))
        if isinstance(key, tuple) and len(key) == 2 and not isinstance(key[0], slice):
            return self[key[0]][key[1]]
        if not isinstance(key, (int, Tensor)):
            raise NotImplementedError(f"RaggedTensor[{key!r}] is not supported.")
        if isinstance(key, int) and key < 0:
            key += len(self)
        return _cut(self._values, self._row_splits[key], self._row_splits[key + 1])

    def __repr__(self) -> str:
        if not isinstance(self._row_splits, _mica.TFEagerTensor):
            return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"
        return f"<tf.RaggedTensor {self.to_list()}>"


def map_flat_values(op, *args, **kwargs):
    """A function of the values of ragged tensors, in the same rows."""
    rows = [each for each in (*args, *kwargs.values()) if isinstance(each, RaggedTensor)]
    if not rows:
        return op(*args, **kwargs)

    def values(each):
        return each.flat_values if isinstance(each, RaggedTensor) else each

    made = op(*map(values, args), **{name: values(each) for name, each in kwargs.items()})
    return rows[0].with_flat_values(made)


__all__ = ["RaggedTensor", "RaggedTensorSpec", "map_flat_values"]

__getattr__ = _finder(__name__)
