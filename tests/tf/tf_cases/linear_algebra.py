"""Products, einsum, factorizations, norms, Fourier transforms, windows."""

import numpy as np
from corpus import c64, c128, case, f, f16, f64, i32, lit, plain


def spd(n, batch=()):
    """A positive definite matrix."""
    stream = np.random.RandomState(n + 10 * len(batch))
    a = stream.uniform(-1, 1, (*batch, n, n))
    return np.round(a @ np.swapaxes(a, -1, -2) + n * np.eye(n), 3).astype(np.float32)


def wellformed(n, batch=()):
    """A matrix far from singular."""
    stream = np.random.RandomState(n + 20 * len(batch))
    return np.round(stream.uniform(-1, 1, (*batch, n, n)) + 2 * np.eye(n), 3).astype(np.float32)


# Products.
case("tf.matmul", "two matrices", lambda tf, x, y: tf.matmul(x, y), f(2, 3), f(3, 4), second=True)
case(
    "tf.matmul",
    "transposed a",
    lambda tf, x, y: tf.matmul(x, y, transpose_a=True),
    f(3, 2),
    f(3, 4),
)
case(
    "tf.matmul",
    "transposed b",
    lambda tf, x, y: tf.matmul(x, y, transpose_b=True),
    f(2, 3),
    f(4, 3),
)
case("tf.matmul", "both transposed", lambda tf, x, y: tf.matmul(x, y, True, True), f(3, 2), f(4, 3))
case("tf.matmul", "batches", lambda tf, x, y: tf.matmul(x, y), f(2, 2, 3), f(2, 3, 4))
case("tf.matmul", "broadcast batches", lambda tf, x, y: tf.matmul(x, y), f(2, 1, 2, 3), f(4, 3, 2))
case("tf.matmul", "batch by matrix", lambda tf, x, y: tf.matmul(x, y), f(2, 2, 3), f(3, 4))
case("tf.matmul", "nothing inside", lambda tf, x, y: tf.matmul(x, y), f(2, 0), f(0, 3))
case("tf.matmul", "no rows", lambda tf, x, y: tf.matmul(x, y), f(0, 2), f(2, 3))
case("tf.matmul", "integers", lambda tf, x, y: tf.matmul(x, y), i32(2, 3), i32(3, 2))
case("tf.matmul", "f64", lambda tf, x, y: tf.matmul(x, y), f64(2, 3), f64(3, 2))
case(
    "tf.matmul", "f16", lambda tf, x, y: tf.matmul(x, y), f16(2, 3), f16(3, 2), rtol=8e-3, atol=8e-3
)
case(
    "tf.matmul",
    "complex adjoint",
    lambda tf, x, y: tf.matmul(x, y, adjoint_a=True),
    c64(3, 2),
    c64(3, 2),
)
case("tf.matmul", "complex", lambda tf, x, y: tf.matmul(x, y), c64(2, 3), c64(3, 2))
case("tf.linalg.matmul", "two matrices", lambda tf, x, y: tf.linalg.matmul(x, y), f(2, 3), f(3, 4))
case("tf.linalg.matvec", "a matrix", lambda tf, x, y: tf.linalg.matvec(x, y), f(2, 3), f(3))
case(
    "tf.linalg.matvec",
    "transposed",
    lambda tf, x, y: tf.linalg.matvec(x, y, transpose_a=True),
    f(2, 3, 2),
    f(2, 3),
)
case("tf.tensordot", "one axis", lambda tf, x, y: tf.tensordot(x, y, 1), f(2, 3), f(3, 4))
case(
    "tf.tensordot", "two axes", lambda tf, x, y: tf.tensordot(x, y, axes=2), f(2, 3, 4), f(3, 4, 2)
)
case(
    "tf.tensordot",
    "named axes",
    lambda tf, x, y: tf.tensordot(x, y, [[0, 2], [1, 0]]),
    f(2, 3, 4),
    f(4, 2, 5),
)
case("tf.tensordot", "outer", lambda tf, x, y: tf.tensordot(x, y, axes=0), f(2), f(3))
EINSUM = {
    "ij,jk->ik": (f(2, 3), f(3, 4)),
    "bij,bjk->bik": (f(2, 2, 3), f(2, 3, 2)),
    "ij->ji": (f(2, 3),),
    "ii->": (f(3, 3),),
    "ii->i": (f(3, 3),),
    "ij->": (f(2, 3),),
    "i,j->ij": (f(2), f(3)),
    "i,i->": (f(3), f(3)),
    "...ij,...jk->...ik": (f(2, 2, 3), f(2, 3, 2)),
    "bhqd,bhkd->bhqk": (f(1, 2, 3, 2), f(1, 2, 4, 2)),
    "ij,jk,kl->il": (f(2, 3), f(3, 2), f(2, 2)),
    "abc,cd->abd": (f(2, 1, 3), f(3, 2)),
    "ijk->kj": (f(2, 3, 2),),
    "ij,jk": (f(2, 3), f(3, 2)),
    "...i->...": (f(2, 3),),
}
for _equation, _inputs in EINSUM.items():
    _what = _equation.replace("->", " to ").replace(",", " ")
    case(
        "tf.einsum",
        _what,
        lambda tf, *xs, e=_equation: tf.einsum(e, *xs),
        *_inputs,
        second=len(_inputs) == 2,
    )
