"""Pictures as PNG and sound as WAV, for summaries: in Python, since there is no op for them."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from .. import _dtypes
from .._core import Tensor, convert_to_tensor
from .._effects import numpy_function

_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels: PNG's number for them


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(picture: np.ndarray) -> bytes:
    height, width, channels = picture.shape
    if channels not in _COLOURS or height < 1 or width < 1:
        raise ValueError(
            f"a picture has a height, a width and 1, 2, 3 or 4 channels; this one is of shape "
            f"{picture.shape}"
        )
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # a row begins with its filter: none
    rows[:, 1:] = picture.reshape(height, -1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + _chunk(b"IEND", b"")
    )


def _wav(clip: np.ndarray, rate: int) -> bytes:
    channels = clip.shape[1]
    if channels < 1 or rate < 1:
        raise ValueError(f"sound of shape {clip.shape} at {rate} frames a second cannot be written")
    scaled = clip.astype(np.float32) * 32768
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    data = np.clip(rounded, -32768, 32767).astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * 2 * channels, 2 * channels, 16)
    return (
        struct.pack("<4sI4s4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16)
        + form
        + struct.pack("<4sI", b"data", len(data))
        + data
    )


def _strings(parts: list) -> np.ndarray:
    return np.array(parts, dtype=object).reshape(len(parts))


def encode_png(pictures: Tensor) -> Tensor:
    """Return a string for each picture of uint8."""
    made = numpy_function(
        lambda array: _strings([_png(part) for part in array]), [pictures], _dtypes.string
    )
    made.set_shape([pictures.shape[0]] if pictures.shape.rank else [None])
    return made


def encode_wav(clips: Tensor, sample_rate) -> Tensor:
    """Return a string for each clip of float32."""
    rate = convert_to_tensor(sample_rate, dtype=_dtypes.int32)
    made = numpy_function(
        lambda array, hertz: _strings([_wav(part, int(hertz)) for part in array]),
        [clips, rate],
        _dtypes.string,
    )
    made.set_shape([clips.shape[0]] if clips.shape.rank else [None])
    return made
