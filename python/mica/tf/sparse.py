"""`tf.sparse`: tensors that are zero but for some elements."""

from __future__ import annotations

import numbers as _numbers

import numpy as _np

from . import _array, _dtypes, _effects, _reduce, _select, debugging
from ._core import Tensor, convert_to_tensor, ops
from ._math import cast
from ._missing import finder as _finder
from ._refusals import check_true
from ._shapes import TensorShape
from ._sparse_tensor import SparseTensor, SparseTensorSpec, is_sparse, to_sparse
from ._static import static_value


def _parts(x: SparseTensor) -> tuple:
    return x.indices, x.values, x.dense_shape


def _of_shape(parts, shape) -> SparseTensor:
    """A sparse tensor of which more is known than its parts say."""
    made = SparseTensor(*parts)
    made.set_shape(shape)
    return made


# ---- making --------------------------------------------------------------------------------------


def from_dense(tensor, name=None) -> SparseTensor:
    """Return the elements that are not zero."""
    tensor = convert_to_tensor(tensor)
    indices = ops["Where"](ops["NotEqual"](tensor, _array.zeros_like(tensor)))
    values = ops["GatherNd"](tensor, indices, name=name)
    sizes = ops["Shape"](tensor, out_type=_dtypes.int64)
    return _of_shape((indices, values, sizes), tensor.shape)


def eye(num_rows, num_columns=None, dtype=_dtypes.float32, name=None) -> SparseTensor:
    """Return ones on the diagonal of a matrix."""
    rows = _size(num_rows, "num_rows")
    columns = rows if num_columns is None else _size(num_columns, "num_columns")
    places = _array.range(ops["Minimum"](rows, columns), dtype=_dtypes.int64)
    indices = ops["Pack"]([places, places], axis=1, name=name)
    ones = _array.ones(ops["Shape"](places), dtype=dtype)
    return SparseTensor(indices, ones, ops["Pack"]([rows, columns]))


def _size(value, name: str) -> Tensor:
    if isinstance(value, _numbers.Integral):
        return convert_to_tensor(int(value), _dtypes.int64)
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be an integer value")
    return cast(value, _dtypes.int64)


