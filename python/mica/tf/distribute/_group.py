"""Workers that meet: values of all of them, combined in the order of their numbers.

The first worker listens at its address, the others connect to it, through the door of _door.py. A
meeting is a frame from each of them with its values and a frame back to each with the result, made
by the first: so all have the same bits. Meetings are numbered, and say what they are: workers whose
programs differ are told so.
"""

from __future__ import annotations

import contextlib
import threading
import time

from .. import concat, errors
from . import _door, _wire
from ._connections import host_and_port

SECONDS = 600.0  # that workers wait for each other
_VERSION = 2
_PURPOSE = "workers"  # of a connection between them
_groups: dict = {}  # (addresses, number) -> group: strategies of the same cluster share it


def group_of(addresses: list[str], index: int, seconds: float | None) -> Group:
    """The group of these workers, of which this process is one."""
    key = (tuple(addresses), index)
    found = _groups.get(key)
    if found is None or found.broken:
        found = _groups[key] = Group(addresses, index, seconds or SECONDS)
    return found


class Group:
    """A process among the workers of a cluster."""

    def __init__(self, addresses: list[str], index: int, seconds: float) -> None:
        self.addresses, self.index, self.count = addresses, index, len(addresses)
        self.seconds = seconds
        self.broken = ""
        self._number = 0
        self._lock = threading.Lock()
        self._peers: dict[int, _wire.Channel] = {}
        self._joined = threading.Condition()
        self._is_full = False
        try:
            door = _door.Door()
            if index == 0:
                self._gather_peers(door)
            else:
                self._peers[0] = self._join(door)
        except BaseException:
            self._end()
            raise

    # ---- coming together

    def _gather_peers(self, door: _door.Door) -> None:
        """Take the connections of all others; strangers are greeted beside them."""
        end = time.monotonic() + self.seconds
        entrance = _door.Entrance(_door.bound(self.addresses[0], door), door, _PURPOSE, self._admit)
        entrance.socket.listen(self.count + 16)
        threading.Thread(target=entrance.accept, daemon=True).start()
        try:
            with self._joined:
                while len(self._peers) < self.count - 1:
                    left = end - time.monotonic()
                    if left <= 0:
                        missing = [i for i in range(1, self.count) if i not in self._peers]
                        names = ", ".join(f"{i} ({self.addresses[i]})" for i in missing)
                        raise errors.UnavailableError(
                            None, None, f"after {self.seconds} seconds there are no workers {names}"
                        )
                    self._joined.wait(left)
                self._is_full = True
        finally:
            entrance.stop()
        for index, channel in self._peers.items():
            try:
                channel.send({"kind": "begin"})
            except OSError as error:
                raise self._lost(index, error) from None

    def _admit(self, channel: _wire.Channel) -> None:
        """Take a worker in; whoever is none is sent away."""
        header, _ = channel.receive(channel.door.greeting_seconds, 0)
        index = header.get("index")
        wanted = {"kind": "join", "version": _VERSION, "workers": self.addresses}
        if any(header.get(key) != value for key, value in wanted.items()):
            raise errors.FailedPreconditionError(
                None, None, f"worker 0 has the workers {self.addresses}, version {_VERSION}"
            )
        with self._joined:
            is_known = type(index) is int and 0 < index < self.count
            if self._is_full or not is_known or index in self._peers:
                raise errors.AlreadyExistsError(None, None, f"there is a worker {index} already")
            channel.is_kept = True
            self._peers[index] = channel
            self._joined.notify_all()

    def _join(self, door: _door.Door) -> _wire.Channel:
        """Connect to the first worker, when it listens."""
        end = time.monotonic() + self.seconds
        place = host_and_port(self.addresses[0])
        name = f"worker 0 ({self.addresses[0]})"
        while True:
            try:
                left = max(end - time.monotonic(), 0.1)
                channel = _door.connected(place, left, door, _PURPOSE)
                break
            except (OSError, _wire.BadFrame) as error:
                if time.monotonic() >= end or isinstance(error, _wire.BadFrame):
                    raise errors.UnavailableError(
                        None, None, f"{name} cannot be reached: {error}"
                    ) from None
                time.sleep(0.05)
        try:
            hello = {"kind": "join", "version": _VERSION, "workers": self.addresses}
            channel.send({**hello, "index": self.index})
            header, _ = channel.receive(self.seconds)
        except (OSError, _wire.BadFrame, _wire.Closed) as error:
            channel.close()
            raise errors.UnavailableError(None, None, f"{name} does not answer: {error}") from None
        if header.get("kind") != "begin":
            channel.close()
            _wire.raise_received(header)
        return channel

    # ---- meeting

    def meet(self, what: str, tensors: list) -> list:
        """The results of a meeting: "sum", "first", or "axis n" for side by side."""
        with self._lock:
            if self.broken:
                raise errors.UnavailableError(None, None, self.broken)
            self._number += 1
            try:
                return self._lead(what, tensors) if self.index == 0 else self._follow(what, tensors)
            except errors.OpError as error:
                self._end(str(error))
                raise
            except BaseException as error:
                self._end(f"worker {self.index} was interrupted: {error!r}")
                raise

    def _lost(self, index: int, error: Exception) -> errors.UnavailableError:
        why = str(error) or "it ended the connection"
        return errors.UnavailableError(
            None, None, f"worker {index} ({self.addresses[index]}) was lost: {why}"
        )

    def _receive(self, index: int) -> tuple[dict, list]:
        try:
            return self._peers[index].receive(self.seconds)
        except (OSError, _wire.BadFrame, _wire.Closed) as error:
            raise self._lost(index, error) from None

    def _lead(self, what: str, tensors: list) -> list:
        parts = [tensors]
        try:
            for index in range(1, self.count):
                header, values = self._receive(index)
                asked = (header.get("kind"), header.get("number"), header.get("what"))
                if asked != ("meet", self._number, what):
                    raise errors.InternalError(
                        None,
                        None,
                        f"worker {index} takes part in {header.get('what')!r} as collective "
                        f"{header.get('number')} where worker 0 takes part in {what!r} as "
                        f"collective {self._number}: the workers run different programs",
                    )
                parts.append(values)
            results = _combined(what, parts)
        except errors.OpError as error:
            for channel in self._peers.values():
                with contextlib.suppress(OSError):
                    channel.send(_wire.error_header(error))
            raise
        for index, channel in self._peers.items():
            try:
                channel.send({"kind": "met", "number": self._number}, results)
            except OSError as error:
                raise self._lost(index, error) from None
        return results

    def _follow(self, what: str, tensors: list) -> list:
        header = {"kind": "meet", "number": self._number, "what": what}
        try:
            self._peers[0].send(header, tensors)
        except OSError as error:
            raise self._lost(0, error) from None
        answer, results = self._receive(0)
        if answer.get("kind") == "error":
            _wire.raise_received(answer)
        if answer.get("kind") != "met" or answer.get("number") != self._number:
            raise self._lost(0, _wire.BadFrame("it answers another meeting"))
        return results

    def _end(self, why: str = "the workers have not met") -> None:
        self.broken = self.broken or why
        with self._joined:
            self._is_full = True
            for channel in self._peers.values():
                channel.close()
            self._peers.clear()


def _combined(what: str, parts: list[list]) -> list:
    """The result of a meeting of the values of each worker, in their order."""
    if len({len(part) for part in parts}) != 1:
        raise errors.InvalidArgumentError(
            None, None, "the workers give different numbers of values: all must give as many"
        )
    if what == "first":
        return parts[0]
    results = []
    for values in zip(*parts, strict=True):
        kinds = {value.dtype for value in values}
        if len(kinds) != 1 or (what == "sum" and len({tuple(v.shape) for v in values}) != 1):
            found = ", ".join(f"{value.dtype.name} {value.shape}" for value in values)
            raise errors.InvalidArgumentError(
                None, None, f"the workers give {found}: dtypes and shapes must be alike"
            )
        if what == "sum":
            total = values[0]
            for value in values[1:]:
                total = total + value
            results.append(total)
        else:
            results.append(concat(list(values), axis=int(what.rpartition(" ")[2])))
    return results
