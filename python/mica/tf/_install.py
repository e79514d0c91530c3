"""Makes ``import tensorflow`` mean mica.tf in this process."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_NAME = "tensorflow"
_OURS = __name__.rpartition(".")[0]
_KERAS = "tensorflow.keras"
_ADDONS = "tensorflow_addons"
_REAL_KERAS = "keras._tf_keras.keras"  # the real Keras 3, with TensorFlow's names

# Modules of Keras' -> the module here, and its function, that prepare them once they have run.
_PREPARED = {
    _REAL_KERAS: ("._keras_legacy", "add_names"),
    "keras.src.datasets.mnist": ("._keras_data", "prepare"),
    "keras.optimizers.legacy": ("._keras_legacy", "add_optimizers"),
    "keras._tf_keras.keras.optimizers.legacy": ("._keras_legacy", "add_optimizers"),
}


# Modules below tensorflow that are asked for by packages that cannot work here -> why not.
_XLA = (
    "it is a part of XLA, which Mica has not: jax2tf, and with it Keras' JaxLayer, puts graphs of "
    "StableHLO into TensorFlow's; run the function with JAX's own backend of Keras instead"
)
_CONVERTERS = (
    "tf2onnx takes graphs apart with it, which needs TensorFlow's own library; save a SavedModel "
    '(model.export(path, format="tf_saved_model")) and convert it where TensorFlow is installed'
)
_NOT_HERE = {
    "compiler.xla": _XLA,
    "core.framework.types_pb2": _CONVERTERS,
    "python.framework.function_def_to_graph": _CONVERTERS,
    "python.grappler": _CONVERTERS,
}


def _refuse(name: str) -> None:
    """Raise the error of a module that is not here; `from x import y` asks by the name of x."""
    inner = name.removeprefix(_NAME + ".").removeprefix(_OURS + ".")
    for module, reason in _NOT_HERE.items():
        if inner == module or inner.startswith(module + "."):
            raise ModuleNotFoundError(f"mica.tf has no module 'tensorflow.{inner}': {reason}")


class _Alias:
    """Gives an import of ``tensorflow.x`` the module ``mica.tf.x``."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec):
        """Find the module itself, not a copy, so that its classes stay the same objects."""
        module = importlib.import_module(self.target)
        self.kept = (module.__spec__, module.__loader__, getattr(module, "__path__", None))
        return module

    def exec_module(self, module) -> None:
        """Put back what the import machinery has written over: the module has run already."""
        module.__spec__, module.__loader__, path = self.kept
        if path is not None:
            module.__path__ = path


class _Preparing:
    """Runs a module of Keras', then prepares it."""

    def __init__(self, loader, preparer: str, name: str) -> None:
        self.loader, self.preparer, self.name = loader, preparer, name

    def create_module(self, spec):
        """As Keras' own loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module) -> None:
        """Run and prepare it."""
        self.loader.exec_module(module)
        getattr(importlib.import_module(self.preparer, __package__), self.name)(module)


class _Finder:
    def find_spec(self, fullname: str, path=None, target=None):
        """Answer for tensorflow, tensorflow_addons and everything below them."""
        if fullname in _PREPARED:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path)
            if spec is not None:
                spec.loader = _Preparing(spec.loader, *_PREPARED[fullname])
            return spec
        _refuse(fullname)
        top, _, rest = fullname.partition(".")
        if top not in (_NAME, _ADDONS):
            return None
        if top == _ADDONS:
            prepare_keras()
        ours = ".".join(filter(None, (_OURS, "addons" if top == _ADDONS else "", rest)))
        if fullname == _KERAS or fullname.startswith(_KERAS + "."):
            prepare_keras()
            ours = _REAL_KERAS + fullname[len(_KERAS) :]
        try:
            found = importlib.util.find_spec(ours)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        spec = importlib.util.spec_from_loader(
            fullname, _Alias(ours), is_package=found.submodule_search_locations is not None
        )
        return spec


def install() -> None:
    """Make ``import tensorflow`` and ``import tensorflow.x`` give this package from now on.

    A TensorFlow that was imported before stays what it was for those who hold it.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    ours = importlib.import_module(_OURS)
    if sys.modules.get(_NAME) is ours:
        return  # and what is below it is ours or Keras's
    for name in [n for n in sys.modules if n == _NAME or n.startswith(_NAME + ".")]:
        del sys.modules[name]
    sys.modules[_NAME] = ours


def prepare_keras() -> None:
    """Let Keras take its TensorFlow backend, and find this package under that name."""
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    install()


def keras():
    """Return tf.keras: the real Keras 3 on this package."""
    prepare_keras()
    try:
        return importlib.import_module(_REAL_KERAS)
    except ModuleNotFoundError as error:
        if error.name != "keras":
            raise
        raise ModuleNotFoundError(
            "tf.keras needs the package keras (3.x): pip install 'mica[keras]'", name="keras"
        ) from None
