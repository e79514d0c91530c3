"""Parsing tf.train.Example messages: which features are wanted, and as what."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _array, _dtypes
from ._core import convert_to_tensor, ops
from ._shapes import TensorShape

_PARTITIONS = (
    "RowSplits",
    "RowLengths",
    "RowStarts",
    "RowLimits",
    "ValueRowIds",
    "UniformRowLength",
)
_POSSIBLE = ("float32", "int64", "string")


class FixedLenFeature(NamedTuple):
    """A feature of which every example has as many values as the shape says.

    One without a value takes default_value; without that it is an error.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any number of values: a sparse tensor."""

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of steps of a shape, filled up to the longest of a batch."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are features of their own."""

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class _RaggedFeature(NamedTuple):
    dtype: Any
    value_key: str | None = None
    partitions: tuple = ()
    row_splits_dtype: Any = _dtypes.int32
    validate: bool = False


class RaggedFeature(_RaggedFeature):
    """A feature of any number of values: a ragged tensor; a vector of a single example.

    Further features may say how the values are parted, from the outermost parts to the innermost.
    """

    __slots__ = ()

    class RowSplits(NamedTuple):
        """Where each part begins, and where the last ends."""

        key: str

    class RowLengths(NamedTuple):
        """How many values each part has."""

        key: str

    class RowStarts(NamedTuple):
        """Where each part begins."""

        key: str

    class RowLimits(NamedTuple):
        """Where each part ends."""

        key: str

    class ValueRowIds(NamedTuple):
        """Which part each value is in."""

        key: str

    class UniformRowLength(NamedTuple):
        """All parts have so many values."""

        length: int

    def __new__(
        cls,
        dtype,
        value_key=None,
        partitions=(),
        row_splits_dtype=_dtypes.int32,
        validate=False,
    ):
        """Check the partitions."""
        kinds = tuple(getattr(cls, name) for name in _PARTITIONS)
        for partition in partitions:
            if not isinstance(partition, kinds):
                raise TypeError(
                    f"Unsupported partition {partition!r}: partitions are RaggedFeature."
                    + ", RaggedFeature.".join(_PARTITIONS)
                )
        return super().__new__(
            cls, dtype, value_key, tuple(partitions), row_splits_dtype, validate
        )


class _Wanted:
    """What the op is asked for: keys with their dtypes, and how results are made of them."""

    def __init__(self, features) -> None:
        self.sparse: dict = {}
        self.dense: dict = {}
        self.ragged: dict = {}
        for key in sorted(features):
            self._add(key, features[key])

    def _add(self, key: str, feature) -> None:
        dtype = _dtypes.as_dtype(feature.dtype) if feature.dtype is not None else None
        if dtype is None or dtype.name not in _POSSIBLE:
            raise ValueError(
                f"The feature {key!r} has dtype {getattr(dtype, 'name', None)}: an example holds "
                f"{', '.join(_POSSIBLE)}"
            )
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, dtype)
        elif isinstance(feature, SparseFeature):
            for index in _index_keys(feature):
                self._add_sparse(index, _dtypes.int64)
            self._add_sparse(feature.value_key, dtype)
        elif isinstance(feature, FixedLenFeature):
            self.dense[key] = (dtype, *_fixed(key, feature, dtype))
        elif isinstance(feature, FixedLenSequenceFeature):
            self.dense[key] = (dtype, *_sequence(key, feature, dtype))
        elif isinstance(feature, RaggedFeature):
            splits = _dtypes.as_dtype(feature.row_splits_dtype)
            self.ragged[key, None] = (feature.value_key or key, dtype, splits)
            for i, partition in enumerate(feature.partitions):
                if not isinstance(partition, RaggedFeature.UniformRowLength):
                    self.ragged[key, i] = (partition.key, _dtypes.int64, splits)
        else:
            raise ValueError(f"Invalid feature {key}:{feature}.")

    def _add_sparse(self, key: str, dtype) -> None:
        if self.sparse.setdefault(key, dtype) != dtype:
            raise ValueError(
                f"Conflicting type {dtype.name} vs {self.sparse[key].name} for feature {key}."
            )


def _index_keys(feature: SparseFeature) -> list:
    keys = feature.index_key
    return [keys] if isinstance(keys, str) else list(keys)


