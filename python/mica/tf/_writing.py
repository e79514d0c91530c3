"""The door through which errors leave the writers of files: a full disk is ResourceExhausted."""

from __future__ import annotations

import contextlib
import errno

from . import errors

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def writing(path):
    """What is inside writes to this path."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        message = f"{path} cannot be written: {error.strerror}"
        raise errors.ResourceExhaustedError(None, None, message) from error
