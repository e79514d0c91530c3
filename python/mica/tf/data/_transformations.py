"""Datasets whose elements come from Python, from several datasets, or in groups."""

from __future__ import annotations

import os

import numpy as np

from ... import _mica
from .. import errors
from .._context import building
from .._core import Tensor, convert_to_tensor, ops
from .._dtypes import DType, as_dtype, int64
from .._graph import FuncGraph, operand
from .._shapes import TensorShape
from .._specs import TensorSpec, TypeSpec
from ..io import matching_files
from ..random import stateless_categorical
from . import _structure
from ._grouping import Groups


def _int(value: object):
    return convert_to_tensor(value, int64)


class Transformations(Groups):
    """The part of tf.data.Dataset that is not in every pipeline."""

    # ---- sources ---------------------------------------------------------------------------------

    @staticmethod
    def from_generator(
        generator,
        output_types=None,
        output_shapes=None,
        args=None,
        output_signature=None,
        name=None,
    ):
        """What a generator of Python yields; it is called anew for each iterator."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        spec = _signature(output_types, output_shapes, output_signature)
        return _generated(generator, tuple(args or ()), spec)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None):
        """The names of files that patterns of the shell match, in another order each time.

        With shuffle=False they are sorted.
        """
        from ._dataset import Dataset

        names = matching_files(file_pattern)
        if isinstance(names, _mica.TFEagerTensor) and names.shape[0] == 0:
            raise errors.InvalidArgumentError(
                None, None, f"No files matched pattern: {file_pattern}"
            )
        dataset = Dataset.from_tensor_slices(names)
        if shuffle is not None and not shuffle:
            return dataset
        count = ops["Maximum"](ops["Size"](names, out_type=int64), convert_to_tensor(1, int64))
        return dataset.shuffle(count, seed=seed, reshuffle_each_iteration=True)

    @staticmethod
    def random(seed=None, rerandomize_each_iteration=None, name=None):
        """Numbers below 2^32 at random, without end."""
        from ._dataset import Dataset, _seeds

        spec = TensorSpec([], int64)
        first, second = _seeds(seed)
        made = ops["RandomDataset"](
            _int(first),
            _int(second),
            rerandomize_each_iteration=bool(rerandomize_each_iteration),
            **_structure.types_and_shapes(spec),
        )
        return Dataset(made, spec, "_RandomDataset")

    @staticmethod
    def counter(start=0, step=1, dtype=int64, name=None):
        """start, start + step, ... without end."""
        from ._dataset import Dataset

        kind = as_dtype(dtype)
        first, by = convert_to_tensor(start, kind), convert_to_tensor(step, kind)
        for_ever = Dataset.from_tensors(0).repeat()
        return for_ever.scan(first, lambda count, _: (ops["AddV2"](count, by), count))

    @staticmethod
    def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
        """The next element of the dataset that another names."""
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        if choice_dataset.element_spec != TensorSpec([], int64):
            raise TypeError(
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar "
                f"`tf.int64` tensors but are {choice_dataset.element_spec}."
            )
        return _directed(choice_dataset, datasets, stop_on_empty_dataset)

    @staticmethod
    def sample_from_datasets(
        datasets,
        weights=None,
        seed=None,
        stop_on_empty_dataset=False,
        rerandomize_each_iteration=None,
    ):
        """Elements of datasets that are chosen at random; weights may be a dataset of them."""
        from ._dataset import Dataset

        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        seeds = Transformations.random(seed, rerandomize_each_iteration).batch(2)
        if isinstance(weights, Dataset):
            logits = weights.map(lambda *p: ops["Log"](_structure.normalize(_weights_row(p))))
            choices = Dataset.zip(logits, seeds).map(lambda row, pair: _drawn(row, pair))
            return _directed(choices, list(datasets), stop_on_empty_dataset)
        datasets, logits = _logits(list(datasets), weights)
        if len(datasets) == 1:
            return datasets[0]
        choices = seeds.map(lambda pair: _drawn(logits, pair))
        return _directed(choices, datasets, stop_on_empty_dataset)

    # ---- files -----------------------------------------------------------------------------------

    def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
        """Write all elements to a folder; the one that was there stays until that is done."""
        from ._saving import save

        save(self, path, compression, shard_func, checkpoint_args)

    @staticmethod
    def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
        """The dataset that was saved in a folder, by TensorFlow too."""
        from ._saving import load

        return load(path, element_spec, compression, reader_func, wait)

    # ---- groups ----------------------------------------------------------------------------------

    def padded_batch(
        self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None
    ):
        """Elements filled up to one shape and stacked."""
        specs = _structure._leaves(self._element_spec)
        given = [p for _, p in _paired(specs, padded_shapes, _is_shape)]
        shapes = [_padded_shape(s, p) for s, p in zip(specs, given, strict=True)]
        operands = [
            _sizes(p) if isinstance(p, Tensor) else _int([-1 if n is None else n for n in shape])
            for p, shape in zip(given, shapes, strict=True)
        ]
        values = [_padding(s, p) for s, p in _paired(specs, padding_values, _is_value)]
        static = batch_size if drop_remainder and isinstance(batch_size, int) else None
        made = [
            TensorSpec(TensorShape([static]).concatenate(shape), s.dtype)
            for s, shape in zip(specs, shapes, strict=True)
        ]
        rest = iter(made)
        spec = _structure._map(lambda _: next(rest), self._element_spec)
        handle = ops["PaddedBatchDatasetV2"](
            self._handle_tensor,
            _int(batch_size),
            operands,
            values,
            convert_to_tensor(drop_remainder),
            output_shapes=[s.shape for s in made],
        )
        return type(self)(handle, spec, "_PaddedBatchDataset", [self])

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
        """Datasets of elements that follow each other."""
        from ._dataset import DatasetSpec

        spec = _structure._map(DatasetSpec, self._element_spec)
        return self._made(
            "WindowDataset",
            "_WindowDataset",
            spec,
            _int(size),
            _int(size if shift is None else shift),
            _int(stride),
            convert_to_tensor(drop_remainder),
        )

    def rebatch(self, batch_size, drop_remainder=False, name=None):
        """Batches of another size; of several sizes in turns when batch_size is a vector."""
        sizes = convert_to_tensor(batch_size, int64)
        if sizes.shape.rank is not None and sizes.shape.rank > 1:
            raise ValueError(
                "Invalid `batch_sizes`. Expected `batch_sizes` to be a scalar or a vector. "
                f"Received `batch_sizes` of rank {sizes.shape.rank}."
            )
        static = _static_batch(self._element_spec, sizes, drop_remainder)
        return self._made(
            "RebatchDatasetV2",
            "_RebatchDataset",
            _structure.batched(_structure.unbatched(self._element_spec), static),
            sizes,
            convert_to_tensor(drop_remainder),
        )

    # ---- order and state -------------------------------------------------------------------------

    def interleave(
        self,
        map_func,
        cycle_length=None,
        block_length=None,
        num_parallel_calls=None,
        deterministic=None,
        name=None,
    ):
        """Elements of the datasets that a function gives, in turns.

        With num_parallel_calls that many datasets make elements side by side; the order is the
        same unless deterministic is False.
        """
        from ._dataset import DatasetSpec, _Traced

        traced = _Traced(map_func, self._element_spec, "interleave")
        if not isinstance(traced.spec, DatasetSpec):
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got {traced.spec!r}."
            )
        if cycle_length is None or (isinstance(cycle_length, int) and cycle_length < 0):
            cycle_length = os.cpu_count() or 1
        lengths = [_int(cycle_length), _int(1 if block_length is None else block_length)]
        spec = traced.spec.element_spec
        if num_parallel_calls is None:
            return self._made(
                "InterleaveDataset",
                "_InterleaveDataset",
                spec,
                traced.captured,
                *lengths,
                f=traced.graph,
            )
        return self._made(
            "ParallelInterleaveDatasetV4",
            "_ParallelInterleaveDataset",
            spec,
            traced.captured,
            *lengths,
            _int(-1),
            _int(-1),
            _int(num_parallel_calls),
            f=traced.graph,
            deterministic=_structure.determinism(deterministic),
        )

    def take_while(self, predicate, name=None):
        """The elements before the first for which the predicate is false."""
        from ._dataset import _Traced

        traced = _Traced(predicate, self._element_spec, "take_while")
        if not isinstance(traced.spec, TensorSpec) or traced.spec.dtype.name != "bool":
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
                f"return type is {traced.spec!r}."
            )
        return self._made(
            "TakeWhileDataset",
            "_TakeWhileDataset",
            self._element_spec,
            traced.captured,
            predicate=traced.graph,
        )

    def cache(self, filename="", name=None):
        """The elements, made once and kept in memory, or with a file name in files."""
        return self._made(
            "CacheDataset", "CacheDataset", self._element_spec, convert_to_tensor(filename)
        )

    def scan(self, initial_state, scan_func, name=None):
        """A function of a state and each element gives the next state and an element."""
        state = _structure.normalize(initial_state)
        spec, graph = _stateful(scan_func, state, self._element_spec, "scan")
        flat = _structure.to_tensors(_structure.spec_of(state), state)
        return self._made("ScanDataset", "_ScanDataset", spec[1], flat, _captured(graph), f=graph)

    def reduce(self, initial_state, reduce_func, name=None):
        """The last state, of a function that takes a state and an element to the next one."""
        state = _structure.normalize(initial_state)
        spec, graph = _stateful(reduce_func, state, self._element_spec, "reduce")
        flat = _structure.to_tensors(_structure.spec_of(state), state)
        given = ops["ReduceDataset"](
            self._handle_tensor,
            flat,
            _captured(graph),
            f=graph,
            **_structure.types_and_shapes(spec),
        )
        given = given if isinstance(given, (list, tuple)) else [given]
        return _structure.from_tensors(spec, list(given))

    def unique(self, name=None):
        """The elements, each once."""
        flat = _structure.flat_specs(self._element_spec)
        if len(flat) != 1 or flat[0].dtype.name not in ("int32", "int64", "string"):
            kinds = ", ".join(s.dtype.name for s in flat)
            raise TypeError(
                "`tf.data.Dataset.unique` takes elements of one component of `tf.int32`, "
                f"`tf.int64` or `tf.string`, not of {kinds}."
            )
        return self._made("UniqueDataset", "_UniqueDataset", self._element_spec)

    def ignore_errors(self, log_warning=False, name=None):
        """The elements without those whose making fails; the errors are not logged."""
        return self._made(
            "IgnoreErrorsDataset",
            "_IgnoreErrorsDataset",
            self._element_spec,
            log_warning=bool(log_warning),
        )


# ---- parts -------------------------------------------------------------------------------------


def _captured(graph) -> list:
    return [external for external, _ in graph._captures()]


def _stateful(function, state, element_spec, name: str, state_spec=None):
    """Trace a function of a state and an element until the state's shapes hold."""
    from ._dataset import _converted, _tuples

    if state_spec is None:
        state_spec = _structure.spec_of(state)
    for _ in range(len(_structure.flat_specs(state_spec)) * 8 + 2):
        graph = FuncGraph(name, _mica.tf_current_graph())
        with building(graph):
            parts = []
            for spec in (state_spec, element_spec):
                flat = _structure.flat_specs(spec)
                made = [graph._parameter(s.dtype, s.shape, "state") for s in flat]
                parts.append(_structure.from_tensors(spec, made))
            result = _structure.normalize(_tuples(_converted(function)(*parts)))
            new = result[0] if name == "scan" else result
            new_spec = _structure.spec_of(new)
            _check_state(state_spec, new_spec, name)
            joined = _structure.joined(state_spec, new_spec)
            if joined == state_spec:
                result_spec = _structure.spec_of(result)
                for tensor in _structure.to_tensors(result_spec, result):
                    graph._output(operand(tensor))
                return (result_spec if name == "scan" else state_spec), graph
            state_spec = joined
    raise ValueError(f"The shapes of the state of {name} keep changing, at last to {state_spec}.")


