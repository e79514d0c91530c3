"""Tensors of a graph whose values are given when it runs."""

from __future__ import annotations

from ... import _dtypes
from ..._context import current_graph
from ..._core import convert_to_tensor, ops
from ..._names import scoped
from ..._shapes import TensorShape
from ...sparse import SparseTensor


def _graph(name: str):
    graph = current_graph()
    if graph is None:
        raise RuntimeError(f"tf.{name}() is not compatible with eager execution.")
    return graph


def placeholder(dtype, shape=None, name=None):
    """A tensor of the graph being built whose value is given when it runs."""
    return _graph("placeholder")._parameter(
        _dtypes.as_dtype(dtype), TensorShape(shape), scoped(name or "Placeholder")
    )


def placeholder_with_default(input, shape, name=None):
    """A tensor whose value may be given when a session runs."""
    value = convert_to_tensor(input)
    if current_graph() is None:
        return value
    shape = TensorShape(shape)
    return ops["PlaceholderWithDefault"](value, shape=shape, name=name)


def sparse_placeholder(dtype, shape=None, name=None):
    """The same for a sparse tensor."""
    graph = _graph("sparse_placeholder")
    shape = TensorShape(shape)
    name = scoped(name or "Placeholder")
    made = SparseTensor(
        graph._parameter(_dtypes.int64, TensorShape([None, shape.rank]), f"{name}/indices"),
        graph._parameter(_dtypes.as_dtype(dtype), TensorShape([None]), f"{name}/values"),
        graph._parameter(_dtypes.int64, TensorShape([shape.rank]), f"{name}/shape"),
    )
    made.set_shape(shape)
    return made
