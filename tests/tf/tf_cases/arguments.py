"""Arguments that change the answer: encodings and their mistakes, checks, axes, algorithms."""

from __future__ import annotations

from corpus import plain, raises

# ---- code points ---------------------------------------------------------------------------------

_TEXT = "h\u00e9\U0001f600\x01"


def _lists(tf, value):
    """Ragged tensors as lists, strings as their bytes' numbers: some are no texts."""
    if isinstance(value, tuple):
        return [_lists(tf, each) for each in value]
    value = value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy()
    return _numbers(value if isinstance(value, (list, bytes)) else value.tolist())


def _numbers(value):
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return list(value) if isinstance(value, bytes) else value


for _encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):

    @plain(
        ("tf.strings.unicode_decode", "tf.strings.unicode_split", "tf.strings.unicode_transcode"),
        f"argument encoding {_encoding}",
    )
    def _(tf, encoding=_encoding):
        text = _TEXT.encode(encoding.lower())
        cut = text + b"\xd8"
        return [
            _lists(tf, each)
            for each in (
                tf.strings.unicode_decode(cut, encoding),
                tf.strings.unicode_decode([text, b""], encoding),
                tf.strings.unicode_decode(cut, encoding, "ignore"),
                tf.strings.unicode_decode_with_offsets(cut, encoding, "ignore"),
                tf.strings.unicode_decode_with_offsets([text, b""], encoding),
                tf.strings.unicode_split([text], encoding),
                tf.strings.unicode_split_with_offsets([text, text], encoding),
                tf.strings.unicode_encode([104, 233, 0x1F600], encoding),
                tf.strings.unicode_transcode([text, b"a"], encoding, "UTF-16-BE"),
                tf.strings.unicode_transcode(b"h\xc3\xa9\xff\x02", "UTF-8", encoding),
            )
        ]


@plain("tf.strings.unicode_decode", "argument bytes as characters")
def _(tf):
    return [_lists(tf, tf.strings.unicode_decode(b"h\xc3\xa9", e)) for e in ("US-ASCII", "latin1")]


@plain("tf.strings.unicode_decode", "argument control characters")
def _(tf):
    text, how = b"a\x05b\xff", {"replace_control_characters": True}
    return [
        _lists(tf, each)
        for each in (
            tf.strings.unicode_decode(text, "UTF-8", **how),
            tf.strings.unicode_decode([text], "UTF-8", "ignore", **how),
            tf.strings.unicode_decode([text[:3]], "UTF-8", "strict", **how),
            tf.strings.unicode_decode_with_offsets(text, "UTF-8", replacement_char=65, **how),
            tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", **how),
            tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", "ignore", **how),
        )
    ]


@plain("tf.strings.unicode_encode", "argument errors")
def _(tf):
    codes = [65, 0xD800, 0x110000, -1, 66]
    return [
        _lists(tf, each)
        for each in (
            tf.strings.unicode_encode(codes, "UTF-8"),
            tf.strings.unicode_encode(codes, "UTF-8", "ignore"),
            tf.strings.unicode_encode([codes, codes], "UTF-16-BE", replacement_char=0x1F600),
            tf.strings.unicode_encode(codes, "UTF-8", replacement_char=0xD800),
        )
    ]


for _what, _words, _call in (
    ("encode strict", "out of range", lambda s: s.unicode_encode([0xD800], "UTF-8", "strict")),
    ("decode strict", "formatting", lambda s: s.unicode_decode(b"\xff", "UTF-8", "strict")),
    (
        "transcode a control character",
        "formatting",
        lambda s: s.unicode_transcode(
            b"\x01", "UTF-8", "UTF-8", "strict", replace_control_characters=True
        ),
    ),
    (
        "transcode strict",
        "formatting",
        lambda s: s.unicode_transcode(b"\xff", "UTF-8", "UTF-8", "strict"),
    ),
    ("errors", "'errors' allowed", lambda s: s.unicode_decode(b"a", "UTF-8", "bogus")),
    ("errors of encode", "'errors' allowed", lambda s: s.unicode_encode([65], "UTF-8", "bogus")),
    ("encoding", "converter", lambda s: s.unicode_decode(b"a", "bogus")),
    ("output encoding", "'output_encoding' allowed", lambda s: s.unicode_encode([65], "bogus")),
    (
        "replacement",
        "replacement_char range",
        lambda s: s.unicode_decode(b"a", "UTF-8", replacement_char=-1),
    ),
    ("unit of length", "'unit' allowed", lambda s: s.length("abc", unit="BOGUS")),
    ("unit of substr", "'unit' allowed", lambda s: s.substr("abc", 0, 1, unit="BOGUS")),
):
    raises(
        "tf.strings.unicode_decode",
        f"argument {_what}",
        _words,
        lambda tf, call=_call: call(tf.strings),
    )

