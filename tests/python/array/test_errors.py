"""Errors name the operation and the values."""

import itertools

import mica
import pytest


def test_dot_names_the_shapes():
    with pytest.raises(ValueError, match=r"\[dot\] inner dimensions differ: \(2,3\) x \(4,5\)"):
        mica.zeros((2, 3)) @ mica.zeros((4, 5))


def test_the_same_errors_come_out_of_a_trace():
    with pytest.raises(ValueError, match=r"\[dot\] inner dimensions differ: \(2,3\) x \(4,5\)"):
        mica.jit(lambda a, b: a @ b)(mica.zeros((2, 3)), mica.zeros((4, 5)))
    with pytest.raises(TypeError, match=r"\[add\]"):
        mica.jit(lambda a, b: a + b)(mica.zeros(2), mica.zeros(2, "f64"))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mica.zeros(3) + mica.zeros(4), r"\[add\].*\(3\).*\(4\)"),
        (lambda: mica.zeros(3).reshape(2, 2), r"\[reshape\]"),
        (lambda: mica.zeros(3).reshape(2, -1), r"\[reshape\] 3 elements do not divide by 2"),
        (lambda: mica.zeros((2, 3)).sum(axis=2), r"\[sum\] axis 2 is out of range for 2 axes"),
        (lambda: mica.zeros((2, 3)).transpose(0, 0), r"\[transpose\]"),
        (lambda: mica.reduce(mica.zeros(3), kind="average", axes=(0,)), r"\[reduce\].*average"),
        (lambda: mica.compare(mica.zeros(3), mica.zeros(3), direction="up"), r"\[compare\].*up"),
        (lambda: mica.concat(mica.zeros((2, 3)), mica.zeros((2, 4)), axis=0), r"\[concat\]"),
        (lambda: mica.iota(shape=(2,), axis=1, dtype="i32"), r"\[iota\]"),
        (lambda: mica.zeros((-1,)), r"broadcast|full|shape"),
        (lambda: mica.stack([]), r"\[stack\]"),
        (lambda: mica.device("gpu9"), r"gpu9"),
        (lambda: mica.Graph.parse("graph nonsense"), r"."),
        (lambda: mica.Graph.deserialize(b"nonsense"), r"."),
    ],
)
def test_wrong_values_are_value_errors_that_name_the_op(call, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        call()


def test_ranks_above_the_limit_are_refused():
    with pytest.raises(ValueError, match="at most 16"):
        mica.zeros((1,) * 17)


def test_too_much_memory_is_a_memory_error_and_changes_nothing():
    x = mica.tensor([1.0])
    with pytest.raises((MemoryError, ValueError)):
        x.broadcast_to(1 << 40, 1 << 10)
    assert (x + 1).tolist() == [2.0]


def test_collectives_need_their_axis():
    with pytest.raises((ValueError, NotImplementedError, RuntimeError), match="all_reduce"):
        mica.jit(lambda x: mica.all_reduce(x, kind="sum", axis="missing"))(mica.zeros(3))


def test_a_branch_on_a_traced_value_is_explained():
    with pytest.raises(TypeError, match=r"the truth of a traced value bool\[\].*mica\.cond"):
        mica.jit(lambda x: x if x > 0 else -x)(mica.tensor(1.0))


@pytest.mark.parametrize(
    "use", [float, int, lambda x: x.item(), lambda x: x.numpy(), lambda x: x.tolist()]
)
def test_the_data_of_a_traced_value_is_not_there(use):
    with pytest.raises(TypeError, match=r"of a traced value f32\[\] is not known"):
        mica.jit(lambda x: use(x))(mica.tensor(1.0))


def test_a_leaked_traced_value_is_explained():
    leaked = []
    mica.jit(lambda x: leaked.append(x + 1) or x)(mica.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match=r"f32\[2\] was used outside"):
        leaked[0] + 1
    with pytest.raises(RuntimeError, match="was used outside"):
        mica.jit(lambda x: x + leaked[0])(mica.tensor([1.0, 2.0]))


def test_an_error_in_a_traced_function_leaves_nothing_behind():
    def wrong(x):
        raise KeyError("wrong")

    for transform in (mica.jit, mica.grad, mica.vmap):
        with pytest.raises(KeyError):
            transform(wrong)(mica.tensor([1.0]))
        assert not mica.is_tracing()
    assert mica.jit(lambda x: x + 1)(mica.tensor([1.0])).tolist() == [2.0]


def test_an_error_caught_inside_a_trace_is_over():
    def careful(x, y):
        try:
            return x @ y
        except ValueError:
            return x.sum() + y.sum()

    assert mica.jit(careful)(mica.ones((2, 3)), mica.ones((4, 5))).item() == 26
    gradient = mica.grad(lambda x: careful(x, mica.ones((4, 5))))(mica.ones((2, 3)))
    assert gradient.tolist() == [[1, 1, 1], [1, 1, 1]]


STRANGERS = [
    None,
    "text",
    b"",
    1j,
    -1,
    2**70,
    float("nan"),
    (),
    [[]],
    {"a": object()},
    object(),
    ...,
    slice(0, 1, 0),
    mica.f32,
    print,
    mica.zeros((0, 3)),
    mica.tensor([True]),
]
EXPECTED = (
    ArithmeticError,
    AttributeError,
    BufferError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def try_call(function, *arguments):
    try:
        function(*arguments)
    except EXPECTED:
        pass


def test_strangers_are_refused_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # mica.save("text", ...) is no error where it can be written
    primitives = [row["name"] for row in mica.ops() if hasattr(mica, row["name"])]
    names = [n for n in (*mica.__all__, *primitives) if callable(getattr(mica, n))]
    for name in names:
        if name.startswith("set_"):
            continue
        function = getattr(mica, name)
        try_call(function)
        for one in STRANGERS:
            try_call(function, one)
        for pair in itertools.islice(itertools.product(STRANGERS, repeat=2), 0, None, 7):
            try_call(function, *pair)
    x = mica.tensor([1.0, 2.0])
    for name in dir(x):
        for one in STRANGERS:
            try_call(getattr(x, name), one)
    assert not mica.is_tracing()
    assert (x + 1).tolist() == [2, 3]
