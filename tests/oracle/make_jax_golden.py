"""Writes tests/python/device/data/jax_golden.npz: what JAX says about the rows of the table.

`make oracle` runs it in an environment of its own; tests/python/device/test_ref_jax.py reads the
file. With names of rows as arguments only these are made anew.

An example is a row, its attributes, how operands are drawn, and the same said in JAX. For each of
its dtypes the golden values hold operands and results; in f64, for smooth ones, also tangents t,
cotangents c, J t, J^T c, and the derivative of J^T c along t; and results over a leading axis that
all operands have, or the first one alone. bf16 is kept as its bits.
"""

# needs: jax==0.10.2 numpy

import collections
import dataclasses
import itertools
import json
import pathlib
import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lax.windowed_reductions import _select_and_scatter_add

jax.config.update("jax_enable_x64", True)

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "python" / "device" / "data" / "jax_golden.npz"
DTYPES = {
    "bool": jnp.bool_,
    "i8": jnp.int8,
    "i16": jnp.int16,
    "i32": jnp.int32,
    "i64": jnp.int64,
    "u8": jnp.uint8,
    "u16": jnp.uint16,
    "u32": jnp.uint32,
    "u64": jnp.uint64,
    "f16": jnp.float16,
    "bf16": jnp.bfloat16,
    "f32": jnp.float32,
    "f64": jnp.float64,
    "c64": jnp.complex64,
    "c128": jnp.complex128,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
FLOATS = ("f32", "f64", "bf16")
PRECISE = ("f32", "f64")
BATCH = 3


@dataclasses.dataclass
class Draw:
    """An operand: dtype None is the one that varies; integers include `high`."""

    shape: tuple
    low: float = -2
    high: float = 2
    dtype: str | None = None
    make: Callable | None = None  # from an array that is drawn evenly to the operand


@dataclasses.dataclass
class Example:
    op: str
    draws: list
    function: Callable
    attributes: dict = dataclasses.field(default_factory=dict)
    dtypes: tuple = FLOATS
    smooth: bool = True
    mapped: bool = True
    second: bool = True
    forward: bool = True  # has forward mode in JAX
    program: bool = False  # the test has a function of this name, not one row


def of(*shape, low=-2.0, high=2.0, make=None):
    return Draw(shape, low, high, None, make)


def whole(dtype, *shape, low=0, high=9):
    return Draw(shape, low, high, dtype)


def values(array):
    return np.asarray(array)


# ---- elementwise ---------------------------------------------------------------------------------

UNARY = {
    "neg": (lax.neg, -2, 2),
    "abs": (lax.abs, 0.2, 2),
    "exp": (lax.exp, -4, 4),
    "expm1": (lax.expm1, -3, 3),
    "log": (lax.log, 0.1, 5),
    "log1p": (lax.log1p, -0.8, 4),
    "sqrt": (lax.sqrt, 0.1, 5),
    "rsqrt": (lax.rsqrt, 0.1, 5),
    "cbrt": (lax.cbrt, 0.2, 5),
    "sin": (lax.sin, -6, 6),
    "cos": (lax.cos, -6, 6),
    "tan": (lax.tan, -1.2, 1.2),
    "asin": (lax.asin, -0.8, 0.8),
    "acos": (lax.acos, -0.8, 0.8),
    "atan": (lax.atan, -4, 4),
    "sinh": (lax.sinh, -3, 3),
    "cosh": (lax.cosh, -3, 3),
    "tanh": (lax.tanh, -3, 3),
    "asinh": (lax.asinh, -4, 4),
    "acosh": (lax.acosh, 1.2, 5),
    "atanh": (lax.atanh, -0.8, 0.8),
    "erf": (lax.erf, -3, 3),
    "erfc": (lax.erfc, -2, 3),
    "erfinv": (lax.erf_inv, -0.9, 0.9),
    "lgamma": (lax.lgamma, 0.3, 6),
    "digamma": (lax.digamma, 0.3, 6),
    "logistic": (lax.logistic, -5, 5),
}
STEPS = {
    "sign": lax.sign,
    "floor": lax.floor,
    "ceil": lax.ceil,
    "round": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "is_finite": lax.is_finite,
}
INTEGER_UNARY = {
    "neg": lax.neg,
    "abs": lax.abs,
    "sign": lax.sign,
    "not": lax.bitwise_not,
    "popcount": lax.population_count,
    "clz": lax.clz,
}
BINARY = {
    "add": (lax.add, (-2, 2), (-2, 2)),
    "sub": (lax.sub, (-2, 2), (-2, 2)),
    "mul": (lax.mul, (-2, 2), (-2, 2)),
    "div": (lax.div, (-2, 2), (0.3, 2)),
    "rem": (lax.rem, (2.1, 2.9), (0.9, 0.99)),
    "pow": (lax.pow, (0.2, 3), (-2, 2)),
    "max": (lax.max, (-2, 2), (-2, 2)),
    "min": (lax.min, (-2, 2), (-2, 2)),
    "atan2": (lax.atan2, (-2, 2), (0.2, 2)),
}
INTEGER_BINARY = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "div": lax.div,
    "rem": lax.rem,
    "max": lax.max,
    "min": lax.min,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
}
SHIFTS = {
    "shl": lax.shift_left,
    "shr": lax.shift_right_logical,
    "sar": lax.shift_right_arithmetic,
}
EXTREMES = [0, 1, 2, 3, 7, 85, 100, 127, -1, -2, -7, -100, -128, 2**31 - 1, -(2**31)]


