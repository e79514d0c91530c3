"""`tf.lookup`: tables from keys to values."""

from __future__ import annotations

import importlib as _importlib

from .. import _dtypes
from .. import strings as _strings
from .._composite import CompositeTensor
from .._context import executing_eagerly, init_scope
from .._core import Tensor, convert_to_tensor, ops
from .._missing import missing as _missing_name
from .._static import static_value
from .._tracking import AutoTrackable, TrackableResource
from ..ragged import RaggedTensor


def _known(value, dtype) -> Tensor:
    """A tensor of numbers or texts that are known now, whatever graph is being built."""
    if isinstance(value, Tensor) and not executing_eagerly():
        found = static_value(value)
        value = value if found is None else found
    with init_scope():
        return convert_to_tensor(value, dtype)


class KeyValueTensorInitializer:
    """Keys and values of a table, as tensors."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None) -> None:
        self._keys, self._values = _known(keys, key_dtype), _known(values, value_dtype)

    @property
    def key_dtype(self) -> _dtypes.DType:
        """The dtype of the keys."""
        return self._keys.dtype

    @property
    def value_dtype(self) -> _dtypes.DType:
        """The dtype of the values."""
        return self._values.dtype

    def initialize(self, table) -> None:
        """Fill a table."""
        table._insert(self._keys, self._values)


class TextFileIndex:
    """What of a line of a file is a key or a value; else the number of a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer(KeyValueTensorInitializer):
    """Keys and values out of the lines of a file."""

    def __init__(
        self,
        filename,
        key_dtype,
        key_index,
        value_dtype,
        value_index,
        vocab_size=None,
        delimiter="\t",
        name=None,
        value_index_offset=0,
    ) -> None:
        filename = filename.numpy() if isinstance(filename, Tensor) else filename
        with open(filename, "rb") as file:
            lines = file.read().split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        lines = lines[:vocab_size]

        def column(index: int, dtype) -> Tensor:
            if index == TextFileIndex.LINE_NUMBER:
                numbers = [k + value_index_offset for k in range(len(lines))]
                return convert_to_tensor(numbers, _dtypes.as_dtype(dtype))
            found = lines
            if index != TextFileIndex.WHOLE_LINE:
                found = [line.split(delimiter.encode())[index] for line in lines]
            texts = convert_to_tensor(found, _dtypes.string)
            kind = _dtypes.as_dtype(dtype)
            return texts if kind == _dtypes.string else ops["StringToNumber"](texts, out_type=kind)

        self._keys, self._values = column(key_index, key_dtype), column(value_index, value_dtype)


class _Table(AutoTrackable, TrackableResource):
    """A table of C, and what to answer for keys that it has not."""

    def __init__(self, key_dtype, value_dtype, default_value) -> None:
        self._key_dtype = _dtypes.as_dtype(key_dtype)
        self._value_dtype = _dtypes.as_dtype(value_dtype)
        with init_scope():
            self._default = convert_to_tensor(default_value, self._value_dtype)
            self._handle = ops["AnonymousMutableHashTable"](
                key_dtype=self._key_dtype, value_dtype=self._value_dtype
            )

    @property
    def resource_handle(self) -> Tensor:
        """The table itself."""
        return self._handle

    @property
    def key_dtype(self) -> _dtypes.DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> _dtypes.DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def default_value(self) -> Tensor:
        """What is answered for keys that the table has not."""
        return self._default

    def _keys(self, keys) -> Tensor:
        if isinstance(keys, Tensor) and keys.dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: {keys.dtype}"
            )
        return convert_to_tensor(keys, self._key_dtype)

    def lookup(self, keys, name=None, dynamic_default_values=None):
        """The values at keys; those of ragged and sparse tensors keep their places."""
        if isinstance(keys, CompositeTensor):
            if isinstance(keys, RaggedTensor):
                return keys.with_values(self.lookup(keys.values))
            return type(keys)(keys.indices, self.lookup(keys.values), keys.dense_shape)
        default = self._default if dynamic_default_values is None else dynamic_default_values
        return ops["LookupTableFindV2"](
            self._handle, self._keys(keys), convert_to_tensor(default, self._value_dtype), name=name
        )

    def __getitem__(self, keys):
        return self.lookup(keys)

    def size(self, name=None) -> Tensor:
        """How many keys there are."""
        return ops["LookupTableSizeV2"](self._handle, name=name)

    def export(self, name=None) -> tuple[Tensor, Tensor]:
        """All keys and values."""
        keys, values = ops["LookupTableExportV2"](
            self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
        )
        return keys, values

    def _insert(self, keys, values) -> None:
        ops["LookupTableInsertV2"](
            self._handle, self._keys(keys), convert_to_tensor(values, self._value_dtype)
        )


class StaticHashTable(_Table):
    """A table that is filled when it is made.

    Parameters
    ----------
    initializer
        Its keys and values.
    default_value
        What is answered for other keys.
    """

    def __init__(
        self, initializer, default_value, name=None, experimental_is_anonymous=False
    ) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype, default_value)

        with init_scope():
            initializer.initialize(self)


class StaticVocabularyTable(AutoTrackable):
    """Numbers of words; other words get numbers of buckets after them.

    Parameters
    ----------
    initializer
        Words and their numbers, or None.
    num_oov_buckets
        How many buckets there are.
    """

    def __init__(
        self,
        initializer,
        num_oov_buckets,
        lookup_key_dtype=None,
        name=None,
        experimental_is_anonymous=False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(f"`num_oov_buckets` must be > 0; got {num_oov_buckets}.")
        self._table = StaticHashTable(initializer, -1) if initializer is not None else None
        if initializer is not None and initializer.value_dtype != _dtypes.int64:
            raise TypeError(
                f"Invalid `value_dtype`, expected tf.int64 but got {initializer.value_dtype}."
            )
        self._buckets = num_oov_buckets
        self._lookup_dtype = lookup_key_dtype

    def size(self, name=None) -> Tensor:
        """How many numbers there are, those of buckets too."""
        known = 0 if self._table is None else self._table.size()
        return convert_to_tensor(self._buckets, _dtypes.int64) + known

    def lookup(self, keys, name=None):
        """The numbers of words."""
        keys = convert_to_tensor(keys, self._lookup_dtype)
        texts = keys if keys.dtype == _dtypes.string else _strings.as_string(keys)
        buckets = _strings.to_hash_bucket_fast(texts, self._buckets)
        if self._table is None:
            return buckets
        own = self._table.key_dtype
        found = self._table.lookup(keys if keys.dtype == own else ops["Cast"](keys, DstT=own))
        return ops["SelectV2"](found >= 0, found, buckets + self._table.size(), name=name)

    def __getitem__(self, keys):
        return self.lookup(keys)


def __getattr__(name: str):
    if name == "experimental":
        return _importlib.import_module(".experimental", __name__)
    raise _missing_name(__name__, name)


__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]
