"""Files of records."""

from ...._records import TFRecordOptions, TFRecordWriter, tf_record_iterator

__all__ = ["TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
