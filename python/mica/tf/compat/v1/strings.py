"""`tf.compat.v1.strings`: functions whose arguments TensorFlow 1 orders or names otherwise.

The rest is `tf.strings`.
"""

from __future__ import annotations

from ... import _dtypes
from ... import strings as _strings
from ..._core import convert_to_tensor as _convert
from ..._missing import missing as _missing_name
from ._arguments import either as _either
from ._arguments import needed as _needed

__all__ = ["length", "reduce_join", "split", "substr", "to_number"]


def length(input, name=None, unit="BYTE"):
    """Return the length of each string."""
    return _strings.length(input, unit, name)


def substr(input, pos, len, name=None, unit="BYTE"):
    """Return a part of each string."""
    return _strings.substr(input, pos, len, unit, name)


def reduce_join(
    inputs,
    axis=None,
    keep_dims=None,
    separator="",
    name=None,
    reduction_indices=None,
    keepdims=None,
):
    """Return strings joined along axes."""
    keep = _either("keepdims", keepdims, "keep_dims", keep_dims)
    axis = _either("axis", axis, "reduction_indices", reduction_indices)
    return _strings.reduce_join(inputs, axis, bool(keep), separator, name)


def to_number(string_tensor=None, out_type=_dtypes.float32, name=None, input=None):
    """Return the numbers that strings spell."""
    text = _either("input", input, "string_tensor", string_tensor)
    _needed("to_number", input=text)
    return _strings.to_number(text, out_type, name)


def split(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):
    """Return the parts of each string as a sparse or as a ragged tensor."""
    text = _either("input", source, "source", input)
    _needed("split", input=text)
    kind = result_type.lower()
    if kind not in ("sparsetensor", "raggedtensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    text = _convert(text, _dtypes.string)
    if kind == "sparsetensor" and text.shape.rank == 0:
        text = text[None]
    ragged = _strings.split(text, sep, maxsplit, name)
    return ragged.to_sparse() if kind == "sparsetensor" else ragged


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_strings, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in dir(_strings) if not n.startswith("_"))})
