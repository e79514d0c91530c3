"""Events of summary files."""

from ..._event_messages import Event, SourceMetadata

__all__ = ["Event", "SourceMetadata"]
