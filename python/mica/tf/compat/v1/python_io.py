"""`tf.compat.v1.python_io`: readers and writers of records, of tf.io now."""

from __future__ import annotations

from ..._missing import missing as _missing_name
from ._aliases import find as _find

# A name -> where it is now.
_NAMES = {
    "TFRecordOptions": "io.TFRecordOptions",
    "TFRecordWriter": "io.TFRecordWriter",
    "tf_record_iterator": "io.tf_record_iterator",
}


def __getattr__(name: str):
    if name in _NAMES:
        return _find(_NAMES[name])
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
