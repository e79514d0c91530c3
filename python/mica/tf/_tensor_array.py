"""tf.TensorArray: a list of tensors of one dtype, written once each and read in any order.

Eagerly it is a list of Python, changed in place. In a graph every write gives another array: a list
of tensors as long as all indices are numbers, then one tensor whose first axis counts the elements.
As that it passes through branches and loops, and its derivative is that of the ops it is made of.
The shape of the elements may become known with the first write only: all arrays that come from one
share what is known of it.
"""

from __future__ import annotations

from .. import _mica
from . import _dtypes, _spec_registry, errors
from . import _nest as nest
from ._control import cond
from ._core import Tensor, convert_to_tensor, ops
from ._shapes import TensorShape, as_shape, unknown_shape
from ._specs import TensorSpec, TypeSpec
from ._static import static_value

# Arrays longer than this are one tensor from the start.
_MOST_PARTS = 1024


class _Shared:
    """What the arrays that come from one another have in common."""

    __slots__ = ("element_shape", "name")

    def __init__(self, element_shape: TensorShape, name: str | None) -> None:
        self.element_shape = element_shape
        self.name = name or "TensorArray"


@_spec_registry.register("tf.TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """What is known of a TensorArray."""

    def __init__(
        self, element_shape=None, dtype=_dtypes.float32, dynamic_size=False, infer_shape=True
    ) -> None:
        self._element_shape = as_shape(element_shape)
        self._dtype = _dtypes.as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape
        self._shared: _Shared | None = None

    @classmethod
    def from_value(cls, value: TensorArray) -> TensorArraySpec:
        """The spec of an array."""
        spec = cls(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)
        spec._shared = value._shared
        return spec

    @property
    def value_type(self) -> type:
        """The class TensorArray."""
        return TensorArray

    def _serialize(self) -> tuple:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    @property
    def _component_specs(self) -> list:
        return [TensorSpec(TensorShape([None]).concatenate(self._element_shape), self._dtype)]

    def _to_components(self, value: TensorArray) -> list:
        return [value._as_tensor()]

    def _from_components(self, components: list) -> TensorArray:
        shared = self._shared or _Shared(self._element_shape, None)
        return TensorArray._of(
            components[0], self._dtype, self._dynamic_size, self._infer_shape, shared
        )

    def most_specific_common_supertype(self, others):
        """The most specific spec that covers this one and the others, or None."""
        shape = self._element_shape
        for other in others:
            if type(other) is not TensorArraySpec or other._dtype != self._dtype:
                return None
            shape = shape.most_specific_compatible_shape(other._element_shape)
        found = TensorArraySpec(shape, self._dtype, self._dynamic_size, self._infer_shape)
        found._shared = self._shared
        return found


class TensorArray:
    """A list of tensors of one dtype.

    Parameters
    ----------
    dtype
        Of the elements.
    size
        How many there are; writes beyond it are errors unless `dynamic_size` is set.
    dynamic_size
        Whether writes beyond the end make the array longer.
    clear_after_read
        Whether an element can be read only once; True by default, eagerly.
    infer_shape
        Whether all elements have one shape.
    element_shape
        What is known of that shape.
    """

    def __init__(
        self,
        dtype,
        size=None,
        dynamic_size=None,
        clear_after_read=None,
        tensor_array_name=None,
        handle=None,
        flow=None,
        infer_shape=True,
        element_shape=None,
        colocate_with_first_write_call=True,
        name=None,
    ) -> None:
        if handle is not None:
            raise ValueError("Cannot provide a `handle`: a TensorArray is made by its flow")
        self._dtype = _dtypes.as_dtype(dtype).base_dtype
        self._dynamic = bool(dynamic_size)
        self._infer_shape = infer_shape
        self._clear = True if clear_after_read is None else bool(clear_after_read)
        self._shared = _Shared(as_shape(element_shape), name or tensor_array_name)
        self._list: list | None = None
        self._parts: tuple | None = None
        self._buffer = None
        self._length: object = _static(0 if size is None else size)
        if isinstance(flow, Tensor) and flow.shape.rank != 0:
            self._buffer = flow
        elif _mica.tf_current_graph() is None:
            count = int(self._length)
            self._list = [None] * count
            self._cleared: set[int] = set()
        elif isinstance(self._length, int) and self._length <= _MOST_PARTS:
            self._parts = (None,) * self._length

    @classmethod
    def _of(cls, buffer, dtype, dynamic: bool, infer_shape: bool, shared: _Shared) -> TensorArray:
        self = object.__new__(cls)
        self._dtype, self._dynamic, self._infer_shape = dtype, dynamic, infer_shape
        self._clear, self._shared, self._list, self._parts = False, shared, None, None
        self._buffer, self._length = buffer, None
        return self

    # What it is

    @property
    def dtype(self) -> _dtypes.DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether it grows."""
        return self._dynamic

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        return self._shared.element_shape

    @property
    def flow(self):
        """The tensor that holds the elements."""
        return self._as_tensor()

    @property
    def handle(self) -> None:
        """There is no handle: the array is a value."""
        return None

    @property
    def _type_spec(self) -> TensorArraySpec:
        return TensorArraySpec.from_value(self)

    def size(self, name=None):
        """How many elements there are."""
        if self._list is not None:
            return convert_to_tensor(len(self._list), _dtypes.int32)
        if self._parts is not None:
            return convert_to_tensor(len(self._parts), _dtypes.int32)
        if self._buffer is None:
            return convert_to_tensor(self._length, _dtypes.int32)
        known = self._buffer.shape[0] if self._buffer.shape.rank else None
        if known is not None:
            return convert_to_tensor(known, _dtypes.int32)
        return _first(ops["Shape"](self._buffer))

    def _as_tensor(self):
        """All elements in one tensor, what was not written as zeros."""
        if self._list is not None:
            return self.stack()
        if (
            self._buffer is None
            and self._parts is not None
            and any(part is not None for part in self._parts)
        ):
            self._buffer = ops["Pack"]([self._part(i) for i in range(len(self._parts))])
            if self._dynamic:
                tail = self._buffer.shape[1:] if self._buffer.shape.rank else unknown_shape()
                self._buffer._loop_shape = unknown_shape(1).concatenate(tail)
        if self._buffer is None:
            return self._zeros(self._shared.element_shape)
        return self._buffer

    def _part(self, i: int):
        """An element of the list, zeros where nothing was written."""
        if self._parts[i] is not None:
            return self._parts[i]
        shape = self._shared.element_shape
        if shape.is_fully_defined():
            return ops["Fill"](_ints(*shape) if shape.rank else _no_ints(), _zero(self._dtype))
        like = next((part for part in self._parts if part is not None), None)
        if like is None:
            raise ValueError(
                f"TensorArray {self._shared.name} is read before anything was written to it"
            )
        return ops["ZerosLike"](like)

    def _zeros(self, element_shape: TensorShape):
        """Elements that nothing was written to; unknown sizes are zero until a write knows them."""
        length = convert_to_tensor(self._length, _dtypes.int32)
        if element_shape.rank is None:  # blank: numbers, until a write knows the rank
            zeros = ops["Fill"](ops["Reshape"](length, _ints(1)), _zero(self._dtype))
            zeros._loop_shape = unknown_shape()
            return zeros
        sizes = [0 if size is None else size for size in element_shape]
        dims = ops["Pack"]([length, *[convert_to_tensor(n, _dtypes.int32) for n in sizes]])
        zeros = ops["Fill"](dims, _zero(self._dtype))
        count = None if self._dynamic or not isinstance(self._length, int) else self._length
        zeros._loop_shape = TensorShape([count]).concatenate(element_shape)
        return zeros

    # Writing

    def write(self, index, value, name=None) -> TensorArray:
        """The array with an element written; eagerly this very array."""
        value = convert_to_tensor(value, self._dtype)
        self._learn(value.shape)
        if self._list is not None:
            return self._write_now(int(index), value)
        number = _static(index)
        if self._parts is not None and self._buffer is None and isinstance(number, int):
            return self._write_part(number, value)
        index = convert_to_tensor(index, _dtypes.int32)
        buffer = self._fitting(value)
        if self._dynamic:
            buffer = _grown(buffer, index)
        return self._with(ops["WriteElement"](buffer, index, value))

    def _write_now(self, index: int, value) -> TensorArray:
        count = len(self._list)
        if index < 0:
            raise errors.OutOfRangeError(
                None, None, f"Writing to negative indices (index {index}) is not allowed."
            )
        if index >= count:
            if not self._dynamic:
                raise errors.OutOfRangeError(
                    None,
                    None,
                    f"Tried to write to index {index} but array is not resizeable and size is: "
                    f"{count} ",
                )
            self._list += [None] * (index + 1 - count)
        self._list[index] = value
        self._cleared.discard(index)
        return self

    def _write_part(self, index: int, value) -> TensorArray:
        parts = list(self._parts)
        if index < 0 or (index >= len(parts) and not self._dynamic):
            raise errors.OutOfRangeError(
                None,
                None,
                f"Tried to write to index {index} but array is not resizeable and size is: "
                f"{len(parts)} ",
            )
        parts += [None] * (index + 1 - len(parts))
        parts[index] = value
        new = self._with(None)
        new._parts, new._length = tuple(parts), len(parts)
        return new

    def _learn(self, shape: TensorShape) -> None:
        known = self._shared.element_shape
        if not known.is_compatible_with(shape):
            raise ValueError(
                f"Incompatible shape for value ({shape}), expected ({known})"
                if self._list is not None
                else f"Inconsistent shapes: saw {shape} but expected {known}"
            )
        if self._infer_shape:
            self._shared.element_shape = known.merge_with(shape)

    def _with(self, buffer) -> TensorArray:
        new = TensorArray._of(buffer, self._dtype, self._dynamic, self._infer_shape, self._shared)
        return new

    def _fitting(self, value):
        """The elements so far, with room for one of the value's shape."""
        if self._buffer is None and self._parts and any(p is not None for p in self._parts):
            return self._as_tensor()
        if self._buffer is None:
            if value.shape.is_fully_defined():
                return self._zeros(value.shape)
            length = ops["Reshape"](convert_to_tensor(self._length, _dtypes.int32), _ints(1))
            dims = ops["ConcatV2"]([length, ops["Shape"](value)], _int(0))
            return ops["Fill"](dims, _zero(self._dtype))
        known = self._buffer.shape
        if known.rank is not None and known[1:].is_fully_defined():
            return self._buffer
        # Sizes that were unknown when the array was made are zero until now.
        buffer = self._buffer
        if known.rank is None:
            return _of_rank(buffer, value)
        for axis in range(1, known.rank):
            if known[axis] is None:
                buffer = _widened(buffer, axis, _pick(ops["Shape"](value), axis - 1))
        buffer.set_shape(known)
        return buffer

    def scatter(self, indices, value, name=None) -> TensorArray:
        """The array with several elements written."""
        value = convert_to_tensor(value, self._dtype)
        indices = convert_to_tensor(indices, _dtypes.int32)
        count = indices.shape[0] if indices.shape.rank else None
        if count is None:
            raise ValueError("TensorArray.scatter needs a known number of indices in a graph")
        array = self
        for i in range(count):
            array = array.write(_pick(indices, i), _pick(value, i))
        return array

    def unstack(self, value, name=None) -> TensorArray:
        """The array of a tensor's slices along its first axis."""
        value = convert_to_tensor(value, self._dtype)
        if self._list is None:
            if value.shape.rank is not None:
                self._learn(value.shape[1:])
            new = self._with(value)
            if self._dynamic and value.shape.rank is not None:
                value._loop_shape = unknown_shape(1).concatenate(value.shape[1:])
            return new
        count = value.shape[0]
        if count > len(self._list) and not self._dynamic:
            raise ValueError(
                f"Cannot unstack {count} tensors into a TensorArray of static size "
                f"{len(self._list)} "
            )
        self._list = [_pick(value, i) for i in range(count)]
        if self._list:
            self._learn(self._list[0].shape)
        return self

    def split(self, value, lengths, name=None) -> TensorArray:
        """The array of pieces of a tensor along its first axis."""
        value = convert_to_tensor(value, self._dtype)
        lengths = convert_to_tensor(lengths, _dtypes.int32)
        if self._list is not None:
            start = 0
            for i, count in enumerate(lengths.numpy().tolist()):
                self._write_now(i, value[start : start + count])
                start += count
            return self
        known = static_value(lengths)
        if known is not None and self._parts is not None:
            array, start = self, 0
            for i, size in enumerate(known.tolist()):
                piece = ops["StridedSlice"](value, _ints(start), _ints(start + size), _ints(1))
                array, start = array._write_part(i, piece), start + size
            return array
        count = ops["Shape"](lengths)
        tail = ops["StridedSlice"](ops["Shape"](value), _ints(1), _ints(0), _ints(1), end_mask=1)
        size = ops["Reshape"](_first(lengths), _ints(1))
        return self._with(ops["Reshape"](value, ops["ConcatV2"]([count, size, tail], _int(0))))

    # Reading

    def read(self, index, name=None):
        """One element."""
        number = _static(index)
        if self._parts is not None and self._buffer is None and isinstance(number, int):
            if not 0 <= number < len(self._parts):
                raise errors.OutOfRangeError(
                    None,
                    None,
                    f"Tried to read from index {number} but array size is: {len(self._parts)} ",
                )
            return self._part(number)
        if self._list is None:
            return ops["ReadElement"](
                self._as_tensor(), convert_to_tensor(index, _dtypes.int32), name=name
            )
        index = int(index)
        if index < 0:
            raise errors.OutOfRangeError(
                None, None, f"Reading from negative indices (index {index}) is not allowed."
            )
        if index >= len(self._list):
            raise errors.OutOfRangeError(
                None,
                None,
                f"Tried to read from index {index} but array size is: {len(self._list)} ",
            )
        value = self._element(index)
        if self._clear:
            self._list[index] = None
            self._cleared.add(index)
        return value

    def _element(self, index: int):
        value = self._list[index]
        if value is not None:
            return value
        if index in self._cleared:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Could not read index {index} twice because it was cleared after a previous read "
                f"(perhaps try setting clear_after_read = false?)",
            )
        shape = self._shared.element_shape
        if not shape.is_fully_defined():
            raise errors.InvalidArgumentError(
                None, None, f"Could not read index {index}: nothing was written to it"
            )
        return ops["Fill"](convert_to_tensor(shape.as_list(), _dtypes.int32), _zero(self._dtype))

    def stack(self, name=None):
        """All elements in one tensor."""
        if self._list is None:
            return self._as_tensor()
        if not self._list:
            shape = self._shared.element_shape
            sizes = [0] if shape.rank is None else [0, *[size or 0 for size in shape]]
            return ops["Fill"](
                convert_to_tensor(sizes, _dtypes.int32), _zero(self._dtype), name=name
            )
        return ops["Pack"]([self._element(i) for i in range(len(self._list))], name=name)

    def gather(self, indices, name=None):
        """Several elements in one tensor."""
        if self._list is None:
            return _gather(self._as_tensor(), convert_to_tensor(indices, _dtypes.int32))
        numbers = convert_to_tensor(indices, _dtypes.int32).numpy().tolist()
        return ops["Pack"]([self._element(i) for i in numbers], name=name)

    def concat(self, name=None):
        """All elements joined along their first axis."""
        if self._list is not None:
            parts = [self._element(i) for i in range(len(self._list))]
            return ops["ConcatV2"](parts, _int(0), name=name)
        if self._parts and self._buffer is None:
            parts = [self._part(i) for i in range(len(self._parts))]
            return ops["ConcatV2"](parts, _int(0), name=name)
        whole = self._as_tensor()
        tail = ops["StridedSlice"](ops["Shape"](whole), _ints(2), _ints(0), _ints(1), end_mask=1)
        return ops["Reshape"](whole, ops["ConcatV2"]([_ints(-1), tail], _int(0)), name=name)

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def close(self, name=None) -> None:
        """Let go of the elements."""
        if self._list is not None:
            self._list = []

    def grad(self, source, flow=None, name=None):
        """Tapes take derivatives through arrays by themselves."""
        raise NotImplementedError("TensorArray.grad: use tf.GradientTape")