raises("tf.pad", "argument mode", "mode BOGUS", lambda tf: tf.pad([1.0], [[1, 1]], mode="bogus"))


# ---- algorithms ----------------------------------------------------------------------------------


@plain("tf.random.stateless_uniform", "argument algorithms")
def _(tf):
    out = []
    for alg in ("philox", "auto_select", 1, 3, tf.random.Algorithm.PHILOX):
        out += [
            tf.random.stateless_uniform([2], [1, 2], alg=alg),
            tf.random.stateless_uniform([2], [1, 2], 0, 100, tf.int32, alg=alg),
            tf.random.fold_in([1, 2], 5, alg=alg),
            tf.random.split([1, 2], 2, alg=alg),
            tf.random.experimental.stateless_shuffle(tf.range(5), [1, 2], alg=alg),
            tf.random.Generator.from_seed(3, alg=alg).normal([2]),
            tf.random.create_rng_state(3, alg),
        ]
    return out


for _symbol, _call in (
    ("stateless_uniform", lambda r, alg: r.stateless_uniform([2], [1, 2], alg=alg)),
    ("stateless_normal", lambda r, alg: r.stateless_normal([2], [1, 2], alg=alg)),
    (
        "stateless_truncated_normal",
        lambda r, alg: r.stateless_truncated_normal([2], [1, 2], alg=alg),
    ),
    ("split", lambda r, alg: r.split([1, 2], alg=alg)),
    ("fold_in", lambda r, alg: r.fold_in([1, 2], 3, alg=alg)),
    ("Generator", lambda r, alg: r.Generator.from_seed(1, alg=alg)),
    ("create_rng_state", lambda r, alg: r.create_rng_state(1, alg)),
):
    raises(
        f"tf.random.{_symbol}",
        "argument alg",
        "alg bogus philox threefry",
        lambda tf, call=_call: call(tf.random, "bogus"),
    )
raises(
    "tf.random.stateless_uniform",
    "argument alg threefry",
    "",
    lambda tf: tf.random.stateless_uniform([2], [1, 2], alg="threefry"),
)
raises(
    "tf.random.Generator",
    "argument alg threefry",
    "ThreeFry",
    lambda tf: tf.random.Generator.from_seed(1, alg="threefry").normal([2]),
)


# ---- rows and places -----------------------------------------------------------------------------


@plain("tf.RaggedTensor", "argument axis and validate")
def _(tf):
    rows = tf.RaggedTensor.from_row_splits(tf.zeros([3, 2, 4]), [0, 2, 2, 3])
    loose = tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 1, 3], validate=False)
    values = tf.RaggedTensor.from_row_splits([1, 2, 3, 4], [0, 1, 3, 4])
    return [
        *(_lists(tf, rows.row_lengths(axis)) for axis in (0, 1, 2, 3, -1, -2)),
        loose.row_splits,
        *(_lists(tf, each) for each in (values[0:3], values[1:], values[:-1], values[2:1])),
        tf.function(
            lambda x, splits: tf.RaggedTensor.from_row_splits(x, splits).row_lengths(),
            input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None], tf.int64)],
        )(tf.zeros([3]), tf.constant([0, 2, 3], tf.int64)),
    ]


def _in_a_function(tf, splits):
    call = tf.function(
        lambda x, at: tf.RaggedTensor.from_row_splits(x, at).row_lengths(),
        input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None], tf.int64)],
    )
    return call(tf.zeros([3]), tf.constant(splits, tf.int64))


for _what, _splits in (("order", [0, 2, 1, 3]), ("first", [1, 3]), ("last", [0, 2])):
    raises(
        "tf.RaggedTensor",
        f"argument validate {_what}",
        "do not form a valid RaggedTensor",
        lambda tf, splits=_splits: tf.RaggedTensor.from_row_splits([1, 2, 3], splits),
    )
    raises(
        "tf.RaggedTensor",
        f"argument validate {_what} in a function",
        "do not form a valid RaggedTensor",
        lambda tf, splits=_splits: _in_a_function(tf, splits),
    )
