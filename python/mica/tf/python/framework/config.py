"""Settings."""


def enable_op_determinism() -> None:
    """Do nothing: ops give the same bits each time."""


def disable_op_determinism() -> None:
    """Allow ops to give other bits each time; none makes use of it."""


def is_op_determinism_enabled() -> bool:
    """Whether ops give the same bits each time: they always do."""
    return True


__all__ = ["disable_op_determinism", "enable_op_determinism", "is_op_determinism_enabled"]
