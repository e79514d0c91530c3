"""`tf.debugging`: assertions on tensors, eagerly and in graphs.

What can be told while a function is traced (ranks, dtypes, static shapes) raises at once; what
depends on values becomes an assertion in the graph.
"""

from __future__ import annotations

import numpy as _np

from .. import _mica
from . import _devices, _dtypes, errors
from ._autograph_hooks import is_filtering, set_filtering
from ._core import Tensor, _abs, convert_to_tensor, ops
from ._missing import finder as _finder
from ._print import Assert
from ._shapes import as_shape
from ._static import static_value


def enable_traceback_filtering() -> None:
    """Leave frames of the library out of tracebacks."""
    set_filtering(True)


def disable_traceback_filtering() -> None:
    """Show frames of the library in tracebacks."""
    set_filtering(False)


def is_traceback_filtering_enabled() -> bool:
    """Whether frames of the library are left out of tracebacks."""
    return is_filtering()


def set_log_device_placement(enabled: bool) -> None:
    """Write to standard error where each op runs."""
    _devices.set_log_placement(enabled)


def get_log_device_placement() -> bool:
    """Whether it is said where ops run."""
    return _devices.log_placement()


def _eager(*tensors: object) -> bool:
    return all(isinstance(tensor, _mica.TFEagerTensor) for tensor in tensors)


def _pair(x, y):
    if not isinstance(x, Tensor) and isinstance(y, Tensor):
        y_tensor = y
        return convert_to_tensor(x, y_tensor.dtype), y_tensor
    x = convert_to_tensor(x)
    return x, convert_to_tensor(y, x.dtype)


def _all(condition):
    rank = condition.shape.rank
    if rank == 0:
        return condition
    if rank is None:
        axes = ops["Range"](_int(0), ops["Rank"](condition), _int(1))
    else:
        axes = convert_to_tensor(list(range(rank)), _dtypes.int32)
    return ops["All"](condition, axes)


def _int(value: int):
    return convert_to_tensor(value, _dtypes.int32)


def _binary(sign: str, op: str, compare):
    def check(x, y, message=None, summarize=None, name=None):
        x, y = _pair(x, y)
        if not _eager(x, y):
            known_x, known_y = static_value(x), static_value(y)
            if known_x is not None and known_y is not None and _np.all(compare(known_x, known_y)):
                return None
            data = [
                message or "",
                f"Condition x {sign} y did not hold element-wise:",
                "x = ",
                x,
                "y = ",
                y,
            ]
            return Assert(_all(ops[op](x, y)), data, summarize)
        a, b = _np.asarray(x.numpy()), _np.asarray(y.numpy())
        holds = _np.asarray(compare(a, b))
        if holds.all():
            return None
        raise errors.InvalidArgumentError(
            None, None, _difference(sign, a, b, holds, message, summarize)
        )

    check.__name__ = {
        "==": "assert_equal",
        "!=": "assert_none_equal",
        "<": "assert_less",
        "<=": "assert_less_equal",
        ">": "assert_greater",
        ">=": "assert_greater_equal",
    }[sign]
    check.__doc__ = f"Raise InvalidArgumentError unless x {sign} y everywhere."
    return check


def _difference(sign: str, a, b, holds, message, summarize) -> str:
    limit = 3 if summarize is None else summarize
    lines = [message] if message else []
    lines.append(f"Condition x {sign} y did not hold.")
    if holds.shape and a.shape == b.shape:
        places = _np.argwhere(~holds)
        shown = places if limit < 0 else places[:limit]
        lines.append(f"Indices of first {len(shown)} different values:\n{shown}")
        index = tuple(shown.T)
        lines.append(f"Corresponding x values:\n{a[index]}")
        lines.append(f"Corresponding y values:\n{b[index]}")
    for name, value in (("x", a), ("y", b)):
        flat = value.ravel()
        count = len(flat) if limit < 0 else min(limit, len(flat))
        lines.append(f"First {count} elements of {name}:\n{flat[:count]}")
    return "\n".join(lines)


assert_equal = _binary("==", "Equal", _np.equal)
assert_none_equal = _binary("!=", "NotEqual", _np.not_equal)
assert_less = _binary("<", "Less", _np.less)
assert_less_equal = _binary("<=", "LessEqual", _np.less_equal)
assert_greater = _binary(">", "Greater", _np.greater)
assert_greater_equal = _binary(">=", "GreaterEqual", _np.greater_equal)


