"""Linear algebra beside numpy, on the same threads: `python bench/linalg.py [op ...]`.

Times are the best of several runs in milliseconds; `off` is without LAPACK (a process of its own).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import mica
import numpy as np

SIZES = (8, 16, 32, 48, 64, 100, 200, 400, 800)


def best(function, budget=0.4):
    """The shortest time of a call, in milliseconds."""
    function()
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < budget or len(times) < 2:
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def ready(value):
    """Waits for a result."""
    for part in value if isinstance(value, tuple) else (value,):
        np.asarray(part)


OPS = {
    "cholesky": (lambda a: mica.cholesky(a), np.linalg.cholesky),
    "lu": (lambda a: mica.lu(a), None),
    "solve": (lambda a: mica.linalg.solve(a, a), lambda a: np.linalg.solve(a, a)),
    "qr": (lambda a: mica.qr(a, full=0), np.linalg.qr),
    "eigh": (lambda a: mica.eigh(a), np.linalg.eigh),
    "svd": (lambda a: mica.svd(a, full=0), lambda a: np.linalg.svd(a, full_matrices=False)),
}
if hasattr(mica, "eig"):
    OPS["eig"] = (lambda a: mica.eig(a), np.linalg.eig)


def matrix(n, dtype):
    """A positive definite matrix."""
    a = np.random.default_rng(n).standard_normal((n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def measure(names, dtype):
    """Milliseconds by op and size."""
    rows = {}
    for name in names:
        for n in SIZES:
            a = matrix(n, dtype)
            x = mica.tensor(a)
            rows[name, n] = best(lambda f=OPS[name][0], x=x: ready(f(x)))
    return rows


def main():
    """Prints the table."""
    names = sys.argv[1:] or list(OPS)
    if os.environ.get("MICA_LAPACK") == "off" and "--raw" in names:
        names.remove("--raw")
        dtype = names.pop()
        for (name, n), t in measure(names, dtype).items():
            print(name, n, t)
        return
    for dtype in ("float64", "float32"):
        with_lapack = measure(names, dtype)
        command = [sys.executable, __file__, *names, dtype, "--raw"]
        environment = {**os.environ, "MICA_LAPACK": "off"}
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        without = {(f[0], int(f[1])): float(f[2]) for f in map(str.split, out.stdout.splitlines())}
        print(f"{dtype}, {mica.threads()} threads, {mica.linalg.lapack()}")
        print(f"{'op':10s}{'n':>6s}{'mica':>10s}{'off':>10s}{'numpy':>10s}")
        for name in names:
            for n in SIZES:
                a, peer = matrix(n, dtype), OPS[name][1]
                numpy = f"{best(lambda f=peer, a=a: f(a)):10.3f}" if peer else f"{'-':>10s}"
                print(
                    f"{name:10s}{n:6d}{with_lapack[name, n]:10.3f}{without[name, n]:10.3f}{numpy}"
                )


main()
