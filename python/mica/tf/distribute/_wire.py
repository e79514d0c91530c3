"""What goes over a socket: frames of a JSON header and the raw bytes of arrays.

A frame is the word b"MICA", the length of the header (4 bytes), that of the body (8 bytes), all
little-endian, the header (an object of JSON) and the body. The header's "arrays" lists the arrays
that lie in the body one after the other: [dtype, shape, bytes]. Nothing that is received is run or
unpickled; what does not fit together raises BadFrame.
"""

from __future__ import annotations

import json
import struct

import numpy as np

from .. import errors

MOST_HEADER = 16 << 20
MOST_BODY = 2 << 30
MOST_RANK = 32
_HEAD = struct.Struct("<4sIQ")
_MAGIC = b"MICA"
_CHUNK = 1 << 20
_NUMPY = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128"
).split()


class BadFrame(Exception):
    """What was received is no frame."""


class Closed(Exception):
    """The other side has ended the connection."""


# ---- arrays ------------------------------------------------------------------------------------


def _described(tensor) -> tuple[list, bytes]:
    """A tensor as [dtype, shape, bytes] and its bytes."""
    name, shape = tensor.dtype.name, tensor.shape.as_list()
    if name == "string":
        texts = np.asarray(tensor.numpy(), dtype=object).reshape(-1).tolist()
        lengths = np.array([len(text) for text in texts], dtype="<u8")
        data = lengths.tobytes() + b"".join(texts)
    elif name == "bfloat16":
        from .. import cast, float32

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
    from ... import _mica

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
    from .. import bfloat16, cast, convert_to_tensor

    count = 1
    for size in shape:
        count *= size
    if name == "string":
        return _texts(data, count, shape)
    dtype = np.dtype("<f4") if name == "bfloat16" else np.dtype(name).newbyteorder("<")
    if count * dtype.itemsize != len(data):
        raise BadFrame(f"{len(data)} bytes are no {name} of shape {shape}")
    array = np.frombuffer(data, dtype).astype(dtype.newbyteorder("=")).reshape(shape)
    if name == "bool" and data.nbytes and max(data) > 1:
        raise BadFrame("a bool is neither 0 nor 1")
    tensor = convert_to_tensor(array)
    return cast(tensor, bfloat16) if name == "bfloat16" else tensor


def _is_size(value) -> bool:
    return type(value) is int and 0 <= value <= MOST_BODY


def _tensors(descriptions, body: bytearray) -> list:
    """The tensors that lie in a body."""
    if not isinstance(descriptions, list):
        raise BadFrame("the arrays are no list")
    view, at, found = memoryview(body), 0, []
    for each in descriptions:
        if not (isinstance(each, list) and len(each) == 3):
            raise BadFrame("an array is described by its dtype, its shape and its bytes")
        name, shape, length = each
        if name not in (*_NUMPY, "bfloat16", "string"):
            raise BadFrame(f"there is no dtype {str(name)[:40]!r} in a frame")
        if not (isinstance(shape, list) and len(shape) <= MOST_RANK and all(map(_is_size, shape))):
            raise BadFrame("a shape is no list of sizes")
        if not _is_size(length) or length > len(body) - at:
            raise BadFrame("an array has more bytes than the frame")
        found.append(_tensor(name, shape, view[at : at + length]))
        at += length
    if at != len(body):
        raise BadFrame("the frame has more bytes than its arrays")
    return found


# ---- frames ------------------------------------------------------------------------------------


def send(connection, header: dict, tensors=()) -> None:
    """Write a frame."""
    described = [_described(tensor) for tensor in tensors]
    body = b"".join(data for _, data in described)
    text = json.dumps({**header, "arrays": [d for d, _ in described]}).encode()
    if len(text) > MOST_HEADER or len(body) > MOST_BODY:
        raise errors.ResourceExhaustedError(
            None, None, f"a message of {len(text)} and {len(body)} bytes is too long to be sent"
        )
    connection.sendall(_HEAD.pack(_MAGIC, len(text), len(body)) + text)
    if body:
        connection.sendall(body)


def _read(connection, count: int) -> bytearray:
    """Exactly so many bytes; memory is taken as they come."""
    data = bytearray()
    while len(data) < count:
        part = connection.recv(min(count - len(data), _CHUNK))
        if not part:
            if data:
                raise BadFrame("the connection ended within a frame")
            raise Closed
        data += part
    return data


def receive(connection, most_body: int = MOST_BODY) -> tuple[dict, list]:
    """Read a frame: its header and its tensors."""
    head = _read(connection, _HEAD.size)
    magic, header_length, body_length = _HEAD.unpack(head)
    if magic != _MAGIC:
        raise BadFrame("it does not begin like a frame")
    if header_length > MOST_HEADER or body_length > most_body:
        raise BadFrame(f"a frame of {header_length} and {body_length} bytes is too long")
    try:
        text = _read(connection, header_length) if header_length else b""
        body = _read(connection, body_length) if body_length else bytearray()
    except Closed:
        raise BadFrame("the connection ended within a frame") from None
    try:
        header = json.loads(bytes(text))
    except (ValueError, RecursionError):
        raise BadFrame("its header is no JSON") from None
    if not isinstance(header, dict):
        raise BadFrame("its header is no object")
    return header, _tensors(header.get("arrays", []), body)


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
