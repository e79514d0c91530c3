"""How tensors, variables and structures of them are written: `repr`, `str`, tf.print.

Everything here works on numpy arrays; a tensor is asked for its array by those who call.
"""

from __future__ import annotations

import pprint
from collections.abc import Callable, Sequence

import numpy as np

from .. import _mica
from . import _nest as nest
from ._core import ops
from ._dtypes import float32, has_numpy_type

# What TensorFlow puts where the text of a tensor will stand.
PLACEHOLDER = "{}"
_MARK = "\ue000"


def numpy_text(array: np.ndarray, is_repr: bool = False) -> str:
    """An array as text: numpy's own, and the Python number of a scalar."""
    if array.ndim == 0:
        if is_repr:
            return repr(array.item())
        return str(array[()]) if array.dtype != object else repr(array.item())
    return repr(array) if is_repr else str(array)


def _on_its_own_line(text: str) -> str:
    return "\n" + text if "\n" in text else text


def eager_repr(array: np.ndarray, shape: object, dtype_name: str) -> str:
    """`repr` of a tensor with a value."""
    text = _on_its_own_line(numpy_text(array, is_repr=True))
    return f"<tf.Tensor: shape={shape}, dtype={dtype_name}, numpy={text}>"


def eager_str(array: np.ndarray, shape: object, dtype_name: str) -> str:
    """`str` of a tensor with a value."""
    text = _on_its_own_line(numpy_text(array))
    return f"tf.Tensor({text}, shape={shape}, dtype={dtype_name})"


def symbolic_repr(name: str, shape: object, dtype_name: str) -> str:
    """`repr` of a tensor of a graph."""
    return f"<tf.Tensor '{name}' shape={shape} dtype={dtype_name}>"


def symbolic_str(name: str, shape: object, dtype_name: str) -> str:
    """`str` of a tensor of a graph; a shape of unknown rank is left out."""
    known = "" if str(shape) == "<unknown>" else f", shape={shape}"
    return f'Tensor("{name}"{known}, dtype={dtype_name})'


def variable_repr(name: str, shape: object, dtype_name: str, array: np.ndarray | None) -> str:
    """`repr` of a variable; without a value while a function is traced."""
    value = ""
    if array is not None:
        value = f", numpy={_on_its_own_line(numpy_text(array, is_repr=True))}"
    return f"<tf.Variable '{name}' shape={shape} dtype={dtype_name}{value}>"


def array_of(tensor: object) -> np.ndarray:
    """The value of an eager tensor or variable as an array; strings are objects.

    A dtype that numpy has by a package which is not there is shown as float32.
    """
    if tensor.dtype.is_floating and not has_numpy_type(tensor.dtype):
        tensor = ops["Cast"](tensor, DstT=float32)
    value = tensor.numpy()
    return np.array(value, dtype=object) if isinstance(value, bytes) else np.asarray(value)


def _is_eager(tensor: object) -> bool:
    return isinstance(tensor, _mica.TFEagerTensor)


def tensor_repr(tensor: object) -> str:
    """`repr` of a tensor."""
    if not _is_eager(tensor):
        return symbolic_repr(tensor.name, tensor.shape, tensor.dtype.name)
    if not tensor.dtype.is_numpy_compatible:
        return f"<tf.Tensor: shape={tensor.shape}, dtype={tensor.dtype.name}, value=<unprintable>>"
    return eager_repr(array_of(tensor), tensor.shape, tensor.dtype.name)


def tensor_str(tensor: object) -> str:
    """`str` of a tensor."""
    if not _is_eager(tensor):
        return symbolic_str(tensor.name, tensor.shape, tensor.dtype.name)
    if not tensor.dtype.is_numpy_compatible:
        return f"tf.Tensor(<unprintable>, shape={tensor.shape}, dtype={tensor.dtype.name})"
    return eager_str(array_of(tensor), tensor.shape, tensor.dtype.name)


def number_text(value: object, dtype: np.dtype) -> str:
    """A number as tf.print writes it: the fewest of 6 or 9 (15 or 17) digits that bring it back."""
    if dtype.kind == "b":
        return "1" if value else "0"
    if dtype.kind in "iu":
        return str(int(value))
    if dtype.kind == "c":
        return "?"
    number = float(value)
    if number != number:
        return "nan"
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    if dtype == np.float64:
        short = f"{number:.15g}"
        return short if float(short) == number else f"{number:.17g}"
    short = f"{number:.6g}"
    if np.float32(short) == np.float32(number):
        return short
    return f"{number:.9g}"