def extremes(first):
    """Every pair of interesting integers; they wrap in narrow dtypes."""

    def make(array):
        pairs = np.array(list(itertools.product(EXTREMES, EXTREMES)))
        return pairs[:, 0 if first else 1].astype(np.int64).astype(array.dtype)

    return make


def elementwise():
    for op, (function, low, high) in UNARY.items():
        yield Example(op, [of(3, 7, low=low, high=high)], function)
    for op, function in STEPS.items():
        yield Example(op, [of(3, 7, low=-4, high=4)], function, smooth=op != "is_finite")
    for op, function in INTEGER_UNARY.items():
        dtypes = ("i8", "i32", "u16", "i64") if op in ("not", "popcount", "clz") else ("i8", "i32")
        pairs = Draw((225,), 0, 1, None, extremes(True))
        yield Example(op, [pairs], function, dtypes=dtypes, smooth=False)
    for op, (function, a, b) in BINARY.items():
        yield Example(op, [of(3, 7, low=a[0], high=a[1]), of(3, 7, low=b[0], high=b[1])], function)
    for op, function in INTEGER_BINARY.items():
        draws = [Draw((225,), 0, 1, None, extremes(first)) for first in (True, False)]
        yield Example(op, draws, function, dtypes=("i8", "i32", "u8", "u32", "i64"), smooth=False)
    for op, function in SHIFTS.items():
        draws = [Draw((225,), 0, 1, None, extremes(True)), of(225, low=0, high=40)]
        yield Example(op, draws, function, dtypes=("i8", "i32", "u8", "u32"), smooth=False)
    yield Example("nextafter", [of(9), of(9)], lax.nextafter, dtypes=PRECISE, smooth=False)
    order = of(3, 7, low=0.3, high=6)
    yield Example(
        "igamma", [order, of(3, 7, low=0.1, high=8)], lax.igamma, {}, PRECISE, smooth=False
    )
    for direction in ("eq", "ne", "lt", "le", "gt", "ge"):
        draws = [of(40, low=0, high=3), of(40, low=0, high=3)]
        for draw in draws:
            draw.make = np.rint
        yield Example(
            "compare",
            draws,
            getattr(lax, direction),
            {"direction": direction},
            (*FLOATS, "i8", "u32"),
            smooth=False,
        )
    yield Example("select", [whole("bool", 4, 5, high=1), of(4, 5), of(4, 5)], lax.select)
    yield Example(
        "clamp",
        [of(4, 9), of(4, 9, low=-1, high=0), of(4, 9, low=0, high=1)],
        lambda x, low, high: lax.clamp(low, x, high),
    )
    for target in ("f32", "f64", "bf16", "f16", "i32", "u8", "bool", "i64"):
        low = 0 if target == "u8" else -9
        yield Example(
            "convert",
            [of(4, 9, low=low, high=9)],
            lambda x, target=target: lax.convert_element_type(x, DTYPES[target]),
            {"dtype": target},
            (*FLOATS, "i32", "u8") if target not in ("u8",) else FLOATS,
            smooth=target == "f64",
        )
    for exponent, mantissa in ((5, 10), (8, 7), (4, 3), (8, 23)):
        yield Example(
            "reduce_precision",
            [of(30, low=0.1)],  # JAX has no denormals there
            lambda x, e=exponent, m=mantissa: lax.reduce_precision(x, e, m),
            {"exponent_bits": exponent, "mantissa_bits": mantissa},
            smooth=False,
        )


# ---- shape ---------------------------------------------------------------------------------------


def shape_rows():
    anything = (*FLOATS, "i32", "u8", "bool")
    for axis in (0, 1):
        yield Example(
            "iota",
            [],
            lambda axis=axis: lax.broadcasted_iota(jnp.float32, (3, 4), axis),
            {"shape": (3, 4), "axis": axis, "dtype": "f32"},
            ("f32",),
            smooth=False,
            mapped=False,
        )
    yield Example(
        "broadcast",
        [of(3, 1)],
        lambda x: lax.broadcast_in_dim(x, (2, 3, 5, 4), (1, 3)),
        {"shape": (2, 3, 5, 4), "axes": (1, 3)},
        anything,
    )
    yield Example(
        "reshape", [of(3, 4)], lambda x: lax.reshape(x, (2, 6)), {"shape": (2, 6)}, anything
    )
    casts = (("f32", "i32", (5,)), ("f64", "u16", (3,)), ("i8", "i32", (3, 4)))
    for source, target, shape in casts:
        yield Example(
            "bitcast",
            [Draw(shape, -9, 9, source)],
            lambda x, target=target: lax.bitcast_convert_type(x, DTYPES[target]),
            {"dtype": target},
            (source,),
            smooth=False,
        )
    yield Example(
        "transpose",
        [of(2, 3, 4)],
        lambda x: lax.transpose(x, (2, 0, 1)),
        {"permutation": (2, 0, 1)},
        anything,
    )
    yield Example(
        "slice",
        [of(6, 7)],
        lambda x: lax.slice(x, (1, 0), (6, 7), (2, 3)),
        {"start": (1, 0), "limit": (6, 7), "stride": (2, 3)},
        anything,
    )
    for low, high, interior in (((1, 2), (0, 1), (0, 2)), ((-1, 0), (2, -1), (1, 0))):
        config = tuple(zip(low, high, interior, strict=True))
        yield Example(
            "pad",
            [of(3, 4), of()],
            lambda x, value, config=config: lax.pad(x, value, config),
            {"low": low, "high": high, "interior": interior},
            anything,
        )
    yield Example(
        "concat",
        [of(2, 3), of(2, 1), of(2, 4)],
        lambda *x: lax.concatenate(x, 1),
        {"axis": 1},
        anything,
    )
    yield Example(
        "reverse", [of(2, 3, 4)], lambda x: lax.rev(x, (0, 2)), {"axes": (0, 2)}, anything
    )
    yield Example(
        "dynamic_slice",
        [of(5, 6), whole("i32", 2, low=-2, high=6)],
        lambda x, start: lax.dynamic_slice(x, jnp.maximum(start, 0), (2, 3)),
        {"sizes": (2, 3)},
        anything,
    )
    yield Example(
        "dynamic_update_slice",
        [of(5, 6), of(2, 3), whole("i32", 2, low=0, high=6)],
        lax.dynamic_update_slice,
        {},
        anything,
    )


