"""The table of TensorFlow Lite's operators: one row for each, with both directions.

    row("EXP", 47, "Exp", "1.7.0", run=unary("Exp"), of="Exp")

A row has the operator's name and number in files, the name of its options, the first runtime that
knows each of its versions, `run`, which makes the operator of tensors and options, and `of`: the
TensorFlow ops that it is, operand for operand. Where more is to be done on the way to the
operator, a function under `@writes(op)` does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._core import ops
from .._static import static_value
from ._plan import Step, Value


@dataclass(frozen=True)
class Row:
    """One operator."""

    name: str
    code: int
    options: str | None
    since: tuple  # the runtime that has version 1, 2, ...
    run: Callable | None
    integers: bool  # whether operands stay as they are stored


ROWS: dict[str, Row] = {}
BY_CODE: dict[int, Row] = {}
WRITERS: dict[str, Callable] = {}  # by TensorFlow's op
COMPUTED = ("float32", "int32", "int64", "bool", "string")  # what kernels generally take


class ConverterError(Exception):
    """A model that TensorFlow Lite has no operators for."""


def row(name, code, options, since, run, of: str = "", integers: bool = False) -> None:
    """Add a row."""
    ROWS[name] = BY_CODE[code] = Row(name, code, options, tuple(since.split()), run, integers)
    for op in of.split():
        WRITERS[op] = _plainly(name)


def _plainly(name: str):
    def write(node, make):
        return make(name, node.inputs)

    return write


def writes(*names: str):
    """Let a function of a node and a maker write these ops."""

    def add(function):
        for name in names:
            WRITERS[name] = function
        return function

    return add


# ---- helpers of `run` ----------------------------------------------------------------------------


def unary(op: str):
    """An op of the first operand."""
    return lambda x, o: ops[op](x[0])


def binary(op: str):
    """An op of two operands."""
    return lambda x, o: ops[op](x[0], x[1])


def ints(tensor) -> list[int]:
    """The integers of an operand that has to be known."""
    value = None if tensor is None else static_value(tensor)
    if value is None:
        raise ValueError("an operand that has to be known depends on the inputs' values")
    return [int(n) for n in np.asarray(value).reshape(-1)]


# ---- nodes on their way to steps -----------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """An op of a frozen graph."""

    op: str
    attributes: dict
    inputs: list  # of Value
    outputs: list
    name: str = ""

    def ints(self, i: int) -> list[int]:
        """The integers of an operand that has to be a constant."""
        data = self.inputs[i].data
        if data is None:
            raise ConverterError(
                f"{self.op} ({self.name}): operand {i} has to be a constant in TensorFlow Lite"
            )
        return [int(n) for n in np.asarray(data).reshape(-1)]


class Maker:
    """Makes the steps of one node; what is called for last gives the node's results."""

    def __init__(self, plan, node: Node) -> None:
        self.plan, self.node = plan, node

    def constant(self, data, dtype=None) -> Value:
        """A constant."""
        data = np.asarray(data, dtype)
        return Value(f"{self.node.name}/const", data.dtype.name, data.shape, data)

    def like(self, number) -> Value:
        """A scalar of the dtype of the first operand."""
        return self.constant(number, self.node.inputs[0].dtype)

    def value(self, dtype: str, shape) -> Value:
        """A value between two steps."""
        return Value(f"{self.node.name}/part{len(self.plan.steps)}", dtype, shape)

    def step(self, op: str, inputs: list, shape=None, dtype=None, **options) -> Value:
        """One step; its result has the dtype and the shape of the first operand unless told."""
        first = inputs[0]
        out = self.value(dtype or first.dtype, first.shape if shape is None else tuple(shape))
        self.plan.steps.append(Step(op, list(inputs), [out], options))
        return out

    def __call__(self, op: str, inputs: list, **options) -> None:
        """The last step: its results are those of the node."""
        self.plan.steps.append(Step(op, list(inputs), list(self.node.outputs), options))
