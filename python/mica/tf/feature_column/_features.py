"""What all columns have in common, and the features that they read."""

from __future__ import annotations

from .. import _dtypes
from .._array import expand_dims
from .._context import graph_of_variables
from .._core import convert_to_tensor
from .._sparse_tensor import SparseTensor
from ..ragged import RaggedTensor
from ..sparse import from_dense
from ..strings import as_string


class FeatureColumn:
    """The base of columns; two are equal whose descriptions are equal."""

    @property
    def name(self) -> str:
        """The name, by which columns are ordered and variables are called."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    @property
    def parse_example_spec(self) -> dict:
        """What to parse for it, by key."""
        raise NotImplementedError(f"{type(self).__name__}.parse_example_spec")


class DenseColumn(FeatureColumn):
    """A column that gives a vector of numbers of each example."""

    @property
    def size(self) -> int:
        """How many numbers."""
        raise NotImplementedError(f"{type(self).__name__}.size")

    def dense(self, features: Features):
        """The numbers, of the shape [examples, size]."""
        raise NotImplementedError(f"{type(self).__name__}.dense")


class CategoricalColumn(FeatureColumn):
    """A column that gives any number of categories of each example."""

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        raise NotImplementedError(f"{type(self).__name__}.num_buckets")

    def sparse(self, features: Features) -> tuple:
        """The numbers of the categories, as a sparse tensor, and their weights, or None."""
        raise NotImplementedError(f"{type(self).__name__}.sparse")


class Features:
    """The features of a batch, and what columns have made of them."""

    def __init__(self, features: dict) -> None:
        if not isinstance(features, dict):
            raise ValueError(
                f"We expected a dictionary here. Instead we got: {type(features).__name__}"
            )
        self._features, self._made = dict(features), {}

    def raw(self, key: str):
        """A feature: a sparse tensor, or a dense one of rank 2 or more."""
        if key in self._made:
            return self._made[key]
        if key not in self._features:
            raise ValueError(
                f"Feature {key} is not in features dictionary. There are: "
                f"{', '.join(sorted(self._features))}"
            )
        value = self._features[key]
        if isinstance(value, RaggedTensor):
            value = value.to_sparse()
        if not isinstance(value, SparseTensor):
            value = convert_to_tensor(value)
            if value.shape.rank == 0:
                raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {value}")
            if value.shape.rank == 1:
                value = expand_dims(value, -1)
        self._made[key] = value
        return value

    def categories(self, key: str, column: str) -> SparseTensor:
        """A feature as a sparse tensor: without empty texts and without -1."""
        value = self.raw(key)
        if isinstance(value, SparseTensor):
            return value
        if value.dtype != _dtypes.string and not value.dtype.is_integer:
            raise ValueError(
                f"Column dtype and SparseTensors dtype must be compatible. key: {key}, column: "
                f"{column}, tensor dtype: {value.dtype.name}"
            )
        if value.dtype == _dtypes.string:
            return from_dense(value)
        shifted = from_dense(value + 1)  # of what is stored as zero nothing is kept
        return shifted.with_values(shifted.values - 1)

    def of(self, column, make):
        """What `make` gives for the column, made once."""
        key = id(column)
        if key not in self._made:
            self._made[key] = make(), column  # the column is kept, and with it its id
        return self._made[key][0]


TABLES = "tables_of_columns"  # the collection of the tables that a graph's nodes look up in


def keep_table(table):
    """Let the graph that is built keep a table, so that an export finds it; returns the table."""
    graph = graph_of_variables()
    if graph is not None:
        graph.add_to_collection(TABLES, table)
    return table


def as_texts(ids: SparseTensor) -> SparseTensor:
    """Categories as texts."""
    if ids.dtype == _dtypes.string:
        return ids
    return ids.with_values(as_string(ids.values))


def checked(columns) -> list:
    """The columns by name; every one is a column, and no two have one name."""
    if isinstance(columns, FeatureColumn):
        columns = [columns]
    columns = list(columns)
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    names: dict = {}
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                "Items of feature_columns must be a <class 'FeatureColumn'>. Given (type "
                f"{type(column).__name__}): {column}."
            )
        if column.name in names:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and "
                f"{names[column.name]}. This usually means that these columns refer to same base "
                "feature. Either one must be discarded or a duplicated but renamed item must be "
                "inserted in features dict."
            )
        names[column.name] = column
    return sorted(columns, key=lambda column: column.name)


def make_parse_example_spec(feature_columns) -> dict:
    """Return what tf.io.parse_example takes to read the features of columns."""
    found: dict = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"All feature_columns must be FeatureColumn instances. Given: {column}"
            )
        for key, value in column.parse_example_spec.items():
            if key in found and found[key] != value:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {value} "
                    f"and {found[key]}"
                )
            found[key] = value
    return found
