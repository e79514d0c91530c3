"""Strategies on one device: what they run, reduce and say."""

from corpus import plain, raises
from tf_cases.clusters import environment


@plain("tf.distribute.MirroredStrategy", "of one device")
def _(tf):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        v.assign_add(x)
        return tf.reduce_sum(v * x)

    first = strategy.run(step, args=(tf.constant([1.0, 3.0]),))
    second = strategy.run(step, args=(tf.constant([2.0, 0.5]),))
    return [
        strategy.num_replicas_in_sync,
        strategy.reduce(tf.distribute.ReduceOp.SUM, first, axis=None),
        strategy.reduce(tf.distribute.ReduceOp.MEAN, second, axis=None),
        v.numpy(),
    ]


@plain("tf.distribute.ReduceOp.SUM", "over an axis")
def _(tf):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    return [
        tf.distribute.ReduceOp.SUM.name,
        tf.distribute.ReduceOp.MEAN.name,
        strategy.reduce(tf.distribute.ReduceOp.SUM, x, axis=0),
        strategy.reduce("mean", x, axis=0),
        strategy.reduce("SUM", x, axis=None),
    ]


@plain("tf.distribute.get_strategy", "outside and inside a scope")
def _(tf):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    outside = tf.distribute.get_strategy()
    with strategy.scope():
        inside = tf.distribute.get_strategy()
    return [
        outside.num_replicas_in_sync,
        inside is strategy,
        tf.distribute.get_strategy() is outside,
        tf.distribute.has_strategy(),
    ]


def _strategies(tf):
    yield tf.distribute.MirroredStrategy(["/cpu:0"])
    yield tf.distribute.OneDeviceStrategy("/cpu:0")
    with environment(TF_CONFIG=None):
        yield tf.distribute.MultiWorkerMirroredStrategy()
    yield tf.distribute.get_strategy()


@plain("tf.distribute.InputContext", "says which part it is")
def _(tf):
    context = tf.distribute.InputContext(
        num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=4
    )
    alone = tf.distribute.InputContext()
    return [
        context.num_input_pipelines,
        context.input_pipeline_id,
        context.num_replicas_in_sync,
        context.get_per_replica_batch_size(8),
        str(context),
        [alone.num_input_pipelines, alone.input_pipeline_id, alone.num_replicas_in_sync],
        alone.get_per_replica_batch_size(7),
        str(alone),
    ]


raises(
    "tf.distribute.InputContext",
    "of a batch that cannot be shared",
    "The `global_batch_size` 7 is not divisible by `num_replicas_in_sync` 4",
    lambda tf: tf.distribute.InputContext(2, 1, 4).get_per_replica_batch_size(7),
)


@plain(
    ("tf.distribute.InputContext", "tf.distribute.DistributedDataset", "tf.distribute.Strategy"),
    "given to the function of a dataset",
)
def _(tf):
    def make(context):
        size = context.get_per_replica_batch_size(4)
        numbers = tf.data.Dataset.range(8)
        return numbers.shard(context.num_input_pipelines, context.input_pipeline_id).batch(size)

    found = []
    for strategy in _strategies(tf):
        dataset = strategy.distribute_datasets_from_function(make)
        found += [part.numpy() for part in dataset]
        is_default = strategy is tf.distribute.get_strategy()
        found.append(isinstance(dataset, tf.distribute.DistributedDataset) is not is_default)
    return found


@plain(
    ("tf.distribute.DistributedDataset", "tf.distribute.DistributedIterator"),
    "of a dataset, in a function",
)
def _(tf):
    found = []
    for strategy in _strategies(tf):
        dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(2))

        @tf.function
        def total(iterator, strategy=strategy):
            return strategy.run(lambda x: tf.reduce_sum(x) * 2, args=(next(iterator),))

        iterator = iter(dataset)
        found += [total(iterator), total(iterator), iterator.get_next()]
        found += [iterator.get_next_as_optional().has_value(), str(iterator.element_spec)]
        is_default = strategy is tf.distribute.get_strategy()
        found.append(isinstance(iterator, tf.distribute.DistributedIterator) is not is_default)
    return found


