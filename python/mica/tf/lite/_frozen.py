"""A concrete function as a flat list of ops: functions inlined, variables read, constants folded.

The function is evaluated as far as what is known allows: an op whose operands are all known runs
at once, a branch or a loop whose condition is known is followed, every other op is added to a
fresh graph, which infers the shapes, and is listed.
"""

from __future__ import annotations

import numpy as np

from ... import _mica
from .. import _dtypes, nest
from .._context import building
from .._core import ops
from .._graph import FuncGraph
from .._graph_def import nodes_behind
from .._rows import category_of
from .._shapes import TensorShape
from .._specs import TensorSpec
from ._plan import Plan, Value
from ._rows import ConverterError, Node

_RANDOM = ("Random", "Stateless", "Multinomial", "Truncated", "ParameterizedTruncated")
_MOST_TURNS = 4096  # of a loop that is unrolled
_MOST_NODES = 1 << 17


class _Bound:
    """What a tensor of the function is: one whose value is known, or one of the fresh graph."""

    def __init__(self, tensor, value: Value | None = None) -> None:
        self.tensor, self._value = tensor, value

    @property
    def is_known(self) -> bool:
        return isinstance(self.tensor, _mica.TFEagerTensor)

    @property
    def value(self) -> Value:
        if self._value is None:
            data = np.asarray(self.tensor.numpy())
            self._value = Value("constant", self.tensor.dtype.name, data.shape, data)
        return self._value


def _shape_of(tensor) -> tuple | None:
    shape = tensor.shape
    return None if shape.rank is None else tuple(shape.as_list())


class Frozen:
    """Evaluates graphs, and keeps the ops that are left."""

    def __init__(self) -> None:
        self.graph = FuncGraph("lite", None)
        self.nodes: list[Node] = []

    def parameter(self, spec, name: str) -> _Bound:
        """An input of the whole."""
        with building(self.graph):
            tensor = self.graph._parameter(spec.dtype, spec.shape, name)
        return _Bound(tensor, Value(name, spec.dtype.name, _shape_of(tensor)))

    def run(self, graph, arguments: list) -> list:
        """The results of a graph for these arguments."""
        needed = nodes_behind(graph, [node for node, _ in _places(graph, graph._outputs())])
        env: dict = {}
        parameters = iter(arguments)
        for number in range(graph._node_count):
            op, name, inputs, count = graph._node(number)
            if op == "Placeholder":
                results = [next(parameters)]
            elif category_of(op) == "assign":
                raise ConverterError(
                    f"{op} ({name}): a model that assigns to its variables has no TensorFlow Lite "
                    "form here"
                )
            elif number not in needed:
                continue
            else:
                given = [env[place] for place in inputs]
                results = self.evaluate(graph._request(number), name, given)
            for i in range(count):
                env[number, i] = results[i]
        return [env[place] for place in _places(graph, graph._outputs())]

    def evaluate(self, request: tuple, name: str, given: list) -> list:
        """The results of one op."""
        op, attributes, groups, graphs = request
        if op == "Const":
            return [_Bound(dict((n, v) for n, _, v in attributes)["value"])]
        category = category_of(op)
        if category == "same":
            return given
        if category == "call":
            return self.run(graphs[0], given)
        if op == "CustomGradient":
            first = dict((n, v) for n, _, v in attributes)["n"]
            return given[first:]
        if category == "branch" and given[0].is_known:
            return self.run(_chosen(graphs, attributes, given[0].tensor), given[1:])
        if category == "loop" and not all(g.is_known for g in given):
            return self.loop(name, graphs, given)
        keywords = _keywords(op, name, attributes, graphs)
        is_random = op.startswith(_RANDOM) and not op.startswith(("StatelessIf", "StatelessWhile"))
        if all(g.is_known for g in given) and not is_random:
            return self.known(op, keywords, groups, given)
        return self.added(op, name, keywords, groups, given)

    def loop(self, name: str, graphs: list, state: list) -> list:
        """Unroll a loop whose condition follows from what is known."""
        condition, body = graphs
        for _ in range(_MOST_TURNS):
            (goes_on,) = self.run(condition, state)
            if not goes_on.is_known:
                raise ConverterError(
                    f"While ({name}): how often the loop runs depends on the model's inputs"
                )
            if not bool(goes_on.tensor):
                return state
            state = self.run(body, state)
        raise ConverterError(f"While ({name}): the loop runs more than {_MOST_TURNS} times")

    def known(self, op: str, keywords: dict, groups: list, given: list) -> list:
        """Run an op of known operands."""
        with building(None):
            return [_Bound(t) for t in _called(op, keywords, groups, [g.tensor for g in given])]

    def added(self, op: str, name: str, keywords: dict, groups: list, given: list) -> list:
        """Add an op to the graph; its results are known where its shape says them."""
        if len(self.nodes) >= _MOST_NODES:
            raise ConverterError(f"the model has more than {_MOST_NODES} ops")
        with building(self.graph):
            tensors = _called(op, keywords, groups, [g.tensor for g in given])
        results = [self.result(tensor, name, i) for i, tensor in enumerate(tensors)]
        if not all(r.is_known for r in results):
            outputs = [Value(name, "int32", ()) if r.is_known else r.value for r in results]
            self.nodes.append(Node(op, keywords, [g.value for g in given], outputs, name))
        return results

    def result(self, tensor, name: str, i: int) -> _Bound:
        """A tensor of the graph, or the integers that it is known to have."""
        shape = _shape_of(tensor)
        if tensor.dtype in (_dtypes.int32, _dtypes.int64) and shape is not None and len(shape) < 2:
            ints = self.graph._ints(tensor)
            if ints is not None and None not in ints and None not in shape:
                with building(None):
                    flat = _mica.tf_convert(ints, tensor.dtype) if ints else None
                    if flat is not None:
                        return _Bound(ops["Reshape"](flat, list(shape)))
        return _Bound(tensor, Value(f"{name}:{i}" if i else name, tensor.dtype.name, shape))


