"""Branches and loops over tensors: cond, case, switch_case, while_loop.

Eagerly they are Python's own; in a graph every branch or body becomes a graph of its own, whose
captured values are operands of one node. A variable that a body only reads is read in front of
the node, so that its gradient passes like that of any other tensor.
"""

from __future__ import annotations

from .. import _mica
from . import _dtypes, nest
from ._context import building
from ._core import Tensor, convert_to_tensor, ops
from ._function import GraphFunction
from ._graph import FuncGraph, operand, read_only_variables, reads_in_front
from ._print import Assert
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec


def _smart_bool(pred):
    """Return the truth of a predicate that is known now, else None."""
    if isinstance(pred, _mica.TFEagerTensor):
        return bool(pred)
    if isinstance(pred, Tensor):
        return None
    return bool(pred)


def _trace_branch(function, graph, name: str):
    """Trace a branch in a graph of its own: (graph, structured result, flat results)."""
    body = FuncGraph(name, graph)
    with building(body):
        result = function()
        flat = [
            operand(item) if item is not None else None
            for item in nest.flatten(result, expand_composites=True)
        ]
    return body, result, flat


def _same_dtypes(branches) -> None:
    first = branches[0][2]
    for _, _, flat in branches[1:]:
        if len(flat) != len(first):
            raise ValueError(
                f"true_fn and false_fn must return the same number of outputs: {len(first)} and "
                f"{len(flat)}"
            )
        for a, b in zip(first, flat, strict=True):
            if (a is None) != (b is None) or (a is not None and a.dtype != b.dtype):
                raise TypeError(
                    "true_fn and false_fn arguments to tf.cond must have the same number, type, "
                    f"and overall structure of return values: {a!r} and {b!r}"
                )


def _branch_node(op: str, selector, branches, **functions):
    """Make one node of several traced branches; the operands are what any of them captured."""
    _same_dtypes(branches)
    externals: dict[int, object] = {}
    for body, _, _ in branches:
        for external, _ in body._captures():
            externals.setdefault(external._id, external)
    graphs = []
    for body, _, flat in branches:
        graphs.append(body.closed(list(externals.values()), [f for f in flat if f is not None]))
    kept = [f for f in branches[0][2] if f is not None]
    stateful = any(g._has_effects for g in graphs)
    name = op if stateful else "Stateless" + op
    attrs = (
        {"branches": graphs}
        if op == "Case"
        else {"then_branch": graphs[0], "else_branch": graphs[1]}
    )
    results = iter(
        _node(
            lambda tensors: ops[name](
                tensors[0], tensors[1:], Tout=[t.dtype for t in kept], **attrs
            ),
            [operand(selector), *externals.values()],
            graphs,
        )
    )
    flat = [None if f is None else next(results) for f in branches[0][2]]
    return nest.pack_sequence_as(branches[0][1], flat, expand_composites=True)


def _node(make, tensors: list, bodies: list):
    """Make a node of these tensors.

    Tapes cannot differentiate one that stays on the host where it stands: they get a call of a
    function with the node in it, which keeps what its gradient needs.
    """
    if (
        not _mica.tf_is_recording()
        or all(body._lowers for body in bodies)
        or _mica.tf_count_recording(tensors) <= 0
    ):
        return make(tensors)

    whole = FuncGraph("recorded", None)
    inner = [whole._parameter(t.dtype, t.shape, "args") for t in tensors]
    with building(whole):
        results = make(inner)
    for result in results:
        whole._output(result)
    return GraphFunction(whole)(tensors)


