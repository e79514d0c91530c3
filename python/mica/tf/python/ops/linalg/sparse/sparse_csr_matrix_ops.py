"""Products of sparse matrices in compressed rows."""

from __future__ import annotations

from collections import namedtuple

from ....._core import ops

_Parts = namedtuple("CSRSparseMatrixToSparseTensor", "indices values dense_shape")


def sparse_tensor_to_csr_sparse_matrix(indices, values, dense_shape, name=None):
    """Return a matrix, or a batch of matrices, with its rows found quickly."""
    return ops["SparseTensorToCSRSparseMatrix"](indices, values, dense_shape, name=name)


def csr_sparse_matrix_to_sparse_tensor(sparse_matrix, type, name=None):
    """Return the places, values and sizes of such a matrix."""
    return _Parts(*ops["CSRSparseMatrixToSparseTensor"](sparse_matrix, type=type, name=name))


def sparse_matrix_sparse_mat_mul(
    a,
    b,
    type,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    name=None,
):
    """Return the product of two such matrices."""
    return ops["SparseMatrixSparseMatMul"](
        a,
        b,
        type=type,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        adjoint_a=adjoint_a,
        adjoint_b=adjoint_b,
        name=name,
    )
