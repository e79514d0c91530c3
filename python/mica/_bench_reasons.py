"""Why primitives are slower than numpy: the reasons that `mica bench ops --check` accepts."""

from __future__ import annotations

#: In `what` and `dtypes`, * stands for anything; several dtypes are separated by spaces.
Reason = tuple[str, str, str, str]

_WIDE = (
    "computed in f64, with half as many lanes, and rounded once: almost correctly rounded where "
    "numpy's vector library allows a few ulp"
)
_LAPACK = (
    "LAPACK where one is found, held to one thread for each matrix, so that bits do not depend on "
    "the number of threads, with a transposition before and after; without one an unblocked kernel"
)

#: Rows (op, what, dtypes, reason).
REASONS: list[Reason] = [
    ("sin", "*", "f32", _WIDE),
    ("cos", "*", "f32", _WIDE),
    ("tan", "*", "f32", _WIDE),
    ("asin", "*", "f32", _WIDE),
    ("acos", "*", "f32", _WIDE),
    ("atan", "*", "f32", _WIDE),
    ("sinh", "*", "f32", _WIDE),
    ("cosh", "*", "f32", _WIDE),
    ("asinh", "*", "f32", _WIDE),
    ("acosh", "*", "f32", _WIDE),
    ("atanh", "*", "f32", _WIDE),
    ("pow", "*", "f32", _WIDE),
    ("atan2", "*", "f32", _WIDE),
    (
        "igamma",
        "*",
        "f64",
        "without branches: every element computes both the series and the integral, and takes one",
    ),
    (
        "erfinv",
        "*",
        "f64",
        "a step of Halley's method with the C library's erf or erfc, one element at a time",
    ),
    (
        "convert",
        "to i32",
        "f64",
        "saturates and takes NaN to 0, where numpy's result is undefined: eight steps "
        "beside the conversion, in the loops of AVX2, for half as many lanes as AVX-512 has",
    ),
    (
        "convert",
        "to i64",
        "f32 f64",
        "saturates and takes NaN to 0; the loops are those of AVX2, which has no such "
        "conversion to 64 bits",
    ),
    (
        "convert",
        "to f32",
        "i64",
        "the loops are those of AVX2, which has no conversion from 64-bit integers",
    ),
    (
        "reverse",
        "axis 1",
        "f64",
        "reversed in vectors of two; the 16 MB that it moves exceed the inner "
        "caches, and the ratio goes from 1.0 to 1.8 with what else the machine does",
    ),
    (
        "scatter",
        "* elements",
        "*",
        "cut by destination, so that the order of updates is fixed: every piece reads "
        "all the indices",
    ),
    (
        "scatter",
        "set rows",
        "f64",
        "x0 is copied first, as numpy's is; then pieces by destination read all the indices",
    ),
    (
        "dot",
        "*vector*",
        "c64 c128",
        "one pass over the matrix, bound by loads: for each vector of the matrix two more "
        "are loaded, of x and of x with its parts exchanged, or of the two sums that each "
        "column has",
    ),
    (
        "dot",
        "vector by matrix",
        "f64",
        "reads 8 MB out of the cache that the cores share, at 130 GB/s: 64 us in every run, "
        "numpy's 57 in two runs and 52 in a third",
    ),
    (
        "dot",
        "matrices",
        "c64 c128",
        "256 x 256: parts are taken apart as they are packed and put together as they are "
        "written; 1.0 to 1.22 of numpy's time from run to run",
    ),
    (
        "dot",
        "batch of 64 x 64",
        "*",
        "each product is packed into panels, which costs as much as so small a product",
    ),
    (
        "popcount",
        "*",
        "i64",
        "counted by shifts and masks, the same text as on a GPU; numpy's result is one byte "
        "per element, an eighth of the bytes",
    ),
    (
        "rng_bits",
        "*",
        "*",
        "Philox 4x32 makes 16 bytes in ten rounds, numpy's 4x64 makes 32",
    ),
    (
        "triangular_solve",
        "*",
        "*",
        "blocks over the contraction engine, with the same bits for any number of threads; "
        "the triangles themselves are solved row by row, where scipy has OpenBLAS's kernels",
    ),
    ("cholesky", "*", "*", _LAPACK),
    ("lu", "*", "*", _LAPACK),
    (
        "eigh",
        "*",
        "*",
        "LAPACK where one is found, held to one thread for each matrix; without one QL on "
        "the tridiagonal form, in f64 for f32 too",
    ),
    (
        "svd",
        "*",
        "*",
        "LAPACK where one is found, held to one thread for each matrix; without one "
        "rotations in f64: accurate for small singular values, several passes over the "
        "matrix",
    ),
]