MODES = {"clip": lax.GatherScatterMode.CLIP, "fill": lax.GatherScatterMode.FILL_OR_DROP}


def indexing():
    rows = ((1,), (0,), (), (), (0,), (1, 6))
    windows = ((1, 2), (), (), (), (0, 1), (2, 3))
    columns = ((0,), (1,), (), (), (1,), (4, 1))
    along = ((1,), (), (0,), (0,), (1,), (1, 2))
    settings = ((rows, (5, 1)), (windows, (3, 2)), (columns, (5, 1)), (along, (4, 1)))
    for (setting, shape), mode in itertools.product(settings, MODES):
        offset, collapsed, operand_batch, indices_batch, start_map, sizes = setting
        numbers = lax.GatherDimensionNumbers(
            offset, collapsed, start_map, operand_batch, indices_batch
        )
        attributes = {
            "offset_dims": offset,
            "collapsed_dims": collapsed,
            "operand_batch_dims": operand_batch,
            "indices_batch_dims": indices_batch,
            "start_map": start_map,
            "index_vector_dim": len(shape) - 1,
        }
        yield Example(
            "gather",
            [of(4, 6), whole("i32", *shape, low=-2, high=7)],
            lambda x, i, numbers=numbers, sizes=sizes, mode=mode: lax.gather(
                x, i, numbers, sizes, mode=MODES[mode], fill_value=0
            ),
            attributes | {"slice_sizes": sizes, "mode": mode},
            (*FLOATS, "i32"),
        )
        yield from scatters(setting, shape, mode, attributes)


