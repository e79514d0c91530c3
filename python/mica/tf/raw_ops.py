"""tf.raw_ops: the ops as they are in the table, all arguments by name."""

from __future__ import annotations

import functools as _functools

from .. import _mica
from ._missing import missing as _missing_name

# What these call axis in Python has another name in graphs.
_AXIS = {
    "ExpandDims": "dim",
    "Squeeze": "squeeze_dims",
    "Split": "split_dim",
    "SplitV": "split_dim",
} | dict.fromkeys(("All", "Any", "Max", "Mean", "Min", "Prod", "Sum"), "reduction_indices")


def _with_axis(name: str):
    op, own = _mica.tf_ops[name], _AXIS[name]

    @_functools.wraps(op, assigned=("__doc__",), updated=())
    def call(*args, **keywords):
        if "axis" in keywords:
            keywords[own] = keywords.pop("axis")
        return op(*args, **keywords)

    call.__name__ = name
    return call


def __getattr__(name: str):
    if name in _AXIS:
        return _with_axis(name)
    try:
        return _mica.tf_ops[name]
    except KeyError:
        raise _missing_name(__name__, name) from None


def __dir__():
    return sorted(_mica.tf_ops)
