"""`tf.distribute.cluster_resolver`: who knows where the tasks of a cluster are."""

from __future__ import annotations

import abc as _abc
import collections as _collections
import json as _json
import os as _os

from .._cluster_spec import ClusterSpec
from .._missing import missing as _missing_name


def with_layer(address: str, rpc_layer: str | None) -> str:
    """Return an address with the name of its protocol in front."""
    return f"{rpc_layer}://{address}" if rpc_layer else address


class ClusterResolver(_abc.ABC):
    """Base of the classes that find the tasks of a cluster."""

    @_abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster as it is now."""

    @_abc.abstractmethod
    def master(self, task_type=None, task_id=None, rpc_layer=None) -> str:
        """Return the address of the task that leads, or of the given one."""

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None) -> dict:
        """Return how many devices there are of each kind, the CPU not counted."""
        from .. import config

        found: dict[str, int] = _collections.defaultdict(int)
        for device in config.list_logical_devices():
            if device.device_type != "CPU" and _is_of(device.name, task_type, task_id):
                found[device.device_type] += 1
        return found

    @property
    def environment(self) -> str | None:
        """Where the program runs; empty for no place with a name."""
        return ""

    @property
    def task_type(self) -> str | None:
        """The job that this process belongs to, where it is known."""
        return getattr(self, "_task_type", None)

    @task_type.setter
    def task_type(self, task_type) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """The number of this process in its job, where it is known."""
        return getattr(self, "_task_id", None)

    @task_id.setter
    def task_id(self, task_id) -> None:
        self._task_id = task_id


def _is_of(name: str, task_type, task_id) -> bool:
    """Whether a device belongs to a task; one of this machine belongs to any."""
    if not name.startswith("/job:"):
        return task_type in (None, "localhost")
    _, job, _, task, _ = name.split("/")
    return (task_type is None or job == f"job:{task_type}") and (
        task_id is None or task == f"task:{task_id}"
    )


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is known beforehand."""

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type=None,
        task_id=None,
        environment: str = "",
        num_accelerators=None,
        rpc_layer=None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec = cluster_spec
        self._master = master
        self._task_type, self._task_id = task_type, task_id
        self._environment = environment
        self._num_accelerators = num_accelerators
        self._rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster that was given."""
        return self._cluster_spec

    def master(self, task_type=None, task_id=None, rpc_layer=None) -> str:
        """Return the address of the given task, or the master that was given."""
        address = self._master
        if task_type is not None and task_id is not None:
            address = self._cluster_spec.task_address(task_type, task_id)
        return with_layer(address, rpc_layer or self._rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None) -> dict:
        """Return the numbers that were given."""
        return self._num_accelerators or {}

    @property
    def environment(self) -> str:
        """What was given."""
        return self._environment

    @property
    def rpc_layer(self) -> str | None:
        """The protocol's name, put in front of addresses."""
        return self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer) -> None:
        self._rpc_layer = rpc_layer


