"""Ctrl-C ends what computes, and leaves everything usable; processes that end leave nothing."""

import os
import signal
import subprocess
import sys
import time

import pytest

# A test run that was started in the background has SIGINT ignored, and its children with it.
HEAR = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

START = """
import os, signal, sys, threading, time
import numpy as np
import mica
import mica.tf as tf

def interrupted(name, call):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        call()
        print(name, "ended by itself")
    except KeyboardInterrupt:
        assert float(tf.reduce_sum(tf.ones([1000]) * 2.0)) == 2000.0
        assert float(mica.sum(mica.ones((7,)))) == 7.0
        print(name, "interrupted")
    timer.join()
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program from a file: AutoGraph reads it."""

    def call(program: str, **environment: str) -> subprocess.CompletedProcess:
        path = tmp_path / "program.py"
        path.write_text(HEAR + START + program, encoding="utf-8")
        return subprocess.run(
            [sys.executable, path],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **environment},
        )

    return call


# What would go on for hours.
ENDLESS = """
@tf.function
def loop(n):
    i, total = tf.constant(0), tf.constant(0.0)
    while i < n:
        total, i = total + 1.0, i + 1
    return total

assert float(loop(tf.constant(10))) == 10.0
interrupted("a loop", lambda: float(loop(tf.constant(2**31 - 1))))
assert float(loop(tf.constant(10))) == 10.0

v = tf.Variable(0.0)

@tf.function
def count(n):
    i = tf.constant(0)
    while i < n:
        v.assign_add(1.0)
        i = i + 1

interrupted("a loop over a variable", lambda: count(tf.constant(2**31 - 1)))
before = float(v)
assert before >= 1.0
v.assign_add(1.0)
assert float(v) == before + 1.0

jitted = mica.jit(
    lambda n: mica.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + 1.0), (0, 0.0))
)
interrupted("a jitted loop", lambda: float(jitted(2**31 - 1)[1]))
assert float(jitted(5)[1]) == 5.0

numbers = tf.data.Dataset.range(1 << 60)
add = lambda a, b: a + b
interrupted("reduce", lambda: numbers.reduce(np.int64(0), add))
interrupted("a pipeline", lambda: numbers.map(lambda x: x + 1).prefetch(2).reduce(np.int64(0), add))
interrupted("a filter", lambda: next(iter(numbers.filter(lambda x: x < 0))))
interrupted("a skip", lambda: next(iter(numbers.skip(1 << 50))))
boxes, scores = tf.random.uniform([200_000, 4]), tf.random.uniform([200_000])
interrupted("boxes", lambda: tf.image.non_max_suppression(boxes, scores, 200_000, 0.999))
assert int(numbers.take(4).reduce(np.int64(0), add)) == 6
"""


def test_loops_and_pipelines_without_end_are_interrupted(run):
    done = run(ENDLESS)
    assert done.returncode == 0, done.stderr
    loops = ["a loop", "a loop over a variable", "a jitted loop"]
    names = [*loops, "reduce", "a pipeline", "a filter", "a skip", "boxes"]
    assert done.stdout.splitlines() == [f"{name} interrupted" for name in names], done.stderr


LONG = """
x = tf.random.uniform([4000, 4000])
interrupted("an op", lambda: [tf.matmul(x, x).numpy() for _ in range(100)])
interrupted("a function", lambda: tf.function(lambda: x @ x @ x @ x @ x @ x @ x @ x)().numpy())
"""


def test_a_long_op_is_left_half_way(run):
    done = run(LONG, MICA_LOG="run")
    assert done.stdout.splitlines() == ["an op interrupted", "a function interrupted"], done.stderr
    assert "the computation was interrupted" in done.stderr


