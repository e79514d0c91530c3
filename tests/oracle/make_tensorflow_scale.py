# needs: tensorflow-cpu
"""Writes what TensorFlow's ScaleAndTranslate gives: tests/python/tf_ops/data/tf_scale.json.gz."""

import gzip
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tf_ops"))

import tensorflow as tf
from scale_cases import cases, run

OUT = Path(__file__).resolve().parents[1] / "python" / "tf_ops" / "data" / "tf_scale.json.gz"
answers = [
    [[float(f"{number:.7g}") for number in tensor.numpy().ravel()] for tensor in run(tf, case)]
    for case in cases()
]
with gzip.GzipFile(OUT, "wb", mtime=0) as file:
    file.write(json.dumps(answers).encode())
