"""Layers of TensorFlow 1, feature columns as inputs, and ways to bring such models along."""

from corpus import plain, raises

V1 = "tf.compat.v1"
FC = "tf.feature_column"


def in_session(of, what, **bounds):
    """A case whose graph is run in a session of its own, after the initializers."""

    def wrap(function):
        def case(tf):
            v1 = tf.compat.v1
            with tf.Graph().as_default(), v1.Session() as session:
                made = function(tf, v1)
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                names = [(v.name, v.shape.as_list()) for v in v1.global_variables()]
                return [session.run(made), names]

        plain(of, what, **bounds)(case)
        return function

    return wrap


def _numbers(tf, *shape):
    size = 1
    for each in shape:
        size *= each
    return tf.reshape(tf.range(size, dtype=tf.float32) * 0.1 - 0.5, shape)


def _kernel(tf):
    """An initializer of fixed numbers, whatever the shape."""
    return lambda shape, dtype=None, partition_info=None: tf.math.sin(_numbers(tf, *shape) * 3.0)


@in_session(f"{V1}.layers.dense", "two layers, an activation, regularizers")
def _(tf, v1):
    x = _numbers(tf, 4, 3)
    hidden = v1.layers.dense(x, 5, activation=tf.nn.relu, kernel_initializer=_kernel(tf))
    out = v1.layers.dense(
        hidden,
        2,
        use_bias=True,
        kernel_initializer=_kernel(tf),
        bias_initializer=v1.constant_initializer(0.5),
        kernel_regularizer=lambda w: tf.reduce_sum(w * w),
        name="out",
    )
    again = v1.layers.dense(hidden, 2, name="out", reuse=True)
    return [hidden, out, again, v1.losses.get_regularization_loss()]


@in_session(f"{V1}.layers.dense", "of three axes, without a bias")
def _(tf, v1):
    x = _numbers(tf, 2, 3, 4)
    return v1.layers.dense(x, 2, use_bias=False, kernel_initializer=_kernel(tf), trainable=False)


raises(
    f"{V1}.layers.dense",
    "an unknown size",
    "",
    lambda tf: _placed(tf, lambda v1, x: v1.layers.dense(x, 3)),
)


def _placed(tf, function):
    with tf.Graph().as_default():
        return function(tf.compat.v1, tf.compat.v1.placeholder(tf.float32, [None, None]))


for options in (
    {},
    {"padding": "same", "strides": 2},
    {"dilation_rate": (2, 1), "use_bias": False},
):

    @in_session(f"{V1}.layers.conv2d", f"with {', '.join(options) or 'nothing else'}")
    def _(tf, v1, options=options):
        x = _numbers(tf, 2, 6, 5, 2)
        return v1.layers.conv2d(x, 3, 3, kernel_initializer=_kernel(tf), **options)


@in_session(f"{V1}.layers.conv2d", "a small network of the guides")
def _(tf, v1):
    x = _numbers(tf, 2, 8, 8, 1)
    net = v1.layers.conv2d(x, 4, [3, 3], activation=tf.nn.relu, kernel_initializer=_kernel(tf))
    net = v1.layers.max_pooling2d(net, 2, 2)
    net = v1.layers.flatten(net)
    net = v1.layers.dropout(net, 0.4, training=False)
    net = v1.layers.batch_normalization(net, training=False)
    return v1.layers.dense(net, 3, kernel_initializer=_kernel(tf), name="logits")


@in_session(f"{V1}.layers.Conv2D", "called twice")
def _(tf, v1):
    layer = v1.layers.Conv2D(
        filters=2, kernel_size=(2, 3), strides=(2, 1), kernel_initializer=_kernel(tf), name="c"
    )
    first = layer(_numbers(tf, 1, 5, 5, 2))
    return [first, layer.apply(_numbers(tf, 2, 4, 4, 2)), layer.kernel, layer.bias]


