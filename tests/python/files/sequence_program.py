"""Sequence examples, parsed by the `tf` that it is given: TensorFlow's and mica.tf's."""


def _feature(tf, values):
    if not values:
        return tf.train.Feature()
    lists = {
        int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
        float: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
        bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
    }
    return lists[type(values[0])](values)


def message(tf, context, lists) -> bytes:
    """A SequenceExample."""
    features = {key: _feature(tf, values) for key, values in context.items()}
    steps = {
        key: tf.train.FeatureList(feature=[_feature(tf, values) for values in step])
        for key, step in lists.items()
    }
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=features),
        feature_lists=tf.train.FeatureLists(feature_list=steps),
    ).SerializeToString()


def messages(tf) -> list:
    first = {"i": [[0, 1], [2, 3], [4, 5]], "w": [[b"x"], [], [b"y", b"z"]], "f": [[0.5], [1.5]]}
    return [
        message(tf, {"n": [3], "t": [b"ab", b"c"]}, first),
        message(tf, {"n": [1]}, {"i": [[7, 8]], "w": [], "f": []}),
        message(tf, {"n": [2], "t": [b"q"]}, {"i": [], "f": [[2.5]]}),
    ]


def specs(tf) -> dict:
    """Features of the context and of the steps."""
    io, i, f, s = tf.io, tf.int64, tf.float32, tf.string
    steps, ragged = io.FixedLenSequenceFeature, io.RaggedFeature
    n = {"n": io.FixedLenFeature([], i)}
    numbers = {"i": steps([2], i), "w": io.VarLenFeature(s)}
    may_be_missing = {
        "w": io.VarLenFeature(s),
        "z": steps([2], f, allow_missing=True),
        "zz": io.VarLenFeature(i),
        "zr": ragged(i, row_splits_dtype=i),
    }
    return {
        "fixed and sparse": (n, numbers),
        "ragged": ({**n, "t": io.VarLenFeature(s)}, {"f": steps([], f), "w": ragged(s)}),
        "ragged context": ({"r": ragged(s, "t")}, {"r": ragged(s, "w", row_splits_dtype=i)}),
        "missing": (n, may_be_missing),
        "steps alone": (None, numbers),
        "context alone": (n, None),
        "required": (n, {"missing": steps([], s)}),
        "of another size": (n, {"i": steps([], i)}),
        "of another dtype": (n, {"i": steps([2], f)}),
        "no sequence feature": (n, {"i": io.FixedLenFeature([2], i)}),
        "nothing": (None, {}),
    }


def plain(tf, value):
    """A value as JSON has it."""
    if isinstance(value, (tuple, list)):
        return [plain(tf, part) for part in value]
    if isinstance(value, dict):
        return {key: plain(tf, value[key]) for key in sorted(value)}
    if isinstance(value, tf.RaggedTensor):
        return ["ragged", str(value.to_list()), str(value.shape), value.row_splits.dtype.name]
    if isinstance(value, tf.SparseTensor):
        parts = (value.indices, value.values, value.dense_shape)
        return ["sparse", *(str(part.numpy().tolist()) for part in parts)]
    return [str(value.numpy().tolist()), value.dtype.name, str(value.shape)]


def results(tf) -> dict:
    """What is found by each way, or the class of the error."""
    texts, found = messages(tf), {}
    data = tf.data.Dataset.from_tensor_slices(texts)

    def note(name, function):
        try:
            found[name] = plain(tf, function())
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            found[name] = type(error).__name__

    for name, (context, steps) in specs(tf).items():

        def one(text, context=context, steps=steps):
            return tf.io.parse_single_sequence_example(text, context, steps)

        def many(texts, context=context, steps=steps):
            return tf.io.parse_sequence_example(texts, context, steps)

        note(f"{name}: all", lambda many=many: many(texts))
        for i, text in enumerate(texts):
            note(f"{name}: {i}", lambda one=one, text=text: one(text))
        note(f"{name}: mapped", lambda one=one: list(data.map(one)))
        note(f"{name}: batches", lambda many=many: list(data.batch(2).map(many)))
    note("damaged", lambda: tf.io.parse_sequence_example([b"\xff\xff"], *specs(tf)["missing"]))
    return found
