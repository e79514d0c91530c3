"""`tf.RaggedTensorSpec`: what is known of a ragged tensor."""

from __future__ import annotations

from .. import _dtypes, _spec_registry
from .._core import Tensor, convert_to_tensor, ops
from .._shapes import TensorShape
from .._specs import TensorSpec, TypeSpec
from ._partition import RowPartition
from ._tensor import RaggedTensor


@_spec_registry.register("tf.RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """The spec of a ragged tensor: its axes 1 to ragged_rank are ragged, all by default."""

    __slots__ = ("_dtype", "_flat_values_spec", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape=None,
        dtype=_dtypes.float32,
        ragged_rank=None,
        row_splits_dtype=_dtypes.int64,
        flat_values_spec=None,
    ) -> None:
        self._shape = TensorShape(shape)
        self._row_splits_dtype = _dtypes.as_dtype(row_splits_dtype)
        if flat_values_spec is not None:
            if dtype is None:
                dtype = flat_values_spec.dtype
            elif dtype != flat_values_spec.dtype:
                raise ValueError(
                    "dtype must be the same as flat_values_spec.dtype: "
                    f"{_dtypes.as_dtype(dtype)!r} is not {flat_values_spec.dtype!r}"
                )
        elif dtype is None:
            raise ValueError("At least one of dtype or flat_values_spec must be provided")
        self._dtype = _dtypes.as_dtype(dtype)
        self._flat_values_spec = flat_values_spec
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        self._ragged_rank = ragged_rank
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank})."
            )

    @property
    def value_type(self) -> type:
        """RaggedTensor; a tensor where no axis is ragged."""
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    @property
    def shape(self) -> TensorShape:
        """The shape; None along the ragged axes."""
        return self._shape

    @property
    def dtype(self) -> _dtypes.DType:
        """The element type."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> _dtypes.DType:
        """The dtype of the row splits."""
        return self._row_splits_dtype

    @property
    def flat_values_spec(self) -> TypeSpec | None:
        """The spec of the innermost values, where it was given."""
        return self._flat_values_spec

    @classmethod
    def from_value(cls, value) -> RaggedTensorSpec:
        """The spec of a ragged tensor, or of a tensor as one without ragged axes."""
        if isinstance(value, RaggedTensor):
            return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)
        value = convert_to_tensor(value)
        return cls(value.shape, value.dtype, 0)

    def _serialize(self) -> tuple:
        found = (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)
        return found if self._flat_values_spec is None else (*found, self._flat_values_spec)

    def is_compatible_with(self, spec_or_value) -> bool:
        """Whether the value, or values of that spec, could be what this spec says."""
        if self._ragged_rank == 0:
            other = spec_or_value
            if isinstance(other, (Tensor, TensorSpec)):
                return TensorSpec(self._shape, self._dtype).is_compatible_with(other)
        return TypeSpec.is_compatible_with(self, spec_or_value)

    @property
    def _component_specs(self) -> list:
        if self._ragged_rank <= 0:
            return [self._flat_values_spec or TensorSpec(self._shape, self._dtype)]
        flat = self._flat_values_spec
        if flat is None:
            inner = self._shape[self._ragged_rank + 1 :]
            flat = TensorSpec(TensorShape([None]).concatenate(inner), self._dtype)
        rows = self._shape[0] if self._shape.rank is not None else None
        outer = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        others = [TensorSpec([None], self._row_splits_dtype)] * (self._ragged_rank - 1)
        return [flat, outer, *others]

    def _to_components(self, value) -> list:
        if isinstance(value, RaggedTensor):
            return [value.flat_values, *value.nested_row_splits]
        return [value]

    def _from_components(self, components: list):
        values, *splits = components
        for each in reversed(splits):
            partition = RowPartition.from_row_splits(each, validate=False)
            values = RaggedTensor(values, partition, internal=True)
        if self._shape.rank is None or not isinstance(values, (RaggedTensor, Tensor)):
            return values
        if isinstance(values, RaggedTensor):
            return values._with_known_shape(self._shape)
        if not isinstance(values, Tensor) or not self._shape.is_fully_defined():
            return values
        values.set_shape(self._shape)
        return values

    # ---- as single values of a pipeline --------------------------------------------------------

    @property
    def _flat_tensor_specs(self) -> list:
        return [TensorSpec(None, _dtypes.variant)]

    def _to_tensor_list(self, value) -> list:
        return [_encoded(self, value, False)]

    def _to_batched_tensor_list(self, value) -> list:
        if self._shape.rank == 0 or (isinstance(value, Tensor) and value.shape.rank == 0):
            raise ValueError(f"Unbatching a {type(value).__name__} is only supported for rank >= 1")
        return [_encoded(self, value, True)]

    def _from_tensor_list(self, tensors: list):
        found = RaggedTensor._from_variant(
            tensors[0],
            self._dtype,
            self._ragged_rank,
            row_splits_dtype=self._row_splits_dtype,
        )
        if self._shape.rank is None:
            return found
        if isinstance(found, RaggedTensor):
            inner = self._shape[self._ragged_rank + 1 :]
            flat = ops["EnsureShape"](
                found.flat_values, shape=TensorShape([None]).concatenate(inner)
            )
            return found.with_flat_values(flat)._with_known_shape(self._shape)
        return ops["EnsureShape"](found, shape=self._shape)

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        if self._flat_values_spec is not None:
            raise ValueError("Customized flat_values_spec is not supported yet.")
        return RaggedTensorSpec(
            TensorShape([batch_size]).concatenate(self._shape),
            self._dtype,
            self._ragged_rank + 1,
            self._row_splits_dtype,
        )

    def _unbatch(self) -> RaggedTensorSpec:
        if self._flat_values_spec is not None:
            raise ValueError("Customized flat_values_spec is not supported yet.")
        return RaggedTensorSpec(
            self._shape[1:], self._dtype, self._ragged_rank - 1, self._row_splits_dtype
        )

    def __repr__(self) -> str:
        parts = [
            repr(self._shape),
            repr(self._dtype),
            repr(self._ragged_rank),
            repr(self._row_splits_dtype),
        ]
        if self._flat_values_spec is not None:
            parts.append(repr(self._flat_values_spec))
        return f"RaggedTensorSpec({', '.join(parts)})"


def _encoded(spec: RaggedTensorSpec, value, is_batch: bool) -> Tensor:
    rank = value.ragged_rank if isinstance(value, RaggedTensor) else 0
    if rank != spec._ragged_rank:
        raise ValueError(f"Ragged rank of value {rank} does not match ragged rank of type "
                         f"{spec._ragged_rank}")
    splits = value.nested_row_splits if rank else []
    flat = value.flat_values if rank else value
    return ops["RaggedTensorToVariant"](
        list(splits), flat, Tsplits=spec._row_splits_dtype, batched_input=is_batch
    )


__all__ = ["RaggedTensorSpec"]
