"""`tf.graph_util`: graphs from messages."""

from __future__ import annotations

from ._import_graph_def import import_graph_def  # noqa: F401
from ._missing import finder as _finder

__getattr__ = _finder(__name__)
