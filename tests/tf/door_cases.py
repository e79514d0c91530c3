"""Cases of rows that the other cases bring into no graph: tests/python/tf_ops/test_tf_doors.py.

``@door(name, *operands)`` is a function of ``tf``, of a place to keep what a model must keep
(variables) and where files may be, and of the operands as tensors. It gives tensors, the same ones
each time it runs. PLAIN names plain cases of tests/tf whose functions are traced as they are. This
module needs numpy alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from corpus import lit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tf_ops"))
import apply_cases


@dataclass
class DoorCase:
    name: str
    call: Callable[..., Any]  # of tf, the place and the operands
    operands: tuple


@dataclass
class Place:
    """What a case may use: a folder for files, and what a saved model keeps."""

    folder: str
    kept: Any  # a tf.Module

    def variable(self, tf: Any, name: str, value: Any) -> Any:
        """A variable of this name, made once."""
        if not hasattr(self.kept, name):
            with tf.init_scope():
                setattr(self.kept, name, tf.Variable(value, name=name))
        return getattr(self.kept, name)


DOOR_CASES: list[DoorCase] = []

PLAIN = (
    "RaggedTensor/as_variants",
    "RaggedTensor/from_uniform_row_length_0",
    "RaggedTensor/to_sparse",
    "audio.decode_wav/",
    "audio.encode_wav/",
    "gather/one_row",
    "image.extract_glimpse/",
    "image.ssim_multiscale/",
    "image.stateless_sample_distorted_bounding_box/",
    "io.decode_and_crop_jpeg/",
    "io.decode_bmp/",
    "io.decode_gif/",
    "io.decode_image/dtypes",
    "io.decode_jpeg/channels",
    "io.decode_png/channels",
    "io.encode_jpeg/",
    "io.encode_png/",
    "io.extract_jpeg_shape/",
    "io.serialize_sparse/there_and_back",
    "map_fn/over_sparse_tensors",
    "raw_ops/products_of_sparse_matrices_False",
    "raw_ops/sparse_and_beside_dense,_counts_of_rows,_strings",
    "raw_ops/the_gradients_of_sparse_rows",
    "sets.intersection/dense_and_sparse",
    "sets.size/of_rows",
    "sparse.bincount/{'axis':_-1}",
    "sparse.bincount/{}",
    "sparse.concat/of_float64",
    "sparse.cross/of_(0,)",
    "sparse.maximum/of_float32",
    "sparse.reduce_max/over_None",
    "sparse.split/parts",
)


def door(name: str, *operands: np.ndarray) -> Callable[..., Any]:
    """Keep a case; the name says what it is about."""

    def keep(call: Callable[..., Any]) -> Callable[..., Any]:
        DOOR_CASES.append(DoorCase(name, call, operands))
        return call

    return keep


# ---- random numbers: each run begins with the same seed ------------------------------------------

SEED = lit([3, 5], "int32")


@door("drawn by stateful ops", lit([2.0, 3.0]))
def _(tf, place, x):
    raw, shape = tf.raw_ops, tf.constant([2, 3])
    return [
        raw.RandomUniform(shape=shape, dtype=tf.float32, seed=1, seed2=2),
        raw.RandomStandardNormal(shape=shape, dtype=tf.float32, seed=1, seed2=3),
        raw.RandomUniformInt(shape=shape, minval=0, maxval=100, seed=1, seed2=4),
        raw.TruncatedNormal(shape=shape, dtype=tf.float32, seed=1, seed2=5),
        raw.RandomShuffle(value=tf.range(9), seed=1, seed2=6),
        raw.Multinomial(logits=[[0.1, 0.4, 0.2]], num_samples=4, seed=1, seed2=7),
        raw.RandomGamma(shape=shape, alpha=x, seed=1, seed2=8),
        raw.RandomPoissonV2(shape=shape, rate=x, seed=1, seed2=9),
        *raw.SampleDistortedBoundingBoxV2(
            image_size=[40, 50, 3],
            bounding_boxes=[[[0.1, 0.2, 0.6, 0.7]]],
            min_object_covered=0.5,
            seed=1,
            seed2=10,
        ),
    ]


@door("drawn from a seed", lit([2.0, 3.0]))
def _(tf, place, x):
    r, shape = tf.random, (4, 2)
    return [
        r.stateless_uniform(shape, SEED),
        r.stateless_uniform(shape, SEED, 0, 50, tf.int32),
        r.stateless_uniform(shape, SEED, None, None, tf.int32),
        r.stateless_normal(shape, SEED),
        r.stateless_truncated_normal(shape, SEED),
        r.stateless_gamma(shape, SEED, x),
        r.stateless_poisson(shape, SEED, x, tf.float32),
        r.stateless_binomial(shape, SEED, [5.0, 6.0], [0.5, 0.25]),
        r.stateless_categorical([[0.1, 0.4, 0.2]], 5, SEED),
        r.experimental.stateless_shuffle(tf.range(9), SEED),
        tf.raw_ops.StatelessRandomGetAlg(),
        *tf.raw_ops.StatelessRandomGetKeyCounter(seed=SEED),
    ]


@door("the state of a generator")
def _(tf, place):
    state = place.variable(tf, "state", np.zeros(3, np.int64))
    state.assign([1, 2, 3])
    before = tf.raw_ops.RngReadAndSkip(resource=state.handle, alg=1, delta=np.uint64(5))
    return [before, state.read_value()]


# ---- elements once each, labels --------------------------------------------------------------


@door("slices once each", lit([[1, 2], [3, 4], [1, 2]], "int32"))
def _(tf, place, x):
    raw, axis = tf.raw_ops, tf.constant([0], tf.int64)
    return [
        *raw.UniqueV2(x=x, axis=axis),
        *raw.UniqueWithCounts(x=tf.reshape(x, [-1])),
        *raw.UniqueWithCountsV2(x=x, axis=axis),
    ]


@door("the likeliest labels", lit([[[0.1, 0.6, 0.3]], [[0.5, 0.2, 0.3]], [[0.2, 0.3, 0.5]]]))
def _(tf, place, x):
    found = tf.raw_ops.CTCBeamSearchDecoder(
        inputs=x, sequence_length=[3], beam_width=4, top_paths=2
    )
    return tf.nest.flatten(found)


# ---- variables, texts, tables --------------------------------------------------------------------


@door("a variable is assigned", lit([1.0, -2.0]))
def _(tf, place, x):
    v = place.variable(tf, "v", np.zeros(2, np.float32))
    v.assign(x)
    first = v.read_value()
    v.assign_add(x * x)
    v.assign_sub([0.5, 0.25])
    return [first, v.read_value(), tf.raw_ops.VarIsInitializedOp(resource=v.handle)]


@door("a line is printed", lit([1.0, -2.0]))
def _(tf, place, x):
    text = tf.raw_ops.StringFormat(inputs=[x], template="x is {}", placeholder="{}")
    tf.raw_ops.PrintV2(input=text, output_stream=f"file://{place.folder}/printed", end="")
    return [text, x]


@door("texts in other encodings", np.array([b"a\xc3\xa4", b"xyz"], object))
def _(tf, place, text):
    raw = tf.raw_ops
    return [
        *raw.UnicodeDecodeWithOffsets(input=text, input_encoding="UTF-8"),
        raw.UnicodeTranscode(input=text, input_encoding="UTF-8", output_encoding="UTF-16-BE"),
        raw.DecodePaddedRaw(input_bytes=text, fixed_length=4, out_type=tf.int16),
    ]


@door("a table", np.array([b"a", b"b", b"c"], object), lit([1, 2, 3], "int64"))
def _(tf, place, keys, values):
    raw = tf.raw_ops
    table = raw.AnonymousMutableHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    raw.LookupTableInsertV2(table_handle=table, keys=keys, values=values)
    raw.LookupTableRemoveV2(table_handle=table, keys=keys[1:2])
    exported = raw.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64)
    none = tf.constant(-1, tf.int64)
    return [
        raw.LookupTableFindV2(table_handle=table, keys=keys, default_value=none),
        raw.LookupTableSizeV2(table_handle=table),
        *exported,
    ]


# ---- files and records ---------------------------------------------------------------------------


@door("files", np.array(b"one\ntwo\nthree\n", object))
def _(tf, place, text):
    raw, data = tf.raw_ops, tf.data
    path = f"{place.folder}/lines.txt"
    raw.WriteFile(filename=path, contents=text)
    lines = data.TextLineDataset(path)
    pieces = data.FixedLengthRecordDataset(path, 4, footer_bytes=2)
    return [
        raw.ReadFile(filename=path),
        tf.strings.length(raw.MatchingFiles(pattern=f"{place.folder}/li*.txt")) > 0,
        all_of(tf, lines),
        all_of(tf, pieces),
    ]


# Two records, "ab" and "xyz", as files of TensorFlow's have them: lengths and sums of their own.
RECORDS = bytes.fromhex(
    "020000000000000078270b3461621cb0f0f40300000000000000b099490e7879"
    "7a1e358d73"
)


@door("records", np.array(RECORDS, object))
def _(tf, place, text):
    path = f"{place.folder}/two.tfrecord"
    tf.raw_ops.WriteFile(filename=path, contents=text)
    return all_of(tf, tf.data.TFRecordDataset(path))


@door("columns", np.array(b"1,a,2.5\n2,b,3.5\n", object))
def _(tf, place, text):
    path = f"{place.folder}/columns.csv"
    tf.raw_ops.WriteFile(filename=path, contents=text)
    rows = tf.data.experimental.CsvDataset(path, [tf.int32, tf.string, tf.float32])
    fields = tf.io.decode_csv(["3,c", "4,d"], [[0], [""]])
    return [*fields, rows.reduce(0.0, lambda s, row: s + tf.cast(row[0], tf.float32) * row[2])]


@door("messages", lit([[1.0, 2.0], [3.0, 4.0]]))
def _(tf, place, x):
    text = tf.io.serialize_tensor(x)
    # Example: features { feature { key: "a" value { float_list { value: 1.5 } } } }
    example = bytes.fromhex("0a0f0a0d0a016112081206" "0a040000c03f")
    parsed = tf.io.parse_example([example], {"a": tf.io.FixedLenFeature([1], tf.float32)})
    return [text, tf.io.parse_tensor(text, tf.float32), parsed["a"]]


@door("summaries", lit([1.0, 2.0]))
def _(tf, place, x):
    raw, folder = tf.raw_ops, f"{place.folder}/summaries"
    step, empty = tf.constant(3, tf.int64), tf.constant("")
    writer = raw.SummaryWriter()
    raw.CreateSummaryFileWriter(
        writer=writer, logdir=folder, max_queue=1, flush_millis=1, filename_suffix=".v"
    )
    raw.WriteSummary(writer=writer, step=step, tensor=x, tag="x", summary_metadata=empty)
    raw.WriteRawProtoSummary(writer=writer, step=step, tensor=empty)
    raw.WriteGraphSummary(writer=writer, step=step, tensor=empty)
    raw.ImportEvent(writer=writer, event=empty)
    raw.FlushSummaryWriter(writer=writer)
    raw.CloseSummaryWriter(writer=writer)
    return [tf.size(raw.MatchingFiles(pattern=f"{folder}/*.v")) > 0]


# ---- pipelines -----------------------------------------------------------------------------------


def all_of(tf: Any, dataset: Any) -> list:
    """What the elements are, as one batch of each component."""
    return tf.nest.flatten(next(iter(dataset.batch(1000))))


def total(tf: Any, dataset: Any) -> Any:
    """The elements, in their order, as one number."""
    return dataset.reduce(tf.constant(0, tf.int64), lambda s, x: s * 3 + tf.cast(x, tf.int64))


@door("pipelines of what is there", lit([[5, 6], [7, 8], [9, 10]], "int64"))
def _(tf, place, x):
    data = tf.data.Dataset
    slices = data.from_tensor_slices(x[:, 0])
    return [
        total(tf, data.range(2, 9, 3)),
        *all_of(tf, data.from_tensors(x)),
        total(tf, data.zip((slices, data.range(3))).map(lambda a, b: a * b)),
        total(tf, slices.concatenate(data.range(2)).repeat(2).take(7).skip(2)),
        *all_of(tf, data.from_tensor_slices(x).unbatch().batch(4, drop_remainder=True)),
        total(tf, slices.prefetch(1).filter(lambda a: a > 5).cache()),
        total(tf, slices.take_while(lambda a: a < 9)),
        total(tf, data.range(9).shard(3, 1)),
        total(tf, slices.concatenate(slices).unique()),
        total(tf, slices.apply(tf.data.experimental.assert_cardinality(3))),
        total(tf, slices.ignore_errors()),
        slices.cardinality(),
    ]


@door("pipelines of other pipelines", lit([1, 2, 3], "int64"))
def _(tf, place, x):
    data = tf.data.Dataset
    slices = data.from_tensor_slices(x)
    repeated = lambda a: data.from_tensors(a).repeat(a)  # noqa: E731
    choice = data.from_tensor_slices(tf.constant([1, 0, 1, 1], tf.int64))
    windows = data.range(7).window(3, shift=2, stride=1, drop_remainder=True)
    return [
        total(tf, slices.flat_map(repeated)),
        total(tf, slices.interleave(repeated, cycle_length=2, block_length=1)),
        total(tf, slices.map(lambda a: a + 1, num_parallel_calls=2)),
        total(tf, slices.interleave(repeated, cycle_length=2, num_parallel_calls=2)),
        total(tf, slices.scan(x[0], lambda s, a: (s + a, s * a))),
        total(tf, data.choose_from_datasets([slices, data.range(5, 9)], choice)),
        total(tf, windows.flat_map(lambda w: w)),
        *all_of(tf, slices.map(lambda a: tf.range(a)).padded_batch(3)),
        total(tf, data.range(6).batch(4).rebatch([1, 2]).map(tf.reduce_sum)),
    ]


@door("pipelines by key", lit([1, 2, 3, 4, 5], "int64"))
def _(tf, place, x):
    slices = tf.data.Dataset.from_tensor_slices(x)
    reducer = tf.data.experimental.Reducer(
        lambda key: tf.constant(0, tf.int64), lambda s, a: s + a, lambda s: s
    )
    by_key = tf.data.experimental.group_by_reducer(lambda a: a % 2, reducer)
    return [
        total(tf, slices.group_by_window(lambda a: a % 2, lambda k, w: w.batch(2), 2).unbatch()),
        total(tf, slices.apply(by_key)),
    ]


@door("pipelines in random order", lit([1, 2, 3, 4, 5], "int64"))
def _(tf, place, x):
    slices = tf.data.Dataset.from_tensor_slices(x)
    drawn = tf.data.Dataset.random(seed=4, rerandomize_each_iteration=False)
    return [
        total(tf, slices.shuffle(3, seed=7, reshuffle_each_iteration=False)),
        *all_of(tf, drawn.take(3)),
    ]


@door("iterators and optionals", lit([4, 5, 6], "int64"))
def _(tf, place, x):
    raw = tf.raw_ops
    kinds = {"output_types": [tf.int64], "output_shapes": [[]]}
    slices = raw.TensorSliceDataset(components=[x], output_shapes=[[]])
    iterator = raw.AnonymousIteratorV3(**kinds)
    raw.MakeIterator(dataset=slices, iterator=iterator)
    (first,) = raw.IteratorGetNext(iterator=iterator, **kinds)
    state = raw.SerializeIterator(resource_handle=iterator)
    optional = raw.IteratorGetNextAsOptional(iterator=iterator, **kinds)
    raw.DeserializeIterator(resource_handle=iterator, serialized=state)
    (again,) = raw.IteratorGetNext(iterator=iterator, **kinds)
    made = raw.OptionalFromValue(components=[x])
    return [
        first,
        again,
        *raw.OptionalGetValue(optional=optional, **kinds),
        raw.OptionalHasValue(optional=raw.OptionalNone()),
        raw.OptionalHasValue(optional=made),
        raw.ComputeBatchSize(input_dataset=slices),
        raw.DatasetCardinality(input_dataset=slices),
    ]


# ---- strings -------------------------------------------------------------------------------------


@door("patterns that are tensors", lit(["a1b2", "", "é-K"], "object"), lit(r"(\pL)\d?", "object"))
def _(tf, place, x, pattern):
    return [
        tf.strings.regex_replace(x, pattern, r"[\1]"),
        tf.strings.regex_replace(x, pattern, r"\0", replace_global=False),
        tf.strings.regex_full_match(x, pattern),
    ]


# ---- variables -----------------------------------------------------------------------------------


def steps_of(part: int) -> None:
    """The door case of every fourth step of an optimizer."""

    @door(f"steps of optimizers {part}")
    def _(tf, place):
        found = []
        for i, case in enumerate(apply_cases.cases()):
            if i % 4 != part:
                continue
            zeros = np.zeros(apply_cases.SHAPE, np.float32)
            variables = [place.variable(tf, f"{name}_{i}", zeros) for name in case[1]]
            found += apply_cases.run(tf, case, variables)
        return found


for part in range(4):
    steps_of(part)


@door("slices of variables")
def _(tf, place):
    variable = place.variable(tf, "scattered", np.zeros([3, 4], np.float32))
    return [apply_cases.run_scatter(tf, case, variable) for case in apply_cases.SCATTERS]
