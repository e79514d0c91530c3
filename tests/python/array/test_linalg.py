"""mica.linalg against numpy.linalg, eager and compiled, with derivatives."""

import glob
import os
import subprocess
import sys

import mica
import numpy as np
import pytest

RANDOM = np.random.default_rng(3)
SQUARE = RANDOM.normal(size=(2, 4, 4))
TALL = RANDOM.normal(size=(2, 5, 3))
WIDE = RANDOM.normal(size=(3, 5))
SYMMETRIC = SQUARE + SQUARE.swapaxes(-1, -2)
DEFINITE = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(4)
COMPLEX = SQUARE + 1j * SQUARE[::-1]
HERMITIAN = COMPLEX + COMPLEX.swapaxes(-1, -2).conj()
COMPLEX_DEFINITE = COMPLEX @ COMPLEX.swapaxes(-1, -2).conj() + np.eye(4)
COMPLEX_TALL = TALL + 1j * TALL[::-1]
COMPLEX_WIDE = COMPLEX_TALL.swapaxes(-1, -2)
RIGHT = RANDOM.normal(size=(2, 4, 3))
INF = np.inf


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "ours, theirs, operands",
    [
        (mica.linalg.cholesky, np.linalg.cholesky, [DEFINITE]),
        (mica.linalg.solve, np.linalg.solve, [SQUARE, RIGHT]),
        (mica.linalg.solve, np.linalg.solve, [SQUARE, RIGHT[0]]),
        (mica.linalg.solve, np.linalg.solve, [SQUARE[0], RIGHT]),
        (mica.linalg.solve, np.linalg.solve, [SQUARE[0], RIGHT[0, :, 0]]),
        (mica.linalg.inv, np.linalg.inv, [SQUARE]),
        (mica.linalg.det, np.linalg.det, [SQUARE]),
        (mica.linalg.slogdet, np.linalg.slogdet, [SQUARE]),
        (mica.linalg.qr, np.linalg.qr, [TALL]),
        (mica.linalg.qr, np.linalg.qr, [WIDE]),
        (
            lambda a: mica.linalg.qr(a, "complete"),
            lambda a: np.linalg.qr(a, mode="complete"),
            [TALL],
        ),
        (mica.linalg.eigvalsh, np.linalg.eigvalsh, [SYMMETRIC]),
        (mica.linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), [TALL]),
        (mica.linalg.pinv, np.linalg.pinv, [TALL]),
        (mica.linalg.pinv, np.linalg.pinv, [WIDE]),
        (mica.linalg.norm, np.linalg.norm, [TALL]),
        (mica.linalg.cholesky, np.linalg.cholesky, [COMPLEX_DEFINITE]),
        (mica.linalg.solve, np.linalg.solve, [COMPLEX, RIGHT + 1j * RIGHT[::-1]]),
        (mica.linalg.inv, np.linalg.inv, [COMPLEX]),
        (mica.linalg.det, np.linalg.det, [COMPLEX]),
        (mica.linalg.slogdet, np.linalg.slogdet, [COMPLEX]),
        (mica.linalg.qr, np.linalg.qr, [COMPLEX_TALL]),
        (mica.linalg.qr, np.linalg.qr, [COMPLEX_WIDE]),
        (
            lambda a: mica.linalg.qr(a, "complete"),
            lambda a: np.linalg.qr(a, mode="complete"),
            [COMPLEX_TALL],
        ),
        (mica.linalg.eigvalsh, np.linalg.eigvalsh, [HERMITIAN]),
        (mica.linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), [COMPLEX_TALL]),
        (mica.linalg.pinv, np.linalg.pinv, [COMPLEX_TALL]),
        (mica.linalg.pinv, np.linalg.pinv, [COMPLEX_WIDE]),
        (mica.linalg.norm, np.linalg.norm, [COMPLEX_TALL]),
    ],
)
def test_functions_agree_with_numpy(ours, theirs, operands, compiled):
    function = mica.jit(ours) if compiled else ours
    got, expected = function(*map(mica.tensor, operands)), theirs(*operands)
    got, expected = (x if isinstance(x, tuple) else (x,) for x in (got, expected))
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "a",
    [TALL, WIDE, SQUARE, COMPLEX_TALL, COMPLEX_WIDE],
    ids=["tall", "wide", "square", "complex tall", "complex wide"],
)
@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors_give_the_matrix_back(a, full):
    u, s, vh = (x.numpy() for x in mica.linalg.svd(mica.tensor(a), full))
    k = s.shape[-1]
    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, atol=1e-12)
    product = vh @ vh.swapaxes(-1, -2).conj()
    np.testing.assert_allclose(product - np.eye(vh.shape[-2]), 0, atol=1e-12)
    product = u.swapaxes(-1, -2).conj() @ u
    np.testing.assert_allclose(product - np.eye(u.shape[-1]), 0, atol=1e-12)


