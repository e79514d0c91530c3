"""Where the libraries of pictures come from, and what Keras reads of folders."""

import glob
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mica.tf")

PROGRAM = """
import mica.tf as tf
picture = tf.constant([[[255, 0, 10], [0, 255, 20]], [[0, 0, 255], [9, 9, 9]]], tf.uint8)
for encode, decode in (
    (tf.io.encode_png, tf.io.decode_png),
    (tf.io.encode_jpeg, tf.io.decode_jpeg),
):
    try:
        print(decode(encode(picture)).shape)
    except tf.errors.UnimplementedError as error:
        print(error)
"""


def _run(**variables):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_libraries_of_pillow_s_wheel_serve():
    pil = pytest.importorskip("PIL")
    folder = Path(pil.__file__).resolve().parent.parent / "pillow.libs"
    found = {name: glob.glob(str(folder / f"{name}*")) for name in ("libjpeg", "libpng")}
    if not all(found.values()):
        pytest.skip("this Pillow brings no libraries")
    text = _run(MICA_LIBJPEG=found["libjpeg"][0], MICA_LIBPNG=found["libpng"][0])
    assert text == "(2, 2, 3)\n(2, 2, 3)\n"


def test_without_a_library_the_error_names_it():
    first, second = _run(MICA_LIBJPEG="off", MICA_LIBPNG="/nowhere/libpng.so").splitlines()
    assert "need libpng" in first and "/nowhere/libpng.so" in first
    assert "need libjpeg" in second and "MICA_LIBJPEG is 'off'" in second


def test_a_library_that_is_none_is_not_used():
    """One of another version or without the functions is passed over, not called."""
    assert "need libjpeg" in _run(MICA_LIBJPEG="libm.so.6").splitlines()[1]


KERAS = """
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

folder = Path(sys.argv[1])
for kind in ("cat", "dog"):
    (folder / "seen" / kind).mkdir(parents=True)
    (folder / "heard" / kind).mkdir(parents=True)
    for i in range(3):
        value = 40 * i + (100 if kind == "dog" else 0)
        pixels = tf.fill([6, 8, 3], tf.constant(value, tf.uint8))
        tf.io.write_file(str(folder / "seen" / kind / f"{i}.png"), tf.io.encode_png(pixels))
        sound = tf.audio.encode_wav(tf.fill([5, 1], value / 256.0), 100)
        tf.io.write_file(str(folder / "heard" / kind / f"{i}.wav"), sound)
data = keras.utils.image_dataset_from_directory(
    folder / "seen", image_size=(4, 4), batch_size=6, seed=1
)
(images, labels), = data
for image, label in zip(images.numpy(), labels.numpy(), strict=True):
    print("image", image.shape, int(image[0, 0, 0]) >= 100, label)
data = keras.utils.audio_dataset_from_directory(folder / "heard", batch_size=6, seed=1)
(sounds, labels), = data
print("sound", sounds.shape, labels.shape)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="tested where the wheels are known")
def test_keras_reads_folders_of_pictures_and_sounds(tmp_path):
    if importlib.util.find_spec("keras") is None:
        pytest.skip("keras is not installed")
    program = tmp_path / "program.py"
    program.write_text(KERAS)
    (tmp_path / "data").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", str(program), str(tmp_path / "data")],
        env=os.environ | {"KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(("image", "sound"))]
    assert sorted(lines[:6]) == ["image (4, 4, 3) False 0"] * 3 + ["image (4, 4, 3) True 1"] * 3
    assert lines[6] == "sound (6, 5, 1) (6,)"
