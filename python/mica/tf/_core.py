"""The ground of mica.tf: registers with the C part what it needs of Python.

Everything here is called from C, or makes tensors of Python data.
"""

from __future__ import annotations

import gc
import os
import sys

import numpy

from .. import _mica
from . import _dtypes, errors
from ._shapes import TensorShape

ops = _mica.tf_ops
Tensor = _mica.TFTensor

_INTEGER, _FLOATING, _COMPLEX = 1, 2, 3
# The names that numpy (with ml_dtypes) and Mica have for 8-bit floats.
_FLOAT8 = {"float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2"}


def _numpy():
    return numpy


# ---- tensors from Python data ------------------------------------------------------------------


def _kind(dtype: _dtypes.DType) -> int:
    if dtype.is_integer:
        return _INTEGER
    if dtype.is_floating:
        return _FLOATING
    return _COMPLEX if dtype.is_complex else 0


# What Python's True and False may be given for.
_NUMBERS_OF_BOOLS = (
    _dtypes.int32,
    _dtypes.int64,
    _dtypes.float16,
    _dtypes.float32,
    _dtypes.float64,
)


def _may_become(natural: _dtypes.DType, wanted: _dtypes.DType) -> bool:
    """Whether values of one dtype may be given where another is asked for."""
    if natural == wanted:
        return True
    if natural == _dtypes.bool:
        return wanted in _NUMBERS_OF_BOOLS
    source, target = _kind(natural), _kind(wanted)
    return 0 < source <= target or (source == target == _INTEGER)


def has_tensor(value) -> bool:
    """Whether nested sequences have a tensor inside."""
    for item in value:
        if isinstance(item, Tensor) or hasattr(type(item), "__tf_tensor__"):
            return True
        if isinstance(item, list | tuple) and has_tensor(item):
            return True
    return False


def _pack(value, dtype):
    """Stack a sequence with tensors inside; those of another dtype than is asked for are cast."""

    def part(item):
        if isinstance(item, list | tuple) and has_tensor(item):
            return _pack(item, dtype)
        if not isinstance(item, Tensor) and not hasattr(type(item), "__tf_tensor__"):
            return _mica.tf_convert(item, dtype or found)
        tensor = _mica.tf_convert(item)
        if dtype is None or tensor.dtype == dtype:
            return tensor
        return ops["Cast"](tensor, DstT=dtype)

    found = dtype or _first_dtype(value)
    return ops["Pack"]([part(item) for item in value])


def _first_dtype(value):
    for item in value:
        if isinstance(item, Tensor):
            return item.dtype
        if hasattr(type(item), "__tf_tensor__"):
            return getattr(item, "dtype", None)
        if isinstance(item, list | tuple):
            found = _first_dtype(item)
            if found is not None:
                return found
    return None


def _leaf(value):
    """Return the first element of nested sequences."""
    while isinstance(value, list | tuple):
        if not value:
            return None
        value = value[0]
    return value


def _strings(array):
    flat = [
        item if isinstance(item, bytes) else str(item).encode("utf-8")
        for item in array.ravel().tolist()
    ]
    return _mica.tf_strings(list(array.shape), flat)


def _strangers(array) -> list:
    """Elements of an array that are no texts."""
    if array.dtype != object:
        return []
    return [item for item in array.ravel().tolist() if not isinstance(item, str | bytes)]


def _is_text(value) -> bool:
    """Whether all elements of nested sequences are texts."""
    if isinstance(value, list | tuple):
        return all(map(_is_text, value))
    return isinstance(value, str | bytes) or getattr(value, "dtype", None) is not None


def _array_of(value):
    """Return a numpy array with the dtype TensorFlow gives to such data."""
    numpy = _numpy()
    leaf = _leaf(value)
    try:
        array = numpy.array(value)
    except ValueError:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None
    if array.dtype == object:
        if not isinstance(leaf, str | bytes | numpy.ndarray):
            raise ValueError(
                f"Attempt to convert a value ({value!r}) with an unsupported type "
                f"({type(leaf)}) to a Tensor."
            )
    if _strangers(array) or (array.dtype.kind in "SU" and not _is_text(value)):
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    if array.dtype.kind in "SU" and isinstance(value, list | tuple):
        array = numpy.array(value, dtype=object)  # numpy's own strings lose zeros at their ends
    if isinstance(value, list | tuple | range):
        is_numpy = isinstance(leaf, numpy.generic | numpy.ndarray)
        if array.dtype == numpy.float64 and not is_numpy:
            array = array.astype(numpy.float32)
        elif array.dtype.kind == "i":  # of numpy's integers too
            fits = not array.size or (array.max() < 2**31 and array.min() >= -(2**31))
            array = array.astype(numpy.int32 if fits else numpy.int64)
        elif array.size == 0 and not is_numpy:
            array = array.astype(numpy.float32)
    return array


