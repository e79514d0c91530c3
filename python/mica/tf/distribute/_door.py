"""The way into a process for others: where it listens, who comes in, how many at once.

The greeting, the secret and the limits are C's (mica/peer.h). Without a secret a process listens,
and connects, on this machine alone.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import threading

from ... import _mica
from .. import errors
from . import _wire

LISTEN = "MICA_CLUSTER_LISTEN"
_HOW = "set MICA_CLUSTER_SECRET_FILE or MICA_CLUSTER_SECRET to the same secret in all processes"


class Door:
    """The secret and the limits that the environment says."""

    def __init__(self) -> None:
        self.capsule = _mica.peer_door()
        found = _mica.peer_limits(self.capsule)
        self.has_secret: bool = found["secret"]
        self.connections: int = found["connections"]
        self.variables: int = found["variables"]
        self.arrays: int = found["arrays"]
        self.body: int = found["body"]
        self.greeting_seconds: float = found["greeting_seconds"]


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _resolved(host: str, port: int, address: str) -> tuple:
    """The family and the socket's address of a host that is to be listened at."""
    if host == "localhost":
        host = "127.0.0.1"
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise errors.UnknownError(
            None, None, f"Could not start gRPC server: the host of {address!r}: {error}"
        ) from None
    return found[0][0], found[0][4]


def bound(address: str, door: Door) -> socket.socket:
    """A socket at an address of this machine, or at that of MICA_CLUSTER_LISTEN and its port."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise errors.InvalidArgumentError(
            None, None, f'Could not parse port for local server from "{address}".'
        )
    family, place = _resolved(os.environ.get(LISTEN) or host, int(port), address)
    if not _is_loopback(place[0]) and not door.has_secret:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"{address} can be reached from other machines and there is no secret: {_HOW}, or "
            "listen at localhost",
        )
    made = socket.socket(family)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
    except OSError as error:
        made.close()
        hint = f" ({LISTEN} says where else)" if error.errno == errno.EADDRNOTAVAIL else ""
        raise errors.UnknownError(
            None, None, f"Could not start gRPC server: the port of {address!r}: {error}{hint}"
        ) from None
    return made


def connected(place: tuple[str, int], seconds: float, door: Door, purpose: str) -> _wire.Channel:
    """A connection to another process that has let this one in; OSError where there is none."""
    connection = socket.create_connection(place, seconds)
    channel = _wire.Channel(door, connection)
    try:
        if not door.has_secret and not _is_loopback(connection.getpeername()[0]):
            raise errors.FailedPreconditionError(
                None, None, f"{place[0]}:{place[1]} is another machine: {_HOW}"
            )
        channel.greet(False, purpose)
    except BaseException:
        channel.close()
        raise
    return channel


class Entrance:
    """A listening socket whose connections are greeted and served, each in a thread.

    There are never more than the door's limit. Where one more comes, it takes the place of the one
    that has been there longest without a greeting, else of the one that was idle for longest; where
    all are at work, it is sent away.
    """

    def __init__(self, listener: socket.socket, door: Door, purpose: str, serve) -> None:
        self.socket, self.door, self.purpose = listener, door, purpose
        self.stopped = threading.Event()
        self._serve = serve  # (channel); sets is_kept where the channel outlives it
        self._lock = threading.Lock()
        self._channels: dict[_wire.Channel, None] = {}  # in the order in which they came

    def accept(self) -> None:
        """Take connections until it is stopped."""
        while not self.stopped.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                if self.stopped.is_set() or self.socket.fileno() < 0:
                    return
                self.stopped.wait(0.05)  # out of files, or the connection has gone already
                continue
            channel = _wire.Channel(self.door, connection)
            if not self._enter(channel):
                channel.close()
                continue
            try:
                threading.Thread(target=self._run, args=(channel,), daemon=True).start()
            except RuntimeError:  # there are no threads left
                self._leave(channel)

    def _enter(self, channel: _wire.Channel) -> bool:
        with self._lock:
            if self.stopped.is_set():
                return False
            if len(self._channels) >= self.door.connections:
                waiting = [each for each in self._channels if not each.is_greeted]
                idle = [each for each in self._channels if each.is_idle]
                if waiting:
                    loser = waiting[0]
                elif idle:
                    loser = min(idle, key=lambda each: each.used)
                else:
                    return False
                del self._channels[loser]
                loser.wake()
            self._channels[channel] = None
            return True

    def _leave(self, channel: _wire.Channel) -> None:
        with self._lock:
            self._channels.pop(channel, None)
        if not channel.is_kept:
            channel.close()

    def _run(self, channel: _wire.Channel) -> None:
        try:
            _mica.peer_guard(self.door.capsule)
            channel.greet(True, self.purpose)
            self._serve(channel)
        except (errors.UnauthenticatedError, _wire.Closed, OSError):
            pass  # it was told, or is gone
        except Exception as error:
            channel.refuse(error)
        finally:
            self._leave(channel)

    def stop(self) -> None:
        """Close everything; safe to call twice."""
        self.stopped.set()
        with self._lock:
            channels = list(self._channels)
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it
        for each in channels:
            if not each.is_kept:
                each.wake()
        with contextlib.suppress(OSError):
            self.socket.close()
