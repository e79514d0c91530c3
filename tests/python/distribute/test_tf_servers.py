"""tf.distribute.Server: other processes, broken frames, servers that end or never answer."""

import contextlib
import gc
import json
import os
import socket
import struct
import subprocess
import sys
import threading

import mica.tf as tf
import numpy as np
import pytest
from mica.tf.distribute import _door, _requests, _wire

WORKER = "/job:worker/task:0"
SERVE = """
import sys, mica.tf as tf
server = tf.distribute.Server({"worker": ["localhost:0"]})
print(server.target, flush=True)
server.join()
"""


@pytest.fixture(autouse=True)
def no_cluster():
    yield
    tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({}))


@pytest.fixture
def process():
    """A server in a process of its own, and its target."""
    child = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    child.target = child.stdout.readline().strip()
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def place_of(target: str) -> tuple[str, int]:
    return "localhost", int(target.rpartition(":")[2])


def connect(target: str) -> None:
    tf.config.experimental_connect_to_host(target)


def test_ops_run_in_another_process(process):
    connect(process.target)
    with tf.device(WORKER):
        x = tf.constant(np.arange(12, dtype=np.float64).reshape(3, 4))
        y = tf.einsum("ij,kj->ik", x, x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.nn.softmax(x) * x)
        gradient = tape.gradient(loss, x)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            cube = x * x * x
        tangent = accumulator.jvp(cube)
    np.testing.assert_allclose(tangent.numpy(), 3.0 * x.numpy() ** 2, rtol=1e-12)
    assert "/job:worker/" in tangent.device
    assert "/job:worker/" in y.device and "/job:worker/" in gradient.device
    np.testing.assert_array_equal(y.numpy(), x.numpy() @ x.numpy().T)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.nn.softmax(x) * x)
    np.testing.assert_allclose(gradient.numpy(), tape.gradient(loss, x).numpy(), rtol=1e-12)


def test_random_numbers_there_do_not_touch_those_here(process):
    tf.random.set_seed(7)
    wanted = tf.random.uniform([3], seed=1).numpy()
    connect(process.target)
    tf.random.set_seed(7)
    with tf.device(WORKER):
        there = tf.random.uniform([3], seed=1)
    assert there.shape == [3]
    np.testing.assert_array_equal(tf.random.uniform([3], seed=1).numpy(), wanted)


def test_parts_of_functions_run_in_another_process(process):
    connect(process.target)

    @tf.function
    def function(x):
        y = x * 2.0
        with tf.device(WORKER):
            y = tf.exp(y)
        return tf.reduce_sum(y)

    x = tf.constant([0.5, 0.25])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    np.testing.assert_allclose(y.numpy(), np.exp([1.0, 0.5]).sum(), rtol=1e-6)
    gradient = tape.gradient(y, x)
    np.testing.assert_allclose(gradient.numpy(), 2.0 * np.exp([1.0, 0.5]), rtol=1e-6)
    process.kill()
    process.wait()
    with pytest.raises(tf.errors.UnavailableError, match="the server at localhost:"):
        function(x)


def test_a_server_that_dies_is_unavailable(process):
    connect(process.target)
    with tf.device(WORKER):
        x = tf.constant([1.0, 2.0])
        process.kill()
        process.wait()
        for _ in range(2):
            with pytest.raises(tf.errors.UnavailableError, match=r"the server at localhost:"):
                x + 1.0
    assert float((x + 1.0)[0]) == 2.0  # here


def test_a_server_that_comes_back_is_connected_to_again():
    server = tf.distribute.Server.create_local_server()
    address = server.target.removeprefix("grpc://")
    connect(address)
    del server
    gc.collect()
    with tf.device(WORKER):
        with pytest.raises(tf.errors.UnavailableError):
            tf.constant(1.0)
        back = tf.distribute.Server({"worker": [address]})
        assert float(tf.constant(1.0) + 1.0) == 2.0
        del back


def test_nobody_who_listens_is_unavailable():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    with pytest.raises(tf.errors.UnavailableError, match=f"{address} cannot be reached"):
        connect(address)


