"""Trains a convolutional net on MNIST, or on any data in its format, with mlcompute's layers.

    python examples/mnist_mlcompute.py [--data DIR] [--epochs N] [--seed N] [--device NAME]
                                       [--losses FILE]

The net, its weights, the order of the images and so the loss curve are those of examples/mnist.c,
bit for bit, for the same seed.
"""

import argparse
import sys
import time
from pathlib import Path

import mlcompute as mlc
import numpy as np
from mnist_idx import load

BATCH, KERNEL, CHANNELS, HIDDEN = 128, 5, (16, 32), 128
NOW = mlc.execution_options.SYNCHRONOUS


class Shuffler:
    """Exchanges place i with a random one up to i, from the last down, by splitmix64."""

    def __init__(self, n: int, seed: int) -> None:
        self.order = list(range(n))
        self.state = seed

    def shuffle(self) -> np.ndarray:
        order, n = self.order, len(self.order)
        steps = np.arange(1, n, dtype=np.uint64)
        z = np.uint64(self.state) + steps * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        places = z % np.arange(n, 1, -1, dtype=np.uint64)
        for i, j in zip(range(n - 1, 0, -1), places.tolist(), strict=True):
            order[i], order[j] = order[j], order[i]
        self.state = (self.state + (n - 1) * 0x9E3779B97F4A7C15) % 2**64
        return np.array(order)


# ---- the net -------------------------------------------------------------------------------------


