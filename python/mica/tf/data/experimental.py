"""`tf.data.experimental`."""

from __future__ import annotations

import enum

from ._dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from ._options import (
    AutotuneOptions,
    DistributeOptions,
    OptimizationOptions,
    ThreadingOptions,
)


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided between workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.IntEnum):
    """What to do about state outside when a pipeline is written down."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


def cardinality(dataset):
    """How many elements there are."""
    return dataset.cardinality()


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneOptions",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "ThreadingOptions",
    "cardinality",
]
