"""Which task a device's name means, and ops that run there."""

from __future__ import annotations

from ... import _mica
from .. import _devices, errors
from .._dtypes import resource, variant
from . import _graph_parts

tasks: dict = {}  # (job, index) -> connection: those that have been connected to
home = ("localhost", 0)  # the job and the index of this process


class RemoteDevice:
    """Runs eager ops on a device of another task."""

    def __init__(self, task, job: str, index: int, kind: str, number: int) -> None:
        self.task, self.job, self.index = task, job, index
        self.kind, self.number = kind, number
        self.name = f"/job:{job}/replica:0/task:{index}/device:{kind}:{number}"

    def __str__(self) -> str:
        return self.name

    def __call__(self, request: tuple, tensors: tuple):
        """Have an op run there; one of a resource runs where that is."""
        handles = [tensor for tensor in tensors if tensor.dtype == resource]
        if handles and not all(handle._home is not None for handle in handles):
            return NotImplemented
        if any(tensor.dtype == variant for tensor in tensors):
            raise errors.UnimplementedError(
                None,
                None,
                f"[{request[0]}] datasets and lists of tensors stay in this process: it cannot run "
                f"on {self.name}",
            )
        results = self.task.run(request, list(tensors))
        for tensor in results:
            tensor._device = self.name
        return results

    def add_to_graph(self, request: tuple, tensors: tuple):
        """Add an op to the graph that is built: when that runs, the op runs there."""
        return _graph_parts.added(self, request, tensors)

    def make_variable(self, handle, name: str, dtype, shape) -> None:
        """Have a variable made there, for a handle here."""
        self.task.make_variable(handle, name, dtype, shape)
        _mica.tf_set_home(handle, self)


def _parts(name: str) -> dict[str, str]:
    """The parts of a device's name that are given: job, replica, task, kind, number."""
    found = {}
    for part in name.strip("/").split("/"):
        key, _, value = part.partition(":")
        if key.lower() == "device":
            key, _, value = value.partition(":")
        if key in ("job", "replica", "task"):
            found[key] = value
        elif key:
            found["kind"] = key.upper()
            if value and value != "*":
                found["number"] = value
    return found


def placed(name: str | None, around: RemoteDevice | None) -> RemoteDevice | None:
    """The device of another task that a name means within another device; None: one of this task.

    What the name does not say is as it is around it.
    """
    if name is None:
        return None
    given = _parts(name)
    if "job" not in given and around is None:
        return None
    before = around if around is not None and given.get("job", around.job) == around.job else None
    job = given.get("job") or around.job
    index = int(given["task"]) if "task" in given else before.index if before else 0
    if (job, index) == home or job == "localhost":
        return None
    kind = given.get("kind") or (before.kind if before else "CPU")
    default = before.number if before and before.kind == kind else 0
    number = int(given.get("number", default))
    task = tasks.get((job, index))
    full = f"/job:{job}/replica:0/task:{index}/device:{kind}:{number}"
    if task is None or full not in [device.name for device in _devices.remote_devices]:
        raise errors.InvalidArgumentError(None, None, f"{full} unknown device.")
    return RemoteDevice(task, job, index, kind, number)