STOPPED = """
import ctypes

with open("/proc/self/maps", encoding="utf-8") as maps:
    (path,) = {line.split()[-1] for line in maps if "libmica.so" in line}
library = ctypes.CDLL(path)
asked = ctypes.CFUNCTYPE(ctypes.c_bool)(lambda: True)
library.mica_set_interrupt_check.argtypes = [type(asked)]

random = np.random.default_rng(0)
raw = tf.raw_ops
COUNTER = tf.constant([1, 2], tf.uint64)


def texts(n):
    return tf.constant([str(i * 7919 % (n + 1)) for i in range(n)])


def places(n):
    return tf.constant(random.permutation(n)[:, None])


def sparse(n):
    return {"input_indices": places(n), "input_values": tf.ones([n]), "input_shape": [n]}


def seeded(n):
    return {"shape": [n], "key": tf.constant([1], tf.uint64), "counter": COUNTER, "alg": 1}


def counted(n):
    return {"shape": [n], "seed": [1, 2]}


def ngrams(x):
    return raw.StringNGrams(
        data=x,
        data_splits=tf.constant([0, x.shape[0]], tf.int64),
        separator=" ",
        ngram_widths=[2],
        left_pad="",
        right_pad="",
        pad_width=0,
        preserve_short_sequences=False,
    )


def matrix(n):
    at = tf.stack([tf.range(n, dtype=tf.int64)] * 2, 1)
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=at, values=tf.ones([n]), dense_shape=tf.constant([n, n], tf.int64)
    )


def numbers(n):
    return tf.constant(random.integers(0, 1 << 40, n))


def table(n):
    made = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    made.insert(texts(n), tf.range(n, dtype=tf.int64))
    return made


# name -> (what makes operands of n elements, the op)
OPS = {
    "unique": (numbers, lambda x: raw.Unique(x=x)),
    "unique strings": (texts, lambda x: raw.Unique(x=x)),
    "sets": (
        lambda n: tf.reshape(numbers(n), [1, -1]),
        lambda x: raw.DenseToDenseSetOperation(set1=x, set2=x, set_operation="union"),
    ),
    "reorder": (sparse, lambda x: raw.SparseReorder(**x)),
    "sparse product": (matrix, lambda m: raw.SparseMatrixSparseMatMul(a=m, b=m, type=tf.float32)),
    "join": (texts, lambda x: raw.StringJoin(inputs=[x, x])),
    "lower": (texts, lambda x: raw.StringLower(input=x)),
    "add": (texts, lambda x: raw.AddV2(x=x, y=x)),
    "substr": (texts, lambda x: raw.Substr(input=x, pos=0, len=1)),
    "split": (texts, lambda x: raw.StringSplitV2(input=x, sep="1", maxsplit=-1)),
    "ngrams": (texts, lambda x: ngrams(x)),
    "as_string": (numbers, lambda x: raw.AsString(input=x)),
    "to_number": (texts, lambda x: raw.StringToNumber(string_tensor=x)),
    "hash": (texts, lambda x: raw.StringToHashBucketFast(input=x, num_buckets=10)),
    "decode": (texts, lambda x: raw.UnicodeDecode(input=x, input_encoding="UTF-8")),
    "transcode": (
        texts,
        lambda x: raw.UnicodeTranscode(
            input=x, input_encoding="UTF-8", output_encoding="UTF-16-BE"
        ),
    ),
    "gamma": (seeded, lambda a: raw.StatelessRandomGammaV3(**a, alpha=1.0)),
    "poisson": (
        counted,
        lambda a: raw.StatelessRandomPoisson(**a, lam=1.0, dtype=tf.float32),
    ),
    "binomial": (counted, lambda a: raw.StatelessRandomBinomial(**a, counts=9.0, probs=0.5)),
    "categorical": (
        lambda n: n,
        lambda n: raw.Multinomial(logits=tf.constant([[0.0, 1.0]]), num_samples=n),
    ),
    "truncated normal": (lambda n: [4 * n], lambda n: raw.TruncatedNormal(shape=n, dtype="float")),
    "shuffle": (numbers, lambda x: raw.RandomShuffle(value=x)),
    "exported": (table, lambda t: t.export()),
    "looked up": (lambda n: (table(3), texts(n)), lambda o: o[0].lookup(o[1])),
    "paths": (
        lambda n: tf.zeros([n // 100, 1, 3]),
        lambda x: raw.CTCBeamSearchDecoder(
            inputs=x, sequence_length=[x.shape[0]], beam_width=3, top_paths=1
        ),
    ),
}
ONCE = ("unique", "join", "shuffle")  # few elements are not worth a question

def outcome(call, operand):
    time.sleep(0.06)  # what was asked a moment ago is not asked again
    library.mica_set_interrupt_check(asked)
    try:
        call(operand)
        return "ended"
    except tf.errors.CancelledError as error:
        return str(error)
    finally:
        library.mica_set_interrupt_check(type(asked)())


for name, (operand, call) in OPS.items():
    many = operand(3000)
    call(many)
    found = outcome(call, many)
    if "computation was interrupted" not in found:
        print(name, found)
    if name in ONCE and outcome(call, operand(8)) != "ended":
        print(name, "asks for few elements too")
    call(many)
print("all")
"""


