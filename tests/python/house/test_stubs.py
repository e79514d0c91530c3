"""Type stubs: they are what the tables say, and type checkers accept what is public."""

import enum
import subprocess
import sys

import mica
import mlcompute
import pytest
from house import ROOT

CACHE = ROOT / "build" / "mypy"
# TensorFlow has no stubs.
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.name != "mnist_keras.py")


def test_the_stubs_are_up_to_date():
    script = ROOT / "scripts" / "stubs.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def public_members(cls):
    return [name for name in dir(cls) if not name.startswith("_")]


@pytest.fixture(scope="module")
def every_name(tmp_path_factory):
    """A file that touches every public name of both packages, and every member of the classes."""
    lines = ["import mica", "import mlcompute", ""]
    lines += [f"mica.{name}" for name in dir(mica)]
    for module in (mica.data, mica.fft, mica.linalg, mica.nn, mica.nn.losses, mica.optim,
                   mica.random, mica.tree):  # fmt: skip
        names = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]  # fmt: skip
        assert names, module
        lines += [f"{module.__name__}.{name}" for name in names]
    lines += [f"mica.data.Dataset.{member}" for member in public_members(mica.data.Dataset)]
    for name in dir(mlcompute):
        lines.append(f"mlcompute.{name}")
        value = getattr(mlcompute, name)
        if isinstance(value, type) and not issubclass(value, enum.Enum):
            lines += [f"mlcompute.{name}.{member}" for member in public_members(value)]
    for cls in ("Tensor", "Traced", "Device", "DType", "Graph", "Executable"):
        lines += [f"mica.{cls}.{member}" for member in public_members(getattr(mica, cls))]
    path = tmp_path_factory.mktemp("names") / "every_name.py"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_mypy_accepts_the_examples_and_every_public_name(every_name):
    pytest.importorskip("mypy", reason="mypy is not installed: scripts/setup.sh --test")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", CACHE]
    done = subprocess.run(
        [*command, every_name, *EXAMPLES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_accepts_every_public_name(every_name):
    pytest.importorskip("pyright", reason="pyright is not installed: scripts/setup.sh --test")
    settings = every_name.with_name("pyrightconfig.json")
    settings.write_text('{"reportUnusedExpression": false}')
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "--project", settings], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout


def test_mypy_notices_what_is_wrong(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed: scripts/setup.sh --test")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import mica\nimport mlcompute as mlc\n"
        "mica.tanhh\n"
        "x: int = mica.tanh(mica.ones((2,)))\n"
        "mlc.tensor([2, 3]).shape.append('a')\n"
        "mlc.adam_optimizer(mlc.optimizer_descriptor('fast'))\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", CACHE, wrong]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    places = {line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line}
    assert {"3", "4", "6"} <= places, done.stdout


@pytest.mark.parametrize("package", [mica, mlcompute])
def test_dir_shows_what_is_public_and_nothing_else(package):
    names = dir(package)
    assert set(package.__all__) - {"__version__"} <= set(names) | {"__version__"}
    for name in names:
        assert name == "__version__" or not name.startswith("_"), name
        value = getattr(package, name)
        assert getattr(value, "__name__", "") not in ("os", "sys", "importlib"), name
        module = getattr(value, "__module__", None) or package.__name__
        assert module.split(".")[0] in ("mica", "_mica", "mlcompute", "builtins"), name
