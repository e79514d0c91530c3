"""`tf.compat.v1.data`: datasets, and iterators that are nodes of a graph."""

from __future__ import annotations

from ... import data as _data
from ..._context import building, executing_eagerly, graph_of_sessions
from ..._core import ops
from ..._missing import missing as _missing
from ...data import _structure
from ...data._iterator import Iterator as _Iterator

__all__ = ["Iterator", "make_initializable_iterator", "make_one_shot_iterator"]


class Iterator(_Iterator):
    """An iterator of a graph: sessions run its `initializer`, then what get_next returned."""

    def __init__(self, handle, element_spec, initializer) -> None:
        super().__init__(handle, element_spec)
        self._initializer = initializer

    @property
    def initializer(self):
        """The operation that lets it begin."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    @property
    def output_shapes(self):
        """The shapes of its elements."""
        return get_output_shapes(self)

    @property
    def output_types(self):
        """The dtypes of its elements."""
        return get_output_types(self)


def make_initializable_iterator(dataset, shared_name=None):
    """Return an iterator that begins when its initializer runs."""
    if shared_name is not None:
        raise NotImplementedError("make_initializable_iterator: an iterator is not shared by name")
    if executing_eagerly():
        raise RuntimeError(
            "`tf.compat.v1.data.make_initializable_iterator()` is not supported when eager "
            "execution is enabled. Use `for element in dataset` instead."
        )
    with building(None):
        handle = ops["AnonymousIteratorV3"](**_structure.types_and_shapes(dataset.element_spec))
    graph = graph_of_sessions()
    ops["MakeIterator"](dataset._handle_tensor, handle)
    return Iterator(handle, dataset.element_spec, graph._last_operation())


def make_one_shot_iterator(dataset):
    """Return an iterator that begins when a session first runs."""
    if executing_eagerly():
        return iter(dataset)
    made = make_initializable_iterator(dataset)
    graph_of_sessions().__dict__.setdefault("_at_first_run", []).append(made.initializer)
    return Iterator(made._handle_tensor, made.element_spec, None)


def get_output_shapes(dataset_or_iterator):
    """Return the shapes of elements."""
    return _structure._map(lambda spec: spec.shape, dataset_or_iterator.element_spec)


def get_output_types(dataset_or_iterator):
    """Return the dtypes of elements."""
    return _structure._map(lambda spec: spec.dtype, dataset_or_iterator.element_spec)


def __getattr__(name: str):
    try:
        return getattr(_data, name)
    except AttributeError:
        raise _missing(__name__, name) from None
