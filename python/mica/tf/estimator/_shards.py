"""A function of one shard, traced once and run for all shards side by side.

The model function is traced into a ShardGraph with the batch of one shard. What its fetches need of
it is a function whose variables are values (`_functional`, src/tf/prune.c); the row Vmap with
`replicas` runs it for all shards, and the row CrossReplicaSum adds up over them. A variable whose
new value follows from a shard's own data is kept for each shard; the others once.
"""

from __future__ import annotations

import threading

from .. import _dtypes
from .. import _nest as nest
from .._context import building
from .._core import convert_to_tensor, ops
from .._graph import Graph, Operation
from .._variable import Variable
from ..compat.v1._scopes import GraphKeys
from ..compat.v1._scopes import Variable as VariableV1


def _draws(kind: str) -> bool:
    """Whether an op draws from a generator of its own, so that shards have numbers of their own."""
    return kind.startswith("Random") or kind in ("TruncatedNormal", "Multinomial")


def _is_drawn_outside(operation) -> bool:
    """Whether it draws numbers of one size, which can be drawn for all shards at once."""
    alike = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
    return operation.type in alike and operation.outputs[0].shape.is_fully_defined()


def _draw(operation, count: int):
    """The numbers of all shards, stacked."""
    shape = ops["Const"](value=_ints([count, *operation.outputs[0].shape]), dtype=_dtypes.int32)
    kept = {key: value for key, _, value in operation._attributes() if key.startswith("seed")}
    return ops[operation.type](shape, dtype=operation.outputs[0].dtype, **kept)


class _State(threading.local):
    count = None


_state = _State()


def number_of_shards() -> int | None:
    """Return how many shards the model function is traced for; None outside of one."""
    return _state.count


