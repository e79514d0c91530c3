"""`tf.saved_model.experimental`."""

from .._missing import finder as _finder
from .._tracking import TrackableResource
from ._options import VariablePolicy

__all__ = ["TrackableResource", "VariablePolicy"]

__getattr__ = _finder(__name__)