def test_long_loops_over_elements_ask_whether_to_go_on(run):
    done = run(STOPPED, MICA_THREADS="1")
    assert done.stdout.splitlines() == ["all"], done.stderr


HANDLED = """
came = []
signal.signal(signal.SIGINT, lambda *_: came.append(1))
x = tf.random.uniform([1500, 1500])
timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
y = tf.function(lambda: x @ x @ x @ x)()
timer.join()
assert np.isfinite(y.numpy()).all()
print(came)

signal.signal(signal.SIGINT, signal.default_int_handler)
for _ in range(100):
    tf.constant(1.0) + 1.0
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("between")  # what Python has handled does not end the next op
print(float(tf.reduce_sum(tf.linalg.matmul(x, x)[0, :1] * 0.0)))
interrupted("again", lambda: [tf.matmul(x, x).numpy() for _ in range(1000)])
"""


def test_a_handler_of_the_users_own_is_called_and_nothing_is_left_for_it(run):
    done = run(HANDLED, MICA_LOG="run")
    lines = done.stdout.splitlines()
    assert lines == ["[1]", "between", "0.0", "again interrupted"], done.stderr


def test_a_thread_beside_the_main_one_goes_on(run):
    done = run(
        """
x = tf.random.uniform([2000, 2000])
found = []
work = threading.Thread(target=lambda: found.append((x @ x @ x @ x).numpy()))
work.start()
interrupted("main", lambda: [time.sleep(0.01) for _ in range(10000)])
work.join()
print(np.isfinite(found[0]).all())
"""
    )
    assert done.stdout.splitlines() == ["main interrupted", "True"], done.stderr


# ---- ends


COMPILE = """
import os, signal, sys
import mica.tf as tf
@tf.function
def work(x):
    for k in range(40):
        x = tf.sin(x * (k + 1.0)) + tf.reduce_sum(tf.exp(-x), keepdims=True)
    return x
x = tf.ones([5000])
for _ in range(3):
    work(x)
print("started", flush=True)
END
"""
ENDS = {
    "SIGTERM": "import time; time.sleep(60)",
    "SIGINT": "import time; time.sleep(60)",
    "SIGKILL": "import time; time.sleep(60)",
    "exit": "sys.exit(0)",
    "_exit": "os._exit(0)",
    "fork": "pid = os.fork(); os._exit(0) if pid == 0 else os.waitpid(pid, 0)",
}


def _left(marker: str) -> list[str]:
    """Commands of processes with a marker in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                has = marker.encode() in file.read()
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{name}/stat", "rb") as file:
                is_dead = file.read().rpartition(b")")[2].split()[0] == b"Z"
        except OSError:
            continue
        if has and not is_dead and int(name) != os.getpid():
            found.append(command)
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("how", ENDS)
def test_a_process_that_ends_leaves_no_compiler_and_no_files(how, tmp_path):
    folder, marker = tmp_path / "temporary", f"MICA_TEST_MARK={tmp_path}"
    folder.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", HEAR + COMPILE.replace("END", ENDS[how])],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "TMPDIR": str(folder),
            "MICA_CACHE": str(tmp_path / "cache"),
            "MICA_TEST_MARK": str(tmp_path),
        },
    )
    assert child.stdout.readline() == "started\n"
    if how.startswith("SIG"):
        time.sleep(0.1)  # into the compiler's work
        child.send_signal(getattr(signal, how))
    child.wait(60)
    child.stdout.close()
    for _ in range(200):  # what is being ended may take a moment
        left = _left(marker)
        if not left and not os.listdir(folder):
            break
        time.sleep(0.1)
    assert left == [] and os.listdir(folder) == []


LEAVING = """
def numbers():
    yield 1
    print("inside", flush=True)
    time.sleep(0.3)
    print("left", flush=True)
    yield 2

spec = tf.TensorSpec([], tf.int32)
pipeline = iter(tf.data.Dataset.from_generator(numbers, output_signature=spec).prefetch(2))
assert int(next(pipeline)) == 1
time.sleep(0.1)
"""


def test_the_interpreter_ends_when_threads_of_pipelines_have_left_it(run):
    done = run(LEAVING)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["inside", "left"]
