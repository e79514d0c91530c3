"""When functions wait for the compiler, and what threads that call them share."""

import os
import subprocess
import sys
import textwrap

import pytest
from house import compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler")

# Says that it runs; with a file "wait" it does not end before there is a file "go_on".
COMPILER = """#!/bin/sh
cd {folder}
echo >> runs
while [ -e wait ] && [ ! -e go_on ]; do sleep 0.05; done
cd - > /dev/null
exec {command} "$@"
"""


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "compiler"
    path.write_text(COMPILER.format(folder=tmp_path, command=" ".join(compiler())))
    path.chmod(0o700)

    def call(program, **environment):
        environment = {"MICA_CACHE": "off", "MICA_TIER": "auto", **environment}
        start = "import mica.tf as tf, threading\nfrom pathlib import Path\n"
        start += f"at = Path({str(tmp_path)!r})\n"
        start += "runs = lambda: len((at / 'runs').read_text()) if (at / 'runs').exists() else 0\n"
        done = subprocess.run(
            [sys.executable, "-c", start + textwrap.dedent(program)],
            env={**os.environ, "MICA_CC": str(path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return call


def test_jit_compile_waits_for_the_first_sizes_of_a_trace_only(run):
    said = run("""
    def body(x):
        return tf.reduce_sum(tf.tanh(x) * x + 1.0)

    signature = [tf.TensorSpec([None], tf.float32)]
    plain = tf.function(body, signature)
    plain(tf.ones([4]))
    print(runs())
    function = tf.function(body, signature, jit_compile=True)
    function(tf.ones([4]))
    print(runs())
    function(tf.ones([4]))
    function(tf.ones([5]))
    print(runs())
    with tf.GradientTape() as tape:
        x = tf.Variable([1.0, 2.0, 3.0])
        y = function(x)
    tape.gradient(y, x)
    print(runs())
    other = tf.function(lambda x: function(x) * 2.0)
    other(tf.ones([4]))
    print(runs())
    """)
    assert said[:3] == ["0", "1", "1"]
    assert int(said[3]) > 1  # that of the gradient is another function, and so is its own
    assert said[4] == said[3]


def test_no_call_waits_for_the_compiler_while_sizes_change(run):
    said = run("""
    (at / "wait").touch()
    v = tf.Variable(0.0)

    def make(n):
        def function(x):
            v.assign_add(1.0)
            for _ in range(n):
                x = x * 0.5 + 1.0
            return tf.reduce_sum(x)

        return tf.function(function, [tf.TensorSpec([None], tf.float32)])

    functions = [make(n % 7 + 1) for n in range(100)]
    wrong = []

    def call(number):
        for i in range(300):
            k = (13 * i + 5 * number) % 100
            size = 2 + (i // 100 + number) % 16
            x = 2.0 + (0.5 ** (k % 7 + 1)) * (size - 2.0)
            found = float(functions[k](tf.fill([size], float(size))))
            if abs(found - size * x) > 1e-3:
                wrong.append((k, size, found, size * x))

    def thread(number):
        try:
            call(number)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=thread, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong, wrong[:3]
    print(float(v))
    """)
    assert said == ["2400.0"]
