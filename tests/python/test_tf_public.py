"""What mica.tf shows: no module of others, no helper of its own."""

import json
import types

import pytest
from house import ROOT

# What TensorFlow's own namespace does not have.
OWN_NAMES = {
    "VariableSpec": "of a module that TensorFlow does not list, but others import",
    "compiler": "a package that Keras imports from",
    "install": "makes `import tensorflow` mean this module",
    "python": "a package that libraries import from",
}


def public_modules():
    tf = pytest.importorskip("mica.tf")
    todo, seen = [("tf", tf)], {}
    while todo:
        name, module = todo.pop()
        if module.__name__ in seen:
            continue
        seen[module.__name__] = (name, module)
        for key in dir(module):
            value = None if key.startswith("_") or key == "keras" else getattr(module, key, None)
            if isinstance(value, types.ModuleType) and value.__name__.startswith("mica.tf."):
                todo.append((f"{name}.{key}", value))
    return [pair for pair in seen.values() if not pair[0].startswith("tf.python")]


def test_no_module_shows_another_ones_modules():
    shown = [
        f"{name}.{key} is {value.__name__}"
        for name, module in public_modules()
        for key, value in vars(module).items()
        if isinstance(value, types.ModuleType)
        and not key.startswith("_")
        and not value.__name__.startswith(("mica.tf", "keras", "tensorflow"))
    ]
    assert not shown, "\n".join(shown)


def test_the_namespace_has_tensorflows_names():
    tf = pytest.importorskip("mica.tf")
    theirs = json.loads((ROOT / "tests/tf/public_names.json").read_text(encoding="utf-8"))
    ours = {name for name in dir(tf) if not name.startswith("_")}
    assert ours - set(theirs) == set(OWN_NAMES)
