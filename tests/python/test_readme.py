"""What the README shows works as it is written there."""

import re
import sys

import pytest
from house import BUILD, ROOT, compiler, run
from test_house import LIBRARY, compile_and_run

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not LIBRARY.exists(), reason=f"{LIBRARY} has not been built")
@pytest.mark.skipif(not compiler(), reason="no C compiler was found")
def test_the_c_program_compiles_and_prints_the_gradient(tmp_path):
    (program,) = blocks("c")
    (tmp_path / "example.c").write_text(program, encoding="utf-8")
    # d/dx tanh(x)^2 = 2 tanh(x) (1 - tanh(x)^2)
    assert compile_and_run(tmp_path / "example.c", tmp_path / "example") == "0.0000 0.6397 0.1362\n"


@pytest.mark.skipif(not (BUILD / "python/mica").exists(), reason="the package has not been built")
def test_the_python_program_runs_and_its_loss_falls(tmp_path):
    (program,) = blocks("python")
    (tmp_path / "example.py").write_text(program, encoding="utf-8")
    result = run(sys.executable, tmp_path / "example.py")
    assert result.returncode == 0, result.stderr
    assert float(result.stdout.split()[-1]) < 0.01


def test_every_make_target_it_names_exists():
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^    |`)make (\w+)", TEXT, re.MULTILINE)) <= targets
