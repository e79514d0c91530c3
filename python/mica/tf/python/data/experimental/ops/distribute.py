"""Datasets of several replicas."""

from __future__ import annotations


def compute_batch_size(dataset):
    """The static batch size of a dataset's elements, or -1."""
    from ..... import constant, int64
    from .....data import _structure

    sizes = {
        spec.shape[0] if spec.shape.rank else None
        for spec in _structure.flat_specs(dataset.element_spec)
    }
    size = sizes.pop() if len(sizes) == 1 else None
    return constant(-1 if size is None else size, int64)


__all__ = ["compute_batch_size"]
