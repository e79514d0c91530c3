"""Settings."""


def is_op_determinism_enabled() -> bool:
    """Whether ops give the same bits each time: they always do."""
    return True


__all__ = ["is_op_determinism_enabled"]
