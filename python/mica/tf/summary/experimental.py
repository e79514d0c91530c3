"""`tf.summary.experimental`: the default step, scopes, messages as they are."""

from __future__ import annotations

from .._missing import finder as _finder
from ._writers import get_step, set_step, summary_scope, write_raw_pb

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]


__getattr__ = _finder(__name__)
