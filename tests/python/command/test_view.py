"""`mica view` and MICA_REPORT: the page is whole HTML, says what the run did, and escapes what came
from the caller."""

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from house import ROOT

PROGRAMS = Path(__file__).parent / "view"
VOID = {"meta", "br"}
SHAPES = {"line", "path", "rect"}  # of SVG, which may close themselves


class Page(HTMLParser):
    """Elements that close in the order they open, tables as rows of texts, links, the data."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links = [], set(), []
        self.tables, self.section, self.texts = {}, None, []
        self.data, self.sources = "", []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            assert given["id"] not in self.ids, f"twice: {given['id']}"
            self.ids.add(given["id"])
        assert not {key for key in given if key.startswith("on")}
        assert "src" not in given
        self.links += [given["href"]] if "href" in given else []
        if tag == "section":
            self.section = given["id"]
            self.tables.setdefault(self.section, [])
        if tag == "tr":
            self.tables[self.section].append([])
        if tag in ("td", "th"):
            self.tables[self.section][-1].append("")
        if tag not in VOID:
            self.open.append((tag, given.get("id")))

    def handle_startendtag(self, tag, attributes):
        assert tag in SHAPES

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, text):
        if self.open and self.open[-1] == ("script", "data"):
            self.data += text
            return
        self.texts.append(text)
        if any(tag in ("td", "th") for tag, _ in self.open):
            self.tables[self.section][-1][-1] += text
        if any(tag == "pre" for tag, _ in self.open):
            self.sources.append(text)


def run(command, page=None, **settings):
    environment = dict(os.environ, **settings)
    environment.pop("MICA_REPORT", None)
    if page:
        environment["MICA_REPORT"] = str(page)
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


def read(page):
    parsed = Page(page.read_text(encoding="utf-8"))
    for link in parsed.links:
        assert link.startswith("#") and link[1:] in parsed.ids, link
    return parsed, json.loads(parsed.data)


@pytest.mark.parametrize(
    ("name", "program", "kernel"),
    [("mlp", "multi_step_on_iterator", "dot"), ("convnet", "step", "conv"), ("gpt", "step", "dot")],
)
def test_the_page_of_a_model_is_whole_and_says_what_ran(name, program, kernel, tmp_path):
    page, script = tmp_path / "page.html", PROGRAMS / f"{name}.py"
    cli = ROOT / "build" / "bin" / "mica"
    done = run([cli, "view", "--output", page, script], MICA_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    parsed, data = read(page)
    steps = [p for p in data["programs"] if p["name"] == program and p["code"] == "generated"]
    step = max(steps, key=lambda p: p["runs"])
    assert step["runs"] >= 4
    launched = [k for k in step["kernels"] if k["launches"]]
    assert any(kernel in k["label"] and k["operations"] > 0 for k in launched)
    assert any(k["code"] == "generated" for k in launched)
    assert all(k["launches"] % step["runs"] == 0 for k in launched)
    assert sum(k["seconds"] for k in launched) <= step["seconds"] * 1.001
    assert {k["line"].split(" ")[0].rsplit(":", 1)[0] for k in launched} >= {str(script)}
    assert data["copy_limit"] > 1e8
    [device] = data["devices"]
    assert device["peak"] == max(m for m in device["memory"] if m is not None)
    holders = sum(h["bytes"] * h["number"] for h in device["holders"])
    assert 0.5 * device["peak"] < holders <= device["peak"]
    # Tables without the script: a head, and a row for each program and holder.
    assert len(parsed.tables["programs"]) == 1 + min(len(data["programs"]), 200)
    assert len(parsed.tables["memory"]) == 1 + len(device["holders"])
    graphs = [text for text in parsed.sources if "mica graph 1" in text]
    assert any("@mica.fused" in text for text in graphs)
    assert any("KERNEL" in text for text in parsed.sources)
    assert any("one kernel, " in text for text in parsed.texts)
    assert any("by itself: " in text for text in parsed.texts)


def test_what_ran_on_the_host_is_listed_with_its_reason(tmp_path):
    page = tmp_path / "page.html"
    script = tmp_path / "words.py"
    script.write_text(
        "import tensorflow as tf\n"
        "words = tf.strings.split(tf.constant(['a b', 'c']))\n"
        "found = tf.where(tf.constant([True, False]))\n"
    )
    done = run([sys.executable, "-m", "mica.tf", script], page)
    assert done.returncode == 0, done.stderr
    reasons = {row["what"]: row["why"] for row in read(page)[1]["host"]}
    assert "text" in reasons["StringSplitV2"]
    assert reasons["Where"] == "the size of its result depends on the values of its inputs"


HOSTILE = "</script><script>alert(1)</script><b>&amp;\"' \N{BIOHAZARD SIGN}"


def test_texts_of_the_caller_are_escaped(tmp_path):
    page = tmp_path / "page.html"
    script = tmp_path / "<img src=x onerror=alert(1)>.py"
    script.write_text(
        "import mica\n"
        "def f(x):\n"
        "    return mica.tanh(x) * 2\n"
        f"f.__name__ = {HOSTILE!r}\n"
        "mica.jit(f)(mica.ones((8, 8)))\n"
    )
    done = run([sys.executable, script], page, MICA_REPORT_TITLE=HOSTILE)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "alert(1)" in text
    assert "<img" not in text
    assert "<script>alert" not in text
    parsed, _ = read(page)
    assert HOSTILE in "".join(parsed.texts)


def test_a_run_without_a_report_writes_nothing(tmp_path):
    code = "import mica; mica.jit(lambda x: x + 1)(mica.ones(3))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == ("", "", [])


def test_times_as_text(tmp_path):
    code = (
        "import mica\n"
        "f = mica.jit(lambda x: mica.tanh(x) @ x)\n"
        "for _ in range(5): f(mica.ones((64, 64)))\n"
    )
    done = run([sys.executable, "-c", code], MICA_LOG="time", MICA_TIER="built-in")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert all(line.startswith("mica time: ") for line in lines)
    assert any("5 runs  '" in line and "on cpu:0, built-in" in line for line in lines)
    assert any("5 x" in line and "GB/s" in line and "dot f32[64,64]" in line for line in lines)
    assert any("of memory at most" in line for line in lines)


def test_a_page_that_cannot_be_written_is_a_warning(tmp_path):
    code = "import mica; mica.jit(lambda x: x + 1)(mica.ones(3)); print('done')"
    page = tmp_path / "there is no such folder" / "page.html"
    done = run([sys.executable, "-c", code], page, MICA_LOG="warning")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "the report was not written to" in done.stderr


def test_forked_children_leave_the_page_to_their_parent(tmp_path):
    page = tmp_path / "page.html"
    code = (
        "import mica, os\n"
        "mica.jit(lambda x: x + 1)(mica.ones(3))\n"
        "if os.fork() == 0:\n"
        "    raise SystemExit\n"
        "os.wait()\n"
        f"assert not os.path.exists({str(page)!r})\n"
    )
    done = run([sys.executable, "-c", code], page)
    assert done.returncode == 0, done.stderr
    assert read(page)[1]["programs"]


def test_view_wants_a_script(tmp_path):
    cli = ROOT / "build" / "bin" / "mica"
    assert run([cli, "view"]).returncode == 2
    assert run([cli, "view", "--loud", "x.py"]).returncode == 2
    done = run([cli, "view", tmp_path / "none.py"])
    assert done.returncode == 1 and "none.py" in done.stderr
