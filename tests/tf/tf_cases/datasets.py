"""Pipelines of tf.data: their elements, specs, cardinalities and errors."""

import os
import tempfile

from corpus import plain, raises

D = "tf.data.Dataset"
E = "tf.data.experimental"


def all_of(dataset):
    """Elements as lists, the spec as a text without names, the cardinality."""
    return [list(dataset), spec_of(dataset.element_spec), dataset.cardinality()]


def spec_of(spec):
    """The text of a spec: shapes and dtypes."""
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{k}: {spec_of(spec[k])}" for k in sorted(spec)) + "}"
    if isinstance(spec, tuple):
        return "(" + ", ".join(spec_of(s) for s in spec) + ")"
    if hasattr(spec, "element_spec"):
        return f"{type(spec).__name__} {spec_of(spec.element_spec)}"
    shape = spec.shape.as_list() if spec.shape.rank is not None else None
    more = f" ragged {spec.ragged_rank}" if hasattr(spec, "ragged_rank") else ""
    return f"{type(spec).__name__} {shape} {spec.dtype.name}{more}"


def numbers(tf, n=10):
    return tf.data.Dataset.range(n)


def lengths(tf, *sizes):
    """Vectors 1..n of these sizes."""
    return tf.data.Dataset.from_tensor_slices(list(sizes)).map(lambda n: tf.range(1, n + 1))


def case(of, what):
    """A pipeline whose elements, spec and cardinality are compared."""

    def wrap(make):
        plain(of, what)(lambda tf: all_of(make(tf)))
        return make

    return wrap


# ---- groups --------------------------------------------------------------------------------------


@case(f"{D}.group_by_window", "batches of a key")
def _(tf):
    return numbers(tf).group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), window_size=3)


@case(f"{D}.group_by_window", "with the key in the elements")
def _(tf):
    return numbers(tf, 7).group_by_window(
        lambda x: x % 3, lambda k, w: w.batch(2).map(lambda v: (k, v)), 2
    )


@case(f"{D}.group_by_window", "sizes by the key")
def _(tf):
    return numbers(tf, 12).group_by_window(
        lambda x: x % 2, lambda k, w: w.batch(9), window_size_func=lambda k: k + 2
    )


@case(f"{D}.group_by_window", "negative keys come first at the end")
def _(tf):
    return numbers(tf, 9).group_by_window(lambda x: 1 - x % 3, lambda k, w: w.batch(9), 100)


@case(f"{D}.group_by_window", "of tuples")
def _(tf):
    both = tf.data.Dataset.zip(numbers(tf, 6), numbers(tf, 6).map(lambda x: tf.cast(x, tf.float32)))
    return both.group_by_window(lambda x, y: x // 4, lambda k, w: w.batch(2), 3)


@case(f"{D}.group_by_window", "a window may become many elements or none")
def _(tf):
    return numbers(tf, 8).group_by_window(
        lambda x: x % 2, lambda k, w: w.repeat(k).map(lambda v: v * 10), 2
    )


@case(f"{D}.group_by_window", "nothing")
def _(tf):
    return numbers(tf, 0).group_by_window(lambda x: x, lambda k, w: w.batch(2), 2)


raises(
    f"{D}.group_by_window",
    "no size",
    "must be specified",
    lambda tf: numbers(tf).group_by_window(lambda x: x, lambda k, w: w),
)
raises(
    f"{D}.group_by_window",
    "no dataset",
    "reduce_func",
    lambda tf: numbers(tf).group_by_window(lambda x: x, lambda k, w: k, 2),
)
raises(
    f"{D}.group_by_window",
    "a key that is no scalar",
    "key_func",
    lambda tf: numbers(tf).group_by_window(lambda x: [x], lambda k, w: w, 2),
)
raises(
    f"{D}.group_by_window",
    "a size of zero",
    "greater than zero",
    lambda tf: list(numbers(tf).group_by_window(lambda x: x, lambda k, w: w, 0)),
)


@case(f"{E}.group_by_reducer", "sums of a key")
def _(tf):
    reducer = tf.data.experimental.Reducer(
        init_func=lambda _: (0.0, 0.0),
        reduce_func=lambda s, x: (s[0] + tf.cast(x, tf.float32), s[1] + 1.0),
        finalize_func=lambda total, n: total / n,
    )
    return numbers(tf).apply(tf.data.experimental.group_by_reducer(lambda x: x % 3, reducer))


@case(f"{E}.group_by_reducer", "a state that grows")
def _(tf):
    reducer = tf.data.experimental.Reducer(
        init_func=lambda k: tf.expand_dims(k, 0),
        reduce_func=lambda s, x: tf.concat([s, [x]], 0),
        finalize_func=lambda s: s,
    )
    return numbers(tf, 6).apply(tf.data.experimental.group_by_reducer(lambda x: x % 2, reducer))


LENGTHS = [1, 4, 3, 5, 6, 2]


@case(f"{D}.bucket_by_sequence_length", "padded to the longest")
def _(tf):
    return lengths(tf, *LENGTHS).bucket_by_sequence_length(
        lambda e: tf.shape(e)[0], bucket_boundaries=[3, 5], bucket_batch_sizes=[2, 2, 2]
    )


@case(f"{D}.bucket_by_sequence_length", "padded to the boundary")
def _(tf):
    return lengths(tf, 1, 4, 3, 2).bucket_by_sequence_length(
        lambda e: tf.shape(e)[0], [3, 6], [2, 2, 2], pad_to_bucket_boundary=True
    )


@case(f"{D}.bucket_by_sequence_length", "with a padding of its own, the remainder dropped")
def _(tf):
    return lengths(tf, *LENGTHS).bucket_by_sequence_length(
        lambda e: tf.shape(e)[0], [4], [2, 4], padding_values=-1, drop_remainder=True
    )


@case(f"{D}.bucket_by_sequence_length", "without padding")
def _(tf):
    return lengths(tf, 2, 2, 3, 3, 2).bucket_by_sequence_length(
        lambda e: tf.shape(e)[0], [3], [2, 2], no_padding=True
    )


@case(f"{D}.bucket_by_sequence_length", "of pairs")
def _(tf):
    pairs = lengths(tf, 1, 3, 2).map(lambda e: (e, tf.shape(e)[0]))
    return pairs.bucket_by_sequence_length(lambda e, n: n, [3], [2, 2])


raises(
    f"{D}.bucket_by_sequence_length",
    "sizes do not fit the boundaries",
    "must equal",
    lambda tf: lengths(tf, 1).bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3], [2]),
)
raises(
    f"{D}.bucket_by_sequence_length",
    "longer than the last boundary",
    "",
    lambda tf: list(
        lengths(tf, 9).bucket_by_sequence_length(
            lambda e: tf.shape(e)[0], [3], [2, 2], pad_to_bucket_boundary=True
        )
    ),
)


