"""grad, value_and_grad, jvp, vjp, vmap and their nestings, against closed forms."""

import itertools
import math

import mica
import numpy as np
import pytest

CUBE = [
    lambda x: 3 * x**2,
    lambda x: 6 * x,
    lambda x: 6.0,
]


def f64(value):
    return mica.tensor(value, dtype="f64")


@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_of_any_order(compiled):
    function = lambda x: x * x * x  # noqa: E731
    for expected in CUBE:
        function = mica.grad(function)
        run = mica.jit(function) if compiled else function
        assert run(f64(2.0)).item() == pytest.approx(expected(2.0), rel=1e-14)


def test_python_floats_are_f32_scalars():
    gradient = mica.grad(lambda x: x * x)(3.0)
    assert gradient.dtype == mica.f32
    assert gradient.item() == 6
    assert mica.jit(mica.grad(lambda x: x * x))(3.0).item() == 6


def test_value_and_grad_of_trees():
    def loss(parameters, x, y):
        prediction = x @ parameters["w"] + parameters["b"]
        return ((prediction - y) ** 2).mean()

    random = np.random.default_rng(0)
    x, y = random.normal(size=(8, 3)), random.normal(size=8)
    w, b = random.normal(size=3), 0.5
    value, gradient = mica.value_and_grad(loss)({"w": f64(w), "b": f64(b)}, f64(x), f64(y))
    error = x @ w + b - y
    assert value.item() == pytest.approx((error**2).mean())
    np.testing.assert_allclose(gradient["w"].numpy(), 2 * x.T @ error / 8, rtol=1e-12)
    assert gradient["b"].item() == pytest.approx(2 * error.mean())


def test_argnums_and_aux():
    def f(x, y):
        return x * y * y, {"sum": x + y}

    gradient, aux = mica.grad(f, argnums=(0, 1), has_aux=True)(f64(2.0), f64(3.0))
    assert isinstance(gradient, tuple)
    assert [g.item() for g in gradient] == [9, 12]
    assert aux["sum"].item() == 5
    (value, aux), gradient = mica.value_and_grad(f, argnums=1, has_aux=True)(f64(2.0), f64(3.0))
    assert (value.item(), aux["sum"].item(), gradient.item()) == (18, 5, 12)
    assert mica.grad(lambda x, y: x * y, argnums=-1)(f64(2.0), f64(3.0)).item() == 2


def test_independent_arguments_have_zero_gradients():
    assert mica.grad(lambda x, y: y * y)(f64([1.0, 2.0]), f64(3.0)).tolist() == [0, 0]
    assert mica.grad(lambda x: 5.0)(f64(1.0)).item() == 0


def test_captured_values_are_constants():
    def outer(x):
        square = x * x
        return mica.grad(lambda z: z * square)(x)  # x^2, and its own derivative is 2x

    assert outer(f64(3.0)).item() == 9
    assert mica.grad(outer)(f64(3.0)).item() == 6
    assert mica.grad(lambda x: mica.grad(lambda y: x)(x))(f64(3.0)).item() == 0


def test_perturbations_are_not_confused():
    # d/dx [x * d/dy (x + y)] = 1, and not 2.
    f = lambda x: x * mica.grad(lambda y: x + y)(f64(1.0))  # noqa: E731
    assert mica.grad(f)(f64(1.0)).item() == 1
    forward = lambda x: x * mica.jvp(lambda y: x + y, (f64(1.0),), (f64(1.0),))[1]  # noqa: E731
    assert mica.jvp(forward, (f64(1.0),), (f64(1.0),))[1].item() == 1


def test_wrong_uses_of_grad_are_explained():
    with pytest.raises(TypeError, match=r"\[grad\] derivatives need a float dtype, not i32"):
        mica.grad(lambda x: x)(mica.tensor(1))
    with pytest.raises(TypeError, match=r"must return a float scalar, not f32\[2\]"):
        mica.grad(lambda x: x)(mica.tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match="argnums 2 with 1"):
        mica.grad(lambda x: x, argnums=2)(mica.tensor(1.0))


def test_jvp_and_vjp_agree_with_the_jacobian():
    a = np.random.default_rng(1).normal(size=(3, 3))
    f = lambda x: mica.sin(f64(a) @ x)  # noqa: E731
    x, v = np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 0.5])
    jacobian = np.cos(a @ x)[:, None] * a
    value, tangent = mica.jvp(f, (f64(x),), (f64(v),))
    np.testing.assert_allclose(value.numpy(), np.sin(a @ x), rtol=1e-12)
    np.testing.assert_allclose(tangent.numpy(), jacobian @ v, rtol=1e-12)
    value, pullback = mica.vjp(f, f64(x))
    np.testing.assert_allclose(pullback(f64(v))[0].numpy(), v @ jacobian, rtol=1e-12)
    np.testing.assert_allclose(mica.jacobian(f)(f64(x)).numpy(), jacobian, rtol=1e-12)
    compiled = mica.jit(lambda x, v: mica.vjp(f, x)[1](v)[0])
    np.testing.assert_allclose(compiled(f64(x), f64(v)).numpy(), v @ jacobian, rtol=1e-12)


