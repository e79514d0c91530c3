"""`tf.ragged`: tensors whose rows differ in length."""

from __future__ import annotations

from . import _dtypes
from ._composite import CompositeTensor
from ._core import Tensor, convert_to_tensor, ops
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec


class RaggedTensorSpec(TypeSpec):
    """The spec of a ragged tensor with one ragged axis."""

    __slots__ = ("_dtype", "_row_splits_dtype", "_shape")

    def __init__(self, shape=None, dtype=_dtypes.float32, row_splits_dtype=_dtypes.int64) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _dtypes.as_dtype(dtype)
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

    def _serialize(self) -> tuple:
        return (self._shape, self._dtype, self._row_splits_dtype)

    @property
    def _component_specs(self) -> list:
        inner = [None, *self._shape.as_list()[2:]] if self._shape.rank else None
        return [TensorSpec(inner, self._dtype), TensorSpec([None], self._row_splits_dtype)]

    def _to_components(self, value: RaggedTensor) -> list:
        return [value.values, value.row_splits]

    def _from_components(self, components: list) -> RaggedTensor:
        return RaggedTensor(*components)


class RaggedTensor(CompositeTensor):
    """Rows of different lengths: row i is values[row_splits[i] : row_splits[i + 1]]."""

    __module__ = "tensorflow.python.ops.ragged.ragged_tensor"  # by which libraries tell it

    def __init__(self, values, row_splits) -> None:
        self._values = convert_to_tensor(values)
        self._row_splits = convert_to_tensor(row_splits)

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True) -> RaggedTensor:
        """Rows by where they begin and end."""
        if isinstance(row_splits, (list, tuple)):
            row_splits = convert_to_tensor(row_splits, _dtypes.int64)
        return cls(values, row_splits)

    @property
    def values(self) -> Tensor:
        """The rows one after the other."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The rows one after the other."""
        return self._values

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
        """The shape; None along the ragged axis."""
        splits = self._row_splits.shape[0] if self._row_splits.shape.rank else None
        rows = None if splits is None else splits - 1
        return TensorShape([rows, None]).concatenate(self._values.shape[1:])

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self._row_splits.dtype)

    def row_lengths(self, axis=1, name=None) -> Tensor:
        """How long each row is."""
        return self._row_splits[1:] - self._row_splits[:-1]

    def nrows(self, out_type=None, name=None) -> Tensor:
        """How many rows there are."""
        count = ops["Shape"](self._row_splits, out_type=self._row_splits.dtype)[0] - 1
        return count if out_type is None else ops["Cast"](count, DstT=out_type)

    def to_tensor(self, default_value=None, name=None, shape=None) -> Tensor:
        """The rows as one tensor, short ones filled up."""
        from . import fill, reduce_max, sequence_mask
        from . import range as number

        if shape is not None:
            raise NotImplementedError("RaggedTensor.to_tensor with a shape is not supported.")
        lengths = self.row_lengths()
        longest = reduce_max(lengths)
        there = sequence_mask(lengths, longest)
        places = self._row_splits[:-1][:, None] + number(longest, dtype=lengths.dtype)[None, :]
        last = ops["Maximum"](self._row_splits[-1] - 1, ops["ZerosLike"](self._row_splits[-1]))
        rows = ops["GatherV2"](self._values, ops["Minimum"](places, last), 0)
        default = convert_to_tensor(0 if default_value is None else default_value, self.dtype)
        for _ in range(self._values.shape.rank - 1):
            there = there[..., None]
        return ops["SelectV2"](there, rows, fill(ops["Shape"](rows), default))

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor values={self._values!r} row_splits={self._row_splits!r}>"


__all__ = ["RaggedTensor", "RaggedTensorSpec"]
