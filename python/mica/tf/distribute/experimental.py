"""`tf.distribute.experimental`: older names."""

from .._missing import finder as _finder
from ._cross_device import CollectiveHints, CommunicationImplementation, CommunicationOptions
from ._inputs import ValueContext
from ._tpu import ExperimentalTPUStrategy as TPUStrategy
from ._workers import ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy

CollectiveCommunication = CommunicationImplementation

__all__ = [
    "CollectiveCommunication",
    "CollectiveHints",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "TPUStrategy",
    "ValueContext",
]

__getattr__ = _finder(__name__)
