"""Draws calls: a recipe per function gives valid arguments, then some are spoiled.

A recipe is a function of a `Draw` that returns its arguments, name to spelling, in the order of
the signature. `RECIPES` maps the functions' names to recipes (recipes_*.py fill it). What a
recipe draws is right or nearly so; `spoil` then changes one argument of every fifth call: its
dtype, its shape, a value out of range, None, or nothing at all.
"""

from __future__ import annotations

import json

import extras
import signatures
from spelling import INTEGERS, Stream

FLOATS = ("float32",) * 5 + ("float64",) * 3 + ("float16", "bfloat16")
FULL_FLOATS = ("float32", "float32", "float64")
INTS = ("int32",) * 4 + ("int64",) * 3 + ("int8", "uint8", "int16", "uint16")
WIDE_INTS = ("int32", "int64")
COMPLEX = ("complex64", "complex128")
REALS = (*FLOATS, "int32", "int32", "int64", "int8", "uint8", "int16")
NUMBERS = REALS + COMPLEX
INEXACT = FLOATS + FLOATS + COMPLEX
ALL_DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int32", "int64", "int8", "uint8", "int16",
    "uint16", "uint32", "uint64", "complex64", "complex128", "bool", "string",
)  # fmt: skip
EVERY = (*NUMBERS, "bool", "string")
DIMENSIONS = (1, 2, 2, 3, 3, 4, 5)
MODES = ("eager",) * 5 + ("known",) * 2 + ("dims",) * 2 + ("rank",)

RECIPES: dict = {}
ORDERS: dict = {}  # functions whose derivatives are taken to this order at most


def recipe(*names: str, order: int = 2):
    def add(function):
        for name in names:
            assert name not in RECIPES, name
            RECIPES[name] = function
            ORDERS[name] = order
        return function

    return add


class Draw(Stream):
    """Draws arguments."""

    def dtype(self, dtypes) -> str:
        return self.pick(dtypes)

    def shape(self, low: int = 0, high: int = 3, empty: bool = True) -> list[int]:
        shape = [self.pick(DIMENSIONS) for _ in range(self.between(low, high))]
        if empty and shape and self.chance(6):
            shape[self.below(len(shape))] = 0
        return shape

    def how(self) -> str:
        return self.pick(("tensor",) * 8 + ("numpy", "list"))

    def array(self, dtypes, shape, kind=None, how=None) -> dict:
        dtype = dtypes if isinstance(dtypes, str) else self.pick(dtypes)
        if kind is None:
            kind = self.kind(dtype)
        how = how or self.how()
        if dtype == "bfloat16" or (how == "list" and dtype not in ("float32", "int32", "bool")):
            how = "tensor"
        return {"t": [how, dtype, list(shape), kind, self.below(1 << 20)]}

    def tensor(self, dtypes, shape, kind=None) -> dict:
        return self.array(dtypes, shape, kind, "tensor")

    def kind(self, dtype: str) -> str:
        if dtype == "string":
            return "word"
        if dtype in INTEGERS:
            return "extreme" if self.chance(8) else "range -4 9"
        return self.pick(("uniform",) * 6 + ("whole", "special", "wide"))

    def ints(self, shape, low: int, high: int, dtypes=WIDE_INTS, how=None) -> dict:
        """Integers of [low, high)."""
        return self.array(dtypes, shape, f"range {low} {high}", how)

    def axis(self, rank: int) -> int:
        return self.between(-rank, rank - 1) if rank else self.pick((0, -1))

    def axes(self, rank: int):
        """None, one axis, a list of distinct axes."""
        which = self.below(6)
        if which < 2:
            return None
        if which < 5 or rank == 0:
            return self.axis(rank)
        chosen = [i for i in range(rank) if self.chance(60)]
        return [i - rank if self.chance(25) else i for i in chosen]

    def flag(self) -> bool:
        return self.below(2) == 1

    def some(self, arguments: dict, percent: float = 50, **options) -> dict:
        """Arguments with each option given with that chance."""
        for name, value in options.items():
            if self.chance(percent):
                arguments[name] = value() if callable(value) else value
        return arguments

    def keywords(self, arguments: dict, percent: float = 50, **options) -> dict:
        """Arguments with each option given by its name with that chance."""
        return self.some(arguments, percent, **{f"{name}=": v for name, v in options.items()})

    def broadcast(self, shape: list[int]) -> list[int]:
        """A shape that broadcasts with this one."""
        which = self.below(5)
        if which < 2:
            return list(shape)
        if which == 2:
            return []
        other = [1 if self.chance(40) else n for n in shape]
        return other[self.below(len(other) + 1) :] if which == 4 else other


