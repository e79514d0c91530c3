"""jit, grad, value_and_grad, jvp, vjp, vmap: functions from functions.

They nest in any order, at the top level and inside each other. A derivative is with respect to
the argument itself: what a function captures from outside is a constant.
"""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from . import _mica
from ._mica import Executable, Graph, Tensor, Trace, Traced, flatten, unflatten
from ._tracing import Region, as_array, device_of, is_array, name_of, on_device, stage

# ---- jit -----------------------------------------------------------------------------------------
#: Signatures that a jitted function keeps compiled; those not used for longest go first.
_SIGNATURES_LIMIT = 256


class _Compiled:
    """One trace of a jitted function: for given types, devices and static arguments."""

    __slots__ = ("captured", "device", "donate", "executable", "graph", "scalars", "structure")

    executable: Executable
    graph: Graph
    captured: list[Tensor]
    structure: Any
    scalars: list[tuple[int, _mica.DType]]
    donate: bytes | None
    device: _mica.Device


class JitFunction:
    """What `jit` returns: the function, compiled once per signature of its arguments."""

    def __init__(
        self,
        function: Callable,
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donate_argnums: tuple[int, ...],
        compile_now: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._static_argnums = static_argnums
        self._static_argnames = static_argnames
        self._donate_argnums = donate_argnums
        self._compile_now = compile_now
        self._cache: OrderedDict[Hashable, _Compiled] = OrderedDict()

    def __repr__(self) -> str:
        return f"<jit of {self._function!r}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def cache_size(self) -> int:
        """How many signatures are kept compiled; at most 256."""
        return len(self._cache)

    def clear_cache(self) -> None:
        """Forget all compiled signatures."""
        self._cache.clear()

    def _split(self, args: tuple, kwargs: dict) -> tuple[tuple, dict, Hashable]:
        """Dynamic arguments, dynamic keywords, and the static ones as a key."""
        if not self._static_argnums and not self._static_argnames:
            return args, kwargs, None
        numbers = {n % len(args) if args else n for n in self._static_argnums if n < len(args)}
        static = tuple((i, args[i]) for i in sorted(numbers))
        named = tuple((k, kwargs[k]) for k in sorted(kwargs) if k in self._static_argnames)
        try:
            hash((static, named))
        except TypeError as error:
            raise ValueError(f"[jit] a static argument must be hashable: {error}") from None
        dynamic = tuple(a for i, a in enumerate(args) if i not in numbers)
        rest = {k: v for k, v in kwargs.items() if k not in self._static_argnames}
        return dynamic, rest, (len(args), static, named)

    def _call_with_static(self, dynamic: tuple, kwargs: dict, static: Any) -> Any:
        if static is None:
            return self._function(*dynamic, **kwargs)
        n, numbered, named = static
        fixed, rest = dict(numbered), iter(dynamic)
        args = [fixed[i] if i in fixed else next(rest) for i in range(n)]
        return self._function(*args, **kwargs, **dict(named))

    def _donated(self, args: tuple, kwargs: dict, static: Any, n_captured: int) -> bytes | None:
        if not self._donate_argnums:
            return None
        fixed = dict(static[1]) if static else {}
        n = len(args) + len(fixed)
        wanted = {i % n for i in self._donate_argnums if i < n} if n else set()
        flags = bytearray()
        places = [i for i in range(n) if i not in fixed]
        for place, argument in zip(places, args, strict=True):
            flags.extend([place in wanted] * len(flatten(argument)[0]))
        flags.extend([False] * (len(flatten(kwargs)[0]) + n_captured))
        return bytes(flags)

    def _compile(self, leaves: list, structure: Any, static: Any) -> _Compiled:
        entry = _Compiled()
        entry.scalars = []
        tensors = [leaf for leaf in leaves if type(leaf) is Tensor]
        with Trace(name_of(self._function)) as trace:
            parameters = []
            for i, leaf in enumerate(leaves):
                if type(leaf) is Tensor:
                    parameters.append(trace.parameter(leaf))
                    continue
                dtype = _mica.bool if isinstance(leaf, bool) else _mica.i64
                dtype = _mica.f64 if isinstance(leaf, float) else dtype
                entry.scalars.append((i, dtype))
                parameters.append(trace.parameter(((), dtype), dtype != _mica.bool))
            dynamic, kwargs = unflatten(structure, parameters)
            result = self._call_with_static(dynamic, kwargs, static)
            outputs, entry.structure = flatten(result)
            trace.output([as_array(leaf) for leaf in outputs])
        entry.graph = trace.graph
        entry.device = device_of([*tensors, *trace.captured])
        entry.captured = on_device(trace.captured, entry.device)
        entry.executable = Executable(entry.graph, entry.device, self._compile_now)
        dynamic, kwargs = unflatten(structure, leaves)
        entry.donate = self._donated(dynamic, kwargs, static, len(entry.captured))
        return entry

    def _prepare(self, args: tuple, kwargs: dict) -> tuple[_Compiled, list]:
        args, kwargs, static = self._split(args, kwargs)
        leaves, structure = flatten((args, kwargs))
        key = (structure, _mica.signature(leaves), static)
        entry = self._cache.get(key)
        if entry is None:
            entry = self._compile(leaves, structure, static)
            self._cache[key] = entry
            self._drop_oldest()
        elif len(self._cache) > 1:
            self._touch(key)
        return entry, leaves

    # Other threads may drop a signature, or all of them, between any two calls.
    def _touch(self, key: Hashable) -> None:
        with contextlib.suppress(KeyError):
            self._cache.move_to_end(key)

    def _drop_oldest(self) -> None:
        with contextlib.suppress(KeyError):
            while len(self._cache) > _SIGNATURES_LIMIT:
                self._cache.popitem(last=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _mica.is_tracing():
            return self._function(*args, **kwargs)
        entry, leaves = self._prepare(args, kwargs)
        for i, dtype in entry.scalars:
            leaves[i] = _mica.scalar(leaves[i], dtype, entry.device)
        leaves.extend(entry.captured)
        return unflatten(entry.structure, entry.executable.run(leaves, entry.donate))

    def lower(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that a call with these arguments runs."""
        return self._prepare(args, kwargs)[0].graph


def _numbers(numbers: int | Sequence[int] | None) -> tuple[int, ...]:
    if numbers is None:
        return ()
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def jit(
    function: Callable | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    compile_now: bool = False,
) -> Any:
    """Compile a function of arrays.

    The function is traced once for each combination of shapes, dtypes, devices, tree structures
    and static arguments; later calls run the compiled graph. Python scalars are traced, too, and
    take the dtype of what they meet. Tensors that the function captures are kept as they were
    when it was traced.

    Parameters
    ----------
    function : callable
        Takes and returns trees (tuples, lists, dicts) of arrays.
    static_argnums, static_argnames
        Arguments that are hashable Python values and compiled in.
    donate_argnums
        Arguments whose memory the results may take over; they must not be used afterwards.
    compile_now
        Wait for code made for this machine when a signature is first seen. Otherwise it is made
        in the background once a signature has been called three times. Results are the same.

    Returns
    -------
    JitFunction
        The compiled function.

    Examples
    --------
    >>> square = jit(lambda x: x * x)
    >>> square(tensor(3.0)).item()
    9.0
    """
    if function is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            compile_now=compile_now,
        )
    if not callable(function):
        raise TypeError(f"[jit] {function!r} cannot be called")
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    numbers, donated = _numbers(static_argnums), _numbers(donate_argnums)
    return JitFunction(function, numbers, names, donated, compile_now)


def trace(function: Callable, *args: Any, **kwargs: Any) -> Graph:
    """The graph of a function on arguments like these (captured tensors become inputs)."""
    return jit(function).lower(*args, **kwargs)


# ---- derivatives ---------------------------------------------------------------------------------
def _concrete(tree: Any) -> Any:
    """A tree whose Python scalars and arrays of others are arrays."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [as_array(leaf) for leaf in leaves])


def _differentiable(leaf: Any, what: str) -> Any:
    """A leaf as a value of its own, so that derivatives end here."""
    array = as_array(leaf)
    if array.dtype.kind not in ("float", "complex"):
        raise TypeError(f"[{what}] derivatives need a float dtype, not {array.dtype}")
    return _mica.reshape(array, array.shape)


def _zeros_like(array: Any) -> Any:
    return _mica.full(array.shape, 0, array.dtype)


def _float_leaf(leaf: Any) -> bool:
    return leaf.dtype.kind in ("float", "complex")


def value_and_grad(
    function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable:
    """A function that computes the value and the gradient of a scalar function.

    Parameters
    ----------
    function : callable
        Returns a scalar, or with `has_aux` a pair of a scalar and any tree.
    argnums : int or sequence of int
        The arguments to differentiate with respect to: trees of float or complex arrays.
    has_aux : bool
        Whether the function returns more than its value.

    Returns
    -------
    callable
        Gives (value, gradient), with `has_aux` ((value, aux), gradient). The gradient is like the
        argument, or a tuple when `argnums` is a sequence. With respect to a complex z = x + iy it
        is df/dx - i df/dy: the value changes by the real part of gradient * dz, and
        z - rate * gradient.conj() descends.
    """
    numbers = _numbers(argnums)

    def staged(args: tuple, kwargs: dict) -> Any:
        chosen = [args[i] for i in numbers]
        leaves, structure = flatten(chosen)
        inputs = [_differentiable(leaf, "grad") for leaf in leaves]
        arguments = list(args)
        for i, tree in zip(numbers, unflatten(structure, inputs), strict=True):
            arguments[i] = tree
        result = function(*arguments, **kwargs)
        aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError("[grad] with has_aux a function returns (value, aux)")
            result, aux = result
        if is_array(result):
            result = _mica.strengthen(result)
        elif isinstance(result, (int, float)):
            result = as_array(float(result))
        if not is_array(result) or result.shape != () or result.dtype.kind != "float":
            given = f"{result.dtype}{list(result.shape)}" if is_array(result) else repr(result)
            raise TypeError(f"[grad] the function must return a float scalar, not {given}")
        one = _mica.full((), 1, result.dtype)
        found = _mica.vjp([result], [one], inputs)
        gradients = [_zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]
        gradient = unflatten(structure, gradients)
        gradient = gradient[0] if isinstance(argnums, int) else tuple(gradient)
        return ((result, aux) if has_aux else result), gradient

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not numbers or max(numbers) >= len(args) or min(numbers) < -len(args):
            raise TypeError(f"[grad] argnums {argnums} with {len(args)} positional arguments")
        arguments = list(args)
        if not _mica.is_tracing():
            for i in numbers:
                arguments[i] = _concrete(arguments[i])
        return stage(f"grad_{name_of(function)}", staged, tuple(arguments), kwargs)

    return wrapped


def grad(function: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradient of a scalar function; see `value_and_grad`.

    With `has_aux` it gives (gradient, aux).

    Examples
    --------
    >>> grad(lambda x: x * x * x)(tensor(2.0)).item()
    12.0
    """
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def jvp(function: Callable, primals: Sequence, tangents: Sequence) -> tuple[Any, Any]:
    """The value of a function and its derivative along tangents (forward mode).

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays.
    primals, tangents : sequence
        The arguments, and a tangent of the same structure for each.

    Returns
    -------
    tuple
        (value, tangent of the value)
    """

    def staged(points: tuple, directions: tuple) -> Any:
        leaves, structure = flatten(points)
        inputs = [_differentiable(leaf, "jvp") for leaf in leaves]
        moves, moves_structure = flatten(directions)
        if moves_structure != structure:
            raise TypeError("[jvp] primals and tangents differ in structure")
        moves = [as_array(leaf) for leaf in moves]
        for x, dx in zip(inputs, moves, strict=True):
            if x.shape != dx.shape or x.dtype != dx.dtype:
                raise ValueError(
                    f"[jvp] a tangent is {dx.dtype}{list(dx.shape)}, its primal "
                    f"{x.dtype}{list(x.shape)}"
                )
        results, out_structure = flatten(function(*unflatten(structure, inputs)))
        results = [as_array(leaf) for leaf in results]
        found = _mica.jvp(results, inputs, moves)
        rates = [_zeros_like(y) if dy is None else dy for y, dy in zip(results, found, strict=True)]
        return unflatten(out_structure, results), unflatten(out_structure, rates)

    points, directions = tuple(primals), tuple(tangents)
    if not _mica.is_tracing():
        points, directions = _concrete(points), _concrete(directions)
    return stage(f"jvp_{name_of(function)}", staged, points, directions)


def vjp(function: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of a function, and a function that takes cotangents back (reverse mode).

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays.
    *primals
        Its arguments.
    has_aux : bool
        Whether the function returns (value, aux).

    Returns
    -------
    tuple
        (value, pullback) or, with `has_aux`, (value, pullback, aux). ``pullback(cotangent)`` gives
        a tuple with a cotangent for each argument. Called inside another trace than the value's it
        computes the function again there.
    """

    def forward(points: tuple) -> tuple[list, Any, list, Any, Any]:
        leaves, structure = flatten(points)
        inputs = [_differentiable(leaf, "vjp") for leaf in leaves]
        result = function(*unflatten(structure, inputs))
        result, aux = result if has_aux else (result, None)
        outputs, out_structure = flatten(result)
        return inputs, structure, [as_array(leaf) for leaf in outputs], out_structure, aux

    def backward(known: tuple, cotangent: Any) -> Any:
        inputs, structure, outputs, out_structure, _ = known
        given, given_structure = flatten(cotangent)
        if given_structure != out_structure:
            raise TypeError("[vjp] the cotangent differs from the value in structure")
        given = [as_array(leaf) for leaf in given]
        for y, dy in zip(outputs, given, strict=True):
            if y.shape != dy.shape or y.dtype != dy.dtype:
                raise ValueError(
                    f"[vjp] a cotangent is {dy.dtype}{list(dy.shape)}, its value "
                    f"{y.dtype}{list(y.shape)}"
                )
        floats = [i for i, y in enumerate(outputs) if _float_leaf(y)]
        found = _mica.vjp([outputs[i] for i in floats], [given[i] for i in floats], inputs)
        back = [_zeros_like(x) if dx is None else dx for x, dx in zip(inputs, found, strict=True)]
        return unflatten(structure, back)

    name = f"vjp_{name_of(function)}"
    if _mica.is_tracing():
        known = forward(primals)
        home = _mica.current()
        value = unflatten(known[3], known[2])

        def pullback(cotangent: Any) -> Any:
            if _mica.current() is home:
                return backward(known, cotangent)
            return stage(name, lambda p, c: backward(forward(p), c), primals, cotangent)

        return (value, pullback, known[4]) if has_aux else (value, pullback)

    points = _concrete(primals)

    def value_only(arguments: tuple) -> Any:
        known = forward(arguments)
        return unflatten(known[3], known[2]), known[4]

    def pullback_again(cotangent: Any) -> Any:
        return stage(name, lambda p, c: backward(forward(p), c), points, _concrete(cotangent))

    value, aux = stage(name, value_only, points)
    return (value, pullback_again, aux) if has_aux else (value, pullback_again)


# ---- vmap ----------------------------------------------------------------------------------------
def _spread_axes(axes: Any, structure: Any, what: str) -> list[int | None]:
    """One axis per leaf from a tree of axes that may end early."""
    if structure is None:
        return []
    if axes is None or isinstance(axes, int):
        if not isinstance(structure, tuple):
            return [axes]
        children = structure[2:] if structure[0] is dict else structure[1:]
        return [a for child in children for a in _spread_axes(axes, child, what)]
    if isinstance(structure, tuple):
        if structure[0] is dict and isinstance(axes, dict) and set(axes) == set(structure[1]):
            pairs = [
                (axes[key], child) for key, child in zip(structure[1], structure[2:], strict=True)
            ]
            return [a for part, child in pairs for a in _spread_axes(part, child, what)]
        same = isinstance(axes, (tuple, list)) and len(axes) == len(structure) - 1
        if structure[0] is not dict and same:
            pairs = list(zip(axes, structure[1:], strict=True))
            return [a for part, child in pairs for a in _spread_axes(part, child, what)]
    raise ValueError(f"[vmap] {what} {axes!r} do not fit the arguments")


def _batch_size(leaves: list, axes: list[int | None], given: int | None) -> int:
    size = given
    for leaf, axis in zip(leaves, axes, strict=True):
        if axis is None:
            continue
        if not -leaf.ndim <= axis < leaf.ndim:
            raise ValueError(f"[vmap] axis {axis} is out of range for shape {leaf.shape}")
        if size is not None and leaf.shape[axis] != size:
            raise ValueError(f"[vmap] mapped sizes differ: {size} and {leaf.shape[axis]}")
        size = leaf.shape[axis]
    if size is None:
        raise ValueError("[vmap] no argument is mapped; give axis_size")
    return size


def vmap(
    function: Callable,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
) -> Callable:
    """A function that applies another along an axis of its arguments, all at once.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays.
    in_axes : int, None, or tree of them
        The mapped axis of each argument; None: the same for all. Keywords are mapped along axis 0.
    out_axes : int, None, or tree of them
        Where the mapped axis goes in the results; None: the result must not vary.
    axis_name : str, optional
        What collectives such as `all_reduce` call the axis.
    axis_size : int, optional
        Needed when nothing is mapped.

    Returns
    -------
    callable
        The mapped function.

    Examples
    --------
    >>> vmap(lambda x: x.sum())(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [3.0, 7.0]
    """

    def staged(args: tuple, kwargs: dict) -> Any:
        leaves, structure = flatten((args, kwargs))
        leaves = [as_array(leaf) for leaf in leaves]
        _, args_structure = flatten(args)
        wanted = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        axes = _spread_axes(wanted, args_structure, "in_axes")
        axes += [0] * (len(leaves) - len(axes))
        size = _batch_size(leaves, axes, axis_size)
        axes = [a if a is None or a >= 0 else a + x.ndim for a, x in zip(axes, leaves, strict=True)]
        types = [
            (tuple(n for k, n in enumerate(x.shape) if k != a), x.dtype)
            for a, x in zip(axes, leaves, strict=True)
        ]
        region = Region(name_of(function), lambda a, k: function(*a, **k), types, structure)
        out = _spread_axes(out_axes, region.structure, "out_axes")
        shapes = region.graph.outputs[: region.n_outputs]
        out = [
            a if a is None or a >= 0 else a + len(shape) + 1
            for a, (shape, _) in zip(out, shapes, strict=True)
        ]
        token = _mica.token() if region.has_effects else None
        ins = region.spread(axes, [None] * len(region.captured), None)
        outs = out + [None] * region.has_effects
        mapped = _mica.vmap(region.graph, ins, outs, size, axis_name)
        results = _mica.inline(mapped, region.spread(leaves, region.captured, token))
        if region.has_effects:
            _mica.set_token(results.pop())
        return unflatten(region.structure, results)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not _mica.is_tracing():
            args, kwargs = _concrete(args), _concrete(kwargs)
        return stage(f"vmap_{name_of(function)}", staged, args, kwargs)

    return wrapped


def jacobian(function: Callable, argnums: int = 0) -> Callable:
    """A function that computes all derivatives of an array by an array (by reverse mode).

    The result has the axes of the value, then those of the argument.
    """

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        def of_argument(x: Any) -> Any:
            return function(*args[:argnums], x, *args[argnums + 1 :], **kwargs)

        def staged(x: Any) -> Any:
            value, _ = vjp(of_argument, x)
            n = value.size
            rows = _mica.iota(shape=(n, n), axis=0, dtype="i32")
            columns = _mica.iota(shape=(n, n), axis=1, dtype="i32")
            basis = (rows == columns).astype(value.dtype).reshape(n, *value.shape)
            derivative = vmap(lambda c: vjp(of_argument, x)[1](c)[0])(basis)
            return derivative.reshape(*value.shape, *x.shape)

        return stage("jacobian", staged, as_array(args[argnums]))

    return wrapped


__all__ = [
    "JitFunction",
    "Traced",
    "grad",
    "jacobian",
    "jit",
    "jvp",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
]