def test_somebody_who_never_answers_is_unavailable_in_time(monkeypatch):
    monkeypatch.setenv("MICA_CLUSTER_LIMITS", "greeting_seconds=0.2")
    with socket.socket() as silent:
        silent.bind(("localhost", 0))
        silent.listen()
        with pytest.raises(tf.errors.UnavailableError, match=r"does not answer.*timed out"):
            connect(f"localhost:{silent.getsockname()[1]}")


def test_somebody_who_speaks_otherwise_is_unavailable():
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()

        def answer():
            connection, _ = other.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        message = "greeting is not that of a Mica process"
        with pytest.raises(tf.errors.UnavailableError, match=message):
            connect(f"localhost:{other.getsockname()[1]}")
        thread.join()


def frame(header, body: bytes = b"", magic: bytes = b"MICA", lengths=None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<4sIQ", magic, *(lengths or (len(text), len(body)))) + text + body


def run(op, attributes=(), groups=(-1,), operands=1, arrays=(("float32", [1], 4),), **more):
    """The header of an op's frame."""
    return {
        "kind": "run",
        "request": [op, list(attributes), list(groups)],
        "operands": operands,
        "arrays": [list(each) for each in arrays],
        **more,
    }


BAD_FRAMES = {
    "another magic word": frame({}, magic=b"HTTP"),
    "a header that is too long": frame(b"", lengths=(1 << 31, 0)),
    "a body that is too long": frame(b"", lengths=(0, 1 << 62)),
    "no JSON": frame(b"{]"),
    "JSON without end": frame(b"[" * 100_000),
    "no object": frame([1, 2]),
    "no header": frame(b""),
    "arrays that are no list": frame({"arrays": 5}),
    "an array without a shape": frame({"arrays": [["float32", 4]]}),
    "an unknown dtype": frame({"arrays": [["object", [1], 8]]}, b"12345678"),
    "a dtype that is a list": frame({"arrays": [[["float32"], [1], 4]]}, b"1234"),
    "a negative size": frame({"arrays": [["float32", [-1], 4]]}, b"1234"),
    "a size that is no number": frame({"arrays": [["float32", ["x"], 4]]}, b"1234"),
    "a shape of other bytes": frame({"arrays": [["float32", [3], 4]]}, b"1234"),
    "sizes whose product is too large": frame({"arrays": [["int8", [1 << 30] * 3, 4]]}, b"1234"),
    "more bytes than the frame": frame({"arrays": [["float32", [2], 8]]}, b"1234"),
    "fewer bytes than the frame": frame({"arrays": [["int8", [1], 1]]}, b"1234"),
    "a bool of two": frame({"arrays": [["bool", [1], 1]]}, b"\x02"),
    "strings that are cut off": frame({"arrays": [["string", [2], 8]]}, b"12345678"),
    "strings of other lengths": frame({"arrays": [["string", [1], 9]]}, b"\xff" * 8 + b"a"),
}
BAD_REQUESTS = {
    "no kind": {},
    "an unknown kind": {"kind": "eval"},
    "no request": {"kind": "run", "operands": 0},
    "too many operands": run("Neg", operands=5),
    "operands that are no number": run("Neg", operands=True),
    "an unknown op": run("RunPython"),
    "an op that is a list": run(["Neg"]),
    "a function of Python": run("PyFunc", [["token", "int", 1], ["Tout", "types", [1]]], [1]),
    "groups of more operands": run("Neg", groups=[4]),
    "groups of no number": run("Neg", groups=["a"]),
    "an attribute that it has not": run("Neg", [["colour", "int", 1]]),
    "an attribute of an unknown kind": run("Neg", [["T", "pickle", 1]]),
    "an attribute of a function": run("PartitionedCall", [["f", "function", "f"]], [1]),
    "a tensor that is not there": run("Neg", [["T", "tensor", 7]]),
    "an unknown dtype": run("Cast", [["DstT", "type", 99999]]),
    "a derivative of nothing": run("Vjp", [["n", "int", 1]]),
    "a derivative at no place": run(
        "Vjp",
        [
            ["forward", "operation", ["Neg", [], [-1]]],
            ["n", "int", 1],
            ["outputs", "ints", [9]],
            ["inputs", "ints", [-3]],
        ],
    ),
    "a variable of nowhere": run("ReadVariableOp", [["dtype", "type", 1]]),
    "a variable that is not there": run("Neg", arrays=(), variables={"0": 3}),
    "a variable at no place": run("Neg", arrays=(), variables={"x": 3}),
    "variables that are no object": run("Neg", arrays=(), variables=[1]),
    "a variable of no dtype": {"kind": "variable", "name": "v", "dtype": "x", "shape": []},
    "a variable of no shape": {"kind": "variable", "name": "v", "dtype": 1, "shape": "x"},
}


@contextlib.contextmanager
def greeted(place):
    """A connection that was let in."""
    channel = _door.connected(place, 5.0, _door.Door(), "ops")
    try:
        yield channel
    finally:
        channel.close()


def ask(place, data: bytes) -> tuple[dict, bool]:
    """What a server answers, and whether it ends the connection then."""
    with greeted(place) as channel:
        channel._socket.sendall(data)
        answer, _ = channel.receive(10.0)
        try:
            channel.send({"kind": "hello"})
            after, _ = channel.receive(10.0)
        except (_wire.Closed, OSError):
            return answer, True
        return answer, after.get("kind") != "welcome"


def test_bad_frames_are_answered_and_end_the_connection_not_the_server():
    server = tf.distribute.Server.create_local_server()
    place = place_of(server.target)
    for what, data in BAD_FRAMES.items():
        answer, is_closed = ask(place, data)
        assert answer["kind"] == "error" and "bad frame" in answer["message"], what
        assert answer["class"] == "InvalidArgumentError" and is_closed, what
    connect(server.target)
    with tf.device(WORKER):
        assert float(tf.constant(1.0) + 1.0) == 2.0


def test_bad_requests_are_answered_and_the_connection_stays():
    server = tf.distribute.Server.create_local_server()
    place = place_of(server.target)
    for what, header in BAD_REQUESTS.items():
        body = b"1234" if header.get("arrays") else b""
        answer, is_closed = ask(place, frame(header, body))
        assert answer["kind"] == "error" and not is_closed, what
    answer, _ = ask(place, frame(run("Neg"), struct.pack("<f", 2.0)))
    assert answer["kind"] == "done"


def test_clients_that_leave_in_the_middle_do_no_harm():
    server = tf.distribute.Server.create_local_server()
    place = place_of(server.target)
    whole = frame({"kind": "hello"})
    for count in (0, 3, 16, len(whole) - 1):
        with socket.create_connection(place, 5.0) as connection:
            connection.sendall(whole[:count])
        with greeted(place) as channel:
            channel._socket.sendall(whole[:count])
    answer, _ = ask(place, whole)
    assert answer["kind"] == "welcome" and answer["devices"][0] == "CPU:0"
    assert (answer["job"], answer["task"]) == ("localhost", 0)


def test_a_client_of_another_version_is_told_so():
    server = tf.distribute.Server.create_local_server()
    with socket.create_connection(place_of(server.target), 5.0) as connection:
        assert connection.recv(40, socket.MSG_WAITALL)[:5] == b"MICA\x02"
        connection.sendall(b"MICA\x01" + bytes(67))
        answer = connection.makefile("rb").read()  # until the server closes it
    assert answer[:4] == b"MICA" and b"it greets in version 1, not 2" in answer


def test_a_port_is_free_again_when_the_server_is_collected():
    server = tf.distribute.Server.create_local_server()
    address = server.target.removeprefix("grpc://")
    with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
        tf.distribute.Server({"worker": [address]})
    del server
    gc.collect()
    assert tf.distribute.Server({"worker": [address]}).target == f"grpc://{address}"


def test_several_threads_run_ops_in_one_server():
    server = tf.distribute.Server.create_local_server()
    connect(server.target)
    wrong = []

    def work(number: int) -> None:
        with tf.device(WORKER):
            for i in range(20):
                if float(tf.constant(float(number)) * i) != number * i:
                    wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_cannot_run_there_says_so_and_does_not_run_here():
    server = tf.distribute.Server.create_local_server()
    v = tf.Variable(1.0)
    numbers = tf.data.Dataset.range(3)
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([]))
    connect(server.target)

    refused = {
        "a variable on /job:worker": lambda: tf.function(
            lambda: there + 1.0, autograph=False
        ).get_concrete_function(),
        "datasets and lists of tensors": lambda: numbers.batch(2),
        "a traced function cannot run on /job:worker": lambda: concrete(tf.constant(1.0)),
        "cannot run in another process": lambda: list(tf.data.Dataset.range(3)),
        "a function of Python": lambda: tf.raw_ops.PyFunc(
            input=[tf.constant(1.0)], token=1, Tout=[tf.float32]
        ),
    }
    with tf.device(WORKER):
        there = tf.Variable(1.0)
        for words, call in refused.items():
            with pytest.raises(tf.errors.UnimplementedError, match=words):
                call()
        assert float(v + 1.0) == 2.0  # read here, added there
    assert float(concrete(tf.constant(1.0))) == 2.0


