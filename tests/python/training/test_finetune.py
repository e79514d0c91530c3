"""examples/finetune.c: models that TensorFlow saved, trained further by a C program, with the
losses that TensorFlow's tape gave (tests/oracle/make_finetune_losses.py)."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from house import BUILD, ROOT

MODELS = ROOT / "tests" / "tf" / "saved_models"
sys.path.insert(0, str(MODELS))

from training import MODELS as NAMES  # noqa: E402
from training import RATE, STEPS, rows  # noqa: E402

GOLDEN = json.loads((MODELS / "finetune.json").read_text())


def finetune(model, folder, steps, result):
    given = [folder / "x.npy", folder / "y.npy", str(steps), str(RATE), result]
    program = [BUILD / "examples" / "finetune", model, *given]
    return subprocess.run(program, capture_output=True, text=True, timeout=300)


def write_rows(name, folder):
    for array, file in zip(rows(name), ("x.npy", "y.npy"), strict=True):
        np.save(folder / file, array)


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_those_of_tensorflow(name, tmp_path):
    write_rows(name, tmp_path)
    saved = tmp_path / "saved"
    done = finetune(MODELS / name, tmp_path, STEPS, saved)
    assert done.returncode == 0, done.stderr
    losses, wanted = np.array(done.stdout.split(), float), np.array(GOLDEN[name]["losses"])
    assert losses.shape == (STEPS,)
    np.testing.assert_allclose(losses[:10], wanted[:10], rtol=0, atol=1e-5)
    np.testing.assert_allclose(losses, wanted, rtol=0, atol=1e-3)
    # What it saved is the trained model, in C and in Python.
    again = finetune(saved, tmp_path, 1, tmp_path / "again")
    results = np.array(GOLDEN[name]["results"])
    error = np.mean((results - rows(name)[1]) ** 2)
    assert abs(float(again.stdout) - error) < 1e-4, again.stderr
    program = f"""
import mica.tf as tf, numpy as np, sys
sys.path.insert(0, {str(MODELS)!r})
from training import rows
signature = tf.saved_model.load({str(saved)!r}).signatures["serving_default"]
(name,) = signature.structured_input_signature[1]
y, = signature(**{{name: tf.constant(rows({name!r})[0])}}).values()
np.testing.assert_allclose(y.numpy(), {results.tolist()!r}, atol=1e-3)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_a_model_is_trained_in_its_place(tmp_path):
    write_rows("dense", tmp_path)
    model = tmp_path / "model"
    shutil.copytree(MODELS / "dense", model)
    losses = []
    for _ in range(2):
        done = finetune(model, tmp_path, 3, model)
        assert done.returncode == 0, done.stderr
        losses += map(float, done.stdout.split())
    assert len(losses) == 6 and losses == sorted(losses, reverse=True)


def test_what_cannot_be_trained_is_named(tmp_path):
    write_rows("dense", tmp_path)
    assert "'words'" not in finetune(MODELS / "dense", tmp_path, 1, tmp_path / "a").stderr
    failed = finetune(MODELS / "words", tmp_path, 1, tmp_path / "b")
    assert failed.returncode == 1 and "no rows for 'words'" in failed.stderr
    failed = finetune(MODELS / "convnet", tmp_path, 1, tmp_path / "b")
    assert failed.returncode == 1 and "x.npy has no rows" in failed.stderr
    assert not (tmp_path / "b").exists()
    failed = finetune(MODELS / "dense", tmp_path, 1, tmp_path / "c" / "d" / "e")
    assert failed.returncode == 1 and "No such file" in failed.stderr
