"""tf.signal: Fourier transforms, frames, windows."""

from __future__ import annotations

from builtins import range as builtins_range

import numpy as _numpy

from . import _dtypes, errors
from ._array import concat, expand_dims, range, reshape, shape, stack, transpose
from ._context import in_graph
from ._core import convert_to_tensor, ops
from ._elementwise import cos
from ._math import cast
from ._missing import finder as _finder
from ._refusals import check_true, refusal
from ._select import pad, pad_along, roll
from ._static import static_value

PI = 3.141592653589793

fft = ops["FFT"]
ifft = ops["IFFT"]
fft2d = ops["FFT2D"]
ifft2d = ops["IFFT2D"]
fft3d = ops["FFT3D"]
ifft3d = ops["IFFT3D"]

_COMPLEX = {_dtypes.float32: _dtypes.complex64, _dtypes.float64: _dtypes.complex128}


def _check_empty(op: str, x, lengths) -> None:
    """What is known to have no elements is not filled up with zeros."""
    if lengths is None or x.shape.num_elements() != 0 or x.shape.rank < len(lengths):
        return
    for size, length in zip(x.shape[-len(lengths) :].as_list(), lengths, strict=True):
        if 0 < size < length:
            text = f"[{op}] An axis must have length of at least {length}, but has {size}"
            raise ValueError(text) if in_graph() else errors.InvalidArgumentError(None, None, text)


def _real_transform(op: str, n: int):
    def transform(input_tensor, fft_length=None, name=None):
        x = convert_to_tensor(input_tensor, dtype_hint=_dtypes.float32)
        if x.dtype not in _COMPLEX:
            raise ValueError(f"`input_tensor` must be of float32 or float64, not {x.dtype.name}")
        lengths = shape(x)[-n:] if fft_length is None else fft_length
        lengths = convert_to_tensor(lengths, _dtypes.int32)
        _check_empty(op, x, static_value(lengths))
        return ops[op](x, lengths, Tcomplex=_COMPLEX[x.dtype], name=name)

    transform.__doc__ = ops[op].__doc__
    return transform


