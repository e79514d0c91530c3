"""`tf.data.Options`: what a pipeline may be told; none of it changes an element."""

from __future__ import annotations


class _Group:
    """A group of options, each None until it is set."""

    _names: tuple[str, ...] = ()

    def __init__(self) -> None:
        for name in self._names:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._names:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = None

    def _merge(self, other: _Group) -> _Group:
        made = type(self)()
        for name in self._names:
            ours, theirs = getattr(self, name), getattr(other, name)
            if isinstance(ours, _Group):
                value = ours._merge(theirs)
            else:
                value = ours if theirs is None else theirs
            object.__setattr__(made, name, value)
        return made


class AutotuneOptions(_Group):
    """Options of automatic tuning."""

    _names = (
        "autotune_algorithm",
        "cpu_budget",
        "enabled",
        "initial_parallelism",
        "min_parallelism",
        "ram_budget",
    )


class DistributeOptions(_Group):
    """Options of sharding."""

    _names = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Group):
    """Options of rewriting."""

    _names = (
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
        "warm_start",
    )


class ThreadingOptions(_Group):
    """Options of threads."""

    _names = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Group):
    """All options of a dataset."""

    _names = (
        "autotune",
        "deterministic",
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_optimization",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_threading",
        "experimental_warm_start",
        "framework_type",
        "threading",
        "dataset_name",
    )

    def __init__(self) -> None:
        super().__init__()
        for name, kind in (
            ("autotune", AutotuneOptions),
            ("experimental_distribute", DistributeOptions),
            ("experimental_optimization", OptimizationOptions),
            ("threading", ThreadingOptions),
            ("experimental_threading", ThreadingOptions),
        ):
            object.__setattr__(self, name, kind())

    def merge(self, options: Options) -> Options:
        """These options, overridden by the others where those are set."""
        return self._merge(options)
