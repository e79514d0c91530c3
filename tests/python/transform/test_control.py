"""Control flow, custom gradients, remat, composites, callbacks."""

import gc
import math
import sys

import mica
import numpy as np
import pytest


def f64(value):
    return mica.tensor(value, dtype="f64")


# ---- cond and case -------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_cond_takes_one_branch(compiled):
    f = lambda x: mica.cond(x > 0, lambda a: a * 2, lambda a: -a, x)  # noqa: E731
    f = mica.jit(f) if compiled else f
    assert f(f64(3.0)).item() == 6
    assert f(f64(-3.0)).item() == 3
    assert mica.cond(True, lambda: 1.0, lambda: 2.0).item() == 1


def test_branches_capture_what_they_use():
    def f(x, y):
        return mica.cond(x > y, lambda: {"out": x * y}, lambda: {"out": x + y})["out"]

    assert mica.jit(f)(f64(3.0), f64(2.0)).item() == 6
    assert mica.jit(f)(f64(1.0), f64(2.0)).item() == 3
    for x, y, expected in [(3.0, 2.0, (2, 3)), (1.0, 2.0, (1, 1))]:
        gradient = mica.grad(f, argnums=(0, 1))(f64(x), f64(y))
        assert tuple(g.item() for g in gradient) == expected


def test_second_derivatives_and_vmap_of_cond():
    f = lambda x: mica.cond(x > 1, lambda a: a**3, lambda a: a**2, x)  # noqa: E731
    assert mica.grad(mica.grad(f))(f64(2.0)).item() == 12
    assert mica.grad(mica.grad(f))(f64(0.5)).item() == 2
    np.testing.assert_allclose(mica.vmap(mica.grad(f))(f64([0.5, 2.0])).numpy(), [1, 12])


def test_branches_must_agree():
    with pytest.raises(TypeError, match=r"\[cond\] branches return different structures"):
        mica.cond(mica.tensor(True), lambda: (1.0,), lambda: 1.0)
    with pytest.raises(TypeError, match=r"\[cond\] result 0 differs between branches"):
        mica.cond(mica.tensor(True), lambda: 1.0, lambda: 1)
    with pytest.raises(TypeError, match="bool scalar, not f32"):
        mica.cond(mica.tensor(1.0), lambda: 1, lambda: 2)


def test_case_takes_the_last_branch_out_of_range():
    f = mica.jit(lambda i, x: mica.case(i, [lambda a: a, lambda a: a * 10, lambda a: -a], x))
    assert [f(i, f64(2.0)).item() for i in (0, 1, 2, 7, -1)] == [2, 20, -2, -2, -2]
    gradient = mica.grad(lambda x: mica.case(1, [mica.sin, mica.cos], x))(f64(0.5))
    assert gradient.item() == pytest.approx(-math.sin(0.5))


# ---- loops ---------------------------------------------------------------------------------------


def power_loop(x):
    """x to a power that depends on x: as many doublings as stay below 100."""
    start = (x, mica.ones((), x.dtype))
    return mica.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2, c[1] * x), start)[1]


def test_while_runs_until_the_condition_fails():
    assert mica.while_loop(lambda i: i < 10, lambda i: i + 3, 0).item() == 12
    assert mica.while_loop(lambda i: i < 0, lambda i: i + 3, 5).item() == 5
    assert power_loop(f64(3.0)).item() == 3**6


@pytest.mark.parametrize("compiled", [False, True])
def test_grad_through_while_with_an_unknown_trip_count(compiled):
    gradient = mica.grad(power_loop)
    gradient = mica.jit(gradient) if compiled else gradient
    assert gradient(f64(3.0)).item() == pytest.approx(6 * 3.0**5)
    assert gradient(f64(30.0)).item() == pytest.approx(2 * 30.0)
    assert gradient(f64(200.0)).item() == 0


def test_other_derivatives_of_while():
    value, tangent = mica.jvp(power_loop, (f64(3.0),), (f64(1.0),))
    assert (value.item(), tangent.item()) == (729, pytest.approx(6 * 3.0**5))
    hessian = mica.jvp(mica.grad(power_loop), (f64(3.0),), (f64(1.0),))[1]
    assert hessian.item() == pytest.approx(30 * 3.0**4)
    second = mica.grad(lambda x: mica.jvp(power_loop, (x,), (f64(1.0),))[1])(f64(3.0))
    assert second.item() == pytest.approx(30 * 3.0**4)
    assert mica.grad(mica.grad(power_loop))(f64(3.0)).item() == pytest.approx(30 * 3.0**4)
    xs = np.array([3.0, 30.0, 200.0])
    np.testing.assert_allclose(mica.vmap(power_loop)(f64(xs)).numpy(), [729, 900, 1])
    np.testing.assert_allclose(
        mica.vmap(mica.grad(power_loop))(f64(xs)).numpy(), [6 * 3.0**5, 60, 0]
    )


