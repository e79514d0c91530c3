"""Runs a spelled call with a module that speaks TensorFlow and says what came of it.

The answer is plain data: {"r": results, "s": static shapes, "g": first derivatives, "h": second}
or {"e": class of the error, "w": where}. A result is [dtype, shape, contents]; the contents of up
to KEPT elements are kept whole, of more a sample, two sums and a count of what is not finite.

Modes: `eager`; `known`, a tf.function whose arguments have known shapes; `dims`, with unknown
dimensions; `rank`, with unknown rank. Tensors are the function's arguments, all else is part of
the program. Derivatives are taken of every floating result, each weighted element by element, with
respect to every floating tensor.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
import spelling

KEPT = 10
SAMPLED = 5


class Leaf:
    """Where a tensor stands among the arguments."""

    def __init__(self, number: int):
        self.number = number


class Composite:
    """A tensor of several arrays whose values are a leaf: `make` builds it of its values."""

    def __init__(self, make, leaf: Leaf):
        self.make = make
        self.leaf = leaf


class Reader:
    """Reads spelled arguments; tensors become leaves."""

    def __init__(self, tf):
        self.tf = tf
        self.leaves: list = []

    def read(self, spelled):
        if isinstance(spelled, list):
            return [self.read(part) for part in spelled]
        if not isinstance(spelled, dict):
            return spelled
        (key, value), *_ = spelled.items()
        if key == "t":
            return self.array(*value)
        if key == "v":
            how, dtype, elements = value
            tensor = self.tf.constant(elements, dtype)
            return self.leaf(tensor) if how == "tensor" else tensor.numpy()
        if key == "sparse":
            return self.sparse(*value)
        if key == "ragged":
            return self.ragged(*value)
        if key == "slices":
            return self.slices(*value)
        if key == "d":
            return getattr(self.tf, value)
        if key == "f":
            return float(value)
        if key == "fn":
            return find(self.tf, value)
        if key == "b":
            return value.encode("latin-1")
        if key == "u":
            return tuple(self.read(part) for part in value)
        if key == "s":
            return self.tf.TensorShape(value)
        if key == "c":
            return complex(value, spelled["i"])
        raise KeyError(key)

    def array(self, how, dtype, shape, kind, seed):
        found = spelling.values(dtype, shape, kind, seed)
        if how == "numpy":
            return found
        if how == "list":
            return found.tolist()
        tensor = self.tf.constant(found, shape=shape, dtype=None if found.size else _plain(dtype))
        if dtype == "bfloat16":
            tensor = self.tf.cast(tensor, self.tf.bfloat16)
        return self.leaf(tensor)

    def leaf(self, tensor) -> Leaf:
        self.leaves.append(tensor)
        return Leaf(len(self.leaves) - 1)

    def sparse(self, dtype, shape, kind, seed, full=False):
        """Half of the places, or a value in every row's first places."""
        places = spelling.places(shape, seed, full)
        values = self.array("tensor", dtype, [len(places)], kind, seed)
        indices = np.array(places, np.int64).reshape(len(places), len(shape))
        return Composite(lambda found: self.tf.SparseTensor(indices, found, shape), values)

    def ragged(self, dtype, lengths, inner, kind, seed):
        values = self.array("tensor", dtype, [sum(lengths), *inner], kind, seed)
        rows = np.array(lengths, np.int64)
        return Composite(lambda found: self.tf.RaggedTensor.from_row_lengths(found, rows), values)

    def slices(self, dtype, n, inner, seed):
        """IndexedSlices of the first n rows."""
        values = self.array("tensor", dtype, [n, *inner], "uniform", seed)
        return Composite(lambda found: self.tf.IndexedSlices(found, list(range(n))), values)


def _plain(dtype):
    return "float32" if dtype == "bfloat16" else dtype


def fill(argument, tensors):
    """Arguments with tensors in the leaves' places."""
    if isinstance(argument, Leaf):
        return tensors[argument.number]
    if isinstance(argument, Composite):
        return argument.make(tensors[argument.leaf.number])
    if isinstance(argument, list):
        return [fill(part, tensors) for part in argument]
    if isinstance(argument, tuple):
        return tuple(fill(part, tensors) for part in argument)
    return argument


