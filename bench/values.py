"""What the frameworks computed, compared element by element.

A case's check gives an array or, for training, named arrays in the canonical form of cases.py:
`loss`, `gradient/NAME` and `update/NAME`, what the first step added to the parameter. They are
stored by each framework's process and compared by Mica's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SAME = 1e-4  # of an array's largest element
GRADIENT = 2e-3  # gradients are sums of many products, in another order everywhere
UPDATE = 2e-2
# Adam's first update is the rate times a sign: where a gradient is rounding noise, it is noise too.
NOISE, LEAST_GRADIENT = 1e-2, 1e-4


def named(value: Any) -> dict[str, np.ndarray]:
    """A check's value as named arrays."""
    arrays = value if isinstance(value, dict) else {"value": value}
    return {name: np.asarray(array) for name, array in arrays.items()}


def step_values(loss: Any, gradients: dict, before: dict, after: dict) -> dict[str, np.ndarray]:
    """The values of a training case: of the loss, and of each parameter's gradient and update."""
    values = {"loss": np.asarray(loss, np.float64)}
    for name, gradient in gradients.items():
        values[f"gradient/{name}"] = np.asarray(gradient)
        values[f"update/{name}"] = np.asarray(after[name], np.float64) - np.asarray(before[name])
    return values


def store(path: str, value: Any) -> None:
    """Write a check's value where the comparison finds it."""
    np.savez(path, **named(value))


def _tolerance(name: str) -> float:
    kind = name.split("/", maxsplit=1)[0]
    return {"gradient": GRADIENT, "update": UPDATE}.get(kind, SAME)


def _counted(name: str, own: dict[str, np.ndarray]) -> np.ndarray | bool:
    """The elements that count."""
    if not name.startswith("update/"):
        return True
    gradient = np.abs(own["gradient/" + name.split("/", 1)[1]])
    return gradient > max(NOISE * gradient.max(initial=0), LEAST_GRADIENT)


def differences(own: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> list[str]:
    """What differs, in words; an empty list when all is the same."""
    found = [f"{name} is missing" for name in sorted(own.keys() ^ other.keys())]
    for name in sorted(own.keys() & other.keys()):
        a, b = np.asarray(own[name], np.float64), np.asarray(other[name], np.float64)
        if a.shape != b.shape:
            found.append(f"{name} has shape {b.shape}, not {a.shape}")
            continue
        scale = max(np.abs(a).max(initial=0), 1e-30)
        error = np.where(_counted(name, own), np.abs(a - b), 0)
        worst = np.nan_to_num(error, nan=np.inf).max(initial=0) / scale
        if not worst <= _tolerance(name):
            found.append(f"{name} differs by {worst:.2g} of its largest element")
    return found


def compare(paths: dict[str, str]) -> dict[str, list[str]]:
    """What the stored values of each framework differ in from Mica's."""
    own = dict(np.load(paths["mica"]))
    return {
        framework: differences(own, dict(np.load(path)))
        for framework, path in paths.items()
        if framework != "mica"
    }
