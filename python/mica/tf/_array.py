"""Making, reshaping and selecting: names of tf."""

from __future__ import annotations

import builtins as _builtins

from .. import _mica
from . import _dtypes
from ._context import building, executing_eagerly
from ._context import in_graph as _in_graph
from ._core import Tensor, convert_to_tensor, ops
from ._core import has_tensor as _has_tensor
from ._shapes import as_shape
from ._static import static_value


def constant(value, dtype=None, shape=None, name="Const"):
    """Return a tensor with the given value.

    Parameters
    ----------
    value
        Scalars, nested sequences, arrays.
    dtype
        The element type; by the data when it is None.
    shape
        A shape to fill: the value must have as many elements, or one.
    """
    dtype = None if dtype is None else _dtypes.as_dtype(dtype)
    if isinstance(value, Tensor) and not isinstance(value, _mica.TFEagerTensor):
        raise TypeError(f"Expected any non-tensor type, but got a tensor instead: {value}")
    graph = _mica.tf_current_graph()
    if graph is not None and graph._runs_parts:
        with building(None):
            tensor = constant(value, dtype, shape)
        made = ops["Const"](value=tensor, dtype=tensor.dtype, name=name)
        return ops["Identity"](made) if graph._order.is_active else made
    if shape is None:
        tensor = convert_to_tensor(value, dtype)
        return tensor if _mica.tf_remote() is None else ops["Identity"](tensor)
    with building(None):
        tensor = convert_to_tensor(value, dtype)
        sizes = convert_to_tensor([int(n) for n in _sizes(shape)], _dtypes.int32)
        count = 1
        for n in _sizes(shape):
            count *= int(n)
        given = int(ops["Size"](tensor))
        if given == count:
            result = ops["Reshape"](tensor, sizes)
        elif given == 1:
            result = ops["Fill"](
                sizes, ops["Reshape"](tensor, convert_to_tensor([], _dtypes.int32))
            )
        else:
            raise TypeError(
                f"Eager execution of tf.constant with unsupported shape. Tensor "
                f"{tensor.numpy()} (converted from {value}) has {given} "
                f"elements, but got `shape` {tuple(_sizes(shape))} with {count} elements)."
            )
    return (
        result if _mica.tf_executing_eagerly() else _mica.tf_lift(_mica.tf_current_graph(), result)
    )


def _sizes(shape) -> list:
    if hasattr(shape, "as_list"):
        return shape.as_list()
    return [shape] if isinstance(shape, int) else list(shape)


def shape_operand(shape, dtype=None):
    """Return a shape as an integer vector."""
    if isinstance(shape, Tensor):
        return shape
    if hasattr(shape, "as_list"):
        shape = shape.as_list()
    if isinstance(shape, int):
        shape = [shape]
    # Tensors among the sizes are cast, as to every dtype that is preferred.
    hint = _dtypes.int32 if isinstance(shape, list | tuple) and _has_tensor(shape) else None
    return convert_to_tensor(
        shape, dtype or (None if len(shape) else _dtypes.int32), dtype_hint=hint
    )


def fill(dims, value, name=None, layout=None):
    """Return a tensor of these sizes, every element the value."""
    _no_layout("fill", layout)
    return ops["Fill"](shape_operand(dims), value, name=name)


def zeros(shape, dtype=_dtypes.float32, name=None, layout=None):
    """Return a tensor of zeros."""
    _no_layout("zeros", layout)
    return _full(shape, _dtypes.as_dtype(dtype), 0)


def ones(shape, dtype=_dtypes.float32, name=None, layout=None):
    """Return a tensor of ones."""
    _no_layout("ones", layout)
    return _full(shape, _dtypes.as_dtype(dtype), 1)


def _no_layout(function: str, layout) -> None:
    if layout is not None:
        raise NotImplementedError(
            f"[{function}] layout={layout!r}: tensors are not laid out over a mesh of devices "
            "(DTensor); leave `layout` out"
        )


def _full(shape, dtype, number):
    if dtype == _dtypes.bool:
        value = bool(number)
    elif dtype == _dtypes.string:
        if number:
            raise TypeError(f"Expected string, but got {number} of type 'int'.")
        value = ""
    else:
        value = number
    return ops["Fill"](shape_operand(shape), convert_to_tensor(value, dtype))


