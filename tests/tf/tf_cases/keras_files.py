"""Files, folders and pictures of Keras: models, checkpoints, logs, datasets of folders."""

import contextlib
import gzip
import hashlib
import importlib
import os
import struct
import tempfile
import wave

import numpy as np
from corpus import plain, raises
from keras_numbers import numbers, set_weights

K = "tf.keras"


def _model(tf):
    keras = tf.keras
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="d")], name="m")
    set_weights(model)
    model.compile(keras.optimizers.SGD(0.1), keras.losses.MeanSquaredError())
    return model


X, Y = numbers(6, 3), numbers(6, 2, shift=1.0)


@plain(f"{K}.models.load_model", "whole, by class, weights alone")
def _(tf):
    keras = tf.keras
    model = _model(tf)
    model.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name in ("m.keras", "m.h5"):
            path = os.path.join(folder, name)
            model.save(path)
            loaded = keras.models.load_model(path)
            if name.endswith("keras"):
                loaded.fit(X, Y, epochs=1, verbose=0, shuffle=False)
            found += [loaded(X[:1]), loaded.name, int(loaded.optimizer.iterations)]
        model.save_weights(os.path.join(folder, "w.weights.h5"))
        other = _model(tf)
        other.load_weights(os.path.join(folder, "w.weights.h5"))
        return [found, other(X[:2])]


