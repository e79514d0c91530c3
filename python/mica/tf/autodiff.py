"""tf.autodiff."""

from ._missing import finder as _finder
from ._tape import ForwardAccumulator, GradientTape

__all__ = ["ForwardAccumulator", "GradientTape"]

__getattr__ = _finder(__name__)
