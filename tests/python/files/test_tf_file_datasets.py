"""Datasets of files, whole files and tf.io.gfile: TensorFlow's values, errors with names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import example_program
import files_program
import mica.tf as tf
import pytest
from mica.tf.io import gfile
from test_tf_summary import NEEDS_ZLIB

GOLDEN = json.loads((Path(__file__).with_name("data") / "records" / "files.json").read_text())


@NEEDS_ZLIB
def test_what_files_hold_is_read_as_tensorflow_reads_it(tmp_path):
    found = files_program.results(tf, str(tmp_path), example_program.plain)
    for name, elements in GOLDEN["datasets"].items():
        assert found["datasets"][name] == elements, name
    assert found["specs"] == GOLDEN["specs"]
    assert found["tensors"] == GOLDEN["tensors"]
    assert found["matched"] == GOLDEN["matched"]


def write_records(path, records) -> str:
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def test_a_damaged_file_is_an_error_with_its_name_and_the_next_is_read(tmp_path):
    whole = write_records(tmp_path / "whole", [b"a", b"b"])
    bad = write_records(tmp_path / "bad", [b"c", b"d", b"e"])
    with open(bad, "r+b") as file:
        file.seek(17 + 12)
        file.write(b"D")
    elements = iter(tf.data.TFRecordDataset([bad, whole]))
    assert next(elements).numpy() == b"c"
    with pytest.raises(tf.errors.DataLossError, match="bad: corrupted record at offset 17"):
        next(elements)
    assert [e.numpy() for e in elements] == [b"a", b"b"]
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        list(tf.data.TFRecordDataset(str(tmp_path / "nowhere")))
    with pytest.raises(tf.errors.DataLossError, match="whole is damaged"):
        list(tf.data.TFRecordDataset(whole, "GZIP"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="'LZ4'"):
        list(tf.data.TFRecordDataset(whole, "LZ4"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="zero byte"):
        list(tf.data.TextLineDataset("a\0b"))
    with pytest.raises(TypeError, match=r"tf.string"):
        tf.data.TFRecordDataset([1, 2])
    with pytest.raises(TypeError, match=r"dataset of"):
        tf.data.TFRecordDataset(tf.data.Dataset.range(2))


def test_pieces_that_do_not_divide_a_file_are_an_error(tmp_path):
    path = tmp_path / "pieces"
    path.write_bytes(b"HHaabbccF")
    for sizes in ((4, 0, 0), (2, 0, 0), (2, 20, 0), (2, 0, 20), (3, 1, 0)):
        elements = tf.data.FixedLengthRecordDataset(str(path), *sizes)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"pieces.*exact multiple"):
            list(elements)
    for sizes, wrong in (((0,), "record_bytes"), ((2, -1), "header_bytes"), ((2**50,), "record")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=wrong):
            list(tf.data.FixedLengthRecordDataset(str(path), *sizes))


def test_files_in_functions_and_pipelines(tmp_path):
    for k in range(3):
        tf.io.write_file(tmp_path / f"f{k}", f"text {k}")

    @tf.function
    def sizes(pattern):
        names = tf.io.matching_files(pattern)
        return tf.map_fn(
            lambda name: tf.strings.length(tf.io.read_file(name)),
            names,
            fn_output_signature=tf.int32,
        )

    assert sizes(str(tmp_path / "f?")).numpy().tolist() == [6, 6, 6]
    names = tf.data.Dataset.from_tensor_slices(sorted(map(str, tmp_path.iterdir())))
    read = names.map(tf.io.read_file).batch(2)
    assert [e.numpy().tolist() for e in read] == [[b"text 0", b"text 1"], [b"text 2"]]
    half = iter(tf.data.TextLineDataset(names).prefetch(2))
    assert next(half).numpy() == b"text 0"
    del half


def test_files_are_listed_in_tensorflows_order(tmp_path):
    for k in range(6):
        (tmp_path / f"f{k}").touch()

    def names(dataset):
        return [os.path.basename(name).decode() for name in dataset.as_numpy_iterator()]

    tf.random.set_seed(1)
    shuffled = tf.data.Dataset.list_files(str(tmp_path / "*"), seed=3)
    assert names(shuffled) == ["f3", "f2", "f5", "f0", "f1", "f4"]
    plain = tf.data.Dataset.list_files([str(tmp_path / "*")], shuffle=False)
    assert names(plain) == [f"f{k}" for k in range(6)]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"No files matched pattern: .*x"):
        tf.data.Dataset.list_files(str(tmp_path / "x*"))


def test_whole_files(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    tf.io.write_file(path, b"first\0")
    assert tf.io.read_file(path).numpy() == b"first\0"
    tf.io.write_file(path, "")
    assert tf.io.read_file(path).numpy() == b""
    assert os.listdir(path.parent) == ["file"]
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        tf.io.read_file(tmp_path / "nowhere")
    with pytest.raises(tf.errors.OpError, match="file"):
        tf.io.write_file(path / "below", "x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="one string"):
        tf.io.read_file(["a", "b"])


def test_tensors_are_strings_and_back():
    for tensor in files_program.tensors(tf):
        again = tf.io.parse_tensor(tf.io.serialize_tensor(tensor), tensor.dtype)
        assert again.shape == tensor.shape
        assert again.numpy().tolist() == tensor.numpy().tolist()
    text = tf.io.serialize_tensor(tf.constant([1.0, 2.0])).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"float32.*int32"):
        tf.io.parse_tensor(text, tf.int32)
    for damaged in (
        b"",
        b"\xff",
        text[:-1],
        b"\x08\x01\x12\x0c\x12\x0a\x08\xff\xff\xff\xff\xff\x7f",
    ):
        with pytest.raises(tf.errors.OpError, match=r"TensorProto|constant|tensor"):
            tf.io.parse_tensor(damaged, tf.float32)


def test_gfile_is_tensorflows(tmp_path):
    top = str(tmp_path)
    gfile.makedirs(f"{top}/a/b")
    gfile.mkdir(f"{top}/a")
    with gfile.GFile(f"{top}/a/x.txt", "w") as file:
        file.write("hi\nyou\n")
    assert list(gfile.GFile(f"{top}/a/x.txt")) == ["hi\n", "you\n"]
    assert gfile.GFile(f"{top}/a/x.txt", "rb").read(2) == b"hi"
    assert gfile.stat(f"{top}/a/x.txt").length == gfile.GFile(f"{top}/a/x.txt").size() == 7
    assert gfile.exists(f"{top}/a/x.txt")
    assert not gfile.exists(f"{top}/n")
    assert gfile.isdir(f"{top}/a")
    gfile.copy(f"{top}/a/x.txt", f"{top}/y")
    with pytest.raises(tf.errors.AlreadyExistsError, match="y"):
        gfile.copy(f"{top}/a/x.txt", f"{top}/y")
    gfile.rename(f"{top}/y", f"{top}/a/x.txt", overwrite=True)
    assert gfile.listdir(top) == ["a"]
    assert gfile.glob([f"{top}/a/*", f"{top}/none*"]) == [f"{top}/a/b", f"{top}/a/x.txt"]
    assert list(gfile.walk(top)) == [(top, ["a"], []), (f"{top}/a", ["b"], ["x.txt"]),
                                     (f"{top}/a/b", [], [])]  # fmt: skip
    with pytest.raises(tf.errors.FailedPreconditionError, match="directory"):
        gfile.remove(f"{top}/a")
    gfile.rmtree(f"{top}/a")
    for call in (gfile.stat, gfile.remove, gfile.rmtree, gfile.listdir):
        with pytest.raises(tf.errors.NotFoundError, match="a"):
            call(f"{top}/a")
    with pytest.raises(tf.errors.NotFoundError, match="a"):
        gfile.GFile(f"{top}/a").read()
    with pytest.raises(tf.errors.PermissionDeniedError, match="writing"):
        gfile.GFile(f"{top}/a").write("x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode"):
        gfile.GFile(f"{top}/a", "x")
    with pytest.raises(tf.errors.UnimplementedError, match="'gs'"):
        gfile.exists("gs://bucket/file")


def test_without_zlib_compressed_files_are_an_error_that_says_what_to_do(tmp_path):
    path = write_records(tmp_path / "records", [b"a"])
    script = (
        "import sys, mica.tf as tf\n"
        "print([e.numpy() for e in tf.data.TFRecordDataset(sys.argv[1])])\n"
        "for call in (lambda: list(tf.data.TFRecordDataset(sys.argv[1], 'GZIP')),\n"
        "             lambda: tf.io.TFRecordWriter(sys.argv[1], 'ZLIB')):\n"
        "    try:\n"
        "        call()\n"
        "    except tf.errors.UnimplementedError as error:\n"
        "        print('refused:', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path],
        env=os.environ | {"MICA_ZLIB": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "[b'a']" in done.stdout
    assert done.stdout.count("need zlib, and MICA_ZLIB is 'off'") == 2


def test_files_of_other_systems_are_refused_and_the_package_for_them_is_named(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    url = "gs://bucket/file"
    for use in (
        lambda: tf.io.read_file(url),
        lambda: tf.io.write_file(url, "text"),
        lambda: list(tf.data.TFRecordDataset("s3://bucket/file")),
        lambda: tf.io.TFRecordWriter(url),
        lambda: tf.io.gfile.GFile(url).read(),
        lambda: tf.io.gfile.makedirs(url),
        lambda: tf.train.Checkpoint(v=tf.Variable(1)).write(url),
        lambda: tf.train.load_checkpoint(url),
        lambda: tf.summary.create_file_writer(url).init(),
        lambda: tf.saved_model.save(tf.Module(), url),
        lambda: tf.data.Dataset.range(3).save(url),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match=r"scheme '(gs|s3)' .* fsspec"):
            use()
    assert list(tmp_path.iterdir()) == []