def test_variables_there_end_with_their_handles():
    server = tf.distribute.Server.create_local_server()
    connect(server.target)
    made = []
    kept = _requests.Variables.make

    def make(self, header):
        made.append(self)
        return kept(self, header)

    with pytest.MonkeyPatch.context() as patch, tf.device(WORKER):
        patch.setattr(_requests.Variables, "make", make)
        variables = [tf.Variable([float(i)]) for i in range(5)]
        assert len(made[0]._handles) == 5
        assert [float(v[0]) for v in variables] == [0.0, 1.0, 2.0, 3.0, 4.0]
        del variables
        gc.collect()
        tf.constant(1.0)
        assert not made[0]._handles


def test_variables_end_with_their_server():
    server = tf.distribute.Server.create_local_server()
    address = server.target.removeprefix("grpc://")
    connect(address)
    with tf.device(WORKER):
        v = tf.Variable([1.0, 2.0])
    del server
    gc.collect()
    with pytest.raises(tf.errors.UnavailableError):
        v + 1.0
    back = tf.distribute.Server({"worker": [address]})
    with pytest.raises(tf.errors.FailedPreconditionError, match="this variable with it"):
        v + 1.0
    with tf.device(WORKER):
        assert float(tf.Variable(2.0) + 1.0) == 3.0
    del back


