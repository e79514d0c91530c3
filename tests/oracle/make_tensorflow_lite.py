"""Make tests/tf/lite with TensorFlow: .tflite files, and what its interpreter gives for them.

Then the other way: where there is a Python with Mica (MICA_PYTHON, or the product's .venv), it
converts every case, and TensorFlow's interpreter has to give for those files what Mica gives.
"""
# needs: tensorflow-cpu==2.21.0

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import lite_cases
import numpy as np
import tensorflow as tf

warnings.simplefilter("ignore")
tf.get_logger().setLevel("ERROR")
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "tf" / "lite"


def make() -> None:
    """Convert every case; keep the golden values of all, and the files of some."""
    FOLDER.mkdir(exist_ok=True)
    golden = {}
    for name in lite_cases.CASES:
        for weights in lite_cases.WEIGHTS.get(name, ("float32",)):
            data = lite_cases.converted(tf, name, weights=weights)
            label = f"{name}_{weights}"
            for key, value in lite_cases.run(tf, data, name).items():
                golden[f"{label}/{key}"] = value
            if label in lite_cases.KEPT:
                (FOLDER / f"{label}.tflite").write_bytes(data)
    np.savez_compressed(FOLDER / "golden.npz", **golden)
    print(f"{len(golden)} golden values, {len(lite_cases.KEPT)} files")


def check(python: str) -> int:
    """Run files that Mica writes; the count of those that differ."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, lite_cases.__file__, folder], check=True)
        for path in sorted(Path(folder).glob("*.tflite")):
            name, _, weights = path.stem.rpartition("_")
            got = lite_cases.run(tf, path.read_bytes(), name)
            with np.load(path.with_suffix(".npz")) as wanted:
                for key in wanted:
                    if not lite_cases.is_close(got[key], wanted[key], weights):
                        wrong += 1
                        print(f"{path.stem}: {key} is not what Mica gives")
    print(f"files of Mica: {wrong} results differ")
    return wrong


def main() -> int:
    make()
    python = os.environ.get("MICA_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
    if not Path(python).is_file():
        print(f"{python} is not there: files of Mica were not checked")
        return 0
    return 1 if check(python) else 0


if __name__ == "__main__":
    sys.exit(main())