# ---- ragged, sparse, padded batches --------------------------------------------------------------


@plain(f"{D}.ragged_batch", "vectors")
def _(tf):
    made = lengths(tf, 1, 3, 0, 2, 2).ragged_batch(2)
    return [[e.to_list() for e in made], spec_of(made.element_spec), made.cardinality()]


@plain(f"{D}.ragged_batch", "the remainder dropped, int32 splits")
def _(tf):
    made = lengths(tf, 1, 3, 0).ragged_batch(2, drop_remainder=True, row_splits_dtype=tf.int32)
    return [[e.to_list() for e in made], spec_of(made.element_spec), next(iter(made)).row_splits]


@plain(f"{D}.ragged_batch", "matrices with one unknown size")
def _(tf):
    made = lengths(tf, 1, 2).map(lambda v: tf.stack([v, v], axis=1)).ragged_batch(2)
    return [[e.to_list() for e in made], spec_of(made.element_spec)]


@plain(f"{D}.ragged_batch", "matrices with two unknown sizes")
def _(tf):
    made = lengths(tf, 1, 3, 2).map(lambda v: v[:, None] * v[None, :]).ragged_batch(3)
    return [[e.to_list() for e in made], spec_of(made.element_spec)]


@plain(f"{D}.ragged_batch", "beside a scalar")
def _(tf):
    made = lengths(tf, 1, 3).map(lambda v: {"v": v, "n": tf.size(v)}).ragged_batch(2)
    return [[(e["v"].to_list(), e["n"]) for e in made], spec_of(made.element_spec)]


@case(f"{D}.ragged_batch", "elements of known size")
def _(tf):
    return numbers(tf, 5).ragged_batch(2)


@plain(f"{E}.dense_to_ragged_batch", "vectors")
def _(tf):
    made = lengths(tf, 1, 3).apply(tf.data.experimental.dense_to_ragged_batch(2))
    return [[e.to_list() for e in made]]


def sparse(tf, made):
    return [[(e.indices, e.values, e.dense_shape) for e in made], spec_of(made.element_spec)]


@plain(f"{D}.sparse_batch", "vectors")
def _(tf):
    return sparse(tf, lengths(tf, 1, 3, 0).sparse_batch(2, [4]))


@plain(f"{D}.sparse_batch", "to the longest")
def _(tf):
    return sparse(tf, lengths(tf, 1, 3, 0, 2).sparse_batch(2, [None]))


@plain(f"{E}.dense_to_sparse_batch", "matrices")
def _(tf):
    made = lengths(tf, 1, 2).map(lambda v: tf.stack([v, v], axis=1))
    return sparse(tf, made.apply(tf.data.experimental.dense_to_sparse_batch(2, [3, 2])))


raises(
    f"{D}.sparse_batch",
    "an element that is too large",
    "",
    lambda tf: list(lengths(tf, 5).sparse_batch(2, [4])),
)


@case(f"{D}.padded_batch", "to the longest")
def _(tf):
    return lengths(tf, 1, 3, 2).padded_batch(2)


@case(f"{D}.padded_batch", "to a size, with a padding")
def _(tf):
    return lengths(tf, 1, 3, 2).padded_batch(2, padded_shapes=[4], padding_values=9)


@case(f"{D}.padded_batch", "a dict, the remainder dropped")
def _(tf):
    both = lengths(tf, 1, 3, 2).map(lambda v: {"a": v, "b": tf.cast(v, tf.float32)})
    return both.padded_batch(2, {"a": [None], "b": [5]}, {"a": -1, "b": 0.5}, drop_remainder=True)


@case(f"{D}.padded_batch", "strings")
def _(tf):
    words = tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"])
    return words.map(lambda s: tf.strings.split(s)).padded_batch(3, padding_values="-")


