"""Checkpoints that TensorFlow wrote in the middle of trainings are read, and training goes on.

`make interop` exchanges files with TensorFlow in both directions; these are stored.
"""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
STORED = Path(__file__).parent / "data" / "interop"


def test_trainings_that_tensorflow_began_go_on_as_they_did_there(tmp_path):
    folder = tmp_path / "interop"
    shutil.copytree(STORED, folder)
    program = TESTS / "interop" / "program.py"
    command = [sys.executable, "-m", "mica.tf", program, "read", folder, "training"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = json.loads((STORED / "expected.json").read_text())
    found = json.loads((folder / "found.json").read_text())
    assert found.keys() == expected.keys() == {"keras", "slots", "v1"}
    for name, part in expected.items():
        losses = found[name].pop("losses")
        for own, there in zip(losses, part.pop("losses"), strict=True):
            assert math.isclose(own, there, rel_tol=1e-5)
        assert found[name] == part