@in_session(f"{V1}.layers.flatten", "of several ranks")
def _(tf, v1):
    x = _numbers(tf, 2, 3, 2)
    first = v1.layers.flatten(x, data_format="channels_first")
    return [v1.layers.flatten(x), first, v1.layers.flatten(_numbers(tf, 3))]


@in_session(f"{V1}.layers.dropout", "off, on with a rate of zero, and what is left")
def _(tf, v1):
    x = tf.ones([40, 50])
    y = v1.layers.dropout(x, 0.25, seed=3, training=True)
    kept = tf.reduce_mean(tf.cast(y > 0, tf.float32))
    return [
        v1.layers.dropout(x[:2, :3], 0.5),
        v1.layers.dropout(x[:2, :3], 0.0, training=True),
        tf.reduce_max(y),
        tf.abs(kept - 0.75) < 0.05,
        v1.layers.dropout(x, 0.5, noise_shape=[40, 1], training=True)[:, 0] >= 0,
    ]


# ---- feature columns -----------------------------------------------------------------------------


def _batch(tf):
    return {
        "age": tf.constant([20.0, 35.0, 51.0]),
        "pair": tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "city": tf.constant(["rome", "oslo", "bern"]),
        "words": tf.sparse.SparseTensor(
            [[0, 0], [0, 1], [2, 0]], tf.constant(["a", "b", "a"]), [3, 2]
        ),
        "n": tf.constant([1, 4, 2], tf.int64),
        "weight": tf.sparse.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, 3.0], [3, 2]),
    }


def _columns(tf):
    fc = tf.feature_column
    age = fc.numeric_column("age")
    city = fc.categorical_column_with_vocabulary_list("city", ["oslo", "rome"])
    words = fc.categorical_column_with_hash_bucket("words", 10)
    buckets = fc.bucketized_column(age, [18, 30, 50])
    return {
        "numeric": age,
        "normalized": fc.numeric_column("age", normalizer_fn=lambda x: (x - 30.0) / 10.0),
        "pair": fc.numeric_column("pair", shape=(2,)),
        "buckets": buckets,
        "buckets_of_two": fc.bucketized_column(fc.numeric_column("pair", shape=2), [1.5, 4.0]),
        "city": city,
        "city_beyond": fc.categorical_column_with_vocabulary_list(
            "city", ["oslo", "rome"], num_oov_buckets=3
        ),
        "city_default": fc.categorical_column_with_vocabulary_list(
            "city", ["oslo", "rome"], default_value=1
        ),
        "numbers": fc.categorical_column_with_vocabulary_list("n", [4, 2, 7]),
        "words": words,
        "hashed_numbers": fc.categorical_column_with_hash_bucket("n", 7, dtype=tf.int64),
        "identity": fc.categorical_column_with_identity("n", 5),
        "identity_default": fc.categorical_column_with_identity("n", 3, default_value=0),
        "crossed": fc.crossed_column(["city", buckets], 20),
        "crossed_texts": fc.crossed_column(["city", "words"], 11, hash_key=7),
        "weighted": fc.weighted_categorical_column(words, "weight"),
    }


DENSE = ("numeric", "normalized", "pair", "buckets", "buckets_of_two")
SPARSE = {
    "city": "categorical_column_with_vocabulary_list",
    "city_beyond": "categorical_column_with_vocabulary_list",
    "city_default": "categorical_column_with_vocabulary_list",
    "numbers": "categorical_column_with_vocabulary_list",
    "words": "categorical_column_with_hash_bucket",
    "hashed_numbers": "categorical_column_with_hash_bucket",
    "identity": "categorical_column_with_identity",
    "identity_default": "categorical_column_with_identity",
    "crossed": "crossed_column",
    "crossed_texts": "crossed_column",
    "weighted": "weighted_categorical_column",
    "buckets": "bucketized_column",
}

for name in DENSE:
    what = "bucketized_column" if name.startswith("buckets") else "numeric_column"

    @in_session(f"{FC}.{what}", f"as an input, {name}")
    def _(tf, v1, name=name):
        column = _columns(tf)[name]
        return [v1.feature_column.input_layer(_batch(tf), [column]), tf.constant(column.name)]


