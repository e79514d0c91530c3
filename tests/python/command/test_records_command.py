"""`mica records`: folders of pictures and MNIST's files become TFRecord files."""

import gzip
import struct

import numpy as np
import pytest
from test_cli import PROGRAM, ROOT, run

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


def _bmp(value: int) -> bytes:
    """A gray picture of one row and two columns."""
    header = struct.pack("<IIIIiiHH", 58, 0, 54, 40, 2, 1, 1, 8) + bytes(24)
    return b"BM" + header + bytes([value, value, 0, 0])


@pytest.fixture
def pictures(tmp_path):
    """Three classes with 4 pictures each, and files that are none."""
    for i, name in enumerate(("cat", "dog", "emu")):
        (tmp_path / "in" / name).mkdir(parents=True)
        for k in range(4):
            (tmp_path / "in" / name / f"{k}.bmp").write_bytes(_bmp(10 * i + k))
    (tmp_path / "in" / "dog" / "notes.txt").write_text("no picture")
    (tmp_path / "in" / "README").write_text("no class")
    (tmp_path / "in" / ".hidden").mkdir()
    return tmp_path / "in"


def _read(prefix):
    import mica.tf as tf  # late: the other tests of the command need no TensorFlow

    features = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/format": tf.io.FixedLenFeature([], tf.string),
        "image/filename": tf.io.FixedLenFeature([], tf.string),
        "image/class/text": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }
    files = sorted(prefix.parent.glob(prefix.name + "-*"))
    records = tf.data.TFRecordDataset([str(file) for file in files])
    found = []
    for record in records:
        x = tf.io.parse_single_example(record, features)
        pixel = int(tf.io.decode_image(x["image/encoded"])[0, 0, 0])
        assert x["image/format"].numpy() == b"bmp"
        texts = (x["image/class/text"].numpy().decode(), x["image/filename"].numpy().decode())
        found.append((int(x["image/class/label"]), *texts, pixel))
    return files, found


def test_a_folder_of_pictures_becomes_records_in_order(pictures, tmp_path):
    text = run("records", pictures, "--output", tmp_path / "out")
    files, found = _read(tmp_path / "out")
    assert [file.name for file in files] == ["out-00000-of-00001"]
    wanted = [
        (i, name, f"{k}.bmp", 10 * i + k)
        for i, name in enumerate(("cat", "dog", "emu"))
        for k in range(4)
    ]
    assert found == wanted
    assert "12 records" in text and "class 1: dog" in text


def test_sizes_make_several_files_and_seeds_another_order(pictures, tmp_path):
    arguments = ("--size", "0.001", "--seed", "3")
    run("records", pictures, "--output", tmp_path / "a", *arguments)
    run("records", pictures, *arguments, "--output", tmp_path / "b")
    files, found = _read(tmp_path / "a")
    assert len(files) == 3 and files[1].name == "a-00001-of-00003"
    assert all(file.stat().st_size < 1500 for file in files)
    assert found == _read(tmp_path / "b")[1]
    assert found != sorted(found)
    assert sorted(found) == _read_all(pictures, tmp_path)


def _read_all(pictures, tmp_path):
    run("records", pictures, "--output", tmp_path / "all")
    return sorted(_read(tmp_path / "all")[1])


def test_files_of_mnist_become_records(tmp_path):
    import mica.tf as tf

    folder = ROOT / "data" / "mnist"
    images, labels = folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz"
    run("records", images, labels, "--output", tmp_path / "mnist", "--size", "4")
    files = sorted(tmp_path.glob("mnist-*"))
    assert [file.name for file in files] == ["mnist-00000-of-00002", "mnist-00001-of-00002"]
    features = {
        "image_raw": tf.io.FixedLenFeature([], tf.string),
        **{
            key: tf.io.FixedLenFeature([], tf.int64)
            for key in ("height", "width", "depth", "label")
        },
    }
    records = tf.data.TFRecordDataset([str(file) for file in files]).batch(10000)
    (batch,) = [tf.io.parse_example(x, features) for x in records]
    pixels = tf.io.decode_raw(batch["image_raw"], tf.uint8).numpy()
    raw = np.frombuffer(gzip.decompress(images.read_bytes())[16:], np.uint8)
    assert np.array_equal(pixels, raw.reshape(10000, 784))
    wanted = np.frombuffer(gzip.decompress(labels.read_bytes())[8:], np.uint8)
    assert np.array_equal(batch["label"].numpy(), wanted)
    assert set(batch["height"].numpy()) == {28} and set(batch["depth"].numpy()) == {1}


def test_what_is_no_source_is_refused(pictures, tmp_path):
    out = ("--output", tmp_path / "x")
    assert "no folder and no files" in run("records", code=2)
    assert "--output is needed" in run("records", pictures, code=2)
    assert "number of MB" in run("records", pictures, *out, "--size", "0", code=2)
    assert "unknown option" in run("records", pictures, *out, "--sizes", "1", code=2)
    assert "No such file" in run("records", tmp_path / "none", *out, code=1)
    assert "there are no pictures" in run("records", pictures / "cat", *out, code=1)
    assert "too many files" in run("records", pictures, *out, "--size", "0.00001", code=1)
    broken = tmp_path / "idx"
    broken.write_bytes(struct.pack(">IIII", 0x803, 1 << 31, 1 << 31, 1 << 31))
    assert "is no IDX file" in run("records", broken, broken, *out, code=1)
    broken.write_bytes(struct.pack(">IIII", 0x803, 5, 2, 2) + bytes(7))
    assert "ends after 7 of 20 bytes" in run("records", broken, broken, *out, code=1)
    assert not list(tmp_path.glob("x-*"))
