"""tf.autodiff."""

from ._tape import ForwardAccumulator, GradientTape

__all__ = ["ForwardAccumulator", "GradientTape"]
