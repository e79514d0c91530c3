"""`tf.compat.v1`: the few names that programs of TensorFlow 2 still take from it."""

from __future__ import annotations

from ... import _dtypes
from ..._context import current_graph, executing_eagerly
from ..._event_messages import Event, RunMetadata, Summary, SummaryMetadata
from ..._graph_def import GraphDef
from ..._missing import finder as _finder
from ..._shapes import (
    Dimension,
    TensorShape,
    dimension_at_index,
    dimension_value,
)
from . import io, logging, summary, train

__all__ = [
    "Dimension",
    "Event",
    "GraphDef",
    "RunMetadata",
    "Summary",
    "SummaryMetadata",
    "dimension_at_index",
    "dimension_value",
    "enable_eager_execution",
    "enable_v2_behavior",
    "executing_eagerly",
    "executing_eagerly_outside_functions",
    "io",
    "logging",
    "placeholder",
    "reset_default_graph",
    "set_random_seed",
    "sparse_placeholder",
    "summary",
    "train",
]


def _graph(name: str):
    graph = current_graph()
    if graph is None:
        raise RuntimeError(f"tf.{name}() is not compatible with eager execution.")
    return graph


def placeholder(dtype, shape=None, name=None):
    """A tensor of the graph being built whose value is given when it runs."""
    return _graph("placeholder")._parameter(
        _dtypes.as_dtype(dtype), TensorShape(shape), name or "Placeholder"
    )


def sparse_placeholder(dtype, shape=None, name=None):
    """The same for a sparse tensor."""
    from ...sparse import SparseTensor

    graph = _graph("sparse_placeholder")
    shape = TensorShape(shape)
    name = name or "Placeholder"
    made = SparseTensor(
        graph._parameter(_dtypes.int64, TensorShape([None, shape.rank]), f"{name}/indices"),
        graph._parameter(_dtypes.as_dtype(dtype), TensorShape([None]), f"{name}/values"),
        graph._parameter(_dtypes.int64, TensorShape([shape.rank]), f"{name}/shape"),
    )
    made.set_shape(shape)
    return made


def reset_default_graph() -> None:
    """Forget the default graph: outside of functions there is none."""
    if not executing_eagerly():
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")


def executing_eagerly_outside_functions() -> bool:
    """Whether ops outside of functions run at once."""
    return True


def enable_eager_execution(config=None, device_policy=None, execution_mode=None) -> None:
    """Ops run at once: they do."""


def enable_v2_behavior() -> None:
    """Behave as TensorFlow 2: it is the only way here."""


def set_random_seed(seed) -> None:
    """As tf.random.set_seed."""
    from ...random import set_seed

    set_seed(seed)


__getattr__ = _finder(__name__)
