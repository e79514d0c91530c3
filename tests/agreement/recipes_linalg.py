"""Recipes of tf.linalg."""

from generator import COMPLEX, EVERY, FLOATS, FULL_FLOATS, NUMBERS, REALS, recipe

SOLVED = (*FULL_FLOATS, *FULL_FLOATS, *COMPLEX)


def square(d, kind, dtypes=SOLVED, low=0):
    n = d.between(1, 3)
    return d.array(dtypes, [*d.shape(low, 1), n, n], kind), n


@recipe("matmul")
def _(d):
    batch, (n, k, m) = d.shape(0, 2, empty=False), [d.between(1, 4) for _ in range(3)]
    dtype = d.dtype((*FLOATS, "int32", "int64", *COMPLEX))
    a, b = d.flag() and d.flag(), d.flag() and d.flag()
    word = d.pick(("transpose", "adjoint"))
    arguments = {
        "a": d.array(dtype, [*batch, k, n] if a else [*batch, n, k]),
        "b": d.array(dtype, [*d.broadcast(batch), m, k] if b else [*d.broadcast(batch), k, m]),
    }
    for flag, name in ((a, "a"), (b, "b")):
        if flag:
            arguments[f"{word}_{name}="] = True
    return arguments


@recipe("linalg.matvec")
def _(d):
    batch, n, k = d.shape(0, 1, empty=False), d.between(1, 4), d.between(1, 4)
    dtype = d.dtype((*FLOATS, "int32", *COMPLEX))
    flag = d.chance(30)
    arguments = {"a": d.array(dtype, [*batch, k, n] if flag else [*batch, n, k]),
                 "b": d.array(dtype, [*batch, k])}  # fmt: skip
    return {**arguments, "transpose_a=": True} if flag else arguments


@recipe("tensordot")
def _(d):
    dtype = d.dtype((*FLOATS, "int32", *COMPLEX))
    which = d.below(3)
    inner = [d.between(1, 3) for _ in range(d.between(1, 2))]
    a, b = d.shape(0, 2), d.shape(0, 1)
    if which == 0:
        return {"a": d.array(dtype, a + inner), "b": d.array(dtype, inner + b),
                "axes": len(inner)}  # fmt: skip
    if which == 1:
        axes = [[len(a) + i for i in range(len(inner))], list(range(len(inner)))]
        return {"a": d.array(dtype, a + inner), "b": d.array(dtype, inner + b), "axes": axes}
    return {"a": d.array(dtype, [*a, inner[0]]), "b": d.array(dtype, [inner[0], *b]),
            "axes": [[-1], [0]]}  # fmt: skip


@recipe("linalg.det", "linalg.slogdet", "linalg.inv")
def _(d):
    return {"input": square(d, "regular")[0]}


@recipe("linalg.cholesky", "linalg.expm", "matrix_square_root")
def _(d):
    return {"input": square(d, "definite")[0]}


recipe("linalg.logm")(lambda d: {"input": square(d, "definite", COMPLEX)[0]})
recipe("linalg.logdet")(lambda d: {"matrix": square(d, "definite")[0]})
recipe("linalg.eigh", "linalg.eigvalsh", order=1)(lambda d: {"tensor": square(d, "hermitian")[0]})


@recipe("linalg.cholesky_solve")
def _(d):
    chol, _ = square(d, "lower")
    shape = chol["t"][2]
    return {"chol": chol, "rhs": d.array(chol["t"][1], [*shape[:-1], d.between(1, 3)])}


@recipe("linalg.solve", "linalg.triangular_solve")
def _(d):
    matrix, _ = square(d, "regular")
    shape = matrix["t"][2]
    rhs = d.array(matrix["t"][1], [*shape[:-1], d.between(1, 3)], "uniform")
    arguments = {"matrix": matrix, "rhs": rhs}
    return d.keywords(arguments, 40, adjoint=d.flag())


@recipe("linalg.lstsq")
def _(d):
    n, m = d.between(1, 3), d.between(1, 3)
    dtype = d.dtype(FULL_FLOATS)
    batch = d.shape(0, 1, empty=False)
    arguments = {"matrix": d.array(dtype, [*batch, n, m], "regular"),
                 "rhs": d.array(dtype, [*batch, n, d.between(1, 2)], "uniform")}  # fmt: skip
    return d.keywords(arguments, 40, l2_regularizer=d.pick((0.0, 0.1)), fast=d.flag())


@recipe("linalg.qr", order=1)
def _(d):
    shape = [*d.shape(0, 1), d.between(1, 4), d.between(1, 4)]
    return d.keywords({"input": d.array(FULL_FLOATS, shape, "uniform")}, 40,
                      full_matrices=d.flag())  # fmt: skip


@recipe("linalg.svd", order=1)
def _(d):
    shape = [*d.shape(0, 1), d.between(1, 4), d.between(1, 4)]
    arguments = {"tensor": d.array(FULL_FLOATS, shape, "uniform")}
    return d.keywords(arguments, 50, full_matrices=d.flag(), compute_uv=d.flag())


@recipe("linalg.lu", order=1)
def _(d):
    return {"input": square(d, "regular")[0]}


@recipe("linalg.lu_reconstruct", "linalg.lu_matrix_inverse")
def _(d):
    lower_upper, n = square(d, "regular", FULL_FLOATS)
    lower_upper["t"][2] = [n, n]
    perm = {"t": ["tensor", "int32", [n], "permutation", d.below(99)]}
    return {"lower_upper": lower_upper, "perm": perm}


