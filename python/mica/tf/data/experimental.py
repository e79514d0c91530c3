"""`tf.data.experimental`."""

from __future__ import annotations

from collections.abc import Mapping as _Mapping

from .. import errors as _errors
from .._core import convert_to_tensor, ops
from .._devices import device as _device
from .._dtypes import int64
from .._missing import finder as _finder
from .._records import TFRecordWriter as _RecordWriter
from . import _structure
from ._dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from ._grouping import Reducer
from ._grouping import group_by_reducer as _group_by_reducer
from ._iterator import Optional
from ._options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)
from ._tables import (
    CsvDataset,
    SqlDataset,
    make_batched_features_dataset,
    make_csv_dataset,
    parse_example_dataset,
)

SHARD_HINT = -1


# ---- sources -------------------------------------------------------------------------------------


def Counter(start=0, step=1, dtype=int64):
    """As tf.data.Dataset.counter."""
    return Dataset.counter(start, step, dtype)


class RandomDataset(Dataset):
    """As tf.data.Dataset.random."""

    def __init__(self, seed=None, rerandomize_each_iteration=None, name=None) -> None:
        made = Dataset.random(seed, rerandomize_each_iteration)
        super().__init__(made._handle_tensor, made.element_spec, "RandomDatasetV2")


def from_list(elements, name=None):
    """The elements of a list, all of one structure; their shapes may differ."""
    if not elements:
        raise ValueError(
            "Invalid `elements`. `elements` should not be empty. If you want an empty dataset, use "
            "`tf.data.Dataset.range(0)`."
        )
    if not isinstance(elements, list):
        raise ValueError("Invalid `elements`. `elements` must be a list.")
    values = [_structure.normalize(element) for element in elements]
    spec = _structure.spec_of(values[0])
    for value in values[1:]:
        other = _structure.spec_of(value)
        if not _structure.same_structure(spec, other):
            raise TypeError(f"The elements have different structures: {spec} and {other}.")
        spec = _structure.joined(spec, other)
    made = Dataset.from_tensors(values[0])
    for value in values[1:]:
        made = made.concatenate(Dataset.from_tensors(value))
    return Dataset(made._handle_tensor, spec, "_ListDataset")


# ---- transformations -----------------------------------------------------------------------------


def _applied(method: str, *args, **kwargs):
    """A transformation that calls a method of the dataset."""
    return lambda dataset: getattr(dataset, method)(*args, **kwargs)


def cardinality(dataset):
    """How many elements there are."""
    return dataset.cardinality()


def assert_cardinality(expected_cardinality):
    """A transformation to a dataset that is said to have so many elements."""

    def transformation(dataset):
        return dataset._made(
            "AssertCardinalityDataset",
            "_AssertCardinalityDataset",
            dataset.element_spec,
            convert_to_tensor(expected_cardinality, int64),
        )

    return transformation


def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=False):
    """As tf.data.Dataset.choose_from_datasets."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False):
    """As tf.data.Dataset.sample_from_datasets."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def enumerate_dataset(start=0):
    """A transformation to elements with their numbers."""
    return _applied("enumerate", start)


def unbatch():
    """A transformation to the elements of batches."""
    return _applied("unbatch")


def unique():
    """A transformation to the elements, each once."""
    return _applied("unique")


def ignore_errors(log_warning=False):
    """A transformation to the elements without those whose making fails."""
    return _applied("ignore_errors", log_warning)


def scan(initial_state, scan_func):
    """A transformation by a function of a state and each element."""
    return _applied("scan", initial_state, scan_func)


def take_while(predicate):
    """A transformation to the elements before the first for which the predicate is false."""
    return _applied("take_while", predicate)


def dense_to_ragged_batch(batch_size, drop_remainder=False, row_splits_dtype=int64):
    """A transformation to batches of ragged tensors."""
    return _applied("ragged_batch", batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size, row_shape):
    """A transformation to batches of sparse tensors."""
    return _applied("sparse_batch", batch_size, row_shape)


def group_by_window(key_func, reduce_func, window_size=None, window_size_func=None):
    """A transformation to what a function makes of windows of elements of one key."""
    return _applied("group_by_window", key_func, reduce_func, window_size, window_size_func)


def group_by_reducer(key_func, reducer):
    """A transformation to one element for each key."""
    return lambda dataset: _group_by_reducer(dataset, key_func, reducer)


def bucket_by_sequence_length(
    element_length_func,
    bucket_boundaries,
    bucket_batch_sizes,
    padded_shapes=None,
    padding_values=None,
    pad_to_bucket_boundary=False,
    no_padding=False,
    drop_remainder=False,
):
    """A transformation to padded batches of elements of about one length."""
    return _applied(
        "bucket_by_sequence_length",
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def rejection_resample(class_func, target_dist, initial_dist=None, seed=None):
    """A transformation to pairs of a class and an element, whose classes are distributed anew."""
    return _applied("rejection_resample", class_func, target_dist, initial_dist, seed)


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """A transformation that shuffles and repeats."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func,
    batch_size,
    num_parallel_batches=None,
    drop_remainder=False,
    num_parallel_calls=None,
):
    """A transformation that maps and batches; calls run side by side."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to "
            f"be set, but `num_parallel_batches` was set to {num_parallel_batches} and "
            f"`num_parallel_calls` as set to {num_parallel_calls}."
        )
    calls = num_parallel_calls
    if calls is None:
        calls = batch_size * (1 if num_parallel_batches is None else num_parallel_batches)

    def transformation(dataset):
        return dataset.map(map_func, num_parallel_calls=calls).batch(batch_size, drop_remainder)

    return transformation


