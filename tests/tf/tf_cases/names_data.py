"""Names of tf.data, tf.io, tf.train and tf.summary, used as TensorFlow's guides use them."""

import os
import tempfile

from corpus import plain, raises

D = "tf.data.Dataset"


def spec_of(spec):
    """The text of a spec: shapes and dtypes."""
    if isinstance(spec, dict):
        return {k: spec_of(spec[k]) for k in sorted(spec)}
    if isinstance(spec, (tuple, list)):
        return [spec_of(each) for each in spec]
    return f"{spec.dtype.name} {spec.shape}"


def all_of(dataset):
    return [list(dataset), spec_of(dataset.element_spec), dataset.cardinality()]


def in_a_folder(function):
    """A case that is given a folder of its own too."""

    def case(tf):
        with tempfile.TemporaryDirectory() as folder:
            return function(tf, folder)

    return case


def written(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text)
    return path


# ---- sources -------------------------------------------------------------------------------------


@plain(f"{D}.from_tensors", "a pair")
def _(tf):
    return all_of(tf.data.Dataset.from_tensors(([1, 2, 3], {"a": "x", "b": 2.5})))


@plain(f"{D}.from_tensors", "a tensor, repeated and batched")
def _(tf):
    return all_of(tf.data.Dataset.from_tensors(tf.ones([2, 3])).repeat(3).batch(2))


@plain(f"{D}.from_tensors", "a ragged and a sparse tensor")
def _(tf):
    sparse = tf.sparse.SparseTensor([[0, 1]], [5], [2, 3])
    made = tf.data.Dataset.from_tensors((tf.ragged.constant([[1, 2], [3]]), sparse))
    (ragged, sparse), *rest = list(made)
    return [ragged.to_list(), tf.sparse.to_dense(sparse), len(rest)]


for arguments in [(5,), (2, 5), (1, 5, 2), (5, 1), (5, 1, -2), (0,)]:

    @plain(f"{D}.range", f"of {' '.join(map(str, arguments))}")
    def _(tf, arguments=arguments):
        return all_of(tf.data.Dataset.range(*arguments))


@plain(f"{D}.range", "of floats")
def _(tf):
    return all_of(tf.data.Dataset.range(2, 5, output_type=tf.float32))


raises(f"{D}.range", "of nothing", "", lambda tf: tf.data.Dataset.range())


@plain(f"{D}.zip", "a pair, the shorter ends it")
def _(tf):
    a, b = tf.data.Dataset.range(1, 4), tf.data.Dataset.range(4, 9).batch(2)
    return [all_of(tf.data.Dataset.zip(a, b)), all_of(tf.data.Dataset.zip((b, a)))]


@plain(f"{D}.zip", "a structure")
def _(tf):
    a, b = tf.data.Dataset.range(1, 4), tf.data.Dataset.from_tensor_slices(["x", "y"])
    return all_of(tf.data.Dataset.zip({"a": a, "pair": (b, a)}))


raises(f"{D}.zip", "a list", "", lambda tf: tf.data.Dataset.zip([tf.data.Dataset.range(2), [1, 2]]))


@plain(f"{D}.from_generator", "with a signature")
def _(tf):
    def count(stop):
        yield from range(stop)

    made = tf.data.Dataset.from_generator(
        count, args=[4], output_signature=tf.TensorSpec(shape=(), dtype=tf.int32)
    )
    return all_of(made.repeat().batch(3).take(4))


@plain(f"{D}.from_generator", "with types and shapes")
def _(tf):
    def series():
        for i in range(3):
            yield i, [1.5] * i

    made = tf.data.Dataset.from_generator(
        series, output_types=(tf.int32, tf.float32), output_shapes=((), (None,))
    )
    return [all_of(made), list(made.padded_batch(3))]


@plain(f"{D}.from_generator", "ragged rows and dicts")
def _(tf):
    signature = {
        "rows": tf.RaggedTensorSpec(shape=(2, None), dtype=tf.int32),
        "name": tf.TensorSpec((), tf.string),
    }
    made = tf.data.Dataset.from_generator(
        lambda: iter([{"rows": tf.ragged.constant([[1, 2], [3]]), "name": "a"}]),
        output_signature=signature,
    )
    return [[e["rows"].to_list(), e["name"]] for e in made]