def test_scan_carries_and_stacks():
    xs = np.arange(1.0, 6.0)
    total, partial = mica.scan(lambda c, x: (c + x, c * x), f64(0.0), f64(xs))
    assert total.item() == 15
    np.testing.assert_allclose(partial.numpy(), xs * np.concatenate([[0], np.cumsum(xs)[:-1]]))
    _, partial = mica.scan(lambda c, x: (c + x, c), f64(0.0), f64(xs), reverse=True)
    np.testing.assert_allclose(partial.numpy(), [14, 12, 9, 5, 0])
    count, nothing = mica.scan(lambda c, _: (c + 1, None), 0, length=7)
    assert count.item() == 7
    assert nothing is None


def test_gradients_of_scan():
    def polynomial(x, coefficients):
        return mica.scan(lambda c, a: (c * x + a, None), f64(0.0), coefficients)[0]

    coefficients = [2.0, -1.0, 0.5, 3.0]
    x = 1.5
    first, second = np.polyder(coefficients), np.polyder(coefficients, 2)
    c = f64(coefficients)
    assert polynomial(f64(x), c).item() == pytest.approx(np.polyval(coefficients, x))
    assert mica.grad(polynomial)(f64(x), c).item() == pytest.approx(np.polyval(first, x))
    twice = mica.grad(mica.grad(polynomial))
    assert twice(f64(x), c).item() == pytest.approx(np.polyval(second, x))
    gradient = mica.grad(polynomial, argnums=1)(f64(x), c)
    np.testing.assert_allclose(gradient.numpy(), [x**3, x**2, x, 1])
    mapped = mica.vmap(mica.grad(polynomial), in_axes=(0, None))(f64([x, 2 * x]), c)
    np.testing.assert_allclose(mapped.numpy(), np.polyval(first, [x, 2 * x]))


def test_loops_that_change_their_carry_are_refused():
    with pytest.raises(TypeError, match=r"\[while\] carry 0 comes in as .*i32.*goes out as .*f32"):
        mica.while_loop(lambda c: c < 3, lambda c: c.astype("f32"), 0)
    with pytest.raises(TypeError, match="condition must return a bool scalar"):
        mica.while_loop(lambda c: c, lambda c: c, 0)
    with pytest.raises(TypeError, match=r"\[scan\] carry 0"):
        mica.scan(lambda c, x: (c.reshape(1), x), 0.0, mica.zeros(3))
    with pytest.raises(TypeError, match=r"\[scan\] the function must return"):
        mica.scan(lambda c, x: c, 0.0, mica.zeros(3))
    with pytest.raises(ValueError, match=r"\[scan\] lengths differ: 3 and 4"):
        mica.scan(lambda c, x: (c, c), 0.0, (mica.zeros(3), mica.zeros(4)))
    with pytest.raises(ValueError, match="length must be given"):
        mica.scan(lambda c, x: (c, c), 0.0)


# ---- gradients of one's own ----------------------------------------------------------------------


def test_custom_gradients_are_used():
    clipped = mica.custom_gradient(
        lambda x: x, lambda arguments, result, cotangent: (mica.clip(cotangent, -1.0, 1.0),)
    )
    assert mica.grad(lambda x: clipped(x) * 5)(f64(2.0)).item() == 1
    assert clipped(f64(2.0)).item() == 2
    np.testing.assert_allclose(
        mica.vmap(mica.grad(lambda x: clipped(x) * x))(f64([0.5, 3.0])).numpy(), [1, 4]
    )


def test_custom_gradients_of_several_arguments():
    f = mica.custom_gradient(
        lambda x, n, t: {"y": x * n.astype("f64") * t[0]},
        lambda arguments, result, cotangent: (cotangent["y"] * 7, None, (None,)),
    )
    gradient = mica.grad(lambda x, n, t: f(x, n, t)["y"], argnums=(0, 2))(
        f64(2.0), mica.tensor(3), (f64(4.0),)
    )
    assert gradient[0].item() == 7
    assert gradient[1][0].item() == 0
    with pytest.raises(TypeError, match=r"\[custom_gradient\]"):
        mica.custom_gradient(lambda x: x, lambda a, r, c: c)(f64(1.0))


def test_forward_mode_of_a_custom_gradient_is_its_transpose():
    f = mica.custom_gradient(lambda x: x, lambda arguments, result, cotangent: (cotangent * 3,))
    assert mica.jvp(f, (f64(2.0),), (f64(1.0),))[1].item() == 3


