"""`tf.compat.v1.gfile`: files and folders under their older names."""

from __future__ import annotations

from ..._missing import finder as _finder
from ...io._gfile import (
    GFile,
    copy,
    exists,
    glob,
    isdir,
    listdir,
    makedirs,
    mkdir,
    remove,
    rename,
    rmtree,
    stat,
    walk,
)

Copy, Exists, Glob, IsDirectory, ListDirectory = copy, exists, glob, isdir, listdir
MakeDirs, MkDir, Remove, Rename, Stat, Walk = makedirs, mkdir, remove, rename, stat, walk
DeleteRecursively = rmtree
FastGFile = Open = GFile
del copy, exists, glob, isdir, listdir, makedirs, mkdir, remove, rename, rmtree, stat, walk

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
