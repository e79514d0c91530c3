"""Arrays as messages, and back: make_tensor_proto and make_ndarray."""

from __future__ import annotations

import numpy as np

from . import _dtypes
from ._context import building
from ._core import Tensor, convert_to_tensor
from ._graph_def import TensorProto
from .saved_model._tensors import Repeats, tensor_of, tensor_proto


def make_ndarray(tensor) -> np.ndarray:
    """Return the array that a TensorProto says."""
    made = tensor_of(tensor, Repeats()).numpy()
    return np.array(made, dtype=object) if isinstance(made, bytes) else np.asarray(made)


def make_tensor_proto(
    values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False
) -> TensorProto:
    """Return values as a TensorProto.

    Parameters
    ----------
    verify_shape
        Whether the values must have the shape already.
    allow_broadcast
        Whether one value may stand for all of them.
    """
    if isinstance(values, TensorProto):
        return values
    if verify_shape and allow_broadcast:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    with building(None):
        if not isinstance(values, Tensor):
            values = convert_to_tensor(values, None if dtype is None else _dtypes.as_dtype(dtype))
        elif dtype is not None and values.dtype != _dtypes.as_dtype(dtype):
            raise TypeError(f"`dtype` {dtype} is not compatible with values of {values.dtype}")
        if shape is None:
            return tensor_proto(values)
        array, wanted = np.asarray(values.numpy()), [int(size) for size in shape]
        count = int(np.prod(wanted, dtype=np.int64))
        if verify_shape and list(array.shape) != wanted:
            raise TypeError(f"Expected Tensor's shape: {tuple(wanted)}, got {array.shape}.")
        if array.size == 1 and count != 1 and not verify_shape:
            array = np.broadcast_to(array.reshape(()), wanted)
        elif array.size != count:
            raise ValueError(
                f"Too many elements provided. Takes at most {count}, but got {array.size}"
                if array.size > count
                else f"{array.size} values for the shape {wanted}, which takes {count}"
            )
        return tensor_proto(convert_to_tensor(np.reshape(array, wanted), values.dtype))
