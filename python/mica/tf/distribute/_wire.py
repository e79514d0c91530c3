"""What goes over a socket: frames of a JSON header and the raw bytes of arrays.

Frames are C's (mica/peer.h): their lengths, deadlines and the depth of their headers are checked
there. The header's "arrays" lists the arrays that lie in the body one after the other: [dtype,
shape, bytes]. Nothing that is received is run or unpickled; what does not fit together raises
BadFrame.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time

import numpy as np

from ... import _mica
from .. import bfloat16, cast, convert_to_tensor, errors, float32

_MOST_RANK = 32
_NUMPY = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128"
).split()
NUMBERS = {*_NUMPY, "bfloat16"} - {"bool"}


class BadFrame(Exception):
    """What was received is no frame."""


class TooLarge(BadFrame):
    """There is no memory for what was received."""


class Closed(Exception):
    """The other side has ended the connection."""


class Lost(OSError):
    """The connection was lost, or the other side is too slow."""


# ---- arrays ------------------------------------------------------------------------------------


def _least_bytes(tensor) -> int:
    """How long a tensor is in a frame, or more than that: known before it is copied."""
    return (tensor.shape.num_elements() or 0) * max(tensor.dtype.size or 8, 1)


def described(tensor) -> tuple[list, bytes]:
    """A tensor as [dtype, shape, bytes] and its bytes."""
    name, shape = tensor.dtype.name, tensor.shape.as_list()
    if name == "string":
        texts = np.asarray(tensor.numpy(), dtype=object).reshape(-1).tolist()
        lengths = np.array([len(text) for text in texts], dtype="<u8")
        data = lengths.tobytes() + b"".join(texts)
    elif name == "bfloat16":
        data = np.ascontiguousarray(cast(tensor, float32).numpy(), "<f4").tobytes()
    elif name in _NUMPY:
        array = np.ascontiguousarray(tensor.numpy())
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    else:
        raise errors.UnimplementedError(
            None, None, f"a value of dtype {name} cannot leave the process that it is in"
        )
    return [name, shape, len(data)], data


def _texts(data: memoryview, count: int, shape: list):
    if len(data) < 8 * count:
        raise BadFrame("the lengths of strings are cut off")
    lengths = np.frombuffer(data[: 8 * count], "<u8").tolist()
    if sum(lengths) != len(data) - 8 * count:
        raise BadFrame("the lengths of strings are not those of their bytes")
    texts, at = [], 8 * count
    for length in lengths:
        texts.append(bytes(data[at : at + length]))
        at += length
    return _mica.tf_strings(shape, texts)


def _tensor(name: str, shape: list, data: memoryview):
    count = 1
    for size in shape:
        count *= size
    if name == "string":
        return _texts(data, count, shape)
    dtype = np.dtype("<f4") if name == "bfloat16" else np.dtype(name).newbyteorder("<")
    if count * dtype.itemsize != len(data):
        raise BadFrame(f"{len(data)} bytes are no {name} of shape {shape}")
    array = np.frombuffer(data, dtype).astype(dtype.newbyteorder("=")).reshape(shape)
    if name == "bool" and data.nbytes and np.frombuffer(data, np.uint8).max() > 1:
        raise BadFrame("a bool is neither 0 nor 1")
    tensor = convert_to_tensor(array)
    return cast(tensor, bfloat16) if name == "bfloat16" else tensor


def _is_size(value) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _tensors(descriptions, view: memoryview, most: int) -> list:
    """The tensors that lie in a body."""
    if not isinstance(descriptions, list):
        raise BadFrame("the arrays are no list")
    if len(descriptions) > most:
        raise BadFrame(f"a frame of {len(descriptions)} arrays: at most {most}")
    at, found = 0, []
    for each in descriptions:
        if not (isinstance(each, list) and len(each) == 3):
            raise BadFrame("an array is described by its dtype, its shape and its bytes")
        name, shape, length = each
        if name not in (*_NUMPY, "bfloat16", "string"):
            raise BadFrame(f"there is no dtype {str(name)[:40]!r} in a frame")
        if not (isinstance(shape, list) and len(shape) <= _MOST_RANK and all(map(_is_size, shape))):
            raise BadFrame("a shape is no list of sizes")
        if not _is_size(length) or length > len(view) - at:
            raise BadFrame("an array has more bytes than the frame")
        found.append(_tensor(name, shape, view[at : at + length]))
        at += length
    if at != len(view):
        raise BadFrame("the frame has more bytes than its arrays")
    return found


def read_tensor(text: bytes):
    """The tensor of a worker: the length of its description, that, and its bytes."""
    length = int.from_bytes(text[:4], "little")
    try:
        description = json.loads(text[4 : 4 + length])
        (found,) = _tensors([description], memoryview(text)[4 + length :], 1)
    except (ValueError, RecursionError, BadFrame) as error:
        raise errors.DataLossError(
            None, None, f"what a worker brings is no tensor: {error}"
        ) from None
    return found


# ---- frames ------------------------------------------------------------------------------------


def _is_main() -> bool:
    """Whether this thread handles signals: it does so while it waits."""
    return threading.get_ident() == threading.main_thread().ident


@contextlib.contextmanager
def _peer_errors():
    """Statuses of the peer's connection as the exceptions of this module."""
    try:
        yield
    except errors.DataLossError as error:
        raise BadFrame(error.message) from None
    except errors.OutOfRangeError as error:
        raise Closed(error.message) from None
    except errors.UnavailableError as error:
        raise Lost(error.message) from None


