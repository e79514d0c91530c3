"""Strangers at the port of a server: attacks, secrets, frames at random."""

import contextlib
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time

import mica.tf as tf
import pytest
from mica import _mica
from mica.tf.distribute import _door, _group

SOAK = "MICA_TEST_SOAK" in os.environ
SECRET = "a secret of more than sixteen bytes"
SERVE = """
import sys, mica.tf as tf
server = tf.distribute.Server({"worker": ["localhost:0"]})
print(server.target, flush=True)
sys.stdin.read()
"""


class Process:
    """A server in a process of its own."""

    def __init__(self, **environment: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-c", SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.place = ("localhost", int(self.child.stdout.readline().rpartition(":")[2]))

    def end(self) -> None:
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()

    def memory(self, name: str = "VmHWM") -> int:
        """Bytes: at most so far, or now (VmRSS)."""
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines[name].split()[0]) * 1024

    @contextlib.contextmanager
    def greeted(self):
        channel = _door.connected(self.place, 10.0, _door.Door(), "ops")
        try:
            yield channel
        finally:
            channel.close()

    def ask(self, header: dict, body: bytes = b"") -> dict:
        """What it answers a frame."""
        with self.greeted() as channel:
            channel._socket.sendall(frame(header, body))
            return channel.receive(60.0)[0]

    def check(self) -> None:
        """It lives, and does what a client asks for."""
        answer = self.ask(run("Neg", arrays=[["float32", [1], 4]]), struct.pack("<f", 2.0))
        assert answer["kind"] == "done", answer
        assert self.child.poll() is None


@pytest.fixture
def server():
    made = Process()
    yield made
    made.end()


@pytest.fixture
def servers():
    made = []

    def make(**environment: str) -> Process:
        made.append(Process(**environment))
        return made[-1]

    yield make
    for each in made:
        each.end()