def _fixed(key: str, feature: FixedLenFeature, dtype) -> tuple:
    """Return the shape and the default, which has no element when there is none."""
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    shape = TensorShape(feature.shape)
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received {shape}."
        )
    if feature.default_value is None:
        return shape, _array.zeros([0], dtype)
    given = convert_to_tensor(feature.default_value, dtype=dtype)
    return shape, _array.reshape(given, shape)


def _sequence(key: str, feature: FixedLenSequenceFeature, dtype) -> tuple:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    if not feature.allow_missing:
        raise ValueError(
            "Unsupported: FixedLenSequenceFeature requires allow_missing to be True outside of "
            f"sequence examples, for feature {key}."
        )
    shape = TensorShape([None, *TensorShape(feature.shape)])
    if feature.default_value is not None:
        given = convert_to_tensor(feature.default_value, dtype=dtype)
        return shape, _array.reshape(given, [])
    plain = "" if dtype == _dtypes.string else np.zeros([], dtype.as_numpy_dtype)
    return shape, convert_to_tensor(plain, dtype=dtype)


def _sparse_of(feature: SparseFeature, parts: dict, is_single: bool):
    """Return the sparse tensor whose last dimensions are said by features of indices."""
    from .sparse import SparseTensor, reorder

    values = parts[feature.value_key]
    sizes = [feature.size] if isinstance(feature.size, int) else list(feature.size)
    columns = [] if is_single else [values.indices[:, :1]]
    for key in _index_keys(feature):
        columns.append(_array.reshape(parts[key].values, [-1, 1]))
    lead = [] if is_single else [values.dense_shape[0]]
    shape = _array.stack([*lead, *[convert_to_tensor(s, dtype=_dtypes.int64) for s in sizes]])
    made = SparseTensor(_array.concat(columns, 1), values.values, shape)
    return made if feature.already_sorted else reorder(made)


def _ragged_of(key: str, feature: RaggedFeature, parts: dict, is_single: bool):
    """Return the ragged tensor of the values of a feature and of what parts them."""
    from .ragged import RaggedTensor

    values, splits = parts[key, None]
    if is_single:
        if all(isinstance(p, RaggedFeature.UniformRowLength) for p in feature.partitions):
            lengths = [p.length for p in feature.partitions]
            return _array.reshape(values, [-1, *lengths]) if lengths else values
        splits = _array.stack([0, _array.size(values)])
    counts = _cast(splits[1:] - splits[:-1], feature.row_splits_dtype)
    for i in reversed(range(len(feature.partitions))):
        partition = feature.partitions[i]
        if isinstance(partition, RaggedFeature.UniformRowLength):
            length = _cast(partition.length, feature.row_splits_dtype)
            values = RaggedTensor.from_uniform_row_length(values, length)
            counts = counts // length
            continue
        flat, splits = parts[key, i]
        if is_single:
            splits = _array.stack([0, _array.size(flat)])
        rows = RaggedTensor.from_row_splits(
            _cast(flat, feature.row_splits_dtype),
            _cast(splits, feature.row_splits_dtype),
            validate=False,
        )
        lengths, counts = _LENGTHS[type(partition).__name__](rows, counts)
        values = RaggedTensor.from_row_lengths(values, lengths, validate=feature.validate)
    if is_single:
        return values
    return RaggedTensor.from_row_lengths(values, counts, validate=feature.validate)


def _cast(x, dtype):
    return ops["Cast"](x, DstT=_dtypes.as_dtype(dtype))


def _before(rows, first):
    """Return what stands before each value of a row, and `first` before the first of one."""
    ids = rows.value_rowids()
    flat = rows.flat_values
    shifted = _array.concat([first[:0], flat[:1] * 0, flat[:-1]], 0)[: _array.size(flat)]
    is_first = _array.concat([ids[:1] == ids[:1], ids[1:] != ids[:-1]], 0)
    return _array.where(is_first, _array.gather(first, ids), shifted)


def _of_row_limits(rows, unused_counts):
    lengths = rows.flat_values - _before(rows, _array.zeros_like(rows.row_lengths()))
    return lengths, rows.row_lengths()


def _of_row_starts(rows, counts):
    ids, flat = rows.value_rowids(), rows.flat_values
    shifted = _array.concat([flat[1:], flat[:1] * 0], 0)
    is_last = _array.concat([ids[1:] != ids[:-1], ids[:1] == ids[:1]], 0)
    ends = _array.where(is_last, _array.gather(counts, ids), shifted)
    return ends - flat, rows.row_lengths()


