"""tf.image: sizes, flips, colours. Files of pictures are the matter of _codecs.py."""

from __future__ import annotations

import math as _python_math
from builtins import range as builtins_range

from .. import _mica
from . import _dtypes
from . import random as _random
from ._array import concat, expand_dims, range, reshape, shape, stack, tile, where
from ._array import transpose as permute
from ._core import Tensor, convert_to_tensor, ops
from ._elementwise import clip_by_value, floor, round, saturate_cast
from ._math import cast, reduce_mean, reduce_sum
from ._missing import missing as _missing_name
from ._reduce import reduce_max
from ._select import pad, reverse
from ._static import of_rank, sizes_of, static_value
from .errors import FailedPreconditionError, InvalidArgumentError


class ResizeMethod:
    """Ways to make pictures of another size."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


# ---- sizes ---------------------------------------------------------------------------------------


def _batched(function, images, *arguments, unknown: int | None = None):
    """Call a function of a batch of pictures with one of them, or with a batch.

    Pictures of unknown rank are refused, or have the rank `unknown`.
    """
    images = convert_to_tensor(images)
    rank = unknown if images.shape.rank is None else images.shape.rank
    if rank == 3:
        return function(expand_dims(of_rank(images, 3), 0), *arguments)[0]
    if rank != 4:
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    return function(images, *arguments)


def _checked(images):
    """Pictures as a tensor, which have at least three axes where their rank is known."""
    images = convert_to_tensor(images)
    if images.shape.rank is not None and images.shape.rank < 3:
        raise ValueError(f"'image' (shape {images.shape}) must be at least three-dimensional.")
    return images


def _whole(number):
    """A size or an offset, as an integer where it is known."""
    found = static_value(number)
    return number if found is None else int(found)


def _check(holds, message: str) -> None:
    """Raise an error where it is known that something does not hold."""
    if isinstance(holds, bool) and not holds:
        raise ValueError(message)


def _with_sizes(images, sizes: list):
    """The same pictures, whose sizes are those of a list as far as they are integers there."""
    images.set_shape([n if isinstance(n, int) else None for n in sizes])
    return images


def _is_eager(*tensors) -> bool:
    return all(isinstance(tensor, _mica.TFEagerTensor) for tensor in tensors)


def _refuse(message: str):
    raise InvalidArgumentError(None, None, message)


def _number(value, dtype):
    return convert_to_tensor(value, dtype)


# Without antialias these have rows of their own: the row, its attributes.
_CENTRED = {"half_pixel_centers": True}
_ROWS = {
    "bilinear": ("ResizeBilinear", _CENTRED),
    "bicubic": ("ResizeBicubic", _CENTRED),
    "nearest": ("ResizeNearestNeighbor", _CENTRED),
    "area": ("ResizeArea", {}),
}
# ScaleAndTranslate has filters for these.
_KERNELS = {
    "bilinear": "triangle",
    "bicubic": "keyscubic",
    "mitchellcubic": "mitchellcubic",
    "gaussian": "gaussian",
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
}


def _resample(images, size, method, antialias):
    if method not in _KERNELS and method not in _ROWS:
        raise ValueError(f"Resize method is not implemented: {method}")
    height, width = size[0], size[1]
    if _is_eager(images) and min(_whole(height), _whole(width)) < 1:
        _refuse("output dimensions must be positive")
    if method in _ROWS and not (antialias and method in _KERNELS):
        row, attributes = _ROWS[method]
        return ops[row](images, stack([height, width]), **attributes)
    sizes = ops["Pack"]([height, width], axis=0)
    scale = cast(sizes, _dtypes.float32) / cast(shape(images)[1:3], _dtypes.float32)
    return ops["ScaleAndTranslate"](
        images,
        sizes,
        scale,
        _number([0.0, 0.0], _dtypes.float32),
        kernel_type=_KERNELS[method],
        antialias=antialias,
    )


def resize(
    images,
    size,
    method=ResizeMethod.BILINEAR,
    preserve_aspect_ratio=False,
    antialias=False,
    name=None,
):
    """Return pictures of another size.

    Parameters
    ----------
    images
        One picture (height, width, channels) or a batch of them.
    size
        Height and width.
    method
        One of ResizeMethod's.
    preserve_aspect_ratio
        Fit into the size instead of filling it.
    antialias
        Take all that a pixel stands for when the pictures become smaller.
    """
    size = convert_to_tensor(size)
    if size.dtype == _dtypes.string or not size.shape.is_compatible_with([2]):
        raise ValueError(f"'size' must be a 1-D int32 Tensor of 2 elements, not {size!r}")
    size = cast(size, _dtypes.int32)

    def batch(pictures):
        target = _fitted(pictures, size) if preserve_aspect_ratio else size
        return _resample(pictures, target, str(method), antialias)

    return _batched(batch, images)


def _fitted(images, size):
    height, width = (cast(shape(images)[i], _dtypes.float32) for i in (1, 2))
    scale = ops["Minimum"](
        cast(size[0], _dtypes.float32) / height, cast(size[1], _dtypes.float32) / width
    )
    parts = [cast(round(height * scale), _dtypes.int32), cast(round(width * scale), _dtypes.int32)]
    return stack(parts)


def resize_with_pad(
    image, target_height, target_width, method=ResizeMethod.BILINEAR, antialias=False
):
    """Return pictures fitted into a size, with zeros around them."""
    target_height, target_width = _whole(target_height), _whole(target_width)
    _check(target_height > 0, "target_height must be > 0.")
    _check(target_width > 0, "target_width must be > 0.")

    def batch(images):
        _check_dtype(images, _RESIZED)
        _, height, width, _ = sizes_of(images)
        fitted = _fitted_in(height, width, target_height, target_width)
        resized = _resample(images, fitted[:2], str(method), antialias)
        if all(isinstance(n, int) for n in fitted):
            resized.set_shape([images.shape[0], *fitted[:2], images.shape[3]])
        return pad_to_bounding_box(resized, *fitted[2:], target_height, target_width)

    return _batched(batch, _checked(image), unknown=3)


_RESIZED = (
    _dtypes.int8,
    _dtypes.uint8,
    _dtypes.int16,
    _dtypes.uint16,
    _dtypes.int32,
    _dtypes.int64,
    _dtypes.float16,
    _dtypes.bfloat16,
    _dtypes.float32,
    _dtypes.float64,
)


def _check_dtype(images, allowed) -> None:
    if images.dtype in allowed:
        return
    text = f"{images.dtype.name} is not in the list of allowed values: "
    text += ", ".join(dtype.name for dtype in allowed)
    if _is_eager(images):
        _refuse(f"Value for attr 'T' of {text}")
    raise TypeError(f"Value passed to parameter 'images': {text}")


def _fitted_in(height, width, target_height, target_width):
    """The size of a picture that fits into another, and the margins above and to the left."""
    if all(isinstance(n, int) for n in (height, width, target_height, target_width)):
        ratio = max(height / target_height, width / target_width)
        fitted = [height / ratio, width / ratio] if ratio else [_python_math.nan] * 2
        if not all(map(_python_math.isfinite, fitted)):
            return 0, 0, 0, 0
        margins = (target_height - fitted[0]) / 2, (target_width - fitted[1]) / 2
        return (*map(_python_math.floor, fitted), *(max(_python_math.floor(m), 0) for m in margins))
    target = cast(stack([target_height, target_width]), _dtypes.float64)
    sizes = cast(stack([height, width]), _dtypes.float64)
    fitted = sizes / reduce_max(sizes / target)
    margin = floor((target - fitted) / 2)
    small = cast(floor(fitted), _dtypes.int32)
    top, left = (cast(ops["Maximum"](margin[i], 0), _dtypes.int32) for i in (0, 1))
    return small[0], small[1], top, left


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Return a part of pictures."""
    offset_height, offset_width = _whole(offset_height), _whole(offset_width)
    target_height, target_width = _whole(target_height), _whole(target_width)

    def batch(images):
        count, height, width, depth = sizes_of(images)
        _check(offset_width >= 0, "offset_width must be >= 0.")
        _check(offset_height >= 0, "offset_height must be >= 0.")
        _check(target_width > 0, "target_width must be > 0.")
        _check(target_height > 0, "target_height must be > 0.")
        _check(width >= target_width + offset_width, "width must be >= target + offset.")
        _check(height >= target_height + offset_height, "height must be >= target + offset.")
        begin = stack([0, offset_height, offset_width, 0])
        part = ops["Slice"](images, begin, stack([count, target_height, target_width, depth]))
        return _with_sizes(part, [images.shape[0], target_height, target_width, images.shape[3]])

    return _batched(batch, _checked(image), unknown=3)


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Return pictures with zeros around them."""
    offset_height, offset_width = _whole(offset_height), _whole(offset_width)
    target_height, target_width = _whole(target_height), _whole(target_width)

    def batch(images):
        _, height, width, _ = sizes_of(images)
        for n in images.shape.as_list()[1:]:
            _check(n != 0, f"inner 3 dims of 'image.shape' must be > 0: {images.shape}")
        below = target_height - offset_height - height
        beside = target_width - offset_width - width
        _check(offset_height >= 0, "offset_height must be >= 0")
        _check(offset_width >= 0, "offset_width must be >= 0")
        _check(beside >= 0, "width must be <= target - offset")
        _check(below >= 0, "height must be <= target - offset")
        rows = stack([convert_to_tensor(offset_height, _dtypes.int32), below])
        columns = stack([convert_to_tensor(offset_width, _dtypes.int32), beside])
        none = convert_to_tensor([0, 0], _dtypes.int32)
        whole = pad(images, stack([none, rows, columns, none]))
        return _with_sizes(whole, [images.shape[0], target_height, target_width, images.shape[3]])

    return _batched(batch, _checked(image), unknown=3)


def _least(a, b):
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else ops["Minimum"](a, b)


def _most(a, b):
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else ops["Maximum"](a, b)


def resize_with_crop_or_pad(image, target_height, target_width):
    """Return pictures cut or filled up in the middle to a size."""
    target_height, target_width = _whole(target_height), _whole(target_width)
    _check(target_width > 0, "target_width must be > 0.")
    _check(target_height > 0, "target_height must be > 0.")

    def batch(images):
        _, height, width, _ = sizes_of(images)
        missing_rows, missing_columns = target_height - height, target_width - width
        cut = crop_to_bounding_box(
            images,
            _most(-missing_rows // 2, 0),
            _most(-missing_columns // 2, 0),
            _least(target_height, height),
            _least(target_width, width),
        )
        return pad_to_bounding_box(
            cut,
            _most(missing_rows // 2, 0),
            _most(missing_columns // 2, 0),
            target_height,
            target_width,
        )

    return _batched(batch, _checked(image), unknown=3)


def central_crop(image, central_fraction):
    """Return the middle of pictures."""
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError(f"central_fraction must be in range (0.0, 1.0]: {central_fraction}")

    image = _checked(image)
    if central_fraction == 1.0:
        return image

    def batch(images):
        boxes = [_middle(n, central_fraction) for n in sizes_of(images)[1:3]]
        return crop_to_bounding_box(images, boxes[0][0], boxes[1][0], boxes[0][1], boxes[1][1])

    return _batched(batch, image)


def _middle(size, fraction: float):
    """Where the middle of an axis begins, and its length."""
    if isinstance(size, int):
        start = int((size - size * fraction) / 2)
    else:
        length = cast(size, _dtypes.float64)
        start = cast((length - length * fraction) / 2, _dtypes.int32)
    return start, size - 2 * start


# ---- flips ---------------------------------------------------------------------------------------


def _exchanged(images):
    """Pictures with rows and columns exchanged, whatever their rank is."""
    rank = images.shape.rank
    if rank == 3:
        return permute(images, [1, 0, 2])
    if rank == 4:
        return permute(images, [0, 2, 1, 3])
    if rank is not None:
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    axes = ops["Rank"](images)
    order = concat([range(axes - 3), stack([axes - 2, axes - 3, axes - 1])], 0)
    return permute(images, order)


def _mirrored(images, axes: list[int]):
    """Pictures mirrored along axes, which are counted from the end."""
    if images.shape.rank not in (None, 3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    return reverse(images, axes)


def flip_left_right(image):
    """Return pictures mirrored from left to right."""
    return _mirrored(_checked(image), [-2])


def flip_up_down(image):
    """Return pictures mirrored from top to bottom."""
    return _mirrored(_checked(image), [-3])


def transpose(image, name=None):
    """Return pictures with rows and columns exchanged."""
    return _exchanged(_checked(image))


def rot90(image, k=1, name=None):
    """Return pictures turned counter-clockwise by k quarters."""
    turns = {
        0: lambda images: images,
        1: lambda images: _exchanged(_mirrored(images, [-2])),
        2: lambda images: _mirrored(images, [-3, -2]),
        3: lambda images: _mirrored(_exchanged(images), [-2]),
    }
    return turns[k % 4](_checked(image))


# ---- values --------------------------------------------------------------------------------------


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Return pictures as another dtype; integers stand for 0 to 1."""
    image = convert_to_tensor(image)
    dtype = _dtypes.as_dtype(dtype)
    for what, kind in (("", dtype), ("image ", image.dtype)):
        if not kind.is_floating and not kind.is_integer:
            raise AttributeError(f"{what}dtype must be either floating point or integer")
    if dtype == image.dtype:
        return image
    if image.dtype.is_integer and dtype.is_integer:
        largest, wanted = image.dtype.max, dtype.max
        if largest > wanted:
            scaled = image // _number((largest + 1) // (wanted + 1), image.dtype)
            return saturate_cast(scaled, dtype) if saturate else cast(scaled, dtype)
        wide = saturate_cast(image, dtype) if saturate else cast(image, dtype)
        return wide * _number((wanted + 1) // (largest + 1), dtype)
    if image.dtype.is_floating and dtype.is_floating:
        return cast(image, dtype)
    if image.dtype.is_integer:
        return cast(image, dtype) * _number(1.0 / image.dtype.max, dtype)
    scaled = image * _number(dtype.max + 0.5, image.dtype)
    return saturate_cast(scaled, dtype) if saturate else cast(scaled, dtype)


def _in_floats(function, image, saturate=True):
    """Call a function of floats with pictures of any dtype."""
    image = convert_to_tensor(image)
    original = image.dtype
    if original in (_dtypes.float16, _dtypes.float32):
        return function(image)
    return convert_image_dtype(
        function(convert_image_dtype(image, _dtypes.float32)), original, saturate=saturate
    )


def adjust_brightness(image, delta):
    """Return pictures with a value added."""
    return _in_floats(lambda x: x + cast(delta, x.dtype), image)


def adjust_contrast(images, contrast_factor):
    """Return pictures with the differences from their means scaled."""

    def scaled(x):
        mean = reduce_mean(x, [-3, -2], True)
        return (x - mean) * _number(contrast_factor, x.dtype) + mean

    return _in_floats(scaled, images)


def _at_least(number, least) -> bool:
    """Whether a number is at least another, as far as its value is known."""
    found = static_value(number)
    return found is None or bool((found >= least).all())


def adjust_gamma(image, gamma=1, gain=1):
    """Return gain x^gamma."""
    _check(_at_least(gamma, 0), "Gamma should be a non-negative real number.")
    return _in_floats(
        lambda x: _number(float(gain), x.dtype) * ops["Pow"](x, _number(float(gamma), x.dtype)),
        image,
    )


_COLOURED = (_dtypes.float16, _dtypes.bfloat16, _dtypes.float32, _dtypes.float64)


def _colours(images, op: str):
    """Pictures of three channels, as a tensor of floats; an array of numpy becomes float32."""
    if not isinstance(images, Tensor) and _mica.tf_executing_eagerly():
        images = convert_to_tensor(images, _dtypes.float32)
    x = convert_to_tensor(images)
    _check_dtype(x, _COLOURED)
    if x.shape.rank == 0 or (x.shape.rank and x.shape[-1] not in (None, 3)):
        message = f"[{op}] images must have 3 channels, not the shape {x.shape}"
        if not _is_eager(x):
            raise ValueError(message)

        raise FailedPreconditionError(None, None, message)
    return x


def rgb_to_hsv(images, name=None):
    """Return colours as hue, saturation and value."""
    return _rgb_to_hsv(_colours(images, "RGBToHSV"))


def _rgb_to_hsv(x):
    # Where channels are equal one of them is the largest or smallest, which decides about slopes.
    r, g, b = (x[..., i] for i in builtins_range(3))
    red = ops["LogicalAnd"](r >= b, r >= g)
    green = ops["LogicalAnd"](g > r, g >= b)
    value = where(red, r, where(green, g, b))
    red_is_least = ops["LogicalAnd"](r < b, r < g)
    least = where(red_is_least, r, where(ops["LogicalAnd"](g <= r, g < b), g, b))
    spread = value - least
    one = ops["OnesLike"](spread)
    # As TensorFlow counts it: a channel that is not positive has no influence on the saturation.
    colour = value - where(least > 0, least, ops["StopGradient"](least))
    saturation = where(value > 0, colour / where(value > 0, value, one), 0.0 * value)
    safe = where(spread > 0, spread, one)
    hue = where(red, (g - b) / safe, where(green, (b - r) / safe + 2.0, (r - g) / safe + 4.0))
    hue = hue / 6.0
    hue = where(spread > 0, where(hue < 0, hue + 1.0, hue), 0.0 * hue)
    return stack([hue, saturation, value], -1)


def hsv_to_rgb(images, name=None):
    """Return colours of hue, saturation and value as red, green and blue; it has no derivative."""
    return _hsv_to_rgb(ops["StopGradient"](_colours(images, "HSVToRGB")))


def _hsv_to_rgb(x):
    hue, saturation, value = (x[..., i] for i in builtins_range(3))
    turn = hue * 6.0
    parts = [
        clip_by_value(ops["Abs"](turn - 3.0) - 1.0, 0.0, 1.0),
        clip_by_value(2.0 - ops["Abs"](turn - 2.0), 0.0, 1.0),
        clip_by_value(2.0 - ops["Abs"](turn - 4.0), 0.0, 1.0),
    ]
    return stack([((1.0 - saturation) + saturation * p) * value for p in parts], -1)


def _check_channels(x) -> None:
    if x.shape.rank is not None and (x.shape.rank < 3 or x.shape[-1] not in (None, 3)):
        message = f"input must have 3 channels and at least 3 dimensions, not the shape {x.shape}"
        if x.shape.rank < 3 and not _is_eager(x):
            raise ValueError(message)
        _refuse(message)


def adjust_saturation(image, saturation_factor, name=None):
    """Return pictures with the saturation of their colours scaled."""

    def scaled(x):
        _check_channels(x)
        hue, saturation, value = _hue_saturation_value(x)
        saturation = clip_by_value(saturation * _number(saturation_factor, x.dtype), 0.0, 1.0)
        chroma = saturation * value
        turn = hue * 6.0
        second = chroma * (1.0 - ops["Abs"](ops["FloorMod"](turn, 2.0) - 1.0))
        parts = _of_sector(turn, chroma, second, ops["ZerosLike"](chroma))
        return stack(parts, -1) + expand_dims(value - chroma, -1)

    return _in_floats(scaled, image)


def _hue_saturation_value(x) -> list:
    """What _rgb_to_hsv gives, by the operations of TensorFlow's kernel: the same bits."""
    r, g, b = (x[..., i] for i in builtins_range(3))
    value = ops["Maximum"](r, ops["Maximum"](g, b))
    spread = value - ops["Minimum"](r, ops["Minimum"](g, b))
    one = ops["OnesLike"](spread)
    saturation = where(value > 0, spread / where(value > 0, value, one), ops["ZerosLike"](value))
    scale = 1.0 / (6.0 * where(spread > 0, spread, one))
    hue = where(
        r == value,
        scale * (g - b),
        where(g == value, scale * (b - r) + 2.0 / 6.0, scale * (r - g) + 4.0 / 6.0),
    )
    hue = where(spread > 0, hue, ops["ZerosLike"](hue))
    return [where(hue < 0, hue + 1.0, hue), saturation, value]


def _of_sector(turn, largest, middle, least) -> list:
    """Red, green and blue of their sizes and of the sector of the wheel, 0 to 6, they are in."""
    sectors = [turn < limit for limit in (1.0, 2.0, 3.0, 4.0, 5.0)]
    orders = [
        (largest, middle, least, least, middle, largest),
        (middle, largest, largest, middle, least, least),
        (least, least, middle, largest, largest, middle),
    ]
    found = []
    for order in orders:
        channel = order[5]
        for sector in (4, 3, 2, 1, 0):
            channel = where(sectors[sector], order[sector], channel)
        found.append(channel)
    return found


def adjust_hue(image, delta, name=None):
    """Return pictures with the hue of their colours moved."""
    if _mica.tf_executing_eagerly():
        inside = _at_least(delta, -1) and _at_least(-delta, -1)
        _check(inside, "delta must be in the interval [-1, 1]")

    def moved(x):
        _check_channels(x)
        turn, largest, least = _place_on_wheel(x)
        turn = ops["FloorMod"](turn + _number(delta, x.dtype) * 6.0, _number(6.0, x.dtype))
        sector = floor(turn)
        ratio = turn - sector
        falls = ops["FloorMod"](sector, _number(2.0, x.dtype)) == 1.0
        middle = least + where(falls, 1.0 - ratio, ratio) * (largest - least)
        return stack(_of_sector(turn, largest, middle, least), -1)

    return _in_floats(moved, image)


def _place_on_wheel(x) -> list:
    """Hues, 0 to 6, and the largest and the smallest channel."""
    r, g, b = (x[..., i] for i in builtins_range(3))
    largest = ops["Maximum"](r, ops["Maximum"](g, b))
    least = ops["Minimum"](r, ops["Minimum"](g, b))
    spread = largest - least
    safe = where(spread > 0, spread, ops["OnesLike"](spread))
    both = ops["LogicalAnd"]
    from_red = where(
        b < g,
        (g - least) / safe,
        where(b > r, 4.0 + (r - least) / safe, 5.0 + (1.0 - (b - least) / safe)),
    )
    from_green = where(
        b < r,
        1.0 + (1.0 - (r - least) / safe),
        where(both(b > g, b > r), 3.0 + (1.0 - (g - least) / safe), 2.0 + (b - least) / safe),
    )
    turn = where(r < g, from_green, from_red)
    return [where(spread > 0, turn, ops["ZerosLike"](turn)), largest, least]


def rgb_to_grayscale(images, name=None):
    """Return one channel of brightness."""

    def gray(x):
        red, green, blue = (x[..., i] for i in builtins_range(3))
        return expand_dims(red * 0.2989 + green * 0.587 + blue * 0.114, -1)

    images = convert_to_tensor(images)
    original = images.dtype
    return convert_image_dtype(gray(convert_image_dtype(images, _dtypes.float32)), original)


def grayscale_to_rgb(images, name=None):
    """Return three equal channels."""
    images = convert_to_tensor(images)
    rank = images.shape.rank
    if rank is None:
        ones = ops["Fill"](expand_dims(ops["Rank"](images) - 1, 0), 1)
        return tile(images, concat([ones, [3]], 0))
    last = images.shape[-1]
    _check(last is None or last == 1, "Last dimension of a grayscale image should be size 1.")
    return _with_sizes(tile(images, [1] * (rank - 1) + [3]), [*images.shape.as_list()[:-1], 3])


_SIGNED = (*_COLOURED, _dtypes.int8, _dtypes.int16, _dtypes.int32, _dtypes.int64)


def total_variation(images, name=None):
    """Return the sums of differences of neighbouring pixels."""
    images = convert_to_tensor(images)
    if images.shape.rank not in (3, 4):
        raise ValueError("'images' must be either 3 or 4-dimensional.")
    _check_dtype(images, _SIGNED)
    if images.shape.rank == 3:
        rows, columns = images[1:] - images[:-1], images[:, 1:] - images[:, :-1]
        axes = None
    else:
        rows, columns = images[:, 1:] - images[:, :-1], images[:, :, 1:] - images[:, :, :-1]
        axes = [1, 2, 3]
    return reduce_sum(ops["Abs"](rows), axes) + reduce_sum(ops["Abs"](columns), axes)


def image_gradients(image):
    """Return differences of neighbouring rows and of neighbouring columns."""
    image = convert_to_tensor(image)
    if image.shape.rank != 4:
        raise ValueError("image_gradients expects a 4D tensor [batch_size, h, w, d]")
    down = pad(image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    across = pad(image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return down, across


def sobel_edges(image):
    """Return the Sobel derivatives down and across, stacked."""
    from .nn import depthwise_conv2d

    x = convert_to_tensor(image)
    kernels = [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]]
    kernel = permute(convert_to_tensor(kernels, x.dtype), [1, 2, 0])
    channels = shape(x)[3]
    filters = tile(expand_dims(kernel, 2), stack([1, 1, channels, 1]))
    wide = pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    edges = depthwise_conv2d(wide, filters, [1, 1, 1, 1], "VALID")
    return reshape(edges, concat([shape(x), [2]], 0))


def per_image_standardization(image):
    """Return pictures with mean 0 and variance 1."""
    image = _checked(image)
    for n in [] if image.shape.rank is None else image.shape.as_list()[-3:]:
        _check(n != 0, f"inner 3 dims of 'image.shape' must be > 0: {image.shape}")
    x = cast(image, _dtypes.float32)
    count = cast(ops["Prod"](shape(x)[-3:], 0), _dtypes.float32)
    mean = reduce_mean(x, [-1, -2, -3], True)
    variance = reduce_mean(ops["Square"](x - mean), [-1, -2, -3], True)
    deviation = ops["Maximum"](ops["Sqrt"](variance), ops["Rsqrt"](count))
    return (x - mean) / deviation


def _mixed(images, kernel):
    x = convert_to_tensor(images)
    return ops["Einsum"]([x, convert_to_tensor(kernel, x.dtype)], equation="...i,ij->...j")


def rgb_to_yuv(images):
    """Return brightness and two colour differences."""
    return _mixed(
        images,
        [
            [0.299, -0.14714119, 0.61497538],
            [0.587, -0.28886916, -0.51496512],
            [0.114, 0.43601035, -0.10001026],
        ],
    )


def yuv_to_rgb(images):
    """Return red, green and blue of brightness and two colour differences."""
    return _mixed(
        images,
        [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]],
    )


def rgb_to_yiq(images):
    """Return brightness and two colour differences, as NTSC has them."""
    return _mixed(
        images,
        [
            [0.299, 0.59590059, 0.2115],
            [0.587, -0.27455667, -0.52273617],
            [0.114, -0.32134392, 0.31119955],
        ],
    )


def yiq_to_rgb(images):
    """Return red, green and blue of what NTSC has."""
    return _mixed(
        images,
        [
            [1.0, 1.0, 1.0],
            [0.95598634, -0.27201283, -1.10674021],
            [0.6208248, -0.64720424, 1.70423049],
        ],
    )


def psnr(a, b, max_val, name=None):
    """Return the peak signal-to-noise ratio of two pictures."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    largest = convert_image_dtype(cast(max_val, a.dtype), _dtypes.float32)
    a, b = convert_image_dtype(a, _dtypes.float32), convert_image_dtype(b, _dtypes.float32)
    error = reduce_mean(ops["SquaredDifference"](a, b), [-3, -2, -1])
    return 20.0 * ops["Log"](largest) / ops["Log"](_number(10.0, _dtypes.float32)) - _number(
        10.0 / _python_math.log(10.0), _dtypes.float32
    ) * ops["Log"](error)


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Return the patches of pictures, each flattened into the channels."""
    x = of_rank(convert_to_tensor(images), 4)
    if x.shape.rank != 4:
        message = f"'images' must have 4 dimensions, not the shape {x.shape}"
        if _is_eager(x):
            _refuse(message)
        raise ValueError(message)
    _check_patches(sizes, strides, rates, padding)
    depth = x.shape[3]
    for axis in (1, 2):
        x, places = _patch_places(x, axis, sizes[axis], strides[axis], rates[axis], padding)
        x = ops["GatherV2"](x, places, axis + (axis == 2))
    # (batch, row, in the patch, column, in the patch, channel)
    dims = sizes_of(x)
    whole = stack([dims[0], dims[1], dims[3], sizes[1] * sizes[2] * dims[5]])
    found = reshape(permute(x, [0, 1, 3, 2, 4, 5]), whole)
    found.set_shape([x.shape[0], x.shape[1], x.shape[3], depth and sizes[1] * sizes[2] * depth])
    return found


def _check_patches(sizes, strides, rates, padding) -> None:
    eager = _mica.tf_executing_eagerly()
    if padding not in ("VALID", "SAME"):
        message = f"`padding` must be 'VALID' or 'SAME', not {padding!r}"
        if eager:
            _refuse(message)
        raise ValueError(message)
    for what, numbers in (("sizes", sizes), ("strides", strides), ("rates", rates)):
        message = f"`{what}` must be [1, rows, columns, 1], not {list(numbers)}"
        if len(numbers) != 4 and not eager:
            raise ValueError(message)
        if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
            _refuse(message)


def _patch_places(x, axis: int, size: int, stride: int, rate: int, padding: str):
    """Return x with zeros around an axis, and the places (patch, in the patch) along it."""
    at = axis + (axis == 2)
    length = sizes_of(x)[at]
    reach = (size - 1) * rate + 1
    if padding == "SAME":
        count = (length + stride - 1) // stride
        missing = _most((count - 1) * stride + reach - length, 0)
        pairs = [stack([0, 0])] * x.shape.rank
        pairs[at] = stack([missing // 2, missing - missing // 2])
        x = pad(x, stack(pairs))
    else:
        count = _most((length - reach) // stride + 1, 0)
        if isinstance(length, int) and length - reach <= -2 * stride and _is_eager(x):
            _refuse(f"a patch over {reach} elements does not fit an axis of {length}")
    places = expand_dims(range(count) * stride, 1) + expand_dims(range(size) * rate, 0)
    return x, places


# ---- at random -----------------------------------------------------------------------------------


def _cropped(value, size, draw):
    value = convert_to_tensor(value)
    size = cast(convert_to_tensor(size), _dtypes.int32)
    limit = shape(value) - size + 1
    offset = ops["FloorMod"](draw(shape(limit)), limit)
    return ops["Slice"](value, offset, size)


def random_crop(value, size, seed=None, name=None):
    """Return a part of a tensor of a given size, somewhere."""
    top = _dtypes.int32.max
    return _cropped(
        value, size, lambda n: _random.uniform(n, 0, top, dtype=_dtypes.int32, seed=seed)
    )


def stateless_random_crop(value, size, seed, name=None):
    """Return a part of a tensor of a given size, where a seed says."""
    top = _dtypes.int32.max
    draw = _random.stateless_uniform
    return _cropped(value, size, lambda n: draw(n, seed, 0, top, _dtypes.int32))


def stateless_random_brightness(image, max_delta, seed):
    """Return a picture with a value within max_delta added."""
    _check_delta(max_delta)
    return adjust_brightness(image, _random.stateless_uniform([], seed, -max_delta, max_delta))


def stateless_random_contrast(image, lower, upper, seed):
    """Return a picture with its contrast scaled by a factor between two bounds."""
    _check_factors(lower, upper)
    return adjust_contrast(image, _random.stateless_uniform([], seed, lower, upper))


def random_brightness(image, max_delta, seed=None):
    """Return a picture with a value within max_delta added."""
    _check_delta(max_delta)
    return adjust_brightness(image, _random.uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image, lower, upper, seed=None):
    """Return a picture with its contrast scaled by a factor between two bounds."""
    _check_factors(lower, upper)
    return adjust_contrast(image, _random.uniform([], lower, upper, seed=seed))


def _check_delta(max_delta) -> None:
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")


def _check_factors(lower, upper) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_saturation(image, lower, upper, seed=None):
    """Return a picture with its saturation scaled by a factor between two bounds."""
    _check_factors(lower, upper)
    return adjust_saturation(image, _random.uniform([], lower, upper, seed=seed))


def stateless_random_saturation(image, lower, upper, seed=None):
    """Return a picture with its saturation scaled by a factor between two bounds."""
    _check_factors(lower, upper)
    return adjust_saturation(image, _random.stateless_uniform([], seed, lower, upper))


def _check_hue(max_delta) -> None:
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be between 0 and 0.5.")


def random_hue(image, max_delta, seed=None):
    """Return a picture with its hue moved by at most max_delta."""
    _check_hue(max_delta)
    return adjust_hue(image, _random.uniform([], -max_delta, max_delta, seed=seed))


def stateless_random_hue(image, max_delta, seed):
    """Return a picture with its hue moved by at most max_delta."""
    _check_hue(max_delta)
    return adjust_hue(image, _random.stateless_uniform([], seed, -max_delta, max_delta))


def _flipped(image, axis: int, draw):
    """Return pictures flipped along an axis, counted from the end, as numbers say.

    One picture is flipped when its own number is small, those of a batch where theirs are large.
    """
    image = _checked(image)
    if image.shape.rank not in (None, 3, 4):
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    leading = shape(image)[:-3]
    numbers = draw(leading)
    is_single = ops["Equal"](ops["Rank"](image), 3)
    turned = where(is_single, numbers < 0.5, round(numbers) == 1.0)
    turned = reshape(turned, concat([leading, [1, 1, 1]], 0))
    if image.shape.rank == 4:  # a sum with weights, as TensorFlow's: 0 times infinity is NaN
        part = cast(turned, image.dtype)
        return part * reverse(image, [axis]) + (1 - part) * image
    return where(turned, reverse(image, [axis]), image)


def random_flip_left_right(image, seed=None):
    """Return a picture, mirrored from left to right or not."""
    return _flipped(image, -2, lambda n: _random.uniform(n, seed=seed))


def random_flip_up_down(image, seed=None):
    """Return a picture, mirrored from top to bottom or not."""
    return _flipped(image, -3, lambda n: _random.uniform(n, seed=seed))


def stateless_random_flip_left_right(image, seed):
    """Return a picture, mirrored from left to right or not, as a seed says."""
    return _flipped(image, -2, lambda n: _random.stateless_uniform(n, seed))


def stateless_random_flip_up_down(image, seed):
    """Return a picture, mirrored from top to bottom or not, as a seed says."""
    return _flipped(image, -3, lambda n: _random.stateless_uniform(n, seed))


# Names of other files, found when they are first touched.
_ELSEWHERE = {
    "decode_and_crop_jpeg": "_codecs",
    "decode_bmp": "_codecs",
    "decode_gif": "_codecs",
    "decode_image": "_codecs",
    "decode_jpeg": "_codecs",
    "decode_png": "_codecs",
    "encode_jpeg": "_codecs",
    "encode_png": "_codecs",
    "extract_jpeg_shape": "_codecs",
    "is_jpeg": "_codecs",
    "adjust_jpeg_quality": "_glimpses",
    "extract_glimpse": "_glimpses",
    "random_jpeg_quality": "_glimpses",
    "sample_distorted_bounding_box": "_glimpses",
    "stateless_random_jpeg_quality": "_glimpses",
    "stateless_sample_distorted_bounding_box": "_glimpses",
    "combined_non_max_suppression": "_boxes",
    "crop_and_resize": "_boxes",
    "draw_bounding_boxes": "_boxes",
    "non_max_suppression": "_boxes",
    "non_max_suppression_overlaps": "_boxes",
    "non_max_suppression_padded": "_boxes",
    "non_max_suppression_with_scores": "_boxes",
    "ssim": "_similarity",
    "ssim_multiscale": "_similarity",
}


def __getattr__(name: str):
    if name not in _ELSEWHERE:
        raise _missing_name(__name__, name)
    import importlib

    value = getattr(importlib.import_module(f".{_ELSEWHERE[name]}", __package__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([n for n in globals() if not n.startswith("_")] + [*_ELSEWHERE])