class Channel:
    """A connected socket, behind a door."""

    def __init__(self, door, connection: socket.socket) -> None:
        self.door, self._socket = door, connection
        self.is_greeted = False
        self.is_idle = False  # greeted, waiting for a frame, and nothing is kept for it
        self.is_kept = False  # it is somebody else's now than who let it in
        self.used = time.monotonic()

    def greet(self, is_server: bool, purpose: str) -> None:
        """Let the other side prove that it may speak, and prove it to that."""
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            with _peer_errors():
                _mica.peer_greet(
                    self.door.capsule, self._socket.fileno(), _is_main(), is_server, purpose
                )
        except errors.FailedPreconditionError as error:
            raise errors.UnauthenticatedError(None, None, error.message) from None
        self.is_greeted = True

    def send(self, header: dict, tensors=()) -> None:
        """Write a frame."""
        total = sum(_least_bytes(tensor) for tensor in tensors)
        if total > self.door.body:
            raise errors.ResourceExhaustedError(
                None, None, f"a message of {total} bytes is too long to be sent"
            )
        arrays = [described(tensor) for tensor in tensors]
        text = json.dumps({**header, "arrays": [d for d, _ in arrays]}).encode()
        with _peer_errors():
            _mica.peer_send(
                self.door.capsule,
                self._socket.fileno(),
                _is_main(),
                text,
                [data for _, data in arrays],
            )

    def receive(self, seconds: float = -1.0, most_body: int | None = None) -> tuple[dict, list]:
        """Read a frame: its header and its tensors. Its first byte may take so many seconds."""
        most = self.door.body if most_body is None else most_body
        self.used = time.monotonic()
        with _peer_errors():
            try:
                text, body = _mica.peer_receive(
                    self.door.capsule, self._socket.fileno(), _is_main(), seconds, most
                )
            except errors.ResourceExhaustedError as error:
                raise TooLarge(error.message) from None
        try:
            header = json.loads(text)
        except (ValueError, RecursionError):
            raise BadFrame("its header is no JSON") from None
        if not isinstance(header, dict):
            raise BadFrame("its header is no object")
        return header, _tensors(header.get("arrays", []), memoryview(body), self.door.arrays)

    def refuse(self, error: Exception) -> None:
        """Answer with an error and end the connection so that it arrives."""
        if isinstance(error, TooLarge | MemoryError):
            error = errors.ResourceExhaustedError(None, None, str(error) or "out of memory")
        elif isinstance(error, BadFrame):
            error = errors.InvalidArgumentError(None, None, f"a bad frame: {error}")
        with contextlib.suppress(OSError, errors.OpError):
            self.send(error_header(error))
            self._socket.shutdown(socket.SHUT_WR)
            # Unread bytes would take the answer away.
            end = time.monotonic() + 1.0
            while (left := end - time.monotonic()) > 0:
                self._socket.settimeout(left)
                if not self._socket.recv(1 << 16):
                    break

    def wake(self) -> None:
        """End the connection; the thread that waits for it closes it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection, by who serves it."""
        self._socket.close()


# ---- errors ------------------------------------------------------------------------------------

_PYTHON_ERRORS = {kind.__name__: kind for kind in (TypeError, ValueError, NotImplementedError)}


def error_header(error: BaseException) -> dict:
    """An error, for the other side to raise."""
    return {"kind": "error", "class": type(error).__name__, "message": str(error)}


def raise_received(header: dict) -> None:
    """Raise the error that a header describes."""
    name, message = str(header.get("class")), str(header.get("message"))
    if name in errors._BY_NAME and name != "OpError":
        raise errors._BY_NAME[name](None, None, message)
    if name in _PYTHON_ERRORS:
        raise _PYTHON_ERRORS[name](message)
    raise errors.InternalError(None, None, f"{name}: {message}")
