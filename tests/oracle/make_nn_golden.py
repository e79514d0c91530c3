"""Makes tests/nn/golden.txt.gz with PyTorch and TensorFlow.

Run in an environment of its own, by ``make oracle``. The cases stand in ``nn_cases_*.py``, each a
function of its framework's tensors; ``nn_oracle.py`` runs, differentiates and trains them.
"""
# needs: numpy torch tensorflow-cpu

from __future__ import annotations

import sys

import nn_cases_basic
import nn_cases_layers
import nn_cases_training
import numpy as np
from golden_format import PATH, write
from nn_oracle import Maker


def main() -> int:
    maker = Maker()
    for module in (nn_cases_basic, nn_cases_layers, nn_cases_training):
        module.add_cases(maker)
    names = [case.name for case in maker.cases]
    assert len(names) == len(set(names)), "two cases have one name"
    for case in maker.cases:
        for name, value in case.tensors.items():
            assert np.all(np.isfinite(value.astype(float))), f"{case.name}: {name} is not finite"
    PATH.parent.mkdir(parents=True, exist_ok=True)
    write(maker.cases)
    print(f"{PATH.name}: {len(names)} cases, {PATH.stat().st_size} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
