"""Servers, and ops that run in them. The last of the cases: they change where ops can go.

What an op in a server gave is brought here before the connection ends: TensorFlow loses it then.
"""

import contextlib

from corpus import plain, raises
from tf_cases.clusters import environment

SERVER = "tf.distribute.Server"
CONNECT = "tf.config.experimental_connect_to_cluster"
HOST = "tf.config.experimental_connect_to_host"
WORKER = "/job:worker/replica:0/task:0/device:CPU:0"


kept = []  # servers: TensorFlow's cannot be ended


def local(value):
    """A structure of tensors with numpy's arrays in place of them."""
    if isinstance(value, (list, tuple)):
        return [local(each) for each in value]
    return value.numpy() if hasattr(value, "numpy") else value


def server_of(tf):
    """A server at any port."""
    kept.append(tf.distribute.Server.create_local_server())
    return kept[-1]


@contextlib.contextmanager
def connected(tf, jobs=("worker",)):
    """Within it, there are servers of these jobs, in this process."""
    servers = [server_of(tf) for _ in jobs]
    cluster = {}
    for job, server in zip(jobs, servers, strict=True):
        cluster.setdefault(job, []).append(server.target.removeprefix("grpc://"))
    tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec(cluster))
    try:
        yield servers
    finally:
        tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({}))


def names(tf):
    """The names of the devices that ops can go to."""
    return [device.name for device in tf.config.list_logical_devices()]


@plain(SERVER, "listens at a port of its own")
def _(tf):
    server = tf.distribute.Server.create_local_server()
    later = tf.distribute.Server({"worker": ["localhost:0"]}, start=False)
    target = later.target
    later.start()
    later.start()
    again = tf.distribute.Server(server.server_def, task_index=0)
    return [
        server.target.rpartition(":")[0],
        int(server.target.rpartition(":")[2]) > 0,
        str(server.server_def),
        [later.server_def.job_name, later.server_def.task_index, later.server_def.protocol],
        target == later.target != server.target,
        str(later.server_def.cluster),
        again.target != server.target,
    ]


@plain(SERVER, "of a task of several")
def _(tf):
    spec = tf.train.ClusterSpec({"worker": {3: "localhost:0", 5: "a:1"}, "ps": ["b:2"]})
    server = tf.distribute.Server(spec, job_name="worker", task_index=3)
    return [str(server.server_def), server.target.startswith("grpc://localhost:")]


ONE = {"worker": ["localhost:0"]}
TWO = {"worker": ["localhost:0", "localhost:0"]}
BOTH = {"worker": ["localhost:0"], "ps": ["localhost:0"]}
for what, words, cluster, more in (
    ("of an unknown job", "No such job in cluster: 'ps'", ONE, {"job_name": "ps"}),
    (
        "of an unknown job, by its number",
        'Job "ps" was not defined in cluster',
        ONE,
        {"job_name": "ps", "task_index": 0},
    ),
    (
        "of a task that is not there",
        'Task 5 was not defined in job "worker"',
        ONE,
        {"task_index": 5},
    ),
    ("of one of two tasks", "Must specify an explicit `task_index`.", TWO, {}),
    ("of one of two jobs", "Must specify an explicit `job_name`.", BOTH, {}),
    ("of no job", "Must specify an explicit `job_name`.", {}, {}),
    ("of a number", "Could not convert `server_or_cluster_def`", 5, {}),
    ("of another protocol", "No server factory registered", ONE, {"protocol": "http"}),
    ("without a port", "Could not parse port for local server", {"worker": ["localhost"]}, {}),
    ("of a port of letters", "Could not parse port", {"worker": ["localhost:x"]}, {}),
):
    raises(SERVER, what, words, lambda tf, c=cluster, m=more: tf.distribute.Server(c, **m))


def _taken(tf):
    import socket

    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        return tf.distribute.Server({"worker": [f"localhost:{taken.getsockname()[1]}"]})


raises(SERVER, "at a port that is taken", "Could not start gRPC server", _taken)


@plain((CONNECT, SERVER), "shows the devices and runs ops there")
def _(tf):
    found = [names(tf)]
    with connected(tf, ["worker", "worker", "ps"]):
        found.append(names(tf))
        for name in ("/job:worker/task:1", "/job:ps", WORKER, "/job:worker/task:0/cpu:0"):
            with tf.device(name):
                x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
                y = tf.matmul(x, x) + 1.0
                s, u, v = tf.linalg.svd(x)
                parts = tf.split(tf.concat([x, y], axis=0), 2)
            found += [x.device, y.device, y, s, parts, parts[1].device, u.shape, v.device]
        found = local([*found, (y * 2.0).device, y * 2.0])
    return [*found, names(tf)]


