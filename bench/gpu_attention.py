"""Attention on one GPU: ``python bench/gpu_attention.py [--device cuda] [--quick]``.

First whether it is right: results and gradients of random operands of bfloat16 and float16 against
NumPy in float64, and the same bits when it is done twice. Then how fast: the kernels of GPT-2's
attention (32 x 12 heads, 1024 queries of 64, causal) by PyTorch's profiler, in TFLOP/s of the half
of the scores that counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import mica
import numpy

Array = Any
GENERATOR = numpy.random.default_rng(0)
#        batch, heads, queries, keys, size
SHAPES = [
    (2, 3, 128, 128, 64),
    (1, 2, 200, 200, 64),
    (1, 2, 77, 333, 64),
    (2, 1, 333, 77, 64),
    (1, 2, 130, 130, 32),
    (1, 2, 150, 190, 80),
    (1, 2, 257, 129, 128),
    (1, 2, 65, 67, 24),
    (1, 1, 1, 1, 8),
    (1, 2, 1024, 1024, 64),
    (1, 1, 300, 300, 96),
    (1, 1, 100, 300, 112),
    (1, 1, 300, 100, 48),
]


def reference(
    q: Any, k: Any, v: Any, dy: Any, scale: float, causal: bool, hidden: Any
) -> tuple[Any, ...]:
    """y, dq, dk and dv in float64."""
    s = scale * q @ k.swapaxes(-1, -2)
    if causal:
        s = numpy.where(
            numpy.arange(k.shape[-2]) > numpy.arange(q.shape[-2])[:, None], -numpy.inf, s
        )
    if hidden is not None:
        s = numpy.where(hidden, -numpy.inf, s)
    top = s.max(-1, keepdims=True)
    p = numpy.exp(s - numpy.where(top == -numpy.inf, 0, top))
    total = p.sum(-1, keepdims=True)
    p = p / numpy.where(total == 0, 1, total)
    y = p @ v
    dp = dy @ v.swapaxes(-1, -2)
    ds = scale * p * (dp - (dy * y).sum(-1, keepdims=True))
    return y, ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dy


def attend(dtype: str, scale: float, causal: bool, masked: bool) -> Any:
    """A compiled function of q, k, v, dy and a mask to y, dq, dk and dv, in float32."""

    def function(q: Array, k: Array, v: Array, dy: Array, hidden: Array) -> tuple[Array, ...]:
        def forward(q: Array, k: Array, v: Array) -> Array:
            return mica.nn.attention(
                q, k, v, hidden if masked else None, scale=scale, causal=causal
            )

        narrow = [x.astype(dtype) for x in (q, k, v, dy)]
        y, back = mica.vjp(forward, *narrow[:3])
        return tuple(x.astype("f32") for x in (y, *back(narrow[3])))

    return mica.jit(function)


def rounded(x: Any, dtype: str) -> Any:
    """Numbers of float32 that the dtype has."""
    return mica.tensor(x).astype(dtype).astype("f32").numpy()


def check(shape: tuple[int, ...], dtype: str, causal: bool, masked: bool) -> bool:
    """Print a line; whether errors are small and bits the same."""
    batch, heads, queries, keys, size = shape
    scale = 1 / size**0.5
    q, dy = (GENERATOR.standard_normal((batch, heads, queries, size), "float32") for _ in range(2))
    k, v = (GENERATOR.standard_normal((batch, heads, keys, size), "float32") for _ in range(2))
    hidden = GENERATOR.random((batch, 1, queries, keys)) < 0.3
    hidden[:, :, queries // 2] = True
    given = [rounded(x, dtype) for x in (q, k, v, dy)]
    run = attend(dtype, scale, causal, masked)
    operands = [mica.tensor(x) for x in (*given, hidden)]
    first = [x.numpy() for x in run(*operands)]
    second = [x.numpy() for x in run(*operands)]
    wanted = reference(
        *(x.astype("float64") for x in given), scale, causal, hidden if masked else None
    )
    same = all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
    errors = [
        float(numpy.abs(a - b).max() / max(numpy.abs(b).max(), 1e-3))
        for a, b in zip(first, wanted, strict=True)
    ]
    bound = 0.012 if dtype == "bf16" else 0.002
    good = same and all(error < bound for error in errors)
    print(
        f"{'ok ' if good else 'BAD'} {shape} {dtype} causal={causal:d} masked={masked:d} "
        f"{'same bits' if same else 'OTHER BITS'} "
        + " ".join(f"{n} {e:.5f}" for n, e in zip(("y", "dq", "dk", "dv"), errors, strict=True)),
        flush=True,
    )
    return good


def measure(shape: tuple[int, ...], causal: bool) -> None:
    """Print kernels with their TFLOP/s."""
    import torch

    batch, heads, queries, keys, size = shape
    flops = 4 * batch * heads * queries * keys * size / (2 if causal else 1)
    operands = [
        mica.tensor(GENERATOR.standard_normal((batch, heads, n, size), "float32")).astype("bf16")
        for n in (queries, keys, keys, queries)
    ]

    def forward(q: Array, k: Array, v: Array) -> Array:
        return mica.nn.attention(q, k, v, scale=size**-0.5, causal=causal)

    def both(q: Array, k: Array, v: Array, dy: Array) -> tuple[Array, ...]:
        y, back = mica.vjp(forward, q, k, v)
        return (y, *back(dy))

    run = mica.jit(both)
    for _ in range(3):
        run(*operands)[0].wait()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(10):
            results = run(*operands)
        results[0].wait()
    work = {
        "attention_forward": flops,
        "attention_keys": 2 * flops,
        "attention_queries": 1.5 * flops,
    }
    total = 0.0
    for e in profiler.key_averages():
        micros = e.device_time_total / max(e.count, 1)
        if e.key.startswith("attention_") and e.key != "attention_forward":
            total += micros
        rate = f"{work[e.key] / micros / 1e6:8.1f} TFLOP/s" if e.key in work else ""
        print(f"  {micros:9.1f} us {rate} {e.key[:60]}")
    if total:
        print(f"  backward {total:9.1f} us {2.5 * flops / total / 1e6:8.1f} TFLOP/s", flush=True)


def peers(shape: tuple[int, ...], causal: bool) -> None:
    """PyTorch's own attention, forward and backward."""
    import torch

    batch, heads, queries, keys, size = shape
    flops = 4 * batch * heads * queries * keys * size / (2 if causal else 1)
    q, k, v, dy = (
        torch.randn(batch, heads, n, size, device="cuda", dtype=torch.bfloat16, requires_grad=i < 3)
        for i, n in enumerate((queries, keys, keys, queries))
    )
    for backend in (
        torch.nn.attention.SDPBackend.FLASH_ATTENTION,
        torch.nn.attention.SDPBackend.CUDNN_ATTENTION,
    ):
        times = []
        with torch.nn.attention.sdpa_kernel(backend):
            for _ in range(6):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(10):
                    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                torch.cuda.synchronize()
                middle = time.perf_counter()
                for _ in range(10):
                    torch.autograd.grad(y, (q, k, v), dy, retain_graph=True)
                torch.cuda.synchronize()
                times.append((middle - begin, time.perf_counter() - middle))
        best = [min(t[i] for t in times) / 10 for i in range(2)]
        print(
            f"  torch {backend.name}: forward {best[0] * 1e6:.1f} us"
            f" {flops / best[0] / 1e12:.1f} TFLOP/s,"
            f" backward {best[1] * 1e6:.1f} us {2.5 * flops / best[1] / 1e12:.1f} TFLOP/s",
            flush=True,
        )


def main() -> None:
    """Check, then measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="small shapes, no measurements")
    arguments = parser.parse_args()
    mica.set_default_device(mica.device(arguments.device))
    good = True
    for shape in SHAPES:
        if arguments.quick and shape[2] * shape[3] > 70000:
            continue
        for causal, masked in ((False, False), (True, False), (False, True)):
            good &= check(shape, "bf16", causal, masked)
        good &= check(shape, "f16", True, False)
    if not arguments.quick:
        for causal in (True, False):
            print(f"32 x 12 x 1024 x 1024 x 64, causal={causal:d}")
            measure((32, 12, 1024, 1024, 64), causal)
            peers((32, 12, 1024, 1024, 64), causal)
        print("4 x 16 x 4096 x 4096 x 128, causal=1")
        measure((4, 16, 4096, 4096, 128), True)
        peers((4, 16, 4096, 4096, 128), True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
