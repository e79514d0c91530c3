"""Strategies: which replicas there are, what they run and how their values become one.

A process has one replica. A strategy of several processes has `_collectives`: calls to the others.
"""

from __future__ import annotations

import contextlib
import enum
import threading

from .. import (
    IndexedSlices,
    cast,
    convert_to_tensor,
    identity,
    nest,
    reduce_mean,
    reduce_sum,
    size,
    variable_creator_scope,
)
from .. import device as place
from ._inputs import InputContext, ValueContext, distributed

_HERE = "/job:localhost/replica:0/task:0/device:CPU:0"


class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


def reduce_op_of(value) -> ReduceOp:
    """Return the ReduceOp of its name, in any case of letters; itself as it is."""
    return ReduceOp(value.upper()) if isinstance(value, str) else ReduceOp(value)


class DistributedValues:
    """Base of values that differ from replica to replica."""

    def __init__(self, values) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple:
        """One for each replica."""
        return self._values


class PerReplica(DistributedValues):
    """A value for each replica of this process."""

    def __repr__(self) -> str:
        lines = "\n".join(f"  {i}: {value!r}" for i, value in enumerate(self._values))
        return "PerReplica:{\n" + lines + "\n}"


class _Threads(threading.local):
    strategies: list | None = None  # entered with scope()
    replica: ReplicaContext | None = None  # inside run()
    crossing = 0  # inside update() or merge_call()


_threads = _Threads()


class ReplicaContext:
    """What a replica knows of itself and the others."""

    def __init__(self, strategy: Strategy, replica_id_in_sync_group) -> None:
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group

    @property
    def strategy(self) -> Strategy:
        """The strategy that runs this replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self):
        """The number of this one, a tensor."""
        return convert_to_tensor(self._replica_id)

    @property
    def devices(self) -> tuple:
        """The devices of this replica."""
        return self._strategy._devices

    def all_reduce(self, reduce_op, value, options=None):
        """Each replica's values combined over the replicas; one replica has its own back."""
        kind, collectives = reduce_op_of(reduce_op), self._strategy._collectives
        if collectives is not None:
            flat = [_local(part) for part in nest.flatten(value)]
            return nest.pack_sequence_as(value, collectives.all_reduce(kind, flat))

        def own(part):
            if not isinstance(part, IndexedSlices):
                return nest.map_structure(identity, part, expand_composites=True)
            return IndexedSlices(identity(part.values), part.indices, part.dense_shape)

        return nest.map_structure(own, value)

    def all_gather(self, value, axis, options=None):
        """The values of all replicas side by side along an axis; one replica has its own back."""
        collectives = self._strategy._collectives
        if collectives is not None:
            return nest.map_structure(lambda v: collectives.all_gather(v, axis), value)
        return nest.map_structure(identity, value, expand_composites=True)

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """Call a function once for all the replicas of this process."""
        with _crossing(self._strategy):
            return merge_fn(self._strategy, *args, **(kwargs or {}))


@contextlib.contextmanager
def _crossing(strategy):
    """Leave the replica for a while; the strategy stays the current one."""
    before = (_threads.replica, _threads.strategies)
    _threads.replica, _threads.strategies = None, [*(_threads.strategies or ()), strategy]
    _threads.crossing += 1
    try:
        yield
    finally:
        _threads.crossing -= 1
        _threads.replica, _threads.strategies = before


