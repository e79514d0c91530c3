"""The reference and the CPU against JAX, by values that tests/oracle/make_jax_golden.py stored.

Every row of the table is in them, or stands below with the reason why JAX has nothing like it.
"""

import collections
import itertools
import json
import pathlib

import numpy as np
import pytest

mica = pytest.importorskip("mica")

PARTS = ("operands", "results", "t", "c", "jvp", "vjp", "second")
PARTS += ("every", "over_every", "over_first")


def read_examples():
    """An array per dtype holds all of it, in the order of the manifest, which has the shapes."""
    with np.load(pathlib.Path(__file__).parent / "data" / "jax_golden.npz") as file:
        stored = dict(file)
    used = collections.Counter()
    manifest = json.loads(stored["manifest"].tobytes())["examples"]
    for entry, part in itertools.product(manifest, PARTS):
        arrays = []
        for name, shape in entry.get(part, []):
            begin = used[name]
            used[name] += int(np.prod(shape))
            arrays.append((name, stored[name][begin : used[name]].reshape(shape)))
        if part in entry:
            entry[part] = arrays
    return manifest


TABLE = {row["name"]: row for row in mica.ops()}
DEVICES = ("ref", "cpu")

NOT_IN_JAX = {
    "constant": "a literal; JAX has no such operation",
    "rng_bits": "JAX's Philox counts otherwise on each platform; the published vectors are tested",
    "list_push": "JAX has no lists",
    "list_pop": "JAX has no lists",
}

# What may be lost, in units of the results' largest magnitude: by JAX's f32 functions, which are a
# few ulps off, and by sums in another order.
ALLOWED = {"f64": 1e-13, "f32": 2e-6, "bf16": 2**-7, "f16": 2**-10}
# Functions that JAX computes less accurately, and their derivatives.
LOOSE = {"lgamma": 1e-12, "digamma": 1e-12, "erfinv": 1e-11, "erfc": 1e-12, "igamma": 1e-11}


# ---- programs that are said here again -----------------------------------------------------------


def twice_sine(x):
    return mica.sin(x) * 2


def loop(x):
    def grow(carry):
        return carry * 1.5 + mica.sin(carry)

    return mica.while_loop(lambda carry: mica.sum(carry) < 20, grow, x)


def over_shards(function):
    return mica.vmap(function, axis_name="shards")


def all_reduce(kind):
    return over_shards(lambda row: mica.all_reduce(mica.sin(row), kind=kind, axis="shards"))


def times_index(row):
    return row * mica.convert(mica.axis_index(axis="shards"), dtype="f64")


PROGRAMS = {
    "cond": lambda p, x, y: mica.cond(
        p, lambda a, b: mica.sin(a) * b, lambda a, b: a + b * b, x, y
    ),
    "case": lambda i, x: mica.case(i, [mica.sin, mica.exp, lambda a: a * a], x),
    "while": loop,
    "scan": lambda weight, start, xs: mica.scan(
        lambda carry, x: (mica.tanh(weight * carry + x), carry * x), start, xs
    ),
    "scan_reverse": lambda start, xs: mica.scan(
        lambda carry, x: (mica.sin(carry) + x, carry * x), start, xs, reverse=True
    ),
    "call": mica.composite("twice_sine")(twice_sine),
    "custom_gradient": mica.custom_gradient(
        lambda x: x * x, lambda x, y, c: (mica.clip(c * 2 * x[0], -1, 1),)
    ),
    "remat": mica.remat(lambda x: mica.sin(twice_sine(x))),
    "barrier": lambda x: mica.sin(mica.barrier(x)),
    "callback": lambda x: mica.callback(lambda a: np.sort(a.numpy()), x, x),
    "all_reduce_sum": all_reduce("sum"),
    "all_reduce_max": all_reduce("max"),
    "all_reduce_min": all_reduce("min"),
    "axis_index": over_shards(times_index),
    "all_gather": over_shards(
        lambda x: mica.cos(mica.all_gather(mica.sin(x), axis="shards", size=4, dim=1))
    ),
    "reduce_scatter": over_shards(
        lambda x: mica.reduce_scatter(mica.sin(x), kind="sum", axis="shards", size=4, dim=0)
    ),
    "permute": over_shards(
        lambda x: mica.permute(
            mica.sin(x), axis="shards", size=4, sources=(0, 1, 2, 3), targets=(2, 1, 3, 0)
        )
    ),
    "broadcast_from": over_shards(
        lambda x: mica.broadcast_from(mica.sin(x), axis="shards", size=4, source=2) * x
    ),
}


def row_of(example):
    """all_reduce_sum is a program of the row all_reduce. None: the table has no such row."""
    if not example["program"]:
        return example["op"] if example["op"] in TABLE else None
    return max((row for row in TABLE if example["op"].startswith(row)), key=len, default=None)


def is_in_table(example):
    """JAX may have more: rows, and complex numbers where the row takes none."""
    row = row_of(example)
    is_complex = example["dtype"] in ("c64", "c128")
    return row is not None and (not is_complex or "COMPLEX" in TABLE[row]["dtypes"])


EXAMPLES = [example for example in read_examples() if is_in_table(example)]


