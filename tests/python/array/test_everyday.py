"""What numpy's users reach for gives what numpy gives."""

import mica
import numpy as np
import pytest

X = np.arange(24, dtype="f").reshape(2, 3, 4)
V = np.array([3.0, np.nan, np.inf, -np.inf, 0.0], "f")

CALLS = {
    "linspace": (lambda m: m.linspace(-1, 2, 7)),
    "linspace open": (lambda m: m.linspace(0, 1, 4, endpoint=False)),
    "tri": (lambda m: m.tri(3, 4, 1)),
    "tril": (lambda m: m.tril(X, -1)),
    "triu": (lambda m: m.triu(X, 1)),
    "repeat": (lambda m: m.repeat(X, 3, 1)),
    "repeat flat": (lambda m: m.repeat(X, 2)),
    "repeat counts": (lambda m: m.repeat(X, [0, 2, 1], axis=1)),
    "tile": (lambda m: m.tile(X, (2, 1, 1, 3))),
    "tile short": (lambda m: m.tile(X, 2)),
    "tile none": (lambda m: m.tile(X, (0, 1, 1))),
    "flip": (lambda m: m.flip(X, (0, -1))),
    "flip all": (lambda m: m.flip(X)),
    "roll": (lambda m: m.roll(X, -5, 2)),
    "roll flat": (lambda m: m.roll(X, 7)),
    "isnan": (lambda m: m.isnan(V)),
    "isinf": (lambda m: m.isinf(V)),
    "isfinite": (lambda m: m.isfinite(V)),
    "isfinite integers": (lambda m: m.isfinite([1, 2])),
    "isclose": (lambda m: m.isclose(V, V + np.float32(1e-9))),
    "outer": (lambda m: m.outer(X[0, 0], X[0, 1])),
    "std": (lambda m: m.std(X, 1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_are_those_of_numpy(name):
    found, expected = CALLS[name](mica).numpy(), np.asarray(CALLS[name](np))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_split_is_that_of_numpy():
    for parts, axis in [(3, 1), ([1, 3], 2), ([0, 9], 0), ([2, 1], -1)]:
        found = mica.split(X, parts, axis)
        expected = np.split(X, parts, axis)
        assert [f.tolist() for f in found] == [e.tolist() for e in expected]


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bij,bjk", (2, 3, 4), (2, 4, 5)),
    ("ii->i", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("iii", (2, 2, 2)),
    ("i,j,k->kij", (2,), (3,), (4,)),
    ("...ij,jk->...ik", (2, 5, 3), (3, 4)),
    ("...i,...i->...", (2, 1, 3), (5, 3)),
    ("ij->", (2, 3)),
    ("ijk,kj->i", (2, 3, 4), (4, 3)),
    ("ij,ij->ij", (2, 3), (1, 3)),
    ("ba", (2, 3)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda case: case[0])
def test_einsum_is_that_of_numpy(case):
    equation, *shapes = case
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype("f") for shape in shapes]
    expected = np.einsum(equation, *arrays)
    for function in (mica.einsum, mica.jit(mica.einsum, static_argnums=0)):
        found = function(equation, *arrays).numpy()
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], "'j' have different sizes: 3 and 4"),
        ("ij->ij", [(2,)], "does not fit an array"),
        ("ij,jk->ik", [(2, 3)], "2 terms for 1 arrays"),
        ("ij->ii", [(2, 3)], "repeats a letter"),
        ("ij->k", [(2, 3)], "repeats a letter, or has one of no term"),
        ("i1->i", [(2, 3)], "more than letters"),
        ("ii", [(2, 3)], "'i' have different sizes: 2 and 3"),
    ],
)
def test_einsum_says_what_is_wrong(equation, shapes, message):
    with pytest.raises(ValueError, match=message):
        mica.einsum(equation, *[mica.ones(shape) for shape in shapes])


def test_a_hessian_is_the_derivative_of_the_gradient():
    x = mica.tensor([1.0, 2.0])
    found = mica.hessian(lambda v: v[0] ** 3 * v[1])(x)
    assert found.tolist() == [[12.0, 3.0], [3.0, 0.0]]


def test_a_convolution_has_defaults():
    x, k = mica.ones((1, 5, 6, 2)), mica.ones((3, 3, 2, 4))
    plain = mica.conv(x, k)
    assert plain.shape == (1, 3, 4, 4) and plain[0, 0, 0, 0].item() == 18
    assert mica.conv(x, k, strides=2, padding="same").shape == (1, 3, 3, 4)
    assert mica.conv(x, k, padding=[(1, 0), (0, 2)]).shape == (1, 4, 6, 4)
    first = mica.conv(
        mica.ones((1, 2, 5, 6)), mica.ones((4, 2, 3, 3)), layout="NC01,OI01,NC01", dilation=2
    )
    assert first.shape == (1, 4, 1, 2)
    for arguments, message in [
        ({"padding": "full"}, "neither valid nor same"),
        ({"strides": (1, 1, 1)}, "must have 2 entries"),
        ({"layout": "N01C"}, "must name the axes"),
        ({"layout": "NxyC,01IO,N01C"}, "lacks an axis"),
    ]:
        with pytest.raises(ValueError, match=message):
            mica.conv(x, k, **arguments)
