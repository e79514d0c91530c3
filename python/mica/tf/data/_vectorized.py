"""Maps followed by a batch as functions of the batch, where that gives the same bits.

The function of a map is vectorised (the row `Vmap`) and runs once for each batch. That is done only
where every op of it moves elements or rounds exactly as IEEE 754 says, so that an element does not
depend on how many are computed at once, or draws random numbers of a known count, which each
element has from the stream as a call of its own would. Ops that read texts, messages of
tf.train.Example first of all, come in front and take all texts at once. What fails for a batch is
done again element by element (`MapBatchDataset`), so errors are those of the map.
"""

from __future__ import annotations

from ... import _mica
from .._context import building
from .._core import ops
from .._graph import FuncGraph, operand
from .._specs import TensorSpec
from . import _structure

_EXACT = frozenset(
    """
    Abs Add AddV2 BroadcastTo Cast Ceil ClipByValue ConcatV2 Const Equal ExpandDims Fill Floor
    Greater GreaterEqual Identity Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor Maximum
    Minimum Mul Neg NotEqual OneHot OnesLike Pack Pad PadV2 RandomUniform RandomUniformInt Rank
    RealDiv Relu Reshape ReverseV2 Rint Round Select SelectV2 Shape Sign Size Slice Square
    SquaredDifference Squeeze StridedSlice Sub Tile Transpose Unpack ZerosLike
    """.split()
)
_READERS = frozenset({"ParseExampleV2", "DecodeRaw"})
_DRAWS = frozenset({"RandomUniform", "RandomUniformInt"})


def _is_plain(spec: object) -> bool:
    """Whether a spec is one of real numbers or truths whose shape is known."""
    return isinstance(spec, TensorSpec) and spec.shape.is_fully_defined() and _is_real(spec.dtype)


def _is_real(dtype) -> bool:
    return dtype.is_floating or dtype.is_integer or dtype.name == "bool"


def _is_text(tensor) -> bool:
    return tensor.dtype.name == "string" and tensor.shape.rank == 0


def _rounds_exactly(operation) -> bool:
    """Numbers beyond the integers have no integer that every kernel must give."""
    if operation.type != "Cast":
        return operation.type in _EXACT
    return operation.outputs[0].dtype.is_floating or not operation.inputs[0].dtype.is_floating


def _attribute(operation, name: str):
    return next(value for key, _, value in operation._attributes() if key == name)


def _reads_alike(operation) -> bool:
    """Whether results of one text, stacked, are those of many texts."""
    if operation.type == "DecodeRaw":
        return True
    if _attribute(operation, "num_sparse") or _attribute(operation, "ragged_value_types"):
        return False
    return all(tensor.shape.is_fully_defined() for tensor in operation.outputs)


class _Plan:
    """What of a traced function takes texts and what takes numbers; `is_possible` says the rest.

    Tensors of the graph are known by their node's number and their place among its results.
    """

    def __init__(self, traced, element_spec: object) -> None:
        self.graph = traced.graph
        self.specs = _structure.flat_specs(element_spec)
        self.readers: list = []
        self.texts: dict = {}  # a text: the parameter or the reader's result that it is
        self.numbers: set = set()  # that depend on the element
        self.given: list = []  # those of them that are parameters or readers' results
        self.is_possible = self._has_plain_ends(traced, element_spec) and all(
            map(self._add, self.graph.get_operations())
        )
        self.outputs = [(t._node, t.value_index) for t in self.graph._outputs()]
        self.is_possible = self.is_possible and all(
            key in self.texts or (_is_plain(spec) and self.given)
            for key, spec in zip(self.outputs, _structure._leaves(traced.spec), strict=True)
        )

    def _has_plain_ends(self, traced, element_spec: object) -> bool:
        given = [TensorSpec(t.shape, t.dtype) for t in traced.captured]
        leaves = _structure._leaves(element_spec) + _structure._leaves(traced.spec)
        if not leaves or not all(isinstance(spec, TensorSpec) for spec in leaves):
            return False
        if not all(isinstance(t, _mica.TFEagerTensor) for t in traced.captured):
            return False
        if not self.specs or not all(map(_is_plain, given)):
            return False
        for i in range(len(self.specs)):
            tensor = self.graph._parameter_at(i)
            if _is_text(tensor):
                self.texts[tensor._node, tensor.value_index] = tensor
            elif _is_plain(TensorSpec(tensor.shape, tensor.dtype)):
                self._give((tensor._node, tensor.value_index))
            else:
                return False
        return True

    def _give(self, key: tuple) -> None:
        self.numbers.add(key)
        self.given.append(key)

    def _add(self, operation) -> bool:
        if operation.type == "Placeholder":
            return True
        keys = list(operation._inputs)
        results = [(operation._number, i) for i in range(operation._count)]
        of_texts = [key for key in keys if key in self.texts]
        if operation.type in _READERS:
            if keys[0] not in self.texts or len(of_texts) > 1 or not _reads_alike(operation):
                return False
            if any(key in self.numbers for key in keys):
                return False
            self.readers.append(operation)
            for key, tensor in zip(results, operation.outputs, strict=True):
                if _is_text(tensor):
                    self.texts[key] = tensor
                else:
                    self._give(key)
            return True
        if of_texts:
            is_same = operation.type in ("Reshape", "Identity") and _is_text(operation.outputs[0])
            if is_same and keys[0] in self.texts:
                self.texts[results[0]] = self.texts[keys[0]]
            return is_same and keys[0] in self.texts
        depends = operation.type in _DRAWS or any(key in self.numbers for key in keys)
        if not depends:
            return operation.type in _EXACT
        self.numbers.update(results)
        specs = [TensorSpec(t.shape, t.dtype) for t in operation.outputs]
        return _rounds_exactly(operation) and all(map(_is_plain, specs))


