"""Control flow on arrays, composites, functions with gradients of their own, and callbacks.

Bodies are Python functions on trees of arrays. They may use values from outside: these become
operands of the op. Effects (callbacks) keep their order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from . import _mica
from ._mica import HostFunction, flatten, unflatten
from ._tracing import Region, as_array, name_of, stage


def _arrays(tree: Any) -> tuple[list, Any]:
    leaves, structure = flatten(tree)
    return [as_array(leaf) for leaf in leaves], structure


def _type_of(array: Any) -> tuple:
    return array.shape, array.dtype


def _concrete(tree: Any) -> Any:
    if _mica.is_tracing():
        return tree
    leaves, structure = _arrays(tree)
    return unflatten(structure, leaves)


def _same_results(op: str, regions: Sequence[Region]) -> None:
    first = regions[0]
    for region in regions[1:]:
        if region.structure != first.structure:
            raise TypeError(f"[{op}] branches return different structures")
        n = first.n_outputs
        pairs = zip(first.graph.outputs[:n], region.graph.outputs[:n], strict=True)
        for i, (a, b) in enumerate(pairs):
            if a != b:
                raise TypeError(f"[{op}] result {i} differs between branches: {a} and {b}")


def _branches(op: str, bind: Callable, selector: Any, functions: Sequence, operands: tuple) -> Any:
    leaves, structure = _arrays(operands)
    regions = [Region(name_of(f), f, leaves, structure) for f in functions]
    _same_results(op, regions)
    effects = any(region.has_effects for region in regions)
    values = list(leaves)
    starts = []
    for region in regions:
        starts.append(len(values))
        values.extend(region.captured)
    token = len(values) if effects else None
    if effects:
        values.append(_mica.token())
    types = [*map(_type_of, values[:token]), *(["token"] if effects else [])]
    places = range(len(leaves))
    last = regions[0].n_outputs
    graphs = [
        r.placed(types, places, start, token, last)
        for r, start in zip(regions, starts, strict=True)
    ]
    results = bind([selector, *values], graphs)
    if effects:
        _mica.set_token(results.pop())
    return unflatten(regions[0].structure, results)


def cond(predicate: Any, true_function: Callable, false_function: Callable, *operands: Any) -> Any:
    """One of two functions, chosen by a bool scalar.

    Parameters
    ----------
    predicate : bool scalar
        Which one to run.
    true_function, false_function : callable
        Take the operands and return trees of the same structure, shapes and dtypes.
    *operands
        Trees of arrays.
    """

    def staged(choice: Any, arguments: tuple) -> Any:
        choice = as_array(choice)
        if choice.shape != () or choice.dtype != _mica.bool:
            raise TypeError(
                f"[cond] the predicate must be a bool scalar, not {choice.dtype}"
                f"{list(choice.shape)}"
            )
        return _branches("cond", _mica.cond, choice, (true_function, false_function), arguments)

    return stage("cond", staged, _concrete(predicate), _concrete(operands))


def case(index: Any, functions: Sequence[Callable], *operands: Any) -> Any:
    """One of several functions, chosen by an integer scalar; out of range, the last.

    Parameters
    ----------
    index : integer scalar
        Which one to run.
    functions : sequence of callable
        Take the operands and return trees of the same structure, shapes and dtypes.
    *operands
        Trees of arrays.
    """
    if not functions:
        raise ValueError("[case] needs at least one function")

    def staged(choice: Any, arguments: tuple) -> Any:
        choice = as_array(choice)
        if choice.shape != () or choice.dtype.kind not in ("signed", "unsigned"):
            raise TypeError(f"[case] the index must be an integer scalar, not {choice.dtype}")
        choice = choice.astype(_mica.i32)
        return _branches("case", _mica.case_, choice, tuple(functions), arguments)

    return stage("case", staged, _concrete(index), _concrete(operands))


def _same_carry(op: str, leaves: Sequence, structure: Any, region: Region, n: int) -> None:
    given = [_type_of(leaf) for leaf in leaves]
    returned = list(region.graph.outputs[:n])
    if region.structure != structure and op == "while":
        raise TypeError("[while] the body must return a tree like the carry")
    for i, (a, b) in enumerate(zip(given, returned, strict=True)):
        if a != b:
            raise TypeError(f"[{op}] carry {i} comes in as {a} and goes out as {b}")


def while_loop(condition: Callable, body: Callable, carry: Any) -> Any:
    """Repeats ``carry = body(carry)`` while ``condition(carry)``.

    Parameters
    ----------
    condition : callable
        From the carry to a bool scalar.
    body : callable
        From the carry to one of the same structure, shapes and dtypes.
    carry
        A tree of arrays, the first value.

    Returns
    -------
    tree
        The last carry. Reverse derivatives work for any number of iterations.
    """

    def staged(start: Any) -> Any:
        leaves, structure = _arrays(start)
        whole = (tuple, structure)
        test = Region("condition", condition, leaves, whole)
        if test.n_outputs != 1 or test.graph.outputs[0] != ((), _mica.bool):
            raise TypeError("[while] the condition must return a bool scalar")
        if test.has_effects:
            raise NotImplementedError(
                "[while] a callback in the condition is not supported: call it in the body"
            )
        step = Region(name_of(body), body, leaves, whole)
        _same_carry("while", leaves, structure, step, len(leaves))
        consts = [*test.captured, *step.captured]
        effects = step.has_effects
        token = len(consts) + len(leaves) if effects else None
        types = [_type_of(x) for x in (*consts, *leaves)] + ["token"] * effects
        places = range(len(consts), len(consts) + len(leaves))
        graphs = (
            _mica.rewire(
                test.graph, types, test.spread(places, range(len(test.captured)), None), [0]
            ),
            step.placed(types, places, len(test.captured), token, len(leaves)),
        )
        values = [*consts, *leaves] + ([_mica.token()] if effects else [])
        results = _mica.while_(values, graphs, len(consts))
        if effects:
            _mica.set_token(results.pop())
        return unflatten(structure, results)

    return stage("while_loop", staged, _concrete(carry))


def _scan_length(leaves: Sequence, length: int | None) -> int:
    for leaf in leaves:
        if leaf.ndim == 0:
            raise ValueError("[scan] xs need a leading axis")
        if length is not None and leaf.shape[0] != length:
            raise ValueError(f"[scan] lengths differ: {length} and {leaf.shape[0]}")
        length = leaf.shape[0]
    if length is None:
        raise ValueError("[scan] without xs the length must be given")
    return length


def scan(
    function: Callable,
    carry: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Runs along the leading axis of xs, carrying a value.

    Parameters
    ----------
    function : callable
        ``function(carry, x)`` gives ``(carry, y)``; the carry keeps structure, shapes and dtypes.
    carry
        A tree of arrays, the first value.
    xs
        A tree of arrays; x is its part at one place of the leading axis. None: no x.
    length : int, optional
        The number of steps, needed without xs.
    reverse : bool
        From the last to the first.

    Returns
    -------
    tuple
        (the last carry, the ys stacked along a leading axis)
    """

    def staged(start: Any, sequence: Any) -> Any:
        leaves, structure = _arrays(start)
        items, items_structure = _arrays(sequence)
        steps = _scan_length(items, length)
        arguments = [*leaves, *((x.shape[1:], x.dtype) for x in items)]
        step = Region(name_of(function), function, arguments, (tuple, structure, items_structure))
        out = step.structure
        if not isinstance(out, tuple) or out[0] is dict or len(out) != 3:
            raise TypeError("[scan] the function must return (carry, y)")
        if out[1] != structure:
            raise TypeError("[scan] the function must return a carry like the one it gets")
        _same_carry("scan", leaves, structure, step, len(leaves))
        n_consts, effects = len(step.captured), step.has_effects
        n_carry = len(leaves) + effects
        token = n_consts + len(leaves) if effects else None
        consts_and_carry = [_type_of(x) for x in (*step.captured, *leaves)] + ["token"] * effects
        types = [*consts_and_carry, *arguments[len(leaves) :]]
        places = [
            *range(n_consts, n_consts + len(leaves)),
            *range(n_consts + n_carry, n_consts + n_carry + len(items)),
        ]
        body = step.placed(types, places, 0, token, len(leaves))
        values = [*step.captured, *leaves, *([_mica.token()] if effects else []), *items]
        results = _mica.scan(values, (body,), n_consts, n_carry, steps, reverse)
        if effects:
            _mica.set_token(results.pop(len(leaves)))
        return unflatten(out, results)

    return stage("scan", staged, _concrete(carry), _concrete(xs))


