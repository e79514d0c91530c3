"""Messages of graphs."""

from ..._graph_def import AttrValue, NameAttrList

__all__ = ["AttrValue", "NameAttrList"]
