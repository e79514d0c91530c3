"""`tf.data`: pipelines of elements, which run in C.

A function of a pipeline is traced once into a graph; making elements needs no Python.
"""

from .._missing import finder as _finder
from . import experimental
from ._dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
    DatasetSpec,
)
from ._files import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from ._iterator import Iterator, IteratorSpec, NumpyIterator
from ._options import Options, ThreadingOptions

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]

__getattr__ = _finder(__name__)
