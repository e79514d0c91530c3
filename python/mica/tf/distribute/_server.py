"""`tf.distribute.Server`: takes connections of other processes and runs the ops that they send."""

from __future__ import annotations

import threading
import weakref

from .. import errors
from .._cluster_spec import ClusterSpec, ServerDef
from .._devices import logical_devices
from . import _door, _requests, _wire

PURPOSE = "ops"  # of a connection to a server


def _server_def(definition, job_name, task_index, protocol):
    """The ServerDef of the arguments; what is not said is taken where there is no choice."""
    if isinstance(definition, ServerDef):
        made = ServerDef()
        made.CopyFrom(definition)
        for name, value in (
            ("job_name", job_name),
            ("task_index", task_index),
            ("protocol", protocol),
        ):
            if value is not None:
                setattr(made, name, value)
        return made
    try:
        spec = ClusterSpec(definition)
    except TypeError:
        raise TypeError(
            "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
            "`tf.train.ClusterSpec`."
        ) from None
    if job_name is None:
        if len(spec.jobs) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        job_name = spec.jobs[0]
    if task_index is None:
        indices = spec.task_indices(job_name)
        if len(indices) != 1:
            raise ValueError("Must specify an explicit `task_index`.")
        task_index = indices[0]
    return ServerDef(
        cluster=spec.as_cluster_def(),
        job_name=job_name,
        task_index=task_index,
        protocol="grpc" if protocol is None else protocol,
    )


def _address(definition) -> str:
    """Where the task of a ServerDef listens."""
    spec = ClusterSpec(definition.cluster)
    job, index = definition.job_name, definition.task_index
    if definition.protocol != "grpc":
        raise errors.NotFoundError(
            None,
            None,
            f"No server factory registered for the given ServerDef: {definition}\n"
            "The available server factories are: [ GRPC_SERVER ]",
        )
    if job not in spec.jobs:
        raise errors.InternalError(None, None, f'Job "{job}" was not defined in cluster')
    if index not in spec.task_indices(job):
        raise errors.InternalError(None, None, f'Task {index} was not defined in job "{job}"')
    return spec.task_address(job, index)


class _Service:
    """What the threads of a server hold: not the Server, which may be collected."""

    def __init__(self, job: str, task: int) -> None:
        self.job, self.task = job, task

    def serve(self, channel: _wire.Channel) -> None:
        """Answer the frames of a connection, until one is none."""
        variables = _requests.Variables(channel.door.variables)
        while True:
            channel.is_idle = not variables
            header, tensors = channel.receive()
            channel.is_idle = False
            try:
                answer, results = self._handle(header, tensors, variables)
            except Exception as error:
                answer, results = _wire.error_header(error), []
            try:
                channel.send(answer, results)
            except errors.OpError as error:  # of a result that cannot be sent; nothing was
                channel.send(_wire.error_header(error))

    def _handle(self, header: dict, tensors: list, variables) -> tuple[dict, list]:
        kind = header.get("kind")
        variables.drop(header.get("drop"))
        if kind == "hello":
            devices = [device.name.rpartition("/device:")[2] for device in logical_devices()]
            return {"kind": "welcome", "job": self.job, "task": self.task, "devices": devices}, []
        if kind == "variable":
            return {"kind": "made", "number": variables.make(header)}, []
        if kind != "run":
            raise errors.InvalidArgumentError(
                None, None, f"there is no request of the kind {kind!r:.80}"
            )
        count = header.get("operands")
        tensors = variables.put_in(tensors, header.get("variables", {}))
        if type(count) is not int or not 0 <= count <= len(tensors):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"the number of operands is given as {count!r:.80}, of {len(tensors)} tensors",
            )
        return {"kind": "done"}, _requests.run(header.get("request"), tensors, count)


class Server:
    """A task of a cluster: listens at its address and runs the ops that clients send.

    At an address of this machine alone, such as localhost, it needs no secret. At any other it
    needs that of MICA_CLUSTER_SECRET or MICA_CLUSTER_SECRET_FILE, which its clients have too.
    Clients run ops that compute, on tensors and on variables that they have made: none that touches
    files, processes or functions of Python.

    Parameters
    ----------
    server_or_cluster_def
        A ServerDef, or the cluster: a ClusterSpec, a ClusterDef or a dict of jobs.
    job_name, task_index
        Which task of it this is; may be left out where there is one.
    protocol
        "grpc" is the name that addresses carry.
    start
        Whether it takes connections at once, or when start() is called.
    """

    def __init__(
        self,
        server_or_cluster_def,
        job_name=None,
        task_index=None,
        protocol=None,
        config=None,
        start: bool = True,
    ) -> None:
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol)
        door = _door.Door()
        bound = _door.bound(_address(self._server_def), door)
        self._port = bound.getsockname()[1]
        service = _Service(self._server_def.job_name, self._server_def.task_index)
        self._entrance = _door.Entrance(bound, door, PURPOSE, service.serve)
        weakref.finalize(self, self._entrance.stop)
        self._thread: threading.Thread | None = None
        if start:
            self.start()

    @staticmethod
    def create_local_server(config=None, start: bool = True) -> Server:
        """Return a server of a cluster of its own, at any port that is free."""
        return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)

    def start(self) -> None:
        """Take connections from now on."""
        if self._thread is not None:
            return
        try:
            self._entrance.socket.listen(64)
        except OSError as error:
            raise errors.UnknownError(None, None, f"Could not start gRPC server: {error}") from None
        self._thread = threading.Thread(target=self._entrance.accept, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the server ends: forever."""
        self._entrance.stopped.wait()

    @property
    def server_def(self):
        """The ServerDef that says which task of which cluster this is."""
        return self._server_def

    @property
    def target(self) -> str:
        """Where it listens: "grpc://localhost:port"."""
        return f"grpc://localhost:{self._port}"
