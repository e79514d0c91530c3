"""The installer and the set-up check their ground before they change anything."""

import os
import shutil
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


def bare_tree(folder: Path, *programs: str) -> dict[str, str]:
    """A tree with check.sh whose build does nothing, and a PATH of these programs alone."""
    for name in ("scripts", "bin", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    for name in ("check.sh", "format.sh", "cross.sh", "tools.sh"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
    for stub in ("scripts/setup.sh", "scripts/build.sh", ".venv/bin/ruff", "bin/cmake"):
        (folder / stub).write_text("#!/bin/sh\nexit 0\n")
        (folder / stub).chmod(0o700)
    for name in ("bash", "sh", "dirname", "mktemp", "cat", "rm", "tee", "grep", "mkdir", *programs):
        (folder / "bin" / name).symlink_to(shutil.which(name))
    return {**os.environ, "PATH": str(folder / "bin")}


def test_the_last_lines_of_a_run_name_every_phase_whose_tool_is_missing(tmp_path):
    variables = bare_tree(tmp_path, "chmod", "sed")
    check = ["bash", tmp_path / "scripts/check.sh"]
    result = run(*check, "format", "clang", "valgrind", "cross", "format", env=variables)
    assert result.returncode == 0, result.stderr
    last = result.stdout.rpartition("==== not everything ran\n")[2].splitlines()
    assert len(last) == 5
    for line, tool in zip(last, ["format", "clang", "valgrind", "qemu", "format"], strict=True):
        assert line.startswith("skipped: ") and tool in line


def test_a_run_that_fails_names_them_too_and_still_fails(tmp_path):
    variables = bare_tree(tmp_path)
    (tmp_path / ".venv/bin/ruff").write_text("#!/bin/sh\nexit 3\n")
    result = run("bash", tmp_path / "scripts/check.sh", "clang", "format", env=variables)
    assert result.returncode == 3
    assert result.stdout.endswith("==== not everything ran\nskipped: clang was not found\n")


def test_a_run_that_skips_nothing_says_nothing(tmp_path):
    variables = bare_tree(tmp_path)
    result = run("bash", tmp_path / "scripts/check.sh", env=variables)
    assert result.returncode == 0 and "not everything" not in result.stdout


@pytest.mark.parametrize("user", ["0", "1000"])
def test_installing_tools_never_fails(tmp_path, user):
    variables = bare_tree(tmp_path)
    programs = {"id": f"echo {user}", "apt-get": "exit 100", "timeout": 'shift; "$@"'}
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o700)
    result = run("bash", tmp_path / "scripts/tools.sh", env=variables)
    assert result.returncode == 0, result.stderr
    words = "could not be installed" if user == "0" else "only root can install them"
    assert words in result.stdout and "qemu-user-static" in result.stdout
