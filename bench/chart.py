"""Draws the results of run.py: `python chart.py results.json picture.png`.

For every case one group of bars: speeds relative to the best peer, on a logarithmic scale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from cases import CASES

NAMES = {"mica": "Mica", "tf": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
COLOURS = {"mica": "#c0392b", "tf": "#f5b041", "torch": "#85929e", "jax": "#5499c7"}


def main() -> None:
    """Read, draw, write."""
    results = json.loads(Path(sys.argv[1]).read_text())
    entries = {n: e for n, e in results["cases"].items() if e.get("best_peer")}
    figure, axes = plt.subplots(figsize=(9, 1 + 0.42 * len(entries)))
    for row, (name, entry) in enumerate(entries.items()):
        best = entry["values"][entry["best_peer"]]
        for k, framework in enumerate(NAMES):
            value = entry["values"].get(framework)
            if not value:
                continue
            speed = value / best if CASES[name].better == "more" else best / value
            axes.barh(row + 0.2 * (k - 1.5), speed, 0.2, left=0, color=COLOURS[framework])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(entries)), list(entries))
    axes.invert_yaxis()
    axes.set_xlabel("speed, best peer = 1 (longer is better)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[f]) for f in NAMES]
    axes.legend(handles, NAMES.values(), loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=120)


if __name__ == "__main__":
    main()
