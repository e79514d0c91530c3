"""`tf.saved_model.experimental`."""

from .._tracking import TrackableResource
from ._options import VariablePolicy

__all__ = ["TrackableResource", "VariablePolicy"]