def _sign(sign: str, op: str, compare, name: str):
    def check(x, message=None, summarize=None, name=None):
        x = convert_to_tensor(x)
        if not _eager(x):
            holds = ops[op](x, ops["ZerosLike"](x))
            text = f"Condition x {sign} 0 did not hold element-wise:"
            return Assert(_all(holds), [message or "", text, "x = ", x], summarize)
        value = _np.asarray(x.numpy())
        if _np.all(compare(value, 0)):
            return None
        limit = 3 if summarize is None else summarize
        flat = value.ravel() if limit < 0 else value.ravel()[:limit]
        shown = [str(v) for v in flat] + (["..."] if len(flat) < value.size else [])
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{message or ''}\nCondition x {sign} 0 did not hold element-wise:\n"
            f"x (shape={x.shape} dtype={x.dtype.name}) = \n{shown}",
        )

    check.__name__ = name
    check.__doc__ = f"Raise InvalidArgumentError unless x {sign} 0 everywhere."
    return check


assert_positive = _sign(">", "Greater", _np.greater, "assert_positive")
assert_negative = _sign("<", "Less", _np.less, "assert_negative")
assert_non_negative = _sign(">=", "GreaterEqual", _np.greater_equal, "assert_non_negative")
assert_non_positive = _sign("<=", "LessEqual", _np.less_equal, "assert_non_positive")


def assert_near(x, y, rtol=None, atol=None, message=None, summarize=None, name=None):
    """Raise InvalidArgumentError unless |x - y| <= atol + rtol |y| everywhere."""
    x, y = _pair(x, y)
    kind = x.dtype.real_dtype.as_numpy_dtype
    default = 10 * float(_np.finfo(kind).eps)
    rtol = convert_to_tensor(default if rtol is None else rtol, x.dtype.real_dtype)
    atol = convert_to_tensor(default if atol is None else atol, x.dtype.real_dtype)
    allowed = ops["AddV2"](atol, ops["Mul"](rtol, _abs(y)))
    holds = _all(ops["LessEqual"](_abs(ops["Sub"](x, y)), allowed))
    data = [
        message or "",
        f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
        f"x (shape={x.shape} dtype={x.dtype.name}) = ",
        x,
        f"y (shape={y.shape} dtype={y.dtype.name}) = ",
        y,
    ]
    return Assert(holds, data, summarize)


def _rank_check(accepts, words):
    def check(x, rank, message=None, name=None):
        x = convert_to_tensor(x)
        wanted = sorted(_rank(r) for r in rank) if isinstance(rank, (list, tuple)) else _rank(rank)
        found = x.shape.rank
        if found is None:
            return None
        if not accepts(found, wanted):
            shown = tuple(wanted) if isinstance(wanted, list) else wanted
            label = "" if _eager(x) else x.name
            front = f"{message}. " if message else ""
            raise ValueError(
                f"{front}Tensor {label} must have rank {words}{shown}.  Received rank {found}, "
                f"shape {x.shape}"
            )
        return None

    check.__doc__ = f"Raise ValueError unless the rank is {words}the given."
    return check


def _rank(value: object) -> int:
    known = static_value(value) if isinstance(value, Tensor) else value
    if known is None or _np.ndim(known) != 0:
        raise ValueError("Rank must be a scalar.")
    return int(known)


assert_rank = _rank_check(lambda found, wanted: found == wanted, "")
assert_rank_at_least = _rank_check(lambda found, wanted: found >= wanted, "at least ")
assert_rank_in = _rank_check(lambda found, wanted: found in wanted, "in ")


def assert_scalar(tensor, message=None, name=None):
    """Raise ValueError unless the tensor is a scalar; give it back."""
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank not in (None, 0):
        front = message or ""
        if _eager(tensor):
            raise ValueError(f"{front}Expected scalar shape, saw shape: {tensor.shape}.")
        raise ValueError(
            f"{front}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}."
        )
    return tensor


def assert_type(tensor, tf_type, message=None, name=None) -> None:
    """Raise TypeError unless the tensor has that dtype."""
    wanted = _dtypes.as_dtype(tf_type)
    tensor = tensor if hasattr(tensor, "dtype") else convert_to_tensor(tensor)
    if tensor.dtype != wanted:
        label = "tensor" if _eager(tensor) else getattr(tensor, "name", "tensor")
        front = f"{message} " if message else ""
        raise TypeError(f"{front}{label} must be of type {wanted!r}; got {tensor.dtype!r}")


