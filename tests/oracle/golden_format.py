"""The golden values of tests/nn: what layers, losses and optimizers give in PyTorch and TensorFlow.

The file is gzipped text, one case after the other::

    case conv2d_strided
    kind conv2d                  the function of mica/nn.h it is for
    set strides 2 2              settings; what is not set has its default
    tensor in.x f32 2,3 : 1 2 3 4 5 6
    end

Tensors are called ``in.*`` (operands), ``out.*`` (results in order), ``ct.*`` (cotangents of
results), ``grad.*`` (gradients of sum(out ct) with respect to operands), and for the 20 steps of
training ``target``, ``trained.*`` and ``losses``: the loss is mean((first result - target)^2), each
step is w -= rate gradient for every operand with a ``trained.*``.

This module needs numpy alone.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PATH = Path(__file__).resolve().parents[1] / "nn" / "golden.txt.gz"
DTYPES = {"f32": np.float32, "i32": np.int32, "bool": np.bool_}


@dataclass
class Case:
    """One case: its function, settings, and arrays by name. Floats are kept in f64."""

    name: str
    kind: str
    settings: dict[str, list[str]] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)

    def group(self, prefix: str) -> dict[str, np.ndarray]:
        """The tensors ``prefix.*`` by what follows the dot, in order."""
        start = prefix + "."
        return {k[len(start) :]: v for k, v in self.tensors.items() if k.startswith(start)}


def _number(value: float) -> str:
    return f"{value:.10g}"


def _line(name: str, array: np.ndarray) -> str:
    dtype = {"f": "f32", "i": "i32", "b": "bool"}[array.dtype.kind]
    dims = ",".join(str(n) for n in array.shape)
    values = array.ravel().tolist()
    if dtype == "f32":
        text = " ".join(_number(v) for v in values)
    else:
        text = " ".join(str(int(v)) for v in values)
    return f"tensor {name} {dtype} {dims} : {text}"


def write(cases: list[Case], path: Path = PATH) -> None:
    """Write the cases; the same cases give the same bytes."""
    lines = []
    for case in cases:
        lines += [f"case {case.name}", f"kind {case.kind}"]
        lines += [f"set {k} {' '.join(v)}" for k, v in case.settings.items()]
        lines += [_line(k, v) for k, v in case.tensors.items()]
        lines.append("end")
    text = ("\n".join(lines) + "\n").encode()
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text)


def read(path: Path = PATH) -> list[Case]:
    """Read the cases."""
    cases: list[Case] = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            word, _, rest = line.strip().partition(" ")
            if word == "case":
                cases.append(Case(rest, ""))
            elif word == "kind":
                cases[-1].kind = rest
            elif word == "set":
                name, *values = rest.split()
                cases[-1].settings[name] = values
            elif word == "tensor":
                head, _, numbers = rest.partition(" :")
                name, dtype, *dims = head.split()
                shape = [int(n) for n in dims[0].split(",")] if dims else []
                kind = np.float64 if dtype == "f32" else DTYPES[dtype]
                flat = np.array([float(v) for v in numbers.split()]).astype(kind)
                cases[-1].tensors[name] = flat.reshape(shape)
    return cases
