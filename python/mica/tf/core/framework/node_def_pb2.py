"""Messages of graphs."""

from ..._graph_def import NodeDef

__all__ = ["NodeDef"]
