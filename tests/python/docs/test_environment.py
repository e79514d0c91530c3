"""Every environment variable that the library reads is in docs/environment.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
READ = re.compile(r'(?:mica_environment|getenv|environ(?:\.get)?)[\[(]\s*"(MICA_[A-Z_]+)"')


def test_every_variable_is_documented():
    page = (ROOT / "docs" / "environment.md").read_text()
    patterns = ("src/**/*.[ch]", "python/**/*.[ch]", "python/**/*.py")
    files = [path for pattern in patterns for path in ROOT.glob(pattern)]
    names = {name for path in files for name in READ.findall(path.read_text())}
    assert "MICA_TIER" in names
    assert {name for name in names if f"`{name}`" not in page} == set()
