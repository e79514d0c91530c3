"""Messages of graphs."""

from ..._graph_def import VersionDef

__all__ = ["VersionDef"]