@pytest.mark.parametrize("a", [SYMMETRIC, HERMITIAN], ids=["real", "complex"])
def test_eigenvectors_give_the_matrix_back(a):
    values, v = (x.numpy() for x in mica.linalg.eigh(mica.tensor(a)))
    product = v * values[:, None, :] @ v.swapaxes(-1, -2).conj()
    np.testing.assert_allclose(product, a, atol=1e-12)


def test_least_squares_of_deficient_rank_agree_with_numpy():
    a = np.concatenate([TALL[0], TALL[0][:, :1]], axis=1)
    for b in (TALL[1], TALL[1][:, 0]):
        x, residuals, rank, s = mica.linalg.lstsq(mica.tensor(a), mica.tensor(b))
        expected = np.linalg.lstsq(a, b, rcond=None)
        np.testing.assert_allclose(x.numpy(), expected[0], atol=1e-10)
        np.testing.assert_allclose(s.numpy(), expected[3], atol=1e-12)
        assert rank.tolist() == expected[2] == 3
        left = np.sum((a @ expected[0] - b) ** 2, axis=0)
        np.testing.assert_allclose(residuals.numpy().reshape(left.shape), left, atol=1e-10)
    assert mica.linalg.matrix_rank(mica.tensor(a)).tolist() == 3


@pytest.mark.parametrize("order", [None, 1, 2, 3, 0, INF, -INF])
def test_vector_norms_agree_with_numpy(order):
    got = mica.linalg.norm(mica.tensor(TALL), order, axis=1, keepdims=True)
    np.testing.assert_allclose(got.numpy(), np.linalg.norm(TALL, order, 1, True), rtol=1e-12)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, INF, -INF])
def test_matrix_norms_agree_with_numpy(order):
    for axes, keep in [((0, 2), False), ((2, 1), True)]:
        got = mica.linalg.norm(mica.tensor(TALL), order, axis=axes, keepdims=keep)
        expected = np.linalg.norm(TALL, order, axes, keep)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("device", ["cpu", "ref"])
@pytest.mark.parametrize("exponent", [900, -900])
def test_very_large_and_small_numbers_scale(device, exponent):
    with mica.device(device):
        for function in (mica.linalg.qr, mica.linalg.eigh, mica.linalg.svd):
            for a in (SYMMETRIC[0], HERMITIAN[0]):
                plain, scaled = (function(mica.tensor(a * f)) for f in (1.0, 2.0**exponent))
                for x, y in zip(plain, scaled, strict=True):
                    x, y = x.numpy(), y.numpy()
                    if np.abs(y).max() > 100 or np.abs(y).max() < 1e-5:
                        y = y * 2.0**-exponent
                    np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12)


def test_the_gradient_of_the_log_determinant_is_the_inverse():
    gradient = mica.grad(lambda a: mica.linalg.slogdet(a).logabsdet)(mica.tensor(SQUARE[0]))
    np.testing.assert_allclose(gradient.numpy(), np.linalg.inv(SQUARE[0]).T, rtol=1e-10)


def test_the_gradient_of_a_cholesky_factor_is_symmetric():
    gradient = mica.grad(lambda a: mica.linalg.cholesky(a).sum())(mica.tensor(DEFINITE[0]))
    np.testing.assert_allclose(gradient.numpy(), gradient.numpy().T, atol=1e-14)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mica.linalg.solve(mica.tensor(WIDE), mica.tensor(WIDE)), "[solve]"),
        (lambda: mica.linalg.det(mica.tensor(WIDE)), "[det] needs square matrices"),
        (lambda: mica.linalg.inv(mica.tensor([1.0])), "[inv] needs matrices"),
        (lambda: mica.linalg.qr(mica.tensor(WIDE), "raw"), "[qr] mode 'raw'"),
        (lambda: mica.linalg.norm(mica.tensor(TALL), 2), "[norm] ord of"),
        (lambda: mica.linalg.norm(mica.tensor(WIDE), 7), "-inf, not 7"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)


def test_narrow_floats_are_refused():
    with pytest.raises(TypeError, match="F32_F64"):
        mica.linalg.qr(mica.tensor(WIDE).astype("f16"))


_FACTORS = """
import mica, numpy as np
parts, reals = [], np.random.default_rng(5).normal(size=(3, 70, 70))
for a in (reals, reals + 1j * reals[::-1]):
    definite = mica.tensor(a @ a.swapaxes(-1, -2).conj() + 70 * np.eye(70))
    tall = mica.tensor(a[:, :, :50])
    parts += [mica.cholesky(definite), *mica.lu(tall), *mica.qr(tall, full=1), *mica.eigh(definite)]
    parts += [*mica.svd(tall, full=0), *mica.svd(tall, full=1)]
print(mica.linalg.lapack())
np.savez(path, *[part.numpy() for part in parts])
"""


def _factors(folder, **environment):
    path = str(folder / "factors.npz")
    program = f"path = {path!r}\n{_FACTORS}"
    environment = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    with np.load(path) as parts:
        return done.stdout.strip(), [parts[name] for name in parts.files]


