"""What replicas of several processes do together, eagerly and as parts of functions."""

from __future__ import annotations

import functools

from ... import _mica
from .. import gather, reduce_sum, shape
from .. import range as counted
from .._context import building, executing_eagerly
from .._core import convert_to_tensor, ops
from .._custom_gradient import custom_gradient
from ._group import Group
from ._strategy import ReduceOp


class Collectives:
    """The way from this process's replica to those of the others."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.index, self.count, self.engine = group.index, group.count, group.engine
        self._numbers: dict[str, _mica.TFFunction] = {}

    def _meet(self, what: str, tensors: list) -> list:
        """A meeting now, or a node of the graph that meets when it runs."""
        if executing_eagerly():
            return self._group.meet(what, tensors)
        number = self._numbers.get(what)
        if number is None:
            meet = functools.partial(_meeting, self._group, what)
            number = self._numbers[what] = _mica.TFFunction(meet)
        return list(ops["PyFunc"](tensors, token=number, Tout=[t.dtype for t in tensors]))

    def _summed(self, tensors: list) -> list:
        found = self._meet("sum", tensors)
        for tensor, given in zip(found, tensors, strict=True):
            if not executing_eagerly():
                tensor.set_shape(given.shape)
        return found

    def all_reduce(self, kind: ReduceOp, values: list) -> list:
        """The sums or the means of the values of all workers, in one meeting."""

        def reduced(tensors: list) -> list:
            found = self._summed(tensors)
            return [f / self.count for f in found] if kind is ReduceOp.MEAN else found

        @custom_gradient
        def call(*tensors):
            return reduced(list(tensors)), lambda *cotangents: reduced(list(cotangents))

        tensors = [convert_to_tensor(value) for value in values]
        return list(call(*tensors)) if tensors else []

    def all_gather(self, value, axis: int):
        """The values of all workers side by side along an axis."""
        value = convert_to_tensor(value)
        axis = int(axis)
        rank = value.shape.rank
        if rank is not None and not -rank <= axis < rank:
            raise ValueError(f"all_gather: axis {axis} is out of range for rank {rank}")

        def gathered(x):
            (found,) = self._meet(f"axis {axis}", [x])
            if not executing_eagerly() and rank is not None:
                sizes = x.shape.as_list()
                sizes[axis] = None
                found.set_shape(sizes)
            return found

        @custom_gradient
        def call(x):
            return gathered(x), lambda cotangent: self._own_part(cotangent, x, axis)

        return call(value)

    def _own_part(self, cotangent, x, axis: int):
        """The part of the workers' summed cotangents that is of this one's value."""
        size = shape(x)[axis]
        (sizes,) = self._meet("axis 0", [size[None]])
        (total,) = self._summed([cotangent])
        before = reduce_sum(sizes[: self.index])
        return gather(total, counted(before, before + size), axis=axis)

    def first(self, value):
        """The first worker's value."""
        value = convert_to_tensor(value)
        (found,) = self._meet("first", [value])
        if not executing_eagerly():
            found.set_shape(value.shape)
        return found


def _meeting(group: Group, what: str, *tensors) -> list:
    with building(None):
        return group.meet(what, list(tensors))
