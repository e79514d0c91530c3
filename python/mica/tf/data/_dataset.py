"""`tf.data.Dataset`: a pipeline is described here and runs in C."""

from __future__ import annotations

import secrets
import types

from ... import _mica
from .. import autograph, errors
from .._composite import CompositeTensor
from .._context import building, executing_eagerly
from .._core import convert_to_tensor, ops
from .._dtypes import int64
from .._function import _connect_autograph
from .._graph import FuncGraph, operand
from .._specs import TensorSpec
from ..random import get_seed
from . import _structure, _vectorized
from ._iterator import Iterator, NumpyIterator
from ._options import Options
from ._transformations import Transformations

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
_MOST_MAPS = 16  # that one stage runs for batches


class DatasetSpec(_structure.HandleSpec):
    """The spec of a dataset."""

    __slots__ = ()

    def __init__(self, element_spec: object, dataset_shape: object = ()) -> None:
        super().__init__(element_spec)

    @property
    def value_type(self) -> type:
        """Dataset."""
        return Dataset

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, TensorShape([]))"


class _Traced:
    """A function of elements as a graph, with what it captures and the spec of its result."""

    def __init__(
        self, function, element_spec: object, name: str, tensors=_structure.to_tensors
    ) -> None:
        self.graph = FuncGraph(name, _mica.tf_current_graph())
        with building(self.graph):
            parameters = [
                self.graph._parameter(s.dtype, s.shape, "element")
                for s in _structure.flat_specs(element_spec)
            ]
            element = _structure.from_tensors(element_spec, parameters)
            arguments = element if isinstance(element, tuple) else (element,)
            result = _converted(function)(*arguments)
            result = _structure.normalize(_tuples(result))
            self.spec = _structure.spec_of(result)
            for tensor in tensors(self.spec, result):
                self.graph._output(operand(tensor))
        self.captured = [external for external, _ in self.graph._captures()]


def _converted(function):
    """The function with its control flow over tensors made part of the graph."""
    _connect_autograph()
    if isinstance(function, types.MethodType):
        return types.MethodType(autograph.convert(function.__func__), function.__self__)
    return autograph.convert(function)


def _the_same(*parts: object) -> object:
    return parts if len(parts) > 1 else parts[0]


def _tuples(value: object) -> object:
    """A list that a function returns is a structure, as TensorFlow has it."""
    return tuple(value) if type(value) is list else value


def _seeds(seed: int | None) -> tuple[int, int]:
    """The two seeds of a shuffle; chosen at random when none was set."""
    first, second = get_seed(seed)
    if first == second == 0:
        return secrets.randbits(62) + 1, secrets.randbits(62)
    return first, second


def _int(value: object):
    return convert_to_tensor(value, int64)


