"""`mica upgrade`: programs of TensorFlow 1 in the names of TensorFlow 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from house import ROOT
from mica import upgrade as package
from mica.upgrade import Names, upgrade_text

CLI = ROOT / "build" / "bin" / "mica"
PROGRAMS = Path(__file__).parent / "upgrade"
DRIVER = """
import contextlib, io, json, sys, traceback
from pathlib import Path
import mica.tf as tf
from mica.tf._install import install
install()
printed = {}
for path in sorted(Path(sys.argv[1]).glob("*.py")):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(path.read_text(), path, "exec"), {"__name__": "__main__"})
    except Exception:
        out.write(traceback.format_exc())
    printed[path.stem] = out.getvalue().splitlines()
    tf.compat.v1.reset_default_graph()
print(json.dumps(printed))
"""


def prints(path: Path) -> list[str]:
    """What a program says that it prints."""
    start = "# prints: "
    return [line[len(start) :] for line in path.read_text().splitlines() if line.startswith(start)]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def upgraded(text: str) -> str:
    return upgrade_text("import tensorflow as tf\n" + text)[0].partition("\n")[2]


def left_to_do(text: str) -> list[tuple[int, str]]:
    return upgrade_text(text)[1].open


def test_twenty_programs_run_when_they_are_upgraded(tmp_path):
    programs = sorted(PROGRAMS.glob("*.py"))
    assert len(programs) >= 20
    environment = {"MICA_PYTHON": sys.executable, "PATH": "/usr/bin:/bin"}
    done = run([CLI, "upgrade", PROGRAMS, tmp_path / "new"], env=environment)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"{len(programs)} files: ") and last.endswith("0 left to do by hand")
    made = run([sys.executable, "-c", DRIVER, tmp_path / "new"])
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout.splitlines()[-1])
    assert found == {path.stem: prints(path) for path in programs}


def test_what_is_upgraded_stays_as_it_is():
    names = Names()
    for path in sorted(PROGRAMS.glob("*.py")):
        if path.stem == "losses":
            continue  # softmax_cross_entropy_with_logits is a name of both, and not the same
        once, _ = upgrade_text(path.read_text(), names=names)
        twice, report = upgrade_text(once, names=names)
        assert twice == once, path.stem
        assert not report.done and not report.open, report.lines()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.log(x)", "tf.math.log(x)"),
        ("tf.float32.max", "tf.float32.max"),
        ("tf.keras.layers.Dense(3)", "tf.keras.layers.Dense(3)"),
        ("tf.reduce_mean(x, reduction_indices=[0])", "tf.reduce_mean(x, axis=[0])"),
        ("tf.argmax(x, 1, 'n')", "tf.argmax(x, 1, name='n')"),
        ("tf.to_float(tf.log(x))", "tf.cast(tf.math.log(x), dtype=tf.float32)"),
        ("tf.nn.dropout(x, keep_prob=a * b)", "tf.nn.dropout(x, rate=1 - (a * b))"),
        ("tf.nn.dropout(x, p, seed=1)", "tf.nn.dropout(x, rate=1 - p, seed=1)"),
        ("tf.nn.dropout(x, rate=p)", "tf.nn.dropout(x, rate=p)"),
        (
            "tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=z)",
            "tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(y), logits=z)",
        ),
        ("tf.cond(a, strict=True, fn1=f, fn2=g)", "tf.cond(a, true_fn=f, false_fn=g)"),
        ("x.get_shape()[1].value", "tf.compat.v1.dimension_value(x.get_shape()[1])"),
        ("tf.layers.dense(x, 3)", "tf.compat.v1.layers.dense(x, 3)"),
        ("tf.train.Example", "tf.train.Example"),
        ("tf.summary.scalar('ü', y)", "tf.compat.v1.summary.scalar('ü', y)"),
        ("a = 'ü'; tf.log(x)", "a = 'ü'; tf.math.log(x)"),
        ("tf.gfile.Open(\n    p,  # here\n)", "tf.io.gfile.GFile(\n    p,  # here\n)"),
    ],
)
def test_names_and_arguments_are_those_of_tensorflow_2(old, new):
    assert upgraded(old) == new


def test_tensorflow_may_be_called_otherwise():
    text, _ = upgrade_text("import tensorflow as flow, os\nflow.log(flow.to_int32(x))\n")
    assert text.endswith("flow.math.log(flow.cast(x, dtype=flow.int32))\n")
    text, _ = upgrade_text("import tensorflow\ntensorflow.log(x)\n")
    assert text.endswith("tensorflow.math.log(x)\n")
    assert upgrade_text("import numpy as tf\ntf.log(x)\n")[0] == "import numpy as tf\ntf.log(x)\n"


def test_a_program_with_sessions_goes_on_building_a_graph():
    text, report = upgrade_text("import tensorflow as tf\ns = tf.Session()\n")
    switch = "tf.compat.v1.disable_eager_execution()"
    assert text == f"import tensorflow as tf\n\n{switch}\ns = tf.compat.v1.Session()\n"
    assert sorted(line for line, _ in report.done) == [1, 2]
    said = f"import tensorflow as tf\n{switch}\ns = tf.Session()\n"
    assert upgrade_text(said)[0].count("disable_eager_execution") == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("import tensorflow as tf\n\ntf.contrib.layers.flatten(x)\n", 3, "tf.contrib is gone"),
        ("import tensorflow.contrib.slim as slim\n", 1, "tf.contrib is gone"),
        ("from tensorflow.contrib import rnn\n", 1, "tf.contrib is gone"),
        ("from tensorflow.examples.tutorials.mnist import input_data\n", 1, "tutorials"),
        ("from tensorflow.python.ops import math_ops\n", 1, "no public name"),
        ("from tensorflow import log\n", 1, "tf.math.log now"),
        ("import tensorflow as tf\ntf.no_such_name(1)\n", 2, "neither TensorFlow 2 nor"),
        ("import tensorflow as tf\ntf.argmax(*a)\n", 2, "behind * and **"),
        ("print 'two'\n", 1, "no Python 3"),
    ],
)
def test_what_cannot_be_done_is_reported_with_its_line(text, line, words):
    found = left_to_do(text)
    assert any(number == line and words in said for number, said in found), found


def test_files_and_folders(tmp_path):
    folder, new = tmp_path / "old", tmp_path / "new"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.py").write_bytes(b"import tensorflow as tf\r\ntf.log(1.0)\r\n")
    (folder / "data.bin").write_bytes(b"\xff\x00")
    environment = {"MICA_PYTHON": sys.executable, "PATH": "/usr/bin:/bin"}
    done = run([CLI, "upgrade", folder, new], env=environment)
    assert done.stdout.splitlines() == [
        f"{folder}/inner/a.py:2: tf.log is tf.math.log now",
        "1 file: 1 changes, 0 left to do by hand",
    ]
    changed = (new / "inner" / "a.py").read_bytes()
    assert changed == b"import tensorflow as tf\r\ntf.math.log(1.0)\r\n"
    assert (new / "data.bin").read_bytes() == b"\xff\x00"
    assert package.main([str(folder / "inner" / "a.py"), str(tmp_path / "b.py")]) == 0
    assert (tmp_path / "b.py").read_bytes() == changed


def test_mistakes_of_the_caller_have_a_message(tmp_path, capsys):
    assert run([CLI, "upgrade"]).returncode == 2
    assert run([CLI, "upgrade", "--loud", "a", "b"]).returncode == 2
    assert package.main([str(tmp_path / "none.py"), "b.py"]) == 1
    assert "there is no file or folder" in capsys.readouterr().err
    assert package.main([str(tmp_path), str(tmp_path / "inner")]) == 1
    assert "is inside of" in capsys.readouterr().err
    (tmp_path / "bad.py").write_bytes(b"\xff\xfe")
    assert package.main([str(tmp_path / "bad.py"), str(tmp_path / "b.py")]) == 1
    assert "utf-8" in capsys.readouterr().err


def test_every_new_name_is_one_of_tensorflows():
    names = Names()
    for old, new in names.renamed.items():
        assert names.is_public(new), f"{old} -> {new}"
    for old, rule in names.functions.items():
        assert names.new(old) is not None, old
        assert set(rule) <= {
            *("names", "same", "keywords", "dropped", "refused", "added", "complement", "stopped"),
        }
