"""How alike pictures are, of tf.image: the index of structural similarity."""

from __future__ import annotations

from . import _dtypes
from ._array import concat, range, reshape, shape, stack, tile
from ._core import convert_to_tensor, ops
from ._math import cast, reduce_mean
from ._reduce import reduce_prod
from ._select import pad
from .image import convert_image_dtype
from .nn import avg_pool2d, depthwise_conv2d


def _gauss(size: int, sigma: float):
    places = cast(range(size), _dtypes.float32) - (size - 1) / 2.0
    weights = places * places * (-0.5 / (sigma * sigma))
    sums = reshape(weights, [1, -1]) + reshape(weights, [-1, 1])
    weights = ops["Softmax"](reshape(sums, [1, -1]))
    return reshape(weights, [size, size, 1, 1])


def _parts(x, y, largest, compensation, size, sigma, k1, k2, as_map=False):
    """The index, and its part without brightness, of each channel."""
    depth = shape(x)[-1]
    kernel = tile(_gauss(size, sigma), stack([1, 1, depth, 1]))

    def smooth(image):
        leading = shape(image)[:-3]
        flat = reshape(image, concat([[-1], shape(image)[-3:]], 0))
        done = depthwise_conv2d(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(done, concat([leading, shape(done)[1:]], 0))

    c1, c2 = (k1 * largest) ** 2, (k2 * largest) ** 2
    mean_x, mean_y = smooth(x), smooth(y)
    twice, squares = mean_x * mean_y * 2.0, mean_x * mean_x + mean_y * mean_y
    luminance = (twice + c1) / (squares + c1)
    both, each = smooth(x * y) * 2.0, smooth(x * x + y * y)
    c2 *= compensation
    structure = (both - twice + c2) / (each - squares + c2)
    if as_map:
        return luminance * structure, structure
    return reduce_mean(luminance * structure, [-3, -2]), reduce_mean(structure, [-3, -2])


def _floats(img1, img2, max_val):
    img1, img2 = convert_to_tensor(img1), convert_to_tensor(img2)
    largest = convert_image_dtype(cast(max_val, img1.dtype), _dtypes.float32)
    return (
        convert_image_dtype(img1, _dtypes.float32),
        convert_image_dtype(img2, _dtypes.float32),
        largest,
    )


def ssim(
    img1,
    img2,
    max_val,
    filter_size=11,
    filter_sigma=1.5,
    k1=0.01,
    k2=0.03,
    return_index_map=False,
):
    """Return the index of structural similarity of pictures, 1 for equal ones."""
    x, y, largest = _floats(img1, img2, max_val)
    value, _ = _parts(
        x, y, largest, 1.0, filter_size, filter_sigma, k1, k2, as_map=return_index_map
    )
    return reduce_mean(value, [-1])


def _halved(image):
    """Pictures of half the size; odd ones repeat their last row or column."""
    odd = stack([shape(image)[1] % 2, shape(image)[2] % 2])
    zero = ops["ZerosLike"](odd)
    paddings = ops["ConcatV2"]([[[0, 0]], stack([zero, odd], 1), [[0, 0]]], 0)
    return avg_pool2d(pad(image, paddings, mode="SYMMETRIC"), 2, 2, "VALID")


def _positive(x):
    """Relu whose derivative is a product, as TensorFlow's: an infinite slope times 0 is NaN."""
    return x * ops["StopGradient"](cast(x > 0, x.dtype))


def ssim_multiscale(
    img1,
    img2,
    max_val,
    power_factors=(0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size=11,
    filter_sigma=1.5,
    k1=0.01,
    k2=0.03,
):
    """Return the index over several sizes, each half of the one before."""
    x, y, largest = _floats(img1, img2, max_val)
    leading = shape(x)[:-3]
    x = reshape(x, concat([[-1], shape(x)[-3:]], 0))
    y = reshape(y, concat([[-1], shape(y)[-3:]], 0))
    factors, value = [], None
    for k, _ in enumerate(power_factors):
        if k:
            x, y = _halved(x), _halved(y)
        value, structure = _parts(x, y, largest, 1.0, filter_size, filter_sigma, k1, k2)
        factors.append(_positive(structure))
    factors[-1] = _positive(value)
    powers = convert_to_tensor(list(power_factors), _dtypes.float32)
    product = reduce_prod(ops["Pow"](stack(factors, -1), powers), [-1])
    return reshape(reduce_mean(product, [-1]), leading)