def _bind_whole(region: Region, leaves: Sequence, bind: Callable) -> Any:
    """One region on all operands: arguments, captured values, a token."""
    values = [*leaves, *region.captured]
    effects = region.has_effects
    token = len(values) if effects else None
    types = [*map(_type_of, values), *(["token"] if effects else [])]
    graph = region.placed(types, range(len(leaves)), len(leaves), token, region.n_outputs)
    results = bind([*values, *([_mica.token()] if effects else [])], graph)
    if effects:
        _mica.set_token(results.pop())
    return unflatten(region.structure, results)


def remat(function: Callable) -> Callable:
    """The function, with its inner values computed again for derivatives instead of kept."""

    def staged(args: tuple, kwargs: dict) -> Any:
        leaves, structure = _arrays((args, kwargs))
        region = Region(name_of(function), lambda a, k: function(*a, **k), leaves, structure)
        return _bind_whole(region, leaves, lambda values, graph: _mica.remat(values, (graph,)))

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return stage(f"remat_{name_of(function)}", staged, _concrete(args), _concrete(kwargs))

    return wrapped


def _is_float(kind: tuple) -> bool:
    return kind != "token" and kind[1].kind in ("float", "complex")


def _cotangent_leaves(structure: Any, tree: Any) -> list:
    """The leaves of a cotangent like an argument; None stands for zeros of any part."""
    if structure is None:
        return []
    if not isinstance(structure, tuple):
        return [tree]
    is_dict = structure[0] is dict
    children = structure[2:] if is_dict else structure[1:]
    if tree is None:
        parts = [None] * len(children)
    elif is_dict and isinstance(tree, dict) and set(tree) == set(structure[1]):
        parts = [tree[key] for key in structure[1]]
    elif not is_dict and isinstance(tree, (tuple, list)) and len(tree) == len(children):
        parts = tree
    else:
        raise TypeError("[custom_gradient] a cotangent differs from its argument in structure")
    pairs = zip(children, parts, strict=True)
    return [leaf for child, part in pairs for leaf in _cotangent_leaves(child, part)]


