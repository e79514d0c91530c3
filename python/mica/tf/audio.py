"""`tf.audio`: files of sound."""

from __future__ import annotations

from ._codecs import decode_wav, encode_wav
from ._missing import finder as _finder

__all__ = ["decode_wav", "encode_wav"]

__getattr__ = _finder(__name__)