def plan_of(traced, element_spec: object) -> _Plan | None:
    """How a traced function runs for many elements with the bits of one; None: it does not."""
    plan = _Plan(traced, element_spec)
    return plan if plan.is_possible else None


class Vectorized:
    """The function of a batch: of slices along the first axis of the components."""

    def __init__(self, traced, plan: _Plan, batched: object) -> None:
        self._plan = plan
        self._whole: dict = {}  # what stands for tensors of the function
        self.graph = FuncGraph("vectorized_map", None)
        self.captured = traced.captured
        with building(self.graph):
            for i, spec in enumerate(_structure.flat_specs(batched)):
                inner = plan.graph._parameter_at(i)
                whole = self.graph._parameter(spec.dtype, spec.shape, "elements")
                self._whole[inner._node, inner.value_index] = whole
            for i, tensor in enumerate(traced.captured):
                inner = plan.graph._parameter_at(len(plan.specs) + i)
                whole = self.graph._parameter(tensor.dtype, tensor.shape, "captured")
                self._whole[inner._node, inner.value_index] = whole
            for reader in plan.readers:
                self._read(reader)
            self._give(traced)

    def _read(self, reader) -> None:
        """Add an op that takes texts, for all of them at once."""
        text = self._plan.texts[tuple(reader._inputs[0])]
        texts = self._whole[text._node, text.value_index]
        if reader.type == "DecodeRaw":
            results = ops["DecodeRaw"](
                texts,
                out_type=_attribute(reader, "out_type"),
                little_endian=_attribute(reader, "little_endian"),
            )
        else:
            constants, others = self._plan.graph._prune([], reader.inputs[1:], [], [])
            assert not others  # what depends on parameters was refused
            given = ops["PartitionedCall"](
                [], Tout=[t.dtype for t in reader.inputs[1:]], f=constants
            )
            results = ops["ParseExampleV2"](
                texts,
                *given[:4],
                list(given[4:]),
                num_sparse=0,
                sparse_types=[],
                ragged_value_types=[],
                ragged_split_types=[],
                dense_shapes=[t.shape for t in reader.outputs],
            )
        for i, result in enumerate(_flat(results)):
            self._whole[reader._number, i] = result

    def _give(self, traced) -> None:
        """Compute the results, those of numbers by the vectorised rest of the function."""
        plan = self._plan
        numbers = [key not in plan.texts and key not in self._whole for key in plan.outputs]
        tensors = plan.graph._outputs()
        wanted = [t for t, is_number in zip(tensors, numbers, strict=True) if is_number]
        made = iter(self._mapped(wanted) if wanted else [])
        for key, is_number in zip(plan.outputs, numbers, strict=True):
            if is_number:
                self.graph._output(operand(next(made)))
            elif key in plan.texts:
                text = plan.texts[key]
                self.graph._output(operand(self._whole[text._node, text.value_index]))
            else:
                self.graph._output(operand(self._whole[key]))

    def _mapped(self, wanted: list) -> list:
        feeds = [self._plan.graph._tensor(*key) for key in self._plan.given]
        function, others = self._plan.graph._prune(feeds, wanted, [], [])
        results = ops["Vmap"](
            [self._whole[key] for key in [*self._plan.given, *((node, 0) for node in others)]],
            Tout=[t.dtype for t in wanted],
            f=function,
            mapped=[1] * len(feeds) + [0] * len(others),
        )
        return _flat(results)


def _flat(results: object) -> list:
    made: list = []
    for part in results if isinstance(results, list | tuple) else [results]:
        made += _flat(part) if isinstance(part, list | tuple) else [part]
    return made