def _unsupported(value):
    return ValueError(
        f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a "
        "Tensor."
    )


def convert(value, dtype, hint: bool):
    """Make a tensor of what is neither a tensor nor a Python scalar."""
    if value is None or isinstance(value, type | dict | set):
        raise _unsupported(value)
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        value = value.as_list()
        if dtype is None or hint:
            dtype, hint = _dtypes.int32, False
        if not value:
            return _mica.tf_convert(_numpy().zeros([0], dtype.as_numpy_dtype))
    if isinstance(value, list | tuple) and has_tensor(value):
        try:
            return _pack(value, dtype)
        except (TypeError, ValueError):
            if not hint:
                raise
        return _pack(value, None)  # a dtype that would have been welcome, and cannot be had
    if isinstance(value, _mica.Tensor):
        tensor = _mica.tf_from_core(value)
    else:
        tensor = _from_array(value, dtype, hint)
    if dtype is not None and not hint and tensor.dtype != dtype:
        raise TypeError(f"Cannot convert {value!r} to a Tensor of dtype {dtype.name}")
    return tensor


def _cast_array(array, natural, dtype):
    if natural.is_complex and not dtype.is_complex:
        array = array.real
    return array.astype(dtype.as_numpy_dtype)


def _from_array(value, dtype, hint: bool):
    numpy = _numpy()
    if not isinstance(value, numpy.ndarray):
        if not isinstance(value, list | tuple | range) and not hasattr(value, "__array__"):
            if not hasattr(value, "__iter__"):
                raise _unsupported(value)
            value = list(value)
    is_sequence = isinstance(value, list | tuple | range)
    # What else has an array is taken as that: a Series of pandas', say.
    array = _array_of(value) if is_sequence else numpy.asarray(value)
    if array.dtype == object and not is_sequence:
        if dtype is not None and dtype != _dtypes.string and not hint:
            array = array.astype(dtype.as_numpy_dtype)
        elif _strangers(array):
            kind = type(_strangers(array)[0]).__name__
            raise ValueError(
                f"Failed to convert a NumPy array to a Tensor (Unsupported object type {kind})."
            )
    if array.dtype.kind in "SUO":
        if dtype is not None and dtype != _dtypes.string and not hint:
            raise TypeError(f"Cannot convert {value!r} to a Tensor of dtype {dtype.name}")
        return _strings(array)
    natural = _dtypes.as_dtype(array.dtype)
    if dtype is not None and natural != dtype:
        # Arrays of numpy take the dtype that is asked for, whatever theirs is; sequences only one
        # that holds what they hold.
        from_sequence = isinstance(value, list | tuple)
        is_empty = array.size == 0 and from_sequence
        if is_empty and dtype == _dtypes.string:
            return _strings(array)
        if (not from_sequence and dtype != _dtypes.string) or is_empty:
            array = _cast_array(array, natural, dtype)
        elif _may_become(natural, dtype):
            whole = array if array.dtype.kind == "b" else numpy.asarray(value)
            array = whole.astype(dtype.as_numpy_dtype)
        elif not hint:
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    if array.dtype.name == "bfloat16":
        core = _mica.tensor(array.astype(numpy.float32)).astype("bf16")
    elif array.dtype.name in _FLOAT8:
        codes = numpy.ascontiguousarray(array).reshape(array.shape).view(numpy.uint8)
        core = _mica.bitcast(_mica.tensor(codes), dtype=_FLOAT8[array.dtype.name])
    else:
        core = _mica.tensor(numpy.ascontiguousarray(array).reshape(array.shape))
    return _mica.tf_from_core(core)


# ---- tensors as numpy's ------------------------------------------------------------------------