def to_dense(sp_input, default_value=None, validate_indices=True, name=None) -> Tensor:
    """Return the whole tensor.

    With `validate_indices` they must be in order, each once; without, the last at a place counts.
    """
    sp_input = to_sparse(sp_input)
    if default_value is None:
        default_value = _array.zeros([], sp_input.dtype)
    return ops["SparseToDense"](
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


def to_indicator(sp_input, vocab_size, name=None) -> Tensor:
    """Return truths: whether each number below `vocab_size` is among those of a row."""
    sp_input = to_sparse(sp_input)
    if not isinstance(vocab_size, Tensor | _numbers.Integral):
        raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
    ids = ops["ExpandDims"](cast(sp_input.values, _dtypes.int64), 1)
    indices = ops["ConcatV2"]([sp_input.indices[:, :-1], ids], 1)
    count = ops["Reshape"](cast(vocab_size, _dtypes.int64), [1])
    sizes = ops["ConcatV2"]([sp_input.dense_shape[:-1], count], 0)
    truths = ops["Fill"](ops["Shape"](sp_input.values), True)
    marked = reorder(SparseTensor(indices, truths, sizes))
    return to_dense(marked, default_value=False, validate_indices=False, name=name)


# ---- moving --------------------------------------------------------------------------------------


def reorder(sp_input, name=None) -> SparseTensor:
    """Return the elements row by row."""
    sp_input = to_sparse(sp_input)
    indices, values = ops["SparseReorder"](*_parts(sp_input), name=name)
    sizes = ops["Identity"](sp_input.dense_shape)
    if sp_input.shape.is_fully_defined():
        sizes = sp_input.shape.as_list()
    return _of_shape((indices, values, sizes), sp_input.shape)


def reshape(sp_input, shape, name=None) -> SparseTensor:
    """Return the elements in another shape; one size may be -1."""
    sp_input = to_sparse(sp_input)
    shape = cast(shape, _dtypes.int64)
    indices, sizes = ops["SparseReshape"](sp_input.indices, sp_input.dense_shape, shape, name=name)
    wanted = static_value(shape)
    if wanted is not None and sp_input.shape.is_fully_defined():
        sizes = convert_to_tensor(_reshaped(sp_input.shape, wanted.tolist()), _dtypes.int64)
    return SparseTensor(indices, ops["Identity"](sp_input.values), sizes)


def _reshaped(shape: TensorShape, wanted: list) -> list:
    """The sizes that are asked for, -1 replaced by what is left."""
    if wanted.count(-1) > 1:
        raise ValueError(
            f"At most one dimension can be inferred (-1). Found: {_np.array(wanted)}"
        )
    count = shape.num_elements()
    others = int(_np.prod([n for n in wanted if n != -1], dtype=_np.int64))
    sizes = [count // others if n == -1 and others else n for n in wanted]
    if int(_np.prod(sizes, dtype=_np.int64)) != count:
        shown = [None if n == -1 else n for n in wanted]
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {shown} "
            f"({int(_np.prod(sizes))} elements)."
        )
    return sizes


def transpose(sp_input, perm=None, name=None) -> SparseTensor:
    """Return the axes in another order; without perm, the last one first."""
    rank = sp_input.shape.rank
    if perm is None:
        count = ops["Size"](sp_input.dense_shape)
        perm = count - 1 - _array.range(count) if rank is None else list(range(rank))[::-1]
    elif isinstance(perm, list | tuple) and rank is not None:
        if len(perm) != rank:
            raise ValueError(f"Dimensions {len(perm)} and {rank} are not compatible")
        perm = [axis + rank if -rank <= axis < 0 else axis for axis in perm]
    indices = ops["GatherV2"](sp_input.indices, perm, 1)
    order = static_value(convert_to_tensor(perm))
    if order is not None and sp_input.shape.is_fully_defined():
        sizes = [sp_input.shape[int(axis)] for axis in order]
    else:
        sizes = ops["GatherV2"](sp_input.dense_shape, perm, 0)
    return reorder(SparseTensor(indices, sp_input.values, sizes), name=name)


def expand_dims(sp_input, axis=None, name=None) -> SparseTensor:
    """Return one more axis, of size 1."""
    axis = -1 if axis is None else axis
    if not isinstance(axis, Tensor | _numbers.Integral):
        raise TypeError(
            "axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]"
        )
    rank = sp_input.dense_shape.shape[0]
    rank = ops["Size"](sp_input.dense_shape) if rank is None else rank
    if isinstance(axis, Tensor) or isinstance(rank, Tensor):
        axis = _array.where(convert_to_tensor(axis) >= 0, axis, axis + rank + 1)
    elif axis < 0:
        axis += rank + 1
    count = ops["Shape"](sp_input.indices)[0]
    column = _array.zeros(ops["Pack"]([count, 1]), _dtypes.int64)
    before = ops["Slice"](sp_input.indices, [0, 0], ops["Pack"]([-1, axis]))
    after = ops["Slice"](sp_input.indices, ops["Pack"]([0, axis]), [-1, -1])
    indices = ops["ConcatV2"]([before, column, after], 1, name=name)
    sizes = sp_input.dense_shape
    start = ops["Slice"](sizes, [0], ops["Pack"]([axis]))
    end = ops["Slice"](sizes, ops["Pack"]([axis]), [-1])
    one = convert_to_tensor([1], _dtypes.int64)
    return SparseTensor(indices, sp_input.values, ops["ConcatV2"]([start, one, end], 0))


def reset_shape(sp_input, new_shape=None) -> SparseTensor:
    """Return the elements in a larger shape, or in the smallest that has all of them."""
    sp_input = to_sparse(sp_input)
    indices, values, sizes = (ops["Identity"](part) for part in _parts(sp_input))
    if new_shape is None:
        largest = ops["Max"](indices, [0])
        return SparseTensor(indices, values, ops["Maximum"](largest + 1, _array.zeros_like(sizes)))
    wanted = convert_to_tensor(new_shape)
    wanted.shape.assert_has_rank(1)
    wanted = cast(wanted, _dtypes.int64)
    counts = wanted.shape[0], sizes.shape[0]
    if None not in counts and counts[0] != counts[1]:
        raise ValueError(f"Dimensions {counts[0]} and {counts[1]} are not compatible")
    known = static_value(wanted)
    if known is not None and sp_input.shape.is_fully_defined():
        ours = _np.array(sp_input.shape.as_list())
        if not _np.all(ours <= known):
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  Found "
                f"new_shape ({ours}), sp_input.shape ({known})."
            )
        return SparseTensor(indices, values, known)
    checks = [
        debugging.assert_equal(ops["Shape"](sizes), ops["Shape"](wanted)),
        debugging.assert_less_equal(sizes, wanted),
    ]
    with _effects.control_dependencies([check for check in checks if check is not None]):
        return SparseTensor(indices, values, ops["Identity"](wanted))