raises(
    "tf.RaggedTensor",
    "argument axis out of bounds",
    "axis=3 out of bounds",
    lambda tf: tf.RaggedTensor.from_row_splits([[1]], [0, 1]).row_lengths(3),
)


def _sparse(tf, indices):
    return tf.SparseTensor(indices, [1.0] * len(indices), [3, 2])


@plain("tf.sparse.to_dense", "argument validate_indices")
def _(tf):
    loose = tf.SparseTensor([[2, 0], [0, 1], [0, 1]], [1.0, 2.0, 3.0], [3, 2])
    words = tf.SparseTensor([[0, 1], [2, 0]], ["a", "b"], [3, 2])
    return [
        tf.sparse.to_dense(loose, validate_indices=False),
        tf.sparse.to_dense(loose, 7.0, validate_indices=False),
        tf.sparse.to_dense(words),
        tf.sparse.to_dense(words, "none"),
        tf.sparse.to_dense(tf.sparse.from_dense(tf.zeros([2, 0]))),
        tf.function(lambda x: tf.sparse.to_dense(x))(_sparse(tf, [[0, 1], [2, 0]])),
    ]


for _what, _indices in (
    ("order", [[2, 0], [0, 1]]),
    ("repeated", [[0, 1], [0, 1]]),
    ("bounds", [[0, 5]]),
):
    raises(
        "tf.sparse.to_dense",
        f"argument validate {_what}",
        "indices",
        lambda tf, indices=_indices: tf.sparse.to_dense(_sparse(tf, indices)),
    )
    raises(
        "tf.sparse.to_dense",
        f"argument validate {_what} in a function",
        "indices",
        lambda tf, indices=_indices: tf.function(tf.sparse.to_dense)(_sparse(tf, indices)),
    )


# ---- shapes, dtypes and modes --------------------------------------------------------------------


@plain("tf.math.accumulate_n", "argument shape and dtype")
def _(tf):
    ones = [tf.ones([2]), tf.ones([2])]
    return [
        tf.math.accumulate_n(ones, shape=[2], tensor_dtype=tf.float32),
        tf.math.accumulate_n(ones[:1]),
    ]


for _what, _words, _arguments in (
    ("shape", "not compatible", {"shape": [3]}),
    ("dtype", "tensor_dtype", {"tensor_dtype": "int32"}),
):
    raises(
        "tf.math.accumulate_n",
        f"argument {_what} of others",
        _words,
        lambda tf, more=_arguments: tf.math.accumulate_n([tf.ones([2]), tf.ones([2])], **more),
    )
raises("tf.math.accumulate_n", "argument none", "", lambda tf: tf.math.accumulate_n([]))
for _mode in ("aggregation", "synchronization"):
    raises(
        "tf.Variable",
        f"argument {_mode}",
        f"{_mode} bogus",
        lambda tf, mode=_mode: tf.Variable(1.0, **{mode: "bogus"}),
    )

# ---- control flow --------------------------------------------------------------------------------

_LOOPS = {
    "while_loop": lambda tf, x, **how: tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), x], **how
    )[1],
    "map_fn": lambda tf, x, **how: tf.map_fn(lambda a: a * a, tf.stack([x, 3.0 * x]), **how),
    "foldl": lambda tf, x, **how: tf.foldl(lambda a, b: a * b, tf.stack([x, 3.0 * x]), **how),
    "foldr": lambda tf, x, **how: tf.foldr(lambda a, b: a * b, tf.stack([x, 3.0 * x]), **how),
    "scan": lambda tf, x, **how: tf.scan(lambda a, b: a * b, tf.stack([x, 3.0 * x]), **how),
}
for _name, _loop in _LOOPS.items():

    @plain(f"tf.{_name}", "argument back_prop")
    def _(tf, loop=_loop):
        def gradient(x, back_prop):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = loop(tf, x, back_prop=back_prop)
            slope = tape.gradient(y, x)
            return y, tf.constant(-1.0) if slope is None else slope

        x = tf.constant(2.0)
        return [tf.function(gradient)(x, back) for back in (True, False)] + [gradient(x, False)]


@plain("tf.case", "argument exclusive and strict")
def _(tf):
    def pairs(*truths):
        return [(tf.constant(t), lambda k=k: [tf.constant(k)]) for k, t in enumerate(truths)]

    return [
        tf.case(pairs(False, True), exclusive=True),
        tf.case(pairs(False, True), strict=True),
        tf.function(lambda: tf.case(pairs(False, True), exclusive=True))(),
        tf.case(pairs(True, False), default=lambda: tf.constant(7), exclusive=True),
    ]