class Dataset(Transformations, CompositeTensor):
    """A description of elements; iterating over it makes them."""

    def __init__(
        self, variant_tensor, element_spec: object, kind: str = "_VariantDataset", inputs=()
    ) -> None:
        self._handle_tensor = variant_tensor
        self._element_spec = element_spec
        self._kind = kind
        self._inputs_kept = tuple(inputs)
        self._options = Options()
        self._map: tuple | None = None  # of a map that a batch may take into itself
        for dataset in self._inputs_kept:
            self._options = self._options.merge(dataset._options)

    def _made(self, op: str, kind: str, spec: object, *operands, **attributes) -> Dataset:
        attributes = {**_structure.types_and_shapes(spec), **attributes}
        made = ops[op](self._handle_tensor, *operands, **attributes)
        return Dataset(made, spec, kind, [self])

    # ---- sources ---------------------------------------------------------------------------------

    @staticmethod
    def range(*args, output_type=int64, name=None) -> Dataset:
        """Numbers, as Python's range."""
        if not 1 <= len(args) <= 3:
            raise ValueError(
                f"Invalid `args`. The length of `args` should be between 1 and 3 but "
                f"was {len(args)}."
            )
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        spec = TensorSpec([], output_type)
        made = ops["RangeDataset"](
            _int(start), _int(stop), _int(step), **_structure.types_and_shapes(spec)
        )
        return Dataset(made, spec, "_RangeDataset")

    @staticmethod
    def from_tensors(tensors, name=None) -> Dataset:
        """One element."""
        element = _structure.normalize(tensors)
        spec = _structure.spec_of(element)
        flat = _structure.to_tensors(spec, element)
        made = ops["TensorDataset"](flat, output_shapes=[t.shape for t in flat])
        return Dataset(made, spec, "_TensorDataset")

    @staticmethod
    def from_tensor_slices(tensors, name=None) -> Dataset:
        """An element for each index of the first axis."""
        element = _structure.normalize(tensors)
        whole = _structure.spec_of(element)
        flat = _structure.to_slices(whole, element)
        if not flat:
            raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
        spec = _structure.unbatched(whole)
        sizes = {t.shape[0] for t in flat if t.shape.rank and t.shape[0] is not None}
        if len(sizes) > 1:
            raise ValueError(
                "Dimensions " + " and ".join(str(s) for s in sorted(sizes)) + " are not compatible"
            )
        shapes = [s.shape for s in _structure.flat_specs(spec)]
        made = ops["TensorSliceDataset"](flat, output_shapes=shapes)
        return Dataset(made, spec, "_TensorSliceDataset")

    @staticmethod
    def zip(*args, datasets=None, name=None) -> Dataset:
        """Elements of several datasets side by side, in the structure they are given in."""
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(structure, Dataset):
            structure = (structure,)
        leaves = _structure._leaves(structure)
        for leaf in leaves:
            if not isinstance(leaf, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`tf.data.Dataset` objects. Encountered object {leaf!r}."
                )
        spec = _structure._map(lambda d: d.element_spec, structure)
        made = ops["ZipDataset"](
            [d._handle_tensor for d in leaves], **_structure.types_and_shapes(spec)
        )
        return Dataset(made, spec, "_ZipDataset", leaves)

    # ---- what is made of this one ----------------------------------------------------------------

    def map(
        self,
        map_func,
        num_parallel_calls=None,
        deterministic=None,
        synchronous=None,
        use_unbounded_threadpool=False,
        name=None,
    ) -> Dataset:
        """A function of each element.

        With num_parallel_calls that many run side by side; the elements keep their order unless
        deterministic is False. A function that calls Python or has effects runs in order.
        """
        traced = _Traced(map_func, self._element_spec, "map")
        order = _structure.determinism(deterministic)
        made = self._mapped(traced, traced.spec, num_parallel_calls, order)
        plan = _vectorized.plan_of(traced, self._element_spec)
        if plan is not None:
            made._map = self, traced, num_parallel_calls, plan
        return made

    def _mapped(self, traced, spec: object, calls, order: str) -> Dataset:
        """The dataset of a function that is traced."""
        given, graph = traced.captured, traced.graph
        if calls is None:
            return self._made("MapDataset", "_MapDataset", spec, given, f=graph)
        return self._made(
            "ParallelMapDatasetV2",
            "_ParallelMapDataset",
            spec,
            given,
            _int(calls),
            f=graph,
            deterministic=order,
        )

    def flat_map(self, map_func, name=None) -> Dataset:
        """The elements of the dataset that a function gives for each element."""
        traced = _Traced(map_func, self._element_spec, "flat_map")
        if not isinstance(traced.spec, DatasetSpec):
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got {traced.spec!r}."
            )
        return self._made(
            "FlatMapDataset",
            "_FlatMapDataset",
            traced.spec.element_spec,
            traced.captured,
            f=traced.graph,
        )

    def filter(self, predicate, name=None) -> Dataset:
        """The elements for which the predicate is true."""
        traced = _Traced(predicate, self._element_spec, "filter")
        if not isinstance(traced.spec, TensorSpec) or traced.spec.dtype.name != "bool":
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
                f"return type is {traced.spec!r}."
            )
        return self._made(
            "FilterDataset",
            "_FilterDataset",
            self._element_spec,
            traced.captured,
            predicate=traced.graph,
        )

    def batch(
        self,
        batch_size,
        drop_remainder=False,
        num_parallel_calls=None,
        deterministic=None,
        name=None,
    ) -> Dataset:
        """Elements stacked along a new first axis.

        Behind maps whose functions give the same bits for many elements at once, each function
        runs once for a batch.
        """
        static = batch_size if drop_remainder and isinstance(batch_size, int) else None
        spec = _structure.batched(self._element_spec, static)
        if self._map is not None:
            return self._map_batch(batch_size, drop_remainder, static, spec)
        return self._made(
            "BatchDatasetV2",
            "_BatchDataset",
            spec,
            _int(batch_size),
            convert_to_tensor(drop_remainder),
        )

    def _map_batch(self, batch_size, drop_remainder, static: int | None, spec: object) -> Dataset:
        """The maps that end here and a batch, as one stage."""
        source, maps = self, []
        while source._map is not None and len(maps) < _MOST_MAPS:
            maps.insert(0, source._map)
            source = source._map[0]
        functions, wholes, counts, calls, given = [], [], [], [], []
        for before, traced, asked, plan in maps:
            batched = _structure.batched(before._element_spec, static)
            functions.append(traced.graph)
            wholes.append(_vectorized.Vectorized(traced, plan, batched).graph)
            counts.append(len(traced.captured))
            given += traced.captured
            calls.append(_int(0 if asked is None else asked))
        made = ops["MapBatchDataset"](
            source._handle_tensor,
            given,
            _int(batch_size),
            ops["Pack"](calls),
            convert_to_tensor(drop_remainder),
            functions=functions,
            batch_functions=wholes,
            captured=counts,
            **_structure.types_and_shapes(spec),
        )
        return Dataset(made, spec, "_BatchDataset", [self])

    def unbatch(self, name=None) -> Dataset:
        """An element for each index of the first axis of each element."""
        spec, whole = _structure.unbatched(self._element_spec), self
        if _structure.is_sliced_otherwise(self._element_spec):
            traced = _Traced(_the_same, self._element_spec, "slices", _structure.to_slices)
            whole = self._made(
                "MapDataset",
                "_MapDataset",
                traced.spec,
                traced.captured,
                f=traced.graph,
                output_shapes=[tensor.shape for tensor in traced.graph._outputs()],
            )
        return whole._made("UnbatchDataset", "_UnbatchDataset", spec)

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None) -> Dataset:
        """Elements at random out of a buffer that is kept full."""
        if reshuffle_each_iteration is None:
            reshuffle_each_iteration = True
        first, second = _seeds(seed)
        return self._made(
            "ShuffleDataset",
            "_ShuffleDataset",
            self._element_spec,
            _int(buffer_size),
            _int(first),
            _int(second),
            reshuffle_each_iteration=bool(reshuffle_each_iteration),
        )

    def repeat(self, count=None, name=None) -> Dataset:
        """The elements again and again: `count` times, or for ever."""
        count = -1 if count is None else count
        return self._made("RepeatDataset", "_RepeatDataset", self._element_spec, _int(count))

    def take(self, count, name=None) -> Dataset:
        """The first elements."""
        return self._made("TakeDataset", "_TakeDataset", self._element_spec, _int(count))

    def skip(self, count, name=None) -> Dataset:
        """All but the first elements."""
        return self._made("SkipDataset", "_SkipDataset", self._element_spec, _int(count))

    def prefetch(self, buffer_size, name=None) -> Dataset:
        """The elements, made ahead by a thread."""
        return self._made(
            "PrefetchDataset", "_PrefetchDataset", self._element_spec, _int(buffer_size)
        )

    def concatenate(self, dataset, name=None) -> Dataset:
        """The elements of this dataset, then those of the other."""
        spec = _structure.joined(self._element_spec, dataset.element_spec)
        made = self._made("ConcatenateDataset", "_ConcatenateDataset", spec, dataset._handle_tensor)
        made._inputs_kept = (self, dataset)
        return made

    def enumerate(self, start=0, name=None) -> Dataset:
        """Each element with its number."""
        return Dataset.zip((Dataset.range(start, 2**63 - 1), self))

    def shard(self, num_shards, index, name=None) -> Dataset:
        """Every num_shards-th element, from the index-th on."""
        return self._made(
            "ShardDataset", "_ShardDataset", self._element_spec, _int(num_shards), _int(index)
        )

    def apply(self, transformation_func) -> Dataset:
        """The dataset that a function makes of this one."""
        return transformation_func(self)

    def with_options(self, options: Options, name=None) -> Dataset:
        """The same elements under further options."""
        made = Dataset(self._handle_tensor, self._element_spec, "_OptionsDataset", [self])
        made._options = self._options.merge(options)
        return made

    def options(self) -> Options:
        """The options that hold for this dataset."""
        return self._options

    # ---- checking --------------------------------------------------------------------------------

    @property
    def element_spec(self) -> object:
        """The spec of an element."""
        return self._element_spec

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._element_spec)

    def _inputs(self) -> list:
        return list(self._inputs_kept)

    def cardinality(self, name=None):
        """How many elements there are; -1: without end, -2: unknown."""
        return ops["DatasetCardinality"](self._handle_tensor, name=name)

    def __len__(self) -> int:
        if not executing_eagerly():
            raise TypeError(
                "`tf.data.Dataset` only supports `len` in eager mode. Use "
                "`tf.data.Dataset.cardinality()` instead."
            )
        count = int(self.cardinality())
        if count == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return count

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator:
        return Iterator._of(self)

    def make_one_shot_iterator(self):
        """As tf.compat.v1.data.make_one_shot_iterator."""
        from ..compat.v1.data import make_one_shot_iterator

        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name=None):
        """As tf.compat.v1.data.make_initializable_iterator."""
        from ..compat.v1.data import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)

    def as_numpy_iterator(self) -> NumpyIterator:
        """An iterator whose elements hold numpy's arrays."""
        if not executing_eagerly():
            raise RuntimeError(
                "`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode."
            )
        return NumpyIterator(self)

    def get_single_element(self, name=None):
        """The element of a dataset that has one."""
        iterator = iter(self)
        try:
            element = next(iterator)
        except StopIteration:
            raise errors.InvalidArgumentError(None, None, "Dataset was empty.") from None
        if next(iterator, self) is not self:
            raise errors.InvalidArgumentError(None, None, "Dataset had more than one element.")
        return element

    def __repr__(self) -> str:
        return f"<{self._kind} element_spec={self._element_spec!r}>"


# Libraries tell datasets by the name of their class and its module.
Dataset.__name__ = Dataset.__qualname__ = "DatasetV2"
Dataset.__module__ = "tensorflow.python.data.ops.dataset_ops"