# ---- parts and wholes ----------------------------------------------------------------------------


def concat(axis, sp_inputs, expand_nonconcat_dims=False, name=None) -> SparseTensor:
    """Return sparse tensors one after the other along an axis.

    With `expand_nonconcat_dims` the other sizes may differ: the largest counts.
    """
    if not isinstance(sp_inputs, list | tuple):
        raise TypeError("Inputs must be a list or tuple.")
    inputs = [to_sparse(x) for x in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    sizes = [x.dense_shape for x in inputs]
    if expand_nonconcat_dims:
        largest = ops["Max"](ops["Pack"](sizes), [0])
        sizes = [_with_size(largest, each, axis) for each in sizes]
    made = ops["SparseConcat"](
        [x.indices for x in inputs],
        [x.values for x in inputs],
        sizes,
        concat_dim=axis,
        name=name,
    )
    shapes = [x.shape for x in inputs]
    if any(shape.rank is None for shape in shapes):
        return SparseTensor(*made)
    static = _concatenated(shapes, axis, expand_nonconcat_dims)
    if all(shape.is_fully_defined() for shape in shapes):
        return SparseTensor(*made[:2], static)
    return _of_shape(made, static)


def _with_size(sizes: Tensor, own: Tensor, axis: int) -> Tensor:
    """Sizes, of which that of an axis is another's."""
    place = axis if axis >= 0 else axis + sizes.shape[0]
    return ops["ConcatV2"]([sizes[:place], own[place : place + 1], sizes[place + 1 :]], 0)


def _concatenated(shapes: list, axis: int, expands: bool) -> list:
    known = [shape.as_list() for shape in shapes]
    columns = list(zip(*known, strict=False))
    static = [None if None in sizes else max(sizes) for sizes in columns] if expands else known[0]
    static = list(static)
    static[axis] = None if None in columns[axis] else sum(columns[axis])
    return static


def split(sp_input=None, num_split=None, axis=None, name=None) -> list:
    """Return parts along an axis; where it does not divide, the first ones are longer by 1."""
    for value, label in ((sp_input, "sp_input"), (num_split, "num_split"), (axis, "axis")):
        if value is None:
            raise ValueError(f"{label} is required")
    sp_input = to_sparse(sp_input)
    axis = cast(axis, _dtypes.int64)
    made = ops["SparseSplit"](axis, *_parts(sp_input), num_split=num_split, name=name)
    if not isinstance(made[0], list | tuple):
        made = [made[i * num_split : (i + 1) * num_split] for i in range(3)]
    return [SparseTensor(*each) for each in zip(*made, strict=True)]


def slice(sp_input, start, size, name=None) -> SparseTensor:
    """Return size elements along each axis from start on, as far as there are."""
    sp_input = to_sparse(sp_input)
    start = convert_to_tensor(start, _dtypes.int64)
    size = convert_to_tensor(size, _dtypes.int64)
    return SparseTensor(*ops["SparseSlice"](*_parts(sp_input), start, size, name=name))


def retain(sp_input, to_retain) -> SparseTensor:
    """Return the elements for which a mask is true."""
    sp_input = to_sparse(sp_input)
    mask = convert_to_tensor(to_retain)
    mask.shape.assert_has_rank(1)
    counts = sp_input.values.shape[0] if sp_input.values.shape.rank else None, mask.shape[0]
    if None not in counts and counts[0] != counts[1]:
        raise ValueError(f"Dimensions {counts[0]} and {counts[1]} are not compatible")
    kept = ops["Reshape"](ops["Where"](mask), [-1])
    return SparseTensor(
        ops["GatherV2"](sp_input.indices, kept, 0),
        ops["GatherV2"](sp_input.values, kept, 0),
        ops["Identity"](sp_input.dense_shape),
    )


def fill_empty_rows(sp_input, default_value, name=None):
    """Return the tensor with an element in each row that has none, and which rows those are."""
    sp_input = to_sparse(sp_input)
    default = convert_to_tensor(default_value, sp_input.dtype)
    indices, values, empty, _ = ops["SparseFillEmptyRows"](*_parts(sp_input), default, name=name)
    return SparseTensor(indices, values, sp_input.dense_shape), empty


def mask(a, mask_indices, name=None):
    """Return the slices of IndexedSlices whose indices are not among these."""
    others = ops["ExpandDims"](convert_to_tensor(mask_indices, a.indices.dtype), 0)
    differs = ops["NotEqual"](ops["ExpandDims"](a.indices, 1), others)
    places = ops["Reshape"](ops["Where"](ops["All"](differs, [1])), [-1])
    values = ops["GatherV2"](a.values, places, 0, name=name)
    return type(a)(values, ops["GatherV2"](a.indices, places, 0), a.dense_shape)


# ---- numbers -------------------------------------------------------------------------------------


def map_values(op, *args, **kwargs) -> SparseTensor:
    """Return a function of the values, the places as they are."""
    found: list[SparseTensor] = []

    def values(argument):
        if isinstance(argument, list | tuple):
            return type(argument)(values(each) for each in argument)
        if not isinstance(argument, SparseTensor):
            return argument
        found.append(argument)
        return argument.values

    args = [values(each) for each in args]
    kwargs = {key: values(each) for key, each in kwargs.items()}
    if not found:
        raise ValueError("No SparseTensor in argument list of map_values")
    first, checks = found[0], []
    for other in found[1:]:
        sizes = first.dense_shape, other.dense_shape
        checks.append(debugging.assert_equal(*sizes, message="Mismatched shapes!"))
        places = first.indices, other.indices
        checks.append(debugging.assert_equal(*places, message="Mismatched indices!"))
    with _effects.control_dependencies([check for check in checks if check is not None]):
        return SparseTensor(first.indices, op(*args, **kwargs), first.dense_shape)


def add(a, b, threshold=0):
    """Return the sum: sparse when both are, else dense.

    Elements of a sparse sum whose size is below the threshold are left out.
    """
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not is_sparse(a) or not is_sparse(b):
        a, b = (a, b) if is_sparse(a) else (b, a)
        return ops["SparseTensorDenseAdd"](*_parts(to_sparse(a)), b)
    a, b = to_sparse(a), to_sparse(b)
    threshold = convert_to_tensor(threshold, a.dtype.real_dtype)
    indices, values, sizes = ops["SparseAdd"](*_parts(a), *_parts(b), threshold)
    if not a.shape.is_compatible_with(b.shape):
        raise ValueError(f"Shapes {a.shape} and {b.shape} are incompatible")
    static = a.shape.merge_with(b.shape)
    if static.is_fully_defined():
        sizes = static.as_list()
    return SparseTensor(indices, values, sizes)


def maximum(sp_a, sp_b, name=None) -> SparseTensor:
    """Return the larger of both, a missing element counting as zero."""
    made = ops["SparseSparseMaximum"](*_parts(sp_a), *_parts(sp_b), name=name)
    return SparseTensor(*made, sp_a.dense_shape)


def minimum(sp_a, sp_b, name=None) -> SparseTensor:
    """Return the smaller of both, a missing element counting as zero."""
    made = ops["SparseSparseMinimum"](*_parts(sp_a), *_parts(sp_b), name=name)
    return SparseTensor(*made, sp_a.dense_shape)


def softmax(sp_input, name=None) -> SparseTensor:
    """Return softmax along the last axis of the elements that are there."""
    return sp_input.with_values(ops["SparseSoftmax"](*_parts(sp_input), name=name))


def _axes(x: SparseTensor, axis) -> Tensor:
    if axis is not None:
        return convert_to_tensor(axis, _dtypes.int32)
    if x.shape.rank is not None:
        return convert_to_tensor(list(range(x.shape.rank)), _dtypes.int32)
    return _array.range(ops["Size"](x.dense_shape))


def _reduced(op: str, x: SparseTensor, axis, keepdims, is_sparse_wanted: bool, name):
    op = op + "Sparse" if is_sparse_wanted else op
    made = ops[op](*_parts(x), _axes(x, axis), keep_dims=bool(keepdims), name=name)
    return SparseTensor(*made) if is_sparse_wanted else made


def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """Return the sum over axes, dense or sparse."""
    return _reduced("SparseReduceSum", sp_input, axis, keepdims, output_is_sparse, name)


def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """Return the largest of the elements that are there over axes, dense or sparse."""
    return _reduced("SparseReduceMax", sp_input, axis, keepdims, output_is_sparse, name)


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None) -> Tensor:
    """Return the product of matrices of which one is sparse."""
    if is_sparse(b):
        other = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return ops["Transpose"](other, [1, 0], name=name)
    sp_a = to_sparse(sp_a)
    return ops["SparseTensorDenseMatMul"](
        *_parts(sp_a), convert_to_tensor(b), adjoint_a=adjoint_a, adjoint_b=adjoint_b, name=name
    )


