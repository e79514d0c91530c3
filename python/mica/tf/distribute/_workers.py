"""MultiWorkerMirroredStrategy: a replica in each worker of a cluster."""

from __future__ import annotations

from .. import convert_to_tensor, init_scope
from .._cluster_spec import ClusterSpec
from .._specs import register_type_spec
from .._variable import Variable, VariableAggregation, VariableSynchronization
from .._variable_updates import VariableSpec
from ._collectives import Collectives
from ._group import group_of
from ._inputs import DistributedDataset, distributed, part_of_worker
from ._strategy import Mirrored, ReduceOp, is_in_replica
from .cluster_resolver import ClusterResolver, SimpleClusterResolver, TFConfigClusterResolver

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

    Every worker runs the same program. Variables begin with the chief's values; sums are a fixed
    tree over the workers, so that all have the same bits.

    Parameters
    ----------
    cluster_resolver
        Who knows the workers; by default the environment variable TF_CONFIG, or without one
        mpirun, where it started the processes. A cluster of one worker, or none, is this process
        alone; so is an evaluator.
    communication_options
        How values are reduced: timeout_seconds says how long workers wait for each other.
    """

    def __init__(self, cluster_resolver=None, communication_options=None) -> None:
        super().__init__()
        self._resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        seconds = getattr(communication_options, "timeout_seconds", None)
        addresses = _addresses(self._resolver)
        if self._check() and len(addresses) > 1:
            spec = self._resolver.cluster_spec()
            task = spec.task_address(self._resolver.task_type, self._resolver.task_id or 0)
            self._collectives = Collectives(group_of(addresses, addresses.index(task), seconds))
        elif cluster_resolver is None and not self._resolver.cluster_spec():
            self._join_launched(seconds)

    def _join_launched(self, seconds: float | None) -> None:
        """Meet the processes that were started with this one, where there are others."""
        group = group_of([], 0, seconds)
        if group.count == 1:
            return
        self._collectives = Collectives(group)
        places = [f"{group.engine}:{rank + 1}" for rank in range(group.count)]
        spec = ClusterSpec({"worker": places})
        self._resolver = SimpleClusterResolver(spec, task_type="worker", task_id=group.index)

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
        return 1 if self._collectives is None else self._collectives.count

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """Who knows the workers."""
        return self._resolver

    def gather(self, value, axis):
        """The values of the workers side by side, a tensor."""
        return convert_to_tensor(super().gather(value, axis))

    def experimental_distribute_dataset(self, dataset, options=None):
        """A dataset of global batches as one of this worker's part of each."""
        if self._collectives is None or isinstance(dataset, DistributedDataset):
            return distributed(dataset)
        return distributed(
            part_of_worker(dataset, self._collectives.count, self._collectives.index)
        )

    def _make_variable(self, next_creator, **kwargs):
        variable = super()._make_variable(next_creator, **kwargs)
        if self._collectives is not None:
            with init_scope():
                variable.assign(self._collectives.first(variable.read_value()))
            if variable.aggregation in _KINDS and type(variable) is Variable:
                variable.__class__ = CombinedVariable
                variable._collectives = self._collectives
        return variable


_KINDS = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}


class CombinedVariable(Variable):
    """A variable whose values in the workers are combined as its aggregation says.

    What replicas assign is combined first; with ON_READ each keeps its own, and they are combined
    when the variable is read outside of the replicas, where one of SUM is assigned in equal parts.
    """

    def _combined(self, value):
        return self._collectives.all_reduce(_KINDS[self.aggregation], [value])[0]

    @property
    def _is_on_read(self) -> bool:
        return self.synchronization == VariableSynchronization.ON_READ

    def _to_assign(self, value):
        if self._is_on_read or not is_in_replica():
            return value
        return self._combined(value)

    def _read(self):
        value = super()._read()
        return self._combined(value) if self._is_on_read and not is_in_replica() else value

    def assign(self, value, *args, **more):
        """Give it another value."""
        is_shared = self._is_on_read and self.aggregation == VariableAggregation.SUM
        if is_shared and not is_in_replica():
            value = self._value_for(value) / self._collectives.count
        return super().assign(self._to_assign(value), *args, **more)

    def assign_add(self, delta, *args, **more):
        """Add to it."""
        return super().assign_add(self._to_assign(delta), *args, **more)

    def assign_sub(self, delta, *args, **more):
        """Subtract from it."""
        return super().assign_sub(self._to_assign(delta), *args, **more)


CombinedVariable.__name__ = Variable.__name__
register_type_spec(CombinedVariable, lambda v: VariableSpec(v.shape, v.dtype, v.trainable))


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """The older name."""

    def __init__(self, communication=None, cluster_resolver=None) -> None:
        super().__init__(cluster_resolver)
