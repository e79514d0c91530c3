"""`tf.compat.v1.io`: records, one after the other."""

from __future__ import annotations

from ..._missing import finder as _finder
from ..._records import TFRecordOptions, TFRecordWriter, tf_record_iterator

__all__ = ["TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


__getattr__ = _finder(__name__)