class Net:
    """Two blocks of convolution, relu and max pooling; dense, relu, dense; Adam."""

    def __init__(self, device: mlc.device, batch: int, rows: int, columns: int, classes: int):
        self.images = mlc.tensor.tensor_with_width(columns, rows, 1, batch)
        self.labels = mlc.tensor([batch, classes])
        self.layers = mlc.graph()
        x, channels = self.images, 1
        for out in CHANNELS:
            x, channels = self.block(x, channels, out), out
        flat = (rows // 4) * (columns // 4) * channels
        x = self.layers.reshape([batch, flat], x)
        x = self.dense(x, flat, HIDDEN)
        x = self.layers.node(mlc.activation_layer.relu_layer(), x)
        scores = self.dense(x, HIDDEN, classes)

        loss = mlc.loss_layer.softmax_cross_entropy_loss("Mean", 0.0, classes)
        self.optimizer = mlc.adam_optimizer(mlc.optimizer_descriptor(1e-3))
        self.training = mlc.training_graph([self.layers], loss, self.optimizer)
        self.training.add_inputs({"images": self.images}, {"labels": self.labels})
        self.training.add_outputs({"loss": self.training.result_tensors_for_layer(loss)[0]})
        self.training.compile(device)

        self.inference = mlc.inference_graph([self.layers])
        guess = self.inference.node(mlc.reduction_layer("ArgMax", 1), scores)
        self.inference.add_inputs({"images": self.images})
        self.inference.add_outputs({"guesses": guess})
        self.inference.compile(device)

        self.pixels = np.zeros((batch, 1, rows, columns), np.float32)
        self.truth = np.zeros((batch, classes), np.float32)
        self.guesses = np.zeros((batch, 1), np.int32)

    @staticmethod
    def weights(kernel: int, inputs: int, outputs: int) -> tuple[mlc.tensor, mlc.tensor]:
        """Glorot uniform weights, and biases of zero."""
        descriptor = mlc.tensor_descriptor.convolution_weights_descriptor(
            kernel, kernel, inputs, outputs
        )
        weights = mlc.tensor(descriptor, random_initializer_type="GlorotUniform")
        return weights, mlc.tensor([1, outputs, 1, 1], fill_with_data=0)

    def block(self, x: mlc.tensor, inputs: int, outputs: int) -> mlc.tensor:
        descriptor = mlc.convolution_descriptor.descriptor(KERNEL, KERNEL, inputs, outputs)
        layer = mlc.convolution_layer(*self.weights(KERNEL, inputs, outputs), descriptor)
        x = self.layers.node(layer, x)
        x = self.layers.node(mlc.activation_layer.relu_layer(), x)
        pool = mlc.pooling_descriptor.max_pooling_descriptor([2, 2], [2, 2], "Valid")
        return self.layers.node(mlc.pooling_layer(pool), x)

    def dense(self, x: mlc.tensor, inputs: int, outputs: int) -> mlc.tensor:
        descriptor = mlc.convolution_descriptor.descriptor(1, 1, inputs, outputs)
        weights = self.weights(1, inputs, outputs)
        return self.layers.node(mlc.fully_connected_layer(*weights, descriptor), x)

    def train(self, images: np.ndarray, labels: np.ndarray, rate: float) -> np.float32:
        """One step with a batch; its mean loss."""
        self.pixels[:, 0] = images.astype(np.float32) / np.float32(255)
        self.truth[:] = 0
        self.truth[np.arange(len(labels)), labels] = 1
        self.optimizer.learning_rate = rate
        loss = np.zeros((), np.float32)
        self.training.execute(
            {"images": self.pixels}, {"labels": self.truth}, options=NOW,
            outputs_data={"loss": loss},
        )  # fmt: skip
        return np.float32(loss)

    def score(self, images: np.ndarray, labels: np.ndarray) -> int:
        """The right answers among at most a batch of images."""
        n = len(images)
        self.pixels[:n, 0] = images.astype(np.float32) / np.float32(255)
        self.inference.execute(
            {"images": self.pixels}, n, NOW, outputs_data={"guesses": self.guesses}
        )
        return int((self.guesses[:n, 0] == labels).sum())


# ---- the program ---------------------------------------------------------------------------------


def run(options: argparse.Namespace) -> list[np.float32]:
    """Train, print how it goes, and return the losses of all steps."""
    train_images, train_labels = load(options.data, "train")
    test_images, test_labels = load(options.data, "t10k")
    n, rows, columns = train_images.shape
    if test_images.shape[1:] != (rows, columns) or rows < 4 or columns < 4:
        raise ValueError("training and test images must be of one size, at least 4x4")
    classes = int(max(train_labels.max(), test_labels.max())) + 1
    batch = min(n, BATCH)
    print(f"{n} training and {len(test_images)} test images of {rows}x{columns}, {classes} classes")

    mlc.platform.set_rng_seed_to(options.seed)
    device = mlc.device("gpu") if options.device == "gpu" else mlc.device.named(options.device)
    net = Net(device, batch, rows, columns, classes)
    shuffler = Shuffler(n, options.seed)
    losses: list[np.float32] = []
    steps = n // batch
    all_steps = np.float32(steps * options.epochs)
    for epoch in range(1, options.epochs + 1):
        started = time.perf_counter()
        order = shuffler.shuffle()
        for step in range(steps):
            # The rate falls in a straight line to nothing.
            rate = np.float32(2e-3) * (np.float32(1) - np.float32(len(losses)) / all_steps)
            chosen = order[step * batch : (step + 1) * batch]
            losses.append(net.train(train_images[chosen], train_labels[chosen], float(rate)))
        speed = steps * batch / (time.perf_counter() - started)
        right = sum(
            net.score(test_images[i : i + batch], test_labels[i : i + batch])
            for i in range(0, len(test_images), batch)
        )
        accuracy = 100 * right / len(test_images)
        where = f"epoch {epoch}/{options.epochs}"
        print(f"{where} loss {losses[-1]:.4f}  {speed:.0f} images/s")
        print(f"{where} test accuracy {accuracy:.2f} %", flush=True)
    return losses


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data/mnist"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="any")
    parser.add_argument("--losses", type=Path, help="a file for the loss of every step")
    options = parser.parse_args(arguments)
    if options.epochs < 1 or options.seed < 0:
        parser.error("--epochs must be at least 1, --seed at least 0")
    try:
        losses = run(options)
        if options.losses:
            text = "".join(f"{float(loss):.9g}\n" for loss in losses)
            options.losses.write_text(text, encoding="utf-8")
    except (ValueError, OSError) as error:
        print(f"mnist_mlcompute: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