def sampled_addmm(
    indices,
    values,
    dense_shape,
    mat1,
    mat2,
    beta=1.0,
    alpha=1.0,
    output_type=_dtypes.float32,
):
    """Return alpha mat1 mat2 at the places alone, plus beta times the values there.

    The result is the places, the values and the sizes of a sparse tensor.
    """
    indices = convert_to_tensor(indices)
    values = convert_to_tensor(values, output_type)
    dense_shape = convert_to_tensor(dense_shape, _dtypes.int32)
    mat1, mat2 = convert_to_tensor(mat1, output_type), convert_to_tensor(mat2, output_type)
    sizes = ops["Pack"]([ops["Shape"](mat1)[-2], ops["Shape"](mat2)[-1]])
    known = static_value(sizes), static_value(dense_shape)
    if all(each is not None for each in known) and not _np.array_equal(*known):
        raise ValueError(f"Dense shape: {dense_shape} does not match output shape: {sizes}")
    if any(each is None for each in known):
        check_true(
            ops["Equal"](dense_shape, sizes), "Dense shape does not match the output's shape"
        )
    columns = ops["ConcatV2"]([indices[..., :-2], indices[..., -1:]], -1)
    batch = mat1.shape.rank - 2
    order = [*range(mat2.shape.rank - 2), mat2.shape.rank - 1, mat2.shape.rank - 2]
    left = _select.gather_nd(mat1, indices[..., :-1], batch_dims=batch)
    right = _select.gather_nd(ops["Transpose"](mat2, order), columns, batch_dims=batch)
    return indices, ops["Sum"](left * right, [-1]) * alpha + values * beta, dense_shape


