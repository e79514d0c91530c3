"""Training on one GPU: ``python bench/gpu.py [case ...] [--profile [--trace FILE]]``.

Mica's own front end, resident batches of random numbers. One line per case: milliseconds of a step
(the median of steps timed one by one after they have settled, and the mean of a run of steps whose
results are not waited for), the rate, memory, and the first and last loss. With ``--profile`` the
kernels of a step by their time (measured by PyTorch's profiler, which must be there).

Cases: eager, mlp, convnet, lstm, gpt2, resnet50. Sizes are those of docs/performance.md's table.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import mica
import numpy
from cases import ResNet
from models_mica import adam, layer_norm, sgd

Array = Any
Tree = dict[str, Any]
LAYOUT = "N01C,01IO,N01C"
GENERATOR = numpy.random.default_rng(0)


def normal(scale: float, *shape: int) -> Array:
    """Random numbers on the device."""
    return mica.tensor(GENERATOR.standard_normal(shape, dtype="float32") * numpy.float32(scale))


def classes(count: int, *shape: int) -> Array:
    """Random labels on the device."""
    return mica.tensor(GENERATOR.integers(0, count, shape).astype("int32"))


def filled(value: float, *shape: int) -> Array:
    """One number everywhere."""
    return mica.tensor(numpy.full(shape, value, "float32"))


def half(x: Array) -> Array:
    """As bfloat16."""
    return x.astype("bf16")


def single(x: Array) -> Array:
    """As float32."""
    return x.astype("f32")


def cross_entropy(logits: Array, labels: Array) -> Array:
    """The mean of -ln softmax at the labels."""
    return mica.nn.cross_entropy(single(logits), labels).mean()


def conv(x: Array, w: Array, stride: int = 1, pad: int = 0) -> Array:
    """A convolution of NHWC images, the same padding on all sides."""
    low = (pad, pad)
    return mica.conv(x, w, layout=LAYOUT, strides=(stride, stride), low=low, high=low)


# ---- models: parameters, and a loss of (parameters, x, y) ----------------------------------------
def mlp() -> tuple[Tree, Callable, Array, Array]:
    """784-512-512-10 in f32, batches of 128."""
    widths = (784, 512, 512, 10)
    p = {}
    for i, (a, b) in enumerate(itertools.pairwise(widths)):
        p[f"w{i}"], p[f"b{i}"] = normal(a**-0.5, a, b), filled(0, b)

    def loss(p: Tree, x: Array, y: Array) -> Array:
        for i in range(2):
            x = mica.relu(x @ p[f"w{i}"] + p[f"b{i}"])
        return cross_entropy(x @ p["w2"] + p["b2"], y)

    return p, loss, normal(1, 128, 784), classes(10, 128)


def convnet() -> tuple[Tree, Callable, Array, Array]:
    """Two convolutions, pooling, two dense layers, f32, batches of 128."""
    p = {
        "c0": normal(0.3, 3, 3, 1, 32),
        "a0": filled(0, 32),
        "c1": normal(0.05, 3, 3, 32, 64),
        "a1": filled(0, 64),
        "w0": normal(0.01, 9216, 128),
        "b0": filled(0, 128),
        "w1": normal(0.05, 128, 10),
        "b1": filled(0, 10),
    }

    def loss(p: Tree, x: Array, y: Array) -> Array:
        x = mica.relu(conv(x, p["c0"]) + p["a0"])
        x = mica.relu(conv(x, p["c1"]) + p["a1"])
        x = mica.max_pool(x, 2).reshape(128, 9216)
        return cross_entropy(mica.relu(x @ p["w0"] + p["b0"]) @ p["w1"] + p["b1"], y)

    return p, loss, normal(1, 128, 28, 28, 1), classes(10, 128)


def lstm() -> tuple[Tree, Callable, Array, Array]:
    """Two layers of 1024, 128 steps, batches of 128, f32."""
    p = {"w": normal(0.03, 1024, 10), "b": filled(0, 10)}
    for i, width in enumerate((512, 1024)):
        p[f"k{i}"] = normal(0.03, width, 4096)
        p[f"r{i}"] = normal(0.03, 1024, 4096)
        p[f"a{i}"] = filled(0, 4096)

    def loss(p: Tree, x: Array, y: Array) -> Array:
        for i in range(2):
            x, (h, _) = mica.nn.lstm(x, p[f"k{i}"], p[f"r{i}"], p[f"a{i}"])
        return cross_entropy(h @ p["w"] + p["b"], y)

    return p, loss, normal(1, 128, 128, 512), classes(10, 128)


def gpt2(
    batch: int = 32, time: int = 1024, layers: int = 12
) -> tuple[Tree, Callable, Array, Array]:
    """GPT-2 of 124 million parameters in bf16 over f32 master weights; embeddings are shared."""
    words, width, heads = 50304, 768, 12
    p = {"words": normal(0.02, words, width), "places": normal(0.02, time, width)}
    norms = ["last"]
    for i in range(layers):
        norms += [f"n{i}", f"m{i}"]
        for name, a, b in (("qkv", 1, 3), ("out", 1, 1), ("up", 1, 4), ("down", 4, 1)):
            p[f"{name}{i}.w"] = normal(0.02, a * width, b * width)
            p[f"{name}{i}.b"] = filled(0, b * width)
    for name in norms:
        p[f"{name}.w"], p[f"{name}.b"] = filled(1, width), filled(0, width)

    def dense(p: Tree, name: str, x: Array) -> Array:
        return x @ half(p[f"{name}.w"]) + half(p[f"{name}.b"])

    def norm(p: Tree, name: str, x: Array) -> Array:
        return half(layer_norm(single(x), p[f"{name}.w"], p[f"{name}.b"]))

    def split(x: Array) -> Array:
        return x.reshape(batch, time, heads, width // heads).transpose((0, 2, 1, 3))

    def gelu(x: Array) -> Array:
        x = single(x)
        return half(0.5 * x * (1 + mica.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))))

    def loss(p: Tree, x: Array, y: Array) -> Array:
        table = half(p["words"])
        h = mica.take(table, x, 0) + half(p["places"])
        for i in range(layers):
            z = dense(p, f"qkv{i}", norm(p, f"n{i}", h))
            q, k, v = (split(z[:, :, j * width : (j + 1) * width]) for j in range(3))
            z = mica.nn.attention(q, k, v, causal=True).transpose((0, 2, 1, 3))
            h = h + dense(p, f"out{i}", z.reshape(batch, time, width))
            h = h + dense(p, f"down{i}", gelu(dense(p, f"up{i}", norm(p, f"m{i}", h))))
        logits = norm(p, "last", h) @ table.transpose((1, 0))
        return cross_entropy(logits.reshape(batch * time, words), y)

    return p, loss, classes(50257, batch, time), classes(50257, batch * time)


def resnet50(batch: int = 256) -> tuple[Tree, Callable, Array, Array]:
    """ResNet-50 on 224 x 224 pictures in bf16 over f32 master weights, batch norm in f32."""
    sizes = ResNet(batch, 224, (3, 4, 6, 3), True, classes=1000)
    stem, blocks, _ = sizes.layers()
    p = {n: mica.tensor(w) for n, w in sizes.weights().items() if not n.endswith((".mean", ".var"))}

    def layer(p: Tree, x: Array, spec: Any) -> Array:
        x = single(conv(x, half(p[f"{spec.name}.w"]), spec.stride, spec.kernel // 2))
        centred = x - x.mean((0, 1, 2))
        factor = mica.rsqrt((centred * centred).mean((0, 1, 2)) + 1e-5) * p[f"{spec.name}.gamma"]
        return centred * factor + p[f"{spec.name}.beta"]

    def loss(p: Tree, x: Array, y: Array) -> Array:
        x = half(mica.relu(layer(p, half(x), stem)))
        x = mica.max_pool(x, 3, 2, [(1, 1), (1, 1)])
        for short, body in blocks:
            z = x
            for spec in body[:-1]:
                z = half(mica.relu(layer(p, z, spec)))
            skip = layer(p, x, short) if short else single(x)
            x = half(mica.relu(layer(p, z, body[-1]) + skip))
        x = half(single(x).mean((1, 2)))
        return cross_entropy(x @ half(p["head.w"]) + half(p["head.b"]), y)

    return p, loss, normal(1, batch, 224, 224, 3), classes(1000, batch)


# ---- training ------------------------------------------------------------------------------------
def make_step(loss: Callable, optimizer: tuple[Callable, Callable]) -> Callable:
    """A compiled step of (state, x, y), which gives the next state and the loss before it."""
    update = optimizer[1]

    def step(state: Tree, x: Array, y: Array) -> tuple[Tree, Array]:
        value, gradients = mica.value_and_grad(loss)(state["params"], x, y)
        t, params, slots = state["t"] + 1, {}, {}
        for n, p in state["params"].items():
            params[n], slots[n] = update(p, gradients[n], state["slots"][n], t)
        return {"params": params, "slots": slots, "t": t}, value

    return mica.jit(step, donate_argnums=0)


CASES = {
    "mlp": (mlp, adam(1e-3), "step/s", 1, 300),
    "convnet": (convnet, adam(1e-3), "step/s", 1, 200),
    "lstm": (lstm, adam(1e-3), "step/s", 1, 30),
    "gpt2": (gpt2, adam(3e-4, 0.01), "tok/s", 32 * 1024, 12),
    "resnet50": (resnet50, sgd(0.1, 0.9), "img/s", 256, 12),
}


def profile(run: Callable, steps: int, trace: str | None) -> None:
    """The kernels of some steps by their time; what ran when, into a file."""
    import torch

    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(steps):
            run()
        mica.device(None).wait()
        torch.cuda.synchronize()
    if trace:
        profiler.export_chrome_trace(trace)
    rows = sorted(profiler.key_averages(), key=lambda e: -e.device_time_total)
    total = sum(e.device_time_total for e in rows)
    print(f"    kernels of a step: {total / steps / 1e3:.3f} ms")
    for e in rows[:25]:
        share = 100 * e.device_time_total / total
        print(
            f"    {e.device_time_total / steps / 1e3:9.3f} ms {share:5.1f} %"
            f" {e.count / steps:7.1f} x  {e.key[:90]}"
        )


def measure(name: str, arguments: argparse.Namespace) -> None:
    """Print a case's line."""
    make, optimizer, unit, work, steps = CASES[name]
    start = time.perf_counter()
    p, loss, x, y = make()
    slots = {n: optimizer[0](w) for n, w in p.items()}
    state = {"params": p, "slots": slots, "t": mica.tensor(0.0)}
    del p, slots
    step = make_step(loss, optimizer)
    losses: list[Array] = []

    def run() -> None:
        nonlocal state
        state, value = step(state, x, y)
        losses.append(value)

    run()
    losses[0].wait()
    first = time.perf_counter() - start
    for _ in range(max(steps // 2, 6)):
        run()
        losses[-1].wait()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        run()
        losses[-1].wait()
        times.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    for _ in range(steps):
        run()
    losses[-1].wait()
    mean = (time.perf_counter() - begin) / steps
    median = statistics.median(times)
    print(
        f"{name:10} {mean * 1e3:9.3f} ms (waited for: {median * 1e3:9.3f})"
        f" {work / mean:12.1f} {unit}"
        f"  first {first:6.2f} s  loss {losses[0].item():.4f} {losses[-1].item():.4f}"
        f"  {mica.device(None).memory_info()['peak'] / 2**30:.2f} GiB",
        flush=True,
    )
    if arguments.profile:
        profile(run, 2 if arguments.trace else min(steps, 10), arguments.trace)


def eager() -> None:
    """Microseconds of one small eager addition."""
    a = normal(1, 8, 8)
    for _ in range(1000):
        c = a + a
    c.wait()
    begin = time.perf_counter()
    for _ in range(10000):
        c = a + a
    c.wait()
    print(f"eager      {(time.perf_counter() - begin) * 100:9.2f} us of an addition", flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=["eager", *CASES])
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--trace", help="a file for a profile of two steps")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    device = mica.device(arguments.device)
    mica.set_default_device(device)
    print(f"{device.name}: {device.description}; MICA_TF32={os.environ.get('MICA_TF32', '0')}")
    for name in arguments.cases:
        if name == "eager":
            eager()
        else:
            measure(name, arguments)


if __name__ == "__main__":
    main()
