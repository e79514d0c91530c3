"""tf.raw_ops: the ops as they are in the table, all arguments by name."""

from __future__ import annotations

import functools as _functools
import inspect as _inspect

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
    signature = _inspect.signature(op)
    call.__signature__ = signature.replace(
        parameters=[
            each.replace(name="axis") if each.name == own else each
            for each in signature.parameters.values()
        ]
    )
    return call


def _with_lists(op, row):
    """The op, each of whose outputs that is several tensors is a list of them."""
    order = [argument.name for argument in row.inputs]
    order += [name for name in row.kinds if name not in row.inferred]

    def size(output, given: dict) -> int:
        attribute = output.count or output.type
        if attribute in row.inferred:  # as many as an input has
            source = next(i for i in row.inputs if attribute in (i.count, i.type))
            return len(given[source.name])
        value = given.get(attribute)
        if value is None:
            value = row.defaults[attribute]
        return int(value) if output.count else len(value)

    @_functools.wraps(op, assigned=("__doc__",), updated=())
    def call(*args, **keywords):
        results = op(*args, **keywords)
        parts = iter(results if isinstance(results, (list, tuple)) else [results])
        given = dict(zip(order, args, strict=False)) | keywords
        return tuple(
            next(parts) if output.is_plain else [next(parts) for _ in range(size(output, given))]
            for output in row.outputs
        )

    call.__name__ = row.name
    return call


def __getattr__(name: str):
    try:
        op = _mica.tf_ops[name]
    except KeyError:
        raise _missing_name(__name__, name) from None
    row = _rows.row_of(name)
    if len(row.outputs) > 1 and not all(output.is_plain for output in row.outputs):
        op = _with_lists(op, row)
    return op if row.axis is None else _with_axis(op, name, row.axis)


def __dir__():
    return sorted(_mica.tf_ops)
