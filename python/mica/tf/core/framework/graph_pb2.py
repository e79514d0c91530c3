"""Messages of graphs."""

from ..._graph_def import GraphDef

__all__ = ["GraphDef"]