def test_stop_gradient_is_a_constant():
    assert mica.grad(lambda x: mica.stop_gradient(x) * x)(f64(3.0)).item() == 3
    z = mica.tensor(2.0 + 1.0j)
    assert mica.grad(lambda x: mica.real(mica.stop_gradient(x) * x))(z).item() == 2 + 1j


def test_remat_gives_the_same_derivatives():
    f = lambda x: mica.sin(mica.sin(x) * x)  # noqa: E731
    g = mica.remat(f)
    for transform in (lambda h: h, mica.grad, lambda h: mica.grad(mica.grad(h))):
        assert transform(g)(f64(0.7)).item() == pytest.approx(transform(f)(f64(0.7)).item())


def test_composites_are_one_node():
    square = mica.composite("square", config="exact")(lambda x: x * x)
    assert 'name = "square"' in str(mica.trace(square, f64(1.0)))
    assert square(f64(3.0)).item() == 9
    assert mica.grad(square)(f64(3.0)).item() == 6
    assert mica.call("triple", lambda x: x * 3, f64(2.0)).item() == 6
    own = mica.composite("odd", vjp=lambda a, r, c: (c * 100,))(lambda x: x * x)
    assert mica.grad(own)(f64(3.0)).item() == 100


def test_a_barrier_changes_nothing():
    assert mica.jit(lambda t: mica.barrier(t))((f64(1.0), [f64(2.0)]))[1][0].item() == 2


# ---- callbacks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "fake", "ref"])
def test_callbacks_run_in_order_with_the_data(device):
    seen = []

    def log(x):
        seen.append(x.item())

    def f(x):
        mica.callback(log, None, x)
        y = mica.callback(lambda a: a.numpy() * 2, x, x)
        mica.callback(log, None, y)
        return y + 1

    assert mica.jit(f)(mica.tensor(3.0, device=device)).item() == 7
    assert seen == [3, 6]


def test_callbacks_in_loops_and_branches_run_each_time():
    seen = []

    def step(c, x):
        mica.callback(lambda v: seen.append(v.item()), None, x)
        mica.cond(
            x > 1.5,
            lambda: mica.callback(lambda v: seen.append(-v.item()), None, x) or 0,
            lambda: 0,
        )
        return c + x, None

    total = mica.jit(lambda xs: mica.scan(step, 0.0, xs)[0])(mica.tensor([1.0, 2.0, 3.0]))
    assert total.item() == 6
    assert seen == [1, 2, -2, 3, -3]

    seen.clear()
    body = lambda i: mica.callback(lambda v: seen.append(v.item()) or v, i, i) + 1  # noqa: E731
    assert mica.while_loop(lambda i: i < 3, body, 0).item() == 3
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("device", ["cpu", "fake", "ref"])
def test_exceptions_in_callbacks_reach_the_caller(device):
    class Custom(Exception):
        pass

    def fail(x):
        raise Custom("on purpose")

    f = mica.jit(lambda x: mica.callback(fail, x, x) + 1)
    for _ in range(3):
        with pytest.raises(Custom, match="on purpose"):
            f(mica.tensor(1.0, device=device))
    assert (mica.tensor(1.0, device=device) + 1).item() == 2


def test_results_of_the_wrong_shape_are_refused():
    f = mica.jit(lambda x: mica.callback(lambda a: [1.0, 2.0], x, x))
    with pytest.raises(ValueError, match=r"\[callback\] a result is f32\[2\]; it must be f32\[\]"):
        f(mica.tensor(1.0))


def test_callbacks_may_use_the_library():
    inner = mica.jit(lambda a: a * 10)
    f = mica.jit(lambda x: mica.callback(lambda a: inner(a) + mica.grad(mica.sin)(a), x, x))
    assert f(mica.tensor(2.0)).item() == pytest.approx(20 + math.cos(2), rel=1e-6)


def test_callbacks_give_trees():
    results = {"a": ((2,), "f32"), "b": mica.tensor(1)}
    f = mica.jit(lambda x: mica.callback(lambda v: ([1.0, 2.0], 7), results, x))
    out = f(mica.tensor(0.0))
    assert out["a"].tolist() == [1, 2]
    assert out["b"].item() == 7


def test_callbacks_are_released_with_their_function():
    def function(x):
        return x

    before = sys.getrefcount(function)
    compiled = mica.jit(lambda x: mica.callback(function, x, x))
    compiled(mica.tensor(1.0))
    assert sys.getrefcount(function) > before
    mica.clear_caches()
    del compiled
    gc.collect()
    assert sys.getrefcount(function) == before