# Functions whose vectors have a free sign or phase: their absolute values are compared.
FREE_PHASE = ("linalg.eigh", "linalg.svd", "linalg.qr", "eig")


def without_phase(tf, name: str, results: list) -> list:
    if name not in FREE_PHASE:
        return results
    return [tf.abs(value) for value in results]


def flatten(tf, result) -> list:
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in flatten(tf, result[key])]
    if isinstance(result, (list, tuple)) and not isinstance(result, tf.TensorShape):
        return [leaf for part in result for leaf in flatten(tf, part)]
    if isinstance(result, (tf.SparseTensor, tf.RaggedTensor)):
        return list(tf.nest.flatten(result, expand_composites=True))
    if isinstance(result, tf.IndexedSlices):
        return [tf.convert_to_tensor(result)]
    return [result]


def is_inexact(tf, value) -> bool:
    return tf.is_tensor(value) and (value.dtype.is_floating or value.dtype.is_complex)


def weights(tf, value, order):
    """Weights that differ from element to element, in the value's dtype and shape."""
    real = tf.float64 if value.dtype in (tf.float64, tf.complex128) else tf.float32
    angles = tf.cast(tf.range(tf.size(value)), real) + tf.constant(float(order), real)
    cosines = tf.reshape(tf.cos(angles), tf.shape(value))
    if value.dtype.is_complex:
        return tf.complex(cosines, tf.sin(cosines))
    return tf.cast(cosines, value.dtype)


def dense(tf, gradient):
    return tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient


def differentiated(tf, function, order):
    """The function that returns (results, first derivatives, second derivatives)."""

    def first(tensors, seen):
        sources = [t for t in tensors if is_inexact(tf, t)]
        with tf.GradientTape(persistent=False) as tape:
            for tensor in sources:
                tape.watch(tensor)
            result = flatten(tf, function(tensors))
        targets = [value for value in result if is_inexact(tf, value)]
        seen[:] = [sources, targets]
        if not sources or not targets:
            return result, []
        found = tape.gradient(
            targets, sources, output_gradients=[weights(tf, value, 1) for value in targets]
        )
        return result, [dense(tf, gradient) for gradient in found]

    def second(tensors):
        seen: list = []
        if order < 2:
            result, gradients = first(tensors, seen)
            return result, gradients, []
        sources = [t for t in tensors if is_inexact(tf, t)]
        with tf.GradientTape() as tape:
            for tensor in sources:
                tape.watch(tensor)
            result, gradients = first(tensors, seen)
        targets = [value for value in gradients if value is not None]
        if not targets:
            return result, gradients, []
        found = tape.gradient(
            targets, sources, output_gradients=[weights(tf, value, 2) for value in targets]
        )
        return result, gradients, [dense(tf, gradient) for gradient in found]

    return second


def number(value: float, digits: int):
    if value != value:
        return "n"
    if math.isinf(value):
        return "i" if value > 0 else "-i"
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


DIGITS = {"float16": 4, "bfloat16": 3, "float32": 7, "complex64": 7}


def contents(array: np.ndarray, dtype: str):
    """What is kept of an array's elements."""
    if dtype == "string":
        texts = [
            text if isinstance(text, bytes) else str(text).encode()
            for text in array.ravel().tolist()
        ]
        if len(texts) <= KEPT:
            return [text.decode("latin-1") for text in texts]
        return {"crc": zlib.crc32(b"\0".join(texts)), "e": texts[0].decode("latin-1")}
    if array.dtype.kind in "iub":
        flat = [int(value) for value in array.ravel().tolist()]
        if len(flat) <= KEPT:
            return flat
        return {"crc": zlib.crc32(",".join(map(str, flat)).encode()), "e": flat[:SAMPLED]}
    digits = DIGITS.get(dtype, 11)
    flat = array.ravel()
    if flat.dtype.kind == "c":
        parts = "complex128" if dtype == "complex128" else "complex64"
        flat = flat.astype(parts).view("float64" if parts == "complex128" else "float32")
    flat = flat.astype(np.float64)
    if flat.size <= KEPT:
        return [number(value, digits) for value in flat.tolist()]
    finite = np.where(np.isfinite(flat), flat, 0.0)
    positions = np.linspace(0, flat.size - 1, SAMPLED).astype(int)
    waves = np.cos(np.arange(flat.size) * 0.7 + 0.3)
    not_finite = [
        [int(i), number(flat[i], digits)] for i in np.nonzero(~np.isfinite(flat))[0][:SAMPLED]
    ]
    return {
        "e": [number(flat[i], digits) for i in positions],
        "sum": number(float(np.abs(finite).sum()), 7),
        "wave": number(float((finite * waves).sum()), 7),
        "odd": [int((~np.isfinite(flat)).sum()), *not_finite],
    }