class TFConfigClusterResolver(ClusterResolver):
    """The cluster that the environment variable TF_CONFIG describes, read whenever it is asked."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None) -> None:
        self._task_type, self._task_id = task_type, task_id
        self._rpc_layer = rpc_layer
        self._environment = environment

    @staticmethod
    def _read() -> dict:
        text = _os.environ.get("TF_CONFIG") or "{}"

        found = _json.loads(text)
        if not isinstance(found, dict):
            raise ValueError(f"TF_CONFIG must hold an object of JSON, not {text!r}")
        return found

    @property
    def task_type(self) -> str | None:
        """The type of TF_CONFIG's task."""
        if self._task_type is not None:
            return self._task_type
        found = self._read().get("task", {}).get("type")
        return None if found is None else str(found)

    @task_type.setter
    def task_type(self, task_type) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """The index of TF_CONFIG's task."""
        if self._task_id is not None:
            return self._task_id
        found = self._read().get("task", {}).get("index")
        return None if found is None else int(found)

    @task_id.setter
    def task_id(self, task_id) -> None:
        self._task_id = task_id

    @property
    def environment(self) -> str | None:
        """What was given."""
        return self._environment

    @property
    def rpc_layer(self) -> str | None:
        """The protocol's name: what was given, or what TF_CONFIG says."""
        return self._read().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer) -> None:
        self._rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster of TF_CONFIG; without it, an empty one."""
        return ClusterSpec(self._read().get("cluster", {}))

    def master(self, task_type=None, task_id=None, rpc_layer=None) -> str:
        """Return the address of the given task, or of this one; empty where there is no other."""
        spec = self.cluster_spec()
        if not spec.jobs or (len(spec.jobs) == 1 and spec.num_tasks(spec.jobs[0]) == 1):
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        address = "" if task_type is None else spec.task_address(task_type, task_id or 0)
        return with_layer(address, rpc_layer or self.rpc_layer)


class UnionResolver(ClusterResolver):
    """The jobs of several resolvers; the first of them says who this process is."""

    def __init__(self, *args, **kwargs) -> None:
        names = ("task_type", "task_id", "rpc_layer")
        unknown = {name: value for name, value in kwargs.items() if name not in names}
        if unknown:
            raise ValueError(f"Unexpected kwargs provided {unknown!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(each, ClusterResolver) for each in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args
        self._rpc_layer = kwargs.get("rpc_layer")
        self._task_type, self._task_id = kwargs.get("task_type"), kwargs.get("task_id")

    def cluster_spec(self) -> ClusterSpec:
        """Return all jobs; lists of the same job follow each other, numbered tasks stay."""
        found: dict[str, dict[int, str]] = {}
        for job, specs in self._by_job().items():
            tasks = found[job] = {}
            numbered = [spec for spec in specs if isinstance(spec.as_dict()[job], dict)]
            for spec in numbered:
                for index in spec.task_indices(job):
                    if index in tasks:
                        raise KeyError(f"Duplicate index detected in cluster: {job} {index}")
                    tasks[index] = spec.task_address(job, index)
            for spec in specs:
                if any(spec is other for other in numbered):
                    continue
                for index, address in enumerate(spec.job_tasks(job)):
                    if numbered and index in tasks:
                        raise KeyError(f"Duplicate index detected in cluster: {job} {index}")
                    tasks[index if numbered else len(tasks)] = address
        return ClusterSpec(found)

    def _by_job(self) -> dict[str, list[ClusterSpec]]:
        found: dict[str, list[ClusterSpec]] = {}
        for resolver in self._resolvers:
            spec = resolver.cluster_spec()
            for job in spec.jobs:
                found.setdefault(job, []).append(spec)
        return found

    def master(self, task_type=None, task_id=None, rpc_layer=None) -> str:
        """Return the address of the given task, or the first resolver's master."""
        if task_type is not None and task_id is not None:
            return with_layer(self.cluster_spec().task_address(task_type, task_id), rpc_layer or "")
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None) -> dict:
        """Return the first resolver's numbers."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)

    @property
    def environment(self) -> str | None:
        """The first resolver's."""
        return self._resolvers[0].environment

    @property
    def task_type(self) -> str | None:
        """What was given, or the first resolver's."""
        return self._resolvers[0].task_type if self._task_type is None else self._task_type

    @task_type.setter
    def task_type(self, task_type) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """What was given, or the first resolver's."""
        return self._resolvers[0].task_id if self._task_id is None else self._task_id

    @task_id.setter
    def task_id(self, task_id) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> str | None:
        """What was given, or the first resolver's."""
        first = getattr(self._resolvers[0], "rpc_layer", None)
        return first if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer) -> None:
        self._rpc_layer = rpc_layer


def __getattr__(name: str):
    if name == "TPUClusterResolver":
        from ._tpu import TPUClusterResolver

        return TPUClusterResolver
    raise _missing_name(__name__, name)
