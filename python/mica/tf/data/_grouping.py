"""Groups of elements: by key, by length, by a distribution, as ragged and sparse batches."""

from __future__ import annotations

import numpy as np

from .._core import Tensor, convert_to_tensor, ops
from .._dtypes import as_dtype, float32, float64, int32, int64
from .._effects import control_dependencies
from .._select import repeat
from .._shapes import TensorShape
from .._specs import TensorSpec
from ..random import uniform
from . import _structure

_SCALAR = TensorSpec([], int64)


def _int(value: object):
    return convert_to_tensor(value, int64)


def _traced(function, spec: object, name: str):
    from ._dataset import _Traced

    return _Traced(function, spec, name)


def _checked_key(traced, name: str):
    """The traced function, which gives a scalar of int64."""
    if not traced.spec.is_compatible_with(_SCALAR):
        raise ValueError(
            f"Invalid `{name}`. `{name}` must return a single `tf.int64` scalar tensor but its "
            f"return type is {traced.spec}."
        )
    return traced


class Groups:
    """The transformations of tf.data.Dataset that make groups."""

    def group_by_window(
        self, key_func, reduce_func, window_size=None, window_size_func=None, name=None
    ):
        """What a function makes of windows of elements that have one key.

        Windows that are not full at the end come then, in the order of their keys.
        """
        from ._dataset import DatasetSpec

        if (window_size is None) == (not window_size_func):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be "
                "specified."
            )
        size_of = (lambda _: window_size) if window_size is not None else window_size_func
        spec = self._element_spec
        key = _checked_key(_traced(lambda *e: _int(key_func(*e)), spec, "key"), "key_func")
        size = _checked_key(
            _traced(lambda k: _int(size_of(k)), _SCALAR, "window_size"), "window_size_func"
        )
        reduced = _traced(reduce_func, (_SCALAR, DatasetSpec(spec)), "reduce")
        if not isinstance(reduced.spec, DatasetSpec):
            raise TypeError(
                "Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` "
                f"object but its return type is {reduced.spec}."
            )
        return self._made(
            "GroupByWindowDataset",
            "_GroupByWindowDataset",
            reduced.spec.element_spec,
            key.captured,
            reduced.captured,
            size.captured,
            key_func=key.graph,
            reduce_func=reduced.graph,
            window_size_func=size.graph,
        )

    def bucket_by_sequence_length(
        self,
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes=None,
        padding_values=None,
        pad_to_bucket_boundary=False,
        no_padding=False,
        drop_remainder=False,
        name=None,
    ):
        """Padded batches of elements whose lengths lie between the same two boundaries."""
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(
                f"`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
                f"`len(bucket_boundaries)={len(bucket_boundaries)}`."
            )
        least = np.array([np.iinfo(np.int32).min, *bucket_boundaries], np.int32)
        beyond = np.array([*bucket_boundaries, np.iinfo(np.int32).max], np.int32)
        sizes = np.array(bucket_batch_sizes, np.int64)
        bounds = np.array(bucket_boundaries, np.int64)

        def bucket_of(*element):
            length = ops["Cast"](convert_to_tensor(element_length_func(*element)), DstT=int32)
            inside = ops["LogicalAnd"](
                ops["LessEqual"](convert_to_tensor(least), length),
                ops["Less"](length, convert_to_tensor(beyond)),
            )
            places = ops["Where"](inside)
            return ops["Min"](places, convert_to_tensor([0, 1]))

        def size_of(bucket):
            return ops["GatherV2"](convert_to_tensor(sizes), bucket, convert_to_tensor(0))

        def batch_of(bucket, window):
            size = size_of(bucket)
            if no_padding:
                return window.batch(size, drop_remainder=drop_remainder)
            filler = None
            if pad_to_bucket_boundary:
                filler = _boundary(bounds, bucket)
            shapes = padded_shapes or _structure.map_specs(lambda s: s.shape, self._element_spec)
            shapes = _filled(shapes, filler)
            return window.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

        return self.group_by_window(bucket_of, batch_of, window_size_func=size_of)

    def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
        """Pairs of a class and an element, whose classes have another distribution."""
        target = ops["Cast"](convert_to_tensor(target_dist), DstT=float32)
        single = type(self).from_tensors
        known = None
        if initial_dist is not None:
            initial = ops["Cast"](convert_to_tensor(initial_dist), DstT=float32)
            accepted, original = _acceptance(initial, target)
            acceptance = single(accepted).repeat()
            originals = single(original).repeat()
            known = float(original) if hasattr(original, "numpy") else None
        else:
            both = _estimated(target, self.map(class_func)).map(lambda p: _acceptance(p, target))
            acceptance = both.map(lambda accepted, _: accepted)
            originals = both.map(lambda _, original: original)
        filtered = _accepted(self, acceptance, class_func, seed).prefetch(3)

        def with_class(*element):
            return class_func(*element), element[0] if len(element) == 1 else element

        if known == 1:
            return self.map(with_class)
        if known == 0:
            return filtered
        weights = originals.map(lambda p: ops["Pack"]([p, ops["Sub"](_like(1.0, p), p)]))
        return type(self).sample_from_datasets(
            [self.map(with_class), filtered], weights, seed, stop_on_empty_dataset=True
        )

    def ragged_batch(self, batch_size, drop_remainder=False, row_splits_dtype=int64, name=None):
        """Batches whose components of unknown sizes are ragged tensors."""
        splits = as_dtype(row_splits_dtype)

        def is_ragged(spec) -> bool:
            return (
                isinstance(spec, TensorSpec)
                and spec.shape.rank is not None
                and not spec.shape.is_fully_defined()
            )

        if not any(map(is_ragged, _structure._leaves(self._element_spec))):
            return self.batch(batch_size, drop_remainder)
        return _measured(
            self,
            batch_size,
            drop_remainder,
            is_ragged,
            lambda spec, dense, sizes: _ragged(spec, dense, sizes, splits),
        )

    def sparse_batch(self, batch_size, row_shape, name=None):
        """Batches as sparse tensors with all the elements of the tensors in them."""
        from ..sparse import SparseTensorSpec

        spec = self._element_spec
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"`sparse_batch` is for elements of one tensor, not of {spec!r}.")
        row = row_shape
        if not isinstance(row, Tensor):
            row = [-1 if n is None else n for n in TensorShape(row_shape).as_list()]
        row = ops["Cast"](convert_to_tensor(row), DstT=int64)
        made = _measured(
            self, batch_size, False, lambda _: True, lambda _, d, sizes: _sparse(d, sizes, row)
        )
        static = row.numpy().tolist() if hasattr(row, "numpy") else [-1] * row.shape[0]
        shape = [None, *(None if n < 0 else n for n in static)]
        made._element_spec = SparseTensorSpec(shape, spec.dtype)
        return made


