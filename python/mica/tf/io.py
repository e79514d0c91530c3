"""`tf.io`: what bytes say."""

from __future__ import annotations

from . import _dtypes
from ._core import Tensor, convert_to_tensor, ops


def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None) -> Tensor:
    """The bytes of strings as numbers, along a new last axis.

    Parameters
    ----------
    input_bytes
        Strings, all of one length.
    out_type
        The dtype of the numbers.
    """
    if fixed_length is not None:
        raise NotImplementedError("tf.io.decode_raw with fixed_length is not supported.")
    return ops["DecodeRaw"](
        convert_to_tensor(input_bytes, _dtypes.string),
        out_type=_dtypes.as_dtype(out_type),
        little_endian=little_endian,
        name=name,
    )


__all__ = ["decode_raw"]
