"""MultiWorkerMirroredStrategy: a replica in each worker of a cluster."""

from __future__ import annotations

import functools

from ._inputs import distributed, part_of_worker
from ._strategy import Mirrored, ReduceOp, is_in_replica
from .cluster_resolver import ClusterResolver, TFConfigClusterResolver

_TASKS = ("chief", "worker", "evaluator")


def _addresses(resolver: ClusterResolver) -> list[str]:
    """Where the workers that train are: the chief first."""
    spec = resolver.cluster_spec()
    found = []
    for job in ("chief", "worker"):
        for index in spec.task_indices(job) if job in spec.jobs else ():
            found.append(spec.task_address(job, index))
    return found


class MultiWorkerMirroredStrategy(Mirrored):
    """Copies of a model in the workers of a cluster, which sum their gradients.

    Every worker runs the same program. Variables begin with the chief's values; sums are made in
    the order of the workers, so that all have the same bits.

    Parameters
    ----------
    cluster_resolver
        Who knows the workers; by default the environment variable TF_CONFIG. A cluster of one
        worker, or none, is this process alone; so is an evaluator.
    communication_options
        How values are reduced: timeout_seconds says how long workers wait for each other.
    """

    def __init__(self, cluster_resolver=None, communication_options=None) -> None:
        super().__init__()
        self._resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        seconds = getattr(communication_options, "timeout_seconds", None)
        addresses = _addresses(self._resolver)
        if self._check() and len(addresses) > 1:
            from ._across import Across
            from ._group import group_of

            spec = self._resolver.cluster_spec()
            task = spec.task_address(self._resolver.task_type, self._resolver.task_id or 0)
            self._across = Across(group_of(addresses, addresses.index(task), seconds))

    def _check(self) -> bool:
        """Whether this process is one of a cluster's workers."""
        if not self._resolver.cluster_spec():
            return False
        task_type = self._resolver.task_type
        if task_type not in _TASKS:
            raise ValueError(
                f"Unrecognized task_type: {task_type!r}, valid task types are: {_TASKS}"
            )
        return task_type != "evaluator"

    @property
    def num_replicas_in_sync(self) -> int:
        """How many workers there are."""
        return 1 if self._across is None else self._across.count

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """Who knows the workers."""
        return self._resolver

    def gather(self, value, axis):
        """The values of the workers side by side, a tensor."""
        from .. import convert_to_tensor

        return convert_to_tensor(super().gather(value, axis))

    def experimental_distribute_dataset(self, dataset, options=None):
        """A dataset of global batches as one of this worker's part of each."""
        from ._inputs import DistributedDataset

        if self._across is None or isinstance(dataset, DistributedDataset):
            return distributed(dataset)
        return distributed(part_of_worker(dataset, self._across.count, self._across.index))

    def _make_variable(self, next_creator, **kwargs):
        variable = super()._make_variable(next_creator, **kwargs)
        if self._across is not None:
            from .. import init_scope

            with init_scope():
                variable.assign(self._across.first(variable.read_value()))
            _keep_alike(variable, self._across)
        return variable


def _keep_alike(variable, across) -> None:
    """Let the workers' values of a variable be combined as its aggregation says.

    What replicas assign is combined first; with ON_READ each keeps its own, and they are combined
    when the variable is read outside of the replicas.
    """
    from .. import VariableAggregation, VariableSynchronization

    kinds = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}
    kind = kinds.get(variable.aggregation)
    if kind is None:
        return

    def combined(value):
        return across.all_reduce(kind, [value])[0]

    if variable.synchronization == VariableSynchronization.ON_READ:
        _combine_when_read(variable, combined, across.count if kind is ReduceOp.SUM else 1)
        return
    for name in ("assign", "assign_add", "assign_sub"):
        method = getattr(type(variable), name)

        def update(value, *args, _method=method, **more):
            value = combined(value) if is_in_replica() else value
            return _method(variable, value, *args, **more)

        setattr(variable, name, functools.wraps(method)(update))


def _combine_when_read(variable, combined, parts: int) -> None:
    """Let a variable outside of the replicas be what the workers' values of it are together.

    Assigned there, each worker keeps one of so many parts.
    """
    own, assign = variable._read, variable.assign

    def share(value, *args, **more):
        if parts > 1 and not is_in_replica():
            value = variable._value_for(value) / parts
        return assign(value, *args, **more)

    variable._read = lambda: own() if is_in_replica() else combined(own())
    variable.assign = share


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """The older name."""

    def __init__(self, communication=None, cluster_resolver=None) -> None:
        super().__init__(cluster_resolver)