def frame(header: dict, body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<4sIQ", b"MICA", len(text), len(body)) + text + body


def run(op: str, attributes=(), arrays=(), groups=None) -> dict:
    return {
        "kind": "run",
        "request": [op, list(attributes), [-1] * len(arrays) if groups is None else groups],
        "operands": len(arrays),
        "arrays": list(arrays),
    }


def of_string(text: bytes) -> tuple[list, bytes]:
    return ["string", [], 8 + len(text)], struct.pack("<Q", len(text)) + text


# ---- ops


def test_nothing_is_printed_to_a_file(server, tmp_path):
    path = tmp_path / "written"
    array, body = of_string(b"by a stranger")
    for stream in (f"file://{path}", "stdout", "stderr"):
        print_it = run("PrintV2", [["output_stream", "string", stream]], [array])
        answer = server.ask(print_it, body)
        assert answer["class"] == "UnimplementedError" and "PrintV2" in answer["message"]
        forward = ["PrintV2", [["output_stream", "string", stream]], [-1]]
        numbers = [["n", "int", 1], ["outputs", "ints", []], ["inputs", "ints", [0]]]
        derived = run("Vjp", [["forward", "operation", forward], *numbers], [array])
        assert server.ask(derived, body)["kind"] == "error"
    assert not path.exists()
    server.check()


def test_what_may_be_asked_for_follows_from_the_table():
    found = {name: _mica.tf_row_remote(name) for name in dir(tf.raw_ops) if name[0] != "_"}
    for name in found:
        row = _mica.tf_row(name)
        if row is None:
            continue
        inputs, outputs, attributes, has_effect = row[:4]
        if any(word in attributes for word in (": func", "list(func)", ": operation")):
            assert found[name] == 0, name
        if "variant" in inputs + outputs or "resource" in outputs:
            assert found[name] == 0, name
        if not has_effect and "resource" not in inputs and found[name] == 0:
            assert "variant" in inputs + outputs or "func" in attributes or name in ("Vjp", "Jvp")
    refused = {"PrintV2", "PyFunc", "While", "StatefulPartitionedCall", "CacheDataset"}
    refused |= {"LookupTableExportV2", "IteratorGetNext", "GeneratorDataset", "MakeIterator"}
    assert not any(_mica.tf_row_remote(name) for name in refused)
    assert found["MatMul"] == 1 and _mica.tf_row_remote("Assert") == 1
    assert _mica.tf_row_remote("AssignVariableOp") == 2 and _mica.tf_row_remote("Nothing") == 0


# ---- memory


def test_arrays_of_any_size_are_not_made(servers):
    server = servers(MICA_CLUSTER_LIMITS="memory=256M,body=64M")
    dims = ["int64", [2], 16]
    value = ["float32", [], 4]
    for sizes in ((1 << 20, 1 << 20), (1 << 31, 1 << 31), (1 << 16, 1 << 11), (1 << 62, 4)):
        fill = run("Fill", [["index_type", "type", 9]], [dims, value])
        answer = server.ask(fill, struct.pack("<qqf", *sizes, 1.0))
        assert answer["kind"] == "error", sizes
    _, body = of_string(b"x")
    server.ask(run("AsString", [["width", "int", 1 << 30]], [value]), struct.pack("<f", 1.0))
    many = run("Tile", [["Tmultiples", "type", 9]], [["string", [1], 9], ["int64", [1], 8]])
    assert server.ask(many, body + struct.pack("<q", 1 << 34))["kind"] == "error"
    too_long = run("Fill", [["index_type", "type", 9]], [dims, value])
    answer = server.ask(too_long, struct.pack("<qqf", 1 << 12, 5 << 10, 1.0))  # 80 MB
    assert (
        answer["class"] == "ResourceExhaustedError" and "too long to be sent" in answer["message"]
    )
    server.check()
    assert server.memory() < 900 << 20


def test_variables_are_bounded_in_number_and_memory(servers):
    server = servers(MICA_CLUSTER_LIMITS="memory=128M,variables=40")

    def made(channel) -> dict:
        channel.send({"kind": "variable", "name": "v", "dtype": 1, "shape": None})
        return channel.receive(60.0)[0]

    with server.greeted() as channel:
        assert [made(channel)["number"] for _ in range(40)] == list(range(1, 41))
        assert made(channel)["class"] == "ResourceExhaustedError"
        x = tf.zeros([2 << 20])  # 8 MB, forty times
        assign = run("AssignVariableOp", [["dtype", "type", 1]], groups=[-1, -1])
        for number in range(1, 41):
            channel.send({**assign, "operands": 2, "variables": {"0": number}}, [x])
            answer, _ = channel.receive(60.0)
            if answer["kind"] == "error":
                break
        assert answer["class"] == "ResourceExhaustedError", answer
    server.check()
    assert server.memory() < 700 << 20


def test_a_length_alone_takes_no_memory(server):
    before = server.memory()
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            channel = stack.enter_context(server.greeted())
            channel._socket.sendall(struct.pack("<4sIQ", b"MICA", 2, 2 << 30) + b"{}")
        server.check()
        assert server.memory() - before < 200 << 20


def test_headers_are_bounded_in_depth_and_values(servers):
    server = servers(MICA_CLUSTER_LIMITS="depth=10,values=1000,header=64K,arrays=5")
    deep = b'{"a":' + b"[" * 11 + b"]" * 11 + b"}"
    wide = b'{"a":[' + b"0," * 1001 + b"0]}"
    long = b'{"a":"' + b"x" * (1 << 16) + b'"}'
    words = b'{"kind":"hello","a":"' + b"[,{:" * 1000 + b'\\\\\\""}'
    arrays = json.dumps({"arrays": [["int8", [0], 0]] * 6}).encode()
    for text, is_bad in ((deep, 1), (wide, 1), (long, 1), (arrays, 1), (words, 0)):
        with server.greeted() as channel:
            channel._socket.sendall(struct.pack("<4sIQ", b"MICA", len(text), 0) + text)
            answer, _ = channel.receive(30.0)
            assert ("bad frame" in answer.get("message", "")) == bool(is_bad), answer
    server.check()


# ---- connections


def test_connections_of_one_byte_do_not_keep_others_out(servers):
    server = servers(MICA_CLUSTER_LIMITS="connections=32,greeting_seconds=600,frame_seconds=600")
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            held = stack.enter_context(socket.create_connection(server.place, 10.0))
            held.sendall(b"M")
        server.check()
        for _ in range(64):  # and those that know how to greet, and then say one byte
            stack.enter_context(server.greeted())._socket.sendall(b"M")
        for _ in range(3):
            server.check()
    server.check()


def test_a_greeting_or_a_frame_that_trickles_is_ended_in_all(servers):
    server = servers(MICA_CLUSTER_LIMITS="greeting_seconds=0.5,frame_seconds=0.5,rate=1G")
    whole = frame({"kind": "hello"})
    for is_greeted in (False, True):
        with contextlib.ExitStack() as stack:
            if is_greeted:
                connection = stack.enter_context(server.greeted())._socket
            else:
                connection = stack.enter_context(socket.create_connection(server.place, 10.0))
            connection.settimeout(10.0)
            ended = False
            for i in range(200):  # a byte at a time: no read waits for long
                with contextlib.suppress(TimeoutError):
                    try:
                        connection.sendall(whole[i % 4 : i % 4 + 1])
                        connection.settimeout(0.1)
                        ended = connection.recv(1 << 16) == b""
                    except ConnectionError:
                        ended = True
                if ended:
                    break
            assert ended
    server.check()


# ---- secrets


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("MICA_CLUSTER_SECRET", SECRET)
    return SECRET


def test_a_secret_lets_in_who_has_it(secret, server):
    server.check()


@pytest.mark.parametrize("theirs", ["another secret of many bytes", None])
def test_another_secret_or_none_is_refused(theirs, secret, server, monkeypatch):
    if theirs:
        monkeypatch.setenv("MICA_CLUSTER_SECRET", theirs)
    else:
        monkeypatch.delenv("MICA_CLUSTER_SECRET")
    with pytest.raises(tf.errors.UnauthenticatedError, match="secret"):
        tf.config.experimental_connect_to_host(f"localhost:{server.place[1]}")
    monkeypatch.setenv("MICA_CLUSTER_SECRET", secret)
    server.check()


def test_a_client_with_a_secret_does_not_speak_to_a_server_without(server, monkeypatch):
    monkeypatch.setenv("MICA_CLUSTER_SECRET", SECRET)
    with pytest.raises(tf.errors.UnauthenticatedError, match="secret"), server.greeted():
        pass


def test_a_server_that_cannot_prove_itself_is_refused(secret):
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        listener.listen()

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"MICA\x02\x01\0\0" + bytes(32))
                second = connection.recv(72, socket.MSG_WAITALL)
                connection.sendall(b"MICA\x02\x01\0\0" + second[40:72])  # its own proof, sent back

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(tf.errors.UnauthenticatedError, match="the secrets differ"):
            _door.connected(listener.getsockname(), 5.0, _door.Door(), "ops")
        thread.join()


