"""What `mica bench ops` times: for each row of the table its operands, and numpy's way to do it.

MAP and ELEMENTWISE rows need a line in `PEERS` (and in `RANGES` where they are not at home in
every number); other rows need a function in `SPECIAL`. Rows that run other rows are not timed. A
row with none of these is reported, and ``mica bench ops --check`` fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import mica
from mica import _mica

try:
    from scipy import linalg, special
except ImportError:  # the peers that need it are then missing
    linalg = special = None

SIDE = 1024  # of matrices: 1M elements
SIZE = SIDE * SIDE


class Entry(NamedTuple):
    """One thing to time."""

    what: str  # tells entries of a row apart
    dtype: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any] | None
    peer: str  # what `theirs` is, or why there is none
    bytes: int  # read and written
    flops: float = 0.0  # where arithmetic is the measure
    same: bool = True  # both sides give the same numbers, but for rounding


# ---- operands ------------------------------------------------------------------------------------

NUMPY = {
    "bool": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": np.float32,  # numpy has none: drawn in f32, converted by Mica
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
# The dtypes that a row's class is timed with; numpy has no bf16.
TIMED = {
    "FLOATS": ["f32", "f64", "bf16"],
    "F32_F64": ["f32", "f64"],
    "F32_F64_COMPLEX": ["f32", "f64", "c64", "c128"],
    "NUMBERS": ["f32", "f64", "i32", "bf16"],
    "INTEGERS": ["i32", "i64"],
    "BITS": ["i32", "bool"],
    "ANY": ["f32", "f64", "u8"],
    "STORED": ["f32", "f64", "u8"],
    "FLOATS_COMPLEX": ["f32", "f64", "bf16"],
    "NUMBERS_COMPLEX": ["f32", "f64", "i32", "bf16"],
}


def dtypes_of(row: dict) -> list[str]:
    """The dtypes to time a row with; a set that is not known is timed in f32 and f64."""
    return TIMED.get(row["dtypes"], ["f32", "f64"])


def draw(dtype: str, shape: Any, low: float = -2, high: float = 2, seed: int = 0) -> np.ndarray:
    """Numbers spread evenly over an interval."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(NUMPY[dtype]).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind in "iu":
        low, high = (low, high) if (low, high) != (-2, 2) else (1 if kind == "u" else -100, 100)
        return rng.integers(int(low), int(high) + 1, shape).astype(NUMPY[dtype])
    if kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(
            NUMPY[dtype]
        )
    return rng.uniform(low, high, shape).astype(NUMPY[dtype])


def upload(array: np.ndarray, dtype: str) -> mica.Tensor:
    """The array as a tensor of the dtype."""
    tensor = mica.tensor(array)
    return tensor if tensor.dtype.name == dtype else mica.convert(tensor, dtype=dtype)


def pair(
    what: str,
    dtype: str,
    arrays: list[np.ndarray],
    ours: Callable,
    theirs: Callable | None,
    peer: str,
    *,
    takes_out: bool = False,
    flops: float = 0.0,
    dtypes: list[str] | None = None,
    same: bool = True,
) -> Entry:
    """Both sides on the same operands; `takes_out`: numpy writes to memory that is there already.

    `dtypes` are those of the operands where they are not `dtype`.
    """
    kinds = dtypes or [dtype] * len(arrays)
    tensors = [upload(array, kind) for array, kind in zip(arrays, kinds, strict=True)]
    result = ours(*tensors)
    results = result if isinstance(result, tuple) else (result,)
    moved = sum(t.size * t.dtype.itemsize for t in [*tensors, *results])
    if "bf16" in (dtype, *kinds):
        theirs, peer = None, "numpy has no bf16"
    call = None
    if theirs is not None and takes_out:
        out = np.empty_like(theirs(*arrays))
        call = lambda: theirs(*arrays, out=out)  # noqa: E731
    elif theirs is not None:
        call = lambda: theirs(*arrays)  # noqa: E731
    return Entry(what, dtype, lambda: ours(*tensors), call, peer, moved, flops, same)


# ---- MAP and ELEMENTWISE rows --------------------------------------------------------------------

NO_PEER = "numpy and scipy have no such function"


