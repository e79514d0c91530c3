"""`tf.summary`: what TensorBoard shows, written by the default writer of this thread."""

from __future__ import annotations

from .._missing import missing as _missing
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


def __getattr__(name: str):
    from ..compat.v1 import summary as older

    if name in older.__all__:  # names that TensorFlow 2 has dropped
        return getattr(older, name)
    raise _missing(__name__, name)
