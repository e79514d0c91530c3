"""map_fn, scan, foldl and foldr: loops over the first axis of tensors."""

from __future__ import annotations

from . import _dtypes
from . import _nest as nest
from ._context import building, current_graph
from ._control import while_loop
from ._core import convert_to_tensor, ops
from ._graph import FuncGraph
from ._shapes import TensorShape
from ._specs import TensorSpec, TypeSpec
from ._tensor_array import TensorArray
from .ragged import RaggedTensor, stack


def _int(value):
    return convert_to_tensor(value, _dtypes.int32)


def _count(flat: list):
    """How many elements there are along the first axis."""
    for tensor in flat:
        if tensor.shape.rank == 0:
            raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
    known = [t.shape[0] for t in flat if t.shape.rank is not None and t.shape[0] is not None]
    if known:
        if len(set(known)) > 1:
            raise ValueError(
                f"elements in elems must have the same length along the first axis, got {known}"
            )
        return known[0]
    if isinstance(flat[0], _Rows):
        return flat[0].value.nrows(_dtypes.int32)
    return ops["StridedSlice"](
        ops["Shape"](flat[0]), _int([0]), _int([1]), _int([1]), shrink_axis_mask=1
    )


class _Rows:
    """A ragged tensor, of which a loop reads rows as single variants."""

    dtype = _dtypes.variant

    def __init__(self, value, spec: TypeSpec) -> None:
        self.value, self._row_spec = value, spec._unbatch()
        self.shape = TensorShape([spec.shape[0] if spec.shape.rank is not None else None])

    def read(self, i):
        """Row number i."""
        return self._row_spec._to_tensor_list(self.value[i])[0]


class _Slices:
    """What an element of `map_fn` is made of: some leaves have tensors of their own for slices."""

    def __init__(self, structure: object, leaves: list) -> None:
        self._structure, self._leaves = structure, leaves

    def made(self, flat: list) -> object:
        """The element that consists of these tensors."""
        rest, parts = iter(flat), []
        for leaf in self._leaves:
            spec = _sliced_spec(leaf)
            if spec is None:
                count = len(nest.flatten(leaf, expand_composites=True))
                own = [next(rest) for _ in range(count)]
                parts.append(nest.pack_sequence_as(leaf, own, expand_composites=True))
            else:
                spec = spec._unbatch()
                own = [next(rest) for _ in spec._flat_tensor_specs]
                parts.append(spec._from_tensor_list(own))
        return nest.pack_sequence_as(self._structure, parts)

    def signature_of(self, result: object):
        """The elements' own specs, when the result may be such an element: rows of any length."""
        found, parts = nest.flatten(result), []
        for leaf in self._leaves:
            spec = _sliced_spec(leaf)
            if spec is None or not _is_one_variant(spec):
                return None
            parts.append(type(spec)(None, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype))
        fits = len(found) == len(parts) and all(
            part.is_compatible_with(each) and each.shape.rank == leaf.shape.rank - 1
            for part, each, leaf in zip(parts, found, self._leaves, strict=True)
        )
        return nest.pack_sequence_as(self._structure, parts) if fits else None


def _sliced_spec(value: object):
    """The spec of a value whose slices have tensors of their own, or None."""
    spec = value if isinstance(value, TypeSpec) else getattr(value, "_type_spec", None)
    return spec if hasattr(spec, "_flat_tensor_specs") else None


def _sliceable(elems: object) -> tuple[list, object]:
    """The tensors whose slices elements are made of, and what makes an element of those."""
    leaves = nest.flatten(elems)
    if all(_sliced_spec(leaf) is None for leaf in leaves):
        return _tensors(elems, "elems")
    flat = []
    for leaf in leaves:
        spec = _sliced_spec(leaf)
        if spec is None:
            flat += _tensors(leaf, "elems")[0]
        elif _is_one_variant(spec):
            flat.append(_Rows(leaf, spec))
        else:
            flat += spec._to_batched_tensor_list(leaf)
    return flat, _Slices(elems, leaves)


def _is_one_variant(spec: TypeSpec) -> bool:
    parts = spec._flat_tensor_specs
    return len(parts) == 1 and parts[0].dtype == _dtypes.variant and hasattr(spec, "ragged_rank")


def _kinds(example: object) -> list:
    """For each leaf of what a function gives: the spec of one with tensors of its own, or None."""
    return [_sliced_spec(leaf) for leaf in nest.flatten(example)]


def _written(kinds: list, result: object) -> list:
    """The tensors that are stacked in place of a result."""
    found = []
    for kind, leaf in zip(kinds, nest.flatten(result), strict=True):
        if kind is not None and not kind.is_compatible_with(leaf):
            raise ValueError(
                f"Error in map_fn:\n  Expected `fn` to return a:\n    {kind}\n  But it returned "
                f"a:\n    {leaf}\n  To fix, update the `fn_output_signature` (or `dtype`) argument "
                "to `map_fn`."
            )
        found += [leaf] if kind is None else kind._to_tensor_list(leaf)
    return found