@plain((CONNECT, SERVER), "runs ops of every dtype there")
def _(tf):
    found = []
    with connected(tf), tf.device(WORKER):
        for dtype in ("float64", "float16", "bfloat16", "int8", "uint16", "int64", "complex64"):
            x = tf.cast(tf.constant([1, 2, 3]), dtype)
            doubled = tf.cast(x + x, "float32") if dtype == "bfloat16" else x + x
            found += [doubled, tf.reshape(x, [3, 1]).device]
        texts = tf.constant(["a", "", "b\n"])
        found += [tf.strings.join([texts, texts]), tf.strings.length(texts), texts.device]
        found += [tf.zeros([0, 2]), tf.logical_not([True, False]), tf.constant(7) // 2]
        return local(found)


@plain((CONNECT, SERVER), "within other devices and functions")
def _(tf):
    v = tf.Variable([1.0, 2.0])
    found = []

    @tf.function
    def function(x):
        return tf.reduce_sum(x * [3.0, 4.0]) if tf.reduce_sum(x) > 0.0 else x[0]

    with connected(tf):
        with tf.device("/job:worker/task:0"):
            x = tf.constant([1.0, 2.0])
            with tf.device("/cpu:0"):
                found.append((x * 2.0).device)
            with tf.device(None):
                found.append((x * 2.0).device)
            with tf.device("/job:localhost/task:0"):
                found.append(tf.ones([2]).device)
            found += [function(x), function(-x), (x + v).device, x[1:], float(x[0])]
            v.assign_add(x * 3.0)
        found += [v.numpy(), function(tf.constant([1.0, 2.0]))]
        return local(found)


@plain((CONNECT, SERVER), "with gradients through them")
def _(tf):
    found = []
    with connected(tf):
        with tf.device(WORKER):
            x = tf.constant([1.0, 2.0])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.exp(x) * x)
                z = tf.gather(x * x, [1, 1, 0])
            gradient = tape.gradient([y, z], x)
            found += [y, gradient, gradient.device]
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(x * x * x)
                first = tape.gradient(y, x)
            found += [first, outer.gradient(first, x)]
        w = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(w)
            with tf.device(WORKER):
                y = tf.reduce_sum(w * w)
        found.append(tape.gradient(y, w))
        return local(found)


@plain((CONNECT, "tf.distribute.cluster_resolver.TPUClusterResolver"), "of this machine alone")
def _(tf):
    before = names(tf)
    with environment(TF_CONFIG=None):
        r = tf.distribute.cluster_resolver
        tf.config.experimental_connect_to_cluster(r.TPUClusterResolver("local"))
        tf.config.experimental_connect_to_cluster(r.TFConfigClusterResolver())
    return [before == names(tf), (tf.constant(1.0) + 1.0).device]


@plain(HOST, "of one and of two")
def _(tf):
    one, two = server_of(tf), server_of(tf)
    found = []
    tf.config.experimental_connect_to_host(one.target)
    found.append(names(tf)[1:])
    tf.config.experimental_connect_to_host([one.target, two.target], job_name="cook")
    found.append(names(tf)[1:])
    with tf.device("/job:cook/task:1"):
        found += local([tf.constant(2.0) * 3.0, (tf.constant(2.0) * 3.0).device])
    tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({}))
    return found


def _ops_at(name):
    def call(tf):
        with connected(tf), tf.device(name):
            return (tf.constant(1.0) + 1.0).numpy()

    return call


raises(
    CONNECT,
    "of a number",
    "`cluster_spec_or_resolver` must be a `ClusterSpec` or a `ClusterResolver`.",
    lambda tf: tf.config.experimental_connect_to_cluster(5),
)
raises(
    CONNECT,
    "and ops at a task that is not there",
    "/job:worker/replica:0/task:1/device:CPU:0 unknown device.",
    _ops_at("/job:worker/task:1"),
)
raises(
    CONNECT,
    "and ops at a device that is not there",
    "/job:worker/replica:0/task:0/device:GPU:3 unknown device.",
    _ops_at("/job:worker/task:0/device:GPU:3"),
)
raises(
    HOST,
    "of none",
    "Must provide at least one remote_host",
    lambda tf: tf.config.experimental_connect_to_host(),
)


