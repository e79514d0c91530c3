"""tf.train.Example: messages and their parsing are TensorFlow's."""

import json
from pathlib import Path

import example_program
import mica.tf as tf
import pytest
import sequence_program

STORED = Path(__file__).with_name("data") / "records"
GOLDEN = json.loads((STORED / "examples.json").read_text())


def texts():
    return [e.SerializeToString() for e in example_program.examples(tf)]


def test_messages_have_tensorflows_bytes_and_text():
    assert [example_program.plain(text) for text in texts()] == GOLDEN["messages"]
    for message in example_program.examples(tf):
        again = tf.train.Example.FromString(message.SerializeToString())
        assert again == message
        assert str(again) == str(message)
    merged = tf.train.Example()
    merged.MergeFromString(texts()[1])
    assert merged.features.feature["a"].int64_list.value == [4]
    assert merged.features.feature["b"].WhichOneof("kind") == "bytes_list"
    with pytest.raises(ValueError, match="cut off"):
        tf.train.Example.FromString(texts()[0][:-1])


@pytest.mark.parametrize("number", range(len(GOLDEN["parsed"])))
def test_features_are_parsed_as_tensorflow_parses_them(number):
    which, features = example_program.specs(tf)[number]
    found = example_program.parse(tf, texts(), which, features)
    assert example_program.plain(found) == GOLDEN["parsed"][number]
    assert list(found) == GOLDEN["keys"][number]


def test_a_list_of_integers_takes_no_others():
    with pytest.raises(TypeError, match="float"):
        tf.train.Int64List(value=[1.5]).SerializeToString()
    with pytest.raises(ValueError, match="out of range"):
        tf.train.Int64List(value=[1 << 64]).SerializeToString()


def test_texts_are_tensorflows():
    assert example_program.results(tf)["texts"] == GOLDEN["texts"]


@pytest.mark.parametrize("number", range(7))
def test_what_does_not_fit_is_an_error_with_its_key(number):
    which, features = example_program.refused(tf)[number]
    (key,) = features
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"(Key|Feature): {key}"):
        example_program.parse(tf, texts(), which, features)