def unsettled(structure: object) -> list[TensorArray]:
    """The arrays in a structure of which not even the rank of the elements is known."""
    return [
        value
        for value in nest.flatten(structure)
        if isinstance(value, TensorArray)
        and value._list is None
        and value._buffer is None
        and not any(part is not None for part in value._parts or ())
        and value.element_shape.rank is None
    ]


def _static(value: object) -> object:
    """A number that is known while tracing as an int; else the value."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value
    known = static_value(value)
    if known is None or getattr(known, "ndim", 0) != 0:
        return value
    return int(known)


def _int(value: int):
    return convert_to_tensor(value, _dtypes.int32)


def _ints(*values: int):
    return convert_to_tensor(list(values), _dtypes.int32)


def _no_ints():
    return ops["Fill"](_ints(0), _int(0))


def _zero(dtype: _dtypes.DType):
    if dtype == _dtypes.string:
        return convert_to_tensor("")
    return convert_to_tensor(False if dtype == _dtypes.bool else 0, dtype)


def _first(vector):
    return ops["StridedSlice"](vector, _ints(0), _ints(1), _ints(1), shrink_axis_mask=1)


def _pick(tensor, i: int):
    return ops["StridedSlice"](tensor, _ints(i), _ints(i + 1), _ints(1), shrink_axis_mask=1)


def _gather(tensor, indices):
    return ops["GatherV2"](ops["Identity"](tensor), indices, _int(0))


def _of_rank(buffer, value):
    """The elements, or when they are blank (of another rank), as many zeros like the value."""
    def zeros():
        count = ops["Reshape"](_first(ops["Shape"](buffer)), _ints(1))
        dims = ops["ConcatV2"]([count, ops["Shape"](value)], _int(0))
        return ops["Fill"](dims, _zero(buffer.dtype))

    fits = ops["Equal"](ops["Rank"](buffer), ops["AddV2"](ops["Rank"](value), _int(1)))
    return cond(fits, lambda: ops["Identity"](buffer), zeros)


def _widened(buffer, axis: int, size):
    """The elements with zeros behind them along an axis, up to a size."""
    shape = ops["Shape"](buffer)
    rank = buffer.shape.rank
    sizes = [_pick(shape, i) for i in range(rank)]
    sizes[axis] = ops["Sub"](size, sizes[axis])
    zeros = ops["Fill"](ops["Pack"](sizes), _zero(buffer.dtype))
    return ops["ConcatV2"]([buffer, zeros], _int(axis))


def _grown(buffer, index):
    """The elements, with zeros behind them as far as an index needs."""
    shape = ops["Shape"](buffer)
    more = ops["Maximum"](ops["Sub"](ops["AddV2"](index, _int(1)), _first(shape)), _int(0))
    rest = ops["StridedSlice"](shape, _ints(1), _ints(0), _ints(1), end_mask=1)
    dims = ops["ConcatV2"]([ops["Reshape"](more, _ints(1)), rest], _int(0))
    zeros = ops["Fill"](dims, _zero(buffer.dtype))
    grown = ops["ConcatV2"]([buffer, zeros], _int(0))
    if buffer.shape.rank is not None and _mica.tf_current_graph() is not None:
        grown.set_shape(unknown_shape(1).concatenate(buffer.shape[1:]))
    return grown
