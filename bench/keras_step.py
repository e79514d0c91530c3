"""Keras' `fit` beside Mica's own step of the same model, and `tf.add` beside Mica's `a + b`.

    .venv/bin/python -m mica.tf bench/keras_step.py [lstm gru gpt add]

`tensorflow` is mica.tf here, so that the Keras models are those of keras_models.py. The sides take
turns of about a second in one process; of each side the fastest turn counts, and its CPU time per
step is said beside it. The ratio is Mica's own time by the other.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import keras_models
import mica
import models_mica
import tensorflow as tf
from cases import Gpt, Lstm, Weights, normal

TURNS, SECONDS = 7, 1.0


@dataclass
class Gru(Lstm):
    """One GRU layer with reset_after, its last output through a dense layer."""

    def weights(self) -> Weights:
        """Input and recurrent matrices, two biases, the head."""
        w = Weights()
        w.draw("input", self.features, 3 * self.hidden, scale=self.features**-0.5)
        w.draw("hidden", self.hidden, 3 * self.hidden, scale=self.hidden**-0.5)
        w.fill("bias", 0, 2, 3 * self.hidden)
        w.dense("head", self.hidden, self.classes)
        return w


def own_gru(sizes: Gru) -> Callable:
    """Mica's own."""

    def forward(p: dict, x: Any, key: Any) -> tuple:
        bias = p["bias"]
        _, h = mica.nn.gru(x, p["input"], p["hidden"], bias[0], bias[1])
        return models_mica.dense(p, "head", h), {}

    return forward


def keras_gru(sizes: Gru) -> keras.Model:
    """The same in Keras."""
    model = keras.Sequential(
        [
            keras.Input((sizes.time, sizes.features)),
            keras.layers.GRU(sizes.hidden),
            keras.layers.Dense(sizes.classes),
        ]
    )
    names = ["input", "hidden", "bias", "head.w", "head.b"]
    return keras_models.named(model, sizes.weights(), names)


def _models() -> dict:
    m, adam = models_mica, models_mica.adam
    decayed = {"learning_rate": 3e-4, "weight_decay": 0.01, "epsilon": 1e-8}
    adamw = keras.optimizers.AdamW(**decayed)
    return {
        "lstm": (Lstm(), m.lstm, adam(1e-3), keras_models.lstm, keras.optimizers.Adam(1e-3)),
        "gru": (Gru(), own_gru, adam(1e-3), keras_gru, keras.optimizers.Adam(1e-3)),
        "gpt": (Gpt(), m.gpt, adam(3e-4, 0.01), keras_models.gpt, adamw),
    }


def own_step(sizes: Any, make: Callable, optimizer: tuple) -> Callable[[int], None]:
    """Steps of Mica's own, as many as it is told."""
    step = models_mica.Training(make(sizes), optimizer, sizes).runner()

    def run(n: int) -> None:
        for _ in range(n):
            loss = step()
        loss.numpy()

    return run


def fit_step(sizes: Any, make: Callable, optimizer: Any) -> Callable[[int], None]:
    """Steps of fit."""
    model = make(sizes)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = tf.data.Dataset.from_tensors(sizes.data())
    return lambda n: model.fit(data.repeat(n), epochs=1, verbose=0)


def own_adds(a: Any) -> Callable[[int], None]:
    """Sums of four numbers, as the case eager_add has them."""

    def run(n: int) -> None:
        for _ in range(n):
            c = a + a
        c.numpy()

    return run


def tf_adds(a: Any) -> Callable[[int], None]:
    """The same as the case tf_add has them."""
    add = tf.add

    def run(n: int) -> None:
        for _ in range(n):
            c = add(a, a)
        c.numpy()

    return run


def measure(sides: dict[str, Callable[[int], None]]) -> dict[str, tuple[float, float]]:
    """Seconds and CPU seconds per step of each side, which take turns."""
    counts, found = {}, {name: [] for name in sides}
    for name, run in sides.items():
        run(3)
        time.sleep(2)  # the compiler
        n, once = 2, 0.0
        while once < SECONDS / 4:
            n *= 2
            start = time.perf_counter()
            run(n)
            once = time.perf_counter() - start
        counts[name] = max(2, int(n * SECONDS / once))
    for _ in range(TURNS):
        for name, run in sides.items():
            n, cpu, start = counts[name], time.process_time(), time.perf_counter()
            run(n)
            found[name].append(
                ((time.perf_counter() - start) / n, (time.process_time() - cpu) / n)
            )
    return {name: tuple(map(min, zip(*turns, strict=True))) for name, turns in found.items()}


def main() -> None:
    """Print a line for each case."""
    wanted = sys.argv[1:] or ["lstm", "gru", "gpt", "add"]
    for case in wanted:
        if case == "add":
            sides = {
                "mica": own_adds(mica.tensor(normal(4))),
                "mica.tf": tf_adds(tf.constant(normal(4))),
            }
        else:
            sizes, own, rule, made, optimizer = _models()[case]
            sides = {
                "mica": own_step(sizes, own, rule),
                "fit": fit_step(sizes, made, optimizer),
            }
        found = measure(sides)
        (name, other), base = list(found.items())[1], found["mica"]
        print(
            f"{case}: mica {base[0] * 1e3:.4g} ms (CPU {base[1] * 1e3:.4g}), {name} "
            f"{other[0] * 1e3:.4g} ms (CPU {other[1] * 1e3:.4g}): {base[0] / other[0]:.2f}, "
            f"by CPU time {base[1] / other[1]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
