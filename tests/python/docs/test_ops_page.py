"""docs/ops.md is what the table and the harness say today."""

import sys

import pytest
from house import BUILD, ROOT, run

HARNESS = BUILD / "harness"


@pytest.mark.skipif(not HARNESS.exists(), reason=f"{HARNESS} is not built")
def test_the_page_of_primitives_is_up_to_date():
    done = run(sys.executable, ROOT / "scripts/ops_page.py", "--build", BUILD)
    assert done.returncode == 0, done.stderr
    written = (ROOT / "docs/ops.md").read_text(encoding="utf-8")
    hint = "docs/ops.md is out of date: python scripts/ops_page.py > docs/ops.md"
    assert done.stdout == written, hint


def test_every_primitive_has_its_section():
    import mica

    text = (ROOT / "docs/ops.md").read_text(encoding="utf-8")
    for row in mica.ops():
        assert f"### {row['name']}\n" in text, f"{row['name']}: run scripts/ops_page.py"
