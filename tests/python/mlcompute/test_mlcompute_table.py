"""docs/mlcompute.md: its table is whole and true."""

import sys

import pytest
from house import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import mlcompute_table as table

PAGE = (ROOT / "docs/mlcompute.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows():
    return table.rows(table.json.loads(table.TESTS.read_text(encoding="utf-8")))


def test_the_table_is_up_to_date(rows):
    assert table.page(rows) == PAGE, "run scripts/mlcompute_table.py"


def test_every_member_has_its_place_and_a_test_that_calls_it(rows):
    assert len(rows) > 650
    assert table.complaints(rows) == []
    assert len(table.MISSING) <= 5