def test_a_greeting_that_was_heard_opens_nothing(secret, server):
    """All bytes of a client that was let in, sent again."""
    heard = []
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        listener.listen()

        def relay():
            connection, _ = listener.accept()
            with connection, socket.create_connection(server.place, 10.0) as onward:
                connection.sendall(onward.recv(40, socket.MSG_WAITALL))
                heard.append(connection.recv(72, socket.MSG_WAITALL))
                onward.sendall(heard[0])
                connection.sendall(onward.recv(40, socket.MSG_WAITALL))
                heard.append(connection.recv(1 << 16))

        thread = threading.Thread(target=relay)
        thread.start()
        channel = _door.connected(listener.getsockname(), 5.0, _door.Door(), "ops")
        channel.send({"kind": "hello"})
        thread.join()
        channel.close()
    with socket.create_connection(server.place, 10.0) as again:
        again.recv(40, socket.MSG_WAITALL)
        again.sendall(heard[0] + heard[1])
        with contextlib.suppress(ConnectionError):
            answer = again.recv(1 << 16)
            assert answer[5] == 4 and not any(answer[8:])  # refused, and nothing is proved to it
            assert again.recv(1) == b""
    server.check()


def test_a_connection_for_another_purpose_is_refused(secret, server):
    with pytest.raises(tf.errors.UnauthenticatedError):
        _door.connected(server.place, 5.0, _door.Door(), "workers")


