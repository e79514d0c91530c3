"""What AutoGraph asks of the world of tensors: one table of functions, filled by the package.

The operators know tensors only through this table, so the transformation can be tried on anything
that has these few notions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext


def _absent(*arguments: object, **options: object) -> object:
    raise NotImplementedError("AutoGraph has not been connected to tensors")


class Hooks:
    """The table. Every entry is a function; see the comments."""

    # Whether a value is a dense tensor or a variable, symbolic or not.
    is_tensor: Callable = staticmethod(lambda value: False)
    # A value as a tensor.
    convert: Callable = staticmethod(_absent)
    # cond(predicate, true_function, false_function): structures come back as structures.
    cond: Callable = staticmethod(_absent)
    # while_loop(test, body, variables, shape_invariants=, maximum_iterations=, ...)
    while_loop: Callable = staticmethod(_absent)
    # A context in which ops are added to a graph that is thrown away.
    scratch_graph: Callable = staticmethod(nullcontext)
    # placeholder(dtype, shape): a symbolic tensor of the current graph.
    placeholder: Callable = staticmethod(_absent)
    zeros: Callable = staticmethod(_absent)
    identity: Callable = staticmethod(_absent)
    # A tensor with one element as a scalar.
    to_scalar: Callable = staticmethod(_absent)
    logical_not: Callable = staticmethod(_absent)
    logical_and: Callable = staticmethod(_absent)
    logical_or: Callable = staticmethod(_absent)
    # check(condition, data): an assertion in the graph.
    check: Callable = staticmethod(_absent)
    # (start, limit, delta) of a symbolic tensor that tf.range made, else None.
    range_parts: Callable = staticmethod(lambda value: None)
    # The value of a tensor that is known while tracing, else None.
    constant_value: Callable = staticmethod(lambda value: None)
    # elements(tensor) -> (number, read): read(i) is the i-th slice.
    elements: Callable = staticmethod(_absent)
    # loop_over(value) -> a function with for_stmt's signature for values of other kinds
    # (datasets, iterators), else None.
    loop_over: Callable = staticmethod(lambda value: None)
    # Overloads of builtins for tensors: name -> function.
    builtins: dict = {}  # noqa: RUF012
    # Whether an exception says that a symbolic tensor was asked for its truth.
    is_truth_error: Callable = staticmethod(lambda error: False)
    # Whether a composite, such as a TensorArray or a ragged tensor, may be a loop's variable.
    is_composite: Callable = staticmethod(lambda value: False)
    # A shape of anything that stands for one.
    as_shape: Callable = staticmethod(lambda shape: shape)
    # Modules whose functions are never converted, beside the standard library and numpy.
    library_modules: tuple = ("mica", "mlcompute", "keras", "tensorflow")
    # Those whose functions are converted all the same when tf.function is given them.
    converted_when_asked: tuple = ("keras",)


hooks = Hooks()


def connect(**functions: object) -> None:
    """Fill entries of the table."""
    for name, function in functions.items():
        if not hasattr(Hooks, name):
            raise AttributeError(f"AutoGraph has no hook named {name}")
        setattr(hooks, name, function)