def _static_batch(spec, sizes, drop_remainder) -> int | None:
    """The size of every batch of a rebatch, when it is one and known."""
    if not isinstance(sizes, _mica.TFEagerTensor):
        return None
    known = np.unique(sizes.numpy())
    if len(known) != 1:
        return None
    firsts = [s.shape[0] for s in _structure.flat_specs(spec) if s.shape.rank]
    given = [n for n in firsts if n is not None]
    if isinstance(drop_remainder, bool) and drop_remainder:
        return int(known[0])
    return int(known[0]) if given and given[0] % known[0] == 0 else None


def _check_state(old, new, name: str) -> None:
    before, after = _structure._leaves(old), _structure._leaves(new)
    if len(before) != len(after):
        raise TypeError(f"The structure of the state changes in {name}: {old} and {new}.")
    for x, y in zip(before, after, strict=True):
        if isinstance(x, TensorSpec) and isinstance(y, TensorSpec) and x.dtype != y.dtype:
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected {x}; "
                f"got {y}."
            )


def _directed(choices, datasets, stop_on_empty: bool):
    from ._dataset import Dataset

    spec = datasets[0].element_spec
    for dataset in datasets[1:]:
        spec = _structure.joined(spec, dataset.element_spec)
    made = ops["DirectedInterleaveDataset"](
        choices._handle_tensor,
        [d._handle_tensor for d in datasets],
        stop_on_empty_dataset=bool(stop_on_empty),
        **_structure.types_and_shapes(spec),
    )
    return Dataset(made, spec, "_DirectedInterleaveDataset", [choices, *datasets])


