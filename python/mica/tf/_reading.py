"""The door through which errors leave the readers of files.

Readers follow names and numbers of files, and what does not fit shows as a KeyError, a TypeError or
the like, deep inside. Here it becomes what callers are promised, with the name of the file:
DataLossError, or ResourceExhaustedError where memory ended. What says already what is wrong
(OSError, tf.errors, NotImplementedError, ValueError) stays what it is.
"""

from __future__ import annotations

import contextlib
import struct

from . import errors

_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    struct.error,
)


@contextlib.contextmanager
def reading(path):
    """Errors of what is inside are about this file."""
    try:
        yield
    except OSError:
        raise
    except errors.OpError as error:
        if str(path) in error.message:
            raise
        message = f"{path}: {error.message}"
        raise type(error)(error.node_def, error.op, message) from error
    except NotImplementedError as error:
        raise type(error)(f"{path}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    except MemoryError as error:
        message = f"{path} asks for more memory than there is"
        raise errors.ResourceExhaustedError(None, None, message) from error
    except _DAMAGE as error:
        kind = type(error).__name__
        message = f"{path} is damaged: it does not fit together ({kind}: {error})"
        raise errors.DataLossError(None, None, message) from error


def check_references(nodes, path) -> None:
    """Refuse objects that refer to objects which are not there."""
    n = len(nodes)
    if n == 0:
        raise errors.DataLossError(None, None, f"{path} is damaged: it has no objects")
    for i, node in enumerate(nodes):
        for child in node.children:
            if not 0 <= child.node_id < n:
                raise errors.DataLossError(
                    None,
                    None,
                    f"{path} is damaged: its object {i} holds the object {child.node_id} as "
                    f"{child.local_name!r}, and there are {n}",
                )
