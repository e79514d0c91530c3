"""What the saved models are trained further on: tests/oracle/make_finetune_losses.py, and the test
of examples/finetune.c."""

from __future__ import annotations

import numpy as np

STEPS, RATE = 50, 0.01
MODELS = ("dense", "convnet", "recurrent", "lstm")


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and what should come out."""
    random = np.random.Generator(np.random.PCG64(7))
    if name == "dense":
        x = random.standard_normal((8, 3), np.float32)
        return x, random.random((8, 2), np.float32)
    if name == "convnet":
        classes = np.arange(12) % 3
        return random.random((12, 6, 6, 1), np.float32), np.eye(3, dtype=np.float32)[classes]
    if name == "recurrent":
        x = random.integers(0, 4, (6, 5), np.int32)
        return x, x.mean(axis=1, keepdims=True).astype(np.float32) / 4
    if name == "lstm":
        x = random.standard_normal((6, 9, 4), np.float32)
        return x, x[:, -1, :2].copy()
    raise KeyError(name)