def _vjp_region(vjp: Callable, region: Region, leaves: Sequence, structure: Any) -> Any:
    """The region of a hand-written vjp: (operands, results, cotangents of float results)."""
    n, results = len(leaves), region.graph.outputs[: region.n_outputs]
    n_captured = len(region.captured)
    floats = [i for i, kind in enumerate(results) if _is_float(kind)]
    operands = [_type_of(x) for x in (*leaves, *region.captured)]
    types = [*operands, *results, *(results[i] for i in floats)]

    def function(*values: Any) -> list:
        arguments = unflatten(structure, values[:n])
        result = unflatten(region.structure, values[n + n_captured :][: len(results)])
        given = dict(zip(floats, values[n + n_captured + len(results) :], strict=True))
        cotangents = unflatten(region.structure, [given.get(i) for i in range(len(results))])
        answer = vjp(arguments, result, cotangents)
        if not isinstance(answer, (tuple, list)) or len(answer) != len(arguments):
            raise TypeError(
                f"[custom_gradient] the vjp must return a tuple with a cotangent for each of the "
                f"{len(arguments)} arguments"
            )
        found = []
        for argument, cotangent in zip(arguments, answer, strict=True):
            found.extend(_cotangent_leaves(flatten(argument)[1], cotangent))
        outputs = []
        for kind, cotangent in zip(operands, [*found, *[None] * n_captured], strict=True):
            if not _is_float(kind):
                continue
            array = _mica.full(kind[0], 0, kind[1]) if cotangent is None else as_array(cotangent)
            if _type_of(array) != kind:
                raise ValueError(
                    f"[custom_gradient] a cotangent is {_type_of(array)}, its argument {kind}"
                )
            outputs.append(array)
        return outputs

    backward = Region("vjp", function, types, (tuple, *[0] * len(types)))
    if backward.captured or backward.has_effects:
        raise ValueError(
            "[custom_gradient] the vjp may use its arguments only; pass what it needs as results "
            "or arguments of the function"
        )
    return backward


