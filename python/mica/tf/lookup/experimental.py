"""`tf.lookup.experimental`: tables that change."""

from __future__ import annotations

from .._core import ops
from .._missing import finder as _finder
from . import _Table


class MutableHashTable(_Table):
    """A table that is empty at first."""

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        name="MutableHashTable",
        checkpoint=True,
        experimental_is_anonymous=False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value)

    def insert(self, keys, values, name=None) -> None:
        """Put values at keys."""
        self._insert(keys, values)

    def insert_or_assign(self, keys, values, name=None) -> None:
        """Put values at keys."""
        self._insert(keys, values)

    def remove(self, keys, name=None) -> None:
        """Take keys out."""
        ops["LookupTableRemoveV2"](self._handle, self._keys(keys))

    def erase(self, keys, name=None) -> None:
        """Take keys out."""
        self.remove(keys)


__all__ = ["MutableHashTable"]

__getattr__ = _finder(__name__)
