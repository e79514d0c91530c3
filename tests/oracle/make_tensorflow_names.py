"""Writes python/mica/tf/_public_names.json: the names of TensorFlow's public namespaces.

    scripts/oracle.sh tensorflow_names

What Mica lacks of these is an error that says so (python/mica/tf/_missing.py). Keras' names are not
among them: tf.keras is Keras itself.
"""

# needs: tensorflow-cpu==2.21.0

import json
import types
from pathlib import Path

import tensorflow as tf

PLACE = Path(__file__).resolve().parents[2] / "python/mica/tf/_public_names.json"
ELSEWHERE = {"keras", "compat.v2", "compat.v1.compat", "compat.v1.keras", "compat.v1.raw_ops"}


def walk(module: types.ModuleType, path: str, found: dict[str, str]) -> None:
    """Note the names of a namespace and of those below it."""
    names = [name for name in dir(module) if not name.startswith("_")]
    found[path] = " ".join(sorted(names))
    for name in names:
        below = f"{path}.{name}".lstrip(".")
        value = None if below in ELSEWHERE else getattr(module, name, None)
        # Keras' lazy modules have no name.
        if isinstance(value, types.ModuleType) and "_api" in vars(value).get("__name__", ""):
            walk(value, below, found)


def main() -> None:
    """Write the file."""
    found: dict[str, str] = {}
    walk(tf, "", found)
    text = json.dumps({"version": tf.__version__, "names": found}, indent=0, sort_keys=True)
    PLACE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