def _nan(tf):
    with connected(tf), tf.device(WORKER):
        return tf.debugging.check_numerics(tf.constant(float("nan")), "hm").numpy()


raises((CONNECT, SERVER), "and an op that fails there", "hm : Tensor had NaN values", _nan)


@plain((CONNECT, SERVER), "with variables there")
def _(tf):
    found = []
    with connected(tf, ["worker", "ps"]):
        with tf.device("/job:ps/task:0"):
            v = tf.Variable([1.0, 2.0], name="there")
            w = tf.Variable(3, trainable=False)
        found += [v.device, v.name, v.shape, v.dtype, w.device, v.numpy(), int(w)]
        with tf.device("/job:worker/task:0"):
            v.assign_add([1.0, 1.0])
            y = v * 2.0
            found += [y, y.device, v.read_value().device]
        v.assign_sub([0.5, 0.25])
        w.assign(5)
        v.scatter_nd_update([[1]], [7.0])
        found += [v[1], v + 1.0, (v + 1.0).device, w.numpy(), v.is_initialized()]
        with tf.GradientTape(persistent=True) as tape:
            here = tf.reduce_sum(v * v)
            with tf.device("/job:worker/task:0"):
                there = tf.reduce_sum(tf.exp(v))
        found += [tape.gradient(here, v), tape.gradient(there, v)]
        with tf.device("/job:ps/task:0"), tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(v, [1, 1]) * 3.0)
            (gradient,) = tape.gradient(loss, [v])
        found.append(tf.convert_to_tensor(gradient))

        @tf.function
        def step(x):
            v.assign(v * x)
            return tf.reduce_sum(v)

        with tf.device("/job:ps/task:0"):
            found += [step(tf.constant(2.0)), step(tf.constant(0.5)), v]
        return local(found)


@plain((CONNECT, SERVER), "as parts of functions")
def _(tf):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def matrices(x):
        with tf.device(WORKER):
            y = tf.matmul(x, x) + 1.0
            size = tf.shape(y)[0]
            parts = tf.concat([*tf.split(y, 2), y], axis=0)
            largest, at = tf.math.top_k(y, 1)
        return tf.reduce_sum(y) * 2.0, size, parts, tf.cast(size, tf.float32) + largest, at

    @tf.function
    def derivatives(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                tripled = x * 3.0
                with tf.device(WORKER):
                    y = tf.exp(tripled) * x
            first = tape.gradient(y, x)
        return y, first, outer.gradient(first, x)

    @tf.function
    def flow(x):
        with tf.device(WORKER):
            total = tf.zeros([2])
            for _ in tf.range(3):
                total += x
            if tf.reduce_sum(total) > 1.0:
                total = total * 2.0
            v.assign_add(x)
        return total * v

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def unknown(x):
        with tf.device(WORKER):
            return tf.reshape(x, [-1]) + 1.0, tf.strings.as_string(tf.cast(x, tf.int32))

    with connected(tf):
        x = tf.constant([0.5, 0.25])
        found = [*matrices(tf.constant([[1.0, 2.0], [3.0, 4.0]])), *derivatives(x)]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivatives(x)[0]
        found += [tape.gradient(y, x), flow(x), flow(x * 0.5), *unknown(tf.ones([3, 2]))]
        found.append(unknown.get_concrete_function().structured_outputs[0].shape)
        return local(found)


# TensorFlow's ops go there from then on, to the end of the process: this is the last case.
@plain(CONNECT, "of a resolver makes its master the place of ops")
def _(tf):
    address = server_of(tf).target.removeprefix("grpc://")
    spec = tf.train.ClusterSpec({"worker": [address]})
    make = tf.distribute.cluster_resolver.SimpleClusterResolver
    given = make(spec, address, rpc_layer="grpc")
    tf.config.experimental_connect_to_cluster(given, make_master_device_default=False)
    found = [(tf.constant(1.0) + 1.0).device]
    tf.config.experimental_connect_to_cluster(given)
    found += [names(tf), (tf.constant(1.0) + 1.0).device]
    with tf.device("/job:localhost/task:0"):
        found.append((tf.constant(1.0) + 1.0).device)
    tf.config.experimental_connect_to_cluster(spec)
    return found
