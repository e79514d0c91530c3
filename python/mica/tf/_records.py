"""TFRecord files: writers and readers."""

from __future__ import annotations

import os
from typing import ClassVar

from .. import _mica
from .errors import FailedPreconditionError

_COMPRESSIONS = ("", "ZLIB", "GZIP")
_NAMES = {None: "", 0: "", 1: "ZLIB", 2: "GZIP"}


class TFRecordOptions:
    """How a file of records is written.

    Parameters
    ----------
    compression_type
        "GZIP", "ZLIB", "" or None; or another TFRecordOptions.
    flush_mode
        None or 0.
    input_buffer_size, output_buffer_size
        Hints for TensorFlow's buffers; what is written does not depend on them.
    window_bits
        9 to 15: how far back repetitions are looked for, as a power of two.
    compression_level
        0 (quick) to 9 (small), or -1.
    compression_method
        None or 8: deflate is the only one.
    mem_level
        1 to 9.
    compression_strategy
        0 to 4, as zlib's.
    """

    compression_type_map: ClassVar[dict] = {0: "", 1: "ZLIB", 2: "GZIP"}

    def __init__(
        self,
        compression_type=None,
        flush_mode=None,
        input_buffer_size=None,
        output_buffer_size=None,
        window_bits=None,
        compression_level=None,
        compression_method=None,
        mem_level=None,
        compression_strategy=None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        if compression_method not in (None, 8):
            raise ValueError(f"compression_method is 8 (deflate), not {compression_method}")
        if flush_mode not in (None, 0):
            raise NotImplementedError(f"flush_mode {flush_mode}: only 0 is supported")
        for name, size in (("input", input_buffer_size), ("output", output_buffer_size)):
            if size is not None and size < 1:
                raise ValueError(f"{name}_buffer_size has to be positive, not {size}")
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options) -> str:
        """Return "", "ZLIB" or "GZIP" for options, a name or None."""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if not isinstance(options, str):
            options = _NAMES.get(options, options)
        if options not in _COMPRESSIONS:
            raise ValueError(f"Not a valid compression_type: {options!r}; {_COMPRESSIONS} are")
        return options


class TFRecordWriter:
    """Writes records, strings of bytes, to a file; a context manager that closes it."""

    def __init__(self, path, options=None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        kind = TFRecordOptions.get_compression_type_string(options)
        level = options.compression_level
        self._writer = _mica.tf_record_writer(
            os.fspath(path),
            kind,
            -1 if level is None else level,
            abs(options.window_bits or 0),
            options.mem_level or 0,
            options.compression_strategy or 0,
        )

    def _open(self):
        if self._writer is None:
            raise FailedPreconditionError(None, None, "Writer is closed.")
        return self._writer

    def write(self, record) -> None:
        """Append a record."""
        _mica.tf_record_append(self._open(), record.encode() if isinstance(record, str) else record)

    def flush(self) -> None:
        """What was written is in the file."""
        _mica.tf_record_flush(self._open())

    def close(self) -> None:
        """Write what waits, and end the file."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            _mica.tf_record_finish(writer)

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *exception) -> None:
        self.close()


def tf_record_iterator(path, options=None):
    """Yield the records of a file as bytes."""
    kind = TFRecordOptions.get_compression_type_string(options)
    reader = _mica.tf_record_reader(os.fspath(path), kind)
    while (record := _mica.tf_record_next(reader)) is not None:
        yield record
