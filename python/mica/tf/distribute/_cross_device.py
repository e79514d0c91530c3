"""How values of several devices become one: the names that strategies are given."""

from __future__ import annotations

import enum

from .. import convert_to_tensor
from ._strategy import DistributedValues, ReduceOp, reduce_op_of


class CommunicationImplementation(enum.Enum):
    """By what means workers reduce values."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CommunicationOptions:
    """How workers reduce values.

    Parameters
    ----------
    bytes_per_pack
        How many bytes go in one message; 0: all of them.
    timeout_seconds
        How long a worker waits for the others; None: as long as it is used to.
    implementation
        By what means.
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation=CommunicationImplementation.AUTO,
    ) -> None:
        if bytes_per_pack < 0:
            raise ValueError(f"Argument `bytes_per_pack` must be >=0, Received {bytes_per_pack}.")
        if isinstance(implementation, str):
            implementation = CommunicationImplementation(implementation.upper())
        if not isinstance(implementation, CommunicationImplementation):
            raise ValueError(
                "Argument `implementation` must be instance of "
                "`tf.distribute.experimental.CommunicationImplementation`."
            )
        self.bytes_per_pack = bytes_per_pack
        self.timeout_seconds = timeout_seconds
        self.implementation = implementation


class CollectiveHints(CommunicationOptions):
    """The older name, without the choice of means."""

    def __init__(self, bytes_per_pack: int = 0, timeout_seconds: float | None = None) -> None:
        super().__init__(bytes_per_pack, timeout_seconds)


def _parts(value) -> tuple:
    return value.values if isinstance(value, DistributedValues) else (value,)


class CrossDeviceOps:
    """Reduces the values of devices, and copies one to them all.

    The devices of this machine share its memory: values are added in the order of the replicas.
    """

    def reduce(self, reduce_op, per_replica_value, destinations, options=None):
        """The sum or the mean of the values."""
        kind = reduce_op_of(reduce_op)
        parts = [convert_to_tensor(part) for part in _parts(per_replica_value)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total / len(parts) if kind is ReduceOp.MEAN and len(parts) > 1 else total

    def batch_reduce(self, reduce_op, value_destination_pairs, options=None) -> list:
        """The sums or the means of several values."""
        return [self.reduce(reduce_op, value, to) for value, to in value_destination_pairs]

    def broadcast(self, tensor, destinations):
        """The value at its destinations: all of them see this one."""
        return convert_to_tensor(tensor)


class _Packed(CrossDeviceOps):
    _name = ""

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"{self._name} requires num_packs >= 0, but {num_packs} is specified")


class NcclAllReduce(_Packed):
    """Values go round between the devices."""

    _name = "NCCL all-reduce"


class HierarchicalCopyAllReduce(_Packed):
    """Values go up a tree of devices and down again."""

    _name = "HierarchicalCopy"


class ReductionToOneDevice(CrossDeviceOps):
    """Values go to one device, which reduces them."""

    def __init__(self, reduce_to_device=None, accumulation_fn=None) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn

    def reduce(self, reduce_op, per_replica_value, destinations, options=None):
        """The sum (by accumulation_fn where it was given) or the mean of the values."""
        if self.accumulation_fn is None:
            return super().reduce(reduce_op, per_replica_value, destinations, options)
        parts = list(_parts(per_replica_value))
        total = self.accumulation_fn(parts)
        return total / len(parts) if reduce_op_of(reduce_op) is ReduceOp.MEAN else total
