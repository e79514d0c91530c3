"""Files of named tensors: `<prefix>.index` and `<prefix>.data-00000-of-0000n`."""

from __future__ import annotations

import os

from .. import _mica
from . import _dtypes, errors
from ._shapes import TensorShape


class Bundle:
    """A bundle that is being read: a mapping from keys to tensors, each read when asked for."""

    def __init__(self, prefix) -> None:
        self.prefix = os.fspath(prefix)
        self._bundle = _mica.tf_bundle_open(self.prefix)
        entries = _mica.tf_bundle_entries(self._bundle)
        self._places = {key: i for i, (key, _, _) in enumerate(entries)}
        self._entries = entries

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __iter__(self):
        return iter(self._places)

    def __getitem__(self, key: str):
        """The tensor of this name."""
        if key not in self._places:
            message = f"Key {key} not found in checkpoint {self.prefix}"
            raise errors.NotFoundError(None, None, message)
        return _mica.tf_bundle_read(self._bundle, self._places[key])

    def text(self, key: str) -> bytes:
        """The only string of a tensor of strings."""
        found = self[key].numpy()
        if not isinstance(found, bytes):
            message = f"{self.prefix} is damaged: {key} is not one string"
            raise errors.DataLossError(None, None, message)
        return found

    def shape(self, key: str) -> TensorShape:
        """The shape of a tensor, without reading it."""
        return TensorShape(self._entries[self._places[key]][2])

    def dtype(self, key: str):
        """The dtype of a tensor, without reading it."""
        return _dtypes.as_dtype(self._entries[self._places[key]][1])


def write_bundle(prefix, tensors: dict) -> None:
    """Write tensors, by key."""
    _mica.tf_bundle_write(os.fspath(prefix), list(tensors.items()))
