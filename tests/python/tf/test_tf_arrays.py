"""What becomes a tensor: arrays of objects, pandas' columns; and what tells tensors apart."""

import numpy as np
import pandas as pd
import pytest

tf = pytest.importorskip("mica.tf")

TEXTS = [
    pd.Series(["a", "bc"]),
    pd.Series(["a", "bc"], dtype=object),
    pd.Series(["a", "bc"], dtype="string"),
    pd.Series(pd.Categorical(["a", "bc"])),
    pd.Categorical(["a", "bc"]),
    pd.Index(["a", "bc"]),
    pd.array(["a", "bc"]),
    pd.Series([b"a", b"bc"]),
    np.array(["a", b"bc"], object),
    [np.str_("a"), "bc"],
]


@pytest.mark.parametrize("texts", TEXTS, ids=lambda texts: f"{type(texts).__name__}")
def test_columns_of_texts_become_tensors(texts):
    for tensor in (tf.constant(texts), tf.convert_to_tensor(texts, tf.string), tf.identity(texts)):
        assert tensor.dtype == tf.string and tensor.numpy().tolist() == [b"a", b"bc"]
    assert tf.strings.length(texts).numpy().tolist() == [1, 2]


def test_a_frame_of_texts_is_a_matrix_and_its_columns_are_a_dataset():
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["é", "w"]})
    assert tf.constant(frame).numpy().tolist() == [[b"x", "é".encode()], [b"y", b"w"]]
    rows = list(tf.data.Dataset.from_tensor_slices(dict(frame)).as_numpy_iterator())
    assert rows == [{"a": b"x", "b": "é".encode()}, {"a": b"y", "b": b"w"}]


def test_columns_of_numbers_keep_their_dtype():
    assert tf.constant(pd.Series([1, 2])).dtype == tf.int64
    assert tf.constant(pd.Series([1, 2], dtype="Int64")).dtype == tf.int64
    assert tf.constant(pd.Series([1.0, None])).dtype == tf.float64
    assert tf.constant(pd.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})).shape == (2, 2)
    assert tf.constant(pd.Series([], dtype=object)).dtype == tf.string


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (pd.Series(["a", None]), "float"),
        (pd.Series(["a", 1]), "int"),
        (pd.Series([pd.NA, "x"], dtype="string"), "NAType"),
        (np.array(["a", None], object), "NoneType"),
        (np.array([1, 2], object), "int"),
        (np.array([["a"], ["b", "c"]], object), "list"),
    ],
)
def test_objects_that_are_no_texts_are_refused_by_their_kind(value, kind):
    with pytest.raises(ValueError, match=rf"Unsupported object type {kind}\)"):
        tf.constant(value)


def test_sequences_of_texts_and_others_are_refused():
    for value in (["a", None], [np.array(["a"], object), np.array([1], object)]):
        with pytest.raises(ValueError, match="mixed types"):
            tf.constant(value)


def test_objects_become_numbers_where_a_dtype_is_given():
    assert tf.constant(np.array([1.0, 2.0], object), tf.float32).numpy().tolist() == [1.0, 2.0]
    assert tf.constant(np.array([], object), tf.float32).dtype == tf.float32
    with pytest.raises(ValueError, match="invalid literal"):
        tf.constant(np.array(["a", "b"], object), tf.int32)


def test_symbolic_tensors_have_no_numpy():
    seen = []

    @tf.function
    def ask(x):
        seen.append((hasattr(x, "numpy"), "numpy" in dir(x)))
        with pytest.raises(AttributeError, match="SymbolicTensor' object has no attribute 'numpy'"):
            x.numpy()
        return x

    x = tf.constant([1.0])
    ask(x)
    assert seen == [(False, False)]
    assert x.numpy().tolist() == [1.0] and "numpy" in dir(x) and not hasattr(tf.Tensor, "numpy")


def test_initializers_take_shapes_that_are_tensors_of_a_graph():
    @tf.function
    def make(shape):
        return tf.zeros_initializer()(shape), tf.ones_initializer()(tf.shape(tf.zeros([2, 3])))

    zeros, ones = make(tf.constant([3, 1]))
    assert zeros.shape == (3, 1) and ones.numpy().sum() == 6.0
