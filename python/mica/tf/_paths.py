"""Paths: those of this machine, and no others."""

from __future__ import annotations

import os
import re

from . import errors

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")


def local(path) -> str:
    """A path of this machine; one of another file system is an error."""
    path = os.fsdecode(path)
    scheme = _SCHEME.match(path)
    if scheme is None:
        return path
    if scheme[1] == "file":
        return path[len("file://") :]
    raise errors.UnimplementedError(
        None,
        None,
        f"File system scheme '{scheme[1]}' not implemented (file: '{path}'): only files of this "
        "machine are read and written. The package fsspec copies files from and to others: "
        f'fsspec.filesystem("{scheme[1]}").get(...)',
    )
