"""The reference pages of the site have every function of the headers and of the packages."""

import importlib.util
import re

import mica
import mlcompute
import pytest
from house import ROOT

specification = importlib.util.spec_from_file_location(
    "api_pages", ROOT / "scripts" / "api_pages.py"
)
pages = importlib.util.module_from_spec(specification)
specification.loader.exec_module(pages)


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