class StrategyExtended:
    """What optimizers and layers ask of a strategy."""

    def __init__(self, container_strategy: Strategy) -> None:
        self._strategy = container_strategy

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """Call fn with the variable, where it is."""
        with _crossing(self._strategy):
            return fn(var, *args, **(kwargs or {}))

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable):
        """Make variables where another one is."""
        yield

    def reduce_to(self, reduce_op, value, destinations, options=None):
        """The reduced value; of one replica its own."""
        return self._strategy.reduce(reduce_op, value, axis=None)

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        """The reduced values."""
        return [self.reduce_to(reduce_op, *pair) for pair in value_destination_pairs]

    def value_container(self, value):
        """The distributed value that holds this one: itself."""
        return value

    def variable_created_in_scope(self, v) -> bool:
        """Whether the variable belongs to this strategy."""
        return getattr(v, "_distribute_strategy", _default) is self._strategy

    @property
    def worker_devices(self) -> tuple:
        """Where the replicas of this process compute."""
        return self._strategy._devices

    @property
    def parameter_devices(self) -> tuple:
        """Where variables lie."""
        return self._strategy._devices

    def _in_multi_worker_mode(self) -> bool:
        return self._strategy._collectives is not None


def _local(value):
    """The value of this process's replica."""
    return value.values[0] if isinstance(value, DistributedValues) else value


class Strategy:
    """How computation is spread; this one does not spread it."""

    _collectives = None  # the way to the replicas of other processes
    _devices = (_HERE,)

    def __init__(self) -> None:
        self._extended = StrategyExtended(self)

    @property
    def extended(self) -> StrategyExtended:
        """The rest of the interface."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return 1

    @property
    def cluster_resolver(self):
        """The cluster resolver: None."""
        return None

    @contextlib.contextmanager
    def scope(self):
        """Make this the current strategy; variables that are made within it belong to it."""
        _threads.strategies = [*self._entered(), self]
        _threads.crossing += 1
        try:
            with variable_creator_scope(self._make_variable):
                yield self
        finally:
            _threads.strategies.pop()
            _threads.crossing -= 1

    def _entered(self) -> list:
        """The strategies whose scopes are open: none, or this one."""
        entered = _threads.strategies or []
        if entered and entered[-1] is not self:
            raise RuntimeError(
                f"Mixing different tf.distribute.Strategy objects: {entered[-1]} is not {self}"
            )
        return entered

    def _make_variable(self, next_creator, **kwargs):
        variable = next_creator(**kwargs)
        variable._distribute_strategy = self
        return variable

    def run(self, fn, args=(), kwargs=None, options=None):
        """Call fn on each replica."""
        self._require_crossing()
        kwargs = kwargs or {}
        if any(isinstance(leaf, DistributedValues) for leaf in nest.flatten([args, kwargs])):
            args, kwargs = nest.map_structure(_local, [args, kwargs])
        before = (_threads.replica, _threads.crossing)
        _threads.replica, _threads.crossing = ReplicaContext(self, self._replica_id), 0
        try:
            return fn(*args, **kwargs)
        finally:
            _threads.replica, _threads.crossing = before

    def _require_crossing(self) -> None:
        if _threads.replica is not None and _threads.replica.strategy is not _default:
            raise RuntimeError(
                "Method requires being in cross-replica context, use "
                "get_replica_context().merge_call()"
            )

    @property
    def _replica_id(self) -> int:
        return 0 if self._collectives is None else self._collectives.index

    def reduce(self, reduce_op, value, axis):
        """The values of replicas combined, and also along an axis if one is given."""
        self._require_crossing()
        kind = reduce_op_of(reduce_op)
        value = _local(value)
        if axis is None and self._collectives is None:
            return value
        return nest.map_structure(lambda v: self._reduced(kind, _local(v), axis), value)

    def _reduced(self, kind: ReduceOp, value, axis):
        collectives = self._collectives
        if collectives is None:
            return reduce_sum(value, axis) if kind is ReduceOp.SUM else reduce_mean(value, axis)
        value = convert_to_tensor(value)
        if axis is None or value.shape.rank == 0:
            return collectives.all_reduce(kind, [value])[0]
        total = reduce_sum(value, axis)
        if kind is ReduceOp.SUM:
            return collectives.all_reduce(kind, [total])[0]
        count = cast(size(value) // size(total), total.dtype)
        whole, number = collectives.all_reduce(ReduceOp.SUM, [total, count])
        return whole / number

    def gather(self, value, axis):
        """The values of replicas side by side."""
        self._require_crossing()
        value = _local(value)
        return value if self._collectives is None else self._collectives.all_gather(value, axis)

    def experimental_local_results(self, value) -> tuple:
        """The values of the replicas of this process."""
        return value.values if isinstance(value, DistributedValues) else (value,)

    def _input_context(self) -> InputContext:
        if self._collectives is None:
            return InputContext()
        return InputContext(
            self._collectives.count, self._collectives.index, self.num_replicas_in_sync
        )

    def experimental_distribute_dataset(self, dataset, options=None):
        """A dataset that gives each replica its part; of one replica all of it."""
        return distributed(dataset)

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """The dataset that a function of the input context makes for this process."""
        return distributed(dataset_fn(self._input_context()))

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn):
        """A value per replica, of a function of its context."""
        value = value_fn(ValueContext(self._replica_id, self.num_replicas_in_sync))
        return nest.map_structure(lambda part: PerReplica([part]), value)


class DefaultStrategy(Strategy):
    """What is there without a strategy: everything is as it would be without replicas."""

    _devices = ("",)

    @contextlib.contextmanager
    def scope(self):
        """Stay as it is."""
        self._entered()
        yield self

    def experimental_distribute_dataset(self, dataset, options=None):
        """The dataset itself."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """The dataset that the function makes."""
        return dataset_fn(self._input_context())

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn):
        """The value itself."""
        return value_fn(ValueContext())


class Mirrored(Strategy):
    """What strategies have in common that keep a copy of each variable in every replica."""

    def reduce(self, reduce_op, value, axis):
        """The values of replicas combined: tensors, of Python's numbers too."""
        return nest.map_structure(convert_to_tensor, super().reduce(reduce_op, value, axis))