def _array(tensor, inner):
    numpy = _numpy()
    if isinstance(inner, list):
        array = numpy.empty(len(inner), dtype=object)
        array[:] = inner
        return array.reshape(tensor.shape.as_list())
    if tensor.dtype.name in _FLOAT8:
        return _mica.bitcast(inner, dtype="u8").numpy().view(tensor.dtype.as_numpy_dtype)
    array = inner.numpy()
    if array.dtype.char in "qQ":
        # numpy has two types of 64 bits; this is the one that programs know.
        array = array.view(numpy.int64 if array.dtype.char == "q" else numpy.uint64)
    if tensor.dtype == _dtypes.bfloat16:
        return array.astype(_dtypes.bfloat16.as_numpy_dtype)
    return array


def to_numpy(tensor, inner):
    """Return the value: an array, or a scalar of numpy (bytes for strings)."""
    array = _array(tensor, inner)
    return array if array.ndim else array[()]


def to_array(tensor, inner, dtype):
    """Return the value as an array, for numpy's own conversion."""
    array = _array(tensor, inner)
    return array if dtype is None else array.astype(dtype)


# ---- what tensors show -------------------------------------------------------------------------


def tensor_repr(tensor) -> str:
    """Return the text of repr(tensor)."""
    from . import _printing

    return _printing.tensor_repr(tensor)


def tensor_str(tensor) -> str:
    """Return the text of str(tensor)."""
    from . import _printing

    return _printing.tensor_str(tensor)


def tensor_format(tensor, specification: str) -> str:
    """Return the text of format(tensor, specification)."""
    if not isinstance(tensor, _mica.TFEagerTensor):
        return format(str(tensor), specification)
    value = tensor.numpy()
    return format(value.item() if getattr(value, "shape", None) == () else value, specification)


class Reference:
    """A hashable reference to a tensor or variable, as ref() gives it."""

    __slots__ = ("_object",)

    def __init__(self, object_) -> None:
        self._object = object_

    def deref(self):
        """Return what it refers to."""
        return self._object

    def __eq__(self, other) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._object!r}>"


def tensor_iter(tensor):
    """Iterate over the first axis."""
    if not isinstance(tensor, _mica.TFEagerTensor):
        raise errors.OperatorNotAllowedInGraphError(
            "Iterating over a symbolic `tf.Tensor` is not allowed. You can attempt the "
            "following resolutions to the problem: If you are running in Graph mode, use "
            "Eager execution mode or decorate this function with @tf.function. If you are "
            "using AutoGraph, it may not see this code."
        )
    if tensor.shape.rank == 0:
        raise TypeError("Cannot iterate over a scalar tensor.")
    return _rows(tensor, len(tensor))


MOST_ROWS = 1024  # that one op hands out


def _rows(tensor, n: int):
    if n <= MOST_ROWS:
        yield from ops["Unpack"](tensor, num=n) if n else ()
        return
    for start in range(0, n, MOST_ROWS):
        part = tensor[start : start + MOST_ROWS]
        yield from ops["Unpack"](part, num=min(MOST_ROWS, n - start))


# ---- printing, functions of Python -------------------------------------------------------------


def print_text(stream: str, text: str) -> None:
    """Write what PrintV2 gives; streams as TensorFlow names them."""
    if stream == "stdout":
        sys.stdout.write(text)
    elif stream.startswith("file://"):
        with open(stream[7:], "a", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stderr.write(text)
        sys.stderr.flush()


def _call_py_function(number: int, function, tensors: list):
    if function is None:
        raise errors.NotFoundError(
            None,
            None,
            f"[PyFunc] function {number} is not registered: its graph outlived the process that "
            "made it",
        )
    before = _mica.tf_set_graph(None)
    try:
        return function(*tensors)
    finally:
        _mica.tf_set_graph(before)


# ---- operators ---------------------------------------------------------------------------------


def _truediv(x, y):
    if x.dtype.is_integer:
        wide = _dtypes.float32 if x.dtype.size < 4 else _dtypes.float64
        if x.dtype != y.dtype:
            raise TypeError(
                f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}."
            )
        x, y = ops["Cast"](x, DstT=wide), ops["Cast"](y, DstT=wide)
    return ops["RealDiv"](x, y)


def _matmul(x, y):
    from . import linalg

    return linalg.matmul(x, y)


