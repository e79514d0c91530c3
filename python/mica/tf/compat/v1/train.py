"""`tf.compat.v1.train`: what event files hold."""

from __future__ import annotations

from ..._event_messages import Event
from ..._missing import finder as _finder
from ..._records import tf_record_iterator

__all__ = ["summary_iterator"]


def summary_iterator(path):
    """Yield the Event messages of an event file."""
    for record in tf_record_iterator(path):
        yield Event.FromString(record)


__getattr__ = _finder(__name__)