KINDS = {
    "set": lax.scatter,
    "add": lax.scatter_add,
    "mul": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


def scatters(setting, shape, mode, attributes):
    """Into the windows that gather would take. With `set`, none may meet."""
    offset, collapsed, operand_batch, indices_batch, start_map, sizes = setting
    numbers = lax.ScatterDimensionNumbers(
        offset, collapsed, start_map, operand_batch, indices_batch
    )
    gathered = jax.eval_shape(
        lambda x, i: lax.gather(
            x,
            i,
            lax.GatherDimensionNumbers(offset, collapsed, start_map, operand_batch, indices_batch),
            sizes,
        ),
        jax.ShapeDtypeStruct((4, 6), jnp.float32),
        jax.ShapeDtypeStruct(shape, jnp.int32),
    ).shape
    names = {"offset_dims": "update_window_dims", "collapsed_dims": "inserted_window_dims"}
    names |= {"start_map": "scatter_map"}
    renamed = {names.get(key, key): value for key, value in attributes.items()}
    for kind, function in KINDS.items():
        indices = whole("i32", *shape, low=-2, high=7)
        if kind == "set":
            if (sizes, mode) not in (((1, 6), "fill"), ((4, 1), "clip"), ((4, 1), "fill")):
                continue
            apart = [3, 0, 1, 2, 9 if mode == "fill" else 5]
            indices.make = lambda array, apart=apart: np.array(apart).reshape(array.shape)
        yield Example(
            "scatter",
            [of(4, 6, low=0.5, high=2), indices, of(*gathered, low=0.5, high=2)],
            lambda x, i, u, function=function, numbers=numbers, mode=mode: function(
                x, i, u, numbers, mode=MODES[mode]
            ),
            renamed | {"kind": kind, "mode": mode},
            (*FLOATS, "i32") if kind != "mul" else PRECISE,
            # JAX has no derivative of mul with indices that may meet, nor of min and max
            smooth=kind in ("set", "add"),
        )


# ---- contractions and reductions -----------------------------------------------------------------


def contractions():
    for left, right, contract, batch in (
        ((3, 5), (5, 4), ((1,), (0,)), ((), ())),
        ((5, 2, 3), (3, 5, 4), ((0,), (1,)), ((2,), (0,))),
        ((2, 3, 4), (4, 3), ((1, 2), (1, 0)), ((), ())),
        ((3,), (2,), ((), ()), ((), ())),
    ):
        yield Example(
            "dot",
            [of(*left), of(*right)],
            lambda x, y, numbers=(contract, batch): lax.dot_general(x, y, numbers),
            {
                "lhs_contract": contract[0],
                "rhs_contract": contract[1],
                "lhs_batch": batch[0],
                "rhs_batch": batch[1],
            },
            (*PRECISE, "i32"),
        )
    yield from convolutions()


def conv_example(layout, sizes, kernel, outputs, channels, batch, setting):
    strides, low, high, lhs_dilation, rhs_dilation, groups, batch_groups = setting
    n = len(sizes)
    lhs, rhs, out = layout.split(",")
    spatial = {str(i): i for i in range(n)}
    left = {"N": batch, "C": channels}
    right = {"I": channels // groups, "O": outputs}
    x = tuple(left[c] if c in left else sizes[spatial[c]] for c in lhs)
    k = tuple(right[c] if c in right else kernel[spatial[c]] for c in rhs)
    attributes = {
        "layout": layout,
        "strides": strides,
        "low": low,
        "high": high,
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
        "groups": groups,
        "batch_groups": batch_groups,
    }

    def function(a, b):
        return lax.conv_general_dilated(
            a,
            b,
            strides,
            tuple(zip(low, high, strict=True)),
            lhs_dilation,
            rhs_dilation,
            (lhs, rhs, out),
            groups,
            batch_groups,
        )

    return Example("conv", [of(*x), of(*k)], function, attributes, PRECISE)


def convolutions():
    """Every combination of strides, padding, both dilations and groups in two dimensions."""
    layouts = ("N01C,01IO,N01C", "NC01,OI01,NC01", "C01N,I01O,N01C", "N01C,01IO,CN01")
    choices = itertools.product(
        ((1, 1), (2, 3)),
        (((0, 0), (0, 0)), ((1, 2), (2, 0)), ((-1, 1), (1, -1))),
        ((1, 1), (2, 1)),
        ((1, 1), (1, 2)),
        ((1, 1), (2, 1), (1, 2)),
    )
    for i, (strides, (low, high), lhs_dilation, rhs_dilation, groups) in enumerate(choices):
        setting = (strides, low, high, lhs_dilation, rhs_dilation, *groups)
        example = conv_example(layouts[i % 4], (5, 6), (2, 3), 2, 2, 2, setting)
        example.mapped = i % 12 == 0  # or the file would be large
        yield example
    one = ((2,), (1,), (2,), (1,), (2,), 1, 1)
    yield conv_example("N0C,0IO,N0C", (7,), (3,), 2, 3, 2, one)
    three = ((1, 2, 1), (1, 0, 0), (0, 1, 1), (1, 1, 2), (1, 1, 1), 1, 1)
    yield conv_example("N012C,012IO,N012C", (3, 4, 3), (2, 2, 2), 2, 2, 1, three)


def shifted(running, x, axis, reverse, identity):
    """Exclusive: one step back, with the identity in front."""
    edge = jnp.full_like(lax.slice_in_dim(x, 0, 1, axis=axis), identity)
    y = running(x, axis=axis, reverse=reverse)
    if reverse:
        return jnp.concatenate([lax.slice_in_dim(y, 1, None, axis=axis), edge], axis)
    return jnp.concatenate([edge, lax.slice_in_dim(y, 0, -1, axis=axis)], axis)


RUNNING = {
    "sum": (lax.cumsum, 0),
    "prod": (lax.cumprod, 1),
    "max": (lax.cummax, -np.inf),
    "min": (lax.cummin, np.inf),
}
FOLDS = {"sum": lax.add, "prod": lax.mul, "max": lax.max, "min": lax.min}


def reductions():
    numbers = (*PRECISE, "i32")
    kinds = {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min}
    for kind, function in kinds.items():
        for axes in ((0, 2), (1,), (0, 1, 2), ()):
            yield Example(
                "reduce",
                [of(3, 4, 2)],
                lambda x, function=function, axes=axes: function(
                    x, axis=axes, **({"dtype": x.dtype} if function in (jnp.sum, jnp.prod) else {})
                ),
                {"kind": kind, "axes": axes},
                numbers,
            )
    for kind, function in {"and": lax.bitwise_and, "or": lax.bitwise_or}.items():
        yield Example(
            "reduce",
            [of(3, 4, low=0, high=100)],
            lambda x, function=function, kind=kind: lax.reduce(
                x, np.array(-1 if kind == "and" else 0).astype(x.dtype), function, (1,)
            ),
            {"kind": kind, "axes": (1,)},
            ("i32", "u8"),
            smooth=False,
        )
    for op, function in {"argmax": lax.argmax, "argmin": lax.argmin}.items():
        yield Example(
            op,
            [of(4, 7)],
            lambda x, function=function: function(x, 1, jnp.int32),
            {"axis": 1, "dtype": "i32"},
            (*FLOATS, "i32"),
            smooth=False,
        )
    for kind, (function, identity) in RUNNING.items():
        for reverse, exclusive in itertools.product((0, 1), (0, 1)):
            if exclusive and kind in ("max", "min"):
                dtypes, smooth = PRECISE, False  # infinities
            else:
                dtypes, smooth = numbers, True
            yield Example(
                "cumulative",
                [of(3, 5)],
                lambda x, f=function, i=identity, r=reverse, e=exclusive: (
                    shifted(f, x, 1, bool(r), i) if e else f(x, axis=1, reverse=bool(r))
                ),
                {"kind": kind, "axis": 1, "reverse": reverse, "exclusive": exclusive},
                dtypes,
                smooth=smooth,
            )
    yield from windows()


def windows():
    settings = (
        ((2, 3), (1, 1), (0, 0), (0, 0), (1, 1), (1, 1)),
        ((3, 2), (2, 3), (1, 0), (2, 1), (1, 1), (1, 1)),
        ((2, 3), (1, 2), (1, 2), (2, 1), (2, 3), (2, 1)),
    )
    for kind, setting in itertools.product(FOLDS, settings):
        window, strides, low, high, base, dilation = setting
        identity = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}[kind]
        yield Example(
            "reduce_window",
            [of(5, 6)],
            lambda x, kind=kind, setting=setting, identity=identity: lax.reduce_window(
                x,
                np.array(identity).astype(x.dtype),
                FOLDS[kind],
                setting[0],
                setting[1],
                tuple(zip(setting[2], setting[3], strict=True)),
                setting[4],
                setting[5],
            ),
            {
                "kind": kind,
                "window": window,
                "strides": strides,
                "low": low,
                "high": high,
                "base_dilation": base,
                "window_dilation": dilation,
            },
            PRECISE,
            # JAX has no derivative of products, nor of the others where they are dilated
            smooth=kind == "sum" or (kind != "prod" and base == dilation == (1, 1)),
        )
    for select, setting in itertools.product(("max", "min"), settings[:2]):
        window, strides, low, high, _, _ = setting
        padding = tuple(zip(low, high, strict=True))
        shape = jax.eval_shape(
            lambda x, w=window, s=strides, p=padding: lax.reduce_window(x, 0.0, lax.add, w, s, p),
            jax.ShapeDtypeStruct((5, 6), jnp.float64),
        ).shape
        yield Example(
            "select_and_scatter",
            [of(5, 6), of(*shape)],
            lambda x, source, select=select, w=window, s=strides, p=padding: (
                _select_and_scatter_add(
                    source, x, lax.ge_p if select == "max" else lax.le_p, w, s, p
                )
            ),
            {"select": select, "window": window, "strides": strides, "low": low, "high": high},
            PRECISE,
        )


# ---- linear algebra ------------------------------------------------------------------------------


def dominant(array):
    return array + (array.shape[-1] + 1) * np.eye(array.shape[-2], array.shape[-1])


def spread(array):
    """Far from singular, with singular values and eigenvalues apart."""
    n, m = array.shape[-2:]
    return 0.2 * array + np.eye(n, m) * (1 + np.arange(m)) * 2


def symmetric(array):
    return spread((array + np.swapaxes(array, -1, -2)) / 2)


def signs(vectors):
    """Of each column: the first element of at least 7/10 of its largest magnitude is positive."""
    size = jnp.abs(vectors)
    large = size >= 0.7 * size.max(axis=-2, keepdims=True)
    first = jnp.argmax(large, axis=-2, keepdims=True)
    return lax.stop_gradient(jnp.sign(jnp.take_along_axis(vectors, first, axis=-2)))


def eigh(x):
    vectors, values = lax.linalg.eigh(x, symmetrize_input=False)
    return values, vectors * signs(vectors)


def svd(x):
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    by = signs(u)
    return u * by, s, vh * jnp.swapaxes(by, -1, -2)


def lower_only(function):
    """Reads the lower triangle and mirrors it, which says where derivatives go."""

    def on_lower(x):
        lower = jnp.tril(x)
        return function(lower + jnp.swapaxes(jnp.tril(x, -1), -1, -2))

    return on_lower


def sorts():
    for descending, keys in itertools.product((0, 1), (1, 2)):

        def function(*operands, descending=descending, keys=keys):
            if descending:  # stable, as ascending order of the negatives is
                by = [lax.neg(x) for x in operands[:keys]]
                out = lax.sort((*by, *operands), dimension=0, num_keys=keys)
                return tuple(out[keys:])
            return tuple(lax.sort(operands, dimension=0, num_keys=keys))

        draws = [of(7, 3, low=0, high=3, make=np.rint), of(7, 3), of(7, 3)]
        attributes = {"axis": 0, "keys": keys, "descending": descending}
        yield Example("sort", draws, function, attributes, (*FLOATS, "i32"))
    yield Example("top_k", [of(3, 8)], lambda x: tuple(lax.top_k(x, 3)), {"k": 3}, (*FLOATS, "i32"))


def linear_algebra():
    for left, lower, transpose, unit in itertools.product((0, 1), repeat=4):
        yield Example(
            "triangular_solve",
            [of(2, 4, 4, make=dominant), of(2, 4, 3) if left else of(2, 3, 4)],
            lambda a, b, left=left, lower=lower, transpose=transpose, unit=unit: (
                lax.linalg.triangular_solve(
                    a,
                    b,
                    left_side=bool(left),
                    lower=bool(lower),
                    transpose_a=bool(transpose),
                    unit_diagonal=bool(unit),
                )
            ),
            {"left": left, "lower": lower, "transpose": transpose, "unit": unit},
            PRECISE,
        )
    yield Example(
        "cholesky",
        [of(2, 4, 4, make=dominant)],
        lower_only(lambda x: lax.linalg.cholesky(x, symmetrize_input=False)),
        {},
        PRECISE,
    )
    yield Example("lu", [of(2, 4, 4)], lambda x: tuple(lax.linalg.lu(x)), {}, PRECISE)
    for shape in ((2, 5, 3), (4, 4)):
        yield Example(
            "qr",
            [of(*shape)],
            lambda x: tuple(lax.linalg.qr(x, full_matrices=False)),
            {"full": 0},
            PRECISE,
        )
        yield Example("svd", [of(*shape, make=spread)], svd, {"full": 0}, PRECISE)
    yield Example("eigh", [of(2, 4, 4, make=symmetric)], lower_only(eigh), {}, PRECISE)


# ---- programs: the test says the same with mica --------------------------------------------------


def program(name, draws, function, **options):
    return Example(name, draws, function, dtypes=("f64",), program=True, **options)


def twice_sine(x):
    return jnp.sin(x) * 2


@jax.custom_vjp
def clipped(x):
    return x * x


clipped.defvjp(lambda x: (x * x, x), lambda x, c: (jnp.clip(c * 2 * x, -1, 1),))


def programs():
    predicate = whole("bool", high=1)
    yield program(
        "cond",
        [predicate, of(3), of(3)],
        lambda p, x, y: lax.cond(p, lambda a, b: jnp.sin(a) * b, lambda a, b: a + b * b, x, y),
    )
    yield program(
        "case",
        [whole("i32", high=2), of(3)],
        lambda i, x: lax.switch(i, [jnp.sin, jnp.exp, lambda a: a * a], x),
    )
    yield program(
        "while",
        [of(3, low=0.1, high=0.9)],
        lambda x: lax.while_loop(
            lambda carry: jnp.sum(carry) < 20, lambda carry: carry * 1.5 + jnp.sin(carry), x
        ),
        smooth=False,  # JAX has no reverse mode of it
    )
    yield program(
        "scan",
        [of(2), of(2), of(4, 2)],
        lambda weight, start, xs: lax.scan(
            lambda carry, x: (jnp.tanh(weight * carry + x), carry * x), start, xs
        ),
    )
    yield program(
        "scan_reverse",
        [of(2), of(4, 2)],
        lambda start, xs: lax.scan(
            lambda carry, x: (jnp.sin(carry) + x, carry * x), start, xs, reverse=True
        ),
    )
    yield program("call", [of(5)], jax.jit(twice_sine))
    yield program("custom_gradient", [of(5)], clipped, second=False, forward=False)
    yield program("remat", [of(5)], jax.checkpoint(lambda x: jnp.sin(twice_sine(x))))
    yield program("barrier", [of(5)], lambda x: jnp.sin(lax.optimization_barrier(x)))
    yield program(
        "callback",
        [of(5)],
        lambda x: jax.pure_callback(
            lambda a: np.sort(a), jax.ShapeDtypeStruct((5,), jnp.float64), x
        ),
        smooth=False,
        mapped=False,
    )
    everyone = {"sum": lax.psum, "max": lax.pmax, "min": lax.pmin}
    for kind, function in everyone.items():
        yield program(
            f"all_reduce_{kind}",
            [of(4, 3)],
            lambda x, function=function: jax.vmap(
                lambda row: function(jnp.sin(row), "shards"), axis_name="shards"
            )(x),
            smooth=kind == "sum",  # JAX has no derivative of the others
        )
    yield program(
        "axis_index",
        [of(4, 3)],
        lambda x: jax.vmap(lambda row: row * lax.axis_index("shards"), axis_name="shards")(x),
    )

    yield from collectives()


def over_shards(function):
    return jax.vmap(function, axis_name="shards")


def collectives():
    yield program(
        "all_gather",
        [of(4, 2, 3)],
        over_shards(lambda x: jnp.cos(lax.all_gather(jnp.sin(x), "shards", axis=1, tiled=True))),
    )
    yield program(
        "reduce_scatter",
        [of(4, 8, 3)],
        over_shards(lambda x: lax.psum_scatter(jnp.sin(x), "shards", tiled=True)),
    )
    yield program(
        "permute",
        [of(4, 3)],
        over_shards(lambda x: lax.ppermute(jnp.sin(x), "shards", [(0, 2), (1, 1), (2, 3), (3, 0)])),
    )
    yield program(
        "broadcast_from",
        [of(4, 3)],
        over_shards(lambda x: lax.all_gather(jnp.sin(x), "shards")[2] * x),
    )


# ---- complex numbers -----------------------------------------------------------------------------

COMPLEX = ("c64", "c128")
COMPLEX_UNARY = {
    "neg": lax.neg,
    "exp": lax.exp,
    "log": lax.log,
    "sqrt": lax.sqrt,
    "sin": lax.sin,
    "cos": lax.cos,
    "tanh": lax.tanh,
    "real": lax.real,
    "imag": lax.imag,
    "conj": lax.conj,
}
COMPLEX_BINARY = {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div}


def complex_rows():
    """Values alone: what a complex gradient is called differs."""
    for op, function in COMPLEX_UNARY.items():
        yield Example(op, [of(3, 7)], function, {}, COMPLEX, smooth=False)
    for op, function in COMPLEX_BINARY.items():
        yield Example(op, [of(3, 7), of(3, 7)], function, {}, COMPLEX, smooth=False)
    yield Example("complex", [of(3, 7), of(3, 7)], lax.complex, {}, PRECISE, smooth=False)
    contract = {"lhs_contract": (1,), "rhs_contract": (0,), "lhs_batch": (), "rhs_batch": ()}
    numbers = (((1,), (0,)), ((), ()))
    yield Example(
        "dot",
        [of(3, 5), of(5, 4)],
        lambda x, y: lax.dot_general(x, y, numbers),
        contract,
        COMPLEX,
        smooth=False,
    )
    for lengths in ((7,), (8,), (3, 8)):
        shape = (2, 3, lengths[-1])
        for kind in ("fft", "ifft"):
            yield Example(
                "fft",
                [of(*shape)],
                lambda x, kind=kind, lengths=lengths: lax.fft(x, kind, lengths),
                {"kind": kind, "lengths": lengths},
                COMPLEX,
                smooth=False,
            )
        yield Example(
            "fft",
            [of(*shape)],
            lambda x, lengths=lengths: lax.fft(x, "rfft", lengths),
            {"kind": "rfft", "lengths": lengths},
            PRECISE,
            smooth=False,
        )
        short = (2, 3, lengths[-1] // 2 + 1)
        yield Example(
            "fft",
            [of(*short)],
            lambda x, lengths=lengths: lax.fft(x, "irfft", lengths),
            {"kind": "irfft", "lengths": lengths},
            COMPLEX,
            smooth=False,
        )
    yield Example("eig", [of(2, 4, 4, make=spread)], eig, {}, PRECISE, smooth=False)
    yield from complex_linear_algebra()


def turned(vectors):
    """What gives every column its phase: see signs."""
    size = jnp.abs(vectors)
    first = jnp.argmax(size >= 0.7 * size.max(axis=-2, keepdims=True), axis=-2, keepdims=True)
    pivot = jnp.take_along_axis(vectors, first, axis=-2)
    return jnp.conj(pivot) / jnp.abs(pivot)


def hermitian(x):
    """What the lower triangle says, and of the diagonal the real parts."""
    lower = jnp.tril(x, -1)
    diagonal = jnp.tril(jnp.triu(x)).real.astype(x.dtype)
    return lower + jnp.conj(jnp.swapaxes(lower, -1, -2)) + diagonal


def complex_eigh(x):
    vectors, values = lax.linalg.eigh(hermitian(x), symmetrize_input=False)
    return values, vectors * turned(vectors)


def complex_svd(x):
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    by = turned(u)
    return u * by, s, vh * jnp.conj(jnp.swapaxes(by, -1, -2))


def complex_linear_algebra():
    def solve(a, b):
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True)

    def cholesky(x):
        return lax.linalg.cholesky(hermitian(x), symmetrize_input=False)

    flags = {"left": 1, "lower": 1, "transpose": 1, "unit": 0}
    operands = [of(2, 4, 4, make=dominant), of(2, 4, 3)]
    yield Example("triangular_solve", operands, solve, flags, COMPLEX, smooth=False)
    square = [of(2, 4, 4, make=spread)]
    yield Example("cholesky", [of(2, 4, 4, make=dominant)], cholesky, {}, COMPLEX, smooth=False)
    yield Example("lu", square, lambda x: tuple(lax.linalg.lu(x)), {}, COMPLEX, smooth=False)
    yield Example("eigh", square, complex_eigh, {}, COMPLEX, smooth=False)
    for shape in ((2, 5, 3), (4, 4), (3, 5)):
        operands = [of(*shape, make=spread)]
        yield Example(
            "qr",
            operands,
            lambda x: tuple(lax.linalg.qr(x, full_matrices=False)),
            {"full": 0},
            COMPLEX,
            smooth=False,
        )
        yield Example("svd", operands, complex_svd, {"full": 0}, COMPLEX, smooth=False)


def eig(x):
    """In the row's order, and with its phase and length of vectors."""
    values, vectors = lax.linalg.eig(x, compute_left_eigenvectors=False)
    order = jnp.argsort(values.real + values.imag / np.pi, axis=-1)
    values = jnp.take_along_axis(values, order, axis=-1)
    vectors = jnp.take_along_axis(vectors, order[..., None, :], axis=-1)
    size = jnp.abs(vectors)
    first = jnp.argmax(size >= 0.7 * size.max(axis=-2, keepdims=True), axis=-2, keepdims=True)
    pivot = jnp.take_along_axis(vectors, first, axis=-2)
    length = jnp.sqrt(jnp.sum(size**2, axis=-2, keepdims=True))
    return values, vectors / (pivot / jnp.abs(pivot)) / length


def examples():
    yield from elementwise()
    yield from shape_rows()
    yield from indexing()
    yield from contractions()
    yield from reductions()
    yield from sorts()
    yield from linear_algebra()
    yield from programs()
    yield from complex_rows()


# ---- golden values -------------------------------------------------------------------------------


def draw(spec, dtype, rng, batch=()):
    name = spec.dtype or dtype
    shape = (*batch, *spec.shape)
    is_whole = np.dtype(DTYPES[name]).kind in "iub" and name != "bf16"
    if is_whole:
        array = rng.integers(int(spec.low), int(spec.high) + 1, shape)
    elif name in COMPLEX:
        parts = rng.uniform(spec.low, spec.high, (2, *shape))
        array = parts[0] + 1j * parts[1]
    else:
        array = rng.uniform(spec.low, spec.high, shape)
    array = np.asarray(array).astype(DTYPES[name])
    if spec.make:
        each = [spec.make(part) for part in array] if batch else spec.make(array)
        array = np.asarray(each).astype(DTYPES[name])
    return array


def is_float(array):
    return np.issubdtype(np.asarray(array).dtype, np.floating)


def flat(tree):
    return [values(leaf) for leaf in jax.tree.leaves(tree)]


def derivatives(example, operands, rng, store):
    """Of the float results in the float operands."""
    places = [i for i, x in enumerate(operands) if is_float(x)]

    def smooth(*floats):
        full = list(operands)
        for place, x in zip(places, floats, strict=True):
            full[place] = x
        return [y for y in jax.tree.leaves(example.function(*full)) if is_float_value(y)]

    x = [jnp.asarray(operands[place]) for place in places]
    y = smooth(*x)
    t = [rng.uniform(-1, 1, v.shape) for v in x]
    c = [jnp.asarray(rng.uniform(-1, 1, v.shape)) for v in y]
    store("t", t)
    store("c", c)
    if example.forward:
        store("jvp", jax.jvp(smooth, tuple(x), tuple(t))[1])

    def pulled(*floats):
        return jax.vjp(smooth, *floats)[1](list(c))

    store("vjp", pulled(*x))
    if example.second:
        store("second", jax.jvp(pulled, tuple(x), tuple(t))[1])


def is_float_value(y):
    return jnp.issubdtype(y.dtype, jnp.floating)


def mapped(example, dtype, rng, store):
    """Over a leading axis of all operands, and of the first alone."""
    every = [draw(spec, dtype, rng, (BATCH,)) for spec in example.draws]
    store("every", every)
    store("over_every", flat(jax.vmap(example.function)(*every)))
    if len(every) > 1:
        axes = (0,) + (None,) * (len(every) - 1)
        first = [every[0], *(x[0] for x in every[1:])]
        store("over_first", flat(jax.vmap(example.function, axes)(*first)))


def add_golden(example, dtype, seed, manifest):
    """Adds {op, attributes, dtype, program, and for each part a list of (dtype, array)}."""
    rng = np.random.default_rng(seed)
    entry = {"op": example.op, "attributes": example.attributes, "dtype": dtype}
    entry |= {"program": example.program}

    def store(part, list_of_arrays):
        entry[part] = []
        for array in map(values, list_of_arrays):
            if array.dtype == jnp.bfloat16:
                entry[part].append(("bf16", array.view(np.uint16)))
            else:
                entry[part].append((NAMES[array.dtype], array))

    operands = [draw(spec, dtype, rng) for spec in example.draws]
    store("operands", operands)
    store("results", flat(example.function(*operands)))
    if dtype == "f64" and example.smooth and any(is_float(x) for x in operands):
        derivatives(example, operands, rng, store)
    if dtype == "f64" and example.mapped:
        mapped(example, dtype, rng, store)
    manifest.append(entry)


# The file: an array per dtype that holds all arrays of it one after the other, in the order of the
# manifest and of these parts; the manifest has their shapes.
PARTS = ("operands", "results", "t", "c", "jvp", "vjp", "second")
PARTS += ("every", "over_every", "over_first")


def read_others(chosen):
    """What is stored about all rows but the chosen ones."""
    if not GOLDEN.exists():
        return []
    stored, used = np.load(GOLDEN), collections.Counter()
    manifest = json.loads(stored["manifest"].tobytes())["examples"]
    for entry, part in itertools.product(manifest, PARTS):
        arrays = []
        for name, shape in entry.get(part, []):
            begin = used[name]
            used[name] += int(np.prod(shape))
            arrays.append((name, stored[name][begin : used[name]].reshape(shape)))
        if part in entry:
            entry[part] = arrays
    return [entry for entry in manifest if entry["op"] not in chosen]


def write(manifest):
    pools, listed = collections.defaultdict(list), []
    for entry in manifest:
        shapes = {}
        for part in (part for part in PARTS if part in entry):
            shapes[part] = [(name, array.shape) for name, array in entry[part]]
            for name, array in entry[part]:
                pools[name].append(array.ravel())
        listed.append(entry | shapes)
    text = json.dumps({"jax": jax.__version__, "examples": listed}, separators=(",", ":"))
    together = {name: np.concatenate(arrays) for name, arrays in pools.items()}
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(GOLDEN, manifest=np.frombuffer(text.encode(), np.uint8), **together)
    print(f"{len(manifest)} examples, {GOLDEN.stat().st_size} bytes, jax {jax.__version__}")


def main():
    chosen = set(sys.argv[1:])
    manifest = read_others(chosen) if chosen else []
    for number, example in enumerate(examples()):
        if chosen and example.op not in chosen:
            continue
        for dtype in example.dtypes:
            try:
                add_golden(example, dtype, number, manifest)
            except Exception as error:
                note = f"{example.op} {example.attributes} {dtype}"
                raise RuntimeError(f"golden values of {note}") from error
    write(manifest)


if __name__ == "__main__":
    main()