# ---- running -------------------------------------------------------------------------------------


def arrays_of(number, part):
    return EXAMPLES[number][part]


def upload(arrays, device):
    """bf16 comes as its bits."""
    tensors = []
    for name, array in arrays:
        tensor = mica.tensor(array, device=device)
        tensors.append(mica.bitcast(tensor, dtype="bf16") if name == "bf16" else tensor)
    return tensors


def flat(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in flat(part)]
    return [tree]


def as_numbers(name, array):
    if name == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array


def download(tensor):
    name = str(tensor.dtype)
    if name == "bf16":
        tensor = mica.convert(tensor, dtype="f32")
    return name, np.asarray(tensor.numpy())


def assert_near(got, want, example, what):
    got, want = flat(got), list(want)
    assert len(got) == len(want), what
    for tensor, (name, array) in zip(got, want, strict=True):
        have, numbers = download(tensor)
        expected = as_numbers(name, array)
        assert have == name and numbers.shape == expected.shape, what
        if expected.dtype.kind not in "fc":
            np.testing.assert_array_equal(numbers, expected, err_msg=what)
            continue
        allowed = ALLOWED.get(name, 0) or ALLOWED["f32" if name == "c64" else "f64"]
        # bf16, f16 and f32 have errors of their own; in f64 it is the function that counts
        if name in ("f64", "c128"):
            allowed = max(allowed, LOOSE.get(example["op"], 0))
        finite = expected[np.isfinite(expected)]
        scale = np.max(np.abs(finite)) if finite.size else 1
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                numbers, expected, rtol=allowed, atol=8 * allowed * scale, err_msg=what
            )


def function_of(example):
    if example["program"]:
        return PROGRAMS[example["op"]]
    attributes = {key: value for key, value in example["attributes"].items()}
    primitive = getattr(mica._mica, example["op"])
    return lambda *operands: primitive(*operands, **attributes)


def smooth_part(function, operands):
    """The float results as a function of the float operands."""
    places = [i for i, x in enumerate(operands) if str(x.dtype) == "f64"]

    def smooth(*floats):
        full = list(operands)
        for place, x in zip(places, floats, strict=True):
            full[place] = x
        return tuple(y for y in flat(function(*full)) if str(y.dtype) == "f64")

    return smooth, [operands[place] for place in places]


def check_derivatives(number, function, operands, device, title):
    example = EXAMPLES[number]
    smooth, x = smooth_part(function, operands)
    t, c = upload(arrays_of(number, "t"), device), upload(arrays_of(number, "c"), device)
    if "jvp" in example:
        pushed = mica.jvp(smooth, tuple(x), tuple(t))[1]
        assert_near(pushed, arrays_of(number, "jvp"), example, f"jvp of {title}")

    def pulled(*floats):
        return mica.vjp(smooth, *floats)[1](tuple(c))

    assert_near(pulled(*x), arrays_of(number, "vjp"), example, f"vjp of {title}")
    if "second" in example:
        second = mica.jvp(pulled, tuple(x), tuple(t))[1]
        assert_near(second, arrays_of(number, "second"), example, f"jvp of vjp of {title}")


def check_vmap(number, function, device, title):
    example = EXAMPLES[number]
    every = upload(arrays_of(number, "every"), device)
    assert_near(
        mica.vmap(function)(*every), arrays_of(number, "over_every"), example, f"vmap of {title}"
    )
    if "over_first" in example:
        axes = (0,) + (None,) * (len(every) - 1)
        first = [every[0], *(x[0] for x in every[1:])]
        got = mica.vmap(function, axes)(*first)
        want = arrays_of(number, "over_first")
        assert_near(got, want, example, f"vmap over the first operand of {title}")


BY_OP = collections.defaultdict(list)
for place, entry in enumerate(EXAMPLES):
    BY_OP[entry["op"]].append(place)


@pytest.fixture
def device(request):
    """Also where operations without operands run."""
    before = mica.device(None)
    mica.set_default_device(request.param)
    yield request.param
    mica.set_default_device(before)


@pytest.mark.parametrize("device", DEVICES, indirect=True)
@pytest.mark.parametrize("op", sorted(BY_OP))
def test_rows_agree_with_jax(op, device):
    for number in BY_OP[op]:
        example = EXAMPLES[number]
        title = f"{op} {example['dtype']} {example['attributes']} on {device}"
        function = function_of(example)
        operands = upload(arrays_of(number, "operands"), device)
        assert_near(function(*operands), arrays_of(number, "results"), example, title)
        if "vjp" in example:
            check_derivatives(number, function, operands, device, title)
        if "every" in example:
            check_vmap(number, function, device, title)


def test_every_row_is_compared_with_jax_or_has_a_reason():
    compared = {row_of(example) for example in EXAMPLES}
    assert compared.isdisjoint(NOT_IN_JAX), "these have a counterpart after all"
    missing = set(TABLE) - compared - set(NOT_IN_JAX)
    assert not missing, f"{sorted(missing)}: add examples to tests/oracle and run `make oracle`"
    assert set(NOT_IN_JAX) <= set(TABLE)
