"""Columns of numbers: as they are, in buckets, and of categories."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _dtypes
from .._array import expand_dims, range, reshape, shape, tile
from .._core import convert_to_tensor, ops
from .._math import cast
from .._reduce import reduce_sum
from .._select import one_hot
from .._sparse_lookup import safe_embedding_lookup_sparse
from .._sparse_tensor import SparseTensor
from ..compat.v1._saver import init_from_checkpoint
from ..compat.v1._scopes import get_variable
from ..initializers import TruncatedNormal
from ..sparse import to_dense
from ._categorical import checked_key, fixed_spec
from ._features import CategoricalColumn, DenseColumn


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """Numbers as they are, or after a function."""

    key: str
    shape: tuple
    default_value: tuple | None
    dtype: Any
    normalizer_fn: Callable | None

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict:
        """So many numbers."""
        return fixed_spec(self.key, self.shape, self.dtype, self.default_value)

    @property
    def size(self) -> int:
        """How many numbers."""
        return math.prod(self.shape)

    def numbers(self, features):
        """The numbers in their shape."""
        value = features.raw(self.key)
        if isinstance(value, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is "
                f"not supported. key: {self.key}"
            )
        if value.dtype != _dtypes.float32:
            value = cast(value, _dtypes.float32)
        return value if self.normalizer_fn is None else self.normalizer_fn(value)

    def dense(self, features):
        """The numbers of each example in a row."""
        return reshape(self.numbers(features), [-1, self.size])


def numeric_column(
    key, shape=(1,), default_value=None, dtype=_dtypes.float32, normalizer_fn=None
) -> NumericColumn:
    """Return a column of numbers.

    Parameters
    ----------
    default_value
        What examples without the feature have: a number, or numbers in the shape.
    normalizer_fn
        What is done to the tensor.
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int | np.integer) or size <= 0:
            raise ValueError(f"shape dimensions must be integers greater than 0. shape: {shape}")
    dtype = _dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(
            f"dtype must be convertible to float. dtype: {dtype.name}, key: {checked_key(key)}"
        )
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    if default_value is not None:
        given = np.asarray(default_value)
        if given.ndim and given.shape != sizes:
            raise ValueError(
                "The shape of default_value must be equal to given shape. default_value: "
                f"{default_value}, shape: {sizes}, key: {key}"
            )
        if (given.dtype.kind == "f" and dtype.is_integer) or given.dtype.kind not in "iuf":
            raise TypeError(
                f"default_value must be compatible with dtype. default_value: {default_value}, "
                f"dtype: {dtype.name}, key: {key}"
            )
        filled = np.broadcast_to(given.astype(dtype.as_numpy_dtype), sizes)
        default_value = _as_tuples(filled.tolist())
    return NumericColumn(checked_key(key), sizes, default_value, dtype, normalizer_fn)