raises(
    f"{D}.padded_batch",
    "a size that is too small",
    "",
    lambda tf: list(lengths(tf, 5).padded_batch(2, padded_shapes=[4])),
)
raises(f"{D}.batch", "a size of zero", "", lambda tf: list(numbers(tf).batch(0)))
raises(
    f"{D}.batch",
    "elements of several sizes",
    "batch",
    lambda tf: list(lengths(tf, 1, 2).batch(2)),
)


@case(f"{D}.rebatch", "smaller")
def _(tf):
    return numbers(tf, 10).batch(4).rebatch(2)


@case(f"{D}.rebatch", "larger, the remainder dropped")
def _(tf):
    return numbers(tf, 10).batch(2).rebatch(3, drop_remainder=True)


@case(f"{D}.rebatch", "in turns")
def _(tf):
    return numbers(tf, 10).batch(4, drop_remainder=True).rebatch([2, 1, 1])


@case(f"{D}.rebatch", "of full batches")
def _(tf):
    return numbers(tf, 8).batch(4, drop_remainder=True).rebatch(2)


@case(f"{D}.unbatch", "of full batches")
def _(tf):
    return numbers(tf, 8).batch(3, drop_remainder=True).unbatch()


@case(f"{D}.unbatch", "of batches")
def _(tf):
    return numbers(tf, 8).batch(3).unbatch()


# ---- choices -------------------------------------------------------------------------------------


@case(f"{D}.unique", "numbers")
def _(tf):
    return tf.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()


@case(f"{D}.unique", "strings")
def _(tf):
    return tf.data.Dataset.from_tensor_slices(["a", "", "a", "b", ""]).unique()


@case(f"{E}.unique", "vectors")
def _(tf):
    pairs = tf.data.Dataset.from_tensor_slices([[1, 2], [2, 1], [1, 2]])
    return pairs.apply(tf.data.experimental.unique())


raises(
    f"{D}.unique",
    "floats",
    "unique",
    lambda tf: tf.data.Dataset.from_tensor_slices([1.0, 2.0]).unique(),
)


@case(f"{D}.sample_from_datasets", "with weights and a seed")
def _(tf):
    parts = [numbers(tf, 5), numbers(tf, 5).map(lambda x: x + 100)]
    return tf.data.Dataset.sample_from_datasets(parts, weights=[0.3, 0.7], seed=5)


@case(f"{D}.sample_from_datasets", "until one is empty")
def _(tf):
    parts = [numbers(tf, 3), numbers(tf, 9).map(lambda x: x + 100)]
    return tf.data.Dataset.sample_from_datasets(parts, seed=2, stop_on_empty_dataset=True)


@case(f"{D}.sample_from_datasets", "a weight of zero")
def _(tf):
    parts = [numbers(tf, 3), numbers(tf, 9).map(lambda x: x + 100)]
    return tf.data.Dataset.sample_from_datasets(parts, [0.0, 1.0], seed=2)


@case(f"{D}.sample_from_datasets", "weights from a dataset")
def _(tf):
    parts = [numbers(tf, 4), numbers(tf, 4).map(lambda x: x + 100)]
    weights = tf.data.Dataset.from_tensors([0.5, 0.5]).repeat()
    return tf.data.Dataset.sample_from_datasets(parts, weights, seed=2)


raises(
    f"{D}.sample_from_datasets",
    "no dataset",
    "should not be empty",
    lambda tf: tf.data.Dataset.sample_from_datasets([]),
)
raises(
    f"{D}.sample_from_datasets",
    "too few weights",
    "weights",
    lambda tf: tf.data.Dataset.sample_from_datasets([numbers(tf), numbers(tf)], [1.0]),
)
raises(
    f"{D}.sample_from_datasets",
    "weights of integers",
    "weights",
    lambda tf: tf.data.Dataset.sample_from_datasets([numbers(tf), numbers(tf)], [1, 2]),
)


@case(f"{D}.choose_from_datasets", "until one is empty")
def _(tf):
    parts = [numbers(tf, 3), numbers(tf, 9).map(lambda x: x + 100)]
    return tf.data.Dataset.choose_from_datasets(parts, tf.data.Dataset.range(2).repeat(6))


@case(f"{E}.choose_from_datasets", "passing over the empty one")
def _(tf):
    parts = [numbers(tf, 3), numbers(tf, 9).map(lambda x: x + 100)]
    choices = tf.data.Dataset.range(2).repeat(6)
    return tf.data.experimental.choose_from_datasets(parts, choices)


raises(
    f"{D}.choose_from_datasets",
    "choices that are no int64",
    "choice_dataset",
    lambda tf: tf.data.Dataset.choose_from_datasets(
        [numbers(tf)], tf.data.Dataset.from_tensors(0.0)
    ),
)


@case(f"{D}.rejection_resample", "with a known distribution")
def _(tf):
    classes = tf.data.Dataset.from_tensor_slices([0, 0, 0, 0, 1] * 8)
    made = classes.rejection_resample(lambda x: x, [0.5, 0.5], [0.8, 0.2], seed=1)
    return made.map(lambda c, x: c - x).take(4)


@case(f"{D}.rejection_resample", "the distribution is as wanted")
def _(tf):
    classes = tf.data.Dataset.from_tensor_slices([0, 1, 0, 1])
    return classes.rejection_resample(lambda x: x, [0.5, 0.5], [0.5, 0.5], seed=1)


@case(f"{D}.rejection_resample", "with an estimate")
def _(tf):
    classes = tf.data.Dataset.from_tensor_slices([0, 0, 0, 0, 1] * 8)
    made = classes.rejection_resample(lambda x: x, [0.5, 0.5], seed=1)
    return made.map(lambda c, x: c - x).take(4)


