"""Columns of categories: from words, hashes, numbers, and from several of them together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from .. import _dtypes
from .._array import ones_like, where
from .._context import building
from .._core import convert_to_tensor
from .._examples import FixedLenFeature, VarLenFeature
from .._math import cast
from .._sparse_tensor import SparseTensor
from ..lookup import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable
from ..math import logical_or
from ..sparse import cross_hashed, from_dense
from ..strings import to_hash_bucket_fast
from ._features import CategoricalColumn, DenseColumn, as_texts, keep_table


def checked_key(key) -> str:
    """The key of a feature, a text."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: {key!r} of type {type(key).__name__}.")
    return key


def _text_or_integer(dtype, what: str):
    dtype = _dtypes.as_dtype(dtype)
    if dtype != _dtypes.string and not dtype.is_integer:
        raise ValueError(f"dtype must be string or integer. dtype: {dtype.name}, column: {what}")
    return dtype


def _same_kind(ids: SparseTensor, dtype, name: str) -> None:
    if (ids.dtype == _dtypes.string) != (dtype == _dtypes.string):
        raise ValueError(
            f"Column dtype and SparseTensors dtype must be compatible. key: {name}, column dtype: "
            f"{dtype.name}, tensor dtype: {ids.dtype.name}"
        )


@dataclass(frozen=True)
class HashedColumn(CategoricalColumn):
    """Categories by the hash of what they are called."""

    key: str
    hash_bucket_size: int
    dtype: Any

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict:
        """Any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.hash_bucket_size

    def sparse(self, features) -> tuple:
        """The hashes."""
        ids = features.categories(self.key, self.name)
        _same_kind(ids, self.dtype, self.name)
        texts = as_texts(ids)
        hashes = to_hash_bucket_fast(texts.values, self.hash_bucket_size)
        return texts.with_values(hashes), None


def categorical_column_with_hash_bucket(
    key, hash_bucket_size, dtype=_dtypes.string
) -> HashedColumn:
    """Return a column of categories whose number is a hash of their text, or of the number."""
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    return HashedColumn(checked_key(key), hash_bucket_size, _text_or_integer(dtype, key))


@dataclass(frozen=True)
class VocabularyColumn(CategoricalColumn):
    """Categories by their place in a list."""

    key: str
    vocabulary_list: tuple
    dtype: Any
    default_value: int = -1
    num_oov_buckets: int = 0

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict:
        """Any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def sparse(self, features) -> tuple:
        """The places."""
        ids = features.categories(self.key, self.name)
        _same_kind(ids, self.dtype, self.name)
        words = ids.values
        if words.dtype.is_integer:
            words = cast(words, _dtypes.int64)
        table = features.of(self, lambda: keep_table(self._table()))
        return ids.with_values(table.lookup(words)), None

    def _table(self):
        with building(None):
            keys_of = _dtypes.string if self.dtype == _dtypes.string else _dtypes.int64
            initializer = KeyValueTensorInitializer(
                convert_to_tensor(list(self.vocabulary_list), keys_of),
                convert_to_tensor(list(range(len(self.vocabulary_list))), _dtypes.int64),
            )
            if self.num_oov_buckets:
                return StaticVocabularyTable(initializer, self.num_oov_buckets)
            return StaticHashTable(initializer, self.default_value)


def categorical_column_with_vocabulary_list(
    key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0
) -> VocabularyColumn:
    """Return a column of categories whose number is their place in a list.

    Parameters
    ----------
    default_value
        The number of what is not in the list; of -1 nothing is made.
    num_oov_buckets
        How many more numbers there are for what is not in the list, by its hash.
    """
    words = tuple(vocabulary_list if vocabulary_list is not None else ())
    if not words:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(words)) != len(words):
        raise ValueError(
            f"Duplicate keys in vocabulary_list: {vocabulary_list}, column_name: {key}"
        )
    kind = convert_to_tensor(list(words)).dtype
    dtype = kind if dtype is None else _dtypes.as_dtype(dtype)
    dtype = _dtypes.int64 if dtype.is_integer else dtype
    _text_or_integer(dtype, key)
    if (kind == _dtypes.string) != (dtype == _dtypes.string):
        raise ValueError(f"dtype {dtype.name} and vocabulary dtype {kind.name} do not match")
    _check_beyond(num_oov_buckets, default_value, key)
    return VocabularyColumn(checked_key(key), words, dtype, default_value, num_oov_buckets)