def custom_gradient(function: Callable, vjp: Callable) -> Callable:
    """A function with a gradient of its own.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays.
    vjp : callable
        ``vjp(arguments, result, cotangent)`` gives a tuple with a cotangent for each argument;
        None stands for zeros. `arguments` is the tuple of arguments.

    Returns
    -------
    callable
        The function. What it captures from outside counts as constant.
    """

    def staged(*args: Any) -> Any:
        leaves, structure = _arrays(args)
        region = Region(name_of(function), function, leaves, structure)
        if region.has_effects:
            raise NotImplementedError(
                "[custom_gradient] a callback in the function is not supported"
            )
        backward = _vjp_region(vjp, region, leaves, structure)
        return _bind_whole(
            region,
            leaves,
            lambda values, graph: _mica.custom_gradient(values, (graph, backward.graph)),
        )

    @functools.wraps(function)
    def wrapped(*args: Any) -> Any:
        return stage(f"custom_{name_of(function)}", staged, *_concrete(args))

    return wrapped


def composite(name: str, *, config: str = "", vjp: Callable | None = None) -> Callable:
    """A decorator: the function becomes one named op, which devices may take as a whole.

    Parameters
    ----------
    name : str
        The composite's name.
    config : str
        Tells composites of one name apart.
    vjp : callable, optional
        As in `custom_gradient`; without it derivatives go through the body.
    """

    def decorate(function: Callable) -> Callable:
        def staged(*args: Any) -> Any:
            leaves, structure = _arrays(args)
            region = Region(name_of(function), function, leaves, structure)
            graph = _vjp_region(vjp, region, leaves, structure).graph if vjp else None
            vjp_name = f"{name}_vjp" if vjp else None
            return _bind_whole(
                region,
                leaves,
                lambda values, body: _mica.call(values, (body, graph), name, config, vjp_name),
            )

        @functools.wraps(function)
        def wrapped(*args: Any) -> Any:
            return stage(name, staged, *_concrete(args))

        return wrapped

    return decorate


def call(name: str, function: Callable, *args: Any, config: str = "") -> Any:
    """Calls a function as a composite of this name; see `composite`."""
    return composite(name, config=config)(function)(*args)


#: Registered functions that some graph holds: tracing again finds the same number.
_HOST_FUNCTIONS: WeakValueDictionary[tuple[int, str], HostFunction] = WeakValueDictionary()


def _host_function(function: Callable, name: str) -> HostFunction:
    key = (id(function), name)
    host = _HOST_FUNCTIONS.get(key)
    if host is None:
        host = _HOST_FUNCTIONS[key] = HostFunction(function, name)
    return host


def callback(function: Callable, results: Any, *operands: Any, name: str | None = None) -> Any:
    """Calls a Python function when the graph runs.

    Parameters
    ----------
    function : callable
        Gets a tensor per operand, and returns what `results` says (a tuple for several).
    results
        A tree of types: (shape, dtype) or arrays like the results. None: nothing comes back.
    *operands
        Arrays.
    name : str, optional
        What errors call it.

    Returns
    -------
    tree
        Of arrays, like `results`. An exception in the function comes out of the call that runs
        the graph. Callbacks have no derivatives.
    """
    leaves, structure = _type_leaves(results)
    kinds = [_type_of(leaf) if hasattr(leaf, "dtype") else leaf for leaf in leaves]
    label = name or name_of(function)

    def staged(arguments: tuple) -> Any:
        values, _ = _arrays(arguments)
        host = _host_function(function, label)
        return unflatten(structure, _mica.callback(host, values, kinds))

    return stage("callback", staged, _concrete(operands))


def _type_leaves(tree: Any) -> tuple[list, Any]:
    """Leaves and structure of a tree of types; a pair (shape, dtype) is a leaf."""
    if tree is None:
        return [], None
    if hasattr(tree, "dtype") or _is_type(tree):
        return [tree], 0
    if isinstance(tree, dict):
        keys = tuple(sorted(tree))
        parts = [_type_leaves(tree[key]) for key in keys]
        return [x for part in parts for x in part[0]], (dict, keys, *(part[1] for part in parts))
    if not isinstance(tree, (tuple, list)):
        raise TypeError(f"[callback] a result is (shape, dtype) or like an array, not {tree!r}")
    parts = [_type_leaves(item) for item in tree]
    return [x for part in parts for x in part[0]], (type(tree), *(part[1] for part in parts))


def _is_type(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], (tuple, list)):
        return False
    return all(isinstance(n, int) for n in value[0]) and isinstance(
        value[1], (str, type, _mica.DType)
    )


def barrier(tree: Any) -> Any:
    """The same values; the compiler moves nothing across."""

    def staged(values: Any) -> Any:
        leaves, structure = _arrays(values)
        return unflatten(structure, _mica.barrier(leaves))

    return stage("barrier", staged, _concrete(tree))
