"""What sessions give for tensors that have parts."""

from __future__ import annotations

from collections import namedtuple

SparseTensorValue = namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
IndexedSlicesValue = namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])
