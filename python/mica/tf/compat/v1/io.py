"""`tf.compat.v1.io`: records, one after the other, and what was here of pictures; else `tf.io`."""

from __future__ import annotations

from ... import image as _image
from ... import io as _io
from ..._dtypes import string as _string
from ..._missing import missing as _missing_name
from ..._records import TFRecordOptions, TFRecordWriter, tf_record_iterator
from ._arguments import either as _either
from ._arguments import needed as _needed

__all__ = [
    "TFRecordOptions",
    "TFRecordWriter",
    "decode_csv",
    "decode_raw",
    "parse_example",
    "parse_single_example",
    "serialize_many_sparse",
    "serialize_sparse",
    "tf_record_iterator",
]


def decode_csv(
    records,
    record_defaults,
    field_delim=",",
    use_quote_delim=True,
    name=None,
    na_value="",
    select_cols=None,
):
    """Return the columns of lines of text."""
    return _io.decode_csv(
        records, record_defaults, field_delim, use_quote_delim, na_value, select_cols, name
    )


def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
    """Return the numbers whose bytes strings are."""
    text = _either("input_bytes", input_bytes, "bytes", bytes)
    text, out_type = _needed("decode_raw", input_bytes=text, out_type=out_type)
    return _io.decode_raw(text, out_type, little_endian, name=name)


def parse_example(serialized, features, name=None, example_names=None):
    """Return the features of a batch of messages."""
    return _io.parse_example(serialized, features, example_names, name)


def parse_single_example(serialized, features, name=None, example_names=None):
    """Return the features of a message."""
    return _io.parse_single_example(serialized, features, example_names, name)


def serialize_sparse(sp_input, name=None, out_type=_string):
    """Return a sparse tensor as three messages."""
    return _io.serialize_sparse(sp_input, out_type, name)


def serialize_many_sparse(sp_input, name=None, out_type=_string):
    """Return each row of a sparse tensor as three messages."""
    return _io.serialize_many_sparse(sp_input, out_type, name)


_OF_PICTURES = frozenset(
    (
        "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png "
        "encode_jpeg encode_png extract_jpeg_shape is_jpeg"
    ).split()
)


def __getattr__(name: str):
    if name in _OF_PICTURES:
        return getattr(_image, name)
    if not name.startswith("_"):
        try:
            return getattr(_io, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_OF_PICTURES, *(n for n in dir(_io) if not n.startswith("_"))})
