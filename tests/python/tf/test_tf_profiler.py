"""tf.profiler.experimental: traces in the format that Chrome and TensorBoard show."""

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import mica.tf as tf
import pytest

profiler = tf.profiler.experimental


def events(folder) -> list[dict]:
    (path,) = Path(folder).glob("plugins/profile/*/*.trace.json.gz")
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def names(found: list[dict], kind: str) -> list[str]:
    return [each["name"] for each in found if each.get("cat") == kind]


def test_a_profile_has_ops_functions_kernels_and_marks(tmp_path):
    x = tf.ones([8, 8])

    @tf.function
    def squared(x):
        return tf.reduce_sum(tf.linalg.matmul(x, x))

    squared(x)
    with profiler.Profile(tmp_path):
        with profiler.Trace("step", step_num=3) as mark:
            mark.set_metadata(more="yes")
            squared(x)
        tf.strings.upper("a")
        tf.tanh(x)
    squared(x)
    found = events(tmp_path)
    assert names(found, "annotation") == ["step#step_num=3,more=yes#"]
    assert "Tanh" in names(found, "op") and "StringUpper" in names(found, "host op")
    assert len([name for name in names(found, "function") if "squared" in name]) == 1
    assert {"dot", "tanh"} <= set(names(found, "kernel"))
    (step,) = (each for each in found if each.get("cat") == "annotation")
    end = step["ts"] + step["dur"]
    products = [e for e in found if e.get("cat") == "kernel" and e["name"] == "dot"]
    assert all(step["ts"] <= e["ts"] <= e["ts"] + e["dur"] <= end for e in products)


def test_one_profile_is_on_at_a_time(tmp_path):
    with pytest.raises(tf.errors.UnavailableError, match="No profiler is running"):
        profiler.stop()
    profiler.start(str(tmp_path))
    with pytest.raises(tf.errors.AlreadyExistsError, match="Another profiler is running"):
        profiler.start(str(tmp_path))
    profiler.stop(save=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "given", [{"python_tracer_level": 1}, {"delay_ms": 10}, {"host_tracer_level": 0}]
)
def test_options_that_cannot_be_met_are_refused(tmp_path, given):
    options = profiler.ProfilerOptions(**given)
    with pytest.raises(NotImplementedError, match=next(iter(given))):
        profiler.start(tmp_path, options)
    with pytest.raises(tf.errors.UnavailableError):
        profiler.stop()
    assert profiler.ProfilerOptions() == (2, 0, 1, None)


def test_a_trace_of_graphs_profiles_when_it_is_asked_to(tmp_path):
    tf.summary.trace_on(graph=True, profiler=True, profiler_outdir=str(tmp_path))
    tf.tanh(tf.ones([3]))
    tf.summary.trace_off()
    assert "Tanh" in names(events(tmp_path), "op")


TRAINING = """
import sys
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
callback = tf.keras.callbacks.TensorBoard(sys.argv[1], profile_batch=2, write_graph=False)
model.fit(tf.ones([12, 2]), tf.ones([12, 1]), batch_size=4, verbose=0, callbacks=[callback])
"""


@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="keras is not installed")
def test_training_is_profiled_by_keras(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    done = subprocess.run(
        [sys.executable, "-m", "mica.tf", str(script), str(tmp_path / "logs")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "logs").rglob("*.trace.json.gz")
    assert names(events(path.parents[3]), "function")