@recipe("linalg.lu_solve")
def _(d):
    lower_upper, n = square(d, "regular", FULL_FLOATS)
    lower_upper["t"][2] = [n, n]
    perm = {"t": ["tensor", "int32", [n], "permutation", d.below(99)]}
    rhs = d.array(lower_upper["t"][1], [n, d.between(1, 3)], "uniform")
    return {"lower_upper": lower_upper, "perm": perm, "rhs": rhs}


@recipe("linalg.matrix_rank", order=0)
def _(d):
    shape = [*d.shape(0, 1), d.between(1, 4), d.between(1, 4)]
    return {"a": d.array(FULL_FLOATS, shape, d.pick(("uniform", "range 0 1")))}


@recipe("linalg.pinv")
def _(d):
    shape = [*d.shape(0, 1), d.between(1, 4), d.between(1, 4)]
    arguments = {"a": d.array(FULL_FLOATS, shape, "uniform")}
    return d.some(arguments, 30, rcond=d.pick((1e-6, 0.1)))


@recipe("linalg.adjoint")
def _(d):
    return {"matrix": d.array(EVERY, d.shape(2, 4))}


@recipe("linalg.matrix_transpose")
def _(d):
    return d.keywords({"a": d.array(EVERY, d.shape(2, 4))}, 30, conjugate=d.flag())


@recipe("linalg.band_part")
def _(d):
    return {"input": d.array(NUMBERS, d.shape(2, 3)), "num_lower": d.between(-1, 2),
            "num_upper": d.between(-1, 2)}  # fmt: skip


@recipe("linalg.cross")
def _(d):
    dtype, shape = d.dtype(REALS), [*d.shape(0, 2), 3]
    return {"a": d.array(dtype, shape), "b": d.array(dtype, shape)}


@recipe("linalg.diag")
def _(d):
    shape = d.shape(1, 2, empty=False)
    arguments = {"diagonal": d.array(NUMBERS, shape)}
    if d.chance(40):
        arguments["k="] = d.between(-2, 2)
    elif d.chance(40) and len(shape) == 2:
        arguments["k="] = {"u": [0, shape[0] - 1]}
        arguments["align="] = d.pick(("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"))
    return d.keywords(arguments, 20, padding_value=7)


@recipe("linalg.diag_part")
def _(d):
    arguments = {"input": d.array(NUMBERS, d.shape(2, 3, empty=False))}
    if d.chance(40):
        arguments["k="] = d.between(-1, 1)
    elif d.chance(40):
        arguments["k="] = {"u": [d.pick((-1, 0)), d.pick((0, 1))]}
        arguments["align="] = d.pick(("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"))
    return d.keywords(arguments, 20, padding_value=7)


@recipe("linalg.set_diag")
def _(d):
    shape, dtype = d.shape(2, 3, empty=False), d.dtype(NUMBERS)
    n = min(shape[-2:])
    return {"input": d.array(dtype, shape), "diagonal": d.array(dtype, [*shape[:-2], n])}


@recipe("linalg.tensor_diag")
def _(d):
    return {"diagonal": d.array(NUMBERS, d.shape(0, 2))}


@recipe("linalg.tensor_diag_part")
def _(d):
    shape = d.shape(1, 2)
    return {"input": d.array(NUMBERS, shape + shape)}


@recipe("linalg.trace")
def _(d):
    return {"x": d.array(NUMBERS, d.shape(2, 4))}


ORDERS = ("euclidean", 1, 2, {"f": "inf"}, "fro", 3)


@recipe("norm")
def _(d):
    shape = d.shape(1, 3)
    arguments = {"tensor": d.array((*FLOATS, *COMPLEX), shape)}
    d.some(arguments, 50, ord=d.pick(ORDERS))
    if d.flag():
        axis = d.axis(len(shape)) if len(shape) < 2 or d.flag() else [-2, -1]
        arguments["axis="] = axis
    return d.keywords(arguments, 30, keepdims=d.flag())


@recipe("linalg.normalize")
def _(d):
    shape = d.shape(1, 3)
    arguments = {"tensor": d.array(FULL_FLOATS, shape)}
    d.some(arguments, 40, ord=d.pick(ORDERS))
    return d.keywords(arguments, 50, axis=d.axis(len(shape)))


@recipe("linalg.eigh_tridiagonal", order=1)
def _(d):
    n, dtype = d.between(2, 5), d.dtype(FULL_FLOATS)
    return {"alpha": d.array(dtype, [n], "uniform"), "beta": d.array(dtype, [n - 1], "uniform")}


@recipe("linalg.tridiagonal_solve")
def _(d):
    n, dtype, batch = d.between(1, 4), d.dtype(SOLVED), d.shape(0, 1, empty=False)
    diagonals = d.array(dtype, [*batch, 3, n], "positive")
    arguments = {"diagonals": diagonals, "rhs": d.array(dtype, [*batch, n], "uniform")}
    return d.keywords(arguments, 20, partial_pivoting=d.flag())


@recipe("linalg.tridiagonal_matmul")
def _(d):
    n, dtype, batch = d.between(1, 4), d.dtype(SOLVED), d.shape(0, 1, empty=False)
    return {"diagonals": d.array(dtype, [*batch, 3, n]),
            "rhs": d.array(dtype, [*batch, n, d.between(1, 3)])}  # fmt: skip


@recipe("linalg.banded_triangular_solve")
def _(d):
    n, dtype, batch = d.between(1, 4), d.dtype(FULL_FLOATS), d.shape(0, 1, empty=False)
    bands = d.array(dtype, [*batch, d.between(1, n), n], "positive")
    arguments = {"bands": bands, "rhs": d.array(dtype, [*batch, n, 2], "uniform")}
    return d.keywords(arguments, 40, lower=d.flag(), adjoint=d.flag())
