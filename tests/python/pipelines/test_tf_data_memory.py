"""Pipelines that keep elements end with an error before they take all the memory there is."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource

import mica.tf as tf
import numpy as np


def made(x):  # one at a time, since Python makes it
    whole = tf.numpy_function(lambda n: np.full(1 << 16, n), [x], tf.int64)
    return tf.ensure_shape(whole, [1 << 16])


elements = tf.data.Dataset.range(1 << 60).map(made)
texts = elements.map(lambda x: tf.strings.as_string(x[:4096]))
MOST = 10**9
PIPELINES = {
    "BatchDataset": elements.batch(MOST),
    "PaddedBatchDataset": elements.padded_batch(MOST),
    "ShuffleDataset": elements.shuffle(MOST),
    "WindowDataset": elements.window(MOST),
    "CacheDataset": elements.cache().skip(MOST),
    "GroupByWindowDataset": elements.group_by_window(
        lambda x: tf.constant(0, tf.int64), lambda key, part: part.batch(3), window_size=MOST
    ),
    "prefetched": elements.prefetch(MOST).batch(MOST),
    "texts": texts.batch(MOST),
}
for x in elements.take(3).batch(3).prefetch(2):  # threads have their stacks
    pass
with open("/proc/self/statm", encoding="utf-8") as sizes:
    pages = int(sizes.read().split()[0])
limit = pages * resource.getpagesize() + (600 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for name, pipeline in PIPELINES.items():
    try:
        next(iter(pipeline))
        print(name, "was made")
    except tf.errors.ResourceExhaustedError as error:
        print(name, error)
few = next(iter(elements.shuffle(5).batch(2)))
print(float(tf.reduce_sum(tf.ones([1000]))), int(few[0, 0]) < 6)
for i, x in enumerate(elements.prefetch(MOST)):  # what is made ahead waits for the reader
    if i == 2000:
        break
print("read", int(x[0]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is told from /proc")
def test_what_would_take_all_memory_is_refused_in_time(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    *refused, works, read = done.stdout.splitlines()
    assert len(refused) == 8
    for line in refused:
        name, text = line.split(" ", 1)
        assert "ask for fewer at a time" in text, line
        assert name in text or name in ("prefetched", "texts"), line
    assert (works, read) == ("1000.0 True", "read 2000")
