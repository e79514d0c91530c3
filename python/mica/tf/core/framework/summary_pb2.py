"""Summaries."""

from ..._event_messages import HistogramProto, Summary, SummaryMetadata

__all__ = ["HistogramProto", "Summary", "SummaryMetadata"]
