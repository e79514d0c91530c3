"""`tf.TensorShape`: a shape of which some sizes, or even the rank, may be unknown.

An unknown size is None; `TensorShape(None)` has unknown rank. The unknown is compatible with
everything, so `merge_with` can only add knowledge.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator


def _size(value: object) -> int | None:
    """A size as int or None, checked."""
    if value is None:
        return None
    if type(value) is int:
        size = value
    elif isinstance(value, Dimension):
        return value.value
    elif isinstance(value, (str, bytes)):
        raise TypeError(
            f"Dimension value must be integer or None or have an __index__ method, got value "
            f"'{value!r}' with type '{type(value)!r}'"
        )
    else:
        try:
            size = operator.index(value)
        except TypeError:
            raise TypeError(
                f"Dimension value must be integer or None or have an __index__ method, got value "
                f"'{value!r}' with type '{type(value)!r}'"
            ) from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


class Dimension:
    """One size of a shape, as TensorFlow 1 had it: an int or unknown, with arithmetic.

    `TensorShape.dims` still holds these; iterating over a shape gives int or None.
    """

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = _size(value)

    @property
    def value(self) -> int | None:
        """The size, None when unknown."""
        return self._value

    def is_compatible_with(self, other: object) -> bool:
        """Whether both could be the same size."""
        other = _size(other)
        return self._value is None or other is None or self._value == other

    def assert_is_compatible_with(self, other: object) -> None:
        """Raise ValueError when the sizes are known and differ."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: object) -> Dimension:
        """The size that both know together."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def _combine(self, function, other: object, swapped: bool = False):
        try:
            other = _size(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other is None:
            return Dimension(None)
        return Dimension(function(other, self._value) if swapped else function(self._value, other))

    def _compare(self, function, other: object):
        try:
            other = _size(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other is None:
            return None
        return function(self._value, other)

    def __add__(self, other):
        return self._combine(operator.add, other)

    def __radd__(self, other):
        return self._combine(operator.add, other, True)

    def __sub__(self, other):
        return self._combine(operator.sub, other)

    def __rsub__(self, other):
        return self._combine(operator.sub, other, True)

    def __mul__(self, other):
        return self._combine(operator.mul, other)

    def __rmul__(self, other):
        return self._combine(operator.mul, other, True)

    def __floordiv__(self, other):
        return self._combine(operator.floordiv, other)

    def __rfloordiv__(self, other):
        return self._combine(operator.floordiv, other, True)

    def __mod__(self, other):
        return self._combine(operator.mod, other)

    def __rmod__(self, other):
        return self._combine(operator.mod, other, True)

    def __truediv__(self, other):
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', "
            f"please use // instead"
        )

    def __rtruediv__(self, other):
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', "
            f"please use // instead"
        )

    def __eq__(self, other):
        return self._compare(operator.eq, other)

    def __ne__(self, other):
        return self._compare(operator.ne, other)

    def __lt__(self, other):
        return self._compare(operator.lt, other)

    def __le__(self, other):
        return self._compare(operator.le, other)

    def __gt__(self, other):
        return self._compare(operator.gt, other)

    def __ge__(self, other):
        return self._compare(operator.ge, other)

    def __hash__(self):
        if self._value is None:
            raise ValueError("Unable to hash Dimension with value 'None'")
        return hash(self._value)

    def __int__(self):
        return self._value

    def __index__(self):
        return self._value

    def __repr__(self):
        return f"Dimension({self._value})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __reduce__(self):
        return Dimension, (self._value,)


def as_dimension(value: object) -> Dimension:
    """A `Dimension` of an int, None or a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: object) -> int | None:
    """The int or None of a Dimension, an int or None (`tf.compat.dimension_value`)."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """The Dimension at an index; unknown where the rank is (`tf.compat.dimension_at_index`)."""
    return Dimension(None) if shape._dims is None else shape.dims[index]


class TensorShape:
    """A possibly partial shape: sizes that are int or None, or unknown rank.

    Examples
    --------
    >>> TensorShape([None, 256]).is_compatible_with([32, 256])
    True
    >>> TensorShape([None, 256]).merge_with([32, None])
    TensorShape([32, 256])
    """

    __slots__ = ("_dims",)
    __match_args__ = ("dims",)

    def __init__(self, dims: object) -> None:
        if type(dims) is TensorShape:
            self._dims = dims._dims
        elif type(dims) in (tuple, list):
            self._dims = tuple([_size(size) for size in dims])
        elif dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif hasattr(dims, "unknown_rank") and hasattr(dims, "dim"):
            self._dims = (
                None
                if dims.unknown_rank
                else tuple([None if axis.size == -1 else axis.size for axis in dims.dim])
            )
        else:
            try:
                sizes = iter(dims)
            except TypeError:
                self._dims = (_size(dims),)
            else:
                self._dims = tuple([_size(size) for size in sizes])

    @classmethod
    def _of(cls, dims: tuple | None) -> TensorShape:
        """A shape of sizes that are known to be a tuple of int and None, or None."""
        self = object.__new__(cls)
        self._dims = dims
        return self

    @property
    def rank(self) -> int | None:
        """The number of axes, None when unknown."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes as `Dimension` objects, None when the rank is unknown."""
        return None if self._dims is None else [Dimension(size) for size in self._dims]

    def as_list(self) -> list[int | None]:
        """The sizes as a list; ValueError when the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """The product of the sizes, None unless all are known."""
        if not self.is_fully_defined():
            return None
        return functools.reduce(operator.mul, self._dims, 1)

    def is_fully_defined(self) -> bool:
        """Whether rank and all sizes are known."""
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other: object) -> bool:
        """Whether some fully known shape fits both."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims, strict=True)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Whether every shape that fits this one fits the other."""
        if not isinstance(other, TensorShape):
            return False
        if other._dims is None:
            return True
        if self._dims is None or len(self._dims) != len(other._dims):
            return False
        return all(b is None or a == b for a, b in zip(self._dims, other._dims, strict=True))

    def most_specific_common_supertype(self, others: Iterable[TensorShape]) -> TensorShape | None:
        """The most specific shape that all of them fit."""
        others = list(others)
        if any(not isinstance(other, TensorShape) for other in others):
            return None
        return functools.reduce(TensorShape.most_specific_compatible_shape, others, self)

    def most_specific_compatible_shape(self, other: object) -> TensorShape:
        """The most specific shape that both fit."""
        other = as_shape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return unknown_shape()
        return TensorShape._of(
            tuple([a if a == b else None for a, b in zip(self._dims, other._dims, strict=True)])
        )

    def placeholder_value(self, placeholder_context: object = None) -> TensorShape:
        """The shape itself: shapes pass through tracing as values."""
        return self

    def merge_with(self, other: object) -> TensorShape:
        """What both know together; ValueError when they contradict each other."""
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape._of(
            tuple([b if a is None else a for a, b in zip(self._dims, other._dims, strict=True)])
        )

    def concatenate(self, other: object) -> TensorShape:
        """The axes of this shape followed by those of the other."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return unknown_shape()
        return TensorShape._of(self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """The shape itself, of the given rank at least in name; ValueError when it has another."""
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """The shape itself; ValueError when its rank is known to be less."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """The shape itself; ValueError when its rank is known to be more."""
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """ValueError when the rank is known and another."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: object) -> None:
        """ValueError when both ranks are known and differ."""
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_compatible_with(self, other: object) -> None:
        """ValueError unless the shapes are compatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """ValueError unless rank and all sizes are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def as_proto(self) -> TensorShapeProto:
        """The shape as files hold it: a list of sizes, -1 where unknown."""
        if self._dims is None:
            return TensorShapeProto([], True)
        return TensorShapeProto([-1 if size is None else size for size in self._dims])

    experimental_as_proto = as_proto

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return TensorShape(other).concatenate(self)

    def __concat__(self, other):
        return self.concatenate(other)

    def __bool__(self):
        return self._dims is not None

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key):
        if self._dims is not None:
            found = self._dims[key]
            return TensorShape._of(found) if isinstance(key, slice) else found
        if not isinstance(key, slice):
            return None
        start = key.start if key.start is not None else 0
        stop = key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        if stop is None:
            # A tail of unknown length.
            return unknown_shape()
        if start < 0 or stop < 0:
            return unknown_shape()
        return unknown_shape(max(stop - start, 0))

    def __eq__(self, other):
        try:
            other = as_shape(other)
        except TypeError:
            return NotImplemented
        return self._dims == other._dims

    def __ne__(self, other):
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(self._dims)

    def __repr__(self):
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape({list(self._dims)})"

    def __str__(self):
        return "<unknown>" if self._dims is None else str(self._dims)

    def __reduce__(self):
        return TensorShape, (None if self._dims is None else list(self._dims),)


