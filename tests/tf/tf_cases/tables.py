"""Tables from keys to values."""

from __future__ import annotations

from corpus import plain, raises


def _words(tf, **options):
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], **options)
    return tf.lookup.KeyValueTensorInitializer(keys, values)


@plain(("tf.lookup.StaticHashTable", "tf.lookup.KeyValueTensorInitializer"), "of words and numbers")
def _(tf):
    words = tf.lookup.StaticHashTable(_words(tf), -1)
    numbers = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], tf.int64), tf.constant(["x", "y"])),
        "none",
    )

    @tf.function
    def ten(x):
        return words.lookup(x) * 10

    data = tf.data.Dataset.from_tensor_slices(["a", "c"]).map(words.lookup)
    return [
        words.lookup(tf.constant([["b", "z"]])),
        words.size(),
        numbers.lookup(tf.constant([1, 5], tf.int64)),
        ten(tf.constant(["a", "q"])),
        list(data),
    ]


@plain("tf.lookup.StaticVocabularyTable", "of words")
def _(tf):
    table = tf.lookup.StaticVocabularyTable(_words(tf, dtype=tf.int64), 3)
    return [table.lookup(tf.constant(["b", "q", "r", "s"])), table.size()]


@plain("tf.lookup.experimental.MutableHashTable", "that changes")
def _(tf):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
    table.insert(tf.constant(["a", "b"]), tf.constant([5, 6], tf.int64))
    table.insert(tf.constant(["a"]), tf.constant([7], tf.int64))
    before = table.lookup(tf.constant(["a", "b", ""]))
    table.remove(tf.constant(["b", "z"]))
    vectors = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, -1.0])
    many = tf.range(100, dtype=tf.int64)
    vectors.insert(many, tf.stack([tf.cast(many, tf.float32), tf.ones([100])], 1))
    return [
        before,
        table.size(),
        list(table.export()),
        vectors.lookup(tf.constant([[99], [100]], tf.int64)),
        vectors.size(),
    ]


raises(
    "tf.lookup.StaticHashTable",
    "keys of another dtype",
    "keys",
    lambda tf: tf.lookup.StaticHashTable(_words(tf), -1).lookup(tf.constant([1])),
)


@plain("tf.lookup.KeyValueTensorInitializer", "takes the dtypes that tensors of its lists have")
def _(tf):
    of_words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    of_numbers = tf.lookup.KeyValueTensorInitializer([1, 2], [0.5, 1.5])
    return [
        of_words.value_dtype.name,
        of_numbers.key_dtype.name,
        tf.lookup.StaticHashTable(of_words, -1).lookup(tf.constant(["b", "z"])),
        tf.lookup.StaticHashTable(of_numbers, 0.0).lookup(tf.constant([2, 5])),
    ]
