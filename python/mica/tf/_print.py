"""tf.print and tf.debugging.Assert."""

from __future__ import annotations

import sys

from .. import _mica
from . import _dtypes, errors
from ._core import Tensor, convert_to_tensor, ops
from ._graph import last_operation
from ._variable import Variable

_STREAMS = ("stdout", "stderr", "log(info)", "log(warning)", "log(error)")


def _stream(output_stream) -> str:
    if output_stream is sys.stdout:
        return "stdout"
    if output_stream is sys.stderr or output_stream is None:
        return "stderr"
    name = getattr(output_stream, "name", output_stream)
    if name in ("<stdout>", "<stderr>"):
        return name[1:-1]
    if isinstance(name, str) and (name in _STREAMS or name.startswith("file://")):
        return name
    raise ValueError(f"Unknown output stream: {output_stream!r}")


def _has_array(value) -> bool:
    return isinstance(value, _mica.TFEagerTensor) and value.dtype.is_numpy_compatible


def _is_one_string(inputs) -> bool:
    return len(inputs) == 1 and isinstance(inputs[0], Tensor) and inputs[0].shape.rank == 0


def print(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):
    """Write values when they are computed, in functions too.

    Parameters
    ----------
    inputs
        Tensors, and anything with them inside; the rest is written as Python does.
    output_stream
        sys.stderr (the default), sys.stdout, or the name of a log or file ("file://...").
    summarize
        How many elements at both ends of each axis are written; -1 for all.
    """
    from . import _printing

    def is_tensor(value) -> bool:
        return isinstance(value, Tensor | Variable)

    stream = _stream(output_stream)
    pieces, tensors = _printing.template_of(inputs, is_tensor, sep)
    values = [convert_to_tensor(tensor) for tensor, _ in tensors]
    if _mica.tf_executing_eagerly() and all(map(_has_array, values)):
        texts = [
            _printing.tensor_text(_printing.array_of(v), summarize, quoted)
            for v, (_, quoted) in zip(values, tensors, strict=True)
        ]
        text = convert_to_tensor(_printing.filled(pieces, texts), _dtypes.string)
    elif _is_one_string(inputs) and values[0].dtype == _dtypes.string:
        text = values[0]  # a single string stands without quotes
    else:
        template = "\ue001".join(pieces)
        text = ops["StringFormat"](
            values, template=template, placeholder="\ue001", summarize=summarize
        )
    ops["PrintV2"](text, output_stream=stream, end=end)


def Assert(condition, data, summarize=None, name=None):
    """Raise an InvalidArgumentError with the data unless the condition is true.

    In a graph it is an operation that does so when it runs.
    """
    summarize = 3 if summarize is None else summarize
    condition = convert_to_tensor(condition, _dtypes.bool)
    if not isinstance(data, list | tuple):
        data = [data]
    if isinstance(condition, _mica.TFEagerTensor) and _mica.tf_executing_eagerly():
        if not condition:
            parts = [str(convert_to_tensor(d).numpy()) for d in data]
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected '{condition!s}' to be true. Summarized data: " + "\n".join(parts),
            )
        return None
    ops["Assert"](condition, [convert_to_tensor(d) for d in data], summarize=summarize)
    return last_operation()
