"""Keras' `fit` on Mica, TensorFlow, JAX and PyTorch: step/s, seconds to the first epoch, memory.

    .venv/bin/python bench/keras_fit.py [--rounds N] [--python tf=PATH ...] [case ...]

A case is a process for each backend, and they take turns. The interpreters are those of `make
bench`, of which `--python` names others; a backend without Keras (or, in the case `text`, whose
pipeline is tf.data's, without TensorFlow) is left out. A figure is the best of the rounds: steps by
wall time and by CPU time, the time from the start of the process to the end of the first epoch, the
peak of its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BEGIN = time.time()
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
BACKENDS = {"mica": "tensorflow", "tf": "tensorflow", "jax": "jax", "torch": "torch"}
CASES = ["s000", "mlp", "lstm", "resnet18", "gpt", "text"]
STEPS = {"s000": 40, "mlp": 200, "lstm": 30, "resnet18": 10, "gpt": 10, "text": 20}
SECONDS = 8.0  # of epochs to be timed
WORDS = 2000


# ---- one side: a process of its own --------------------------------------------------------------


def text_case() -> tuple:
    """Reviews of random words; Embedding, a bidirectional LSTM, a sigmoid."""
    import keras
    import numpy as np
    import tensorflow as tf
    from keras import layers

    random = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(WORDS)])
    n, batch = 32 * STEPS["text"], 32
    texts = [" ".join(words[random.integers(0, WORDS, 60)]) for _ in range(n)]
    truth = random.integers(0, 2, n).astype("float32")[:, None]
    vectorize = layers.TextVectorization(max_tokens=WORDS, output_sequence_length=64)
    vectorize.adapt(texts)
    data = tf.data.Dataset.from_tensor_slices((texts, truth)).batch(batch)
    data = data.map(lambda x, y: (vectorize(x), y)).prefetch(2)
    model = keras.Sequential(
        [
            layers.Embedding(WORDS, 64),
            layers.Bidirectional(layers.LSTM(64)),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    return model, keras.optimizers.Adam(1e-3), "binary_crossentropy", {"x": data}


def case(name: str) -> tuple:
    """The model, its optimizer, its loss, and what fit gets."""
    if name == "text":
        return text_case()
    import keras
    import keras_models
    import numpy as np
    from cases import Cnn, Gpt, Lstm, Mlp, ResNet

    kinds = {"s000": Cnn, "mlp": Mlp, "lstm": Lstm, "resnet18": ResNet, "gpt": Gpt}
    makers = {"s000": "cnn", "mlp": "mlp", "lstm": "lstm", "resnet18": "resnet", "gpt": "gpt"}
    sizes = kinds[name]()
    x, y = sizes.data()
    repeated = [np.concatenate([part] * STEPS[name]) for part in (x, y)]
    optimizer = {
        "resnet18": lambda: keras.optimizers.SGD(0.1, 0.9),
        "gpt": lambda: keras.optimizers.AdamW(3e-4, weight_decay=0.01),
    }.get(name, lambda: keras.optimizers.Adam(1e-3))()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = getattr(keras_models, makers[name])(sizes)
    return model, optimizer, loss, {"x": repeated[0], "y": repeated[1], "batch_size": sizes.batch}


def side(name: str) -> None:
    """Fit one case on this process's backend; the figures as a line of JSON."""
    model, optimizer, loss, data = case(name)
    model.compile(optimizer, loss)

    def epoch() -> tuple[float, float]:
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(**data, epochs=1, verbose=0, shuffle=False)
        return time.perf_counter() - start, time.process_time() - cpu

    epoch()
    first = time.time() - BEGIN
    time.sleep(2)  # what compiles in the background
    walls, cpus = [], []
    while sum(walls) < SECONDS or len(walls) < 3:
        wall, cpu = epoch()
        walls.append(wall)
        cpus.append(cpu)
    steps = STEPS[name]
    found = {
        "step/s": steps / min(walls),
        "CPU ms": 1e3 * min(cpus) / steps,
        "first s": first,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(found))


# ---- all sides -----------------------------------------------------------------------------------


def run_side(backend: str, python: Path, name: str) -> dict[str, Any] | None:
    """What a side says; None where it cannot run."""
    environment = {**os.environ, "KERAS_BACKEND": BACKENDS[backend], "CUDA_VISIBLE_DEVICES": ""}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    tensorflow = ["-m", "mica.tf"] if backend == "mica" else []
    command = [str(python), *tensorflow, str(HERE / "keras_fit.py"), "--side", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["?"])[-1]
        print(f"{name}: {backend} is left out: {why}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Run cases by rounds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", action="append", default=[], metavar="BACKEND=PATH")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", metavar="case", help=" ".join(CASES))
    options = parser.parse_args()
    if options.side:
        side(options.side)
        return 0
    pythons = {name: HERE.parent / ".bench" / name / "bin" / "python" for name in BACKENDS}
    pythons["mica"] = Path(sys.executable)
    pythons |= {k: Path(v) for k, v in (each.split("=", 1) for each in options.python)}
    pythons = {name: path for name, path in pythons.items() if path.exists()}
    print(f"{'case':9} {'backend':8} {'step/s':>9} {'CPU ms':>9} {'first s':>8} {'MB':>7}")
    for name in options.cases or CASES:
        best: dict[str, dict[str, float]] = {}
        for _ in range(options.rounds):
            for backend in [b for b in BACKENDS if b in pythons]:
                found = run_side(backend, pythons[backend], name)
                if found is None:
                    continue
                old = best.setdefault(backend, found)
                best[backend] = {
                    key: max(old[key], value) if key == "step/s" else min(old[key], value)
                    for key, value in found.items()
                }
        for backend, f in best.items():
            print(
                f"{name:9} {backend:8} {f['step/s']:9.2f} {f['CPU ms']:9.2f} {f['first s']:8.2f} "
                f"{f['MB']:7.0f}",
                flush=True,
            )
        peers = [f["step/s"] for backend, f in best.items() if backend != "mica"]
        if peers and "mica" in best:
            print(f"{name:9} {best['mica']['step/s'] / max(peers):.2f} times the best peer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
