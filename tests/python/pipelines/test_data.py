"""mica.data: pipelines of trees of tensors."""

import doctest
import gc
import importlib
import threading
import weakref

import mica
import pytest

data = importlib.import_module("mica.data")


def numbers(dataset):
    return [x.tolist() for x in dataset]


def test_the_examples_of_the_docstrings_run():
    finder = doctest.DocTestFinder(exclude_empty=True)
    results = [doctest.DocTestRunner().run(test) for test in finder.find(data)]
    assert sum(r.attempted for r in results) >= 12
    assert sum(r.failed for r in results) == 0


def test_elements_are_trees_of_the_slices_of_arrays():
    x, y = mica.arange(6).reshape(3, 2), mica.tensor([True, False, True])
    dataset = data.from_arrays({"x": x, "more": [y, (x * 2,)]})
    assert len(dataset) == 3
    elements = list(dataset)
    assert [e["x"].tolist() for e in elements] == x.tolist()
    assert elements[1]["more"][0].item() is False
    assert elements[2]["more"][1][0].tolist() == [8, 10]
    assert repr(dataset) == "<mica.data.Dataset: 3 elements of bool, i32, i32>"


def test_steps_are_those_of_the_c_datasets():
    ten = data.range(10)
    assert numbers(ten.batch(4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert numbers(ten.batch(4, drop_remainder=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert numbers(ten.batch(3).unbatch()) == list(range(10))
    assert numbers(ten.skip(2).take(3)) == [2, 3, 4]
    assert numbers(ten.shard(3, 1)) == [1, 4, 7]
    assert numbers(ten.take(2).repeat(3)) == [0, 1] * 3
    assert numbers(data.concatenate(ten.take(1), ten.skip(9))) == [0, 9]
    assert numbers(ten.prefetch(3)) == numbers(ten.cache()) == list(range(10))
    assert len(ten.batch(4)) == 3 and len(ten.repeat(2)) == 20


def test_a_shuffle_follows_its_seed_or_that_of_the_module_random():
    shuffled = data.range(20).shuffle(20, seed=3)
    first, second = numbers(shuffled), numbers(shuffled)
    assert sorted(first) == sorted(second) == list(range(20)) and first != second
    assert numbers(data.range(20).shuffle(20, seed=3)) == first
    fixed = data.range(20).shuffle(20, seed=3, reshuffle=False)
    assert numbers(fixed) == numbers(fixed)
    mica.random.seed(5)
    drawn = numbers(data.range(20).shuffle(20))
    mica.random.seed(5)
    assert numbers(data.range(20).shuffle(20)) == drawn != first


def test_a_function_may_change_the_tree_the_shapes_and_the_dtypes():
    x = mica.arange(8).reshape(4, 2)
    dataset = data.from_arrays((x, x)).map(lambda a, b: {"sum": a + b, "half": a.astype("f32") / 2})
    batch = next(iter(dataset.batch(4)))
    assert batch["sum"].tolist() == (2 * x).tolist()
    assert batch["half"].dtype == "f32" and batch["half"].tolist()[3] == [3.0, 3.5]
    jitted = data.range(3).map(mica.jit(lambda n: n * n + 1)).filter(lambda n: n > 1)
    assert numbers(jitted) == [2, 5]
    ragged = data.range(1, 4).map(lambda n: mica.arange(n.item()))
    assert numbers(ragged) == [[0], [0, 1], [0, 1, 2]]


def test_an_error_of_a_function_is_raised_as_it_is_and_the_next_element_follows():
    def odd(n):
        if n.item() == 2:
            raise KeyError("two")
        return n

    iterator = iter(data.range(4).map(odd).prefetch(2))
    assert [next(iterator).item() for _ in range(2)] == [0, 1]
    with pytest.raises(KeyError, match="two"):
        next(iterator)
    assert [n.item() for n in iterator] == [3]

    changed = data.range(2).map(lambda n: n if n.item() == 0 else (n, n))
    with pytest.raises(ValueError, match="another structure"):
        list(changed)
    changed = data.range(2).map(lambda n: n if n.item() == 0 else n.astype("f32"))
    with pytest.raises(ValueError, match="gave f32, for the first element i64"):
        list(changed)


def test_an_iterator_that_is_left_ends_its_thread_and_functions_go_with_their_dataset():
    before = threading.active_count()
    kept = []
    for _ in range(20):

        def function(n):
            return n + 1

        kept.append(weakref.ref(function))
        for n in data.range(1000).map(function).repeat().prefetch(4):
            assert n.item() == 1
            break
        del function
    gc.collect()
    assert threading.active_count() == before
    assert not [f for f in kept if f() is not None]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: data.from_arrays(()), ValueError, "the tree has no array"),
        (lambda: data.from_arrays([1.0, 2.0]), ValueError, "leaf 0 is a number"),
        (
            lambda: data.from_arrays((mica.ones((2,)), mica.ones((3,)))),
            ValueError,
            r"the first axes differ: \[2, 3\]",
        ),
        (lambda: data.range(0).map(lambda x: x), ValueError, "has no element"),
        (lambda: data.range(2).map(lambda x: None), ValueError, "gives no array"),
        (lambda: data.range(3).batch(0), ValueError, "batch"),
        (lambda: data.range(3).shuffle(0), ValueError, "buffer"),
        (lambda: data.range(3).shard(2, 2), ValueError, "shard|index"),
        (lambda: data.zip(), ValueError, "at least one"),
        (lambda: data.concatenate(data.range(1), data.zip(data.range(1))), ValueError, "differ"),
        (lambda: len(data.range(3).repeat()), TypeError, "no end"),
        (lambda: len(data.range(3).filter(bool)), TypeError, "filters"),
        (lambda: data.range(1, 2, 0), ValueError, "zero"),
    ],
)
def test_what_is_wrong_is_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_model_trains_on_batches():
    mica.random.seed(0)
    x = mica.random.normal((64, 3))
    y = x @ mica.tensor([1.0, -2.0, 0.5])
    batches = data.from_arrays((x, y)).shuffle(64).batch(16).repeat(40).prefetch()

    @mica.jit
    def step(w, x, y):
        return w - 0.1 * mica.grad(lambda w: ((x @ w - y) ** 2).mean())(w)

    w = mica.zeros((3,))
    for inputs, labels in batches:
        w = step(w, inputs, labels)
    assert mica.allclose(w, mica.tensor([1.0, -2.0, 0.5]), atol=1e-3)
