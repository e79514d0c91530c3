"""The corpus of TensorFlow cases: written once, run by the real TensorFlow and by mica.tf.

A case is a small function of ``tf``. There are three kinds:

``case(of, what, function, *inputs)``
    ``function(tf, *tensors)`` gives tensors. It runs eagerly, inside tf.function with the shapes of
    its inputs, and inside tf.function with every dimension unknown; so do its gradients with
    respect to the floating inputs, and on request its second derivatives.
``@plain(of, what)``
    ``function(tf)`` does everything itself and gives tensors, numbers, strings or structures.
``raises(of, what, words, function)``
    ``function(tf)`` raises; the class and the words of its message are compared.

Two more modes need no golden values of their own. ``vmap``: the first of two results of
tf.vectorized_map over the inputs and the inputs reversed is the value. ``forward``: the product of
the cotangents with a ForwardAccumulator's tangents is that of the gradients with the tangents of
the inputs.

``of`` names the symbol that the case is about, or several. The values that the real
TensorFlow gave are kept in golden/, a file for each of tf_cases/ with one line a case. This module
needs numpy alone; tests/oracle/make_tensorflow_golden.py writes the files.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import json
import os
import sys
import tempfile
import types
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "golden"
PASSING = HERE / "passing.txt"

# What a mode is compared with.
GOLDEN_OF = {
    "eager": "out",
    "static": "out",
    "unknown": "out",
    "grad": "grad",
    "grad_static": "grad",
    "grad_unknown": "grad",
    "second": "second",
    "second_unknown": "second",
    "plain": "out",
    "raises": "error",
    "vmap": "out",
    "forward": "grad",
}


# Files of cases about names that TensorFlow 2.21 has dropped. Their golden values are of the last
# TensorFlow that has them: tests/oracle/make_tensorflow_dropped.py takes them.
DROPPED = frozenset({"estimators", "layers_v1"})


@dataclass(frozen=True)
class Draw:
    """An input drawn from a stream that the case's name and the input's position choose."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0

    def array(self, seed: int) -> np.ndarray:
        stream = np.random.RandomState(seed)
        kind = np.dtype(self.dtype).kind
        if kind == "b":
            return stream.randint(0, 2, self.shape).astype(bool)
        if kind in "iu":
            return stream.randint(int(self.low), int(self.high), self.shape).astype(self.dtype)
        values = np.round(stream.uniform(self.low, self.high, self.shape), 3)
        if kind == "c":
            values = values + 1j * np.round(stream.uniform(self.low, self.high, self.shape), 3)
        return np.asarray(values).astype(self.dtype)


