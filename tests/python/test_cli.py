"""The mica program."""

import json
import os
import subprocess

import mica
import numpy as np
import pytest
from house import BUILD

PROGRAM = BUILD / "bin" / "mica"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")

GRAPH = """mica graph 1

graph @affine(%0: f32[2,3], %1: f32[3]) {
    %2 = broadcast(%1) {shape = (2,3), axes = (1)} : f32[2,3]
    %3 = add(%0, %2) : f32[2,3]
    return %3
}
"""


def run(*arguments, code=0):
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code else done.stdout


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "affine.txt"
    path.write_text(GRAPH)
    return path


def test_version_and_help():
    assert run("version") == f"mica {mica.__version__}\n"
    assert run("--version") == run("version")
    assert "usage: mica" in run("--help")


def test_devices_are_listed():
    text = run("devices")
    for info in mica.devices():
        assert info.name in text
        assert info.description in text


def test_ops_as_text_and_as_json():
    rows = json.loads(run("ops", "--json"))
    assert [row["name"] for row in rows] == [row["name"] for row in mica.ops()]
    lines = run("ops").splitlines()
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert line.startswith(row["name"])
        assert row["meaning"] in line


def test_run_prints_results_of_files(graph, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    (tmp_path / "b.raw").write_bytes(np.array([10, 20, 30], np.float32).tobytes())
    for device in ("cpu", "ref", "fake"):
        text = run("run", graph, tmp_path / "x.npy", tmp_path / "b.raw", "--device", device)
        assert text == "output 0: f32[2,3]\n10 21 32\n13 24 35\n"


def test_run_makes_inputs_from_a_seed(graph):
    first = run("run", graph, "--seed", 1)
    assert first == run("run", graph, "--seed", "1", "--device", "ref")
    assert first != run("run", graph, "--seed", 2)
    assert first.startswith("output 0: f32[2,3]\n")


def test_bad_files_are_named(graph, tmp_path):
    assert "nowhere.txt" in run("run", tmp_path / "nowhere.txt", code=1)
    bad = tmp_path / "bad.npy"
    np.save(bad, np.zeros((2, 2), np.float32))
    assert "bad.npy: the shape must be that of f32[2,3]" in run("run", graph, bad, code=1)
    np.save(bad, np.zeros((2, 3)))
    assert "elements must be <f4" in run("run", graph, bad, code=1)
    np.save(bad, np.asfortranarray(np.zeros((2, 3), np.float32)))
    assert "row-major" in run("run", graph, bad, code=1)
    for size in (0, 5, 11, 60, 100, 140):
        np.save(bad, np.zeros((2, 3), np.float32))
        bad.write_bytes(bad.read_bytes()[:size])
        assert "bad.npy" in run("run", graph, bad, code=1)
    (tmp_path / "b.raw").write_bytes(b"123")
    assert "3 bytes instead of 24" in run("run", graph, tmp_path / "b.raw", code=1)
    graph.write_text("graph nonsense")
    assert run("run", graph, code=1)
    os.truncate(graph, 0)
    assert run("run", graph, code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fly",),
        ("devices", "all"),
        ("ops", "--yaml"),
        ("ops", "--json", "--json"),
        ("run",),
        ("run", "graph.txt", "--seed"),
        ("run", "graph.txt", "--seed", "seven"),
        ("run", "graph.txt", "--speed", "7"),
        ("bench",),
        ("bench", "hops"),
        ("doctor", "now"),
        ("version", "please"),
    ],
)
def test_wrong_arguments_are_explained_with_code_2(arguments):
    text = run(*arguments, code=2)
    assert text.startswith("mica: ")
    assert "Try 'mica --help'." in text


def test_unknown_devices_are_named(graph):
    assert "gpu7" in run("run", graph, "--device", "gpu7", code=1)


def test_the_doctor_checks_every_device():
    text = run("doctor")
    assert "DISAGREES" not in text
    assert "All is well." in text
    assert "C compiler" in text
    for kind in ("cpu", "fake"):
        assert f"ok          {kind}" in text


def test_python_starts_the_same_program():
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "mica", "version"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == run("version")