def _logits(datasets, weights):
    """The datasets that can be chosen, and the logarithms of their weights."""
    if weights is None:
        return datasets, convert_to_tensor([[1.0] * len(datasets)])
    if len(weights) != len(datasets):
        raise ValueError(
            "Invalid `weights`. `weights` should have the same length as `datasets` but got "
            f"{len(weights)} and {len(datasets)}."
        )
    if not isinstance(weights, Tensor):
        pairs = [(d, w) for d, w in zip(datasets, weights, strict=True) if w > 0]
        if not pairs:
            pairs = [(datasets[0].take(0), 1.0)]
        datasets, weights = [d for d, _ in pairs], [w for _, w in pairs]
    weights = convert_to_tensor(weights)
    if weights.dtype.name not in ("float32", "float64"):
        raise TypeError(
            "Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` but is "
            f"{weights.dtype}."
        )
    return datasets, ops["ExpandDims"](ops["Log"](weights), 0)


def _weights_row(parts: tuple):
    """The weights that a dataset of them gives, as one row of a matrix."""
    return ops["Reshape"](convert_to_tensor(parts), convert_to_tensor([1, -1]))


def _drawn(logits, seed):
    return ops["Reshape"](stateless_categorical(logits, 1, seed), convert_to_tensor([], "int32"))