# ---- buckets -----------------------------------------------------------------------------------


def _boundary(bounds, bucket):
    """The last length of a bucket; an error for the bucket without end."""
    from ..debugging import assert_less

    checked = assert_less(
        bucket,
        _int(len(bounds)),
        message="When pad_to_bucket_boundary=True, elements must have length < "
        "max(bucket_boundaries).",
    )
    with control_dependencies([] if checked is None else [checked]):
        bound = ops["GatherV2"](convert_to_tensor(bounds), bucket, convert_to_tensor(0))
    return ops["Sub"](bound, _int(1))


def _filled(shapes: object, filler) -> object:
    """Shapes as padded_batch takes them, with a filler for sizes that are not known."""

    def leaf(shape):
        sizes = TensorShape(shape).as_list()
        if filler is None or None not in sizes:
            return TensorShape(sizes)
        return ops["Pack"]([filler if n is None else _int(n) for n in sizes])

    if isinstance(shapes, (TensorShape, list)) or shapes is None:
        return leaf(shapes)
    if isinstance(shapes, tuple) and all(n is None or isinstance(n, int) for n in shapes):
        return leaf(shapes)
    if isinstance(shapes, dict):
        return {key: _filled(value, filler) for key, value in shapes.items()}
    return tuple(_filled(value, filler) for value in shapes)


