"""Many calls and many shapes: memory and compilations stay bounded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mica

SOAK = "MICA_TEST_SOAK" in os.environ


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@mica.jit
def function(x):
    return mica.tanh(x) * x + mica.sum(x * 2.0)


def test_calls_leave_nothing_behind():
    x = mica.tensor([1.0, 2.0, 3.0])
    for _ in range(2000):
        function(x)
    before = resident()
    for _ in range(1_000_000 if SOAK else 50_000):
        function(x)
    assert resident() - before < 8 << 20


MANY_SHAPES = """
import os, sys
from pathlib import Path
import mica

function = mica.jit(lambda x: mica.tanh(x) * x + mica.sum(x * 2.0, axis=0))
before = 0
n = int(sys.argv[1])
for i in range(n):
    x = mica.full((3, i + 1), 0.5)
    for _ in range(3):
        function(x)
    if i == n // 4:
        before = int(Path("/proc/self/statm").read_text().split()[1])
after = int(Path("/proc/self/statm").read_text().split()[1])
print(function.cache_size(), (after - before) * os.sysconf("SC_PAGE_SIZE"))
"""


def test_shapes_leave_nothing_behind(tmp_path):
    shapes = 10_000 if SOAK else 1_200
    cache = tmp_path / "cache"
    result = subprocess.run(
        [sys.executable, "-c", MANY_SHAPES, str(shapes)],
        env={**os.environ, "MICA_TIER": "auto", "MICA_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    kept, grown = map(int, result.stdout.split())
    assert kept == 256
    assert grown < 64 << 20
    assert not cache.exists() or len(list(cache.iterdir())) <= 64


def test_compile_now_waits_for_the_compiler():
    doubled = mica.jit(lambda x: mica.exp(x) * 2.0 + x, compile_now=True)
    plain = mica.jit(lambda x: mica.exp(x) * 2.0 + x)
    x = mica.tensor([0.5, -1.25, 3.0])
    assert doubled(x).tolist() == plain(x).tolist()
    (entry,) = doubled._cache.values()
    if shutil.which("cc") and "MICA_CC" not in os.environ:
        assert entry.executable.is_generated
