"""tf.math."""

from ._math import *  # noqa: F403