# ---- segments ------------------------------------------------------------------------------------


def ordered_unique(ids) -> tuple:
    """Return each id once, in order, and where each of them is among those."""
    once, places = _select.unique(ids)
    order = _reduce.argsort(once)
    return ops["GatherV2"](once, order, 0), ops["GatherV2"](_reduce.argsort(order), places, 0)


def _segments(op: str, data, indices, segment_ids, num_segments, sparse_gradient: bool, name):
    if sparse_gradient:  # that of a lookup: slices
        ids, indices = ordered_unique(indices)
        data = _array.gather(data, ids)
    operands = [data, indices, segment_ids]
    if num_segments is not None:
        op, operands = op + "WithNumSegments", [*operands, num_segments]
    return ops[op](*operands, name=name)


def segment_sum(
    data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False
) -> Tensor:
    """Return sums of the rows that indices name, those with the same number in segment_ids."""
    return _segments(
        "SparseSegmentSum", data, indices, segment_ids, num_segments, sparse_gradient, name
    )


def segment_mean(
    data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False
) -> Tensor:
    """Return means of the rows that indices name."""
    return _segments(
        "SparseSegmentMean", data, indices, segment_ids, num_segments, sparse_gradient, name
    )


def segment_sqrt_n(
    data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False
) -> Tensor:
    """Return sums of the rows that indices name over the square root of their number."""
    return _segments(
        "SparseSegmentSqrtN", data, indices, segment_ids, num_segments, sparse_gradient, name
    )


