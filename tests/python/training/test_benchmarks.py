"""The models of bench/, with small sizes: what they compute is what numpy computes."""

import math
import sys
import time
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[3] / "bench"
sys.path.insert(0, str(BENCH))
import cases  # noqa: E402
import footprint  # noqa: E402
import models_mica  # noqa: E402
import run  # noqa: E402
import values  # noqa: E402
import worker  # noqa: E402

SMALL = {
    "mlp": cases.Mlp(4, (6, 5, 5, 3)),
    "cnn": cases.Cnn(2, 8, (3, 4), 5, 3),
    "resnet": cases.ResNet(2, 8, (1, 1), width=4, classes=3),
    "lstm": cases.Lstm(2, 5, 3, 4, 3),
    "gpt": cases.Gpt(2, 6, 11, 8, 2, 2),
}


def model_of(name, training=True):
    make = getattr(models_mica, name)
    return make(SMALL[name], training) if name == "resnet" else make(SMALL[name])


# ---- the same in numpy ---------------------------------------------------------------------------
def np_dense(w, name, x):
    return x @ w[f"{name}.w"] + w[f"{name}.b"]


def np_norm(x, axes=-1):
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + 1e-5)


def np_conv(x, w, stride=1, pad=0):
    x = np.pad(x, [(0, 0), (pad, pad), (pad, pad), (0, 0)])
    k = w.shape[0]
    rows, columns = ((n - k) // stride + 1 for n in x.shape[1:3])
    out = np.zeros((x.shape[0], rows, columns, w.shape[3]))
    for i in range(rows):
        for j in range(columns):
            patch = x[:, i * stride : i * stride + k, j * stride : j * stride + k]
            out[:, i, j] = np.einsum("nhwc,hwco->no", patch, w)
    return out


def np_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def np_mlp(sizes, w, x):
    for i in range(2):
        x = np.maximum(np_dense(w, f"dense{i}", x), 0)
    return np_dense(w, "dense2", x)


def np_cnn(sizes, w, x):
    for i in range(2):
        x = np.maximum(np_conv(x, w[f"conv{i}.w"]) + w[f"conv{i}.b"], 0)
    n, h, _, c = x.shape
    x = x.reshape(n, h // 2, 2, h // 2, 2, c).max((2, 4)).reshape(n, -1)
    return np_dense(w, "dense1", np.maximum(np_dense(w, "dense0", x), 0))


def np_resnet(sizes, w, x):
    stem, blocks, _ = sizes.layers()

    def layer(x, s):
        return np_norm(np_conv(x, w[f"{s.name}.w"], s.stride, s.kernel // 2), (0, 1, 2))

    x = np.maximum(layer(x, stem), 0)
    for short, (first, second) in blocks:
        y = layer(np.maximum(layer(x, first), 0), second)
        x = np.maximum(y + (layer(x, short) if short else x), 0)
    return np_dense(w, "head", x.mean((1, 2)))


def np_lstm(sizes, w, x):
    h = c = np.zeros((sizes.batch, sizes.hidden))
    for t in range(sizes.time):
        z = x[:, t] @ w["input"] + h @ w["hidden"] + w["bias"]
        i, f, g, o = np.split(z, 4, -1)
        i, f, o = (1 / (1 + np.exp(-v)) for v in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
    return np_dense(w, "head", h)


def np_gpt(sizes, w, x):
    h = w["tok"][x] + w["pos"]
    b, t, n = h.shape
    hidden = np.triu(np.full((t, t), -np.inf), 1)
    for i in range(sizes.layers):
        parts = np.split(np_dense(w, f"block{i}.qkv", np_norm(h)), 3, -1)
        q, k, v = (p.reshape(b, t, sizes.heads, -1).transpose(0, 2, 1, 3) for p in parts)
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(n // sizes.heads)
        a = (np_softmax(scores + hidden) @ v).transpose(0, 2, 1, 3).reshape(b, t, n)
        h = h + np_dense(w, f"block{i}.out", a)
        u = np_dense(w, f"block{i}.up", np_norm(h))
        u = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
        h = h + np_dense(w, f"block{i}.down", u)
    return np_norm(h) @ w["head"]


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_of_a_model_is_that_of_numpy(name):
    sizes = SMALL[name]
    x, y = sizes.data()
    weights = {k: v.astype(np.float64) for k, v in sizes.weights().items()}
    logits = globals()[f"np_{name}"](sizes, weights, x)
    chances = np_softmax(logits).reshape(-1, logits.shape[-1])
    expected = -np.log(chances[np.arange(y.size), y.ravel()]).mean()
    training = models_mica.Training(model_of(name), models_mica.sgd(0.1, 0.9), sizes)
    assert float(training.first()["loss"]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_the_compared_values_are_gradients_and_updates_of_every_parameter(name):
    sizes = SMALL[name]
    training = models_mica.Training(model_of(name), models_mica.sgd(0.1, 0.9), sizes)
    found = training.first()
    names = [n for n in sizes.weights() if not n.endswith((".mean", ".var"))]
    assert set(found) == {"loss", *(f"{k}/{n}" for k in ("gradient", "update") for n in names)}
    for n in names:  # the first step of SGD
        expected = -0.1 * found[f"gradient/{n}"]
        np.testing.assert_allclose(found[f"update/{n}"], expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", SMALL)
def test_losses_fall(name):
    sizes = SMALL[name]
    optimizer = models_mica.sgd(0.05, 0.9) if name == "resnet" else models_mica.adam(1e-2)
    if name == "gpt":
        optimizer = models_mica.adam(1e-2, 0.01)
    step = models_mica.Training(model_of(name), optimizer, sizes).runner()
    losses = [float(step()) for _ in range(30)]
    assert all(map(math.isfinite, losses))
    assert sum(losses[-5:]) < sum(losses[:5])


def test_layers_of_the_kernels_are_those_of_numpy():
    import mica

    x, g = cases.normal(3, 8), cases.normal(8)
    found = models_mica.layer_norm(mica.tensor(x), mica.tensor(g), mica.tensor(g)).numpy()
    np.testing.assert_allclose(found, np_norm(x) * g + g, rtol=1e-4, atol=1e-5)
    expected = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(models_mica.gelu(mica.tensor(x)).numpy(), expected, rtol=1e-5)


def test_flops_of_the_large_models_are_the_published_ones():
    assert cases.CASES["resnet50_infer"].flops == pytest.approx(2 * 4.09e9, rel=0.01)
    assert cases.CASES["resnet18_train"].flops == pytest.approx(64 * 3 * 2 * 0.556e9, rel=0.01)


def entry(value, peer, differs=()):
    found = {"mica": {"seconds": value}, "jax": {"seconds": peer}}
    return {"frameworks": found, "differs": dict(differs)}


def test_a_bar_is_missed_below_the_peers_and_below_the_fraction_of_the_limit():
    limits = {"fma_gflops": 200.0, "copy_gbs": 30.0, "stream_gbs": 40.0}
    case = cases.CASES["softmax"]
    at_limit = case.bytes / 30e9
    for seconds, peer, met in [
        (at_limit / 0.8, at_limit / 0.5, True),
        (at_limit / 0.8, at_limit / 0.9, False),
        (at_limit / 0.6, at_limit / 0.5, False),
    ]:
        one = entry(seconds, peer)
        run.judge(case, one, limits)
        assert one["met"] is met
        assert one["ratio"] == pytest.approx(peer / seconds)
    latency = entry(0.001, 0.002)
    run.judge(cases.CASES["mlp_infer"], latency, limits)
    assert latency["ratio"] == pytest.approx(2) and latency["met"]


def test_a_bar_may_be_another_for_each_peer_or_a_value():
    limits = {"fma_gflops": 200.0, "copy_gbs": 30.0, "stream_gbs": 40.0}
    case = cases.CASES["tf_add"]
    assert case.frameworks(run.FRAMEWORKS) == ["mica", "tf", "torch"]
    for tf, torch, met in [(5.1, 1.1, True), (4.9, 1.1, False), (9.0, 0.9, False)]:
        found = {"mica": {"seconds": 1e-6}, "tf": {"seconds": tf * 1e-6}}
        found["torch"] = {"seconds": torch * 1e-6}
        one = {"frameworks": found, "differs": {}}
        run.judge(case, one, limits)
        assert one["met"] is met
    for seconds, met in [(0.14, True), (0.16, False)]:
        found = {"mica": {"seconds": seconds}, "tf": {"seconds": 3.0}}
        one = {"frameworks": found, "differs": {}}
        run.judge(cases.CASES["import_tf"], one, limits)
        assert one["met"] is met


@pytest.mark.parametrize("name", ["tf_add", "tf_function", "tf_function_nested", "tf_tape"])
def test_tensorflows_cases_compute(name, monkeypatch):
    import mica.tf as tf
    import tensorflow_cases

    monkeypatch.setattr(tensorflow_cases, "ADDS", 10)
    monkeypatch.setattr(tensorflow_cases, "CALLS", 10)
    idioms, check = tensorflow_cases.prepare(tf, cases.CASES[name])
    for function in idioms.values():
        function = function[0] if isinstance(function, tuple) else function
        np.testing.assert_array_equal(function().numpy(), check())


@pytest.mark.parametrize("name", [name for name in cases.CASES if name.startswith("data_")])
def test_input_pipelines_give_all_the_data(name, monkeypatch):
    import mica.tf as tf
    import pipelines

    monkeypatch.setattr(pipelines, "IMAGES", 300)
    monkeypatch.setattr(pipelines, "RECORDS", 300)
    monkeypatch.setattr(pipelines, "JPEGS", 40)
    idioms, check = pipelines.prepare(tf, cases.CASES[name])
    for idiom in idioms.values():
        idiom()
    if "jpegs" in name:
        assert [math.isfinite(total) and total > 0 for total in check()] == [True, True]
    elif "images" in name:
        x, _ = pipelines.pictures(300)
        np.testing.assert_allclose(check(), [300, x.sum() / 255.0], rtol=1e-5)
    else:
        assert check()[0] == sum(range(300))


def test_the_check_wants_a_reason_for_every_missed_bar(monkeypatch):
    monkeypatch.setattr(run, "MISSED", {"softmax": "because"})
    missed = {"met": False, "differs": {}}
    results = {"cases": {n: dict(missed) for n in ("softmax", "gelu", "layernorm")}}
    wrong = run.check(results)
    too_many = "more than 2 bars are missed"
    assert [line.split(":")[0] for line in wrong] == [too_many, "gelu", "layernorm"]
    results["cases"] = {"softmax": {"met": True, "differs": {"jax": ["value differs by 1"]}}}
    assert run.check(results) == ["softmax: jax computed something else: value differs by 1"]


def test_every_explained_case_is_a_case_and_the_page_shows_it():
    assert set(run.MISSED) <= set(cases.CASES)
    page = (BENCH.parent / "docs" / "performance.md").read_text(encoding="utf-8")
    assert run.missed_table() in page, "paste what run.missed_table() gives"


def test_one_element_that_differs_is_seen():
    own = {"value": np.linspace(0, 1, 1000)}
    other = {"value": own["value"].copy()}
    assert values.differences(own, other) == []
    other["value"][500] += 1e-3
    assert values.differences(own, other) == ["value differs by 0.001 of its largest element"]
    other["value"][500] = np.nan
    assert values.differences(own, other) == ["value differs by inf of its largest element"]
    assert values.differences(own, {}) == ["value is missing"]
    assert "shape" in values.differences(own, {"value": np.zeros(3)})[0]


def test_updates_count_where_the_gradient_is_more_than_noise():
    weights, gradient = {"w": np.zeros(4)}, {"w": np.array([1.0, -1.0, 1e-9, 0.0])}
    own = values.step_values(1.0, gradient, weights, {"w": np.array([-1e-3, 1e-3, -1e-3, 0.0])})
    other = values.step_values(1.0, gradient, weights, {"w": np.array([-1e-3, 1e-3, 1e-3, 0.0])})
    assert values.differences(own, other) == []
    other["update/w"][0] = 1e-3
    assert values.differences(own, other) == ["update/w differs by 2 of its largest element"]


def test_gradients_that_are_ill_conditioned_are_compared_with_float64():
    exact = {f"gradient/{n}": np.linspace(-1, 1, 50) for n in "abc"}
    off = {n: v + 0.04 * np.cos(40 * v) for n, v in exact.items()}
    far = {n: v + 0.01 * np.sin(30 * v) for n, v in exact.items()}
    assert len(values.differences(off, far)) == 3  # nobody says what is right
    assert len(values.differences(off, far, exact)) == 3  # ours lie four times as far from it
    assert values.differences(far, off, exact) == []
    off["gradient/a"] = np.full(50, np.nan)
    assert len(values.differences(off, far, exact)) == 3


def test_float64_values_are_told_from_those_that_are_compared(tmp_path):
    path = {name: str(tmp_path / f"{name}.npz") for name in ("mica", "torch", "tf")}
    gradient = np.linspace(-1, 1, 50)
    values.store(path["mica"], {"gradient/a": gradient})
    values.store(path["tf"], {"gradient/a": gradient + 0.03})
    values.store(path["torch"], {"gradient/a": gradient + 0.01, "exact/gradient/a": gradient})
    assert values.compare(path) == {"torch": [], "tf": []}


def test_several_runs_are_shown_with_their_spread():
    def results(ratio, met):
        entry = {"values": {"mica": ratio, "jax": 1.0}, "unit": "GB/s", "ratio": ratio, "met": met}
        limits = {"fma_gflops": 200.0, "copy_gbs": 30.0, "stream_gbs": 40.0}
        return {"cases": {"softmax": entry}, "limits": limits, "versions": {"jax": "1"}}

    one = run.table([results(1.5, True)])
    assert "| softmax | GB/s | 1.5 | - | - | 1 | 1.50 | - | met |" in one
    three = run.table([results(1.5, True), results(0.9, False), results(1.2, True)])
    assert "| 1.20 (0.90 to 1.50) | - | missed in 1 of 3 |" in three


def test_the_installed_size_counts_the_library_and_what_it_needs():
    alone, whole = footprint.size_of_mica(), footprint.installed("mica")
    assert 1 < alone < 50
    assert alone < whole < footprint.installed("mica", with_keras=True)


def test_memory_counts_the_processes_that_are_started():
    import subprocess

    hold = "import time; x = bytearray(200 << 20); print(1, flush=True); time.sleep(60)"
    started = []

    def step():
        if not started:
            started.append(
                subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True)
            )
            started[0].stdout.readline()
            time.sleep(0.1)

    most = footprint.most_memory(step, lambda: True)
    started[0].kill()
    started[0].wait()
    assert most > 200


def test_a_worker_prepares_times_and_compares_a_case(tmp_path):
    one = worker.Worker("mica")
    answer = one.prepare("eager_add", str(tmp_path / "own.npz"))
    assert answer["failed"] == {} and answer["times"]["eager"] > 0
    assert one.evaluate("eager_add", str(tmp_path / "again.npz")) == {}
    paths = {"mica": str(tmp_path / "own.npz"), "other": str(tmp_path / "again.npz")}
    assert one.compare(paths) == {"differences": {"other": []}}
    batch = one.batch("eager")
    assert 0 < batch["seconds"] < batch["took"]
