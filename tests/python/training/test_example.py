"""The examples: one finds the truth on every device, three train a net, two of them bit for bit."""

import importlib.util
import sys

import numpy as np
import pytest
from house import BUILD, ROOT, run


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


def write_idx(path, array):
    sizes = b"".join(n.to_bytes(4, "big") for n in array.shape)
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


def write_set(folder, prefix, n, size, seed):
    """Images whose brightness says their class."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, n).astype(np.uint8)
    images = random.integers(0, 80, (n, size, size + 1)) + 70 * labels[:, None, None]
    write_idx(folder / f"{prefix}-images-idx3-ubyte", images.astype(np.uint8))
    write_idx(folder / f"{prefix}-labels-idx1-ubyte", labels)


MNIST = BUILD / "examples/mnist"
IN_PYTHON = ROOT / "examples/mnist_mlcompute.py"


@pytest.mark.skipif(not MNIST.exists(), reason=f"{MNIST} has not been built")
@pytest.mark.parametrize("seed", [0, 12345])
def test_mnist_in_c_and_in_python_have_one_loss_curve(seed, tmp_path):
    write_set(tmp_path, "train", 300, 9, seed)
    write_set(tmp_path, "t10k", 150, 9, seed + 1)
    shared = ["--data", tmp_path, "--epochs", 2, "--seed", seed, "--device", "cpu", "--losses"]
    in_c = run(MNIST, *shared, tmp_path / "c.txt", "--plot", tmp_path / "loss.png")
    assert in_c.returncode == 0, in_c.stderr
    in_python = run(sys.executable, IN_PYTHON, *shared, tmp_path / "python.txt")
    assert in_python.returncode == 0, in_python.stderr
    losses = (tmp_path / "c.txt").read_text()
    assert losses.count("\n") == 4
    assert (tmp_path / "python.txt").read_text() == losses
    accuracies = [line for line in in_c.stdout.splitlines() if line.startswith("epoch 2/2 test")]
    assert accuracies and accuracies[0] in in_python.stdout


@pytest.mark.skipif(not MNIST.exists(), reason=f"{MNIST} has not been built")
def test_mnist_through_keras_learns_and_its_losses_are_drawn(tmp_path):
    write_set(tmp_path, "train", 1300, 9, 3)
    write_set(tmp_path, "t10k", 150, 9, 4)
    losses, accuracy = tmp_path / "losses.txt", tmp_path / "accuracy.txt"
    example = ROOT / "examples/mnist_keras.py"
    options = ["--data", tmp_path, "--epochs", 3, "--device", "cpu", "--losses", losses]
    trained = run(sys.executable, "-m", "mica.tf", example, *options, "--accuracy", accuracy)
    assert trained.returncode == 0, trained.stderr
    assert "Epoch 3/3" in trained.stdout and "11/11" in trained.stdout
    values = [float(line) for line in losses.read_text().splitlines()]
    assert len(values) == 33 and values[-1] < values[0] / 2
    assert f"test accuracy {100 * float(accuracy.read_text()):.2f} %" in trained.stdout
    assert float(accuracy.read_text()) > 0.9
    drawn = run(MNIST, "--draw", losses, "--plot", tmp_path / "loss.png")
    assert drawn.returncode == 0 and (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    losses.write_text("0.5\nno number\n")
    refused = run(MNIST, "--draw", losses, "--plot", tmp_path / "loss.png")
    assert refused.returncode == 1 and "a number on each line" in refused.stderr


@pytest.mark.parametrize("damage", ["missing", "short", "other"])
def test_mnist_in_python_says_what_is_wrong_with_its_data(damage, tmp_path):
    write_set(tmp_path, "train", 10, 9, 1)
    write_set(tmp_path, "t10k", 10, 9, 2)
    path = tmp_path / "t10k-images-idx3-ubyte"
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.write_bytes(b"other")
    result = run(sys.executable, IN_PYTHON, "--data", tmp_path)
    assert result.returncode == 1
    assert "t10k-images-idx3-ubyte" in result.stderr and "Traceback" not in result.stderr
