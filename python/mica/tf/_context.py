"""Where ops go: to be run at once, or into the graph of a function that is being traced."""

from __future__ import annotations

from .. import _mica
from ._names import _set_scope, current_scope


def current_graph():
    """Return the graph that ops are added to on this thread, or None when they run at once."""
    return _mica.tf_current_graph()


def in_graph() -> bool:
    """Whether ops are being added to a graph on this thread."""
    return not _mica.tf_executing_eagerly()


def executing_eagerly() -> bool:
    """Whether ops run at once on this thread."""
    return _mica.tf_executing_eagerly()


def graph_of_sessions():
    """Return the innermost graph around that sessions run parts of, or None."""
    graph = _mica.tf_current_graph()
    while graph is not None and not graph._runs_parts:
        graph = graph.outer_graph
    return graph


def graph_of_variables():
    """Return the outermost of these, which holds variables and collections, or None."""
    graph, found = _mica.tf_current_graph(), None
    while graph is not None:
        found = graph if graph._runs_parts else found
        graph = graph.outer_graph
    return found


class building:
    """A context in which ops go to the given graph (None: they run at once)."""

    def __init__(self, graph) -> None:
        self._graph = graph

    def __enter__(self):
        self._before = _mica.tf_set_graph(self._graph)
        return self._graph

    def __exit__(self, *unused) -> None:
        _mica.tf_set_graph(self._before)


class init_scope:
    """Lift ops out of functions under construction: within it they run at once."""

    def __enter__(self) -> None:
        scope = current_scope()
        self._before = _mica.tf_set_graph(None)
        self._scope = current_scope()
        _set_scope(None, scope)  # names stay what they would have been
        _mica.tf_stop_recording(1)

    def __exit__(self, *unused) -> None:
        _mica.tf_stop_recording(-1)
        _set_scope(None, self._scope)
        _mica.tf_set_graph(self._before)
