# needs: tensorflow-cpu
"""Writes what TensorFlow gives for AutoGraph's cases, eagerly, and in how many traces."""

import gzip
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "autograph"))

import numpy as np
import tensorflow as tf
from autograph_cases import CASES, argument

ROOM = Path(__file__).resolve().parents[1] / "python" / "autograph"
GOLDEN = ROOM / "data" / "tf_autograph.json.gz"


def listed(result):
    return [np.asarray(part).tolist() for part in tf.nest.flatten(result)]


golden = {}
for case in CASES:
    arguments = [[argument(value) for value in inputs] for inputs in case.inputs]
    found = {"results": [listed(case.function(*given)) for given in arguments]}
    if not case.beyond:
        function = tf.function(case.function)
        for given, result in zip(arguments, found["results"], strict=True):
            for a, b in zip(listed(function(*given)), result, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=case.function.__name__)
        found["traces"] = function.experimental_get_tracing_count()
    golden[case.function.__name__] = found
with open(GOLDEN, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
    file.write(json.dumps(golden, indent=0).encode())
print(f"{len(golden)} cases in {GOLDEN}")
