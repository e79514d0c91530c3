"""`tf.contrib.tpu`: estimators that run on shards."""

from __future__ import annotations

from .._missing import finder as _finder
from ..compat.v1.tpu import CrossShardOptimizer, bfloat16_scope, cross_replica_sum
from ..estimator.tpu import (
    InputPipelineConfig,
    RunConfig,
    TPUConfig,
    TPUEstimator,
    TPUEstimatorSpec,
)

__all__ = [
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
    "bfloat16_scope",
    "cross_replica_sum",
]

__getattr__ = _finder(__name__)
