"""Strategies on one device: what they run, reduce and say."""

from corpus import plain


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
