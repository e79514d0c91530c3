"""TensorFlow's element types: `tf.DType`, every name of it, and `tf.as_dtype`.

One row of the table below is one dtype. The numbers are those of TensorFlow's DataType enum, which
files and graphs carry. Some names are known and refused: a value of such a dtype cannot be made
here, but a program that only mentions it still runs.
"""

from __future__ import annotations

import builtins as _builtins

import numpy as _np

_REF_OFFSET = 100

# number, name, kind, bytes of an element, name of the numpy dtype
_TABLE = (
    (1, "float32", "floating", 4, "float32"),
    (2, "float64", "floating", 8, "float64"),
    (3, "int32", "integer", 4, "int32"),
    (4, "uint8", "integer", 1, "uint8"),
    (5, "int16", "integer", 2, "int16"),
    (6, "int8", "integer", 1, "int8"),
    (7, "string", "other", 0, "object"),
    (8, "complex64", "complex", 8, "complex64"),
    (9, "int64", "integer", 8, "int64"),
    (10, "bool", "bool", 1, "bool"),
    (11, "qint8", "quantized", 1, "qint8"),
    (12, "quint8", "quantized", 1, "quint8"),
    (13, "qint32", "quantized", 4, "qint32"),
    (14, "bfloat16", "floating", 2, "bfloat16"),
    (15, "qint16", "quantized", 2, "qint16"),
    (16, "quint16", "quantized", 2, "quint16"),
    (17, "uint16", "integer", 2, "uint16"),
    (18, "complex128", "complex", 16, "complex128"),
    (19, "float16", "floating", 2, "float16"),
    (20, "resource", "other", 0, None),
    (21, "variant", "other", 0, None),
    (22, "uint32", "integer", 4, "uint32"),
    (23, "uint64", "integer", 8, "uint64"),
    (24, "float8_e5m2", "floating", 1, "float8_e5m2"),
    (25, "float8_e4m3fn", "floating", 1, "float8_e4m3fn"),
    (26, "float8_e4m3fnuz", "floating", 1, "float8_e4m3fnuz"),
    (27, "float8_e4m3b11fnuz", "floating", 1, "float8_e4m3b11fnuz"),
    (28, "float8_e5m2fnuz", "floating", 1, "float8_e5m2fnuz"),
    (29, "int4", "integer", 1, "int4"),
    (30, "uint4", "integer", 1, "uint4"),
)

# numpy's structured dtypes of the quantized types, with the names that TensorFlow gives them.
_QUANTIZED_NUMPY = {
    "qint8": _np.int8,
    "quint8": _np.uint8,
    "qint16": _np.int16,
    "quint16": _np.uint16,
    "qint32": _np.int32,
}
_EXTENDED = {
    "bfloat16",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "int4",
    "uint4",
}
# Values of these cannot be made.
_REFUSED = (_EXTENDED - {"bfloat16", "float8_e5m2", "float8_e4m3fn"}) | set(_QUANTIZED_NUMPY)

_REAL_OF = {"complex64": "float32", "complex128": "float64"}
# Range of the types that numpy has no limits for.
_RANGES = {
    "bfloat16": (-3.3895313892515355e38, 3.3895313892515355e38),
    "float8_e5m2": (-57344.0, 57344.0),
    "float8_e4m3fn": (-448.0, 448.0),
    "float8_e4m3fnuz": (-240.0, 240.0),
    "float8_e4m3b11fnuz": (-30.0, 30.0),
    "float8_e5m2fnuz": (-57344.0, 57344.0),
    "int4": (-8, 7),
    "uint4": (0, 15),
}


def _numpy_type(name: str):
    """numpy's scalar type of that name; None where no package that is there has one."""
    if name in _QUANTIZED_NUMPY:
        return _np.dtype([(name, _QUANTIZED_NUMPY[name])])
    if name in _EXTENDED:
        try:
            import ml_dtypes
        except ImportError:
            return None
        return getattr(ml_dtypes, name, None)
    if name == "bool":
        return _np.bool_
    if name == "object":
        return object
    return _np.dtype(name).type