# ---- distributions -----------------------------------------------------------------------------


def _like(value: float, tensor):
    return convert_to_tensor(value, tensor.dtype)


def _acceptance(initial, target) -> tuple:
    """How often each class is accepted, and how often an element is taken without asking.

    With m the smallest and M the largest ratio of the wanted and the given share of a class, m of
    the elements pass as they are, and the others with (ratio - m) / (M - m), so that the shares
    are the wanted ones and as few as possible are rejected.
    """
    tiny = _like(float(np.finfo(np.float32).tiny), initial)
    ratio = ops["RealDiv"](target, ops["AddV2"](initial, tiny))
    axes = convert_to_tensor([0])
    most, least = ops["Max"](ratio, axes), ops["Min"](ratio, axes)
    return ops["RealDiv"](ops["Sub"](ratio, least), ops["Sub"](most, least)), least


def _estimated(target, classes, batch: int = 32, smoothing: int = 10):
    """The shares of the classes, as far as they have come, for every element."""
    count = target.shape[0]
    seen = convert_to_tensor(np.full([count], smoothing, np.int64))

    def update(seen, classes):
        one, zero = _int(1), _int(0)
        hot = ops["OneHot"](classes, convert_to_tensor(count, int32), one, zero)
        seen = ops["AddV2"](seen, ops["Sum"](hot, convert_to_tensor([0])))
        total = ops["Sum"](seen, convert_to_tensor([0]))
        wide = [ops["Cast"](x, DstT=float64) for x in (seen, total)]
        share = ops["Cast"](ops["RealDiv"](*wide), DstT=float32)
        tiled = ops["Tile"](ops["ExpandDims"](share, 0), convert_to_tensor([batch, 1]))
        return seen, tiled

    return classes.batch(batch).scan(seen, update).unbatch()


def _accepted(dataset, acceptance, class_func, seed):
    """Pairs of a class and an element, each accepted with its class's probability."""
    def with_probability(probabilities, data):
        kind = class_func(*data) if isinstance(data, tuple) else class_func(data)
        return kind, ops["GatherV2"](probabilities, kind, convert_to_tensor(0)), data

    pairs = type(dataset).zip((acceptance, dataset)).map(with_probability)
    kept = pairs.filter(lambda _, p, __: ops["Less"](uniform([], seed=seed, dtype=p.dtype), p))
    return kept.map(lambda kind, _, data: (kind, data))


# ---- batches of tensors of several sizes -------------------------------------------------------


def _measured(dataset, batch_size, drop_remainder, is_chosen, make):
    """Padded batches whose chosen components are made anew of the padded tensor and the sizes."""
    spec = dataset._element_spec

    def measure(*element):
        value = element[0] if len(element) == 1 and not isinstance(spec, tuple) else element
        leaves = _structure._leaves(value)
        sizes = [
            ops["Shape"](v, out_type=int64) if is_chosen(s) else _int([])
            for s, v in zip(_structure._leaves(spec), leaves, strict=True)
        ]
        return value, tuple(sizes)

    def rebuild(value, sizes):
        leaves = zip(_structure._leaves(spec), _structure._leaves(value), sizes, strict=True)
        rest = iter([make(s, v, n) if is_chosen(s) else v for s, v, n in leaves])
        return _structure._map(lambda _: next(rest), spec)

    static = batch_size if drop_remainder and isinstance(batch_size, int) else None
    batched = dataset.map(measure).padded_batch(batch_size, drop_remainder=drop_remainder)
    made = batched.map(rebuild)
    made._element_spec = _with_batch(made._element_spec, static)
    return made


def _with_batch(spec: object, static: int | None) -> object:
    from ..ragged import RaggedTensorSpec

    def leaf(kind):
        if isinstance(kind, RaggedTensorSpec):
            shape = TensorShape([static, *kind.shape.as_list()[1:]])
            return RaggedTensorSpec(shape, kind.dtype, kind.ragged_rank, kind._row_splits_dtype)
        return kind

    return _structure._map(leaf, spec)


