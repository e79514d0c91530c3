"""The Python example finds the truth on every device that computes."""

import importlib.util

import pytest
from house import ROOT


@pytest.mark.parametrize("device", ["cpu", "fake", "ref"])
def test_linear_regression_finds_the_plane(device, capsys):
    path = ROOT / "examples" / "linear_regression.py"
    specification = importlib.util.spec_from_file_location("linear_regression", path)
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    weights, bias = example.main(["--device", device, "--steps", "100"])
    assert weights == pytest.approx(example.TRUE_WEIGHTS, abs=0.01)
    assert bias == pytest.approx(example.TRUE_BIAS, abs=0.01)
    assert "loss" in capsys.readouterr().out
