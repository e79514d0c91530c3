"""Parts of pictures at places, windows at random and qualities of JPEG, of tf.image."""

from __future__ import annotations

import collections

from . import _codecs, _dtypes, random
from ._array import range, shape, stack, where
from ._core import Tensor, convert_to_tensor, ops
from ._math import cast
from ._reduce import reduce_max, reduce_min
from ._refusals import refusal
from ._select import gather_nd
from ._static import of_rank, static_value
from .image import convert_image_dtype

# ---- glimpses ------------------------------------------------------------------------------------


def _begins(offsets, size, wide, is_centered: bool, is_normalized: bool):
    """Where glimpses of this size begin on an axis of `wide` pixels."""
    whole, part = cast(wide, _dtypes.float32), cast(size, _dtypes.float32)
    if is_normalized and is_centered:
        offsets = offsets * whole / 2.0 + whole / 2.0 - part / 2.0
    elif is_normalized:
        offsets = offsets * whole
    elif is_centered:
        offsets = offsets + whole / 2.0
    return cast(offsets, _dtypes.int32)  # towards zero


def _noise(kind: str, images, sizes):
    """What is outside of pictures, of these sizes, like the pixels of each."""
    axes = [1, 2, 3]
    if kind == "zero":
        return ops["Fill"](sizes, 0.0)
    if kind == "uniform":
        low, high = reduce_min(images, axes, True), reduce_max(images, axes, True)
        return random.uniform(sizes) * (high - low) + low
    mean = ops["Mean"](images, axes, keep_dims=True)
    squares = ops["Mean"](ops["Square"](images), axes, keep_dims=True)
    spread = ops["Sqrt"](ops["Maximum"](squares - ops["Square"](mean), 0.0))
    return random.normal(sizes) * spread + mean


def extract_glimpse(
    input, size, offsets, centered=True, normalized=True, noise="uniform", name=None
) -> Tensor:
    """Return a part of each picture.

    Parameters
    ----------
    input
        Pictures of float32, of shape [batch, height, width, channels].
    size
        Height and width of the parts.
    offsets
        Where they are, a row and a column for each picture.
    centered
        Whether offsets are counted from the middle.
    normalized
        Whether offsets are parts of the picture: -1 to 1 where they are centered, else 0 to 1.
    noise
        What stands for pixels that are outside: "uniform" or "gaussian", like those of the picture,
        or "zero".
    """
    if noise not in ("uniform", "gaussian", "zero"):
        raise refusal(f"The noise could only be uniform, gaussian, or zero, not {noise!r}")
    images = of_rank(convert_to_tensor(input, _dtypes.float32), 4)
    places = of_rank(convert_to_tensor(offsets, _dtypes.float32), 2)
    wanted = convert_to_tensor(size, _dtypes.int32)
    if images.shape.rank != 4:
        raise refusal(
            f"input must be 4-dimensional (batch, height, width, channels): {images.shape}"
        )
    if not places.shape.is_compatible_with([images.shape[0], 2]):
        raise refusal(f"offsets must be of shape [batch, 2], not {places.shape}")
    if not wanted.shape.is_compatible_with([2]):
        raise refusal(f"input must be a vector of size 2 (height, width), not {wanted.shape}")
    known = static_value(wanted)
    if known is not None and min(known) < 1:
        raise refusal(f"glimpse height and width must be positive: {list(known)}")
    return _glimpses(images, wanted, places, known, (centered, normalized, noise), name)


def _glimpses(images, wanted, places, known, options, name):
    is_centered, is_normalized, noise = options
    images = ops["StopGradient"](images)  # the op has no gradient
    sizes = shape(images)
    height, width = (wanted[i] for i in (0, 1)) if known is None else map(int, known)
    top = _begins(places[:, 0], height, sizes[1], is_centered, is_normalized)
    left = _begins(places[:, 1], width, sizes[2], is_centered, is_normalized)
    rows = top[:, None, None] + range(height)[None, :, None]
    columns = left[:, None, None] + range(width)[None, None, :]
    zeros = (rows + columns) * 0
    rows, columns = rows + zeros, columns + zeros
    which = range(sizes[0])[:, None, None] + zeros
    both = ops["LogicalAnd"]
    is_inside = both(
        both(rows >= 0, rows < sizes[1]),
        both(columns >= 0, columns < sizes[2]),
    )
    here = [where(is_inside, axis, zeros) for axis in (rows, columns)]
    found = gather_nd(images, stack([which, *here], -1))
    outside = _noise(noise, images, stack([sizes[0], height, width, sizes[3]]))
    found = ops["SelectV2"](is_inside[..., None], found, outside, name=name)
    found.set_shape([images.shape[0], *([None, None] if known is None else known), images.shape[3]])
    return found


