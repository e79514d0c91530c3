"""Bases of values that stand for tensors without being one."""

from __future__ import annotations

from .. import _mica
from ._core import Tensor
from ._variable import Variable


class CompositeTensor:
    """Base of values that are made of tensors; `_type_spec` says how.

    `_is_tensor` says whether such a value stands for one tensor: datasets and iterators do not.
    """

    _is_tensor = False

    @property
    def _type_spec(self):
        raise NotImplementedError(f"{type(self).__name__}._type_spec")


class TensorLike:
    """Base of values that convert to a tensor (`tf.__internal__.types.Tensor`)."""


def is_tensor(x: object) -> bool:
    """Whether it is a tensor, or a value that stands for one."""
    if isinstance(x, CompositeTensor):
        return x._is_tensor
    return isinstance(x, Tensor | Variable | TensorLike)


def is_symbolic_tensor(tensor: object) -> bool:
    """Whether it is a tensor of a graph."""
    return isinstance(tensor, _mica.TFSymbolicTensor)
