"""jit: caching, trees, static arguments, donation, graphs."""

from typing import NamedTuple

import mica
import numpy as np
import pytest


def test_a_signature_is_traced_once():
    traces = []

    @mica.jit
    def double(x):
        traces.append(x.shape)
        return x * 2

    for _ in range(3):
        assert double(mica.tensor([1.0, 2.0])).tolist() == [2, 4]
    assert traces == [(2,)]
    double(mica.tensor([1.0]))
    double(mica.tensor([1]))
    double(mica.tensor([2]))
    assert traces == [(2,), (1,), (1,)]
    assert double.cache_size() == 3
    double.clear_cache()
    assert double.cache_size() == 0


def test_devices_are_part_of_the_signature():
    double = mica.jit(lambda x: x * 2)
    for name in ("cpu", "ref", "fake"):
        y = double(mica.tensor([1.0], device=name))
        assert y.device == name
        assert y.tolist() == [2.0]
    assert double.cache_size() == 3


class Pair(NamedTuple):
    first: object
    second: object


def test_trees_go_in_and_out():
    @mica.jit
    def shuffle(tree, *, scale):
        return {"sum": tree["a"][0] + tree["a"][1], "pair": Pair(scale, [tree["b"], None])}

    one, two = mica.tensor(1.0), mica.tensor(2.0)
    out = shuffle({"b": two, "a": (one, two)}, scale=one)
    assert out["sum"].item() == 3
    assert isinstance(out["pair"], Pair)
    assert out["pair"].first.item() == 1
    assert out["pair"].second[0].item() == 2
    assert out["pair"].second[1] is None


def test_python_scalars_are_traced_and_take_the_dtype_of_what_they_meet():
    traces = []

    @mica.jit
    def scale(x, s):
        traces.append(1)
        return x * s + 1, s

    for dtype in ("f32", "f64", "f16"):
        x = mica.tensor([1.0, 2.0], dtype=dtype)
        y, s = scale(x, 0.5)
        assert y.dtype == dtype
        assert s.dtype == mica.f32
        assert scale(x, 3.0)[0].tolist() == [4, 7]
    assert len(traces) == 3
    assert scale(mica.tensor([1, 2]), 3)[0].tolist() == [4, 7]
    assert scale(mica.tensor([1, 2]), 0.5)[0].tolist() == [1.5, 2]
    exact = mica.jit(lambda x, s: x * s)(mica.tensor(1.0, dtype="f64"), 0.1)
    assert exact.item() == 0.1


def test_numpy_arrays_are_arguments():
    f = mica.jit(lambda x: x.sum())
    assert f(np.ones((2, 3), np.float32)).item() == 6
    assert f(mica.ones((2, 3))).item() == 6
    assert f.cache_size() == 1


def test_static_arguments_are_compiled_in():
    @mica.jit(static_argnums=1, static_argnames="flip")
    def repeat(x, n, flip=False):
        for _ in range(n):
            x = x + x
        return -x if flip else x

    x = mica.tensor(1.0)
    assert repeat(x, 3).item() == 8
    assert repeat(x, 2).item() == 4
    assert repeat(x, 2, flip=True).item() == -4
    assert repeat(x, 3).item() == 8
    assert repeat.cache_size() == 3
    with pytest.raises(ValueError, match=r"\[jit\] a static argument must be hashable"):
        repeat(x, [1])


def test_captured_tensors_are_inputs_of_the_graph():
    weight = mica.tensor([1.0, 2.0])
    f = mica.jit(lambda x: x * weight + weight)
    graph = f.lower(mica.tensor([3.0, 4.0]))
    assert len(graph.inputs) == 2
    assert f(mica.tensor([3.0, 4.0])).tolist() == [4, 10]


def test_a_matrix_is_multiplied_once_for_a_batch():
    """Neither the product nor the matrix's gradient has a copy of the matrix per example."""
    x, w = mica.ones((8, 3, 4)), mica.ones((4, 5))
    step = mica.jit(lambda x, w: mica.value_and_grad(lambda w: (x @ w).sum())(w))
    text = str(step.lower(x, w))
    assert "[8,4,5]" not in text
    assert step(x, w)[1].tolist() == [[24.0] * 5] * 4


def test_donated_arguments_are_consumed_or_left_alone():
    step = mica.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = mica.tensor([1.0, 2.0], device="cpu") * 1, mica.tensor([1.0, 1.0], device="cpu")
    assert step(x, y).tolist() == [2, 3]
    assert y.tolist() == [1, 1]
    try:
        assert x.tolist() == [1, 2]
    except RuntimeError as error:
        assert "donated" in str(error) or "consumed" in str(error)


def test_methods_can_be_jitted():
    class Model:
        factor = 3.0

        @mica.jit
        def apply(instance, x):
            return x * 3.0

    with pytest.raises(TypeError):
        Model().apply(mica.tensor(1.0))  # an object is no array: it must be static
    Model.apply = mica.jit(lambda self, x: x * self.factor, static_argnums=0)
    assert Model().apply(mica.tensor(2.0)).item() == 6


def test_jit_inside_jit_is_inlined():
    inner = mica.jit(lambda x: x * 2)
    assert mica.jit(lambda x: inner(x) + inner(x))(mica.tensor(1.0)).item() == 4
    assert inner.cache_size() == 0


def test_constants_and_scalars_can_be_results():
    a, b, c = mica.jit(lambda x: (1, 2.5, mica.ones(2)))(mica.tensor(1.0))
    assert (a.dtype, b.dtype) == (mica.i32, mica.f32)
    assert (a.item(), b.item(), c.tolist()) == (1, 2.5, [1, 1])
    with pytest.raises(TypeError):
        mica.jit(lambda x: "text")(mica.tensor(1.0))


def test_functions_without_arguments_run_on_the_default_device():
    f = mica.jit(lambda: mica.arange(3) * 2)
    assert f().tolist() == [0, 2, 4]
    scalars = mica.jit(lambda s: s + 1)
    assert scalars(1).device == mica.device(None)
    with mica.device("ref"):
        assert f().device == "ref"
        assert scalars(1).device == "ref"


def test_graphs_print_parse_serialize_and_run():
    graph = mica.trace(lambda x, y: mica.tanh(x @ y), mica.ones((2, 3)), mica.ones((3, 4)))
    assert graph.inputs == (((2, 3), mica.f32), ((3, 4), mica.f32))
    assert graph.outputs == (((2, 4), mica.f32),)
    graph.verify()
    again = mica.Graph.parse(str(graph))
    assert str(again) == str(graph)
    bytes_again = mica.Graph.deserialize(graph.serialize())
    assert str(bytes_again) == str(graph)
    x, y = mica.full((2, 3), 0.1), mica.full((3, 4), 0.2)
    expected = np.tanh(np.full((2, 3), 0.1) @ np.full((3, 4), 0.2))
    for g in (graph, again, bytes_again):
        np.testing.assert_allclose(g(x, y).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(mica.jit(again)(x, y).numpy(), expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"\[run\] takes 2 inputs"):
        graph(x)
    assert "dot" in graph.compile("cpu").print()


def test_wide_functions_work():
    inputs = [mica.tensor(float(i)) for i in range(300)]
    assert mica.jit(lambda *xs: mica.stack(xs).sum())(*inputs).item() == sum(range(300))
