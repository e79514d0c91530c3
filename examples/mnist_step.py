"""MNIST's training step, for a program of C that needs neither Mica nor Python.

    mica export examples/mnist_step.py:step --output mnist_step.c
    cc -std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math \\
        mnist_step.c examples/train_exported.c -o train -lm
    MICA_THREADS=1 python examples/mnist_step.py --steps 100 --file steps.bin
    ./train steps.bin

The last two print the same losses, bit for bit, and how long a step takes at best. The script
trains a convolutional net with Adam and dropout, and writes what the program needs to do it again,
the state before the first step and the batches, to the file.
"""

import argparse
import gzip
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mica
import numpy as np
from mica import nn

DATA = Path(__file__).resolve().parent.parent / "data" / "mnist"
BATCH = 100

model = nn.Sequential(
    nn.Conv(1, 16, 5, key=mica.random.key(1)),
    mica.relu,
    lambda x: mica.max_pool(x, 2),
    nn.Conv(16, 32, 5, key=mica.random.key(2)),
    mica.relu,
    lambda x: mica.max_pool(x, 2),
    lambda x: x.reshape((x.shape[0], 512)),
    nn.Linear(512, 128, key=mica.random.key(3)),
    mica.relu,
    nn.Dropout(0.5),
    nn.Linear(128, 10, key=mica.random.key(4)),
)
optimizer = mica.optim.adam(1e-3)


@mica.jit
def step(parameters: Any, state: Any, images: mica.Tensor, labels: mica.Tensor) -> tuple[Any, ...]:
    """One step: the loss before it, the new parameters and the new state."""
    key, next_key = mica.random.split(state["key"])

    def loss(parameters: Any) -> mica.Tensor:
        scores = model.bind(parameters, training=True, key=key)(images)
        return nn.cross_entropy(scores, labels).mean()

    value, slopes = mica.value_and_grad(loss)(parameters)
    parameters, adam = optimizer.update(slopes, state["adam"], parameters)
    return value, parameters, {"adam": adam, "key": next_key}


def batches(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The first n batches of images between 0 and 1, and labels."""
    with gzip.open(DATA / "train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(16 + n * BATCH * 784), np.uint8, offset=16)
    with gzip.open(DATA / "train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(8 + n * BATCH), np.uint8, offset=8)
    scaled = images.reshape(n, BATCH, 28, 28, 1).astype(np.float32) / np.float32(255)
    return list(zip(scaled, labels.reshape(n, BATCH).astype(np.int32), strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and print the bits of each loss."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1, help="at most 600 (1)")
    parser.add_argument("--file", help="what the program of C reads")
    options = parser.parse_args(arguments)
    parameters = model.parameters()
    state = {"adam": optimizer.init(parameters), "key": mica.random.key(5)}
    data = batches(options.steps)
    if options.file:
        before = [np.asarray(leaf) for leaf in mica.tree.leaves((parameters, state))]
        with open(options.file, "wb") as file:
            for array in [np.array(options.steps, np.int32), *before]:
                file.write(array.tobytes())
            for images, labels in data:
                file.write(images.tobytes() + labels.tobytes())
    best = math.inf
    for i, (images, labels) in enumerate(data):
        batch = mica.tensor(images), mica.tensor(labels)
        start = time.perf_counter()
        loss, parameters, state = step(parameters, state, *batch)
        loss.item()
        best = min(best, time.perf_counter() - start)
        print(f"step {i + 1}: loss {loss.item():.6f} {np.asarray(loss).view(np.uint32):08x}")
    print(f"{1e3 * best:.2f} ms, the quickest step", file=sys.stderr)


if __name__ == "__main__":
    main()