def _check_beyond(num_oov_buckets, default_value, key) -> None:
    if num_oov_buckets:
        if default_value != -1:
            raise ValueError(
                f"Can't specify both num_oov_buckets and default_value in {checked_key(key)}."
            )
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_file(
    key,
    vocabulary_file,
    vocabulary_size=None,
    dtype=_dtypes.string,
    default_value=None,
    num_oov_buckets=0,
    file_format=None,
) -> VocabularyColumn:
    """Return a column of categories whose number is their line in a file of words."""
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if file_format is not None:
        raise NotImplementedError(
            f"categorical_column_with_vocabulary_file: file_format={file_format!r}: give a text "
            "file and leave file_format out"
        )
    with open(os.fspath(vocabulary_file), encoding="utf-8") as file:
        words = file.read().splitlines()
    if vocabulary_size is not None:
        if not 1 <= vocabulary_size <= len(words):
            raise ValueError(
                f"vocabulary_size {vocabulary_size} in {key}: the file has {len(words)} lines"
            )
        words = words[:vocabulary_size]
    dtype = _text_or_integer(dtype, key)
    if dtype != _dtypes.string:
        words = [int(word) for word in words]
    return categorical_column_with_vocabulary_list(
        key, words, dtype, -1 if default_value is None else default_value, num_oov_buckets
    )


@dataclass(frozen=True)
class IdentityColumn(CategoricalColumn):
    """Categories that are numbers already."""

    key: str
    number_buckets: int
    default_value: int | None

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict:
        """Any number of values."""
        return {self.key: VarLenFeature(_dtypes.int64)}

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.number_buckets

    def sparse(self, features) -> tuple:
        """The numbers; the default for those that are none of the categories."""
        ids = features.categories(self.key, self.name)
        if not ids.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {ids.dtype.name}")
        values = cast(ids.values, _dtypes.int64)
        if self.default_value is not None:
            beyond = logical_or(values < 0, values >= self.number_buckets)
            values = where(beyond, ones_like(values) * self.default_value, values)
        return ids.with_values(values), None


def categorical_column_with_identity(key, num_buckets, default_value=None) -> IdentityColumn:
    """Return a column of categories that are numbers from 0 up to num_buckets."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    return IdentityColumn(checked_key(key), num_buckets, default_value)


@dataclass(frozen=True)
class WeightedColumn(CategoricalColumn):
    """Categories with a weight for each."""

    categorical_column: Any
    weight_feature_key: str
    dtype: Any

    @property
    def name(self) -> str:
        """The names of both."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict:
        """Those of the categories, and the weights."""
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config {spec[self.weight_feature_key]} already exists for "
                f"{self.weight_feature_key}."
            )
        return spec | {self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.categorical_column.num_buckets

    def sparse(self, features) -> tuple:
        """The categories and their weights."""
        ids, _ = self.categorical_column.sparse(features)
        weights = features.raw(self.weight_feature_key)
        if not isinstance(weights, SparseTensor):
            weights = from_dense(weights)
        if not weights.dtype.is_floating:
            raise ValueError(f"Weights of {self.name} are {weights.dtype.name}, not floats")
        return ids, weights.with_values(cast(weights.values, _dtypes.float32))


def weighted_categorical_column(
    categorical_column, weight_feature_key, dtype=_dtypes.float32
) -> WeightedColumn:
    """Return a column of categories that count as much as another feature says."""
    dtype = _dtypes.as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_integer):
        raise ValueError(f"dtype {dtype.name} is not convertible to float.")
    return WeightedColumn(categorical_column, checked_key(weight_feature_key), dtype)


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """All combinations of one category of each, by their hashes."""

    keys: tuple
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        """The names of what is crossed, in order of the alphabet."""
        return "_X_".join(sorted(_leaf_names(self)))

    @property
    def parse_example_spec(self) -> dict:
        """Those of what is crossed; texts of plain keys."""
        spec: dict = {}
        for key in self.keys:
            more = {key: VarLenFeature(_dtypes.string)}
            spec |= more if isinstance(key, str) else key.parse_example_spec
        return spec

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.hash_bucket_size

    def sparse(self, features) -> tuple:
        """The hashes of the combinations."""
        inputs = []
        for key in _leaves(self):
            if isinstance(key, str):
                inputs.append(features.raw(key))
                continue
            ids, weights = key.sparse(features)
            if weights is not None:
                raise ValueError(
                    f"crossed_column does not support weight_tensor, but {key.name} has one"
                )
            inputs.append(ids)
        return cross_hashed(inputs, self.hash_bucket_size, self.hash_key), None


def _leaves(column: CrossedColumn) -> list:
    found: list = []
    for key in column.keys:
        found += _leaves(key) if isinstance(key, CrossedColumn) else [key]
    return found


def _leaf_names(column: CrossedColumn) -> list[str]:
    return [key if isinstance(key, str) else key.name for key in _leaves(column)]


def crossed_column(keys, hash_bucket_size, hash_key=None) -> CrossedColumn:
    """Return a column of the combinations of features: keys of them, or columns of categories."""
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size} ")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if isinstance(key, HashedColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                f"crossing will increase probability of collision. Instead, use the feature name "
                f"as a string. Given: {key}"
            )
        if not isinstance(key, str | CategoricalColumn):
            kind = "a dense column" if isinstance(key, DenseColumn) else type(key).__name__
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key} ({kind})"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


def fixed_spec(key: str, shape, dtype, default) -> dict:
    """What to parse for so many numbers."""
    return {key: FixedLenFeature(shape, dtype, default)}