def test_lapack_and_the_built_in_versions_agree(tmp_path):
    with_name, with_lapack = _factors(tmp_path, MICA_LAPACK="")
    without_name, without = _factors(tmp_path, MICA_LAPACK="off")
    assert without_name == "None"
    if glob.glob(os.path.join(os.path.dirname(np.__path__[0]), "numpy.libs", "*openblas*")):
        assert "openblas" in with_name
    for x, y in zip(with_lapack, without, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def test_lapack_leaves_the_threads_of_numpy_alone():
    a = np.random.default_rng(6).normal(size=(4, 64, 64))
    before = a[0] @ a[1]
    mica.svd(mica.tensor(a), full=0)[1].numpy()
    np.testing.assert_array_equal(a[0] @ a[1], before)


@pytest.mark.parametrize("n", [1, 3, 30])
@pytest.mark.parametrize("complex_numbers", [False, True])
def test_general_eigenvalues_agree_with_numpy(n, complex_numbers):
    a = RANDOM.normal(size=(2, n, n)) + (1j * RANDOM.normal(size=(2, n, n))) * complex_numbers
    a = a if complex_numbers else a.real
    values, vectors = (x.numpy() for x in mica.linalg.eig(mica.tensor(a)))
    expected = np.linalg.eigvals(a)
    order = np.argsort(expected.real + expected.imag / np.pi, axis=-1)
    np.testing.assert_allclose(values, np.take_along_axis(expected, order, -1), atol=1e-11)
    np.testing.assert_allclose(a @ vectors, vectors * values[:, None, :], atol=1e-11)
    np.testing.assert_array_equal(mica.linalg.eigvals(mica.tensor(a)).numpy(), values)


def test_eigenvalues_of_a_real_matrix_are_real_or_pairs():
    values = mica.linalg.eigvals(mica.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]))
    np.testing.assert_array_equal(values.numpy().imag, [-1, 1, 0])


def test_the_gradient_of_an_eigenvalue_is_the_left_vector_times_the_right_one():
    a = RANDOM.normal(size=(4, 4))

    def largest(x):
        return mica.real(mica.linalg.eigvals(x))[-1]

    values, vectors = np.linalg.eig(a)
    last = np.argmax(values.real + values.imag / np.pi)
    expected = np.outer(np.linalg.inv(vectors)[last], vectors[:, last]).real
    np.testing.assert_allclose(mica.grad(largest)(mica.tensor(a)).numpy(), expected, atol=1e-10)


def _differences(function, x, step=1e-5):
    """The gradient df/dre + i df/dim, as TensorFlow has it, of a real function."""
    out = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        for turn in (1, 1j):
            moved = [x.copy(), x.copy()]
            moved[0][place] += step * turn
            moved[1][place] -= step * turn
            out[place] += turn * (function(moved[0]) - function(moved[1])) / (2 * step)
    return out


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "svd", "eigvalsh", "qr"])
def test_gradients_of_complex_matrices_by_tensorflows_names_agree_with_differences(name):
    import mica.tf as tf

    function = getattr(tf.linalg, name)
    a = COMPLEX_DEFINITE[0] if name == "cholesky" else HERMITIAN[0]

    def loss(x):
        if name in ("cholesky", "eigvalsh"):
            x = (x + tf.linalg.adjoint(x)) / 2
        y = function(x, compute_uv=False) if name == "svd" else function(x)
        y = tf.cast(y[1] if name == "qr" else y, tf.complex128)
        weights = np.arange(1, 1 + int(np.prod(y.shape)), dtype=complex).reshape(y.shape)
        return tf.reduce_sum(tf.math.real(y * tf.constant(weights * (1 + 0.5j))))

    x = tf.constant(a)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = loss(x)
    gradient = np.asarray(tape.gradient(value, x))
    expected = _differences(lambda m: float(loss(tf.constant(m))), a)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_the_last_column_of_a_full_factor_has_a_gradient_where_nothing_is_reflected():
    a = np.array([[6.5, 0.3], [0.0, 12.4], [0.0, 0.2]])  # its first column is R's already
    weights = np.array([0.7, -1.1, 0.4])

    def last(x):
        q = mica.linalg.qr(x, "complete").Q
        return (q[:, 2] * mica.tensor(weights)).sum()

    def plane(x):  # the same column: at right angles to both, of length one
        normal = np.cross(x[:, 0], x[:, 1])
        normal = normal / np.linalg.norm(normal)
        return weights @ (normal * np.sign(normal @ column))

    column = mica.linalg.qr(mica.tensor(a), "complete").Q.numpy()[:, 2]
    expected, step = np.zeros_like(a), 1e-6
    for place in np.ndindex(a.shape):
        up, down = a.copy(), a.copy()
        up[place] += step
        down[place] -= step
        expected[place] = (plane(up) - plane(down)) / (2 * step)
    np.testing.assert_allclose(mica.grad(last)(mica.tensor(a)).numpy(), expected, atol=1e-9)
