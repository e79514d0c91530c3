"""tf.image: sizes, flips, colours. Reading files of pictures is elsewhere."""

from __future__ import annotations

from builtins import range as builtins_range

from . import _dtypes
from ._array import concat, expand_dims, range, reshape, shape, stack, tile, where
from ._array import transpose as permute
from ._core import convert_to_tensor, ops
from ._elementwise import clip_by_value, floor, round, saturate_cast
from ._math import cast, reduce_mean, reduce_sum
from ._missing import missing as _missing_name
from ._reduce import reduce_max, reduce_min
from ._select import pad, reverse, split


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


def _batched(function, images, *arguments):
    """Call a function of a batch of pictures with one of them, or with a batch."""
    images = convert_to_tensor(images)
    if images.shape.rank == 3:
        return function(expand_dims(images, 0), *arguments)[0]
    if images.shape.rank != 4:
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    return function(images, *arguments)


def _number(value, dtype):
    return convert_to_tensor(value, dtype)


def _bilinear_kernel(x):
    return ops["Maximum"](0.0, 1.0 - ops["Abs"](x))


def _keys_kernel(x):
    x = ops["Abs"](x)
    near = ((1.5 * x - 2.5) * x) * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return where(x >= 2.0, 0.0 * x, where(x >= 1.0, far, near))