@plain(
    tuple(
        f"{K}.callbacks.{name}" for name in ("ModelCheckpoint", "BackupAndRestore", "TensorBoard")
    ),
    "the files they write",
)
def _(tf):
    keras = tf.keras
    with tempfile.TemporaryDirectory() as folder:
        model = _model(tf)
        callbacks = [
            keras.callbacks.ModelCheckpoint(os.path.join(folder, "best{epoch:02d}.keras"), "loss"),
            keras.callbacks.BackupAndRestore(os.path.join(folder, "backup")),
            keras.callbacks.TensorBoard(os.path.join(folder, "logs"), write_graph=False),
        ]
        model.fit(X, Y, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
        events = [
            value.tag
            for root, _, names in os.walk(os.path.join(folder, "logs"))
            for name in sorted(names)
            for event in tf.compat.v1.train.summary_iterator(os.path.join(root, name))
            for value in event.summary.value
        ]
        kept = keras.models.load_model(os.path.join(folder, "best02.keras"))
        return [
            sorted(os.listdir(folder)),
            sorted(os.listdir(os.path.join(folder, "logs"))),
            events,
            tf.reduce_all(kept(X) == model(X)),
        ]


@plain(
    (
        *tuple(f"{K}.utils.{name}" for name in ("img_to_array", "array_to_img", "load_img")),
        f"{K}.utils",
    ),
    "pictures",
)
def _(tf):
    utils = tf.keras.utils
    pixels = (np.arange(4 * 5 * 3) * 4 % 256).reshape(4, 5, 3).astype(np.float32)
    picture = utils.array_to_img(pixels, scale=False)
    scaled = utils.array_to_img(numbers(2, 2, 1))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.png")
        utils.save_img(path, pixels, scale=False)
        loaded = utils.load_img(path)
        small = utils.load_img(path, color_mode="grayscale", target_size=(2, 2))
        return [
            picture.size,
            utils.img_to_array(picture),
            utils.img_to_array(scaled),
            utils.img_to_array(loaded, data_format="channels_first", dtype="uint8"),
            utils.img_to_array(small),
            utils.to_categorical([0, 2], 3),
        ]


@plain(f"{K}.utils.image_dataset_from_directory", "classes, sizes, splits")
def _(tf):
    utils = tf.keras.utils
    with tempfile.TemporaryDirectory() as folder:
        for i in range(6):
            kind = os.path.join(folder, "ab"[i % 2])
            os.makedirs(kind, exist_ok=True)
            utils.save_img(f"{kind}/{i}.png", np.full((4, 6, 3), 20.0 * i), scale=False)
        whole = utils.image_dataset_from_directory(
            folder, image_size=(2, 3), batch_size=4, shuffle=False, verbose=False
        )
        part = utils.image_dataset_from_directory(
            folder,
            label_mode="categorical",
            color_mode="grayscale",
            image_size=(2, 2),
            validation_split=0.34,
            subset="validation",
            seed=1,
            verbose=False,
        )
        return [
            whole.class_names,
            [(x, y) for x, y in whole],
            [(tf.shape(x), tf.shape(y)) for x, y in part],
        ]


@plain(f"{K}.utils.text_dataset_from_directory", "texts and labels")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        for i, text in enumerate(["one", "two words", "three", "and four"]):
            kind = os.path.join(folder, ("neg", "pos")[i % 2])
            os.makedirs(kind, exist_ok=True)
            with open(f"{kind}/{i}.txt", "w", encoding="utf-8") as file:
                file.write(text)
        dataset = tf.keras.utils.text_dataset_from_directory(
            folder, batch_size=3, shuffle=False, verbose=False
        )
        return [dataset.class_names, [(x, y) for x, y in dataset]]


@plain(f"{K}.utils.audio_dataset_from_directory", "sounds and labels")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        for i in range(4):
            kind = os.path.join(folder, ("hum", "tick")[i % 2])
            os.makedirs(kind, exist_ok=True)
            with wave.open(f"{kind}/{i}.wav", "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes((np.arange(12, dtype="<i2") * 500 * (i + 1)).tobytes())
        dataset = tf.keras.utils.audio_dataset_from_directory(
            folder, batch_size=4, output_sequence_length=10, shuffle=False, verbose=False
        )
        return [dataset.class_names, [(x, y) for x, y in dataset]]


@plain(f"{K}.utils.timeseries_dataset_from_array", "windows of a series")
def _(tf):
    make = tf.keras.utils.timeseries_dataset_from_array
    series = np.arange(12, dtype=np.float32)
    return [
        list(make(series, series[3:], sequence_length=3, batch_size=4)),
        list(make(series, None, 2, sequence_stride=3, sampling_rate=2, start_index=1)),
    ]


@plain(f"{K}.utils.get_file", "a file by its address, checked and unpacked")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "source.txt")
        with open(source, "w", encoding="utf-8") as file:
            file.write("content")
        code = hashlib.sha256(b"content").hexdigest()
        path = tf.keras.utils.get_file(
            "kept.txt", "file://" + source, cache_dir=folder, cache_subdir="c", file_hash=code
        )
        with open(path, encoding="utf-8") as file:
            return [os.path.relpath(path, folder), file.read()]


raises(
    f"{K}.utils.plot_model",
    "needs a package that draws",
    "pydot",
    lambda tf: tf.keras.utils.plot_model(_model(tf)),
)


@plain(f"{K}.utils.Progbar", "values kept while it runs")
def _(tf):
    bar = tf.keras.utils.Progbar(4, verbose=0)
    for i in range(4):
        bar.update(i + 1, values=[("loss", 2.0 * i)])
    total, count = bar._values["loss"]
    return [float(total), int(count)]


def _bytes_of(shape, start):
    """An IDX file of bytes."""
    head = struct.pack(">BBBB", 0, 0, 8, len(shape)) + struct.pack(f">{len(shape)}i", *shape)
    content = (np.arange(int(np.prod(shape))) + start) % 251
    return gzip.compress(head + content.astype(np.uint8).tobytes())


@contextlib.contextmanager
def _cache(utils):
    """A folder that Keras takes for its own, in which any file passes for the right one."""
    kept = utils.config.keras_home, utils.validate_file
    with tempfile.TemporaryDirectory() as folder:
        utils.config.keras_home = lambda: folder
        utils.validate_file = lambda *_, **__: True
        try:
            yield folder
        finally:
            utils.config.keras_home, utils.validate_file = kept


@plain(
    tuple(
        f"{K}.datasets.{name}"
        for name in "mnist mnist.load_data fashion_mnist fashion_mnist.load_data".split()
    ),
    "files that have been fetched",
)
def _(tf):
    datasets = tf.keras.datasets
    with _cache(importlib.import_module("keras.src.utils.file_utils")) as folder:
        fashion = os.path.join(folder, "datasets", "fashion-mnist")
        os.makedirs(fashion)
        for part, n in (("train", 60000), ("t10k", 10000)):
            for kind, shape in (("labels-idx1", (n,)), ("images-idx3", (n, 28, 28))):
                with open(f"{fashion}/{part}-{kind}-ubyte.gz", "wb") as file:
                    file.write(_pictures(n) if len(shape) > 1 else _bytes_of(shape, n % 7))
        arrays = {
            "x_train": np.arange(2 * 784).reshape(2, 28, 28).astype(np.uint8),
            "y_train": np.array([5, 0], np.uint8),
            "x_test": np.zeros((1, 28, 28), np.uint8),
            "y_test": np.array([7], np.uint8),
        }
        np.savez(os.path.join(folder, "datasets", "mnist.npz"), **arrays)
        (x, y), (u, v) = datasets.mnist.load_data()
        (a, b), (c, d) = datasets.fashion_mnist.load_data()
        return [
            [x.shape, x.dtype.name, int(x.sum()), y, u.shape, v],
            [a.shape, a.dtype.name, int(a.sum()), b.shape, int(b.sum()), c.shape, d.dtype.name],
        ]


def _pictures(n):
    head = struct.pack(">BBBBiii", 0, 0, 8, 3, n, 28, 28)
    return gzip.compress(head + bytes(784) * n, 1)


@plain(f"{K}.preprocessing.image.ImageDataGenerator", "flows of arrays")
def _(tf):
    generator = tf.keras.preprocessing.image.ImageDataGenerator(
        rescale=1 / 4.0, featurewise_center=True
    )
    x = numbers(5, 4, 4, 1)
    generator.fit(x)
    flow = generator.flow(x, np.arange(5), batch_size=2, shuffle=False)
    (a, b), (c, d) = flow[0], flow[2]
    return [len(flow), a, b, c, d]
