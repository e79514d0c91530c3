"""`tf.nest`: functions over nested structures."""

from ._missing import finder as _finder
from ._nest import (
    assert_same_structure,
    flatten,
    is_nested,
    map_structure,
    pack_sequence_as,
)

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]

__getattr__ = _finder(__name__)
