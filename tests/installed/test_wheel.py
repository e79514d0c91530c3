"""An installed Mica, away from its sources. Run by scripts/wheel.sh in a new environment."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import mica
import mlcompute
import pytest

HERE = Path(__file__).resolve().parent
TREE = Path(os.environ["MICA_TREE"])
BIN = Path(sys.executable).parent

FIT = """
import sys
import keras
import numpy as np
import tensorflow as tf
import tensorflow.data
from tensorflow.data import Dataset
import tensorflow.python.data

assert tf.data is tensorflow.data and Dataset is tf.data.Dataset
assert sys.argv[1:] == ["one", "--two"], sys.argv
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [0.5], [0.0]], "float32")
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1), "mse")
losses = model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(16), epochs=5, verbose=0)
losses = losses.history["loss"]
assert losses[-1] < 0.5 * losses[0], losses
assert keras.backend.backend() == "tensorflow"
print("trained", tf.__name__, tf.data.__file__)
"""


def run(*command: object, folder: Path = HERE) -> str:
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, cwd=folder
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_what_is_imported_is_the_installed_package_and_the_tree_is_out_of_reach():
    for package in (mica, mlcompute):
        assert Path(package.__file__).is_relative_to(sys.prefix)
    assert not Path(sys.prefix).is_relative_to(TREE) and not HERE.is_relative_to(TREE)
    assert not [path for path in sys.path if Path(path).resolve().is_relative_to(TREE)]


def test_every_module_can_be_imported():
    broken: list[str] = []
    names = [
        module.name
        for package in (mica, mlcompute)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", broken.append)
        if not module.name.endswith((".__main__", ".libmica"))  # programs, and no module of Python
    ]
    for name in names:
        importlib.import_module(name)
    assert not broken and len(names) > 150


def test_a_tensorflow_script_trains_a_keras_model_from_a_dataset(tmp_path):
    (tmp_path / "script.py").write_text(FIT, encoding="utf-8")
    command = [sys.executable, "-m", "mica.tf", "script.py", "one", "--two"]
    words = run(*command, folder=tmp_path).split()
    assert words[-3] == "trained" and Path(words[-1]).is_relative_to(sys.prefix)


@pytest.mark.parametrize("command", [[BIN / "mica"], [sys.executable, "-m", "mica"]])
def test_the_command_runs(tmp_path, command):
    assert "cpu" in run(*command, "devices", folder=tmp_path)
    assert '"tanh"' in run(*command, "ops", "--json", folder=tmp_path)
    assert "cpu" in run(*command, "doctor", folder=tmp_path)


def test_the_headers_and_the_library_lie_in_the_package():
    package = Path(mica.__file__).parent
    assert (package / "include/mica/mica.h").is_file()
    assert list(package.glob("libmica.*"))
