"""`tf.compat.v1.logging`: the package's logger under its older names."""

from __future__ import annotations

from logging import DEBUG, ERROR, FATAL, INFO, WARN

from ..._effects import get_logger
from ..._missing import finder as _finder

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "get_verbosity",
    "info",
    "set_verbosity",
    "warn",
    "warning",
]


def set_verbosity(v) -> None:
    """Let messages from this level on through."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level from which on messages are let through."""
    return get_logger().getEffectiveLevel()


def debug(msg, *args, **kwargs) -> None:
    """Write a message of level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs) -> None:
    """Write a message of level INFO."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg, *args, **kwargs) -> None:
    """Write a message of level WARN."""
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg, *args, **kwargs) -> None:
    """Write a message of level ERROR."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs) -> None:
    """Write a message of level FATAL."""
    get_logger().fatal(msg, *args, **kwargs)


__getattr__ = _finder(__name__)
