# needs: tensorflow-cpu==2.15.1 tensorflow-addons==0.23.0 numpy<2
"""What TensorFlow Addons gives for tests/keras/addons_cases.py: tests/keras/addons.json."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
FOLDER = Path(__file__).resolve().parents[1] / "keras"
sys.path.insert(0, str(FOLDER))

import addons_cases  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow_addons as tfa  # noqa: E402


def main() -> None:
    found = {
        name: addons_cases.values(function(tf, tfa))
        for name, function in addons_cases.CASES.items()
    }
    lines = [f'"{n}": {json.dumps(v, separators=(",", ":"))}' for n, v in found.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (FOLDER / "addons.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
