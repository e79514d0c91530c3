"""The run-time half of AutoGraph: what converted functions call as ``ag__.name``.

Each operator looks at the value it depends on. A Python value: it does what Python does. A tensor:
it builds an If or a While, carrying the variables that the statement's `get` and `set` give.
"""

from __future__ import annotations

import operator

import numpy as np

from .. import _nest as nest
from ._calls import artifact, converted
from ._hooks import hooks

__all__ = [
    "Undefined",
    "and_",
    "artifact",
    "assert_stmt",
    "chain",
    "converted",
    "for_stmt",
    "get_nothing",
    "graph_while",
    "if_exp",
    "if_stmt",
    "is_defined",
    "ld",
    "ldu",
    "loop_options",
    "no_result",
    "none_of",
    "not_",
    "or_",
    "result",
    "set_nothing",
    "while_stmt",
]

_LOOP_TYPES = "Tensor, int, float, bool or a list, tuple or dict thereof"
_LIMITS = (
    "https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/"
    "reference/limitations.md#consistency-of-control-flow-types"
)
_PLAIN = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


class Undefined:
    """Stands in a variable that has no value yet."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self) -> object:
        """What Python does when such a variable is read."""
        raise UnboundLocalError(f"'{self.name}' is used before assignment")

    def __repr__(self) -> str:
        return f"<undefined {self.name}>"


class NoResult:
    """Stands for the result of a function that has not returned yet."""

    __slots__ = ()


_NO_RESULT = NoResult()


def no_result() -> NoResult:
    """The result of a function that has not returned."""
    return _NO_RESULT


def result(value: object, returned: object = True) -> object:
    """What a function gives at its end."""
    if hooks.is_tensor(returned):
        known = hooks.constant_value(returned)
        if known is None or not known:
            raise ValueError(
                "the else branch must also have a return statement. A function that returns a "
                "value under a TensorFlow condition must return one on every path."
            )
    return None if value is _NO_RESULT else value


def ld(value: object) -> object:
    """The value of a variable that may be undefined."""
    return value.read() if type(value) is Undefined else value


def ldu(load, name: str) -> object:
    """The value that a function loads, or `Undefined`."""
    try:
        return load()
    except (NameError, AttributeError, KeyError, IndexError, TypeError):
        return Undefined(name)


def is_defined(value: object) -> bool:
    """Whether a variable has a value."""
    return type(value) is not Undefined


def get_nothing() -> tuple:
    """The state of a statement that carries nothing."""
    return ()


def set_nothing(value: tuple) -> None:
    """Write the state of a statement that carries nothing."""


# Logic


def _truth(value: object, what: str) -> object:
    """A condition as a scalar tensor of bool; ValueError where it is none."""
    hint = "to check for None, use `is not None`"
    value = hooks.convert(value)
    if value.dtype.name not in ("bool", "bool_ref"):
        raise ValueError(
            f"condition of {what} expected to be `tf.bool` scalar, got {value}; to use as boolean "
            f"Tensor, use `tf.cast`; {hint}"
        )
    shape = value.shape
    if shape.rank == 0:
        return value
    if shape.rank is not None and np.prod([n for n in shape.as_list() if n is not None]) > 1:
        raise ValueError(
            f"condition of {what} expected to be `tf.bool` scalar, got {value}; {hint}"
        )
    return hooks.to_scalar(value)


def and_(first: object, *rest) -> object:
    """`first and rest[0]() and …`; tensors with a lazily built `cond`."""
    value = first
    for i, part in enumerate(rest):
        if hooks.is_tensor(value):
            remaining = rest[i + 1 :]
            return hooks.cond(value, lambda: and_(part(), *remaining), lambda: False)  # noqa: B023
        if not value:
            return value
        value = part()
    return value


def or_(first: object, *rest) -> object:
    """`first or rest[0]() or …`; tensors with a lazily built `cond`."""
    value = first
    for i, part in enumerate(rest):
        if hooks.is_tensor(value):
            remaining = rest[i + 1 :]
            return hooks.cond(value, lambda: True, lambda: or_(part(), *remaining))  # noqa: B023
        if value:
            return value
        value = part()
    return value


def not_(value: object) -> object:
    """`not value`."""
    return hooks.logical_not(value) if hooks.is_tensor(value) else not value


def none_of(*flags: object) -> object:
    """Whether no flag is set: what a jump would have skipped is to be run."""
    tensors = [flag for flag in flags if hooks.is_tensor(flag)]
    if not tensors:
        return not any(flags)
    if any(flag for flag in flags if not hooks.is_tensor(flag)):
        return False
    found = tensors[0]
    for flag in tensors[1:]:
        found = hooks.logical_or(found, flag)
    return hooks.logical_not(found)


_SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


def chain(signs: tuple, left: object, right: object, *rest) -> object:
    """A chain of comparisons, `a < b < c`; every operand is evaluated once."""
    found = _SIGNS[signs[0]](left, right)
    if not rest:
        return found
    if not hooks.is_tensor(found) and not found:
        return found
    # Elementwise comparisons have no order of evaluation to keep.
    if hooks.is_tensor(found):
        return hooks.logical_and(found, chain(signs[1:], right, rest[0](), *rest[1:]))
    return chain(signs[1:], right, rest[0](), *rest[1:])


def if_exp(test: object, then, otherwise) -> object:
    """`then() if test else otherwise()`."""
    if not hooks.is_tensor(test):
        return then() if test else otherwise()
    test = _truth(test, "conditional expression")
    given: dict[str, object] = {}

    def branch(name: str, function):
        def build():
            given[name] = function()
            if len(given) == 2:
                _check_branches(("conditional expression",), (given["main"],), (given["else"],))
            return given[name]

        return build

    return hooks.cond(test, branch("main", then), branch("else", otherwise))


def assert_stmt(test: object, message) -> None:
    """`assert test, message()`; in a graph, an assertion that is checked when the graph runs."""
    if hooks.is_tensor(test):
        hooks.check(
            _truth(test, "assertion"), ["assertion failed" if message is None else message()]
        )
        return
    if not test:
        raise AssertionError(*(() if message is None else (message(),)))


# Branches


def if_stmt(test, body, orelse, get, put, names: tuple, outputs: int) -> None:
    """An if statement: `names[:outputs]` are variables that are used after it."""
    if not hooks.is_tensor(test):
        if test:
            body()
        else:
            orelse()
        return
    test = _truth(test, "if statement")
    before = get()
    fill, neither = _results_of_branches(body, orelse, get, put, before, outputs)
    if neither:
        # The result stays open whichever branch is taken: it does not go through the graph.
        kept = [i for i in range(len(names)) if i not in neither]
        get, put = _narrowed(get, put, kept, before)
        before, names = tuple(before[i] for i in kept), tuple(names[i] for i in kept)
        outputs -= len(neither)
        fill = {kept.index(i): value for i, value in fill.items()}
    given: dict[str, tuple] = {}

    def branch(name: str, function):
        def build():
            put(before)
            function()
            values = tuple(
                fill[i] if value is _NO_RESULT and i in fill else value
                for i, value in enumerate(get()[:outputs])
            )
            _check_branch(name, names, values)
            given[name] = values
            if len(given) == 2:
                _check_branches(names, given["main"], given["else"])
            return values

        return build

    try:
        after = hooks.cond(test, branch("main", body), branch("else", orelse))
    except BaseException:
        put(before)
        raise
    put(tuple(after) + tuple(before[outputs:]))


def _narrowed(get, put, kept: list[int], before: tuple) -> tuple:
    """Accessors of a part of a statement's state; the rest stays as it was before."""

    def get_part() -> tuple:
        values = get()
        return tuple(values[i] for i in kept)

    def put_part(values: tuple) -> None:
        whole = list(before)
        for i, value in zip(kept, values, strict=True):
            whole[i] = value
        put(tuple(whole))

    return get_part, put_part