def test_without_a_secret_a_server_is_of_this_machine_alone(monkeypatch, tmp_path):
    for address in ("0.0.0.0:0", "[::]:0"):
        with pytest.raises(tf.errors.FailedPreconditionError, match="there is no secret"):
            tf.distribute.Server({"worker": [address]})
        with pytest.raises(tf.errors.FailedPreconditionError, match="there is no secret"):
            _group.Group([address.replace(":0", ":47111"), "localhost:1"], 0, 1.0)
    monkeypatch.setenv("MICA_CLUSTER_LISTEN", "0.0.0.0")
    with pytest.raises(tf.errors.FailedPreconditionError, match="there is no secret"):
        tf.distribute.Server.create_local_server()
    path = tmp_path / "secret"
    path.write_text(SECRET + "\n", encoding="utf-8")
    monkeypatch.setenv("MICA_CLUSTER_SECRET_FILE", str(path))
    path.chmod(0o640)
    with pytest.raises(tf.errors.FailedPreconditionError, match="mode 640"):
        tf.distribute.Server.create_local_server()
    path.chmod(0o600)
    server = tf.distribute.Server.create_local_server()
    place = ("localhost", int(server.target.rpartition(":")[2]))
    monkeypatch.delenv("MICA_CLUSTER_SECRET_FILE")
    monkeypatch.setenv("MICA_CLUSTER_SECRET", SECRET)
    _door.connected(place, 5.0, _door.Door(), "ops").close()


def test_settings_that_cannot_be_are_named(monkeypatch, tmp_path):
    for text in ("doors=1", "connections", "connections=0", "body=x", "body=1T", "values=1e99"):
        monkeypatch.setenv("MICA_CLUSTER_LIMITS", text)
        with pytest.raises(tf.errors.InvalidArgumentError, match="MICA_CLUSTER_LIMITS"):
            _door.Door()
    monkeypatch.setenv("MICA_CLUSTER_LIMITS", "connections=7,body=2K,")
    assert (_door.Door().connections, _door.Door().body) == (7, 2048)
    monkeypatch.setenv("MICA_CLUSTER_SECRET", "short")
    with pytest.raises(tf.errors.InvalidArgumentError, match="5 bytes"):
        _door.Door()
    monkeypatch.setenv("MICA_CLUSTER_SECRET_FILE", str(tmp_path / "none"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="both set"):
        _door.Door()
    monkeypatch.delenv("MICA_CLUSTER_SECRET")
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        _door.Door()


def test_workers_meet_with_a_secret_and_not_without(secret, monkeypatch):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        places = [f"localhost:{free.getsockname()[1]}", "localhost:1"]
    found = []
    lead = threading.Thread(
        target=lambda: found.append(_group.Group(places, 0, 30.0).meet("sum", [tf.constant(1.0)]))
    )
    lead.start()
    strangers = []
    try:
        for _ in range(40):  # one byte each: none is waited for
            with contextlib.suppress(OSError):
                strangers.append(socket.create_connection(_host(places[0]), 5.0))
                strangers[-1].sendall(b"M")
            time.sleep(0.01)
        monkeypatch.setenv("MICA_CLUSTER_SECRET", "some other secret of theirs")
        with pytest.raises(tf.errors.FailedPreconditionError, match="the secrets differ"):
            _group.Group(places, 1, 5.0)
        monkeypatch.setenv("MICA_CLUSTER_SECRET", secret)
        group = _group.Group(places, 1, 30.0)
        assert float(group.meet("sum", [tf.constant(2.0)])[0]) == 3.0
    finally:
        lead.join(30)
        for each in strangers:
            each.close()
    assert float(found[0][0]) == 3.0


def _host(address: str) -> tuple[str, int]:
    host, port = address.split(":")
    return host, int(port)


# ---- at random


def _mutated(data: bytes, chance: random.Random) -> bytes:
    data = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 8))):
        where = chance.randrange(len(data))
        kind = chance.randrange(4)
        if kind == 0:
            data[where] = chance.randrange(256)
        elif kind == 1:
            del data[where : where + chance.randrange(1, 9)]
        elif kind == 2:
            data[where:where] = chance.randbytes(chance.randrange(1, 9))
        else:
            data[where : where + 4] = struct.pack(
                "<I", chance.choice((0, 1, 1 << 31, (1 << 32) - 1))
            )
        if not data:
            data = bytearray(b"M")
    return bytes(data)


