"""Connections to the servers of a cluster: `tf.config.experimental_connect_to_cluster`."""

from __future__ import annotations

import collections
import threading
import weakref

from ... import _mica
from .. import _devices, errors
from .._cluster_spec import ClusterSpec
from . import _door, _placement, _requests, _wire
from ._server import PURPOSE, Server
from .cluster_resolver import ClusterResolver

CONNECT_SECONDS = 5.0  # for a server to take a connection and to say who it is
ANSWER_SECONDS = 600.0  # for an op
_server = None  # of this process, where it is a task of the cluster itself


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of "host:port", after "grpc://" or not."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise errors.InvalidArgumentError(
            None, None, f'Could not parse the host and the port of "{address}"'
        )
    return host.strip("[]"), int(port)


class Task:
    """A connection to the server of a task; made when it is needed, and again after it broke."""

    def __init__(self, address: str) -> None:
        self._channel: _wire.Channel | None = None
        self.address = address
        self._place = host_and_port(address)
        self._lock = threading.Lock()
        self._dropped: collections.deque = collections.deque()  # variables that are not needed

    def _unavailable(self, what: str) -> errors.UnavailableError:
        return errors.UnavailableError(None, None, f"the server at {self.address} {what}")

    def _open(self) -> dict:
        try:
            channel = _door.connected(self._place, CONNECT_SECONDS, _door.Door(), PURPOSE)
        except (_wire.BadFrame, _wire.Lost) as error:
            raise self._unavailable(f"does not answer as one of mica.tf: {error}") from None
        except errors.UnauthenticatedError as error:
            raise errors.UnauthenticatedError(
                None, None, f"the server at {self.address}: {error.message}"
            ) from None
        except OSError as error:
            raise self._unavailable(f"cannot be reached: {error}") from None
        try:
            channel.send({"kind": "hello"})
            header, _ = channel.receive(CONNECT_SECONDS)
            if header.get("kind") == "error":
                _wire.raise_received(header)
            if header.get("kind") != "welcome" or not isinstance(header.get("devices"), list):
                raise _wire.BadFrame("its first message is not the answer to a greeting")
        except (OSError, _wire.BadFrame, _wire.Closed) as error:
            channel.close()
            raise self._unavailable(f"does not answer as one of mica.tf: {error}") from None
        except BaseException:
            channel.close()
            raise
        self._channel = channel
        return header

    def devices(self) -> list[str]:
        """The devices that the server has, as "CPU:0"."""
        with self._lock:
            self._close()
            return [str(each) for each in self._open()["devices"]]

    def run(self, request: tuple, tensors: list) -> list:
        """Have an op run there, and bring its results back."""
        count = len(tensors)
        text = _requests.written(request, tensors)
        with self._lock:
            if self._channel is None:
                self._open()
            variables = {}
            for place, tensor in enumerate(tensors[:count]):
                if tensor._home is not None:
                    variables[place] = self._number_of(tensor)
            values = [t for place, t in enumerate(tensors) if place not in variables]
            header = {"kind": "run", "request": text, "operands": count, "variables": variables}
            return self._ask(header, values)[1]

    def make_variable(self, handle, name: str, dtype, shape) -> None:
        """Have a variable made there; it ends with its handle, or with the connection."""
        sizes = None if shape.rank is None else [-1 if n is None else n for n in shape.as_list()]
        header = {"kind": "variable", "name": name, "dtype": dtype.as_datatype_enum, "shape": sizes}
        with self._lock:
            if self._channel is None:
                self._open()
            answer, _ = self._ask(header, [])
            handle._number = (self._channel, answer.get("number"))
        weakref.finalize(handle, self._dropped.append, handle._number)

    def _number_of(self, handle) -> int:
        connection, number = handle._number
        if connection is not self._channel:
            raise errors.FailedPreconditionError(
                None, None, f"the server at {self.address} was lost, and this variable with it"
            )
        return number

    def _ask(self, header: dict, tensors: list) -> tuple[dict, list]:
        """Send a frame and receive the answer to it. The lock is held."""
        dropped = [self._dropped.popleft() for _ in range(len(self._dropped))]
        header["drop"] = [number for where, number in dropped if where is self._channel]
        try:
            self._channel.send(header, tensors)
            answer, results = self._channel.receive(ANSWER_SECONDS)
        except errors.OpError:
            raise  # nothing was sent
        except (OSError, _wire.BadFrame, _wire.Closed) as error:
            self._close()
            why = str(error) or "it ended the connection"
            raise self._unavailable(f"was lost: {why}") from None
        except BaseException:
            self._close()  # an answer may still come, and would be taken for the next one
            raise
        if answer.get("kind") == "error":
            _wire.raise_received(answer)
        return answer, results

    def _close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def __del__(self) -> None:
        self._close()


def connect_to_cluster(
    cluster_spec_or_resolver,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol=None,
    make_master_device_default: bool = True,
    cluster_device_filters=None,
) -> None:
    """Connect to the servers of a cluster; their devices take ops from then on.

    The cluster takes the place of the one that was connected to before. A task of this process's
    own name is not connected to: a server is started for it.
    """
    global _server
    if protocol not in (None, "grpc"):
        raise ValueError(f"[connect_to_cluster] protocol={protocol!r} is not known: leave it out")
    if cluster_device_filters is not None:
        raise NotImplementedError(
            "[connect_to_cluster] every task sees all devices: leave cluster_device_filters out"
        )
    master = ""
    if isinstance(cluster_spec_or_resolver, ClusterResolver):
        master = cluster_spec_or_resolver.master()
        if master in ("", "local"):
            return
        spec = cluster_spec_or_resolver.cluster_spec()
    elif isinstance(cluster_spec_or_resolver, ClusterSpec):
        spec = cluster_spec_or_resolver
    else:
        raise ValueError(
            "`cluster_spec_or_resolver` must be a `ClusterSpec` or a `ClusterResolver`."
        )
    here = (job_name, task_index)
    found, listed = {}, []
    for job in sorted(spec.jobs):
        for index in spec.task_indices(job):
            if (job, index) == here:
                continue
            task = found[job, index] = Task(spec.task_address(job, index))
            for each in task.devices():
                kind = each.partition(":")[0]
                name = f"/job:{job}/replica:0/task:{index}/device:{each}"
                listed.append(_devices.LogicalDevice(name, kind))
    if job_name in spec.jobs and task_index in spec.task_indices(job_name):
        _server = Server(spec, job_name, task_index)
    _placement.tasks.clear()
    _placement.tasks.update(found)
    _placement.home = here
    _devices.remote_devices[:] = listed
    _mica.tf_set_remote(_default(spec, master) if make_master_device_default else None)


def _default(spec: ClusterSpec, master: str):
    """The device of the task that leads, for ops that are not asked to go anywhere."""
    address = master.rpartition("://")[2]
    for job, index in _placement.tasks:
        if master and spec.task_address(job, index).rpartition("://")[2] == address:
            return _placement.placed(f"/job:{job}/task:{index}", None)
    return None


def connect_to_host(remote_host=None, job_name: str = "worker") -> None:
    """Connect to one server or to several, which become the tasks of a job."""
    if not remote_host:
        raise ValueError("Must provide at least one remote_host")
    hosts = [remote_host] if isinstance(remote_host, str) else list(remote_host)
    addresses = [host.removeprefix("grpc://") for host in hosts]
    connect_to_cluster(ClusterSpec({job_name: addresses}))