def test_vjp_of_trees_and_aux():
    value, pullback, aux = mica.vjp(
        lambda t: ({"product": t[0] * t[1]}, t[0]), (f64(2.0), f64(3.0)), has_aux=True
    )
    assert value["product"].item() == 6
    assert aux.item() == 2
    ((a, b),) = pullback({"product": f64(10.0)})
    assert (a.item(), b.item()) == (30, 20)
    with pytest.raises(TypeError, match="structure"):
        pullback(f64(1.0))
    with pytest.raises(ValueError, match=r"\[vjp\]"):
        mica.vjp(lambda x: x, f64([1.0, 2.0]))[1](f64([1.0]))
    with pytest.raises(ValueError, match=r"\[jvp\]"):
        mica.jvp(lambda x: x, (f64([1.0, 2.0]),), (f64([1.0]),))


def test_vmap_maps_axes():
    a = np.random.default_rng(2).normal(size=(4, 3, 5))
    x = f64(a)
    for axis in (0, 1, -1):
        got = mica.vmap(lambda m: m.sum(axis=0), in_axes=axis, out_axes=-1)(x)
        expected = np.stack([m.sum(0) for m in np.moveaxis(a, axis, 0)], axis=-1)
        np.testing.assert_allclose(got.numpy(), expected)
    got = mica.vmap(lambda m, v: m @ v, in_axes=(0, None))(x, mica.ones(5, "f64"))
    np.testing.assert_allclose(got.numpy(), a.sum(-1))
    got = mica.vmap(lambda t: t["a"] + t["b"], in_axes=({"a": 0, "b": None},))({"a": x, "b": x[0]})
    np.testing.assert_allclose(got.numpy(), a + a[0])
    both = mica.vmap(mica.vmap(lambda p, q: p @ q, in_axes=(0, None)), in_axes=(None, 0))
    np.testing.assert_allclose(both(x[0], x[0]).numpy(), a[0] @ a[0].T)


def test_vmap_of_what_does_not_vary():
    x = f64([1.0, 2.0])
    assert mica.vmap(lambda a: f64(7.0))(x).tolist() == [7, 7]
    assert mica.vmap(lambda a: f64(7.0), out_axes=None)(x).item() == 7
    assert mica.vmap(lambda a: a, in_axes=None, axis_size=3)(x).shape == (3, 2)


def test_wrong_axes_are_explained():
    with pytest.raises(ValueError, match=r"\[vmap\] mapped sizes differ: 2 and 3"):
        mica.vmap(lambda a, b: a)(mica.zeros(2), mica.zeros(3))
    with pytest.raises(ValueError, match=r"\[vmap\] axis 1 is out of range"):
        mica.vmap(lambda a: a, in_axes=1)(mica.zeros(2))
    with pytest.raises(ValueError, match=r"\[vmap\] no argument is mapped"):
        mica.vmap(lambda a: a, in_axes=None)(mica.zeros(2))
    with pytest.raises(ValueError, match="do not fit"):
        mica.vmap(lambda a: a, in_axes=(0, 0))(mica.zeros(2))


def test_named_axes_reduce_over_examples():
    x = f64([1.0, 2.0, 6.0])
    mean = mica.vmap(
        lambda a: a - mica.all_reduce(a, kind="sum", axis="batch") / 3, axis_name="batch"
    )
    assert mean(x).tolist() == [-2, -1, 3]
    index = mica.vmap(lambda a: mica.axis_index(axis="i") + 0 * a.astype("i32"), axis_name="i")
    assert index(x).tolist() == [0, 1, 2]


def test_grad_of_vmap_and_vmap_of_grad_agree():
    f = lambda a: mica.sin(a) * a  # noqa: E731
    x = np.array([0.3, 1.1, 2.2])
    expected = np.cos(x) * x + np.sin(x)
    np.testing.assert_allclose(mica.vmap(mica.grad(f))(f64(x)).numpy(), expected, rtol=1e-12)
    total = lambda v: mica.vmap(f)(v).sum()  # noqa: E731
    np.testing.assert_allclose(mica.grad(total)(f64(x)).numpy(), expected, rtol=1e-12)


def test_per_example_gradients_of_a_shared_weight():
    x, w = np.random.default_rng(3).normal(size=(5, 3)), np.array([0.5, -1.0, 2.0])
    per_example = mica.vmap(mica.grad(lambda w, a: mica.tanh(w @ a)), in_axes=(None, 0))
    expected = (1 - np.tanh(x @ w) ** 2)[:, None] * x
    np.testing.assert_allclose(per_example(f64(w), f64(x)).numpy(), expected, rtol=1e-12)
    shared = mica.grad(lambda w: mica.vmap(lambda a: mica.tanh(w @ a))(f64(x)).sum())
    np.testing.assert_allclose(shared(f64(w)).numpy(), expected.sum(0), rtol=1e-12)