# ---- errors passed over --------------------------------------------------------------------------


@case(f"{D}.ignore_errors", "of a map")
def _(tf):
    values = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0])
    return values.map(lambda x: tf.debugging.check_numerics(1.0 / x, "inf")).ignore_errors()


@case(f"{E}.ignore_errors", "of a batch of several sizes")
def _(tf):
    return lengths(tf, 1, 2, 3, 3).batch(2).apply(tf.data.experimental.ignore_errors())


# ---- one after the other -------------------------------------------------------------------------


@case(f"{D}.scan", "running sums")
def _(tf):
    return numbers(tf, 6).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))


@case(f"{E}.scan", "a tuple of states")
def _(tf):
    start = (tf.constant(0, tf.int64), tf.constant(1.0))
    step = lambda s, x: ((s[0] + 1, s[1] * 2.0), {"x": x, "s": s[1]})  # noqa: E731
    return numbers(tf, 4).apply(tf.data.experimental.scan(start, step))


raises(
    f"{D}.scan",
    "a state of another dtype",
    "state",
    lambda tf: numbers(tf).scan(tf.constant(0, tf.int64), lambda s, x: (tf.constant(1.0), x)),
)


@case(f"{D}.take_while", "smaller ones")
def _(tf):
    return numbers(tf).take_while(lambda x: x < 5)


@case(f"{E}.take_while", "none")
def _(tf):
    return numbers(tf).apply(tf.data.experimental.take_while(lambda x: x > 5))


raises(
    f"{D}.take_while",
    "no predicate",
    "predicate",
    lambda tf: numbers(tf).take_while(lambda x: x),
)


@case(f"{D}.enumerate", "from five")
def _(tf):
    return tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(5)


@case(f"{E}.enumerate_dataset", "of pairs")
def _(tf):
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    return pairs.apply(tf.data.experimental.enumerate_dataset())


@case(f"{D}.shard", "every third")
def _(tf):
    return numbers(tf).shard(3, 1)


@case(f"{D}.shard", "of fewer elements than shards")
def _(tf):
    return numbers(tf, 2).shard(5, 3)


raises(f"{D}.shard", "an index beyond the shards", "index", lambda tf: numbers(tf).shard(3, 3))
raises(f"{D}.shard", "no shards", "num_shards", lambda tf: numbers(tf).shard(0, 0))


@case(f"{D}.counter", "by steps")
def _(tf):
    return tf.data.Dataset.counter(start=3, step=-2).take(4)


@plain(f"{D}.counter", "has no end")
def _(tf):
    made = tf.data.Dataset.counter(dtype=tf.int32)
    return [made.cardinality(), spec_of(made.element_spec), list(made.take(3))]


@plain(f"{E}.Counter", "has no end")
def _(tf):
    return [list(tf.data.experimental.Counter(start=2).take(3))]


@case(f"{D}.random", "with a seed")
def _(tf):
    return tf.data.Dataset.random(seed=4).take(5)


@plain(f"{D}.random", "twice, alike or not")
def _(tf):
    same = tf.data.Dataset.random(seed=4).take(3)
    other = tf.data.Dataset.random(seed=4, rerandomize_each_iteration=True).take(3)
    return [list(same), list(same), list(other), list(other), same.cardinality()]


@plain(f"{E}.RandomDataset", "with a seed")
def _(tf):
    return [list(tf.data.experimental.RandomDataset(seed=4).take(5))]


@case(f"{E}.from_list", "numbers")
def _(tf):
    return tf.data.experimental.from_list([(1, "a"), (2, "b"), (3, "c")])


@case(f"{E}.from_list", "of several shapes")
def _(tf):
    return tf.data.experimental.from_list([[1], [2, 3], [4, 5, 6]])


@case(f"{E}.from_list", "dicts")
def _(tf):
    return tf.data.experimental.from_list([{"a": 1, "b": [2.0]}, {"a": 3, "b": [4.0]}])


raises(f"{E}.from_list", "nothing", "empty", lambda tf: tf.data.experimental.from_list([]))
raises(f"{E}.from_list", "a tuple", "list", lambda tf: tf.data.experimental.from_list((1, 2)))


@plain(f"{D}.shuffle", "again in each iteration, or not")
def _(tf):
    again = numbers(tf).shuffle(4, seed=3)
    same = numbers(tf).shuffle(4, seed=3, reshuffle_each_iteration=False)
    return [list(again), list(again), list(same), list(same)]


@case(f"{D}.shuffle", "before a repetition")
def _(tf):
    return numbers(tf, 5).shuffle(5, seed=3).repeat(3)


@case(f"{D}.shuffle", "the same before a repetition")
def _(tf):
    return numbers(tf, 5).shuffle(5, seed=3, reshuffle_each_iteration=False).repeat(3)


@plain(f"{E}.shuffle_and_repeat", "twice")
def _(tf):
    made = numbers(tf, 4).apply(tf.data.experimental.shuffle_and_repeat(4, 2, seed=1))
    return [sorted(int(x) for x in made), made.cardinality(), spec_of(made.element_spec)]


@case(f"{E}.map_and_batch", "squares")
def _(tf):
    return numbers(tf).apply(tf.data.experimental.map_and_batch(lambda x: x * x, 4))