def _mitchell_kernel(x):
    x = ops["Abs"](x)
    near = ((7.0 * x / 6.0 - 2.0) * x) * x + 16.0 / 18.0
    far = (((-7.0 / 18.0) * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0
    return where(x >= 2.0, 0.0 * x, where(x >= 1.0, far, near))


def _gaussian_kernel(x):
    return where(ops["Abs"](x) >= 1.5, 0.0 * x, ops["Exp"](-2.0 * x * x))


def _lanczos_kernel(radius):
    def kernel(x):
        x = ops["Abs"](x)
        pi = 3.141592653589793
        safe = where(x > 1e-3, x, ops["OnesLike"](x))
        value = radius * ops["Sin"](pi * safe) * ops["Sin"](pi * safe / radius)
        value = value / (pi * pi * safe * safe)
        value = where(x <= 1e-3, ops["OnesLike"](x), value)
        return where(x > radius, 0.0 * x, value)

    return kernel


_KERNELS = {
    "bilinear": (_bilinear_kernel, 1.0),
    "bicubic": (_keys_kernel, 2.0),
    "mitchellcubic": (_mitchell_kernel, 2.0),
    "gaussian": (_gaussian_kernel, 1.5),
    "lanczos3": (_lanczos_kernel(3.0), 3.0),
    "lanczos5": (_lanczos_kernel(5.0), 5.0),
}


def _by_table(centre):
    """Return positions in steps of 1/1024, which TensorFlow's table of bicubic weights has."""
    base = floor(centre - 0.5)
    return base + round((centre - 0.5 - base) * 1024.0) / 1024.0 + 0.5


def _weights(size, target, kernel, antialias):
    """Return the matrix (target, size) that resamples an axis."""
    wide, narrow = cast(size, _dtypes.float32), cast(target, _dtypes.float32)
    scale = wide / narrow
    centre = expand_dims((cast(range(target), _dtypes.float32) + 0.5) * scale, 1)
    stretch = ops["Maximum"](scale, 1.0) if antialias else _number(1.0, _dtypes.float32)
    places = expand_dims(cast(range(size), _dtypes.float32) + 0.5, 0)
    function, radius = kernel
    if function is _keys_kernel and not antialias:
        centre = _by_table(centre)
    distance = places - centre
    weights = function(distance / stretch)
    inside = ops["Abs"](distance) <= radius * stretch + 1e-6
    weights = where(inside, weights, 0.0 * weights)
    total = reduce_sum(weights, 1, True)
    small = ops["Abs"](total) < 1e-6
    return weights / where(small, ops["OnesLike"](total), total)


def _area_weights(size, target):
    wide, narrow = cast(size, _dtypes.float32), cast(target, _dtypes.float32)
    scale = wide / narrow
    begin = expand_dims(cast(range(target), _dtypes.float32) * scale, 1)
    end = begin + scale
    low = expand_dims(cast(range(size), _dtypes.float32), 0)
    overlap = ops["Minimum"](end, low + 1.0) - ops["Maximum"](begin, low)
    return ops["Maximum"](overlap, 0.0) / scale


def _resample(images, size, method, antialias):
    height, width = size[0], size[1]
    sizes = shape(images)
    if method == "nearest":
        rows = _nearest(sizes[1], height)
        columns = _nearest(sizes[2], width)
        return ops["GatherV2"](ops["GatherV2"](images, rows, 1), columns, 2)
    images = cast(images, _dtypes.float32)
    if method == "area":
        down, across = _area_weights(sizes[1], height), _area_weights(sizes[2], width)
    else:
        kernel = _KERNELS[method]
        down = _weights(sizes[1], height, kernel, antialias)
        across = _weights(sizes[2], width, kernel, antialias)
    result = ops["Einsum"]([down, images], equation="hy,nyxc->nhxc")
    return ops["Einsum"]([across, result], equation="wx,nhxc->nhwc")


def _nearest(size, target):
    scale = cast(size, _dtypes.float32) / cast(target, _dtypes.float32)
    places = floor((cast(range(target), _dtypes.float32) + 0.5) * scale)
    return ops["Minimum"](cast(places, _dtypes.int32), size - 1)


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
    size = cast(convert_to_tensor(size), _dtypes.int32)

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

    def batch(images):
        target = cast(stack([target_height, target_width]), _dtypes.float64)
        sizes = cast(shape(images)[1:3], _dtypes.float64)
        fitted = sizes / reduce_max(sizes / target)
        margin = floor((target - fitted) / 2)
        small = cast(floor(fitted), _dtypes.int32)
        top, left = (cast(ops["Maximum"](margin[i], 0), _dtypes.int32) for i in (0, 1))
        resized = _resample(images, small, str(method), antialias)
        return pad_to_bounding_box(resized, top, left, target_height, target_width)

    return _batched(batch, image)


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Return a part of pictures."""

    def batch(images):
        sizes = shape(images)
        begin = stack([0, offset_height, offset_width, 0])
        return ops["Slice"](images, begin, stack([sizes[0], target_height, target_width, sizes[3]]))

    return _batched(batch, image)


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Return pictures with zeros around them."""

    def batch(images):
        height, width = shape(images)[1], shape(images)[2]
        below = target_height - offset_height - height
        beside = target_width - offset_width - width
        rows = stack([convert_to_tensor(offset_height, _dtypes.int32), below])
        columns = stack([convert_to_tensor(offset_width, _dtypes.int32), beside])
        none = convert_to_tensor([0, 0], _dtypes.int32)
        return pad(images, stack([none, rows, columns, none]))

    return _batched(batch, image)


def resize_with_crop_or_pad(image, target_height, target_width):
    """Return pictures cut or filled up in the middle to a size."""

    def batch(images):
        height, width = shape(images)[1], shape(images)[2]
        missing_rows, missing_columns = target_height - height, target_width - width
        cut = crop_to_bounding_box(
            images,
            ops["Maximum"](-missing_rows // 2, 0),
            ops["Maximum"](-missing_columns // 2, 0),
            ops["Minimum"](target_height, height),
            ops["Minimum"](target_width, width),
        )
        return pad_to_bounding_box(
            cut,
            ops["Maximum"](missing_rows // 2, 0),
            ops["Maximum"](missing_columns // 2, 0),
            target_height,
            target_width,
        )

    return _batched(batch, image)


def central_crop(image, central_fraction):
    """Return the middle of pictures."""
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError(f"central_fraction must be in range (0.0, 1.0]: {central_fraction}")

    def batch(images):
        sizes = shape(images)
        starts = []
        for n in (sizes[1], sizes[2]):
            length = cast(n, _dtypes.float64)
            start = (length - length * central_fraction) / 2
            starts.append(cast(start, _dtypes.int32))
        return crop_to_bounding_box(
            images, starts[0], starts[1], sizes[1] - 2 * starts[0], sizes[2] - 2 * starts[1]
        )

    return _batched(batch, image)


# ---- flips ---------------------------------------------------------------------------------------


def flip_left_right(image):
    """Return pictures mirrored from left to right."""
    return _batched(lambda images: reverse(images, [2]), image)


def flip_up_down(image):
    """Return pictures mirrored from top to bottom."""
    return _batched(lambda images: reverse(images, [1]), image)


def transpose(image, name=None):
    """Return pictures with rows and columns exchanged."""
    return _batched(lambda images: permute(images, [0, 2, 1, 3]), image)


def rot90(image, k=1, name=None):
    """Return pictures turned counter-clockwise by k quarters."""
    turns = {
        0: lambda images: images,
        1: lambda images: permute(reverse(images, [2]), [0, 2, 1, 3]),
        2: lambda images: reverse(images, [1, 2]),
        3: lambda images: reverse(permute(images, [0, 2, 1, 3]), [2]),
    }
    return _batched(turns[k % 4], image)


# ---- values --------------------------------------------------------------------------------------


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Return pictures as another dtype; integers stand for 0 to 1."""
    image = convert_to_tensor(image)
    dtype = _dtypes.as_dtype(dtype)
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
    return _in_floats(lambda x: x + _number(delta, x.dtype), image)


def adjust_contrast(images, contrast_factor):
    """Return pictures with the differences from their means scaled."""

    def scaled(x):
        mean = reduce_mean(x, [-3, -2], True)
        return (x - mean) * _number(contrast_factor, x.dtype) + mean

    return _in_floats(scaled, images)


def adjust_gamma(image, gamma=1, gain=1):
    """Return gain x^gamma."""
    return _in_floats(
        lambda x: _number(float(gain), x.dtype) * ops["Pow"](x, _number(float(gamma), x.dtype)),
        image,
    )


def rgb_to_hsv(images, name=None):
    """Return colours as hue, saturation and value."""
    x = convert_to_tensor(images)
    r, g, b = (x[..., i] for i in builtins_range(3))
    value = reduce_max(x, -1)
    spread = value - reduce_min(x, -1)
    one = ops["OnesLike"](spread)
    saturation = where(value > 0, spread / where(value > 0, value, one), 0.0 * value)
    safe = where(spread > 0, spread, one)
    hue = where(
        r == value,
        (g - b) / safe,
        where(g == value, (b - r) / safe + 2.0, (r - g) / safe + 4.0),
    )
    hue = hue / 6.0
    hue = where(spread > 0, where(hue < 0, hue + 1.0, hue), 0.0 * hue)
    return stack([hue, saturation, value], -1)


def hsv_to_rgb(images, name=None):
    """Return colours of hue, saturation and value as red, green and blue."""
    x = convert_to_tensor(images)
    hue, saturation, value = (x[..., i] for i in builtins_range(3))
    turn = hue * 6.0
    parts = [
        clip_by_value(ops["Abs"](turn - 3.0) - 1.0, 0.0, 1.0),
        clip_by_value(2.0 - ops["Abs"](turn - 2.0), 0.0, 1.0),
        clip_by_value(2.0 - ops["Abs"](turn - 4.0), 0.0, 1.0),
    ]
    return stack([((1.0 - saturation) + saturation * p) * value for p in parts], -1)


def adjust_saturation(image, saturation_factor, name=None):
    """Return pictures with the saturation of their colours scaled."""

    def scaled(x):
        hue, saturation, value = split(rgb_to_hsv(x), 3, -1)
        saturation = clip_by_value(saturation * _number(saturation_factor, x.dtype), 0.0, 1.0)
        return hsv_to_rgb(concat([hue, saturation, value], -1))

    return _in_floats(scaled, image)


def adjust_hue(image, delta, name=None):
    """Return pictures with the hue of their colours moved."""

    def moved(x):
        hue, saturation, value = split(rgb_to_hsv(x), 3, -1)
        hue = ops["FloorMod"](hue + _number(delta, x.dtype), _number(1.0, x.dtype))
        return hsv_to_rgb(concat([hue, saturation, value], -1))

    return _in_floats(moved, image)


def rgb_to_grayscale(images, name=None):
    """Return one channel of brightness."""

    def gray(x):
        weights = convert_to_tensor([0.2989, 0.587, 0.114], x.dtype)
        return expand_dims(reduce_sum(x * weights, -1), -1)

    images = convert_to_tensor(images)
    original = images.dtype
    return convert_image_dtype(gray(convert_image_dtype(images, _dtypes.float32)), original)


def grayscale_to_rgb(images, name=None):
    """Return three equal channels."""
    images = convert_to_tensor(images)
    multiples = [1] * (images.shape.rank - 1) + [3]
    return tile(images, multiples)


def total_variation(images, name=None):
    """Return the sums of differences of neighbouring pixels."""
    images = convert_to_tensor(images)
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

    def batch(images):
        x = cast(images, _dtypes.float32)
        count = cast(ops["Prod"](shape(x)[1:], 0), _dtypes.float32)
        mean = reduce_mean(x, [-1, -2, -3], True)
        variance = reduce_mean(ops["Square"](x - mean), [-1, -2, -3], True)
        deviation = ops["Maximum"](ops["Sqrt"](variance), ops["Rsqrt"](count))
        return (x - mean) / deviation

    return _batched(batch, image)


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
    largest = convert_image_dtype(
        convert_to_tensor(max_val, convert_to_tensor(a).dtype), _dtypes.float32
    )
    a = convert_image_dtype(convert_to_tensor(a), _dtypes.float32)
    b = convert_image_dtype(convert_to_tensor(b), _dtypes.float32)
    error = reduce_mean(ops["SquaredDifference"](a, b), [-3, -2, -1])
    log10 = 2.302585092994046
    return 20.0 * ops["Log"](largest) / log10 - 10.0 * ops["Log"](error) / log10


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Return the patches of pictures, each flattened into the channels."""
    x = convert_to_tensor(images)
    if padding not in ("VALID", "SAME"):
        raise ValueError(f"`padding` must be 'VALID' or 'SAME', not {padding!r}")
    for what, numbers in (("sizes", sizes), ("strides", strides), ("rates", rates)):
        if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
            raise ValueError(f"`{what}` must be [1, rows, columns, 1], not {list(numbers)}")
    for axis in (1, 2):
        x, places = _patch_places(x, axis, sizes[axis], strides[axis], rates[axis], padding)
        x = ops["GatherV2"](x, places, axis + (axis == 2))
    # (batch, row, in the patch, column, in the patch, channel)
    dims = shape(x)
    whole = stack([dims[0], dims[1], dims[3], dims[2] * dims[4] * dims[5]])
    return reshape(permute(x, [0, 1, 3, 2, 4, 5]), whole)


def _patch_places(x, axis: int, size: int, stride: int, rate: int, padding: str):
    """Return x with zeros around an axis, and the places (patch, in the patch) along it."""
    at = axis + (axis == 2)
    length = shape(x)[at]
    reach = (size - 1) * rate + 1
    if padding == "SAME":
        count = (length + stride - 1) // stride
        missing = ops["Maximum"]((count - 1) * stride + reach - length, 0)
        pairs = [stack([0, 0])] * x.shape.rank
        pairs[at] = stack([missing // 2, missing - missing // 2])
        x = pad(x, stack(pairs))
    else:
        count = ops["Maximum"]((length - reach) // stride + 1, 0)
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
    from . import random

    top = _dtypes.int32.max
    return _cropped(
        value, size, lambda n: random.uniform(n, 0, top, dtype=_dtypes.int32, seed=seed)
    )


def stateless_random_crop(value, size, seed, name=None):
    """Return a part of a tensor of a given size, where a seed says."""
    from . import random

    top = _dtypes.int32.max
    return _cropped(value, size, lambda n: random.stateless_uniform(n, seed, 0, top, _dtypes.int32))


def stateless_random_brightness(image, max_delta, seed):
    """Return a picture with a value within max_delta added."""
    from . import random

    return adjust_brightness(image, random.stateless_uniform([], seed, -max_delta, max_delta))


def stateless_random_contrast(image, lower, upper, seed):
    """Return a picture with its contrast scaled by a factor between two bounds."""
    from . import random

    return adjust_contrast(image, random.stateless_uniform([], seed, lower, upper))


def random_brightness(image, max_delta, seed=None):
    """Return a picture with a value within max_delta added."""
    from . import random

    return adjust_brightness(image, random.uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image, lower, upper, seed=None):
    """Return a picture with its contrast scaled by a factor between two bounds."""
    from . import random

    return adjust_contrast(image, random.uniform([], lower, upper, seed=seed))


def _check_factors(lower, upper) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_saturation(image, lower, upper, seed=None):
    """Return a picture with its saturation scaled by a factor between two bounds."""
    from . import random

    _check_factors(lower, upper)
    return adjust_saturation(image, random.uniform([], lower, upper, seed=seed))


def stateless_random_saturation(image, lower, upper, seed=None):
    """Return a picture with its saturation scaled by a factor between two bounds."""
    from . import random

    _check_factors(lower, upper)
    return adjust_saturation(image, random.stateless_uniform([], seed, lower, upper))


def _check_hue(max_delta) -> None:
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be between 0 and 0.5.")


def random_hue(image, max_delta, seed=None):
    """Return a picture with its hue moved by at most max_delta."""
    from . import random

    _check_hue(max_delta)
    return adjust_hue(image, random.uniform([], -max_delta, max_delta, seed=seed))


def stateless_random_hue(image, max_delta, seed):
    """Return a picture with its hue moved by at most max_delta."""
    from . import random

    _check_hue(max_delta)
    return adjust_hue(image, random.stateless_uniform([], seed, -max_delta, max_delta))


def _flipped(image, axis, draw):
    """Return pictures flipped as numbers say: one when its own is small, many when it is large."""
    image = convert_to_tensor(image)
    if image.shape.rank == 3:
        return where(draw([]) < 0.5, reverse(image, [axis]), image)
    turned = round(draw([shape(image)[0]])) == 1.0
    return where(reshape(turned, [-1, 1, 1, 1]), reverse(image, [axis + 1]), image)


def random_flip_left_right(image, seed=None):
    """Return a picture, mirrored from left to right or not."""
    from . import random

    return _flipped(image, 1, lambda n: random.uniform(n, seed=seed))


def random_flip_up_down(image, seed=None):
    """Return a picture, mirrored from top to bottom or not."""
    from . import random

    return _flipped(image, 0, lambda n: random.uniform(n, seed=seed))


def stateless_random_flip_left_right(image, seed):
    """Return a picture, mirrored from left to right or not, as a seed says."""
    from . import random

    return _flipped(image, 1, lambda n: random.stateless_uniform(n, seed))


def stateless_random_flip_up_down(image, seed):
    """Return a picture, mirrored from top to bottom or not, as a seed says."""
    from . import random

    return _flipped(image, 0, lambda n: random.stateless_uniform(n, seed))


# Names of other files, found when they are first touched.
_ELSEWHERE = {
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
