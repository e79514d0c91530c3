"""The mica program."""

import json
import os
import re
import shutil
import subprocess
import sys

import mica
import numpy as np
import pytest
from house import BUILD, ROOT

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


COMMANDS = re.findall(r"^  (\w+) ", run("--help"), re.MULTILINE) if PROGRAM.exists() else []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_help(command):
    text = run(command, "--help")
    assert text.startswith(f"usage: mica {command}")
    assert run("help", command) == text == run(command, "some", "thing", "-h")
    assert "unknown option" not in text
    for option in re.findall(r"(--\w+)", text.partition("\n")[0]):
        assert re.search(rf"^  {option}\b", text, re.MULTILINE), f"{option} is not explained"


def test_options_of_bench_are_those_that_python_takes():
    theirs = subprocess.run(
        [sys.executable, "-m", "mica.bench", "ops", "--help"], capture_output=True, text=True
    )
    ours = re.findall(r"^  (--\w+)", run("bench", "--help"), re.MULTILINE)
    assert len(ours) == 4 and all(re.search(rf"^  .*{o}\b", theirs.stdout, re.M) for o in ours)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "bench"])
def test_options_in_help_are_those_that_are_taken(command):
    for option in re.findall(r"^  (--\w+)", run(command, "--help"), re.MULTILINE):
        if option == "--help":
            continue
        done = subprocess.run([PROGRAM, command, option, "1"], capture_output=True, text=True)
        assert "unknown option" not in done.stderr
        assert f"unknown argument '{option}'" not in done.stderr
    assert run(command, "--no-such-option", code=2)


def test_help_about_no_command_is_refused():
    assert "there is no command 'fly'" in run("help", "fly", code=2)
    assert "not 'run' too" in run("help", "ops", "run", code=2)


def piped(shell: str) -> subprocess.CompletedProcess:
    line = f"set -o pipefail; {shell}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("command", ["ops", "ops --json", "help", "devices", "completion bash"])
@pytest.mark.parametrize("before", ["", "trap '' PIPE; "])
def test_a_reader_that_stops_early_is_no_error(command, before):
    done = piped(f"{before}'{PROGRAM}' {command} | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_disk_that_is_full_is_one():
    done = piped(f"'{PROGRAM}' ops > /dev/full")
    assert done.returncode == 1 and "standard output cannot be written" in done.stderr


COMPLETE = """
eval "$('{program}' completion bash)"
COMP_WORDS=(mica {words}) COMP_CWORD={at}
_mica
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "at", "wanted"),
    [("d", 1, "devices doctor"), ("run --s", 2, "--seed"), ("predict --", 2, "--signature")],
)
def test_bash_completes_commands_and_options(words, at, wanted):
    done = piped(COMPLETE.format(program=PROGRAM, words=words, at=at))
    assert done.returncode == 0, done.stderr
    assert set(wanted.split()) <= set(done.stdout.split())
    assert all(word.startswith(words.split()[-1]) for word in done.stdout.split())


def test_completion_knows_every_command_and_names_its_shells():
    for shell in ("bash", "zsh"):
        text = run("completion", shell)
        assert all(re.search(rf"\b{command}\b", text) for command in COMMANDS)
    assert "bash or zsh" in run("completion", "fish", code=2)


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh was not found")
def test_zsh_reads_its_completion():
    script = f"autoload -Uz compinit && compinit -D && eval \"$('{PROGRAM}' completion zsh)\""
    done = subprocess.run(["zsh", "-fc", script + " && echo $_comps[mica]"], capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"_mica\n"), done.stderr


def test_the_man_page_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/man_page.py", "--build", BUILD],
        capture_output=True,
        text=True,
        check=True,
    )
    written = (ROOT / "docs/mica.1").read_text(encoding="utf-8")
    assert done.stdout == written, "run scripts/man_page.py > docs/mica.1"


@pytest.mark.skipif(not shutil.which("man"), reason="man was not found")
def test_the_man_page_is_shown_without_a_warning():
    command = ["man", "--warnings", "-l", ROOT / "docs/mica.1"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80"}
    )
    assert done.returncode == 0 and done.stderr == ""
    assert all(command in done.stdout for command in COMMANDS)


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
    known = [word for word in arguments[:1] if word in COMMANDS]
    assert f"Try 'mica {' '.join([*known, '--help'])}'." in text


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
    done = subprocess.run(
        [sys.executable, "-m", "mica", "version"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == run("version")


MODELS = ROOT / "tests" / "tf" / "saved_models"


def test_a_saved_model_is_shown():
    lines = run("show", MODELS / "dense").splitlines()
    assert lines[0] == "signature serving_default"
    assert "    input  x: float32[?,3]" in lines
    assert "    output output_0: float32[?,2]" in lines
    assert "variable w: float32[3,2]" in lines


def test_a_saved_model_predicts(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([[1, -1, 2], [0, 0, 0]], np.float32))
    wanted = "output_0: float32[2,2]\n6.5 7.5\n0.5 0\n"
    assert run("predict", MODELS / "dense", "--inputs", path) == wanted
    assert run("predict", MODELS / "dense", "--inputs", f"x={path}") == wanted


def test_predict_says_what_it_cannot_do(tmp_path):
    path, other = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(path, np.zeros((1, 4), np.float32))
    np.save(other, np.zeros((1, 4), "U3"))
    model = MODELS / "dense"
    assert "has the shape [?,3], given [1,4]" in run("predict", model, "--inputs", path, code=1)
    assert "no such input" in run("predict", model, "--inputs", f"z={path}", code=1)
    assert "given twice" in run("predict", model, "--inputs", path, path, code=1)
    assert "'x' is not given" in run("predict", model, code=1)
    assert "none of Mica's" in run("predict", model, "--inputs", other, code=1)
    assert "no signature 'other'" in run("predict", model, "--signature", "other", code=1)
    assert "saved_model.pb" in run("show", tmp_path, code=1)
    assert "no model is given" in run("show", code=2)


def test_the_example_in_c_serves_a_model():
    program = BUILD / "examples" / "serve"
    given = [program, MODELS / "dense", "1", "-1", "2"]
    done = subprocess.run(given, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "6.5\n7.5\n"), done.stderr
    failed = subprocess.run([*given, "4"], capture_output=True, text=True, timeout=120)
    assert failed.returncode == 1
    assert "has the shape [?,3], given [1,4]" in failed.stderr
