"""`tf.compat.v1.feature_column`: columns, and the layers of TensorFlow 1 that are made of them."""

from __future__ import annotations

from ... import _dtypes
from ... import feature_column as _columns
from ..._missing import finder as _finder
from ...feature_column import (
    bucketized_column,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_list,
    crossed_column,
    embedding_column,
    indicator_column,
    make_parse_example_spec,
    numeric_column,
    weighted_categorical_column,
)
from ...feature_column._inputs import input_layer, linear_model

__all__ = [
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "embedding_column",
    "indicator_column",
    "input_layer",
    "linear_model",
    "make_parse_example_spec",
    "numeric_column",
    "weighted_categorical_column",
]


def categorical_column_with_vocabulary_file(
    key,
    vocabulary_file,
    vocabulary_size=None,
    num_oov_buckets=0,
    default_value=None,
    dtype=_dtypes.string,
):
    """Return the column of values that stand in the lines of a file."""
    return _columns.categorical_column_with_vocabulary_file(
        key,
        vocabulary_file,
        vocabulary_size,
        dtype=dtype,
        default_value=default_value,
        num_oov_buckets=num_oov_buckets,
    )


__getattr__ = _finder(__name__)