def _results_of_branches(body, orelse, get, put, before, outputs) -> tuple[dict, list]:
    """Stand-ins for the result of a branch that does not return, by position.

    When one branch returns and the other goes on, the other has no result yet. Its stand-in is
    never used: the flag that goes with it says so. The second answer lists the positions at which
    neither branch returns.
    """
    waiting = [i for i in range(outputs) if before[i] is _NO_RESULT]
    if not waiting:
        return {}, []
    found: list[tuple] = []
    for function in (body, orelse):
        with hooks.scratch_graph():
            put(before)
            try:
                function()
                found.append(get())
            finally:
                put(before)
    fill = {}
    for i in waiting:
        results = [values[i] for values in found if values[i] is not _NO_RESULT]
        if len(results) == 1 and results[0] is not None:
            fill[i] = _stand_in(results[0], None)[0]
    neither = [i for i in waiting if all(values[i] is _NO_RESULT for values in found)]
    return fill, neither


def _check_branch(branch: str, names: tuple, values: tuple) -> None:
    for name, value in zip(names, values, strict=False):
        if type(value) is Undefined:
            raise ValueError(f"'{name}' must also be initialized in the {branch} branch")
        if value is _NO_RESULT:
            raise ValueError(f"the {branch} branch must also have a return statement.")