def test_variables_of_two_clients_are_their_own(process):
    connect(process.target)
    with tf.device(WORKER):
        v = tf.Variable([1.0, 2.0])
    read = run("ReadVariableOp", [["dtype", "type", 1]], arrays=(), variables={"0": 1})
    answer, _ = ask(place_of(process.target), frame(read))
    assert answer["class"] == "NotFoundError"
    assert v.numpy().tolist() == [1.0, 2.0]


def test_a_model_is_trained_on_variables_there(process):
    connect(process.target)
    x = np.random.RandomState(0).rand(16, 3).astype(np.float32)
    wanted = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    with tf.device(WORKER):
        w = tf.Variable(tf.zeros([3, 1]))
        for _ in range(100):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.matmul(x, w) - wanted) ** 2)
            w.assign_sub(0.5 * tape.gradient(loss, w))
    assert float(loss) < 1e-2 and "/job:worker/" in w.device


def test_a_task_of_the_cluster_serves_the_others():
    other = tf.distribute.Server.create_local_server()
    with socket.socket() as free:
        free.bind(("localhost", 0))
        own = f"localhost:{free.getsockname()[1]}"
    spec = tf.train.ClusterSpec({"worker": [own, other.target.removeprefix("grpc://")]})
    tf.config.experimental_connect_to_cluster(spec, job_name="worker", task_index=0)
    assert [d.name for d in tf.config.list_logical_devices()][1:] == [
        "/job:worker/replica:0/task:1/device:CPU:0"
    ]
    with tf.device("/job:worker/task:0"):
        assert "localhost" in (tf.constant(1.0) + 1.0).device
    answer, _ = ask(place_of(own), frame({"kind": "hello"}))
    assert (answer["job"], answer["task"]) == ("worker", 0)


def test_an_address_that_is_none_is_refused():
    for address in ("localhost", "localhost:x", "localhost:0", "localhost:99999", ":80", ""):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
            connect([address])


def test_a_program_with_a_server_ends():
    code = "import mica.tf as tf; s = tf.distribute.Server.create_local_server(); print(s.target)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30, env=os.environ)
