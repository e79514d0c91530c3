"""A newcomer's first hour, with an installed Mica and the pages alone: train, save, serve.

Run by scripts/wheel.sh in a new environment. README.md leads to a page for each front; the programs
of the pages train, save what they trained, and serve it from another program.
"""

import re
import shutil
from pathlib import Path

import mica
import pytest
from documents import blocks, commands, play, read
from house import compiler

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
PACKAGE = Path(mica.__file__).parent
# Of each front: its heading in the README, its page, and the files of the steps.
FRONTS = {
    "c": ("C", "c.md", ["train.c", "model.py", "serve.c"]),
    "python": ("Python", "jax_pytorch.md", ["modules.py", "serve.py"]),
    "tensorflow": ("TensorFlow scripts", "tensorflow_scripts.md", ["script.py", "serve.py"]),
    "mlcompute": ("ML Compute", "from_mlcompute.md", ["two_classes.py", "serve.py"]),
}


@pytest.fixture(scope="module")
def environment():
    """What the README says that pkg-config needs to find the package's headers and library."""
    for tool in (compiler() or ["a C compiler"])[0], "pkg-config":
        if not shutil.which(tool):
            pytest.skip(f"{tool} was not found")
    text = " ".join(read(README).split())
    (command,) = re.findall(r"`\$\((python -c '[^']+')\)/pkgconfig`", text)
    assert command == "python -c 'import mica; print(*mica.__path__)'"
    (folder,) = mica.__path__
    assert Path(folder, "pkgconfig", "mica.pc").is_file()
    return {"PKG_CONFIG_PATH": f"{folder}/pkgconfig"}


def test_the_programs_of_the_readme_run(tmp_path, environment):
    play(README, tmp_path, environment, PACKAGE / "include")
    assert {path.suffix for path in tmp_path.iterdir()} >= {".c", ".py"}


@pytest.mark.parametrize("front", FRONTS)
def test_a_front_trains_saves_and_serves(front, tmp_path, environment):
    heading, name, steps = FRONTS[front]
    section = re.split(r"^### ", read(README), flags=re.MULTILINE)
    (section,) = (text for text in section if text.startswith(f"{heading}\n"))
    assert f"(docs/{name})" in section, f"the README does not lead to {name}"
    page = HERE / "docs" / name
    lines = [c.line for b in blocks(page) if b.language == "console" for c in commands(b.text)]
    places = [next(i for i, line in enumerate(lines) if step in line) for step in steps]
    assert places == sorted(places), "the steps stand in this order"
    play(page, tmp_path, environment, PACKAGE / "include")


def test_the_first_page_leads_through_all_fronts(tmp_path, environment):
    play(HERE / "docs" / "getting_started.md", tmp_path, environment, PACKAGE / "include")