raises(
    f"{D}.from_generator",
    "an element of another shape",
    "",
    lambda tf: list(
        tf.data.Dataset.from_generator(
            lambda: [[1, 2]], output_signature=tf.TensorSpec((3,), tf.int32)
        )
    ),
)
raises(
    f"{D}.from_generator",
    "no signature",
    "",
    lambda tf: tf.data.Dataset.from_generator(lambda: [1]),
)


@plain("tf.data.TextLineDataset", "files one after the other")
@in_a_folder
def _(tf, folder):
    files = [
        written(folder, "a.txt", b"first\n\nthird"),
        written(folder, "b.txt", b"fourth\r\nfifth\n"),
    ]
    both = tf.data.TextLineDataset(files)
    skipped = both.skip(1).filter(lambda line: tf.strings.length(line) > 0)
    return [all_of(both), list(skipped), spec_of(both.element_spec)]


@plain("tf.data.TextLineDataset", "interleaved, and a compressed file")
@in_a_folder
def _(tf, folder):
    import gzip

    files = [written(folder, f"{name}.txt", f"{name}1\n{name}2\n".encode()) for name in "ab"]
    turns = tf.data.Dataset.from_tensor_slices(files).interleave(
        tf.data.TextLineDataset, cycle_length=2, num_parallel_calls=tf.data.AUTOTUNE
    )
    packed = written(folder, "c.gz", gzip.compress(b"x\ny\n"))
    return [list(turns), list(tf.data.TextLineDataset(packed, compression_type="GZIP"))]


raises(
    "tf.data.TextLineDataset",
    "no such file",
    "",
    lambda tf: list(tf.data.TextLineDataset("/nowhere/at/all.txt")),
)


@plain(f"{D}.list_files", "by a pattern, in order")
@in_a_folder
def _(tf, folder):
    for name in ("b.txt", "a.txt", "c.csv", "d/e.txt"):
        written(folder, name, name.encode())
    made = tf.data.Dataset.list_files(os.path.join(folder, "*.txt"), shuffle=False)
    names = made.map(lambda path: tf.strings.split(path, os.sep)[-1])
    texts = made.map(tf.io.read_file)
    several = tf.data.Dataset.list_files(
        [os.path.join(folder, "*.csv"), os.path.join(folder, "*", "*.txt")], shuffle=False
    )
    return [list(names), list(texts), made.cardinality(), len(list(several))]


@plain(f"{D}.list_files", "shuffled with a seed")
@in_a_folder
def _(tf, folder):
    for name in "abcdef":
        written(folder, name, b"")
    made = tf.data.Dataset.list_files(os.path.join(folder, "*"), seed=3)
    return sorted(os.path.basename(path.numpy()).decode() for path in made)


raises(
    f"{D}.list_files",
    "none matches",
    "No files matched pattern",
    lambda tf: tf.data.Dataset.list_files("/nowhere/at/all/*.txt"),
)


@plain(("tf.data.AUTOTUNE", "tf.data.experimental.AUTOTUNE"), "in calls and buffers")
def _(tf):
    made = tf.data.Dataset.range(6).map(lambda x: x * x, num_parallel_calls=tf.data.AUTOTUNE)
    made = made.batch(4, num_parallel_calls=tf.data.experimental.AUTOTUNE)
    return [
        tf.data.AUTOTUNE,
        tf.data.experimental.AUTOTUNE,
        *all_of(made.prefetch(tf.data.AUTOTUNE)),
    ]


@plain("tf.data.experimental.cardinality", "known, unknown, infinite")
def _(tf):
    of = tf.data.experimental.cardinality
    made = tf.data.Dataset.range(7)
    kinds = [made, made.batch(2), made.filter(lambda x: x > 2), made.repeat(), made.take(0)]
    return [
        *[of(each) for each in kinds],
        of(kinds[2]) == tf.data.experimental.UNKNOWN_CARDINALITY,
        of(kinds[3]) == tf.data.experimental.INFINITE_CARDINALITY,
        len(made),
    ]