def cond(pred, true_fn=None, false_fn=None, name=None):
    """Return true_fn() if the predicate is true, else false_fn()."""
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("Argument `true_fn` and `false_fn` must be callable.")
    known = _smart_bool(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    graph = _mica.tf_current_graph()
    with read_only_variables(graph):
        branches = [
            _trace_branch(true_fn, graph, "cond_true"),
            _trace_branch(false_fn, graph, "cond_false"),
        ]
    _assignments_pass_on(graph, branches)
    return _branch_node("If", pred, branches)


def _assignments_pass_on(graph, branches) -> None:
    for body, _, _ in branches:
        assigned = getattr(body, "_assigned", None)
        if assigned:
            graph._assigned = getattr(graph, "_assigned", set()) | assigned


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """Return the result of one of several functions, chosen by an index."""
    functions = _numbered(branch_fns)
    if default is not None:
        functions = [*functions, default]
    if not isinstance(branch_index, Tensor) or isinstance(branch_index, _mica.TFEagerTensor):
        index = int(branch_index)
        in_range = 0 <= index < len(functions)
        return functions[index if in_range else -1]()
    graph = _mica.tf_current_graph()
    if branch_index.dtype != _dtypes.int32:
        branch_index = ops["Cast"](branch_index, DstT=_dtypes.int32)
    with read_only_variables(graph):
        branches = [_trace_branch(f, graph, "branch") for f in functions]
    _assignments_pass_on(graph, branches)
    return _branch_node("Case", branch_index, branches)


def _numbered(branch_fns) -> list:
    if isinstance(branch_fns, dict):
        branch_fns = list(branch_fns.items())
    branch_fns = list(branch_fns)
    if branch_fns and isinstance(branch_fns[0], tuple | list):
        if sorted(key for key, _ in branch_fns) != list(range(len(branch_fns))):
            raise ValueError("branch indices must form contiguous range of [0 to number of fns)")
        branch_fns = [f for _, f in sorted(branch_fns, key=lambda pair: pair[0])]
    for function in branch_fns:
        if not callable(function):
            raise TypeError(f"`fn` for index must be callable, got {function!r}")
    return branch_fns


def _no_default(predicates: list, last):
    """The last function, which runs when its predicate is true, else none is."""

    def run():
        given = ops["Pack"]([convert_to_tensor(p, _dtypes.bool) for p in predicates])
        Assert(given[-1], ["Input error: None of conditions evaluated as True:", given])
        return last()

    return run


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """Return the result of the first function whose predicate is true."""
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    pairs = [(p.deref() if hasattr(p, "deref") else p, f) for p, f in pairs]
    for pair in pairs:
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]!r} must be callable, not {pair[1]!r}")
    if not pairs:
        raise ValueError("[case] there must be at least one pair of a predicate and a function")
    predicates = [predicate for predicate, _ in pairs]
    if default is None:
        default = _no_default(predicates, pairs[-1][1])
        pairs = pairs[:-1]
    elif exclusive:
        _at_most_one(predicates)

    def choose(rest):
        if not rest:
            return default()
        predicate, function = rest[0]
        return cond(predicate, function, lambda: choose(rest[1:]))

    result = choose(pairs)
    at_once = _mica.tf_current_graph() is None
    is_single = isinstance(result, list | tuple) and len(result) == 1
    return result[0] if at_once and is_single and not strict else result


def _at_most_one(predicates: list) -> None:
    given = ops["Pack"]([convert_to_tensor(p, _dtypes.bool) for p in predicates])
    count = ops["Sum"](ops["Cast"](given, DstT=_dtypes.int32), operand([0], _dtypes.int32))
    told = "Input error: exclusive=True: more than 1 conditions evaluated as True:"
    Assert(ops["LessEqual"](count, operand(1, _dtypes.int32)), [told, given])


# ---- loops -------------------------------------------------------------------------------------


def _invariant_shape(value, invariant):
    if invariant is None:
        # A TensorArray knows which sizes its first write will tell.
        shape = getattr(value, "_loop_shape", None)
        return value.shape if shape is None else shape
    if isinstance(invariant, TensorSpec):
        invariant = invariant.shape
    shape = TensorShape(invariant)
    if not _covers(shape, value.shape):
        raise ValueError(
            f"The shape invariant specified for {value!r} is not compatible with the initial "
            f"shape of the loop variable. It enters the loop with shape {value.shape}, but the "
            f"specified shape invariant is {shape}."
        )
    return shape


def _covers(general: TensorShape, special: TensorShape) -> bool:
    if general.rank is None:
        return True
    if special.rank != general.rank:
        return False
    return all(
        g is None or g == s for g, s in zip(general.as_list(), special.as_list(), strict=True)
    )


def _call(function, variables):
    if isinstance(variables, dict):
        return function(**variables)
    return function(*variables)


