"""Files and folders of this machine, with TensorFlow's errors."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import NamedTuple

from ... import _mica
from .. import errors
from .._paths import local as _local
from ._files import matching_files

_MODES = ("r", "w", "a", "r+", "w+", "a+")
_ERRORS = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
}


@contextlib.contextmanager
def _as_tensorflows(path):
    try:
        yield
    except OSError as error:
        kind = _ERRORS.get(error.errno, errors.UnknownError)
        raise kind(None, None, f"{path}; {error.strerror or error}") from None


class GFile:
    """A file that is opened when it is first used; text, or bytes with "b" in its mode."""

    def __init__(self, name, mode="r") -> None:
        if mode.replace("b", "") not in _MODES:
            raise errors.InvalidArgumentError(
                None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            )
        self._name, self._mode, self._file = name, mode, None

    @property
    def name(self):
        """Its path."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode it was given."""
        return self._mode

    def _opened(self, writes: bool | None = None):
        plain = self._mode.replace("b", "")
        if writes is True and plain == "r":
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        if writes is False and plain in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        if self._file is None:
            options = {} if "b" in self._mode else {"encoding": "utf-8", "newline": ""}
            with _as_tensorflows(self._name):
                self._file = open(_local(self._name), self._mode, **options)
        return self._file

    def read(self, n=-1):
        """Return n characters or bytes, by default all that are left."""
        with _as_tensorflows(self._name):
            return self._opened(writes=False).read(n)

    def readline(self):
        """Return the next line with its end; empty at the end of the file."""
        with _as_tensorflows(self._name):
            return self._opened(writes=False).readline()

    def readlines(self) -> list:
        """Return all lines that are left."""
        with _as_tensorflows(self._name):
            return self._opened(writes=False).readlines()

    def write(self, file_content) -> None:
        """Append text or bytes."""
        text = "b" not in self._mode
        if text and isinstance(file_content, bytes):
            file_content = file_content.decode()
        elif not text and isinstance(file_content, str):
            file_content = file_content.encode()
        with _as_tensorflows(self._name):
            self._opened(writes=True).write(file_content)

    def seek(self, offset=None, whence=0, position=None) -> None:
        """Go on at an offset."""
        offset = position if offset is None else offset
        if offset is None:
            raise TypeError("seek(): offset argument required")
        with _as_tensorflows(self._name):
            self._opened().seek(offset, whence)

    def tell(self) -> int:
        """Return where the file goes on."""
        with _as_tensorflows(self._name):
            return self._opened().tell()

    def seekable(self) -> bool:
        """Whether seek works."""
        return True

    def size(self) -> int:
        """Return how many bytes the file has."""
        self.flush()
        return stat(self._name).length

    def flush(self) -> None:
        """What was written is in the file."""
        if self._file is not None:
            with _as_tensorflows(self._name):
                self._file.flush()

    def close(self) -> None:
        """Close the file; it is opened again when it is used again."""
        file, self._file = self._file, None
        if file is not None:
            with _as_tensorflows(self._name):
                file.close()

    def __enter__(self) -> GFile:
        if self._mode.replace("b", "") != "r":
            self._opened()
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def __iter__(self) -> GFile:
        return self

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line


class FileStatistics(NamedTuple):
    """What is known of a file."""

    length: int
    mtime_nsec: int
    is_directory: bool


def exists(path) -> bool:
    """Whether there is such a file or folder."""
    return os.path.exists(_local(path))


def isdir(path) -> bool:
    """Whether there is such a folder."""
    return os.path.isdir(_local(path))


def stat(path) -> FileStatistics:
    """Return the size, the time of the last change and the kind of a file."""
    with _as_tensorflows(path):
        about = os.stat(_local(path))
    return FileStatistics(about.st_size, about.st_mtime_ns, os.path.isdir(_local(path)))


def listdir(path) -> list[str]:
    """Return the names in a folder, sorted."""
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path}")
    with _as_tensorflows(path):
        return sorted(os.listdir(_local(path)))


def glob(pattern) -> list[str]:
    """Return the files that one or several patterns of the shell match."""
    patterns = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else pattern
    names: list[str] = []
    for each in patterns:
        names += [os.fsdecode(name) for name in matching_files(_local(each)).numpy().tolist()]
    return names


def makedirs(path) -> None:
    """Make a folder and those above it, unless they are there."""
    with _as_tensorflows(path):
        os.makedirs(_local(path), exist_ok=True)


def mkdir(path) -> None:
    """Make a folder, unless it is there; the one above has to be."""
    if not isdir(path):
        with _as_tensorflows(path):
            os.mkdir(_local(path))


def remove(path) -> None:
    """Remove a file."""
    with _as_tensorflows(path):
        if isdir(path):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        os.remove(_local(path))


def rmtree(path) -> None:
    """Remove a folder with all that is in it."""
    if not exists(path):
        raise errors.NotFoundError(None, None, f"{path} not found")
    with _as_tensorflows(path):
        shutil.rmtree(_local(path))


def _check_free(path, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise errors.AlreadyExistsError(None, None, f"{path}: file already exists")


def copy(src, dst, overwrite=False) -> None:
    """Copy a file; one that is there stays unless it may be overwritten."""
    _check_free(dst, overwrite)
    with _as_tensorflows(src), open(_local(src), "rb") as file:
        data = file.read()
    _mica.tf_file_replace(_local(dst), data)


def rename(src, dst, overwrite=False) -> None:
    """Give a file another name; one that is there stays unless it may be overwritten."""
    _check_free(dst, overwrite)
    with _as_tensorflows(src):
        os.replace(_local(src), _local(dst))


def walk(top, topdown=True, onerror=None):
    """Yield (folder, the folders in it, the files in it) for a folder and all below it."""
    top = os.fspath(top)
    try:
        names = listdir(top)
    except errors.OpError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [name for name in names if isdir(os.path.join(top, name))]
    here = (top, folders, [name for name in names if name not in folders])
    if topdown:
        yield here
    for folder in folders:
        yield from walk(os.path.join(top, folder), topdown, onerror)
    if not topdown:
        yield here


def join(path, *paths):
    """Return paths joined by slashes; an absolute one begins anew."""
    return os.path.join(path, *paths)


def get_registered_schemes() -> list[str]:
    """Return the beginnings of names that files can have."""
    return ["", "file"]
