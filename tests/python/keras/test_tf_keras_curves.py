"""Losses per step of Keras models beside those of the real TensorFlow, from the same weights."""

import json
import subprocess
import sys

import numpy as np
from house import ROOT

FOLDER = ROOT / "tests" / "keras"
GOLDEN = json.loads((FOLDER / "curves.json").read_text())


def test_a_convnet_an_lstm_a_resnet_and_a_transformer_train_as_on_tensorflow():
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", str(FOLDER / "curves.py")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.keys() == GOLDEN.keys()
    for name, wanted in GOLDEN.items():
        assert len(wanted) == 50
        np.testing.assert_allclose(found[name][:10], wanted[:10], rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(found[name], wanted, rtol=1e-3, err_msg=name)
        assert np.mean(wanted[40:]) < np.mean(wanted[:10]), name  # they learn
