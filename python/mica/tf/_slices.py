"""IndexedSlices: a gradient that is zero but for some rows."""

from __future__ import annotations

from . import _dtypes, _static
from ._composite import CompositeTensor
from ._core import Tensor, convert_to_tensor, ops
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec
from ._static import static_value


class IndexedSlicesSpec(TypeSpec):
    """The spec of IndexedSlices."""

    __slots__ = ("_dtype", "_has_shape", "_indices_dtype", "_shape")

    def __init__(
        self, shape=None, dtype=_dtypes.float32, indices_dtype=_dtypes.int64, has_shape=False
    ) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _dtypes.as_dtype(dtype)
        self._indices_dtype = _dtypes.as_dtype(indices_dtype)
        self._has_shape = has_shape

    @property
    def value_type(self) -> type:
        """IndexedSlices."""
        return IndexedSlices

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, self._indices_dtype, self._has_shape

    @property
    def _component_specs(self) -> list:
        inner = None if self._shape.rank is None else [None, *self._shape.as_list()[1:]]
        parts = [TensorSpec(inner, self._dtype), TensorSpec([None], self._indices_dtype)]
        return [*parts, TensorSpec([self._shape.rank], _dtypes.int32)] if self._has_shape else parts

    def _to_components(self, value: IndexedSlices) -> list:
        parts = [value.values, value.indices]
        return [*parts, convert_to_tensor(value.dense_shape)] if self._has_shape else parts

    def _from_components(self, components: list) -> IndexedSlices:
        return IndexedSlices(*components)


class IndexedSlices(CompositeTensor):
    """Slices of a tensor: values[i] belongs to row indices[i]; rows may occur twice.

    Parameters
    ----------
    values
        The slices, along the first axis.
    indices
        Which row each one is.
    dense_shape
        The shape of the whole, when it is known.
    """

    _is_tensor = True

    def __init__(self, values, indices, dense_shape=None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self):
        """The slices."""
        return self._values

    @property
    def indices(self):
        """The rows they belong to."""
        return self._indices

    @property
    def dense_shape(self):
        """The shape of the whole."""
        return self._dense_shape

    @property
    def dtype(self):
        """The element type."""
        return self._values.dtype

    @property
    def shape(self):
        """The shape of the whole, as far as it is known."""
        if self._dense_shape is None:
            return TensorShape(None)
        return _static.shape_of_value(self._dense_shape)

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        shape = None if self._dense_shape is None else self.shape
        return IndexedSlicesSpec(
            shape, self.dtype, self._indices.dtype, self._dense_shape is not None
        )

    def __tf_tensor__(self, dtype=None, name=None):
        """Return the whole tensor, rows that occur twice added up."""
        if self._dense_shape is None:
            raise ValueError(
                f"Tensor conversion requested for IndexedSlices without dense_shape: {self!r}"
            )
        return ops["UnsortedSegmentSum"](
            self._values, self._indices, self._dense_shape[0], name=name
        )

    def __neg__(self):
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self) -> str:
        return (
            f"IndexedSlices(indices={self._indices!r}, values={self._values!r}, "
            f"dense_shape={self._dense_shape!r})"
        )


def gather_gradient(params, indices, axis, cotangent):
    """Return the gradient of a gather along the first axis; None for another axis.

    Without an axis it is gather_nd's, whose indices are columns of one number.
    """
    if axis is None:
        if indices.shape.rank != 2 or indices.shape[1] != 1:
            return None
    else:
        along = static_value(axis)
        if along is None or int(along) not in (0, -(params.shape.rank or 0) or 1):
            return None
    shape = ops["Shape"](params)
    whole = ops["ConcatV2"]([convert_to_tensor([-1]), shape[1:]], 0)
    return IndexedSlices(
        ops["Reshape"](cotangent, whole),
        ops["Reshape"](indices, convert_to_tensor([-1])),
        shape,
    )


def gathered(source, parts: list) -> IndexedSlices:
    """Return the gradient of a tensor or variable's handle that rows were gathered from.

    Parameters
    ----------
    source
        What they were gathered from.
    parts
        For each gather the cotangent of what it gave, and its indices.
    """
    if source.dtype == _dtypes.resource:
        source = ops["ReadVariableOp"](source, dtype=parts[0][0].dtype)
    axis = convert_to_tensor(0)
    total = None
    for cotangent, indices in parts:
        slices = gather_gradient(source, indices, axis, cotangent)
        total = slices if total is None else add_gradients(total, slices)
    return total


def add_gradients(a, b):
    """Return the sum of two gradients, of which at least one is IndexedSlices."""
    if isinstance(a, IndexedSlices) and isinstance(b, IndexedSlices):
        return IndexedSlices(
            ops["ConcatV2"]([a.values, b.values], 0),
            ops["ConcatV2"]([a.indices, b.indices], 0),
            a.dense_shape,
        )
    dense_a = a if isinstance(a, Tensor) else convert_to_tensor(a)
    dense_b = b if isinstance(b, Tensor) else convert_to_tensor(b)
    return ops["AddV2"](dense_a, dense_b)


__all__ = ["IndexedSlices", "IndexedSlicesSpec", "add_gradients"]
