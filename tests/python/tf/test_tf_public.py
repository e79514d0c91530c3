"""What mica.tf shows: no module of others, no helper of its own."""

import functools
import importlib
import pkgutil
import sys
import types

import pytest
from house import run
from mica.tf._missing import public_names

# What TensorFlow's own namespace does not have.
OWN_NAMES = {
    "VariableSpec": "of a module that TensorFlow does not list, but others import",
    "addons": "what `import tensorflow_addons` gives",
    "compiler": "a package that Keras imports from",
    "contrib": "a package of TensorFlow 1, for programs that run on TPUs",
    "core": "a package that programs import messages from",
    "estimator": "a package that TensorFlow 2 had up to 2.15",
    "install": "makes `import tensorflow` mean this module",
    "python": "a package that libraries import from",
}


def public_modules():
    tf = pytest.importorskip("mica.tf")
    for module in pkgutil.walk_packages(tf.__path__, "mica.tf."):  # those that are found late, too
        if "._" not in module.name:
            importlib.import_module(module.name)
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
    ours = {name for name in dir(tf) if not name.startswith("_")}
    assert ours - public_names("") == set(OWN_NAMES)


def lacking(module):
    """A name of TensorFlow's that a namespace lacks, where there is one."""
    theirs = public_names(module.__name__.removeprefix("mica.tf").removeprefix("."))
    return next((key for key in sorted(theirs) if not hasattr(module, key)), None)


def test_a_name_that_is_not_there_yet_is_an_error_that_says_so_in_every_namespace():
    asked = 0
    for _, module in public_modules():
        key = lacking(module)
        if key is None:
            continue
        asked += 1
        with pytest.raises(AttributeError) as caught:
            getattr(module, key)
        shown = module.__name__.replace("mica.tf", "tensorflow")
        hint = f"{module.__name__} needs `__getattr__ = _finder(__name__)` (mica/tf/_missing.py)"
        assert f"TensorFlow 2.21.0 has {shown}.{key}, Mica does not" in str(caught.value), hint
        assert "docs/tensorflow.md" in str(caught.value)
        assert caught.value.name == key
    assert asked > 10


INNER = ["config.experimental", "config.threading", "config.optimizer"]
INNER += ["lite.experimental", "nn.experimental", "random.experimental"]


@pytest.mark.parametrize("path", INNER)
def test_namespaces_inside_a_module_say_so_too(path):
    inner = functools.reduce(getattr, path.split("."), pytest.importorskip("mica.tf"))
    assert {name for name in dir(inner) if not name.startswith("_")} <= public_names(path)
    for key in public_names(path) - set(dir(inner)):
        with pytest.raises(AttributeError, match=rf"has tensorflow\.{path}\.{key}, Mica does not"):
            getattr(inner, key)
    with pytest.raises(AttributeError, match=rf"'tensorflow\.{path}' has no attribute 'no_such'$"):
        inner.no_such  # noqa: B018


def test_a_name_that_tensorflow_does_not_have_either_is_an_ordinary_error():
    for _, module in public_modules():
        with pytest.raises(AttributeError, match=r"has no attribute 'no_such_name'$") as caught:
            module.no_such_name  # noqa: B018
        text = str(caught.value).replace("mica.tf", "tensorflow")
        assert f"'{module.__name__.replace('mica.tf', 'tensorflow')}'" in text


FEATURES = """
import tensorflow as tf

assert not hasattr(tf, "queue") and not hasattr(tf.compat.v1, "FIFOQueue")
assert getattr(tf.nn, "no_such_name", "fallback") == "fallback"
try:
    from tensorflow.compat.v1 import FIFOQueue
except ImportError as error:
    assert "FIFOQueue" in str(error)
else:
    raise SystemExit("FIFOQueue is there")
try:
    import tensorflow.queue
except ModuleNotFoundError:
    print("detected")
"""


REFUSED = """
for name, words in {
    "tensorflow.compiler.xla.xla_data_pb2": "JaxLayer",
    "tensorflow.python.grappler.tf_optimizer": "tf2onnx",
    "tensorflow.core.framework.types_pb2": "tf2onnx",
}.items():
    package, _, last = name.rpartition(".")
    for statement in (f"import {name}", f"from {package} import {last}"):
        try:
            exec(statement)
        except ModuleNotFoundError as error:
            assert f"mica.tf has no module '{name.removesuffix('.' + last)}" in str(error), error
            assert words in str(error), error
        else:
            raise SystemExit(name)
print("told")
"""


def test_inner_modules_that_cannot_be_here_say_why(tmp_path):
    (tmp_path / "script.py").write_text(REFUSED, encoding="utf-8")
    result = run(sys.executable, "-m", "mica.tf", tmp_path / "script.py")
    assert (result.returncode, result.stdout) == (0, "told\n"), result.stderr


def test_features_are_detected_as_before(tmp_path):
    (tmp_path / "script.py").write_text(FEATURES, encoding="utf-8")
    result = run(sys.executable, "-m", "mica.tf", tmp_path / "script.py")
    assert (result.returncode, result.stdout) == (0, "detected\n"), result.stderr
