"""The context that ops run in."""

from __future__ import annotations

from .... import _mica
from ... import _devices
from ..._context import building, executing_eagerly


class _Context:
    """What programs ask of the context."""

    def executing_eagerly(self) -> bool:
        """Whether ops run at once."""
        return executing_eagerly()

    def clear_kernel_cache(self) -> None:
        """Forget what eager ops have compiled."""
        _mica.tf_eager_clear()

    def ensure_initialized(self) -> None:
        """The context is always ready."""


_context = _Context()


def context() -> _Context:
    """The context of the process."""
    return _context


def async_wait() -> None:
    """Wait for everything that runs; errors come out."""
    _mica.tf_wait()


def _reset_context() -> None:
    """Forget what has been set up: devices can be divided anew, and operations are unseeded."""
    _mica.tf_wait()
    _mica.tf_eager_clear()
    _devices.restart()
    _mica.tf_random_reset()


def eager_mode():
    """A context in which ops run at once."""
    return building(None)


__all__ = ["async_wait", "context", "eager_mode", "executing_eagerly"]
