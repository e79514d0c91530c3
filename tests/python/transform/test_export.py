"""`mica.export`: files of C with the bits of the functions that they were written from."""

import ctypes
import itertools
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import mica
import numpy as np
import pytest
from house import ROOT, compiler, run
from mica import nn

FLAGS = ["-std=c11", "-ffp-contract=off"]
WITHOUT_FMA = ["-mno-avx2", "-mno-fma", "-DMICA_CALL_FMA"] if platform.machine() == "x86_64" else []
if WITHOUT_FMA:
    has_fma = "fma" in Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else True
    FLAGS += ["-mavx2", "-mfma"] if has_fma else ["-DMICA_CALL_FMA"]
NUMBERS = itertools.count()
random = np.random.default_rng(3)

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler was found")


def tensor(*shape):
    return mica.tensor(random.standard_normal(shape, dtype=np.float32))


def build(source, folder, name, *flags):
    library = folder / f"{name}{next(NUMBERS)}.so"
    run(*compiler(), *FLAGS, *(flags or ["-O1"]), "-shared", "-fPIC", "-o", library, source, "-lm")
    return getattr(ctypes.CDLL(str(library)), name)


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])


def leaves(values):
    return [np.array(leaf) for leaf in mica.tree.leaves(values)]


def export(folder, function, *args, flags=()):
    path = folder / "exported.c"
    mica.export(path, function, *args)
    return build(path, folder, "exported", *flags)


def compare(folder, function, *args, flags=()):
    """Of one call: the bits of every output."""
    expected = leaves(mica.jit(function)(*args))
    outputs = [np.empty_like(array) for array in expected]
    assert (
        export(folder, function, *args, flags=flags)(pointers(leaves(args)), pointers(outputs)) == 0
    )
    for i, (output, wanted) in enumerate(zip(outputs, expected, strict=True)):
        assert output.tobytes() == wanted.tobytes(), f"output {i}: {output} is not {wanted}"


def dense(parameters, x, y):
    hidden = mica.maximum(x @ parameters[0] + parameters[1], 0.0)
    return ((hidden @ parameters[2] + parameters[3] - y) ** 2).mean()


def descend(parameters, x, y):
    value, slopes = mica.value_and_grad(dense)(parameters, x, y)
    return value, [p - 0.05 * slope for p, slope in zip(parameters, slopes, strict=True)]