# ---- windows at random ---------------------------------------------------------------------------

_Window = collections.namedtuple("SampleDistortedBoundingBoxV2", "begin size bboxes")
_StatelessWindow = collections.namedtuple(
    "StatelessSampleDistortedBoundingBox", "begin size bboxes"
)


def _sizes(image_size) -> Tensor:
    """A vector of integers; those of Python are int32."""
    return convert_to_tensor(image_size, dtype_hint=_dtypes.int32)


def _ranges(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes) -> dict:
    """What is given of the attributes; the op has usual values for the others."""
    given = {
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes,
    }
    for what in ("aspect_ratio_range", "area_range"):
        if given[what] is not None and len(given[what]) != 2:
            raise refusal(f"{what} must specify 2 dimensions, not {given[what]}")
    return {key: value for key, value in given.items() if value is not None}


def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=0,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Return where a window of a picture begins, its size, and it as a box; at random.

    Parameters
    ----------
    image_size
        Height, width and channels.
    bounding_boxes
        Boxes [batch, number, 4], as parts of the picture.
    seed
        0 draws anew each time.
    min_object_covered
        The part of one of the boxes, at least, that is in the window.
    aspect_ratio_range
        Of width to height; by default 0.75 to 1.33.
    area_range
        Of the window, as a part of the picture; by default 0.05 to 1.
    max_attempts
        After so many, by default 100, the window is the picture.
    use_image_if_no_bounding_boxes
        Whether the picture stands for boxes where there are none.
    """
    first, second = random.get_seed(seed) if seed else (0, 0)
    options = _ranges(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    return _Window(
        *ops["SampleDistortedBoundingBoxV2"](
            _sizes(image_size),
            convert_to_tensor(bounding_boxes, _dtypes.float32),
            convert_to_tensor(min_object_covered, _dtypes.float32),
            seed=first,
            seed2=second,
            name=name,
            **options,
        )
    )


def stateless_sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Return what sample_distorted_bounding_box does, as a seed of two integers says."""
    options = _ranges(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    return _StatelessWindow(
        *ops["StatelessSampleDistortedBoundingBox"](
            _sizes(image_size),
            convert_to_tensor(bounding_boxes, _dtypes.float32),
            convert_to_tensor(min_object_covered, _dtypes.float32),
            convert_to_tensor(seed, dtype_hint=_dtypes.int32),
            name=name,
            **options,
        )
    )


# ---- quality -------------------------------------------------------------------------------------


def adjust_jpeg_quality(image, jpeg_quality, dct_method="", name=None) -> Tensor:
    """Return a picture as it comes back from a JPEG file of a quality of 0 to 100."""
    image = convert_to_tensor(image)
    original = image.dtype
    pixels = convert_image_dtype(image, _dtypes.uint8, saturate=True)
    channels = None if pixels.shape.rank is None else pixels.shape[-1]
    file = ops["EncodeJpegVariableQuality"](
        pixels, convert_to_tensor(jpeg_quality, _dtypes.int32), name=name
    )
    decoded = _codecs.decode_jpeg(file, channels=channels or 0, dct_method=dct_method)
    return convert_image_dtype(decoded, original, saturate=True)


def _check_qualities(least, most) -> None:
    if min(least, most) < 0 or max(least, most) > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if least >= most:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")


def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None) -> Tensor:
    """Return a picture as it comes back from a JPEG file of a quality within bounds."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = random.uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=_dtypes.int32)
    return adjust_jpeg_quality(image, quality)


def stateless_random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed) -> Tensor:
    """Return a picture as it comes back from a JPEG file of a quality within bounds, by a seed."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = random.stateless_uniform([], seed, min_jpeg_quality, max_jpeg_quality, _dtypes.int32)
    return adjust_jpeg_quality(image, quality)