def _of_row_splits(rows, unused_counts):
    steps = rows[:, 1:].flat_values - rows[:, :-1].flat_values
    return steps, rows.row_lengths() - 1


def _of_value_rowids(rows, unused_counts):
    flat, ids = rows.flat_values, rows.value_rowids()
    n = rows.nrows()
    counts = ops["UnsortedSegmentMax"](flat + 1, ids, n)
    counts = _array.where(rows.row_lengths() > 0, counts, _array.zeros_like(counts))
    ends = ops["Cumsum"](counts, 0)
    places = flat + _array.gather(ends - counts, ids)
    total = ops["Sum"](counts, 0)
    return ops["UnsortedSegmentSum"](_array.ones_like(flat), places, total), counts


_LENGTHS = {
    "RowLengths": lambda rows, counts: (rows.flat_values, rows.row_lengths()),
    "RowSplits": _of_row_splits,
    "RowStarts": _of_row_starts,
    "RowLimits": _of_row_limits,
    "ValueRowIds": _of_value_rowids,
}


def parse_example(serialized, features, example_names=None, name=None) -> dict:
    """Return the features of Example messages, a vector of strings or one, as tensors.

    Parameters
    ----------
    serialized
        The messages.
    features
        A dict from keys to FixedLenFeature, VarLenFeature and the like.
    example_names
        Names of the messages, for errors.
    """
    if not features:
        raise ValueError("Invalid argument: features cannot be empty.")
    messages = convert_to_tensor(serialized, dtype=_dtypes.string)
    wanted = _Wanted(features)
    outputs = iter(_flat(_call(messages, wanted, example_names, name)))

    def take(keys):
        return [next(outputs) for _ in keys]

    from .sparse import SparseTensor

    indices, values, shapes = take(wanted.sparse), take(wanted.sparse), take(wanted.sparse)
    sparse = {
        key: SparseTensor(*parts)
        for key, *parts in zip(wanted.sparse, indices, values, shapes, strict=True)
    }
    dense = dict(zip(wanted.dense, take(wanted.dense), strict=True))
    flat, splits = take(wanted.ragged), take(wanted.ragged)
    is_single = messages.shape.rank == 0
    parts = {
        place: (part, split) for place, part, split in zip(wanted.ragged, flat, splits, strict=True)
    }
    ragged = {
        key: _ragged_of(key, features[key], parts, is_single)
        for key, part in wanted.ragged
        if part is None
    }
    made = {key: sparse[key] for key in sparse if isinstance(features.get(key), VarLenFeature)}
    made |= dense | ragged
    for key in sorted(features):
        if isinstance(features[key], SparseFeature):
            made[key] = _sparse_of(features[key], sparse, is_single)
    return made


def _flat(results) -> list:
    made: list = []
    for part in results if isinstance(results, list | tuple) else [results]:
        made += _flat(part) if isinstance(part, list | tuple) else [part]
    return made


def _call(messages, wanted: _Wanted, example_names, name):
    def texts(keys):
        return convert_to_tensor(np.array(list(keys), dtype=object).reshape(-1), _dtypes.string)

    return ops["ParseExampleV2"](
        messages,
        texts([]) if example_names is None else convert_to_tensor(example_names, _dtypes.string),
        texts(wanted.sparse),
        texts(wanted.dense),
        texts(key for key, _, _ in wanted.ragged.values()),
        [default for _, _, default in wanted.dense.values()],
        num_sparse=len(wanted.sparse),
        sparse_types=list(wanted.sparse.values()),
        ragged_value_types=[dtype for _, dtype, _ in wanted.ragged.values()],
        ragged_split_types=[splits for _, _, splits in wanted.ragged.values()],
        dense_shapes=[shape for _, shape, _ in wanted.dense.values()],
        name=name,
    )


def parse_single_example(serialized, features, example_names=None, name=None) -> dict:
    """Return the features of one Example message, a scalar string, as tensors."""
    message = convert_to_tensor(serialized, dtype=_dtypes.string)
    if message.shape.rank not in (None, 0):
        raise ValueError("Input serialized must be a scalar")
    return parse_example(_array.reshape(message, []), features, example_names, name)