@plain(
    (
        "tf.distribute.MultiWorkerMirroredStrategy",
        "tf.distribute.experimental.MultiWorkerMirroredStrategy",
    ),
    "of one worker",
)
def _(tf):
    found = []
    for make in (
        tf.distribute.MultiWorkerMirroredStrategy,
        tf.distribute.experimental.MultiWorkerMirroredStrategy,
    ):
        with environment(TF_CONFIG=None):
            strategy = make()
            resolver = strategy.cluster_resolver
            found += [repr(resolver.cluster_spec()), resolver.task_type, resolver.task_id]
            found.append(type(resolver).__name__)
        with strategy.scope():
            v = tf.Variable([1.0, 2.0])
            w = tf.Variable(3, trainable=False)

        @tf.function
        def step(x, v=v, w=w, strategy=strategy):
            def replica(x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(v * v * x)
                (gradient,) = tape.gradient(loss, [v])
                context = tf.distribute.get_replica_context()
                v.assign_sub(0.1 * context.all_reduce("SUM", gradient))
                w.assign_add(1)
                return loss

            losses = strategy.run(replica, args=(x,))
            return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

        found += [step(tf.constant([1.0, 3.0])), step(tf.constant([2.0, 0.5]))]
        found += [v.numpy(), w.numpy(), strategy.num_replicas_in_sync]
        found += [strategy.extended.variable_created_in_scope(v), v.device]
        found.append(strategy.extended.variable_created_in_scope(tf.Variable(1.0)))
        found.append(isinstance(strategy, tf.distribute.MirroredStrategy))
    return found


@plain(("tf.distribute.MultiWorkerMirroredStrategy", "tf.distribute.Strategy"), "puts side by side")
def _(tf):
    def replica():
        context = tf.distribute.get_replica_context()
        x = tf.constant([1.0, 2.0])
        return [
            context.all_reduce(tf.distribute.ReduceOp.SUM, x),
            context.all_reduce("mean", {"a": x, "b": [x + 1.0]}),
            context.all_gather(x, axis=0),
            context.all_gather({"a": x}, axis=0),
            context.replica_id_in_sync_group,
            context.num_replicas_in_sync,
        ]

    found = []
    for strategy in _strategies(tf):
        x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
        found += [strategy.run(replica), tf.function(lambda s=strategy: s.run(replica))()]
        found += [strategy.gather(x, axis=1), strategy.experimental_local_results(x)]
        found += [strategy.reduce("MEAN", x, axis=1), strategy.reduce("SUM", x, axis=(0, 1))]
        made = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant([context.replica_id_in_sync_group, 4])
        )
        found += [strategy.experimental_local_results(made)[0]]
        found += [strategy.run(lambda v: v + 1, args=(made,))]
    return found


raises(
    "tf.distribute.Strategy",
    "asked for another reduction",
    "'MAX' is not a valid ReduceOp",
    lambda tf: tf.distribute.MirroredStrategy(["/cpu:0"]).reduce("MAX", tf.ones([2]), axis=None),
)


@plain("tf.distribute.OneDeviceStrategy", "runs there")
def _(tf):
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
        inside = [tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context()]
    out = strategy.run(lambda x: v.assign_add(x).read_value(), args=(tf.constant([1.0, 1.0]),))
    return [out, *inside, strategy.num_replicas_in_sync, strategy.extended.worker_devices]


raises(
    "tf.distribute.OneDeviceStrategy",
    "of no device",
    "Unknown attribute 'oven",
    lambda tf: tf.distribute.OneDeviceStrategy("/oven:7"),
)


@plain(
    (
        "tf.distribute.experimental.CommunicationOptions",
        "tf.distribute.experimental.CommunicationImplementation",
    ),
    "keep what they are given",
)
def _(tf):
    kinds = tf.distribute.experimental.CommunicationImplementation
    make = tf.distribute.experimental.CommunicationOptions
    default = make()
    given = make(bytes_per_pack=50, timeout_seconds=120.0, implementation="ring")
    with environment(TF_CONFIG=None):
        strategy = tf.distribute.MultiWorkerMirroredStrategy(
            communication_options=make(implementation=kinds.RING)
        )
    return [
        [kind.name for kind in kinds],
        [default.bytes_per_pack, default.timeout_seconds, default.implementation.value],
        [given.bytes_per_pack, given.timeout_seconds, given.implementation is kinds.RING],
        strategy.num_replicas_in_sync,
    ]


raises(
    "tf.distribute.experimental.CommunicationOptions",
    "of fewer than no bytes",
    "Argument `bytes_per_pack` must be >=0, Received -1.",
    lambda tf: tf.distribute.experimental.CommunicationOptions(bytes_per_pack=-1),
)


