"""The pages of the site that are made: of the API, and of the rooms of the house."""

import importlib.util
import re

import mica
import mlcompute
import pytest
from house import ROOT


def script(name):
    path = ROOT / "scripts" / f"{name}.py"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


pages, rooms = script("api_pages"), script("room_pages")


@pytest.fixture(scope="module")
def c_page():
    return pages.c_page()


def test_every_function_of_the_headers_is_on_the_page(c_page):
    blocks = "\n".join(re.findall(r"^```c\n(.*?)^```$", c_page, re.MULTILINE | re.DOTALL))
    for header in sorted((ROOT / "include" / "mica").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        for declaration in re.findall(r"^MICA_API ([^;{]*);", text, re.MULTILINE):
            name = re.search(r"\b(mica_\w+|mlc_\w+)\s*\(", declaration)
            if name:
                assert re.search(rf"\b{name[1]}\s*\(", blocks), f"{header.name}: {name[1]}"


def test_comments_stand_with_their_functions(c_page):
    part = c_page[c_page.index("bool mica_dtype_parse(") :]
    assert part.split("```")[1].strip() == "false when no dtype has this name."
    part = c_page[c_page.index("mica_dtype_name(") :]
    assert part.split("```")[1].strip() == '"f32"'


def test_nothing_of_the_headers_is_taken_for_markup(c_page):
    prose = re.sub(r"^```c\n.*?^```$", "", c_page, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^    .*$", "", prose, flags=re.MULTILINE)
    assert "@mlc" not in prose and "@end" not in prose
    unescaped = re.findall(r"(?<!\\)<[a-z/]", prose.replace("`mica_<name>", ""))
    assert not unescaped


def test_every_public_function_of_python_is_on_the_page():
    page = pages.python_page()
    primitives = {row["name"] for row in mica.ops()}
    for package in (mica, mlcompute):
        for name in package.__all__:
            value = getattr(package, name)
            if callable(value) and name.rstrip("_") not in primitives and value.__doc__:
                assert f"### `{package.__name__}.{name}`" in page, name


def test_every_room_has_a_page_with_its_files():
    folders = {f"src/{path.name}" for path in (ROOT / "src").iterdir() if path.is_dir()}
    folders |= {f"python/{path.name}" for path in (ROOT / "python").iterdir() if path.is_dir()}
    assert folders <= set(rooms.purposes())
    for room in rooms.purposes():
        page = rooms.page(room)
        assert len(re.findall(r"^\| `[\w.]+` \| \S", page, re.MULTILINE)) >= 2, room
        headings = set(rooms.SECTIONS.get(room, []))
        assert all(f"[{each}](architecture.md#" in page for each in headings), room
    assert "| `pool.h` | the compute pool, one for the process" in rooms.page("src/base")
    assert "`test_pool`" in rooms.page("src/base")


def test_the_list_of_rooms_says_what_each_file_is():
    unsaid = [
        name
        for room in rooms.purposes()
        for name in rooms.tracked(room)
        if name.endswith((".c", ".h", ".py")) and not rooms.about(name)
    ]
    assert unsaid == []