class DType:
    """The type of the elements of a tensor: `tf.float32`, `tf.string` and their like.

    Dtypes are single objects, and compare equal to what `tf.as_dtype` turns into them:
    ``tf.float32 == "float32" == _np.float32``.
    """

    __slots__ = ("_is_ref", "_kind", "_name", "_number", "_numpy", "_size")

    def __init__(self, type_enum: int, handle_data: object = None) -> None:
        other = _BY_NUMBER.get(int(type_enum))
        if other is None:
            raise TypeError(f"{type_enum!r} is not a valid TensorFlow data type.")
        for slot in self.__slots__:
            setattr(self, slot, getattr(other, slot, None))

    @classmethod
    def _make(cls, number: int, name: str, kind: str, size: int, is_ref: bool = False) -> DType:
        self = object.__new__(cls)
        self._number, self._name, self._kind, self._size = number, name, kind, size
        self._is_ref = is_ref
        return self

    @property
    def name(self) -> str:
        """The name, such as ``float32``."""
        return self._name

    @property
    def as_datatype_enum(self) -> int:
        """The number in TensorFlow's DataType enum."""
        return self._number

    @property
    def _type_enum(self) -> int:
        return self._number

    @property
    def _is_ref_dtype(self) -> bool:
        return self._is_ref

    @property
    def _as_ref(self) -> DType:
        return self if self._is_ref else _BY_NUMBER[self._number + _REF_OFFSET]

    @property
    def base_dtype(self) -> DType:
        """The dtype without the mark of a reference."""
        return _BY_NUMBER[self._number - _REF_OFFSET] if self._is_ref else self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part."""
        base = self.base_dtype
        return _BY_NAME[_REAL_OF[base._name]] if base._name in _REAL_OF else self

    @property
    def as_numpy_dtype(self):
        """The numpy scalar type that holds such elements."""
        try:
            return self._numpy
        except AttributeError:
            pass
        if not self.is_numpy_compatible:
            raise TypeError(f"numpy has no dtype for tf.{self._name}.")
        found = _numpy_type(_ROW_OF[self.base_dtype._name][4])
        if found is None:
            raise TypeError(f"tf.{self._name} has no numpy dtype without the package ml_dtypes.")
        self._numpy = found
        return found

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether numpy arrays can hold such elements."""
        return self.base_dtype._name not in ("resource", "variant")

    @property
    def is_bool(self) -> bool:
        """Whether this is `tf.bool`."""
        return self._kind == "bool"

    @property
    def is_integer(self) -> bool:
        """Whether this is a non-quantized integer type."""
        return self._kind == "integer"

    @property
    def is_floating(self) -> bool:
        """Whether this is a real floating point type."""
        return self._kind == "floating"

    @property
    def is_complex(self) -> bool:
        """Whether this is a complex floating point type."""
        return self._kind == "complex"

    @property
    def is_quantized(self) -> bool:
        """Whether this is a quantized type."""
        return self._kind == "quantized"

    @property
    def is_unsigned(self) -> bool:
        """Whether this is a type without negative values."""
        return self.base_dtype._name.startswith("uint")

    @property
    def is_numeric(self) -> bool:
        """Whether this is a numeric type; bool is not."""
        return self._kind in ("integer", "floating", "complex", "quantized")

    def _extreme(self, which: str):
        name = self.base_dtype._name
        if not self.is_numpy_compatible:
            raise TypeError(f"Cannot find {which}imum value of {self!s}.")
        if self._kind in ("quantized", "complex", "bool", "other"):
            kind = "quantized type" if self.is_quantized else "type"
            raise TypeError(f"Cannot find {which}imum value of {self!s} with {kind} {self!s}.")
        if name in _RANGES:
            value = _RANGES[name][which == "max"]
            kind = _numpy_type(name)
            return value if kind is None else kind(value)
        info = (_np.iinfo if self._kind == "integer" else _np.finfo)(self.as_numpy_dtype)
        return getattr(info, which)

    @property
    def min(self):
        """The smallest value that such an element can have."""
        return self._extreme("min")

    @property
    def max(self):
        """The largest value that such an element can have."""
        return self._extreme("max")

    @property
    def limits(self) -> tuple:
        """The range that pixels of this dtype have: (0, 1) for floating types."""
        if self._name not in _IMAGE_RANGES:
            raise ValueError(f"{self!s} does not have defined limits.")
        return _IMAGE_RANGES[self._name]

    @property
    def size(self) -> int:
        """Bytes of one element; 1 for the dtypes whose elements have no size of their own."""
        return self._size

    def is_compatible_with(self, other: object) -> bool:
        """Whether a tensor of the other dtype may stand where one of this is expected."""
        other = as_dtype(other)
        return other._number in (self._number, self.base_dtype._number)

    def is_subtype_of(self, other: object) -> bool:
        """Whether the other is the same dtype."""
        return type(self) is type(other) and self == other

    def most_specific_common_supertype(self, types) -> DType | None:
        """Itself when all the others are the same, else None."""
        return self if all(self == other for other in types) else None

    def placeholder_value(self, placeholder_context: object = None) -> DType:
        """The dtype itself: dtypes pass through tracing as values."""
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is DType:
            return self._number == other._number
        if other is None:
            return False
        try:
            return self._number == as_dtype(other)._number
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._number

    def __int__(self) -> int:
        return self._number

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __repr__(self) -> str:
        return "tf." + self._name

    def __reduce__(self):
        return as_dtype, (self._name,)


_ROW_OF = {row[1]: row for row in _TABLE}
_BY_NAME: dict[str, DType] = {}
_BY_NUMBER: dict[int, DType] = {}
for _number, _name, _kind, _size, _ in _TABLE:
    _BY_NAME[_name] = _BY_NUMBER[_number] = DType._make(_number, _name, _kind, _size)
for _number, _name, _kind, _size, _ in _TABLE:
    _BY_NAME[_name + "_ref"] = _BY_NUMBER[_number + _REF_OFFSET] = DType._make(
        _number + _REF_OFFSET, _name + "_ref", _kind, _size, True
    )

