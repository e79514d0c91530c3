"""`tf.io`: files, records and what bytes say."""

from __future__ import annotations

from .. import _dispatch, _dtypes
from .._codecs import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from .._core import Tensor, convert_to_tensor, ops
from .._csv import decode_csv
from .._examples import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from .._missing import finder as _finder
from .._records import TFRecordOptions, TFRecordWriter
from . import gfile
from ._files import matching_files, parse_tensor, read_file, serialize_tensor, write_file
from ._sparse import deserialize_many_sparse, serialize_many_sparse, serialize_sparse


def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None) -> Tensor:
    """The bytes of strings as numbers, along a new last axis.

    Parameters
    ----------
    input_bytes
        Strings, all of one length unless fixed_length is given.
    out_type
        The dtype of the numbers.
    little_endian
        Whether the lowest byte of a number comes first.
    fixed_length
        So many bytes are read of each string; a shorter one is followed by zeros.
    """
    text = convert_to_tensor(input_bytes, _dtypes.string)
    if fixed_length is not None:
        return ops["DecodePaddedRaw"](
            text,
            convert_to_tensor(fixed_length, _dtypes.int32),
            out_type=_dtypes.as_dtype(out_type),
            little_endian=little_endian,
            name=name,
        )
    return ops["DecodeRaw"](
        text,
        out_type=_dtypes.as_dtype(out_type),
        little_endian=little_endian,
        name=name,
    )


__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "write_file",
]

_dispatch.offer(globals())

__getattr__ = _finder(__name__)
