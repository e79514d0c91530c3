"""`tf.SparseTensor` and its spec: elements at places, everything else zero."""

from __future__ import annotations

import collections

import numpy as np

from .. import _mica
from . import _dtypes, _spec_registry
from ._composite import CompositeTensor
from ._core import Tensor, convert_to_tensor, ops
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec, register_type_spec
from ._static import shape_of_value

SparseTensorValue = collections.namedtuple("SparseTensorValue", "indices values dense_shape")


@_spec_registry.register("tf.SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """The spec of a SparseTensor.

    Pipelines carry a sparse tensor as strings, so that a batch of those is a batch of these.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape=None, dtype=_dtypes.float32) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _dtypes.as_dtype(dtype)

    @classmethod
    def from_value(cls, value) -> SparseTensorSpec:
        """The spec of a sparse tensor, or of a SparseTensorValue."""
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        if not isinstance(value, SparseTensor):
            raise TypeError(
                f"Expected SparseTensor or SparseTensorValue. Received: {value} of type "
                f"{type(value).__name__}."
            )
        return cls(value.shape, value.dtype)

    @property
    def value_type(self) -> type:
        """SparseTensor."""
        return SparseTensor

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    @property
    def dtype(self) -> _dtypes.DType:
        """The element type."""
        return self._dtype

    def _serialize(self) -> tuple:
        return (self._shape, self._dtype)

    @property
    def _component_specs(self) -> list:
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], _dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], _dtypes.int64),
        ]

    def _to_components(self, value: SparseTensor) -> list:
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: list) -> SparseTensor:
        made = SparseTensor(*components)
        made.set_shape(self._shape)
        return made

    # ---- in pipelines ----------------------------------------------------------------------------

    @property
    def _flat_tensor_specs(self) -> list:
        return [TensorSpec(None, _dtypes.string)]

    def _to_tensor_list(self, value: SparseTensor) -> list:
        parts = self._to_components(value)
        return [ops["SerializeSparse"](*parts, out_type=_dtypes.string)]

    def _to_batched_tensor_list(self, value: SparseTensor) -> list:
        if self._shape.merge_with(value.shape).rank == 0:
            raise ValueError(
                "Unbatching a sparse tensor is only supported for rank >= 1. Obtained input: "
                f"{value}."
            )
        parts = self._to_components(value)
        return [ops["SerializeManySparse"](*parts, out_type=_dtypes.string)]

    def _from_tensor_list(self, tensors: list) -> SparseTensor:
        indices, values, sizes = ops["DeserializeSparse"](tensors[0], dtype=self._dtype)
        rank = self._shape.rank
        indices.set_shape([None, rank])
        sizes.set_shape([rank])
        if self._shape.is_fully_defined():
            sizes = convert_to_tensor(self._shape.as_list(), _dtypes.int64)
        made = SparseTensor(indices, values, sizes)
        made.set_shape(self._shape)
        return made

    def _batch(self, batch_size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> SparseTensorSpec:
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(self._shape[1:] if self._shape.rank else None, self._dtype)


class SparseTensor(CompositeTensor):
    """Elements at places: values[i] stands at indices[i], everything else is zero.

    Parameters
    ----------
    indices
        Places, one row each, of dtype int64.
    values
        What stands there.
    dense_shape
        The shape of the whole.
    """

    _is_tensor = True
    _mica_own_operators = True

    __module__ = "tensorflow.python.framework.sparse_tensor"  # by which libraries tell it

    def __init__(self, indices, values, dense_shape) -> None:
        self._indices = convert_to_tensor(indices, _dtypes.int64)
        self._values = convert_to_tensor(values)
        self._dense_shape = convert_to_tensor(dense_shape, _dtypes.int64)
        places = self._indices.shape.with_rank(2)
        elements = self._values.shape.with_rank(1)
        sizes = self._dense_shape.shape.with_rank(1)
        for a, b in ((places[0], elements[0]), (places[1], sizes[0])):
            if None not in (a, b) and a != b:
                raise ValueError(f"Dimensions {a} and {b} are not compatible")
        self._static = shape_of_value(self._dense_shape)

    @classmethod
    def from_value(cls, sparse_tensor_value) -> SparseTensor:
        """The sparse tensor of a SparseTensorValue, or itself."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise TypeError(
                f"Argument sparse_tensor_value={sparse_tensor_value} is neither a SparseTensor nor "
                "SparseTensorValue."
            )
        return cls(*sparse_tensor_value)

    @property
    def indices(self) -> Tensor:
        """The places."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """What stands there."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole, as a tensor."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole, as far as it is known."""
        return self._static

    def get_shape(self) -> TensorShape:
        """The shape of the whole, as far as it is known."""
        return self._static

    def set_shape(self, shape) -> None:
        """Add what is known of the shape."""
        self._static = self._static.merge_with(shape)

    @property
    def dtype(self) -> _dtypes.DType:
        """The element type."""
        return self._values.dtype

    @property
    def op(self):
        """The operation that makes the values."""
        return self._values.op

    @property
    def graph(self):
        """The graph that it is in."""
        return self._indices.graph

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self._static, self.dtype)

    def _shape_invariant_to_type_spec(self, shape) -> SparseTensorSpec:
        if shape.rank not in (None, 1):
            raise ValueError(
                f"Expected a shape with 1 dimension. Obtained: {shape} which has {shape.rank} "
                "dimensions."
            )
        rank = shape[0] if shape.rank == 1 else None
        return SparseTensorSpec(None if rank is None else [None] * rank, self.dtype)

    def with_values(self, new_values) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def consumers(self) -> list:
        """The operations that use a part of it."""
        found = []
        for part in (self._indices, self._values, self._dense_shape):
            if not isinstance(part, _mica.TFEagerTensor):
                found += [each for each in part.consumers() if each not in found]
        return found

    def _is_eager(self) -> bool:
        parts = (self._indices, self._values, self._dense_shape)
        return all(isinstance(part, _mica.TFEagerTensor) for part in parts)

    def _numpy(self) -> np.ndarray:
        """The whole as an array."""
        if not self._is_eager():
            raise ValueError("SparseTensor.numpy() is only supported in eager mode.")
        whole = np.zeros(self._dense_shape.numpy(), self.dtype.as_numpy_dtype)
        whole[tuple(self._indices.numpy().T)] = self._values.numpy()
        return whole

    @staticmethod
    def _stand_in(key: str, function):
        """What stands in for a function of the package, or None."""
        from ._sparse_handlers import handler  # which is made of functions of sparse tensors

        return handler(key, function)

    def _parts(self) -> tuple:
        return self._indices, self._values, self._dense_shape

    def __mul__(self, other) -> SparseTensor:
        other = convert_to_tensor(other, self.dtype)
        return self.with_values(ops["SparseDenseCwiseMul"](*self._parts(), other))

    __rmul__ = __mul__

    def __truediv__(self, other) -> SparseTensor:
        other = convert_to_tensor(other, self.dtype)
        values = self._values
        if self.dtype.is_integer:
            wide = _dtypes.float32 if self.dtype.size <= 2 else _dtypes.float64
            values, other = ops["Cast"](values, DstT=wide), ops["Cast"](other, DstT=wide)
        quotient = ops["SparseDenseCwiseDiv"](self._indices, values, self._dense_shape, other)
        return self.with_values(quotient)

    def __div__(self, other) -> SparseTensor:
        other = convert_to_tensor(other, dtype_hint=self.dtype)
        return self.with_values(ops["SparseDenseCwiseDiv"](*self._parts(), other))

    def _refuse(self, other):
        """What there is no operator for: no tensor can be made of a sparse one."""
        return convert_to_tensor(self) if isinstance(other, Tensor) else NotImplemented

    __add__ = __sub__ = __matmul__ = __floordiv__ = __mod__ = __pow__ = _refuse
    __radd__ = __rsub__ = __rmatmul__ = __rfloordiv__ = __rmod__ = __rpow__ = _refuse
    __rtruediv__ = _refuse

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )


register_type_spec(SparseTensorValue, SparseTensorSpec.from_value)


def is_sparse(x: object) -> bool:
    """Whether it is a sparse tensor, or the value of one."""
    return isinstance(x, SparseTensor | SparseTensorValue)


def to_sparse(x: object) -> SparseTensor:
    """A sparse tensor, or the value of one, as a sparse tensor."""
    if isinstance(x, SparseTensorValue):
        return SparseTensor.from_value(x)
    if not isinstance(x, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return x


def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    """A sparse tensor as it is, anything else as a tensor."""
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype=dtype, name=name)
    wanted = value.dtype if dtype is None else _dtypes.as_dtype(dtype)
    if wanted != value.dtype:
        raise RuntimeError(
            f"Sparse dtype mismatch. Requested: {wanted.name},  Actual: {value.dtype.name}"
        )
    return value
