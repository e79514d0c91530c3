"""What a .tflite file says, between the file and a graph: values, and the steps that make them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(eq=False)
class Quantization:
    """real = scale (stored - zero_point), for each index along an axis or for all alike."""

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int = 0

    def spread(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Return scales and zero points in a shape that broadcasts with the values."""
        if self.scale.size == 1:
            return self.scale.reshape(()), self.zero_point.reshape(())
        shape = [1] * rank
        shape[self.axis] = -1
        return self.scale.reshape(shape), self.zero_point.reshape(shape)


@dataclass(eq=False)
class Value:
    """A tensor: a constant when it has data. None in the shape is a size that is not known."""

    name: str
    dtype: str
    shape: tuple | None
    data: np.ndarray | None = None
    quantization: Quantization | None = None
    is_variable: bool = False
    index: int = -1  # in the file

    @property
    def rank(self) -> int | None:
        """The number of axes."""
        return None if self.shape is None else len(self.shape)


@dataclass(eq=False)
class Step:
    """One operator: an op of the table with its options."""

    op: str
    inputs: list  # of Value or None
    outputs: list
    options: dict = field(default_factory=dict)


@dataclass(eq=False)
class Plan:
    """A subgraph, and the signature that it is called by."""

    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    values: list = field(default_factory=list)  # of a file that was read: all, by index
    name: str = "main"
    key: str = "serving_default"
    input_names: list = field(default_factory=list)
    output_names: list = field(default_factory=list)
    named_inputs: dict = field(default_factory=dict)  # of a file that was read: values by name
    named_outputs: dict = field(default_factory=dict)

    def users(self) -> dict:
        """Return the steps that take each value; a result of the plan has one more, None."""
        found: dict = {}
        for step in self.steps:
            for value in step.inputs:
                found.setdefault(value, []).append(step)
        for value in self.outputs:
            found.setdefault(value, []).append(None)
        return found

    def replace(self, old: Value, new: Value) -> None:
        """Let every step that takes one value take another."""
        for step in self.steps:
            step.inputs = [new if value is old else value for value in step.inputs]
        self.outputs = [new if value is old else value for value in self.outputs]