def test_jvp_of_grad_is_a_hessian_vector_product():
    f = lambda x: (x**4).sum()  # noqa: E731
    x, v = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    gradient, product = mica.jvp(mica.grad(f), (f64(x),), (f64(v),))
    np.testing.assert_allclose(gradient.numpy(), 4 * x**3)
    np.testing.assert_allclose(product.numpy(), 12 * x**2 * v)
    hessian = mica.jacobian(mica.grad(f))(f64(x))
    np.testing.assert_allclose(hessian.numpy(), np.diag(12 * x**2))


def test_grad_of_jvp_and_everything_under_jit():
    f = lambda x: mica.exp(2 * x)  # noqa: E731
    rate = lambda x: mica.jvp(f, (x,), (f64(1.0),))[1]  # noqa: E731
    nested = mica.jit(mica.vmap(mica.grad(rate)))
    x = np.array([0.0, 0.5])
    np.testing.assert_allclose(nested(f64(x)).numpy(), 4 * np.exp(2 * x), rtol=1e-12)


def test_eager_gradients_trace_anew_but_compile_once():
    calls = []

    def f(x, scale):
        calls.append(1)
        return (x * scale).sum()

    for scale in (2.0, 3.0):
        assert mica.grad(f)(f64([1.0, 1.0]), scale).tolist() == [scale, scale]
    assert len(calls) == 2


def test_a_python_branch_on_concrete_data_is_fine_inside_grad():
    data = f64(3.0)

    def f(x):
        return x * 2 if data > 1 else x

    assert mica.grad(f)(f64(1.0)).item() == 2


def test_a_whole_network_has_the_gradient_of_finite_differences():
    random = np.random.default_rng(4)
    shapes = [(4, 6), (6,), (6, 3), (3,)]
    parameters = [random.normal(size=s) * 0.5 for s in shapes]
    x, labels = random.normal(size=(5, 4)), np.array([0, 2, 1, 1, 0])

    def loss(p):
        hidden = mica.gelu(f64(x) @ p[0] + p[1])
        logits = hidden @ p[2] + p[3]
        target = mica.one_hot(mica.tensor(labels), 3, "f64")
        return -(mica.log_softmax(logits) * target).sum(axis=1).mean()

    gradient = mica.grad(loss)([f64(p) for p in parameters])
    for k, p in enumerate(parameters):
        numeric = np.zeros_like(p)
        for i in np.ndindex(p.shape):
            values = []
            for step in (1e-5, -1e-5):
                moved = [q.copy() for q in parameters]
                moved[k][i] += step
                values.append(loss([f64(q) for q in moved]).item())
            numeric[i] = (values[0] - values[1]) / 2e-5
        np.testing.assert_allclose(gradient[k].numpy(), numeric, atol=1e-8)
    assert math.isfinite(loss([f64(p) for p in parameters]).item())


def test_the_gradients_of_parts_side_by_side_are_put_together():
    x = mica.tensor(np.arange(6.0).reshape(2, 3))
    parts = [(0, 1), (1, 3)]

    def loss(x):
        return sum((mica.sin(x[:, a:b]) * (a + 1)).sum() for a, b in parts)

    gradient = mica.jit(mica.grad(loss))
    text = str(gradient.lower(x))
    assert "concat(" in text and "pad(" not in text
    factors = np.array([1, 2, 2])
    np.testing.assert_allclose(gradient(x).numpy(), np.cos(x.numpy()) * factors, rtol=1e-6)


@pytest.mark.parametrize("cuts", [[0, 2, 5], [1, 3, 6], [0, 1, 6], [2, 3]])
@pytest.mark.parametrize("apart", [-1, 0, 1])
def test_gradients_of_parts_that_overlap_or_leave_gaps_are_sums(cuts, apart):
    x = np.random.default_rng(0).normal(size=(2, 8))
    parts = [(a, b + apart) for a, b in itertools.pairwise(cuts)]
    expected = np.zeros_like(x)
    for k, (a, b) in enumerate(parts):
        expected[:, a:b] += (k + 1) * np.cos(x[:, a:b])
    loss = lambda v: sum(((k + 1) * mica.sin(v[:, a:b])).sum() for k, (a, b) in enumerate(parts))  # noqa: E731
    np.testing.assert_allclose(mica.grad(loss)(f64(x)).numpy(), expected, rtol=1e-12)


def test_the_gradient_of_many_parts():
    x = np.random.default_rng(0).normal(size=150)
    loss = lambda v: sum(mica.sin(v[i : i + 1]).sum() * (i + 1) for i in range(150))  # noqa: E731
    expected = np.cos(x) * np.arange(1, 151)
    np.testing.assert_allclose(mica.jit(mica.grad(loss))(f64(x)).numpy(), expected, rtol=1e-12)
