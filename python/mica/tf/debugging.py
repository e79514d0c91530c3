"""tf.debugging."""

from __future__ import annotations

from ._print import Assert

__all__ = ["Assert"]
