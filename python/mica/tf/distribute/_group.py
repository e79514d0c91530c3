"""Workers that meet: values of all of them, combined in the order of their numbers.

The workers are ranks of mica/dist.h: TCP between the addresses of the cluster, or MPI where mpirun
started them. A meeting begins with a note from each of what it is about, so that workers whose
programs differ are told so; sums are a fixed tree, so all have the same bits.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import threading

from ... import _mica
from .. import concat, errors
from . import _door, _wire

SECONDS = 600.0  # that workers wait for each other
_NOTE = 224  # bytes of a note, before its sum
_groups: dict = {}  # (addresses, number) -> group: strategies of the same cluster share it


def group_of(addresses: list[str], index: int, seconds: float | None) -> Group:
    """The group of these workers, of which this process is one; of none those that were launched.

    One that has lost a worker makes way for another.
    """
    key = (tuple(addresses), index)
    found = _groups.get(key)
    if found is None or found.broken:
        if found is not None:
            found.close()
        found = _groups[key] = Group(addresses, index, seconds or SECONDS)
    return found


@atexit.register
def _leave() -> None:
    """Say that this worker leaves, and is not lost."""
    for group in _groups.values():
        group.close()


class Group:
    """A process among the workers of a cluster.

    Parameters
    ----------
    addresses
        Of the workers; none for those that mpirun started.
    index
        The number of this one.
    seconds
        How long the workers wait for each other in a meeting, and to come together.
    """

    def __init__(
        self, addresses: list[str], index: int, seconds: float, joining: float | None = None
    ) -> None:
        self.broken = ""
        self._lock = threading.Lock()
        self._most = _door.Door().body
        self._ranks = _mica.dist_open(tuple(addresses), index, joining or seconds, seconds)
        self.index, self.count, self.engine = _mica.dist_facts(self._ranks)

    def close(self) -> None:
        """Leave the others."""
        self.broken = self.broken or "this worker has left"
        self._ranks = None

    def meet(self, what: str, tensors: list) -> list:
        """The results of a meeting: "sum", "first", or "axis n" for side by side."""
        with self._lock:
            if self.broken:
                raise errors.UnavailableError(None, None, self.broken)
            try:
                self._compare(what, tensors)
                return self._summed(tensors) if what == "sum" else self._gathered(what, tensors)
            except errors.UnavailableError as error:
                self.broken = error.message
                raise
            except errors.OpError:
                raise  # all workers see the same
            except BaseException as error:
                self.broken = f"worker {self.index} was interrupted: {error!r}"
                _mica.dist_abort(self._ranks, self.broken)
                raise

    def _compare(self, what: str, tensors: list) -> None:
        """Let all workers know what this one has come for."""
        is_sum = what == "sum"
        told = [f"{t.dtype.name} {tuple(t.shape) if is_sum else ''}".strip() for t in tensors]
        note = f"{what!r} of {', '.join(told) or 'nothing'}".encode()
        own = note[:_NOTE].ljust(_NOTE) + hashlib.sha256(note).digest()
        notes = _mica.dist_all_gather(self._ranks, own)
        for index, other in enumerate(notes):
            if other == notes[0]:
                continue
            one, two = (each[:_NOTE].decode(errors="replace").strip() for each in (notes[0], other))
            kind = errors.InvalidArgumentError
            if one.partition(" of ")[0] != two.partition(" of ")[0]:
                kind = errors.InternalError
            raise kind(
                None,
                None,
                f"worker {index} meets for {two} where worker 0 meets for {one}: the workers run "
                "different programs, or their values are not alike",
            )

    def _summed(self, tensors: list) -> list:
        found = list(tensors)
        by_dtype: dict = {}
        for place, tensor in enumerate(tensors):
            by_dtype.setdefault(tensor.dtype, []).append(place)
        for dtype, places in by_dtype.items():
            if dtype.name not in _wire.NUMBERS:
                raise errors.InvalidArgumentError(None, None, f"{dtype.name} has no sum")
            sums = _mica.dist_sum(self._ranks, tuple(tensors[place] for place in places))
            for place, total in zip(places, sums, strict=True):
                found[place] = total
        return found

    def _gathered(self, what: str, tensors: list) -> list:
        """The values of the first worker, or those of all side by side."""
        brings = self.index == 0 or what != "first"
        parts = [
            [_wire.read_tensor(text) for text in self._gather(tensor, brings) if text]
            for tensor in tensors
        ]
        if what == "first":
            return [own[0] for own in parts]
        axis = int(what.rpartition(" ")[2])
        return [concat(values, axis=axis) for values in parts]

    def _gather(self, tensor, brings: bool) -> list[bytes]:
        described, data = _wire.described(tensor)
        text = json.dumps(described).encode()
        own = len(text).to_bytes(4, "little") + text + data if brings else b""
        return _mica.dist_gather(self._ranks, own, self._most)