@case(f"{E}.map_and_batch", "the remainder dropped")
def _(tf):
    return numbers(tf).apply(
        tf.data.experimental.map_and_batch(lambda x: (x, -x), 4, drop_remainder=True)
    )


raises(
    f"{E}.map_and_batch",
    "both counts",
    "only one of",
    lambda tf: numbers(tf).apply(
        tf.data.experimental.map_and_batch(
            lambda x: x, 4, num_parallel_batches=1, num_parallel_calls=1
        )
    ),
)


@plain(f"{E}.parallel_interleave", "in order")
def _(tf):
    made = numbers(tf, 4).apply(
        tf.data.experimental.parallel_interleave(lambda x: tf.data.Dataset.range(x), 2, 2)
    )
    return [sorted(int(x) for x in made), spec_of(made.element_spec)]


@case(f"{E}.unbatch", "matrices")
def _(tf):
    rows = tf.data.Dataset.from_tensors([[1, 2], [3, 4]])
    return rows.apply(tf.data.experimental.unbatch())


@case(f"{E}.assert_cardinality", "as it is")
def _(tf):
    return numbers(tf).filter(lambda x: x < 4).apply(tf.data.experimental.assert_cardinality(4))


raises(
    f"{E}.assert_cardinality",
    "too many elements",
    "",
    lambda tf: list(numbers(tf).apply(tf.data.experimental.assert_cardinality(4))),
)
raises(
    f"{E}.assert_cardinality",
    "too few elements",
    "",
    lambda tf: list(numbers(tf, 3).apply(tf.data.experimental.assert_cardinality(4))),
)


@case(f"{E}.pad_to_cardinality", "with zeros")
def _(tf):
    made = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": ["x", "y"]})
    return made.apply(tf.data.experimental.pad_to_cardinality(4))


@plain(f"{E}.copy_to_device", "to the CPU")
def _(tf):
    made = numbers(tf, 3).apply(tf.data.experimental.copy_to_device("/cpu:0"))
    return [list(made), spec_of(made.element_spec)]


@plain(f"{E}.prefetch_to_device", "to the CPU")
def _(tf):
    made = numbers(tf, 3).apply(tf.data.experimental.prefetch_to_device("/cpu:0", 2))
    return [list(made), spec_of(made.element_spec)]


@plain(f"{E}.get_single_element", "of one")
def _(tf):
    return tf.data.experimental.get_single_element(numbers(tf, 3).batch(3))


@plain(f"{D}.get_single_element", "of a pair")
def _(tf):
    return tf.data.Dataset.from_tensors(([1, 2], "a")).get_single_element()


raises(
    f"{D}.get_single_element",
    "of none",
    "empty",
    lambda tf: numbers(tf, 0).get_single_element(),
)
raises(
    f"{D}.get_single_element",
    "of two",
    "more than one",
    lambda tf: numbers(tf, 2).get_single_element(),
)


@plain(f"{E}.at", "the third")
def _(tf):
    return [tf.data.experimental.at(numbers(tf).map(lambda x: x * x), 3)]


raises(f"{E}.at", "beyond the end", "", lambda tf: tf.data.experimental.at(numbers(tf, 3), 3))


@plain(f"{E}.get_structure", "of a dataset and an iterator")
def _(tf):
    made = tf.data.Dataset.from_tensors({"a": 1, "b": "x"})
    get = tf.data.experimental.get_structure
    return [spec_of(get(made)), spec_of(get(iter(made)))]


@plain(f"{E}.to_variant", "there and back")
def _(tf):
    variant = tf.data.experimental.to_variant(numbers(tf, 3))
    return list(tf.data.experimental.from_variant(variant, tf.TensorSpec([], tf.int64)))


@plain(f"{E}.get_next_as_optional", "until the end")
def _(tf):
    iterator = iter(numbers(tf, 1))
    get = tf.data.experimental.get_next_as_optional
    return [get(iterator).get_value(), get(iterator).has_value()]


# ---- cardinalities -------------------------------------------------------------------------------


@plain(f"{D}.cardinality", "of every kind")
def _(tf):
    n = numbers(tf)
    return [
        d.cardinality()
        for d in [
            n.map(lambda x: x),
            n.filter(lambda x: x > 1),
            n.take(3),
            n.take(-1),
            n.skip(3),
            n.skip(-1),
            n.repeat(),
            n.repeat(3),
            n.repeat(0),
            n.repeat().take(4),
            n.repeat().skip(4),
            n.batch(3),
            n.batch(3, drop_remainder=True),
            n.padded_batch(4),
            n.window(3),
            n.window(3, shift=1, drop_remainder=True),
            n.cache(),
            n.shuffle(3),
            n.prefetch(2),
            n.concatenate(n),
            n.concatenate(n.repeat()),
            n.enumerate(),
            n.scan(tf.constant(0, tf.int64), lambda s, x: (s, x)),
            n.flat_map(lambda x: tf.data.Dataset.range(x)),
            n.interleave(lambda x: tf.data.Dataset.range(x), cycle_length=2),
            tf.data.Dataset.zip(n, n.repeat()),
            tf.data.Dataset.zip(n, n.take(3)),
            n.shard(3, 0),
            n.unique(),
            n.ignore_errors(),
            n.take_while(lambda x: x < 3),
            n.batch(2).unbatch(),
            n.with_options(tf.data.Options()),
            tf.data.Dataset.from_generator(lambda: [1], output_signature=tf.TensorSpec([])),
        ]
    ]