def _any_value(chance: random.Random, depth: int = 0):
    numbers = (0, 1, -1, 2, 3, 7, 1 << 20, 1 << 31, -(1 << 31), 1 << 40, 1 << 62, 1e30, 0.5)
    kind = chance.randrange(8 if depth < 3 else 5)
    if kind < 3:
        return chance.choice(numbers)
    if kind == 3:
        return chance.choice(("", "x", "SAME", "VALID", "NHWC", "stderr", "file:///tmp/stranger"))
    if kind == 4:
        return chance.choice((None, True, False))
    return [_any_value(chance, depth + 1) for _ in range(chance.randrange(5))]


_KINDS = "int float bool string type shape tensor ints floats strings types shapes operation"
_NAMES = (
    "T",
    "dtype",
    "axis",
    "num",
    "N",
    "padding",
    "strides",
    "Tidx",
    "keep_dims",
    "output_shape",
)


def _any_frame(names: list[str], chance: random.Random) -> bytes:
    sizes = {"float32": 4, "int32": 4, "int64": 8, "bool": 1, "complex64": 8, "float16": 2}
    arrays, body = [], b""
    for _ in range(chance.randrange(4)):
        name = chance.choice(list(sizes))
        shape = [chance.choice((0, 1, 2, 3)) for _ in range(chance.randrange(4))]
        count = sizes[name]
        for size in shape:
            count *= size
        arrays.append([name, shape, count])
        fill = chance.choice((b"\0", b"\1")) * count
        body += fill if name == "bool" or chance.random() < 0.5 else chance.randbytes(count)
    attributes = [
        [chance.choice(_NAMES), chance.choice(_KINDS.split()), _any_value(chance)]
        for _ in range(chance.randrange(4))
    ]
    header = run(chance.choice(names), attributes, arrays)
    if chance.random() < 0.2:
        forward = ["forward", "operation", header["request"]]
        header = run("Vjp", [forward, *attributes], arrays)
    if chance.random() < 0.1:
        header["kind"] = chance.choice(("hello", "variable", "drop", 5, None))
    if chance.random() < 0.1:
        header[chance.choice(list(header))] = _any_value(chance)
    return frame(header, body)


def test_frames_at_random_end_nothing(servers, tmp_path):
    """Ten minutes in soak, some seconds else; MICA_TEST_FRAME_SECONDS says otherwise."""
    seconds = float(os.environ.get("MICA_TEST_FRAME_SECONDS", 600 if SOAK else 4))
    server = servers(
        MICA_CLUSTER_LIMITS="memory=1G,body=64M,frame_seconds=2,greeting_seconds=2",
        MICA_TIER="built-in",
    )
    chance = random.Random(int(os.environ.get("MICA_TEST_SEED", 16)))
    names = sorted(n for n in dir(tf.raw_ops) if n[0].isupper() and _mica.tf_row_remote(n))
    end, sent, answered = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        data = _any_frame(names, chance)
        with contextlib.suppress(OSError, Exception), server.greeted() as channel:
            for _ in range(chance.randrange(1, 30)):
                data = _any_frame(names, chance)
                if chance.random() < 0.05:
                    data = _mutated(data, chance)
                channel._socket.sendall(data)
                sent += 1
                channel.receive(30.0)
                answered += 1
        assert server.child.poll() is None, f"ended after {sent} frames"
    print(f"{sent} frames, {answered} answers, {server.memory() >> 20} MiB at most")
    server.check()
    assert sent and answered
    assert server.memory() < 3 << 30
    assert not os.path.exists("/tmp/stranger")
