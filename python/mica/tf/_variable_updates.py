"""Parts of a variable that are written: slices, rows named by indices, coordinates."""

from __future__ import annotations

import functools

from . import _array, _dtypes
from ._core import convert_to_tensor, ops
from ._shapes import TensorShape
from ._specs import DenseSpec


class VariableSpec(DenseSpec):
    """What is known of a variable."""

    __slots__ = ("alias_id", "trainable")

    def __init__(self, shape, dtype=_dtypes.float32, trainable=True, alias_id=None) -> None:
        super().__init__(shape, dtype)
        self.trainable, self.alias_id = trainable, alias_id

    @property
    def value_type(self) -> type:
        """The class Variable."""
        from ._variable import Variable

        return Variable

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, self.trainable, self.alias_id

    def is_subtype_of(self, other) -> bool:
        """Whether all variables of this spec are variables of the other."""
        return type(other) is VariableSpec and (
            (self._dtype, self.trainable) == (other._dtype, other.trainable)
            and self._shape.is_subtype_of(other._shape)
        )

    def __eq__(self, other) -> bool:
        return type(other) is VariableSpec and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype, self.trainable, self.alias_id))

    def __repr__(self) -> str:
        return (
            f"VariableSpec(shape={self._shape}, dtype={self._dtype!r}, "
            f"trainable={self.trainable!r}, alias_id={self.alias_id!r})"
        )


def _rows(variable, slices) -> tuple:
    """The coordinates and the new rows of an IndexedSlices."""
    if not hasattr(slices, "indices"):
        raise TypeError(f"sparse_delta is not IndexedSlices: {slices}")
    indices = convert_to_tensor(slices.indices)
    values = convert_to_tensor(slices.values, variable.dtype)
    wanted = ops["ConcatV2"](
        [_array.shape(indices), _array.shape(variable._read())[1:]], convert_to_tensor(0)
    )
    if values.shape.rank == 0:
        values = ops["BroadcastTo"](values, wanted)
    return ops["ExpandDims"](indices, convert_to_tensor(-1)), values


class Updates:
    """Methods that write parts of a variable."""

    def _slices_written(self, op: str, sparse_delta):
        coordinates, values = _rows(self, sparse_delta)
        return self.assign(ops[op](self._read(), coordinates, values))

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        """Add rows at indices."""
        return self._slices_written("TensorScatterAdd", sparse_delta)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        """Subtract rows at indices."""
        return self._slices_written("TensorScatterSub", sparse_delta)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        """Write rows at indices."""
        return self._slices_written("TensorScatterUpdate", sparse_delta)

    def scatter_max(self, sparse_delta, use_locking=False, name=None):
        """Take the larger of what is there and rows at indices."""
        return self._slices_written("TensorScatterMax", sparse_delta)

    def scatter_min(self, sparse_delta, use_locking=False, name=None):
        """Take the smaller of what is there and rows at indices."""
        return self._slices_written("TensorScatterMin", sparse_delta)

    def _row_by_row(self, op: str, sparse_delta):
        """Combine rows one after the other: an index may come several times."""
        from ._control import while_loop

        coordinates, values = _rows(self, sparse_delta)
        count = _array.shape(coordinates)[0]

        def body(i, whole):
            at = coordinates[i : i + 1]
            new = ops[op](ops["GatherNd"](whole, at), values[i : i + 1])
            return i + 1, ops["TensorScatterUpdate"](whole, at, new)

        start = (convert_to_tensor(0), self._read())
        return self.assign(while_loop(lambda i, whole: i < count, body, start)[1])

    def scatter_mul(self, sparse_delta, use_locking=False, name=None):
        """Multiply rows at indices."""
        return self._row_by_row("Mul", sparse_delta)

    def scatter_div(self, sparse_delta, use_locking=False, name=None):
        """Divide rows at indices."""
        return self._row_by_row("RealDiv", sparse_delta)

    def _coordinates_written(self, op: str, indices, updates):
        updates = convert_to_tensor(updates, self.dtype)
        return self.assign(ops[op](self._read(), convert_to_tensor(indices), updates))

    def scatter_nd_add(self, indices, updates, name=None):
        """Add at coordinates."""
        return self._coordinates_written("TensorScatterAdd", indices, updates)

    def scatter_nd_sub(self, indices, updates, name=None):
        """Subtract at coordinates."""
        return self._coordinates_written("TensorScatterSub", indices, updates)

    def scatter_nd_update(self, indices, updates, name=None):
        """Write at coordinates."""
        return self._coordinates_written("TensorScatterUpdate", indices, updates)

    def scatter_nd_max(self, indices, updates, name=None):
        """Take the larger of what is there and updates at coordinates."""
        return self._coordinates_written("TensorScatterMax", indices, updates)

    def scatter_nd_min(self, indices, updates, name=None):
        """Take the smaller of what is there and updates at coordinates."""
        return self._coordinates_written("TensorScatterMin", indices, updates)

    def sparse_read(self, indices, name=None):
        """Rows at indices."""
        return ops["GatherV2"](
            self._read(), convert_to_tensor(indices), convert_to_tensor(0), name=name
        )

    def gather_nd(self, indices, name=None):
        """What lies at coordinates."""
        return ops["GatherNd"](self._read(), convert_to_tensor(indices), name=name)

    def __getitem__(self, key):
        part = self._read()[key]
        if getattr(part, "assign", None) is None:
            part.assign = functools.partial(_assign_part, self, key, None)
            part.assign_add = functools.partial(_assign_part, self, key, "AddV2")
            part.assign_sub = functools.partial(_assign_part, self, key, "Sub")
        return part


def _assign_part(variable, key, op: str | None, value, name=None, read_value=True):
    """Write a slice: numbers in its place name what is written."""
    whole = variable._read()
    size = ops["Size"](whole)
    numbers = ops["Range"](convert_to_tensor(0), size, convert_to_tensor(1))
    places = ops["Reshape"](numbers, _array.shape(whole))[key]
    value = convert_to_tensor(value, variable.dtype)
    if op is not None:
        value = ops[op](whole[key], value)
    shape = _array.shape(places)
    if not TensorShape(places.shape).is_compatible_with(value.shape):
        value = ops["BroadcastTo"](value, shape)
    flat = ops["Reshape"](whole, convert_to_tensor([-1]))
    column = ops["Reshape"](places, convert_to_tensor([-1, 1]))
    new = ops["TensorScatterUpdate"](flat, column, ops["Reshape"](value, convert_to_tensor([-1])))
    return variable.assign(ops["Reshape"](new, _array.shape(whole)), read_value=read_value)
