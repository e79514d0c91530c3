"""`tf.data.experimental`."""

from __future__ import annotations

import enum as _enum

from .._core import convert_to_tensor
from .._dtypes import int64
from .._missing import finder as _finder
from ._dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from ._options import (
    AutotuneOptions,
    DistributeOptions,
    OptimizationOptions,
    ThreadingOptions,
)


class AutoShardPolicy(_enum.IntEnum):
    """How a dataset is divided between workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(_enum.IntEnum):
    """What to do about state outside when a pipeline is written down."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


def cardinality(dataset):
    """How many elements there are."""
    return dataset.cardinality()


def assert_cardinality(expected_cardinality):
    """A transformation to a dataset that is said to have so many elements."""

    def transformation(dataset):
        return dataset._made(
            "AssertCardinalityDataset",
            "_AssertCardinalityDataset",
            dataset.element_spec,
            convert_to_tensor(expected_cardinality, int64),
        )

    return transformation


def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=False):
    """As tf.data.Dataset.choose_from_datasets."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False):
    """As tf.data.Dataset.sample_from_datasets."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def enumerate_dataset(start=0):
    """A transformation to elements with their numbers."""
    return lambda dataset: dataset.enumerate(start)


def unbatch():
    """A transformation to the elements of batches."""
    return lambda dataset: dataset.unbatch()


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
    "assert_cardinality",
    "cardinality",
    "choose_from_datasets",
    "enumerate_dataset",
    "sample_from_datasets",
    "unbatch",
]

__getattr__ = _finder(__name__)
