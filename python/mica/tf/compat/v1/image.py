"""`tf.compat.v1.image`: what TensorFlow 1 has beside `tf.image`, or has otherwise."""

from __future__ import annotations

from ... import image as _image
from ..._core import convert_to_tensor as _convert
from ..._core import ops as _ops
from ..._dtypes import float32 as _float32
from ..._dtypes import int32 as _int32
from ..._glimpses import _ranges
from ..._missing import missing as _missing_name
from ..._static import static_value as _static_value

__all__ = [
    "ResizeMethod",
    "crop_and_resize",
    "draw_bounding_boxes",
    "extract_glimpse",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "sample_distorted_bounding_box",
    "transpose_image",
]


class ResizeMethod:
    """Ways to make pictures of another size."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


def _resized(op: str, images, size, align_corners, half_pixel_centers, name):
    places = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return _ops[op](_convert(images), _convert(size, _int32), name=name, **places)


def resize_bilinear(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """Return pictures of another size, between the four pixels around each place."""
    return _resized("ResizeBilinear", images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """Return pictures of another size, a cubic through the sixteen pixels around each place."""
    return _resized("ResizeBicubic", images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """Return pictures of another size, the nearest pixel of each place."""
    return _resized("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers, name)


def resize_area(images, size, align_corners=False, name=None):
    """Return pictures of another size, the mean of what each pixel covers."""
    return _ops["ResizeArea"](
        _convert(images), _convert(size, _int32), align_corners=align_corners, name=name
    )


_WAYS = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
    _image.ResizeMethod.BILINEAR: resize_bilinear,
    _image.ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    _image.ResizeMethod.BICUBIC: resize_bicubic,
    _image.ResizeMethod.AREA: resize_area,
}


def resize(
    images,
    size,
    method=ResizeMethod.BILINEAR,
    align_corners=False,
    preserve_aspect_ratio=False,
    name=None,
):
    """Return pictures of another size; those that have it already are returned as they are."""
    size = _convert(size)
    if size.dtype != _int32 or not size.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D int32 Tensor of 2 elements")
    if method not in _WAYS:
        raise ValueError("Resize method is not implemented.")

    def batch(pictures):
        target = _image._fitted(pictures, size) if preserve_aspect_ratio else size
        known = _static_value(target)
        if known is not None and known.tolist() == pictures.shape.as_list()[1:3]:
            return pictures
        return _WAYS[method](pictures, target, align_corners, name)

    return _image._batched(batch, images)


resize_images = resize


def resize_image_with_pad(
    image, target_height, target_width, method=ResizeMethod.BILINEAR, align_corners=False
):
    """Return pictures fitted into a size, with zeros around them."""

    def batch(images):
        _, height, width, _ = _image.sizes_of(images)
        fitted = _image._fitted_in(height, width, target_height, target_width)
        resized = resize(images, fitted[:2], method, align_corners)
        return _image.pad_to_bounding_box(resized, *fitted[2:], target_height, target_width)

    return _image._batched(batch, image)


resize_image_with_crop_or_pad = _image.resize_with_crop_or_pad
transpose_image = _image.transpose


def extract_glimpse(
    input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None
):
    """Return a part of each picture; what lies outside is noise."""
    noise = "uniform" if uniform_noise else "gaussian"
    return _image.extract_glimpse(input, size, offsets, centered, normalized, noise, name)


def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=None,
    seed2=None,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Return where a window of a picture begins, its size, and it as a box; at random."""
    options = _ranges(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    return _ops["SampleDistortedBoundingBoxV2"](
        _convert(image_size),
        _convert(bounding_boxes, _float32),
        _convert(min_object_covered, _float32),
        seed=seed or 0,
        seed2=seed2 or 0,
        name=name,
        **options,
    )


def draw_bounding_boxes(images, boxes, name=None, colors=None):
    """Return pictures with the outlines of boxes."""
    return _image.draw_bounding_boxes(images, boxes, colors, name)


def crop_and_resize(
    image,
    boxes,
    box_ind=None,
    crop_size=None,
    method="bilinear",
    extrapolation_value=0,
    name=None,
    box_indices=None,
):
    """Return parts of pictures, all of one size."""
    if box_ind is not None and box_indices is not None:
        raise ValueError("Cannot specify both 'box_indices' and 'box_ind'.")
    indices = box_ind if box_indices is None else box_indices
    return _image.crop_and_resize(
        image, boxes, indices, crop_size, method, extrapolation_value, name
    )


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_image, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)