# ---- padding -----------------------------------------------------------------------------------


def _is_shape(value) -> bool:
    if value is None or isinstance(value, (TensorShape, Tensor, np.ndarray)):
        return True
    return isinstance(value, (list, tuple)) and all(n is None or isinstance(n, int) for n in value)


def _is_value(value) -> bool:
    return not isinstance(value, (list, tuple, dict))


def _paired(specs: list, given, is_leaf) -> list:
    """Each spec with what was given for it: for all of them, or in their structure."""

    def leaves(value) -> list:
        if is_leaf(value):
            return [value]
        if isinstance(value, dict):
            return [leaf for key in sorted(value) for leaf in leaves(value[key])]
        return [leaf for part in value for leaf in leaves(part)]

    if given is None or (is_leaf(given) and not isinstance(given, tuple) and is_leaf is _is_value):
        flat = [given] * len(specs)
    else:
        flat = leaves(given)
    if len(flat) != len(specs):
        raise ValueError(f"{given!r} does not have the structure of elements of {specs!r}.")
    return list(zip(specs, flat, strict=True))


def _padded_shape(spec, given) -> TensorShape:
    if given is None:
        if spec.shape.rank is None:
            raise ValueError(
                f"You must provide `padded_shapes` argument because component with spec {spec} "
                f"has unknown rank."
            )
        return spec.shape
    if isinstance(given, Tensor) and not isinstance(given, _mica.TFEagerTensor):
        return TensorShape([None] * given.shape[0] if given.shape.rank == 1 else None)
    if isinstance(given, (Tensor, np.ndarray)):
        given = np.asarray(given).tolist()
    return TensorShape([None if n is None or n == -1 else n for n in given])


