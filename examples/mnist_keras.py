"""Trains a convolutional net on MNIST, or on any data in its format, through Keras.

    python -m mica.tf examples/mnist_keras.py [--data DIR] [--epochs N] [--seed N] [--device NAME]
                                              [--losses FILE] [--accuracy FILE]

Two convolutions, a pool and two dense layers, trained by Adam. The device is `cpu`, `gpu` or `any`,
the best there is.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from mnist_idx import load
from tensorflow.python.compiler.mlcompute import mlcompute

BATCH = 128


class Losses(tf.keras.callbacks.Callback):
    """The loss of every step, out of the mean over the epoch so far, which Keras reports."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []
        self.sum = 0.0

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        """Begin a mean."""
        self.sum = 0.0

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Take what the step has added to the sum."""
        total = logs["loss"] * (batch + 1)
        self.values.append(total - self.sum)
        self.sum = total


def images(folder: Path, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    """Images with numbers from 0 to 1 and one channel, and their labels."""
    pixels, labels = load(folder, prefix)
    return pixels[..., None].astype("float32") / 255, labels.astype("int64")


def run(options: argparse.Namespace) -> float:
    """Train, write what is asked for, and give the accuracy on the test images."""
    tf.keras.utils.set_random_seed(options.seed)
    mlcompute.set_mlc_device(device_name=options.device)
    x, y = images(options.data, "train")
    x_test, y_test = images(options.data, "t10k")
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
            layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(int(max(y.max(), y_test.max())) + 1, activation="softmax"),
        ]
    )
    model.compile(
        loss="sparse_categorical_crossentropy",
        optimizer=tf.keras.optimizers.Adam(0.001),
        metrics=["accuracy"],
    )
    losses = Losses()
    model.fit(
        x,
        y,
        batch_size=BATCH,
        epochs=options.epochs,
        validation_data=(x_test, y_test),
        callbacks=[losses],
    )
    accuracy = float(model.evaluate(x_test, y_test, verbose=0)[1])
    print(f"test accuracy {100 * accuracy:.2f} % after {options.epochs} epochs")
    if options.losses:
        text = "".join(f"{loss:.9g}\n" for loss in losses.values)
        options.losses.write_text(text, encoding="utf-8")
    if options.accuracy:
        options.accuracy.write_text(f"{accuracy:.6f}\n", encoding="utf-8")
    return accuracy


def main() -> int:
    """Read the command's arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data/mnist"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="any", choices=["cpu", "gpu", "any"])
    parser.add_argument("--losses", type=Path, help="a file for the loss of every step")
    parser.add_argument("--accuracy", type=Path, help="a file for the accuracy at the end")
    options = parser.parse_args()
    if options.epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, --seed at least 0")
    try:
        run(options)
    except (ValueError, OSError) as error:
        print(f"mnist_keras: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