for _kind in ("at once", "in a function"):
    raises(
        "tf.case",
        f"argument exclusive, two hold, {_kind}",
        "exclusive",
        lambda tf, wrapped=_kind == "in a function": (tf.function if wrapped else lambda f: f)(
            lambda: tf.case(
                [(tf.constant(True), lambda k=k: tf.constant(k)) for k in (1, 2)],
                default=lambda: tf.constant(3),
                exclusive=True,
            )
        )(),
    )

# ---- shapes that are known late ------------------------------------------------------------------


def _asserted(tf, shapes, unknown=None, **how):
    spec = [tf.TensorSpec(unknown, tf.float32)]

    def check(x):
        tf.debugging.assert_shapes([(x, shapes), (tf.zeros([3]), ("N",))], **how)
        return tf.shape(x)

    return tf.function(check, input_signature=spec)


@plain("tf.debugging.assert_shapes", "argument shapes at run time")
def _(tf):
    return [
        _asserted(tf, ("M", "N"), [None, None])(tf.zeros([2, 3])),
        _asserted(tf, ("*", "N"))(tf.zeros([4, 2, 3])),
        _asserted(tf, ("*", 2, "."))(tf.zeros([2, 5])),
    ]


for _what, _shapes, _given in (
    ("size", ("M", "N"), [2, 4]),
    ("number", (3, None), [2, 3]),
    ("rank", ("M", "N"), [3]),
    ("least rank", ("*", 1, "N"), [3]),
):
    raises(
        "tf.debugging.assert_shapes",
        f"argument shapes at run time, {_what}",
        "",
        lambda tf, shapes=_shapes, given=_given: _asserted(tf, shapes)(tf.zeros(given)),
    )
raises(
    "tf.debugging.assert_shapes",
    "argument data at run time",
    "hello",
    lambda tf: _asserted(tf, ("N", "M"), [None, 2], data=["hello", 3])(tf.zeros([2, 2])),
)
raises(
    "tf.debugging.assert_shapes",
    "argument shapes, any number last",
    "",
    lambda tf: tf.debugging.assert_shapes([(tf.zeros([2, 3]), (2, "*"))]),
)

# ---- parts, days and devices ---------------------------------------------------------------------


@plain(
    ("tf.zeros_initializer", "tf.ones_initializer", "tf.random_uniform_initializer"),
    "argument partition_shape",
)
def _(tf):
    part = {"partition_shape": [2], "partition_offset": [1]}
    return [
        tf.zeros_initializer()([4], tf.float32, **part),
        tf.ones_initializer()([4], tf.float32, **part),
        tf.shape(tf.random_uniform_initializer()([4], tf.float32, **part)),
        tf.shape(tf.random_normal_initializer()([4], tf.float32, **part)),
    ]


raises(
    "tf.zeros_initializer",
    "argument that is unknown",
    "partition_shape",
    lambda tf: tf.zeros_initializer()([2], tf.float32, foo=3),
)
raises(
    "tf.constant_initializer",
    "argument partition_shape",
    "partition",
    lambda tf: tf.constant_initializer(3)([4], tf.float32, partition_shape=[2]),
)
raises(
    "tf.Variable",
    "argument variable_def",
    "variable_def",
    lambda tf: tf.Variable(1.0, variable_def=object()),
)
raises(
    "tf.config.experimental.get_device_details",
    "argument that is no device",
    "PhysicalDevice",
    lambda tf: tf.config.experimental.get_device_details("x"),
)


@plain(("tf.compat.forward_compatible", "tf.compat.forward_compatibility_horizon"), "argument days")
def _(tf):
    with tf.compat.forward_compatibility_horizon(2030, 1, 1):
        inside = tf.compat.forward_compatible(2029, 12, 31)
    days = ((2019, 1, 1), (2026, 1, 15), (2026, 1, 16), (2100, 1, 1))
    return tf.constant([inside, *(tf.compat.forward_compatible(*day) for day in days)])


@plain("tf.Graph", "argument add_shapes")
def _(tf):
    specs = tf.TensorSpec([2, 3]), tf.TensorSpec([3, None])
    graph = tf.function(tf.matmul).get_concrete_function(*specs).graph
    nodes = [n for n in graph.as_graph_def(add_shapes=True).node if n.op == "MatMul"]
    return tf.constant(
        [[d.size for d in n.attr["_output_shapes"].list.shape[0].dim] for n in nodes]
    )
