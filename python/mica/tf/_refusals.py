"""What functions made of several ops refuse, as one op would."""

from __future__ import annotations

from .. import _mica
from . import errors
from ._core import Tensor, convert_to_tensor, ops
from ._print import Assert


def refusal(message: str) -> Exception:
    """Return the error of wrong arguments: an op's eagerly, Python's while a graph is made."""
    if _mica.tf_executing_eagerly():
        return errors.InvalidArgumentError(None, None, message)
    return ValueError(message)


def operand(value, dtype, op: str, place: int) -> Tensor:
    """Return input number `place` of an op that takes one dtype only."""
    if not isinstance(value, Tensor) or value.dtype == dtype:
        return convert_to_tensor(value, dtype)
    text = (
        f"cannot compute {op} as input #{place}(zero-based) was expected to be a {dtype.name} "
        f"tensor but is a {value.dtype.name} tensor [Op:{op}]"
    )
    raise (
        errors.InvalidArgumentError(None, None, text)
        if _mica.tf_executing_eagerly()
        else TypeError(text)
    )


def check_true(condition, message: str) -> None:
    """Refuse, when the function runs, that an element of a condition is false."""
    axes = ops["Range"](0, ops["Rank"](condition), 1)
    Assert(ops["All"](condition, axes), [message])
