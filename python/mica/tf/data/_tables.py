"""Datasets of tables in files: CSV, and messages of tf.train.Example."""

from __future__ import annotations

import collections
import csv
import gzip
import itertools
from pathlib import Path

import numpy as np

from .._core import Tensor, convert_to_tensor, ops
from .._dtypes import as_dtype, float32, float64, int32, int64, string
from .._examples import parse_example
from .._specs import TensorSpec
from ..io import gfile
from ._dataset import AUTOTUNE, Dataset, _int
from ._files import TFRecordDataset
from ._options import Options

_KINDS = (float32, float64, int32, int64, string)


def _defaults(given) -> list:
    """The defaults as tensors; a dtype stands for a field that has to be there."""
    made = []
    for value in given:
        if not isinstance(value, Tensor):
            try:
                kind = as_dtype(value)
            except (TypeError, ValueError):
                kind = None
            if kind in _KINDS and not isinstance(value, (int, float, str, list, tuple)):
                value = np.zeros([0], kind.as_numpy_dtype)
                made.append(convert_to_tensor(value, kind))
                continue
        made.append(convert_to_tensor(value))
    return made


class CsvDataset(Dataset):
    """The records of CSV files, a tuple of scalars for each.

    Parameters
    ----------
    filenames
        One name or several.
    record_defaults
        For each field that is taken a default, or a dtype when it has to be there.
    header
        The first line of each file is no record.
    na_value
        A text that stands for a missing value, as an empty field does.
    select_cols, exclude_cols
        The columns that are taken, or those that are left out, in ascending order.
    """

    def __init__(
        self,
        filenames,
        record_defaults,
        compression_type=None,
        buffer_size=None,
        header=False,
        field_delim=",",
        use_quote_delim=True,
        na_value="",
        select_cols=None,
        exclude_cols=None,
    ) -> None:
        defaults = _defaults(record_defaults)
        spec = tuple(TensorSpec([], value.dtype) for value in defaults)
        made = ops["CSVDatasetV2"](
            convert_to_tensor(filenames, string),
            convert_to_tensor("" if compression_type is None else compression_type, string),
            _int(4 << 20 if buffer_size is None else buffer_size),
            convert_to_tensor(header),
            convert_to_tensor(field_delim, string),
            convert_to_tensor(use_quote_delim),
            convert_to_tensor(na_value, string),
            _int(np.zeros([0], np.int64) if select_cols is None else select_cols),
            defaults,
            _int(np.zeros([0], np.int64) if exclude_cols is None else exclude_cols),
            output_shapes=[s.shape for s in spec],
        )
        super().__init__(made, spec, "CsvDatasetV2")


class SqlDataset(Dataset):
    """Not here: Mica has no driver of a database."""

    def __init__(self, driver_name, data_source_name, query, output_types) -> None:
        raise NotImplementedError(
            f"tf.data.experimental.SqlDataset: Mica has no driver for {driver_name!r}. Read the "
            "rows with Python's sqlite3 in tf.data.Dataset.from_generator, or write them to "
            "TFRecord or CSV files."
        )


# ---- what a file tells about its columns ---------------------------------------------------------