def _check_branches(names: tuple, main: tuple, other: tuple) -> None:
    for name, a, b in zip(names, main, other, strict=False):
        a, b = _without_variables(a), _without_variables(b)
        try:
            nest.assert_same_structure(a, b, expand_composites=True)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"'{name}' must have the same nested structure in the main and else branches:\n\n"
                f"{error}"
            ) from error
        for x, y in zip(nest.flatten(a), nest.flatten(b), strict=True):
            if x is None and y is None:
                continue
            for value, branch in ((x, "main"), (y, "else")):
                if value is None:
                    raise ValueError(f"'{name}' is None at the end of the {branch} branch.")
            x, y = _as_tensor(x), _as_tensor(y)
            if hooks.is_tensor(x) and hooks.is_tensor(y) and x.dtype != y.dtype:
                raise TypeError(
                    f"'{name}' has dtype {x.dtype.name} in the main branch, but dtype "
                    f"{y.dtype.name} in the else branch"
                )


def _without_variables(structure: object) -> object:
    """The structure with variables read: either side of a comparison may hold one."""
    return nest.map_structure(
        lambda value: (
            hooks.convert(value) if hooks.is_tensor(value) and hasattr(value, "assign") else value
        ),
        structure,
    )


def _as_tensor(value: object) -> object:
    return hooks.convert(value) if isinstance(value, _PLAIN) else value


# Loops


def loop_options(
    parallel_iterations=None, swap_memory=None, maximum_iterations=None, shape_invariants=None
) -> dict:
    """The options that `set_loop_options` in a loop's body gives."""
    given = {
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "maximum_iterations": maximum_iterations,
        "shape_invariants": shape_invariants,
    }
    return {name: value for name, value in given.items() if value is not None}


def while_stmt(test, body, get, put, names: tuple, options: dict | None) -> None:
    """A while statement."""
    with hooks.scratch_graph():
        first = test()
    if hooks.is_tensor(first):
        graph_while(test, body, get, put, names, options or {})
        return
    while first:
        body()
        first = _python_truth(
            test(),
            "The condition of while loop started as non-Tensor, then changed to Tensor. This may "
            "happen either because variables changed type, or when a break or return statement "
            "inside the loop depends on a Tensor condition. In both cases, changing to a TF loop "
            "should remove the error.",
        )


def _python_truth(value: object, message: str) -> bool:
    try:
        return bool(value)
    except Exception as error:
        if hooks.is_truth_error(error):
            raise NotImplementedError(f"{message}\nSee {_LIMITS} for more info.") from error
        raise


def for_stmt(
    sequence, going_on, body, get, put, names: tuple, target: str | None, options: dict | None
) -> None:
    """A for statement; `going_on` says whether a jump has ended it."""
    if hooks.is_tensor(sequence):
        parts = hooks.range_parts(sequence)
        if parts is not None:
            _graph_range(parts, going_on, body, get, put, names, target, options or {})
        else:
            _graph_elements(sequence, going_on, body, get, put, names, options or {})
        return
    other = hooks.loop_over(sequence)
    if other is not None:
        other(sequence, going_on, body, get, put, names, options or {})
        return
    if going_on is None:
        for item in sequence:
            body(item)
        return
    message = (
        "break and return statements which depend on a TF condition are not supported in Python "
        "for loops. Did you intend to make it a TF loop?"
    )
    if not _python_truth(going_on(), message):
        return
    for item in sequence:
        body(item)
        if not _python_truth(going_on(), message):
            return


def _both(main: object, going_on) -> object:
    """The loop's own condition, then the flags."""
    if going_on is None:
        return main
    return hooks.cond(main, going_on, lambda: False)


def _graph_range(parts, going_on, body, get, put, names, target, options) -> None:
    start, limit, delta = parts
    at = start
    step = hooks.constant_value(delta)

    def get_all():
        # A target that is used after the loop starts as the first number.
        values = tuple(
            at if name == target and type(value) is Undefined else value
            for name, value in zip(names, get(), strict=True)
        )
        return (at, *values)

    def put_all(values):
        nonlocal at
        at = values[0]
        put(tuple(values[1:]))

    def run():
        nonlocal at
        body(at)
        at = at + delta

    def test():
        if step is not None:
            main = at < limit if step >= 0 else at > limit
        else:
            up = hooks.logical_and(delta >= 0, at < limit)
            main = hooks.logical_or(up, hooks.logical_and(delta < 0, at > limit))
        return _both(main, going_on)

    graph_while(test, run, get_all, put_all, ("<internal iterate>", *names), options)