def _sizes(shape: Tensor):
    """A shape that is a tensor, as int64."""
    return shape if shape.dtype == int64 else ops["Cast"](shape, DstT=int64)


def _padding(spec, given):
    if given is None:
        zero = "" if spec.dtype.name == "string" else False if spec.dtype.name == "bool" else 0
        return convert_to_tensor(zero, spec.dtype)
    if isinstance(given, Tensor) and given.dtype != spec.dtype:
        raise TypeError(f"Mismatched padding: {given.dtype!r} for a component of {spec.dtype!r}.")
    return convert_to_tensor(given, spec.dtype)


# ---- generators --------------------------------------------------------------------------------


def _signature(output_types, output_shapes, signature):
    """The spec of what a generator yields."""
    if signature is not None:
        if output_types is not None or output_shapes is not None:
            raise TypeError(
                "The `output_types` and `output_shapes` arguments can not be used together with "
                "the `output_signature` argument."
            )
        for leaf in _structure._leaves(_lists_as_tuples(signature)):
            if not isinstance(leaf, TypeSpec):
                raise TypeError(
                    "`output_signature` must contain objects that are subclass of `tf.TypeSpec` "
                    f"but found {type(leaf)} which is not."
                )
        return _lists_as_tuples(signature)
    if output_types is None:
        raise TypeError("Either `output_signature` or `output_types` must be specified.")
    types = _lists_as_tuples(output_types)
    if output_shapes is None:
        return _structure._map(lambda t: TensorSpec(None, as_dtype(t)), types)
    rest = iter(_shapes_like(types, output_shapes))
    return _structure._map(lambda t: TensorSpec(next(rest), as_dtype(t)), types)


def _lists_as_tuples(value):
    if isinstance(value, list):
        return tuple(_lists_as_tuples(v) for v in value)
    return value


def _shapes_like(types, shapes) -> list:
    """The shapes that belong to the leaves of a structure of dtypes."""
    if isinstance(types, dict):
        return [s for key in sorted(types) for s in _shapes_like(types[key], shapes[key])]
    if isinstance(types, tuple):
        pairs = zip(types, shapes, strict=True)
        return [s for t, part in pairs for s in _shapes_like(t, part)]
    return [TensorShape(shapes)]


def _mismatch(text: str) -> errors.InvalidArgumentError:
    """The error for what a generator yields: a TypeError of it, as the op reports one."""
    return errors.InvalidArgumentError(None, None, f"TypeError: {text}")


