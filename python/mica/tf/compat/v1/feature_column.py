"""`tf.compat.v1.feature_column`: columns, and the layers of TensorFlow 1 that are made of them."""

from __future__ import annotations

from ..._missing import finder as _finder
from ...feature_column import (
    bucketized_column,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
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

__getattr__ = _finder(__name__)
