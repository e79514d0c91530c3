"""`tf.debugging`: assertions on tensors, eagerly and in graphs.

What can be told while a function is traced (ranks, dtypes, static shapes) raises at once; what
depends on values becomes an assertion in the graph.
"""

from __future__ import annotations

import numpy as _np

from .. import _mica
from . import _devices, _dispatch, _dtypes, errors
from ._autograph_hooks import is_filtering, set_filtering
from ._context import in_graph
from ._core import Tensor, _abs, convert_to_tensor, ops
from ._effects import no_op
from ._graph import operand
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
        x, y = convert_to_tensor(x), convert_to_tensor(y)
        if in_graph():
            holds = ops[op](operand(x), operand(y))
            known_x, known_y = static_value(x), static_value(y)
            if known_x is not None and known_y is not None:
                if _np.all(compare(known_x, known_y)):
                    return no_op()
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    _difference(sign, known_x, known_y, compare, message, summarize),
                )
            data = [
                message or "",
                f"Condition x {sign} y did not hold element-wise:",
                "x = ",
                x,
                "y = ",
                y,
            ]
            return Assert(_all(holds), data, summarize)
        if _all(ops[op](x, y)):
            return None
        a, b = _np.asarray(x.numpy()), _np.asarray(y.numpy())
        raise errors.InvalidArgumentError(
            None, None, _difference(sign, a, b, compare, message, summarize)
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


def _difference(sign: str, a, b, compare, message, summarize) -> str:
    holds = _np.asarray(compare(a, b))
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
_none_equal = _binary("!=", "NotEqual", _np.not_equal)
assert_less = _binary("<", "Less", _np.less)
assert_less_equal = _binary("<=", "LessEqual", _np.less_equal)
assert_greater = _binary(">", "Greater", _np.greater)
assert_greater_equal = _binary(">=", "GreaterEqual", _np.greater_equal)


def assert_none_equal(x, y, summarize=None, message=None, name=None):
    """Raise InvalidArgumentError unless x != y everywhere."""
    return _none_equal(x, y, message, summarize, name)


def _sign(sign: str, op: str, compare, name: str):
    def check(x, message=None, summarize=None, name=None):
        x = convert_to_tensor(x)
        if in_graph():
            x = operand(x)
            holds = ops[op](x, convert_to_tensor(0, x.dtype))
            known = static_value(x)
            if known is not None and _np.all(compare(known, 0)):
                return no_op()
            text = f"Condition x {sign} 0 did not hold element-wise:"
            return Assert(_all(holds), [message or "", text, "x = ", x], summarize)
        if _all(ops[op](x, convert_to_tensor(0, x.dtype))):
            return None
        value = _np.asarray(x.numpy())
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
    """Raise InvalidArgumentError unless |x - y| < atol + rtol |y| everywhere."""
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    kind = x.dtype.real_dtype.as_numpy_dtype
    default = 10 * float(_np.finfo(kind).eps)
    rtol = convert_to_tensor(default if rtol is None else rtol, x.dtype.real_dtype)
    atol = convert_to_tensor(default if atol is None else atol, x.dtype.real_dtype)
    allowed = ops["AddV2"](atol, ops["Mul"](rtol, _abs(y)))
    holds = _all(ops["Less"](_abs(ops["Sub"](x, y)), allowed))
    data = [
        message or "",
        f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
        f"x (shape={x.shape} dtype={x.dtype.name}) = ",
        x,
        f"y (shape={y.shape} dtype={y.dtype.name}) = ",
        y,
    ]
    return Assert(holds, data, summarize)


def _check_rank(x, ranks: list, accepts, dynamic, words: str, message):
    """Raise ValueError where the static rank is none of those accepted; else ask when it runs."""
    x = convert_to_tensor(x)
    wanted = [_known_rank(rank) for rank in ranks]
    found = x.shape.rank
    front = f"{message}. " if message else ""
    label = getattr(x, "name", "") if in_graph() else ""
    if found is not None and None not in wanted:
        if not accepts(found, wanted):
            shown = wanted[0] if words != "in " else tuple(wanted)
            raise ValueError(
                f"{front}Tensor {label} must have rank {words}{shown}.  Received rank {found}, "
                f"shape {x.shape}"
            )
        return no_op()
    data = [front, f"Tensor {label} must have rank {words}".rstrip(), *ranks]
    rank = ops["Rank"](x)
    holds = None
    for each in ranks:
        if each.shape.rank is None:
            scalar = ops["Equal"](ops["Rank"](each), _int(0))
            Assert(scalar, ["Rank must be a scalar. Received rank: ", each])
        one = _all(ops[dynamic](rank, each))
        holds = one if holds is None else ops["LogicalOr"](holds, one)
    return Assert(holds, [*data, "Received shape: ", ops["Shape"](x)])


def _rank(value: object):
    rank = convert_to_tensor(value)
    assert_type(rank, _dtypes.int32)
    if rank.shape.rank not in (None, 0):
        raise ValueError("Rank must be a scalar.")
    return rank


def _known_rank(rank) -> int | None:
    known = static_value(rank)
    return None if known is None else int(known)


def assert_rank(x, rank, message=None, name=None):
    """Raise ValueError unless the rank is the given; in a graph perhaps when it runs."""
    return _check_rank(x, [_rank(rank)], lambda n, all_: n == all_[0], "Equal", "", message)


def assert_rank_at_least(x, rank, message=None, name=None):
    """Raise ValueError unless the rank is at least the given; in a graph perhaps when it runs."""
    return _check_rank(
        x, [_rank(rank)], lambda n, all_: n >= all_[0], "GreaterEqual", "at least ", message
    )


def assert_rank_in(x, ranks, message=None, name=None):
    """Raise ValueError unless the rank is among the given; in a graph perhaps when it runs."""
    given = [_rank(rank) for rank in ranks]
    return _check_rank(x, given, lambda n, all_: n in all_, "Equal", "in ", message)


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
    if not isinstance(message, (str, bytes)):
        raise TypeError(f"Expected string for argument 'message' not {message!r}.")
    if not tensor.dtype.is_floating:
        text = (
            f"Value for attr 'T' of {tensor.dtype.name} is not in the list of allowed values: "
            "bfloat16, half, float, double [Op:CheckNumerics]"
        )
        raise TypeError(text) if in_graph() else errors.InvalidArgumentError(None, None, text)
    if _eager(tensor):  # the tensor itself, which forward mode knows too
        ops["CheckNumerics"](ops["StopGradient"](tensor), message=message)
        return tensor
    return ops["CheckNumerics"](tensor, message=message, name=name)


def assert_all_finite(x, message, name=None):
    """The tensor, when all of its elements are finite; InvalidArgumentError otherwise."""
    return check_numerics(x, message)


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None) -> None:
    """Check shapes given by numbers and by names that stand for one size everywhere.

    What is not known while a function is traced is checked when it runs.

    Raises
    ------
    ValueError
        If a static shape is not what was said.
    InvalidArgumentError
        If a shape that is known at run time is not.
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    front = f"{message}.  " if message else ""
    check = _Symbols(front, lambda holds, text: Assert(holds, data or [text], summarize))
    for tensor, symbols in pairs:
        tensor = tensor.deref() if hasattr(tensor, "deref") else tensor
        check.tensor(convert_to_tensor(tensor), symbols)


class _Symbols:
    """Sizes by their symbols: the first tensor that has a symbol says its size.

    `check_later` takes a scalar and a text, which is the error where the scalar is false.
    """

    def __init__(self, front: str, check_later) -> None:
        self._front, self._check_later = front, check_later
        self._sizes: dict[str, tuple[object, str, int]] = {}

    def tensor(self, tensor, symbols) -> None:
        shape = tensor.shape
        described = f"{self._front}Tensor shape={shape} dtype={tensor.dtype.name}"
        if not isinstance(symbols, list | tuple | str):
            symbols = as_shape(symbols).as_list() if symbols is not None else []
        symbols = list(symbols)
        is_open = bool(symbols) and symbols[0] in ("*", Ellipsis)
        if is_open:
            del symbols[0]
        for i, symbol in enumerate(symbols, is_open):
            if symbol in ("*", Ellipsis):
                raise ValueError(
                    f"{described} has the symbol {symbol!r} at index {i}: any number of sizes may "
                    "only come first"
                )
        self._rank(tensor, len(symbols), is_open, described)
        sizes = ops["Shape"](tensor)
        for i, symbol in enumerate(symbols):
            axis = i - len(symbols) if is_open else i
            if symbol in (None, "."):
                continue
            known = None if shape.rank is None else shape[axis]
            shown = axis if shape.rank is None else axis % shape.rank
            size = sizes[axis] if known is None else known
            if isinstance(symbol, int):
                self._size(size, symbol, "Specified explicitly", described, shown, shape)
            elif symbol in self._sizes:
                wanted, other, at = self._sizes[symbol]
                source = f"Specified by tensor {other} dimension {at}"
                self._size(size, wanted, source, described, shown, shape)
            else:
                self._sizes[symbol] = (size, f"shape={shape} dtype={tensor.dtype.name}", shown)

    def _rank(self, tensor, n: int, is_open: bool, described: str) -> None:
        least = "at least " if is_open else ""
        text = f"{described} must have rank {least}{n}.  Received rank "
        rank = tensor.shape.rank
        if rank is None:
            compared = "GreaterEqual" if is_open else "Equal"
            holds = ops[compared](ops["Rank"](tensor), convert_to_tensor(n, _dtypes.int32))
            self._check_later(holds, text + "that is another")
        elif rank < n or (rank != n and not is_open):
            raise ValueError(f"{text}{rank}, shape {tensor.shape}")

    def _size(self, size, wanted, source: str, described: str, axis: int, shape) -> None:
        text = f"{source}.  {described.removeprefix(self._front)} dimension {axis} must have size "
        text = self._front + text
        if isinstance(size, int) and isinstance(wanted, int):
            if size != wanted:
                raise ValueError(f"{text}{wanted}.  Received size {size}, shape {shape}")
            return
        equal = ops["Equal"](
            convert_to_tensor(size, _dtypes.int32), convert_to_tensor(wanted, _dtypes.int32)
        )
        told = wanted if isinstance(wanted, int) else "as there"
        self._check_later(equal, f"{text}{told}, shape {shape}")


_dispatch.offer(globals())

__getattr__ = _finder(__name__)
