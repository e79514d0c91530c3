"""The reviewed disagreements: disagreements.txt, paragraphs of a reason and its calls.

# The reason why these answers differ, in a line or more.
0f3a91c2 math.zeta: result: values
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from pathlib import Path

FILE = Path(__file__).resolve().parent / "disagreements.txt"
TENTH = 10
UNSEEN = "Not examined yet."


def key(call: dict) -> str:
    """A call's name in the list: of its text, so that it stays when others come and go."""
    return hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()[:8]


def in_tenth(call: dict) -> bool:
    """Whether the call is among those that `make test` runs."""
    return int(key(call), 16) % TENTH == 0


def read(path: Path = FILE) -> dict[str, str]:
    """Key to reason."""
    found: dict[str, str] = {}
    reason: list[str] = []
    fresh = True
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            reason = [line[1:].strip()] if fresh else [*reason, line[1:].strip()]
            fresh = False
        elif line.strip():
            if not reason:
                raise ValueError(f"{path.name}: a call without a reason: {line}")
            if line.split()[0] in found:
                raise ValueError(f"{path.name}: a call twice: {line}")
            found[line.split()[0]] = " ".join(reason)
            fresh = True
    return found


def faults(rows: list[tuple]) -> list[str]:
    """What the list does not say of these compared calls: (call, wanted, found, what differs)."""
    listed = read()
    found = []
    for call, _, _, what in rows:
        name = key(call)
        if what and name not in listed:
            found.append(f"{name} {call['f']}: {what}")
        if not what and name in listed:
            found.append(f"{name} {call['f']} agrees: take it out of {FILE.name}")
    return found


def write(rows: list[tuple], path: Path = FILE) -> None:
    """Lists the calls that differ: with their reasons where they were listed, else as unseen."""
    listed = read(path)
    paragraphs: dict[str, list[str]] = {}
    for call, _, _, what in rows:
        if what:
            reason = listed.get(key(call), UNSEEN)
            paragraphs.setdefault(reason, []).append(f"{key(call)} {call['f']}: {what}")
    texts = []
    for reason in sorted(paragraphs, key=lambda reason: (reason == UNSEEN, reason)):
        lines = textwrap.wrap(reason, 98, initial_indent="# ", subsequent_indent="# ")
        texts.append("\n".join([*lines, *paragraphs[reason]]))
    path.write_text("\n\n".join(texts) + "\n")
