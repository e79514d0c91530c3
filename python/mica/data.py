"""Pipelines of elements: what a model is fed with, made in C while it computes.

A `Dataset` says how elements are made and does not change; a `for` loop over it makes them, one
after the other. An element is a tree of tensors (`mica.tree`), the same tree for all of a dataset.

Examples
--------
>>> import mica
>>> images, labels = mica.ones((10, 28, 28)), mica.arange(10)
>>> data = mica.data.from_arrays({"image": images, "label": labels})
>>> data = data.map(lambda x: (x["image"] / 255.0, x["label"])).batch(4).prefetch(2)
>>> for image, label in data:
...     print(image.shape, label.tolist())
(4, 28, 28) [0, 1, 2, 3]
(4, 28, 28) [4, 5, 6, 7]
(2, 28, 28) [8, 9]
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

from . import _mica, random
from ._mica import flatten, unflatten
from ._tracing import as_array

__all__ = ["Dataset", "concatenate", "from_arrays", "range", "zip"]

_INFINITE, _UNKNOWN = -1, -2

_mica.tf_start()  # functions of pipelines are called back


class Dataset:
    """A description of elements; iterating over it makes them.

    Datasets are made by `from_arrays`, `range`, `zip` and `concatenate`, and of each other by their
    methods. Two iterators over one are independent of each other.
    """

    def __init__(self, data: Any, structure: Any, dtypes: list) -> None:
        self._data = data
        self._structure = structure
        self._dtypes = dtypes

    def _made(self, data: Any) -> Dataset:
        return Dataset(data, self._structure, self._dtypes)

    def __iter__(self) -> Iterator[Any]:
        # Not a generator: after an error in a function the next element follows.
        return builtins.map(lambda leaves: unflatten(self._structure, list(leaves)), self._data)

    def __len__(self) -> int:
        """How many elements there are, where that is known without making them."""
        count = self._data.count()
        if count == _INFINITE:
            raise TypeError("[data] the dataset has no end, and so no length; take(n) gives it one")
        if count == _UNKNOWN:
            raise TypeError(
                "[data] the length of a dataset that filters is not known: count its elements"
            )
        return count

    def __repr__(self) -> str:
        count = {_INFINITE: "without end", _UNKNOWN: "an unknown number of elements"}
        n = self._data.count()
        names = ", ".join(str(dtype) for dtype in self._dtypes)
        return f"<mica.data.Dataset: {count.get(n, f'{n} elements')} of {names}>"

    # ---- functions of elements -------------------------------------------------------------------

    def map(self, function: Callable) -> Dataset:
        """What a function makes of each element.

        Parameters
        ----------
        function : callable
            From an element to a tree of arrays; the parts of a tuple are arguments of their own. It
            is called with tensors, one element after the other, and once with the first element
            when this method is called, to learn what it gives. `mica.jit` makes a function of
            several operations quicker; where elements are small, map batches.

        Examples
        --------
        >>> import mica
        >>> [x.item() for x in mica.data.range(3).map(lambda x: x * x)]
        [0, 1, 4]
        """
        called = self._called(function)
        element = next(iter(self._data), None)
        if element is None:
            raise ValueError("[data.map] the dataset has no element: what is made cannot be known")
        leaves, structure = flatten(called(element))
        dtypes = [as_array(leaf).dtype for leaf in leaves]
        if not dtypes:
            raise ValueError("[data.map] the function gives no array")

        def run(*element: Any) -> tuple:
            made, shape = flatten(called(element))
            if shape != structure:
                raise ValueError("[data.map] the function gave a tree of another structure")
            arrays = tuple(as_array(leaf) for leaf in made)
            if [array.dtype for array in arrays] != dtypes:
                given = ", ".join(str(array.dtype) for array in arrays)
                first = ", ".join(str(dtype) for dtype in dtypes)
                raise ValueError(
                    f"[data.map] the function gave {given}, for the first element {first}: every "
                    "element needs the same dtypes"
                )
            return arrays

        return Dataset(self._data.map(run, self._dtypes, dtypes, False), structure, dtypes)

    def filter(self, predicate: Callable) -> Dataset:
        """The elements for which a function gives true.

        Examples
        --------
        >>> import mica
        >>> [x.item() for x in mica.data.range(6).filter(lambda x: x % 2 == 0)]
        [0, 2, 4]
        """
        called = self._called(predicate)

        def run(*element: Any) -> tuple:
            return (_mica.tensor(bool(called(element)), "bool"),)

        return self._made(self._data.map(run, self._dtypes, ["bool"], True))

    def _called(self, function: Callable) -> Callable:
        """The function of an element, as one of its leaves."""

        def call(leaves: tuple) -> Any:
            element = unflatten(self._structure, list(leaves))
            return function(*element) if type(element) is tuple else function(element)

        return call

    # ---- batches, order, number ------------------------------------------------------------------

    def batch(self, size: int, drop_remainder: bool = False) -> Dataset:
        """`size` elements stacked along a new first axis; the last batch may be smaller.

        Parameters
        ----------
        size : int
        drop_remainder : bool
            Whether a last batch that is smaller is left out.
        """
        return self._made(self._data.batch(size, drop_remainder))

    def unbatch(self) -> Dataset:
        """An element for each index of the first axis of each element."""
        return self._made(self._data.unbatch())

    def shuffle(self, size: int, seed: int | None = None, reshuffle: bool = True) -> Dataset:
        """Elements at random out of a buffer of `size` that is kept full.

        Parameters
        ----------
        size : int
            With as many as there are elements every order is equally likely.
        seed : int, optional
            What the order follows from; the next of the numbers that `mica.random.seed` begins when
            it is not given.
        reshuffle : bool
            Whether each iterator has an order of its own.
        """
        words = random.next_key().tolist() if seed is None else [seed & 0xFFFFFFFF, seed >> 32]
        if not words[0]:
            words = [1, words[1] + 1]  # two zeros stand for no seed
        return self._made(self._data.shuffle(size, words[0], words[1] & 0xFFFFFFFF, reshuffle))

    def repeat(self, count: int = -1) -> Dataset:
        """The elements `count` times; without end when it is negative."""
        return self._made(self._data.repeat(count))

    def take(self, count: int) -> Dataset:
        """The first `count` elements; all when it is negative."""
        return self._made(self._data.take(count))

    def skip(self, count: int) -> Dataset:
        """The elements without the first `count`."""
        return self._made(self._data.skip(count))

    def shard(self, count: int, index: int) -> Dataset:
        """Every `count`-th element, from number `index` on."""
        return self._made(self._data.shard(count, index))

    # ---- when elements are made ------------------------------------------------------------------

    def cache(self) -> Dataset:
        """The elements, kept in memory by the first iterator that comes to the end."""
        return self._made(self._data.cache())

    def prefetch(self, size: int = 2) -> Dataset:
        """The elements, made by a thread of their own, up to `size` of them ahead."""
        return self._made(self._data.prefetch(size))


def from_arrays(tree: Any) -> Dataset:
    """An element for each index of the first axis, which all arrays of a tree share.

    Parameters
    ----------
    tree : tree of arrays
        Tensors or numpy's arrays. A list is a tree: `mica.tensor` makes an array of its numbers.

    Examples
    --------
    >>> import mica
    >>> x, y = mica.tensor([[1.0, 2.0], [3.0, 4.0]]), mica.tensor([0, 1])
    >>> [(a.tolist(), b.item()) for a, b in mica.data.from_arrays((x, y))]
    [([1.0, 2.0], 0), ([3.0, 4.0], 1)]
    """
    leaves, structure = flatten(tree)
    if not leaves:
        raise ValueError("[data.from_arrays] the tree has no array")
    tensors = [as_array(leaf) for leaf in leaves]
    sizes = [t.shape[0] if t.shape else None for t in tensors]
    if None in sizes:
        raise ValueError(
            f"[data.from_arrays] leaf {sizes.index(None)} is a number: an array with an axis of "
            "elements is needed. Lists are trees; mica.tensor makes an array of one"
        )
    if len(set(sizes)) > 1:
        raise ValueError(f"[data.from_arrays] the first axes differ: {sizes}")
    return Dataset(_mica.data_slices(tensors), structure, [t.dtype for t in tensors])


def range(*bounds: int) -> Dataset:
    """Numbers of i64, as Python's range: `range(stop)`, `range(start, stop, step)`.

    Examples
    --------
    >>> import mica
    >>> [x.item() for x in mica.data.range(1, 6, 2)]
    [1, 3, 5]
    """
    numbers = builtins.range(*bounds)
    data = _mica.data_range(numbers.start, numbers.stop, numbers.step)
    return Dataset(data, flatten(0)[1], [_mica.tensor(0, "i64").dtype])


def zip(*datasets: Dataset) -> Dataset:
    """Tuples of an element of each dataset, until the first of them ends.

    Examples
    --------
    >>> import mica
    >>> pairs = mica.data.zip(mica.data.range(3), mica.data.range(10, 20))
    >>> [(a.item(), b.item()) for a, b in pairs]
    [(0, 10), (1, 11), (2, 12)]
    """
    if not datasets:
        raise ValueError("[data.zip] at least one dataset is needed")
    structures = [unflatten(d._structure, [0] * len(d._dtypes)) for d in datasets]
    data = _mica.data_joined(tuple(d._data for d in datasets), False)
    dtypes = [dtype for d in datasets for dtype in d._dtypes]
    return Dataset(data, flatten(tuple(structures))[1], dtypes)


def concatenate(first: Dataset, second: Dataset) -> Dataset:
    """The elements of one dataset, then those of another."""
    if first._structure != second._structure or first._dtypes != second._dtypes:
        raise ValueError("[data.concatenate] the elements of the two datasets differ in kind")
    return first._made(_mica.data_joined((first._data, second._data), True))