class _Probe:
    """Looks into CSV files for the names and the dtypes of their columns."""

    def __init__(self, names, delimiter, quotes, compression, encoding) -> None:
        if compression not in (None, "", "GZIP"):
            if compression == "ZLIB":
                raise ValueError(
                    f"`compression_type` {compression} is not supported for probing columns."
                )
            raise ValueError(
                f"Received unknown `compression_type` {compression}. Expected: GZIP, ZLIB or "
                '"" (empty string).'
            )
        self._names, self._packed, self._encoding = names, compression == "GZIP", encoding
        self._options = {
            "delimiter": delimiter,
            "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        }

    def _rows(self, name: str):
        if self._packed:
            opened = gzip.open(name, "rt", encoding=self._encoding, newline="")
        else:
            opened = Path(name).open(encoding=self._encoding, newline="")
        with opened as file:
            yield from csv.reader(file, **self._options)

    def names(self) -> list[str]:
        """The names in the first line, which is the same in all files."""
        first = None
        for name in self._names:
            row = next(self._rows(name), None)
            if row is None:
                raise ValueError(
                    f"Failed when reading the header line of {name}. Is it an empty file?"
                )
            if first is not None and row != first:
                raise ValueError(
                    "All input CSV files should have the same column names in the header row. "
                    f"File {name} has different column names."
                )
            first = row
        return first

    def defaults(self, n_columns: int, columns, header: bool, most, missing: str) -> list:
        """A default of the narrowest dtype that the first rows of each column fit."""
        columns = range(n_columns) if columns is None else columns
        kinds = [None] * len(columns)
        seen = 0
        for name in self._names:
            for number, row in enumerate(self._rows(name), 1):
                if header and number == 1:
                    continue
                if most is not None and seen >= most:
                    break
                if len(row) != n_columns:
                    raise ValueError(
                        f"Problem inferring types: CSV row {number} has {len(row)} number of "
                        f"fields. Expected: {n_columns}."
                    )
                seen += 1
                for place, column in enumerate(columns):
                    kinds[place] = _wider(row[column], missing, kinds[place])
        kinds = [kind or string for kind in kinds]
        return [convert_to_tensor([""] if kind == string else [0], kind) for kind in kinds]


_ORDER = (int32, int64, float32, float64, string)


def _fits(text: str, kind) -> bool:
    if kind == string:
        return True
    try:
        if kind in (int32, int64):
            limits = np.iinfo(kind.as_numpy_dtype)
            return limits.min <= int(text) <= limits.max
        with np.errstate(over="ignore"):
            return bool(kind.as_numpy_dtype(text) < np.inf)
    except (OverflowError, ValueError):
        return False


def _wider(text: str, missing: str, before):
    """The dtype of a column after one more field of it."""
    if text in ("", missing):
        return before
    first = 0 if before is None else _ORDER.index(before)
    return next(kind for kind in _ORDER[first:] if _fits(text, kind))


def _duplicates(values) -> set:
    ordered = sorted(values)
    return {a for a, b in itertools.pairwise(ordered) if a == b}


def _column_numbers(columns, names: list[str]) -> list[int]:
    numbers = {name: number for number, name in enumerate(names)}
    found = []
    for column in columns:
        if isinstance(column, int):
            if not 0 <= column < len(names):
                raise ValueError(
                    f"Column index {column} specified in `select_columns` should be > 0  and <= "
                    f"{len(names)}, which is the number of columns."
                )
            found.append(column)
        elif column in numbers:
            found.append(numbers[column])
        else:
            raise ValueError(
                f"Column {column} specified in `select_columns` must be of one of the columns: "
                f"{numbers.keys()}."
            )
    if len(set(found)) != len(found):
        raise ValueError(
            f"The `select_columns` argument contains duplicate columns: {_duplicates(found)}."
        )
    return sorted(found)


def make_csv_dataset(
    file_pattern,
    batch_size,
    column_names=None,
    column_defaults=None,
    label_name=None,
    select_columns=None,
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    header=True,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    prefetch_buffer_size=None,
    num_parallel_reads=None,
    sloppy=False,
    num_rows_for_inference=100,
    compression_type=None,
    ignore_errors=False,
    encoding="utf-8",
):
    """Batches of the records of CSV files: a dict of columns, with a label beside it on request.

    Names and dtypes of columns that are not given are those that the files have.
    """
    files = _names_of_files(file_pattern)
    names = Dataset.from_tensor_slices(files)
    if shuffle:
        names = names.shuffle(len(files), shuffle_seed)
    probe = None
    if column_names is None or column_defaults is None:
        probe = _Probe(files, field_delim, use_quote_delim, compression_type, encoding)
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        column_names = probe.names()
    if len(column_names) != len(set(column_names)):
        raise ValueError(
            "Either `column_names` argument or CSV header row contains duplicate column names: "
            f"{_duplicates(column_names)}."
        )
    columns = None
    if select_columns is not None:
        columns = _column_numbers(select_columns, column_names)
    if column_defaults is None:
        column_defaults = probe.defaults(
            len(column_names), columns, header, num_rows_for_inference, na_value
        )
    if columns is not None and len(column_defaults) != len(columns):
        raise ValueError(
            "If specified, `column_defaults` and `select_columns` must have the same length: "
            f"`column_defaults` has length {len(column_defaults)}, `select_columns` has length "
            f"{len(columns)}."
        )
    if columns is not None and len(column_names) > len(columns):
        column_names = [column_names[i] for i in columns]
    if label_name is not None and label_name not in column_names:
        raise ValueError(
            f"`label_name` provided must be one of the columns: {column_names}. Received: "
            f"{label_name}."
        )
    defaults = _defaults(column_defaults)

    def read(name):
        made = CsvDataset(
            name,
            record_defaults=defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=columns,
            header=header,
            compression_type=compression_type,
        )
        return made.ignore_errors() if ignore_errors else made

    def named(*values):
        features = collections.OrderedDict(zip(column_names, values, strict=True))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    dataset = _read_files(names, read, num_parallel_reads, sloppy)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _names_of_files(patterns) -> list[str]:
    """The names that patterns match, sorted."""
    if isinstance(patterns, list) and not patterns:
        raise ValueError("Argument `file_pattern` should not be empty.")
    found = []
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        found.extend(gfile.glob(pattern))
    if not found:
        raise ValueError(f"No files match `file_pattern` {patterns}.")
    return sorted(found)


def _read_files(names, read, n_readers, sloppy: bool):
    """Elements of the files, of as many in turns as there are readers."""
    if n_readers == AUTOTUNE:
        options = Options()
        options.deterministic = not sloppy
        return names.interleave(
            read, num_parallel_calls=AUTOTUNE, deterministic=not sloppy
        ).with_options(options)
    return names.interleave(read, cycle_length=n_readers or 1, block_length=1)


def _shuffled(dataset, epochs, shuffle: bool, size, seed):
    if shuffle:
        dataset = dataset.shuffle(size, seed)
    return dataset if epochs == 1 else dataset.repeat(epochs)


# ---- messages ------------------------------------------------------------------------------------


def parse_example_dataset(features, num_parallel_calls=1, deterministic=None):
    """A transformation of batches of Example messages to dicts of tensors."""
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")

    def transformation(dataset):
        spec = dataset.element_spec
        wanted = TensorSpec([None], string)
        if not isinstance(spec, TensorSpec) or not wanted.is_compatible_with(spec):
            raise TypeError(
                f"Input dataset should be a dataset of vectors of strings. Instead it is `{spec}`."
            )
        return dataset.map(
            lambda batch: parse_example(batch, features),
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
        )

    return transformation


def make_batched_features_dataset(
    file_pattern,
    batch_size,
    features,
    reader=None,
    label_key=None,
    reader_args=None,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    prefetch_buffer_size=None,
    reader_num_threads=None,
    parser_num_threads=None,
    sloppy_ordering=False,
    drop_final_batch=False,
):
    """Batches of the Example messages in files, parsed; a pair with the label on request."""
    if label_key and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key}) must be one of the `features` keys: "
            f"{features.keys()}."
        )
    make, args = reader or TFRecordDataset, list(reader_args or [])
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    read = lambda name: make(name, *args)  # noqa: E731
    dataset = _read_files(files, read, reader_num_threads, sloppy_ordering)
    spec = dataset.element_spec
    if isinstance(spec, tuple) and [s.dtype for s in spec] == [string, string]:
        dataset = dataset.map(lambda _, message: message)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = parse_example_dataset(features, parser_num_threads or 2)(dataset)
    if label_key:
        dataset = dataset.map(lambda parsed: (_without(parsed, label_key), parsed[label_key]))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _without(parsed: dict, key: str) -> dict:
    return {name: value for name, value in parsed.items() if name != key}