def _places(graph, tensors: list) -> list:
    """(node, index) of tensors of a graph."""
    by_name = {graph._node(i)[1]: i for i in range(graph._node_count)}
    found = []
    for tensor in tensors:
        name, _, index = tensor.name.rpartition(":")
        found.append((by_name[name], int(index)))
    return found


def _chosen(graphs: list, attributes: list, index):
    """The function that a branch takes; an index out of range takes the last."""
    if not any(name == "branches" for name, _, _ in attributes):
        return graphs[0 if bool(index) else 1]
    i = int(index)
    return graphs[i if 0 <= i < len(graphs) else -1]


def _called(op: str, keywords: dict, groups: list, operands: list) -> list:
    given, at = [], 0
    for count in groups:
        given.append(operands[at] if count < 0 else operands[at : at + count])
        at += 1 if count < 0 else count
    result = ops[op](*given, **keywords)
    return list(result) if isinstance(result, list | tuple) else [result]


def _keywords(op: str, name: str, attributes: list, graphs: list) -> dict:
    bodies = iter(graphs)
    found = {}
    for key, kind, value in attributes:
        if kind == "type":
            value = _dtypes.as_dtype(value)
        elif kind == "types":
            value = [_dtypes.as_dtype(number) for number in value]
        elif kind == "shape":
            value = _tensor_shape(value)
        elif kind == "shapes":
            value = [_tensor_shape(sizes) for sizes in value]
        elif kind == "function":
            value = next(bodies)
        elif kind == "functions":
            value = [next(bodies) for _ in value]
        elif kind == "operation":
            raise ConverterError(f"{op} ({name}): a derivative has no TensorFlow Lite form")
        found[key] = value
    return found


def _tensor_shape(sizes) -> TensorShape:
    return TensorShape(None if sizes is None else [None if n < 0 else n for n in sizes])


_COMPUTED = ("float32", "int32", "int64", "bool", "int8", "uint8", "int16", "uint16", "uint32")
_HINT = """
Some ops are not supported by the native TFLite runtime:
{ops}
TensorFlow would ask for tf.lite.OpsSet.SELECT_TF_OPS (Select TF ops) here; those are not available
in this package: rewrite the model with ops that have a TensorFlow Lite kernel."""


def refuse(names) -> None:
    """Raise an error with the names of ops that have no operator, if there are any."""
    missing = sorted(set(names))
    if missing:
        raise ConverterError(_HINT.format(ops="TF Select ops: " + ", ".join(missing)).strip())


def _specs(concrete) -> list[TensorSpec]:
    """The dtypes and shapes of the inputs, as far as the graph or the signature knows them."""
    graph = concrete.graph
    found = [graph._parameter_at(i) for i in range(concrete._n_inputs)]
    given = nest.flatten(concrete.structured_input_signature, expand_composites=True)
    given = [spec for spec in given if isinstance(spec, TensorSpec)]
    if len(given) != len(found):
        given = found
    return [
        TensorSpec(p.shape.merge_with(s.shape), p.dtype) for p, s in zip(found, given, strict=True)
    ]


def plan_of(concrete, input_names: list, output_names: list, key: str) -> Plan:
    """The plan of a concrete function, a step or a few for each op."""
    from . import _table

    frozen = Frozen()
    graph = concrete.graph
    specs = _specs(concrete)
    inputs = [frozen.parameter(s, n) for s, n in zip(specs, input_names, strict=True)]
    captured = [_Bound(tensor) for tensor in concrete.captured_inputs]
    results = frozen.run(graph, inputs + captured)
    plan = Plan([b.value for b in inputs], [b.value for b in results], key=key)
    plan.input_names, plan.output_names = list(input_names), list(output_names)
    refuse(node.op for node in frozen.nodes if not _table.is_written(node.op))
    for node in frozen.nodes:
        for value in node.outputs:
            if value.dtype not in _COMPUTED and node.op != "Cast":
                raise ConverterError(
                    f"{node.op} ({node.name}): TensorFlow Lite has no kernel for {value.dtype}; "
                    + _HINT.format(ops=f"TF Select ops: {node.op}").strip()
                )
        _table.write(node, plan)
    return plan
