"""mica.fft against numpy.fft, eager and compiled, with derivatives."""

import itertools

import mica
import numpy as np
import pytest

RANDOM = np.random.default_rng(11)
REAL = RANDOM.normal(size=(4, 6, 5))
NUMBERS = REAL + 1j * RANDOM.normal(size=REAL.shape)
NORMS = [None, "backward", "ortho", "forward"]
ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO_AXES = ["fft2", "ifft2", "rfft2", "irfft2"]
MORE_AXES = ["fftn", "ifftn", "rfftn", "irfftn"]


def operand(name):
    return REAL if name in ("rfft", "ihfft", "rfft2", "rfftn") else NUMBERS


def check(name, *arguments, x=None, tolerance=1e-12, **options):
    x = operand(name) if x is None else x
    expected = getattr(np.fft, name)(x, *arguments, **options)
    got = getattr(mica.fft, name)(mica.tensor(x), *arguments, **options).numpy()
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", ONE_AXIS)
def test_one_axis_agrees_with_numpy(name):
    for n, axis, norm in itertools.product([None, 1, 4, 7, 12], [0, 1, -1], NORMS):
        check(name, n, axis, norm)


@pytest.mark.parametrize("name", TWO_AXES)
def test_two_axes_agree_with_numpy(name):
    for s, axes, norm in itertools.product([None, (3, 8)], [(-2, -1), (0, 1), (2, 0)], NORMS):
        check(name, s, axes, norm)


@pytest.mark.parametrize("name", MORE_AXES)
def test_any_number_of_axes_agrees_with_numpy(name):
    for axes in [None, (0,), (1, 2), (2, 0, 1)]:
        check(name, None, axes)
    check(name, (4, 6, 5), (0, 1, 2), "ortho")
    real = RANDOM.normal(size=(2, 3, 2, 3, 4))
    many = real if name == "rfftn" else real + 1j
    check(name, x=many)
    check(name, None, (3, 0, 2, 4), x=many)


@pytest.mark.parametrize("n", [1, 2, 31, 97, 127, 128, 131, 1000, 1009, 2187, 4099, 10007])
def test_any_length_agrees_with_numpy(n):
    x = RANDOM.normal(size=n) + 1j * RANDOM.normal(size=n)
    for name in ("fft", "ifft"):
        check(name, x=x, tolerance=1e-11)
        check(name, x=x.astype(np.complex64), tolerance=2e-3)
    check("rfft", x=x.real, tolerance=1e-11)
    check("irfft", n, x=x[: n // 2 + 1], tolerance=1e-11)


def test_single_precision_stays_single():
    assert str(mica.fft.fft(mica.tensor(REAL.astype(np.float32))).dtype) == "c64"
    assert str(mica.fft.rfft(mica.tensor([1, 2, 3])).dtype) == "c64"
    assert str(mica.fft.irfft(mica.fft.rfft(mica.tensor(REAL))).dtype) == "f64"


def test_there_and_back_is_where_it_began():
    x = mica.tensor(REAL)
    np.testing.assert_allclose(mica.fft.irfft(mica.fft.rfft(x), 5).numpy(), REAL, atol=1e-14)
    back = mica.fft.ifftn(mica.fft.fftn(x)).numpy()
    np.testing.assert_allclose(back, REAL, atol=1e-14)


def test_frequencies_and_shifts_agree_with_numpy():
    for n in (1, 4, 7):
        np.testing.assert_allclose(mica.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(mica.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5))
    for axes in (None, 0, (1, 2)):
        check("fftshift", axes, x=REAL)
        check("ifftshift", axes, x=REAL)


def test_gradients_follow_parsevals_theorem():
    def power(x):
        y = mica.fft.fft(x)
        return (mica.real(y) * mica.real(y) + mica.imag(y) * mica.imag(y)).sum() / 5

    gradient = mica.jit(mica.grad(power))(mica.tensor(REAL))
    np.testing.assert_allclose(gradient.numpy(), 2 * REAL, atol=1e-12)

    def filtered(x):
        y = mica.fft.irfft(mica.fft.rfft(x), 5)
        return (y * y * y).sum()

    gradient = mica.grad(filtered)(mica.tensor(REAL))
    np.testing.assert_allclose(gradient.numpy(), 3 * REAL**2, atol=1e-12)


def test_vmap_is_a_batch():
    got = mica.vmap(mica.fft.fft)(mica.tensor(NUMBERS)).numpy()
    np.testing.assert_allclose(got, np.fft.fft(NUMBERS), atol=1e-12)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mica.fft.fft(REAL, 0), r"\[fft\] lengths \(0,\)"),
        (lambda: mica.fft.fft(REAL, axis=3), r"\[fft\] axis 3 is out of range"),
        (lambda: mica.fft.fft(REAL, norm="none"), r"\[fft\] norm 'none'"),
        (lambda: mica.fft.fft2(REAL, axes=(1, 1)), r"\[fft2\] axes \(1, 1\) must be different"),
        (lambda: mica.fft.fftn(REAL, (2, 2), (0,)), r"\[fftn\] lengths \(2, 2\) and axes"),
    ],
)
def test_wrong_arguments_are_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rfft_takes_real_numbers():
    with pytest.raises(TypeError, match=r"\[rfft\] takes real numbers"):
        mica.fft.rfft(NUMBERS)