def _graph_elements(sequence, going_on, body, get, put, names, options) -> None:
    number, read = hooks.elements(sequence)
    at: object = 0

    def get_all():
        return (at, *get())

    def put_all(values):
        nonlocal at
        at = values[0]
        put(tuple(values[1:]))

    def run():
        nonlocal at
        body(read(at))
        at = at + 1

    def test():
        return _both(at < number, going_on)

    graph_while(test, run, get_all, put_all, ("<internal iterate>", *names), options)


def _is_missing(value: object) -> bool:
    return value is None or value is _NO_RESULT or type(value) is Undefined


def graph_while(test, body, get, put, names: tuple, options: dict) -> None:
    """A loop in a graph: its variables go in and come out as one tuple."""
    before = get()
    given = options.get("shape_invariants") or ()
    invariants = [_invariant_of(value, given) for value in before]
    missing = [_is_missing(value) for value in before]
    start = before
    if any(missing):
        start, invariants, open_ = _fill_missing(body, get, put, before, names, missing, invariants)
        if open_:
            # No iteration returns: the function's result does not go through the graph.
            kept = [i for i in range(len(names)) if i not in open_]
            get, put = _narrowed(get, put, kept, before)
            before, start, names, missing, invariants = (
                [part[i] for i in kept] for part in (before, start, names, missing, invariants)
            )
    # What must have been set by an iteration is told at run time by a flag. A function's result
    # needs none: it has one of its own.
    unsure = [
        name
        for name, value, gone in zip(names, before, missing, strict=True)
        if gone and value is not _NO_RESULT
    ]
    lead: tuple = (False,) if unsure else ()
    skip = len(lead)

    def run_test(*values):
        put(tuple(values[skip:]))
        return _truth(test(), "while loop")

    def run_body(*values):
        entry = tuple(values[skip:])
        put(entry)
        body()
        leave = get()
        _check_loop(names, start, entry, leave, invariants)
        return (True, *leave) if unsure else leave

    arguments = {key: value for key, value in options.items() if key != "shape_invariants"}
    if any(invariant is not None for invariant in invariants):
        arguments["shape_invariants"] = (None,) * skip + tuple(invariants)
    try:
        after = tuple(hooks.while_loop(run_test, run_body, (*lead, *start), **arguments))
    except BaseException:
        put(before)
        raise
    if unsure:
        after = hooks.check(
            after[0],
            [f"loop must iterate at least once to initialize {', '.join(unsure)}"],
            after[1:],
        )
    put(tuple(after))


def _invariant_of(value: object, given) -> object:
    for candidate, invariant in given:
        if candidate is value:
            return (
                nest.map_structure(hooks.as_shape, invariant)
                if _is_plain_nest(invariant)
                else (hooks.as_shape(invariant))
            )
    return None


def _is_plain_nest(invariant: object) -> bool:
    """Whether an invariant is a structure of shapes rather than a shape."""
    return nest.is_nested(invariant) and not all(
        size is None or isinstance(size, int) for size in nest.flatten(invariant)
    )


def _fill_missing(body, get, put, before, names, missing, invariants) -> tuple[tuple, list, list]:
    """Give variables without a value one that looks like what the body makes of them.

    The last answer lists the positions of function results that the body leaves open.

    The body is run once into a graph that is thrown away. Had it read one of them, it would have
    failed: so the values that stand in are never seen.
    """
    first: tuple | None = None
    note = None

    def symbolic(value: object) -> object:
        if isinstance(value, _PLAIN):
            value = hooks.convert(value)
            return hooks.placeholder(value.dtype, value.shape)
        return value

    start = before
    try:
        with hooks.scratch_graph():
            put(tuple(v if _is_missing(v) else nest.map_structure(symbolic, v) for v in before))
            body()
            first = get()
        pairs = [
            _stand_in(like, invariant) if gone and not _is_missing(like) else (value, invariant)
            for value, like, gone, invariant in zip(before, first, missing, invariants, strict=True)
        ]
        start = tuple(value for value, _ in pairs)
        invariants = [invariant for _, invariant in pairs]
    except (UnboundLocalError, TypeError, ValueError, KeyError) as error:
        note = (
            f"Note: AutoGraph tried to define it automatically, but ran into a "
            f"{type(error).__name__}: {error}"
        )
    finally:
        put(before)
    open_ = [
        i
        for i, value in enumerate(start)
        if value is _NO_RESULT and first is not None and first[i] is _NO_RESULT
    ]
    _check_start(names, start, first, note, open_)
    return start, invariants, open_