def assert_integer(x, message=None, name=None) -> None:
    """Raise TypeError unless the tensor is of an integer dtype."""
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        label = "tensor" if _eager(x) else x.name
        raise TypeError(
            f'{message or ""}Expected "x" to be integer type.  Found: {label} of dtype {x.dtype!s}'
        )


def is_numeric_tensor(tensor) -> bool:
    """Whether this is a tensor of numbers."""
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_numeric and not tensor.dtype.is_quantized
    )


def assert_proper_iterable(values) -> None:
    """Raise TypeError unless the values can be iterated over and are no tensor or string."""
    if isinstance(values, (Tensor, _np.ndarray, str, bytes)):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_same_float_dtype(tensors=None, dtype=None):
    """The dtype that all of the tensors have, a floating one; ValueError otherwise."""
    found = None if dtype is None else _dtypes.as_dtype(dtype)
    first = None
    for tensor in tensors or ():
        tensor = convert_to_tensor(tensor)
        if found is None:
            found, first = tensor.dtype, tensor
        elif tensor.dtype != found:
            behind = f" as {first}" if first is not None else ""
            raise ValueError(
                f"{tensor}, type={tensor.dtype!s}, must be of the same type ({found!s}){behind}."
            )
    found = found or _dtypes.float32
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found!s}.")
    return found


def check_numerics(tensor, message, name=None):
    """The tensor, when all of its elements are finite; InvalidArgumentError otherwise."""
    tensor = convert_to_tensor(tensor)
    if _eager(tensor):
        value = _np.asarray(tensor.numpy())
        kinds = [k for k, f in (("NaN", _np.isnan), ("Inf", _np.isinf)) if f(value).any()]
        if kinds:
            raise errors.InvalidArgumentError(
                None, None, f"{message} : Tensor had {' and '.join(kinds)} values"
            )
        return tensor
    Assert(_all(ops["IsFinite"](tensor)), [f"{message} : Tensor had NaN or Inf values"])
    return tensor


def assert_all_finite(x, message, name=None):
    """The tensor, when all of its elements are finite; InvalidArgumentError otherwise."""
    return check_numerics(x, message)


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None) -> None:
    """Check shapes given by numbers and by names that stand for one size everywhere.

    Raises
    ------
    ValueError
        If a static shape is not what was said.
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    sizes: dict[str, tuple[int, object, int]] = {}
    front = f"{message}.  " if message else ""
    for tensor, symbols in pairs:
        tensor = tensor.deref() if hasattr(tensor, "deref") else tensor
        tensor = convert_to_tensor(tensor)
        _check_symbols(tensor, symbols, sizes, front)


def _check_symbols(tensor, symbols, sizes: dict, front: str) -> None:
    shape = tensor.shape
    if shape.rank is None:
        return
    described = f"shape={shape} dtype={tensor.dtype.name}"
    if not isinstance(symbols, (list, tuple, str)):
        symbols = as_shape(symbols).as_list() if symbols is not None else []
    symbols = list(symbols)
    rest = [i for i, symbol in enumerate(symbols) if symbol in ("*", Ellipsis)]
    if rest and rest[0] == 0:
        symbols = symbols[1:]
        first = shape.rank - len(symbols)
    elif rest and rest[0] == len(symbols) - 1:
        symbols = symbols[:-1]
        first = 0
    else:
        first = 0
        if len(symbols) != shape.rank:
            raise ValueError(
                f"{front}Tensor {described} must have rank {len(symbols)}.  Received rank "
                f"{shape.rank}, shape {shape}"
            )
    if shape.rank < len(symbols):
        raise ValueError(
            f"{front}Tensor {described} must have rank at least {len(symbols)}.  Received rank "
            f"{shape.rank}, shape {shape}"
        )
    for i, symbol in enumerate(symbols, first):
        size = shape[i]
        if size is None or symbol in (None, "."):
            continue
        if isinstance(symbol, int):
            if size != symbol:
                raise ValueError(
                    f"{front}Specified explicitly.  Tensor {described} dimension {i} must have "
                    f"size {symbol}.  Received size {size}, shape {shape}"
                )
        elif symbol not in sizes:
            sizes[symbol] = (size, described, i)
        elif sizes[symbol][0] != size:
            wanted, other, axis = sizes[symbol]
            raise ValueError(
                f"{front}Specified by tensor {other} dimension {axis}.  Tensor {described} "
                f"dimension {i} must have size {wanted}.  Received size {size}, shape {shape}"
            )


__getattr__ = _finder(__name__)
