"""`tf.train`: what describes clusters, checkpoints."""

from __future__ import annotations

import importlib as _importlib

from ._cluster_spec import ClusterDef, ClusterSpec, JobDef, ServerDef
from ._missing import missing as _missing_name

# Names that are found when they are first touched: name -> module of this package.
_LAZY = {
    "BytesList": "_example_messages",
    "Checkpoint": "_checkpoint",
    "CheckpointManager": "_checkpoint_files",
    "CheckpointOptions": "_checkpoint",
    "Example": "_example_messages",
    "Feature": "_example_messages",
    "FeatureList": "_example_messages",
    "FeatureLists": "_example_messages",
    "Features": "_example_messages",
    "FloatList": "_example_messages",
    "Int64List": "_example_messages",
    "SequenceExample": "_example_messages",
    "TrackableView": "_trackable_view",
    "checkpoints_iterator": "_checkpoint_files",
    "get_checkpoint_state": "_checkpoint_files",
    "latest_checkpoint": "_checkpoint_files",
    "list_variables": "_checkpoint_files",
    "load_checkpoint": "_checkpoint_files",
    "load_variable": "_checkpoint_files",
}


def __getattr__(name: str):
    if name not in _LAZY:
        older = _importlib.import_module(".compat.v1.train", __package__)
        if name in older.__all__:
            return getattr(older, name)
        raise _missing_name(__name__, name)
    value = getattr(_importlib.import_module(f".{_LAZY[name]}", __package__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_LAZY])


__all__ = ["ClusterDef", "ClusterSpec", "JobDef", "ServerDef"]
