"""`tf.summary`: what TensorBoard shows, written by the default writer of this thread."""

from __future__ import annotations

from .._missing import finder as _finder
from . import experimental
from ._kinds import audio, histogram, image, scalar, text
from ._trace import trace_export, trace_off, trace_on
from ._writers import (
    SummaryWriter,
    create_file_writer,
    create_noop_writer,
    flush,
    graph,
    record_if,
    should_record_summaries,
    write,
)

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "graph",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
    "write",
]


__getattr__ = _finder(__name__)
