"""`tf.autograph.experimental`."""

from __future__ import annotations

import enum as _enum

from .._missing import finder as _finder
from ._calls import do_not_convert

__all__ = ["Feature", "do_not_convert", "set_loop_options"]


class Feature(_enum.Enum):
    """Parts of AutoGraph that TensorFlow leaves out unless they are asked for.

    They are accepted wherever TensorFlow takes them. Assertions and builtins are always converted.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Every feature."""
        return tuple(cls.__members__.values())

    @classmethod
    def all_but(cls, exclude: object) -> tuple[Feature, ...]:
        """Every feature but the given ones."""
        excluded = exclude if isinstance(exclude, (list, tuple, set)) else (exclude,)
        return tuple(set(cls.all()) - set(excluded) - {cls.ALL})


def set_loop_options(
    parallel_iterations: object = None,
    swap_memory: object = None,
    maximum_iterations: object = None,
    shape_invariants: object = None,
) -> None:
    """Give options to the graph that the loop around this call becomes.

    The call is the first statement of a loop's body; in plain Python it does nothing.
    """


__getattr__ = _finder(__name__)