def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    maximum_iterations=None,
    name=None,
):
    """Repeat body while cond; both take the loop variables, body returns them anew."""
    if not callable(cond) or not callable(body):
        raise TypeError("'cond' and 'body' must be callable.")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    graph = _mica.tf_current_graph()
    if graph is None:
        return _loop_at_once(cond, body, loop_vars, maximum_iterations)
    structure = list(loop_vars) if isinstance(loop_vars, list | tuple) else loop_vars
    _settle(structure, body, graph)
    flat = [operand(v) for v in nest.flatten(structure, expand_composites=True)]
    if shape_invariants is None:
        shape_invariants = [None] * len(nest.flatten(structure))
    else:
        shape_invariants = _flatten_shapes(shape_invariants)
    invariants = _of_components(nest.flatten(structure), shape_invariants)
    structure = _with_specs(structure, shape_invariants)
    if len(invariants) != len(flat):
        raise ValueError(f"{len(invariants)} shape invariants for {len(flat)} loop variables")
    shapes = [_invariant_shape(v, s) for v, s in zip(flat, invariants, strict=True)]
    if maximum_iterations is not None:
        maximum_iterations = operand(maximum_iterations, _dtypes.int32)
    frozen: set = set()
    while True:
        answer = _trace_loop(
            graph,
            cond,
            body,
            structure,
            flat,
            shapes,
            maximum_iterations,
            frozen,
            given=[s is not None for s in invariants],
        )
        if answer is not None:
            return answer if back_prop else nest.map_structure(_without_gradient, answer)


def _without_gradient(value):
    if not isinstance(value, Tensor) or not (value.dtype.is_floating or value.dtype.is_complex):
        return value
    return ops["StopGradient"](value)


def _settle(structure, body, graph) -> None:
    """Let TensorArrays learn the shape of their elements from a body that is thrown away."""
    from ._tensor_array import unsettled

    if not unsettled(structure):
        return
    scratch = FuncGraph("scratch", graph)

    def inner(value):
        if hasattr(value, "_type_spec"):
            return value
        value = convert_to_tensor(value)
        return scratch._parameter(value.dtype, value.shape, "loop")

    with building(scratch):
        _call(body, nest.map_structure(inner, structure))


def _of_components(leaves: list, invariants: list) -> list:
    """The invariants of the tensors in the variables.

    A sparse or ragged tensor may come to have more or fewer elements.
    """
    if len(leaves) != len(invariants):
        return invariants
    found: list = []
    for leaf, invariant in zip(leaves, invariants, strict=True):
        spec = getattr(leaf, "_type_spec", None)
        if not hasattr(spec, "_flat_tensor_specs"):
            parts = len(nest.flatten(leaf, expand_composites=True))
            found += [invariant] * parts if invariant is None else [invariant]
            continue
        if isinstance(invariant, TensorShape):
            spec = leaf._shape_invariant_to_type_spec(invariant)
        elif invariant is not None:
            spec = invariant
        found += nest.flatten(spec, expand_composites=True)
    return found


def _with_specs(structure, invariants: list):
    """The variables; for those made of tensors, what their invariants let them become."""
    leaves = nest.flatten(structure)
    if len(leaves) != len(invariants):
        return structure
    found = []
    for leaf, invariant in zip(leaves, invariants, strict=True):
        is_composite = hasattr(getattr(leaf, "_type_spec", None), "_flat_tensor_specs")
        if is_composite and isinstance(invariant, TensorShape):
            invariant = leaf._shape_invariant_to_type_spec(invariant)
        found.append(invariant if is_composite and invariant is not None else leaf)
    return nest.pack_sequence_as(structure, found)


def _is_shape(value) -> bool:
    return isinstance(value, TensorShape | TypeSpec)


def _flatten_shapes(value) -> list:
    if value is None or _is_shape(value):
        return [value]
    if isinstance(value, dict):
        return [s for key in sorted(value) for s in _flatten_shapes(value[key])]
    return [s for item in value for s in _flatten_shapes(item)]


def _loop_at_once(cond, body, loop_vars, maximum_iterations):
    structure = loop_vars
    count = 0
    limit = None if maximum_iterations is None else int(maximum_iterations)
    packed = isinstance(loop_vars, list | tuple)
    while _call(cond, structure) and (limit is None or count < limit):
        result = _call(body, structure)
        if packed and not isinstance(result, list | tuple):
            result = [result]
        structure = result
        count += 1
    structure = nest.map_structure(
        lambda v: v if v is None or hasattr(v, "_type_spec") else convert_to_tensor(v),
        structure,
    )
    return structure