@plain("tf.data.Iterator", "of a dataset")
def _(tf):
    iterator = iter(tf.data.Dataset.range(3))
    first = iterator.get_next()
    optional = iterator.get_next_as_optional()
    rest = list(iterator)
    return [
        isinstance(iterator, tf.data.Iterator),
        isinstance(iter([1]), tf.data.Iterator),
        first,
        optional.get_value(),
        rest,
        spec_of(iterator.element_spec),
    ]


raises(
    "tf.data.Iterator",
    "past the end",
    "",
    lambda tf: next(iter(tf.data.Dataset.range(0))),
)


@plain(
    ("tf.data.experimental.AutoShardPolicy.DATA", "tf.data.experimental.AutoShardPolicy.OFF"),
    "in options",
)
def _(tf):
    policy, out = tf.data.experimental.AutoShardPolicy, []
    for each in (policy.DATA, policy.OFF, policy.AUTO, policy.FILE, policy.HINT):
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = each
        made = tf.data.Dataset.range(3).with_options(options)
        kept = made.options().experimental_distribute.auto_shard_policy
        out += [each.name, int(each.value), kept == each, list(made)]
    return out


@plain("tf.data", "a pipeline of its own")
def _(tf):
    features = {"a": [1.0, 2.0, 3.0, 4.0, 5.0], "b": ["u", "v", "w", "x", "y"]}
    made = tf.data.Dataset.from_tensor_slices((features, [0, 1, 0, 1, 1]))
    made = made.cache().shuffle(1).repeat(2).batch(4, drop_remainder=True)
    made = made.map(lambda x, y: ({**x, "c": x["a"] * 2}, y), tf.data.AUTOTUNE)
    return all_of(made.prefetch(1))


# ---- files ---------------------------------------------------------------------------------------


@plain("tf.io.read_file", "text and bytes")
@in_a_folder
def _(tf, folder):
    path = written(folder, "a.txt", "höhe\n".encode())
    text = tf.io.read_file(path)
    again = tf.function(tf.io.read_file)(tf.constant(path))
    empty = tf.io.read_file(written(folder, "none", b""))
    return [text, again, empty, tf.strings.length(text, "UTF8_CHAR"), text.shape.as_list()]


raises("tf.io.read_file", "no such file", "", lambda tf: tf.io.read_file("/nowhere/a"))


@plain(("tf.io.gfile.makedirs", "tf.io.gfile.listdir", "tf.io.gfile.rmtree"), "a tree")
@in_a_folder
def _(tf, folder):
    gfile = tf.io.gfile
    top = os.path.join(folder, "top")
    gfile.makedirs(os.path.join(top, "a", "b"))
    gfile.makedirs(os.path.join(top, "a", "b"))
    with gfile.GFile(os.path.join(top, "a", "file.txt"), "w") as file:
        file.write("one\ntwo\n")
    with gfile.GFile(os.path.join(top, "a", "file.txt")) as file:
        lines = list(file)
    found = [sorted(n.rstrip("/") for n in gfile.listdir(os.path.join(top, "a"))), lines]
    found += [gfile.exists(top), gfile.isdir(top), gfile.isdir(os.path.join(top, "a", "file.txt"))]
    gfile.rmtree(top)
    return [*found, gfile.exists(top), gfile.listdir(folder)]


raises("tf.io.gfile.listdir", "no such folder", "", lambda tf: tf.io.gfile.listdir("/nowhere/a"))
raises("tf.io.gfile.rmtree", "no such folder", "", lambda tf: tf.io.gfile.rmtree("/nowhere/a"))
raises(
    "tf.io.gfile.makedirs",
    "below a file",
    "",
    lambda tf: in_a_folder(
        lambda tf, folder: tf.io.gfile.makedirs(written(folder, "file", b"") + "/a")
    )(tf),
)