def parallel_interleave(
    map_func,
    cycle_length,
    block_length=1,
    sloppy=False,
    buffer_output_elements=None,
    prefetch_input_elements=None,
):
    """A transformation to the elements of datasets in turns, which are made side by side.

    How many elements are made ahead is as Mica finds it good; it changes no element.
    """
    return _applied(
        "interleave",
        map_func,
        cycle_length,
        block_length,
        num_parallel_calls=cycle_length,
        deterministic=not sloppy,
    )


def pad_to_cardinality(cardinality, mask_key="valid"):
    """A transformation of dicts to so many, the further ones zeros; a mask says which are real."""

    def transformation(dataset):
        count = int(dataset.cardinality())
        if count < 0:
            raise ValueError(
                "The dataset passed into `pad_to_cardinality` must have a known cardinalty, but "
                f"has cardinality {count}"
            )
        if count > cardinality:
            raise ValueError(
                "The dataset passed into `pad_to_cardinality` must have a cardinalty less than the "
                f"target cardinality ({cardinality}), but has cardinality {count}"
            )
        if not isinstance(dataset.element_spec, _Mapping):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        zeros = _structure.map_specs(
            lambda spec: ops["Fill"](
                convert_to_tensor(spec.shape.as_list(), "int32"),
                convert_to_tensor("" if spec.dtype.name == "string" else 0, spec.dtype)
                if spec.dtype.name != "bool"
                else convert_to_tensor(False),
            ),
            dataset.element_spec,
        )
        filler = Dataset.from_tensors({**zeros, mask_key: False}).repeat(cardinality - count)
        return dataset.map(lambda element: {**element, mask_key: True}).concatenate(filler)

    return transformation


# ---- devices -------------------------------------------------------------------------------------


def copy_to_device(target_device, source_device="/cpu:0"):
    """A transformation to elements whose tensors are on a device."""
    def transformation(dataset):
        def moved(*element):
            with _device(target_device):
                value = element[0] if len(element) == 1 else element
                return _structure.map_tensors(lambda t: ops["Identity"](t), value)

        return dataset.map(moved)

    return transformation


def prefetch_to_device(device, buffer_size=None):
    """A transformation to elements that are made ahead, their tensors on a device."""
    size = AUTOTUNE if buffer_size is None else buffer_size
    return lambda dataset: dataset.apply(copy_to_device(device)).prefetch(size)


# ---- of a dataset --------------------------------------------------------------------------------


def get_single_element(dataset):
    """The element of a dataset that has one."""
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"Invalid `dataset`. Expected a `tf.data.Dataset` object but got {type(dataset)}."
        )
    return dataset.get_single_element()


def get_structure(dataset_or_iterator):
    """The spec of the elements."""
    spec = getattr(dataset_or_iterator, "element_spec", None)
    if spec is None:
        raise TypeError(
            "Invalid `dataset_or_iterator`. `dataset_or_iterator` must be a "
            f"`tf.data.Dataset` or tf.data.Iterator object, but got {type(dataset_or_iterator)}."
        )
    return spec


def get_next_as_optional(iterator):
    """The next element of an iterator, or an optional without value."""
    return iterator.get_next_as_optional()


def to_variant(dataset):
    """The dataset as a tensor."""
    return dataset._handle_tensor


def from_variant(variant, structure):
    """The dataset that a tensor holds."""
    return Dataset(variant, structure, "_VariantDataset")


def at(dataset, index):
    """The element at a place."""
    place = int(convert_to_tensor(index, int64))
    if place < 0:
        raise _errors.OutOfRangeError(None, None, f"Index out of range [{place}].")
    found = dataset.skip(place).take(1)
    try:
        return found.get_single_element()
    except _errors.InvalidArgumentError:
        raise _errors.OutOfRangeError(None, None, f"Index out of range [{place}].") from None


def save(dataset, path, compression=None, shard_func=None, checkpoint_args=None):
    """As tf.data.Dataset.save."""
    return dataset.save(path, compression, shard_func, checkpoint_args)


def load(path, element_spec=None, compression=None, reader_func=None):
    """As tf.data.Dataset.load."""
    return Dataset.load(path, element_spec, compression, reader_func)


class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file."""

    def __init__(self, filename, compression_type=None) -> None:
        self._filename, self._compression = filename, compression_type

    def write(self, dataset) -> None:
        """Write every element as a record."""
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}."
            )
        spec = dataset.element_spec
        if getattr(spec, "dtype", None) is None or spec.dtype.name != "string" or spec.shape.rank:
            raise TypeError(
                "Invalid `dataset`. Expected `dataset` to produce scalar `DT_STRING` tensors, but "
                f"it produces {spec}."
            )
        with _RecordWriter(self._filename, self._compression or "") as writer:
            for record in dataset.as_numpy_iterator():
                writer.write(record)


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]

__getattr__ = _finder(__name__)