float16 = half = _BY_NAME["float16"]
float32 = _BY_NAME["float32"]
float64 = double = _BY_NAME["float64"]
bfloat16 = _BY_NAME["bfloat16"]
int8 = _BY_NAME["int8"]
int16 = _BY_NAME["int16"]
int32 = _BY_NAME["int32"]
int64 = _BY_NAME["int64"]
uint8 = _BY_NAME["uint8"]
uint16 = _BY_NAME["uint16"]
uint32 = _BY_NAME["uint32"]
uint64 = _BY_NAME["uint64"]
complex64 = _BY_NAME["complex64"]
complex128 = _BY_NAME["complex128"]
bool = _BY_NAME["bool"]
string = _BY_NAME["string"]
resource = _BY_NAME["resource"]
variant = _BY_NAME["variant"]
qint8 = _BY_NAME["qint8"]
quint8 = _BY_NAME["quint8"]
qint16 = _BY_NAME["qint16"]
quint16 = _BY_NAME["quint16"]
qint32 = _BY_NAME["qint32"]
float8_e5m2 = _BY_NAME["float8_e5m2"]
float8_e4m3fn = _BY_NAME["float8_e4m3fn"]
float8_e4m3fnuz = _BY_NAME["float8_e4m3fnuz"]
float8_e4m3b11fnuz = _BY_NAME["float8_e4m3b11fnuz"]
float8_e5m2fnuz = _BY_NAME["float8_e5m2fnuz"]
int4 = _BY_NAME["int4"]
uint4 = _BY_NAME["uint4"]

# Every dtype, references left out.
ALL = tuple(_BY_NAME[row[1]] for row in _TABLE)

# The names that `tf` and `tf.dtypes` show.
PUBLIC_NAMES = (*(row[1] for row in _TABLE if "8_e" not in row[1] and "nt4" not in row[1]),)
PUBLIC_NAMES += ("double", "half")

_IMAGE_RANGES = {
    "bool": (0, True),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int8": (0, 2**7 - 1),
    "int16": (0, 2**15 - 1),
    "int32": (0, 2**31 - 1),
    "int64": (0, 2**63 - 1),
    "float32": (0, 1),
    "float64": (0, 1),
}

# What `as_dtype` has answered before, and what it knows from the start.
_KNOWN: dict = {}


def _fill_known() -> None:
    for name, dtype in _BY_NAME.items():
        _KNOWN[name] = dtype
    _KNOWN.update(half=float16, double=float64)
    _KNOWN["float"] = float32
    _KNOWN["half_ref"] = _BY_NAME["float16_ref"]
    _KNOWN["double_ref"] = _BY_NAME["float64_ref"]
    _KNOWN["float_ref"] = _BY_NAME["float32_ref"]
    for number, dtype in _BY_NUMBER.items():
        _KNOWN[number] = dtype
    for _, name, _, _, numpy_name in _TABLE:
        if name in _EXTENDED or numpy_name is None:
            continue
        kind = _numpy_type(numpy_name)
        dtype = _BY_NAME[name]
        if isinstance(kind, _np.dtype):
            _KNOWN[kind] = dtype
        else:
            _KNOWN[kind] = dtype
            _KNOWN[_np.dtype(kind)] = dtype
    _KNOWN[_builtins.float] = float32
    _KNOWN[_builtins.bool] = _BY_NAME["bool"]
    _KNOWN[object] = string
    for letters in (_np.str_, _np.bytes_):
        _KNOWN[letters] = string


_fill_known()


def as_dtype(type_value: object) -> DType:
    """The `tf.DType` of a name, a number of the enum, a Python type or a numpy dtype.

    Examples
    --------
    >>> as_dtype("float32"), as_dtype(bool)
    (tf.float32, tf.bool)
    """
    if type(type_value) is DType:
        return type_value
    try:
        return _KNOWN[type_value]
    except (KeyError, TypeError):
        pass
    if isinstance(type_value, DType):
        return _BY_NUMBER[type_value._number]
    found = _from_numpy(type_value)
    if found is None and hasattr(type_value, "dtype"):
        found = _from_numpy(type_value.dtype)
    if found is None:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType."
        )
    return found


def _from_numpy(value: object) -> DType | None:
    if isinstance(value, (str, int)) or value is None:
        return None
    if isinstance(value, type) and not issubclass(value, _np.generic):
        # Python's own types, but for float, bool and object, have no dtype.
        if value.__module__ != "ml_dtypes":
            return None
    try:
        kind = _np.dtype(value)
    except TypeError:
        return None
    found = _KNOWN.get(kind)
    if found is None:
        if kind.kind in "SU" or kind == _np.dtype(object):
            found = string
        elif kind.name in _EXTENDED:
            found = _BY_NAME[kind.name]
    return found


def has_numpy_type(dtype: DType) -> _builtins.bool:
    """Whether numpy, with the packages that are there, has such elements."""
    return _numpy_type(_ROW_OF[dtype.base_dtype._name][4]) is not None


def is_refused(dtype: DType) -> _builtins.bool:
    """Whether the dtype is known by name only: no tensor of it can be made."""
    return dtype.base_dtype._name in _REFUSED