def _logical(name: str, bitwise: str):
    def operator(x, y):
        return ops[name if x.dtype == _dtypes.bool else bitwise](x, y)

    return operator


def _xor(x, y):
    if x.dtype == _dtypes.bool:
        return ops["NotEqual"](x, y)
    return ops["BitwiseXor"](x, y)


def _invert(x):
    return ops["LogicalNot"](x) if x.dtype == _dtypes.bool else ops["Invert"](x)


def _abs(x):
    return ops["ComplexAbs"](x, Tout=x.dtype.real_dtype) if x.dtype.is_complex else ops["Abs"](x)


def _equal(name: str, unequal: bool):
    def operator(x, y):
        if isinstance(y, Tensor) and y.dtype != x.dtype:
            return unequal
        if not isinstance(y, Tensor) and hasattr(type(y), "_mica_own_operators"):
            return NotImplemented
        try:
            y = _mica.tf_convert(y, x.dtype)
        except (TypeError, ValueError):
            if isinstance(y, bool | int | float | complex | str | bytes | list | tuple):
                raise
            return unequal
        if x.shape.is_fully_defined() and y.shape.is_fully_defined():
            try:
                _broadcast(x.shape.as_list(), y.shape.as_list())
            except ValueError:
                return _mica.tf_convert(unequal)
        return ops[name](x, y)

    return operator


def _broadcast(a: list, b: list) -> None:
    for x, y in zip(reversed(a), reversed(b), strict=False):
        if x != y and x != 1 and y != 1:
            raise ValueError


def _gather_gradient(params, indices, axis, cotangent):
    from ._slices import gather_gradient

    return gather_gradient(params, indices, axis, cotangent)


def _add_gradients(a, b):
    from ._slices import add_gradients

    return add_gradients(a, b)


def _operation_of(graph, node: int):
    from ._graph import Operation

    return Operation(graph, node)


def _eval(tensor, feed_dict, session):
    from ._session import evaluate

    return evaluate(tensor, feed_dict, session)


def _getitem(tensor, key):
    from ._index import getitem

    return getitem(tensor, key)


_mica.tf_register(
    {n: d for n, d in _dtypes._BY_NUMBER.items() if 0 < n < 32},
    {
        "as_dtype": _dtypes.as_dtype,
        "TensorShape": TensorShape,
        "convert": convert,
        "to_numpy": to_numpy,
        "to_array": to_array,
        "tensor_repr": tensor_repr,
        "tensor_str": tensor_str,
        "tensor_format": tensor_format,
        "tensor_eval": _eval,
        "tensor_ref": Reference,
        "tensor_iter": tensor_iter,
        "tensor_getitem": _getitem,
        "operation_of": _operation_of,
        "raise_error": errors.raise_error,
        "OperatorNotAllowedInGraphError": errors.OperatorNotAllowedInGraphError,
        "UnimplementedError": errors.UnimplementedError,
        "InaccessibleTensorError": errors.InaccessibleTensorError,
        "print": print_text,
        "py_func": _call_py_function,
        "operator_truediv": _truediv,
        "operator_floordiv": lambda x, y: ops["FloorDiv"](x, y),
        "operator_mod": lambda x, y: ops["FloorMod"](x, y),
        "operator_matmul": _matmul,
        "operator_and": _logical("LogicalAnd", "BitwiseAnd"),
        "operator_or": _logical("LogicalOr", "BitwiseOr"),
        "operator_xor": _xor,
        "operator_abs": _abs,
        "operator_invert": _invert,
        "operator_eq": _equal("Equal", False),
        "operator_ne": _equal("NotEqual", True),
        "add_gradients": _add_gradients,
        "gather_gradient": _gather_gradient,
    },
)
_mica.tf_start()
gc.callbacks.append(_mica.tf_collecting)
if os.environ.get("TF_CPP_MIN_VLOG_LEVEL", "0").strip() not in ("", "0"):
    _mica.tf_log_eager(True)


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None):
    """Return the value as a tensor.

    Parameters
    ----------
    value
        A tensor, a Python scalar, nested sequences, an array of numpy, a variable.
    dtype
        The element type; by the data when it is None.
    dtype_hint
        A dtype to prefer when dtype is None.
    """
    if dtype is None and dtype_hint is not None:
        return _mica.tf_convert(value, dtype_hint, True)
    return _mica.tf_convert(value, dtype)
