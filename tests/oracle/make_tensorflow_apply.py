# needs: tensorflow-cpu
"""Writes what TensorFlow's steps of optimizers do: tests/python/tf_ops/data/tf_apply.json."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tf_ops"))

import tensorflow as tf
from apply_cases import SCATTERS, SHAPE, cases, run, run_scatter

OUT = Path(__file__).resolve().parents[1] / "python" / "tf_ops" / "data" / "tf_apply.json"


def plain(tensor) -> list:
    """Numbers with the digits that float32 has."""
    return [float(f"{number:.9g}") for number in tensor.numpy().ravel()]


answers = []
for case in cases():
    variables = [tf.Variable(tf.zeros(SHAPE)) for _ in case[1]]
    answers.append([plain(tensor) for tensor in run(tf, case, variables)])
scattered = [plain(run_scatter(tf, case, tf.Variable(tf.zeros([3, 4])))) for case in SCATTERS]
OUT.write_text(json.dumps({"steps": answers, "scattered": scattered}) + "\n")
