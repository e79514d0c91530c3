"""Strings: what is made of them, and ops that move them about."""

from __future__ import annotations

import numpy as np
from corpus import captured_stderr, case, i32, lit, plain, raises

TEXTS = lit(["Hello World", "", "naïve 🦆", " b\tc "], "object")
PAIRS = lit([["a", "bb"], ["", "dd"]], "object")
NUMBERS = lit(["1.5", " -2 ", "3e2"], "object")

case("tf.strings.length", "bytes", lambda tf, x: tf.strings.length(x), TEXTS)
case("tf.strings.length", "characters", lambda tf, x: tf.strings.length(x, "UTF8_CHAR"), TEXTS)
case("tf.strings.lower", "ascii", lambda tf, x: tf.strings.lower(x), TEXTS)
case("tf.strings.upper", "ascii", lambda tf, x: tf.strings.upper(x), TEXTS)
case("tf.strings.upper", "unicode", lambda tf, x: tf.strings.upper(x, "utf-8"), TEXTS)
case("tf.strings.strip", "", lambda tf, x: tf.strings.strip(x), TEXTS)
case("tf.strings.substr", "bytes", lambda tf, x: tf.strings.substr(x, 0, 4), TEXTS)
case(
    "tf.strings.substr",
    "places of their own",
    lambda tf, x: tf.strings.substr(x, [[1], [-2]], [[2], [9]]),
    lit(["abcdef", "ghij"], "object"),
)
case(
    "tf.strings.substr",
    "characters",
    lambda tf, x: tf.strings.substr(x, 2, 3, unit="UTF8_CHAR"),
    lit(["naïve", "🦆🦆🦆"], "object"),
)
case("tf.strings.join", "", lambda tf, x: tf.strings.join([x, "-", x], separator="/"), PAIRS)
case("tf.strings.reduce_join", "all", lambda tf, x: tf.strings.reduce_join(x), PAIRS)
case(
    "tf.strings.reduce_join",
    "axes",
    lambda tf, x: [
        tf.strings.reduce_join(x, 0, separator="+"),
        tf.strings.reduce_join(x, -1, keepdims=True),
        tf.strings.reduce_join(x, [0, 1]),
        tf.strings.reduce_join(x, [1, 0]),
    ],
    PAIRS,
)
case("tf.strings.to_number", "float", lambda tf, x: tf.strings.to_number(x), NUMBERS)
case(
    "tf.strings.to_number",
    "integer",
    lambda tf, x: [tf.strings.to_number(x, tf.int32), tf.strings.to_number(x, tf.int64)],
    lit(["12", "-7"], "object"),
)
case("tf.strings.as_string", "integers", lambda tf, x: tf.strings.as_string(x), i32(5))
case(
    ("tf.strings.as_string", "tf.as_string"),
    "formats",
    lambda tf, x: [
        tf.strings.as_string(x),
        tf.strings.as_string(x, precision=2),
        tf.strings.as_string(x, scientific=True),
        tf.strings.as_string(x, shortest=True),
        tf.as_string(x, precision=1, width=8, fill="0"),
        tf.as_string(x > 1),
        tf.as_string(tf.cast(x, tf.complex64)),
    ],
    lit([3.14159, -2.5e10]),
)
case("tf.strings.split", "words", lambda tf, x: tf.strings.split(x), lit("a b  c ", "object"))
case(
    "tf.strings.split",
    "separator",
    lambda tf, x: [tf.strings.split(x, ","), tf.strings.split(x, ",", maxsplit=1)],
    lit("a,b,,c", "object"),
)
case(
    ("tf.strings.split", "tf.RaggedTensor"),
    "rows",
    lambda tf, x: [
        tf.strings.split(x).values,
        tf.strings.split(x).row_splits,
        tf.strings.split(x).to_tensor(default_value="?"),
    ],
    lit(["hello world", "", "a b c"], "object"),
)
case(
    "tf.strings.to_hash_bucket_fast",
    "all lengths",
    lambda tf, x: tf.strings.to_hash_bucket_fast(x, 1 << 40),
    lit(["ab" * (k // 2) + "c" * (k % 2) for k in [*range(20), 31, 32, 33, 64, 65, 200]], "object"),
)
case(
    "tf.strings.to_hash_bucket_strong",
    "",
    lambda tf, x: tf.strings.to_hash_bucket_strong(x, 1000, [7, 9]),
    TEXTS,
)
case(
    "tf.strings.regex_replace",
    "classes",
    lambda tf, x: tf.strings.regex_replace(x, "[[:punct:]]", ""),
    lit(["Hello, World!", "a_b-c"], "object"),
)
case(
    "tf.strings.regex_replace",
    "groups",
    lambda tf, x: [
        tf.strings.regex_replace(x, r"(\w+) (\w+)", r"\2 \1"),
        tf.strings.regex_replace(x, "l", "L", replace_global=False),
    ],
    lit(["hello world", "a"], "object"),
)
case(
    "tf.strings.regex_full_match",
    "",
    lambda tf, x: tf.strings.regex_full_match(x, ".*lib$"),
    lit(["TF lib", "lib TF"], "object"),
)
case(
    ("tf.strings.unicode_decode", "tf.strings.unicode_split", "tf.strings.bytes_split"),
    "a string",
    lambda tf, x: [
        tf.strings.unicode_decode(x, "UTF-8"),
        tf.strings.unicode_split(x, "UTF-8"),
        tf.strings.bytes_split(tf.strings.substr(x, 0, 1)),
    ],
    lit("aヒ🦆", "object"),
    without="unknown",
    why="the rank has to be known",
)
case(
    ("tf.strings.unicode_decode", "tf.strings.unicode_split", "tf.strings.bytes_split"),
    "rows",
    lambda tf, x: [
        tf.strings.unicode_decode(x, "UTF-8").values,
        tf.strings.unicode_split(x, "UTF-8").row_splits,
        tf.strings.bytes_split(x[:1]).values,
    ],
    lit(["ab", "ヒ🦆"], "object"),
    vmap="its results are as long as the strings of both examples together",
)
case(
    "tf.strings.unicode_encode",
    "",
    lambda tf, x: [tf.strings.unicode_encode(x, "UTF-8"), tf.strings.unicode_encode(x[0], "UTF-8")],
    lit([[72, 105], [0x1F986, 0xE9]], "int32"),
)
case(
    "tf.strings.ngrams",
    "",
    lambda tf, x: [
        tf.strings.ngrams(x, 2),
        tf.strings.ngrams(x, [1, 2], pad_values="_"),
        tf.strings.ngrams(x, 5, preserve_short_sequences=True),
    ],
    lit(["a", "b", "c"], "object"),
    without="unknown",
    why="the last axis has to be known",
)
case(
    "tf.io.decode_raw",
    "",
    lambda tf, x: [tf.io.decode_raw(x, tf.uint8), tf.io.decode_raw(x, tf.int16, False)],
    lit(["abcd", "efgh"], "object"),
)
case(
    "tf.strings.format",
    "",
    lambda tf, x: tf.strings.format("{} and {}", (x, tf.range(10))),
    PAIRS,
    without="unknown",
    why="TensorFlow writes another text there",
)

# Ops that move or compare elements.
case(
    "tf.string",
    "is moved",
    lambda tf, x: [
        x[0],
        x[:, ::-1],
        x[tf.newaxis],
        tf.reshape(x, [-1]),
        tf.transpose(x),
        tf.concat([x, x], 1),
        tf.stack([x, x]),
        tf.unstack(x, num=2),
        tf.split(x, 2, axis=1),
        tf.gather(x, [1, 0, 1]),
        tf.gather_nd(x, [[0, 1]]),
        tf.tile(x, [1, 2]),
        tf.reverse(x, [0]),
        tf.pad(x, [[0, 1], [0, 0]]),
        tf.squeeze(tf.expand_dims(x, 0), 0),
        tf.where(x == "a", x, "other"),
        tf.roll(x, 1, 0),
        tf.slice(x, [0, 1], [2, 1]),
        tf.tensor_scatter_nd_update(x, [[0]], [["p", "q"]]),
        tf.zeros_like(x),
        tf.repeat(x, 2, axis=0),
    ],
    lit([["a", "bb"], ["", "dd"]], "object"),
    without="unknown",
    why="TensorFlow cannot split or unstack there",
)
case(
    "tf.string",
    "is added and compared",
    lambda tf, x: [x + x, x + "!", "<" + x, x == x[0], x != "a", tf.equal(x[0], x[1])],
    PAIRS,
)
case(
    ("tf.unique", "tf.unique_with_counts"),
    "of strings",
    lambda tf, x: [tf.unique(x), tf.unique_with_counts(x)],
    lit(["b", "a", "b", "", "a"], "object"),
)


@plain("tf.string", "fill one_hot broadcast_to zeros boolean_mask")
def _(tf):
    return [
        tf.fill([2], "q"),
        tf.one_hot([0, 2], 2, on_value="on", off_value="off"),
        tf.broadcast_to("a", [2]),
        tf.zeros([2], tf.string),
        tf.boolean_mask(["a", "b"], [False, True]),
        tf.map_fn(lambda s: s + "!", tf.constant(["a", "b"])),
    ]


@plain("tf.raw_ops.Unique", "of numbers")
def _(tf):
    return [
        tf.raw_ops.Unique(x=tf.constant(x), out_idx=dtype)
        for x, dtype in [
            ([3, 1, 3, 2, 1], tf.int32),
            ([0.0, -0.0, 1.5, float("nan"), 1.5], tf.int64),
            ([True, True, False], tf.int32),
            (np.array([], "int64"), tf.int32),
        ]
    ]


@plain("tf.function", "of strings")
def _(tf):
    traces = []

    @tf.function
    def greet(name):
        traces.append(name)
        text = tf.strings.join(["hello", name], " ")
        if tf.strings.length(name) > 3:
            text += "!"
        for part in tf.strings.split(name, "-"):
            text = text + "," + part
        return text

    return [greet(tf.constant("bob")), greet(tf.constant("ali-ce")), len(traces)]


@plain("tf.print", "strings in functions")
def _(tf):
    @tf.function
    def show(x):
        tf.print("a", x, tf.stack([x, x]))
        tf.print(x)

    with captured_stderr() as text:
        show(tf.constant("text"))
    return text()


@plain("tf.data.Dataset.from_tensor_slices", "of strings")
def _(tf):
    data = tf.data.Dataset.from_tensor_slices(["a b", "c"])
    lengths = data.map(lambda s: (tf.strings.upper(s), tf.strings.length(s)))
    return [list(data.batch(2)), list(lengths.batch(2)), list(data.as_numpy_iterator())]


raises(
    "tf.strings.to_number",
    "no number",
    "could not correctly convert string: abc",
    lambda tf: tf.strings.to_number("abc"),
)
raises(
    "tf.strings.substr",
    "out of range",
    "pos 5 out of range",
    lambda tf: tf.strings.substr("abc", 5, 1),
)
raises("tf.strings.join", "shapes", "", lambda tf: tf.strings.join([["a", "b"], ["c"]]))
raises("tf.string", "is not multiplied", "", lambda tf: tf.constant("a") * tf.constant("b"))
raises("tf.constant", "mixed types", "mixed types", lambda tf: tf.constant(["a", 1]))
