"""Recipes of tf.signal."""

from generator import COMPLEX, FLOATS, FULL_FLOATS, REALS, recipe
from recipes_array import a_dtype

WINDOWED = ("float32", "float64", "float16")


@recipe("signal.fft", "signal.ifft")
def _(d):
    return {"input": d.array(COMPLEX, d.shape(1, 2), "uniform")}


@recipe("signal.fft2d", "signal.ifft2d")
def _(d):
    return {"input": d.array(COMPLEX, d.shape(2, 3), "uniform")}


@recipe("signal.fft3d", "signal.ifft3d")
def _(d):
    return {"input": d.array(COMPLEX, d.shape(3, 4), "uniform")}


def real_transform(rank, dtypes):
    def draw(d):
        arguments = {"input_tensor": d.array(dtypes, d.shape(rank, rank + 1), "uniform")}
        lengths = [d.between(1, 6) for _ in range(rank)]
        return d.some(arguments, 50, fft_length=lengths)

    return draw


for rank, end in ((1, ""), (2, "2d"), (3, "3d")):
    recipe(f"signal.rfft{end}")(real_transform(rank, FULL_FLOATS))
    recipe(f"signal.irfft{end}")(real_transform(rank, COMPLEX))


def many(dtypes):
    def draw(d):
        shape = d.shape(1, 3, empty=False)
        arguments = {"input_tensor": d.array(dtypes, shape, "uniform")}
        axes = sorted({d.below(len(shape)) for _ in range(2)})
        if d.flag():
            arguments["axes="] = axes
            if d.flag():
                arguments["fft_length="] = [d.between(1, 5) for _ in axes]
        return d.keywords(arguments, 30, norm=d.pick(("ortho", "forward", "backward")))

    return draw


recipe("signal.fftnd", "signal.ifftnd", "signal.irfftnd")(many(COMPLEX))
recipe("signal.rfftnd")(many(FULL_FLOATS))


@recipe("signal.fftshift", "signal.ifftshift")
def _(d):
    shape = d.shape(1, 3)
    return d.some({"x": d.array(REALS, shape)}, 50, axes=d.axis(len(shape)))


@recipe("signal.dct", "signal.idct")
def _(d):
    arguments = {"input": d.array(FULL_FLOATS, [*d.shape(0, 1), d.between(2, 6)], "uniform")}
    d.some(arguments, 60, type=d.between(1, 4))
    return d.keywords(arguments, 30, norm="ortho", n=d.between(2, 7))


@recipe("signal.frame")
def _(d):
    shape = [*d.shape(0, 1), d.between(0, 9)]
    arguments = {"signal": d.array(REALS, shape), "frame_length": d.between(1, 4),
                 "frame_step": d.between(1, 3)}  # fmt: skip
    return d.keywords(arguments, 30, pad_end=d.flag(), pad_value=d.pick((0, 2)), axis=-1)


@recipe("signal.overlap_and_add")
def _(d):
    return {"signal": d.array(FLOATS, d.shape(2, 3), "uniform"), "frame_step": d.between(1, 4)}


@recipe("signal.stft")
def _(d):
    arguments = {"signals": d.array(FULL_FLOATS, [*d.shape(0, 1), d.between(4, 12)], "uniform"),
                 "frame_length": d.between(2, 4), "frame_step": d.between(1, 3)}  # fmt: skip
    d.some(arguments, 40, fft_length=d.pick((4, 5, 8)))
    return d.keywords(arguments, 30, pad_end=d.flag())


@recipe("signal.inverse_stft")
def _(d):
    shape = [*d.shape(0, 1), d.between(1, 4), 3]
    arguments = {"stfts": d.array(COMPLEX, shape, "uniform"), "frame_length": d.between(2, 4),
                 "frame_step": d.between(1, 2)}  # fmt: skip
    return d.some(arguments, 40, fft_length=4)


@recipe("signal.mdct")
def _(d):
    arguments = {"signals": d.array(FULL_FLOATS, [*d.shape(0, 1), d.between(4, 12)], "uniform"),
                 "frame_length": d.pick((4, 8))}  # fmt: skip
    return d.keywords(arguments, 40, pad_end=d.flag(), norm="ortho")


@recipe("signal.inverse_mdct")
def _(d):
    arguments = {"mdcts": d.array(FULL_FLOATS, [*d.shape(0, 1), d.between(1, 4), d.pick((2, 4))],
                                  "uniform")}  # fmt: skip
    return d.keywords(arguments, 40, norm="ortho")


@recipe("signal.hamming_window", "signal.hann_window")
def _(d):
    arguments = {"window_length": d.between(0, 9)}
    return d.keywords(arguments, 40, periodic=d.flag(), dtype=lambda: a_dtype(d, WINDOWED))


@recipe("signal.kaiser_window", "signal.kaiser_bessel_derived_window")
def _(d):
    arguments = d.some({"window_length": d.pick((2, 4, 6, 8))}, 40, beta=d.pick((5.0, 12.0, 0.0)))
    return d.keywords(arguments, 40, dtype=lambda: a_dtype(d, WINDOWED))


@recipe("signal.vorbis_window")
def _(d):
    return d.some({"window_length": d.between(1, 8)}, 40, dtype=lambda: a_dtype(d, WINDOWED))


@recipe("signal.linear_to_mel_weight_matrix")
def _(d):
    return d.keywords({}, 80, num_mel_bins=d.between(1, 5), num_spectrogram_bins=d.between(3, 9),
                      sample_rate=d.pick((8000, 16000.0)), lower_edge_hertz=d.pick((0.0, 100.0)),
                      upper_edge_hertz=d.pick((2000.0, 3800.0)))  # fmt: skip


@recipe("signal.mfccs_from_log_mel_spectrograms")
def _(d):
    return {"log_mel_spectrograms": d.array(FULL_FLOATS, d.shape(1, 3), "uniform")}
