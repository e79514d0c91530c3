"""`tf.ragged`: tensors whose rows differ in length."""

from __future__ import annotations

from .._missing import finder as _finder
from ._factory import (
    boolean_mask,
    constant,
    map_flat_values,
    range,
    row_splits_to_segment_ids,
    segment_ids_to_row_splits,
    stack,
    stack_dynamic_partitions,
)
from ._spec import RaggedTensorSpec
from ._tensor import RaggedTensor

__all__ = [
    "RaggedTensor",
    "RaggedTensorSpec",
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]

__getattr__ = _finder(__name__)