class TensorShapeProto:
    """A shape as files hold it."""

    class Dim:
        """One size."""

        def __init__(self, size: int, name: str = "") -> None:
            self.size, self.name = size, name

        def __eq__(self, other: object) -> bool:
            return isinstance(other, TensorShapeProto.Dim) and self.size == other.size

        def __repr__(self) -> str:
            return f"size: {self.size}\n"

    def __init__(self, sizes: Iterable[int], unknown_rank: bool = False) -> None:
        self.dim = [TensorShapeProto.Dim(size) for size in sizes]
        self.unknown_rank = unknown_rank

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorShapeProto) and (
            (self.dim, self.unknown_rank) == (other.dim, other.unknown_rank)
        )

    def __repr__(self) -> str:
        if self.unknown_rank:
            return "unknown_rank: true\n"
        return "".join(f"dim {{\n  {axis!r}}}\n" for axis in self.dim)


def as_shape(shape: object) -> TensorShape:
    """A `TensorShape` of anything that stands for one."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """A shape of which at most the rank is known."""
    return TensorShape._of(None if rank is None else (None,) * rank)


def broadcast_static_shape(shape_x: object, shape_y: object) -> TensorShape:
    """The shape of two operands broadcast together, as far as it is known.

    Raises
    ------
    ValueError
        If the shapes are known not to go together.
    """
    x, y = as_shape(shape_x), as_shape(shape_y)
    if x._dims is None or y._dims is None:
        return unknown_shape()
    rank = max(len(x._dims), len(y._dims))
    sizes = []
    for a, b in zip(
        (1,) * (rank - len(x._dims)) + x._dims, (1,) * (rank - len(y._dims)) + y._dims, strict=True
    ):
        if a == 1 or b == 1:
            sizes.append(b if a == 1 else a)
        elif a is None or b is None:
            sizes.append(b if a is None else a)
        elif a == b:
            sizes.append(a)
        else:
            raise ValueError(
                f"Incompatible shapes for broadcasting. Two shapes are compatible if for each "
                f"dimension pair they are either equal or one of them is 1. Received: {x} and {y}."
            )
    return TensorShape._of(tuple(sizes))
