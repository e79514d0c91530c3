"""`tf.distribute`: strategies, and clusters of servers."""

from __future__ import annotations

import importlib as _importlib

from .._missing import missing as _missing_name
from ._inputs import (
    DistributedDataset,
    DistributedIterator,
    InputContext,
    InputOptions,
    InputReplicationMode,
    RunOptions,
)
from ._strategy import (
    DistributedValues,
    MirroredStrategy,
    OneDeviceStrategy,
    ReduceOp,
    ReplicaContext,
    Strategy,
    StrategyExtended,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
    maybe_merge_call,
    strategy_supports_no_merge_call,
)

# Names that are found when they are first touched: name -> module of this package.
_LAZY = {
    "CrossDeviceOps": "_cross_device",
    "HierarchicalCopyAllReduce": "_cross_device",
    "MultiWorkerMirroredStrategy": "_workers",
    "NcclAllReduce": "_cross_device",
    "ReductionToOneDevice": "_cross_device",
    "Server": "_server",
    "TPUStrategy": "_tpu",
}
_MODULES = ("cluster_resolver", "experimental")


def __getattr__(name: str):
    if name in _MODULES:
        return _importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        value = getattr(_importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])


__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Server",
    "Strategy",
    "StrategyExtended",
    "TPUStrategy",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "maybe_merge_call",
    "strategy_supports_no_merge_call",
]
