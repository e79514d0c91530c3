"""What input functions are told, and the datasets that strategies give to their replicas."""

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

from .. import cast, int64, nest, shape
from ..data import Dataset, Iterator
from ..data.experimental import AutoShardPolicy


class InputContext:
    """What an input function knows of where its data goes."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_input_pipelines(self) -> int:
        """How many input pipelines there are: one for each worker."""
        return self._num_input_pipelines

    @property
    def input_pipeline_id(self) -> int:
        """Which of them this one is."""
        return self._input_pipeline_id

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas share a global batch."""
        return self._num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The part of a batch that one replica gets."""
        if global_batch_size % self._num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by "
                f"`num_replicas_in_sync` {self._num_replicas_in_sync!r} "
            )
        return global_batch_size // self._num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self._input_pipeline_id}, "
            f"total: {self._num_input_pipelines})"
        )


class ValueContext:
    """What a function of values knows of the replica that the value is for."""

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._replica_id = replica_id_in_sync_group
        self._count = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._count

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of the replica."""
        return self._replica_id

    def __str__(self) -> str:
        return (
            f"tf.distribute.ValueContext(replica id {self._replica_id}, "
            f"total replicas in sync: {self._count})"
        )


class InputReplicationMode(enum.Enum):
    """For whom an input function is called: every worker, or every replica."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class _InputOptions(NamedTuple):
    experimental_fetch_to_device: bool
    experimental_replication_mode: InputReplicationMode
    experimental_place_dataset_on_device: bool
    experimental_per_replica_buffer_size: int


class InputOptions(_InputOptions):
    """How the elements of a distributed dataset come to the replicas."""

    def __new__(
        cls,
        experimental_fetch_to_device=None,
        experimental_replication_mode=InputReplicationMode.PER_WORKER,
        experimental_place_dataset_on_device=False,
        experimental_per_replica_buffer_size=1,
    ):
        """Fetch to the device unless that is refused."""
        fetches = experimental_fetch_to_device is None or experimental_fetch_to_device
        return super().__new__(
            cls,
            fetches,
            experimental_replication_mode,
            experimental_place_dataset_on_device,
            experimental_per_replica_buffer_size,
        )


class RunOptions(NamedTuple):
    """How a strategy runs a function; for TPUs."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: object = None


class DistributedDataset:
    """Base of datasets that give a value to each replica."""


class DistributedIterator:
    """Base of iterators over them."""


@functools.cache
def _classes() -> tuple[type, type]:
    """The dataset and the iterator of one replica; tf.data is imported when they are needed."""
    class OneReplicaIterator(Iterator, DistributedIterator):
        """The iterator over the part of one replica."""

    class OneReplicaDataset(Dataset, DistributedDataset):
        """The part that one replica gets."""

        def __iter__(self):
            iterator = super().__iter__()
            if not isinstance(iterator, Iterator):
                return iterator
            made = OneReplicaIterator.__new__(OneReplicaIterator)
            made.__dict__.update(iterator.__dict__)
            return made

    return OneReplicaDataset, OneReplicaIterator


def distributed(dataset):
    """Return a dataset as the distributed one of this process's only replica."""
    if isinstance(dataset, DistributedDataset):
        return dataset
    if not isinstance(dataset, Dataset):
        raise AttributeError(
            f"{type(dataset).__name__!r} object is no tf.data.Dataset: {dataset!r} cannot be "
            "distributed"
        )
    made = object.__new__(_classes()[0])
    made.__dict__.update(dataset.__dict__)
    return made


def _own(count: int, index: int):
    """A function that gives a worker's part of a batch."""

    def part(tensor):
        size = (shape(tensor)[0] + count - 1) // count
        return tensor[index * size : (index + 1) * size]

    return part


def _together(element):
    """An element's tensors as one structure, as functions of datasets are given it."""
    return element[0] if len(element) == 1 else element


def part_of_worker(dataset, count: int, index: int):
    """The part of a dataset that one of several workers gets.

    Of every batch a worker gets its share, in the order of the workers, so that all have as many
    steps; of a last batch with few elements the last ones may get none. Of elements that are no
    batches each gets every count-th. With AutoShardPolicy.OFF each gets all of the data, in batches
    of its share.
    """
    specs = nest.flatten(dataset.element_spec)
    policy = dataset.options().experimental_distribute.auto_shard_policy
    if any(spec.shape.rank == 0 for spec in specs):
        if policy == AutoShardPolicy.OFF:
            return dataset
        rows = dataset.batch(count, drop_remainder=True)
        return rows.map(lambda *e: nest.map_structure(lambda t: t[index], _together(e)))
    if policy == AutoShardPolicy.OFF:

        def shares(*element):
            size = shape(nest.flatten(element)[0])[0]
            rows = Dataset.from_tensor_slices(_together(element))
            return rows.batch(_as_int64((size + count - 1) // count))

        return dataset.flat_map(shares)
    own = _own(count, index)
    return dataset.map(lambda *e: nest.map_structure(own, _together(e)))


def _as_int64(value):
    return cast(value, int64)