def _inverse_real_transform(op: str, n: int):
    def transform(input_tensor, fft_length=None, name=None):
        x = convert_to_tensor(input_tensor, dtype_hint=_dtypes.complex64)
        if not x.dtype.is_complex:
            raise ValueError(f"`input_tensor` must be complex, not {x.dtype.name}")
        if fft_length is None:
            if x.shape.rank is None:
                raise ValueError("Without fft_length the rank of input_tensor must be known")
            sizes = shape(x)[-n:]
            last = ops["Maximum"](2 * (sizes[-1] - 1), 0)
            lengths = concat([sizes[:-1], expand_dims(last, 0)], 0)
        else:
            lengths = convert_to_tensor(fft_length, _dtypes.int32)
            known = static_value(lengths)
            if known is not None:
                _check_empty(op, x, [*known[:-1], known[-1] // 2 + 1])
        lengths = cast(lengths, _dtypes.int32)
        return ops[op](x, lengths, Treal=x.dtype.real_dtype, name=name)

    transform.__doc__ = ops[op].__doc__
    return transform


rfft = _real_transform("RFFT", 1)
rfft2d = _real_transform("RFFT2D", 2)
rfft3d = _real_transform("RFFT3D", 3)
irfft = _inverse_real_transform("IRFFT", 1)
irfft2d = _inverse_real_transform("IRFFT2D", 2)
irfft3d = _inverse_real_transform("IRFFT3D", 3)


def _shifted(x, axes, sign: int):
    x = convert_to_tensor(x)
    if axes is None:
        axes = list(builtins_range(x.shape.rank))
    axes = [axes] if isinstance(axes, int) else list(axes)
    sizes = shape(x)
    shifts = [sizes[a] // 2 if sign > 0 else -(sizes[a] // 2) for a in axes]
    return roll(x, stack(shifts), axes)


def fftshift(x, axes=None, name=None):
    """Return x with the zero frequency in the middle."""
    return _shifted(x, axes, 1)


def ifftshift(x, axes=None, name=None):
    """Return x with the zero frequency at the beginning."""
    return _shifted(x, axes, -1)


# ---- frames --------------------------------------------------------------------------------------


def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Return overlapping pieces of a signal along an axis."""
    x = convert_to_tensor(signal)
    length, step = (_int(n) for n in (frame_length, frame_step))
    size = None if x.shape.rank is None else x.shape[axis]
    size = shape(x)[axis] if size is None else size
    if pad_end:
        count = -(-size // step)
        missing = _at_least_zero(length + step * (count - 1) - size)
        x = pad_along(x, axis, 0, missing, pad_value)
    else:
        count = _at_least_zero(1 + (size - length) // step)
    places = expand_dims(range(count) * step, 1) + expand_dims(range(length), 0)
    # The gradient of what is gathered of an Identity is dense.
    pieces = ops["GatherV2"](ops["Identity"](x), places, axis, name=name)
    if x.shape.rank is not None:
        dims = x.shape.as_list()
        at = axis if axis >= 0 else axis + len(dims)
        dims[at : at + 1] = [_known(count), _known(length)]
        pieces.set_shape(dims)
    return pieces


def _int(number):
    """A number of Python where it is known, else an int32."""
    tensor = convert_to_tensor(number, _dtypes.int32)
    known = _known(tensor)
    return tensor if known is None else known


def _at_least_zero(number):
    return max(0, number) if isinstance(number, int) else ops["Maximum"](0, number)


def _known(number) -> int | None:
    value = static_value(number)
    return None if value is None else int(value)


def overlap_and_add(signal, frame_step, name=None):
    """Return the signal whose overlapping pieces, added up, these are."""
    x = convert_to_tensor(signal)
    frames, length = shape(x)[-2], shape(x)[-1]
    step = convert_to_tensor(frame_step, _dtypes.int32)
    places = expand_dims(range(frames) * step, 1) + expand_dims(range(length), 0)
    total = (frames - 1) * step + length
    outer = shape(x)[:-2]
    flat = reshape(x, stack([ops["Prod"](outer, 0), frames, length]))
    summed = ops["UnsortedSegmentSum"](transpose(flat, [1, 2, 0]), places, total)
    return reshape(transpose(summed, [1, 0]), concat([outer, expand_dims(total, 0)], 0))


# ---- windows -------------------------------------------------------------------------------------


def _raised_cosine(window_length, periodic, dtype, a, b):
    n = convert_to_tensor(window_length, _dtypes.int32)
    dtype = _dtypes.as_dtype(dtype)
    if _known(n) == 1:
        return ops["Fill"]([1], cast(1, dtype))
    periodic = bool(static_value(convert_to_tensor(periodic, _dtypes.bool)))
    even = 1 - n % 2
    divisor = cast(n + even - 1 if periodic else n - 1, dtype)
    angle = cast(range(n), dtype) * convert_to_tensor(2 * PI, dtype) / divisor
    return a - b * cos(angle)


def hann_window(window_length, periodic=True, dtype=_dtypes.float32, name=None):
    """Return a Hann window."""
    return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length, periodic=True, dtype=_dtypes.float32, name=None):
    """Return a Hamming window."""
    return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46)


def _positions(window_length, dtype):
    """Return the length, and the places of a window from -1 to 1."""
    n = convert_to_tensor(window_length, _dtypes.int32)
    dtype = _dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype!r}")
    return n, dtype


def kaiser_window(window_length, beta=12.0, dtype=_dtypes.float32, name=None):
    """Return a Kaiser window."""
    n, dtype = _positions(window_length, dtype)
    known = static_value(n)
    if known is not None and int(known) == 1:
        return ops["Fill"]([1], cast(1, dtype), name=name)
    if known is not None and int(known) == 0:
        raise refusal("kaiser_window: window_length must be at least 1, not 0")
    alpha = cast(n - 1, dtype) / 2
    beta = convert_to_tensor(beta, dtype)
    inside = 1 - ops["Square"]((cast(range(n), dtype) - alpha) / alpha)
    argument = beta * ops["Sqrt"](ops["Maximum"](inside, convert_to_tensor(0, dtype)))
    growth = ops["Exp"](argument - beta)
    return growth * ops["BesselI0e"](argument) / ops["BesselI0e"](beta)


def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=_dtypes.float32, name=None):
    """Return a Kaiser-Bessel derived window."""
    n, dtype = _positions(window_length, dtype)
    half = n // 2
    sums = ops["Cumsum"](kaiser_window(half + 1, beta, dtype), 0)
    rising = ops["Sqrt"](sums[:-1] / sums[-1])
    window = concat([rising, ops["ReverseV2"](rising, [0])], 0)
    known = _known(half)
    window.set_shape([None if known is None else 2 * known])
    return window


def vorbis_window(window_length, dtype=_dtypes.float32, name=None):
    """Return the window of Ogg Vorbis."""
    n, dtype = _positions(window_length, dtype)
    places = (cast(range(n), dtype) + 0.5) / cast(n, dtype)
    return ops["Sin"](PI / 2 * ops["Square"](ops["Sin"](PI * places)), name=name)


# ---- cosine transforms ---------------------------------------------------------------------------


def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """Return the discrete cosine transform along the last axis."""
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Received: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    x = convert_to_tensor(input)
    if n is not None:
        if x.shape.rank is None:
            raise ValueError("With n the rank of the input must be known")
        x = x[..., :n]
        missing = ops["Maximum"](n - shape(x)[-1], 0)
        x = pad_along(x, -1, 0, missing)
    size = shape(x)[-1]
    count = cast(size, x.dtype)
    if type == 1:
        if norm:
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        mirrored = concat([x, ops["ReverseV2"](x, [-1])[..., 1:-1]], -1)
        return ops["Real"](rfft(mirrored), Tout=x.dtype, name=name)
    if type == 2:
        wide = rfft(x, expand_dims(2 * size, 0))[..., :size]
        turned = wide * _turn(cast(range(size), x.dtype) * (-PI / 2) / count)
        result = 2 * ops["Real"](turned, Tout=x.dtype)
        if norm is None:
            return result
        result = result * (0.5 * ops["Rsqrt"](count / 2))
        return concat([result[..., :1] * (0.5**0.5), result[..., 1:]], -1)
    if type == 3:
        if norm is None:
            halved = concat([x[..., :1] * 0.5, x[..., 1:]], -1)
        else:
            halved = concat([x[..., :1] * 0.5**0.5, x[..., 1:]], -1) * ops["Rsqrt"](2 * count)
        return 2 * _third(halved, size, count)
    pieces = concat([x, ops["ZerosLike"](x)], -1)
    odd = dct(pieces, 2)[..., 1::2]
    return odd * ops["Rsqrt"](2 * count) if norm else odd


def _turn(angle):
    """Return e^(i angle)."""
    return ops["Complex"](cos(angle), ops["Sin"](angle), Tout=_COMPLEX[angle.dtype])


def _third(x, size, count):
    """Return the sum over k of x[k] cos(pi k (2 j + 1) / 2 n) for each j."""
    known = static_value(size)
    if known is not None:
        _check_empty("IRFFT", x, [int(known) + 1])
    turned = cast(x, _COMPLEX[x.dtype]) * _turn(cast(range(size), x.dtype) * (PI / 2) / count)
    wide = pad_along(turned, -1, 0, size)
    transformed = ops["IFFT"](wide)[..., :size]
    return ops["Real"](transformed, Tout=x.dtype) * (2 * count)


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """Return what dct of this type, and a scale, undoes."""
    return dct(input, {1: 1, 2: 3, 3: 2, 4: 4}.get(type, type), n, axis, norm)


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end=False, norm=None, name=None):
    """Return the modified discrete cosine transform of overlapping pieces of signals."""
    x = convert_to_tensor(signals)
    if x.shape.rank is None:
        raise ValueError("mdct: the rank of signals must be known")
    length = int(static_value(convert_to_tensor(frame_length)))
    if length % 4:
        raise ValueError("The frame length must be a multiple of 4.")
    pieces = frame(x, length, length // 2, pad_end)
    if in_graph() and pieces.shape[-2] == 0:
        message = f"[RFFT] there are no pieces of length {length} in signals of shape {x.shape}"
        check_true(convert_to_tensor(False), message)
        return pieces[..., : length // 2]
    if window_fn is not None:
        pieces = pieces * window_fn(length, dtype=pieces.dtype)
    elif norm is None:
        pieces = pieces * cast(0.5**0.5, pieces.dtype)
    a, b, c, d = ops["Split"](-1, pieces, num_split=4)
    first = -ops["ReverseV2"](c, [-1]) - d
    second = a - ops["ReverseV2"](b, [-1])
    return dct(concat([first, second], -1), 4, norm=norm)


def inverse_mdct(mdcts, window_fn=vorbis_window, norm=None, name=None):
    """Return the signals whose overlapping pieces have these modified cosine transforms.

    Parameters
    ----------
    mdcts
        Of shape [..., pieces, half of a piece's length].
    window_fn
        The window of mdct, or None.
    norm
        None or "ortho", as it was there.
    """
    x = convert_to_tensor(mdcts)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Shape {x.shape} must have rank at least 2")
    half = shape(x)[-1] if x.shape.rank is None or x.shape[-1] is None else x.shape[-1]
    folded = dct(x, 4, norm=norm)
    if norm is None:
        folded = folded * (0.5 / cast(half, x.dtype))
    first, second = ops["Split"](-1, folded, num_split=2)
    mirrored = [-ops["ReverseV2"](part, [-1]) for part in (second, first)]
    pieces = concat([second, *mirrored, -first], -1)
    if window_fn is not None:
        pieces = pieces * window_fn(2 * half, dtype=x.dtype)
    else:
        pieces = pieces * cast(0.5**0.5, x.dtype)
    return overlap_and_add(pieces, half, name)


# ---- mel -----------------------------------------------------------------------------------------


def linear_to_mel_weight_matrix(
    num_mel_bins=20,
    num_spectrogram_bins=129,
    sample_rate=8000,
    lower_edge_hertz=125.0,
    upper_edge_hertz=3800.0,
    dtype=_dtypes.float32,
    name=None,
):
    """Return the matrix that turns a linear spectrogram into one on the mel scale."""
    dtype = _dtypes.as_dtype(dtype)
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if not 0 <= lower_edge_hertz < upper_edge_hertz:
        raise ValueError(
            f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}"
        )

    def mel(hertz):
        return 1127.0 * _numpy.log(1.0 + hertz / 700.0)

    def row(start, stop, n):
        return _numpy.linspace(start, stop, n)

    if upper_edge_hertz > sample_rate / 2:
        raise ValueError(
            f"upper_edge_hertz must not be above half of sample_rate, {sample_rate}. "
            f"Got: {upper_edge_hertz}"
        )
    bins = mel(row(0.0, float(sample_rate) / 2.0, num_spectrogram_bins)[1:])[:, None]
    edges = row(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    low, center, high = (edges[i : i + num_mel_bins][None] for i in (0, 1, 2))
    rising, falling = (bins - low) / (center - low), (high - bins) / (high - center)
    weights = _numpy.maximum(0.0, _numpy.minimum(rising, falling))
    padded = _numpy.pad(weights, [[1, 0], [0, 0]])
    return convert_to_tensor(padded.astype(dtype.as_numpy_dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Return the cepstral coefficients of log mel spectrograms."""
    x = convert_to_tensor(log_mel_spectrograms)
    if x.shape.rank is not None and x.shape[-1:].as_list() == [0]:
        raise ValueError("num_mel_bins must be positive. Got: 0")
    return dct(x, 2) * ops["Rsqrt"](cast(2 * shape(x)[-1], x.dtype))


def _power_of_two(length: int) -> int:
    """Return the least power of two that is not below a frame's length."""
    if length < 1:
        raise ValueError(f"frame_length must be positive. Got: {length}")
    return 1 << (length - 1).bit_length()


def stft(
    signals,
    frame_length,
    frame_step,
    fft_length=None,
    window_fn=hann_window,
    pad_end=False,
    name=None,
):
    """Return the Fourier transforms of overlapping pieces of signals."""
    x = convert_to_tensor(signals)
    if x.shape.rank == 0:
        raise ValueError(f"signals must have rank at least 1. Received shape: {x.shape}")
    length = int(static_value(convert_to_tensor(frame_length)))
    if fft_length is None:
        fft_length = _power_of_two(length)
    pieces = frame(x, length, frame_step, pad_end)
    if window_fn is not None:
        pieces = pieces * window_fn(length, dtype=pieces.dtype)
    return rfft(pieces, [fft_length])


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """Return the window that undoes another in inverse_stft."""

    def inverse_window(frame_length, dtype):
        window = forward_window_fn(frame_length, dtype=dtype)
        squares = ops["Square"](window)
        overlaps = -(-frame_length // frame_step)
        wide = pad(squares, [[0, overlaps * frame_step - frame_length]])
        totals = ops["Sum"](reshape(wide, [overlaps, frame_step]), 0, keep_dims=True)
        repeated = reshape(ops["Tile"](totals, [overlaps, 1]), [-1])
        return window / repeated[:frame_length]

    return inverse_window


def inverse_stft(
    stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None
):
    """Return signals from the Fourier transforms of their pieces."""
    x = convert_to_tensor(stfts)
    if fft_length is None:
        fft_length = _power_of_two(frame_length)
    pieces = irfft(x, [fft_length])[..., :frame_length]
    missing = max(frame_length - fft_length, 0)
    if missing:
        pieces = pad_along(pieces, -1, 0, missing)
    if window_fn is not None:
        pieces = pieces * window_fn(frame_length, dtype=pieces.dtype)
    return overlap_and_add(pieces, frame_step)


__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "inverse_mdct",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mdct",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "stft",
    "vorbis_window",
]  # fmt: skip

__getattr__ = _finder(__name__)
