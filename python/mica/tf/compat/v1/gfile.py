"""`tf.compat.v1.gfile`: files and folders under their older names."""

from __future__ import annotations

from ..._missing import finder as _finder
from ...io import _gfile
from ...io._gfile import GFile

FastGFile = Open = GFile


def Copy(oldpath, newpath, overwrite=False) -> None:
    """Copy a file; one that is there stays unless it may be overwritten."""
    _gfile.copy(oldpath, newpath, overwrite)


def DeleteRecursively(dirname) -> None:
    """Remove a folder and all in it."""
    _gfile.rmtree(dirname)


def Exists(filename) -> bool:
    """Whether there is a file or folder."""
    return _gfile.exists(filename)


def Glob(filename) -> list[str]:
    """Return the files that match a pattern, or one of several."""
    return _gfile.glob(filename)


def IsDirectory(dirname) -> bool:
    """Whether it is a folder."""
    return _gfile.isdir(dirname)


def ListDirectory(dirname) -> list[str]:
    """Return the names in a folder."""
    return _gfile.listdir(dirname)


def MakeDirs(dirname) -> None:
    """Make a folder and those above it."""
    _gfile.makedirs(dirname)


def MkDir(dirname) -> None:
    """Make a folder."""
    _gfile.mkdir(dirname)


def Remove(filename) -> None:
    """Remove a file."""
    _gfile.remove(filename)


def Rename(oldname, newname, overwrite=False) -> None:
    """Give a file another name."""
    _gfile.rename(oldname, newname, overwrite)


def Stat(filename) -> _gfile.FileStatistics:
    """Return the size and time of a file."""
    return _gfile.stat(filename)


def Walk(top, in_order=True):
    """Yield (folder, the folders in it, the files in it) for a folder and all below it."""
    return _gfile.walk(top, in_order)


__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]


__getattr__ = _finder(__name__)