def _inside(dense, sizes, n_axes: int):
    """Which elements along the first axes behind the batch's are no padding."""
    mask = None
    shape = ops["Shape"](dense, out_type=int64)
    for axis in range(n_axes):
        length = ops["GatherV2"](shape, convert_to_tensor(axis + 1), convert_to_tensor(0))
        places = ops["Range"](_int(0), length, _int(1))
        places = ops["Reshape"](places, _int([1] * (axis + 1) + [-1] + [1] * (n_axes - axis - 1)))
        size = ops["GatherV2"](sizes, convert_to_tensor(axis), convert_to_tensor(1))
        inside = ops["Less"](places, ops["Reshape"](size, _int([-1] + [1] * n_axes)))
        mask = inside if mask is None else ops["LogicalAnd"](mask, inside)
    return mask


def _ragged(spec: TensorSpec, dense, sizes, splits_dtype):
    """The ragged tensor: the axes of the element up to its last unknown one are ragged."""
    from ..ragged import RaggedTensor

    unknown = [i for i, n in enumerate(spec.shape.as_list()) if n is None]
    n_axes = max(unknown) + 1
    values = ops["GatherNd"](dense, ops["Where"](_inside(dense, sizes, n_axes)))
    values.set_shape(TensorShape([None]).concatenate(spec.shape[n_axes:]))
    rows, count = [], None
    for axis in range(n_axes):
        size = ops["GatherV2"](sizes, convert_to_tensor(axis), convert_to_tensor(1))
        rows.append(size if count is None else repeat(size, count))
        count = size if count is None else ops["Mul"](count, size)
    for lengths in reversed(rows):
        values = RaggedTensor.from_row_splits(values, _splits(lengths, splits_dtype))
    return values


def _splits(lengths, dtype):
    ends = ops["Cumsum"](lengths, convert_to_tensor(0))
    return ops["Cast"](ops["ConcatV2"]([_int([0]), ends], convert_to_tensor(0)), DstT=dtype)


def _sparse(dense, sizes, row):
    """The sparse tensor of all the elements that are no padding."""
    from ..debugging import assert_less_equal
    from ..sparse import SparseTensor

    n_axes = dense.shape.rank - 1
    largest = ops["Max"](sizes, convert_to_tensor([0]))
    shape = ops["SelectV2"](ops["Less"](row, _int(0)), largest, row)
    checked = assert_less_equal(
        largest, shape, message="An element is larger than `row_shape` in some dimension."
    )
    with control_dependencies([] if checked is None else [checked]):
        places = ops["Where"](_inside(dense, sizes, n_axes)) if n_axes else None
    if places is None:
        count = ops["Size"](dense, out_type=int64)
        places = ops["ExpandDims"](ops["Range"](_int(0), count, _int(1)), 1)
    values = ops["GatherNd"](dense, places)
    batch = ops["StridedSlice"](
        ops["Shape"](dense, out_type=int64), _int([0]), _int([1]), _int([1])
    )
    return SparseTensor(places, values, ops["ConcatV2"]([batch, shape], convert_to_tensor(0)))


class Reducer:
    """Three functions: a key's first state, a state and an element to the next, the result."""

    def __init__(self, init_func, reduce_func, finalize_func) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(dataset, key_func, reducer: Reducer):
    """One element for each key, in the order of the keys."""
    from ._transformations import _captured, _stateful

    spec = dataset._element_spec
    key = _traced(key_func, spec, "key")
    if not key.spec.is_compatible_with(_SCALAR):
        raise ValueError(
            "Invalid `key_func`. Expected `key_func` to return a scalar tf.int64 tensor, but "
            f"instead `key_func` has output {key.spec}."
        )
    init = _traced(reducer.init_func, _SCALAR, "init")
    state, graph = _stateful(reducer.reduce_func, None, spec, "reduce", init.spec)
    last = _traced(reducer.finalize_func, state, "finalize")
    return dataset._made(
        "GroupByReducerDataset",
        "_GroupByReducerDataset",
        last.spec,
        key.captured,
        init.captured,
        _captured(graph),
        last.captured,
        key_func=key.graph,
        init_func=init.graph,
        reduce_func=graph,
        finalize_func=last.graph,
    )
