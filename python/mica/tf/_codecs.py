"""Files of pictures and of sound, as strings, from and to tensors: of tf.io, tf.image, tf.audio."""

from __future__ import annotations

import collections

from . import _dtypes
from ._core import Tensor, convert_to_tensor, ops
from .image import convert_image_dtype


def _text(value) -> Tensor:
    return convert_to_tensor(value, _dtypes.string)


def decode_jpeg(
    contents,
    channels=0,
    ratio=1,
    fancy_upscaling=True,
    try_recover_truncated=False,
    acceptable_fraction=1,
    dct_method="",
    name=None,
) -> Tensor:
    """Return the pixels of a JPEG file: uint8, of shape [height, width, channels].

    Parameters
    ----------
    contents
        The bytes of the file.
    channels
        1 (gray) or 3 (red, green, blue); 0 takes what the file has.
    ratio
        1, 2, 4 or 8, by which the picture becomes smaller.
    fancy_upscaling
        Whether colours are interpolated where the file has fewer of them than of brightnesses.
    try_recover_truncated
        Whether what a truncated file has is taken.
    acceptable_fraction
        The part of the rows that a truncated file has to have; the others are black.
    dct_method
        "INTEGER_FAST" (also "") or "INTEGER_ACCURATE".
    """
    return ops["DecodeJpeg"](
        _text(contents),
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def decode_and_crop_jpeg(
    contents,
    crop_window,
    channels=0,
    ratio=1,
    fancy_upscaling=True,
    try_recover_truncated=False,
    acceptable_fraction=1,
    dct_method="",
    name=None,
) -> Tensor:
    """Return a part of a JPEG file, of decode_jpeg: crop_window is top, left, height, width."""
    return ops["DecodeAndCropJpeg"](
        _text(contents),
        convert_to_tensor(crop_window, _dtypes.int32),
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def extract_jpeg_shape(contents, output_type=_dtypes.int32, name=None) -> Tensor:
    """Return the height, width and channels of a JPEG file, of which no pixels are read."""
    return ops["ExtractJpegShape"](
        _text(contents), output_type=_dtypes.as_dtype(output_type), name=name
    )


def decode_png(contents, channels=0, dtype=_dtypes.uint8, name=None) -> Tensor:
    """Return the pixels of a PNG file as uint8 or uint16; of 0, 1, 3 or 4 channels."""
    return ops["DecodePng"](
        _text(contents), channels=channels, dtype=_dtypes.as_dtype(dtype), name=name
    )


def decode_gif(contents, name=None) -> Tensor:
    """Return the frames of a GIF file: uint8, of shape [frames, height, width, 3]."""
    return ops["DecodeGif"](_text(contents), name=name)


def decode_bmp(contents, channels=0, name=None) -> Tensor:
    """Return the pixels of a BMP file: uint8, of 0, 3 or 4 channels."""
    return ops["DecodeBmp"](_text(contents), channels=channels, name=name)


def decode_image(
    contents, channels=None, dtype=_dtypes.uint8, name=None, expand_animations=True
) -> Tensor:
    """Return the pixels of a JPEG, PNG, GIF or BMP file.

    Parameters
    ----------
    contents
        The bytes of the file.
    channels
        1, 3 or 4; 0 or None takes what the file has.
    dtype
        Of the pixels: of floats 1 is the brightest.
    expand_animations
        Whether a GIF has an axis of frames; if not, its first frame is the picture.
    """
    dtype = _dtypes.as_dtype(dtype)
    kept = (_dtypes.float32, _dtypes.uint8, _dtypes.uint16)
    pixels = ops["DecodeImage"](
        _text(contents),
        channels=0 if channels is None else channels,
        dtype=dtype if dtype in kept else _dtypes.uint16,
        expand_animations=expand_animations,
        name=name,
    )
    if dtype in kept:
        return pixels

    return convert_image_dtype(pixels, dtype)


def is_jpeg(contents, name=None) -> Tensor:
    """Return whether a string begins as JPEG files do."""
    return ops["Equal"](ops["Substr"](_text(contents), 0, 3), b"\xff\xd8\xff", name=name)


def encode_png(image, compression=-1, name=None) -> Tensor:
    """Return pictures of uint8 or uint16, with 1 to 4 channels, as PNG files.

    Parameters
    ----------
    image
        Of shape [..., height, width, channels].
    compression
        0 to 9, or -1 for a compromise.
    """
    return ops["EncodePng"](convert_to_tensor(image), compression=compression, name=name)


def encode_jpeg(
    image,
    format="",
    quality=95,
    progressive=False,
    optimize_size=False,
    chroma_downsampling=True,
    density_unit="in",
    x_density=300,
    y_density=300,
    xmp_metadata="",
    name=None,
) -> Tensor:
    """Return a picture of uint8, with 1 or 3 channels, as a JPEG file.

    Parameters
    ----------
    image
        Of shape [height, width, channels].
    format
        "grayscale", "rgb", or "": what the channels say.
    quality
        0 to 100.
    progressive
        Whether the file has the whole picture first and its details later.
    optimize_size
        Whether to take longer to make a smaller file.
    chroma_downsampling
        Whether the file has fewer colours than brightnesses.
    density_unit, x_density, y_density
        Pixels per inch ("in") or per centimetre ("cm").
    xmp_metadata
        A text that is kept in the file.
    """
    return ops["EncodeJpeg"](
        convert_to_tensor(image),
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


# ---- sound ---------------------------------------------------------------------------------------

DecodeWav = collections.namedtuple("DecodeWav", "audio sample_rate")


def decode_wav(contents, desired_channels=-1, desired_samples=-1, name=None) -> DecodeWav:
    """Return the samples of a WAV file of 16 bits, and how many there are in a second.

    Parameters
    ----------
    contents
        The bytes of the file.
    desired_channels
        How many channels there shall be: the last one is repeated; -1 takes those of the file.
    desired_samples
        How many samples there shall be: zeros follow the last one; -1 takes those of the file.
    """
    return DecodeWav(
        *ops["DecodeWav"](
            _text(contents),
            desired_channels=desired_channels,
            desired_samples=desired_samples,
            name=name,
        )
    )


def encode_wav(audio, sample_rate, name=None) -> Tensor:
    """Return samples between -1 and 1, of shape [time, channels], as a WAV file of 16 bits."""
    return ops["EncodeWav"](
        convert_to_tensor(audio, _dtypes.float32),
        convert_to_tensor(sample_rate, _dtypes.int32),
        name=name,
    )
