"""`tf.compat.v1.feature_column`: columns as the inputs of a model, and a linear model of them."""

from __future__ import annotations

from .. import _dtypes
from .._array import concat
from .._core import ops
from .._math import add_n
from .._sparse_lookup import safe_embedding_lookup_sparse
from ..compat.v1._scopes import get_variable, variable_scope
from ..initializers import Zeros
from ._dense import EmbeddingColumn
from ._features import CategoricalColumn, DenseColumn, Features, checked


def input_layer(
    features,
    feature_columns,
    weight_collections=None,
    trainable=True,
    cols_to_vars=None,
    cols_to_output_tensors=None,
):
    """Return the numbers of all columns, ordered by name, of each example in a row.

    Parameters
    ----------
    cols_to_vars, cols_to_output_tensors
        Dicts that are given the variables and the tensors of each column.
    """
    _check_collections(weight_collections)
    columns = checked(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a DenseColumn. You can wrap a categorical column "
                f"with an embedding_column or indicator_column. Given: {column}"
            )
    read, parts = Features(features), []
    with variable_scope(None, "input_layer"):
        for column in columns:
            with variable_scope(column.name) as scope:
                if isinstance(column, EmbeddingColumn) and not trainable:
                    raise NotImplementedError(
                        "input_layer: trainable=False: say so in embedding_column"
                    )
                tensor = column.dense(read)
                parts.append(tensor)
                if cols_to_vars is not None:
                    cols_to_vars[column] = scope.global_variables()
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = tensor
    return concat(parts, 1)


def _check_collections(weight_collections) -> None:
    if weight_collections is not None:
        raise NotImplementedError(
            f"weight_collections={weight_collections}: variables are in GLOBAL_VARIABLES; leave it "
            "out"
        )


def linear_model(
    features,
    feature_columns,
    units=1,
    sparse_combiner="sum",
    weight_collections=None,
    trainable=True,
    cols_to_vars=None,
):
    """Return a weighted sum of all columns and a bias, `units` of them for each example.

    Parameters
    ----------
    sparse_combiner
        "sum", "mean" or "sqrtn": how the weights of an example's categories become one.
    """
    _check_collections(weight_collections)
    read, parts = Features(features), []
    with variable_scope(None, "linear_model"):
        for column in checked(feature_columns):
            with variable_scope(column.name) as scope:
                parts.append(_weighed(column, read, units, sparse_combiner, trainable))
                if cols_to_vars is not None:
                    cols_to_vars[column] = scope.global_variables()
        bias = get_variable("bias_weights", [units], _dtypes.float32, Zeros(), trainable=trainable)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return ops["BiasAdd"](add_n(parts), bias._read())


def _weighed(column, read: Features, units: int, combiner: str, trainable: bool):
    """What a column adds to a linear model."""
    is_sparse = isinstance(column, CategoricalColumn)
    size = column.num_buckets if is_sparse else column.size
    table = get_variable("weights", [size, units], _dtypes.float32, Zeros(), trainable=trainable)
    if not is_sparse:
        return ops["MatMul"](column.dense(read), table._read())
    ids, weights = column.sparse(read)
    return safe_embedding_lookup_sparse(table._read(), ids, weights, combiner)
