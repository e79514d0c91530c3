"""Names of nodes: letters that files allow, and no name twice."""

from __future__ import annotations

import re

_BAD = re.compile(r"[^A-Za-z0-9_.\\/>-]")


def allowed(wanted: str) -> str:
    """Return the name with _ for what a name cannot have."""
    return _BAD.sub("_", wanted)


class NodeNames:
    """The names that a graph has given; they differ in more than capitals."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, wanted: str) -> str:
        """Return a name like the wanted one that was not given before."""
        wanted = allowed(wanted).lstrip("_/\\>-") or "node"
        name, n = wanted, 0
        while name.lower() in self._taken:
            n += 1
            name = f"{wanted}_{n}"
        self._taken.add(name.lower())
        return name