class MirroredStrategy(Mirrored):
    """Copies of a model on the devices of one machine; here on one device."""

    def __init__(self, devices=None, cross_device_ops=None) -> None:
        super().__init__()
        if devices is not None and len(devices) > 1:
            raise NotImplementedError(
                f"MirroredStrategy over {len(devices)} devices is not supported: one is."
            )


class OneDeviceStrategy(Strategy):
    """Everything on one device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        place(device)  # whether it is a device's name
        self._device = device

    def run(self, fn, args=(), kwargs=None, options=None):
        """Call fn on the device."""
        with place(self._device):
            return super().run(fn, args, kwargs, options)

    def experimental_distribute_values_from_function(self, value_fn):
        """The value itself."""
        return value_fn(ValueContext())


_default = DefaultStrategy()
_set: Strategy | None = None


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Make a strategy the current one, until another call; None: the default one."""
    global _set
    if _threads.strategies:
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    _set = None if strategy is _default else strategy


def get_strategy() -> Strategy:
    """The strategy in whose scope the code runs, or the default one."""
    if _threads.replica is not None:
        return _threads.replica.strategy
    return _threads.strategies[-1] if _threads.strategies else _set or _default


def has_strategy() -> bool:
    """Whether the code runs in the scope of a strategy other than the default one."""
    return get_strategy() is not _default


def get_replica_context() -> ReplicaContext | None:
    """The replica that runs the code; None between replicas (in a scope, in an update)."""
    if _threads.replica is not None:
        return _threads.replica
    return None if _threads.crossing or _set is not None else ReplicaContext(_default, 0)


def is_in_replica() -> bool:
    """Whether the code runs in a replica of a strategy: inside run()."""
    return _threads.replica is not None


def in_cross_replica_context() -> bool:
    """Whether the code runs between replicas."""
    return get_replica_context() is None


def maybe_merge_call(fn, strategy, *args, **kwargs):
    """Call fn with the strategy, once for all replicas; one replica does not wait for others."""
    return fn(strategy, *args, **kwargs)


def strategy_supports_no_merge_call() -> bool:
    """Whether updates need no meeting of the replicas: there is one in a process."""
    return True