# ---- options -------------------------------------------------------------------------------------


@plain("tf.data.Options", "are kept and merged")
def _(tf):
    a, b = tf.data.Options(), tf.data.Options()
    a.deterministic = False
    b.threading.private_threadpool_size = 3
    b.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    made = numbers(tf, 3).with_options(a).map(lambda x: x).with_options(b)
    kept = made.options()
    return [
        kept.deterministic,
        kept.threading.private_threadpool_size,
        int(kept.experimental_distribute.auto_shard_policy),
        list(made),
    ]


def _set(target, name, value):
    setattr(target, name, value)


raises(
    "tf.data.Options",
    "a name that is none",
    "Cannot set the property foo",
    lambda tf: _set(tf.data.Options(), "foo", 1),
)
raises(
    "tf.data.Options",
    "a value of another type",
    "must be of type",
    lambda tf: _set(tf.data.Options(), "deterministic", 1),
)


# ---- CSV -----------------------------------------------------------------------------------------

CSV = "tf.io.decode_csv"
TWO = [[0], [0.0]]
WORDS = [["-"], ["-"]]


def decoded(records, defaults, **options):
    return lambda tf: tf.io.decode_csv(records, defaults, **options)


for title, records, defaults, options in [
    ("a record", "1,2.5", TWO, {}),
    ("records", ["1,2", "3,4"], TWO, {}),
    ("a matrix of records", [["1,2"], ["3,4"]], TWO, {}),
    ("a missing field at the end", "1,", TWO, {}),
    ("a missing field at the front", ",2", TWO, {}),
    ("spaces around numbers", " 1 , 2 ", TWO, {}),
    ("signs and exponents", "+1,-1e3", TWO, {}),
    ("infinity", "1,inf", TWO, {}),
    ("not a number", "1,nan", TWO, {}),
    ("a hexadecimal float", "1,0x1p3", TWO, {}),
    ("scalars as defaults", "1,2", [0, 0.0], {}),
    ("a delimiter in quotes", '"a,b",c', WORDS, {}),
    ("quotes in quotes", '"a""b",c', WORDS, {}),
    ("a line feed in quotes", '"a\nb",c', WORDS, {}),
    ("quotes that are no quotes", 'a"b,c', WORDS, {"use_quote_delim": False}),
    ("quotes at the end", 'a,"b"', WORDS, {}),
    ("a line feed at the front", "\na,b", WORDS, {}),
    ("nothing in quotes", '"",x', WORDS, {}),
    ("missing values", "NA,NA", [[7], [8.0]], {"na_value": "NA"}),
    ("some columns", "1,2,3", [[0], [0]], {"select_cols": [0, 2]}),
    ("another delimiter", "1;2", TWO, {"field_delim": ";"}),
    ("a tab", "1\t2", TWO, {"field_delim": "\t"}),
    ("wide numbers", "3000000000,1.5", [[2**40], ["-"]], {}),
]:
    plain(CSV, title)(decoded(records, defaults, **options))

for title, words, records, defaults, options in [
    ("too few fields", "Expect 2 fields but have 1 in record 0", "1", TWO, {}),
    ("no field", "Expect 2 fields but have 0 in record 0", "", TWO, {}),
    ("too many fields", "Expect 2 fields but have 3 in record 0", "1,2,3", TWO, {}),
    ("too many before a bad number", "Expect 2 fields but have 3", "x,2,3", TWO, {}),
    ("a quote inside", "cannot have quotes", 'a"b,c', WORDS, {}),
    ("a lone quote", "escaped by another quote", '"a"b,c', WORDS, {}),
    ("a line feed inside", "cannot have quotes/CRLFs", "a\nb,c", WORDS, {}),
    ("an open quote", "end with quote", '"a', WORDS, {}),
    ("only a quote", "end with quote", '"', WORDS, {}),
    ("a bad number", "Field 0 in record 0 is not a valid int32: x", "x,2", TWO, {}),
    ("a number that is too large", "not a valid int32", "3000000000,1", TWO, {}),
    ("a bad float", "Field 1 in record 0 is not a valid float", "1,1_0", TWO, {}),
    ("select_cols beyond", "Expect 2 fields but have 1", "1,2", TWO, {"select_cols": [0, 2]}),
    ("select_cols falling", "increasing", "1,2", TWO, {"select_cols": [1, 0]}),
    ("select_cols too short", "do not match", "1,2", TWO, {"select_cols": [1]}),
    ("select_cols negative", "negative", "1,2", TWO, {"select_cols": [-1, 1]}),
    ("a long delimiter", "field_delim should be only 1 char", "1,2", TWO, {"field_delim": ";;"}),
    ("two defaults", "only be 1 default per field", "1,2", [[0, 1], [0.0]], {}),
    ("a matrix as a default", "at most rank 1", "1,2", [[[0]], [0.0]], {}),
]:
    raises(CSV, title, words, decoded(records, defaults, **options))

raises(
    CSV,
    "a required field",
    "Field 0 is required but missing in record 0!",
    lambda tf: tf.io.decode_csv(",2", [tf.constant([], tf.int32), [0.0]]),
)


