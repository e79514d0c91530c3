"""Messages of graphs."""

from ..._graph_def import TensorShapeProto

__all__ = ["TensorShapeProto"]
