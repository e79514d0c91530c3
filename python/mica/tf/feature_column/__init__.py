"""`tf.feature_column`: how the features of an example become the inputs of a model.

A column is a description. `make_parse_example_spec` says what to parse for columns; the estimators
of `tf.estimator`, and `tf.compat.v1.feature_column.input_layer` and `linear_model`, make of them
what a model computes with.
"""

from __future__ import annotations

from .._missing import finder as _finder
from ._categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    crossed_column,
    weighted_categorical_column,
)
from ._dense import (
    bucketized_column,
    embedding_column,
    indicator_column,
    numeric_column,
)
from ._features import make_parse_example_spec

__all__ = [
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "embedding_column",
    "indicator_column",
    "make_parse_example_spec",
    "numeric_column",
    "weighted_categorical_column",
]

__getattr__ = _finder(__name__)
