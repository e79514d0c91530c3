"""Messages of graphs."""

from ..._graph_def import TensorProto

__all__ = ["TensorProto"]