def f(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    """f32 between low and high."""
    return Draw(shape, "float32", low, high)


def pos(*shape: int, low: float = 0.2, high: float = 3.0) -> Draw:
    """f32 above zero."""
    return Draw(shape, "float32", low, high)


def unit(*shape: int) -> Draw:
    """f32 within (-1, 1)."""
    return Draw(shape, "float32", -0.95, 0.95)


def f64(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    return Draw(shape, "float64", low, high)


def f16(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    return Draw(shape, "float16", low, high)


def i32(*shape: int, low: int = -5, high: int = 6) -> Draw:
    return Draw(shape, "int32", low, high)


def i64(*shape: int, low: int = -5, high: int = 6) -> Draw:
    return Draw(shape, "int64", low, high)


def u8(*shape: int, low: int = 0, high: int = 256) -> Draw:
    return Draw(shape, "uint8", low, high)


def b(*shape: int) -> Draw:
    return Draw(shape, "bool")


def c64(*shape: int) -> Draw:
    return Draw(shape, "complex64")


def c128(*shape: int) -> Draw:
    return Draw(shape, "complex128")


def lit(values: Any, dtype: str = "float32") -> np.ndarray:
    """The input is these values."""
    return np.array(values, dtype)


@dataclass
class Case:
    name: str
    of: tuple[str, ...]
    function: Callable[..., Any]
    kind: str
    inputs: tuple[Any, ...] = ()
    modes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)  # the reasons, by mode
    file: str = ""

    @property
    def more_modes(self) -> tuple[str, ...]:
        """Modes that follow from the golden values of others: forward mode, and vectorized_map."""
        return tuple(mode for mode in self.possible_modes if mode not in self.left_out)

    @property
    def possible_modes(self) -> tuple[str, ...]:
        real = all(np.dtype(each.dtype).kind != "c" for each in self.inputs)
        return ("vmap",) * bool(self.inputs) + ("forward",) * ("grad" in self.modes and real)

    def arrays(self) -> list[np.ndarray]:
        seed = zlib.crc32(self.name.encode())
        return [
            each.array((seed + 7919 * i) % 2**32) if isinstance(each, Draw) else each
            for i, each in enumerate(self.inputs)
        ]


CASES: dict[str, Case] = {}
_file = ""


def _register(of: str | tuple[str, ...], what: str, **fields: Any) -> Case:
    symbols = (of,) if isinstance(of, str) else tuple(of)
    name = f"{symbols[0].removeprefix('tf.')}/{what.replace(' ', '_')}"
    assert name not in CASES, f"two cases are called {name}"
    CASES[name] = Case(name=name, of=symbols, file=_file, **fields)
    return CASES[name]


def _is_floating(spec: Any) -> bool:
    return np.dtype(spec.dtype).kind in "fc"


def case(
    of: str | tuple[str, ...],
    what: str,
    function: Callable[..., Any],
    *inputs: Any,
    second: bool = False,
    without: tuple[str, ...] | str = (),
    why: str = "",
    grad: str | None = None,
    vmap: str | None = None,
    forward: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """A case of tensors.

    A mode in ``without`` is left out; ``why`` says for which reason. ``grad``, ``vmap`` and
    ``forward`` leave out gradients, vectorized_map and forward mode, and are the reasons.
    """
    names = (without,) if isinstance(without, str) else without
    left_out = dict.fromkeys(names, why)
    left_out |= {k: v for k, v in (("vmap", vmap), ("forward", forward)) if v is not None}
    for mode, reason in [*left_out.items(), *([("grad", grad)] if grad is not None else [])]:
        assert isinstance(reason, str) and reason, f"{what}: say why {mode} is left out"
    modes = ["eager", "static"]
    if inputs:
        modes.append("unknown")
    if grad is None and any(_is_floating(each) for each in inputs):
        modes += ["grad", "grad_static", "grad_unknown"]
        if second:
            modes += ["second", "second_unknown"]
    _register(
        of,
        what,
        function=function,
        kind="case",
        inputs=inputs,
        modes=tuple(mode for mode in modes if mode not in left_out),
        rtol=rtol,
        atol=atol,
        left_out=left_out,
    )


def plain(
    of: str | tuple[str, ...], what: str, rtol: float | None = None, atol: float | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A case that does everything itself."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        _register(of, what, function=function, kind="plain", modes=("plain",), rtol=rtol, atol=atol)
        return function

    return wrap


def raises(of: str | tuple[str, ...], what: str, words: str, function: Callable[..., Any]) -> None:
    """A case that raises; every one of the words is in the message."""
    _register(
        of, what, function=function, kind="raises", modes=("raises",), words=tuple(words.split())
    )


def load() -> dict[str, Case]:
    """Every case of tests/tf/tf_cases, by name."""
    global _file
    if not CASES:
        sys.path.insert(0, str(HERE))
        try:
            for path in sorted((HERE / "tf_cases").glob("*.py")):
                _file = path.stem
                importlib.import_module(f"tf_cases.{path.stem}")
        finally:
            sys.path.remove(str(HERE))
    return CASES


# Values: what a case gives, as JSON.


def encode(tf: Any, value: Any) -> Any:
    """A value as JSON: arrays as [dtype, shape, numbers], slices and structures by their parts."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"python": value}
    if isinstance(value, bytes):
        return {"python": value.decode()}
    if isinstance(value, tf.IndexedSlices):
        shape = None if value.dense_shape is None else encode(tf, value.dense_shape)
        return {"slices": [encode(tf, value.indices), encode(tf, value.values), shape]}
    if isinstance(value, Mapping):
        return {"dict": {str(k): encode(tf, v) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"list": [encode(tf, each) for each in value]}
    if isinstance(value, (tf.TensorShape, tf.DType)):
        return {"python": str(value)}
    if getattr(value, "dtype", None) == tf.bfloat16:  # numpy has none
        return ["bfloat16", *encode(tf, tf.cast(value, tf.float32))[1:]]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, bytes):
        return {"python": value.decode()}
    return encode_array(np.asarray(value))


def encode_array(array: np.ndarray) -> list[Any]:
    kind = array.dtype.kind
    name = array.dtype.name
    if kind == "O" or kind == "S":
        flat = [e.decode() if isinstance(e, bytes) else str(e) for e in array.ravel().tolist()]
        return ["string", list(array.shape), flat]
    flat = array.ravel()
    if kind == "c":
        flat = flat.view(np.float32 if name == "complex64" else np.float64)
    if kind == "b":
        flat = flat.astype(np.int8)
    if kind == "V" or name == "bfloat16":
        flat = flat.astype(np.float32)
    if kind in "fcV" or name == "bfloat16":
        digits = {"float64": 17, "complex128": 17}.get(name, 9)
        numbers = [float(f"{float(v):.{digits}g}") for v in flat]
    else:
        numbers = flat.tolist()
    return [name, list(array.shape), numbers]


ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2, "float64": 1e-9, "complex128": 1e-9}


def difference(
    got: Any, want: Any, rtol: float | None, atol: float | None, at: str = ""
) -> str | None:
    """What differs between two encoded values, or None."""
    where = f" at {at}" if at else ""
    if isinstance(want, dict) or isinstance(got, dict):
        if not (isinstance(want, dict) and isinstance(got, dict)) or set(got) != set(want):
            return f"a {_sort(got)}, not a {_sort(want)}{where}"
        ((sort, content),) = want.items()
        other = got[sort]
        if sort == "python":
            same = other == content or (
                isinstance(content, float)
                and isinstance(other, float)
                and bool(np.isclose(other, content, rtol or 1e-6, atol or 0, equal_nan=True))
            )
            return None if same else f"{other!r}, not {content!r}{where}"
        if sort == "dict":
            if set(other) != set(content):
                return f"keys {list(other)}, not {list(content)}{where}"
            pairs = [(k, other[k], content[k]) for k in content]
        else:
            if len(other) != len(content):
                return f"{len(other)} values, not {len(content)}{where}"
            pairs = [(str(i), *pair) for i, pair in enumerate(zip(other, content, strict=True))]
        for key, a, c in pairs:
            if (a is None) != (c is None):
                return f"{'None' if a is None else 'a value'} where the other has one{where}"
            found = a is not None and difference(a, c, rtol, atol, f"{at}[{key}]")
            if found:
                return found
        return None
    return _array_difference(got, want, rtol, atol, where)


def _sort(encoded: Any) -> str:
    return next(iter(encoded)) if isinstance(encoded, dict) else "tensor"


def _array_difference(
    got: list[Any], want: list[Any], rtol: float | None, atol: float | None, where: str
) -> str | None:
    if got[0] != want[0]:
        return f"dtype {got[0]}, not {want[0]}{where}"
    if got[1] != want[1]:
        return f"shape {tuple(got[1])}, not {tuple(want[1])}{where}"
    if want[0] == "string" or np.dtype(_plain(want[0])).kind in "iub":
        return None if got[2] == want[2] else f"{_short(got[2])}, not {_short(want[2])}{where}"
    relative = rtol if rtol is not None else ROUNDING.get(want[0], 1e-5)
    a, c = np.array(got[2], np.float64), np.array(want[2], np.float64)
    scale = np.max(np.abs(c[np.isfinite(c)]), initial=0.0)
    absolute = atol if atol is not None else 0.1 * relative * min(max(scale, 0.3), 10.0)
    if np.allclose(a, c, relative, absolute, equal_nan=True):
        return None
    with np.errstate(invalid="ignore"):
        worst = int(np.argmax(np.where(np.isclose(a, c, equal_nan=True), -1, np.abs(a - c))))
    return f"{got[2][worst]}, not {want[2][worst]}, element {worst}{where}"


def _plain(name: str) -> str:
    return "float32" if name == "bfloat16" else name


def _short(values: list[Any]) -> str:
    text = str(values)
    return text if len(text) < 120 else text[:117] + "..."


# Running a case.


@contextlib.contextmanager
def captured_stderr() -> Iterator[Callable[[], str]]:
    """What is written to stderr meanwhile, by C too; a function that reads it is given."""
    with tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        text: list[str] = []
        try:
            yield lambda: text[0]
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            text.append(file.read().decode())


def cotangent(array: np.ndarray) -> np.ndarray:
    """A cotangent for a result: numbers between 0.5 and 1.5."""
    values = 0.5 + (np.arange(array.size) * 0.6180339887) % 1.0
    values = np.round(values, 3).reshape(array.shape)
    return values.astype(array.dtype)


def _flat(tf: Any, value: Any) -> list[Any]:
    if isinstance(value, tf.IndexedSlices):
        return [value]
    if isinstance(value, Mapping):
        return [leaf for each in value.values() for leaf in _flat(tf, each)]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _flat(tf, each)]
    return [value]


def _first(tf: Any, value: Any) -> Any:
    """Every tensor of a structure at its first place."""
    if isinstance(value, Mapping):
        return {key: _first(tf, each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_first(tf, each) for each in value]
    return value[0]


def _is_floating_tensor(tensor: Any) -> bool:
    return tensor is not None and (tensor.dtype.is_floating or tensor.dtype.is_complex)


class Runner:
    """Runs cases with a TensorFlow: the real one, or mica.tf."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf

    def run(self, case: Case, mode: str) -> Any:
        """What the case gives in a mode, as JSON."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if mode == "plain":
                return encode(self.tf, case.function(self.tf))
            if mode == "raises":
                return self._error(case)
            inputs = [self.tf.constant(each) for each in case.arrays()]
            if mode == "vmap":
                return encode(self.tf, self._vectorized(case, inputs))
            if mode == "forward":
                return encode(self.tf, self._forward(case, inputs))
            call, extra = self._call(case, mode, inputs)
            if mode.endswith("static"):
                call = self.tf.function(call, autograph=False)
            elif mode.endswith("unknown"):
                specs = [
                    self.tf.TensorSpec([None] * len(each.shape), each.dtype)
                    for each in inputs + extra
                ]
                call = self.tf.function(call, autograph=False, input_signature=specs)
            return encode(self.tf, call(*inputs, *extra))

    def _error(self, case: Case) -> Any:
        try:
            case.function(self.tf)
        except Exception as error:
            names = [each.__name__ for each in type(error).__mro__ if each is not object]
            return {"class": names, "words": [w for w in case.words if w in str(error)]}
        return {"class": None, "words": []}

    def _cotangent(self, tensor: Any) -> Any:
        """A cotangent like a tensor; numpy has no bfloat16."""
        tf = self.tf
        if tensor.dtype != tf.bfloat16:
            return tf.constant(cotangent(tensor.numpy()))
        return tf.cast(cotangent(tf.cast(tensor, tf.float32).numpy()), tf.bfloat16)

    def _vectorized(self, case: Case, inputs: list[Any]) -> Any:
        tf = self.tf
        stacked = [np.stack([each, each[::-1] if each.ndim else each]) for each in case.arrays()]
        call = tf.vectorized_map(
            lambda tensors: case.function(tf, *tensors), tuple(tf.constant(x) for x in stacked)
        )
        return _first(tf, call)

    def _forward(self, case: Case, inputs: list[Any]) -> float:
        tf = self.tf
        sources = [each for each in inputs if _is_floating_tensor(each)]
        tangents = [self._cotangent(each) for each in sources]
        with tf.autodiff.ForwardAccumulator(sources, tangents) as accumulator:
            outs = [e for e in _flat(tf, case.function(tf, *inputs)) if _is_floating_tensor(e)]
        total = 0.0
        for out in outs:
            jvp = accumulator.jvp(out)
            if jvp is not None:
                product = tf.cast(self._cotangent(out), tf.float64) * tf.cast(jvp, tf.float64)
                total += float(tf.reduce_sum(product))
        return total

    def _call(self, case: Case, mode: str, inputs: list[Any]) -> tuple[Callable[..., Any], list]:
        tf = self.tf
        if mode in ("eager", "static", "unknown"):
            return (lambda *tensors: case.function(tf, *tensors)), []
        outs = _flat(tf, case.function(tf, *inputs))
        extra = [self._cotangent(each) for each in outs if _is_floating_tensor(each)]
        order = 2 if mode.startswith("second") else 1
        n = len(inputs)

        def gradients(*tensors: Any) -> list[Any]:
            return self._gradients(case, tensors[:n], list(tensors[n:]), order)

        return gradients, extra

    def _gradients(self, case: Case, tensors: tuple, cotangents: list, order: int) -> list[Any]:
        tf = self.tf
        sources = [each for each in tensors if _is_floating_tensor(each)]
        if order == 1:
            with tf.GradientTape() as tape:
                for each in sources:
                    tape.watch(each)
                outs = _flat(tf, case.function(tf, *tensors))
                targets = [each for each in outs if _is_floating_tensor(each)]
            return tape.gradient(targets, sources, output_gradients=cotangents)
        with tf.GradientTape() as outer:
            for each in sources:
                outer.watch(each)
            first = self._gradients(case, tensors, cotangents, 1)
            total = tf.add_n([tf.reduce_sum(each * each) for each in first if each is not None])
        return outer.gradient(total, sources)


def value(tf: Any, symbol: str) -> Any:
    """What a symbol such as tf.math.add stands for; modules on the way are imported."""
    at = tf
    for part in symbol.split(".")[1:]:
        try:
            at = getattr(at, part)
        except AttributeError:
            if not isinstance(at, types.ModuleType):
                raise
            at = importlib.import_module(f"{at.__name__}.{part}")
    return at


def missing(tf: Any, symbol: str) -> bool:
    """Whether ``tf`` lacks a symbol such as tf.math.add."""
    try:
        value(tf, symbol)
    except (AttributeError, ImportError):
        return True
    return False


# The files.


def write_golden(head: dict[str, Any], lines: list[dict[str, Any]], folder: Path = GOLDEN) -> None:
    """Write head.json and a file for each file of cases; the same values give the same bytes."""
    folder.mkdir(exist_ok=True)
    by_file: dict[str, list[dict[str, Any]]] = {}
    for line in sorted(lines, key=lambda line: line["name"]):
        by_file.setdefault(load()[line["name"]].file, []).append(line)
    for old in folder.glob("*.json.gz"):
        if old.name.removesuffix(".json.gz") not in by_file:
            old.unlink()
    (folder / "head.json").write_text(json.dumps(head, indent=1, sort_keys=True) + "\n")
    for name, its_lines in by_file.items():
        text = "".join(
            json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in its_lines
        )
        path = folder / f"{name}.json.gz"
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write(text.encode())


def read_golden(folder: Path = GOLDEN) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What made the golden values, and the golden values by the case's name."""
    lines = []
    for path in sorted(folder.glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines += [json.loads(line) for line in file]
    head = json.loads((folder / "head.json").read_text())
    return head, {line["name"]: line for line in lines}


def read_passing(path: Path = PASSING) -> dict[str, set[str]]:
    """The modes in which cases are known to pass, by the case's name."""
    if not path.exists():
        return {}
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {name: set(modes) for name, *modes in (row for row in rows if row)}


def write_passing(passing: dict[str, set[str]], path: Path = PASSING) -> None:
    rows = [f"{name} {' '.join(sorted(modes))}" for name, modes in sorted(passing.items()) if modes]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def compare(case: Case, mode: str, got: Any, golden: dict[str, Any]) -> str | None:
    """What differs from the stored golden value, or None."""
    want = golden[GOLDEN_OF[mode]]
    if mode == "raises":
        if got["class"] is None:
            return "nothing was raised"
        if want["class"][0] not in got["class"]:
            return f"{got['class'][0]}, not {want['class'][0]}"
        lost = [word for word in want["words"] if word not in got["words"]]
        return f"the message lacks {lost}" if lost else None
    if mode == "forward":
        return _product_difference(case, got["python"], want)
    if mode.startswith("second"):
        got, want = _without_zeros(got), _without_zeros(want)
    return difference(got, want, case.rtol, case.atol)


def _without_zeros(gradients: Any) -> Any:
    """Second derivatives that are zero may as well be None."""
    none = {"python": None}
    parts = [
        none if isinstance(each, list) and not np.any(np.array(each[2])) else each
        for each in gradients["list"]
    ]
    return {"list": parts}


def _product_difference(case: Case, got: float, gradients: dict[str, Any]) -> str | None:
    """Whether a sum of cotangents times tangents is that of the gradients times tangents."""
    total, scale = 0.0, 0.0
    floating = [each for each in case.arrays() if each.dtype.kind == "f"]
    for source, gradient in zip(floating, gradients["list"], strict=True):
        tangent = cotangent(source).astype(np.float64)
        if isinstance(gradient, dict) and "slices" in gradient:
            indices, values, _ = gradient["slices"]
            dense = np.zeros_like(tangent)
            shape = (-1, *tangent.shape[1:])
            np.add.at(dense, np.array(indices[2], int), np.array(values[2]).reshape(shape))
        elif isinstance(gradient, dict):
            continue
        else:
            dense = np.array(gradient[2]).reshape(gradient[1])
        total += float(np.sum(dense * tangent))
        scale += float(np.sum(np.abs(dense * tangent)))
    relative = 20 * (case.rtol or max(ROUNDING.get(str(each.dtype), 1e-5) for each in floating))
    same = abs(got - total) <= relative * max(scale, 1e-5) if np.isfinite(total) else got == total
    if same or (np.isnan(got) and np.isnan(total)):
        return None
    return f"{got}, not {total}"
