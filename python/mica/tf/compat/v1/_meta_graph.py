"""Graphs beside checkpoints: graph.pbtxt, the .meta file, the graph of an event file."""

from __future__ import annotations

import os

from ..._effects import get_logger
from ...saved_model._messages import MetaGraphDef


def _message(graph):
    """The graph as a message, or None where files have no form for one of its ops."""
    try:
        return graph.as_graph_def(add_shapes=True)
    except (NotImplementedError, ValueError) as error:
        get_logger().debug("The graph is not written: %s", error)
        return None


def write_meta(graph, path: str, strip_default_attrs: bool) -> None:
    """Write the graph as a MetaGraphDef, where files have a form for it."""
    message = _message(graph)
    if message is None:
        return
    whole = MetaGraphDef(graph_def=message)
    whole.meta_info_def.stripped_default_attrs = strip_default_attrs
    with open(path, "wb") as file:
        file.write(whole.SerializeToString())


def write_graph_files(graph, folder: str, writer) -> None:
    """Write graph.pbtxt and the graph of the event file, where files have a form for it."""
    message = _message(graph)
    if message is None:
        return
    with open(os.path.join(folder, "graph.pbtxt"), "w", encoding="utf-8") as file:
        file.write(str(message))
    writer.add_graph(message)
