"""Devices, threads, import, memory."""

import gc
import os
import subprocess
import sys
import threading

import mica
import numpy as np
import pytest
from house import by_threads


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


# ---- devices -------------------------------------------------------------------------------------


def test_devices_are_listed_with_reasons():
    found = {info.name.split(":")[0]: info for info in mica.devices()}
    assert {"cpu", "ref", "fake"} <= set(found)
    assert found["cpu"].available
    for info in mica.devices():
        assert info.description
    assert mica.device("any").name


def test_tensors_move_between_devices():
    x = mica.tensor([1.0, 2.0], device="cpu")
    for name in ("ref", "fake", "cpu"):
        y = x.to(name)
        assert y.device == name
        assert (y * 2).device == name
        assert (y * 2).tolist() == [2, 4]
        assert repr(y)
    assert x.to("cpu").device == x.device
    with pytest.raises((ValueError, RuntimeError), match=r"cpu|fake"):
        x + x.to("fake")


def test_a_device_is_a_context():
    with mica.device("ref"):
        assert mica.tensor(1).device == "ref"
        with mica.device("fake"):
            assert mica.zeros(3).device == "fake"
        assert mica.arange(3).device == "ref"
    mica.set_default_device("ref")
    try:
        assert mica.tensor(1).device == "ref"
    finally:
        mica.set_default_device(None)
    with pytest.raises(ValueError, match="nowhere"):
        mica.device("nowhere")
    with pytest.raises(TypeError):
        mica.device(3)


def test_gradients_are_the_same_on_every_device():
    f = mica.grad(lambda x: (mica.tanh(x @ x.T) ** 2).sum())
    a = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    expected = f(mica.tensor(a, device="ref")).numpy()
    for name in ("cpu", "fake"):
        got = f(mica.tensor(a, device=name))
        assert got.device == name
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_the_number_of_threads_changes_no_bit():
    x = mica.random.normal(mica.random.key(0), (300, 200), "f32")
    f = mica.jit(lambda a: mica.softmax(a @ a.T).sum(axis=0))
    one, two, five = by_threads(lambda: f(x).tobytes())
    assert one == two == five


# ---- threads -------------------------------------------------------------------------------------


def test_threads_call_one_function_at_once():
    f = mica.jit(lambda x: mica.grad(lambda v: (mica.sin(v) * v).sum())(x))
    failures = []

    def work(seed):
        try:
            for i in range(20):
                a = np.random.default_rng(seed * 100 + i).normal(size=50 + seed % 2)
                expected = np.cos(a) * a + np.sin(a)
                np.testing.assert_allclose(f(mica.tensor(a)).numpy(), expected, rtol=1e-10)
                assert (mica.tensor(a) + 1).tolist()[0] == a[0] + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_with_callbacks_do_not_lock_up():
    f = mica.jit(lambda x: mica.callback(lambda a: a.numpy() + 1, x, x) * 2)
    results = []

    def work(k):
        for _ in range(10):
            results.append(f(mica.tensor(float(k))).item() == (k + 1) * 2)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert len(results) == 40
    assert all(results)


def test_traces_belong_to_their_thread():
    seen = []

    def f(x):
        thread = threading.Thread(target=lambda: seen.append(mica.is_tracing()))
        thread.start()
        thread.join()
        return x

    mica.jit(f)(mica.tensor(1.0))
    assert seen == [False]


# ---- import --------------------------------------------------------------------------------------


def test_import_needs_no_numpy():
    code = """
import sys
sys.modules["numpy"] = None
import mica
x = mica.tensor([[1.0, 2.0], [3.0, 4.0]])
assert (x @ x).tolist() == [[7, 10], [15, 22]]
assert mica.grad(lambda v: (v * v).sum())(x).tolist() == [[2, 4], [6, 8]]
assert mica.tensor(memoryview(x)).tolist() == x.tolist()
assert mica.from_dlpack(x).tolist() == x.tolist()
assert repr(mica.random.normal(mica.random.key(0), (2,)))
try:
    x.numpy()
except ImportError:
    print("fine")
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine"


def test_import_is_quick(capsys):
    code = "import time; t = time.perf_counter(); import mica; print(time.perf_counter() - t)"
    seconds = min(float(run_python(code).stdout) for _ in range(3))
    with capsys.disabled():
        print(f"[import mica: {seconds * 1000:.0f} ms]", end="")
    assert run_python("import mica, sys; print('numpy' in sys.modules)").stdout.strip() == "False"


def test_fork_is_reported_not_crashed():
    code = """
import os, mica
x = mica.tensor([1.0, 2.0]) * 2
x.tolist()
child = os.fork()
if child == 0:
    try:
        (mica.tensor([1.0]) + 1).tolist()
    except RuntimeError as error:
        os._exit(7 if "fork" in str(error) else 8)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("0", "7")


# ---- memory --------------------------------------------------------------------------------------


def memory_after(work, rounds):
    for _ in range(rounds):
        work()
    gc.collect()
    return mica.device("cpu").memory()[0]


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def works():
    x = mica.tensor(np.arange(64, dtype=np.float32).reshape(8, 8), device="cpu")
    compiled = mica.jit(lambda a, s: mica.tanh(a @ a) * s, donate_argnums=0)

    def eager():
        y = x + x * 2.5 - x[1] @ x.T
        y.sum().item(), y[::2, None].tolist(), repr(y), y > 0, y**2, y // 2

    def exchange():
        np.asarray(x), np.from_dlpack(x), mica.from_dlpack(np.ones(3)), memoryview(x), x.numpy()
        x.__dlpack__()

    def traced():
        compiled(x + 1, 0.5)
        mica.grad(lambda v: (mica.sin(v) * v).sum())(x)
        mica.vmap(lambda v: mica.scan(lambda c, w: (c + w, c), 0.0, v)[0])(x)

    def failing():
        for wrong in (lambda: x @ mica.zeros(3), lambda: x[9], lambda: x + mica.tensor(1)):
            try:
                wrong()
            except (ValueError, TypeError, IndexError):
                pass
        try:
            mica.jit(lambda v: v @ mica.zeros(3))(x)
        except ValueError:
            pass

    def callbacks():
        mica.jit(lambda v: mica.callback(lambda a: a, v, v))(x)

    return {f.__name__: f for f in (eager, exchange, traced, failing, callbacks)}


@pytest.mark.parametrize("name", ["eager", "exchange", "traced", "failing", "callbacks"])
def test_nothing_leaks_over_many_rounds(name):
    work = works()[name]
    rounds = 300 if name in ("eager", "exchange") else 40
    first = memory_after(work, rounds)
    resident = resident_bytes() if sys.platform == "linux" else 0
    objects = len(gc.get_objects())
    assert memory_after(work, rounds) <= first
    assert len(gc.get_objects()) <= objects + 50
    if sys.platform == "linux":
        assert resident_bytes() - resident < 8 << 20


def test_reference_counts_stay():
    x, key = mica.tensor([1.0, 2.0]), (0,)
    before = sys.getrefcount(x), sys.getrefcount(mica.f32), sys.getrefcount(None)
    for _ in range(1000):
        x + 1, x[key], x.shape, x.dtype, x.device, x == None, x.sum(), -x  # noqa: E711
        mica.add(x, x), mica.reshape(x, shape=(2, 1))
    after = sys.getrefcount(x), sys.getrefcount(mica.f32), sys.getrefcount(None)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 20
    assert abs(after[2] - before[2]) < 200
