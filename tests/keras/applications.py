"""Every architecture of keras.applications over mica.tf: make soak runs this.

    python -m mica.tf tests/keras/applications.py [--most-gigabytes N] [part of a name ...]

A process per architecture builds it for small pictures, computes finite outputs, trains one step,
whose loss has to be finite, saves it, and loads it in another process, where its weights and
outputs have to be the same, bit for bit. (After one step the moving means of some untrained nets
are so far off that their outputs are NaN, with TensorFlow too.) Architectures whose weights alone,
with their gradients, need more than --most-gigabytes are named and left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import keras
import numpy as np

# Sides of the pictures: the smallest that an architecture takes with its top, in steps of 32.
SIDES = {"InceptionV3": 96, "InceptionResNetV2": 96, "Xception": 96}
SIDE = 32
CLASSES, BATCH = 10, 2
# Millions of weights of those that are large, as Keras' documentation has them.
LARGE = {
    "VGG16": 34,
    "VGG19": 39,
    "NASNetLarge": 85,
    "EfficientNetB6": 41,
    "EfficientNetB7": 64,
    "EfficientNetV2M": 53,
    "EfficientNetV2L": 117,
    "ConvNeXtBase": 88,
    "ConvNeXtLarge": 196,
    "ConvNeXtXLarge": 348,
}
SECONDS = 1800


def architectures() -> list[str]:
    """The names of the functions of keras.applications that build nets."""
    public = vars(keras.applications)
    return sorted(name for name in public if name[0].isupper() and callable(public[name]))


def pictures(side: int) -> np.ndarray:
    """The same few pictures in every process."""
    return np.random.default_rng(0).uniform(0, 255, (BATCH, side, side, 3)).astype("float32")


def digest(model: keras.Model) -> str:
    """Tells the weights of one net from those of another."""
    found = hashlib.sha256()
    for weight in model.weights:
        found.update(np.ascontiguousarray(weight).tobytes())
    return found.hexdigest()


def train(name: str, folder: pathlib.Path) -> dict:
    """Build, train a step, save; the outputs and the digest go beside the model."""
    keras.utils.set_random_seed(1)
    side = SIDES.get(name, SIDE)
    build = getattr(keras.applications, name)
    model = build(weights=None, input_shape=(side, side, 3), classes=CLASSES)
    model.compile(keras.optimizers.SGD(1e-3), "sparse_categorical_crossentropy")
    x = pictures(side)
    y = np.asarray(model.predict_on_batch(x))
    assert y.shape == (BATCH, CLASSES) and np.isfinite(y).all(), y
    loss = float(model.train_on_batch(x, np.arange(BATCH)))
    assert np.isfinite(loss), f"the loss is {loss}"
    model.save(folder / "model.keras")
    np.save(folder / "outputs.npy", model.predict_on_batch(x))
    (folder / "digest").write_text(digest(model))
    return {"loss": loss, "weights": model.count_params()}


def load(name: str, folder: pathlib.Path) -> dict:
    """Load what was saved and compare its weights and outputs."""
    model = keras.models.load_model(folder / "model.keras")
    assert digest(model) == (folder / "digest").read_text(), "the weights differ"
    y = np.asarray(model.predict_on_batch(pictures(SIDES.get(name, SIDE))))
    wanted = np.load(folder / "outputs.npy")
    far = np.nanmax(np.abs(y - wanted), initial=0)
    assert np.array_equal(y, wanted, equal_nan=True), f"the outputs differ by up to {far}"
    return {}


def step(action: str, name: str, folder: pathlib.Path) -> dict:
    """One action in a process of its own; what went wrong is under "error"."""
    command = [sys.executable, "-m", "mica.tf", __file__, action, name, str(folder)]
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "MALLOC_ARENA_MAX": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"{action}: no end within {SECONDS} seconds"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return {"error": f"{action}: {lines[-1]}"}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] in ("train", "load"):
        act = train if sys.argv[1] == "train" else load
        found = act(sys.argv[2], pathlib.Path(sys.argv[3]))
        found["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps(found))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most-gigabytes", type=float, default=3.0)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    failed = passed = 0
    for name in sorted(architectures(), key=lambda name: LARGE.get(name, 0)):
        if options.parts and not any(part in name for part in options.parts):
            continue
        needed = LARGE.get(name, 0) * 4e6 * 3 / 2**30
        if needed > options.most_gigabytes:
            print(f"{name}: left out: about {needed:.1f} GB of weights and gradients", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            trained = step("train", name, pathlib.Path(folder))
            loaded = {} if "error" in trained else step("load", name, pathlib.Path(folder))
        error = trained.get("error") or loaded.get("error")
        failed, passed = failed + bool(error), passed + (not error)
        print(
            f"{name}: {error}"
            if error
            else f"{name}: {trained['weights'] / 1e6:.1f} million weights, loss "
            f"{trained['loss']:.3f}, loaded with the same outputs, "
            f"{max(trained['gigabytes'], loaded['gigabytes']):.2f} GB at the most",
            flush=True,
        )
    print(f"{passed} of {passed + failed} architectures train, save and load")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
