"""Values of tensors as far as they are known while a function is traced."""

from __future__ import annotations

from .. import _mica
from ._core import Tensor, errors
from ._shapes import TensorShape


def static_value(tensor, partial: bool = False):
    """Return the value as numpy's when it is known now, else None."""
    import numpy

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
