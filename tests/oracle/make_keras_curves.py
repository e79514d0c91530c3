# needs: tensorflow-cpu==2.21.0 keras==3.15.1
"""The losses of tests/keras/curves.py on the real TensorFlow: tests/keras/curves.json."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "keras"


def main() -> None:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(FOLDER / "curves.py")],
        env={**os.environ, **quiet, "KERAS_BACKEND": "tensorflow"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    rounded = {name: [float(f"{x:.8g}") for x in values] for name, values in found.items()}
    lines = [f'"{name}": {json.dumps(values)}' for name, values in rounded.items()]
    (FOLDER / "curves.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