def _as_tuples(value):
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Which bucket each number falls into."""

    source_column: NumericColumn
    boundaries: tuple

    @property
    def name(self) -> str:
        """The name of the numbers and a suffix."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict:
        """That of the numbers."""
        return self.source_column.parse_example_spec

    @property
    def size(self) -> int:
        """A number for each bucket of each number."""
        return self.num_buckets

    @property
    def num_buckets(self) -> int:
        """The buckets of all numbers."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def _buckets(self, features):
        values = reshape(self.source_column.numbers(features), [-1, self.source_column.shape[0]])
        return ops["Bucketize"](values, boundaries=list(map(float, self.boundaries)))

    def dense(self, features):
        """One for the bucket, zero for the others."""
        hot = one_hot(cast(self._buckets(features), _dtypes.int64), len(self.boundaries) + 1)
        return reshape(hot, [-1, self.size])

    def sparse(self, features) -> tuple:
        """The buckets of all numbers, one after the other."""
        buckets, count = self._buckets(features), self.source_column.shape[0]
        rows = shape(buckets)[0]
        row = reshape(tile(expand_dims(range(0, rows), 1), [1, count]), [-1])
        column = tile(range(0, count), [rows])
        numbers = reshape(buckets, [-1]) + (len(self.boundaries) + 1) * column
        indices = cast(ops["Pack"]([row, column], axis=1), _dtypes.int64)
        sizes = cast(ops["Pack"]([rows, convert_to_tensor(count)]), _dtypes.int64)
        return SparseTensor(indices, cast(numbers, _dtypes.int64), sizes), None


def bucketized_column(source_column, boundaries) -> BucketizedColumn:
    """Return a column of the intervals that numbers fall into."""
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). Given: "
            f"{source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries or not isinstance(boundaries, list | tuple):
        raise ValueError("boundaries must be a sorted list.")
    if any(a >= b for a, b in itertools.pairwise(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))


@dataclass(frozen=True)
class IndicatorColumn(DenseColumn):
    """How often each category is there, or the sum of its weights."""

    categorical_column: Any

    @property
    def name(self) -> str:
        """The name of the categories and a suffix."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict:
        """That of the categories."""
        return self.categorical_column.parse_example_spec

    @property
    def size(self) -> int:
        """A number for each category."""
        return self.categorical_column.num_buckets

    def dense(self, features):
        """The counts."""
        ids, weights = self.categorical_column.sparse(features)
        hot = one_hot(to_dense(ids, default_value=-1), self.size)
        if weights is not None:
            hot = hot * expand_dims(to_dense(weights), -1)
        return reshape(reduce_sum(hot, axis=-2), [-1, self.size])


def indicator_column(categorical_column) -> IndicatorColumn:
    """Return a column of the counts of categories."""
    return IndicatorColumn(_categories(categorical_column, "indicator_column"))


def _categories(column, what: str):
    if not isinstance(column, CategoricalColumn):
        raise ValueError(f"{what} takes a column of categories, not {column!r}")
    return column


@dataclass(frozen=True)
class EmbeddingColumn(DenseColumn):
    """A learned vector for each category, combined over those of an example."""

    categorical_column: Any
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    @property
    def name(self) -> str:
        """The name of the categories and a suffix."""
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self) -> dict:
        """That of the categories."""
        return self.categorical_column.parse_example_spec

    @property
    def size(self) -> int:
        """The size of the vectors."""
        return self.dimension

    def dense(self, features):
        """The combined vectors; the table is a variable of the scope that is open."""
        ids, weights = self.categorical_column.sparse(features)
        table = get_variable(
            "embedding_weights",
            [self.categorical_column.num_buckets, self.dimension],
            _dtypes.float32,
            self.initializer,
            trainable=self.trainable,
        )
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, [(self.tensor_name_in_ckpt, table)])
        combined = safe_embedding_lookup_sparse(
            table._read(), ids, weights, self.combiner, max_norm=self.max_norm
        )
        return reshape(combined, [-1, self.dimension])


def embedding_column(
    categorical_column,
    dimension,
    combiner="mean",
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
    use_safe_embedding_lookup=True,
) -> EmbeddingColumn:
    """Return a column of learned vectors.

    Parameters
    ----------
    combiner
        "mean", "sum" or "sqrtn": how the vectors of an example's categories become one.
    ckpt_to_load_from, tensor_name_in_ckpt
        The checkpoint, and the tensor in it, that the vectors begin with.
    """
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is not None and not callable(initializer):
        raise ValueError(
            f"initializer must be callable if specified. Embedding of column_name: "
            f"{categorical_column.name}"
        )
    if combiner not in ("mean", "sum", "sqrtn"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum'. Got: {combiner!r}")
    if not use_safe_embedding_lookup:
        raise NotImplementedError(
            "embedding_column: examples without a category are zeros: leave "
            "use_safe_embedding_lookup=False out"
        )
    if initializer is None:
        initializer = TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension))
    return EmbeddingColumn(
        _categories(categorical_column, "embedding_column"),
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )
