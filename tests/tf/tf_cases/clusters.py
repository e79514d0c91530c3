"""Clusters as they are described: their jobs, their resolvers, TPUs that are not there."""

import contextlib
import json
import os

from corpus import plain, raises

RESOLVERS = "tf.distribute.cluster_resolver."
TPU_RESOLVER = RESOLVERS + "TPUClusterResolver"
LOCAL = "/job:localhost/replica:0/task:0/device:CPU:0"


@contextlib.contextmanager
def environment(**values):
    """Within it, environment variables have these values; None: they are not there."""
    before = {name: os.environ.get(name) for name in values}

    def put(wanted):
        for name, value in wanted.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(values)
    try:
        yield
    finally:
        put(before)


def config(cluster, **more):
    """The text of TF_CONFIG."""
    return json.dumps({"cluster": cluster, **more})


@plain("tf.train.ClusterSpec", "jobs and tasks")
def _(tf):
    found = []
    for cluster in (
        {"worker": ["a:1", "b:2"], "ps": ["c:3"]},
        {"worker": {1: "a:1", 3: "b:2"}},
        {"worker": {0: "a:1", 1: "b:2"}, "ps": []},
        {"worker": ("a:1",)},
    ):
        spec = tf.train.ClusterSpec(cluster)
        found += [repr(spec), spec.jobs, repr(spec.as_dict()), bool(spec)]
        found += [spec.num_tasks("worker"), spec.task_indices("worker"), spec.job_tasks("worker")]
        found += [spec.task_address("worker", spec.task_indices("worker")[-1])]
        found += [str(spec.as_cluster_def()), len(spec.as_cluster_def().job)]
    empty = tf.train.ClusterSpec({})
    return [*found, repr(empty), empty.jobs, bool(empty)]


@plain("tf.train.ClusterSpec", "equality and copies")
def _(tf):
    spec = tf.train.ClusterSpec({"worker": ["a:1"]})
    same = tf.train.ClusterSpec({"worker": {0: "a:1"}})
    other = tf.train.ClusterSpec({"worker": ["b:1"]})
    copy = tf.train.ClusterSpec(spec)
    read = tf.train.ClusterSpec(spec.as_cluster_def())
    return [spec == same, spec != same, spec == other, copy == spec, read == spec]


@plain("tf.train.ClusterDef", "bytes")
def _(tf):
    spec = tf.train.ClusterSpec({"worker": {0: "a:1", 7: "b:22"}, "ps": ["c:3"]})
    data = spec.as_cluster_def().SerializeToString()
    back = tf.train.ClusterDef()
    back.ParseFromString(data)
    return [len(data), repr(tf.train.ClusterSpec(back)), back.job[1].tasks[7]]


for what, words, cluster in (
    ("of a number", "`cluster` must be a dictionary mapping", 5),
    ("with a number for tasks", "The tasks for job 'a' must be a list or a dictionary", {"a": 5}),
    ("with a number for an address", "Task address 5 must be bytes or unicode", {"a": [5]}),
    ("with a number for a job", "Job name 5 must be bytes or unicode", {5: ["a:1"]}),
):
    raises("tf.train.ClusterSpec", what, words, lambda tf, c=cluster: tf.train.ClusterSpec(c))
raises(
    "tf.train.ClusterSpec",
    "asked for a job that it does not have",
    "No such job in cluster: 'ps'",
    lambda tf: tf.train.ClusterSpec({"worker": ["a:1"]}).num_tasks("ps"),
)
raises(
    "tf.train.ClusterSpec",
    "asked for a task that it does not have",
    "No task with index 4 in job 'worker'",
    lambda tf: tf.train.ClusterSpec({"worker": ["a:1"]}).task_address("worker", 4),
)


def _said(resolver):
    """What a resolver says of itself."""
    return [
        resolver.task_type,
        resolver.task_id,
        resolver.environment,
        repr(resolver.cluster_spec()),
        resolver.master(),
        resolver.master("worker", 0, rpc_layer="http"),
        dict(resolver.num_accelerators()),
    ]


@plain(RESOLVERS + "SimpleClusterResolver", "says what it was given")
def _(tf):
    Simple = tf.distribute.cluster_resolver.SimpleClusterResolver
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
    full = Simple(spec, "m:1", "worker", 1, "here", {"GPU": 2}, "grpc")
    found = _said(Simple(spec)) + _said(full) + [full.rpc_layer]
    full.task_type, full.task_id, full.rpc_layer = "ps", 0, None
    return [*found, *_said(full), isinstance(full, tf.distribute.cluster_resolver.ClusterResolver)]


@plain(RESOLVERS + "TFConfigClusterResolver", "reads the environment")
def _(tf):
    Resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver
    two = config({"worker": ["a:1", "b:2"]}, task={"type": "worker", "index": 1}, rpc_layer="grpc")
    one = config({"worker": ["a:1"]}, task={"type": "worker", "index": 0})
    found = []
    for text in (None, two, one, config({"worker": ["a:1"]}), "{}"):
        with environment(TF_CONFIG=text):
            found += [*_said(Resolver()), Resolver().rpc_layer]
            given = Resolver("worker", 0, "http", "here")
            found += [*_said(given), given.rpc_layer]
    return found


