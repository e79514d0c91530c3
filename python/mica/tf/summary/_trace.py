"""Graphs of the functions that run while a trace is on."""

from __future__ import annotations

import contextlib

from .. import _function
from .._context import executing_eagerly
from .._core import convert_to_tensor
from .._effects import get_logger
from .._event_messages import RunMetadata, SummaryMetadata
from ..errors import UnavailableError
from ..profiler import experimental as _profiler
from ._writers import summary_scope, write

_graphs: dict | None = None  # while a trace is on
_is_profiled = False  # and has begun a profile


def trace_on(graph=True, profiler=False, profiler_outdir=None) -> None:
    """Keep the graphs of functions that run from now on, until trace_export or trace_off.

    With `profiler` also a profile (`tf.profiler.experimental`), written to `profiler_outdir`.
    """
    global _graphs, _is_profiled
    if not executing_eagerly():
        get_logger().warning("Cannot enable trace inside a tf.function.")
        return
    if _graphs is not None:
        get_logger().warning("Trace already enabled")
        return
    if profiler and profiler_outdir is None:
        get_logger().warning(
            "No `profiler_outdir` passed to trace_on(). Profiler won't be enabled."
        )
    elif profiler:
        _profiler.start(profiler_outdir)
        _is_profiled = True
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
    """End a trace without writing its graphs."""
    global _graphs, _is_profiled
    _graphs = None
    _function.watch(None)
    if _is_profiled:
        _is_profiled = False
        with contextlib.suppress(UnavailableError):  # the program has stopped it
            _profiler.stop()