def _check_start(names, start, first: tuple | None, note: str | None, open_: list[int]) -> None:
    first = first or (None,) * len(names)
    for i, (name, value, later) in enumerate(zip(names, start, first, strict=True)):
        if i in open_:
            continue
        if value is _NO_RESULT:
            if later is not None and later is not _NO_RESULT:
                raise ValueError(
                    f"the return value from a TensorFlow loop may only be a {_LOOP_TYPES}; got "
                    f"{type(later)}"
                )
            raise NotImplementedError(
                "a return statement cannot be placed inside this TensorFlow loop; this may happen "
                "if a return statement depends on a static Python condition such as a "
                "hyperparameter" + (f"\n{note}" if note else "")
            )
        if value is None:
            raise ValueError(f"'{name}' is not allowed to be None before the loop")
        if type(value) is Undefined:
            raise ValueError(
                f"'{name}' must be defined before the loop" + (f"\n{note}" if note else "")
            )


def _stand_in(like: object, invariant: object) -> tuple[object, object]:
    """A value of the same kind with zeros, and the shape invariant that it needs, if any."""
    if isinstance(like, (bool, int, float)):
        return type(like)(0), None
    if hooks.is_tensor(like):
        shape = like.shape if invariant is None else invariant
        if shape.rank is None:
            return hooks.zeros((), like.dtype), shape
        sizes = [
            (wanted or 0) if size is None else size
            for size, wanted in zip(like.shape, shape, strict=True)
        ]
        return hooks.zeros(sizes, like.dtype), None if None not in list(like.shape) else shape
    if nest.is_nested(like):
        flat = nest.flatten(like)
        wanted = [None] * len(flat) if invariant is None else nest.flatten(invariant)
        pairs = [_stand_in(value, shape) for value, shape in zip(flat, wanted, strict=True)]
        shapes = [shape for _, shape in pairs]
        values = nest.pack_sequence_as(like, [value for value, _ in pairs])
        if all(shape is None for shape in shapes):
            return values, None
        return values, nest.pack_sequence_as(like, shapes)
    raise TypeError(
        f"Found an unsupported type '{type(like).__name__}' while creating placeholder for {like}. "
        f"Supported types include Tensor, int, float, bool, list, tuple or dict."
    )


def _check_loop(names, start, entry, leave, invariants) -> None:
    """Each variable keeps its structure, dtype and shape over an iteration."""
    for name, init, a, b, invariant in zip(names, start, entry, leave, invariants, strict=True):
        init, b = _without_variables(init), _without_variables(b)
        for x, y in ((init, a), (a, b)):
            try:
                nest.assert_same_structure(x, y, expand_composites=True)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"'{name}' does not have the same nested structure after one iteration.\n\n"
                    f"{error}"
                ) from error
        shapes = [None] * len(nest.flatten(a)) if invariant is None else nest.flatten(invariant)
        parts = zip(nest.flatten(init), nest.flatten(a), nest.flatten(b), shapes, strict=True)
        for first, x, y, shape in parts:
            _check_variable(name, first, x, y, shape)


def _check_variable(name: str, first, entry, leave, invariant) -> None:
    if leave is None:
        raise ValueError(f"'{name}' is None at the end of the iteration.")
    first, entry, leave = _as_tensor(first), _as_tensor(entry), _as_tensor(leave)
    if not (hooks.is_tensor(entry) and hooks.is_tensor(leave)):
        return
    if entry.dtype != leave.dtype:
        raise TypeError(
            f"'{name}' has dtype {entry.dtype.name} before the loop, but dtype {leave.dtype.name} "
            f"after one iteration"
        )
    if invariant is None:
        if not _fits(leave.shape, entry.shape):
            raise ValueError(
                f"'{name}' has shape {entry.shape} before the loop, but shape {leave.shape} after "
                f"one iteration. Use tf.autograph.experimental.set_loop_options to set shape "
                f"invariants."
            )
        return
    for shape, when in ((first.shape, "before the loop"), (leave.shape, "after one iteration")):
        if not _fits(shape, invariant):
            raise ValueError(
                f"'{name}' has shape {shape} {when}, which does not conform with the shape "
                f"invariant {invariant}."
            )


def _fits(shape: object, other: object) -> bool:
    """Whether the shape is at least as specific as the other."""
    if other.rank is None:
        return True
    if shape.rank != other.rank:
        return False
    return all(b is None or a == b for a, b in zip(shape, other, strict=True))
