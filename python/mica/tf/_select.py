"""Padding, splitting, gathering, scattering and tensors made of others: names of tf."""

from __future__ import annotations

from builtins import range as builtin_range
from collections import namedtuple

from . import _dtypes, errors
from ._array import (
    boolean_mask,
    broadcast_to,
    concat,
    expand_dims,
    fill,
    gather,
    ones_like,
    range,
    reshape,
    shape,
    shape_operand,
    size,
    stack,
    tile,
    transpose,
    where,
    zeros_like,
)
from ._context import executing_eagerly
from ._core import Tensor, convert_to_tensor, ops
from ._math import _pair, cast, reduce_sum
from ._reduce import argsort, reduce_max
from ._refusals import check_true, operand, refusal
from ._shapes import TensorShape
from ._shapes import broadcast_static_shape as _known_broadcast
from ._static import static_value

# ---- cutting and padding -------------------------------------------------------------------------


def slice(input_, begin, size, name=None):
    """Return size elements from begin on; -1: all that follow."""
    if not executing_eagerly():
        begin = convert_to_tensor(begin)
    return ops["Slice"](convert_to_tensor(input_), begin, size, name=name)


def strided_slice(
    input_,
    begin,
    end,
    strides=None,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    var=None,
    name=None,
):
    """Return input_[begin:end:strides], with the masks of an index expression."""
    begin = shape_operand(begin)
    if strides is None:
        strides = ones_like(begin)
    return ops["StridedSlice"](
        convert_to_tensor(input_),
        begin,
        shape_operand(end),
        shape_operand(strides),
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Return parts along an axis: so many equal ones, or of these sizes."""
    value = convert_to_tensor(value)
    if isinstance(num_or_size_splits, int):
        return ops["Split"](axis, value, num_split=num_or_size_splits, name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.rank == 0:
        known = static_value(sizes)
        if known is None:
            raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument")
        return ops["Split"](axis, value, num_split=int(known), name=name)
    if num is None:
        num = sizes.shape[0]
    if num is None:
        raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return ops["SplitV"](value, sizes, axis, num_split=num, name=name)


def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """Return the tensor with a value, or its own elements mirrored, around it."""
    tensor = convert_to_tensor(tensor)
    paddings = convert_to_tensor(paddings)
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, Tensor) and constant_values == 0:
            return ops["Pad"](tensor, paddings, name=name)
        return ops["PadV2"](
            tensor, paddings, convert_to_tensor(constant_values, tensor.dtype), name=name
        )
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(
            "Value of argument `mode` expected to be one of 'CONSTANT', 'REFLECT', or 'SYMMETRIC'."
            f" Received `mode` = {mode}"
        )
    return ops["MirrorPad"](tensor, paddings, mode=mode, name=name)


def pad_along(x, axis: int, before, after, value=0):
    """Return x with a value in front of one axis and behind it."""
    ranks = x.shape.rank
    if ranks is None:
        ranks = ops["Rank"](x)
        at = axis + ranks if axis < 0 else axis
        pair = expand_dims(stack([before, after]), 0)
        is_here = expand_dims(range(ranks) == at, 1)
        return pad(x, where(is_here, pair, zeros_like(pair)), constant_values=value)
    pairs = [stack([0, 0])] * ranks
    pairs[axis] = stack([before, after])
    return pad(x, stack(pairs), constant_values=value)


def reverse(tensor, axis, name=None):
    """Return the tensor read backwards along axes."""
    return ops["ReverseV2"](convert_to_tensor(tensor), axis, name=name)


def roll(input, shift, axis, name=None):
    """Return the tensor moved along axes; what leaves enters at the other end."""
    return ops["Roll"](convert_to_tensor(input), shift, axis, name=name)


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None):
    """Return the tensor with the first so many elements of each batch entry backwards."""
    return ops["ReverseSequence"](
        convert_to_tensor(input),
        seq_lengths,
        seq_dim=seq_axis,
        batch_dim=0 if batch_axis is None else batch_axis,
        name=name,
    )


# ---- coordinates ---------------------------------------------------------------------------------


_POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")


def _ignores(policy: str) -> bool:
    """Whether coordinates outside are passed over; else they are an error."""
    if policy is not None and policy not in _POLICIES:
        raise refusal(f"bad_indices_policy is one of {_POLICIES}, given: {policy!r}")
    return policy == "IGNORE"


def _inside(indices, sizes):
    """Whether coordinates are within sizes."""
    return ops["All"]((indices >= 0) & (indices < cast(sizes, indices.dtype)), [-1])


def gather_nd(params, indices, batch_dims=0, name=None, bad_indices_policy=""):
    """Return the elements or slices at coordinates.

    With bad_indices_policy "IGNORE" what lies outside is 0, else an error.
    """
    if _ignores(bad_indices_policy):
        params, indices = convert_to_tensor(params), convert_to_tensor(indices)
        static = int(static_value(batch_dims))
        depth = shape(indices)[-1]
        valid = _inside(indices, shape(params)[static : static + depth])
        indices = where(expand_dims(valid, -1), indices, ops["ZerosLike"](indices))
        found = gather_nd(params, indices, batch_dims, name)
        more = found.shape.rank - valid.shape.rank
        valid = reshape(valid, concat([shape(valid), [1] * more], 0))
        return where(valid, found, ops["ZerosLike"](found))
    read = getattr(params, "gather_nd", None)
    if read is not None and batch_dims == 0:
        return read(indices)
    params, indices = convert_to_tensor(params), convert_to_tensor(indices)
    batch_dims = int(static_value(batch_dims))
    if batch_dims < 0:
        raise ValueError("tf.gather_nd does not allow negative batch_dims.")
    if batch_dims == 0:
        return ops["GatherNd"](params, indices, name=name)
    sizes = shape(indices)
    parts = []
    for axis in builtin_range(batch_dims):
        one = [1] * indices.shape.rank
        one[axis] = -1
        numbers = reshape(cast(range(sizes[axis]), indices.dtype), one)
        parts.append(broadcast_to(numbers, concat([sizes[:-1], [1]], 0)))
    return ops["GatherNd"](params, concat([*parts, indices], -1), name=name)


def _kept(indices, updates, sizes, policy: str):
    """The coordinates within sizes and their updates, where others are passed over."""
    if not _ignores(policy):
        return indices, updates
    indices, updates = convert_to_tensor(indices), convert_to_tensor(updates)
    counts, depth = shape(indices)[:-1], shape(indices)[-1]
    rest = shape(updates)[size(counts) :]
    indices = reshape(indices, stack([ops["Prod"](counts, [0]), depth]))
    updates = reshape(updates, concat([[-1], rest], 0))
    valid = _inside(indices, sizes[:depth])
    return boolean_mask(indices, valid), boolean_mask(updates, valid)


def scatter_nd(indices, updates, shape, bad_indices_policy="", name=None):
    """Return zeros of a shape with updates added at coordinates.

    With bad_indices_policy "IGNORE" what lies outside is passed over, else an error.
    """
    indices = convert_to_tensor(indices)
    sizes = cast(convert_to_tensor(shape), indices.dtype)
    indices, updates = _kept(indices, updates, sizes, bad_indices_policy)
    return ops["ScatterNd"](indices, updates, sizes, name=name)


def _scatter(op: str):
    def scatter(tensor, indices, updates, bad_indices_policy="", name=None):
        if _ignores(bad_indices_policy):
            tensor = convert_to_tensor(tensor)
            indices, updates = _kept(indices, updates, shape(tensor), bad_indices_policy)
        return ops[op](tensor, indices, updates, name=name)

    scatter.__doc__ = ops[op].__doc__
    return scatter


tensor_scatter_nd_add = _scatter("TensorScatterAdd")
tensor_scatter_nd_sub = _scatter("TensorScatterSub")
tensor_scatter_nd_max = _scatter("TensorScatterMax")
tensor_scatter_nd_min = _scatter("TensorScatterMin")


def tensor_scatter_nd_update(tensor, indices, updates, name=None):
    """Return a tensor with updates at coordinates."""
    return ops["TensorScatterUpdate"](convert_to_tensor(tensor), indices, updates, name=name)


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """Return on_value at the place that an index names, off_value elsewhere."""
    given = [convert_to_tensor(v, dtype) for v in (on_value, off_value) if v is not None]
    dtype = given[0].dtype if given else _dtypes.as_dtype(dtype or _dtypes.float32)
    if len(given) == 2 and given[1].dtype != dtype:
        raise TypeError(
            f"dtype {dtype} of on_value does not match dtype {given[1].dtype} of off_value"
        )
    on = convert_to_tensor(1 if on_value is None else on_value, dtype)
    off = convert_to_tensor(0 if off_value is None else off_value, dtype)
    return ops["OneHot"](indices, depth, on, off, axis=-1 if axis is None else axis, name=name)


def sequence_mask(lengths, maxlen=None, dtype=_dtypes.bool, name=None):
    """Return for each length a row that is true in its first so many places."""
    lengths = convert_to_tensor(lengths)
    known = static_value(lengths) if maxlen is None else None
    if known is not None:
        maxlen = int(known.max(initial=0))
    elif maxlen is None:
        maxlen = ops["Maximum"](reduce_max(lengths), convert_to_tensor(0, lengths.dtype))
    places = range(cast(maxlen, lengths.dtype))
    mask = places < expand_dims(lengths, -1)
    return mask if _dtypes.as_dtype(dtype) == _dtypes.bool else cast(mask, dtype)


def repeat(input, repeats, axis=None, name=None):
    """Return the tensor with each element, or each slice along an axis, repeated."""
    x = convert_to_tensor(input)
    counts = convert_to_tensor(repeats, dtype_hint=_dtypes.int32)
    if not counts.dtype.is_integer:
        raise TypeError(f"`repeats` must be integers, not of dtype {counts.dtype.name}")
    counts = cast(counts, _dtypes.int32)
    if counts.shape.rank is not None and counts.shape.rank > 1:
        raise ValueError(f"Shape {counts.shape} must have rank at most 1")
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    ranks = x.shape.rank
    if ranks is None and axis < 0:
        raise ValueError(f"axis={axis} may only be negative if rank(data) is statically known.")
    if ranks is not None and not -ranks <= axis < ranks:
        raise ValueError(f"axis={axis} out of bounds: expected {-ranks}<=axis<{ranks}")
    if ranks is not None and counts.shape.num_elements() == 1:
        known = static_value(counts)
        if known is not None and known.min() < 0:
            check_true(counts >= 0, f"[Repeat] repeats must not be negative: {repeats}")
            counts = ops["Maximum"](counts, 0)
        return _repeat_all(x, reshape(counts, []), axis % ranks)
    size, known = (None if ranks is None else x.shape[axis]), counts.shape.num_elements()
    if None not in (size, known) and known not in (1, size):
        raise ValueError(f"Dimensions {size} and {known} are not compatible")
    counts = broadcast_to(reshape(ops["Maximum"](counts, 0), [-1]), expand_dims(shape(x)[axis], 0))
    ends = ops["Cumsum"](counts, 0)
    total = reduce_sum(counts)
    # How many slices end at each place; summed up, how many have ended before it.
    ended = ops["UnsortedSegmentSum"](ones_like(ends), ends, total + 1)
    return gather(x, ops["Cumsum"](ended, 0)[:-1], axis=axis)


def _repeat_all(x, count, axis: int):
    """Return x with each slice along an axis repeated count times."""
    sizes = shape(x)
    multiples = stack([count if i == axis + 1 else 1 for i in builtin_range(x.shape.rank + 1)])
    wide = tile(expand_dims(x, axis + 1), multiples)
    middle = expand_dims(sizes[axis] * count, 0)
    return reshape(wide, concat([sizes[:axis], middle, sizes[axis + 1 :]], 0))


def searchsorted(sorted_sequence, values, side="left", out_type=_dtypes.int32, name=None):
    """Return where values would have to be put to keep a sequence sorted, along the last axis."""
    ordered, values = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: {side}")
    if ordered.shape.rank is not None and values.shape.rank is not None:
        a, b = ordered.shape[:-1], values.shape[:-1]
        if not a.is_compatible_with(b):
            raise refusal(f"Leading dim_size of both tensors must match: {a} and {b}")
    sizes = shape(values)
    rows = ops["Prod"](sizes[:-1], 0)  # as many of both: other numbers do not reshape
    ordered = reshape(ordered, stack([rows, shape(ordered)[-1]]))
    left, right = expand_dims(ordered, 1), expand_dims(reshape(values, stack([rows, sizes[-1]])), 2)
    # What is not a number comes last: no element is above it.
    before = left < right if side == "left" else ops["LogicalNot"](right < left)
    found = reduce_sum(cast(before, _dtypes.as_dtype(out_type)), 2)
    return ops["EnsureShape"](reshape(found, sizes), shape=values.shape, name=name)


def meshgrid(*args, **kwargs):
    """Return coordinates over a grid: for each vector a tensor of the grid's shape."""
    indexing = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("Argument `indexing` parameter must be either 'xy' or 'ij'")
    vectors = [reshape(convert_to_tensor(v), [-1]) for v in args]
    n = len(vectors)
    sizes = [size(v) for v in vectors]
    order = list(builtin_range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    whole = stack([sizes[order[k]] for k in builtin_range(n)]) if n else None
    out = []
    for i, vector in enumerate(vectors):
        one = [1] * n
        one[order.index(i)] = -1
        out.append(broadcast_to(reshape(vector, one), whole))
    return out


def linspace(start, stop, num, name=None, axis=0):
    """Return num values from start to stop, both included."""
    start = convert_to_tensor(start)
    stop = convert_to_tensor(stop, start.dtype)
    n = convert_to_tensor(num)
    if not n.dtype.is_integer:
        raise TypeError(f"`num` must be of type integer. Received dtype {n.dtype.name}")
    n = cast(n, _dtypes.int32)
    sizes = broadcast_dynamic_shape(shape(start), shape(stop))
    first = expand_dims(broadcast_to(start, sizes), axis)
    last = expand_dims(broadcast_to(stop, sizes), axis)
    steps = ops["Maximum"](n - 1, 1)
    # As TensorFlow: integers are subtracted as integers, and wrap.
    delta = (last - first) / cast(steps, first.dtype)
    first, last = cast(first, delta.dtype), cast(last, delta.dtype)
    inner = range(1, where(n >= 0, steps, -1))
    ranks = size(shape(first))
    at = cast(axis if axis >= 0 else ranks + axis, _dtypes.int32)
    along = where(range(ranks) == at, size(inner), 1)
    between = first + delta * reshape(cast(inner, delta.dtype), along)
    whole = concat([first, between, last], axis)
    wanted = where(range(ranks) == at, n, shape(whole))
    result = ops["Slice"](whole, zeros_like(wanted), wanted)
    outer, known = _known_broadcast(start.shape, stop.shape), static_value(n)
    if outer.rank is not None:
        dims = outer.as_list()
        dims.insert(
            axis if axis >= 0 else len(dims) + 1 + axis, None if known is None else int(known)
        )
        result.set_shape(dims)
    return result


def eye(num_rows, num_columns=None, batch_shape=None, dtype=_dtypes.float32, name=None):
    """Return identity matrices."""
    dtype = _dtypes.as_dtype(dtype)
    columns = num_rows if num_columns is None else num_columns
    rows = range(cast(num_rows, _dtypes.int32))
    same = expand_dims(rows, 1) == range(cast(columns, _dtypes.int32))
    matrix = cast(same, dtype)
    if batch_shape is None:
        return matrix
    return broadcast_to(
        matrix, concat([cast(shape_operand(batch_shape), _dtypes.int32), shape(matrix)], 0)
    )


def shape_n(input, out_type=_dtypes.int32, name=None):
    """Return the sizes of several tensors."""
    tensors = [convert_to_tensor(x) for x in input]
    if not tensors:
        raise refusal("List argument 'input' to 'ShapeN' Op with length 0 shorter than 1.")
    for i, x in enumerate(tensors):
        operand(x, tensors[0].dtype, "ShapeN", i)
    return [shape(x, out_type) for x in tensors]


def identity_n(input, name=None):
    """Return the same tensors, as other objects."""
    if not len(input):
        raise refusal("List argument 'input' to 'IdentityN' Op with length 0 shorter than 1.")
    return [ops["Identity"](convert_to_tensor(x)) for x in input]


def broadcast_dynamic_shape(shape_x, shape_y):
    """Return the shape that two shapes broadcast to."""
    x, y = convert_to_tensor(shape_x), convert_to_tensor(shape_y)
    for i, v in enumerate((x, y)):
        if v.shape.rank not in (1, None):
            raise refusal(f"[BroadcastArgs] In[{i}] must be a vector, not of shape {v.shape}")
    n = ops["Maximum"](size(x), size(y))
    wide = [concat([fill(expand_dims(n - size(v), 0), cast(1, v.dtype)), v], 0) for v in (x, y)]
    one = convert_to_tensor(1, x.dtype)
    return where(wide[0] == one, wide[1], wide[0])


def broadcast_static_shape(shape_x, shape_y):
    """Return the shape that two known shapes broadcast to."""
    x, y = TensorShape(shape_x).as_list(), TensorShape(shape_y).as_list()
    n = max(len(x), len(y))
    x, y = [1] * (n - len(x)) + x, [1] * (n - len(y)) + y
    out = []
    for a, b in zip(x, y, strict=True):
        if a is not None and b is not None and a != b and 1 not in (a, b):
            raise ValueError(
                f"Incompatible shapes for broadcasting. Two shapes are compatible if for each "
                f"dimension pair they are either equal or one of them is 1. Received: {shape_x} "
                f"and {shape_y}."
            )
        known = [v for v in (a, b) if v not in (None, 1)]
        out.append(known[0] if known else (None if None in (a, b) else 1))
    return TensorShape(out)


def _product(factors):
    result = 1
    for factor in factors:
        result = result * factor
    return result


def space_to_batch(input, block_shape, paddings, name=None):
    """Return blocks of space moved into the batch."""
    return ops["SpaceToBatchND"](convert_to_tensor(input), block_shape, paddings, name=name)


def space_to_batch_nd(input, block_shape, paddings, name=None):
    """Return blocks of the axes after the first as elements of the first."""
    return ops["SpaceToBatchND"](convert_to_tensor(input), block_shape, paddings, name=name)


def batch_to_space(input, block_shape, crops, name=None):
    """Return blocks of the batch moved into space."""
    return ops["BatchToSpaceND"](convert_to_tensor(input), block_shape, crops, name=name)


def einsum(equation, *inputs, **kwargs):
    """Return sums of products by Einstein's convention."""
    kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(kwargs)}")
    equation = equation.replace(" ", "")
    given, arrow, wanted = equation.partition("->")
    if arrow and set(wanted) - set(given):
        raise ValueError(f"the result of '{equation}' has labels that no operand has")
    wanted_count = given.count(",") + 1
    if len(inputs) != wanted_count:
        raise ValueError(
            f'Got {len(inputs)} inputs for equation "{equation}", expecting {wanted_count}'
        )
    tensors = [convert_to_tensor(x) for x in inputs]
    return ops["Einsum"](tensors, equation=equation)


def tensordot(a, b, axes, name=None):
    """Return the sum of products over axes of a and axes of b."""
    a, b = _pair(a, b)
    of_a, of_b = _contracted(a, axes)
    if a.shape.rank is None or b.shape.rank is None:
        return _tensordot_of_matrices(a, b, of_a, of_b)
    of_a = [i % a.shape.rank for i in of_a]
    of_b = [i % b.shape.rank for i in of_b]
    letters = [chr(97 + i) for i in builtin_range(26)] + [chr(65 + i) for i in builtin_range(26)]
    names_a = letters[: a.shape.rank]
    names_b = letters[a.shape.rank : a.shape.rank + b.shape.rank]
    for i, k in zip(of_a, of_b, strict=True):
        names_b[k] = names_a[i]
    out = [n for i, n in enumerate(names_a) if i not in of_a]
    out += [n for i, n in enumerate(names_b) if i not in of_b]
    return ops["Einsum"](
        [a, b], equation=f"{''.join(names_a)},{''.join(names_b)}->{''.join(out)}", name=name
    )


def _contracted(a, axes) -> tuple[list[int], list[int]]:
    """Return the axes of a and those of b that are summed over; -n: the n-th from the end."""
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: axes={axes}")
        if a.shape.rank is not None and axes > a.shape.rank:
            raise ValueError(f"`axes` must not be larger than the rank {a.shape.rank}: {axes}")
        return list(builtin_range(-axes, 0)), list(builtin_range(axes))
    of_a, of_b = (static_value(convert_to_tensor(part)).ravel().tolist() for part in axes)
    if len(of_a) != len(of_b):
        raise ValueError(f"`axes` must name as many of a as of b. Received: axes={axes}")
    return of_a, of_b


def _tensordot_of_matrices(a, b, of_a: list[int], of_b: list[int]):
    """Return tensordot of tensors whose ranks are known when they are there."""

    def turned(x, axes, is_first: bool):
        ranks = size(shape(x))
        summed = convert_to_tensor(axes, _dtypes.int32)
        summed = where(summed < 0, summed + ranks, summed)
        check_true(
            ops["LogicalAnd"](summed >= 0, summed < ranks), f"tensordot has no such axes: {axes}"
        )
        numbers = range(ranks)
        is_here = cast(expand_dims(numbers, 1) == expand_dims(summed, 0), _dtypes.int32)
        place = reduce_sum(is_here * range(1, size(summed) + 1), 1)  # 0: not summed
        late = place if is_first else where(place == 0, size(summed) + 1, place)
        x = transpose(x, argsort(late * ranks + numbers))
        sizes = shape(x)[: -size(summed) + ranks] if is_first else shape(x)[size(summed) :]
        n = expand_dims(ops["Prod"](sizes, 0), 0)
        return reshape(x, concat([n, [-1]] if is_first else [[-1], n], 0)), sizes

    left, rows = turned(a, of_a, True)
    right, columns = turned(b, of_b, False)
    return reshape(ops["MatMul"](left, right), concat([rows, columns], 0))


def unravel_index(indices, dims, name=None):
    """Return the coordinates of flat places."""
    indices = convert_to_tensor(indices)
    sizes = convert_to_tensor(dims)
    if sizes.shape.rank == 0 or sizes.shape.num_elements() == 0:
        raise errors.InvalidArgumentError(None, None, f"dims must be a vector with sizes: {dims}")
    indices, sizes = operand(indices, sizes.dtype, "UnravelIndex", 0), reshape(sizes, [-1])
    check_true(
        ops["LogicalAnd"](size(indices) > 0, ops["All"](_is_below(indices, sizes), [0])),
        "[UnravelIndex] indices must not be empty, and in the bounds of dims",
    )
    # One row for each of the sizes.
    column = concat([shape(sizes), ops["OnesLike"](shape(indices))], 0)
    below = ops["Cumprod"](sizes, 0, exclusive=True, reverse=True)
    rows = ops["TruncateDiv"](expand_dims(indices, 0), reshape(below, column))
    found = ops["TruncateMod"](rows, reshape(sizes, column))
    return ops["EnsureShape"](found, shape=_unraveled_shape(indices, sizes), name=name)


def _is_below(indices, sizes):
    return reshape(indices, [-1]) < ops["Prod"](sizes, 0)


def _unraveled_shape(indices, sizes) -> TensorShape:
    if indices.shape.rank is None:
        return TensorShape(None)
    return TensorShape([sizes.shape[0], *indices.shape.as_list()])


# ---- unique elements -----------------------------------------------------------------------------

Unique = namedtuple("Unique", ["y", "idx"])
UniqueWithCounts = namedtuple("UniqueWithCounts", ["y", "idx", "count"])


def _first_places(x):
    """Return for each element of a vector the place of the first one that equals it."""
    n = size(x)
    order = argsort(x, stable=True)
    ordered = gather(x, order)
    starts = ops["ConcatV2"]([ones_like(ordered[:1], _dtypes.bool), ordered[1:] != ordered[:-1]], 0)
    group = ops["Cumsum"](cast(starts, _dtypes.int32), 0) - 1
    first = ops["UnsortedSegmentMin"](order, group, n)
    return ops["ScatterNd"](expand_dims(order, 1), gather(first, group), expand_dims(n, 0))


def unique(x, out_idx=_dtypes.int32, name=None):
    """Return the elements of a vector once each, in order, and where each element is among them."""
    x = convert_to_tensor(x)
    out_idx = _dtypes.as_dtype(out_idx)
    if x.shape.rank not in (1, None):
        raise refusal(f"unique expects a 1D vector, not a tensor of shape {x.shape}")
    if x.dtype in (_dtypes.string, _dtypes.bool) or out_idx not in (_dtypes.int32, _dtypes.int64):
        return Unique(*ops["Unique"](x, out_idx=out_idx))
    first = _first_places(x)
    is_first = first == range(size(x))
    y = gather(x, ops["Squeeze"](ops["Where"](is_first), squeeze_dims=[1]))
    number = ops["Cumsum"](cast(is_first, _dtypes.int32), 0) - 1
    y = ops["EnsureShape"](y, shape=TensorShape([None]))
    return Unique(y, cast(gather(number, first), out_idx))


def unique_with_counts(x, out_idx=_dtypes.int32, name=None):
    """Return the elements of a vector once each, where each element is, and their counts."""
    y, idx = unique(x, out_idx)
    count = ops["UnsortedSegmentSum"](ones_like(idx), idx, size(y))
    return UniqueWithCounts(y, idx, count)


TOP = (
    "batch_to_space broadcast_dynamic_shape broadcast_static_shape einsum eye gather_nd identity_n "
    "linspace meshgrid one_hot pad repeat reverse reverse_sequence roll scatter_nd searchsorted "
    "sequence_mask shape_n slice space_to_batch space_to_batch_nd split strided_slice "
    "tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub "
    "tensor_scatter_nd_update tensordot unique unique_with_counts unravel_index"
).split()