@plain(
    (
        "tf.distribute.InputOptions",
        "tf.distribute.RunOptions",
        "tf.distribute.InputReplicationMode",
    ),
    "keep what they are given",
)
def _(tf):
    modes = tf.distribute.InputReplicationMode
    given = tf.distribute.InputOptions(
        experimental_fetch_to_device=False, experimental_replication_mode=modes.PER_REPLICA
    )
    return [
        repr(tf.distribute.InputOptions()),
        repr(given),
        repr(tf.distribute.RunOptions()),
        [mode.value for mode in modes],
    ]


CROSS = ["HierarchicalCopyAllReduce", "NcclAllReduce", "ReductionToOneDevice", "CrossDeviceOps"]


@plain(tuple("tf.distribute." + name for name in CROSS), "of one device")
def _(tf):
    found = []
    for name in CROSS:
        made = getattr(tf.distribute, name)()
        x = tf.constant([1.0, 2.0])
        found += [made.reduce(tf.distribute.ReduceOp.SUM, x, "/cpu:0")]
        found += [made.reduce("mean", x, "/cpu:0"), made.broadcast(x, "/cpu:0")]
        found += [made.batch_reduce("SUM", [(x, "/cpu:0"), (x + 1, "/cpu:0")])]
        strategy = tf.distribute.MirroredStrategy(["/cpu:0"], cross_device_ops=made)
        found += [strategy.run(lambda x: x * 2, args=(x,))]
    return found


raises(
    "tf.distribute.HierarchicalCopyAllReduce",
    "of fewer than no packs",
    "HierarchicalCopy requires num_packs >= 0, but -1 is specified",
    lambda tf: tf.distribute.HierarchicalCopyAllReduce(num_packs=-1),
)


@plain(
    (
        "tf.distribute.get_replica_context",
        "tf.distribute.in_cross_replica_context",
        "tf.distribute.has_strategy",
        "tf.distribute.experimental_set_strategy",
    ),
    "in and around replicas",
)
def _(tf):
    d = tf.distribute
    strategy = d.MirroredStrategy(["/cpu:0"])

    def where():
        context = d.get_replica_context()
        return [
            d.has_strategy(),
            d.in_cross_replica_context(),
            context is None,
            context is not None and context.strategy is strategy,
        ]

    def merged(got, value):
        return [*where(), got is strategy, value]

    found = [where(), strategy.run(where)]
    with strategy.scope():
        v = tf.Variable(1.0)
        found += [where(), strategy.run(where)]
        strategy.extended.update(v, lambda v: found.append([v.numpy(), *where()]))
    found.append(strategy.run(lambda: d.get_replica_context().merge_call(merged, args=(3,))))
    with d.get_strategy().scope():
        found.append(where())
    d.experimental_set_strategy(strategy)
    try:
        found.append(where())
    finally:
        d.experimental_set_strategy(None)
    return [*found, where()]


@plain("tf.distribute.DistributedValues", "of a function of replicas")
def _(tf):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    made = strategy.experimental_distribute_values_from_function(
        lambda context: (context.replica_id_in_sync_group, tf.constant([1.0, 2.0]))
    )
    return [
        isinstance(made[1], tf.distribute.DistributedValues),
        strategy.experimental_local_results(made[1]),
        strategy.run(lambda pair: pair[1] * 2.0, args=(made,)),
        strategy.run(lambda x: x + 1.0, kwargs={"x": made[1]}),
        strategy.reduce("SUM", made[1], axis=None),
        strategy.reduce("MEAN", made[1], axis=0),
        strategy.gather(made[1], axis=0),
        repr(made[0]),
    ]


for name, call in {
    "run": lambda strategy: strategy.run(lambda: 1),
    "reduce": lambda strategy: strategy.reduce("SUM", 1.0, axis=None),
    "gather": lambda strategy: strategy.gather([1.0], axis=0),
}.items():
    raises(
        "tf.distribute.Strategy",
        f"asked to {name} by a replica",
        "in cross-replica context",
        lambda tf, call=call: (lambda s: s.run(lambda: call(s)))(
            tf.distribute.MirroredStrategy(["/cpu:0"])
        ),
    )
raises(
    "tf.distribute.Strategy",
    "within another",
    "Mixing different tf.distribute.Strategy objects",
    lambda tf: _mixed(tf),
)


def _mixed(tf):
    with (
        tf.distribute.MirroredStrategy(["/cpu:0"]).scope(),
        tf.distribute.OneDeviceStrategy("/cpu:0").scope(),
    ):
        pass
