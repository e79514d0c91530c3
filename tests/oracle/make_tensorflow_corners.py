# needs: tensorflow-cpu
"""Writes what TensorFlow answers to the expressions of tests/python/tf/tf_corner_cases.py."""

import gzip
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tf"))

import tensorflow as tf
from tf_corner_cases import GOLDEN, answer, expressions

answers = {expression: answer(tf, expression) for expression in expressions()}
with open(GOLDEN, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
    file.write(json.dumps(answers, indent=0).encode())
print(f"{len(answers)} answers in {GOLDEN}")