class SummariesNotSupported(NotImplementedError):
    """A summary in a model function that runs on shards."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The summary {name!r} is made in a model_fn with use_tpu=True, which has no place to "
            "write to. Leave tf.summary out of it, give host_call of TPUEstimatorSpec what is to "
            "be written, or run with use_tpu=False"
        )


class ShardGraph(Graph):
    """The graph of one shard: its variables and lists are those of the graph around it."""

    def __new__(cls, outer):
        """Make an empty one."""
        return super().__new__(cls, "shard", outer)

    def __init__(self, outer) -> None:
        super().__init__()
        self._collections = outer._collections
        self.seed = outer.seed
        self._scope = outer._scope
        self._refuses_summaries = (SummariesNotSupported,)


def shard_shape(tensor, what: str, count: int):
    """Return the shape that one shard gets of a tensor of the whole batch."""
    shape = tensor.shape
    if not shape.is_fully_defined():
        unknown = (
            "rank"
            if shape.rank is None
            else "dimension " + ", ".join(str(i) for i, size in enumerate(shape) if size is None)
        )
        raise ValueError(
            f"{what} has the shape {shape}: its {unknown} is not known, and with use_tpu=True the "
            "input pipeline to the TPU must have static shapes. Batch with "
            "tf.contrib.data.batch_and_drop_remainder (or batch(..., drop_remainder=True)), or say "
            "what the shape is with set_shape()"
        )
    if shape.rank == 0:
        raise ValueError(f"{what} is a scalar: it has no batch that shards could share")
    if shape[0] % count:
        raise ValueError(
            f"{what} has a batch of {shape[0]}, which {count} shards cannot share evenly"
        )
    return [shape[0] // count, *list(shape)[1:]]


def tensors_of(inputs) -> list:
    """Return the tensors of (features, labels); labels may be None."""
    return [t for t in nest.flatten(inputs, expand_composites=True) if t is not None]


def _packed(inputs, tensors: list):
    """The structure of (features, labels) with other tensors."""
    rest = iter(tensors)
    flat = nest.flatten(inputs, expand_composites=True)
    whole = [None if t is None else next(rest) for t in flat]
    return nest.pack_sequence_as(inputs, whole, expand_composites=True)


class Shards:
    """A function of one shard's inputs, for `count` shards.

    Parameters
    ----------
    inputs
        A nest of tensors of the graph, whole batches.
    trace
        Called with the nest for one shard; returns (fetched tensors, operations to run, anything).
    """

    def __init__(self, graph, inputs, count: int, trace) -> None:
        self._count = count
        flat = tensors_of(inputs)
        names = [f"{path}" for path in _paths(inputs)]
        self.shapes = [shard_shape(t, n, count) for t, n in zip(flat, names, strict=True)]
        shard = ShardGraph(graph)
        with building(shard):
            given = [
                shard._parameter(t.dtype, shape, "shard")
                for t, shape in zip(flat, self.shapes, strict=True)
            ]
            before, _state.count = _state.count, count
            try:
                packed = _packed(inputs, given)
                fetched, targets, self.answer = trace(packed)
            finally:
                _state.count = before
        self._cut(shard, given, list(fetched), targets)

    def _cut(self, shard, given, fetched, targets) -> None:
        """Make the function of what is asked for; numbers that it draws are given to it."""
        self._drawn = [o for o in shard.get_operations() if _is_drawn_outside(o)]
        given = given + [o.outputs[0] for o in self._drawn]
        numbers = [(t if isinstance(t, Operation) else t.op)._number for t in targets]
        function, nodes = shard._prune(given, fetched, numbers, shard._order.ranges())
        external = {internal._node: outside for outside, internal in shard._captures()}
        self._captured = [external[n] for n in nodes]
        variables = [_variable_of(e) for e in self._captured]
        kinds = [None if v is None else (v.dtype, v.shape) for v in variables]
        self._function = function._functional([None] * len(given) + kinds)
        self._n_inputs, self._n_fetched = len(given), len(fetched)
        self.variables = [v for v in variables if v is not None]
        self._places = [len(given) + i for i, v in enumerate(variables) if v is not None]
        self._dtypes = [t.dtype for t in fetched] + [v.dtype for v in self.variables]
        self.is_own = self._find_own()

    def _find_own(self) -> list[bool]:
        """Of each variable: whether its new value follows from a shard's own data."""
        own = [False] * len(self.variables)
        while True:
            mapped = self._mapped(own)
            new = [
                before or mapped.get(self._function._outputs()[self._n_fetched + i]._node, False)
                for i, before in enumerate(own)
            ]
            if new == own:
                return own
            own = new

    def _mapped(self, own: list[bool]) -> dict:
        parameters = {self._function._parameter_at(i)._node: True for i in range(self._n_inputs)}
        for place, is_own in zip(self._places, own, strict=True):
            parameters[self._function._parameter_at(place)._node] = is_own
        mapped: dict = {}
        for number in range(self._function._node_count):
            kind, _, inputs, _ = self._function._node(number)
            if kind == "Placeholder":
                mapped[number] = parameters.get(number, False)
            elif kind == "CrossReplicaSum":
                mapped[number] = False
            else:
                mapped[number] = _draws(kind) or any(mapped[node] for node, _ in inputs)
        return mapped

    def run(self, inputs: list, values: list) -> tuple[list, list]:
        """Return (what is fetched, stacked by shard; the new values of variables).

        Inputs are whole batches; the value of a variable that shards have of their own is stacked.
        """
        split = [
            ops["Reshape"](t, ops["Const"](value=_ints([self._count, *shape]), dtype=_dtypes.int32))
            for t, shape in zip(inputs, self.shapes, strict=True)
        ]
        split += [_draw(operation, self._count) for operation in self._drawn]
        arguments, mapped = list(split), [1] * len(split)
        rest = iter(zip(values, self.is_own, strict=True))
        for external in self._captured:
            if _variable_of(external) is None:
                arguments.append(external)
                mapped.append(0)
            else:
                value, is_own = next(rest)
                arguments.append(value)
                mapped.append(int(is_own))
        results = ops["Vmap"](
            arguments, Tout=self._dtypes, f=self._function, mapped=mapped, replicas=True
        )
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        new = [
            value if is_own else value[0]
            for value, is_own in zip(results[self._n_fetched :], self.is_own, strict=True)
        ]
        return results[: self._n_fetched], new

    def states(self) -> list:
        """Return what holds the values: a variable, or the variable of all shards' own values."""
        return [
            _stacked(variable, self._count) if is_own else variable
            for variable, is_own in zip(self.variables, self.is_own, strict=True)
        ]


def _stacked(variable, count: int):
    """A variable with a row for each shard, which begins as the variable does; not saved."""
    sizes = _ints([count, *[int(n) for n in variable.shape]])

    def first():
        return ops["BroadcastTo"](variable._read(), ops["Const"](value=sizes, dtype=_dtypes.int32))

    return VariableV1(
        first,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        name=f"{variable._shared_name}/shards",
    )


def _ints(numbers: list):
    with building(None):
        return convert_to_tensor(numbers, _dtypes.int32)


def _variable_of(external) -> Variable | None:
    reference = external._variable
    return None if reference is None else reference()


def _paths(inputs) -> list[str]:
    """Names of the leaves of (features, labels)."""
    found: list[str] = []

    def walk(value, path: str) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                walk(value[key], f"{path}[{key!r}]")
        elif isinstance(value, (list, tuple)):
            for i, part in enumerate(value):
                walk(part, f"{path}[{i}]")
        elif value is not None:
            found.append(path)

    features, labels = inputs
    walk(features, "features")
    walk(labels, "labels")
    return found