case("tf.einsum", "complex", lambda tf, x, y: tf.einsum("ij,jk->ik", x, y), c64(2, 2), c64(2, 2))
case("tf.einsum", "integers", lambda tf, x, y: tf.einsum("i,i->i", x, y), i32(3), i32(3))
case(
    "tf.linalg.einsum",
    "two",
    lambda tf, x, y: tf.linalg.einsum("ij,kj->ik", x, y),
    f(2, 3),
    f(2, 3),
)
case("tf.linalg.cross", "rows", lambda tf, x, y: tf.linalg.cross(x, y), f(2, 3), f(2, 3))
case("tf.linalg.adjoint", "complex", lambda tf, x: tf.linalg.adjoint(x), c64(2, 3))
case(
    "tf.linalg.matrix_transpose", "batches", lambda tf, x: tf.linalg.matrix_transpose(x), f(2, 3, 4)
)

# Systems and factorizations.
LOOSE = {"rtol": 1e-4, "atol": 1e-5}
case(
    "tf.linalg.inv", "a matrix", lambda tf, x: tf.linalg.inv(x), wellformed(3), second=True, **LOOSE
)
case(
    "tf.linalg.inv",
    "adjoint",
    lambda tf, x: tf.linalg.inv(x, adjoint=True),
    wellformed(2, (2,)),
    **LOOSE,
)
case("tf.linalg.det", "a matrix", lambda tf, x: tf.linalg.det(x), wellformed(3), **LOOSE)
case("tf.linalg.det", "batches", lambda tf, x: tf.linalg.det(x), wellformed(2, (3,)), **LOOSE)
case(
    "tf.linalg.slogdet",
    "a matrix",
    lambda tf, x: tuple(tf.linalg.slogdet(x)),
    wellformed(3),
    **LOOSE,
)
case("tf.linalg.logdet", "positive", lambda tf, x: tf.linalg.logdet(x), spd(3), **LOOSE)
case(
    "tf.linalg.solve",
    "a matrix",
    lambda tf, a, y: tf.linalg.solve(a, y),
    wellformed(3),
    f(3, 2),
    second=True,
    **LOOSE,
)
case(
    "tf.linalg.solve",
    "adjoint",
    lambda tf, a, y: tf.linalg.solve(a, y, adjoint=True),
    wellformed(3),
    f(3, 1),
    **LOOSE,
)
case(
    "tf.linalg.solve",
    "batches",
    lambda tf, a, y: tf.linalg.solve(a, y),
    wellformed(2, (2,)),
    f(2, 2, 1),
    **LOOSE,
)
case(
    "tf.linalg.triangular_solve",
    "lower",
    lambda tf, a, y: tf.linalg.triangular_solve(a, y),
    wellformed(3),
    f(3, 2),
    **LOOSE,
)
case(
    "tf.linalg.triangular_solve",
    "upper adjoint",
    lambda tf, a, y: tf.linalg.triangular_solve(a, y, lower=False, adjoint=True),
    wellformed(3),
    f(3, 2),
    **LOOSE,
)
case("tf.linalg.cholesky", "a matrix", lambda tf, x: tf.linalg.cholesky(x), spd(3), **LOOSE)
case("tf.linalg.cholesky", "batches", lambda tf, x: tf.linalg.cholesky(x), spd(2, (2,)), **LOOSE)
case(
    "tf.linalg.cholesky_solve",
    "a matrix",
    lambda tf, a, y: tf.linalg.cholesky_solve(tf.linalg.cholesky(a), y),
    spd(3),
    f(3, 2),
    **LOOSE,
)
case(
    "tf.linalg.lstsq",
    "a tall matrix",
    lambda tf, a, y: tf.linalg.lstsq(a, y),
    f(4, 2),
    f(4, 1),
    rtol=1e-3,
    atol=1e-4,
    without=("unknown", "grad_unknown"),
    why="the rank of a is needed",
)
case(
    "tf.linalg.pinv",
    "a tall matrix",
    lambda tf, a: tf.linalg.pinv(a),
    f(4, 2),
    without="grad_unknown",
    why="TensorFlow's gradient of SVD needs known sizes",
    rtol=1e-3,
    atol=1e-4,
)
case(
    "tf.linalg.matrix_rank",
    "a matrix",
    lambda tf, a: tf.linalg.matrix_rank(a),
    lit([[1.0, 2], [2, 4]]),
)
case("tf.linalg.svd", "values", lambda tf, x: tf.linalg.svd(x, compute_uv=False), f(3, 2), **LOOSE)
case(
    "tf.linalg.svd",
    "products",
    lambda tf, x: (lambda s, u, v: (s, u @ tf.linalg.diag(s) @ tf.transpose(v)))(*tf.linalg.svd(x)),
    f(3, 2),
    rtol=1e-3,
    atol=2e-4,
    without="grad_unknown",
    why="the sizes must be known",
)
case(
    "tf.linalg.svd",
    "squares of vectors",
    lambda tf, x: [tf.abs(part) for part in tf.linalg.svd(x)],
    f(3, 3),
    without="grad_unknown",
    why="TensorFlow's gradient of SVD needs known sizes",
    **LOOSE,
)
case(
    "tf.linalg.svd",
    "full",
    lambda tf, x: tf.linalg.svd(x, full_matrices=True)[0],
    f(3, 2),
    without="grad_unknown",
    why="TensorFlow's gradient of SVD needs known sizes",
    **LOOSE,
)
case(
    "tf.linalg.qr",
    "a product",
    lambda tf, x: (lambda q, r: (q @ r, tf.abs(r)))(*tf.linalg.qr(x)),
    f(3, 2),
    without="grad_unknown",
    why="the sizes must be known",
    **LOOSE,
)
case(
    "tf.linalg.qr",
    "full",
    lambda tf, x: tf.shape(tf.linalg.qr(x, full_matrices=True)[0]),
    f(3, 2),
)
case("tf.linalg.eigh", "values", lambda tf, x: tf.linalg.eigh(x)[0], spd(3), **LOOSE)
case(
    "tf.linalg.eigh",
    "squares of vectors",
    lambda tf, x: tf.linalg.eigh(x)[1] ** 2,
    spd(3),
    **LOOSE,
)
case("tf.linalg.eigvalsh", "values", lambda tf, x: tf.linalg.eigvalsh(x), spd(3), **LOOSE)
case(
    "tf.linalg.eigvals",
    "values of a symmetric one",
    lambda tf, x: tf.sort(tf.math.real(tf.linalg.eigvals(x))),
    spd(3),
    **LOOSE,
)
case(
    "tf.linalg.eig",
    "moduli",
    lambda tf, x: tf.sort(tf.abs(tf.linalg.eig(x)[0])),
    wellformed(3),
    **LOOSE,
)
case(
    "tf.linalg.lu",
    "a matrix",
    lambda tf, x: tuple(tf.linalg.lu(x)),
    f(3, 3),
    grad="TensorFlow has no gradient of it",
    **LOOSE,
)
case(
    "tf.linalg.expm",
    "a matrix",
    lambda tf, x: tf.linalg.expm(x),
    f(2, 2, low=-1, high=1),
    **LOOSE,
)
case(
    "tf.linalg.logm",
    "a complex matrix",
    lambda tf, x: tf.linalg.logm(x),
    spd(2).astype(np.complex64),
    grad="TensorFlow has no gradient of it",
    **LOOSE,
)
case("tf.linalg.sqrtm", "a matrix", lambda tf, x: tf.linalg.sqrtm(x), spd(2), **LOOSE)
case(
    "tf.linalg.tridiagonal_matmul",
    "compact",
    lambda tf, d, x: tf.linalg.tridiagonal_matmul(d, x, diagonals_format="compact"),
    f(3, 4),
    f(4, 2),
    **LOOSE,
)
case(
    "tf.linalg.tridiagonal_solve",
    "compact",
    lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x),
    lit([[1.0, 1, 1, 0], [4, 4, 4, 4], [0, 1, 1, 1]]),
    f(4, 2),
    **LOOSE,
)
case("tf.linalg.l2_normalize", "a matrix", lambda tf, x: tf.linalg.l2_normalize(x, axis=1), f(2, 3))
case(
    "tf.math.l2_normalize",
    "zeros",
    lambda tf, x: tf.math.l2_normalize(x, axis=-1),
    lit([[0.0, 0], [3, 4]]),
)
case("tf.linalg.normalize", "a matrix", lambda tf, x: tf.linalg.normalize(x, axis=1), f(2, 3))
case("tf.linalg.logdet", "batches", lambda tf, x: tf.linalg.logdet(x), spd(2, (2,)), **LOOSE)