def zeros_like(input, dtype=None, name=None, layout=None):
    """Return zeros of the same shape."""
    _no_layout("zeros_like", layout)
    return _like(input, dtype, "ZerosLike", 0)


def ones_like(input, dtype=None, name=None, layout=None):
    """Return ones of the same shape."""
    _no_layout("ones_like", layout)
    return _like(input, dtype, "OnesLike", 1)


def _like(input, dtype, op, number):
    x = convert_to_tensor(input)
    if dtype is None or _dtypes.as_dtype(dtype) == x.dtype:
        if x.dtype == _dtypes.string and number:
            raise TypeError(f"Expected string, but got {number} of type 'int'.")
        return ops[op](x)
    return _full(shape(x), _dtypes.as_dtype(dtype), number)


def shape(input, out_type=None, name=None):
    """Return the sizes of a tensor, as a vector; of int32 where no dtype is asked."""
    out_type = _dtypes.int32 if out_type is None else out_type
    return ops["Shape"](convert_to_tensor(input), out_type=out_type, name=name)


def size(input, out_type=None, name=None):
    """Return the number of elements; of int32 where no dtype is asked."""
    out_type = _dtypes.int32 if out_type is None else out_type
    return ops["Size"](convert_to_tensor(input), out_type=out_type, name=name)


def rank(input, name=None):
    """Return the number of axes."""
    return ops["Rank"](convert_to_tensor(input), name=name)


def reshape(tensor, shape, name=None):
    """Return the same elements in another shape; one size may be -1."""
    return ops["Reshape"](convert_to_tensor(tensor), shape_operand(shape), name=name)


def identity(input, name=None):
    """Return the same tensor, as another object."""
    return ops["Identity"](convert_to_tensor(input), name=name)


def stop_gradient(input, name=None):
    """Return the same tensor, through which no gradient passes."""
    return ops["StopGradient"](convert_to_tensor(input), name=name)


def expand_dims(input, axis, name=None):
    """Return the tensor with one more axis, of size 1."""
    return ops["ExpandDims"](convert_to_tensor(input), axis, name=name)


def squeeze(input, axis=None, name=None):
    """Return the tensor without axes of size 1."""
    if axis is None:
        axis = []
    elif isinstance(axis, int):
        axis = [axis]
    return ops["Squeeze"](convert_to_tensor(input), squeeze_dims=list(axis), name=name)


def transpose(a, perm=None, conjugate=False, name="transpose"):
    """Return the tensor with its axes permuted; reversed by default."""
    a = convert_to_tensor(a)
    if perm is None:
        if a.shape.rank is not None:
            perm = convert_to_tensor([*_builtins.range(a.shape.rank)][::-1], _dtypes.int32)
        else:
            last = ops["Rank"](a)
            perm = ops["Range"](ops["Sub"](last, 1), convert_to_tensor(-1), convert_to_tensor(-1))
    else:
        perm = shape_operand(perm)
    result = ops["Transpose"](a, perm)
    return ops["Conj"](result) if conjugate and a.dtype.is_complex else result


def concat(values, axis, name="concat"):
    """Return tensors one after the other along an axis."""
    if not isinstance(values, list | tuple):
        values = [values]
    if len(values) == 1:
        convert_to_tensor(axis, _dtypes.int32)
        return identity(values[0])
    return ops["ConcatV2"](list(values), axis, name=name)


def stack(values, axis=0, name="stack"):
    """Return tensors of one shape stacked along a new axis."""
    if isinstance(values, list | tuple) and not values:
        return convert_to_tensor([])
    return ops["Pack"](values, axis=axis, name=name)


