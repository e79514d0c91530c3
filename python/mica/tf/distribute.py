"""`tf.distribute`: the default strategy, one replica that computes where the code runs."""

from __future__ import annotations

import contextlib
import enum
import threading


class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


class DistributedValues:
    """Base of values that differ from replica to replica."""

    def __init__(self, values) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple:
        """One for each replica."""
        return self._values


class DistributedDataset:
    """Base of datasets that give a value to each replica."""


class DistributedIterator:
    """Base of iterators over them."""


class _Threads(threading.local):
    strategies: list | None = None  # entered with scope()
    replica: ReplicaContext | None = None  # inside run()
    crossing = 0  # inside update() or merge_call()


_threads = _Threads()


class ReplicaContext:
    """What a replica knows of itself and the others."""

    def __init__(self, strategy: Strategy, replica_id: int = 0) -> None:
        self._strategy = strategy
        self._replica_id = replica_id

    @property
    def strategy(self) -> Strategy:
        """The strategy that runs this replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of this one."""
        return self._replica_id

    @property
    def devices(self) -> tuple:
        """The devices of this replica."""
        return ("",)

    def all_reduce(self, reduce_op, value, options=None):
        """Each replica's values combined over the replicas; one replica has its own back."""
        from . import identity, nest

        del reduce_op, options
        return nest.map_structure(identity, value, expand_composites=True)

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """Call a function once for all the replicas."""
        with _crossing():
            return merge_fn(self._strategy, *args, **(kwargs or {}))


@contextlib.contextmanager
def _crossing():
    before, _threads.replica = _threads.replica, None
    _threads.crossing += 1
    try:
        yield
    finally:
        _threads.crossing -= 1
        _threads.replica = before


class StrategyExtended:
    """What optimizers and layers ask of a strategy."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """Call fn with the variable, where it is."""
        with _crossing():
            return fn(var, *args, **(kwargs or {}))

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable):
        """Make variables where another one is."""
        yield

    def reduce_to(self, reduce_op, value, destinations, options=None):
        """The reduced value; of one replica its own."""
        return value

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        """The reduced values."""
        return [value for value, _ in value_destination_pairs]

    def value_container(self, value):
        """The distributed value that holds this one: itself."""
        return value

    def variable_created_in_scope(self, v) -> bool:
        """Whether the variable belongs to this strategy."""
        return True

    @property
    def worker_devices(self) -> tuple:
        """Where replicas compute."""
        return ("",)

    @property
    def parameter_devices(self) -> tuple:
        """Where variables lie."""
        return ("",)

    def _in_multi_worker_mode(self) -> bool:
        return False


class Strategy:
    """How computation is spread; this one does not spread it."""

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
        """Who finds the other workers: nobody."""
        return None

    @contextlib.contextmanager
    def scope(self):
        """Make this the current strategy."""
        entered = _threads.strategies or []
        if entered and entered[-1] is not self:
            raise RuntimeError(
                f"Mixing different tf.distribute.Strategy objects: {self} is not {entered[-1]}"
            )
        _threads.strategies = [*entered, self]
        _threads.crossing += 1
        try:
            yield self
        finally:
            _threads.strategies.pop()
            _threads.crossing -= 1

    def run(self, fn, args=(), kwargs=None, options=None):
        """Call fn on each replica."""
        before = (_threads.replica, _threads.crossing)
        _threads.replica, _threads.crossing = ReplicaContext(self), 0
        try:
            return fn(*args, **(kwargs or {}))
        finally:
            _threads.replica, _threads.crossing = before

    def reduce(self, reduce_op, value, axis):
        """The values of replicas combined, and also along an axis if one is given."""
        from . import nest, reduce_mean, reduce_sum

        if axis is None:
            return value
        kind = str(getattr(reduce_op, "value", reduce_op)).upper()
        if kind not in ("SUM", "MEAN"):
            raise ValueError(f"reduce_op must be SUM or MEAN, not {reduce_op!r}")
        function = reduce_sum if kind == "SUM" else reduce_mean
        return nest.map_structure(lambda v: function(v, axis=axis), value)

    def gather(self, value, axis):
        """The values of replicas side by side."""
        return value

    def experimental_local_results(self, value) -> tuple:
        """The values of the replicas of this process."""
        return (value,)

    def experimental_distribute_dataset(self, dataset, options=None):
        """A dataset that gives each replica its part: the dataset itself."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """A dataset made by a function of the input context."""
        return dataset_fn(InputContext())

    def experimental_distribute_values_from_function(self, value_fn):
        """A value per replica."""
        return value_fn(ReplicaContext(self))


class MirroredStrategy(Strategy):
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
        self._device = device

    def run(self, fn, args=(), kwargs=None, options=None):
        """Call fn on the device."""
        from . import device

        with device(self._device):
            return super().run(fn, args, kwargs, options)


class MultiWorkerMirroredStrategy(Strategy):
    """Copies of a model on several machines; here on one."""

    def __init__(self, cluster_resolver=None, communication_options=None) -> None:
        super().__init__()
        if cluster_resolver is not None:
            raise NotImplementedError("Several workers are not supported: one is.")


class TPUStrategy(Strategy):
    """Copies of a model on the cores of a TPU."""

    def __init__(self, tpu_cluster_resolver=None, experimental_device_assignment=None) -> None:
        raise NotImplementedError("There is no TPU that Mica can use.")


class InputContext:
    """What an input function knows of where its data goes."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The part of a batch that one replica gets."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync} "
            )
        return global_batch_size // self.num_replicas_in_sync


_default = Strategy()


def get_strategy() -> Strategy:
    """The strategy in whose scope the code runs, or the default one."""
    if _threads.replica is not None:
        return _threads.replica.strategy
    return _threads.strategies[-1] if _threads.strategies else _default


def has_strategy() -> bool:
    """Whether the code runs in the scope of a strategy other than the default one."""
    return get_strategy() is not _default


def get_replica_context() -> ReplicaContext | None:
    """The replica that runs the code; None between replicas (in a scope, in an update)."""
    if _threads.replica is not None:
        return _threads.replica
    return None if _threads.crossing else ReplicaContext(_default)


def in_cross_replica_context() -> bool:
    """Whether the code runs between replicas."""
    return get_replica_context() is None


def maybe_merge_call(fn, strategy, *args, **kwargs):
    """Call fn with the strategy, once for all replicas; one replica does not wait for others."""
    return fn(strategy, *args, **kwargs)


def strategy_supports_no_merge_call() -> bool:
    """Whether updates need no meeting of the replicas: there is one."""
    return True
