"""Graphs of the functions that run while a trace is on."""

from __future__ import annotations

from .. import _function
from .._context import executing_eagerly
from .._core import convert_to_tensor
from .._effects import get_logger
from .._event_messages import RunMetadata, SummaryMetadata
from ._writers import summary_scope, write

_graphs: dict | None = None  # while a trace is on


def trace_on(graph=True, profiler=False, profiler_outdir=None) -> None:
    """Keep the graphs of functions that run from now on, until trace_export or trace_off."""
    global _graphs
    if profiler:
        raise NotImplementedError(
            "tf.summary.trace_on: there is no profiler; leave profiler=True out to trace graphs"
        )
    if not executing_eagerly():
        get_logger().warning("Cannot enable trace inside a tf.function.")
    elif _graphs is not None:
        get_logger().warning("Trace already enabled")
    else:
        _graphs = {}
        _function.watch(_graphs if graph else None)


def trace_export(name, step=None, profiler_outdir=None) -> None:
    """Write the graphs that a trace has seen, and end it."""
    if not executing_eagerly():
        get_logger().warning("Cannot export trace inside a tf.function.")
        return
    if _graphs is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    data = RunMetadata()
    for graph in _graphs.values():
        data.function_graphs.add().pre_optimization_graph = graph.as_graph_def()
    metadata = SummaryMetadata()
    metadata.plugin_data.plugin_name = "graph_run_metadata_graph"
    metadata.plugin_data.content = b"1"
    with summary_scope(name, "graph_run_metadata_graph_summary", [step]) as (tag, _):
        write(tag, lambda: convert_to_tensor(data.SerializeToString()), step, metadata)
    trace_off()


def trace_off() -> None:
    """End a trace without writing it."""
    global _graphs
    _graphs = None
    _function.watch(None)
