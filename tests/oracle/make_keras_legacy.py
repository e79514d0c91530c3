# needs: tensorflow-cpu==2.21.0 keras==3.15.1 tf_keras==2.21.0
"""Steps of the optimizers of Keras 2, tests/keras/legacy_optimizers.json."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
FOLDER = Path(__file__).resolve().parents[1] / "keras"
sys.path.insert(0, str(FOLDER))

import tensorflow as tf  # noqa: E402
import tf_keras  # noqa: E402
from legacy_optimizers import walk  # noqa: E402


def main() -> None:
    found = walk(tf_keras.optimizers.legacy, tf)
    lines = [f'"{name}": {json.dumps(values)}' for name, values in found.items()]
    (FOLDER / "legacy_optimizers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
