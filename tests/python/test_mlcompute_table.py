"""docs/mlcompute.md: its table is whole and true, its examples run."""

import re
import sys

import pytest
from house import BUILD, ROOT, compiler, run

sys.path.insert(0, str(ROOT / "scripts"))

import mlcompute_table as table

PAGE = (ROOT / "docs/mlcompute.md").read_text(encoding="utf-8")
LINE = "2.000 x + -1.000\n"


@pytest.fixture(scope="module")
def rows():
    return table.rows(table.json.loads(table.TESTS.read_text(encoding="utf-8")))


def test_the_table_is_up_to_date(rows):
    assert table.page(rows) == PAGE, "run scripts/mlcompute_table.py"


def test_every_member_has_its_place_and_a_test_that_calls_it(rows):
    assert len(rows) > 650
    assert table.complaints(rows) == []
    assert len(table.MISSING) <= 5


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL).group(1)


def test_the_example_in_python_prints_the_line():
    result = run(sys.executable, "-c", block("python"))
    assert result.returncode == 0, result.stderr
    assert result.stdout == LINE


@pytest.mark.skipif(not compiler(), reason="no C compiler was found")
def test_the_example_in_c_prints_the_line(tmp_path):
    source, program = tmp_path / "line.c", tmp_path / "line"
    source.write_text(block("c"), encoding="utf-8")
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"]
    result = run(
        *compiler(), *flags, source, "-o", program,
        f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lmica", "-lm",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    result = run(program)
    assert result.returncode == 0 and result.stdout == LINE
