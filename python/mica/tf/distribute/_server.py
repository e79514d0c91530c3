"""`tf.distribute.Server`: takes connections of other processes and runs the ops that they send."""

from __future__ import annotations

import contextlib
import socket
import threading
import weakref

from .. import errors
from .._cluster_spec import ClusterSpec, ServerDef
from . import _requests, _wire

_MOST_CONNECTIONS = 256
_VERSION = 1


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


def _bound(address: str) -> socket.socket:
    """A socket at the port of an address: for this machine alone where the address says so."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise errors.InvalidArgumentError(
            None, None, f'Could not parse port for local server from "{address}".'
        )
    is_local = host == "localhost" or host.startswith("127.")
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host if is_local else "", int(port)))
    except OSError as error:
        made.close()
        raise errors.UnknownError(
            None, None, f"Could not start gRPC server: the port of {address!r}: {error}"
        ) from None
    return made


class _Listener:
    """What the threads of a server hold: the socket, not the Server, which may be collected."""

    def __init__(self, bound: socket.socket, job: str, task: int) -> None:
        self.socket, self.job, self.task = bound, job, task
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()

    def accept(self) -> None:
        while not self.stopped.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with self._lock:
                is_refused = len(self._connections) >= _MOST_CONNECTIONS or self.stopped.is_set()
                if not is_refused:
                    self._connections.add(connection)
            if is_refused:
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            variables = _requests.Variables()
            while self._answer(connection, variables):
                pass
        except OSError:
            pass
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, variables: _requests.Variables) -> bool:
        """Answer one frame; whether the connection stays."""
        try:
            header, tensors = _wire.receive(connection)
        except _wire.Closed:
            return False
        except (_wire.BadFrame, MemoryError) as error:
            refusal = errors.InvalidArgumentError(None, None, f"a bad frame: {error}")
            with contextlib.suppress(OSError):
                _wire.send(connection, _wire.error_header(refusal))
                _let_go(connection)
            return False
        try:
            answer, results = self._handle(header, tensors, variables)
        except Exception as error:
            answer, results = _wire.error_header(error), []
        try:
            _wire.send(connection, answer, results)
        except errors.OpError as error:  # of a result that cannot be sent; nothing was
            _wire.send(connection, _wire.error_header(error))
        return True

    def _handle(self, header: dict, tensors: list, variables) -> tuple[dict, list]:
        kind = header.get("kind")
        variables.drop(header.get("drop"))
        if kind == "hello":
            if header.get("version") != _VERSION:
                raise errors.FailedPreconditionError(
                    None, None, f"the server speaks version {_VERSION}"
                )
            from .._devices import logical_devices

            devices = [device.name.rpartition("/device:")[2] for device in logical_devices()]
            return {"kind": "welcome", "job": self.job, "task": self.task, "devices": devices}, []
        if kind == "variable":
            return {"kind": "made", "number": variables.make(header)}, []
        if kind != "run":
            raise errors.InvalidArgumentError(None, None, f"a frame of the kind {kind!r}")
        count = header.get("operands")
        tensors = variables.put_in(tensors, header.get("variables", {}))
        if type(count) is not int or not 0 <= count <= len(tensors):
            raise errors.InvalidArgumentError(None, None, f"{count!r} operands were announced")
        return {"kind": "done"}, _requests.run(header.get("request"), tensors, count)

    def stop(self) -> None:
        """Close everything; safe to call twice."""
        self.stopped.set()
        with self._lock:
            open_now = [self.socket, *self._connections]
        for each in open_now:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it
        with contextlib.suppress(OSError):
            self.socket.close()


def _let_go(connection: socket.socket) -> None:
    """End a connection so that what was sent last arrives: unread bytes would take it away."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(1.0)
    left = 64
    while left > 0 and connection.recv(1 << 16):
        left -= 1


class Server:
    """A task of a cluster: listens at its address and runs the ops that clients send.

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
        bound = _bound(_address(self._server_def))
        self._port = bound.getsockname()[1]
        self._listener = _Listener(bound, self._server_def.job_name, self._server_def.task_index)
        weakref.finalize(self, self._listener.stop)
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
            self._listener.socket.listen(64)
        except OSError as error:
            raise errors.UnknownError(None, None, f"Could not start gRPC server: {error}") from None
        self._thread = threading.Thread(target=self._listener.accept, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the server ends: forever."""
        self._listener.stopped.wait()

    @property
    def server_def(self):
        """The ServerDef that says which task of which cluster this is."""
        return self._server_def

    @property
    def target(self) -> str:
        """Where it listens: "grpc://localhost:port"."""
        return f"grpc://localhost:{self._port}"
