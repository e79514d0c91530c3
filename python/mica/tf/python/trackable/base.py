"""The base of values that know what they hold."""

from ..._tracking import Trackable, no_automatic_dependency_tracking

__all__ = ["Trackable", "no_automatic_dependency_tracking"]
