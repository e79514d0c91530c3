"""`tf.data.Options`: what a pipeline may be told; none of it changes an element.

Mica keeps what is set, so that `dataset.options()` gives it, and needs none of it. Elements keep
their order unless a map or an interleave is told `deterministic=False` itself, which is one of the
orders that `deterministic = False` allows. Functions that run side by side are bounded by the
threads of the machine and share one pool, so there is neither a pool of one's own nor anything to
tune; pipelines are not rewritten by settings. An iterator whose functions have state of their own
is not saved, whatever `experimental_external_state_policy` says, since it could not go on exactly.
"""

from __future__ import annotations

import enum
from typing import ClassVar


class AutotuneAlgorithm(enum.Enum):
    """How TensorFlow searches for good settings; Mica has settings of its own."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided between workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.IntEnum):
    """What to do about state outside when a pipeline is written down."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Group:
    """A group of options: names with the type of their values, each None until it is set."""

    _kinds: ClassVar[dict[str, type]] = {}
    _others: ClassVar[dict[str, str]] = {}  # names that stand for another one

    def __init__(self) -> None:
        for name, kind in self._kinds.items():
            object.__setattr__(self, name, kind() if issubclass(kind, _Group) else None)

    def __getattr__(self, name: str) -> object:
        if name in type(self)._others:
            return getattr(self, type(self)._others[name])
        raise AttributeError(f"Cannot get the property {name} on {type(self).__name__}.")

    def __setattr__(self, name: str, value: object) -> None:
        name = self._others.get(name, name)
        if name not in self._kinds:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        kind = self._kinds[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(
                f'Property "{name}" must be of type {kind}, got: {value!r} (type: {type(value)})'
            )
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = None

    def _merge(self, other: _Group) -> _Group:
        made = type(self)()
        for name in self._kinds:
            ours, theirs = getattr(self, name), getattr(other, name)
            if isinstance(ours, _Group):
                value = ours._merge(theirs)
            else:
                value = ours if theirs is None else theirs
            object.__setattr__(made, name, value)
        return made


class AutotuneOptions(_Group):
    """Options of automatic tuning."""

    _kinds: ClassVar[dict[str, type]] = {
        "autotune_algorithm": AutotuneAlgorithm,
        "cpu_budget": int,
        "enabled": bool,
        "initial_parallelism": int,
        "min_parallelism": int,
        "ram_budget": int,
    }


class DistributeOptions(_Group):
    """Options of sharding."""

    _kinds: ClassVar[dict[str, type]] = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}


class OptimizationOptions(_Group):
    """Options of rewriting."""

    _kinds: ClassVar[dict[str, type]] = dict.fromkeys(
        (
            "apply_default_optimizations",
            "filter_fusion",
            "filter_parallelization",
            "inject_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "noop_elimination",
            "parallel_batch",
            "seq_interleave_prefetch",
            "shuffle_and_repeat_fusion",
        ),
        bool,
    )


class ThreadingOptions(_Group):
    """Options of threads."""

    _kinds: ClassVar[dict[str, type]] = {
        "max_intra_op_parallelism": int,
        "private_threadpool_size": int,
    }


class Options(_Group):
    """All options of a dataset."""

    _kinds: ClassVar[dict[str, type]] = {
        "autotune": AutotuneOptions,
        "dataset_name": str,
        "deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_warm_start": bool,
        "framework_type": list,
        "threading": ThreadingOptions,
    }
    _others: ClassVar[dict[str, str]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }

    def merge(self, options: Options) -> Options:
        """These options, overridden by the others where those are set."""
        return self._merge(options)
