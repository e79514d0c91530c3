"""mica bench: every primitive has something to be timed with, and both sides do the same work."""

import json
import subprocess
import sys

import mica
import numpy as np
import pytest
from house import BUILD, ROOT
from mica import bench

pytest.importorskip("scipy")
from mica import _bench_ops

PROGRAM = BUILD / "bin" / "mica"
ROWS = {row["name"]: row for row in mica.ops()}
TIMED = [name for name, row in ROWS.items() if not _bench_ops.untimed_reason(row)]


@pytest.mark.parametrize("name", TIMED)
def test_every_row_is_timed(name):
    hint = "add a line to PEERS or a function to SPECIAL in python/mica/_bench_ops.py"
    assert _bench_ops.has_entry(ROWS[name]), f"{name} has no entry for `mica bench ops`: {hint}"


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(_bench_ops, "SIDE", 32)
    monkeypatch.setattr(_bench_ops, "SIZE", 1024)
    monkeypatch.setattr(_bench_ops, "ORDER", 8)
    monkeypatch.setattr(_bench_ops, "BATCH", 2)


@pytest.mark.parametrize("name", TIMED)
def test_both_sides_do_the_same(name, small):
    if not _bench_ops.has_entry(ROWS[name]):
        pytest.skip("no entry; another test says so")
    count = 0
    for entry in _bench_ops.entries(ROWS[name]):
        count += 1
        ours = entry.ours()
        assert entry.theirs is None or entry.peer
        if entry.theirs is None or not entry.same:
            continue
        got, expected = ours.numpy(), np.asarray(entry.theirs())
        assert got.shape == expected.shape, entry.what
        scale = np.abs(expected).max() if expected.dtype.kind in "fc" else 0
        tolerance = 1e-9 if expected.dtype in (np.float64, np.complex128) else 2e-4
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale)
    assert count > 0


def test_what_is_not_timed_has_a_reason_and_is_of_the_table():
    classes = {row["class"] for row in ROWS.values()}
    assert all(name in ROWS or name in classes for name in _bench_ops.UNTIMED)


def test_reasons_name_rows_of_the_table():
    for op, what, dtypes, reason in bench.REASONS:
        assert op in ROWS, f"_bench_reasons.py explains {op}, which is no row"
        assert what and dtypes and len(reason) > 20


def test_the_page_shows_the_reasons():
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    assert bench.reasons_table() in page, "paste what bench.reasons_table() gives"


def test_reasons_are_found_by_row_what_and_dtype():
    reasons = [("dot", "matrix*", "f32 i32", "why")]
    assert bench.find_reason(reasons, "dot", "matrix by vector", "i32") == "why"
    assert bench.find_reason(reasons, "dot", "matrix by vector", "f64") is None
    assert bench.find_reason(reasons, "dot", "vector by matrix", "f32") is None


class Clock:
    """Measured with ratios that are given."""

    def __init__(self, ratios):
        self.ratios, self.runs = list(ratios), 0

    def run(self):
        self.runs += 1

    def ratio(self):
        return self.ratios[min(self.runs, len(self.ratios)) - 1]

    is_unsure = bench.Measured.is_unsure


@pytest.mark.parametrize(
    ("ratios", "runs"),
    [([0.5], 1), ([1.1, 1.3, 1.1, 1.3], 1 + bench.MORE_TIMES), ([1.3, 0.9], 2), ([1.1, 0.9], 2)],
)
def test_what_is_unsure_is_measured_again_on_either_side_of_the_bound(ratios, runs, monkeypatch):
    clock = Clock(ratios)
    monkeypatch.setattr(bench, "Measured", lambda ours, theirs: clock)
    monkeypatch.setattr(bench, "PAUSE_SECONDS", 0)
    assert bench.measure(None, None) is clock
    assert clock.runs == runs


@pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")
@pytest.mark.parametrize("start", [[PROGRAM], [sys.executable, "-m", "mica"]])
def test_the_command_prints_times_beside_numpy(start, monkeypatch):
    monkeypatch.setenv("MICA_PYTHON", sys.executable)
    command = [str(word) for word in start] + ["bench", "ops", "is_finite", "axis_index"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["threads"] == 2 and report["versions"]["numpy"] == np.__version__
    rows = {(row["op"], row.get("dtype")): row for row in report["rows"]}
    assert set(rows) == {("axis_index", None)} | {
        ("is_finite", dtype) for dtype in ("f32", "f64", "bf16")
    }
    timed = rows["is_finite", "f32"]
    assert 0 < timed["mica_seconds"] < 1 and 0 < timed["numpy_seconds"] < 1
    assert timed["ratio"] > 0 and timed["slow"] == (timed["ratio"] > bench.BOUND)
    assert rows["is_finite", "bf16"]["numpy_seconds"] is None
    assert "named axis" in rows["axis_index", None]["untimed"]


@pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")
def test_the_command_explains_what_it_cannot_do(monkeypatch):
    def bench_of(*arguments):
        return subprocess.run(
            [PROGRAM, "bench", *arguments], capture_output=True, text=True, timeout=120
        )

    assert bench_of().returncode == 2
    assert "not hops" in bench_of("hops").stderr
    monkeypatch.setenv("MICA_PYTHON", "no-such-python")
    done = bench_of("ops")
    assert done.returncode == 1 and "no-such-python was not found" in done.stderr
    monkeypatch.setenv("MICA_PYTHON", sys.executable)
    done = bench_of("ops", "no such op")
    assert done.returncode == 2 and "no such op" in done.stderr
