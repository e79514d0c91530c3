"""Writes tests/tf/api.txt: TensorFlow's public names and their arguments.

scripts/oracle.sh tensorflow_api
"""

# needs: tensorflow-cpu==2.21.0

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tf"))

import api
import tensorflow as tf


def main() -> None:
    """Write the file."""
    rows = api.walk(tf)
    api.write(rows)
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