def _gathered(example: object, kinds: list, stacked: list, count) -> object:
    """The result that consists of these stacks."""
    rest, parts = iter(stacked), []
    for kind in kinds:
        if kind is None:
            parts.append(next(rest))
            continue
        own = [next(rest) for _ in kind._flat_tensor_specs]
        whole = kind._batch(count if isinstance(count, int) else None)
        parts.append(whole._from_tensor_list(own))
    return nest.pack_sequence_as(example, parts)


def _packed(structure: object, flat: list) -> object:
    if isinstance(structure, _Slices):
        return structure.made(flat)
    return nest.pack_sequence_as(structure, flat, expand_composites=True)


def _pick(flat: list, i) -> list:
    return [
        tensor.read(i)
        if isinstance(tensor, _Rows)
        else ops["ReadElement"](tensor, _int(i), inside=True)
        for tensor in flat
    ]


def _tensors(structure: object, what: str) -> tuple[list, object]:
    flat = nest.flatten(structure, expand_composites=True)
    if not flat:
        raise ValueError(
            f"{what} must be a Tensor or a nested structure of Tensors, got an empty structure"
        )
    # Elements are gathered from a copy: the gradient of the tensor itself is dense.
    flat = [ops["Identity"](convert_to_tensor(part)) for part in flat]
    return flat, nest.pack_sequence_as(structure, flat, expand_composites=True)


def _outputs_of(function, flat: list, structure: object, extra: list) -> list[TensorSpec]:
    """What one call gives, as far as it is known while tracing."""
    graph = FuncGraph("scratch", current_graph())
    with building(graph):
        parts = [graph._parameter(t.dtype, t.shape[1:], "element") for t in flat]
        result = function(*extra, _packed(structure, parts))
        written = _written(_kinds(result), result)
        found = [convert_to_tensor(part) for part in written]
        return result, [TensorSpec(part.shape, part.dtype) for part in found]


def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
    fn_output_signature=None,
):
    """Apply a function to every element along the first axis; stack what it gives."""
    if not callable(fn):
        raise TypeError(f"The provided function {fn!r} is not callable.")
    flat, elems = _sliceable(elems)
    signature = dtype if fn_output_signature is None else fn_output_signature
    count = _count(flat)
    if current_graph() is None:
        return _map_now(fn, flat, elems, count, signature)
    example, specs = _outputs_of(fn, flat, elems, [])
    if signature is not None:
        nest.assert_same_structure(signature, example)
        example = signature
    kinds = _kinds(example)
    if any(kind is not None and _is_one_variant(kind) for kind in kinds):
        raise NotImplementedError(
            "tf.map_fn inside a function cannot stack ragged results: give their flat values, or "
            "call it eagerly"
        )
    arrays = [
        TensorArray(spec.dtype, size=count, element_shape=spec.shape if infer_shape else None)
        for spec in specs
    ]

    def body(i, *written):
        result = fn(_packed(elems, _pick(flat, i)))
        values = _written(kinds, result)
        return (i + 1, *[a.write(i, v) for a, v in zip(written, values, strict=True)])

    done = while_loop(lambda i, *written: i < count, body, (_int(0), *arrays))
    stacked = [
        _known(array.stack(), count, spec) for array, spec in zip(done[1:], specs, strict=True)
    ]
    if not back_prop:
        stacked = [ops["StopGradient"](tensor) for tensor in stacked]
    return _gathered(example, kinds, stacked, count)


def _known(tensor, count, spec: TensorSpec):
    """Say what is known of a stack's shape."""
    tensor.set_shape(TensorShape([count if isinstance(count, int) else None]) + spec.shape)
    return tensor


def _map_now(fn, flat: list, elems, count: int, signature):
    if count == 0:
        return _nothing(fn, flat, elems, signature)
    results = [fn(_packed(elems, _pick(flat, i))) for i in range(count)]
    if signature is None and isinstance(elems, _Slices):
        signature = elems.signature_of(results[0])
    first = results[0] if signature is None else signature
    if signature is not None:
        nest.assert_same_structure(signature, results[0], check_types=False)
    kinds = _kinds(first)
    columns = zip(*[_written(kinds, result) for result in results], strict=True)
    stacked = []
    wanted = _dtypes_wanted(first, kinds, signature)
    for kind, dtype, column in zip(_of_columns(kinds), wanted, columns, strict=True):
        parts = [convert_to_tensor(part, dtype) for part in column]
        is_ragged = kind is not None and _is_one_variant(kind)
        stacked.append(_stacked_rows(kind, parts) if is_ragged else ops["Pack"](parts))
    return _gathered(first, kinds, stacked, count)


