"""The switches of the environment, each in a process of its own."""

import os
import re
import subprocess
import sys

PROGRAM = """
import mica.tf as tf

@tf.function(autograph=False)
def f(x):
    y = tf.exp(x) * 2.0
    places = tf.where(y > 3.0)
    return tf.cast(places, tf.float32) + 1.0

print(f(tf.constant([0.0, 1.0])).numpy().tolist())
with tf.GradientTape() as tape:
    x = tf.constant(2.0)
    tape.watch(x)
    y = tf.exp(x) * x
print(float(tape.gradient(y, x)))
"""


def run(**switches):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, **switches},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "[[2.0]]" and abs(float(lines[1]) - 22.167168) < 1e-4
    return done.stderr


def test_nothing_is_written_unless_it_is_asked_for():
    assert run() == ""


def test_logging_shows_the_graph_its_subgraphs_and_their_programs():
    text = run(TF_MLC_LOGGING="1")
    assert "device: " in text and "graph before: f:" in text
    assert "graph after: f with 2 subgraphs:" in text
    assert "MLCSubgraphOp_0: 5 ops: Exp Const mul Const_1 Greater" in text
    assert "MLCSubgraphOp_1: 4 ops: Cast Const_2 add Identity" in text
    assert "Where = Where" in text and "MLCSubgraphOp_1 runs" in text


def test_eager_ops_are_logged_with_addresses_shapes_and_keys():
    lines = [line for line in run(TF_CPP_MIN_VLOG_LEVEL="1").splitlines() if " Exp key" in line]
    assert lines and "f32[]" in lines[0] and "0x" in lines[0] and "(inserted)" in lines[0]


def test_results_are_the_same_with_everything_switched_off():
    run(TF_DISABLE_MLC="1")
    run(TF_DISABLE_MLC_EAGER=";Exp;Mul;")
    text = run(TF_DISABLE_MLC="1", TF_MLC_LOGGING="1")
    assert "MLCSubgraphOp_0: 1 ops" in text


def test_fresh_memory_is_filled():
    run(TF_MLC_ALLOCATOR_INIT_VALUE="nan")


# Functions of two matrices with the ops of each subgraph, counted by hand. What is returned passes
# through an Identity; an axis and a Python number are a Const each; what nothing needs is left out.
COUNTED = {
    "lambda a, b: a": [1],  # Identity
    "lambda a, b: a + b": [2],  # AddV2 Identity
    "lambda a, b: (a - b, a / b)": [4],  # Sub RealDiv Identity Identity
    "lambda a, b: tf.exp(a) * tf.sin(b)": [4],  # Exp Sin Mul Identity
    "lambda a, b: (tf.exp(b), a * a)[1]": [2],  # Mul Identity
    "lambda a, b: tf.nn.softmax(a @ b)": [3],  # MatMul Softmax Identity
    "lambda a, b: tf.nn.relu(tf.matmul(a, b) + 1.0)": [5],  # MatMul Const AddV2 Relu Identity
    "lambda a, b: tf.reduce_sum(a * b, axis=1)": [4],  # Mul Const Sum Identity
    # Const Sum Const Greater StatelessIf Identity
    "lambda a, b: tf.cond(tf.reduce_sum(a) > 0.0, lambda: a + b, lambda: a - b)": [6],
    # Const Greater | Where on the host | Cast Const AddV2 Identity
    "lambda a, b: tf.cast(tf.where(a > 0.0), tf.float32) + 1.0": [2, 4],
}


def test_the_ops_of_subgraphs_are_those_counted_by_hand():
    program = ["import sys", "import mica.tf as tf"]
    for source in COUNTED:
        program.append(f"f = tf.function({source}, autograph=False)")
        program.append("f(tf.ones([2, 2]), tf.ones([2, 2]))")
        program.append("print('----', file=sys.stderr, flush=True)")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_MLC_LOGGING": "1"},
        check=True,
    )
    texts = done.stderr.split("----")[: len(COUNTED)]
    for (source, counts), text in zip(COUNTED.items(), texts, strict=True):
        first = text[text.index("graph before: ") :].split("graph before: ")[1]
        found = re.findall(r"^mica.tf: subgraph (\d+): (\d+) ops$", first, re.MULTILINE)
        assert [int(n) for _, n in found] == counts, source