for name, function in SPARSE.items():

    @in_session((f"{FC}.{function}", f"{FC}.indicator_column"), f"as counts, {name}")
    def _(tf, v1, name=name):
        column = tf.feature_column.indicator_column(_columns(tf)[name])
        return [v1.feature_column.input_layer(_batch(tf), [column]), tf.constant(column.name)]

    @in_session((f"{FC}.{function}", f"{FC}.embedding_column"), f"as vectors, {name}")
    def _(tf, v1, name=name):
        columns = [
            tf.feature_column.embedding_column(
                _columns(tf)[name], 2, combiner, initializer=_kernel(tf)
            )
            for combiner in ("mean", "sum", "sqrtn")
        ]
        parts = []
        for column in columns:
            with v1.variable_scope(column.combiner):
                parts.append(v1.feature_column.input_layer(_batch(tf), column))
        return parts


@in_session((f"{FC}.numeric_column", f"{FC}.indicator_column"), "ordered by name")
def _(tf, v1):
    made, fc = _columns(tf), tf.feature_column
    columns = [made["pair"], fc.indicator_column(made["words"]), made["buckets"], made["numeric"]]
    return v1.feature_column.input_layer(_batch(tf), columns)


@in_session(f"{FC}.crossed_column", "in a linear model, trained")
def _(tf, v1):
    made = _columns(tf)
    columns = [made[name] for name in ("numeric", "buckets", "words", "crossed", "city")]
    logits = v1.feature_column.linear_model(_batch(tf), columns)
    loss = tf.reduce_mean((logits - [[1.0], [2.0], [3.0]]) ** 2)
    gradients = v1.gradients(loss, v1.trainable_variables())
    return [logits, loss, [tf.convert_to_tensor(g) for g in gradients]]


@plain(f"{FC}.make_parse_example_spec", "of every column")
def _(tf):
    made, fc = _columns(tf), tf.feature_column
    chosen = [made[n] for n in ("numeric", "pair", "city", "words", "weighted", "crossed", "n")
              if n in made]  # fmt: skip
    chosen += [fc.indicator_column(made["identity"]), fc.embedding_column(made["city"], 2)]
    spec = fc.make_parse_example_spec(chosen)
    other = fc.make_parse_example_spec([fc.numeric_column("x", (2,), default_value=1.5)])
    return [
        {key: [type(v).__name__, v.dtype] for key, v in spec.items()},
        list(other["x"].shape),
        list(other["x"].default_value),
    ]


@plain(f"{FC}.make_parse_example_spec", "to parse with")
def _(tf):
    fc = tf.feature_column
    spec = fc.make_parse_example_spec(
        [fc.numeric_column("x", (2,)), fc.categorical_column_with_hash_bucket("w", 5)]
    )
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0])),
        "w": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"u", b"v"])),
    }
    record = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    parsed = tf.io.parse_example([record], spec)
    return [parsed["x"], tf.sparse.to_dense(parsed["w"])]


for what, function in {
    "numeric_column": lambda tf: tf.feature_column.numeric_column("a", shape=(0,)),
    "categorical_column_with_vocabulary_list": lambda tf: (
        tf.feature_column.categorical_column_with_vocabulary_list("a", [])
    ),
    "categorical_column_with_hash_bucket": lambda tf: (
        tf.feature_column.categorical_column_with_hash_bucket("a", 0)
    ),
    "crossed_column": lambda tf: tf.feature_column.crossed_column(["a"], 10),
    "bucketized_column": lambda tf: tf.feature_column.bucketized_column(
        tf.feature_column.numeric_column("a"), [3, 1]
    ),
    "indicator_column": lambda tf: tf.compat.v1.feature_column.input_layer(
        _batch(tf), [_columns(tf)["city"]]
    ),
    "make_parse_example_spec": lambda tf: tf.feature_column.make_parse_example_spec(["a"]),
}.items():
    raises(f"{FC}.{what}", "a mistake", "", function)