# ---- sequences -----------------------------------------------------------------------------------


def _steps_of(messages, key: str, feature) -> tuple:
    """Return what the steps of a feature list hold, one under the other, and their numbers."""
    is_fixed = isinstance(feature, FixedLenSequenceFeature)
    if not isinstance(feature, (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)):
        raise ValueError(
            f"Unsupported: the sequence feature {key!r} is a {type(feature).__name__}. "
            "FixedLenSequenceFeature, VarLenFeature and RaggedFeature are possible."
        )
    name, wanted = key, feature
    if is_fixed:
        if feature.default_value is not None:
            raise ValueError(f"The sequence feature {key!r} has a default: steps have none.")
        wanted = FixedLenFeature(feature.shape, feature.dtype)
    elif isinstance(feature, RaggedFeature):
        name = feature.value_key or key
        if feature.partitions:
            raise NotImplementedError(
                f"The sequence feature {key!r}: steps with partitions are not supported. Parse "
                "the values and each partition as features of their own."
            )
        wanted = RaggedFeature(feature.dtype, row_splits_dtype=feature.row_splits_dtype)
    required = is_fixed and not feature.allow_missing
    steps, lengths = ops["SequenceSteps"](messages, name, required=required)
    return parse_example(steps, {name: wanted})[name], lengths


def _joined(values, lengths, feature):
    """Return the steps of several messages as one tensor."""
    from .ragged import RaggedTensor
    from .sparse import SparseTensor

    if isinstance(feature, RaggedFeature):
        return RaggedTensor.from_row_lengths(
            values, _cast(lengths, feature.row_splits_dtype), validate=False
        )
    if isinstance(feature, FixedLenSequenceFeature):
        return RaggedTensor.from_row_lengths(values, lengths, validate=False).to_tensor()
    rows = RaggedTensor.from_row_lengths(
        ops["Range"](values.dense_shape[0] * 0, values.dense_shape[0], 1), lengths, validate=False
    )
    steps = values.indices[:, 0]
    examples = _array.gather(rows.value_rowids(), steps)
    steps -= _array.gather(rows.row_starts(), examples)
    indices = _array.stack([examples, steps, values.indices[:, 1]], 1)
    most = ops["Maximum"](ops["Max"](_array.concat([lengths, [0]], 0), 0), 0)
    count = _cast(_array.size(lengths), _dtypes.int64)
    return SparseTensor(indices, values.values, _array.stack([count, most, values.dense_shape[1]]))


def _given(context_features, sequence_features) -> tuple[dict, dict]:
    if not (context_features or sequence_features):
        raise ValueError("Both context_features and sequence_features arguments are empty.")
    return dict(context_features or {}), dict(sequence_features or {})


def parse_single_sequence_example(
    serialized, context_features=None, sequence_features=None, example_name=None, name=None
) -> tuple:
    """Return the features of the context and of the steps of a SequenceExample message.

    The message is a scalar string; steps are along the first axis.
    """
    context, sequence = _given(context_features, sequence_features)
    message = _array.reshape(convert_to_tensor(serialized, dtype=_dtypes.string), [])
    found = parse_example(message, context, example_name, name) if context else {}
    messages = message[None]
    steps = {key: _steps_of(messages, key, sequence[key])[0] for key in sorted(sequence)}
    return found, steps


def parse_sequence_example(
    serialized, context_features=None, sequence_features=None, example_names=None, name=None
) -> tuple:
    """Return the features of the contexts and of the steps of SequenceExample messages.

    The messages are a vector of strings. Steps are along the second axis, filled up to the longest
    message; the third result has their numbers, for each feature of a fixed shape.
    """
    context, sequence = _given(context_features, sequence_features)
    messages = convert_to_tensor(serialized, dtype=_dtypes.string)
    if messages.shape.rank == 0:
        raise ValueError("Input serialized must be a vector of strings, not a scalar")
    found = parse_example(messages, context, example_names, name) if context else {}
    steps, counts = {}, {}
    for key in sorted(sequence):
        values, lengths = _steps_of(messages, key, sequence[key])
        steps[key] = _joined(values, lengths, sequence[key])
        if isinstance(sequence[key], FixedLenSequenceFeature):
            counts[key] = lengths
    return found, steps, counts
