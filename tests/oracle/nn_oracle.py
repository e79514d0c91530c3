"""Runs a function of PyTorch or TensorFlow forward, differentiates it, trains it, in f64."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# PyTorch's compiler brings an LLVM of its own, which does not bear TensorFlow's beside it.
sys.modules["triton"] = None

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import torch  # noqa: E402
from golden_format import Case  # noqa: E402

STEPS = 20
Arrays = dict[str, np.ndarray]


class Torch:
    """PyTorch in f64."""

    @staticmethod
    def tensors(arrays: Arrays, wrt: list[str]) -> dict[str, torch.Tensor]:
        out = {}
        for name, value in arrays.items():
            kind = {"f": torch.float64, "i": torch.int64, "b": torch.bool}[value.dtype.kind]
            out[name] = torch.tensor(value, dtype=kind, requires_grad=name in wrt)
        return out

    @classmethod
    def run(cls, f: Callable, arrays: Arrays, wrt: list[str], loss: Callable) -> tuple:
        """Results of f, the loss of them, and its gradients."""
        given = cls.tensors(arrays, wrt)
        results = f(**given)
        value = loss(results, lambda a: torch.tensor(a, dtype=torch.float64))
        found = ()
        if wrt:
            found = torch.autograd.grad(value, [given[name] for name in wrt], allow_unused=True)
        gradients = {
            name: np.zeros_like(arrays[name]) if d is None else d.numpy()
            for name, d in zip(wrt, found, strict=True)
        }
        return {k: v.detach().numpy() for k, v in results.items()}, float(value), gradients


class TensorFlow:
    """TensorFlow in f64."""

    @staticmethod
    def run(f: Callable, arrays: Arrays, wrt: list[str], loss: Callable) -> tuple:
        """Results of f, the loss of them, and its gradients."""
        kinds = {"f": tf.float64, "i": tf.int32, "b": tf.bool}
        given = {k: tf.constant(v, kinds[v.dtype.kind]) for k, v in arrays.items()}
        with tf.GradientTape() as tape:
            for name in wrt:
                tape.watch(given[name])
            results = f(**given)
            value = loss(results, lambda a: tf.constant(a, tf.float64))
        found = tape.gradient(value, [given[name] for name in wrt]) if wrt else []
        gradients = {
            name: np.zeros_like(arrays[name]) if d is None else tf.convert_to_tensor(d).numpy()
            for name, d in zip(wrt, found, strict=True)
        }
        return {k: v.numpy() for k, v in results.items()}, float(value), gradients


class Maker:
    """Collects cases and draws their numbers."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.random = np.random.default_rng(1234)

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Odd multiples of 1/128: short in text, exact in f32, at no kink."""
        draws = self.random.standard_normal(shape) * scale
        return np.asarray(np.floor(draws * 64) / 64 + 1 / 128)

    def positive(self, *shape: int) -> np.ndarray:
        return np.abs(self.normal(*shape)) + 1 / 8

    def unit(self, *shape: int) -> np.ndarray:
        """Between 0 and 1."""
        return np.asarray(np.floor(self.random.random(shape) * 60) / 64 + 3 / 128)

    def distinct(self, *shape: int) -> np.ndarray:
        """No two elements are equal."""
        n = int(np.prod(shape))
        return (self.random.permutation(n).reshape(shape) - n / 2) / 32 + 1 / 128

    def integers(self, high: int, *shape: int) -> np.ndarray:
        return self.random.integers(0, high, shape).astype(np.int32)

    def bools(self, *shape: int) -> np.ndarray:
        return self.random.random(shape) < 0.4

    def add(
        self,
        name: str,
        kind: str,
        f: Callable,
        operands: Arrays,
        *,
        settings: dict | None = None,
        wrt: list[str] | None = None,
        train: list[str] | None = None,
        rate: float = 0.05,
        framework: type = Torch,
        only: str = "",
    ) -> Case:
        """Add a case of function ``kind``: ``f`` computes it from the operands by name.

        Parameters
        ----------
        wrt : list of str, optional
            Operands to differentiate by; by default all floats.
        train : list of str, optional
            Operands that 20 steps of training change; by default those but ``x``, or ``x``.
        only : str, optional
            The one result that is differentiated; by default all floats are.
        """
        floats = [k for k, v in operands.items() if v.dtype.kind == "f"]
        wrt = floats if wrt is None else wrt
        case = Case(name, kind)
        for key, value in (settings or {}).items():
            values = value if isinstance(value, list | tuple) else [value]
            case.settings[key] = [str(int(v)) if isinstance(v, bool) else str(v) for v in values]
        case.tensors |= {f"in.{k}": v for k, v in operands.items()}

        outputs, _, _ = framework.run(f, operands, [], lambda results, constant: 0.0)
        cotangents = {
            k: self.normal(*v.shape)
            for k, v in outputs.items()
            if v.dtype.kind == "f" and wrt and only in ("", k)
        }

        def weighted(results: dict, constant: Callable) -> object:
            total = 0.0
            for k, ct in cotangents.items():
                terms = results[k] * constant(ct)
                total = total + (terms.sum() if framework is Torch else tf.reduce_sum(terms))
            return total

        _, _, gradients = framework.run(f, operands, wrt, weighted)
        case.tensors |= {f"out.{k}": v for k, v in outputs.items()}
        case.tensors |= {f"ct.{k}": v for k, v in cotangents.items()}
        case.tensors |= {f"grad.{k}": v for k, v in gradients.items()}

        if train is None:
            train = [k for k in wrt if k != "x"] or wrt
        if train:
            self._train(case, f, operands, outputs, train, rate, framework)
        self.cases.append(case)
        return case

    def _train(
        self,
        case: Case,
        f: Callable,
        operands: Arrays,
        outputs: Arrays,
        train: list[str],
        rate: float,
        framework: type,
    ) -> None:
        first = next(iter(outputs))
        target = self.normal(*outputs[first].shape)

        def mean_square(results: dict, constant: Callable) -> object:
            error = (results[first] - constant(target)) ** 2
            return error.mean() if framework is Torch else tf.reduce_mean(error)

        current, losses = dict(operands), []
        for _ in range(STEPS):
            _, loss, gradients = framework.run(f, current, train, mean_square)
            losses.append(loss)
            current |= {k: current[k] - rate * gradients[k] for k in train}
        assert np.all(np.isfinite(losses)), case.name
        case.settings["rate"] = [str(rate)]
        case.tensors["target"] = target
        case.tensors["losses"] = np.array(losses)
        case.tensors |= {f"trained.{k}": current[k] for k in train}
