"""The installer and the set-up check their ground before they change anything."""

import os
import sys
from pathlib import Path

import pytest
from house import ROOT, run

INSTALL = ROOT / "scripts/install.sh"
HEADERS_ARE_THERE = (Path(__import__("sysconfig").get_path("include")) / "Python.h").exists()

needs_headers = pytest.mark.skipif(not HEADERS_ARE_THERE, reason="Python.h was not found")


def install(*arguments: object, answer: str = "", **environment: str):
    variables = {**os.environ, "PYTHON": sys.executable, **environment}
    return run(INSTALL, *arguments, input=answer, env=variables)


@needs_headers
@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_the_installer_changes_nothing_when_the_answer_is_not_yes(tmp_path, answer):
    result = install("--prompt", tmp_path / "new", answer=answer)
    assert result.returncode == 1
    assert "Nothing was changed" in result.stdout
    assert str(tmp_path / "new") in result.stdout
    assert not (tmp_path / "new").exists()


@needs_headers
def test_the_installer_leaves_a_folder_alone_that_is_no_virtual_environment(tmp_path):
    (tmp_path / "precious").write_text("data")
    result = install(tmp_path)
    assert result.returncode == 1
    assert "is not a virtual environment" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_the_installer_names_an_option_it_does_not_know():
    result = install("--fast")
    assert result.returncode == 1
    assert "unknown option --fast" in result.stderr
    assert "scripts/install.sh [--prompt] [DIR]" in result.stderr


def test_the_installer_says_what_the_system_lacks(tmp_path):
    result = install(tmp_path / "new", PYTHON="no-such-python")
    assert result.returncode == 1 and "no-such-python was not found" in result.stderr
    if HEADERS_ARE_THERE:
        result = install(tmp_path / "new", CC="no-such-compiler")
        assert result.returncode == 1 and "no-such-compiler was not found" in result.stderr
    assert not (tmp_path / "new").exists()


def test_the_set_up_says_what_the_system_lacks(tmp_path):
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "setup.sh").write_bytes((ROOT / "scripts/setup.sh").read_bytes())
    for variables, words in [
        ({"PYTHON": "no-such-python"}, "no-such-python is not a Python >= 3.10"),
        ({"CC": "no-such-compiler"}, "no-such-compiler was not found"),
    ]:
        result = run("bash", scripts / "setup.sh", env={**os.environ, **variables})
        assert result.returncode == 1 and words in result.stderr
        assert not (tmp_path / ".venv").exists()