def csv_of(tf, text, defaults, **options):
    """The elements of a CSV file, and what was raised between them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        with open(path, "w", newline="") as file:
            file.write(text)
        made = tf.data.experimental.CsvDataset(path, defaults, **options)
        iterator, found = iter(made), []
        for _ in range(12):
            try:
                found.append(next(iterator))
            except StopIteration:
                break
            except tf.errors.InvalidArgumentError as error:
                found.append(error.message.split(" [Op")[0].split("}} ")[-1].split("] ")[-1])
        return [found, spec_of(made.element_spec), made.cardinality()]


for title, text, defaults, options in [
    ("numbers", "1,2\n3,4\n", TWO, {}),
    ("returns and line feeds", "1,2\r\n3,4\r5,6", TWO, {}),
    ("an empty line", "1,2\n\n3,4", TWO, {}),
    ("records of several lengths", "1\n2,3,4\n5,6", TWO, {}),
    ("a bad number", "x,2\n5,6", TWO, {}),
    ("quotes", '"a\nb","c""d"\ne,f', WORDS, {}),
    ("a quote inside", 'a"b,c\ne,f', WORDS, {}),
    ("a lone quote", '"a"b,c\ne,f', WORDS, {}),
    ("a lone quote, closed later", '"a"b",c\ne,f', WORDS, {}),
    ("an open quote", '"a,b', WORDS, {}),
    ("a header", "h,h\n1,2\n", TWO, {"header": True}),
    ("only a header", "h", TWO, {"header": True}),
    ("nothing", "", TWO, {}),
    ("some columns", "1,2,3\n4,5,6", TWO, {"select_cols": [0, 2]}),
    ("some columns of a short record", "1,2\n4,5,6", TWO, {"select_cols": [0, 2]}),
    ("all but some columns", "1,2,3\n", TWO, {"exclude_cols": [1]}),
    ("missing values", "NA,2", TWO, {"na_value": "NA"}),
    ("no quotes", 'a"b,c\ne,f', WORDS, {"use_quote_delim": False}),
    ("one column with empty lines", "a\n\nb\n", [["-"]], {}),
    ("quoted lines", '"a"\r\n"b"\r"c"\n', [["-"]], {}),
    ("another delimiter", "1;2", TWO, {"field_delim": ";"}),
    ("spaces", "1,2 3\n 4 , 5 \n", TWO, {}),
]:
    plain(f"{E}.CsvDataset", title)(lambda tf, t=text, d=defaults, o=options: csv_of(tf, t, d, **o))


@plain(f"{E}.CsvDataset", "required fields")
def _(tf):
    return csv_of(tf, ",\n1,\n,2\n3,4", [tf.int32, tf.string])


raises(
    f"{E}.CsvDataset",
    "both lists of columns",
    "Either select_cols or exclude_cols should be empty",
    lambda tf: csv_of(tf, "1,2", TWO, select_cols=[0, 1], exclude_cols=[1]),
)
raises(
    f"{E}.CsvDataset",
    "columns that fall",
    "strictly increasing",
    lambda tf: csv_of(tf, "1,2", TWO, select_cols=[1, 0]),
)
raises(
    f"{E}.CsvDataset",
    "a file that is not there",
    "",
    lambda tf: list(tf.data.experimental.CsvDataset("/nowhere/table.csv", TWO)),
)


def batches_of_csv(tf, text, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        with open(path, "w", newline="") as file:
            file.write(text)
        made = tf.data.experimental.make_csv_dataset(
            path, 2, num_epochs=1, shuffle=False, **options
        )
        return [list(made), spec_of(made.element_spec)]


TABLE = "a,b,c\n1,2.5,x\n3,4.5,y\n5,,z\n"


@plain(f"{E}.make_csv_dataset", "dtypes as the file has them")
def _(tf):
    return batches_of_csv(tf, TABLE)


@plain(f"{E}.make_csv_dataset", "with a label")
def _(tf):
    return batches_of_csv(tf, TABLE, label_name="a")


@plain(f"{E}.make_csv_dataset", "some columns")
def _(tf):
    return batches_of_csv(tf, TABLE, select_columns=["a", "c"])


@plain(f"{E}.make_csv_dataset", "names and defaults that are given")
def _(tf):
    return batches_of_csv(
        tf, "1,2\n3,\n", header=False, column_names=["p", "q"], column_defaults=[tf.int64, 7.5]
    )


@plain(f"{E}.make_csv_dataset", "wide numbers")
def _(tf):
    return batches_of_csv(tf, "a,b\n1,3000000000\n2.5,1e300\n")


raises(
    f"{E}.make_csv_dataset",
    "a label that is no column",
    "label_name",
    lambda tf: batches_of_csv(tf, TABLE, label_name="d"),
)
raises(
    f"{E}.make_csv_dataset",
    "no file",
    "No files match",
    lambda tf: tf.data.experimental.make_csv_dataset("/nowhere/*.csv", 2),
)


# ---- records -------------------------------------------------------------------------------------


def example(tf, n):
    feature = {
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[n])),
        "v": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5] * n)),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def with_records(tf, use):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records")
        with tf.io.TFRecordWriter(path) as writer:
            for n in range(5):
                writer.write(example(tf, n))
        return use(path)


@plain(f"{E}.make_batched_features_dataset", "with a label")
def _(tf):
    features = {
        "n": tf.io.FixedLenFeature([], tf.int64),
        "v": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    }

    def use(path):
        made = tf.data.experimental.make_batched_features_dataset(
            path, 2, features, label_key="n", num_epochs=1, shuffle=False
        )
        return [list(made), spec_of(made.element_spec)]

    return with_records(tf, use)


@plain(f"{E}.parse_example_dataset", "batches of messages")
def _(tf):
    features = {"n": tf.io.FixedLenFeature([], tf.int64)}

    def use(path):
        made = tf.data.TFRecordDataset(path).batch(2)
        made = made.apply(tf.data.experimental.parse_example_dataset(features))
        return [list(made), spec_of(made.element_spec)]

    return with_records(tf, use)


raises(
    f"{E}.parse_example_dataset",
    "no batches",
    "vectors of strings",
    lambda tf: tf.data.Dataset.from_tensors("a").apply(
        tf.data.experimental.parse_example_dataset({"n": tf.io.FixedLenFeature([], tf.int64)})
    ),
)


@plain("tf.data.TFRecordDataset", "a buffer of a few bytes, files side by side")
def _(tf):
    def use(path):
        made = tf.data.TFRecordDataset([path, path], buffer_size=3, num_parallel_reads=2)
        return [list(made), made.cardinality(), spec_of(made.element_spec)]

    return with_records(tf, use)


@plain("tf.data.FixedLengthRecordDataset", "header, footer, a small buffer")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pieces")
        with open(path, "wb") as file:
            file.write(b"HHaabbccF")
        made = tf.data.FixedLengthRecordDataset(
            path, 2, header_bytes=2, footer_bytes=1, buffer_size=2
        )
        return [list(made), made.cardinality(), spec_of(made.element_spec)]


@plain(f"{E}.TFRecordWriter", "there and back")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out")
        words = tf.data.Dataset.from_tensor_slices(["a", "", "ccc"])
        tf.data.experimental.TFRecordWriter(path).write(words)
        return list(tf.data.TFRecordDataset(path))


# ---- datasets in folders -------------------------------------------------------------------------


def saved(tf, make, use=None, **options):
    """What a dataset that was saved gives when it is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        make(tf).save(os.path.join(folder, "kept"), **options)
        options.pop("shard_func", None)
        made = (use or tf.data.Dataset.load)(os.path.join(folder, "kept"), **options)
        return all_of(made)