def test_a_step_written_over_its_own_state_trains_with_the_same_bits(tmp_path):
    parameters = [tensor(30, 40), tensor(40), tensor(40, 5), tensor(5)]
    x, y = tensor(24, 30), tensor(24, 5)
    step = mica.jit(descend)
    exported = export(tmp_path, step, parameters, x, y)
    text = (tmp_path / "exported.c").read_text()
    assert all(f"outputs[{i + 1}] may be inputs[{i}]" in text for i in range(4))
    state, batch, loss = leaves(parameters), leaves((x, y)), np.zeros((), np.float32)
    for _ in range(5):
        value, parameters = step(parameters, x, y)
        assert exported(pointers([*state, *batch]), pointers([loss, *state])) == 0
        assert loss.tobytes() == np.array(value).tobytes()
    for mine, theirs in zip(state, leaves(parameters), strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_a_net_with_convolutions_adam_and_dropout_trains_with_the_same_bits(tmp_path):
    model = nn.Sequential(
        nn.Conv(1, 6, 5),
        mica.relu,
        lambda x: mica.max_pool(x, 2),
        nn.Conv(6, 8, 5),
        mica.tanh,
        lambda x: x.reshape((x.shape[0], 8)),
        nn.Dropout(0.5),
        nn.Linear(8, 4),
    )
    optimizer = mica.optim.adam(1e-2)

    @mica.jit
    def step(parameters, state, x, labels, key):
        def loss(parameters):
            scores = model.bind(parameters, training=True, key=key)(x)
            return nn.cross_entropy(scores, labels).mean()

        value, slopes = mica.value_and_grad(loss)(parameters)
        return value, *optimizer.update(slopes, state, parameters)

    parameters = model.parameters()
    state = optimizer.init(parameters)
    x, labels = tensor(9, 14, 14, 1), mica.tensor(random.integers(0, 4, 9).astype(np.int32))
    key = mica.random.key(7)
    exported = export(tmp_path, step, parameters, state, x, labels, key)
    mine, batch = leaves((parameters, state)), leaves((x, labels, key))
    loss = np.zeros((), np.float32)
    for _ in range(3):
        value, parameters, state = step(parameters, state, x, labels, key)
        assert exported(pointers([*mine, *batch]), pointers([loss, *mine])) == 0
        assert loss.tobytes() == np.array(value).tobytes()
    for array, wanted in zip(mine, leaves((parameters, state)), strict=True):
        assert array.tobytes() == wanted.tobytes()


def many(x, y, start):
    total, products = mica.scan(
        lambda c, v: (c + v.sum(), c * v), mica.full((), 0.0, "f32"), x, reverse=True
    )
    return [
        x.transpose((2, 0, 1)),
        x[1:, ::2, 1:3],
        mica.concatenate([x, y], 1),
        mica.pad(x, 0.5, low=(1, 0, 2), high=(0, 3, -1), interior=(0, 1, 0)),
        mica.reverse(x, axes=(1,)),
        [x.sum((0, 2)), x.sum(1), x.sum(0), x.sum(2), x.max((0, 2))],
        mica.reduce(x, "prod", axes=(1,)),
        mica.argmax(x, axis=1, dtype="i32"),
        mica.argmin(x, axis=2, dtype="i64"),
        mica.dot(x, y, lhs_contract=(2,), rhs_contract=(2,), lhs_batch=(0,), rhs_batch=(0,)),
        mica.dynamic_slice(x, start, sizes=(2, 3, 2)),
        mica.dynamic_update_slice(x, x[:2, :2, :2], start),
        mica.exp(x) / mica.tanh(y),
        [total, products],
        mica.while_loop(lambda v: v.sum() < 1000.0, lambda v: v * 1.5 + 1.0, x),
        mica.cond(x.sum() > 0.0, lambda v: v * 2.0, lambda v: v - 1.0, x),
        mica.random.bits(mica.random.key(1), (7,)),
        mica.arange(5) + mica.argmax(x[0, 0], axis=0, dtype="i32"),
    ]


def test_moves_reductions_and_control_flow_have_the_same_bits(tmp_path):
    compare(tmp_path, many, tensor(4, 6, 5), tensor(4, 6, 5), mica.tensor([1, 9, -2]))


def indexed(x, rows, places, updates):
    """Gathers and scatters with indices beyond the ends, and running sums."""
    attributes = {
        "update_window_dims": (1,),
        "inserted_window_dims": (0,),
        "operand_batch_dims": (),
        "indices_batch_dims": (),
        "scatter_map": (0,),
        "index_vector_dim": 1,
    }
    windows = {
        "offset_dims": (1, 2),
        "collapsed_dims": (),
        "operand_batch_dims": (),
        "indices_batch_dims": (),
        "start_map": (1,),
        "index_vector_dim": 1,
        "slice_sizes": (4, 3),
    }
    at = places[:, None]
    return [
        mica.take(x, rows, axis=0),
        mica.take(x, rows, axis=1),
        mica.grad(lambda x: (mica.take(x, rows, axis=0) ** 3).sum())(x),
        [
            mica.scatter(x, at, updates, kind=kind, mode=mode, **attributes)
            for kind in ("set", "add", "mul", "max", "min")
            for mode in ("clip", "fill")
        ],
        [mica.gather(x, at, mode=mode, **windows) for mode in ("clip", "fill")],
        [
            mica.cumulative(x, kind=kind, axis=axis, reverse=reverse, exclusive=exclusive)
            for kind, axis, reverse, exclusive in [
                ("sum", 0, 0, 0),
                ("prod", 1, 1, 0),
                ("max", 0, 1, 1),
                ("min", 1, 0, 1),
            ]
        ],
    ]


def test_what_indices_move_and_running_sums_have_the_same_bits(tmp_path):
    rows = mica.tensor(np.array([[0, 3, 2], [1, 1, 3]], np.int32))
    places = mica.tensor(np.array([0, -1, 2, 9, 2]))
    compare(tmp_path, indexed, tensor(4, 7), rows, places, tensor(5, 7))


def products(a, b, c, d, x, wide):
    """Long sums, in groups; matrices by vectors; f64; sums over axes in between."""
    return [
        a @ b,
        a.transpose((1, 0)) @ wide,
        c @ a[0, :50],
        a[:, 0] @ wide,
        d @ d.transpose((1, 0)),
        (d * d).mean(0),
        x.sum(1),
        x.sum((0, 2)),
    ]


def test_products_and_long_sums_have_the_same_bits(tmp_path):
    a, b, c = tensor(40, 9000), tensor(9000, 17), tensor(70, 50)
    d = mica.tensor(random.standard_normal((30, 41)))
    compare(tmp_path, products, a, b, c, d, tensor(3, 700, 20), tensor(40, 33))


def convolve(x, kernel, grouped, depthwise):
    return [
        mica.conv(x, kernel, strides=2, padding="same"),
        mica.conv(x, kernel, padding="same"),
        mica.conv(x, grouped, strides=3),
        mica.conv(x, depthwise, groups=8, padding="same"),
        mica.max_pool(x, 3, 2, "same"),
        mica.avg_pool(x, 2),
    ]


def test_convolutions_windows_and_their_gradients_have_the_same_bits(tmp_path):
    given = tensor(2, 11, 9, 8), tensor(5, 5, 8, 12), tensor(2, 3, 8, 4), tensor(3, 3, 1, 8)

    def both(*given):
        return convolve(*given), mica.grad(
            lambda *given: sum((y * y).sum() for y in convolve(*given)), argnums=(0, 1, 2, 3)
        )(*given)

    compare(tmp_path, both, *given)


def test_the_compiler_changes_no_bit(tmp_path):
    given = [tensor(30, 40), tensor(40), tensor(40, 5), tensor(5)], tensor(9, 30), tensor(9, 5)
    fast = ["-O3", "-fno-math-errno", "-fno-trapping-math"]
    for flags in [["-O0"], fast, ["-O1", *WITHOUT_FMA]]:
        compare(tmp_path, descend, *given, flags=flags)


def test_other_flags_are_refused(tmp_path):
    path = tmp_path / "square.c"
    mica.export(path, lambda x: x * x + 1.0, tensor(3))

    def refusal(*flags):
        command = [*compiler(), *flags, "-c", "-o", os.devnull, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return done.stderr

    assert "-ffast-math" in refusal(*FLAGS, "-ffast-math")
    if platform.machine() == "x86_64":
        assert "-mfma" in refusal("-std=c11", "-ffp-contract=off")
    version = run(*compiler(), "--version").stdout
    if "clang" not in version and "ziglang" not in str(compiler()):
        assert "-std=c11" in refusal("-std=gnu11", *FLAGS[1:])
        library = tmp_path / "contracted.so"
        flags = [*FLAGS, "-O2", "-ffp-contract=fast", "-shared", "-fPIC"]
        run(*compiler(), *flags, "-o", library, path, "-lm")
        x, y = np.ones(3, np.float32), np.full(3, 7, np.float32)
        assert ctypes.CDLL(str(library)).square(pointers([x]), pointers([y])) == -1
        assert y.tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: mica.sort(x), r"\[export\] node 1, sort of f32\[4,4\]: "),
        (lambda x: mica.linalg.inv(x), r"\[export\] node \d+, lu of f32\[4,4\]: "),
        (lambda x: x.astype("f16") @ x.astype("f16"), "for f32 and f64, not for f16"),
        (
            lambda x: mica.grad(
                lambda x: mica.while_loop(lambda v: v.sum() < 9.0, lambda v: v * v, x).sum()
            )(x),
            "lists cannot be written as C",
        ),
        (lambda x: mica.callback(lambda x: x, x, x), "a call of the host"),
    ],
    ids=["sort", "lu", "f16", "list", "callback"],
)
def test_what_cannot_be_written_is_named(tmp_path, function, message):
    path = tmp_path / "x.c"
    path.write_text("kept")
    with pytest.raises((NotImplementedError, TypeError, ValueError), match=message):
        mica.export(path, function, tensor(4, 4))
    assert path.read_text() == "kept"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.c"]