def _spoil_array(draw: Draw, spelled: list) -> list:
    how, dtype, shape, kind, seed = spelled
    shape = list(shape)
    which = draw.below(5)
    if which == 0:
        dtype = draw.pick(ALL_DTYPES)
        kind = "word" if dtype == "string" else "range -4 9" if kind == "word" else kind
        how = "tensor" if dtype == "bfloat16" or how == "list" else how
    elif which == 1 and kind not in MATRICES:
        shape = shape[1:] if shape and draw.flag() else [*shape, draw.pick(DIMENSIONS)]
    elif which == 2 and shape:
        at = draw.below(len(shape))
        shape[at] = draw.pick((0, 1, shape[at] + 1, 7))
        if kind in MATRICES:
            shape[-1] = shape[-2]
    elif which == 3 and dtype not in ("string", "bool"):
        kind = "extreme" if dtype in INTEGERS else "special"
    elif dtype in INTEGERS:
        kind = draw.pick(("range -9 0", "range 50 99", "range -2 3"))
    if how == "list":
        how = "tensor"
    return [how, dtype, shape, kind, seed]


MATRICES = ("regular", "definite", "lower", "hermitian", "boxes")
ODD_NUMBERS = (-1, 0, 1, 2, -2, 5, -7, 100, None, 2.5, 3)


def _spoil(draw: Draw, value):
    if isinstance(value, dict) and "t" in value:
        return {"t": _spoil_array(draw, value["t"])}
    if isinstance(value, dict) and "d" in value:
        return {"d": draw.pick(ALL_DTYPES)}
    if isinstance(value, bool):
        return draw.pick((None, not value, 1, 0))
    if isinstance(value, (int, float)):
        return draw.pick(ODD_NUMBERS)
    if isinstance(value, str):
        return draw.pick(("", "bogus", value.lower(), None))
    if isinstance(value, list) and value:
        if draw.chance(30):
            return draw.pick((value[:-1], [*value, value[-1]], []))
        at = draw.below(len(value))
        return [_spoil(draw, part) if i == at else part for i, part in enumerate(value)]
    return draw.pick((None, 0, 1, -1))


def spoil(draw: Draw, arguments: dict) -> dict:
    """The arguments with one of them changed, or left out."""
    name = draw.pick(list(arguments))
    if draw.chance(6):
        return {key: value for key, value in arguments.items() if key != name}
    return {key: _spoil(draw, value) if key == name else value for key, value in arguments.items()}


def has_inexact_tensor(value) -> bool:
    if isinstance(value, list):
        return any(has_inexact_tensor(part) for part in value)
    if isinstance(value, dict) and "u" in value:
        return has_inexact_tensor(value["u"])
    if isinstance(value, dict) and "t" in value:
        how, dtype = value["t"][:2]
        return how == "tensor" and dtype.startswith(("float", "bfloat", "complex"))
    for composite in ("sparse", "ragged", "slices"):
        if isinstance(value, dict) and composite in value:
            return value[composite][0].startswith(("float", "bfloat", "complex"))
    return False


def draw_call(name: str, number: int) -> dict:
    """The call of this number of a function. The same for ever, whatever else is drawn."""
    seed = 0
    for letter in name:
        seed = (seed * 1099511628211 + ord(letter)) & ((1 << 64) - 1)
    draw = Draw(seed + number * 7919)
    draw.next()
    arguments = RECIPES[name](draw)
    inputs = arguments.pop("*", None)
    if number >= extras.FIRST:
        extras.extend(draw, arguments, extras.offered(name, signatures.parameters(name)))
    if draw.chance(20) and arguments:
        arguments = spoil(draw, arguments)
    given: list = [[None, part] for part in inputs or ()]
    positional = not draw.chance(35) and inputs is None
    for key, value in arguments.items():
        # "=" marks what the signature has further back: given by keyword only.
        if key.endswith("="):
            positional, key = False, key[:-1]
        if positional and draw.chance(10) and given:
            positional = False
        given.append([None if positional else key, value])
    mode = draw.pick(MODES)
    order = 0
    if ORDERS[name] and has_inexact_tensor([value for _, value in given]):
        order = min(draw.pick((0, 0, 1, 1, 2)), ORDERS[name])
    return {"f": name, "a": given, "m": mode, "o": order}


def drawn(name: str, per_function: int) -> list[tuple[int, dict]]:
    """Calls of a function with their numbers, no two the same."""
    seen: set[str] = set()
    found = []
    for number in range(per_function):
        call = draw_call(name, number)
        text = json.dumps(call)
        if text not in seen:
            seen.add(text)
            found.append((number, call))
    return found


def draw_calls(per_function: int) -> list[dict]:
    """Calls of every function, no two the same."""
    return [call for name in sorted(RECIPES) for _, call in drawn(name, per_function)]
