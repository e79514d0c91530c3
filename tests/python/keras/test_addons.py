"""tensorflow_addons on Mica gives what TensorFlow Addons 0.23 gave."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from house import run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "keras"))

import addons_cases

tf = pytest.importorskip("mica.tf")
pytest.importorskip("mica.tf.addons.losses", exc_type=ImportError)
FOLDER = Path(addons_cases.__file__).parent
STORED = json.loads((FOLDER / "addons.json").read_text(encoding="utf-8"))


def differences(got, want, at="") -> list[str]:
    """Where two results differ, by more than the sixth digit of their largest number."""
    if isinstance(want, list) and len(want) == 2 and _is_array(want):
        if got[0] != want[0]:
            return [f"{at}: shape {got[0]}, not {want[0]}"]
        a, b = np.array(got[1]), np.array(want[1])
        limit = 2e-6 + 2e-6 * np.abs(b).max(initial=0)
        close = np.allclose(a, b, rtol=5e-5, atol=limit, equal_nan=True)
        return [] if close else [f"{at}: {got[1]}, not {want[1]}"]
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return [f"{at}: {got}, not {want}"]
        pairs = enumerate(zip(got, want, strict=True))
        return [line for i, pair in pairs for line in differences(*pair, f"{at}[{i}]")]
    return [] if got == want else [f"{at}: {got}, not {want}"]


def _is_array(value) -> bool:
    shape, flat = value
    return (
        isinstance(shape, list)
        and all(isinstance(n, int) for n in shape)
        and isinstance(flat, list)
        and all(isinstance(v, float) for v in flat)
    )


@pytest.mark.parametrize("name", sorted(STORED))
def test_values_are_those_of_addons(name):
    addons = importlib.import_module("mica.tf.addons")
    found = addons_cases.values(addons_cases.CASES[name](tf, addons))
    wrong = differences(found, STORED[name], name)
    assert not wrong, "\n".join(wrong)


def test_every_case_is_stored():
    assert set(STORED) == set(addons_cases.CASES)


SCRIPT = """
import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa
from tensorflow_addons.optimizers import AdamW

assert tfa.optimizers.AdamW is AdamW and tfa.__version__ == "0.23.0"
rng = np.random.default_rng(0)
x = rng.standard_normal((64, 4)).astype("float32")
y = (x[:, :1] > 0).astype("float32")
for optimizer in (
    tfa.optimizers.MovingAverage(AdamW(1e-4, learning_rate=0.05), 0.9),
    tfa.optimizers.Lookahead(tfa.optimizers.LAMB(0.1)),
):
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Dense(8, tfa.activations.mish), layers.Dense(1, "sigmoid")
    ])
    score = tfa.metrics.F1Score(1, threshold=0.5)
    model.compile(optimizer, tfa.losses.SigmoidFocalCrossEntropy(), metrics=[score])
    stop = tfa.callbacks.TimeStopping(3600)
    history = model.fit(x, y, epochs=8, verbose=0, callbacks=[stop]).history
    assert history["loss"][-1] < 0.7 * history["loss"][0], history
    assert int(optimizer.iterations) == 16
try:
    tfa.image
except AttributeError as error:
    assert "on Mica, which has activations, callbacks" in str(error)
    print("done")
"""


def test_a_script_trains_with_it(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    result = run(sys.executable, "-m", "mica.tf", tmp_path / "script.py")
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