@pytest.mark.parametrize("message", [b"\xff\xff", b"\n\x05abc", texts()[0][:-1], texts()[0][3:]])
def test_bytes_that_are_no_message_are_an_error_that_counts(message):
    wanted = {"a": tf.io.VarLenFeature(tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"input 1 \(Name: second\)"):
        tf.io.parse_example([texts()[0], message], wanted, example_names=["first", "second"])


def test_features_that_cannot_be_are_refused():
    for features, wrong in (
        ({}, "empty"),
        ({"a": tf.io.VarLenFeature(tf.int32)}, "int32"),
        ({"a": tf.io.FixedLenFeature(None, tf.int64)}, "shape"),
        ({"a": tf.io.FixedLenFeature([None], tf.int64)}, "known"),
        ({"a": tf.io.FixedLenSequenceFeature([], tf.int64)}, "allow_missing"),
    ):
        with pytest.raises(ValueError, match=wrong):
            tf.io.parse_single_example(texts()[0], features)
    with pytest.raises(TypeError, match="partition"):
        tf.io.RaggedFeature(tf.int64, partitions=["x"])
    with pytest.raises(ValueError, match="scalar"):
        tf.io.parse_single_example(texts()[:1], {"a": tf.io.VarLenFeature(tf.int64)})


def test_parsing_works_in_functions_and_in_datasets():
    wanted = {
        "a": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        "b": tf.io.VarLenFeature(tf.string),
        "c": tf.io.FixedLenFeature([], tf.float32, -1.0),
    }
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def parsed(messages):
        found = tf.io.parse_example(messages, wanted)
        shapes.append([found[k].shape.as_list() for k in "abc"])
        return found

    found = parsed(tf.constant(texts()))
    assert shapes == [[[None, None], [None, None], [None]]]
    assert found["a"].numpy().tolist() == [[1, 2, -3], [4, 0, 0], [0, 0, 0]]
    assert found["b"].values.numpy().tolist() == [b"x", b"", b"yy\0"]
    one = {"c": wanted["c"], "b": wanted["b"]}
    dataset = tf.data.Dataset.from_tensor_slices(texts())
    single = dataset.map(lambda text: tf.io.parse_single_example(text, one))
    assert single.element_spec["c"] == tf.TensorSpec([], tf.float32)
    assert [float(element["c"]) for element in single] == [1.5, -1.0, -1.0]
    batched = dataset.batch(2).map(lambda batch: tf.io.parse_example(batch, one))
    assert [b["b"].dense_shape.numpy().tolist() for b in batched] == [[2, 2], [1, 0]]


def test_strings_keep_zeros_at_their_ends():
    assert tf.constant([b"a\0", b"b"]).numpy().tolist() == [b"a\0", b"b"]
    assert tf.constant([["a\0"]]).numpy().tolist() == [[b"a\0"]]


R = tf.io.RaggedFeature
PARTED = [[[1, 2], [3], [4]], [[], [5, 6]], []]  # by all of these, as TensorFlow has it
PARTITIONS = {
    "lengths": ([R.RowLengths("l")], PARTED),
    "splits": ([R.RowSplits("s")], PARTED),
    "starts": ([R.RowStarts("b")], PARTED),
    "limits": ([R.RowLimits("e")], PARTED),
    "rows of values": ([R.ValueRowIds("i")], PARTED),
    "uniform": ([R.UniformRowLength(2)], [[[1, 2], [3, 4]], [[5, 6]], []]),
    "lengths of lengths": (
        [R.RowLengths("o"), R.RowLengths("l")],
        [[[[1, 2]], [[3], [4]]], [[[], [5, 6]]], []],
    ),
    "mixed": (
        [R.UniformRowLength(1), R.RowLengths("o"), R.RowSplits("s")],
        [[[[[1, 2]]], [[[3], [4]]]], [[[[], [5, 6]]]], []],
    ),
}


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=["int32", "int64"])
def test_values_are_parted_by_other_features(name, dtype):
    def message(**lists):
        feature = {
            key: tf.train.Feature(int64_list=tf.train.Int64List(value=value))
            for key, value in lists.items()
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    messages = [
        message(
            v=[1, 2, 3, 4],
            l=[2, 1, 1],
            s=[0, 2, 3, 4],
            b=[0, 2, 3],
            e=[2, 3, 4],
            i=[0, 0, 1, 2],
            o=[1, 2],
        ),
        message(v=[5, 6], l=[0, 2], s=[0, 0, 2], b=[0, 0], e=[0, 2], i=[1, 1], o=[2]),
        message(v=[], l=[], s=[0], b=[], e=[], i=[], o=[]),
    ]
    partitions, expected = PARTITIONS[name]
    features = {"x": R(tf.int64, "v", partitions, row_splits_dtype=dtype, validate=True)}
    made = tf.io.parse_example(messages, features)["x"]
    assert made.to_list() == expected and made.row_splits.dtype == dtype
    single = tf.io.parse_single_example(messages[0], features)["x"]
    listed = single.numpy().tolist() if name == "uniform" else single.to_list()
    assert listed == expected[0]
    batches = tf.data.Dataset.from_tensor_slices(messages).batch(3)
    (made,) = batches.map(lambda texts: tf.io.parse_example(texts, features)["x"])
    assert made.to_list() == expected


SEQUENCES = json.loads((STORED / "sequences.json").read_text())


@pytest.fixture(scope="module")
def sequences():
    return sequence_program.results(tf)


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence_examples_are_parsed_as_tensorflow_parses_them(name, sequences):
    assert sequences[name] == SEQUENCES[name]


def test_what_sequences_lack_is_said():
    texts, wanted = sequence_program.messages(tf), tf.io.FixedLenSequenceFeature([], tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Index: 1, Feature list 'w'"):
        tf.io.parse_sequence_example(texts[1:] + texts[2:], {}, {"w": wanted})
    with pytest.raises(NotImplementedError, match="partitions"):
        parted = tf.io.RaggedFeature(tf.int64, "w", [R.RowLengths("l")])
        tf.io.parse_sequence_example(texts, {}, {"w": parted})
