"""TensorFlow Addons' names on Mica: ``import tensorflow_addons as tfa``.

What is here is on the same Keras 3 as `tf.keras`; a name that is not here is an error that says so.
"""

from __future__ import annotations

import importlib as _importlib

__version__ = "0.23.0"

_MODULES = frozenset("activations callbacks losses metrics optimizers text".split())


def __getattr__(name: str):
    if name in _MODULES:
        return _importlib.import_module(f".{name}", __name__)
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return sorted(_MODULES)


# What TensorFlow Addons has beside these.
_THEIRS = {
    "": "image layers rnn seq2seq options register types utils",
    "callbacks": "TQDMProgressBar",
    "losses": "",
    "metrics": "KendallsTauB KendallsTauC PearsonsCorrelation SpearmansRank",
    "optimizers": (
        "AdaBelief COCOB ConditionalGradient MultiOptimizer ProximalAdagrad "
        "DiscriminativeLayerOptimizer"
    ),
    "text": "CRFModelWrapper parse_time skip_gram_sample skip_gram_sample_with_text_vocab",
}


def _missing(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module of this package does not have."""
    inner = module.removeprefix(__name__).removeprefix(".")
    shown = f"tensorflow_addons.{inner}".rstrip(".")
    text = f"module '{module}' has no attribute '{name}'"
    if name in _THEIRS.get(inner, "").split():
        there = ", ".join(sorted(dir(_importlib.import_module(module))))
        text = f"module '{shown}' has no attribute '{name}' on Mica, which has {there}"
    return AttributeError(text, name=name)
