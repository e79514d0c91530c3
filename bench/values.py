"""What the frameworks computed, compared element by element.

A case's check gives an array or, for training, named arrays in the canonical form of cases.py:
`loss`, `gradient/NAME` and `update/NAME`, what the first step added to the parameter. They are
stored by each framework's process and compared by Mica's.

Where a framework also gives `exact/NAME`, computed in float64, gradients and updates are compared
with those: a net with batch normalization and relu can be so conditioned that float32 gradients of
two right frameworks differ by percents, and then the question is which is closer.
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


def _distance(name: str, a: np.ndarray, b: np.ndarray, own: dict[str, np.ndarray]) -> float:
    """The largest difference of elements that count, by the largest element of a."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    error = np.where(_counted(name, own), np.abs(a - b), 0)
    scale = max(np.abs(a).max(initial=0), 1e-30)
    return float(np.nan_to_num(error, nan=np.inf).max(initial=0) / scale)


def differences(
    own: dict[str, np.ndarray],
    other: dict[str, np.ndarray],
    exact: dict[str, np.ndarray] | None = None,
) -> list[str]:
    """What differs, in words; an empty list when all is the same."""
    found = [f"{name} is missing" for name in sorted(own.keys() ^ other.keys())]
    far = []
    for name in sorted(own.keys() & other.keys()):
        a, b = np.asarray(own[name]), np.asarray(other[name])
        if a.shape != b.shape:
            found.append(f"{name} has shape {b.shape}, not {a.shape}")
            continue
        worst = _distance(name, a, b, own)
        if not worst <= _tolerance(name):
            words = f"{name} differs by {worst:.2g} of its largest element"
            (far if exact and name in exact else found).append(words)
    return found + (far if far and not _as_exact(own, other, exact or {}) else [])


def _as_exact(own: dict, other: dict, exact: dict) -> bool:
    """Whether ours lie no farther from float64's than twice as far as the other's.

    Which arrays suffer most is chance: the worst and the middle of all are compared.
    """

    def away(values: dict, kind: str) -> np.ndarray:
        names = [n for n in exact if n.startswith(kind)]
        return np.array([_distance(n, exact[n], values[n], exact) for n in names] or [0.0])

    def near(kind: str) -> bool:
        mine, theirs, least = away(own, kind), away(other, kind), _tolerance(kind)
        return all(of(mine) <= max(least, 2 * of(theirs)) for of in (np.max, np.median))

    return near("gradient/") and near("update/")


def compare(paths: dict[str, str]) -> dict[str, list[str]]:
    """What the stored values of each framework differ in from Mica's."""
    exact, computed = {}, {}
    for framework, path in paths.items():
        stored = dict(np.load(path))
        exact |= {n.removeprefix("exact/"): stored.pop(n) for n in list(stored) if "exact/" in n}
        computed[framework] = stored
    own = computed.pop("mica")
    return {name: differences(own, other, exact) for name, other in computed.items()}
