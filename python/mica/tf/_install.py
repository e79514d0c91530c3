"""Makes ``import tensorflow`` mean mica.tf in this process."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

_NAME = "tensorflow"
_OURS = __name__.rpartition(".")[0]
_KERAS = "tensorflow.keras"
_MNIST = "keras.src.datasets.mnist"
_REAL_KERAS = "keras._tf_keras.keras"  # the real Keras 3, with TensorFlow's names


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


class _Finder:
    def find_spec(self, fullname: str, path=None, target=None):
        """Answer for tensorflow and everything below it."""
        if fullname == _MNIST:
            from . import _keras_data  # late: it needs numpy, and few programs ask for it

            return _keras_data.find_spec(path)
        if fullname != _NAME and not fullname.startswith(_NAME + "."):
            return None
        ours = _OURS + fullname[len(_NAME) :]
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
        module = importlib.import_module(_REAL_KERAS)
    except ModuleNotFoundError as error:
        if error.name != "keras":
            raise
        raise ModuleNotFoundError(
            "tf.keras needs the package keras (3.x): pip install 'mica[keras]'", name="keras"
        ) from None
    _older_names(module)
    return module


def _older_names(module) -> None:
    """Names that TensorFlow 2's own documents use and Keras 3 has dropped."""
    metric = module.metrics.Metric
    if not hasattr(metric, "reset_states"):
        metric.reset_states = lambda self: self.reset_state()
