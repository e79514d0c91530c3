"""tf.raw_ops: the ops as they are in the table, all arguments by name."""

from __future__ import annotations

import functools as _functools

from .. import _mica
from . import _rows
from ._missing import missing as _missing_name


def _with_axis(op, name: str, own: str):
    """The op, whose argument of this name may also be called axis, as in TensorFlow's Python."""

    @_functools.wraps(op, assigned=("__doc__",), updated=())
    def call(*args, **keywords):
        if "axis" in keywords:
            keywords[own] = keywords.pop("axis")
        return op(*args, **keywords)

    call.__name__ = name
    return call


def __getattr__(name: str):
    try:
        op = _mica.tf_ops[name]
    except KeyError:
        raise _missing_name(__name__, name) from None
    own = _rows.row_of(name).axis
    return op if own is None else _with_axis(op, name, own)


def __dir__():
    return sorted(_mica.tf_ops)
