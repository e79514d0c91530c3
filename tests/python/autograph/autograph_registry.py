"""The list of AutoGraph's cases: functions with control flow over tensors, and their inputs.

``@case(inputs, ...)``: every argument is a tuple of inputs for one call. Numbers, lists and arrays
become tensors; `Py(value)` stays a Python value. The functions are run eagerly and as tf.function;
the results are equal. ``beyond=True`` marks what the real TensorFlow refuses to convert.
`tensorflow` is whatever the process has under that name.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class Py(NamedTuple):
    """An argument that stays a Python value."""

    value: object


class Case(NamedTuple):
    """A function, its inputs, and in how many traces they should be served."""

    function: object
    inputs: tuple
    traces: int
    beyond: bool


CASES: list[Case] = []


def case(*inputs, traces=1, beyond=False):
    """Register a function with its inputs."""

    def register(function):
        CASES.append(Case(function, inputs, traces, beyond))
        return function

    return register


def argument(value):
    """What a function is called with."""
    return value.value if isinstance(value, Py) else tf.constant(value)