@plain("tf.image.decode_png", "of two bit depths and channels")
def _(tf):
    image = tf.reshape(tf.range(24) * 10, [2, 4, 3])
    coded = tf.io.encode_png(tf.cast(image, tf.uint8))
    deep = tf.io.encode_png(tf.cast(image * 100, tf.uint16))
    return [
        tf.image.decode_png(coded),
        tf.image.decode_png(coded, channels=1),
        tf.image.decode_png(coded, channels=4),
        tf.image.decode_png(deep, dtype=tf.uint16),
    ]


raises("tf.image.decode_png", "no image", "", lambda tf: tf.image.decode_png(b"no image"))


# ---- examples ------------------------------------------------------------------------------------

PARTS = ("BytesList", "FloatList", "Int64List", "Feature", "Features")
MESSAGES = tuple(f"tf.train.{name}" for name in ("Example", *PARTS))


def bytes_feature(tf, *values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def float_feature(tf, *values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def int64_feature(tf, *values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(tf, n, words=(b"a", b"bc")):
    features = {
        "n": int64_feature(tf, n),
        "many": int64_feature(tf, *range(n)),
        "words": bytes_feature(tf, *words),
        "x": float_feature(tf, 0.5 * n, -1.25),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


@plain(MESSAGES, "made, written, read")
def _(tf):
    made = example(tf, 3)
    again = tf.train.Example.FromString(made.SerializeToString())
    feature = again.features.feature
    return [
        list(feature["n"].int64_list.value),
        list(feature["many"].int64_list.value),
        list(feature["words"].bytes_list.value),
        list(feature["x"].float_list.value),
        sorted(feature),
        feature["x"].WhichOneof("kind"),
        again == made,
        len(made.SerializeToString()),
        str(float_feature(tf, 2.5)),
    ]


raises(
    "tf.train.BytesList",
    "a text that is no bytes",
    "",
    lambda tf: tf.train.BytesList(value=["text"]),
)
raises("tf.train.Int64List", "a float", "", lambda tf: tf.train.Int64List(value=[1.5]))
raises("tf.train.Feature", "a name that is none", "", lambda tf: tf.train.Feature(double_list=None))


def parsers(tf):
    return {
        "n": tf.io.FixedLenFeature([], tf.int64),
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "absent": tf.io.FixedLenFeature([], tf.string, default_value="none"),
        "many": tf.io.VarLenFeature(tf.int64),
        "words": tf.io.RaggedFeature(tf.string),
    }


def shown(tf, parsed):
    return [
        parsed["n"],
        parsed["x"],
        parsed["absent"],
        tf.sparse.to_dense(parsed["many"]),
        parsed["words"].to_list() if hasattr(parsed["words"], "to_list") else parsed["words"],
    ]


@plain(("tf.io.parse_single_example", "tf.io.FixedLenFeature", "tf.io.RaggedFeature"), "of a map")
def _(tf):
    one = tf.io.parse_single_example(example(tf, 2).SerializeToString(), parsers(tf))
    records = [example(tf, n, [b"w"] * n).SerializeToString() for n in (1, 3)]
    made = tf.data.Dataset.from_tensor_slices(records)
    made = made.map(lambda record: tf.io.parse_single_example(record, parsers(tf)))
    return [shown(tf, one), *[shown(tf, each) for each in made]]


@plain(("tf.io.parse_example", "tf.io.FixedLenFeature", "tf.io.RaggedFeature"), "a batch")
def _(tf):
    records = [example(tf, n, [b"w"] * n).SerializeToString() for n in (1, 3, 0)]
    traced = tf.function(lambda r: tf.io.parse_example(r, parsers(tf)))(tf.constant(records))
    return [shown(tf, tf.io.parse_example(records, parsers(tf))), shown(tf, traced)]


raises(
    "tf.io.FixedLenFeature",
    "a required value that is not there",
    "",
    lambda tf: tf.io.parse_single_example(
        example(tf, 1).SerializeToString(), {"y": tf.io.FixedLenFeature([], tf.float32)}
    ),
)
raises(
    "tf.io.parse_single_example",
    "another dtype",
    "",
    lambda tf: tf.io.parse_single_example(
        example(tf, 1).SerializeToString(), {"n": tf.io.FixedLenFeature([], tf.float32)}
    ),
)
raises(
    "tf.io.parse_example",
    "no record",
    "",
    lambda tf: tf.io.parse_example(["no record"], parsers(tf)),
)


@plain("tf.io.TFRecordWriter", "written, read and parsed")
@in_a_folder
def _(tf, folder):
    path = os.path.join(folder, "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for n in range(4):
            writer.write(example(tf, n).SerializeToString())
        writer.flush()
    packed = os.path.join(folder, "b.tfrecord")
    options = tf.io.TFRecordOptions(compression_type="GZIP")
    with tf.io.TFRecordWriter(packed, options) as writer:
        writer.write(b"one")
    made = tf.data.TFRecordDataset([path]).map(
        lambda record: tf.io.parse_single_example(record, parsers(tf))["x"]
    )
    return [list(made), list(tf.data.TFRecordDataset(packed, "GZIP")), os.path.getsize(path)]


raises(
    "tf.io.TFRecordWriter",
    "no such folder",
    "",
    lambda tf: tf.io.TFRecordWriter("/nowhere/at/all.tfrecord"),
)


# ---- summaries -----------------------------------------------------------------------------------


def events(tf, folder):
    """What the files of events in a folder hold: step, tag and value."""
    found = []
    for name in sorted(os.listdir(folder)):
        for record in tf.data.TFRecordDataset(os.path.join(folder, name)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                plugin = value.metadata.plugin_data.plugin_name
                number = tf.make_ndarray(value.tensor) if plugin == "scalars" else None
                found.append([event.step, value.tag, plugin, number])
    return found


@plain(("tf.summary.create_file_writer", "tf.summary.scalar"), "in a loop and a function")
@in_a_folder
def _(tf, folder):
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        for step in range(2):
            tf.summary.scalar("loss", 0.5 * step, step=step)
        with tf.name_scope("inner"):
            tf.summary.scalar("rate", tf.constant(3), step=7, description="of learning")

    @tf.function
    def traced(x, step):
        with writer.as_default(step=step):
            tf.summary.scalar("sum", tf.reduce_sum(x))

    traced(tf.ones([3]), tf.constant(9, tf.int64))
    writer.close()
    return events(tf, folder)


@plain("tf.summary.scalar", "without a writer, and not every step")
@in_a_folder
def _(tf, folder):
    nowhere = tf.summary.scalar("a", 1.0, step=0)
    with tf.summary.create_file_writer(folder).as_default() as writer:
        for step in range(5):
            with tf.summary.record_if(step % 2 == 0):
                tf.summary.scalar("b", float(step), step=step)
        writer.flush()
    return [nowhere, events(tf, folder)]


raises(
    "tf.summary.scalar",
    "no scalar",
    "",
    lambda tf: in_a_folder(lambda tf, folder: _write(tf, folder, [1.0, 2.0], 0))(tf),
)
raises(
    "tf.summary.scalar",
    "no step",
    "step",
    lambda tf: in_a_folder(lambda tf, folder: _write(tf, folder, 1.0, None))(tf),
)


def _write(tf, folder, value, step):
    with tf.summary.create_file_writer(folder).as_default():
        tf.summary.scalar("a", value, step=step)


@plain(("tf.summary.trace_on", "tf.summary.trace_export"), "the graph of a function")
@in_a_folder
def _(tf, folder):
    @tf.function
    def traced(x):
        return tf.reduce_sum(x * 2.0)

    writer = tf.summary.create_file_writer(folder)
    tf.summary.trace_on(graph=True)
    result = traced(tf.ones([3]))
    with writer.as_default():
        tf.summary.trace_export(name="a_trace", step=0)
    writer.close()
    return [result, events(tf, folder)]


raises(
    "tf.summary.trace_export",
    "nothing was traced",
    "",
    lambda tf: in_a_folder(_export)(tf),
)


def _export(tf, folder):
    with tf.summary.create_file_writer(folder).as_default():
        tf.summary.trace_export(name="a", step=0)
