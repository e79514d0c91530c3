"""The Chinese README shows the programs, sessions and measurements of the English one."""

import subprocess
import sys

from house import ROOT


def run(*arguments, cwd=ROOT):
    script = cwd / "scripts" / "readme_zh.py"
    command = [sys.executable, script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_chinese_readme_has_the_programs_and_measurements_of_the_english_one():
    done = run("--check")
    assert done.returncode == 0, done.stderr


def test_a_number_that_differs_is_noticed(tmp_path):
    (tmp_path / "scripts").mkdir()
    for name in ("README.md", "README.zh-CN.md", "scripts/readme_zh.py"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    assert run("--check", cwd=tmp_path).returncode == 0
    for old, new in (("108 ns", "107 ns"), ("[58.0,", "[58.5,"), ("docs/c.md", "docs/d.md")):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        assert old in text
        (tmp_path / "README.md").write_text(text.replace(old, new), encoding="utf-8")
        assert run("--check", cwd=tmp_path).returncode != 0, old
