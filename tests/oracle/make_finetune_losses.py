# needs: tensorflow-cpu==2.21.0
"""Trains signatures of saved models with a tape and Adam, and stores the losses.

The same data and steps are what tests/python/training/test_finetune.py gives examples/finetune.c.
Afterwards TensorFlow loads what the program saved, where one is given, and runs it:

    python make_finetune_losses.py [--saved MODEL=FOLDER]...
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tf" / "saved_models"))

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from training import MODELS, RATE, STEPS, rows  # noqa: E402

GOLDEN = TESTS / "tf" / "saved_models" / "finetune.json"


def signature_of(folder: Path):
    """The signature as a function of its input, and the variables that it reads."""
    loaded = tf.saved_model.load(str(folder))
    signature = loaded.signatures["serving_default"]
    handles = {id(handle) for handle in signature.captured_inputs}
    found = {id(v.handle): v for v in signature.graph.variables if id(v.handle) in handles}
    variables = [found[id(handle)] for handle in signature.captured_inputs if id(handle) in found]
    (name,) = signature.structured_input_signature[1]
    signature.keep = loaded
    return lambda x: next(iter(signature(**{name: x}).values())), variables, signature


def train(name: str) -> tuple[list[float], np.ndarray]:
    """The loss before each step, and what the model gives in the end."""
    call, variables, _ = signature_of(TESTS / "tf" / "saved_models" / name)
    x, y = (tf.constant(a) for a in rows(name))
    moments = [[tf.zeros_like(v), tf.zeros_like(v)] for v in variables]
    losses = []
    for step in range(1, STEPS + 1):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = tf.reduce_mean(tf.math.squared_difference(call(x), y))
        losses.append(float(loss))
        gradients = tape.gradient(loss, variables)
        for v, state, gradient in zip(variables, moments, gradients, strict=True):
            if gradient is None:
                continue
            d = tf.convert_to_tensor(gradient)
            state[0] = 0.9 * state[0] + 0.1 * d
            state[1] = 0.999 * state[1] + 0.001 * d * d
            m, u = state[0] / (1 - 0.9**step), state[1] / (1 - 0.999**step)
            v.assign_sub(RATE * m / (tf.sqrt(u) + 1e-8))
    return losses, call(x).numpy()


def check(name: str, folder: str, wanted: list) -> None:
    """What the program saved gives in TensorFlow what TensorFlow's own training gave."""
    call, _, _ = signature_of(Path(folder))
    got = call(tf.constant(rows(name)[0])).numpy()
    np.testing.assert_allclose(got, wanted, atol=1e-3)
    print(f"{name}: {folder} runs as after {STEPS} steps of TensorFlow's")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--saved", action="append", default=[])
    saved = parser.parse_args().saved
    if saved:
        golden = json.loads(GOLDEN.read_text())
        for name, folder in (text.split("=", 1) for text in saved):
            check(name, folder, golden[name]["results"])
        return
    golden = {}
    for name in MODELS:
        losses, results = train(name)
        golden[name] = {"losses": losses, "results": results.tolist()}
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