@plain(RESOLVERS + "UnionResolver", "joins jobs")
def _(tf):
    r = tf.distribute.cluster_resolver

    def simple(cluster, **more):
        return r.SimpleClusterResolver(tf.train.ClusterSpec(cluster), **more)

    first = simple({"worker": ["a:1"]}, task_type="worker", task_id=0, rpc_layer="grpc")
    both = r.UnionResolver(first, simple({"worker": ["b:1"], "ps": ["c:1"]}))
    sparse = r.UnionResolver(first, simple({"worker": {3: "d:1"}}), task_type="ps", task_id=2)
    return [*_said(both), both.rpc_layer, *_said(sparse)]


raises(
    RESOLVERS + "UnionResolver",
    "of none",
    "At least one ClusterResolver is required.",
    lambda tf: tf.distribute.cluster_resolver.UnionResolver(),
)
raises(
    RESOLVERS + "SimpleClusterResolver",
    "of a dict",
    "cluster_spec must be a `tf.train.ClusterSpec`.",
    lambda tf: tf.distribute.cluster_resolver.SimpleClusterResolver({"worker": ["a:1"]}),
)


@plain(TPU_RESOLVER, "of this machine and of addresses")
def _(tf):
    found = []
    for name in ("local", "grpc://10.0.0.1:8470", "grpc://a:1,b:2"):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name)
        found += [
            resolver.master(),
            resolver.get_master(),
            resolver.master("worker", 0),
            repr(resolver.cluster_spec()),
            resolver.task_type,
            resolver.task_id,
            resolver.environment,
            resolver.get_job_name(),
            resolver.num_accelerators(),
            resolver.tpu_hardware_feature,
        ]
    metadata = resolver.get_tpu_system_metadata()
    local = [each for each in metadata.devices if "localhost" in each.name]
    return [*found, metadata.num_cores, metadata.num_hosts, metadata.topology, str(local)]


@plain(TPU_RESOLVER, "gives way to the default strategy in a notebook")
def _(tf):
    with environment(TPU_NAME=None):
        try:
            tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
            tf.config.experimental_connect_to_cluster(tpu)
            tf.tpu.experimental.initialize_tpu_system(tpu)
            strategy = tf.distribute.TPUStrategy(tpu)
        except ValueError:
            strategy = tf.distribute.get_strategy()
    return strategy.num_replicas_in_sync


def without_name(function):
    """The function where no TPU is named."""

    def call(tf):
        with environment(TPU_NAME=None):
            return function(tf)

    return call


NO_NAME = "Please provide a TPU Name to connect to."
RESOLVER = without_name(lambda tf: tf.distribute.cluster_resolver.TPUClusterResolver())
raises(TPU_RESOLVER, "without a name", NO_NAME, RESOLVER)
raises(
    TPU_RESOLVER,
    "with an empty name",
    NO_NAME,
    lambda tf: tf.distribute.cluster_resolver.TPUClusterResolver(""),
)
INITIALIZE = "tf.tpu.experimental.initialize_tpu_system"
raises(
    INITIALIZE,
    "without TPUs",
    "TPUs not found in the cluster. Failed in initialization:",
    lambda tf: tf.tpu.experimental.initialize_tpu_system(
        tf.distribute.cluster_resolver.TPUClusterResolver("local")
    ),
)
raises(
    INITIALIZE,
    "without a name",
    NO_NAME,
    without_name(lambda tf: tf.tpu.experimental.initialize_tpu_system()),
)
raises(
    "tf.tpu.experimental.shutdown_tpu_system",
    "without TPUs",
    "'ShutdownDistributedTPU'",
    lambda tf: tf.tpu.experimental.shutdown_tpu_system(
        tf.distribute.cluster_resolver.TPUClusterResolver("local")
    ),
)
for name in ("tf.distribute.TPUStrategy", "tf.distribute.experimental.TPUStrategy"):

    def strategy_of(tf, name=name):
        return (
            tf.distribute.experimental.TPUStrategy if "exp" in name else tf.distribute.TPUStrategy
        )

    raises(
        name,
        "without cores",
        "index 0 is out of bounds",
        lambda tf, of=strategy_of: of(tf)(
            tf.distribute.cluster_resolver.TPUClusterResolver("local")
        ),
    )
    raises(name, "without a name", NO_NAME, without_name(lambda tf, of=strategy_of: of(tf)()))


@plain("tf.distribute.TPUStrategy", "is a strategy that the current one is not")
def _(tf):
    kind = tf.distribute.TPUStrategy
    return [
        issubclass(kind, tf.distribute.Strategy),
        isinstance(tf.distribute.get_strategy(), kind),
        isinstance(tf.distribute.MirroredStrategy(["/cpu:0"]), kind),
    ]
