"""MultiWorkerMirroredStrategy: a replica in each worker of a cluster; here in one worker."""

from __future__ import annotations

from ._strategy import Mirrored
from .cluster_resolver import ClusterResolver, TFConfigClusterResolver

_TASKS = ("chief", "worker", "evaluator")


def _count(resolver: ClusterResolver) -> int:
    """How many workers train."""
    spec = resolver.cluster_spec()
    return sum(spec.num_tasks(job) for job in ("chief", "worker") if job in spec.jobs)


class MultiWorkerMirroredStrategy(Mirrored):
    """Copies of a model in the workers of a cluster, which sum their gradients.

    Parameters
    ----------
    cluster_resolver
        Who knows the workers; by default the environment variable TF_CONFIG. A cluster of one
        worker, or none, is this process alone.
    communication_options
        How values are reduced.
    """

    def __init__(self, cluster_resolver=None, communication_options=None) -> None:
        super().__init__()
        resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        self._resolver = resolver
        self._check()

    def _check(self) -> None:
        from .. import errors

        spec = self._resolver.cluster_spec()
        if not spec:
            return
        task_type = self._resolver.task_type
        if task_type not in _TASKS:
            raise ValueError(
                f"Unrecognized task_type: {task_type!r}, valid task types are: {_TASKS}"
            )
        count = _count(self._resolver)
        if count > 1:
            raise errors.UnimplementedError(
                None,
                None,
                f"MultiWorkerMirroredStrategy: the cluster (TF_CONFIG, or the cluster_resolver) "
                f"names {count} workers, {spec!r}. One worker is supported.",
            )

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """Who knows the workers."""
        return self._resolver

    def gather(self, value, axis):
        """The values of the workers side by side, a tensor."""
        from .. import convert_to_tensor

        return convert_to_tensor(super().gather(value, axis))


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """The older name."""

    def __init__(self, communication=None, cluster_resolver=None) -> None:
        super().__init__(cluster_resolver)
