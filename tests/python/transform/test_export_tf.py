"""`mica export` of a tf.function: its variables are inputs and outputs of the file of C."""

import numpy as np
import pytest
from house import compiler
from test_export import build, command, pointers

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler was found")

STEP = """
import numpy as np
import tensorflow as tf

kernel = tf.Variable([[0.5, 1.0], [0.25, -0.5], [1.0, 0.3]], name="kernel")
bias = tf.Variable([0.125, 0.25], name="bias")
rate = tf.constant(0.1)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.tanh(x @ kernel + bias) - y) ** 2)
    slopes = tape.gradient(loss, [kernel, bias])
    for variable, slope in zip([kernel, bias], slopes):
        variable.assign_sub(rate * slope)
    return loss


x = tf.reshape(tf.range(12, dtype=tf.float32), [4, 3]) / 7.0
for _ in range(3):
    print(np.array(step(x, tf.ones([4, 2]))).tobytes().hex())
"""


def test_a_function_trains_its_variables_with_the_same_bits(tmp_path):
    script, source = tmp_path / "script.py", tmp_path / "train_step.c"
    script.write_text(STEP)
    done = command(f"{script}:step", "-o", source)
    assert done.returncode == 0, done.stderr
    text = source.read_text()
    for line in ["inputs[0]  x", "inputs[1]  y", "outputs[0]  result 0"]:
        assert f" *     {line}\n" in text
    places = {
        name: [line.split()[1] for line in text.splitlines() if line.endswith(f" {name}:0")]
        for name in ("kernel", "bias")
    }
    values = {
        "inputs[0]": np.arange(12, dtype=np.float32).reshape(4, 3) / np.float32(7),
        "inputs[1]": np.ones((4, 2), np.float32),
        "outputs[0]": np.zeros((), np.float32),
    }
    kernel = np.array([[0.5, 1.0], [0.25, -0.5], [1.0, 0.3]], np.float32)
    for name, value in [("kernel", kernel), ("bias", np.array([0.125, 0.25], np.float32))]:
        assert len(places[name]) == 2
        values.update(dict.fromkeys(places[name], value))
    step = build(source, tmp_path, "train_step")
    inputs = [values[key] for key in sorted(values) if key.startswith("inputs")]
    outputs = [values[key] for key in sorted(values) if key.startswith("outputs")]
    for expected in done.stdout.split():
        assert step(pointers(inputs), pointers(outputs)) == 0
        assert values["outputs[0]"].tobytes().hex() == expected
    assert len(done.stdout.split()) == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("tf.random.uniform([3])", "draws from a generator"),
        ("tf.py_function(lambda x: x, [x], tf.float32)", "is not one segment"),
        ("tf.strings.as_string(x)", "is not one segment"),
        ("tf.sort(x)", "top_k of f32[3]"),
    ],
    ids=["random", "python", "strings", "sort"],
)
def test_what_a_function_needs_of_the_host_is_said(tmp_path, body, message):
    script = tmp_path / "script.py"
    script.write_text(
        f"import tensorflow as tf\nf = tf.function(lambda x: {body})\nf(tf.ones([3]))\n"
    )
    done = command(f"{script}:f", "-o", tmp_path / "f.c")
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "f.c").exists()