def record(tf, value):
    """A result as plain data."""
    if value is None:
        return None
    if tf.is_tensor(value):
        dtype = value.dtype.name
        if dtype in ("variant", "resource"):
            return [dtype, list(value.shape), []]
        shape = [int(n) for n in value.shape]
        if dtype == "bfloat16":
            value = tf.cast(value, tf.float32)
        return [dtype, shape, contents(np.asarray(value.numpy()), dtype)]
    if isinstance(value, np.ndarray) or isinstance(value, np.generic):
        array = np.asarray(value)
        dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
        return ["np." + dtype, list(array.shape), contents(array, dtype)]
    if isinstance(value, float):
        return ["py.float", [], [number(value, 11)]]
    if isinstance(value, (bool, int)):
        return ["py." + type(value).__name__, [], [int(value)]]
    if isinstance(value, (str, bytes)):
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        return ["py." + type(value).__name__, [], [text]]
    if isinstance(value, tf.DType):
        return ["py.dtype", [], [value.name]]
    if isinstance(value, tf.TensorShape):
        return ["py.shape", [], [str(value)]]
    return ["py.object", [], []]


def static_shape(tf, value):
    if not tf.is_tensor(value):
        return "-"
    shape = value.shape
    return None if shape.rank is None else [n if n is None else int(n) for n in shape]


def find(tf, name: str):
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _signature(tf, tensor, mode):
    if mode == "rank":
        return tf.TensorSpec(None, tensor.dtype)
    if mode == "dims":
        return tf.TensorSpec([None] * len(tensor.shape), tensor.dtype)
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _run(tf, call):
    function = find(tf, call["f"])
    reader = Reader(tf)
    spelled = [(name, reader.read(value)) for name, value in call["a"]]
    tensors = reader.leaves
    statics: list = []

    def program(tensors):
        given = [(name, fill(value, tensors)) for name, value in spelled]
        positional = [value for name, value in given if name is None]
        result = function(*positional, **{name: value for name, value in given if name is not None})
        result = without_phase(tf, call["f"], flatten(tf, result))
        if call["m"] != "eager":
            statics[:] = [static_shape(tf, leaf) for leaf in result]
        return result

    run = differentiated(tf, program, call["o"]) if call["o"] else None

    def body(*tensors):
        if run is None:
            return flatten(tf, program(list(tensors))), [], []
        return run(list(tensors))

    if call["m"] == "eager":
        return body(*tensors), statics
    kept: dict = {}

    def traced(*tensors):
        # Only tensors leave a function: other results are kept aside, None stays in its place.
        found = body(*tensors)
        kept["parts"] = [
            [("t", None) if tf.is_tensor(leaf) else ("v", leaf) for leaf in part] for part in found
        ]
        return [leaf for part in found for leaf in part if tf.is_tensor(leaf)]

    signature = [_signature(tf, tensor, call["m"]) for tensor in tensors]
    answers = iter(tf.function(traced, signature, autograph=False)(*tensors))
    parts = [
        [next(answers) if tag == "t" else leaf for tag, leaf in part] for part in kept["parts"]
    ]
    return parts, statics


def answer(tf, call) -> dict:
    """What a call answers, as plain data."""
    tf.random.set_seed(7)
    try:
        (results, first, second), statics = _run(tf, call)
        found = {"r": [record(tf, value) for value in results]}
        if call["m"] != "eager":
            found["s"] = statics
        if call["o"]:
            found["g"] = [record(tf, value) for value in first]
        if call["o"] > 1:
            found["h"] = [record(tf, value) for value in second]
        return found
    except Exception as error:
        text = str(error)  # a graph's errors say first where, and then what
        text = text if len(text) < 900 else text[:500] + text[-400:]
        return {"e": type(error).__name__, "w": text}
