"""Contractions beside numpy and torch: GFLOP/s, fraction of the peak, ratio to the best peer.

    cmake --build build --target bench_contractions
    python bench/contractions.py [--threads 2] [--rounds 3] [--cpu] [part of a name]

The cases are those of bench/contractions.c, by their names. Sides take turns, the fastest round of
each counts. Needs numpy; torch is a peer where it can be imported.
"""

import argparse
import os
import re
import subprocess
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--seconds", type=float, default=0.2)
parser.add_argument("--program", default="build/bench_contractions")
parser.add_argument("--cpu", action="store_true", help="count processor time")
parser.add_argument("part", nargs="?", default="")
options = parser.parse_args()
for name in ("MICA_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(options.threads)

import numpy as np  # noqa: E402

try:
    import torch

    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
except ImportError:
    torch = None

LINE = re.compile(r"(\S.*?\S)\s+([\d.]+) GFLOP/s\s+([\d.]+) %\s+([\d.]+) ms")
CONV = re.compile(r"conv (nhwc|nchw) (?:\w+ )?(\S+) (\S+) (\d+)x\d+(?: /(\d))? b(\d+) (\w+)")


def measure(run) -> float:
    """Seconds of the fastest call within the time of a round."""
    run()
    clock = time.process_time if options.cpu else time.perf_counter
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < options.seconds:
        start = clock()
        run()
        best = min(best, clock() - start)
    return best


def gemm_peers(name: str) -> dict:
    """Calls of the peers for a product, by framework."""
    _, dtype, form, sizes = name.split()
    batch, m, k, n = map(int, sizes.split("x"))
    kinds = {
        "f32": np.float32,
        "f64": np.float64,
        "c64": np.complex64,
        "c128": np.complex128,
        "i32": np.int32,
    }
    generator = np.random.default_rng(0)
    x = generator.standard_normal((batch, k, m) if form[0] == "t" else (batch, m, k))
    y = generator.standard_normal((batch, n, k) if form[1] == "t" else (batch, k, n))
    sides = {}
    if dtype in kinds:
        a, b = x.astype(kinds[dtype]), y.astype(kinds[dtype])
        left, right = (
            (a.swapaxes(1, 2) if form[0] == "t" else a),
            (b.swapaxes(1, 2) if form[1] == "t" else b),
        )
        if batch == 1:
            left, right = left[0], right[0]
        sides["numpy"] = lambda: left @ right
    if torch:
        kind = {"bf16": torch.bfloat16, "f16": torch.float16}.get(dtype)
        u, v = torch.from_numpy(x), torch.from_numpy(y)
        kind = kind or torch.from_numpy(np.zeros(1, kinds[dtype])).dtype
        u, v = u.to(kind), v.to(kind)
        u, v = (
            (u.transpose(1, 2) if form[0] == "t" else u),
            (v.transpose(1, 2) if form[1] == "t" else v),
        )
        if batch == 1:
            u, v = u[0], v[0]
        sides["torch"] = lambda: torch.matmul(u, v)
    return sides


def conv_peers(name: str) -> dict:
    """Calls of torch for one of the three convolutions of a layer."""
    if not torch:
        return {}
    layout, taps, channels, size, stride, batch, part = CONV.match(name).groups()
    taps, size, stride, batch = int(taps.split("x")[0]), int(size), int(stride or 1), int(batch)
    inputs, _, outputs = channels.partition("->")
    groups = 1 if outputs else int(inputs)
    inputs, outputs = int(inputs), int(outputs or inputs)
    pad = 0 if taps == 1 or "mnist" in name else taps // 2
    memory = torch.channels_last if layout == "nhwc" else torch.contiguous_format
    x = torch.randn(batch, inputs, size, size).to(memory_format=memory)
    w = torch.randn(outputs, inputs // groups, taps, taps).to(memory_format=memory)
    y = torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups)
    if part == "forward":
        return {"torch": lambda: torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups)}
    wants = [part == "input", part == "weight", False]
    arguments = (None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, wants)
    return {"torch": lambda: torch.ops.aten.convolution_backward(y, x, w, *arguments)}


def mica(part: str, seconds: float) -> list:
    """Name, GFLOP/s, percent of the peak and milliseconds of the cases with `part` in it."""
    command = [options.program, "--seconds", str(seconds), part] + ["--cpu"] * options.cpu
    return LINE.findall(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


for name, _, _, _ in mica(options.part, 0):
    flops, best = 0.0, {}
    sides = gemm_peers(name) if name.startswith("gemm") else conv_peers(name)
    fraction = 0.0
    for _ in range(options.rounds):
        _, rate, percent, milliseconds = next(
            line for line in mica(name, options.seconds) if line[0] == name
        )
        flops = float(rate) * float(milliseconds) * 1e6
        fraction = max(fraction, float(percent))
        best["mica"] = min(best.get("mica", float("inf")), float(milliseconds) * 1e-3)
        for side, run in sides.items():
            best[side] = min(best.get(side, float("inf")), measure(run))
    peers = {side: seconds for side, seconds in best.items() if side != "mica"}
    ratio = min(peers.values()) / best["mica"] if peers else float("nan")
    rates = "  ".join(f"{side} {flops / seconds * 1e-9:6.1f}" for side, seconds in best.items())
    print(
        f"{name:50s} {rates}  GFLOP/s  {fraction:5.1f} % of peak  {ratio:5.2f} x best peer",
        flush=True,
    )
