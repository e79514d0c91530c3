"""TPUs: their resolver and their strategy, on a machine that has none.

The resolver answers as on any machine without TPUs; whatever needs a core says that there is none.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from .. import config, errors
from .._cluster_spec import ClusterSpec
from ._strategy import Strategy
from .cluster_resolver import ClusterResolver

_JOB = "worker"
_LAYER = "grpc://"


class NoTPUError(errors.NotFoundError, IndexError):
    """There are no TPU cores to spread over."""


class UnknownTPUError(OSError, ValueError):
    """A TPU's name that cannot be resolved."""


class DeviceAttributes(NamedTuple):
    """A device as the metadata of a TPU system lists it."""

    name: str
    device_type: str
    memory_limit_bytes: int = 0
    incarnation: int = 0

    def __repr__(self) -> str:
        return f"_DeviceAttributes({', '.join(map(str, self))})"


class TPUSystemMetadata(NamedTuple):
    """What is known of the cores that can be reached."""

    num_cores: int
    num_hosts: int
    num_of_cores_per_host: int
    topology: object
    devices: tuple


def _full_name(name: str) -> str:
    return name if name.startswith("/job:") else "/job:localhost/replica:0/task:0" + name


def _cores() -> dict[str, int]:
    """How many TPU cores each task has among the devices that ops can be placed on."""
    found: dict[str, int] = {}
    for device in config.list_logical_devices("TPU"):
        task = _full_name(device.name).rpartition("/")[0]
        found[task] = found.get(task, 0) + 1
    return found


class TPUClusterResolver(ClusterResolver):
    """Finds the workers of a TPU.

    Parameters
    ----------
    tpu
        "local" for the cores of this machine, or addresses "grpc://host:port", with commas between
        several; by default what the environment variable TPU_NAME says.
    """

    def __init__(
        self,
        tpu=None,
        zone=None,
        project=None,
        job_name: str | None = _JOB,
        coordinator_name=None,
        coordinator_address=None,
        credentials="default",
        service=None,
        discovery_url=None,
    ) -> None:
        name = os.environ.get("TPU_NAME") if tpu is None else tpu
        if isinstance(name, list | tuple):
            name = name[0] if name else ""
        if isinstance(name, bytes):
            name = name.decode()
        if not name:
            raise ValueError("Please provide a TPU Name to connect to.")
        if name != "local" and not name.startswith(_LAYER):
            raise UnknownTPUError(
                f"The TPU {name!r} cannot be looked up: give 'local' or its address, "
                f"'{_LAYER}host:port'"
            )
        self._tpu = name
        self._job_name = job_name or _JOB
        self._task_type, self._task_id = self._job_name, 0
        self._coordinator = (coordinator_name, coordinator_address)

    @staticmethod
    def connect(tpu=None, zone=None, project=None) -> TPUClusterResolver:
        """Find a TPU, connect to it and make it ready."""
        from ..tpu.experimental import initialize_tpu_system

        resolver = TPUClusterResolver(tpu, zone, project)
        config.experimental_connect_to_cluster(resolver)
        initialize_tpu_system(resolver)
        return resolver

    def cluster_spec(self) -> ClusterSpec:
        """Return the TPU's workers; of this machine's own cores, an empty cluster."""
        if self._tpu == "local":
            return ClusterSpec({})
        addresses = [each.removeprefix(_LAYER) for each in self._tpu.split(",")]
        jobs = {self._job_name: addresses}
        name, address = self._coordinator
        if name and address:
            jobs[name] = [address]
        return ClusterSpec(jobs)

    def master(self, task_type=None, task_id=None, rpc_layer=None) -> str:
        """Return the address of the first worker or the given one; empty for this machine."""
        if self._tpu == "local":
            return ""
        spec = self.cluster_spec()
        job = self._job_name if task_type is None else task_type
        address = spec.task_address(job, 0 if task_id is None else task_id)
        return f"{rpc_layer or 'grpc'}://{address}"

    def get_master(self) -> str:
        """Return the address of the first worker."""
        return self.master()

    def get_job_name(self) -> str:
        """Return the job of the TPU's workers."""
        return self._job_name

    def get_coordination_service_leader(self):
        """Return the task that coordinates: none where the cores are this machine's."""
        return None if self._tpu == "local" else f"/job:{self._job_name}/task:0"

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None) -> dict:
        """Return how many cores a worker has."""
        cores = _cores()
        return {"TPU": next(iter(cores.values()), 0)}

    def get_tpu_system_metadata(self) -> TPUSystemMetadata:
        """Return what is known of the cores that can be reached."""
        cores = _cores()
        devices = sorted(
            DeviceAttributes(_full_name(d.name), d.device_type)
            for d in config.list_logical_devices()
        )
        return TPUSystemMetadata(
            sum(cores.values()),
            len(cores),
            next(iter(cores.values()), 0),
            None,
            tuple(devices),
        )

    def set_tpu_topology(self, serialized_tpu_topology) -> None:
        """Keep how the cores are connected."""
        self._topology = serialized_tpu_topology

    @property
    def tpu_hardware_feature(self):
        """What the hardware can do: nothing is known without a core."""
        return None

    @property
    def environment(self) -> str:
        """Where the program runs: no place with a name."""
        return ""


class TPUStrategy(Strategy):
    """Copies of a model on the cores of a TPU.

    Without a core there is nothing to copy to: that is an error.
    """

    def __init__(
        self, tpu_cluster_resolver=None, experimental_device_assignment=None, **options
    ) -> None:
        super().__init__()
        resolver = TPUClusterResolver() if tpu_cluster_resolver is None else tpu_cluster_resolver
        metadata = resolver.get_tpu_system_metadata()
        if not metadata.num_cores:
            known = ", ".join(device.name for device in metadata.devices)
            raise NoTPUError(
                None,
                None,
                "TPUStrategy has no TPU core to run on: index 0 is out of bounds for the 0 cores "
                f"of the system. All available devices [{known}].",
            )
        raise errors.UnimplementedError(
            None, None, f"TPUStrategy over {metadata.num_cores} cores: ops do not run on TPUs"
        )


class ExperimentalTPUStrategy(TPUStrategy):
    """The older name."""

    def __init__(
        self, tpu_cluster_resolver=None, device_assignment=None, steps_per_run=None
    ) -> None:
        super().__init__(tpu_cluster_resolver, device_assignment)