# Norms.
case("tf.norm", "all", lambda tf, x: tf.norm(x), f(3, 4), second=True)
case("tf.norm", "an axis", lambda tf, x: tf.norm(x, axis=1), f(3, 4))
case("tf.norm", "kept", lambda tf, x: tf.norm(x, axis=-1, keepdims=True), f(3, 4))
case("tf.norm", "one", lambda tf, x: tf.norm(x, ord=1), f(5))
case("tf.norm", "infinity", lambda tf, x: tf.norm(x, ord=np.inf), f(5))
case("tf.norm", "three", lambda tf, x: tf.norm(x, ord=3, axis=0), f(3, 2))
case("tf.norm", "of a matrix", lambda tf, x: tf.norm(x, ord="fro", axis=[-2, -1]), f(2, 3, 2))
case("tf.norm", "matrix one", lambda tf, x: tf.norm(x, ord=1, axis=[0, 1]), f(3, 2))
case("tf.norm", "at zero", lambda tf, x: tf.norm(x), lit([0.0, 0.0]))
case("tf.norm", "complex", lambda tf, x: tf.norm(x), c64(3))
case("tf.linalg.norm", "an axis", lambda tf, x: tf.linalg.norm(x, axis=0), f(3, 4))

# Fourier transforms.
FFT = {"rtol": 1e-4, "atol": 1e-5}
case("tf.signal.fft", "eight", lambda tf, x: tf.signal.fft(x), c64(8), **FFT)
case("tf.signal.fft", "odd", lambda tf, x: tf.signal.fft(x), c64(2, 7), **FFT)
case("tf.signal.fft", "c128", lambda tf, x: tf.signal.fft(x), c128(6))
case("tf.signal.ifft", "six", lambda tf, x: tf.signal.ifft(x), c64(6), **FFT)
case("tf.signal.fft2d", "a matrix", lambda tf, x: tf.signal.fft2d(x), c64(3, 4), **FFT)
case("tf.signal.ifft2d", "a matrix", lambda tf, x: tf.signal.ifft2d(x), c64(3, 4), **FFT)
case("tf.signal.fft3d", "a cube", lambda tf, x: tf.signal.fft3d(x), c64(2, 2, 3), **FFT)
case("tf.signal.ifft3d", "a cube", lambda tf, x: tf.signal.ifft3d(x), c64(2, 2, 3), **FFT)
case("tf.signal.rfft", "eight", lambda tf, x: tf.signal.rfft(x), f(8), **FFT)
case(
    "tf.signal.rfft",
    "a length",
    lambda tf, x: tf.signal.rfft(x, [6]),
    f(2, 8),
    grad="TensorFlow's gradient adds shapes that differ, and fails",
    **FFT,
)
case("tf.signal.rfft", "padded", lambda tf, x: tf.signal.rfft(x, [8]), f(5), **FFT)
case("tf.signal.irfft", "five", lambda tf, x: tf.signal.irfft(x), c64(5), **FFT)
case("tf.signal.irfft", "a length", lambda tf, x: tf.signal.irfft(x, [7]), c64(2, 4), **FFT)
case("tf.signal.rfft2d", "a matrix", lambda tf, x: tf.signal.rfft2d(x), f(4, 6), **FFT)
case("tf.signal.irfft2d", "a matrix", lambda tf, x: tf.signal.irfft2d(x), c64(4, 4), **FFT)
case(
    "tf.signal.irfft3d",
    "a cube",
    lambda tf, x: tf.signal.irfft3d(x),
    c64(2, 2, 3),
    grad="TensorFlow has no gradient of it",
    **FFT,
)
case(
    "tf.signal.rfft3d",
    "a cube",
    lambda tf, x: tf.signal.rfft3d(x),
    f(2, 2, 4),
    grad="TensorFlow has no gradient of it",
    **FFT,
)
case("tf.signal.fftshift", "seven", lambda tf, x: tf.signal.fftshift(x), f(7))
case("tf.signal.ifftshift", "seven", lambda tf, x: tf.signal.ifftshift(x, axes=0), f(7))
case("tf.signal.frame", "overlapping", lambda tf, x: tf.signal.frame(x, 4, 2), f(9))
case("tf.signal.frame", "padded", lambda tf, x: tf.signal.frame(x, 4, 3, pad_end=True), f(2, 9))
case("tf.signal.overlap_and_add", "frames", lambda tf, x: tf.signal.overlap_and_add(x, 2), f(3, 4))
case(
    "tf.signal.stft",
    "a wave",
    lambda tf, x: tf.signal.stft(x, frame_length=8, frame_step=4),
    f(20),
    **FFT,
)
case(
    "tf.signal.stft",
    "a wave padded",
    lambda tf, x: tf.signal.stft(x, 6, 3, fft_length=8, pad_end=True),
    f(2, 16),
    **FFT,
)
case(
    "tf.signal.inverse_stft",
    "a wave",
    lambda tf, x: tf.signal.inverse_stft(x, 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4)),
    c64(4, 5),
    **FFT,
)
for _type in (1, 2, 3, 4):
    case(
        "tf.signal.dct",
        f"type {_type}",
        lambda tf, x, t=_type: tf.signal.dct(x, type=t),
        f(2, 6),
        rtol=1e-4,
        atol=1e-4,
    )
case(
    "tf.signal.idct",
    "type 2",
    lambda tf, x: tf.signal.idct(x, norm="ortho"),
    f(2, 6),
    rtol=1e-4,
    atol=1e-4,
)


@plain("tf.signal.hann_window", "windows", rtol=1e-5, atol=1e-6)
def _(tf):
    s = tf.signal
    return [
        s.hann_window(8),
        s.hann_window(7, periodic=False),
        s.hamming_window(8),
        s.hamming_window(5),
        s.kaiser_window(6),
        s.kaiser_window(6, beta=5.0),
        s.hann_window(1),
        s.vorbis_window(4),
        s.kaiser_bessel_derived_window(4),
    ]


@plain("tf.signal.linear_to_mel_weight_matrix", "small", rtol=1e-4, atol=1e-5)
def _(tf):
    return tf.signal.linear_to_mel_weight_matrix(4, 9, 8000)
