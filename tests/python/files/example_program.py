"""Examples, made and parsed by the `tf` that it is given: TensorFlow's and mica.tf's."""

import base64


def example(tf, **features):
    kinds = {
        bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
        float: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
        int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
    }
    made = {k: kinds[type(v[0])](v) if v else tf.train.Feature() for k, v in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made))


def examples(tf) -> list:
    return [
        example(tf, a=[1, 2, -3], b=[b"x", b""], c=[1.5], e=[]),
        example(tf, a=[4], b=[b"yy\0"], i=[3, 1], v=[0.5, 0.25]),
        tf.train.Example(),
    ]


def sequence(tf):
    steps = [tf.train.Feature(int64_list=tf.train.Int64List(value=[i])) for i in range(3)]
    return tf.train.SequenceExample(
        context=example(tf, n=[3]).features,
        feature_lists=tf.train.FeatureLists(
            feature_list={"steps": tf.train.FeatureList(feature=steps)}
        ),
    )


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if hasattr(value, "dense_shape"):
        return [plain(part) for part in (value.indices, value.values, value.dense_shape)]
    if hasattr(value, "row_splits"):
        return [plain(value.flat_values), plain(value.row_splits)]
    if hasattr(value, "numpy"):
        return [value.dtype.name, list(value.shape), plain(value.numpy().tolist())]
    return value


def specs(tf) -> list:
    """(What is parsed: one or several messages, by number; the features)."""
    io, i, f, s = tf.io, tf.int64, tf.float32, tf.string
    steps = io.FixedLenSequenceFeature
    return [
        (0, {"a": io.FixedLenFeature([3], i), "b": io.VarLenFeature(s)}),
        (0, {"zz": io.FixedLenFeature([], i, 7), "e": io.FixedLenFeature([], f, 2.0)}),
        (0, {"a": steps([], i, allow_missing=True), "r": io.RaggedFeature(s, value_key="b")}),
        (0, {"a": io.RaggedFeature(i)}),
        (1, {"s": io.SparseFeature("i", "v", f, 5)}),
        ([0, 2, 1], {"a": steps([], i, True, 9), "b": io.VarLenFeature(s)}),
        ([0, 2, 1], {"b": steps([], s, allow_missing=True)}),
        ([0, 1, 2], {"a": io.RaggedFeature(i), "b": io.RaggedFeature(s, row_splits_dtype=i)}),
        ([0, 2, 2], {"a": io.FixedLenFeature([3], i, [7, 8, 9]), "q": io.VarLenFeature(f)}),
        ([0], {"a": io.FixedLenFeature([1, 3], i), "b": io.FixedLenFeature([2], s, ["p", "q"])}),
        ([], {"a": io.FixedLenFeature([3], i), "b": io.VarLenFeature(s)}),
        ([1, 1], {"s": io.SparseFeature("i", "v", f, 5), "a": io.FixedLenFeature([], i)}),
    ]


def refused(tf) -> list:
    io, i, f = tf.io, tf.int64, tf.float32
    return [
        (0, {"zz": io.FixedLenFeature([3], i)}),
        (0, {"a": io.FixedLenFeature([2], i)}),
        (0, {"a": io.FixedLenFeature([3], f)}),
        (0, {"e": io.FixedLenFeature([], f)}),
        ([0, 2], {"a": io.FixedLenFeature([3], i)}),
        ([0], {"a": io.VarLenFeature(f)}),
        ([1], {"a": io.FixedLenSequenceFeature([2], i, allow_missing=True)}),
    ]


def parse(tf, texts: list, which, features):
    if isinstance(which, int):
        return tf.io.parse_single_example(texts[which], features)
    return tf.io.parse_example(tf.constant([texts[k] for k in which], tf.string), features)


def results(tf) -> dict:
    texts = [e.SerializeToString() for e in examples(tf)]
    return {
        "texts": [str(e) for e in (example(tf, b=[b"a\n\0\xff"]), sequence(tf))],
        "parsed": [plain(parse(tf, texts, *spec)) for spec in specs(tf)],
        "keys": [list(parse(tf, texts, *spec)) for spec in specs(tf)],
    }