# ---- crosses and counts --------------------------------------------------------------------------


def _crossed(inputs) -> tuple:
    """The operands of a cross: those of sparse tensors, then dense ones."""
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(x, SparseTensor | Tensor) for x in inputs):
        raise TypeError("All inputs must be Tensor or SparseTensor.")
    sparse = [x for x in inputs if isinstance(x, SparseTensor)]
    dense = [x for x in inputs if not isinstance(x, SparseTensor)]

    def features(x):
        return x if x.dtype == _dtypes.string else cast(x, _dtypes.int64)

    return (
        [x.indices for x in sparse],
        [features(x.values) for x in sparse],
        [x.dense_shape for x in sparse],
        [features(x) for x in dense],
    )


def cross(inputs, name=None, separator=None) -> SparseTensor:
    """Return all combinations of one feature of each input, row by row, as texts."""
    separator = convert_to_tensor("_X_" if separator is None else separator, _dtypes.string)
    return SparseTensor(*ops["SparseCrossV2"](*_crossed(inputs), separator, name=name))


_DEFAULT_HASH_KEY = 0xDECAFCAFFE


def cross_hashed(inputs, num_buckets=0, hash_key=None, name=None) -> SparseTensor:
    """Return all combinations of one feature of each input, row by row, as numbers."""
    operands = _crossed(inputs)
    is_text = all(x.dtype == _dtypes.string for x in [*operands[1], *operands[3]])
    return SparseTensor(
        *ops["SparseCross"](
            *operands,
            hashed_output=True,
            num_buckets=num_buckets,
            hash_key=hash_key or _DEFAULT_HASH_KEY,
            out_type=_dtypes.int64,
            internal_type=_dtypes.string if is_text else _dtypes.int64,
            name=name,
        )
    )


def _check_counted(weights, binary_output: bool, axis) -> None:
    if weights is not None and binary_output:
        raise ValueError(
            "Arguments `binary_output` and `weights` are mutually exclusive. Please specify only "
            "one."
        )
    if axis not in (0, -1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported."
        )


def _sparse_weights(values: SparseTensor, weights, dtype=None) -> Tensor:
    """The weights of the elements: a vector, empty where there are none."""
    if weights is None:
        return convert_to_tensor([], dtype or values.dtype)
    if not isinstance(weights, SparseTensor):
        raise ValueError(
            "Argument `weights` must be a SparseTensor if `values` is a SparseTensor. Received "
            f"weights={weights} of type: {type(weights).__name__}"
        )
    checks = []
    if weights.dense_shape is not values.dense_shape:
        text = "'weights' and 'values' must have the same dense shape."
        checks += [debugging.assert_equal(weights.dense_shape, values.dense_shape, message=text)]
    if weights.indices is not values.indices:
        text = "'weights' and 'values' must have the same indices."
        checks += [debugging.assert_equal(weights.indices, values.indices, message=text)]
    with _effects.control_dependencies([check for check in checks if check is not None]):
        return ops["Identity"](weights.values)


def _ragged_weights(values, weights) -> Tensor:
    """The flat weights of ragged values: both have the same rows."""
    if not isinstance(weights, type(values)):
        raise ValueError(
            "Argument `weights` must be a tf.RaggedTensor if `values` is a tf.RaggedTensor. "
            f"Received argument weights={weights} of type: {type(weights).__name__}."
        )
    if weights.row_splits is values.row_splits:
        return weights.flat_values
    text = "'weights' and 'values' must have the same row splits."
    check = debugging.assert_equal(weights.row_splits, values.row_splits, message=text)
    with _effects.control_dependencies([] if check is None else [check]):
        return ops["Identity"](weights.flat_values)


