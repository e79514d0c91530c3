"""Files exchanged with TensorFlow, in both directions: `python exchange.py PYTHON [FOLDER]`.

PYTHON is that of an environment with TensorFlow and TensorBoard; this script runs with Mica's.
Each side writes checkpoints of trainings under way, records, messages and events; the other reads
them and goes on training. Both have to find what the writer says; of events TensorBoard's
reader has to find the same in both sides' files.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOLERANCE = 1e-5  # of numbers that were computed by either side


def differences(a: object, b: object, where: str = "") -> list[str]:
    """Where two values of JSON differ."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [d for key in a for d in differences(a[key], b[key], f"{where}/{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return [d for i, (x, y) in pairs for d in differences(x, y, f"{where}/{i}")]
    if isinstance(a, float) and isinstance(b, float):
        same = math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    else:
        same = a == b and type(a) is type(b)
    return [] if same else [f"{where}: {str(a)[:80]} and {str(b)[:80]}"]


def run(command: list, folder: Path) -> str:
    """What a program prints."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        sys.exit(f"interop: {' '.join(map(str, command))} failed\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> int:
    """Exchange and compare; the number of differences."""
    python = Path(sys.argv[1]).absolute()
    sides = {"mica": [sys.executable, "-m", "mica.tf"], "tensorflow": [python]}
    whole = Path(sys.argv[2] if sys.argv[2:] else tempfile.mkdtemp(prefix="interop-"))
    events, wrong = {}, 0
    for writer, reader in (("mica", "tensorflow"), ("tensorflow", "mica")):
        folder = whole / writer
        folder.mkdir(parents=True, exist_ok=True)
        run([*sides[writer], HERE / "program.py", "write", folder], folder)
        run([*sides[reader], HERE / "program.py", "read", folder], folder)
        expected, found = (
            json.loads((folder / f"{name}.json").read_text()) for name in ("expected", "found")
        )
        for part in expected:
            differ = differences(expected[part], found[part], part)
            wrong += len(differ)
            print(f"{part}: {writer} wrote, {reader} read:", differ[:5] or "the same", flush=True)
        events[writer] = json.loads(run([python, HERE / "events.py", folder / "events"], folder))
    differ = differences(events["mica"], events["tensorflow"], "events")
    wrong += len(differ)
    count = len(events["mica"])
    print(f"events: {count} of each side, read by TensorBoard:", differ[:5] or "the same")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))
