"""Values of tensors as far as they are known while a function is traced."""

from __future__ import annotations

import numpy

from .. import _mica
from ._core import Tensor, errors, ops
from ._shapes import TensorShape


def static_value(tensor, partial: bool = False):
    """Return the value as numpy's when it is known now, else None."""
    if not isinstance(tensor, Tensor):
        return numpy.asarray(tensor)
    if isinstance(tensor, _mica.TFEagerTensor):
        return tensor.numpy()
    try:
        return tensor.graph._constant(tensor).numpy()
    except (errors.OpError, AttributeError):
        pass
    ints = tensor.graph._ints(tensor)
    if ints is None or (None in ints and not partial):
        return None
    array = numpy.array(ints, dtype=object if None in ints else tensor.dtype.as_numpy_dtype)
    return array.reshape(tensor.shape.as_list())


def of_rank(tensor, rank: int):
    """Return a tensor of which the rank is known; where it was not, it has to be that in a run."""
    if tensor.shape.rank is not None:
        return tensor
    return ops["EnsureShape"](tensor, shape=[None] * rank)


def sizes_of(tensor) -> list:
    """Return the sizes of a tensor of known rank, as integers where they are known."""
    known = tensor.shape.as_list()
    dynamic = ops["Shape"](tensor) if None in known else None
    return [dynamic[i] if n is None else n for i, n in enumerate(known)]


def shape_of_value(tensor) -> TensorShape:
    """Return the shape that an integer vector spells out, as far as it is known."""
    if not isinstance(tensor, Tensor):
        return TensorShape(tensor)
    if isinstance(tensor, _mica.TFEagerTensor):
        return TensorShape([None if int(n) < 0 else int(n) for n in tensor.numpy()])
    ints = tensor.graph._ints(tensor)
    if ints is not None:
        return TensorShape([None if n is None or n < 0 else n for n in ints])
    return TensorShape(
        [None] * tensor.shape[0] if tensor.shape.rank == 1 and tensor.shape[0] is not None else None
    )
