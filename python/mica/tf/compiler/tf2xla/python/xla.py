"""Ops of XLA."""

from __future__ import annotations

from ...._core import convert_to_tensor, ops


def dynamic_update_slice(x, update, indices):
    """The tensor with a part written over, from the place that `indices` say on."""
    x = convert_to_tensor(x)
    return ops["XlaDynamicUpdateSlice"](
        x, convert_to_tensor(update, dtype_hint=x.dtype), convert_to_tensor(indices)
    )


__all__ = ["dynamic_update_slice"]
