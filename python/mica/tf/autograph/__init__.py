"""AutoGraph: Python's control flow over tensors becomes a graph (`tf.autograph`).

`tf.function` converts what it traces; these names are for looking at it and for steering it.
"""

from __future__ import annotations

import ast as _ast
import functools as _functools
import inspect as _inspect
import types as _types
from collections.abc import Callable

from .._missing import finder as _finder
from . import experimental
from ._calls import ConversionError, convert, convert_code, set_verbosity, tree
from ._hooks import connect

__all__ = ["connect", "convert", "experimental", "set_verbosity", "to_code", "to_graph", "trace"]


def to_graph(
    entity: Callable, recursive: bool = True, experimental_optional_features: object = None
) -> Callable:
    """The converted form of a function, to be called like it.

    Raises
    ------
    ValueError
        If the function cannot be converted.
    """
    _converts_whole("to_graph", recursive, experimental_optional_features)
    function = _function_of(entity)
    try:
        convert_code(function)
    except (ConversionError, ValueError, SyntaxError) as error:
        raise ValueError(f"Unable to convert {entity}: {error}") from error
    return convert(entity)


def to_code(
    entity: Callable, recursive: bool = True, experimental_optional_features: object = None
) -> str:
    """The source of the converted form of a function."""
    _converts_whole("to_code", recursive, experimental_optional_features)
    return _ast.unparse(_ast.fix_missing_locations(tree(_function_of(entity))))


def _converts_whole(what: str, recursive: bool, features: object) -> None:
    if not recursive:
        raise NotImplementedError(
            f"[{what}] recursive=False: functions that a converted one calls are converted, too; "
            "mark those that should not be with tf.autograph.experimental.do_not_convert"
        )
    if features:
        raise NotImplementedError(
            f"[{what}] experimental_optional_features={features!r}: there are none; leave it out"
        )


def _function_of(entity: Callable) -> _types.FunctionType:
    entity = getattr(entity, "python_function", entity)
    while isinstance(entity, _functools.partial):
        entity = entity.func
    entity = getattr(entity, "__func__", entity)
    if not isinstance(entity, _types.FunctionType):
        entity = _inspect.getattr_static(type(entity), "__call__", entity)
    if not isinstance(entity, _types.FunctionType):
        raise ValueError(f"Unable to convert {entity!r}: it is not a Python function")
    return entity


def trace(*args: object) -> None:
    """Print the arguments while a function is traced."""
    print(*args)


__getattr__ = _finder(__name__)
