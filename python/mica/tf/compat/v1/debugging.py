"""`tf.compat.v1.debugging`: assertions that take what they print; the rest is `tf.debugging`."""

from __future__ import annotations

from ... import debugging as _debugging
from ... import math as _math
from ..._array import rank as _rank
from ..._core import convert_to_tensor as _convert
from ..._missing import missing as _missing_name
from ..._print import Assert as _Assert
from ..._reduce import reduce_all as _reduce_all
from ._arguments import either as _either
from ._arguments import needed as _needed

__all__ = [
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_scalar",
]


def _asserted(condition, data, summarize, message):
    data = [message, *data] if message else list(data)
    return _Assert(_reduce_all(condition), data, summarize)


def _comparison(name_: str, compare):
    newer = getattr(_debugging, name_)

    def check(x, y, data=None, summarize=None, message=None, name=None):
        if data is None:
            return newer(x, y, message=message, summarize=summarize, name=name)
        x = _convert(x)
        return _asserted(compare(x, _convert(y, x.dtype)), data, summarize, message)

    check.__name__ = check.__qualname__ = name_
    check.__doc__ = f"As tf.debugging.{name_}; the error prints `data` where it is given."
    return check


def _sign(name_: str, compare):
    newer = getattr(_debugging, name_)

    def check(x, data=None, summarize=None, message=None, name=None):
        if data is None:
            return newer(x, message=message, summarize=summarize, name=name)
        x = _convert(x)
        return _asserted(compare(x, _convert(0, x.dtype)), data, summarize, message)

    check.__name__ = check.__qualname__ = name_
    check.__doc__ = f"As tf.debugging.{name_}; the error prints `data` where it is given."
    return check


assert_equal = _comparison("assert_equal", _math.equal)
assert_none_equal = _comparison("assert_none_equal", _math.not_equal)
assert_less = _comparison("assert_less", _math.less)
assert_less_equal = _comparison("assert_less_equal", _math.less_equal)
assert_greater = _comparison("assert_greater", _math.greater)
assert_greater_equal = _comparison("assert_greater_equal", _math.greater_equal)
assert_negative = _sign("assert_negative", _math.less)
assert_positive = _sign("assert_positive", _math.greater)
assert_non_negative = _sign("assert_non_negative", _math.greater_equal)
assert_non_positive = _sign("assert_non_positive", _math.less_equal)


def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
    """As tf.debugging.assert_near; the error prints `data` where it is given."""
    if data is None:
        return _debugging.assert_near(x, y, rtol, atol, message, summarize, name)
    x = _convert(x)
    y = _convert(y, x.dtype)
    least = 10 * x.dtype.as_numpy_dtype(_epsilon(x.dtype))
    rtol, atol = (least if limit is None else limit for limit in (rtol, atol))
    bound = _convert(atol, x.dtype) + _convert(rtol, x.dtype) * _math.abs(y)
    return _asserted(_math.less(_math.abs(x - y), bound), data, summarize, message)


def _epsilon(dtype) -> float:
    return {"float16": 9.765625e-4, "float32": 1.1920929e-7, "float64": 2.220446049250313e-16}[
        dtype.name
    ]


def _ranked(name_: str, own: str, compare):
    newer = getattr(_debugging, name_)

    def check(x, ranks, data, summarize, message, name):
        x = _convert(x)
        if data is None or x.shape.rank is not None:
            return newer(x, ranks, message=message, name=name)
        return _asserted(compare(_rank(x), ranks), data, summarize, message)

    if own == "rank":

        def given(x, rank, data=None, summarize=None, message=None, name=None):
            return check(x, rank, data, summarize, message, name)

    else:

        def given(x, ranks, data=None, summarize=None, message=None, name=None):
            return check(x, ranks, data, summarize, message, name)

    given.__name__ = given.__qualname__ = name_
    given.__doc__ = f"As tf.debugging.{name_}; the error prints `data` where it is given."
    return given


assert_rank = _ranked("assert_rank", "rank", _math.equal)
assert_rank_at_least = _ranked("assert_rank_at_least", "rank", _math.greater_equal)
assert_rank_in = _ranked(
    "assert_rank_in",
    "ranks",
    lambda rank, ranks: _math.reduce_any([_math.equal(rank, each) for each in ranks]),
)


def assert_scalar(tensor, name=None, message=None):
    """As tf.debugging.assert_scalar."""
    return _debugging.assert_scalar(tensor, message, name)


def assert_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """As tf.debugging.assert_all_finite."""
    x = _either("x", x, "t", t)
    message = _either("message", message, "msg", msg)
    _needed("assert_all_finite", x=x, message=message)
    return _debugging.assert_all_finite(x, message, name)


_OF_NUMBERS = frozenset("is_finite is_inf is_nan is_non_decreasing is_strictly_increasing".split())


def __getattr__(name: str):
    if name in _OF_NUMBERS:
        return getattr(_math, name)
    if not name.startswith("_"):
        try:
            return getattr(_debugging, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in dir(_debugging) if not n.startswith("_"))})