_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def quoted(value: bytes) -> bytes:
    """A string of an array as tf.print writes it: in quotes, with escapes."""
    text = bytearray(b'"')
    for byte in value:
        if byte in _ESCAPES:
            text += _ESCAPES[byte].encode()
        elif byte >= 32 and byte != 127:
            text.append(byte)
        else:
            text += f"\\{byte:03o}".encode()
    return bytes(text + b'"')


def tensor_text(array: np.ndarray, summarize: int | None = 3, quote_scalar: bool = False) -> bytes:
    """An array as tf.print writes it.

    Parameters
    ----------
    summarize
        How many elements are written at both ends of every axis; -1 for all.
    quote_scalar
        Whether a single string stands in quotes.
    """
    summarize = 3 if summarize is None else summarize
    if summarize == 0 and array.ndim == 0:
        return b"..."
    if array.dtype == object or array.dtype.kind in "SU":

        def text(value: object) -> bytes:
            value = value.encode() if isinstance(value, str) else bytes(value)
            return quoted(value) if array.ndim or quote_scalar else value
    else:

        def text(value: object) -> bytes:
            return number_text(value, array.dtype).encode()

    # No axis shows more than there are elements in all.
    shown = min(summarize, array.size) if summarize >= 0 or array.size == 0 else None
    return _axis_text(array, 0, array.ndim, shown if shown is None else max(shown, 0), text)


def _axis_text(array, axis: int, rank: int, shown: int | None, text: Callable) -> bytes:
    if axis == rank:
        return text(array[()] if isinstance(array, np.ndarray) else array)
    size = array.shape[0]
    between = b" " if axis == rank - 1 else b"\n" * (rank - axis - 1) + b" " * (axis + 1)
    cut = shown is not None and size > 2 * shown
    front = range(shown) if cut else range(size)
    back = range(size - shown, size) if cut else ()
    parts = between.join(_axis_text(array[i], axis + 1, rank, shown, text) for i in front)
    if cut:
        parts += between + b"..."
        for i in back:
            parts += between + _axis_text(array[i], axis + 1, rank, shown, text)
    return b"[" + parts + b"]"


class _Hole:
    def __repr__(self) -> str:
        return _MARK


def template_of(values: Sequence, is_tensor: Callable, separator: str) -> tuple[list, list]:
    """The text around the tensors of tf.print's arguments.

    Returns
    -------
    tuple
        The pieces of text, one more than there are tensors; and pairs of a tensor and whether a
        string in it stands in quotes: all but a single string that is the only argument do.
    """
    parts: list[str] = []
    tensors: list[tuple] = []
    for value in values:
        if is_tensor(value):
            tensors.append((value, len(values) > 1))
            parts.append(_MARK)
        elif isinstance(value, str):
            parts.append(value.replace(_MARK, ""))
        elif nest.is_nested(value):
            flat = nest.flatten(value)
            tensors += [(atom, True) for atom in flat if is_tensor(atom)]
            holes = [_Hole() if is_tensor(atom) else atom for atom in flat]
            parts.append(pprint.pformat(nest.pack_sequence_as(value, holes)))
        else:
            parts.append(pprint.pformat(value))
    return separator.join(parts).split(_MARK), tensors


def filled(pieces: Sequence[str], texts: Sequence[bytes]) -> bytes:
    """The pieces of a template with texts between them."""
    done = [pieces[0].encode()]
    for text, piece in zip(texts, pieces[1:], strict=True):
        done += [text, piece.encode()]
    return b"".join(done)


def check_template(template: str, count: int, placeholder: str = PLACEHOLDER) -> list[str]:
    """The pieces of tf.strings.format's template.

    Raises
    ------
    ValueError
        If it has not as many places as there are tensors.
    """
    pieces = template.split(placeholder)
    if len(pieces) - 1 != count:
        raise ValueError(
            f"The template expects {len(pieces) - 1} tensors, but the inputs only has {count}. "
            f"Please ensure the number of placeholders in template matches inputs length."
        )
    return pieces