class _Generators:
    """The generators that are under way, by number; called by a pipeline."""

    def __init__(self, generator, spec) -> None:
        self._generator, self._spec = generator, spec
        self._flat = _structure.flat_specs(spec)
        self._running: dict[int, object] = {}
        self._last = 0

    def begin(self, *args):
        self._last += 1
        self._running[self._last] = iter(self._generator(*[a.numpy() for a in args]))
        return [convert_to_tensor(self._last, int64)]

    def next(self, number) -> list:
        value = next(self._running[int(number)])  # StopIteration is the end
        return self._tensors(value)

    def end(self, number) -> list:
        self._running.pop(int(number), None)
        return [convert_to_tensor(0, int64)]

    def _tensors(self, value) -> list:
        if isinstance(self._spec, TensorSpec):
            return [self._tensor(self._spec, value)]
        try:
            leaves = _leaves_like(self._spec, value)
        except (KeyError, TypeError, ValueError) as error:
            raise _mismatch(
                f"`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {self._spec!r}, but the yielded element was {value!r}."
            ) from error
        specs = _structure._leaves(self._spec)
        found: list = []
        for spec, leaf in zip(specs, leaves, strict=True):
            if isinstance(spec, TensorSpec):
                found.append(self._tensor(spec, leaf))
            else:
                found.extend(_structure.to_tensors(spec, leaf))
        return found

    @staticmethod
    def _tensor(spec: TensorSpec, value):
        try:
            made = (
                value
                if isinstance(value, Tensor) and value.dtype == spec.dtype
                else convert_to_tensor(_as_array(value, spec.dtype), spec.dtype)
            )
        except (TypeError, ValueError) as error:
            raise _mismatch(
                f"`generator` yielded an element that could not be converted to the expected type. "
                f"The expected type was {spec.dtype.name}, but the yielded element was {value!r}."
            ) from error
        if not spec.shape.is_compatible_with(made.shape):
            raise _mismatch(
                f"`generator` yielded an element of shape {made.shape} where an element of shape "
                f"{spec.shape} was expected."
            )
        return made


def _as_array(value, dtype: DType):
    if dtype.name == "string":
        return value
    if isinstance(value, Tensor):
        value = value.numpy()
    return np.asarray(value, dtype.as_numpy_dtype)


def _leaves_like(spec, value) -> list:
    """What stands where a structure of specs has its leaves; there a list is data."""
    if isinstance(spec, dict):
        if set(spec) != set(value):
            raise ValueError(f"the keys are {sorted(value)}, but must be {sorted(spec)}")
        return [leaf for key in sorted(spec) for leaf in _leaves_like(spec[key], value[key])]
    if isinstance(spec, tuple):
        pairs = zip(spec, value, strict=True)
        return [leaf for s, v in pairs for leaf in _leaves_like(s, v)]
    return [value]


def _generated(generator, args: tuple, spec):
    from ._dataset import Dataset

    running = _Generators(generator, spec)
    flat = _structure.flat_specs(spec)
    given = [convert_to_tensor(a) for a in args]
    numbers = {
        name: _mica.TFFunction(getattr(running, name)) for name in ("begin", "next", "end")
    }

    def traced(name: str, inputs: list, kinds: list):
        graph = FuncGraph(f"generator_{name}", _mica.tf_current_graph())
        with building(graph):
            parameters = [graph._parameter(dtype, shape, "state") for dtype, shape in inputs]
            operands = parameters if name != "begin" else given
            results = ops["PyFunc"](operands, token=numbers[name], Tout=[k.dtype for k in kinds])
            results = results if isinstance(results, (list, tuple)) else [results]
            for result, kind in zip(results, kinds, strict=True):
                result.set_shape(kind.shape)
                graph._output(operand(result))
        return graph

    number = TensorSpec([], int64)
    begin = traced("begin", [], [number])
    following = traced("next", [(int64, TensorShape([]))], flat)
    end = traced("end", [(int64, TensorShape([]))], [number])
    made = ops["GeneratorDataset"](
        _captured(begin),
        _captured(following),
        _captured(end),
        init_func=begin,
        next_func=following,
        finalize_func=end,
        **_structure.types_and_shapes(spec),
    )
    return Dataset(made, spec, "_FlatMapDataset")
