"""Bases of values that stand for tensors without being one."""

from __future__ import annotations


class CompositeTensor:
    """Base of values that are made of tensors; `_type_spec` says how."""

    @property
    def _type_spec(self):
        raise NotImplementedError(f"{type(self).__name__}._type_spec")


class TensorLike:
    """Base of values that convert to a tensor (`tf.__internal__.types.Tensor`)."""