def _rsqrt(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    return np.divide(x.dtype.type(1), np.sqrt(x, out=out), out=out)


def _special(name: str) -> Callable | None:
    return getattr(special, name) if special is not None else None


# name: (numpy's function, what it is called); all take `out`.
PEERS: dict[str, tuple[Callable | None, str]] = {
    name: (getattr(np, theirs), f"numpy.{theirs}")
    for name, theirs in {
        "neg": "negative",
        "abs": "abs",
        "sign": "sign",
        "floor": "floor",
        "ceil": "ceil",
        "round": "rint",
        "exp": "exp",
        "expm1": "expm1",
        "log": "log",
        "log1p": "log1p",
        "sqrt": "sqrt",
        "cbrt": "cbrt",
        "sin": "sin",
        "cos": "cos",
        "tan": "tan",
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "sinh": "sinh",
        "cosh": "cosh",
        "tanh": "tanh",
        "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh",
        "not": "invert",
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "div": "divide",
        "rem": "fmod",
        "pow": "power",
        "max": "maximum",
        "min": "minimum",
        "atan2": "arctan2",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "shl": "left_shift",
        "sar": "right_shift",
        "nextafter": "nextafter",
        "is_finite": "isfinite",
        "conj": "conjugate",
    }.items()
}
PEERS |= {
    name: (_special(theirs), f"scipy.special.{theirs}")
    for name, theirs in {
        "erf": "erf",
        "erfc": "erfc",
        "erfinv": "erfinv",
        "lgamma": "gammaln",
        "digamma": "digamma",
        "igamma": "gammainc",
        "logistic": "expit",
    }.items()
}
PEERS |= {
    "rsqrt": (_rsqrt, "1 / numpy.sqrt"),
    "popcount": (getattr(np, "bitwise_count", None), "numpy.bitwise_count"),
    "clz": (None, NO_PEER),
    "shr": (None, NO_PEER),
    "reduce_precision": (None, NO_PEER),
    "clamp": (lambda x, low, high, out=None: np.clip(x, low, high, out=out), "numpy.clip"),
    "select": (lambda p, a, b: np.where(p, a, b), "numpy.where"),
    "complex": (lambda a, b: a + 1j * b, "x + 1j y"),
    "real": (lambda x, out=None: np.positive(x.real, out=out), "numpy.positive(x.real)"),
    "imag": (lambda x, out=None: np.positive(x.imag, out=out), "numpy.positive(x.imag)"),
}
# Where operands are drawn from, one interval for each; the rest are at home in [-2, 2].
RANGES: dict[str, list[tuple[float, float]]] = {
    "exp": [(-10, 10)],
    "expm1": [(-5, 5)],
    "log": [(0.01, 100)],
    "log1p": [(-0.9, 10)],
    "sqrt": [(0, 100)],
    "rsqrt": [(0.1, 100)],
    "cbrt": [(-100, 100)],
    "sin": [(-10, 10)],
    "cos": [(-10, 10)],
    "tan": [(-10, 10)],
    "asin": [(-1, 1)],
    "acos": [(-1, 1)],
    "atan": [(-10, 10)],
    "sinh": [(-5, 5)],
    "cosh": [(-5, 5)],
    "tanh": [(-5, 5)],
    "asinh": [(-10, 10)],
    "acosh": [(1, 20)],
    "atanh": [(-0.99, 0.99)],
    "erf": [(-3, 3)],
    "erfc": [(-3, 3)],
    "erfinv": [(-0.99, 0.99)],
    "lgamma": [(0.1, 20)],
    "digamma": [(0.1, 20)],
    "igamma": [(0.1, 20), (0.1, 20)],
    "logistic": [(-10, 10)],
    "floor": [(-100, 100)],
    "ceil": [(-100, 100)],
    "round": [(-100, 100)],
    "div": [(0, 100), (1, 50)],  # integers: where truncation is floor
    "rem": [(-100, 100), (1, 50)],
    "pow": [(0.1, 10), (-3, 3)],
    "popcount": [(0, 100)],  # numpy counts the bits of |x|
    "shl": [(0, 100), (0, 8)],
    "shr": [(0, 100), (0, 8)],
    "sar": [(0, 100), (0, 8)],
}


def _map_entries(row: dict) -> Iterator[Entry]:
    """A MAP or ELEMENTWISE row whose operands all have the dtype."""
    name = row["name"]
    function, peer = PEERS[name]
    op = getattr(_mica, name)
    arity = row["arity"]
    ranges = RANGES.get(name, [(-2, 2)])
    for dtype in dtypes_of(row):
        arrays = []
        for k in range(arity):
            low, high = ranges[min(k, len(ranges) - 1)]
            arrays.append(draw(dtype, SIZE, low, high, k))
        theirs, title = function, peer
        if name == "div" and dtype == "i32":
            theirs, title = np.floor_divide, "numpy.floor_divide"
        if theirs is None and title != NO_PEER:
            title = f"{title} is not installed"
        yield pair("", dtype, arrays, op, theirs, title, takes_out=True)


def _compare(row: dict) -> Iterator[Entry]:
    for direction, function in {"lt": np.less, "eq": np.equal}.items():
        for dtype in ["f32", "f64", "i32", "u8", "bf16"]:
            arrays = [draw(dtype, SIZE, seed=k) for k in range(2)]
            yield pair(
                direction,
                dtype,
                arrays,
                lambda a, b, d=direction: _mica.compare(a, b, direction=d),
                function,
                f"numpy.{function.__name__}",
                takes_out=True,
            )


def _select(row: dict) -> Iterator[Entry]:
    for dtype in dtypes_of(row):
        arrays = [draw("bool", SIZE), draw(dtype, SIZE, seed=1), draw(dtype, SIZE, seed=2)]
        function, peer = PEERS["select"]
        yield pair("", dtype, arrays, _mica.select, function, peer, dtypes=["bool", dtype, dtype])


CONVERSIONS = (
    "f32>f64 f64>f32 f32>i32 f64>i32 f32>i64 f64>i64 f32>u8 i32>f32 i64>f32 i64>f64 i32>i64 "
    "u8>f32 u8>i32 f32>f16 f16>f32 f32>bf16 bf16>f32 f32>bool bool>f32"
)


def _convert(row: dict) -> Iterator[Entry]:
    for text in CONVERSIONS.split():
        source, target = text.split(">")
        x = draw(source, SIZE, *((0, 100) if target == "u8" else (-2, 2)))

        def theirs(a: np.ndarray, out: np.ndarray, target: str = target) -> np.ndarray:
            np.copyto(out, a, casting="unsafe")
            return out

        entry = pair(
            f"to {target}",
            source,
            [x],
            lambda a, t=target: _mica.convert(a, dtype=t),
            None,
            "numpy has no bf16" if "bf16" in text else "numpy.copyto",
        )
        if "bf16" not in text:
            out = np.empty(SIZE, NUMPY[target])
            entry = entry._replace(theirs=lambda x=x, out=out, f=theirs: f(x, out))
        yield entry


def _reduce_precision(row: dict) -> Iterator[Entry]:
    for dtype in dtypes_of(row):
        yield pair(
            "to 5, 10 bits",
            dtype,
            [draw(dtype, SIZE)],
            lambda x: _mica.reduce_precision(x, exponent_bits=5, mantissa_bits=10),
            *PEERS["reduce_precision"],
        )


def _complex(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64"]:
        arrays = [draw(dtype, SIZE), draw(dtype, SIZE, seed=1)]
        yield pair("", dtype, arrays, getattr(_mica, row["name"]), *PEERS["complex"])


# ---- moving elements -----------------------------------------------------------------------------


def _copies(
    row: dict, what: str, shape: Any, ours: Callable, theirs: Callable, peer: str
) -> Iterator[Entry]:
    """A copy in each dtype; numpy's side makes a contiguous array as well."""
    for dtype in ["f32", "f64", "u8"]:
        yield pair(what, dtype, [draw(dtype, shape)], ours, theirs, peer)


def _iota(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64", "i32"]:
        yield pair(
            "",
            dtype,
            [],
            lambda d=dtype: _mica.iota(shape=(SIZE,), axis=0, dtype=d),
            lambda d=dtype: np.arange(SIZE, dtype=NUMPY[d]),
            "numpy.arange",
        )


def _broadcast(row: dict) -> Iterator[Entry]:
    shape = (SIDE, SIDE)
    yield from _copies(
        row,
        "a row",
        SIDE,
        lambda x: _mica.broadcast(x, shape=shape, axes=(1,)),
        lambda x: np.broadcast_to(x, shape).copy(),
        "numpy.broadcast_to, copied",
    )
    yield from _copies(
        row,
        "a column",
        SIDE,
        lambda x: _mica.broadcast(x, shape=shape, axes=(0,)),
        lambda x: np.broadcast_to(x[:, None], shape).copy(),
        "numpy.broadcast_to, copied",
    )


def _reshape(row: dict) -> Iterator[Entry]:
    yield from _copies(
        row,
        "",
        (SIDE, SIDE),
        lambda x: _mica.reshape(x, shape=(SIZE,)),
        lambda x: x.reshape(SIZE).copy(),
        "numpy.reshape, copied",
    )


def _bitcast(row: dict) -> Iterator[Entry]:
    for dtype, target in {"f32": "i32", "f64": "i64"}.items():
        yield pair(
            f"to {target}",
            dtype,
            [draw(dtype, SIZE)],
            lambda x, t=target: _mica.bitcast(x, dtype=t),
            lambda x, t=target: x.view(NUMPY[t]).copy(),
            "numpy.view, copied",
        )


def _transpose(row: dict) -> Iterator[Entry]:
    yield from _copies(
        row,
        "matrix",
        (SIDE, SIDE),
        lambda x: _mica.transpose(x, permutation=(1, 0)),
        lambda x: np.ascontiguousarray(x.T),
        "numpy.transpose, copied",
    )
    for what, permutation in {
        "NHWC to NCHW": (0, 3, 1, 2),
        "swap of outer axes": (1, 0, 2, 3),
    }.items():
        yield from _copies(
            row,
            what,
            (32, 32, 32, 32),
            lambda x, p=permutation: _mica.transpose(x, permutation=p),
            lambda x, p=permutation: np.ascontiguousarray(x.transpose(p)),
            "numpy.transpose, copied",
        )


def _slice(row: dict) -> Iterator[Entry]:
    for what, stride in {"inside": (1, 1), "every second": (1, 2)}.items():
        yield from _copies(
            row,
            what,
            (SIDE, SIDE),
            lambda x, s=stride: _mica.slice(x, start=(8, 8), limit=(SIDE - 8,) * 2, stride=s),
            lambda x, s=stride: x[8 : SIDE - 8 : s[0], 8 : SIDE - 8 : s[1]].copy(),
            "x[a:b:s], copied",
        )


def _pad(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64", "u8"]:
        zero = np.zeros((), NUMPY[dtype])
        yield pair(
            "around",
            dtype,
            [draw(dtype, (SIDE, SIDE)), zero],
            lambda x, z: _mica.pad(x, z, low=(8, 8), high=(8, 8), interior=(0, 0)),
            lambda x, z: np.pad(x, 8),
            "numpy.pad",
        )


def _concat(row: dict) -> Iterator[Entry]:
    for axis in (0, 1):
        for dtype in ["f32", "f64", "u8"]:
            halves = [draw(dtype, (SIDE, SIDE // 2), seed=k) for k in range(2)]
            if axis == 0:
                halves = [np.ascontiguousarray(h.reshape(SIDE // 2, SIDE)) for h in halves]
            yield pair(
                f"axis {axis}",
                dtype,
                halves,
                lambda a, b, n=axis: _mica.concat(a, b, axis=n),
                lambda a, b, n=axis, out=None: np.concatenate([a, b], axis=n, out=out),
                "numpy.concatenate",
                takes_out=True,
            )


def _reverse(row: dict) -> Iterator[Entry]:
    for axis in (0, 1):
        yield from _copies(
            row,
            f"axis {axis}",
            (SIDE, SIDE),
            lambda x, n=axis: _mica.reverse(x, axes=(n,)),
            lambda x, n=axis: np.flip(x, n).copy(),
            "numpy.flip, copied",
        )


def _dynamic_slice(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64", "u8"]:
        x, start = draw(dtype, (SIDE, SIDE)), np.array([8, 8], np.int32)
        yield pair(
            "",
            dtype,
            [x, start],
            lambda a, s: _mica.dynamic_slice(a, s, sizes=(SIDE - 16,) * 2),
            lambda a, s: a[s[0] : s[0] + SIDE - 16, s[1] : s[1] + SIDE - 16].copy(),
            "x[a:b], copied",
            dtypes=[dtype, "i32"],
        )


def _dynamic_update_slice(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64", "u8"]:
        x, part = draw(dtype, (SIDE, SIDE)), draw(dtype, (SIDE // 2, SIDE // 2))

        def theirs(a: np.ndarray, b: np.ndarray, s: np.ndarray) -> np.ndarray:
            y = a.copy()
            y[s[0] : s[0] + SIDE // 2, s[1] : s[1] + SIDE // 2] = b
            return y

        yield pair(
            "",
            dtype,
            [x, part, np.array([8, 8], np.int32)],
            _mica.dynamic_update_slice,
            theirs,
            "a copy, then y[a:b] = x",
            dtypes=[dtype, dtype, "i32"],
        )


def _gather(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64"]:
        rows = np.random.default_rng(1).integers(0, SIDE, SIDE).astype(np.int32)
        some = np.random.default_rng(2).integers(0, SIZE, SIZE).astype(np.int32)
        yield pair(
            "rows",
            dtype,
            [draw(dtype, (SIDE, SIDE)), rows],
            lambda x, i: mica.take(x, i, axis=0),
            lambda x, i: np.take(x, i, axis=0),
            "numpy.take",
            dtypes=[dtype, "i32"],
        )
        yield pair(
            "elements",
            dtype,
            [draw(dtype, SIZE), some],
            lambda x, i: mica.take(x, i, axis=0),
            lambda x, i: np.take(x, i, axis=0),
            "numpy.take",
            dtypes=[dtype, "i32"],
        )
        yield pair(
            "along an axis",
            dtype,
            [draw(dtype, (SIDE, SIDE)), (some % SIDE).reshape(SIDE, SIDE)],
            lambda x, i: mica.take_along_axis(x, i, axis=1),
            lambda x, i: np.take_along_axis(x, i, axis=1),
            "numpy.take_along_axis",
            dtypes=[dtype, "i32"],
        )


SCATTER = {
    "operand_batch_dims": (),
    "indices_batch_dims": (),
    "scatter_map": (0,),
    "inserted_window_dims": (0,),
    "index_vector_dim": 1,
    "mode": "fill",
}


def _scatter(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64"]:
        rows = np.random.default_rng(1).integers(0, SIDE, SIDE).astype(np.int32)
        some = np.random.default_rng(2).integers(0, SIZE, SIZE).astype(np.int32)

        def add(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
            y = x.copy()
            np.add.at(y, i, u)
            return y

        def put(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
            y = x.copy()
            y[i] = u
            return y

        for what, shape, index, window in [
            ("rows", (SIDE, SIDE), rows, (1,)),
            ("elements", (SIZE,), some, ()),
        ]:
            arrays = [draw(dtype, shape), index, draw(dtype, shape, seed=1)]
            for kind, theirs, peer in [
                ("add", add, "numpy.add.at on a copy"),
                ("set", put, "a copy, then y[i] = x"),
            ]:
                yield pair(
                    f"{kind} {what}",
                    dtype,
                    arrays,
                    lambda x, i, u, k=kind, w=window: _mica.scatter(
                        x, i, u, kind=k, update_window_dims=w, **SCATTER
                    ),
                    theirs,
                    peer,
                    dtypes=[dtype, "i32", dtype],
                )


# ---- contractions --------------------------------------------------------------------------------


def _dot(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64", "bf16", "i32", "c64", "c128"]:
        side = SIDE if dtype[0] in "fb" else 256
        for what, left, right in [
            ("matrices", (side, side), (side, side)),
            ("matrix by vector", (SIDE, SIDE), (SIDE,)),
            ("vector by matrix", (SIDE,), (SIDE, SIDE)),
            ("batch of 64 x 64", (256, 64, 64), (256, 64, 64)),
        ]:
            a, b = draw(dtype, left), draw(dtype, right, seed=1)
            n = 2.0 * a.size * (right[-1] if len(right) > 1 and len(left) > 1 else 1)
            n = 2.0 * b.size if len(left) == 1 else n
            yield pair(what, dtype, [a, b], _mica.matmul, np.matmul, "numpy.matmul", flops=n)


def _conv(row: dict) -> Iterator[Entry]:
    settings = {
        "3x3, 64 to 64": ((8, 28, 28, 64), (3, 3, 64, 64), (1, 1), 1),
        "3x3 strides 2": ((8, 28, 28, 64), (3, 3, 64, 64), (2, 2), 1),
        "3x3 depthwise": ((8, 28, 28, 64), (3, 3, 1, 64), (1, 1), 64),
    }
    for what, (left, right, strides, groups) in settings.items():
        for dtype in ["f32", "f64"]:
            out = left[1] // strides[0] * (left[2] // strides[1]) * left[0] * right[3]
            yield pair(
                what,
                dtype,
                [draw(dtype, left), draw(dtype, right, seed=1)],
                lambda x, w, s=strides, g=groups: _mica.conv(
                    x,
                    w,
                    layout="N01C,01IO,N01C",
                    strides=s,
                    low=(1, 1),
                    high=(1, 1),
                    lhs_dilation=(1, 1),
                    rhs_dilation=(1, 1),
                    groups=g,
                    batch_groups=1,
                ),
                None,
                NO_PEER,
                flops=2.0 * out * right[0] * right[1] * right[2],
            )


# ---- reductions ----------------------------------------------------------------------------------


def _reduce(row: dict) -> Iterator[Entry]:
    kinds = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
    places = {"all": (0, 1), "rows": (1,), "columns": (0,)}
    for kind, function in kinds.items():
        for what, axes in places.items():
            for dtype in ["f32", "f64", "i32", "bf16"] if kind in ("sum", "max") else ["f32"]:
                extra = {"dtype": NUMPY[dtype]} if kind in ("sum", "prod") else {}
                yield pair(
                    f"{kind} of {what}",
                    dtype,
                    [draw(dtype, (SIDE, SIDE), 0.5, 1.5 if kind == "prod" else 100)],
                    lambda x, k=kind, a=axes: _mica.reduce(x, kind=k, axes=a),
                    lambda x, f=function, a=axes, e=extra: f(x, axis=a, **e),
                    f"numpy.{function.__name__}",
                )
    for kind, function in {"and": np.logical_and, "or": np.logical_or}.items():
        x = np.full((SIDE, SIDE), kind == "and")
        for what, axes in places.items():
            yield pair(
                f"{kind} of {what}",
                "bool",
                [x],
                lambda a, k=kind, n=axes: _mica.reduce(a, kind=k, axes=n),
                lambda a, f=function, n=axes: f.reduce(a, axis=n),
                f"numpy.{function.__name__}.reduce",
            )


def _argmax(row: dict) -> Iterator[Entry]:
    name = row["name"]
    for what, axis in {"rows": 1, "columns": 0}.items():
        for dtype in ["f32", "f64", "i32", "u8", "bf16"]:
            yield pair(
                f"of {what}",
                dtype,
                [draw(dtype, (SIDE, SIDE))],
                lambda x, n=axis: getattr(_mica, name)(x, axis=n, dtype="i64"),
                lambda x, n=axis: getattr(np, name)(x, axis=n),
                f"numpy.{name}",
            )


def _cumulative(row: dict) -> Iterator[Entry]:
    kinds = {"sum": np.add, "max": np.maximum}
    for kind, function in kinds.items():
        for what, axis in {"rows": 1, "columns": 0}.items():
            for dtype in ["f32", "f64", "i32"]:
                yield pair(
                    f"{kind} of {what}",
                    dtype,
                    [draw(dtype, (SIDE, SIDE))],
                    lambda x, k=kind, n=axis: _mica.cumulative(
                        x, kind=k, axis=n, reverse=0, exclusive=0
                    ),
                    lambda x, f=function, n=axis, d=dtype, out=None: f.accumulate(
                        x, axis=n, dtype=NUMPY[d], out=out
                    ),
                    f"numpy.{function.__name__}.accumulate",
                    takes_out=True,
                )
    yield pair(
        "sum of all",
        "f32",
        [draw("f32", SIZE)],
        lambda x: _mica.cumulative(x, kind="sum", axis=0, reverse=0, exclusive=0),
        lambda x, out=None: np.cumsum(x, out=out),
        "numpy.cumsum",
        takes_out=True,
    )


WINDOW = {"window": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "low": (0,) * 4, "high": (0,) * 4}


def _reduce_window(row: dict) -> Iterator[Entry]:
    for kind, function in {"max": np.max, "sum": np.sum}.items():
        for dtype in ["f32", "f64"]:
            yield pair(
                f"{kind} of 2x2",
                dtype,
                [draw(dtype, (32, 32, 32, 32))],
                lambda x, k=kind: _mica.reduce_window(
                    x, kind=k, **WINDOW, base_dilation=(1,) * 4, window_dilation=(1,) * 4
                ),
                lambda x, f=function: f(x.reshape(32, 16, 2, 16, 2, 32), axis=(2, 4)),
                f"numpy.{function.__name__} of the reshaped array",
            )


def _select_and_scatter(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64"]:
        yield pair(
            "max of 2x2",
            dtype,
            [draw(dtype, (32, 32, 32, 32)), draw(dtype, (32, 16, 16, 32), seed=1)],
            lambda x, y: _mica.select_and_scatter(x, y, select="max", **WINDOW),
            None,
            NO_PEER,
        )


def _sort(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64", "i32"]:
        x = draw(dtype, (SIDE, SIDE), -1e6, 1e6)
        for what, shape, axis in [
            ("rows", (SIDE, SIDE), 1),
            ("columns", (SIDE, SIDE), 0),
            ("short rows", (SIZE // 64, 64), 1),
            ("all", (SIZE,), 0),
        ]:
            yield pair(
                what,
                dtype,
                [x.reshape(shape)],
                lambda a, n=axis: _mica.sort(a, axis=n, keys=1, descending=0)[0],
                lambda a, n=axis: np.sort(a, axis=n),
                "numpy.sort, not stable",
            )
        places = np.arange(SIZE, dtype=np.int32)
        yield pair(
            "with places",
            dtype,
            [x.reshape(SIZE), places],
            lambda a, b: _mica.sort(a, b, axis=0, keys=1, descending=0)[1],
            lambda a, b: np.argsort(a, kind="stable").astype(np.int32),
            "numpy.argsort, stable",
            dtypes=[dtype, "i32"],
        )


def _top_k(row: dict) -> Iterator[Entry]:
    for dtype in ["f32", "f64", "i32"]:
        yield pair(
            "16 of rows",
            dtype,
            [draw(dtype, (SIDE, SIDE), -1e6, 1e6)],
            lambda x: _mica.top_k(x, k=16)[0],
            lambda x: np.sort(np.partition(x, SIDE - 16, axis=1)[:, -16:], axis=1)[:, ::-1],
            "numpy.partition, then sort (values alone)",
        )


# ---- random numbers ------------------------------------------------------------------------------


def _rng_bits(row: dict) -> Iterator[Entry]:
    key, counter = np.array([1, 2], np.uint32), np.array([0, 0, 0, 0], np.uint32)
    generator = np.random.Generator(np.random.Philox(1))
    for dtype in ["u32", "u64"]:
        info = np.iinfo(NUMPY[dtype])
        yield pair(
            "",
            dtype,
            [key, counter],
            lambda k, c, d=dtype: _mica.rng_bits(k, c, shape=(SIZE,), dtype=d),
            lambda k, c, d=dtype, m=info.max: generator.integers(
                0, m, SIZE, dtype=NUMPY[d], endpoint=True
            ),
            "numpy.random.Philox (4x64)",
            dtypes=["u32", "u32"],
            same=False,
        )


# ---- linear algebra ------------------------------------------------------------------------------

BATCH, ORDER = 16, 256  # 1M elements


def _matrices(dtype: str, *, definite: bool = False) -> np.ndarray:
    x = draw(dtype, (BATCH, ORDER, ORDER), -1, 1)
    if definite:
        x = x @ x.swapaxes(1, 2) + ORDER * np.eye(ORDER, dtype=x.dtype)
    return x


def _linear(
    row: dict, ours: Callable, theirs: Callable | None, peer: str, **options: Any
) -> Iterator[Entry]:
    for dtype in ["f32", "f64"]:
        x = _matrices(dtype, **options)
        yield pair(
            "16 of 256 x 256", dtype, [x], ours, theirs, peer, same=row["name"] == "cholesky"
        )


def _each(function: Callable) -> Callable:
    return lambda x: [function(matrix) for matrix in x]


def _factor(row: dict) -> Iterator[Entry]:
    name = row["name"]
    none = "scipy is not installed"
    if name == "triangular_solve":
        for dtype in ["f32", "f64"]:
            a = np.tril(_matrices(dtype, definite=True))
            yield pair(
                "16 of 256 x 256",
                dtype,
                [a, _matrices(dtype)],
                lambda x, y: _mica.triangular_solve(
                    x, y, left=1, lower=1, transpose=0, unit=0, **_rest(row, 4)
                ),
                linalg
                and (
                    lambda x, y: [
                        linalg.solve_triangular(u, v, lower=True, check_finite=False)
                        for u, v in zip(x, y, strict=True)
                    ]
                ),
                "scipy.linalg.solve_triangular" if linalg else none,
            )
    elif name == "cholesky":
        yield from _linear(
            row, _mica.cholesky, np.linalg.cholesky, "numpy.linalg.cholesky", definite=True
        )
    elif name == "lu":
        lu = linalg and _each(lambda m: linalg.lu_factor(m, check_finite=False))
        yield from _linear(row, _mica.lu, lu, "scipy.linalg.lu_factor" if linalg else none)
    elif name == "qr":
        yield from _linear(row, lambda x: _mica.qr(x, full=0), np.linalg.qr, "numpy.linalg.qr")
    elif name == "eigh":
        yield from _linear(row, _mica.eigh, np.linalg.eigh, "numpy.linalg.eigh", definite=True)
    elif name == "eig":
        yield from _linear(row, _mica.eig, np.linalg.eig, "numpy.linalg.eig")
    else:
        yield from _linear(
            row,
            lambda x: _mica.svd(x, full=0),
            lambda x: np.linalg.svd(x, full_matrices=False),
            "numpy.linalg.svd",
        )


def _fft(row: dict) -> Iterator[Entry]:
    del row
    n = SIDE * SIDE
    for real, dtype in [("f32", "c64"), ("f64", "c128")]:
        x, line = draw(dtype, (SIDE, SIDE)), draw(dtype, (n,))
        yield pair(
            "a line",
            dtype,
            [line],
            lambda z: _mica.fft(z, kind="fft", lengths=(n,)),
            np.fft.fft,
            "numpy.fft.fft",
        )
        yield pair(
            "lines",
            dtype,
            [x],
            lambda z: _mica.fft(z, kind="ifft", lengths=(SIDE,)),
            np.fft.ifft,
            "numpy.fft.ifft",
        )
        yield pair(
            "two axes",
            dtype,
            [x],
            lambda z: _mica.fft(z, kind="fft", lengths=(SIDE, SIDE)),
            np.fft.fft2,
            "numpy.fft.fft2",
        )
        yield pair(
            "a real line",
            real,
            [draw(real, (n,))],
            lambda z: _mica.fft(z, kind="rfft", lengths=(n,)),
            np.fft.rfft,
            "numpy.fft.rfft",
        )
        yield pair(
            "a prime length",
            dtype,
            [draw(dtype, (8, 131071))],
            lambda z: _mica.fft(z, kind="fft", lengths=(131071,)),
            np.fft.fft,
            "numpy.fft.fft",
        )


def _rest(row: dict, known: int) -> dict:
    """Attributes after the first ones, as 0."""
    return {a["name"]: 0 for a in row["attributes"][known:]}


SPECIAL: dict[str, Callable[[dict], Iterator[Entry]]] = {
    "compare": _compare,
    "select": _select,
    "convert": _convert,
    "reduce_precision": _reduce_precision,
    "complex": _complex,
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "bitcast": _bitcast,
    "transpose": _transpose,
    "slice": _slice,
    "pad": _pad,
    "concat": _concat,
    "reverse": _reverse,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
    "dot": _dot,
    "conv": _conv,
    "reduce": _reduce,
    "argmax": _argmax,
    "argmin": _argmax,
    "cumulative": _cumulative,
    "reduce_window": _reduce_window,
    "select_and_scatter": _select_and_scatter,
    "sort": _sort,
    "top_k": _top_k,
    "rng_bits": _rng_bits,
    "triangular_solve": _factor,
    "cholesky": _factor,
    "lu": _factor,
    "qr": _factor,
    "eigh": _factor,
    "eig": _factor,
    "svd": _factor,
    "fft": _fft,
}

# Not timed, and why: a class, or a row.
UNTIMED = {
    "CONTROL": "runs other rows: its time is theirs",
    "COLLECTIVE": "needs a named axis; becomes other rows",
    "HOST": "its time is the host function's",
    "constant": "a value known when the graph is built: nothing is computed",
}


def untimed_reason(row: dict) -> str | None:
    """Why a row is not timed; None: it is."""
    return UNTIMED.get(row["name"]) or UNTIMED.get(row["class"])


def has_entry(row: dict) -> bool:
    """Whether this file says how to time the row."""
    if row["name"] in SPECIAL:
        return True
    return row["class"] in ("MAP", "ELEMENTWISE") and row["name"] in PEERS


def entries(row: dict) -> Iterator[Entry]:
    """What is timed for a row."""
    make = SPECIAL.get(row["name"], _map_entries)
    yield from make(row)