def unstack(value, num=None, axis=0, name="unstack"):
    """Return the tensors along an axis, one by one."""
    value = convert_to_tensor(value)
    if num is None:
        if value.shape.rank is None:
            raise ValueError("Cannot infer argument `num` from shape <unknown>")
        num = value.shape[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    if num == 0 and executing_eagerly():
        return []
    return ops["Unpack"](value, num=num, axis=axis, name=name)


# Dtypes of ranges, from narrow to wide.
_RANGES = [
    _dtypes.int32,
    _dtypes.int64,
    _dtypes.float16,
    _dtypes.bfloat16,
    _dtypes.float32,
    _dtypes.float64,
]


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """Return start, start + delta, ... up to but without limit."""
    if limit is None:
        start, limit = 0, start
    parts = [start, limit, delta]
    if dtype is not None:
        dtype = _dtypes.as_dtype(dtype)
        parts = [
            ops["Cast"](p, DstT=dtype) if isinstance(p, Tensor) else convert_to_tensor(p, dtype)
            for p in parts
        ]
    else:
        tensors = [convert_to_tensor(p) for p in parts]
        for tensor in tensors:
            if tensor.dtype not in _RANGES:
                raise TypeError(f"range of {tensor.dtype.name} needs a dtype: dtype=tf.int32")
        widest = max((t.dtype for t in tensors), key=_RANGES.index)
        parts = [t if t.dtype == widest else ops["Cast"](t, DstT=widest) for t in tensors]
    if _in_graph():
        _check_range(*(static_value(part) for part in parts))
    return ops["Range"](*parts, name=name)


def _check_range(start, limit, delta) -> None:
    """Constants that are no range are refused when a graph is made."""
    if start is None or limit is None or delta is None:
        return
    if start.shape or limit.shape or delta.shape:
        return  # refused by the op
    if (delta > 0 and start > limit) or (delta < 0 and start < limit):
        sign, order = (">", "<=") if delta > 0 else ("<", ">=")
        raise ValueError(f"Requires start {order} limit when delta {sign} 0: {start}/{limit}")


def tile(input, multiples, name=None):
    """Return copies of the tensor one after the other."""
    return ops["Tile"](convert_to_tensor(input), shape_operand(multiples), name=name)


def broadcast_to(input, shape, name=None):
    """Return the tensor stretched to a shape by numpy's rule."""
    return ops["BroadcastTo"](convert_to_tensor(input), shape_operand(shape), name=name)


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Return slices of params along an axis, by index."""
    if axis is None:
        axis = batch_dims
    read = getattr(params, "sparse_read", None)
    if read is not None and axis == 0 and batch_dims == 0:
        return read(indices)
    return ops["GatherV2"](params, indices, axis, batch_dims=batch_dims, name=name)


def where(condition, x=None, y=None, name=None):
    """Return x where the condition is true, else y; or the places where it is true."""
    condition = convert_to_tensor(condition)
    if x is None and y is None:
        return ops["Where"](condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return ops["SelectV2"](convert_to_tensor(condition, _dtypes.bool), x, y, name=name)


def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):
    """Return the slices where the mask is true."""
    tensor = convert_to_tensor(tensor)
    mask = convert_to_tensor(mask, _dtypes.bool)
    axis = 0 if axis is None else int(static_value(axis))
    if mask.shape.rank is None:
        raise ValueError("Number of mask dimensions must be specified")
    if mask.shape.rank == 0:
        raise ValueError("mask cannot be scalar.")
    if tensor.shape.rank is not None:
        tensor.shape[axis : axis + mask.shape.rank].assert_is_compatible_with(mask.shape)
    sizes = ops["Shape"](tensor)
    rank_of_mask = mask.shape.rank
    whole = concat([sizes[:axis], [-1], sizes[axis + rank_of_mask :]], 0)
    flat = ops["Reshape"](tensor, whole)
    chosen = ops["Squeeze"](
        ops["Where"](ops["Reshape"](mask, convert_to_tensor([-1], _dtypes.int32))),
        squeeze_dims=[1],
    )
    return ops["GatherV2"](flat, chosen, axis, name=name)


def get_static_value(tensor, partial: bool = False):
    """Return the value as numpy's when it is known now, else None."""
    return static_value(tensor, partial)


def ensure_shape(x, shape, name=None):
    """Return x, which is refused unless its shape is compatible with the given one."""
    if as_shape(shape).rank is None and not executing_eagerly():
        raise ValueError("ensure_shape needs a shape of known rank inside a function")
    return ops["EnsureShape"](x, shape=as_shape(shape), name=name)
