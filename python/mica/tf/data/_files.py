"""Datasets of what files hold."""

from __future__ import annotations

from .. import _array
from .._core import convert_to_tensor, ops
from .._dtypes import string
from .._specs import TensorSpec
from ._dataset import Dataset, _int

_TEXT = TensorSpec([], string)


class _FilesDataset(Dataset):
    """Strings out of files, in order; several files in turn with num_parallel_reads."""

    def __init__(self, filenames, num_parallel_reads, kind: str, read) -> None:
        names = filenames
        if not isinstance(names, Dataset):
            names = convert_to_tensor(names)
            if names.dtype != string:
                raise TypeError(
                    "The `filenames` argument must contain `tf.string` elements. Got "
                    f"{names.dtype!r} elements."
                )
            names = _array.reshape(names, [-1])
        elif names.element_spec.dtype != string or names.element_spec.shape.rank not in (0, 1):
            raise TypeError(
                "The `filenames` argument must be a dataset of scalars or vectors of `tf.string`. "
                f"Got a dataset of {names.element_spec}."
            )
        if num_parallel_reads is None and not isinstance(names, Dataset):
            super().__init__(read(names), _TEXT, kind)
            return
        if not isinstance(names, Dataset):
            names = Dataset.from_tensor_slices(names)

        def read_one(name):
            return Dataset(read(name), _TEXT, kind)

        if num_parallel_reads is None:
            made = names.flat_map(read_one)
        elif num_parallel_reads == -1:
            made = names.interleave(read_one, num_parallel_calls=num_parallel_reads)
        else:
            made = names.interleave(read_one, cycle_length=num_parallel_reads, block_length=1)
        super().__init__(made._handle_tensor, _TEXT, kind, [names])


def _operands(compression_type, buffer_size) -> tuple:
    kind = "" if compression_type is None else compression_type
    return convert_to_tensor(kind, dtype=string), _int(0 if buffer_size is None else buffer_size)


class _SeparatedDataset(_FilesDataset):
    """What the files themselves separate; the op says how."""

    _op: str

    def __init__(
        self,
        filenames,
        compression_type=None,
        buffer_size=None,
        num_parallel_reads=None,
        name=None,
    ) -> None:
        operands = _operands(compression_type, buffer_size)
        super().__init__(
            filenames,
            num_parallel_reads,
            f"{self._op}V2",
            lambda names: ops[self._op](names, *operands),
        )


class TFRecordDataset(_SeparatedDataset):
    """The records of TFRecord files.

    Parameters
    ----------
    filenames
        Names, or a dataset of names.
    compression_type
        "GZIP", "ZLIB", "" or None.
    buffer_size
        How many bytes are read at a time.
    num_parallel_reads
        So many files are read in turn, a record of each; their order is always the same.
    """

    _op = "TFRecordDataset"


class TextLineDataset(_SeparatedDataset):
    """The lines of text files, without their ends; arguments as those of TFRecordDataset."""

    _op = "TextLineDataset"


class FixedLengthRecordDataset(_FilesDataset):
    """Pieces of record_bytes, behind header_bytes and before footer_bytes of every file."""

    def __init__(
        self,
        filenames,
        record_bytes,
        header_bytes=None,
        footer_bytes=None,
        buffer_size=None,
        compression_type=None,
        num_parallel_reads=None,
        name=None,
    ) -> None:
        compression, buffered = _operands(compression_type, buffer_size)
        sizes = [
            _int(0 if size is None else size) for size in (header_bytes, record_bytes, footer_bytes)
        ]
        super().__init__(
            filenames,
            num_parallel_reads,
            "FixedLengthRecordDatasetV2",
            lambda names: ops["FixedLengthRecordDatasetV2"](names, *sizes, buffered, compression),
        )
