"""Input pipelines in tf.data and in PyTorch, of pictures, records and JPEG files; checkpoints.

A call is one pass over all the data. The value to compare does not depend on the order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import CHECKPOINT, IMAGES, JPEGS, RECORDS, Case, generator

BATCH = 128
PICTURES = 20  # different ones among the JPEG files
FILES = Path(__file__).resolve().parent.parent / ".bench"  # on the disk that is measured


def pictures(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of 28x28 bytes, and their labels."""
    source = generator()
    x = source.integers(0, 256, (n, 28, 28, 1), dtype=np.uint8)
    return x, source.integers(0, 10, n)


def _pass(dataset: Any) -> Callable:
    def run() -> None:
        for _ in dataset:
            pass

    return run


def images(tf: Any, n: int, flips: bool) -> tuple:
    """Shuffled, made floats, mirrored at random, batched, made ahead."""

    def change(x: Any, y: Any) -> tuple:
        x = tf.cast(x, tf.float32) / 255.0
        return tf.image.random_flip_left_right(x) if flips else x, y

    data = tf.data.Dataset.from_tensor_slices(pictures(n)).shuffle(10000)
    data = data.map(change, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH).prefetch(2)

    def check() -> np.ndarray:
        parts = [(len(y), float(np.sum(x.numpy(), dtype="float64"))) for x, y in data]
        return np.sum(np.array(parts), axis=0)

    return {"tf.data": _pass(data)}, check


def _message(tf: Any, number: int, values: np.ndarray) -> bytes:
    feature = {
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "v": tf.train.Feature(float_list=tf.train.FloatList(value=values)),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def records(tf: Any, n: int, batches_first: bool) -> tuple:
    """Example messages with a number and eight floats, read, parsed and batched."""
    folder = tempfile.TemporaryDirectory()
    path = str(Path(folder.name) / "records")
    values = generator().standard_normal((100, 8)).astype("float32")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(n):
            writer.write(_message(tf, i, values[i % 100]))
    features = {
        "n": tf.io.FixedLenFeature([], tf.int64),
        "v": tf.io.FixedLenFeature([8], tf.float32),
    }
    data = tf.data.TFRecordDataset(path)
    if batches_first:
        data = data.batch(BATCH).map(lambda batch: tf.io.parse_example(batch, features))
    else:
        data = data.map(lambda one: tf.io.parse_single_example(one, features)).batch(BATCH)
    data = data.prefetch(2)

    def check() -> np.ndarray:
        parts = [(np.sum(e["n"].numpy()), np.sum(e["v"].numpy(), dtype="float64")) for e in data]
        return np.sum(np.array(parts), axis=0)

    def run() -> Any:
        assert folder  # the files stay as long as the case
        return _pass(data)()

    return {"tf.data": run}, check


def _photo(source: Any) -> np.ndarray:
    """Patches of one colour with noise over them, 375 x 500: compresses about as photos do."""
    patches = source.integers(0, 256, (12, 16, 3)).repeat(32, 0).repeat(32, 1)[:375, :500]
    return np.clip(patches + source.normal(0, 12, patches.shape), 0, 255).astype(np.uint8)


def jpegs(tf: Any, n: int) -> tuple:
    """JPEG files of 500x375, read, decoded, resized to 224x224 and batched."""
    folder = tempfile.TemporaryDirectory()
    source = generator()
    texts = [
        tf.io.encode_jpeg(tf.constant(_photo(source)), quality=90).numpy() for _ in range(PICTURES)
    ]
    for i in range(n):
        Path(folder.name, f"{i:04}.jpg").write_bytes(texts[i % PICTURES])

    def load(path: Any) -> Any:
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(picture, [224, 224])

    data = tf.data.Dataset.list_files(str(Path(folder.name, "*.jpg")), shuffle=False)
    data = data.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(2)

    def check() -> np.ndarray:
        return np.array([np.sum(x.numpy(), dtype="float64") for x in data])

    def run() -> None:
        assert folder  # the files stay as long as the case
        _pass(data)()

    return {"tf.data": run}, check


def checkpoint(tf: Any, size: int, reads: bool) -> tuple:
    """A checkpoint of sixteen variables, written to the disk or read from files in memory."""
    folder = tempfile.TemporaryDirectory(dir=FILES)
    shape = (16, size // 16 // 64, 16)
    arrays = generator().standard_normal(shape, dtype="float32")
    variables = [tf.Variable(array) for array in arrays]
    saved = tf.train.Checkpoint(variables=variables)

    def write() -> None:
        saved.write(str(Path(folder.name, "saved")))

    def read() -> None:
        saved.read(str(Path(folder.name, "saved"))).assert_consumed()

    def check() -> np.ndarray:
        for variable in variables:
            variable.assign(tf.zeros_like(variable))
        read()
        return np.array([np.sum(v.numpy(), dtype="float64") for v in variables])

    write()
    return {"read" if reads else "write": read if reads else write}, check


def prepare(tf: Any, case: Case) -> tuple[dict[str, Any], Callable]:
    """The idioms of a case of tf.data, and a function that gives the value to compare."""
    if case.name.startswith("data_images"):
        return images(tf, IMAGES, flips=case.name.endswith("flipped"))
    if case.name == "data_jpegs":
        return jpegs(tf, JPEGS)
    if case.name.startswith("checkpoint"):
        return checkpoint(tf, CHECKPOINT, reads=case.name.endswith("read"))
    return records(tf, RECORDS, batches_first=case.name.endswith("batched"))


def prepare_torch(torch: Any, case: Case) -> tuple[dict[str, Any], Callable]:
    """The same pictures out of PyTorch's DataLoader."""
    x, y = (torch.from_numpy(part) for part in pictures(IMAGES))
    flips = case.name.endswith("flipped")

    class Pictures(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(y)

        def __getitem__(self, i: int) -> tuple:
            picture = x[i].to(torch.float32) / 255.0
            return picture.flip(1) if flips and torch.rand(()) < 0.5 else picture, y[i]

    data = torch.utils.data.DataLoader(Pictures(), batch_size=BATCH, shuffle=True)

    def check() -> np.ndarray:
        parts = [(len(y), float(x.sum(dtype=torch.float64))) for x, y in data]
        return np.sum(np.array(parts), axis=0)

    return {"DataLoader": _pass(data)}, check
