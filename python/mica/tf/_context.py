"""Where ops go: to be run at once, or into the graph of a function that is being traced.

AutoGraph's operators and the control flow of the public API meet here: `cond` and `while_loop`
take functions and give tensors, in both worlds.
"""

from __future__ import annotations

import threading


class _State(threading.local):
    graphs: list | None = None


_state = _State()


def current_graph():
    """Return the graph that ops are added to on this thread, or None when they run at once."""
    return _state.graphs[-1] if _state.graphs else None


def in_graph() -> bool:
    """Whether ops are being added to a graph on this thread."""
    return bool(_state.graphs) and _state.graphs[-1] is not None


def executing_eagerly() -> bool:
    """Whether ops run at once on this thread."""
    return not in_graph()
