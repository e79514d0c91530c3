"""The arguments of the functions that are asked, out of tests/tf/api.txt, and how often a call
gives each something other than its default."""

from __future__ import annotations

import collections
import functools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tf"))

import api


@functools.cache
def rows() -> dict[str, api.Row]:
    return api.read()


@functools.cache
def arguments(name: str) -> dict[str, str]:
    """A function's arguments in order, each with its default as the table spells it, or ""."""
    return api.split(rows()[name].arguments) if name in rows() else {}


@functools.cache
def parameters(name: str) -> frozenset[str]:
    return frozenset(arguments(name))


def _spelled(value: object) -> str:
    if isinstance(value, dict) and "d" in value:
        return f"tf.{value['d']}"
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else repr(value)


def given(call: dict) -> list[str]:
    """The arguments of a call that are not at their defaults."""
    known = arguments(call["f"])
    names = list(known)
    found = []
    for i, (key, value) in enumerate(call["a"]):
        name = key or (names[i] if i < len(names) else "")
        if name in known and (not known[name] or _spelled(value) != known[name]):
            found.append(name)
    return found


def counts(calls: list[dict]) -> collections.Counter:
    """(function, argument) to how many calls give it something other than its default."""
    return collections.Counter((call["f"], name) for call in calls for name in given(call))
