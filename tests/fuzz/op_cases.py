"""Random calls of the rows of the op table, for tests/fuzz/ops.py.

A case follows from (seed, index) alone. Half of the cases of a row that tests/tf/row_cases.py knows
are one of its cases with something changed; the rest are made from the row's columns: dtypes out
of what its attributes allow (and sometimes out of all), shapes that go together (and sometimes do
not), numbers and attributes of all kinds. This module needs numpy alone.
"""

from __future__ import annotations

import random
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

CORE = [
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
FLOATS = ["float32", "float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = [each for each in CORE if "int" in each]
SETS = {
    "any": [*CORE, "string"],
    "type": [*CORE, "string", "resource", "variant"],
    "number": FLOATS + COMPLEX + INTEGERS,
    "addable": FLOATS + COMPLEX + INTEGERS + ["string"],
    "real": FLOATS + INTEGERS,
    "floating": FLOATS,
    "inexact": FLOATS + COMPLEX,
    "complex": COMPLEX,
    "integer": INTEGERS,
    "index": ["int32", "int64"],
}
DTYPES = SETS["type"]

MODES = [
    "eager", "eager", "known", "unknown", "unknown", "ranked", "tape", "second", "known_tape",
    "unknown_tape", "unknown_tape", "forward", "branch", "loop", "mapped",
]  # fmt: skip

TEXTS = [
    "", "SAME", "VALID", "EXPLICIT", "NHWC", "NCHW", "NDHWC", "NCDHW", "N", "REFLECT", "SYMMETRIC",
    "BYTE", "UTF8_CHAR", "UTF-8", "UTF-16-BE", "UTF-32-BE", "replace", "strict", "ignore", "utf-8",
    "ij,jk->ik", "ij->ji", "ii->i", "...ij,...jk->...ik", "...,...", "a......b", "ab->c", "->", ",",
    "abcdefghijklmnopqrstuvwxyzABCDEF->a", "%s", "%d%s", "{}", "stderr", "log(info)", "a\0b", "ä€",
    "x" * 300, "floor", "[a-z]+", "(", "((a)*)*b",
]  # fmt: skip
LENGTHS = [0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, 10, 16, 17, 20, 32, 33, 40, 64, 65, 100]
INTS = [-(2**63), -(2**62), -(2**31), -100_000, -17, -5, -3, -2, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 3]
INTS += [4, 5, 7, 8, 16, 17, 20, 64, 255, 1000, 100_000, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.7, 1e-40, 1e30, -1e30, 1e300]
REALS += [float("nan"), float("inf"), -float("inf")]


# ---- rows -------------------------------------------------------------------------------------


@dataclass
class Row:
    name: str
    inputs: list[tuple[str, str, str]]  # name, the attribute that counts them or "", kind
    outputs: str
    attributes: dict[str, tuple[str, bool]]  # name: kind, whether it has a default
    roles: str

    def role(self, i: int) -> str:
        return self.roles[min(i, len(self.roles) - 1)] if self.roles else "-"


def rows_of_the_table() -> dict[str, Row]:
    """The rows, from the text of the table."""
    pattern = re.compile(r'^MICA_TF_OP\((\w+), "(.*?)", "(.*?)", "(.*?)", "(.*?)"', re.MULTILINE)
    rows = {}
    for path in sorted((ROOT / "src/tf/ops").glob("*/rows.def")):
        for name, inputs, outputs, attributes, roles in pattern.findall(path.read_text()):
            rows[name] = Row(name, _inputs(inputs), outputs, _attributes(attributes), roles)
    return rows


def _inputs(text: str) -> list[tuple[str, str, str]]:
    found = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, kind = (part.strip() for part in each.split(":"))
        count, _, kind = kind.rpartition("*")
        found.append((name, count.strip(), kind.strip()))
    return found


def _attributes(text: str) -> dict[str, tuple[str, bool]]:
    found = {}
    for each in filter(None, (part.strip() for part in text.split(";"))):
        name, _, kind = each.partition(":")
        kind, equals, _ = kind.partition("=")
        found[name.strip()] = (kind.strip(), bool(equals))
    return found


def allowed(kind: str) -> list[str]:
    """The dtypes that a kind of attribute lets through."""
    if kind.startswith("{"):
        return [each.strip() for each in kind.strip("{}").split(",")]
    return SETS.get(kind, [kind] if kind in DTYPES else [])


# ---- values -----------------------------------------------------------------------------------


@dataclass
class Value:
    """An operand: an array, or the name of something that is none."""

    dtype: str
    array: Any = None  # for bfloat16 an array of float32; for strings one of objects
    handle: int = 0

    def __str__(self) -> str:
        if self.array is None:
            return f"{self.dtype}#{self.handle}"
        flat = self.array.reshape(-1)
        dots = "..." if flat.size > 12 else ""
        return f"{self.dtype}{list(self.array.shape)}{flat[:12].tolist()}{dots}"


@dataclass
class Case:
    row: Row
    mode: str
    inputs: dict[str, Any]  # a Value, or a list of them
    attributes: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def values(self) -> list[Value]:
        flat = []
        for each in self.inputs.values():
            flat += each if isinstance(each, list) else [each]
        return flat

    def __str__(self) -> str:
        inputs = [
            f"{k}=[{', '.join(map(str, v))}]" if isinstance(v, list) else f"{k}={v}"
            for k, v in self.inputs.items()
        ]
        attributes = [f"{k}={str(v)[:200]!r}" for k, v in self.attributes.items()]
        return f"{self.mode} {self.row.name}({', '.join(inputs + attributes)})"


@dataclass
class Dtype:
    """An attribute that is a dtype."""

    name: str


@dataclass
class Function:
    """An attribute that is a function: what it takes and which one it is."""

    kind: str
    takes: int


class Maker:
    """Makes cases from one stream of random numbers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.base = self.fresh_shape()

    def often(self, share: float) -> bool:
        return self.rng.random() < share

    # Shapes

    def fresh_shape(self) -> list[int]:
        rank = self.rng.choice([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 15, 16, 16, 17])
        sizes = [0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 7] if rank < 7 else [1, 1, 1, 1, 1, 2, 2, 0]
        return self.bounded([self.rng.choice(sizes) for _ in range(rank)])

    @staticmethod
    def bounded(shape: list[int]) -> list[int]:
        total = 1
        for i, size in enumerate(shape):
            if total * max(size, 1) > 4096:
                shape[i] = 1
            total *= max(shape[i], 1)
        return shape

    def shape(self) -> list[int]:
        """One that often goes together with those before."""
        choice, base = self.rng.random(), self.base
        if choice < 0.5:
            return list(base)
        if choice < 0.62:
            return [1 if self.often(0.4) else size for size in base]
        if choice < 0.7:
            return base[self.rng.randint(0, len(base)) :]
        if choice < 0.78:
            return base[: self.rng.randint(0, len(base))]
        if choice < 0.84:
            return self.bounded([*base[:15], self.rng.choice([0, 1, 2, 3])])
        return self.fresh_shape()

    # Numbers

    def array(self, dtype: str, shape: list[int], wild: float = 0.15) -> np.ndarray:
        n = int(np.prod(shape, dtype=np.int64))
        if dtype == "string":
            texts = [self.rng.choice(TEXTS).encode() for _ in range(min(n, 8))] or [b""]
            return np.array([texts[i % len(texts)] for i in range(n)], object).reshape(shape)
        stream = np.random.RandomState(self.rng.randrange(2**32))
        if dtype == "bool":
            return stream.randint(0, 2, shape).astype(bool)
        kind = np.dtype("float32" if dtype == "bfloat16" else dtype)
        if kind.kind in "iu":
            info = np.iinfo(kind)
            numbers = stream.randint(0 if kind.kind == "u" else -3, 9, shape).astype(kind)
            extremes = [info.min, info.max, info.max - 1, info.min + 1, min(100_000, info.max)]
            pool = np.array(extremes, object)
        else:
            numbers = stream.uniform(-3, 3, shape).astype(kind)
            pool = np.array(REALS, object)
        if n and self.often(wild):
            flat = numbers.reshape(-1)
            with np.errstate(all="ignore"):
                for _ in range(self.rng.randint(1, 4)):
                    flat[self.rng.randrange(n)] = pool[self.rng.randrange(len(pool))]
            numbers = flat.reshape(shape)
        return numbers

    def operand_ints(self, dtype: str) -> np.ndarray:
        """Sizes, axes, places: mostly few and small."""
        info = np.iinfo(dtype)
        if self.often(0.3):
            shape: list[int] = []
        elif self.often(0.75):
            shape = [len(self.base) if self.often(0.4) else self.rng.choice(LENGTHS)]
        elif self.often(0.5):
            shape = [len(self.base), 2]
        else:
            shape = self.fresh_shape()
        n = int(np.prod(shape, dtype=np.int64))
        wild = self.often(0.25)
        low, high = self.rng.choice([(0, 4), (-2, 4), (0, 2), (1, 3), (-4, 9)])
        numbers = [
            min(max(self.rng.choice(INTS), info.min), info.max)
            if wild and self.often(0.4)
            else self.rng.randint(low, high)
            for _ in range(n)
        ]
        if not wild and self.often(0.2) and n == len(self.base):
            numbers = self.rng.sample(range(n), n)  # a permutation
        return np.array(numbers, dtype).reshape(shape)

    def value(self, dtype: str, role: str) -> Value:
        if dtype in ("resource", "variant"):
            return Value(dtype, None, self.rng.randrange(8))
        if dtype in ("int32", "int64", "int16") and (role in "so" or self.often(0.3)):
            return Value(dtype, self.operand_ints(dtype))
        return Value(dtype, self.array(dtype, self.shape()))

    # Attributes

    def attribute(self, kind: str) -> Any:
        rng = self.rng
        if kind.startswith("list("):
            inner = kind[5:-1]
            n = rng.choice([0, 1, 2, 2, 3, 4, 4, 4, 5, 5, 6, 8, 10, 17, 40])
            if inner == "int" and self.often(0.5):
                return [rng.choice([1, 1, 1, 2, 2, 3]) for _ in range(rng.choice([4, 5]))]
            return [self.attribute(inner) for _ in range(n)]
        if kind == "int":
            return rng.choice(INTS) if self.often(0.3) else rng.randint(-2, 5)
        if kind == "bool":
            return self.often(0.5)
        if kind == "float":
            return rng.choice(REALS)
        if kind.startswith("{'"):  # a choice of texts
            return rng.choice(TEXTS if self.often(0.2) else [t.strip("'") for t in allowed(kind)])
        if kind == "string":
            return rng.choice(TEXTS)
        if kind == "shape":
            return self.partial_shape()
        if kind == "tensor":
            return Value("float32", self.array("float32", self.fresh_shape()))
        if kind == "func":
            return Function(rng.choice(["same", "first", "none", "number", "extra"]), -1)
        names = allowed(kind) or DTYPES
        return Dtype(rng.choice(DTYPES if self.often(0.05) else names))

    def partial_shape(self) -> list[int | None] | None:
        if self.often(0.2):
            return None
        shape: list[int | None] = list(self.fresh_shape())
        for i in range(len(shape)):
            if self.often(0.3):
                shape[i] = None
            elif self.often(0.03):
                shape[i] = self.rng.choice([2**31, 2**40, 2**62])
        return shape

    # Cases

    def from_row(self, row: Row) -> Case:
        dtypes: dict[str, str] = {}
        inputs: dict[str, Any] = {}

        def dtype_of(kind: str) -> str:
            if kind in dtypes:
                return dtypes[kind]
            names = allowed(row.attributes[kind][0] if kind in row.attributes else kind)
            chosen = self.rng.choice(DTYPES if self.often(0.04) or not names else names)
            common = [each for each in ("float32", "float64", "int32") if each in names]
            if common and self.often(0.5):
                chosen = self.rng.choice(common)
            if kind in row.attributes:
                dtypes[kind] = chosen
            return chosen

        for i, (name, count, kind) in enumerate(row.inputs):
            if row.attributes.get(kind, ("", False))[0] == "list(type)":
                n = self.rng.choice([0, 1, 1, 2, 3, 5])
                inputs[name] = [self.value(self.rng.choice(DTYPES), "d") for _ in range(n)]
            elif count:
                n = self.rng.choice([0, 1, 2, 2, 3, 5, 20])
                inputs[name] = [self.value(dtype_of(kind), row.role(i)) for _ in range(n)]
            else:
                inputs[name] = self.value(dtype_of(kind), row.role(i))
        return Case(row, "", inputs, self.attributes_of(row))

    def attributes_of(self, row: Row) -> dict[str, Any]:
        inferred = {kind for _, _, kind in row.inputs} | {count for _, count, _ in row.inputs}
        chosen = {}
        for name, (kind, has_default) in row.attributes.items():
            if name in inferred or kind == "operation" or (has_default and self.often(0.6)):
                continue
            chosen[name] = self.attribute(kind)
        return chosen

    def change(self, case: Case) -> None:
        """Something in a case becomes something else."""
        names = list(case.inputs)
        if case.attributes and (not names or self.often(0.3)):
            name = self.rng.choice(list(case.attributes))
            if name in case.row.attributes:
                case.attributes[name] = self.attribute(case.row.attributes[name][0])
            return
        if not names:
            return
        place = self.rng.randrange(len(names))
        value = case.inputs[names[place]]
        if isinstance(value, list):
            if not value or self.often(0.2):
                case.inputs[names[place]] = value + value[:1] if self.often(0.5) else value[:-1]
                return
            i = self.rng.randrange(len(value))
            value[i] = self.changed(value[i], "d")
        else:
            case.inputs[names[place]] = self.changed(value, case.row.role(place))

    def changed(self, value: Value, role: str) -> Value:
        if value.array is None or self.often(0.1):
            return self.value(self.rng.choice(DTYPES), role)
        array, dtype = value.array, value.dtype
        choice = self.rng.random()
        if choice < 0.35 and dtype in ("int32", "int64"):
            return Value(dtype, self.operand_ints(dtype))
        if choice < 0.5:
            return Value(dtype, self.array(dtype, list(array.shape), 1.0))
        if choice < 0.6:
            dtype = self.rng.choice(CORE)
            return Value(dtype, self.array(dtype, list(array.shape)))
        if choice < 0.7:
            return Value(dtype, array[..., None] if array.ndim < 17 else array)
        if choice < 0.8 and array.ndim:
            axis = self.rng.randrange(array.ndim)
            return Value(dtype, np.take(array, range(self.rng.randint(0, array.shape[axis])), axis))
        if choice < 0.9 and array.ndim:
            return Value(dtype, np.asarray(array[0], array.dtype) if array.shape[0] else array)
        return Value(dtype, self.array(dtype, self.fresh_shape()))


# ---- cases of the derivatives' tests as a start -------------------------------------------------


class _Recorder:
    """Stands for tf: keeps what a row is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.raw_ops = self

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.calls.append((name, arguments))
            raise _Recorded

        return call


class _Recorded(Exception):
    pass


def known_calls(rows: dict[str, Row]) -> dict[str, list[dict[str, Any]]]:
    """What tests/tf/row_cases.py calls rows with, by row."""
    sys.path.insert(0, str(ROOT / "tests/tf"))
    from row_cases import ROW_CASES

    found: dict[str, list[dict[str, Any]]] = {}
    for case in ROW_CASES:
        recorder = _Recorder()
        try:
            case.call(recorder, *case.draw())
        except Exception:
            # The recorder ends a case at its first row, or at what it cannot stand for.
            pass
        for name, arguments in recorder.calls[:1]:
            inputs = {each for each, _, _ in rows[name].inputs} if name in rows else set()
            if inputs and inputs <= set(arguments):
                found.setdefault(name, []).append(arguments)
    return found


def _as_value(given: Any, row: Row, kind: str, made: dict[str, str]) -> Value:
    array = np.asarray(given)
    if isinstance(given, np.ndarray):
        return Value(array.dtype.name, array)
    kind_of = row.attributes.get(kind, (kind, False))[0]
    names = allowed(kind_of)
    dtype = made.get(kind) or ("int32" if "int32" in names else (names or ["float32"])[0])
    return Value(dtype, array.astype(dtype))


def from_known(row: Row, arguments: dict[str, Any]) -> Case:
    inputs: dict[str, Any] = {}
    made: dict[str, str] = {}
    for name, count, kind in row.inputs:
        given = arguments[name]
        several = bool(count) or row.attributes.get(kind, ("", False))[0] == "list(type)"
        if several:
            inputs[name] = [_as_value(each, row, kind, made) for each in given]
            first = inputs[name][0] if inputs[name] else None
        else:
            inputs[name] = first = _as_value(given, row, kind, made)
        if first is not None:
            made.setdefault(kind, first.dtype)
    names = {name for name, _, _ in row.inputs}
    attributes = {}
    for key, given in arguments.items():
        if key in names:
            continue
        kind = row.attributes[key][0] if key in row.attributes else "string"
        is_dtype = not kind.startswith("{'") and kind not in (
            "int", "bool", "float", "string", "shape", "list(int)", "list(float)", "list(shape)",
        )  # fmt: skip
        attributes[key] = Dtype(given) if is_dtype and isinstance(given, str) else given
    return Case(row, "", inputs, attributes)


class Cases:
    """The case of each index: the rows in turn, everything else at random."""

    def __init__(self, seed: int, only: str = "") -> None:
        self.seed = seed
        self.rows = rows_of_the_table()
        self.known = known_calls(self.rows)
        self.names = sorted(name for name in self.rows if only in name)

    def __getitem__(self, index: int) -> Case:
        rng = random.Random(f"{self.seed} {index}")
        row = self.rows[self.names[index % len(self.names)]]
        maker = Maker(rng)
        if row.name in self.known and rng.random() < 0.6:
            case = from_known(row, rng.choice(self.known[row.name]))
            for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3])):
                maker.change(case)
        else:
            case = maker.from_row(row)
        case.mode = rng.choice(MODES)
        return case
