"""Complex numbers in Python."""

import numpy as np
import pytest

mica = pytest.importorskip("mica")

Z = np.array([1 + 2j, 3 - 1j, -0.5j], np.complex64)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_tensor_is_an_array_of_complex_numbers(dtype):
    z = mica.tensor(Z.astype(dtype))
    assert z.numpy().dtype == dtype
    np.testing.assert_array_equal(z.numpy(), Z)
    np.testing.assert_array_equal(z.real.numpy(), Z.real)
    np.testing.assert_array_equal(z.imag.numpy(), Z.imag)
    np.testing.assert_array_equal(z.conj().numpy(), Z.conj())
    np.testing.assert_allclose(abs(z).numpy(), np.abs(Z), rtol=1e-6)
    np.testing.assert_array_equal(mica.complex(z.real, z.imag).numpy(), Z)
    assert z.tolist() == Z.tolist() and complex(z[0].tolist()) == 1 + 2j


def test_the_parts_of_real_arrays():
    x = mica.tensor([1.0, -2.0])
    assert x.real.tolist() == [1, -2] and x.conj().tolist() == [1, -2]
    assert x.imag.tolist() == [0, 0] and x.imag.dtype.name == "f32"


def test_complex_scalars_are_weak():
    z = mica.tensor(Z)
    for result in (
        z * 1j,
        1j * z,
        z + (1 - 2j),
        z / 2j,
        (1 + 1j) - z,
        mica.jit(lambda z: z * 1j)(z),
    ):
        assert result.dtype.name == "c64"
    np.testing.assert_array_equal((z * 1j).numpy(), Z * 1j)
    np.testing.assert_array_equal(((1 + 1j) - z).numpy(), (1 + 1j) - Z)
    with pytest.raises(TypeError, match="f32"):
        mica.tensor([1.0]) * 1j


def test_arithmetic_agrees_with_numpy():
    z = mica.tensor(Z.astype(np.complex128))
    w = np.array([2 - 1j, 0.25 + 1j, 1 + 1j])
    v = mica.tensor(w)
    for got, want in (
        (z + v, Z + w),
        (z * v, Z * w),
        (z / v, Z / w),
        (z**2, Z.astype(np.complex128) ** 2),
        (mica.exp(z), np.exp(Z.astype(np.complex128))),
        (z.sum(), Z.sum()),
        (z.mean(), Z.astype(np.complex128).mean()),
        (z @ v, Z @ w),
    ):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


def test_the_gradient_of_a_real_function_of_complex_numbers():
    """|z|^2 = x^2 + y^2 has df/dx - i df/dy = 2 conj(z)."""
    z = mica.tensor(Z.astype(np.complex128))
    gradient = mica.grad(lambda z: (z * z.conj()).real.sum())(z)
    np.testing.assert_allclose(gradient.numpy(), 2 * Z.conj(), rtol=1e-12)
    gradient = mica.grad(lambda z: abs(z).sum())(z)
    np.testing.assert_allclose(gradient.numpy(), Z.conj() / np.abs(Z), rtol=1e-6)
    f = lambda z: mica.real(mica.exp(z) * (2 - 1j)).sum()  # noqa: E731
    np.testing.assert_allclose(
        mica.grad(f)(z).numpy(), (2 - 1j) * np.exp(Z.astype(np.complex128)), rtol=1e-12
    )


def test_descending_along_the_conjugate_of_the_gradient():
    target = np.array([1 - 1j, 0.5j, 2])
    z = mica.tensor(Z.astype(np.complex128))
    step = mica.jit(
        lambda z: (
            z - 0.25 * mica.grad(lambda z: (abs(z - mica.tensor(target)) ** 2).sum())(z).conj()
        )
    )
    for _ in range(60):
        z = step(z)
    np.testing.assert_allclose(z.numpy(), target, atol=1e-9)


def test_a_complex_value_has_no_gradient():
    with pytest.raises(TypeError, match="float scalar"):
        mica.grad(lambda z: z.sum())(mica.tensor(Z))
