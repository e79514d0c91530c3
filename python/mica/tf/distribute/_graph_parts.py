"""Ops of functions that run in another process: nodes of the graph that send them when they run."""

from __future__ import annotations

import contextlib

from ... import _mica
from .. import GradientTape, convert_to_tensor, errors
from .._context import building
from .._core import ops
from .._custom_gradient import custom_gradient
from .._dtypes import resource, variant
from .._graph import FuncGraph
from . import _requests

_MOST_ORDERS = 4


@contextlib.contextmanager
def running(runner):
    """Within it, ops go to a runner; None: they run here."""
    before = _mica.tf_set_remote(runner)
    try:
        yield
    finally:
        _mica.tf_set_remote(before)


def added(runner, request: tuple, tensors: tuple):
    """The results of a node that has an op run elsewhere; NotImplemented: it is one of this graph.

    Constants, control flow (whose branches and bodies have nodes of their own) and ops of variables
    of this process stay.
    """
    op, attributes, _ = request
    kinds = {kind for _, kind, _ in attributes}
    dtypes = [tensor.dtype for tensor in tensors]
    if op == "Const" or kinds & {"function", "functions"} or resource in dtypes:
        return NotImplemented
    if variant in dtypes:
        raise errors.UnimplementedError(
            None,
            None,
            f"[{op}] datasets and lists of tensors stay in this process: it cannot run on {runner}",
        )
    values = list(tensors)
    text = _requests.written(request, values)
    constants = values[len(tensors) :]
    types = _types(text, tensors, constants)

    def run(*operands):
        with running(runner):
            return _requests.function_of(text, [*operands, *constants])(*operands)

    results = _node(runner, run, [dtype for dtype, _ in types], list(tensors))
    for result, (_, shape) in zip(results, types, strict=True):
        result.set_shape(shape)
    return results


def _types(text: list, tensors: tuple, constants: list) -> list:
    """The dtypes and shapes of an op's results, found in a graph that is thrown away."""
    scratch = FuncGraph("scratch", None)
    with building(scratch):
        operands = [scratch._parameter(t.dtype, t.shape, "operand") for t in tensors]
        results = _requests.function_of(text, [*operands, *constants])(*operands)
        found = [(result.dtype, result.shape) for result in results]
    for dtype, _ in found:
        if dtype in (resource, variant):
            raise errors.UnimplementedError(
                None, None, f"[{text[0]}] a value of dtype {dtype.name} stays in its own process"
            )
    return found


def _flows(dtype) -> bool:
    return dtype.is_floating or dtype.is_complex


def _node(runner, run, kinds: list, tensors: list, order: int = 0) -> list:
    """A node that calls a function of eager tensors, with gradients of some orders."""
    number = _mica.TFFunction(lambda *operands: list(run(*operands)))
    if not any(_flows(t.dtype) for t in tensors) or not any(map(_flows, kinds)):
        return list(ops["PyFunc"](tensors, token=number, Tout=kinds))
    wanted = [i for i, tensor in enumerate(tensors) if _flows(tensor.dtype)]
    sources = [i for i, kind in enumerate(kinds) if _flows(kind)]

    @custom_gradient
    def call(*inputs):
        outputs = ops["PyFunc"](list(inputs), token=number, Tout=kinds)

        def gradient(*cotangents):
            given = [*inputs, *(cotangents[i] for i in sources)]
            dtypes = [inputs[i].dtype for i in wanted]
            with running(None):
                if order < _MOST_ORDERS:
                    back = _vjp(runner, run, len(inputs), wanted, sources)
                    found = _node(runner, back, dtypes, given, order + 1)
                else:
                    refuse = _mica.TFFunction(lambda *_: _refuse(runner))
                    found = ops["PyFunc"](given, token=refuse, Tout=dtypes)
            answers: list = [None] * len(inputs)
            for i, answer in zip(wanted, found, strict=True):
                answer.set_shape(inputs[i].shape)
                answers[i] = answer
            return answers

        return list(outputs), gradient

    return list(call(*tensors))


def _vjp(runner, run, count: int, wanted: list, sources: list):
    """The function of operands and cotangents that gives the gradients, found there too."""
    def back(*given) -> list:
        operands, cotangents = given[:count], given[count:]
        inputs = [operands[i] for i in wanted]
        with running(runner):
            with GradientTape() as tape:
                tape.watch(inputs)
                results = run(*operands)
            targets = [results[i] for i in sources]
            found = tape.gradient(targets, inputs, list(cotangents), unconnected_gradients="zero")
            return [convert_to_tensor(each) for each in found]

    return back


def _refuse(runner) -> None:
    raise errors.UnimplementedError(
        None,
        None,
        f"derivatives of more than order {_MOST_ORDERS} of an op that a function runs on {runner}",
    )
