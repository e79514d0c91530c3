"""Errors of ops, as TensorFlow names them."""

from __future__ import annotations

from ._missing import finder as _finder

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """The base of all errors that ops raise.

    Parameters
    ----------
    node_def, op
        What failed, where it is known.
    message
        What went wrong.
    error_code
        One of the numbers of this module.
    """

    def __init__(self, node_def=None, op=None, message="", error_code=UNKNOWN, *args) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self) -> str:
        """What went wrong."""
        return self._message

    @property
    def op(self):
        """The op that failed, where it is known."""
        return self._op

    @property
    def node_def(self):
        """The node that failed, where it is known."""
        return self._node_def

    @property
    def error_code(self) -> int:
        """The number of the error's class."""
        return self._error_code

    def __str__(self) -> str:
        return self._message

    def __reduce__(self):
        return type(self), (self._node_def, None, self._message)


def _error(name: str, code: int, line: str) -> type:
    def __init__(self, node_def=None, op=None, message="", *args):
        OpError.__init__(self, node_def, op, message, code)

    return type(name, (OpError,), {"__doc__": line, "__init__": __init__, "__module__": __name__})


CancelledError = _error("CancelledError", CANCELLED, "The operation was cancelled.")
UnknownError = _error("UnknownError", UNKNOWN, "Something went wrong that has no other name.")
InvalidArgumentError = _error(
    "InvalidArgumentError", INVALID_ARGUMENT, "An operation received an invalid argument."
)
DeadlineExceededError = _error(
    "DeadlineExceededError", DEADLINE_EXCEEDED, "Time ran out before the operation was done."
)
NotFoundError = _error("NotFoundError", NOT_FOUND, "Something asked for does not exist.")
AlreadyExistsError = _error("AlreadyExistsError", ALREADY_EXISTS, "It exists already.")
PermissionDeniedError = _error("PermissionDeniedError", PERMISSION_DENIED, "It is not allowed.")
ResourceExhaustedError = _error(
    "ResourceExhaustedError", RESOURCE_EXHAUSTED, "Memory, or something else, ran out."
)
FailedPreconditionError = _error(
    "FailedPreconditionError", FAILED_PRECONDITION, "The right call at the wrong time."
)
AbortedError = _error("AbortedError", ABORTED, "The operation was aborted.")
OutOfRangeError = _error("OutOfRangeError", OUT_OF_RANGE, "Past the end of a sequence.")
UnimplementedError = _error("UnimplementedError", UNIMPLEMENTED, "It has not been implemented.")
InternalError = _error("InternalError", INTERNAL, "A mistake of the system itself.")
UnavailableError = _error("UnavailableError", UNAVAILABLE, "It is not available now.")
DataLossError = _error("DataLossError", DATA_LOSS, "Data was lost or is corrupt.")
UnauthenticatedError = _error(
    "UnauthenticatedError",
    UNAUTHENTICATED,
    "The request does not have valid authentication credentials.",
)


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operator that would need the value of a symbolic tensor."""


class InaccessibleTensorError(ValueError):
    """A symbolic tensor was used outside of the function it belongs to."""


_BY_NAME = {
    name: value
    for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, OpError)
}


def raise_error(name: str, message: str):
    """Raise the error of this name; "[Op] text" reads as TensorFlow's messages do."""
    op = None
    if message.startswith("["):
        op, _, text = message[1:].partition("] ")
        text, start, origin = text.partition("\n\nDetected at node '")
        message = f"{text} [Op:{op}]{start}{origin}" if op[:1].isupper() else message
    raise _BY_NAME[name](None, None, message)


def error_code_from_exception_type(cls: type) -> int:
    """Return the number of an error's class."""
    return cls().error_code


def exception_type_from_error_code(error_code: int) -> type:
    """Return the class with this number."""
    for cls in _BY_NAME.values():
        if cls is not OpError and cls().error_code == error_code:
            return cls
    raise KeyError(error_code)


__getattr__ = _finder(__name__)