def _trace_loop(graph, cond, body, structure, flat, shapes, limit, frozen, given):
    """Trace both functions and make the node; None when it has to be tried again."""
    n = len(flat)
    body_graph = FuncGraph("while_body", graph)
    with read_only_variables(graph, frozen), building(body_graph):
        inner = [
            body_graph._parameter(v.dtype, s, "loop") for v, s in zip(flat, shapes, strict=True)
        ]
        counter = None
        if limit is not None:
            counter = body_graph._parameter(_dtypes.int32, [], "counter")
        result = _call(body, nest.pack_sequence_as(structure, inner, expand_composites=True))
        if not isinstance(structure, dict) and not (
            isinstance(result, list | tuple) and len(result) == len(structure)
        ):
            result = [result]
        nest.assert_same_structure(
            structure if isinstance(structure, dict) else list(structure),
            result if isinstance(result, dict) else list(result),
            check_types=False,
            expand_composites=True,
        )
        outputs = [
            operand(v, w.dtype)
            for v, w in zip(nest.flatten(result, expand_composites=True), flat, strict=True)
        ]
        if counter is not None:
            outputs.append(ops["AddV2"](counter, operand(1, _dtypes.int32)))
    assigned = getattr(body_graph, "_assigned", set())
    again = {h for h in reads_in_front(body_graph) if h in assigned}
    if again - frozen:
        frozen |= again
        return None
    for i, (output, shape) in enumerate(zip(outputs, shapes, strict=False)):
        if _covers(shape, output.shape):
            continue
        if given[i]:
            raise ValueError(
                f"Input tensor {flat[i]!r} enters the loop with shape {flat[i].shape}, but has "
                f"shape {output.shape} after one iteration, which the shape invariant {shape} "
                "does not allow."
            )
        joined = shape.most_specific_compatible_shape(output.shape)
        raise ValueError(
            f"Input tensor {getattr(flat[i], 'name', flat[i])!r} enters the loop with shape "
            f"{shape}, but has shape {output.shape} after one iteration. To allow the shape to "
            "vary across iterations, use the `shape_invariants` argument of tf.while_loop to "
            f"specify a less-specific shape, such as {joined}."
        )
    cond_graph = FuncGraph("while_cond", graph)
    with read_only_variables(graph, frozen), building(cond_graph):
        inner = [
            cond_graph._parameter(v.dtype, s, "loop") for v, s in zip(flat, shapes, strict=True)
        ]
        if limit is not None:
            counter = cond_graph._parameter(_dtypes.int32, [], "counter")
        test = _call(cond, nest.pack_sequence_as(structure, inner, expand_composites=True))
        test = operand(test)
        if test.dtype != _dtypes.bool:
            raise TypeError(f"The loop condition must be a bool, got {test.dtype!r}")
        if test.shape.rank not in (0, None):
            test = ops["Reshape"](test, operand([], _dtypes.int32))
        if limit is not None:
            test = ops["LogicalAnd"](ops["Less"](counter, limit), test)
    again = {h for h in reads_in_front(cond_graph) if h in assigned}
    if again - frozen:
        frozen |= again
        return None
    if assigned:
        graph._assigned = getattr(graph, "_assigned", set()) | assigned
    externals: dict[int, object] = {}
    for traced in (body_graph, cond_graph):
        for external, _ in traced._captures():
            externals.setdefault(external._id, external)
    kept = list(externals.values())
    start = list(flat) + ([operand(0, _dtypes.int32)] if limit is not None else [])
    body_closed = body_graph.closed(kept, outputs, returns_captured=True)
    cond_closed = cond_graph.closed(kept, [test])
    stateful = body_closed._has_effects or cond_closed._has_effects
    results = _node(
        lambda tensors: ops["While" if stateful else "StatelessWhile"](
            tensors,
            cond=cond_closed,
            body=body_closed,
            output_shapes=[*shapes, *([[]] if limit is not None else []), *[k.shape for k in kept]],
        ),
        start + kept,
        [cond_closed, body_closed],
    )
    answer = nest.pack_sequence_as(structure, results[:n], expand_composites=True)
    return tuple(answer) if isinstance(answer, list) and not isinstance(structure, list) else answer
