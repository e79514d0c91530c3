"""Ops of mathematics."""

from ...math import is_nan

__all__ = ["is_nan"]