def _of_columns(kinds: list) -> list:
    """The kind of the leaf that each stacked tensor is of."""
    return [k for kind in kinds for k in [kind] * (1 if kind is None else _width(kind))]


def _width(kind: TypeSpec) -> int:
    return len(kind._flat_tensor_specs)


def _stacked_rows(kind: TypeSpec, parts: list):
    """Ragged results, each as a variant, as a vector of variants."""
    rows = stack([kind._from_tensor_list([part]) for part in parts])
    if not isinstance(rows, RaggedTensor):
        rows = RaggedTensor.from_tensor(rows)
    return rows.with_row_splits_dtype(kind.row_splits_dtype)._to_variant(batched_input=True)


def _dtypes_wanted(first: object, kinds: list, signature) -> list:
    """The dtype of each stack, None where the results say it."""
    found: list = []
    for kind, leaf in zip(kinds, nest.flatten(first), strict=True):
        if kind is not None:
            found += [spec.dtype for spec in kind._flat_tensor_specs]
        else:
            is_said = signature is not None
            found.append(_dtypes.as_dtype(getattr(leaf, "dtype", leaf)) if is_said else None)
    return found


def _nothing(fn, flat: list, elems, signature):
    """Results of no calls: tensors without elements, of the right dtypes."""
    example, specs = _outputs_of(fn, flat, elems, [])
    empty = []
    for spec in specs:
        sizes = [0, *[size or 0 for size in (spec.shape if spec.shape.rank else [])]]
        zero = ops["Cast"](_int(0), DstT=spec.dtype)
        empty.append(ops["Fill"](_int(sizes), zero))
    return nest.pack_sequence_as(example if signature is None else signature, empty)


def _fold(fn, elems, initializer, back: bool, back_prop: bool):
    if not callable(fn):
        raise TypeError(f"{fn.__name__ if hasattr(fn, '__name__') else fn!r} is not callable.")
    flat, elems = _tensors(elems, "elems")
    count = _count(flat)
    first, last = (0, count)
    if initializer is None:
        start = _int(count) - 1 if back else 0
        state = _packed(elems, _pick(flat, start))
        first, last = (0, count - 1) if back else (1, count)
    else:
        state = nest.map_structure(convert_to_tensor, initializer)
    held = nest.flatten(state)

    def body(i, *parts):
        at = last - 1 - i + first if back else i
        result = fn(
            nest.pack_sequence_as(state, list(parts)),
            _packed(elems, _pick(flat, at)),
        )
        return (i + 1, *[convert_to_tensor(part) for part in nest.flatten(result)])

    done = while_loop(lambda i, *parts: i < last, body, (_int(first), *held), back_prop=back_prop)
    return nest.pack_sequence_as(state, list(done[1:]))


def foldl(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """Combine the elements along the first axis from the first on."""
    return _fold(fn, elems, initializer, False, back_prop)


def foldr(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """Combine the elements along the first axis from the last on."""
    return _fold(fn, elems, initializer, True, back_prop)


def scan(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    reverse=False,
    name=None,
):
    """As `foldl`, with all the states on the way."""
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable.")
    flat, elems = _tensors(elems, "elems")
    count = _count(flat)
    if initializer is None:
        start = _int(count) - 1 if reverse else 0
        state = _packed(elems, _pick(flat, start))
        done_already = 1
    else:
        state = nest.map_structure(convert_to_tensor, initializer)
        done_already = 0
    held = nest.flatten(state)
    arrays = [
        TensorArray(
            part.dtype,
            size=count,
            element_shape=part.shape if infer_shape else None,
            clear_after_read=False,
        )
        for part in held
    ]
    if done_already:
        at = _int(count) - 1 if reverse else 0
        arrays = [array.write(at, part) for array, part in zip(arrays, held, strict=True)]

    def body(i, parts, written):
        at = _int(count) - 1 - i if reverse else i
        result = fn(
            nest.pack_sequence_as(state, list(parts)),
            _packed(elems, _pick(flat, at)),
        )
        new = [convert_to_tensor(part) for part in nest.flatten(result)]
        pairs = zip(written, new, strict=True)
        return i + 1, tuple(new), tuple(array.write(at, part) for array, part in pairs)

    done = while_loop(
        lambda i, parts, written: i < count,
        body,
        (_int(done_already), tuple(held), tuple(arrays)),
    )
    specs = [TensorSpec(part.shape, part.dtype) for part in held]
    stacked = [array.stack() for array in done[2]]
    if current_graph() is not None and infer_shape:
        stacked = [_known(s, count, spec) for s, spec in zip(stacked, specs, strict=True)]
    if current_graph() is not None and not back_prop:
        stacked = [ops["StopGradient"](tensor) for tensor in stacked]
    return nest.pack_sequence_as(state, stacked)
