"""What README.md and docs/ show works as it is written there, and what they name exists."""

import importlib.util
import re
import shutil
import sys

import pytest
from documents import PAGES, PROGRAMS, ROOT, blocks, commands, play, read
from house import BUILD, compiler, run

LIBRARY = BUILD / ("libmica.dylib" if sys.platform == "darwin" else "libmica.so")
WITH_PROGRAMS = [page for page in PAGES if any(b.language == "console" for b in blocks(page))]
TEXTS = sorted({*PAGES, *ROOT.glob("*.md")})
# Paths in prose: of folders of the tree, with an ending.
PATH = re.compile(
    r"`((?:include|src|tests|docs|scripts|examples|bench|python|cmake|data)/[\w./-]+"
    r"\.(?:md|py|sh|c|h|def|txt|cmake|log|json))`"
)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Where pkg-config finds an installed Mica."""
    prefix = tmp_path_factory.mktemp("prefix")
    result = run("cmake", "--install", BUILD, "--prefix", prefix)
    assert result.returncode == 0, result.stderr
    (file,) = prefix.rglob("mica.pc")
    return {"PKG_CONFIG_PATH": str(file.parent)}


@pytest.mark.skipif(not LIBRARY.exists(), reason=f"{LIBRARY} has not been built")
@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.name)
def test_the_programs_of_a_page_run_and_print_what_it_shows(page, tmp_path, request):
    environment = {}
    if any(block.language == "c" for block in blocks(page)):
        for tool in ("cmake", "pkg-config"):
            if not shutil.which(tool):
                pytest.skip(f"{tool} was not found")
        if not compiler():
            pytest.skip("no C compiler was found")
        environment = request.getfixturevalue("installed")
    if "tf.keras" in read(page) and not importlib.util.find_spec("keras"):
        pytest.skip("the page needs keras, which is not installed")
    play(page, tmp_path, environment)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_program_of_a_page_is_part_of_a_session(page):
    sessions = [b for b in blocks(page) if b.language == "console"]
    lines = "\n".join(c.line for session in sessions for c in commands(session.text))
    programs = [b for b in blocks(page) if b.language in PROGRAMS]
    idle = [b.title or b.text[:60] for b in programs if not b.title or b.title not in lines]
    assert not idle, f"{page.name} shows programs that nothing runs: {idle}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    named = {name for name in PATH.findall(read(page)) if "<" not in name}
    assert not {name for name in named if not (ROOT / name).exists()}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_prose_is_wrapped_at_100_columns(page):
    prose = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    example = re.compile(r" *- `[^`]*`")  # of docs/ops.md: one span of code
    long = [
        line
        for line in prose.splitlines()
        if len(line) > 100 and not line.startswith("|") and not example.fullmatch(line)
    ]
    assert not long, f"scripts/wrap_prose.py {page.relative_to(ROOT)} wraps {long}"


def test_make_targets_that_the_readme_names_exist():
    targets = set(re.findall(r"^(\w[\w-]*):", read(ROOT / "Makefile"), re.MULTILINE))
    for page in TEXTS:
        assert set(re.findall(r"(?:^    |`)make ([\w-]+)", read(page), re.MULTILINE)) <= targets, (
            page
        )


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_links_of_a_page_outside_the_site_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", read(page))
    assert not [target for target in targets if not (page.parent / target).exists()]