def _dense_weights(values: Tensor, weights, dtype=None) -> Tensor:
    if weights is None:
        return convert_to_tensor([], dtype or values.dtype)
    if not isinstance(weights, Tensor):
        raise ValueError(
            f"Argument `weights` must be a tf.Tensor if `values` is a tf.Tensor. Received "
            f"weights={weights} of type: {type(weights).__name__}"
        )
    return weights


def bincount(
    values,
    weights=None,
    axis=0,
    minlength=None,
    maxlength=None,
    binary_output=False,
    name=None,
) -> SparseTensor:
    """Return how often each number comes, or the sums of its weights: those that come at all.

    With axis -1 each row is counted on its own.
    """
    from .ragged import RaggedTensor  # late: ragged tensors are made of these modules

    axis = 0 if axis is None else axis
    if not isinstance(values, SparseTensor | RaggedTensor):
        values = convert_to_tensor(values)
    if weights is not None and not isinstance(weights, SparseTensor | RaggedTensor):
        weights = convert_to_tensor(weights)
    _check_counted(weights, binary_output, axis)
    if axis == 0 and isinstance(values, RaggedTensor):
        weights = None if weights is None else _ragged_weights(values, weights)
        values = values.flat_values
    elif axis == 0 and isinstance(values, SparseTensor):
        weights = None if weights is None else _sparse_weights(values, weights)
        values = values.values
    elif axis == 0:
        weights = None if weights is None else ops["Reshape"](weights, [-1])
        values = ops["Reshape"](values, [-1])
    attributes = {
        "minlength": -1 if minlength is None else minlength,
        "maxlength": -1 if maxlength is None else maxlength,
        "binary_output": binary_output,
        "name": name,
    }
    if isinstance(values, SparseTensor):
        weights = _sparse_weights(values, weights)
        made = ops["SparseCountSparseOutput"](*_parts(values), weights, **attributes)
    elif isinstance(values, RaggedTensor):
        if weights is None:
            weights = convert_to_tensor([], values.dtype)
        else:
            weights = _ragged_weights(values, weights)
        splits = cast(values.row_splits, _dtypes.int64)
        made = ops["RaggedCountSparseOutput"](splits, values.values, weights, **attributes)
    else:
        weights = _dense_weights(values, weights)
        made = ops["DenseCountSparseOutput"](values, weights, **attributes)
    return SparseTensor(*made)


def counted(
    arr,
    weights=None,
    minlength=None,
    maxlength=None,
    dtype=_dtypes.int32,
    name=None,
    axis=None,
    binary_output=False,
) -> Tensor:
    """Return `tf.math.bincount` of a sparse tensor."""
    axis = 0 if axis is None else axis
    _check_counted(weights, binary_output, axis)
    if not arr.dtype.is_integer:
        arr = arr.with_values(cast(arr.values, _dtypes.int32))
    largest = ops["Max"](arr.values, [0])
    largest = ops["Maximum"](largest, convert_to_tensor(-1, arr.dtype))
    length = cast(ops["Prod"](arr.dense_shape, [0]) > 0, arr.dtype) * (largest + 1)
    if minlength is not None:
        length = ops["Maximum"](convert_to_tensor(minlength, arr.dtype), length)
    if maxlength is not None:
        length = ops["Minimum"](convert_to_tensor(maxlength, arr.dtype), length)
    weights = _sparse_weights(arr, weights, dtype)
    options = {"binary_output": binary_output, "name": name}
    if axis == 0:
        return ops["DenseBincount"](arr.values, length, weights, **options)
    return ops["SparseBincount"](*_parts(arr), length, weights, **options)


__all__ = [
    "SparseTensor",
    "SparseTensorSpec",
    "add",
    "bincount",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "mask",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "sampled_addmm",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]

__getattr__ = _finder(__name__)