for title, make in [
    ("numbers", lambda tf: numbers(tf, 4)),
    ("a tuple with strings", lambda tf: numbers(tf, 3).map(lambda x: (x, tf.strings.as_string(x)))),
    ("a dict of batches", lambda tf: numbers(tf, 5).batch(2).map(lambda x: {"b": x, "a": x + 1})),
    ("vectors of several sizes", lambda tf: lengths(tf, 2, 0, 3)),
    ("a tuple of one", lambda tf: numbers(tf, 2).map(lambda x: (tf.cast(x, tf.float16),))),
    ("nothing", lambda tf: numbers(tf, 0)),
]:
    plain(f"{D}.save", title)(lambda tf, make=make: saved(tf, make))
    plain(f"{D}.load", f"{title}, compressed")(
        lambda tf, make=make: saved(tf, make, compression="GZIP")
    )


@plain(f"{D}.save", "in shards")
def _(tf):
    found = saved(tf, lambda tf: numbers(tf, 7), shard_func=lambda x: x % 3)
    return [sorted(int(x) for x in found[0]), found[1:]]


@plain(f"{D}.load", "with a reader of shards")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        numbers(tf, 4).save(folder)
        made = tf.data.Dataset.load(folder, reader_func=lambda d: d.flat_map(lambda x: x).skip(1))
        return [list(made), spec_of(made.element_spec)]


@plain(f"{E}.save", "again into one folder")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        for n in (5, 2):
            tf.data.experimental.save(numbers(tf, n), folder)
        return all_of(tf.data.experimental.load(folder))


raises(
    f"{D}.load",
    "a folder that is not there",
    "not found",
    lambda tf: tf.data.Dataset.load("/nowhere/at/all"),
)


# ---- where an iterator is ------------------------------------------------------------------------


def resumed(tf, make, n):
    """What is left of an iterator, and of another one that was restored from its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        iterator = iter(make(tf))
        for _ in range(n):
            next(iterator)
        path = tf.train.Checkpoint(iterator=iterator).write(os.path.join(folder, "ck"))
        other = iter(make(tf))
        tf.train.Checkpoint(iterator=other).read(path).assert_consumed()
        return [list(iterator), list(other)]


for title, make in [
    ("range", lambda tf: numbers(tf)),
    ("shuffle and repeat", lambda tf: numbers(tf, 5).shuffle(3, seed=1).repeat(2)),
    ("batch", lambda tf: numbers(tf).batch(2)),
    ("interleave", lambda tf: numbers(tf, 4).interleave(lambda x: numbers(tf, 3), cycle_length=2)),
    ("map and prefetch", lambda tf: numbers(tf).map(lambda x: x * x).prefetch(2)),
    ("zip", lambda tf: tf.data.Dataset.zip(numbers(tf, 5), numbers(tf, 4).skip(1).repeat())),
]:
    plain("tf.train.Checkpoint", f"of an iterator: {title}")(
        lambda tf, make=make: resumed(tf, make, 3)
    )

raises(
    "tf.train.Checkpoint",
    "of the iterator of a generator",
    "stateful",
    lambda tf: resumed(
        tf,
        lambda tf: tf.data.Dataset.from_generator(
            lambda: range(5), output_signature=tf.TensorSpec([], tf.int32)
        ),
        2,
    ),
)
