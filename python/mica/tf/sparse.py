"""`tf.sparse`: tensors that are zero but for some elements."""

from __future__ import annotations

from . import _array, _dtypes
from ._composite import CompositeTensor
from ._core import Tensor, convert_to_tensor, ops
from ._missing import finder as _finder
from ._refusals import check_true, refusal
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec
from ._static import shape_of_value


class SparseTensorSpec(TypeSpec):
    """The spec of a SparseTensor."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape=None, dtype=_dtypes.float32) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _dtypes.as_dtype(dtype)

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
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: list) -> SparseTensor:
        made = SparseTensor(*components)
        made.set_shape(self._shape)
        return made


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

    __module__ = "tensorflow.python.framework.sparse_tensor"  # by which libraries tell it

    def __init__(self, indices, values, dense_shape) -> None:
        self._indices = convert_to_tensor(indices, _dtypes.int64)
        self._values = convert_to_tensor(values)
        self._dense_shape = convert_to_tensor(dense_shape, _dtypes.int64)
        for part, rank in ((self._indices, 2), (self._values, 1), (self._dense_shape, 1)):
            part.shape.assert_has_rank(rank)
        count = self._indices.shape[0], self._values.shape[0]
        if None not in count and count[0] != count[1]:
            raise ValueError(f"Dimensions {count[0]} and {count[1]} are not compatible")
        self._static = shape_of_value(self._dense_shape)

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
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self._static, self.dtype)

    def with_values(self, new_values) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def __neg__(self) -> SparseTensor:
        return self.with_values(-self._values)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )


def _strides(dense_shape: Tensor) -> Tensor:
    """How far apart neighbours along each axis lie in the whole, row by row."""
    return ops["Cumprod"](dense_shape, -1, exclusive=True, reverse=True)


def _places(x: SparseTensor) -> Tensor:
    """The numbers of the elements in the whole, row by row."""
    return ops["Sum"](x.indices * _strides(x.dense_shape), 1)


def from_dense(tensor, name=None) -> SparseTensor:
    """The elements that are not zero."""
    tensor = convert_to_tensor(tensor)
    indices = ops["Where"](ops["NotEqual"](tensor, _array.zeros_like(tensor)))
    shape = ops["Shape"](tensor, out_type=_dtypes.int64)
    made = SparseTensor(indices, ops["GatherNd"](tensor, indices), shape)
    made.set_shape(tensor.shape)
    return made


def _dense(x: SparseTensor):
    """The whole tensor; elements at one place are added."""
    return ops["ScatterNd"](x.indices, x.values, x.dense_shape)


def _check_order(x: SparseTensor) -> Tensor:
    """The indices, once it is clear that they are in order, each once, and within the shape."""
    from ._effects import control_dependencies
    from .debugging import Assert

    inside = ops["LogicalAnd"](x.indices >= 0, x.indices < x.dense_shape)
    places = _places(x)
    steps = places[1:] - places[:-1]
    checks = [
        Assert(ops["All"](inside, [0, 1]), ["indices: one is out of bounds", x.dense_shape]),
        Assert(
            ops["All"](steps >= 0, [0]),
            ["indices: one is out of order. Use `tf.sparse.reorder` to sort them:", x.indices],
        ),
        Assert(ops["All"](ops["NotEqual"](steps, 0), [0]), ["indices: one is repeated", x.indices]),
    ]
    with control_dependencies([check for check in checks if check is not None]):
        return ops["Identity"](x.indices)


def to_dense(sp_input: SparseTensor, default_value=None, validate_indices=True, name=None):
    """The whole tensor.

    With `validate_indices` they must be in order, each once; without, the last at a place counts.
    """
    indices = _check_order(sp_input) if validate_indices else sp_input.indices
    if default_value is None:
        default_value = {_dtypes.string: "", _dtypes.bool: False}.get(sp_input.dtype, 0)
    default = convert_to_tensor(default_value, sp_input.dtype)
    whole = ops["BroadcastTo"](default, sp_input.dense_shape)
    return ops["TensorScatterUpdate"](whole, indices, sp_input.values, name=name)


def map_values(op, *args, **kwargs) -> SparseTensor:
    """A function of the values, the places as they are."""
    first = next((a for a in [*args, *kwargs.values()] if isinstance(a, SparseTensor)), None)
    if first is None:
        raise ValueError("No SparseTensor in argument list of map_values")

    def values(argument):
        return argument.values if isinstance(argument, SparseTensor) else argument

    return first.with_values(
        op(*[values(a) for a in args], **{k: values(v) for k, v in kwargs.items()})
    )


def _union(a: SparseTensor, b: SparseTensor, function) -> SparseTensor:
    """A function of both at the places of either, zeros where one has none."""
    places = ops["ConcatV2"]([_places(a), _places(b)], 0)
    order = _sorted_order(places)
    ordered = ops["GatherV2"](places, order, 0)
    is_first = ops["ConcatV2"]([ops["OnesLike"](ordered[:1]) > 0, ordered[1:] != ordered[:-1]], 0)
    group = ops["Cumsum"](ops["Cast"](is_first, DstT=_dtypes.int32), 0) - 1
    count = ops["Sum"](ops["Cast"](is_first, DstT=_dtypes.int32), 0)
    ours, theirs = _array.zeros_like(a.values), _array.zeros_like(b.values)

    def spread(parts):
        values = ops["GatherV2"](ops["ConcatV2"](parts, 0), order, 0)
        return ops["UnsortedSegmentSum"](values, group, count)

    values = function(spread([a.values, theirs]), spread([ours, b.values]))
    indices = ops["ConcatV2"]([a.indices, b.indices], 0)
    kept = ops["Reshape"](ops["Where"](is_first), [-1])
    indices = ops["GatherV2"](ops["GatherV2"](indices, order, 0), kept, 0)
    made = SparseTensor(indices, _vector(values), a.dense_shape)
    made.set_shape(a.shape)
    return made


def _vector(values: Tensor) -> Tensor:
    """Values that are known to be a vector."""
    is_known = values.shape.rank is not None
    return values if is_known else ops["EnsureShape"](values, shape=TensorShape([None]))


def _sorted_order(places: Tensor) -> Tensor:
    from . import argsort

    return argsort(places, stable=True)


def _check_same_shape(name: str, a: SparseTensor, b: SparseTensor) -> None:
    if not a.shape.is_compatible_with(b.shape):
        raise ValueError(f"{name}: shapes {a.shape} and {b.shape} are not compatible")


def add(a, b, threshold=0):
    """The sum: sparse when both are, else dense."""
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        _check_same_shape("sparse.add", a, b)
        made = _union(a, b, lambda x, y: x + y)
        if threshold == 0:
            return made
        return retain(made, ops["Abs"](made.values) >= threshold)
    if isinstance(b, SparseTensor):
        a, b = b, a
    if not isinstance(a, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    b = convert_to_tensor(b, dtype_hint=a.dtype)
    sizes = ops["Shape"](b, out_type=_dtypes.int64)
    if b.shape.rank is not None and a.shape.rank not in (None, b.shape.rank):
        raise refusal(f"the ranks differ: {a.shape} and {b.shape}")
    check_true(sizes == a.dense_shape, "the shapes differ (no broadcasting is supported)")
    return _dense(a) + b


def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name=None) -> SparseTensor:
    """The larger of both, a missing element counting as zero."""
    _check_same_shape("sparse.maximum", sp_a, sp_b)
    return _union(sp_a, sp_b, ops["Maximum"])


def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name=None) -> SparseTensor:
    """The smaller of both, a missing element counting as zero."""
    _check_same_shape("sparse.minimum", sp_a, sp_b)
    return _union(sp_a, sp_b, ops["Minimum"])


def retain(sp_input: SparseTensor, to_retain) -> SparseTensor:
    """The elements for which a mask is true."""
    kept = ops["Reshape"](ops["Where"](convert_to_tensor(to_retain)), [-1])
    made = SparseTensor(
        ops["GatherV2"](sp_input.indices, kept, 0),
        ops["GatherV2"](sp_input.values, kept, 0),
        sp_input.dense_shape,
    )
    made.set_shape(sp_input.shape)
    return made


def reorder(sp_input: SparseTensor, name=None) -> SparseTensor:
    """The elements row by row."""
    order = _sorted_order(_places(sp_input))
    made = SparseTensor(
        ops["GatherV2"](sp_input.indices, order, 0),
        _vector(ops["GatherV2"](sp_input.values, order, 0)),
        sp_input.dense_shape,
    )
    made.set_shape(sp_input.shape)
    return made


__all__ = [
    "SparseTensor",
    "SparseTensorSpec",
    "add",
    "from_dense",
    "map_values",
    "maximum",
    "minimum",
    "reorder",
    "retain",
    "to_dense",
]

__getattr__ = _finder(__name__)