def test_names_are_checked(tmp_path):
    graph = mica.trace(lambda x: x, tensor(2))
    for name in ["", "1a", "a b", "a" * 80, "f(); int g"]:
        with pytest.raises(ValueError, match="cannot name a function of C"):
            graph.write_c(name)
    with pytest.raises(TypeError, match="must be a str"):
        graph.write_c(3)
    with pytest.raises(ValueError, match=r"\.c, for C source"):
        mica.export(tmp_path / "x.py", lambda x: x, tensor(2))
    with pytest.raises(ValueError, match="2 values for a graph of 1"):
        graph.bind([tensor(2), tensor(2)])
    with pytest.raises(ValueError, match=r"value 0 is .*f32\[3\].*, input 0 is \(\(2,\)"):
        graph.bind([tensor(3)])
    with pytest.raises(TypeError, match="value 0 is a int"):
        graph.bind([3])


def test_a_graph_file_has_what_the_function_captured(tmp_path):
    offset, path = tensor(3), tmp_path / "f.graph"
    mica.export(path, lambda x: x + offset, tensor(3))
    graph = mica.Graph.deserialize(path.read_bytes())
    assert len(graph.inputs) == 1
    x = tensor(3)
    assert np.array_equal(graph(x), x + offset)


SCRIPT = "import mica\n@mica.jit\ndef f(x, *, rate): return x * rate\n{call}\nvalue = 3\n"


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "mica._export_main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_what_a_script_lacks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(call=""))
    for function, message in [
        ("f", "was never called"),
        ("g", "has no function 'g'"),
        ("value", "value is a int"),
    ]:
        done = command(f"{script}:{function}", "-o", tmp_path / "f.c")
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    assert command(script, "-o", tmp_path / "f.c").returncode == 2
    assert "no file 'none.py'" in command("none.py:f", "-o", tmp_path / "f.c").stderr
    script.write_text(SCRIPT.format(call="f(mica.ones((2,)), rate=0.5)"))
    assert command(f"{script}:f", "-o", tmp_path / "f.c").returncode == 0
    text = (tmp_path / "f.c").read_text()
    assert "inputs[0]  x\n" in text
    assert "inputs[1]  rate\n" in text
    assert "outputs[0]  the result\n" in text


def test_mnist_trains_without_mica(tmp_path):
    source, program, data = tmp_path / "mnist_step.c", tmp_path / "train", tmp_path / "steps.bin"
    example = ROOT / "examples" / "mnist_step.py"
    done = command(f"{example}:step", "-o", source)
    assert done.returncode == 0, done.stderr
    arena = re.search(r"has an arena of ([\d,]+) bytes", done.stderr)[1].replace(",", "")
    assert f"static arena of {arena} bytes" in source.read_text()
    flags = [*FLAGS, "-O2", "-fno-math-errno", "-fno-trapping-math"]
    run(*compiler(), *flags, source, ROOT / "examples/train_exported.c", "-o", program, "-lm", "-s")
    expected = run(sys.executable, example, "--steps", 3, "--file", data).stdout
    assert run(program, data).stdout == expected
    assert len(expected.splitlines()) == 3
    assert program.stat().st_size < 300_000
