"""Regular expressions of tf.strings: TensorFlow's answers and errors."""

import gzip
import json
from pathlib import Path

import mica.tf as tf
import pytest

DATA = Path(__file__).parent / "data" / "tf_regex.json.gz"


def answer(pattern, rewrite, everywhere, texts):
    """As the stored answers of TensorFlow."""
    texts = tf.constant([text.encode("latin-1") for text in texts])
    try:
        is_whole = tf.strings.regex_full_match(texts, pattern).numpy().tolist()
        made = tf.strings.regex_replace(texts, pattern, rewrite, everywhere).numpy().tolist()
    except tf.errors.InvalidArgumentError as error:
        message = str(error).split(f"Invalid pattern: {pattern}, error: ", 1)[1]
        return [message.rsplit(" [Op:", 1)[0]]
    return [is_whole, [text.decode("latin-1") for text in made]]


def test_random_patterns_do_what_they_do_in_tensorflow():
    cases = json.loads(gzip.decompress(DATA.read_bytes()))
    assert len(cases) >= 4000
    assert [case for case in cases if answer(*case[:4]) != case[4:]] == []


def test_a_pattern_that_is_a_tensor_does_what_a_known_one_does():
    texts = tf.constant([["a1b22"], ["\u00e9"]])
    known = tf.strings.regex_replace(texts, r"(\d)", r"<\1>")
    assert known.numpy().tolist() == [[b"a<1>b<2><2>"], ["\u00e9".encode()]]

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string), tf.TensorSpec(None, tf.string)])
    def later(texts, pattern):
        return (
            tf.strings.regex_replace(texts, pattern, tf.constant(r"<\1>")),
            tf.strings.regex_full_match(texts, pattern),
        )

    made, is_whole = later(texts, tf.constant(r"(\d)"))
    assert made.numpy().tolist() == known.numpy().tolist()
    assert is_whole.numpy().tolist() == [[False], [False]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Pattern must be scalar"):
        later(texts, tf.constant(["a", "b"]))


def test_wrong_patterns_and_arguments_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"pattern: \(, error: missing \): \("):
        tf.strings.regex_replace("a", "(", "b")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Pattern must be scalar"):
        tf.strings.regex_full_match("a", ["a"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Rewrite must be scalar"):
        tf.raw_ops.RegexReplace(input="a", pattern="a", rewrite=["b"])
    with pytest.raises(TypeError, match="replace_global"):
        tf.strings.regex_replace("a", "a", "b", replace_global=1)
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        tf.strings.regex_replace(tf.constant(1), "a", "b")


def test_a_function_with_patterns_is_saved_and_loaded(tmp_path):
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def clean(texts):
        return tf.strings.regex_replace(tf.strings.lower(texts), "[[:punct:]]+", " ")

    module.clean = clean
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.clean(tf.constant(["A,b!?c"])).numpy().tolist() == [b"a b c"]
