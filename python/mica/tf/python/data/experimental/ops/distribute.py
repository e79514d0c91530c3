"""Datasets of several replicas."""

from __future__ import annotations

from ..... import constant
from ....._core import ops
from ....._dtypes import int64
from .....data import _structure


def compute_batch_size(dataset):
    """The batch size of a dataset: that of its elements' shapes, else what its last batching says.

    It is -1 where neither says anything, and where shapes differ.
    """
    shapes = [spec.shape for spec in _structure.flat_specs(dataset.element_spec)]
    if any(shape.rank == 0 for shape in shapes):
        raise IndexError("the elements of the dataset are scalars: they have no batch axis")
    sizes = [shape.rank and shape[0] for shape in shapes]
    if None in sizes:
        return ops["ComputeBatchSize"](dataset._handle_tensor)
    return constant(sizes[0] if len(set(sizes)) == 1 else -1, int64)


__all__ = ["compute_batch_size"]
